/* SPDX-License-Identifier: Apache-2.0 */
/* Resize, GridSample, ConvTranspose, NonMaxSuppression: definitions. */
#include "ir/ops/resample.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static bool is_text(const char *a, const char *b) { return a && strcmp(a, b) == 0; }

static npuc_status one_of(diag *d, const node *n, const char *attribute, const char *given, const char *const *names) {
  for (; *names; names++) {
    if (is_text(given, *names)) return NPUC_OK;
  }
  return npuc_op_fail(d, n, NPUC_DIAG_E0440, attribute, "\"%s\" is not one of the operator's modes", given ? given : "");
}

/* -- Resize -- */
static const op_port resize_inputs[] = {
    {.name = "X", .doc = "any shape"},
    {.name = "roi", .optional = true, .doc = "starts, then ends of axes in 0..1, for tf_crop_and_resize"},
    {.name = "scales", .optional = true, .doc = "a factor per axis"},
    {.name = "sizes", .optional = true, .doc = "the new dim per axis; this or scales"},
};
static const op_port resize_outputs[] = {{.name = "Y", .doc = "floor(dim * scale), or as sizes says"}};
static const attr_field resize_fields[] = {
    FIELD_STRING(resize_attributes, mode, "nearest", "nearest, linear or cubic"),
    FIELD_STRING(resize_attributes, coordinate_transformation_mode, "half_pixel",
                 "half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners, asymmetric or tf_crop_and_resize"),
    FIELD_STRING(resize_attributes, nearest_mode, "round_prefer_floor", "round_prefer_floor, round_prefer_ceil, floor or ceil"),
    FIELD_FLOAT(resize_attributes, cubic_coeff_a, -0.75f, "of the cubic"),
    FIELD_INT(resize_attributes, exclude_outside, 0, "1: taps outside have weight 0, the others are scaled up"),
    FIELD_FLOAT(resize_attributes, extrapolation_value, 0.0f, "outside the roi, for tf_crop_and_resize"),
    {.name = "antialias",
     .kind = ATTR_INT,
     .offset = offsetof(resize_attributes, antialias),
     .since_version = 18,
     .doc = "1: the filter is as wide as the step when downsampling"},
    FIELD_INTS(resize_attributes, axes, "the axes that roi, scales and sizes speak of; all when absent"),
    FIELD_STRING(resize_attributes, keep_aspect_ratio_policy, "stretch", "stretch, not_larger or not_smaller: how sizes are met"),
};

static bool refuse(const char **out_reason, const char *reason) {
  *out_reason = reason;
  return false;
}

bool npuc_resize_axes(const resize_attributes *a, const shape *x, const tensor *scales, const tensor *sizes, resize_axis out[MAX_RANK],
                      const char **out_reason) {
  int32_t n = a->axes.count ? a->axes.count : x->rank, axes[MAX_RANK];
  const tensor *given = sizes && npuc_tensor_elements(sizes) ? sizes : scales;
  if (!given || npuc_tensor_elements(given) != n || n > MAX_RANK)
    return refuse(out_reason, "one number for each axis wanted, in scales or in sizes");
  for (int32_t i = 0; i < x->rank; i++) out[i] = (resize_axis){x->dims[i], x->dims[i], 1.0, (double)x->dims[i]};
  double common = 0.0;
  for (int32_t i = 0; i < n; i++) {
    if (!npuc_axis_normalize(a->axes.count ? a->axes.values[i] : i, x->rank, &axes[i]))
      return refuse(out_reason, "an axis is out of range");
    resize_axis *r = &out[axes[i]];
    if (given == scales) {
      r->scale = npuc_tensor_get(scales, i);
      r->length = (double)((float)r->input * (float)r->scale);
      double dim_out = floor(r->length);
      if (!(r->scale > 0.0) || dim_out > 9e15) return refuse(out_reason, "a scale is not above 0, or too large");
      r->output = (int64_t)dim_out;
      continue;
    }
    r->output = npuc_tensor_get_int(sizes, i);
    if (r->output < 0) return refuse(out_reason, "a size is below 0");
    r->scale = r->input ? (double)r->output / (double)r->input : 1.0;
    r->length = (double)r->output;
    bool first = i == 0, smaller = is_text(a->keep_aspect_ratio_policy, "not_larger");
    common = first || (smaller ? r->scale < common : r->scale > common) ? r->scale : common;
  }
  for (int32_t i = 0; given == sizes && !is_text(a->keep_aspect_ratio_policy, "stretch") && i < n; i++) {
    out[axes[i]].scale = common;
    out[axes[i]].length = common * (double)out[axes[i]].input;
    out[axes[i]].output = (int64_t)floor(out[axes[i]].length + 0.5);
  }
  return true;
}

