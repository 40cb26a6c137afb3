/* SPDX-License-Identifier: Apache-2.0 */
/* legalize, matrices: a product with constant weights is Gemm(x, w[N, K], b[N]) with transB = 1, alpha = beta = 1, transA = 0; a normalization of rows is one of
 * a matrix. */
#include <string.h>

#include "passes/internal.h"

enum { Y, X, W, B, STACK };

static bool is_f32_matrix(const value *v) { return v->type == DTYPE_F32 && npuc_has_rank(v, 2); }

/* -- Gemm -- */

static int64_t columns_of(const gemm_attributes *a, const value *w) { return w->constant->shape.dims[a->transB ? 0 : 1]; }

static bool bias_is_normal(const value *b, int64_t columns) {
  return !b || (b->constant->shape.rank == 1 && npuc_tensor_elements(b->constant) == columns);
}

static bool wants_normal_form(const match *m) {
  const gemm_attributes *a = NPUC_ATTRS(gemm_attributes, m->root);
  const value *w = m->values[W], *b = m->values[B];
  if (!is_f32_matrix(w) || !npuc_has_rank(m->values[X], 2) || a->transA) return false;
  int64_t columns = columns_of(a, w);
  if (b && !npuc_is_per_column(b, columns)) return false;
  return !a->transB || a->alpha != 1.0f || (b && a->beta != 1.0f) || !bias_is_normal(b, columns);
}

static void normalize_gemm(rewriter *r, const match *m) {
  const gemm_attributes *old = NPUC_ATTRS(gemm_attributes, m->root);
  int64_t columns = columns_of(old, m->values[W]);
  value *w = old->transB ? m->values[W] : npuc_weight_transposed(r, m->values[W]), *b = m->values[B];
  double *numbers = NPUC_NEW_ARRAY(r->scratch, (size_t)columns, double);
  if (w && old->alpha != 1.0f) {
    for (int64_t i = 0; i < columns; i++) numbers[i] = (double)old->alpha;
    w = npuc_weight_scaled(r, w, 0, numbers);
  }
  if (b && (old->beta != 1.0f || !bias_is_normal(b, columns))) {
    npuc_weight_channels(b, columns, numbers);
    for (int64_t i = 0; i < columns; i++) numbers[i] *= (double)old->beta;
    b = npuc_weight_vector(r, b->name, DTYPE_F32, numbers, columns);
  }
  if (!w || (m->values[B] && !b)) return;
  node *gemm = npuc_rewrite_node(r, OP_GEMM, (value *[]){m->values[X], w, b}, b ? 3 : 2, 1);
  NPUC_ATTRS(gemm_attributes, gemm)->transB = 1;
  npuc_rewrite_replace(r, m->root->outputs[0], gemm->outputs[0]);
}

static const pattern gemm_form = {
    .name = "gemm-normal-form",
    .doc = "Gemm(x, w, b; alpha, beta) -> Gemm(x, alpha*w transposed, beta*b; transB)",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_GEMM, Y, ANY(X), CONST(W), OPTIONAL_CONST(B)),
    .where = wants_normal_form,
    .rewrite = normalize_gemm,
};

static bool transposes_a(const match *m) { return NPUC_ATTRS(gemm_attributes, m->root)->transA && npuc_has_rank(m->values[X], 2); }

static void transpose_a(rewriter *r, const match *m) {
  node *turned = npuc_rewrite_node(r, OP_TRANSPOSE, (value *[]){m->values[X]}, 1, 1);
  value *b = m->values[B];
  node *gemm = npuc_rewrite_node(r, OP_GEMM, (value *[]){turned->outputs[0], m->values[W], b}, b ? 3 : 2, 1);
  *NPUC_ATTRS(gemm_attributes, gemm) = *NPUC_ATTRS(gemm_attributes, m->root);
  NPUC_ATTRS(gemm_attributes, gemm)->transA = 0;
  npuc_rewrite_replace(r, m->root->outputs[0], gemm->outputs[0]);
}

