/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizations in primitive operators. The sums are of the values as they are, not of x^2 and x apart, so nothing cancels. Narrow floats are computed in float32 where the node's stash_type
 * says so, with a Cast at each end. With `expand` the operands of element-wise nodes have the full shape: some compilers' element-wise kernels do not broadcast. */
#include "passes/edits/build.h"

enum { Y, X, SCALE, BIAS, SUM, SKIP };

typedef struct normalization {
  rewriter *r;
  value *x; /* as it is computed with */
  const shape *full;
  int64_t axes[MAX_RANK];
  int32_t n_axes;
  bool expand;
  double epsilon;
} normalization;

static bool suits(const match *m) {
  const layernorm_attributes *a = NPUC_ATTRS(layernorm_attributes, m->root);
  int32_t axis, rank = m->values[X]->shape.rank;
  return rank >= 1 && npuc_is_float(m->values[X]) && npuc_edit_only_first(m->root) && npuc_axis_normalize(a->axis, rank, &axis) &&
         m->values[SCALE]->type == m->values[X]->type;
}

static normalization begin(rewriter *r, const match *m, bool expand) {
  const layernorm_attributes *a = NPUC_ATTRS(layernorm_attributes, m->root);
  value *x = m->values[X];
  int32_t axis = 0, rank = x->shape.rank;
  (void)npuc_axis_normalize(a->axis, rank, &axis);
  normalization n = {.r = r, .x = x, .full = &x->shape, .epsilon = (double)a->epsilon, .expand = expand && npuc_edit_is_static(x)};
  for (int32_t i = axis; i < rank; i++) n.axes[n.n_axes++] = i;
  if (!npuc_is_wide_float(x) && a->stash_type == DTYPE_F32) n.x = npuc_edit_cast(r, x, DTYPE_F32);
  return n;
}

static dtype type_of(const normalization *n, const value *x) { return n->x == x ? x->type : DTYPE_F32; }

static value *mean(normalization *n, value *x) { return npuc_edit_reduce_mean(n->r, x, n->axes, n->n_axes); }
static value *widened(normalization *n, value *x) { return n->expand ? npuc_edit_expand(n->r, x, n->full) : x; }

static value *deviation(normalization *n, value *squares, dtype type) {
  value *epsilon = npuc_edit_scalar(n->r, "epsilon", type, n->epsilon);
  return MAKE(n->r, OP_SQRT, MAKE(n->r, OP_ADD, mean(n, squares), epsilon));
}

/* Back to the node's type, then scaled and shifted as LayerNormalization's second stage does. */
static void finish(normalization *n, const match *m, value *y) {
  if (n->x != m->values[X]) y = npuc_edit_cast(n->r, y, m->values[X]->type);
  y = MAKE(n->r, OP_MUL, y, widened(n, m->values[SCALE]));
  if (m->values[BIAS]) y = MAKE(n->r, OP_ADD, y, widened(n, m->values[BIAS]));
  npuc_edit_done(n->r, m, y);
}

static void by_division(rewriter *r, const match *m) {
  normalization n = begin(r, m, npuc_edit_int(m->parameters, "expand") != 0);
  dtype type = type_of(&n, m->values[X]);
  value *centred = MAKE(r, OP_SUB, n.x, widened(&n, mean(&n, n.x)));
  value *squares = MAKE(r, OP_POW, centred, npuc_edit_scalar(r, "two", type, 2.0));
  finish(&n, m, MAKE(r, OP_DIV, centred, widened(&n, deviation(&n, squares, type))));
}

static void by_reciprocal(rewriter *r, const match *m) {
  normalization n = begin(r, m, npuc_edit_int(m->parameters, "expand") != 0);
  value *centred = MAKE(r, OP_SUB, n.x, widened(&n, mean(&n, n.x)));
  value *inverse = MAKE(r, OP_RECIPROCAL, deviation(&n, MAKE(r, OP_MUL, centred, centred), type_of(&n, m->values[X])));
  finish(&n, m, MAKE(r, OP_MUL, centred, widened(&n, inverse)));
}

static const pattern layer_norm = {
    .name = "layer-norm-by-division",
    .doc = "LayerNormalization(x, s, b) -> (x - m) / Sqrt(mean((x - m)^2) + e) * s + b",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_LAYERNORMALIZATION, Y, ANY(X), ANY(SCALE), OPTIONAL_INPUT(BIAS)),
    .where = suits,
    .rewrite = by_division,
};
static const pattern *const layer_norm_patterns[] = {&layer_norm};
PATTERN_SET(npuc_edit_decompose_layer_normalization_patterns, layer_norm_patterns);

static const pattern layer_norm_reciprocal = {
    .name = "layer-norm-by-reciprocal",
    .doc = "LayerNormalization(x, s, b) -> (x - m) * Reciprocal(Sqrt(mean((x - m) * (x - m)) + e)) * s + b",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_LAYERNORMALIZATION, Y, ANY(X), ANY(SCALE), OPTIONAL_INPUT(BIAS)),
    .where = suits,
    .rewrite = by_reciprocal,
};
static const pattern *const layer_norm_reciprocal_patterns[] = {&layer_norm_reciprocal};
PATTERN_SET(npuc_edit_decompose_layer_normalization_mul_reciprocal_patterns, layer_norm_reciprocal_patterns);

/* -- RMSNormalization, which com.microsoft's SimplifiedLayerNormalization is after import; a skip is the Add before it -- */

static void rms(rewriter *r, const match *m) {
  normalization n = begin(r, m, false);
  dtype type = type_of(&n, m->values[X]);
  value *one = npuc_edit_scalar(r, "one", type, 1.0);
  value *inverse = MAKE(r, OP_DIV, one, deviation(&n, MAKE(r, OP_MUL, n.x, n.x), type));
  finish(&n, m, MAKE(r, OP_MUL, n.x, inverse));
}

static bool has_skip(const match *m) { return suits(m) && node_is(m->values[X]->producer, OP_ADD); }

static const pattern rms_norm = {
    .name = "rms-norm-apart",
    .doc = "RMSNormalization(x, s) -> x * (1 / Sqrt(mean(x * x) + e)) * s",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_RMSNORMALIZATION, Y, ANY(X), ANY(SCALE)),
    .where = suits,
    .rewrite = rms,
};
static const pattern *const rms_patterns[] = {&rms_norm};
PATTERN_SET(npuc_edit_replace_simplified_layer_norm_patterns, rms_patterns);

static const pattern skip_rms_norm = {
    .name = "skip-rms-norm-apart",
    .doc = "RMSNormalization(x = Add(a, b), s) -> x * (1 / Sqrt(mean(x * x) + e)) * s",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_RMSNORMALIZATION, Y, ANY(X), ANY(SCALE)),
    .where = has_skip,
    .rewrite = rms,
};
static const pattern *const skip_rms_patterns[] = {&skip_rms_norm};
PATTERN_SET(npuc_edit_replace_skip_simplified_layer_norm_patterns, skip_rms_patterns);