static const tensor *constant_of(const fact *f) { return f && f->constant ? f->constant : NULL; }
static bool is_empty(const fact *f) { return !f || (f->shape.rank == 1 && f->shape.dims[0] == 0); }

/* Where the axes that are resized are not numbers, or the factors come at run time: free, others stay. */
static void open_resize(infer_context *c, const shape *x) {
  const resize_attributes *a = NPUC_ATTRS(resize_attributes, c->node);
  shape y = *x;
  for (int32_t i = 0; i < x->rank; i++) {
    bool stays = a->axes.count > 0;
    for (int32_t k = 0; k < a->axes.count; k++) stays = stays && a->axes.values[k] != i && a->axes.values[k] != i - x->rank;
    if (!stays) y.dims[i] = npuc_infer_free_dim(c, 0, i);
  }
  c->outputs[0].shape = y;
}

static npuc_status resize_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0), *scales = npuc_fact_input(c, 2), *sizes = npuc_fact_input(c, 3);
  if (!x) return NPUC_OK;
  c->outputs[0].type = x->type;
  if (x->shape.rank < 0) return NPUC_OK;
  if (is_empty(scales) && is_empty(sizes)) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "scales", "neither scales nor sizes given");
  bool known = npuc_shape_is_static(&x->shape) && (is_empty(sizes) ? constant_of(scales) != NULL : constant_of(sizes) != NULL);
  if (!known) {
    open_resize(c, &x->shape);
    return NPUC_OK;
  }
  resize_axis axes[MAX_RANK];
  const char *reason;
  if (!npuc_resize_axes(NPUC_ATTRS(resize_attributes, c->node), &x->shape, constant_of(scales), constant_of(sizes), axes, &reason))
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, is_empty(sizes) ? "scales" : "sizes", "%s", reason);
  c->outputs[0].shape = x->shape;
  for (int32_t i = 0; i < x->shape.rank; i++) c->outputs[0].shape.dims[i] = axes[i].output;
  return NPUC_OK;
}

static npuc_status resize_verify(diag *d, const node *n) {
  static const char *const modes[] = {"nearest", "linear", "cubic", NULL},
                           *const coordinates[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                                   "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize", NULL},
                           *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL},
                           *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};
  const resize_attributes *a = NPUC_ATTRS(resize_attributes, n);
  NPUC_TRY(one_of(d, n, "mode", a->mode, modes));
  NPUC_TRY(one_of(d, n, "coordinate_transformation_mode", a->coordinate_transformation_mode, coordinates));
  NPUC_TRY(one_of(d, n, "nearest_mode", a->nearest_mode, roundings));
  NPUC_TRY(one_of(d, n, "keep_aspect_ratio_policy", a->keep_aspect_ratio_policy, policies));
  NPUC_TRY(npuc_verify_flag(d, n, "antialias", a->antialias));
  if (is_text(a->coordinate_transformation_mode, "tf_crop_and_resize") && (n->n_inputs < 2 || !n->inputs[1]))
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "roi", "tf_crop_and_resize needs the input");
  return npuc_verify_flag(d, n, "exclude_outside", a->exclude_outside);
}

/* -- GridSample -- */
static const op_port grid_inputs[] = {{.name = "X", .doc = "[N, C, D1, ..., Dk]"},
                                      {.name = "grid", .doc = "[N, O1, ..., Ok, k]: places in -1..1, the last axis of X first"}};
static const op_port grid_outputs[] = {{.name = "Y", .doc = "[N, C, O1, ..., Ok]"}};
static const attr_field grid_fields[] = {
    FIELD_STRING(grid_attributes, mode, "linear", "linear, nearest or cubic"),
    FIELD_STRING(grid_attributes, padding_mode, "zeros", "zeros, border or reflection"),
    FIELD_INT(grid_attributes, align_corners, 0, "1: -1 and 1 are the centers of the outer cells, 0: their edges"),
};