static const pattern gemm_trans_a = {
    .name = "gemm-transpose-a",
    .doc = "Gemm(x, w, b; transA) -> Gemm(Transpose(x), w, b)",
    .parity = PARITY_EXACT,
    .root = NODE(OP_GEMM, Y, ANY(X), ANY(W), OPTIONAL_INPUT(B)),
    .where = transposes_a,
    .rewrite = transpose_a,
};

/* -- MatMul -- */

static bool is_matrix_by_constant(const match *m) { return is_f32_matrix(m->values[W]) && npuc_has_rank(m->values[X], 2); }

static void matmul_to_gemm(rewriter *r, const match *m) {
  value *w = npuc_weight_transposed(r, m->values[W]);
  if (!w) return;
  node *gemm = npuc_rewrite_node(r, OP_GEMM, (value *[]){m->values[X], w}, 2, 1);
  NPUC_ATTRS(gemm_attributes, gemm)->transB = 1;
  npuc_rewrite_replace(r, m->root->outputs[0], gemm->outputs[0]);
}

static const pattern matmul_gemm = {
    .name = "matmul-to-gemm",
    .doc = "MatMul(x, w) -> Gemm(x, w transposed; transB), of matrices",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_MATMUL, Y, ANY(X), CONST(W)),
    .where = is_matrix_by_constant,
    .rewrite = matmul_to_gemm,
};

static bool is_stack_by_constant(const match *m) {
  return is_f32_matrix(m->values[W]) && m->values[X]->shape.rank > 2 && npuc_shape_is_static(&m->values[X]->shape) &&
         npuc_shape_is_static(&m->root->outputs[0]->shape);
}

/* Rows of all matrices of the stack are rows of one: [..., M, K] is [... * M, K]. */
static void flatten_stack(rewriter *r, const match *m) {
  const shape *x = &m->values[X]->shape;
  int64_t elements;
  if (!npuc_shape_elements(x, &elements)) return;
  int64_t k = x->dims[x->rank - 1];
  shape flat = {.rank = 2, .dims = {k ? elements / k : 0, k}};
  value *rows = npuc_weight_reshape(r, m->values[X], &flat);
  node *product = npuc_rewrite_node(r, OP_MATMUL, (value *[]){rows, m->values[W]}, 2, 1);
  npuc_rewrite_replace(r, m->root->outputs[0], npuc_weight_reshape(r, product->outputs[0], &m->root->outputs[0]->shape));
}

static const pattern matmul_stack = {
    .name = "matmul-of-stack",
    .doc = "MatMul(x[..., M, K], w[K, N]) -> Reshape(MatMul(Reshape(x), w))",
    .parity = PARITY_EXACT,
    .root = NODE(OP_MATMUL, Y, ANY(X), CONST(W)),
    .where = is_stack_by_constant,
    .rewrite = flatten_stack,
};

/* -- one number for each column, behind a Reshape of the matrix: before it, where it meets the Gemm -- */

static bool is_for_columns(const match *m) {
  const shape *x = &m->values[X]->shape, *y = &m->root->outputs[0]->shape, *c = &m->values[B]->shape;
  int64_t columns = x->rank == 2 ? x->dims[1] : 0;
  if (m->values[X]->type != DTYPE_F32 || !dim_is_number(columns) || columns < 2 || !npuc_shape_is_static(y)) return false;
  if (!npuc_same_shape(m->root->outputs[0], m->values[STACK]) || y->rank < 1 || y->dims[y->rank - 1] != columns) return false;
  return npuc_tensor_elements(m->values[B]->constant) == columns && c->dims[c->rank - 1] == columns;
}

static void before_reshape(rewriter *r, const match *m) {
  int64_t columns = m->values[X]->shape.dims[1];
  double *numbers = NPUC_NEW_ARRAY(r->scratch, (size_t)columns, double);
  npuc_weight_channels(m->values[B], columns, numbers);
  value *c = npuc_weight_vector(r, m->values[B]->name, DTYPE_F32, numbers, columns);
  if (!c) return;
  node *first = npuc_rewrite_node(r, m->root->op->id, (value *[]){m->values[X], c}, 2, 1);
  npuc_rewrite_replace(r, m->root->outputs[0], npuc_weight_reshape(r, first->outputs[0], &m->root->outputs[0]->shape));
}

