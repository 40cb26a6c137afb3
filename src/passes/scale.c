/* SPDX-License-Identifier: Apache-2.0 */
/* fold-scale: a multiplication or an addition by constants, one value per output channel, goes into the weights before it.
 *
 *   Mul(Conv(x, w, b), c) -> Conv(x, w*c, b*c)        Add(Conv(x, w, b), c) -> Conv(x, w, b + c)
 *   and the same for ConvTranspose, and for Gemm, per column. */
#include "passes/internal.h"

enum { Y, BASE, X, W, B, C };

/* W is [Co, C/group, ...], of ConvTranspose [C, Co/group, ...], which is taken without groups alone. */
static int32_t channel_axis(const match *m) { return node_is(m->nodes[BASE], OP_CONVTRANSPOSE) ? 1 : 0; }
static int64_t conv_channels(const match *m) { return m->values[W]->constant->shape.dims[channel_axis(m)]; }

static bool per_conv_channel(const match *m) {
  if (node_is(m->nodes[BASE], OP_CONVTRANSPOSE) && NPUC_ATTRS(convtranspose_attributes, m->nodes[BASE])->group != 1) return false;
  return npuc_is_wide_float(m->values[W]) && m->values[C]->type == m->values[W]->type && m->values[W]->constant->shape.rank >= 3 &&
         npuc_is_per_channel(m->values[C], conv_channels(m), m->values[W]->constant->shape.rank);
}

static int64_t gemm_columns(const match *m) {
  return m->values[W]->constant->shape.dims[NPUC_ATTRS(gemm_attributes, m->nodes[BASE])->transB ? 0 : 1];
}

static bool per_gemm_column(const match *m) {
  return npuc_is_wide_float(m->values[W]) && m->values[C]->type == m->values[W]->type &&
         npuc_is_per_column(m->values[C], gemm_columns(m)) && (!m->values[B] || npuc_is_per_column(m->values[B], gemm_columns(m)));
}

/* bias * beta * factor + shift; factor or shift NULL: 1, 0. */
static value *new_bias(rewriter *r, const match *m, int64_t channels, double beta, const double *factor, const double *shift) {
  double *sum = NPUC_NEW_ARRAY(r->scratch, (size_t)channels, double);
  if (m->values[B]) npuc_weight_channels(m->values[B], channels, sum);
  for (int64_t i = 0; i < channels; i++) sum[i] = sum[i] * beta * (factor ? factor[i] : 1.0) + (shift ? shift[i] : 0.0);
  const char *name = m->values[B] ? m->values[B]->name : npuc_arena_printf(r->scratch, "%s_bias", m->nodes[BASE]->name);
  return npuc_weight_vector(r, name, m->values[W]->type, sum, channels);
}

static double *channels_of(rewriter *r, const match *m, int64_t channels) {
  double *c = NPUC_NEW_ARRAY(r->scratch, (size_t)channels, double);
  npuc_weight_channels(m->values[C], channels, c);
  return c;
}

/* The same operator with new weights (and a bias when there is one) stands for the root. */
static node *rebuild(rewriter *r, const match *m, value *w, value *b) {
  const node *base = m->nodes[BASE];
  value *inputs[] = {m->values[X], w, b};
  node *made = npuc_rewrite_node(r, base->op->id, inputs, b ? 3 : 2, 1);
  made->attributes = npuc_attributes_clone(r->graph->module, base->op, base->attributes);
  npuc_rewrite_replace(r, m->root->outputs[0], made->outputs[0]);
  return made;
}

static void scale_conv(rewriter *r, const match *m) {
  int64_t channels = conv_channels(m);
  double *factor = channels_of(r, m, channels);
  value *w = npuc_weight_scaled(r, m->values[W], channel_axis(m), factor);
  value *b = m->values[B] ? new_bias(r, m, channels, 1.0, factor, NULL) : NULL;
  if (w && (b || !m->values[B])) (void)rebuild(r, m, w, b);
}

static void shift_conv(rewriter *r, const match *m) {
  int64_t channels = conv_channels(m);
  value *b = new_bias(r, m, channels, 1.0, NULL, channels_of(r, m, channels));
  if (b) (void)rebuild(r, m, m->values[W], b);
}

