/* SPDX-License-Identifier: Apache-2.0 */
/* Regions and free places of images: RoiAlign, MaxRoiPool, AffineGrid, DeformConv; and what puts windows back: MaxUnpool, Col2Im. */
#include <stddef.h>
#include <string.h>

#include "ir/ops/window.h"

static npuc_status want_rank(infer_context *c, int32_t input, int32_t rank) {
  const fact *f = npuc_fact_input(c, input);
  if (!f || f->shape.rank < 0 || f->shape.rank == rank) return NPUC_OK;
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, c->node->op->inputs[input].name, "rank %d given; %d wanted", (int)f->shape.rank,
                      (int)rank);
}

/* Two inputs' dims that must be equal. */
static npuc_status want_equal(infer_context *c, int32_t input, int32_t axis, dim wanted, dim *out) {
  const fact *f = npuc_fact_input(c, input);
  *out = wanted;
  if (!f || f->shape.rank <= axis || npuc_dim_merge(wanted, f->shape.dims[axis], out)) return NPUC_OK;
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, c->node->op->inputs[input].name, "axis %d is %lld; %lld wanted", (int)axis,
                      (long long)f->shape.dims[axis], (long long)wanted);
}

static npuc_status want_float(infer_context *c) {
  dtype t = npuc_fact_type(c, 0);
  c->outputs[0].type = t;
  if (t == DTYPE_NONE || npuc_dtype_kind(t) == KIND_FLOAT) return NPUC_OK;
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0442, c->node->op->inputs[0].name, "%s given; floats wanted", npuc_dtype_name(t));
}

static void set_dim(infer_context *c, int32_t axis, dim d) {
  c->outputs[0].shape.dims[axis] = d == DIM_UNKNOWN ? npuc_infer_free_dim(c, 0, axis) : d;
}

static dim dim_of(const infer_context *c, int32_t input, int32_t axis) {
  const fact *f = npuc_fact_input(c, input);
  return f && f->shape.rank > axis ? f->shape.dims[axis] : DIM_UNKNOWN;
}

/* -- RoiAlign, MaxRoiPool -- */
static const op_port roialign_inputs[] = {{.name = "X", .doc = "[N, C, H, W]"},
                                          {.name = "rois", .doc = "[R, 4]: x1, y1, x2, y2"},
                                          {.name = "batch_indices", .doc = "int64 [R]: the sample of each region"}};
static const op_port roi_outputs[] = {{.name = "Y", .doc = "[R, C, output height, output width]"}};
static const attr_field roialign_fields[] = {
    FIELD_STRING(roialign_attributes, coordinate_transformation_mode, "half_pixel",
                 "half_pixel: coordinates are shifted by -0.5; output_half_pixel: not"),
    FIELD_STRING(roialign_attributes, mode, "avg", "avg, or max: the largest of the weighted neighbours of all points"),
    FIELD_INT(roialign_attributes, output_height, 1, "height of Y"),
    FIELD_INT(roialign_attributes, output_width, 1, "width of Y"),
    FIELD_INT(roialign_attributes, sampling_ratio, 0, "points per bin and axis; 0: the bin's size, rounded up"),
    FIELD_FLOAT(roialign_attributes, spatial_scale, 1.0f, "multiplies coordinates"),
};

static npuc_status roialign_infer(infer_context *c) {
  const roialign_attributes *a = NPUC_ATTRS(roialign_attributes, c->node);
  dim regions, four;
  NPUC_TRY(want_float(c));
  NPUC_TRY(npuc_infer_same_type(c, 0, 1));
  NPUC_TRY(want_rank(c, 0, 4));
  NPUC_TRY(want_rank(c, 1, 2));
  NPUC_TRY(want_rank(c, 2, 1));
  NPUC_TRY(want_equal(c, 1, 1, 4, &four));
  NPUC_TRY(want_equal(c, 2, 0, dim_of(c, 1, 0), &regions));
  c->outputs[0].shape.rank = 4;
  set_dim(c, 0, regions);
  set_dim(c, 1, dim_of(c, 0, 1));
  set_dim(c, 2, a->output_height);
  set_dim(c, 3, a->output_width);
  return NPUC_OK;
}

