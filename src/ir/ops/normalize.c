/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizations by statistics of the input itself (by running statistics, and Softmax: normalization.c). */
#include <stddef.h>

#include "ir/ops/support.h"

/* -- LayerNormalization, RMSNormalization -- */
static const op_port layer_inputs[] = {{.name = "X", .doc = "any shape of rank 1 or more"},
                                       {.name = "Scale", .doc = "broadcasts to the axes from axis on"},
                                       {.name = "B", .optional = true, .doc = "as Scale"}};
static const op_port layer_outputs[] = {{.name = "Y", .doc = "as X"},
                                        {.name = "Mean", .optional = true, .doc = "X's dims, 1 from axis on"},
                                        {.name = "InvStdDev", .optional = true, .doc = "as Mean"}};
static const op_port rms_inputs[] = {{.name = "X", .doc = "any shape of rank 1 or more"},
                                     {.name = "scale", .doc = "broadcasts to the axes from axis on"}};
static const op_port y_output[] = {{.name = "Y", .doc = "as X"}};
static const attr_field layer_fields[] = {
    FIELD_INT(layernorm_attributes, axis, -1, "first axis that is normalized"),
    FIELD_FLOAT(layernorm_attributes, epsilon, 1e-5f, "added to the variance"),
    FIELD_INT(layernorm_attributes, stash_type, 1, "type of Mean and InvStdDev; sums are wider here whatever it says"),
};

/* A factor broadcasts to X's last axes and not beyond. */
static npuc_status check_factor(infer_context *c, int32_t input, int32_t axis) {
  const fact *f = npuc_fact_input(c, input), *x = npuc_fact_input(c, 0);
  if (!f || f->shape.rank < 0) return NPUC_OK;
  bool fits = f->shape.rank <= x->shape.rank;
  for (int32_t k = 0; fits && k < f->shape.rank; k++) {
    int32_t at = x->shape.rank - f->shape.rank + k;
    dim a = f->shape.dims[k], b = x->shape.dims[at];
    if (dim_is_number(a) && a != 1) fits = at >= axis && (!dim_is_number(b) || a == b);
  }
  if (fits) return NPUC_OK;
  char a[SHAPE_TEXT], b[SHAPE_TEXT];
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, c->node->op->inputs[input].name, "%s does not broadcast to the axes of %s from %d on",
                      npuc_shape_text(c->module, &f->shape, a), npuc_shape_text(c->module, &x->shape, b), axis);
}

static npuc_status layer_infer(infer_context *c) {
  const layernorm_attributes *a = NPUC_ATTRS(layernorm_attributes, c->node);
  const fact *x = npuc_fact_input(c, 0);
  NPUC_TRY(npuc_infer_unary(c));
  dtype factor = npuc_fact_type(c, 1);
  if (c->node->op->id == OP_RMSNORMALIZATION && factor != DTYPE_NONE) c->outputs[0].type = factor; /* Y is of scale's type */
  for (int32_t i = 1; i < c->node->n_outputs; i++) c->outputs[i].type = a->stash_type == DTYPE_BF16 ? DTYPE_BF16 : DTYPE_F32;
  if (!x || x->shape.rank < 0) return NPUC_OK;
  int32_t axis;
  NPUC_TRY(npuc_require_axis(c, a->axis, x->shape.rank, &axis));
  for (int32_t i = 1; i < c->node->n_outputs; i++) {
    c->outputs[i].shape = x->shape;
    for (int32_t k = axis; k < x->shape.rank; k++) c->outputs[i].shape.dims[k] = 1;
  }
  for (int32_t i = 1; i < c->node->n_inputs; i++) NPUC_TRY(check_factor(c, i, axis));
  return NPUC_OK;
}

/* Difference, square, sum, product, sum. */
static void five_cost(const node *n, op_cost *out_cost) { out_cost->operations = 5 * npuc_value_elements(n->inputs[0]); }

/* -- GroupNormalization, InstanceNormalization -- */
static const op_port group_inputs[] = {
    {.name = "X", .doc = "[N, C, D1, ..., Dk]"}, {.name = "scale", .doc = "[C]"}, {.name = "bias", .doc = "[C]"}};
static const op_port instance_inputs[] = {
    {.name = "input", .doc = "[N, C, D1, ..., Dk]"}, {.name = "scale", .doc = "[C]"}, {.name = "B", .doc = "[C]"}};
