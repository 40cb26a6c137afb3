/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products. */
#include <string.h>

#include "import/pt2/aten.h"

static npuc_status transposed_last(pt2_node *n, value *x, value **out) {
  int64_t perm[MAX_RANK];
  int32_t rank = x->shape.rank;
  for (int32_t i = 0; i < rank; i++) perm[i] = i;
  if (rank >= 2) {
    perm[rank - 1] = rank - 2;
    perm[rank - 2] = rank - 1;
  }
  return npuc_pt2_transpose(n, x, perm, (size_t)rank, out);
}

/* y = x w^T + b. Two axes make a Gemm, which later stages keep whole; more make a MatMul and an Add. */
npuc_status npuc_aten_linear(pt2_node *n) {
  value *x, *weight, *bias, *y;
  NPUC_TRY(npuc_pt2_tensor(n, "input", &x));
  NPUC_TRY(npuc_pt2_tensor(n, "weight", &weight));
  NPUC_TRY(npuc_pt2_optional_tensor(n, "bias", &bias));
  if (x->shape.rank == 2 && weight->shape.rank == 2) {
    node *made;
    NPUC_TRY(npuc_pt2_emit(n, "Gemm", (value *[]){x, weight, bias}, 3, 1, &made));
    npuc_pt2_set_int(made, "transB", 1);
    NPUC_TRY(npuc_node_infer(n->s->d, made));
    return npuc_pt2_result(n, made->outputs[0]);
  }
  NPUC_TRY(transposed_last(n, weight, &weight));
  NPUC_TRY(npuc_pt2_binary(n, "MatMul", x, weight, &y));
  if (bias) NPUC_TRY(npuc_pt2_binary(n, "Add", y, bias, &y));
  return npuc_pt2_result(n, y);
}

static npuc_status scaled(pt2_node *n, value *x, const char *factor, value **out) {
  pt2_scalar v;
  NPUC_TRY(npuc_pt2_scalar_arg(n, factor, (pt2_scalar){.integer = 1, .real = 1.0}, &v));
  *out = x;
  if (!v.value && v.real == 1.0) return NPUC_OK;
  value *c;
  NPUC_TRY(npuc_pt2_scalar_value(n, &v, x->type, &c));
  return npuc_pt2_binary(n, "Mul", x, c, out);
}

/* beta * self + alpha * (a @ b) */
npuc_status npuc_aten_addmm(pt2_node *n) {
  value *self, *a, *b, *y;
  bool batched = npuc_pt2_has(n, "batch1"), vector = npuc_pt2_has(n, "vec"); /* baddbmm, addmv */
  NPUC_TRY(npuc_pt2_tensor(n, "self", &self));
  NPUC_TRY(npuc_pt2_tensor(n, batched ? "batch1" : vector ? "mat" : "mat1", &a));
  NPUC_TRY(npuc_pt2_tensor(n, batched ? "batch2" : vector ? "vec" : "mat2", &b));
  if (!batched && !vector && !npuc_pt2_has(n, "alpha") && !npuc_pt2_has(n, "beta")) {
    NPUC_TRY(npuc_pt2_ternary(n, "Gemm", a, b, self, &y));
    return npuc_pt2_result(n, y);
  }
  NPUC_TRY(npuc_pt2_binary(n, "MatMul", a, b, &y));
  NPUC_TRY(scaled(n, y, "alpha", &y));
  NPUC_TRY(scaled(n, self, "beta", &self));
  NPUC_TRY(npuc_pt2_binary(n, "Add", y, self, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_matmul(pt2_node *n) {
  static const char *const seconds[] = {"other", "mat2", "vec", "tensor"};
  value *a, *b = NULL, *y;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &a));
  for (size_t i = 0; i < 4 && !b; i++) {
    if (npuc_pt2_has(n, seconds[i])) NPUC_TRY(npuc_pt2_tensor(n, seconds[i], &b));
  }
  if (!b) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "other", "the second operand is missing");
  NPUC_TRY(npuc_pt2_binary(n, "MatMul", a, b, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_einsum(pt2_node *n) {
  const char *equation;
  value **operands;
  size_t count;
  NPUC_TRY(npuc_pt2_string(n, "equation", "", &equation));
  NPUC_TRY(npuc_pt2_tensors(n, "tensors", &operands, &count));
  npuc_pt2_ignore(n, "path");
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Einsum", operands, count, 1, &made));
  npuc_pt2_set_string(made, "equation", equation);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  return npuc_pt2_result(n, made->outputs[0]);
}

/* [n] and [m] to [n, m]. */
npuc_status npuc_aten_outer(pt2_node *n) {
  value *a, *b, *y;
  int64_t last = 1;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &a));
  NPUC_TRY(npuc_pt2_tensor(n, "vec2", &b));
  dtype type = npuc_pt2_promote((value *[]){a, b}, 2, NULL);
  NPUC_TRY(npuc_pt2_cast(n, a, type, &a));
  NPUC_TRY(npuc_pt2_cast(n, b, type, &b));
  NPUC_TRY(npuc_pt2_unsqueeze(n, a, &last, 1, &a));
  NPUC_TRY(npuc_pt2_binary(n, "Mul", a, b, &y));
  return npuc_pt2_result(n, y);
}
