/* SPDX-License-Identifier: Apache-2.0 */
/* Pools: a maximum or a mean over a sliding window, or over all spatial axes. */
#include <stddef.h>

#include "ir/ops/window.h"

static const op_port pool_inputs[] = {{.name = "X", .doc = "[N, C, D1, ..., Dk]"}};
static const op_port average_outputs[] = {{.name = "Y", .doc = "[N, C, O1, ..., Ok]"}};
static const op_port max_outputs[] = {
    {.name = "Y", .doc = "[N, C, O1, ..., Ok]"},
    {.name = "Indices", .optional = true, .doc = "int64, as Y: index of each maximum in the flattened X"},
};

#define WINDOW_FIELDS                                                                                      \
  FIELD_STRING(pool_attributes, auto_pad, "NOTSET", "NOTSET, SAME_UPPER, SAME_LOWER or VALID"),            \
      {.name = "kernel_shape",                                                                             \
       .kind = ATTR_INTS,                                                                                  \
       .offset = offsetof(pool_attributes, kernel_shape),                                                  \
       .required = true,                                                                                   \
       .doc = "size of the window per spatial axis"},                                                      \
      FIELD_INTS(pool_attributes, strides, "step of the window per spatial axis; 1 when absent"),          \
      FIELD_INTS(pool_attributes, pads, "cells before each spatial axis, then after each; 0 when absent"), \
      FIELD_INTS(pool_attributes, dilations, "distance of the window's taps; 1 when absent"),              \
      FIELD_INT(pool_attributes, ceil_mode, 0, "1: a last window that is only partly inside the padded input counts")

static const attr_field max_fields[] = {
    WINDOW_FIELDS,
    FIELD_INT(pool_attributes, storage_order, 0, "order of Indices: 0 row-major, 1 column-major"),
};
static const attr_field average_fields[] = {
    WINDOW_FIELDS,
    FIELD_INT(pool_attributes, count_include_pad, 0, "1: padded cells count in the divisor; cells beyond the padding never do"),
};

static const attr_field lp_fields[] = {WINDOW_FIELDS, FIELD_INT(pool_attributes, p, 2, "of the norm; at least 1")};
static const attr_field global_lp_fields[] = {FIELD_INT(p_attributes, p, 2, "of the norm; at least 1")};

static npuc_status check_rank(diag *d, const node *n, int32_t rank) {
  if (rank < 0 || rank >= 3) return NPUC_OK;
  return npuc_op_fail(d, n, NPUC_DIAG_E0441, "X", "rank %d given; at least 3 wanted: [N, C, D1, ...]", rank);
}

/* A pad as wide as the window makes windows of nothing but padding: a maximum of nothing, a mean by zero. ONNX Runtime refuses it too. */
static npuc_status check_pads(diag *d, const node *n, const pool_attributes *a) {
  int32_t spatial = a->kernel_shape.count;
  if (a->pads.count != 2 * spatial) return NPUC_OK;
  for (int32_t i = 0; i < 2 * spatial; i++) {
    int32_t axis = i % spatial;
    int64_t dilation = axis < a->dilations.count ? a->dilations.values[axis] : 1;
    int64_t span = dilation * (a->kernel_shape.values[axis] - 1) + 1;
    if (a->pads.values[i] >= span) {
      return npuc_op_fail(d, n, NPUC_DIAG_E0440, "pads", "value %d is %lld; less than the window's %lld wanted", i,
                          (long long)a->pads.values[i], (long long)span);
    }
  }
  return NPUC_OK;
}

