/* SPDX-License-Identifier: Apache-2.0 */
/* Conv: cross-correlation in groups, any number of spatial axes; ConvInteger and QLinearConv, the same of integers. */
#include <stddef.h>

#include "ir/ops/window.h"

static const op_port conv_inputs[] = {
    {.name = "X", .doc = "[N, C, D1, ..., Dk]"},
    {.name = "W", .doc = "[M, C/group, K1, ..., Kk]"},
    {.name = "B", .optional = true, .doc = "[M]"},
};
static const op_port conv_outputs[] = {{.name = "Y", .doc = "[N, M, O1, ..., Ok]"}};

static const attr_field conv_fields[] = {
    FIELD_STRING(conv_attributes, auto_pad, "NOTSET",
                 "NOTSET, SAME_UPPER, SAME_LOWER or VALID; becomes explicit pads when the input's dims are numbers"),
    FIELD_INTS(conv_attributes, kernel_shape, "size of the kernel per spatial axis; from W when absent"),
    FIELD_INTS(conv_attributes, strides, "step of the window per spatial axis; 1 when absent"),
    FIELD_INTS(conv_attributes, pads, "zeros before each spatial axis, then after each; 0 when absent"),
    FIELD_INTS(conv_attributes, dilations, "distance of the kernel's taps per spatial axis; 1 when absent"),
    FIELD_INT(conv_attributes, group, 1, "channels are divided into so many independent groups"),
};

/* Which inputs are W and B; B of ConvInteger does not exist. */
static int32_t weight_port(const node *n) { return node_is(n, OP_QLINEARCONV) ? 3 : 1; }
static int32_t bias_port(const node *n) { return node_is(n, OP_QLINEARCONV) ? 8 : node_is(n, OP_CONV) ? 2 : INT32_MAX; }

/* Kernel size per axis: the attribute's, else W's, -1 where neither says. */
static void kernel_sizes(const conv_attributes *a, const shape *w, int64_t out_kernel[MAX_RANK]) {
  for (int32_t i = 0; i < MAX_RANK; i++) {
    out_kernel[i] = -1;
    if (i < a->kernel_shape.count) {
      out_kernel[i] = a->kernel_shape.values[i];
    } else if (i + 2 < w->rank && dim_is_number(w->dims[i + 2])) {
      out_kernel[i] = w->dims[i + 2];
    }
  }
}

static npuc_status check_kernel(diag *d, const node *n, const conv_attributes *a, const shape *w) {
  for (int32_t i = 0; i < a->kernel_shape.count && i + 2 < w->rank; i++) {
    dim given = w->dims[i + 2];
    if (dim_is_number(given) && given != a->kernel_shape.values[i]) {
      return npuc_op_fail(d, n, NPUC_DIAG_E0440, "kernel_shape", "value %d is %lld, and W has %lld there", i,
                          (long long)a->kernel_shape.values[i], (long long)given);
    }
  }
  return NPUC_OK;
}

/* Ranks, channels and groups; dims that are not numbers are not judged. */
static npuc_status check_shapes(diag *d, const node *n, const conv_attributes *a, const shape *x, const shape *w, const shape *b) {
  if (a->group < 1) return npuc_op_fail(d, n, NPUC_DIAG_E0440, "group", "%lld given; at least 1 wanted", (long long)a->group);
  if (w->rank < 0) return NPUC_OK;
  if (w->rank < 3) return npuc_op_fail(d, n, NPUC_DIAG_E0441, "W", "rank %d given; at least 3 wanted: [M, C/group, K1, ...]", w->rank);
  dim outputs = w->dims[0], per_group = w->dims[1];
  if (dim_is_number(outputs) && outputs % a->group) {
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "group", "%lld output channels are not divisible by group %lld", (long long)outputs,
                        (long long)a->group);
  }
  if (b && b->rank >= 0 && (b->rank != 1 || (dim_is_number(b->dims[0]) && dim_is_number(outputs) && b->dims[0] != outputs))) {
    char text[SHAPE_TEXT];
    return npuc_op_fail(d, n, NPUC_DIAG_E0441, "B", "%s given; one value per output channel wanted: [%lld]", npuc_shape_text(NULL, b, text),
                        (long long)outputs);
  }
  NPUC_TRY(check_kernel(d, n, a, w));
  if (x->rank < 0) return NPUC_OK;
  if (x->rank != w->rank)
    return npuc_op_fail(d, n, NPUC_DIAG_E0441, "W", "X has rank %d and W rank %d; equal ranks wanted", x->rank, w->rank);
  if (dim_is_number(x->dims[1]) && dim_is_number(per_group) && x->dims[1] != per_group * a->group) {
    return npuc_op_fail(d, n, NPUC_DIAG_E0441, "W", "weight expects %lld input channels (%lld x group %lld), input has %lld",
                        (long long)(per_group * a->group), (long long)per_group, (long long)a->group, (long long)x->dims[1]);
  }
  return NPUC_OK;
}

