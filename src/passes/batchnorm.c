/* SPDX-License-Identifier: Apache-2.0 */
/* fold-batchnorm. With f = scale / sqrt(var + epsilon), per channel:
 *
 *   BatchNormalization(y) = (y - mean) * f + B = y * f + (B - mean * f)
 *   y = Conv(x, W, b)   ->  Conv(x, W * f, (b - mean) * f + B)       f along W's output channels
 *   y = Gemm(x, W, b)   ->  the same, f along the output columns
 *   otherwise           ->  Add(Mul(y, f), B - mean * f)             constants [C, 1, ..., 1]
 *
 * All exact in real numbers; in floats the weights are rounded once more, which the parity says. */
#include <math.h>
#include <stdlib.h>

#include "passes/internal.h"

enum { Y, CONV, GEMM, X, W, B, SCALE, SHIFT, MEAN, VARIANCE };

#define STATISTICS CONST(SCALE), CONST(SHIFT), CONST(MEAN), CONST(VARIANCE)

/* factor[c], shift[c] of the affine map y * factor + shift. */
typedef struct affine {
  int64_t channels;
  double *factor, *shift;
} affine;

static affine affine_of(rewriter *r, const match *m) {
  affine a = {.channels = npuc_tensor_elements(m->values[SCALE]->constant)};
  a.factor = NPUC_NEW_ARRAY(r->scratch, (size_t)a.channels, double);
  a.shift = NPUC_NEW_ARRAY(r->scratch, (size_t)a.channels, double);
  double epsilon = (double)NPUC_ATTRS(batchnorm_attributes, m->root)->epsilon;
  for (int64_t i = 0; i < a.channels; i++) {
    double variance = npuc_weight_at(m->values[VARIANCE]->constant, i);
    a.factor[i] = npuc_weight_at(m->values[SCALE]->constant, i) / sqrt(variance + epsilon);
    a.shift[i] = npuc_weight_at(m->values[SHIFT]->constant, i) - npuc_weight_at(m->values[MEAN]->constant, i) * a.factor[i];
  }
  return a;
}

/* bias * factor + shift, or shift alone; `beta` is Gemm's factor of its bias. */
static value *folded_bias(rewriter *r, const affine *a, const value *bias, double beta, dtype type, const char *name) {
  double *sum = NPUC_NEW_ARRAY(r->scratch, (size_t)a->channels, double);
  if (bias) npuc_weight_channels(bias, a->channels, sum);
  for (int64_t i = 0; i < a->channels; i++) sum[i] = sum[i] * beta * a->factor[i] + a->shift[i];
  return npuc_weight_vector(r, bias ? bias->name : name, type, sum, a->channels);
}

static bool is_inference(const match *m) {
  if (NPUC_ATTRS(batchnorm_attributes, m->root)->training_mode) return false;
  for (int32_t i = 1; i < m->root->n_outputs; i++) {
    if (m->root->outputs[i]) return false;
  }
  return npuc_is_wide_float(m->values[SCALE]) &&
         m->values[SCALE]->type == m->root->outputs[0]->type; /* statistics may be wider than the data */
}

static bool conv_suits(const match *m) {
  const tensor *w = m->values[W]->constant;
  return is_inference(m) && w->shape.rank >= 3 && w->shape.dims[0] == npuc_tensor_elements(m->values[SCALE]->constant);
}

static void fold_into_conv(rewriter *r, const match *m) {
  const node *conv = m->nodes[CONV];
  affine a = affine_of(r, m);
  value *w = npuc_weight_scaled(r, m->values[W], 0, a.factor);
  value *b = folded_bias(r, &a, m->values[B], 1.0, m->values[W]->type, npuc_arena_printf(r->scratch, "%s_bias", conv->name));
  if (!w || !b) return;
  value *inputs[] = {m->values[X], w, b};
  node *folded = npuc_rewrite_node(r, OP_CONV, inputs, 3, 1);
  folded->attributes = npuc_attributes_clone(r->graph->module, conv->op, conv->attributes);
  npuc_rewrite_replace(r, m->root->outputs[0], folded->outputs[0]);
}

static bool gemm_suits(const match *m) {
  const gemm_attributes *a = NPUC_ATTRS(gemm_attributes, m->nodes[GEMM]);
  int64_t columns = m->values[W]->constant->shape.dims[a->transB ? 0 : 1];
  return is_inference(m) && columns == npuc_tensor_elements(m->values[SCALE]->constant) &&
         (!m->values[B] || npuc_is_per_column(m->values[B], columns));
}

static void fold_into_gemm(rewriter *r, const match *m) {
  const node *gemm = m->nodes[GEMM];
  const gemm_attributes *old = NPUC_ATTRS(gemm_attributes, gemm);
  affine a = affine_of(r, m);
  value *w = npuc_weight_scaled(r, m->values[W], old->transB ? 0 : 1, a.factor);
  value *b = folded_bias(r, &a, m->values[B], (double)old->beta, m->values[W]->type, npuc_arena_printf(r->scratch, "%s_bias", gemm->name));
  if (!w || !b) return;
  value *inputs[] = {m->values[X], w, b};
  node *folded = npuc_rewrite_node(r, OP_GEMM, inputs, 3, 1);
  gemm_attributes *now = folded->attributes = npuc_attributes_clone(r->graph->module, gemm->op, gemm->attributes);
  now->beta = 1.0f;
  npuc_rewrite_replace(r, m->root->outputs[0], folded->outputs[0]);
}

