/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizations: BatchNormalization by its running statistics, or the batch's own, Softmax and LogSoftmax along an axis. */
#include <stddef.h>

#include "ir/ops/support.h"

/* -- BatchNormalization -- */
static const op_port batchnorm_inputs[] = {
    {.name = "X", .doc = "[N, C, D1, ..., Dk]"}, {.name = "scale", .doc = "[C]"},     {.name = "B", .doc = "[C]"},
    {.name = "input_mean", .doc = "[C]"},        {.name = "input_var", .doc = "[C]"},
};
static const op_port batchnorm_outputs[] = {
    {.name = "Y", .doc = "as X"},
    {.name = "running_mean", .optional = true, .doc = "[C], of training only"},
    {.name = "running_var", .optional = true, .doc = "[C], of training only"},
};
static const attr_field batchnorm_fields[] = {
    FIELD_FLOAT(batchnorm_attributes, epsilon, 1e-5f, "added to the variance"),
    FIELD_FLOAT(batchnorm_attributes, momentum, 0.9f, "share of the running statistics that stays, in training"),
    FIELD_INT(batchnorm_attributes, training_mode, 0,
              "1: statistics of the batch itself; refused where nothing reads the new running ones: then a network was "
              "left in training mode"),
};

static npuc_status batchnorm_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0);
  if (!x) return NPUC_OK;
  c->outputs[0].type = x->type;
  c->outputs[0].shape = x->shape;
  if (x->shape.rank >= 0 && x->shape.rank < 1)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "X", "a scalar given; rank 1 or more wanted");
  dim channels = x->shape.rank < 0 ? DIM_UNKNOWN : x->shape.rank == 1 ? 1 : x->shape.dims[1];
  for (int32_t i = 1; i < 5; i++) {
    const fact *f = npuc_fact_input(c, i);
    if (!f || f->shape.rank < 0) continue;
    dim merged;
    if (f->shape.rank != 1 || !npuc_dim_merge(f->shape.dims[0], channels, &merged)) {
      char text[SHAPE_TEXT];
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, batchnorm_inputs[i].name, "%s given; one value per channel wanted: [%lld]",
                          npuc_shape_text(c->module, &f->shape, text), (long long)channels);
    }
    channels = merged;
  }
  for (int32_t i = 1; i < c->node->n_outputs; i++) {
    c->outputs[i].type = npuc_fact_type(c, 2 + i);
    c->outputs[i].shape = (shape){.rank = 1, .dims = {channels == DIM_UNKNOWN ? npuc_infer_free_dim(c, i, 0) : channels}};
  }
  return NPUC_OK;
}

static npuc_status batchnorm_verify(diag *d, const node *n) {
  const batchnorm_attributes *a = NPUC_ATTRS(batchnorm_attributes, n);
  NPUC_TRY(npuc_verify_flag(d, n, "training_mode", a->training_mode));
  bool trains = false;
  for (int32_t i = 1; i < n->n_outputs; i++) trains = trains || (n->outputs[i] && (n->outputs[i]->n_uses || n->outputs[i]->is_output));
  if (a->training_mode != 0 && trains) return NPUC_OK;
  if (a->training_mode != 0) {
    npuc_status status = npuc_op_fail(d, n, NPUC_DIAG_E0443, "training_mode",
                                      "1 given, and nothing reads the running statistics: only 0 is inference, 1 would normalize by the "
                                      "batch's own statistics");
    npuc_fix(d, "export the model in evaluation mode: call model.eval() before torch.onnx.export");
    return status;
  }
  for (int32_t i = 1; i < n->n_outputs; i++) {
    if (n->outputs[i])
      return npuc_op_fail(d, n, NPUC_DIAG_E0440, batchnorm_outputs[i < 2 ? i : 2].name, "output %d exists only with training_mode 1", i);
  }
  return NPUC_OK;
}

static void batchnorm_cost(const node *n, op_cost *out_cost) { out_cost->operations = 2 * npuc_value_elements(n->outputs[0]); }

/* -- Softmax, LogSoftmax -- */
static const op_port softmax_inputs[] = {{.name = "input", .doc = "any shape of rank 1 or more"}};
static const op_port softmax_outputs[] = {{.name = "output", .doc = "as input"}};
static const attr_field softmax_fields[] = {FIELD_INT(axis_attributes, axis, -1, "the axis along which the results sum to 1")};

static npuc_status softmax_infer(infer_context *c) {
  NPUC_TRY(npuc_infer_unary(c));
  int32_t rank = c->outputs[0].shape.rank, axis;
  int64_t given = NPUC_ATTRS(axis_attributes, c->node)->axis;
  if (rank >= 0 && !npuc_axis_normalize(given, rank, &axis)) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "axis", "%lld is out of range for rank %d", (long long)given, rank);
  }
  return NPUC_OK;
}

/* Maximum, difference, exponential, sum, quotient. */
static void softmax_cost(const node *n, op_cost *out_cost) { out_cost->operations = 5 * npuc_value_elements(n->outputs[0]); }

const op_def npuc_op_batchnorm = {
    .id = OP_BATCHNORM,
    .domain = "",
    .type = "BatchNormalization",
    .since_version = 15,
    .oldest_version = 15,
    .summary = "Normalization per channel by running statistics (inference), or by the batch's own (training).",
    .formula =
        "Y[n,c,d] = (X[n,c,d] - mean[c]) / sqrt(var[c] + epsilon) * scale[c] + B[c]; inference: mean, var = input_mean, input_var; "
        "training: those of X[:,c,:], running = input * momentum + X's * (1 - momentum)",
    .source = "ONNX BatchNormalization-15",
    PORTS_IN(batchnorm_inputs, 5),
    PORTS_OUT(batchnorm_outputs, 1),
    ATTRIBUTES(batchnorm_fields, batchnorm_attributes),
    .infer = batchnorm_infer,
    .verify = batchnorm_verify,
    .cost = batchnorm_cost,
    .eval = npuc_eval_batchnorm,
};

const op_def npuc_op_softmax = {
    .id = OP_SOFTMAX,
    .domain = "",
    .type = "Softmax",
    .since_version = 13,
    .oldest_version = 13,
    .summary = "Exponentials that sum to 1 along an axis.",
    .formula = "y = exp(x - max x) / sum exp(x - max x), along axis",
    .source = "ONNX Softmax-13",
    PORTS_IN(softmax_inputs, 1),
    PORTS_OUT(softmax_outputs, 1),
    ATTRIBUTES(softmax_fields, axis_attributes),
    .infer = softmax_infer,
    .cost = softmax_cost,
    .eval = npuc_eval_softmax,
};

const op_def npuc_op_logsoftmax = {
    .id = OP_LOGSOFTMAX,
    .domain = "",
    .type = "LogSoftmax",
    .since_version = 13,
    .oldest_version = 13,
    .summary = "Logarithm of Softmax along an axis.",
    .formula = "y = x - max x - log(sum exp(x - max x)), along axis",
    .source = "ONNX LogSoftmax-13",
    PORTS_IN(softmax_inputs, 1),
    PORTS_OUT(softmax_outputs, 1),
    ATTRIBUTES(softmax_fields, axis_attributes),
    .infer = softmax_infer,
    .cost = softmax_cost,
    .eval = npuc_eval_logsoftmax,
};
