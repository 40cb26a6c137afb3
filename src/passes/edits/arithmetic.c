/* SPDX-License-Identifier: Apache-2.0 */
/* Edits of arithmetic: operators that a target lacks, or has in a slow or wrong form, written out in those that it has. */
#include <math.h>
#include <string.h>

#include "passes/edits/build.h"

enum { Y, X, A, B, C, NAN_TEST, TURNED, WEIGHT };

/* -- remove-is-nan -- */

static void keep_value(rewriter *r, const match *m) { npuc_edit_done(r, m, m->values[X]); }

static bool guards_itself(const match *m) {
  const value *x = m->values[X], *y = m->root->outputs[0];
  return x->type == y->type && npuc_same_shape(x, y) && !(y->is_output && (x->is_input || x->is_output));
}

static const pattern nan_guard = {
    .name = "nan-guard",
    .doc = "Where(IsNaN(x), c, x) -> x, which is the same where x holds no NaN",
    .parity = PARITY_APPROXIMATE,
    .root = NODE(OP_WHERE, Y, NODE(OP_ISNAN, NAN_TEST, ANY(X)), ANY(C), ANY(X)),
    .where = guards_itself,
    .rewrite = keep_value,
};
static const pattern *const nan_patterns[] = {&nan_guard};
PATTERN_SET(npuc_edit_remove_is_nan_patterns, nan_patterns);

/* -- fold-scalar-mat-mul: one product is no sum -- */

static bool is_outer_scale(const match *m) {
  const shape *a = &m->values[A]->shape, *b = &m->values[B]->shape;
  return a->rank >= 2 && b->rank >= 2 && a->dims[a->rank - 1] == 1 && b->dims[b->rank - 1] == 1 && b->dims[b->rank - 2] == 1;
}

static void multiply(rewriter *r, const match *m) { npuc_edit_done(r, m, MAKE(r, OP_MUL, m->values[A], m->values[B])); }

static const pattern scalar_matmul = {
    .name = "scalar-matmul-to-mul",
    .doc = "MatMul(a [.., M, 1], b [.., 1, 1]) -> Mul(a, b)",
    .parity = PARITY_REASSOCIATING, /* 0 + -0 is 0 */
    .root = NODE(OP_MATMUL, Y, ANY(A), ANY(B)),
    .where = is_outer_scale,
    .rewrite = multiply,
};
static const pattern *const scalar_patterns[] = {&scalar_matmul};
PATTERN_SET(npuc_edit_fold_scalar_mat_mul_patterns, scalar_patterns);

/* -- replace-int64-float-cast: numbers from a table -- */

static bool casts_one_integer(const match *m) {
  dtype to = (dtype)NPUC_ATTRS(cast_attributes, m->root)->to;
  return (m->values[X]->type == DTYPE_I64 || m->values[X]->type == DTYPE_I32) && npuc_dtype_kind(to) == KIND_FLOAT &&
         npuc_edit_elements(m->values[X]) == 1 && !m->values[X]->constant;
}

static void look_up(rewriter *r, const match *m) {
  const value *y = m->root->outputs[0];
  int64_t n = npuc_edit_int(m->parameters, "max_int");
  tensor t;
  if (n < 1 || n > 1 << 20) {
    npuc_edit_refuse(r, "a table of %lld numbers is not made: 1 to 1,048,576", (long long)n);
    return;
  }
  r->status = npuc_tensor_create(r->d, y->type, &(shape){.rank = 1, .dims = {n}}, &t);
  if (r->status != NPUC_OK) return;
  for (int64_t i = 0; i < n; i++) npuc_tensor_set(&t, i, (double)i);
  value *table = npuc_edit_tensor(r, "table", &t);
  value *index = npuc_edit_reshape(r, m->values[X], NULL, 0);
  npuc_edit_done(r, m, npuc_edit_reshape(r, MAKE(r, OP_GATHER, table, index), y->shape.dims, y->shape.rank));
}

static const pattern int_cast = {
    .name = "int-cast-to-gather",
    .doc = "Cast(i) -> Reshape(Gather([0, 1, .. max_int-1], i)), of one integer from 0 to max_int-1",
    .parity = PARITY_APPROXIMATE,
    .root = NODE(OP_CAST, Y, ANY(X)),
    .where = casts_one_integer,
    .rewrite = look_up,
};
static const pattern *const int_cast_patterns[] = {&int_cast};
PATTERN_SET(npuc_edit_replace_int64_float_cast_patterns, int_cast_patterns);

