/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that do nothing, or the same in two steps: every rewrite here is exact, bit for bit. */
#include <string.h>

#include "passes/internal.h"

enum { Y, X, INNER, A, B, C };

/* -- a node stands for its input -- */

/* A graph output must be made by a node: where y is one, x may be neither a port nor a constant. */
static bool can_forward(const value *y, const value *x) { return !y->is_output || !(x->is_input || x->is_output || x->constant); }

static void forward(rewriter *r, const match *m) { npuc_rewrite_replace(r, m->root->outputs[0], m->values[X]); }

static bool forwards(const match *m) { return can_forward(m->root->outputs[0], m->values[X]); }

static bool dropout_is_idle(const match *m) {
  const node *n = m->root;
  bool mask_used = n->n_outputs > 1 && n->outputs[1] && (n->outputs[1]->n_uses || n->outputs[1]->is_output);
  const value *training = n->n_inputs > 2 ? n->inputs[2] : NULL;
  bool off = !training || (training->constant && !npuc_tensor_get_int(training->constant, 0));
  return !mask_used && off && forwards(m);
}

/* Output has the input's type and, dim for dim, its shape. */
static bool changes_no_shape(const match *m) {
  return m->values[X]->type == m->root->outputs[0]->type && npuc_same_shape(m->values[X], m->root->outputs[0]) && forwards(m);
}

static bool casts_to_own_type(const match *m) {
  return m->values[X]->type != DTYPE_NONE && (int64_t)m->values[X]->type == NPUC_ATTRS(cast_attributes, m->root)->to && forwards(m);
}

static bool has_one_input(const match *m) { return m->root->n_inputs == 1 && m->root->n_outputs == 1 && forwards(m); }

static bool has_one_output(const match *m) { return m->root->n_outputs == 1 && forwards(m); }

static bool slice_takes_all(const match *m) {
  int64_t starts[MAX_RANK], ends[MAX_RANK], steps[MAX_RANK];
  int32_t n;
  if (!changes_no_shape(m) || !npuc_constant_ints(m->root->inputs[1], starts, MAX_RANK, &n)) return false;
  if (!npuc_constant_ints(m->root->inputs[2], ends, MAX_RANK, &n)) return false;
  if (m->root->n_inputs <= 4 || !m->root->inputs[4]) return true; /* equal dims and steps of 1: nothing was cut */
  if (!npuc_constant_ints(m->root->inputs[4], steps, MAX_RANK, &n)) return false;
  for (int32_t i = 0; i < n; i++) {
    if (steps[i] != 1) return false;
  }
  return true;
}

static bool pads_nothing(const match *m) {
  int64_t pads[2 * MAX_RANK];
  int32_t n;
  if (!npuc_constant_ints(m->root->inputs[1], pads, 2 * MAX_RANK, &n)) return false;
  for (int32_t i = 0; i < n; i++) {
    if (pads[i]) return false;
  }
  return forwards(m);
}

static bool is_identity_permutation(const int_list *perm) {
  for (int32_t i = 0; i < perm->count; i++) {
    if (perm->values[i] != i) return false;
  }
  return perm->count > 0;
}

static bool permutes_nothing(const match *m) {
  return is_identity_permutation(&NPUC_ATTRS(transpose_attributes, m->root)->perm) && forwards(m);
}

static bool pools_single_cells(const match *m) {
  const pool_attributes *a = NPUC_ATTRS(pool_attributes, m->root);
  if (m->root->n_outputs > 1 && m->root->outputs[1]) return false;
  for (int32_t i = 0; i < a->kernel_shape.count; i++) {
    if (a->kernel_shape.values[i] != 1) return false;
  }
  for (int32_t i = 0; i < a->strides.count; i++) {
    if (a->strides.values[i] != 1) return false;
  }
  return changes_no_shape(m);
}

/* -- neutral operands: x * 1, x / 1, x - 0 and x + (-0) are x to the bit; x + 0 is not, where x is -0. Integers: any zero -- */
static bool neutral(const match *m, double number) { return npuc_is_exactly(m->values[C], number) && changes_no_shape(m); }
static bool multiplies_by_one(const match *m) { return neutral(m, 1.0); }
static bool subtracts_zero(const match *m) { return neutral(m, 0.0); }
static bool adds_zero(const match *m) { return neutral(m, npuc_is_float(m->values[X]) ? -0.0 : 0.0); }

#define FORWARD(symbol, text, algebra, op_root, condition) \
  static const pattern symbol = {                          \
      .name = text, .doc = algebra, .parity = PARITY_EXACT, .root = op_root, .where = condition, .rewrite = forward}

