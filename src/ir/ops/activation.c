/* SPDX-License-Identifier: Apache-2.0 */
/* Activations: one input element gives one output element. Dropout and Identity stand here too: in inference they pass their input on. */
#include <stddef.h>

#include "ir/ops/support.h"

static const op_port x_input[] = {{.name = "X", .doc = "any shape"}};
static const op_port y_output[] = {{.name = "Y", .doc = "as X"}};
static const op_port input_port[] = {{.name = "input", .doc = "any shape"}};
static const op_port output_port[] = {{.name = "output", .doc = "as input"}};

static const attr_field leakyrelu_fields[] = {FIELD_FLOAT(alpha_attributes, alpha, 0.01f, "slope below 0")};
static const attr_field hardsigmoid_fields[] = {
    FIELD_FLOAT(hardsigmoid_attributes, alpha, 0.2f, "slope"),
    FIELD_FLOAT(hardsigmoid_attributes, beta, 0.5f, "value at 0"),
};

/* -- Clip -- */
static const op_port clip_inputs[] = {
    {.name = "input", .doc = "any shape"},
    {.name = "min", .optional = true, .doc = "scalar; the type's lowest when absent"},
    {.name = "max", .optional = true, .doc = "scalar; the type's largest when absent"},
};

static npuc_status clip_infer(infer_context *c) {
  NPUC_TRY(npuc_infer_same_type(c, 0, 2));
  NPUC_TRY(npuc_infer_unary(c));
  for (int32_t i = 1; i <= 2; i++) {
    const fact *bound = npuc_fact_input(c, i);
    int64_t count;
    if (!bound || !npuc_shape_is_static(&bound->shape)) continue;
    /* Rank 0 by the standard; exporters write [1] as well, and runtimes take it. */
    if (!npuc_shape_elements(&bound->shape, &count) || count != 1) {
      char text[SHAPE_TEXT];
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, clip_inputs[i].name, "%s given; a scalar wanted",
                          npuc_shape_text(c->module, &bound->shape, text));
    }
  }
  return NPUC_OK;
}

/* -- Dropout -- */
static const op_port dropout_inputs[] = {
    {.name = "data", .doc = "any shape"},
    {.name = "ratio", .optional = true, .doc = "scalar, 0 to 1: share of elements that are dropped in training; 0.5 when absent"},
    {.name = "training_mode", .optional = true, .doc = "boolean scalar; a constant true without a seed is refused"},
};
static const op_port dropout_outputs[] = {
    {.name = "output", .doc = "as data"},
    {.name = "mask", .optional = true, .doc = "boolean, as data: what is kept"},
};
static const attr_field dropout_fields[] = {FIELD_INT(dropout_attributes, seed, ABSENT_SEED, "of training only; 0 when absent")};

static npuc_status dropout_infer(infer_context *c) {
  NPUC_TRY(npuc_infer_unary(c));
  const fact *training = npuc_fact_input(c, 2);
  bool trains =
      training && training->constant && npuc_tensor_elements(training->constant) == 1 && npuc_tensor_get_int(training->constant, 0);
  if (trains && NPUC_ATTRS(dropout_attributes, c->node)->seed == ABSENT_SEED) { /* nobody chose this: a network left in training mode */
    npuc_status status =
        npuc_op_fail(c->d, c->node, NPUC_DIAG_E0443, "training_mode", "true given without a seed; elements would be dropped at random");
    npuc_fix(c->d, "export the model in evaluation mode: call model.eval() before torch.onnx.export");
    return status;
  }
  if (c->node->n_outputs > 1) {
    c->outputs[1].type = DTYPE_BOOL;
    c->outputs[1].shape = c->outputs[0].shape;
  }
  return NPUC_OK;
}

/* -- Identity -- */
static npuc_status identity_infer(infer_context *c) {
  NPUC_TRY(npuc_infer_unary(c));
  const fact *x = npuc_fact_input(c, 0);
  if (!x) return NPUC_OK;
  c->outputs[0].constant = x->constant;
  c->outputs[0].content = x->content;
  c->outputs[0].n_content = x->n_content;
  return NPUC_OK;
}

const op_def npuc_op_relu = {
    .id = OP_RELU,
    .domain = "",
    .type = "Relu",
    .since_version = 14,
    .oldest_version = 6,
    .traits = TRAIT_ELEMENTWISE | TRAIT_MONOTONE,
    .summary = "Negative values become 0.",
    .formula = "Y = max(X, 0)",
    .source = "ONNX Relu-14",
    PORTS_IN(x_input, 1),
    PORTS_OUT(y_output, 1),
    .infer = npuc_infer_unary,
    .eval = npuc_eval_relu,
};

