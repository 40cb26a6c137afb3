/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling. ceil_mode in torch drops a last window that would begin inside the right padding, as ONNX's ceil_mode does from opset 22 on; the
 * node's shape from the program is compared with ours (program.c), so that a difference is an error and not a wrong number. */
#include <string.h>

#include "import/pt2/aten.h"

typedef struct pool {
  value *x;
  int64_t kernel[MAX_RANK], strides[MAX_RANK], pads[2 * MAX_RANK], dilations[MAX_RANK];
  size_t n;
  bool ceil, unbatched;
} pool;

/* Number of spatial axes from the operator's name: avg_pool2d. */
static size_t spatial_axes(const pt2_node *n) {
  const char *d = strstr(n->target, "pool");
  return d && d[4] >= '1' && d[4] <= '3' ? (size_t)(d[4] - '0') : 2;
}

static npuc_status read_pool(pt2_node *n, pool *p) {
  NPUC_TRY(npuc_pt2_tensor(n, "self", &p->x));
  p->n = spatial_axes(n);
  NPUC_TRY(npuc_pt2_window_ints(n, "kernel_size", 1, p->kernel, p->n));
  NPUC_TRY(npuc_pt2_window_ints(n, "stride", 0, p->strides, p->n));
  NPUC_TRY(npuc_pt2_window_ints(n, "padding", 0, p->pads, p->n));
  NPUC_TRY(npuc_pt2_window_ints(n, "dilation", 1, p->dilations, p->n));
  NPUC_TRY(npuc_pt2_bool_arg(n, "ceil_mode", false, &p->ceil));
  for (size_t i = 0; i < p->n; i++) {
    if (p->strides[i] == 0) p->strides[i] = p->kernel[i]; /* absent or empty: the kernel */
    p->pads[p->n + i] = p->pads[i];
  }
  p->unbatched = p->x->shape.rank == (int32_t)p->n + 1;
  return p->unbatched ? npuc_pt2_unsqueeze(n, p->x, (int64_t[]){0}, 1, &p->x) : NPUC_OK;
}

static npuc_status emit_pool(pt2_node *n, const pool *p, const char *op, bool include_pad, int32_t n_outputs, value **out) {
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, op, &p->x, 1, n_outputs, &made));
  npuc_pt2_set_ints(made, "kernel_shape", p->kernel, p->n);
  npuc_pt2_set_ints(made, "strides", p->strides, p->n);
  npuc_pt2_set_ints(made, "pads", p->pads, 2 * p->n);
  npuc_pt2_set_ints(made, "dilations", p->dilations, p->n);
  npuc_pt2_set_int(made, "ceil_mode", p->ceil);
  if (include_pad) npuc_pt2_set_int(made, "count_include_pad", 1);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  *out = made->outputs[0];
  return p->unbatched ? npuc_pt2_squeeze(n, *out, (int64_t[]){0}, 1, out) : NPUC_OK;
}

/* Places of the maxima: torch counts them within a channel's plane, ONNX over the whole tensor. */
static npuc_status plane_indices(pt2_node *n, const pool *p, node *made, value **out) {
  int64_t plane = 1;
  for (size_t i = 0; i < p->n; i++) {
    dim length = p->x->shape.dims[2 + i];
    if (!dim_is_number(length))
      return npuc_pt2_fail(n, NPUC_DIAG_E0336, "return_indices", "places in a plane whose size is known at run time only");
    plane *= length;
  }
  NPUC_TRY(npuc_pt2_binary(n, "Mod", made->outputs[1], npuc_pt2_constant_int(n, DTYPE_I64, plane), out));
  return p->unbatched ? npuc_pt2_squeeze(n, *out, (int64_t[]){0}, 1, out) : NPUC_OK;
}

/* Core ATen's pools have the indices always; they are computed where something reads them. */
npuc_status npuc_aten_max_pool(pt2_node *n) {
  pool p = {0};
  value *y[2];
  bool indices = npuc_pt2_output_is_read(n, 1);
  NPUC_TRY(read_pool(n, &p));
  NPUC_TRY(emit_pool(n, &p, "MaxPool", false, indices ? 2 : 1, &y[0]));
  if (!indices) return npuc_pt2_results(n, y, 1);
  node *made = p.unbatched ? y[0]->producer->inputs[0]->producer : y[0]->producer;
  NPUC_TRY(plane_indices(n, &p, made, &y[1]));
  return npuc_pt2_results(n, y, 2);
}