static const op_port instance_outputs[] = {{.name = "output", .doc = "as input"}};
static const attr_field group_fields[] = {
    {.name = "num_groups",
     .kind = ATTR_INT,
     .offset = offsetof(groupnorm_attributes, num_groups),
     .required = true,
     .doc = "the channels are divided into so many groups"},
    FIELD_FLOAT(groupnorm_attributes, epsilon, 1e-5f, "added to the variance"),
    FIELD_INT(groupnorm_attributes, stash_type, 1, "sums are wider here whatever it says"),
};
static const attr_field instance_fields[] = {FIELD_FLOAT(epsilon_attributes, epsilon, 1e-5f, "added to the variance")};

static npuc_status channels_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0);
  NPUC_TRY(npuc_infer_unary(c));
  if (!x || x->shape.rank < 0) return NPUC_OK;
  if (x->shape.rank < 2)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, c->node->op->inputs[0].name, "rank %d given; at least 2 wanted", x->shape.rank);
  for (int32_t i = 1; i < 3; i++) {
    const fact *f = npuc_fact_input(c, i);
    dim merged;
    if (!f || f->shape.rank < 0 || (f->shape.rank == 1 && npuc_dim_merge(f->shape.dims[0], x->shape.dims[1], &merged))) continue;
    char text[SHAPE_TEXT];
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, c->node->op->inputs[i].name, "%s given; one value per channel wanted: [%lld]",
                        npuc_shape_text(c->module, &f->shape, text), (long long)x->shape.dims[1]);
  }
  return NPUC_OK;
}

static npuc_status group_infer(infer_context *c) {
  int64_t groups = NPUC_ATTRS(groupnorm_attributes, c->node)->num_groups;
  const fact *x = npuc_fact_input(c, 0);
  NPUC_TRY(channels_infer(c));
  if (groups < 1) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "num_groups", "%lld given; at least 1 wanted", (long long)groups);
  if (x && x->shape.rank >= 2 && dim_is_number(x->shape.dims[1]) && x->shape.dims[1] % groups)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "num_groups", "%lld channels are not divisible by %lld",
                        (long long)x->shape.dims[1], (long long)groups);
  return NPUC_OK;
}

/* -- LpNormalization, MeanVarianceNormalization, LRN -- */
static const op_port x_input[] = {{.name = "X", .doc = "[N, C, ...]"}};
static const op_port input_port[] = {{.name = "input", .doc = "any shape of rank 1 or more"}};
static const attr_field lp_fields[] = {FIELD_INT(lpnorm_attributes, axis, -1, "the axis whose norm becomes 1"),
                                       FIELD_INT(lpnorm_attributes, p, 2, "1 or 2: the norm")};
static const attr_field mean_fields[] = {FIELD_INTS(axes_attributes, axes, "axes of one mean; 0, 2, 3 when absent")};
static const attr_field lrn_fields[] = {
    {.name = "size", .kind = ATTR_INT, .offset = offsetof(lrn_attributes, size), .required = true, .doc = "number of channels in a sum"},
    FIELD_FLOAT(lrn_attributes, alpha, 1e-4f, "factor of the mean square"),
    FIELD_FLOAT(lrn_attributes, beta, 0.75f, "exponent"),
    FIELD_FLOAT(lrn_attributes, bias, 1.0f, "added"),
};

static npuc_status lp_infer(infer_context *c) {
  int32_t axis;
  NPUC_TRY(npuc_infer_unary(c));
  if (c->outputs[0].shape.rank < 0) return NPUC_OK;
  return npuc_require_axis(c, NPUC_ATTRS(lpnorm_attributes, c->node)->axis, c->outputs[0].shape.rank, &axis);
}
static npuc_status lp_verify(diag *d, const node *n) {
  int64_t p = NPUC_ATTRS(lpnorm_attributes, n)->p;
  return p == 1 || p == 2 ? NPUC_OK : npuc_op_fail(d, n, NPUC_DIAG_E0440, "p", "%lld given; 1 or 2 wanted", (long long)p);
}
static npuc_status lrn_verify(diag *d, const node *n) {
  int64_t size = NPUC_ATTRS(lrn_attributes, n)->size;
  if (size < 1) return npuc_op_fail(d, n, NPUC_DIAG_E0440, "size", "%lld given; at least 1 wanted", (long long)size);
  if (n->inputs[0]->shape.rank >= 0 && n->inputs[0]->shape.rank < 2)
    return npuc_op_fail(d, n, NPUC_DIAG_E0441, "X", "rank %d given; at least 2 wanted", n->inputs[0]->shape.rank);
  return NPUC_OK;
}

