/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors from numbers. Where all is known now the result is a constant; the element type is the program's own. "empty" is zeros: its content
 * has no meaning, and zeros are the same on every run. */
#include <math.h>
#include <string.h>

#include "import/pt2/aten.h"

static void ignore_places(pt2_node *n) {
  static const char *const names[] = {"dtype", "device", "layout", "pin_memory", "memory_format", "requires_grad"};
  for (size_t i = 0; i < 6; i++) npuc_pt2_ignore(n, names[i]);
}

/* start + i * step for i in [0, count) */
npuc_status npuc_aten_arange(pt2_node *n) {
  pt2_scalar start = {0}, end = {0}, step = {.integer = 1, .real = 1.0};
  pt2_meta meta;
  NPUC_TRY(npuc_pt2_scalar_arg(n, "start", start, &start));
  NPUC_TRY(npuc_pt2_scalar_arg(n, "end", end, &end));
  NPUC_TRY(npuc_pt2_scalar_arg(n, "step", step, &step));
  NPUC_TRY(npuc_pt2_output_meta(n, 0, &meta));
  ignore_places(n);
  if (start.value || end.value || step.value) {
    value *a, *b, *c, *y;
    NPUC_TRY(npuc_pt2_scalar_value(n, &start, meta.type, &a));
    NPUC_TRY(npuc_pt2_scalar_value(n, &end, meta.type, &b));
    NPUC_TRY(npuc_pt2_scalar_value(n, &step, meta.type, &c));
    NPUC_TRY(npuc_pt2_ternary(n, "Range", a, b, c, &y));
    return npuc_pt2_result(n, y);
  }
  tensor t;
  NPUC_TRY(npuc_tensor_create(n->s->d, meta.type, &meta.shape, &t));
  bool floats = pt2_is_float(meta.type);
  for (int64_t i = 0; i < npuc_tensor_elements(&t); i++) {
    if (floats)
      npuc_tensor_set(&t, i, start.real + (double)i * step.real);
    else
      npuc_tensor_set_int(&t, i, start.integer + i * step.integer);
  }
  value *v = npuc_graph_add_constant(n->s->g, npuc_graph_unique_name(n->s->g, n->name), &t);
  npuc_tensor_release(&t);
  return npuc_pt2_result(n, v);
}

/* From both ends to the middle, in the result's precision, as torch computes it. */
npuc_status npuc_aten_linspace(pt2_node *n) {
  pt2_scalar ends[2];
  pt2_meta meta;
  tensor t;
  NPUC_TRY(npuc_pt2_scalar_arg(n, "start", (pt2_scalar){0}, &ends[0]));
  NPUC_TRY(npuc_pt2_scalar_arg(n, "end", (pt2_scalar){0}, &ends[1]));
  npuc_pt2_ignore(n, "steps");
  NPUC_TRY(npuc_pt2_output_meta(n, 0, &meta));
  ignore_places(n);
  if (ends[0].value || ends[1].value || meta.shape.rank != 1 || !npuc_shape_is_static(&meta.shape))
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, "steps", "ends or a number of steps that are known at run time only");
  int64_t count = meta.shape.dims[0];
  if (!pt2_is_float(meta.type))
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, "dtype", "integers between two ends, which torch rounds by device");
  NPUC_TRY(npuc_tensor_create(n->s->d, meta.type, &meta.shape, &t));
  bool single = meta.type == DTYPE_F32;
  double step = count > 1 ? (ends[1].real - ends[0].real) / (double)(count - 1) : 0.0;
  if (single && count > 1) step = (double)(((float)ends[1].real - (float)ends[0].real) / (float)(count - 1));
  for (int64_t i = 0; i < count; i++) {
    bool first = i < count / 2 || count == 1;
    double far = first ? step * (double)i : step * (double)(count - i - 1);
    if (single) far = (double)(float)far;
    npuc_tensor_set(&t, i, first ? ends[0].real + far : ends[1].real - far);
  }
  value *v = npuc_graph_add_constant(n->s->g, npuc_graph_unique_name(n->s->g, n->name), &t);
  npuc_tensor_release(&t);
  return npuc_pt2_result(n, v);
}

static npuc_status filled(pt2_node *n, const pt2_int *dims, size_t count) {
  pt2_meta meta;
  pt2_scalar v = {.integer = n->onnx != NULL, .real = n->onnx ? 1.0 : 0.0};
  value *scalar, *y;
  NPUC_TRY(npuc_pt2_scalar_arg(n, "fill_value", v, &v));
  NPUC_TRY(npuc_pt2_output_meta(n, 0, &meta));
  ignore_places(n);
  NPUC_TRY(npuc_pt2_scalar_value(n, &v, meta.type, &scalar));
  NPUC_TRY(npuc_pt2_expand(n, scalar, dims, count, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_full(pt2_node *n) {
  pt2_int *dims;
  size_t count;
  npuc_pt2_ignore(n, "self"); /* of new_zeros: its type is the output's */
  npuc_pt2_ignore(n, "stride");
  npuc_pt2_ignore(n, "physical_layout");
  NPUC_TRY(npuc_pt2_symints(n, "size", &dims, &count));
  return filled(n, dims, count);
}

npuc_status npuc_aten_full_like(pt2_node *n) {
  value *x;
  pt2_int dims[MAX_RANK];
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  for (int32_t i = 0; i < x->shape.rank; i++) NPUC_TRY(npuc_pt2_size(n, x, i, &dims[i]));
  return filled(n, dims, (size_t)x->shape.rank);
}

npuc_status npuc_aten_scalar_tensor(pt2_node *n) {
  pt2_scalar v = {0};
  pt2_meta meta;
  value *y;
  NPUC_TRY(npuc_pt2_scalar_arg(n, "s", v, &v));
  NPUC_TRY(npuc_pt2_output_meta(n, 0, &meta));
  ignore_places(n);
  NPUC_TRY(npuc_pt2_scalar_value(n, &v, meta.type, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_eye(pt2_node *n) {
  pt2_meta meta;
  tensor t;
  npuc_pt2_ignore(n, "n");
  npuc_pt2_ignore(n, "m");
  NPUC_TRY(npuc_pt2_output_meta(n, 0, &meta));
  ignore_places(n);
  if (!npuc_shape_is_static(&meta.shape)) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "n", "a size that is known at run time only");
  NPUC_TRY(npuc_tensor_create(n->s->d, meta.type, &meta.shape, &t));
  for (int64_t i = 0; i < meta.shape.dims[0] && i < meta.shape.dims[1]; i++) npuc_tensor_set(&t, i * meta.shape.dims[1] + i, 1.0);
  value *v = npuc_graph_add_constant(n->s->g, npuc_graph_unique_name(n->s->g, n->name), &t);
  npuc_tensor_release(&t);
  return npuc_pt2_result(n, v);
}