static npuc_status roialign_verify(diag *d, const node *n) {
  const roialign_attributes *a = NPUC_ATTRS(roialign_attributes, n);
  if (strcmp(a->mode, "avg") != 0 && strcmp(a->mode, "max") != 0)
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "mode", "\"%s\" given; avg or max wanted", a->mode);
  const char *places = a->coordinate_transformation_mode;
  if (strcmp(places, "half_pixel") != 0 && strcmp(places, "output_half_pixel") != 0)
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "coordinate_transformation_mode", "\"%s\" given; half_pixel or output_half_pixel wanted",
                        places);
  if (a->output_height < 1 || a->output_width < 1 || a->sampling_ratio < 0)
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, a->sampling_ratio < 0 ? "sampling_ratio" : "output_height", "a size is below its least");
  return NPUC_OK;
}

static const op_port maxroipool_inputs[] = {{.name = "X", .doc = "[N, C, H, W]"},
                                            {.name = "rois", .doc = "[R, 5]: sample, x1, y1, x2, y2"}};
static const attr_field maxroipool_fields[] = {
    {.name = "pooled_shape",
     .kind = ATTR_INTS,
     .offset = offsetof(maxroipool_attributes, pooled_shape),
     .required = true,
     .doc = "height and width of Y"},
    FIELD_FLOAT(maxroipool_attributes, spatial_scale, 1.0f, "multiplies coordinates"),
};

static npuc_status maxroipool_verify(diag *d, const node *n) {
  const int_list *l = &NPUC_ATTRS(maxroipool_attributes, n)->pooled_shape;
  if (l->count == 2 && l->values[0] > 0 && l->values[1] > 0) return NPUC_OK;
  return npuc_op_fail(d, n, NPUC_DIAG_E0440, "pooled_shape", "two positive values wanted: height and width");
}

static npuc_status maxroipool_infer(infer_context *c) {
  const int_list *l = &NPUC_ATTRS(maxroipool_attributes, c->node)->pooled_shape;
  dim five;
  NPUC_TRY(want_float(c));
  NPUC_TRY(npuc_infer_same_type(c, 0, 1));
  NPUC_TRY(want_rank(c, 0, 4));
  NPUC_TRY(want_rank(c, 1, 2));
  NPUC_TRY(want_equal(c, 1, 1, 5, &five));
  if (l->count != 2) return NPUC_OK; /* the verifier names it */
  c->outputs[0].shape.rank = 4;
  set_dim(c, 0, dim_of(c, 1, 0));
  set_dim(c, 1, dim_of(c, 0, 1));
  set_dim(c, 2, l->values[0]);
  set_dim(c, 3, l->values[1]);
  return NPUC_OK;
}

/* -- AffineGrid -- */
static const op_port affinegrid_inputs[] = {{.name = "theta", .doc = "[N, 2, 3] or [N, 3, 4]"},
                                            {.name = "size", .doc = "int64: N, C, H, W or N, C, D, H, W"}};
static const op_port affinegrid_outputs[] = {{.name = "grid", .doc = "[N, H, W, 2] or [N, D, H, W, 3]: x, y(, z) of each place"}};
static const attr_field affinegrid_fields[] = {
    FIELD_INT(align_attributes, align_corners, 0, "1: -1 and 1 are the centers of the corner cells; 0: their outer edges")};

static npuc_status affinegrid_infer(infer_context *c) {
  const fact *size = npuc_fact_input(c, 1);
  elements e;
  dim rows = dim_of(c, 0, 1), columns;
  NPUC_TRY(want_float(c));
  NPUC_TRY(want_rank(c, 0, 3));
  NPUC_TRY(want_rank(c, 1, 1));
  dim length = dim_of(c, 1, 0);
  int32_t spatial = dim_is_number(rows) ? (int32_t)rows : dim_is_number(length) ? (int32_t)length - 2 : 0;
  if (!dim_is_number(rows) && !dim_is_number(length)) return NPUC_OK;
  if ((spatial != 2 && spatial != 3) || (dim_is_number(length) && length != spatial + 2))
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "theta", "[N, 2, 3] with 4 sizes, or [N, 3, 4] with 5, wanted");
  NPUC_TRY(want_equal(c, 0, 2, spatial + 1, &columns));
  c->outputs[0].shape.rank = spatial + 2;
  bool known = npuc_elements_read(size, &e) && e.count == spatial + 2;
  set_dim(c, 0, dim_of(c, 0, 0));
  for (int32_t i = 0; i < spatial; i++) {
    if (known && e.at[2 + i].is_number && e.at[2 + i].number < 0)
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "size", "%lld given; 0 or more wanted", (long long)e.at[2 + i].number);
    set_dim(c, 1 + i, known ? npuc_element_dim(&e.at[2 + i]) : DIM_UNKNOWN);
  }
  set_dim(c, spatial + 1, spatial);
  return NPUC_OK;
}