const op_def npuc_op_clip = {
    .id = OP_CLIP,
    .domain = "",
    .type = "Clip",
    .since_version = 13,
    .oldest_version = 12,
    .traits = TRAIT_ELEMENTWISE | TRAIT_MONOTONE,
    .summary = "Values are limited to an interval.",
    .formula = "output = min(max(input, min), max); max where min > max",
    .source = "ONNX Clip-13",
    PORTS_IN(clip_inputs, 1),
    PORTS_OUT(output_port, 1),
    .infer = clip_infer,
    .eval = npuc_eval_clip,
};

const op_def npuc_op_leakyrelu = {
    .id = OP_LEAKYRELU,
    .domain = "",
    .type = "LeakyRelu",
    .since_version = 16,
    .oldest_version = 6,
    .traits = TRAIT_ELEMENTWISE,
    .summary = "Negative values are multiplied by alpha.",
    .formula = "Y = X < 0 ? alpha * X : X",
    .source = "ONNX LeakyRelu-16",
    PORTS_IN(x_input, 1),
    PORTS_OUT(y_output, 1),
    ATTRIBUTES(leakyrelu_fields, alpha_attributes),
    .infer = npuc_infer_unary,
    .eval = npuc_eval_leakyrelu,
};

const op_def npuc_op_sigmoid = {
    .id = OP_SIGMOID,
    .domain = "",
    .type = "Sigmoid",
    .since_version = 13,
    .oldest_version = 6,
    .traits = TRAIT_ELEMENTWISE | TRAIT_MONOTONE,
    .summary = "Logistic function.",
    .formula = "Y = 1 / (1 + exp(-X))",
    .source = "ONNX Sigmoid-13",
    PORTS_IN(x_input, 1),
    PORTS_OUT(y_output, 1),
    .infer = npuc_infer_unary,
    .eval = npuc_eval_sigmoid,
};

const op_def npuc_op_hardsigmoid = {
    .id = OP_HARDSIGMOID,
    .domain = "",
    .type = "HardSigmoid",
    .since_version = 22,
    .oldest_version = 6,
    .traits = TRAIT_ELEMENTWISE,
    .summary = "A line between 0 and 1.",
    .formula = "Y = max(0, min(1, alpha * X + beta))",
    .source = "ONNX HardSigmoid-22",
    PORTS_IN(x_input, 1),
    PORTS_OUT(y_output, 1),
    ATTRIBUTES(hardsigmoid_fields, hardsigmoid_attributes),
    .infer = npuc_infer_unary,
    .eval = npuc_eval_hardsigmoid,
};

const op_def npuc_op_hardswish = {
    .id = OP_HARDSWISH,
    .domain = "",
    .type = "HardSwish",
    .since_version = 22,
    .oldest_version = 14,
    .traits = TRAIT_ELEMENTWISE,
    .summary = "The input times a hard sigmoid of it.",
    .formula = "Y = X * max(0, min(1, X / 6 + 0.5))",
    .source = "ONNX HardSwish-22",
    PORTS_IN(x_input, 1),
    PORTS_OUT(y_output, 1),
    .infer = npuc_infer_unary,
    .eval = npuc_eval_hardswish,
};

const op_def npuc_op_tanh = {
    .id = OP_TANH,
    .domain = "",
    .type = "Tanh",
    .since_version = 13,
    .oldest_version = 6,
    .traits = TRAIT_ELEMENTWISE | TRAIT_MONOTONE,
    .summary = "Hyperbolic tangent.",
    .formula = "output = tanh(input)",
    .source = "ONNX Tanh-13",
    PORTS_IN(input_port, 1),
    PORTS_OUT(output_port, 1),
    .infer = npuc_infer_unary,
    .eval = npuc_eval_tanh,
};

const op_def npuc_op_dropout = {
    .id = OP_DROPOUT,
    .domain = "",
    .type = "Dropout",
    .since_version = 22,
    .oldest_version = 12,
    .traits = TRAIT_ELEMENTWISE,
    .summary = "In inference, the input itself; in training, elements are dropped at random (docs/numerics.md: random numbers).",
    .formula =
        "inference: output = data, mask = true; training: mask = u >= ratio, u uniform in [0, 1), output = mask * data / (1 - ratio)",
    .source = "ONNX Dropout-22",
    PORTS_IN(dropout_inputs, 1),
    PORTS_OUT(dropout_outputs, 1),
    ATTRIBUTES(dropout_fields, dropout_attributes),
    .infer = dropout_infer,
    .eval = npuc_eval_dropout,
};

const op_def npuc_op_identity = {
    .id = OP_IDENTITY,
    .domain = "",
    .type = "Identity",
    .since_version = 25,
    .oldest_version = 1,
    .traits = TRAIT_ELEMENTWISE | TRAIT_MOVES_DATA | TRAIT_MONOTONE | TRAIT_TAKES_LISTS,
    .summary = "The input itself.",
    .formula = "output = input",
    .source = "ONNX Identity-25",
    PORTS_IN(input_port, 1),
    PORTS_OUT(output_port, 1),
    .infer = identity_infer,
    .eval = npuc_eval_identity,
};
