/* SPDX-License-Identifier: Apache-2.0 */
/* form-depthwise: a multiplication or an addition per channel that no weight could take is a depthwise convolution with a kernel of one
 * cell: an operator that every NPU has, with one weight scale per channel, where an elementwise product would need a quantized operand. */
#include "passes/internal.h"

enum { Y, MUL, X, C, D };

static bool is_channel_constant(const value *v, int64_t channels) { return v->type == DTYPE_F32 && npuc_is_per_channel(v, channels, 4); }

static bool is_static_image(const match *m) {
  const value *x = m->values[X];
  return x->type == DTYPE_F32 && x->shape.rank == 4 && npuc_shape_is_static(&x->shape) && !x->constant &&
         npuc_same_shape(x, m->root->outputs[0]);
}

static bool takes_one(const match *m) { return is_static_image(m) && is_channel_constant(m->values[C], m->values[X]->shape.dims[1]); }

static bool takes_both(const match *m) { return takes_one(m) && is_channel_constant(m->values[D], m->values[X]->shape.dims[1]); }

/* scale or shift NULL: 1, or no bias. */
static void make_depthwise(rewriter *r, const match *m, const value *scale, const value *shift) {
  int64_t channels = m->values[X]->shape.dims[1];
  double *numbers = NPUC_NEW_ARRAY(r->scratch, (size_t)channels, double);
  for (int64_t i = 0; i < channels; i++) numbers[i] = 1.0;
  if (scale) npuc_weight_channels(scale, channels, numbers);
  shape s = {.rank = 4, .dims = {channels, 1, 1, 1}};
  tensor t;
  npuc_status status = npuc_tensor_create(r->d, DTYPE_F32, &s, &t);
  if (status != NPUC_OK) {
    r->status = status;
    return;
  }
  for (int64_t i = 0; i < channels; i++) ((float *)t.data)[i] = (float)numbers[i];
  value *w = npuc_weight_constant(r, npuc_arena_printf(r->scratch, "%s_weight", m->root->name), &t), *b = NULL;
  if (shift) {
    npuc_weight_channels(shift, channels, numbers);
    b = npuc_weight_vector(r, npuc_arena_printf(r->scratch, "%s_bias", m->root->name), DTYPE_F32, numbers, channels);
    if (!b) return;
  }
  node *conv = npuc_rewrite_node(r, OP_CONV, (value *[]){m->values[X], w, b}, b ? 3 : 2, 1);
  NPUC_ATTRS(conv_attributes, conv)->group = channels;
  npuc_rewrite_replace(r, m->root->outputs[0], conv->outputs[0]);
}

static void from_mul_add(rewriter *r, const match *m) { make_depthwise(r, m, m->values[C], m->values[D]); }
static void from_mul(rewriter *r, const match *m) { make_depthwise(r, m, m->values[C], NULL); }
static void from_add(rewriter *r, const match *m) { make_depthwise(r, m, NULL, m->values[C]); }

static const pattern mul_add = {
    .name = "mul-add-to-depthwise",
    .doc = "Add(Mul(x, c), d) -> Conv(x, c, d) in as many groups as channels",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_ADD, Y, ONE_USE(OP_MUL, MUL, ANY(X), CONST(C)), CONST(D)),
    .where = takes_both,
    .rewrite = from_mul_add,
};

static const pattern add_alone = {
    .name = "add-to-depthwise",
    .doc = "Add(x, d) -> Conv(x, 1, d) in as many groups as channels",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_ADD, Y, ANY(X), CONST(C)),
    .where = takes_one,
    .rewrite = from_add,
};

static const pattern mul_alone = {
    .name = "mul-to-depthwise",
    .doc = "Mul(x, c) -> Conv(x, c) in as many groups as channels",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_MUL, Y, ANY(X), CONST(C)),
    .where = takes_one,
    .rewrite = from_mul,
};

/* Pairs first, everywhere: a multiplication must not become a convolution before its addition is seen. */
static const pattern *const pairs[] = {&mul_add};
static const pattern *const singles[] = {&add_alone, &mul_alone};
PATTERN_SET(npuc_depthwise_pair_patterns, pairs);
PATTERN_SET(npuc_depthwise_single_patterns, singles);

npuc_status npuc_pass_form_depthwise(pass_context *c, graph *g, bool *out_changed) {
  NPUC_TRY(npuc_pass_rewrite(c, g, npuc_depthwise_pair_patterns, out_changed));
  return npuc_pass_rewrite(c, g, npuc_depthwise_single_patterns, out_changed);
}