static npuc_status grid_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0), *grid = npuc_fact_input(c, 1);
  if (!x || !grid) return NPUC_OK;
  c->outputs[0].type = x->type;
  if (x->shape.rank < 0 || grid->shape.rank < 0) return NPUC_OK;
  dim merged, axes = grid->shape.rank ? grid->shape.dims[grid->shape.rank - 1] : 0;
  bool fits = x->shape.rank >= 3 && grid->shape.rank == x->shape.rank && npuc_dim_merge(x->shape.dims[0], grid->shape.dims[0], &merged) &&
              npuc_dim_merge(axes, x->shape.rank - 2, &merged);
  char a[SHAPE_TEXT], b[SHAPE_TEXT];
  if (!fits)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "grid", "%s does not fit to %s", npuc_shape_text(c->module, &grid->shape, a),
                        npuc_shape_text(c->module, &x->shape, b));
  c->outputs[0].shape = x->shape;
  for (int32_t i = 2; i < x->shape.rank; i++) c->outputs[0].shape.dims[i] = grid->shape.dims[i - 1];
  return NPUC_OK;
}

static npuc_status grid_verify(diag *d, const node *n) {
  static const char *const modes[] = {"linear", "nearest", "cubic", NULL}, *const paddings[] = {"zeros", "border", "reflection", NULL};
  const grid_attributes *a = NPUC_ATTRS(grid_attributes, n);
  NPUC_TRY(one_of(d, n, "mode", a->mode, modes));
  NPUC_TRY(one_of(d, n, "padding_mode", a->padding_mode, paddings));
  return npuc_verify_flag(d, n, "align_corners", a->align_corners);
}

/* -- ConvTranspose -- */
static const op_port transposed_inputs[] = {{.name = "X", .doc = "[N, C, D1, ..., Dk]"},
                                            {.name = "W", .doc = "[C, M/group, K1, ..., Kk]"},
                                            {.name = "B", .optional = true, .doc = "[M]"}};
static const op_port transposed_outputs[] = {{.name = "Y", .doc = "[N, M, O1, ..., Ok]"}};
static const attr_field transposed_fields[] = {
    FIELD_STRING(convtranspose_attributes, auto_pad, "NOTSET", "NOTSET, SAME_UPPER, SAME_LOWER (O = D * stride) or VALID"),
    FIELD_INTS(convtranspose_attributes, kernel_shape, "size of the kernel per spatial axis; from W when absent"),
    FIELD_INTS(convtranspose_attributes, strides, "distance of the windows in the output; 1 when absent"),
    FIELD_INTS(convtranspose_attributes, pads, "cells that are cut before each spatial axis, then after each; 0 when absent"),
    FIELD_INTS(convtranspose_attributes, dilations, "distance of the kernel's taps; 1 when absent"),
    FIELD_INTS(convtranspose_attributes, output_padding, "cells more at the end of each axis; 0 when absent"),
    FIELD_INTS(convtranspose_attributes, output_shape, "O1, ..., Ok: then pads follow from it"),
    FIELD_INT(convtranspose_attributes, group, 1, "channels are divided into so many independent groups"),
};

static int64_t entry(const int_list *l, int32_t i, int64_t otherwise) { return i < l->count ? l->values[i] : otherwise; }

bool npuc_transposed_axis(const convtranspose_attributes *a, int32_t axis, int32_t spatial, int64_t input, int64_t kernel,
                          transposed_axis *out) {
  *out = (transposed_axis){.stride = entry(&a->strides, axis, 1), .dilation = entry(&a->dilations, axis, 1)};
  int64_t whole = out->stride * (input - 1) + entry(&a->output_padding, axis, 0) + out->dilation * (kernel - 1) + 1;
  bool upper = is_text(a->auto_pad, "SAME_UPPER"), same = upper || is_text(a->auto_pad, "SAME_LOWER");
  if (same || a->output_shape.count) {
    int32_t skip = a->output_shape.count > spatial ? a->output_shape.count - spatial : 0; /* some files state all dims */
    out->output = a->output_shape.count ? entry(&a->output_shape, axis + skip, 0) : input * out->stride;
    int64_t total = whole - out->output;
    out->begin = total <= 0 ? 0 : upper ? total / 2 : total - total / 2;
  } else {
    bool valid = is_text(a->auto_pad, "VALID");
    out->begin = valid ? 0 : entry(&a->pads, axis, 0);
    out->output = whole - out->begin - (valid ? 0 : entry(&a->pads, axis + spatial, 0));
  }
  return out->output >= 0;
}