static void scale_gemm(rewriter *r, const match *m) {
  const gemm_attributes *old = NPUC_ATTRS(gemm_attributes, m->nodes[BASE]);
  int64_t columns = gemm_columns(m);
  double *factor = channels_of(r, m, columns);
  value *w = npuc_weight_scaled(r, m->values[W], old->transB ? 0 : 1, factor);
  value *b = m->values[B] ? new_bias(r, m, columns, (double)old->beta, factor, NULL) : NULL;
  if (!w || (!b && m->values[B])) return;
  NPUC_ATTRS(gemm_attributes, rebuild(r, m, w, b))->beta = 1.0f;
}

static void shift_gemm(rewriter *r, const match *m) {
  const gemm_attributes *old = NPUC_ATTRS(gemm_attributes, m->nodes[BASE]);
  int64_t columns = gemm_columns(m);
  value *b = new_bias(r, m, columns, (double)old->beta, NULL, channels_of(r, m, columns));
  if (b) NPUC_ATTRS(gemm_attributes, rebuild(r, m, m->values[W], b))->beta = 1.0f;
}

static const pattern mul_into_conv = {
    .name = "mul-into-conv",
    .doc = "Mul(Conv(x, w, b), c) -> Conv(x, w*c, b*c)",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_MUL, Y, ONE_USE(OP_CONV, BASE, ANY(X), CONST(W), OPTIONAL_CONST(B)), CONST(C)),
    .where = per_conv_channel,
    .rewrite = scale_conv,
};

static const pattern add_into_conv = {
    .name = "add-into-conv",
    .doc = "Add(Conv(x, w, b), c) -> Conv(x, w, b + c)",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_ADD, Y, ONE_USE(OP_CONV, BASE, ANY(X), CONST(W), OPTIONAL_CONST(B)), CONST(C)),
    .where = per_conv_channel,
    .rewrite = shift_conv,
};

static const pattern mul_into_transposed = {
    .name = "mul-into-conv-transpose",
    .doc = "Mul(ConvTranspose(x, w, b), c) -> ConvTranspose(x, w*c, b*c)",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_MUL, Y, ONE_USE(OP_CONVTRANSPOSE, BASE, ANY(X), CONST(W), OPTIONAL_CONST(B)), CONST(C)),
    .where = per_conv_channel,
    .rewrite = scale_conv,
};

static const pattern add_into_transposed = {
    .name = "add-into-conv-transpose",
    .doc = "Add(ConvTranspose(x, w, b), c) -> ConvTranspose(x, w, b + c)",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_ADD, Y, ONE_USE(OP_CONVTRANSPOSE, BASE, ANY(X), CONST(W), OPTIONAL_CONST(B)), CONST(C)),
    .where = per_conv_channel,
    .rewrite = shift_conv,
};

static const pattern mul_into_gemm = {
    .name = "mul-into-gemm",
    .doc = "Mul(Gemm(x, w, b), c) -> Gemm(x, w*c, b*c)",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_MUL, Y, ONE_USE(OP_GEMM, BASE, ANY(X), CONST(W), OPTIONAL_CONST(B)), CONST(C)),
    .where = per_gemm_column,
    .rewrite = scale_gemm,
};

static const pattern add_into_gemm = {
    .name = "add-into-gemm",
    .doc = "Add(Gemm(x, w, b), c) -> Gemm(x, w, b + c)",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_ADD, Y, ONE_USE(OP_GEMM, BASE, ANY(X), CONST(W), OPTIONAL_CONST(B)), CONST(C)),
    .where = per_gemm_column,
    .rewrite = shift_gemm,
};

static const pattern *const patterns[] = {&mul_into_conv,       &add_into_conv, &mul_into_transposed,
                                          &add_into_transposed, &mul_into_gemm, &add_into_gemm};
PATTERN_SET(npuc_scale_patterns, patterns);

npuc_status npuc_pass_fold_scale(pass_context *c, graph *g, bool *out_changed) {
  return npuc_pass_rewrite(c, g, npuc_scale_patterns, out_changed);
}
