/* SPDX-License-Identifier: Apache-2.0 */
/* QuantizeLinear and DequantizeLinear: the import and export form of quantization (QDQ). Scales per tensor, per axis or per block. */
#include <stddef.h>

#include "ir/ops/support.h"

static const op_port quantize_inputs[] = {
    {.name = "x", .doc = "float, any shape"},
    {.name = "y_scale", .doc = "scalar; vector of axis' length; or the shape of x with axis divided by block_size"},
    {.name = "y_zero_point", .optional = true, .doc = "as y_scale, of the output's type; uint8 0 when absent"},
};
static const op_port quantize_outputs[] = {{.name = "y", .doc = "as x, quantized"}};
static const op_port dequantize_inputs[] = {
    {.name = "x", .doc = "quantized, any shape; int32 has zero point 0"},
    {.name = "x_scale", .doc = "scalar; vector of axis' length; or the shape of x with axis divided by block_size"},
    {.name = "x_zero_point", .optional = true, .doc = "as x_scale, of x's type; 0 when absent"},
};
static const op_port dequantize_outputs[] = {{.name = "y", .doc = "as x, float"}};

static const attr_field quantize_fields[] = {
    FIELD_INT(quantize_attributes, axis, 1, "axis of the scales, where they are a vector or blocks"),
    {.name = "block_size",
     .kind = ATTR_INT,
     .offset = offsetof(quantize_attributes, block_size),
     .since_version = 21,
     .doc = "elements of axis that share a scale; 0: no blocks"},
    {.name = "output_dtype",
     .kind = ATTR_INT,
     .offset = offsetof(quantize_attributes, output_dtype),
     .since_version = 21,
     .doc = "type of y; 0: the zero point's, or uint8"},
    {.name = "precision",
     .kind = ATTR_INT,
     .offset = offsetof(quantize_attributes, precision),
     .since_version = 23,
     .doc = "type in which x is divided by the scale; 0: the inputs' own"},
    FIELD_INT(quantize_attributes, saturate, 1, "to 8-bit floats: 1 clamps, 0 overflows"),
};
static const attr_field dequantize_fields[] = {
    FIELD_INT(quantize_attributes, axis, 1, "axis of the scales, where they are a vector or blocks"),
    {.name = "block_size",
     .kind = ATTR_INT,
     .offset = offsetof(quantize_attributes, block_size),
     .since_version = 21,
     .doc = "elements of axis that share a scale; 0: no blocks"},
    {.name = "output_dtype",
     .kind = ATTR_INT,
     .offset = offsetof(quantize_attributes, output_dtype),
     .since_version = 23,
     .doc = "type of y; 0: the scale's"},
};

/* Scales of one element, of axis' length, or of blocks. */
static npuc_status check_scale(infer_context *c, const fact *x, const fact *scale) {
  const quantize_attributes *a = NPUC_ATTRS(quantize_attributes, c->node);
  if (!scale || x->shape.rank < 0 || scale->shape.rank < 0) return NPUC_OK;
  int64_t count;
  if (npuc_shape_elements(&scale->shape, &count) && count == 1 && a->block_size == 0) return NPUC_OK;
  if (scale->shape.rank == 0) return NPUC_OK;
  int32_t axis;
  if (!npuc_axis_normalize(a->axis, x->shape.rank, &axis)) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "axis", "%lld is out of range for rank %d", (long long)a->axis, x->shape.rank);
  }
  dim length = x->shape.dims[axis], merged;
  char text[SHAPE_TEXT];
  const char *port = c->node->op->inputs[1].name;
  if (a->block_size == 0) {
    if (scale->shape.rank == 1 && npuc_dim_merge(scale->shape.dims[0], length, &merged)) return NPUC_OK;
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, port, "%s given; a scalar or one value for each of the %lld of axis %d wanted",
                        npuc_shape_text(c->module, &scale->shape, text), (long long)length, axis);
  }
  dim blocks = dim_is_number(length) ? (length + a->block_size - 1) / a->block_size : DIM_UNKNOWN;
  bool fits = scale->shape.rank == x->shape.rank;
  for (int32_t i = 0; fits && i < x->shape.rank; i++)
    fits = npuc_dim_merge(scale->shape.dims[i], i == axis ? blocks : x->shape.dims[i], &merged);
  if (fits) return NPUC_OK;
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, port, "%s given; the shape of x with %lld blocks of %lld on axis %d wanted",
                      npuc_shape_text(c->module, &scale->shape, text), (long long)blocks, (long long)a->block_size, axis);
}