static npuc_status affinegrid_verify(diag *d, const node *n) {
  return npuc_verify_flag(d, n, "align_corners", NPUC_ATTRS(align_attributes, n)->align_corners);
}

/* -- MaxUnpool, Col2Im -- */
static const op_port maxunpool_inputs[] = {
    {.name = "X", .doc = "[N, C, D1, ..., Dk]"},
    {.name = "I", .doc = "int64, as X: the place of each element in the flattened tensor that the attributes give"},
    {.name = "output_shape", .optional = true, .doc = "int64: Y's shape, at least what the attributes give"}};
static const op_port unpooled_outputs[] = {{.name = "output", .doc = "[N, C, O1, ..., Ok]"}};
static const attr_field maxunpool_fields[] = {
    {.name = "kernel_shape",
     .kind = ATTR_INTS,
     .offset = offsetof(unpool_attributes, kernel_shape),
     .required = true,
     .doc = "size of the window per spatial axis"},
    FIELD_INTS(unpool_attributes, strides, "step of the window per spatial axis; 1 when absent"),
    FIELD_INTS(unpool_attributes, pads, "cells before each spatial axis, then after each; 0 when absent"),
};

static window_fields window_of_unpool(unpool_attributes *a, int_list *none) {
  return (window_fields){NULL, &a->kernel_shape, &a->strides, &a->pads, none, 0};
}

static npuc_status maxunpool_verify(diag *d, const node *n) {
  int_list none = {0};
  window_fields fields = window_of_unpool(NPUC_ATTRS(unpool_attributes, n), &none);
  return npuc_window_verify(d, n, &fields, -1);
}

static npuc_status maxunpool_infer(infer_context *c) {
  unpool_attributes *a = NPUC_ATTRS(unpool_attributes, c->node);
  int_list none = {0};
  window_fields fields = window_of_unpool(a, &none);
  const fact *x = npuc_fact_input(c, 0);
  bool known = false;
  if (!x) return NPUC_OK;
  c->outputs[0].type = x->type;
  if (npuc_fact_input(c, 2)) NPUC_TRY(npuc_infer_target(c, 2, 0, &known));
  if (known || x->shape.rank < 0) return NPUC_OK;
  if (a->kernel_shape.count != x->shape.rank - 2 || x->shape.rank < 3)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "X", "rank %d given; 2 and one for each value of kernel_shape wanted",
                        (int)x->shape.rank);
  c->outputs[0].shape = x->shape;
  for (int32_t i = 0; i < a->kernel_shape.count; i++) {
    window_axis w = npuc_window_axis(&fields, i, a->kernel_shape.values[i]);
    dim in = x->shape.dims[2 + i], out = (in - 1) * w.stride + w.kernel - w.begin - w.end;
    bool open = npuc_fact_input(c, 2) || !dim_is_number(in);
    if (!open && out < 0)
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "pads", "axis %d would have %lld elements", (int)(2 + i), (long long)out);
    set_dim(c, 2 + i, open ? DIM_UNKNOWN : out);
  }
  return NPUC_OK;
}

static const op_port col2im_inputs[] = {{.name = "input", .doc = "[N, C * product of block_shape, blocks]"},
                                        {.name = "image_shape", .doc = "int64 [k]: D1, ..., Dk"},
                                        {.name = "block_shape", .doc = "int64 [k]: size of the window"}};