const op_def npuc_op_layernormalization = {
    ONNX_OP(layernormalization, OP_LAYERNORMALIZATION, "LayerNormalization", 17, 17),
    .summary = "Mean 0 and variance 1 over the last axes, then scale and bias.",
    .formula = "Y = (X - Mean) * InvStdDev * Scale + B, InvStdDev = 1 / sqrt(variance + epsilon)",
    PORTS_IN(layer_inputs, 2),
    PORTS_OUT(layer_outputs, 1),
    ATTRIBUTES(layer_fields, layernorm_attributes),
    .infer = layer_infer,
    .cost = five_cost,
};

const op_def npuc_op_rmsnormalization = {
    ONNX_OP(rmsnormalization, OP_RMSNORMALIZATION, "RMSNormalization", 23, 23),
    .summary = "Mean square 1 over the last axes, then scale.",
    .formula = "Y = X / sqrt(mean of X^2 + epsilon) * scale",
    PORTS_IN(rms_inputs, 2),
    PORTS_OUT(y_output, 1),
    ATTRIBUTES(layer_fields, layernorm_attributes),
    .infer = layer_infer,
    .cost = five_cost,
};

const op_def npuc_op_groupnormalization = {
    ONNX_OP(groupnormalization, OP_GROUPNORMALIZATION, "GroupNormalization", 21, 21),
    .summary = "Mean 0 and variance 1 in each group of channels of a sample, then scale and bias per channel.",
    .formula = "Y = (X - mean of the group) / sqrt(variance of the group + epsilon) * scale[c] + bias[c]",
    PORTS_IN(group_inputs, 3),
    PORTS_OUT(y_output, 1),
    ATTRIBUTES(group_fields, groupnorm_attributes),
    .infer = group_infer,
    .cost = five_cost,
};

const op_def npuc_op_instancenormalization = {
    ONNX_OP(instancenormalization, OP_INSTANCENORMALIZATION, "InstanceNormalization", 22, 6),
    .summary = "Mean 0 and variance 1 in each channel of a sample, then scale and bias.",
    .formula = "output = (input - mean of the plane) / sqrt(variance of the plane + epsilon) * scale[c] + B[c]",
    PORTS_IN(instance_inputs, 3),
    PORTS_OUT(instance_outputs, 1),
    ATTRIBUTES(instance_fields, epsilon_attributes),
    .infer = channels_infer,
    .cost = five_cost,
};

const op_def npuc_op_lpnormalization = {
    ONNX_OP(lpnormalization, OP_LPNORMALIZATION, "LpNormalization", 22, 1),
    .summary = "Norm 1 along an axis; what is 0 stays 0.",
    .formula = "output = input / (sum of |input|^p along axis)^(1/p)",
    PORTS_IN(input_port, 1),
    PORTS_OUT(instance_outputs, 1),
    ATTRIBUTES(lp_fields, lpnorm_attributes),
    .infer = lp_infer,
    .verify = lp_verify,
    .cost = five_cost,
};

const op_def npuc_op_meanvariancenormalization = {
    ONNX_OP(meanvariancenormalization, OP_MEANVARIANCENORMALIZATION, "MeanVarianceNormalization", 13, 9),
    .summary = "Mean 0 and variance 1 over axes.",
    .formula = "Y = (X - mean) / (sqrt(mean of X^2 - mean^2) + 1e-9)",
    PORTS_IN(x_input, 1),
    PORTS_OUT(y_output, 1),
    ATTRIBUTES(mean_fields, axes_attributes),
    .infer = npuc_infer_unary,
    .cost = five_cost,
};

const op_def npuc_op_lrn = {
    ONNX_OP(lrn, OP_LRN, "LRN", 13, 1),
    .summary = "Divides by the local energy over neighbouring channels.",
    .formula = "Y = X / (bias + alpha / size * sum of X^2 over channels c - floor((size-1)/2) to c + ceil((size-1)/2))^beta",
    PORTS_IN(x_input, 1),
    PORTS_OUT(y_output, 1),
    ATTRIBUTES(lrn_fields, lrn_attributes),
    .infer = npuc_infer_unary,
    .verify = lrn_verify,
    .cost = five_cost,
};