/* -- dequantize-projections-mat-mul -- */

static bool is_quantized_head(const match *m) {
  const node *dq = m->nodes[B];
  const shape *w = &dq->outputs[0]->shape;
  int64_t hidden = npuc_edit_int(m->parameters, "hidden"), vocab = npuc_edit_int(m->parameters, "vocab");
  bool turned = m->nodes[TURNED] != NULL;
  if (!strstr(m->root->outputs[0]->name, npuc_edit_text(m->parameters, "output")) || w->rank != 2 || !npuc_shape_is_static(w)) return false;
  if (turned && NPUC_ATTRS(transpose_attributes, m->nodes[TURNED])->perm.count == 2 &&
      NPUC_ATTRS(transpose_attributes, m->nodes[TURNED])->perm.values[0] == 0)
    return false;
  return (!hidden || w->dims[turned] == hidden) && (!vocab || w->dims[!turned] == vocab);
}

static void bake_weight(rewriter *r, const match *m) {
  tensor t;
  if (!npuc_edit_evaluate(m->root->inputs[1], r->scratch, &t)) {
    npuc_edit_refuse(r, "its weight cannot be computed");
    return;
  }
  npuc_edit_done(r, m, MAKE(r, OP_MATMUL, m->values[A], npuc_edit_tensor(r, "weight", &t)));
}

#define DEQUANTIZED NODE(OP_DEQUANTIZELINEAR, B, CONST(WEIGHT), CONST(C), OPTIONAL_CONST(X))
static const pattern head = {
    .name = "dequantize-head",
    .doc = "MatMul(h, DequantizeLinear(w, s, z)) -> MatMul(h, (w - z) * s), for the logits",
    .parity = PARITY_EXACT,
    .root = NODE(OP_MATMUL, Y, ANY(A), DEQUANTIZED),
    .where = is_quantized_head,
    .rewrite = bake_weight,
};
static const pattern turned_head = {
    .name = "dequantize-turned-head",
    .doc = "MatMul(h, Transpose(DequantizeLinear(w, s, z))) -> MatMul(h, ((w - z) * s)^T), for the logits",
    .parity = PARITY_EXACT,
    .root = NODE(OP_MATMUL, Y, ANY(A), NODE(OP_TRANSPOSE, TURNED, DEQUANTIZED)),
    .where = is_quantized_head,
    .rewrite = bake_weight,
};
static const pattern *const head_patterns[] = {&head, &turned_head};
PATTERN_SET(npuc_edit_dequantize_projections_mat_mul_patterns, head_patterns);

/* -- decompose-gelu -- */

static bool is_float_root(const match *m) { return npuc_is_float(m->values[X]); }

static void gelu(rewriter *r, const match *m) {
  value *x = m->values[X];
  const char *form = NPUC_ATTRS(gelu_attributes, m->root)->approximate;
  value *half = npuc_edit_scalar(r, "half", x->type, 0.5), *one = npuc_edit_scalar(r, "one", x->type, 1.0), *inner;
  if (form && strcmp(form, "tanh") == 0) { /* sqrt(2/pi) * (x + 0.044715 x^3) */
    value *cube = MAKE(r, OP_MUL, MAKE(r, OP_MUL, x, x), x);
    value *sum = MAKE(r, OP_ADD, x, MAKE(r, OP_MUL, cube, npuc_edit_scalar(r, "cubic", x->type, 0.044715)));
    inner = MAKE(r, OP_TANH, MAKE(r, OP_MUL, sum, npuc_edit_scalar(r, "slope", x->type, 0.7978845608028654)));
  } else {
    inner = MAKE(r, OP_ERF, MAKE(r, OP_MUL, x, npuc_edit_scalar(r, "slope", x->type, 0.7071067811865476)));
  }
  npuc_edit_done(r, m, MAKE(r, OP_MUL, MAKE(r, OP_MUL, x, half), MAKE(r, OP_ADD, inner, one)));
}