static const pattern add_columns = {
    .name = "add-columns-before-reshape",
    .doc = "Add(Reshape(x[M, N]), c[N]) -> Reshape(Add(x, c))",
    .parity = PARITY_EXACT,
    .root = NODE(OP_ADD, Y, ONE_USE(OP_RESHAPE, STACK, ANY(X), ANY(W)), CONST(B)),
    .where = is_for_columns,
    .rewrite = before_reshape,
};
static const pattern mul_columns = {
    .name = "mul-columns-before-reshape",
    .doc = "Mul(Reshape(x[M, N]), c[N]) -> Reshape(Mul(x, c))",
    .parity = PARITY_EXACT,
    .root = NODE(OP_MUL, Y, ONE_USE(OP_RESHAPE, STACK, ANY(X), ANY(W)), CONST(B)),
    .where = is_for_columns,
    .rewrite = before_reshape,
};

/* -- normalizations of the last axis: rows of any stack are rows of one matrix -- */

static bool is_stack_of_rows(const match *m) {
  const shape *x = &m->values[X]->shape;
  int32_t axis;
  if (m->values[X]->type != DTYPE_F32 || !npuc_shape_is_static(x) || x->rank < 3 || (x->rank == 3 && x->dims[0] == 1)) return false;
  if (!npuc_axis_normalize(NPUC_ATTRS(layernorm_attributes, m->root)->axis, x->rank, &axis) || axis != x->rank - 1 || x->dims[axis] < 1)
    return false;
  for (int32_t i = 1; i < m->root->n_outputs; i++) {
    if (m->root->outputs[i]) return false;
  }
  return m->values[W]->shape.rank == 1 && (!m->values[B] || m->values[B]->shape.rank == 1);
}

static void normalize_rows(rewriter *r, const match *m) {
  const shape *x = &m->values[X]->shape;
  int64_t count;
  if (!npuc_shape_elements(x, &count)) return;
  shape flat = {.rank = 2, .dims = {count / x->dims[x->rank - 1], x->dims[x->rank - 1]}};
  value *b = m->values[B];
  node *rows =
      npuc_rewrite_node(r, m->root->op->id, (value *[]){npuc_weight_reshape(r, m->values[X], &flat), m->values[W], b}, b ? 3 : 2, 1);
  *NPUC_ATTRS(layernorm_attributes, rows) = *NPUC_ATTRS(layernorm_attributes, m->root);
  NPUC_ATTRS(layernorm_attributes, rows)->axis = -1;
  npuc_rewrite_replace(r, m->root->outputs[0], npuc_weight_reshape(r, rows->outputs[0], x));
}

static const pattern layernorm_stack = {
    .name = "layer-norm-of-stack",
    .doc = "LayerNormalization(x[..., M, K]; last axis) -> Reshape(LayerNormalization(x as [..., K]))",
    .parity = PARITY_EXACT,
    .root = NODE(OP_LAYERNORMALIZATION, Y, ANY(X), ANY(W), OPTIONAL_INPUT(B)),
    .where = is_stack_of_rows,
    .rewrite = normalize_rows,
};
static const pattern rmsnorm_stack = {
    .name = "rms-norm-of-stack",
    .doc = "RMSNormalization(x[..., M, K]; last axis) -> Reshape(RMSNormalization(x as [..., K]))",
    .parity = PARITY_EXACT,
    .root = NODE(OP_RMSNORMALIZATION, Y, ANY(X), ANY(W)),
    .where = is_stack_of_rows,
    .rewrite = normalize_rows,
};

static const pattern *const patterns[] = {&add_columns,  &mul_columns, &layernorm_stack, &rmsnorm_stack,
                                          &gemm_trans_a, &gemm_form,   &matmul_gemm,     &matmul_stack};
PATTERN_SET(npuc_matrix_patterns, patterns);
