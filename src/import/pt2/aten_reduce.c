/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, softmax, sorting. No axes given (or an empty list) means all of them. */
#include <string.h>

#include "import/pt2/aten.h"

typedef struct axes {
  int64_t list[MAX_RANK];
  size_t n;
  bool keepdim;
} axes;

static npuc_status read_axes(pt2_node *n, const value *x, axes *out) {
  int64_t *given;
  size_t count;
  NPUC_TRY(npuc_pt2_ints(n, "dim", &given, &count));
  NPUC_TRY(npuc_pt2_bool_arg(n, "keepdim", false, &out->keepdim));
  out->n = count;
  if (count > MAX_RANK) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "dim", "%zu axes", count);
  for (size_t i = 0; i < count; i++) NPUC_TRY(npuc_pt2_axis(n, "dim", given[i], x->shape.rank, &out->list[i]));
  if (x->shape.rank == 0) out->n = 0;
  return NPUC_OK;
}

static npuc_status reduce(pt2_node *n, const char *op, value *x, const axes *a, value **out) {
  value *list = a->n ? npuc_pt2_constant_ints(n, a->list, a->n) : NULL;
  node *made;
  *out = x;
  if (x->shape.rank == 0) return NPUC_OK;
  NPUC_TRY(npuc_pt2_emit(n, op, (value *[]){x, list}, 2, 1, &made));
  npuc_pt2_set_int(made, "keepdims", a->keepdim);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  *out = made->outputs[0];
  return NPUC_OK;
}

/* Sums of integers and bools are int64; dtype converts before the reduction. */
npuc_status npuc_aten_reduce(pt2_node *n) {
  value *x, *y;
  axes a;
  pt2_meta meta;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(read_axes(n, x, &a));
  NPUC_TRY(npuc_pt2_output_meta(n, 0, &meta));
  npuc_pt2_ignore(n, "dtype"); /* the output's type says it */
  NPUC_TRY(npuc_pt2_cast(n, x, meta.type, &x));
  NPUC_TRY(reduce(n, n->onnx, x, &a, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_any(pt2_node *n) {
  value *x, *y;
  axes a;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(read_axes(n, x, &a));
  NPUC_TRY(npuc_pt2_cast(n, x, DTYPE_BOOL, &x));
  NPUC_TRY(npuc_pt2_cast(n, x, DTYPE_I32, &x));
  NPUC_TRY(reduce(n, n->onnx, x, &a, &y));
  NPUC_TRY(npuc_pt2_cast(n, y, DTYPE_BOOL, &y));
  return npuc_pt2_result(n, y);
}

static npuc_status arg_extreme(pt2_node *n, const char *op, value *x, int64_t axis, bool keepdim, value **out) {
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, op, &x, 1, 1, &made));
  npuc_pt2_set_int(made, "axis", axis);
  npuc_pt2_set_int(made, "keepdims", keepdim);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  *out = made->outputs[0];
  return NPUC_OK;
}

/* Three forms: of all elements; of two tensors; along an axis with the indices as second output. */
npuc_status npuc_aten_max(pt2_node *n) {
  value *x, *results[2];
  axes a;
  bool is_max = strcmp(n->onnx, "ReduceMax") == 0;
  if (npuc_pt2_has(n, "other")) {
    n->onnx = is_max ? "Max" : "Min";
    return npuc_aten_binary(n);
  }
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(read_axes(n, x, &a));
  NPUC_TRY(reduce(n, n->onnx, x, &a, &results[0]));
  if (a.n == 0) return npuc_pt2_result(n, results[0]);
  NPUC_TRY(arg_extreme(n, is_max ? "ArgMax" : "ArgMin", x, a.list[0], a.keepdim, &results[1]));
  return npuc_pt2_results(n, results, 2);
}

npuc_status npuc_aten_argmax(pt2_node *n) {
  value *x, *y;
  int64_t axis;
  bool keepdim, all = !npuc_pt2_has(n, "dim");
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", 0, &axis));
  NPUC_TRY(npuc_pt2_bool_arg(n, "keepdim", false, &keepdim));
  if (all) NPUC_TRY(npuc_pt2_reshape(n, x, (pt2_int[]){pt2_number(-1)}, 1, &x));
  NPUC_TRY(npuc_pt2_axis(n, "dim", axis, x->shape.rank, &axis));
  NPUC_TRY(arg_extreme(n, n->onnx, x, axis, keepdim && !all, &y));
  return npuc_pt2_result(n, y);
}

/* sum((x - mean)^2) / (count - correction) */
static npuc_status moments(pt2_node *n, value **out_var, value **out_mean) {
  value *x, *mean, *d, *y;
  axes a;
  pt2_scalar correction = {.integer = 1, .real = 1.0};
  bool unbiased;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(read_axes(n, x, &a));
  NPUC_TRY(npuc_pt2_scalar_arg(n, "correction", correction, &correction));
  NPUC_TRY(npuc_pt2_bool_arg(n, "unbiased", correction.real != 0.0, &unbiased));
  if (!unbiased) correction.real = 0.0;
  if (x->shape.rank == 0) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "self", "the variance of a number");
  double count = 1.0;
  for (int32_t i = 0; i < x->shape.rank; i++) {
    bool reduced = a.n == 0;
    for (size_t k = 0; k < a.n; k++) reduced = reduced || a.list[k] == i;
    if (reduced && !dim_is_number(x->shape.dims[i]))
      return npuc_pt2_fail(n, NPUC_DIAG_E0335, "dim", "the variance over an axis of unknown length");
    if (reduced) count *= (double)x->shape.dims[i];
  }
  axes kept = a;
  kept.keepdim = true;
  NPUC_TRY(reduce(n, "ReduceMean", x, &kept, &mean));
  NPUC_TRY(npuc_pt2_binary(n, "Sub", x, mean, &d));
  NPUC_TRY(npuc_pt2_binary(n, "Mul", d, d, &d));
  NPUC_TRY(reduce(n, "ReduceMean", d, &a, &y));
  if (correction.real != 0.0) NPUC_TRY(npuc_pt2_binary(n, "Mul", y, npuc_pt2_constant(n, x->type, count / (count - correction.real)), &y));
  *out_var = y;
  return out_mean ? reduce(n, "ReduceMean", x, &a, out_mean) : NPUC_OK;
}