static npuc_status check_transposed(infer_context *c, const shape *x, const shape *w, int64_t group) {
  const fact *bias = npuc_fact_input(c, 2);
  char a[SHAPE_TEXT], b[SHAPE_TEXT];
  dim merged;
  if (x->rank < 3 || w->rank != x->rank || !npuc_dim_merge(x->dims[1], w->dims[0], &merged))
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "W", "%s does not fit to %s", npuc_shape_text(c->module, w, a),
                        npuc_shape_text(c->module, x, b));
  if (group < 1 || (dim_is_number(w->dims[0]) && w->dims[0] % group))
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "group", "%lld channels are not divisible by group %lld", (long long)w->dims[0],
                        (long long)group);
  if (bias && bias->shape.rank >= 0 &&
      (bias->shape.rank != 1 ||
       (dim_is_number(bias->shape.dims[0]) && dim_is_number(w->dims[1]) && bias->shape.dims[0] != w->dims[1] * group)))
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "B", "%s given; one value per output channel wanted",
                        npuc_shape_text(c->module, &bias->shape, a));
  return NPUC_OK;
}

static npuc_status transposed_verify(diag *d, const node *n) {
  static const char *const modes[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", NULL};
  const convtranspose_attributes *a = NPUC_ATTRS(convtranspose_attributes, n);
  NPUC_TRY(one_of(d, n, "auto_pad", a->auto_pad ? a->auto_pad : "NOTSET", modes));
  const struct {
    const char *name;
    const int_list *list;
    int64_t least;
  } lists[] = {{"strides", &a->strides, 1}, {"dilations", &a->dilations, 1},           {"kernel_shape", &a->kernel_shape, 1},
               {"pads", &a->pads, 0},       {"output_padding", &a->output_padding, 0}, {"output_shape", &a->output_shape, 0}};
  int32_t spatial = n->inputs[0]->shape.rank - 2;
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    int32_t wanted = lists[i].list == &a->pads ? 2 * spatial : spatial, count = lists[i].list->count;
    bool all_dims = lists[i].list == &a->output_shape && count == spatial + 2;
    if (count && spatial > 0 && count != wanted && !all_dims)
      return npuc_op_fail(d, n, NPUC_DIAG_E0440, lists[i].name, "%d values wanted, %d given", wanted, count);
    for (int32_t k = 0; k < count; k++) {
      if (lists[i].list->values[k] < lists[i].least || lists[i].list->values[k] > INT32_MAX)
        return npuc_op_fail(d, n, NPUC_DIAG_E0440, lists[i].name, "value %d is %lld; at least %lld wanted", k,
                            (long long)lists[i].list->values[k], (long long)lists[i].least);
    }
  }
  return NPUC_OK;
}

static npuc_status transposed_infer(infer_context *c) {
  const convtranspose_attributes *a = NPUC_ATTRS(convtranspose_attributes, c->node);
  const fact *x = npuc_fact_input(c, 0), *w = npuc_fact_input(c, 1);
  if (!x || !w) return NPUC_OK;
  NPUC_TRY(npuc_infer_same_type(c, 0, 2));
  c->outputs[0].type = x->type;
  if (x->shape.rank < 0 || w->shape.rank < 0) return NPUC_OK;
  NPUC_TRY(check_transposed(c, &x->shape, &w->shape, a->group));
  NPUC_TRY(transposed_verify(c->d, c->node));
  shape y = x->shape;
  y.dims[1] = dim_is_number(w->shape.dims[1]) ? w->shape.dims[1] * a->group : npuc_infer_free_dim(c, 0, 1);
  for (int32_t i = 2; i < y.rank; i++) {
    transposed_axis t;
    if (!dim_is_number(x->shape.dims[i]) || !dim_is_number(w->shape.dims[i])) {
      y.dims[i] = npuc_infer_free_dim(c, 0, i);
    } else if (x->shape.dims[i] > INT32_MAX || w->shape.dims[i] > INT32_MAX ||
               !npuc_transposed_axis(a, i - 2, y.rank - 2, x->shape.dims[i], w->shape.dims[i], &t)) {
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "pads", "axis %d: nothing is left of the output", i);
    } else {
      y.dims[i] = t.output;
    }
  }
  c->outputs[0].shape = y;
  return NPUC_OK;
}

static void transposed_cost(const node *n, op_cost *out_cost) {
  const shape *w = &n->inputs[1]->shape;
  double taps = w->rank > 0 && dim_is_number(w->dims[0]) && w->dims[0] > 0 ? npuc_value_elements(n->inputs[1]) / (double)w->dims[0] : 0;
  out_cost->macs = npuc_value_elements(n->inputs[0]) * taps;
}

