/* SPDX-License-Identifier: Apache-2.0 */
/* Interpolation and sampling. torch's nearest takes floor(i * scale) of the asymmetric grid, nearest-exact the nearest of the half-pixel grid, linear and cubic the half-pixel grid or, with align_corners, the
 * corners; cubic's coefficient is -0.75. With antialias, taps outside the image have no weight, and cubic's coefficient is -0.5
 * (ATen's UpSampleKernel). ONNX's Resize names each of these. */
#include <string.h>

#include "import/pt2/aten.h"

npuc_status npuc_aten_upsample(pt2_node *n) {
  value *x, *sizes = NULL, *scales = NULL;
  pt2_int *wanted;
  size_t n_wanted, n_factors;
  double *factors;
  bool align;
  NPUC_TRY(npuc_pt2_tensor(n, npuc_pt2_has(n, "self") ? "self" : "input", &x));
  NPUC_TRY(npuc_pt2_symints(n, "output_size", &wanted, &n_wanted));
  NPUC_TRY(npuc_pt2_floats(n, "scale_factors", &factors, &n_factors));
  NPUC_TRY(npuc_pt2_bool_arg(n, "align_corners", false, &align));
  static const char *const single[] = {"scales", "scales_d", "scales_h", "scales_w"};
  size_t spatial = (size_t)x->shape.rank - 2, n_single = 0;
  double given[4];
  for (size_t i = 0; i < 4; i++) {
    if (npuc_pt2_has(n, single[i]))
      NPUC_TRY(npuc_pt2_float_arg(n, single[i], 1.0, &given[n_single++]));
    else
      npuc_pt2_ignore(n, single[i]);
  }
  if (n_single == spatial) { /* the exporter wrote both size and scale: torch computes with the scale */
    factors = given;
    n_factors = n_single;
  }
  bool by_factor = n_factors == spatial && n_wanted == 0;
  if (!by_factor && n_wanted != spatial)
    return npuc_pt2_fail(n, NPUC_DIAG_E0335, "output_size", "%zu sizes for %zu axes", n_wanted, spatial);
  if (by_factor) {
    tensor t;
    shape s = {.rank = 1, .dims = {x->shape.rank}};
    NPUC_TRY(npuc_tensor_create(n->s->d, DTYPE_F32, &s, &t));
    for (size_t i = 0; i < spatial + 2; i++) npuc_tensor_set(&t, (int64_t)i, i < 2 ? 1.0 : factors[i - 2]);
    scales = npuc_graph_add_constant(n->s->g, npuc_graph_unique_name(n->s->g, npuc_arena_printf(n->s->scratch, "%s_scales", n->name)), &t);
    npuc_tensor_release(&t);
  } else {
    pt2_int all[MAX_RANK];
    for (int32_t i = 0; i < 2; i++) NPUC_TRY(npuc_pt2_size(n, x, i, &all[i]));
    for (size_t i = 0; i < spatial; i++) all[2 + i] = wanted[i];
    NPUC_TRY(npuc_pt2_shape_value(n, all, spatial + 2, &sizes));
  }
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Resize", (value *[]){x, NULL, scales, sizes}, 4, 1, &made));
  bool nearest = strncmp(n->onnx, "nearest", 7) == 0, exact = strcmp(n->onnx, "nearest-exact") == 0,
       cubic = strncmp(n->onnx, "cubic", 5) == 0;
  npuc_pt2_set_string(made, "mode", nearest ? "nearest" : cubic ? "cubic" : "linear");
  npuc_pt2_set_string(made, "coordinate_transformation_mode", nearest && !exact ? "asymmetric" : align ? "align_corners" : "half_pixel");
  if (nearest) npuc_pt2_set_string(made, "nearest_mode", exact ? "round_prefer_ceil" : "floor");
  bool antialias = strstr(n->onnx, "antialias") != NULL;
  npuc_pt2_set_float(made, "cubic_coeff_a", antialias ? -0.5 : -0.75);
  npuc_pt2_set_int(made, "antialias", antialias);
  npuc_pt2_set_int(made, "exclude_outside", antialias);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  return npuc_pt2_result(n, made->outputs[0]);
}

/* Cubic with a border: torch moves each of the 4 x 4 taps to the border, ONNX the place between them. With the image's edge repeated 4 times around it, and places
 * held within 2 of the image (beyond, all taps are edge), no tap leaves the larger image, and both are the same. In pixels p of the image:
 *   p = g * s + t,  s = (length - 1) / 2 with align_corners, length / 2 without,  t = (length - 1) / 2
 *   p' = clamp(p, -2, length + 1) + 4,  g' = 2 p' / (length + 7) - 1   (align_corners of the larger image) */