static bool matmul_suits(const match *m) {
  const shape *w = &m->values[W]->constant->shape;
  return is_inference(m) && npuc_has_rank(m->values[X], 2) && w->rank == 2 &&
         w->dims[1] == npuc_tensor_elements(m->values[SCALE]->constant);
}

static void fold_into_matmul(rewriter *r, const match *m) {
  affine a = affine_of(r, m);
  value *w = npuc_weight_scaled(r, m->values[W], 1, a.factor);
  value *b = folded_bias(r, &a, NULL, 1.0, m->values[W]->type, npuc_arena_printf(r->scratch, "%s_bias", m->nodes[GEMM]->name));
  if (!w || !b) return;
  value *inputs[] = {m->values[X], w, b};
  node *folded = npuc_rewrite_node(r, OP_GEMM, inputs, 3, 1);
  npuc_rewrite_replace(r, m->root->outputs[0], folded->outputs[0]);
}

static bool stands_alone(const match *m) { return is_inference(m) && m->values[X]->shape.rank >= 2; }

/* [C, 1, ..., 1] with one 1 per spatial axis: broadcasts against [N, C, D1, ...]. */
static value *channel_constant(rewriter *r, const match *m, const char *suffix, const double *values, int64_t channels) {
  value *v = npuc_weight_vector(r, npuc_arena_printf(r->scratch, "%s_%s", m->root->name, suffix), m->values[SCALE]->type, values, channels);
  if (!v) return NULL;
  tensor t = *v->constant;
  t.shape.rank = m->values[X]->shape.rank - 1;
  for (int32_t i = 1; i < t.shape.rank; i++) t.shape.dims[i] = 1;
  const char *name = v->name;
  npuc_graph_remove_value(r->graph, v);
  return npuc_graph_add_constant(r->graph, name, &t);
}

static void to_mul_add(rewriter *r, const match *m) {
  affine a = affine_of(r, m);
  value *factor = channel_constant(r, m, "scale", a.factor, a.channels);
  value *shift = channel_constant(r, m, "shift", a.shift, a.channels);
  if (!factor || !shift) return;
  node *mul = npuc_rewrite_node(r, OP_MUL, (value *[]){m->values[X], factor}, 2, 1);
  node *add = npuc_rewrite_node(r, OP_ADD, (value *[]){mul->outputs[0], shift}, 2, 1);
  npuc_rewrite_replace(r, m->root->outputs[0], add->outputs[0]);
}

static const pattern bn_into_conv = {
    .name = "batchnorm-into-conv",
    .doc = "BatchNormalization(Conv(x, w, b)) -> Conv(x, w*f, (b - mean)*f + B), f = scale / sqrt(var + epsilon)",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_BATCHNORM, Y, ONE_USE(OP_CONV, CONV, ANY(X), CONST(W), OPTIONAL_CONST(B)), STATISTICS),
    .where = conv_suits,
    .rewrite = fold_into_conv,
};

static const pattern bn_into_gemm = {
    .name = "batchnorm-into-gemm",
    .doc = "BatchNormalization(Gemm(x, w, b)) -> Gemm(x, w*f, (b - mean)*f + B)",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_BATCHNORM, Y, ONE_USE(OP_GEMM, GEMM, ANY(X), CONST(W), OPTIONAL_CONST(B)), STATISTICS),
    .where = gemm_suits,
    .rewrite = fold_into_gemm,
};

static const pattern bn_into_matmul = {
    .name = "batchnorm-into-matmul",
    .doc = "BatchNormalization(MatMul(x, w)) -> Gemm(x, w*f, B - mean*f), of matrices",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_BATCHNORM, Y, ONE_USE(OP_MATMUL, GEMM, ANY(X), CONST(W)), STATISTICS),
    .where = matmul_suits,
    .rewrite = fold_into_matmul,
};

static const pattern bn_to_mul_add = {
    .name = "batchnorm-to-mul-add",
    .doc = "BatchNormalization(x) -> Add(Mul(x, f), B - mean*f)",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_BATCHNORM, Y, ANY(X), STATISTICS),
    .where = stands_alone,
    .rewrite = to_mul_add,
};

static const pattern *const patterns[] = {&bn_into_conv, &bn_into_gemm, &bn_into_matmul, &bn_to_mul_add};
PATTERN_SET(npuc_batchnorm_patterns, patterns);

npuc_status npuc_pass_fold_batchnorm(pass_context *c, graph *g, bool *out_changed) {
  return npuc_pass_rewrite(c, g, npuc_batchnorm_patterns, out_changed);
}