/* The scales and zero points: one number, or of W one for each output channel. */
static npuc_status check_parameters(infer_context *c) {
  static const int32_t of_convinteger[] = {2, 3}, of_qlinearconv[] = {1, 2, 4, 5, 6, 7};
  bool quantized = node_is(c->node, OP_QLINEARCONV);
  const fact *w = npuc_fact_input(c, weight_port(c->node));
  dim outputs = w && w->shape.rank > 0 ? w->shape.dims[0] : DIM_UNKNOWN;
  for (int32_t i = 0; i < (quantized ? COUNT_OF(of_qlinearconv) : COUNT_OF(of_convinteger)); i++) {
    int32_t port = quantized ? of_qlinearconv[i] : of_convinteger[i];
    const fact *f = npuc_fact_input(c, port);
    bool of_w = quantized ? port == 4 || port == 5 : port == 3;
    if (!f || f->shape.rank <= 0) continue;
    dim n = f->shape.dims[0];
    if (f->shape.rank == 1 && (!dim_is_number(n) || n == 1 || (of_w && (n == outputs || !dim_is_number(outputs))))) continue;
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, c->node->op->inputs[port].name, "one number%s wanted",
                        of_w ? ", or one for each output channel," : "");
  }
  return NPUC_OK;
}

static npuc_status conv_types(infer_context *c) {
  if (node_is(c->node, OP_CONV)) {
    c->outputs[0].type = npuc_fact_type(c, 0);
    return npuc_infer_same_type(c, 0, 2);
  }
  const int32_t ports[] = {0, weight_port(c->node), node_is(c->node, OP_QLINEARCONV) ? 7 : 0};
  for (int32_t i = 0; i < 3; i++) {
    dtype t = npuc_fact_type(c, ports[i]);
    if (t == DTYPE_NONE || t == DTYPE_U8 || t == DTYPE_I8) continue;
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0442, c->node->op->inputs[ports[i]].name, "%s given; int8 or uint8 wanted",
                        npuc_dtype_name(t));
  }
  c->outputs[0].type = node_is(c->node, OP_QLINEARCONV) ? npuc_fact_type(c, 7) : DTYPE_I32;
  return check_parameters(c);
}

static npuc_status conv_infer(infer_context *c) {
  conv_attributes *a = NPUC_ATTRS(conv_attributes, c->node);
  const fact *x = npuc_fact_input(c, 0), *w = npuc_fact_input(c, weight_port(c->node)), *b = npuc_fact_input(c, bias_port(c->node));
  if (!x || !w) return NPUC_OK;
  NPUC_TRY(conv_types(c));
  fact *y = &c->outputs[0];
  NPUC_TRY(check_shapes(c->d, c->node, a, &x->shape, &w->shape, b ? &b->shape : NULL));
  if (x->shape.rank < 0) return NPUC_OK;
  int64_t kernel[MAX_RANK];
  kernel_sizes(a, &w->shape, kernel);
  window_fields fields = window_of_conv(a);
  shape result = {.rank = x->shape.rank};
  result.dims[0] = x->shape.dims[0];
  result.dims[1] = w->shape.rank < 0 ? npuc_infer_free_dim(c, 0, 1) : w->shape.dims[0];
  NPUC_TRY(npuc_window_infer(c, &fields, &x->shape, kernel, &result));
  y->shape = result;
  return NPUC_OK;
}

static npuc_status conv_verify(diag *d, const node *n) {
  conv_attributes *a = NPUC_ATTRS(conv_attributes, n);
  int32_t at = bias_port(n);
  const shape *x = &n->inputs[0]->shape, *w = &n->inputs[weight_port(n)]->shape;
  const shape *b = n->n_inputs > at && n->inputs[at] ? &n->inputs[at]->shape : NULL;
  window_fields fields = window_of_conv(a);
  int32_t rank = x->rank >= 0 ? x->rank : w->rank;
  NPUC_TRY(npuc_window_verify(d, n, &fields, rank >= 0 ? rank - 2 : -1));
  return check_shapes(d, n, a, x, w, b);
}