static npuc_status quantize_infer(infer_context *c) {
  const quantize_attributes *a = NPUC_ATTRS(quantize_attributes, c->node);
  const fact *x = npuc_fact_input(c, 0);
  dtype zero_type = npuc_fact_type(c, 2);
  dtype type = a->output_dtype           ? (dtype)a->output_dtype
               : zero_type != DTYPE_NONE ? zero_type
               : npuc_fact_input(c, 2)   ? DTYPE_NONE
                                         : DTYPE_U8;
  if (zero_type != DTYPE_NONE && type != zero_type) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0442, "output_dtype", "%s given, and the zero point is %s", npuc_dtype_name(type),
                        npuc_dtype_name(zero_type));
  }
  c->outputs[0].type = type;
  if (!x) return NPUC_OK;
  c->outputs[0].shape = x->shape;
  return check_scale(c, x, npuc_fact_input(c, 1));
}

static npuc_status dequantize_infer(infer_context *c) {
  const quantize_attributes *a = NPUC_ATTRS(quantize_attributes, c->node);
  const fact *x = npuc_fact_input(c, 0);
  dtype zero_type = npuc_fact_type(c, 2);
  c->outputs[0].type = a->output_dtype ? (dtype)a->output_dtype : npuc_fact_type(c, 1);
  if (!x) return NPUC_OK;
  if (zero_type != DTYPE_NONE && x->type != DTYPE_NONE && zero_type != x->type) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0442, "x_zero_point", "%s given, and x is %s", npuc_dtype_name(zero_type),
                        npuc_dtype_name(x->type));
  }
  c->outputs[0].shape = x->shape;
  return check_scale(c, x, npuc_fact_input(c, 1));
}

static npuc_status quantize_verify(diag *d, const node *n) {
  const quantize_attributes *a = NPUC_ATTRS(quantize_attributes, n);
  if (a->block_size < 0) return npuc_op_fail(d, n, NPUC_DIAG_E0440, "block_size", "%lld given; 0 or more wanted", (long long)a->block_size);
  if (a->output_dtype < 0 || a->output_dtype >= DTYPE_END) {
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "output_dtype", "%lld is not an element type", (long long)a->output_dtype);
  }
  return NPUC_OK;
}

const op_def npuc_op_quantizelinear = {
    .id = OP_QUANTIZELINEAR,
    .domain = "",
    .type = "QuantizeLinear",
    .since_version = 28,
    .oldest_version = 19,
    .traits = TRAIT_MONOTONE,
    .summary = "Real values to integers by a scale and a zero point.",
    .formula = "y = saturate(round_half_even(x / y_scale) + y_zero_point)",
    .source = "ONNX QuantizeLinear-28",
    PORTS_IN(quantize_inputs, 2),
    PORTS_OUT(quantize_outputs, 1),
    ATTRIBUTES(quantize_fields, quantize_attributes),
    .infer = quantize_infer,
    .verify = quantize_verify,
    .eval = npuc_eval_quantizelinear,
};

const op_def npuc_op_dequantizelinear = {
    .id = OP_DEQUANTIZELINEAR,
    .domain = "",
    .type = "DequantizeLinear",
    .since_version = 28,
    .oldest_version = 19,
    .summary = "Integers to real values by a scale and a zero point.",
    .formula = "y = (x - x_zero_point) * x_scale",
    .source = "ONNX DequantizeLinear-28",
    PORTS_IN(dequantize_inputs, 2),
    PORTS_OUT(dequantize_outputs, 1),
    ATTRIBUTES(dequantize_fields, quantize_attributes),
    .infer = dequantize_infer,
    .verify = quantize_verify,
    .eval = npuc_eval_dequantizelinear,
};