static npuc_status pool_verify(diag *d, const node *n) {
  pool_attributes *a = NPUC_ATTRS(pool_attributes, n);
  const shape *x = &n->inputs[0]->shape;
  NPUC_TRY(check_rank(d, n, x->rank));
  if (a->kernel_shape.count == 0) return npuc_op_fail(d, n, NPUC_DIAG_E0440, "kernel_shape", "missing; one value per spatial axis wanted");
  window_fields fields = window_of_pool(a);
  NPUC_TRY(npuc_window_verify(d, n, &fields, x->rank >= 0 ? x->rank - 2 : -1));
  NPUC_TRY(npuc_verify_flag(d, n, "ceil_mode", a->ceil_mode));
  NPUC_TRY(npuc_verify_flag(d, n, "count_include_pad", a->count_include_pad));
  NPUC_TRY(npuc_verify_flag(d, n, "storage_order", a->storage_order));
  if (node_is(n, OP_LPPOOL) && a->p < 1) return npuc_op_fail(d, n, NPUC_DIAG_E0440, "p", "%lld given; at least 1 wanted", (long long)a->p);
  return check_pads(d, n, a);
}

static npuc_status pool_infer(infer_context *c) {
  pool_attributes *a = NPUC_ATTRS(pool_attributes, c->node);
  const fact *x = npuc_fact_input(c, 0);
  if (!x) return NPUC_OK;
  c->outputs[0].type = x->type;
  if (c->node->n_outputs > 1) c->outputs[1].type = DTYPE_I64;
  if (x->shape.rank < 0) return NPUC_OK;
  NPUC_TRY(check_rank(c->d, c->node, x->shape.rank));
  window_fields fields = window_of_pool(a);
  shape result = x->shape;
  NPUC_TRY(npuc_window_verify(c->d, c->node, &fields, x->shape.rank - 2));
  if (a->kernel_shape.count == 0)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "kernel_shape", "missing; one value per spatial axis wanted");
  NPUC_TRY(npuc_window_infer(c, &fields, &x->shape, a->kernel_shape.values, &result));
  c->outputs[0].shape = result;
  if (c->node->n_outputs > 1) c->outputs[1].shape = result;
  return NPUC_OK;
}

static npuc_status pool_complete(diag *d, node *n) {
  (void)d;
  pool_attributes *a = NPUC_ATTRS(pool_attributes, n);
  window_fields fields = window_of_pool(a);
  if (a->kernel_shape.count != n->inputs[0]->shape.rank - 2) return NPUC_OK;
  return npuc_window_complete(n, &fields, &n->inputs[0]->shape, a->kernel_shape.values, &a->auto_pad);
}

static void pool_cost(const node *n, op_cost *out_cost) {
  const pool_attributes *a = NPUC_ATTRS(pool_attributes, n);
  double taps = 1;
  for (int32_t i = 0; i < a->kernel_shape.count; i++) taps *= (double)a->kernel_shape.values[i];
  out_cost->operations = npuc_value_elements(n->outputs[0]) * taps;
}

static npuc_status global_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0);
  if (!x) return NPUC_OK;
  c->outputs[0].type = x->type;
  if (x->shape.rank < 0) return NPUC_OK;
  NPUC_TRY(check_rank(c->d, c->node, x->shape.rank));
  c->outputs[0].shape = x->shape;
  for (int32_t i = 2; i < x->shape.rank; i++) c->outputs[0].shape.dims[i] = 1;
  return NPUC_OK;
}

static npuc_status global_verify(diag *d, const node *n) {
  int64_t p = node_is(n, OP_GLOBALLPPOOL) ? NPUC_ATTRS(p_attributes, n)->p : 1;
  if (p < 1) return npuc_op_fail(d, n, NPUC_DIAG_E0440, "p", "%lld given; at least 1 wanted", (long long)p);
  return check_rank(d, n, n->inputs[0]->shape.rank);
}

static void global_cost(const node *n, op_cost *out_cost) { out_cost->operations = npuc_value_elements(n->inputs[0]); }