static const op_port col2im_outputs[] = {{.name = "output", .doc = "[N, C, D1, ..., Dk]"}};
static const attr_field col2im_fields[] = {
    FIELD_INTS(col2im_attributes, dilations, "distance of the window's taps; 1 when absent"),
    FIELD_INTS(col2im_attributes, pads, "cells before each spatial axis, then after each; 0 when absent"),
    FIELD_INTS(col2im_attributes, strides, "step of the window per spatial axis; 1 when absent"),
};

static npuc_status col2im_verify(diag *d, const node *n) {
  col2im_attributes *a = NPUC_ATTRS(col2im_attributes, n);
  int_list none = {0};
  window_fields fields = {NULL, &none, &a->strides, &a->pads, &a->dilations, 0};
  return npuc_window_verify(d, n, &fields, -1);
}

static npuc_status col2im_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0), *image = npuc_fact_input(c, 1);
  elements block, size;
  if (!x) return NPUC_OK;
  c->outputs[0].type = x->type;
  NPUC_TRY(want_rank(c, 0, 3));
  NPUC_TRY(want_rank(c, 1, 1));
  NPUC_TRY(want_rank(c, 2, 1));
  dim length = dim_of(c, 1, 0), same;
  NPUC_TRY(want_equal(c, 2, 0, length, &same));
  if (!dim_is_number(same) || same < 1 || same > MAX_RANK - 2) return NPUC_OK;
  c->outputs[0].shape.rank = (int32_t)same + 2;
  bool known = npuc_elements_read(image, &size) && size.count == same;
  int64_t taps = 1;
  bool blocks = npuc_elements_numbers(npuc_fact_input(c, 2), &block) && block.count == same;
  for (int32_t i = 0; i < (int32_t)same; i++) {
    if ((known && size.at[i].is_number && size.at[i].number < 0) || (blocks && block.at[i].number < 1))
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "block_shape", "a size is below its least");
    if (blocks && __builtin_mul_overflow(taps, block.at[i].number, &taps))
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "block_shape", "too large");
    set_dim(c, 2 + i, known ? npuc_element_dim(&size.at[i]) : DIM_UNKNOWN);
  }
  dim rows = dim_of(c, 0, 1);
  if (blocks && dim_is_number(rows) && rows % taps)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "input", "axis 1 has %lld elements, no multiple of the block's %lld",
                        (long long)rows, (long long)taps);
  set_dim(c, 0, dim_of(c, 0, 0));
  set_dim(c, 1, blocks && dim_is_number(rows) ? rows / taps : DIM_UNKNOWN);
  return NPUC_OK;
}

/* -- DeformConv -- */
static const op_port deformconv_inputs[] = {
    {.name = "X", .doc = "[N, C, D1, ..., Dk]"},
    {.name = "W", .doc = "[M, C/group, K1, ..., Kk]"},
    {.name = "offset", .doc = "[N, offset_group * taps * k, O1, ..., Ok]: of each tap, along each axis"},
    {.name = "B", .optional = true, .doc = "[M]"},
    {.name = "mask", .optional = true, .doc = "[N, offset_group * taps, O1, ..., Ok]: multiplies each tap; 1 when absent"},
};
static const op_port deformconv_outputs[] = {{.name = "Y", .doc = "[N, M, O1, ..., Ok]"}};
static const attr_field deformconv_fields[] = {
    FIELD_INTS(deformconv_attributes, kernel_shape, "size of the kernel per spatial axis; from W when absent"),
    FIELD_INTS(deformconv_attributes, strides, "step of the window per spatial axis; 1 when absent"),
    FIELD_INTS(deformconv_attributes, pads, "zeros before each spatial axis, then after each; 0 when absent"),
    FIELD_INTS(deformconv_attributes, dilations, "distance of the kernel's taps per spatial axis; 1 when absent"),
    FIELD_INT(deformconv_attributes, group, 1, "channels are divided into so many independent groups"),
    FIELD_INT(deformconv_attributes, offset_group, 1, "channels are divided into so many groups of offsets"),
};

static npuc_status deformconv_verify(diag *d, const node *n) {
  deformconv_attributes *a = NPUC_ATTRS(deformconv_attributes, n);
  window_fields fields = {NULL, &a->kernel_shape, &a->strides, &a->pads, &a->dilations, 0};
  if (a->group < 1 || a->offset_group < 1)
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, a->group < 1 ? "group" : "offset_group", "at least 1 wanted");
  return npuc_window_verify(d, n, &fields, -1);
}