static npuc_status conv_complete(diag *d, node *n) {
  (void)d;
  conv_attributes *a = NPUC_ATTRS(conv_attributes, n);
  int64_t kernel[MAX_RANK];
  kernel_sizes(a, &n->inputs[weight_port(n)]->shape, kernel);
  window_fields fields = window_of_conv(a);
  return npuc_window_complete(n, &fields, &n->inputs[0]->shape, kernel, &a->auto_pad);
}

/* Each output element is a dot product over one group's channels and the kernel. */
static void conv_cost(const node *n, op_cost *out_cost) {
  double outputs = npuc_value_elements(n->outputs[0]);
  int32_t at = bias_port(n);
  const value *weights = n->inputs[weight_port(n)];
  const shape *w = &weights->shape;
  double taps = w->rank > 0 && dim_is_number(w->dims[0]) && w->dims[0] > 0 ? npuc_value_elements(weights) / (double)w->dims[0] : 0;
  out_cost->macs = outputs * taps;
  out_cost->operations = n->n_inputs > at && n->inputs[at] ? outputs : 0;
}

const op_def npuc_op_conv = {
    .id = OP_CONV,
    .domain = "",
    .type = "Conv",
    .since_version = 22,
    .oldest_version = 11,
    .summary = "Convolution (cross-correlation) over any number of spatial axes, in groups.",
    .formula = "Y[n,m,o] = B[m] + sum over c, k of X[n, g*C/group + c, o*stride + k*dilation - begin] * W[m,c,k], g = floor(m*group/M)",
    .source = "ONNX Conv-22",
    PORTS_IN(conv_inputs, 2),
    PORTS_OUT(conv_outputs, 1),
    ATTRIBUTES(conv_fields, conv_attributes),
    .infer = conv_infer,
    .verify = conv_verify,
    .complete = conv_complete,
    .cost = conv_cost,
    .eval = npuc_eval_conv,
};

static const op_port convinteger_inputs[] = {
    {.name = "x", .doc = "[N, C, D1, ..., Dk], 8 bits"},
    {.name = "w", .doc = "[M, C/group, K1, ..., Kk], 8 bits"},
    {.name = "x_zero_point", .optional = true, .doc = "one; 0 when absent"},
    {.name = "w_zero_point", .optional = true, .doc = "one, or [M]; 0 when absent"},
};
static const op_port qlinearconv_inputs[] = {
    {.name = "x", .doc = "[N, C, D1, ..., Dk], 8 bits"},
    {.name = "x_scale", .doc = "one"},
    {.name = "x_zero_point", .doc = "one"},
    {.name = "w", .doc = "[M, C/group, K1, ..., Kk], 8 bits"},
    {.name = "w_scale", .doc = "one, or [M]"},
    {.name = "w_zero_point", .doc = "as w_scale"},
    {.name = "y_scale", .doc = "one"},
    {.name = "y_zero_point", .doc = "one; gives y's type"},
    {.name = "B", .optional = true, .doc = "[M], int32, of scale x_scale * w_scale"},
};

const op_def npuc_op_convinteger = {
    ONNX_OP(convinteger, OP_CONVINTEGER, "ConvInteger", 10, 10),
    .summary = "Convolution of 8-bit integers in 32 bits.",
    .formula = "y = Conv(x - x_zero_point, w - w_zero_point), padding is 0 after the difference",
    PORTS_IN(convinteger_inputs, 2),
    PORTS_OUT(conv_outputs, 1),
    ATTRIBUTES(conv_fields, conv_attributes),
    .infer = conv_infer,
    .verify = conv_verify,
    .complete = conv_complete,
    .cost = conv_cost,
};

const op_def npuc_op_qlinearconv = {
    ONNX_OP(qlinearconv, OP_QLINEARCONV, "QLinearConv", 10, 10),
    .summary = "Convolution of quantized tensors, quantized again.",
    .formula = "y = saturate(round_half_even((Conv(x - x_zero_point, w - w_zero_point) + B) * x_scale * w_scale / y_scale) + y_zero_point)",
    PORTS_IN(qlinearconv_inputs, 8),
    PORTS_OUT(conv_outputs, 1),
    ATTRIBUTES(conv_fields, conv_attributes),
    .infer = conv_infer,
    .verify = conv_verify,
    .complete = conv_complete,
    .cost = conv_cost,
};