/* -- NonMaxSuppression -- */
static const op_port nms_inputs[] = {
    {.name = "boxes", .doc = "[N, boxes, 4]"},
    {.name = "scores", .doc = "[N, classes, boxes]"},
    {.name = "max_output_boxes_per_class", .optional = true, .doc = "one number; 0 (no box) when absent"},
    {.name = "iou_threshold", .optional = true, .doc = "one number; 0 when absent"},
    {.name = "score_threshold", .optional = true, .doc = "one number; no limit when absent"},
};
static const op_port nms_outputs[] = {{.name = "selected_indices", .doc = "int64 [selected, 3]: batch, class, box"}};
static const attr_field nms_fields[] = {
    FIELD_INT(nms_attributes, center_point_box, 0,
              "0: boxes are [y1, x1, y2, x2], any two opposite corners; 1: [x, y, width, height] of the center")};

static npuc_status nms_infer(infer_context *c) {
  c->outputs[0].type = DTYPE_I64;
  npuc_infer_free_shape(c, 2);
  c->outputs[0].shape.dims[1] = 3;
  const fact *boxes = npuc_fact_input(c, 0), *scores = npuc_fact_input(c, 1);
  if (!boxes || !scores || boxes->shape.rank < 0 || scores->shape.rank < 0) return NPUC_OK;
  dim merged;
  bool fits = boxes->shape.rank == 3 && scores->shape.rank == 3 && npuc_dim_merge(boxes->shape.dims[0], scores->shape.dims[0], &merged) &&
              npuc_dim_merge(boxes->shape.dims[1], scores->shape.dims[2], &merged) && npuc_dim_merge(boxes->shape.dims[2], 4, &merged);
  char a[SHAPE_TEXT], b[SHAPE_TEXT];
  if (fits) return NPUC_OK;
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "scores", "boxes %s and scores %s do not fit",
                      npuc_shape_text(c->module, &boxes->shape, a), npuc_shape_text(c->module, &scores->shape, b));
}
static npuc_status nms_verify(diag *d, const node *n) {
  return npuc_verify_flag(d, n, "center_point_box", NPUC_ATTRS(nms_attributes, n)->center_point_box);
}

const op_def npuc_op_resize = {
    ONNX_OP(resize, OP_RESIZE, "Resize", 19, 19),
    .summary = "Another resolution by nearest, linear or cubic interpolation along each axis.",
    .formula = "Y[o..] = sum over taps t of weight_t(x(o)) * X[t..], x(o) by coordinate_transformation_mode, one axis after the other",
    PORTS_IN(resize_inputs, 1),
    PORTS_OUT(resize_outputs, 1),
    ATTRIBUTES(resize_fields, resize_attributes),
    .infer = resize_infer,
    .verify = resize_verify,
};

const op_def npuc_op_gridsample = {
    ONNX_OP(gridsample, OP_GRIDSAMPLE, "GridSample", 22, 20),
    .summary = "Samples an image at given places.",
    .formula = "Y[n, c, o] = X[n, c] interpolated at grid[n, o]",
    PORTS_IN(grid_inputs, 2),
    PORTS_OUT(grid_outputs, 1),
    ATTRIBUTES(grid_fields, grid_attributes),
    .infer = grid_infer,
    .verify = grid_verify,
};

const op_def npuc_op_convtranspose = {
    ONNX_OP(convtranspose, OP_CONVTRANSPOSE, "ConvTranspose", 22, 11),
    .summary = "The transpose of a convolution: each input cell adds its kernel to the output.",
    .formula = "Y[n, m, o] = B[m] + sum over c, i, k with o = i*stride + k*dilation - begin of X[n, c, i] * W[c, m - g*M/group, k]",
    PORTS_IN(transposed_inputs, 2),
    PORTS_OUT(transposed_outputs, 1),
    ATTRIBUTES(transposed_fields, convtranspose_attributes),
    .infer = transposed_infer,
    .verify = transposed_verify,
    .cost = transposed_cost,
};

const op_def npuc_op_nonmaxsuppression = {
    ONNX_OP(nonmaxsuppression, OP_NONMAXSUPPRESSION, "NonMaxSuppression", 11, 10),
    .traits = TRAIT_DATA_SHAPE,
    .summary = "Keeps the best boxes of each class that do not overlap a better one.",
    .formula = "in order of descending score: kept when score > score_threshold and its IoU with every kept box is at most iou_threshold",
    PORTS_IN(nms_inputs, 2),
    PORTS_OUT(nms_outputs, 1),
    ATTRIBUTES(nms_fields, nms_attributes),
    .infer = nms_infer,
    .verify = nms_verify,
};