FORWARD(identity, "identity", "Identity(x) -> x", NODE(OP_IDENTITY, Y, ANY(X)), forwards);
FORWARD(dropout, "dropout", "Dropout(x) -> x in inference", NODE(OP_DROPOUT, Y, ANY(X), OPTIONAL_INPUT(A), OPTIONAL_INPUT(B)),
        dropout_is_idle);
FORWARD(cast_to_same, "cast-to-same", "Cast(x) -> x of the same type", NODE(OP_CAST, Y, ANY(X)), casts_to_own_type);
FORWARD(reshape_to_same, "reshape-to-same", "Reshape(x) -> x of the same shape", NODE(OP_RESHAPE, Y, ANY(X), ANY(A)), changes_no_shape);
FORWARD(expand_to_same, "expand-to-same", "Expand(x) -> x of the same shape", NODE(OP_EXPAND, Y, ANY(X), ANY(A)), changes_no_shape);
FORWARD(flatten_to_same, "flatten-to-same", "Flatten(x) -> x of the same shape", NODE(OP_FLATTEN, Y, ANY(X)), changes_no_shape);
FORWARD(slice_of_all, "slice-of-all", "Slice(x) -> x where nothing is cut",
        NODE(OP_SLICE, Y, ANY(X), ANY(A), ANY(B), OPTIONAL_INPUT(C), OPTIONAL_INPUT(INNER)), slice_takes_all);
FORWARD(pad_of_nothing, "pad-of-nothing", "Pad(x, 0) -> x", NODE(OP_PAD, Y, ANY(X), CONST(A), OPTIONAL_INPUT(B), OPTIONAL_INPUT(C)),
        pads_nothing);
FORWARD(transpose_identity, "transpose-identity", "Transpose(x, identity) -> x", NODE(OP_TRANSPOSE, Y, ANY(X)), permutes_nothing);
FORWARD(concat_of_one, "concat-of-one", "Concat(x) -> x", NODE(OP_CONCAT, Y, ANY(X)), has_one_input);
FORWARD(max_of_one, "max-of-one", "Max(x) -> x", NODE(OP_MAX, Y, ANY(X)), has_one_input);
FORWARD(min_of_one, "min-of-one", "Min(x) -> x", NODE(OP_MIN, Y, ANY(X)), has_one_input);
FORWARD(split_in_one, "split-in-one", "Split(x) -> x with one output", NODE(OP_SPLIT, Y, ANY(X), OPTIONAL_INPUT(A)), has_one_output);
FORWARD(max_pool_of_one, "max-pool-of-one", "MaxPool(x) -> x with windows of one cell", NODE(OP_MAXPOOL, Y, ANY(X)), pools_single_cells);
FORWARD(average_pool_of_one, "average-pool-of-one", "AveragePool(x) -> x with windows of one cell", NODE(OP_AVERAGEPOOL, Y, ANY(X)),
        pools_single_cells);
FORWARD(mul_one, "mul-one", "Mul(x, 1) -> x", NODE(OP_MUL, Y, ANY(X), CONST(C)), multiplies_by_one);
FORWARD(div_one, "div-one", "Div(x, 1) -> x", NODE(OP_DIV, Y, ANY(X), CONST(C)), multiplies_by_one);
FORWARD(sub_zero, "sub-zero", "Sub(x, 0) -> x", NODE(OP_SUB, Y, ANY(X), CONST(C)), subtracts_zero);
FORWARD(add_zero, "add-zero", "Add(x, -0) -> x", NODE(OP_ADD, Y, ANY(X), CONST(C)), adds_zero);

/* -- two steps in one -- */

static void join_transposes(rewriter *r, const match *m) {
  const int_list *outer = &NPUC_ATTRS(transpose_attributes, m->root)->perm,
                 *inner = &NPUC_ATTRS(transpose_attributes, m->nodes[INNER])->perm;
  node *joined = npuc_rewrite_node(r, OP_TRANSPOSE, (value *[]){m->values[X]}, 1, 1);
  int_list *perm = &NPUC_ATTRS(transpose_attributes, joined)->perm;
  perm->count = outer->count;
  perm->values = NPUC_NEW_ARRAY(r->graph->module->arena, (size_t)outer->count, int64_t);
  for (int32_t i = 0; i < outer->count; i++) perm->values[i] = inner->values[outer->values[i]];
  npuc_rewrite_replace(r, m->root->outputs[0], joined->outputs[0]);
}