static npuc_status with_edges(pt2_node *n, bool align, value **io_x, value **io_grid) {
  enum { EDGE = 4 };
  value *x = *io_x, *grid = *io_grid, *c[4];
  const int64_t pads[8] = {0, 0, EDGE, EDGE, 0, 0, EDGE, EDGE};
  shape two = {.rank = 1, .dims = {2}};
  tensor t[4];
  if (x->shape.rank != 4 || !dim_is_number(x->shape.dims[2]) || !dim_is_number(x->shape.dims[3]))
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, "padding_mode", "cubic with a border, over an image whose size is known at run time only");
  for (size_t k = 0; k < 4; k++) {
    NPUC_TRY(npuc_tensor_create(n->s->d, x->type, &two, &t[k]));
    for (int64_t i = 0; i < 2; i++) { /* the grid's last axis is (x, y) */
      double length = (double)x->shape.dims[3 - i], s = align ? (length - 1) / 2 : length / 2;
      double v[] = {s, (length - 1) / 2, length + 1, 2 / (length + 2 * EDGE - 1)};
      npuc_tensor_set(&t[k], i, v[k]);
    }
    c[k] = npuc_graph_add_constant(n->s->g, npuc_graph_unique_name(n->s->g, npuc_arena_printf(n->s->scratch, "%s_c", n->name)), &t[k]);
    npuc_tensor_release(&t[k]);
  }
  NPUC_TRY(npuc_pt2_binary(n, "Mul", grid, c[0], &grid));
  NPUC_TRY(npuc_pt2_binary(n, "Add", grid, c[1], &grid));
  NPUC_TRY(npuc_pt2_binary(n, "Max", grid, npuc_pt2_constant(n, x->type, -2.0), &grid));
  NPUC_TRY(npuc_pt2_binary(n, "Min", grid, c[2], &grid));
  NPUC_TRY(npuc_pt2_binary(n, "Add", grid, npuc_pt2_constant(n, x->type, EDGE), &grid));
  NPUC_TRY(npuc_pt2_binary(n, "Mul", grid, c[3], &grid));
  NPUC_TRY(npuc_pt2_binary(n, "Sub", grid, npuc_pt2_constant(n, x->type, 1.0), io_grid));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Pad", (value *[]){x, npuc_pt2_constant_ints(n, pads, 8)}, 2, 1, &made));
  npuc_pt2_set_string(made, "mode", "edge");
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  *io_x = made->outputs[0];
  return NPUC_OK;
}

npuc_status npuc_aten_grid_sampler(pt2_node *n) {
  static const char *const modes[] = {"linear", "nearest", "cubic"}, *const paddings[] = {"zeros", "border", "reflection"};
  value *x, *grid;
  int64_t mode, padding;
  bool align;
  NPUC_TRY(npuc_pt2_tensor(n, "input", &x));
  NPUC_TRY(npuc_pt2_tensor(n, "grid", &grid));
  NPUC_TRY(npuc_pt2_int_arg(n, "interpolation_mode", 0, &mode));
  NPUC_TRY(npuc_pt2_int_arg(n, "padding_mode", 0, &padding));
  NPUC_TRY(npuc_pt2_bool_arg(n, "align_corners", false, &align));
  if (mode < 0 || mode > 2) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "interpolation_mode", "%lld given", (long long)mode);
  if (padding < 0 || padding > 2) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "padding_mode", "%lld given", (long long)padding);
  if (mode == 2 && padding == 1) {
    NPUC_TRY(with_edges(n, align, &x, &grid));
    padding = 0;
    align = true;
  }
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "GridSample", (value *[]){x, grid}, 2, 1, &made));
  npuc_pt2_set_string(made, "mode", modes[mode]);
  npuc_pt2_set_string(made, "padding_mode", paddings[padding]);
  npuc_pt2_set_int(made, "align_corners", align);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  return npuc_pt2_result(n, made->outputs[0]);
}

/* Blocks put back side by side, what overlaps added: the inverse of im2col. */
npuc_status npuc_aten_col2im(pt2_node *n) {
  value *x, *image, *block, *y;
  int64_t size[2], kernel[2], dilation[2], padding[4], stride[2];
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_window_ints(n, "output_size", 1, size, 2));
  NPUC_TRY(npuc_pt2_window_ints(n, "kernel_size", 1, kernel, 2));
  NPUC_TRY(npuc_pt2_window_ints(n, "dilation", 1, dilation, 2));
  NPUC_TRY(npuc_pt2_window_ints(n, "padding", 0, padding, 2));
  NPUC_TRY(npuc_pt2_window_ints(n, "stride", 1, stride, 2));
  padding[2] = padding[0];
  padding[3] = padding[1];
  bool single = x->shape.rank == 2;
  if (single) NPUC_TRY(npuc_pt2_unsqueeze(n, x, (int64_t[]){0}, 1, &x));
  image = npuc_pt2_constant_ints(n, size, 2);
  block = npuc_pt2_constant_ints(n, kernel, 2);
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Col2Im", (value *[]){x, image, block}, 3, 1, &made));
  npuc_pt2_set_ints(made, "dilations", dilation, 2);
  npuc_pt2_set_ints(made, "pads", padding, 4);
  npuc_pt2_set_ints(made, "strides", stride, 2);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  y = made->outputs[0];
  if (single) NPUC_TRY(npuc_pt2_squeeze(n, y, (int64_t[]){0}, 1, &y));
  return npuc_pt2_result(n, y);
}