static const pattern gelu_apart = {
    .name = "gelu-apart",
    .doc = "Gelu(x) -> 0.5 x (1 + Erf(x / sqrt 2)); with Tanh where the node says so",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_GELU, Y, ANY(X)),
    .where = is_float_root,
    .rewrite = gelu,
};
static const pattern *const gelu_patterns[] = {&gelu_apart};
PATTERN_SET(npuc_edit_decompose_gelu_patterns, gelu_patterns);

/* -- decompose-boolean-and: 8-bit products where booleans are packed bits -- */

static void and_as_product(rewriter *r, const match *m) {
  value *a = npuc_edit_cast(r, m->values[A], DTYPE_I8), *b = npuc_edit_cast(r, m->values[B], DTYPE_I8);
  npuc_edit_done(r, m, npuc_edit_cast(r, MAKE(r, OP_MUL, a, b), DTYPE_BOOL));
}

static const pattern boolean_and = {
    .name = "and-to-mul",
    .doc = "And(a, b) -> Cast(Mul(Cast(a, int8), Cast(b, int8)), bool)",
    .parity = PARITY_EXACT,
    .root = NODE(OP_AND, Y, ANY(A), ANY(B)),
    .rewrite = and_as_product,
};
static const pattern *const and_patterns[] = {&boolean_and};
PATTERN_SET(npuc_edit_decompose_boolean_and_patterns, and_patterns);

/* -- decompose-asinh -- */

/* Of |x|, so that nothing cancels where x is negative; the sign comes back. */
static value *asinh_exact(rewriter *r, value *x) {
  value *size = MAKE(r, OP_ABS, x);
  value *square = MAKE(r, OP_ADD, MAKE(r, OP_MUL, size, size), npuc_edit_scalar(r, "one", x->type, 1.0));
  value *log = MAKE(r, OP_LOG, MAKE(r, OP_ADD, size, MAKE(r, OP_SQRT, square)));
  return MAKE(r, OP_MUL, MAKE(r, OP_SIGN, x), log);
}

/* v P(v^2), v = clip(x, -6, 6): an odd polynomial of degree 9 in bf16's reach. */
static value *asinh_fit(rewriter *r, value *x) {
  static const double p[] = {9.701152e-01, -7.976821e-02, 5.723432e-03, -1.902770e-04, 2.265939e-06};
  value *v = MAKE(r, OP_CLIP, x, npuc_edit_scalar(r, "lo", x->type, -6.0), npuc_edit_scalar(r, "hi", x->type, 6.0));
  value *u = MAKE(r, OP_MUL, v, v), *sum = npuc_edit_scalar(r, "p4", x->type, p[4]);
  for (int i = 3; i >= 0; i--) sum = MAKE(r, OP_ADD, MAKE(r, OP_MUL, sum, u), npuc_edit_scalar(r, "p", x->type, p[i]));
  return MAKE(r, OP_MUL, v, sum);
}

static bool asinh_is_exact(const match *m) { return strcmp(npuc_edit_text(m->parameters, "mode"), "fit") != 0 && is_float_root(m); }
static bool asinh_is_fit(const match *m) { return strcmp(npuc_edit_text(m->parameters, "mode"), "fit") == 0 && is_float_root(m); }
static void to_logarithm(rewriter *r, const match *m) { npuc_edit_done(r, m, asinh_exact(r, m->values[X])); }
static void to_polynomial(rewriter *r, const match *m) { npuc_edit_done(r, m, asinh_fit(r, m->values[X])); }

static const pattern asinh_log = {
    .name = "asinh-to-log",
    .doc = "Asinh(x) -> Sign(x) Log(|x| + Sqrt(x^2 + 1))",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_ASINH, Y, ANY(X)),
    .where = asinh_is_exact,
    .rewrite = to_logarithm,
};
static const pattern asinh_polynomial = {
    .name = "asinh-to-polynomial",
    .doc = "Asinh(x) -> v P(v^2), v = Clip(x, -6, 6); within 0.18 for |x| <= 6",
    .parity = PARITY_APPROXIMATE,
    .root = NODE(OP_ASINH, Y, ANY(X)),
    .where = asinh_is_fit,
    .rewrite = to_polynomial,
};
static const pattern *const asinh_patterns[] = {&asinh_log, &asinh_polynomial};
PATTERN_SET(npuc_edit_decompose_asinh_patterns, asinh_patterns);