static npuc_status deformconv_channels(infer_context *c, const fact *x, const fact *w, const int64_t *kernel) {
  const deformconv_attributes *a = NPUC_ATTRS(deformconv_attributes, c->node);
  dim channels = x->shape.dims[1], outs = w->shape.dims[0], merged;
  int32_t spatial = x->shape.rank - 2;
  int64_t taps = 1;
  for (int32_t i = 0; i < spatial; i++) taps = kernel[i] > 0 && taps > 0 ? taps * kernel[i] : -1;
  if (dim_is_number(channels) && dim_is_number(w->shape.dims[1]) && channels != w->shape.dims[1] * a->group)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "W", "weight expects %lld input channels, input has %lld",
                        (long long)(w->shape.dims[1] * a->group), (long long)channels);
  if ((dim_is_number(channels) && channels % a->offset_group) || (dim_is_number(outs) && outs % a->group))
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "group", "channels are not divisible by their groups");
  if (taps > 0) NPUC_TRY(want_equal(c, 2, 1, a->offset_group * taps * spatial, &merged));
  if (taps > 0) NPUC_TRY(want_equal(c, 4, 1, a->offset_group * taps, &merged));
  return want_equal(c, 3, 0, outs, &merged);
}

static npuc_status deformconv_infer(infer_context *c) {
  deformconv_attributes *a = NPUC_ATTRS(deformconv_attributes, c->node);
  const fact *x = npuc_fact_input(c, 0), *w = npuc_fact_input(c, 1);
  int64_t kernel[MAX_RANK];
  NPUC_TRY(want_float(c));
  NPUC_TRY(npuc_infer_same_type(c, 0, 4));
  if (!x || !w || x->shape.rank < 0 || w->shape.rank < 0) return NPUC_OK;
  if (x->shape.rank < 3) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "X", "rank %d given; at least 3 wanted", (int)x->shape.rank);
  NPUC_TRY(want_rank(c, 1, x->shape.rank));
  NPUC_TRY(want_rank(c, 2, x->shape.rank));
  NPUC_TRY(want_rank(c, 3, 1));
  NPUC_TRY(want_rank(c, 4, x->shape.rank));
  for (int32_t i = 0; i < x->shape.rank - 2; i++) {
    dim k = w->shape.dims[2 + i];
    kernel[i] = dim_is_number(k) ? k : i < a->kernel_shape.count ? a->kernel_shape.values[i] : -1;
    if (i < a->kernel_shape.count && kernel[i] != a->kernel_shape.values[i])
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "kernel_shape", "W has %lld at axis %d", (long long)k, (int)(2 + i));
  }
  NPUC_TRY(deformconv_channels(c, x, w, kernel));
  window_fields fields = {NULL, &a->kernel_shape, &a->strides, &a->pads, &a->dilations, 0};
  shape result = x->shape;
  NPUC_TRY(npuc_window_infer(c, &fields, &x->shape, kernel, &result));
  for (int32_t i = 2; i < result.rank; i++) NPUC_TRY(want_equal(c, 2, i, result.dims[i], &result.dims[i]));
  result.dims[1] = w->shape.dims[0];
  c->outputs[0].shape = result;
  return NPUC_OK;
}

static npuc_status deformconv_complete(diag *d, node *n) {
  (void)d;
  deformconv_attributes *a = NPUC_ATTRS(deformconv_attributes, n);
  window_fields fields = {NULL, &a->kernel_shape, &a->strides, &a->pads, &a->dilations, 0};
  const shape *x = &n->inputs[0]->shape, *w = &n->inputs[1]->shape;
  const char *none = NULL;
  int64_t kernel[MAX_RANK];
  if (x->rank < 3 || w->rank != x->rank) return NPUC_OK;
  for (int32_t i = 2; i < w->rank; i++) kernel[i - 2] = dim_is_number(w->dims[i]) ? w->dims[i] : -1;
  return npuc_window_complete(n, &fields, x, kernel, &none);
}