/* The inverse: zeros, and each value at its place in the plane. [N, C, ..] as [N*C, places] */
npuc_status npuc_aten_max_unpool(pt2_node *n) {
  value *x, *indices, *zeros;
  pt2_int *sizes, full[MAX_RANK], rows[2] = {pt2_number(1), pt2_number(-1)}, plane[2] = {pt2_number(1), pt2_number(1)};
  size_t count;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_tensor(n, "indices", &indices));
  NPUC_TRY(npuc_pt2_symints(n, "output_size", &sizes, &count));
  npuc_pt2_ignore(n, "stride");
  npuc_pt2_ignore(n, "padding");
  size_t leading = (size_t)x->shape.rank - count;
  if (count < 2 || (leading != 1 && leading != 2))
    return npuc_pt2_fail(n, NPUC_DIAG_E0335, "output_size", "%zu sizes for %d axes", count, x->shape.rank);
  for (size_t i = 0; i < leading + count; i++) {
    full[i] = i < leading ? pt2_number(x->shape.dims[i]) : sizes[i - leading];
    if (full[i].value || full[i].number < 1 || full[i].number > INT32_MAX)
      return npuc_pt2_fail(n, NPUC_DIAG_E0336, "output_size", "a size that is known at run time only, or too large");
    pt2_int *to = i < leading ? &rows[0] : &plane[1];
    if (to->number > INT32_MAX / full[i].number) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "output_size", "too many places");
    to->number *= full[i].number;
  }
  plane[0] = rows[0];
  NPUC_TRY(npuc_pt2_reshape(n, x, rows, 2, &x));
  NPUC_TRY(npuc_pt2_reshape(n, indices, rows, 2, &indices));
  NPUC_TRY(npuc_pt2_expand(n, npuc_pt2_constant(n, x->type, 0.0), plane, 2, &zeros));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "ScatterElements", (value *[]){zeros, indices, x}, 3, 1, &made));
  npuc_pt2_set_int(made, "axis", 1);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  NPUC_TRY(npuc_pt2_reshape(n, made->outputs[0], full, leading + count, &x));
  return npuc_pt2_result(n, x);
}

npuc_status npuc_aten_avg_pool(pt2_node *n) {
  pool p = {0};
  value *y;
  bool include_pad;
  int64_t divisor;
  NPUC_TRY(read_pool(n, &p));
  NPUC_TRY(npuc_pt2_bool_arg(n, "count_include_pad", true, &include_pad));
  NPUC_TRY(npuc_pt2_int_arg(n, "divisor_override", 0, &divisor));
  int64_t area = 1;
  for (size_t i = 0; i < p.n; i++) area *= p.kernel[i];
  NPUC_TRY(emit_pool(n, &p, "AveragePool", include_pad || divisor, 1, &y));
  if (divisor && divisor != area) {
    if (p.ceil) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "divisor_override", "a divisor of its own together with ceil_mode");
    NPUC_TRY(npuc_pt2_binary(n, "Mul", y, npuc_pt2_constant(n, y->type, (double)area / (double)divisor), &y));
  }
  return npuc_pt2_result(n, y);
}

/* To a given size: to 1 it is global; where the size divides the input it is a plain pool. Otherwise windows have several sizes. */
npuc_status npuc_aten_adaptive_pool(pt2_node *n) {
  pool p = {.n = spatial_axes(n)};
  int64_t *wanted;
  size_t count;
  bool is_max = strcmp(n->onnx, "GlobalMaxPool") == 0, global = true;
  value *y;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &p.x));
  NPUC_TRY(npuc_pt2_ints(n, "output_size", &wanted, &count));
  if (count != p.n) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "output_size", "%zu numbers for %zu axes", count, p.n);
  p.unbatched = p.x->shape.rank == (int32_t)p.n + 1;
  if (p.unbatched) NPUC_TRY(npuc_pt2_unsqueeze(n, p.x, (int64_t[]){0}, 1, &p.x));
  for (size_t i = 0; i < count; i++) global = global && wanted[i] == 1;
  if (global) {
    NPUC_TRY(npuc_pt2_unary(n, n->onnx, p.x, &y));
    if (p.unbatched) NPUC_TRY(npuc_pt2_squeeze(n, y, (int64_t[]){0}, 1, &y));
    return npuc_pt2_results(n, &y, 1);
  }
  for (size_t i = 0; i < count; i++) {
    dim length = p.x->shape.dims[2 + i];
    if (!dim_is_number(length) || wanted[i] < 1 || length % wanted[i])
      return npuc_pt2_fail(n, NPUC_DIAG_E0336, "output_size", "an axis of length %lld to %lld, which does not divide it",
                           dim_is_number(length) ? (long long)length : -1LL, (long long)wanted[i]);
    p.kernel[i] = p.strides[i] = length / wanted[i];
    p.dilations[i] = 1;
  }
  NPUC_TRY(emit_pool(n, &p, is_max ? "MaxPool" : "AveragePool", false, 1, &y));
  return npuc_pt2_results(n, &y, 1);
}
