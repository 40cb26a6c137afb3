/* SPDX-License-Identifier: Apache-2.0 */
/* Distances and products of vectors. */
#include <math.h>

#include "import/pt2/aten.h"

static npuc_status norm(pt2_node *n, double order, value *x, int64_t axis, bool keepdim, value **out) {
  const char *op = order == 1.0 ? "ReduceL1" : order == 2.0 ? "ReduceL2" : isinf(order) ? "ReduceMax" : NULL;
  if (!op) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "p", "the norm of order %g; 1, 2 and infinity are translated", order);
  if (isinf(order)) NPUC_TRY(npuc_pt2_unary(n, "Abs", x, &x));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, op, (value *[]){x, npuc_pt2_constant_ints(n, &axis, 1)}, 2, 1, &made));
  npuc_pt2_set_int(made, "keepdims", keepdim);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  *out = made->outputs[0];
  return NPUC_OK;
}

/* a [.., P, K], b [.., R, K] -> |a_p - b_r| [.., P, R] */
npuc_status npuc_aten_cdist(pt2_node *n) {
  value *a, *b, *y;
  double order;
  NPUC_TRY(npuc_pt2_tensor(n, "x1", &a));
  NPUC_TRY(npuc_pt2_tensor(n, "x2", &b));
  NPUC_TRY(npuc_pt2_float_arg(n, "p", 2.0, &order));
  npuc_pt2_ignore(n, "compute_mode"); /* by which of two ways torch computes it */
  int64_t at_a = a->shape.rank - 1, at_b = b->shape.rank - 2;
  if (at_a < 1 || at_b < 0 || a->shape.rank >= MAX_RANK) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "x1", "%d axes", a->shape.rank);
  NPUC_TRY(npuc_pt2_unsqueeze(n, a, &at_a, 1, &a));
  NPUC_TRY(npuc_pt2_unsqueeze(n, b, &at_b, 1, &b));
  NPUC_TRY(npuc_pt2_binary(n, "Sub", a, b, &y));
  NPUC_TRY(norm(n, order, y, y->shape.rank - 1, false, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_pairwise_distance(pt2_node *n) {
  value *a, *b, *y;
  double order, eps;
  bool keepdim;
  NPUC_TRY(npuc_pt2_tensor(n, "x1", &a));
  NPUC_TRY(npuc_pt2_tensor(n, "x2", &b));
  NPUC_TRY(npuc_pt2_float_arg(n, "p", 2.0, &order));
  NPUC_TRY(npuc_pt2_float_arg(n, "eps", 1e-6, &eps));
  NPUC_TRY(npuc_pt2_bool_arg(n, "keepdim", false, &keepdim));
  NPUC_TRY(npuc_pt2_binary(n, "Sub", a, b, &y));
  NPUC_TRY(npuc_pt2_binary(n, "Add", y, npuc_pt2_constant(n, y->type, eps), &y));
  NPUC_TRY(norm(n, order, y, y->shape.rank - 1, keepdim, &y));
  return npuc_pt2_result(n, y);
}

/* sum(a / max(|a|, eps) * b / max(|b|, eps)) */
npuc_status npuc_aten_cosine_similarity(pt2_node *n) {
  value *sides[2], *length, *y;
  int64_t axis;
  double eps;
  NPUC_TRY(npuc_pt2_tensor(n, "x1", &sides[0]));
  NPUC_TRY(npuc_pt2_tensor(n, "x2", &sides[1]));
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", 1, &axis));
  NPUC_TRY(npuc_pt2_float_arg(n, "eps", 1e-8, &eps));
  int32_t rank = sides[0]->shape.rank > sides[1]->shape.rank ? sides[0]->shape.rank : sides[1]->shape.rank;
  NPUC_TRY(npuc_pt2_axis(n, "dim", axis, rank, &axis));
  for (size_t i = 0; i < 2; i++) {
    int64_t own = axis - rank; /* from the end: shapes broadcast there */
    if (-own > sides[i]->shape.rank) return npuc_pt2_fail(n, NPUC_DIAG_E0336, "dim", "an axis that one of the tensors does not have");
    NPUC_TRY(norm(n, 2.0, sides[i], own, true, &length));
    NPUC_TRY(npuc_pt2_binary(n, "Max", length, npuc_pt2_constant(n, length->type, eps), &length));
    NPUC_TRY(npuc_pt2_binary(n, "Div", sides[i], length, &sides[i]));
  }
  NPUC_TRY(npuc_pt2_binary(n, "Mul", sides[0], sides[1], &y));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "ReduceSum", (value *[]){y, npuc_pt2_constant_ints(n, &axis, 1)}, 2, 1, &made));
  npuc_pt2_set_int(made, "keepdims", 0);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  return npuc_pt2_result(n, made->outputs[0]);
}

/* y_o = x1' W_o x2 + b_o */
npuc_status npuc_aten_bilinear(pt2_node *n) {
  value *inputs[3], *bias, *y;
  NPUC_TRY(npuc_pt2_tensor(n, "input1", &inputs[0]));
  NPUC_TRY(npuc_pt2_tensor(n, "weight", &inputs[1]));
  NPUC_TRY(npuc_pt2_tensor(n, "input2", &inputs[2]));
  NPUC_TRY(npuc_pt2_optional_tensor(n, "bias", &bias));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Einsum", inputs, 3, 1, &made));
  npuc_pt2_set_string(made, "equation", "...i,oij,...j->...o");
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  y = made->outputs[0];
  if (bias) NPUC_TRY(npuc_pt2_binary(n, "Add", y, bias, &y));
  return npuc_pt2_result(n, y);
}