static void deformconv_cost(const node *n, op_cost *out_cost) {
  const shape *w = &n->inputs[1]->shape;
  double outs = w->rank > 0 && dim_is_number(w->dims[0]) && w->dims[0] > 0 ? (double)w->dims[0] : 1.0;
  out_cost->macs = npuc_value_elements(n->outputs[0]) * npuc_value_elements(n->inputs[1]) / outs;
  out_cost->operations = npuc_value_elements(n->inputs[2]) * 4;
}

/* -- definitions -- */
const op_def npuc_op_roialign = {
    ONNX_OP(roialign, OP_ROIALIGN, "RoiAlign", 22, 16),
    .summary = "Regions of a feature map, each pooled to one size at places between the cells.",
    .formula = "Y[r,c,i,j] = mean (max) over the points of bin (i, j) of region r of X[batch_indices[r], c] interpolated linearly",
    PORTS_IN(roialign_inputs, 3),
    PORTS_OUT(roi_outputs, 1),
    ATTRIBUTES(roialign_fields, roialign_attributes),
    .infer = roialign_infer,
    .verify = roialign_verify,
};
const op_def npuc_op_maxroipool = {
    ONNX_OP(maxroipool, OP_MAXROIPOOL, "MaxRoiPool", 22, 1),
    .summary = "Regions of a feature map, rounded to whole cells, each pooled to one size.",
    .formula = "Y[r,c,i,j] = max over the cells of bin (i, j) of region r; 0 where a bin has none",
    PORTS_IN(maxroipool_inputs, 2),
    PORTS_OUT(roi_outputs, 1),
    ATTRIBUTES(maxroipool_fields, maxroipool_attributes),
    .infer = maxroipool_infer,
    .verify = maxroipool_verify,
};
const op_def npuc_op_affinegrid = {
    ONNX_OP(affinegrid, OP_AFFINEGRID, "AffineGrid", 20, 20),
    .summary = "Places of an affine map, for GridSample.",
    .formula = "grid[n, h, w] = theta[n] (x, y, 1), x and y in [-1, 1]",
    PORTS_IN(affinegrid_inputs, 2),
    PORTS_OUT(affinegrid_outputs, 1),
    ATTRIBUTES(affinegrid_fields, align_attributes),
    .infer = affinegrid_infer,
    .verify = affinegrid_verify,
};
const op_def npuc_op_maxunpool = {
    ONNX_OP(maxunpool, OP_MAXUNPOOL, "MaxUnpool", 22, 9),
    .summary = "Puts the maxima of a MaxPool back to their places; the others are 0.",
    .formula = "output[place I[i]] = X[i]; without output_shape O = (D - 1) * stride + kernel - pads",
    PORTS_IN(maxunpool_inputs, 2),
    PORTS_OUT(unpooled_outputs, 1),
    ATTRIBUTES(maxunpool_fields, unpool_attributes),
    .infer = maxunpool_infer,
    .verify = maxunpool_verify,
};
const op_def npuc_op_col2im = {
    ONNX_OP(col2im, OP_COL2IM, "Col2Im", 18, 18),
    .summary = "Sums the columns of windows back into images.",
    .formula = "output[n, c, o*stride + k*dilation - begin] += input[n, (c, k), o]",
    PORTS_IN(col2im_inputs, 3),
    PORTS_OUT(col2im_outputs, 1),
    ATTRIBUTES(col2im_fields, col2im_attributes),
    .infer = col2im_infer,
    .verify = col2im_verify,
};
const op_def npuc_op_deformconv = {
    ONNX_OP(deformconv, OP_DEFORMCONV, "DeformConv", 22, 19),
    .summary = "Convolution whose taps are displaced by offsets, with linear interpolation between cells; X is 0 outside.",
    .formula = "Y[n,m,o] = B[m] + sum over c, k of W[m,c,k] * mask[n,k,o] * X[n, c, o*stride + k*dilation - begin + offset[n,k,:,o]]",
    PORTS_IN(deformconv_inputs, 3),
    PORTS_OUT(deformconv_outputs, 1),
    ATTRIBUTES(deformconv_fields, deformconv_attributes),
    .infer = deformconv_infer,
    .verify = deformconv_verify,
    .complete = deformconv_complete,
    .cost = deformconv_cost,
};