const op_def npuc_op_maxpool = {
    .id = OP_MAXPOOL,
    .domain = "",
    .type = "MaxPool",
    .since_version = 22,
    .oldest_version = 12,
    .traits = TRAIT_MONOTONE,
    .summary = "Largest value of each window; padding is never the largest.",
    .formula = "Y[n,c,o] = max over k of X[n, c, o*stride + k*dilation - begin], taps outside X left out",
    .source = "ONNX MaxPool-22",
    PORTS_IN(pool_inputs, 1),
    PORTS_OUT(max_outputs, 1),
    ATTRIBUTES(max_fields, pool_attributes),
    .infer = pool_infer,
    .verify = pool_verify,
    .complete = pool_complete,
    .cost = pool_cost,
    .eval = npuc_eval_maxpool,
};

const op_def npuc_op_averagepool = {
    .id = OP_AVERAGEPOOL,
    .domain = "",
    .type = "AveragePool",
    .since_version = 22,
    .oldest_version = 19,
    .summary = "Mean of each window.",
    .formula =
        "Y[n,c,o] = (sum over k of X[n, c, o*stride + k*dilation - begin]) / count; count: taps inside X, or inside the padded X with "
        "count_include_pad",
    .source = "ONNX AveragePool-22",
    PORTS_IN(pool_inputs, 1),
    PORTS_OUT(average_outputs, 1),
    ATTRIBUTES(average_fields, pool_attributes),
    .infer = pool_infer,
    .verify = pool_verify,
    .complete = pool_complete,
    .cost = pool_cost,
    .eval = npuc_eval_averagepool,
};

const op_def npuc_op_globalaveragepool = {
    .id = OP_GLOBALAVERAGEPOOL,
    .domain = "",
    .type = "GlobalAveragePool",
    .since_version = 22,
    .oldest_version = 1,
    .summary = "Mean over all spatial axes, which stay with size 1.",
    .formula = "Y[n,c,1,...,1] = mean over d of X[n,c,d]",
    .source = "ONNX GlobalAveragePool-22",
    PORTS_IN(pool_inputs, 1),
    PORTS_OUT(average_outputs, 1),
    .infer = global_infer,
    .verify = global_verify,
    .cost = global_cost,
    .eval = npuc_eval_globalaveragepool,
};

const op_def npuc_op_globalmaxpool = {
    .id = OP_GLOBALMAXPOOL,
    .domain = "",
    .type = "GlobalMaxPool",
    .since_version = 22,
    .oldest_version = 1,
    .traits = TRAIT_MONOTONE,
    .summary = "Largest value over all spatial axes, which stay with size 1.",
    .formula = "Y[n,c,1,...,1] = max over d of X[n,c,d]",
    .source = "ONNX GlobalMaxPool-22",
    PORTS_IN(pool_inputs, 1),
    PORTS_OUT(average_outputs, 1),
    .infer = global_infer,
    .verify = global_verify,
    .cost = global_cost,
    .eval = npuc_eval_globalmaxpool,
};

const op_def npuc_op_lppool = {
    ONNX_OP(lppool, OP_LPPOOL, "LpPool", 22, 18),
    .summary = "Lp norm of each window.",
    .formula = "Y[n,c,o] = (sum over k of |X[n, c, o*stride + k*dilation - begin]|^p)^(1/p), taps outside X left out",
    PORTS_IN(pool_inputs, 1),
    PORTS_OUT(average_outputs, 1),
    ATTRIBUTES(lp_fields, pool_attributes),
    .infer = pool_infer,
    .verify = pool_verify,
    .complete = pool_complete,
    .cost = pool_cost,
};

const op_def npuc_op_globallppool = {
    ONNX_OP(globallppool, OP_GLOBALLPPOOL, "GlobalLpPool", 22, 2),
    .summary = "Lp norm over all spatial axes, which stay with size 1.",
    .formula = "Y[n,c,1,...,1] = (sum over d of |X[n,c,d]|^p)^(1/p)",
    PORTS_IN(pool_inputs, 1),
    PORTS_OUT(average_outputs, 1),
    ATTRIBUTES(global_lp_fields, p_attributes),
    .infer = global_infer,
    .verify = global_verify,
    .cost = global_cost,
};