npuc_status npuc_aten_variance(pt2_node *n) {
  value *y;
  NPUC_TRY(moments(n, &y, NULL));
  if (n->onnx) NPUC_TRY(npuc_pt2_unary(n, n->onnx, y, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_var_mean(pt2_node *n) {
  value *results[2];
  NPUC_TRY(moments(n, &results[0], &results[1]));
  if (n->onnx) NPUC_TRY(npuc_pt2_unary(n, n->onnx, results[0], &results[0]));
  return npuc_pt2_results(n, results, 2);
}

npuc_status npuc_aten_vector_norm(pt2_node *n) {
  value *x, *y;
  axes a;
  double order;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_float_arg(n, "ord", 2.0, &order));
  NPUC_TRY(read_axes(n, x, &a));
  npuc_pt2_ignore(n, "dtype");
  if (order != 1.0 && order != 2.0) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "ord", "the norm of order %g; 1 and 2 are translated", order);
  NPUC_TRY(reduce(n, order == 1.0 ? "ReduceL1" : "ReduceL2", x, &a, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_softmax(pt2_node *n) {
  value *x;
  int64_t axis;
  dtype type;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", -1, &axis));
  NPUC_TRY(npuc_pt2_dtype_arg(n, "dtype", &type));
  npuc_pt2_ignore(n, "half_to_float");
  if (type != DTYPE_NONE) NPUC_TRY(npuc_pt2_cast(n, x, type, &x));
  NPUC_TRY(npuc_pt2_axis(n, "dim", axis, x->shape.rank, &axis));
  bool scalar = x->shape.rank == 0; /* torch gives it an axis, ONNX does not */
  if (scalar) NPUC_TRY(npuc_pt2_unsqueeze(n, x, (int64_t[]){0}, 1, &x));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, n->onnx, &x, 1, 1, &made));
  npuc_pt2_set_int(made, "axis", axis);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  value *y = made->outputs[0];
  if (scalar) NPUC_TRY(npuc_pt2_squeeze(n, y, (int64_t[]){0}, 1, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_cumsum(pt2_node *n) {
  value *x, *y;
  int64_t axis;
  pt2_meta meta;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", 0, &axis));
  NPUC_TRY(npuc_pt2_output_meta(n, 0, &meta));
  npuc_pt2_ignore(n, "dtype");
  NPUC_TRY(npuc_pt2_cast(n, x, meta.type, &x));
  NPUC_TRY(npuc_pt2_axis(n, "dim", axis, x->shape.rank, &axis));
  NPUC_TRY(npuc_pt2_binary(n, n->onnx, x, npuc_pt2_constant_int(n, DTYPE_I64, axis), &y));
  return npuc_pt2_result(n, y);
}

static npuc_status top(pt2_node *n, value *x, pt2_int k, int64_t axis, bool largest, value **results) {
  value *count;
  NPUC_TRY(npuc_pt2_shape_value(n, &k, 1, &count));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "TopK", (value *[]){x, count}, 2, 2, &made));
  npuc_pt2_set_int(made, "axis", axis);
  npuc_pt2_set_int(made, "largest", largest);
  npuc_pt2_set_int(made, "sorted", 1);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  results[0] = made->outputs[0];
  results[1] = made->outputs[1];
  return NPUC_OK;
}

npuc_status npuc_aten_topk(pt2_node *n) {
  value *x, *results[2];
  pt2_int k;
  int64_t axis;
  bool largest;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_symint(n, "k", 1, &k));
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", -1, &axis));
  NPUC_TRY(npuc_pt2_bool_arg(n, "largest", true, &largest));
  npuc_pt2_ignore(n, "sorted"); /* sorted is one of the orders that unsorted allows */
  NPUC_TRY(npuc_pt2_axis(n, "dim", axis, x->shape.rank, &axis));
  NPUC_TRY(top(n, x, k, axis, largest, results));
  return npuc_pt2_results(n, results, 2);
}

/* TopK of all: ONNX gives equal elements in ascending order of index, so it is stable. */
npuc_status npuc_aten_sort(pt2_node *n) {
  value *x, *results[2];
  pt2_int k;
  int64_t axis;
  bool descending;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", -1, &axis));
  NPUC_TRY(npuc_pt2_bool_arg(n, "descending", false, &descending));
  npuc_pt2_ignore(n, "stable");
  NPUC_TRY(npuc_pt2_axis(n, "dim", axis, x->shape.rank, &axis));
  NPUC_TRY(npuc_pt2_size(n, x, (int32_t)axis, &k));
  NPUC_TRY(top(n, x, k, axis, descending, results));
  return n->onnx ? npuc_pt2_result(n, results[1]) : npuc_pt2_results(n, results, 2);
}
