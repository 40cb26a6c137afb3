/* SPDX-License-Identifier: Apache-2.0 */
/* Elements chosen by masks. How many there are depends on the data: NonZero gives their places, and the result has an axis of a length that is known
 * at run time only. masked_scatter, which writes the k-th element of a source to the k-th chosen place, needs no such axis: running counts of the mask
 * say k for every place. */
#include "import/pt2/aten.h"

/* [count, rank of x]: int64 */
static npuc_status places(pt2_node *n, value *x, value **out) {
  NPUC_TRY(npuc_pt2_unary(n, "NonZero", x, out));
  return npuc_pt2_transpose(n, *out, (int64_t[]){1, 0}, 2, out);
}

npuc_status npuc_aten_nonzero(pt2_node *n) {
  value *x, *y;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  if (x->shape.rank == 0) return npuc_pt2_fail(n, NPUC_DIAG_E0336, "self", "the places in a tensor without axes");
  NPUC_TRY(places(n, x, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_pt2_choose(pt2_node *n, value *x, value *mask, value **out) {
  value *at;
  if (mask->shape.rank == 0 || mask->shape.rank > x->shape.rank)
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, NULL, "a mask of %d axes on a tensor of %d", mask->shape.rank, x->shape.rank);
  NPUC_TRY(places(n, mask, &at));
  return npuc_pt2_binary(n, "GatherND", x, at, out);
}

/* Both as large as the larger of them. */
static npuc_status broadcast(pt2_node *n, value **io_x, value **io_mask) {
  shape joined;
  if (!npuc_shape_broadcast(&(*io_x)->shape, &(*io_mask)->shape, &joined))
    return npuc_pt2_fail(n, NPUC_DIAG_E0335, "mask", "its shape does not broadcast with the tensor's");
  value *widest = npuc_shape_equal(&(*io_x)->shape, &joined) ? *io_x : *io_mask;
  if (!npuc_shape_equal(&widest->shape, &joined))
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, "mask", "a mask and a tensor that both broadcast to a larger shape");
  NPUC_TRY(npuc_pt2_expand_like(n, *io_x, widest, io_x));
  return npuc_pt2_expand_like(n, *io_mask, widest, io_mask);
}

npuc_status npuc_aten_masked_select(pt2_node *n) {
  value *x, *mask, *y;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_tensor(n, "mask", &mask));
  NPUC_TRY(broadcast(n, &x, &mask));
  NPUC_TRY(npuc_pt2_choose(n, x, mask, &y));
  return npuc_pt2_result(n, y);
}

/* where(mask, source[running count of the mask - 1], self) */
npuc_status npuc_aten_masked_scatter(pt2_node *n) {
  value *x, *mask, *source, *at, *y;
  const pt2_int all = pt2_number(-1);
  pt2_int dims[MAX_RANK];
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_tensor(n, "mask", &mask));
  NPUC_TRY(npuc_pt2_tensor(n, "source", &source));
  NPUC_TRY(npuc_pt2_expand_like(n, mask, x, &mask));
  NPUC_TRY(npuc_pt2_reshape(n, mask, &all, 1, &at));
  NPUC_TRY(npuc_pt2_cast(n, at, DTYPE_I64, &at));
  NPUC_TRY(npuc_pt2_binary(n, "CumSum", at, npuc_pt2_constant_int(n, DTYPE_I64, 0), &at));
  NPUC_TRY(npuc_pt2_binary(n, "Sub", at, npuc_pt2_constant_int(n, DTYPE_I64, 1), &at));
  NPUC_TRY(npuc_pt2_binary(n, "Max", at, npuc_pt2_constant_int(n, DTYPE_I64, 0), &at));
  NPUC_TRY(npuc_pt2_reshape(n, source, &all, 1, &source));
  NPUC_TRY(npuc_pt2_binary(n, "Gather", source, at, &y));
  for (int32_t i = 0; i < x->shape.rank; i++) NPUC_TRY(npuc_pt2_size(n, x, i, &dims[i]));
  NPUC_TRY(npuc_pt2_reshape(n, y, dims, (size_t)x->shape.rank, &y));
  NPUC_TRY(npuc_pt2_ternary(n, "Where", mask, y, x, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_count_nonzero(pt2_node *n) {
  value *x, *y;
  int64_t *given, axes[MAX_RANK];
  size_t count;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_ints(n, "dim", &given, &count));
  NPUC_TRY(npuc_pt2_cast(n, x, DTYPE_BOOL, &y));
  NPUC_TRY(npuc_pt2_cast(n, y, DTYPE_I64, &y));
  if (x->shape.rank == 0) return npuc_pt2_result(n, y);
  if (count > MAX_RANK) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "dim", "%zu axes", count);
  for (size_t i = 0; i < count; i++) NPUC_TRY(npuc_pt2_axis(n, "dim", given[i], x->shape.rank, &axes[i]));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "ReduceSum", (value *[]){y, count ? npuc_pt2_constant_ints(n, axes, count) : NULL}, 2, 1, &made));
  npuc_pt2_set_int(made, "keepdims", 0);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  return npuc_pt2_result(n, made->outputs[0]);
}
