/* SPDX-License-Identifier: Apache-2.0 */
/* Interpolation and sampling. torch's nearest takes floor(i * scale) of the asymmetric grid, linear and cubic the half-pixel grid or, with align_corners, the
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
  bool nearest = strcmp(n->onnx, "nearest") == 0, cubic = strncmp(n->onnx, "cubic", 5) == 0;
  npuc_pt2_set_string(made, "mode", nearest ? "nearest" : cubic ? "cubic" : "linear");
  npuc_pt2_set_string(made, "coordinate_transformation_mode", nearest ? "asymmetric" : align ? "align_corners" : "half_pixel");
  if (nearest) npuc_pt2_set_string(made, "nearest_mode", "floor");
  bool antialias = strstr(n->onnx, "antialias") != NULL;
  npuc_pt2_set_float(made, "cubic_coeff_a", antialias ? -0.5 : -0.75);
  npuc_pt2_set_int(made, "antialias", antialias);
  npuc_pt2_set_int(made, "exclude_outside", antialias);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  return npuc_pt2_result(n, made->outputs[0]);
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
  if (mode == 2 && padding == 1)
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, "padding_mode",
                         "cubic taps with a border: torch moves each tap to the border, ONNX the place between them");
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "GridSample", (value *[]){x, grid}, 2, 1, &made));
  npuc_pt2_set_string(made, "mode", modes[mode]);
  npuc_pt2_set_string(made, "padding_mode", paddings[padding]);
  npuc_pt2_set_int(made, "align_corners", align);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  return npuc_pt2_result(n, made->outputs[0]);
}
