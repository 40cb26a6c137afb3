/* SPDX-License-Identifier: Apache-2.0 */
/* What mixtures of experts export: the tokens are sorted by expert, counted (histc), and each group is multiplied with its expert's matrix. How many tokens
 * an expert gets is known at run time only, and an NPU wants static shapes; so each expert multiplies all rows, and a row keeps the product of its own:
 *
 *   y[s] = sum over e of (offs[e-1] <= s < offs[e] ? x[s] @ w[e] : 0)         x [S, K], w [E, K, N], offs [E], y [S, N]
 *
 * Rows at offs[E-1] and beyond are 0; torch says nothing of them. */
#include "import/pt2/aten.h"

static npuc_status sum_over(pt2_node *n, value *x, int64_t axis, value **out) {
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "ReduceSum", (value *[]){x, npuc_pt2_constant_ints(n, &axis, 1)}, 2, 1, &made));
  npuc_pt2_set_int(made, "keepdims", 0);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  *out = made->outputs[0];
  return NPUC_OK;
}

static npuc_status range(pt2_node *n, int64_t count, dtype type, value **out) {
  tensor t;
  shape s = {.rank = 1, .dims = {count}};
  NPUC_TRY(npuc_tensor_create(n->s->d, type, &s, &t));
  for (int64_t i = 0; i < count; i++) npuc_tensor_set(&t, i, (double)i);
  *out = npuc_graph_add_constant(n->s->g, npuc_graph_unique_name(n->s->g, npuc_arena_printf(n->s->scratch, "%s_range", n->name)), &t);
  npuc_tensor_release(&t);
  return NPUC_OK;
}

/* offs [E] -> [E, S, 1]: row s belongs to expert e, which is so where s < offs[e] and not s < offs[e-1]. */
static npuc_status group_mask(pt2_node *n, value *offsets, pt2_int rows, value **out) {
  value *row, *count, *below, *before, *rest, *zero = npuc_pt2_constant_int(n, DTYPE_I64, 0), *one = npuc_pt2_constant_int(n, DTYPE_I64, 1);
  int64_t last = 1;
  NPUC_TRY(npuc_pt2_shape_value(n, &rows, 1, &count));
  NPUC_TRY(npuc_pt2_squeeze(n, count, (int64_t[]){0}, 1, &count));
  NPUC_TRY(npuc_pt2_ternary(n, "Range", zero, count, one, &row));
  NPUC_TRY(npuc_pt2_cast(n, offsets, DTYPE_I64, &offsets));
  NPUC_TRY(npuc_pt2_unsqueeze(n, offsets, &last, 1, &offsets));
  NPUC_TRY(npuc_pt2_binary(n, "Less", row, offsets, &below)); /* [E, S] */
  NPUC_TRY(npuc_pt2_cast(n, below, DTYPE_I32, &rest));
  node *made; /* before[e] = below[e - 1] */
  NPUC_TRY(npuc_pt2_slice(n, rest, 0, pt2_number(0), pt2_number(offsets->shape.dims[0] - 1), 1, &before));
  NPUC_TRY(npuc_pt2_emit(n, "Pad", (value *[]){before, npuc_pt2_constant_ints(n, (int64_t[]){1, 0, 0, 0}, 4)}, 2, 1, &made));
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  NPUC_TRY(npuc_pt2_binary(n, "Greater", rest, made->outputs[0], &below));
  last = 2;
  return npuc_pt2_unsqueeze(n, below, &last, 1, out);
}

npuc_status npuc_aten_grouped_mm(pt2_node *n) {
  value *x, *weight, *offsets, *bias, *mask, *y;
  pt2_int rows;
  bool plain = npuc_pt2_has(n, "weight"); /* transformers' own form of it */
  NPUC_TRY(npuc_pt2_tensor(n, plain ? "input" : "self", &x));
  NPUC_TRY(npuc_pt2_tensor(n, plain ? "weight" : "mat2", &weight));
  NPUC_TRY(npuc_pt2_optional_tensor(n, "offs", &offsets));
  NPUC_TRY(npuc_pt2_optional_tensor(n, "bias", &bias));
  npuc_pt2_ignore(n, "out_dtype"); /* the output's type, which is compared */
  if (!offsets || bias || x->shape.rank != 2 || weight->shape.rank != 3 || !dim_is_number(weight->shape.dims[0]))
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, "offs", "grouped products other than [S, K] by [E, K, N] with offsets and without a bias");
  int64_t first = 0;
  NPUC_TRY(npuc_pt2_size(n, x, 0, &rows));
  NPUC_TRY(group_mask(n, offsets, rows, &mask));
  NPUC_TRY(npuc_pt2_unsqueeze(n, x, &first, 1, &x));
  NPUC_TRY(npuc_pt2_binary(n, "MatMul", x, weight, &y)); /* [E, S, N] */
  NPUC_TRY(npuc_pt2_ternary(n, "Where", mask, y, npuc_pt2_constant(n, y->type, 0.0), &y));
  NPUC_TRY(sum_over(n, y, 0, &y));
  return npuc_pt2_result(n, y);
}

/* Counts in `bins` equal parts of [min, max]; the last one holds max; what lies outside is not counted. */
npuc_status npuc_aten_histc(pt2_node *n) {
  value *x, *place, *edges, *hits, *y;
  int64_t bins, all = -1, last = 1;
  double low, high;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_int_arg(n, "bins", 100, &bins));
  NPUC_TRY(npuc_pt2_float_arg(n, "min", 0.0, &low));
  NPUC_TRY(npuc_pt2_float_arg(n, "max", 0.0, &high));
  if (bins < 1) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "bins", "%lld given", (long long)bins);
  if (!(low < high)) return npuc_pt2_fail(n, NPUC_DIAG_E0336, "min", "bounds that come from the data (min and max equal)");
  pt2_int flat = pt2_number(all);
  NPUC_TRY(npuc_pt2_reshape(n, x, &flat, 1, &x));
  dtype type = pt2_is_float(x->type) ? x->type : DTYPE_F32;
  NPUC_TRY(npuc_pt2_cast(n, x, type, &x));
  NPUC_TRY(npuc_pt2_binary(n, "Sub", x, npuc_pt2_constant(n, type, low), &place));
  NPUC_TRY(npuc_pt2_binary(n, "Div", place, npuc_pt2_constant(n, type, high - low), &place));
  NPUC_TRY(npuc_pt2_binary(n, "Mul", place, npuc_pt2_constant(n, type, (double)bins), &place));
  NPUC_TRY(npuc_pt2_unary(n, "Floor", place, &place));
  NPUC_TRY(npuc_pt2_binary(n, "Equal", x, npuc_pt2_constant(n, type, high), &hits));
  NPUC_TRY(npuc_pt2_ternary(n, "Where", hits, npuc_pt2_constant(n, type, (double)(bins - 1)), place, &place));
  NPUC_TRY(npuc_pt2_unsqueeze(n, place, &last, 1, &place));
  NPUC_TRY(range(n, bins, type, &edges));
  NPUC_TRY(npuc_pt2_binary(n, "Equal", place, edges, &hits)); /* [elements, bins] */
  NPUC_TRY(npuc_pt2_cast(n, hits, type, &y));
  NPUC_TRY(sum_over(n, y, 0, &y));
  return npuc_pt2_result(n, y);
}