static bool both_have_perms(const match *m) {
  int32_t rank = m->values[X]->shape.rank;
  return rank > 0 && NPUC_ATTRS(transpose_attributes, m->root)->perm.count == rank &&
         NPUC_ATTRS(transpose_attributes, m->nodes[INNER])->perm.count == rank;
}

static const pattern transpose_transpose = {
    .name = "transpose-transpose",
    .doc = "Transpose(Transpose(x, p), q) -> Transpose(x, p[q])",
    .parity = PARITY_EXACT,
    .root = NODE(OP_TRANSPOSE, Y, NODE(OP_TRANSPOSE, INNER, ANY(X))),
    .where = both_have_perms,
    .rewrite = join_transposes,
};

/* Target of a Reshape that gives the root's output: its dims, one of them -1 where it is no number. False where two are open, or
 * where a dim is 0 (a 0 in a target means something else) . */
static bool target_of_output(const value *y, int64_t target[MAX_RANK]) {
  int32_t open = 0;
  for (int32_t i = 0; i < y->shape.rank; i++) {
    dim d = y->shape.dims[i];
    if (d == 0 || (!dim_is_number(d) && open++)) return false;
    target[i] = dim_is_number(d) ? d : -1;
  }
  return y->shape.rank >= 0;
}

static bool is_one_reshape(const match *m) {
  int64_t target[MAX_RANK];
  return m->values[X]->shape.rank >= 0 && target_of_output(m->root->outputs[0], target);
}

static void to_reshape(rewriter *r, const match *m) {
  int64_t target[MAX_RANK];
  const value *y = m->root->outputs[0];
  if (!target_of_output(y, target)) return;
  value *shape_value =
      npuc_graph_constant_ints(r->graph, npuc_arena_printf(r->scratch, "%s_shape", m->root->name), DTYPE_I64, target, y->shape.rank);
  node *reshape = npuc_rewrite_node(r, OP_RESHAPE, (value *[]){m->values[X], shape_value}, 2, 1);
  npuc_rewrite_replace(r, m->root->outputs[0], reshape->outputs[0]);
}

#define TO_RESHAPE(symbol, text, algebra, op_root) \
  static const pattern symbol = {                  \
      .name = text, .doc = algebra, .parity = PARITY_EXACT, .root = op_root, .where = is_one_reshape, .rewrite = to_reshape}

TO_RESHAPE(reshape_reshape, "reshape-reshape", "Reshape(Reshape(x)) -> Reshape(x)",
           NODE(OP_RESHAPE, Y, NODE(OP_RESHAPE, INNER, ANY(X), ANY(A)), ANY(B)));
/* A target that is computed, though the result's dims are known but for one at most. */
static bool target_is_computed(const match *m) { return !m->values[B]->constant && is_one_reshape(m); }

static const pattern reshape_target = {
    .name = "reshape-target-to-constant",
    .doc = "Reshape(x, computed) -> Reshape(x, constant) where the dims are known but for one",
    .parity = PARITY_EXACT,
    .root = NODE(OP_RESHAPE, Y, ANY(X), ANY(B)),
    .where = target_is_computed,
    .rewrite = to_reshape,
};

TO_RESHAPE(flatten_to_reshape, "flatten-to-reshape", "Flatten(x) -> Reshape(x)", NODE(OP_FLATTEN, Y, ANY(X)));
TO_RESHAPE(squeeze_to_reshape, "squeeze-to-reshape", "Squeeze(x) -> Reshape(x)", NODE(OP_SQUEEZE, Y, ANY(X), OPTIONAL_INPUT(A)));
TO_RESHAPE(unsqueeze_to_reshape, "unsqueeze-to-reshape", "Unsqueeze(x) -> Reshape(x)", NODE(OP_UNSQUEEZE, Y, ANY(X), ANY(A)));

static const pattern *const patterns[] = {
    &identity,        &dropout,        &cast_to_same,       &reshape_to_same,    &expand_to_same,
    &flatten_to_same, &slice_of_all,   &pad_of_nothing,     &transpose_identity, &concat_of_one,
    &max_of_one,      &min_of_one,     &split_in_one,       &max_pool_of_one,    &average_pool_of_one,
    &mul_one,         &div_one,        &sub_zero,           &add_zero,           &transpose_transpose,
    &reshape_reshape, &reshape_target, &flatten_to_reshape, &squeeze_to_reshape, &unsqueeze_to_reshape,
};
PATTERN_SET(npuc_cleanup_patterns, patterns);
