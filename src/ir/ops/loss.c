/* SPDX-License-Identifier: Apache-2.0 */
/* NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. */
#include <stddef.h>
#include <string.h>

#include "ir/ops/support.h"

static const op_port nll_inputs[] = {{.name = "input", .doc = "[N, C, D1, ..., Dk], logarithms of probabilities"},
                                     {.name = "target", .doc = "[N, D1, ..., Dk], classes, int32 or int64"},
                                     {.name = "weight", .optional = true, .doc = "[C]; 1 when absent"}};
static const op_port nll_outputs[] = {{.name = "loss", .doc = "as target with reduction none, else a scalar"}};
static const op_port sce_inputs[] = {{.name = "scores", .doc = "[N, C, D1, ..., Dk]"},
                                     {.name = "labels", .doc = "[N, D1, ..., Dk], classes, int32 or int64"},
                                     {.name = "weights", .optional = true, .doc = "[C]; 1 when absent"}};
static const op_port sce_outputs[] = {{.name = "output", .doc = "as labels with reduction none, else a scalar"},
                                      {.name = "log_prob", .optional = true, .doc = "as scores: their LogSoftmax over the classes"}};
static const attr_field loss_fields[] = {
    FIELD_INT(loss_attributes, ignore_index, LOSS_IGNORES_NONE, "class that takes no part; absent: every class takes part"),
    FIELD_STRING(loss_attributes, reduction, "mean", "none, sum, or mean: divided by the sum of the weights that took part"),
};

static npuc_status loss_infer(infer_context *c) {
  const char *reduction = NPUC_ATTRS(loss_attributes, c->node)->reduction;
  const fact *x = npuc_fact_input(c, 0), *labels = npuc_fact_input(c, 1), *weights = npuc_fact_input(c, 2);
  if (!x || !labels) return NPUC_OK;
  c->outputs[0].type = x->type;
  c->outputs[0].shape = reduction && strcmp(reduction, "none") == 0 ? labels->shape : SHAPE_SCALAR;
  if (c->node->n_outputs > 1) {
    c->outputs[1].type = x->type;
    c->outputs[1].shape = x->shape;
  }
  if (x->shape.rank < 0) return NPUC_OK;
  bool fits = x->shape.rank >= 2 && (labels->shape.rank < 0 || labels->shape.rank == x->shape.rank - 1);
  for (int32_t i = 0; fits && i < labels->shape.rank; i++) {
    dim merged;
    fits = npuc_dim_merge(labels->shape.dims[i], x->shape.dims[i ? i + 1 : 0], &merged);
  }
  char a[SHAPE_TEXT], b[SHAPE_TEXT];
  if (!fits)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, c->node->op->inputs[1].name, "%s does not fit to %s",
                        npuc_shape_text(c->module, &labels->shape, a), npuc_shape_text(c->module, &x->shape, b));
  dim merged;
  if (weights && weights->shape.rank >= 0 &&
      (weights->shape.rank != 1 || !npuc_dim_merge(weights->shape.dims[0], x->shape.dims[1], &merged)))
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, c->node->op->inputs[2].name, "%s given; one value per class wanted",
                        npuc_shape_text(c->module, &weights->shape, a));
  return NPUC_OK;
}

static npuc_status loss_verify(diag *d, const node *n) {
  const char *reduction = NPUC_ATTRS(loss_attributes, n)->reduction;
  if (reduction && (strcmp(reduction, "none") == 0 || strcmp(reduction, "sum") == 0 || strcmp(reduction, "mean") == 0)) return NPUC_OK;
  return npuc_op_fail(d, n, NPUC_DIAG_E0440, "reduction", "\"%s\" is not one of none, sum, mean", reduction ? reduction : "");
}

const op_def npuc_op_negativeloglikelihoodloss = {
    ONNX_OP(negativeloglikelihoodloss, OP_NEGATIVELOGLIKELIHOODLOSS, "NegativeLogLikelihoodLoss", 22, 12),
    .summary = "Minus the logarithm of the right class' probability.",
    .formula = "loss[n, d] = -input[n, target[n, d], d] * weight[target[n, d]]",
    PORTS_IN(nll_inputs, 2),
    PORTS_OUT(nll_outputs, 1),
    ATTRIBUTES(loss_fields, loss_attributes),
    .infer = loss_infer,
    .verify = loss_verify,
};

const op_def npuc_op_softmaxcrossentropyloss = {
    ONNX_OP(softmaxcrossentropyloss, OP_SOFTMAXCROSSENTROPYLOSS, "SoftmaxCrossEntropyLoss", 13, 12),
    .summary = "Minus the logarithm of the right class' Softmax.",
    .formula = "log_prob = LogSoftmax(scores) over the classes; output[n, d] = -log_prob[n, labels[n, d], d] * weights[labels[n, d]]",
    PORTS_IN(sce_inputs, 2),
    PORTS_OUT(sce_outputs, 1),
    ATTRIBUTES(loss_fields, loss_attributes),
    .infer = loss_infer,
    .verify = loss_verify,
};
