/* SPDX-License-Identifier: Apache-2.0 */
/* The integer module's operators: types, shapes, limits. Formulas: docs/numerics.md; bodies: integer_bodies.c; kernels:
 * kernels/ref/integer.c. Every parameter is a constant of the node, so that all of a node's arithmetic can be read off the file. */
#include <stddef.h>

#include "ir/ops/integer_bodies.h"
#include "ir/ops/window.h"

#define ZERO_POINT(type, field) FIELD_INT(type, field, 0, "the integer that stands for 0.0")
#define OUTPUT_FIELDS(type)                                                                                                          \
  ZERO_POINT(type, y_zero_point), FIELD_INT(type, lo, 0, "smallest y: dtype, ReLU and Clip"), FIELD_INT(type, hi, 255, "largest y"), \
      FIELD_INT(type, y_dtype, 2, "ONNX number of y's dtype: 2 (uint8) or 3 (int8)")
#define WINDOW_FIELDS(type)                                                                                                  \
  FIELD_INTS(type, kernel_shape, "size of the window per spatial axis"), FIELD_INTS(type, strides, "step per spatial axis"), \
      FIELD_INTS(type, pads, "cells before each spatial axis, then after each"), FIELD_INTS(type, dilations, "distance of taps")

#define X_PORT \
  { .name = "x", .doc = "uint8 or int8" }
#define M_PORT(n) \
  { .name = "M", .doc = "int32 [" n "]: multiplier" }
#define S_PORT(n) \
  { .name = "s", .doc = "int32 [" n "]: shift, 0..62" }

static const op_port y_port[] = {{.name = "y", .doc = "uint8 or int8, as y_dtype says"}};

/* -- checks -- */
static npuc_status check_byte(diag *d, const node *n, const char *port, dtype type) {
  if (type == DTYPE_NONE || type == DTYPE_U8 || type == DTYPE_I8) return NPUC_OK;
  return npuc_op_fail(d, n, NPUC_DIAG_E0442, port, "%s given; uint8 or int8 wanted", npuc_dtype_name(type));
}

static npuc_status check_type(diag *d, const node *n, int32_t input, dtype wanted) {
  dtype given = n->inputs[input]->type;
  if (given == wanted) return NPUC_OK;
  return npuc_op_fail(d, n, NPUC_DIAG_E0442, n->op->inputs[input].name, "%s given; %s wanted", npuc_dtype_name(given),
                      npuc_dtype_name(wanted));
}

/* A constant-like parameter of `count` elements in one axis; count < 0: any. */
static npuc_status check_vector(diag *d, const node *n, int32_t input, dtype type, int64_t count) {
  NPUC_TRY(check_type(d, n, input, type));
  const shape *s = &n->inputs[input]->shape;
  if (s->rank == 1 && (count < 0 || !dim_is_number(s->dims[0]) || s->dims[0] == count)) return NPUC_OK;
  char text[SHAPE_TEXT];
  return npuc_op_fail(d, n, NPUC_DIAG_E0441, n->op->inputs[input].name, "%s given; one axis of %lld wanted", npuc_shape_text(NULL, s, text),
                      (long long)count);
}

static npuc_status check_shifts(diag *d, const node *n, int32_t input, int64_t count) {
  NPUC_TRY(check_vector(d, n, input, DTYPE_I32, count));
  const tensor *t = n->inputs[input]->constant;
  for (int64_t i = 0; t && i < npuc_tensor_elements(t); i++) {
    int64_t s = npuc_tensor_get_int(t, i);
    if (s < 0 || s > 62)
      return npuc_op_fail(d, n, NPUC_DIAG_E0440, n->op->inputs[input].name, "shift %lld given; 0 to 62 allowed", (long long)s);
  }
  return NPUC_OK;
}

static npuc_status check_in_dtype(diag *d, const node *n, const char *name, int64_t given, dtype type) {
  int64_t lo, hi;
  if (!npuc_dtype_range(type, &lo, &hi) || (given >= lo && given <= hi)) return NPUC_OK;
  return npuc_op_fail(d, n, NPUC_DIAG_E0440, name, "%lld given; %s holds %lld to %lld", (long long)given, npuc_dtype_name(type),
                      (long long)lo, (long long)hi);
}

typedef struct output_fields {
  int64_t zero_point, lo, hi, type;
} output_fields;
#define OUTPUT_OF(a) ((output_fields){(a)->y_zero_point, (a)->lo, (a)->hi, (a)->y_dtype})

static npuc_status check_output(diag *d, const node *n, output_fields y) {
  if (y.type != DTYPE_U8 && y.type != DTYPE_I8) {
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "y_dtype", "%lld given; 2 (uint8) or 3 (int8) wanted", (long long)y.type);
  }
  NPUC_TRY(check_in_dtype(d, n, "y_zero_point", y.zero_point, (dtype)y.type));
  NPUC_TRY(check_in_dtype(d, n, "lo", y.lo, (dtype)y.type));
  NPUC_TRY(check_in_dtype(d, n, "hi", y.hi, (dtype)y.type));
  if (y.lo <= y.hi) return NPUC_OK;
  return npuc_op_fail(d, n, NPUC_DIAG_E0440, "lo", "lo %lld is above hi %lld", (long long)y.lo, (long long)y.hi);
}

static npuc_status check_input(diag *d, const node *n, int32_t input, int64_t zero_point, const char *attribute) {
  NPUC_TRY(check_byte(d, n, n->op->inputs[input].name, n->inputs[input]->type));
  return check_in_dtype(d, n, attribute, zero_point, n->inputs[input]->type);
}

static dtype type_of(int64_t y_dtype) { return y_dtype == DTYPE_I8 ? DTYPE_I8 : DTYPE_U8; }

static npuc_status infer_like_x(infer_context *c, int64_t y_dtype) {
  const fact *x = npuc_fact_input(c, 0);
  c->outputs[0].type = type_of(y_dtype);
  if (!x) return NPUC_OK;
  NPUC_TRY(check_byte(c->d, c->node, "x", x->type));
  c->outputs[0].shape = x->shape;
  return NPUC_OK;
}

static int64_t first_dim(const value *v) { return v->shape.rank > 0 && dim_is_number(v->shape.dims[0]) ? v->shape.dims[0] : -1; }

/* -- QConv -- */
static const op_port qconv_inputs[] = {
    {.name = "x", .doc = "uint8 or int8 [N, C, D1, ..., Dk], k = 1, 2 or 3"},
    {.name = "w", .doc = "int8 [Co, C/group, K1, ..., Kk]"},
    {.name = "bias", .doc = "int32 [Co], in units of x's scale times w's scale"},
    M_PORT("Co"),
    S_PORT("Co"),
};
static const attr_field qconv_fields[] = {
    WINDOW_FIELDS(qconv_attributes),
    FIELD_INT(qconv_attributes, group, 1, "independent groups of channels"),
    ZERO_POINT(qconv_attributes, x_zero_point),
    OUTPUT_FIELDS(qconv_attributes),
};

static window_fields qconv_window(qconv_attributes *a) {
  return (window_fields){NULL, &a->kernel_shape, &a->strides, &a->pads, &a->dilations, 0};
}

static npuc_status qconv_shapes(diag *d, const node *n, const qconv_attributes *a, const shape *x, const shape *w) {
  if (a->group < 1) return npuc_op_fail(d, n, NPUC_DIAG_E0440, "group", "%lld given; at least 1 wanted", (long long)a->group);
  if (w->rank < 0 || x->rank < 0) return NPUC_OK;
  if (x->rank < 3 || x->rank > 5 || w->rank != x->rank) {
    return npuc_op_fail(d, n, NPUC_DIAG_E0441, "w", "x has rank %d and w rank %d; equal ranks from 3 to 5 wanted", x->rank, w->rank);
  }
  if (dim_is_number(w->dims[0]) && w->dims[0] % a->group) {
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "group", "%lld output channels are not divisible by group %lld", (long long)w->dims[0],
                        (long long)a->group);
  }
  if (dim_is_number(x->dims[1]) && dim_is_number(w->dims[1]) &&
      (w->dims[1] < 1 || x->dims[1] / w->dims[1] != a->group || x->dims[1] % w->dims[1])) {
    return npuc_op_fail(d, n, NPUC_DIAG_E0441, "w", "%lld channels a group times group %lld, and x has %lld channels",
                        (long long)w->dims[1], (long long)a->group, (long long)x->dims[1]);
  }
  for (int32_t i = 0; i < a->kernel_shape.count && i + 2 < w->rank; i++) {
    if (dim_is_number(w->dims[i + 2]) && w->dims[i + 2] != a->kernel_shape.values[i]) {
      return npuc_op_fail(d, n, NPUC_DIAG_E0440, "kernel_shape", "value %d is %lld, and w has %lld there", i,
                          (long long)a->kernel_shape.values[i], (long long)w->dims[i + 2]);
    }
  }
  return NPUC_OK;
}

static npuc_status qconv_infer(infer_context *c) {
  qconv_attributes *a = NPUC_ATTRS(qconv_attributes, c->node);
  const fact *x = npuc_fact_input(c, 0), *w = npuc_fact_input(c, 1);
  c->outputs[0].type = type_of(a->y_dtype);
  if (!x || !w || x->shape.rank < 0 || w->shape.rank < 0) return NPUC_OK;
  NPUC_TRY(check_byte(c->d, c->node, "x", x->type));
  NPUC_TRY(qconv_shapes(c->d, c->node, a, &x->shape, &w->shape));
  int64_t kernel[MAX_RANK];
  for (int32_t i = 0; i < MAX_RANK; i++)
    kernel[i] = i + 2 < w->shape.rank && dim_is_number(w->shape.dims[i + 2]) ? w->shape.dims[i + 2] : -1;
  shape y = {.rank = x->shape.rank, .dims = {x->shape.dims[0], w->shape.dims[0]}};
  window_fields fields = qconv_window(a);
  NPUC_TRY(npuc_window_infer(c, &fields, &x->shape, kernel, &y));
  c->outputs[0].shape = y;
  return NPUC_OK;
}

static npuc_status qconv_verify(diag *d, const node *n) {
  qconv_attributes *a = NPUC_ATTRS(qconv_attributes, n);
  NPUC_TRY(check_input(d, n, 0, a->x_zero_point, "x_zero_point"));
  NPUC_TRY(check_type(d, n, 1, DTYPE_I8));
  NPUC_TRY(qconv_shapes(d, n, a, &n->inputs[0]->shape, &n->inputs[1]->shape));
  int64_t outputs = first_dim(n->inputs[1]);
  NPUC_TRY(check_vector(d, n, 2, DTYPE_I32, outputs));
  NPUC_TRY(check_vector(d, n, 3, DTYPE_I32, outputs));
  NPUC_TRY(check_shifts(d, n, 4, outputs));
  window_fields fields = qconv_window(a);
  int32_t rank = n->inputs[0]->shape.rank;
  NPUC_TRY(npuc_window_verify(d, n, &fields, rank >= 0 ? rank - 2 : -1));
  return check_output(d, n, OUTPUT_OF(a));
}

static npuc_status qconv_complete(diag *d, node *n) {
  (void)d;
  qconv_attributes *a = NPUC_ATTRS(qconv_attributes, n);
  const shape *w = &n->inputs[1]->shape;
  int64_t kernel[MAX_RANK];
  for (int32_t i = 0; i < MAX_RANK; i++) kernel[i] = i + 2 < w->rank && dim_is_number(w->dims[i + 2]) ? w->dims[i + 2] : -1;
  window_fields fields = qconv_window(a);
  const char *auto_pad = "NOTSET";
  return npuc_window_complete(n, &fields, &n->inputs[0]->shape, kernel, &auto_pad);
}

/* Each output is a dot product over the channels of a group and the kernel, or over a row. */
static void dot_cost(const node *n, op_cost *out_cost) {
  double outputs = npuc_value_elements(n->outputs[0]), rows = (double)first_dim(n->inputs[1]);
  out_cost->macs = rows > 0 ? outputs * (npuc_value_elements(n->inputs[1]) / rows) : 0;
  out_cost->operations = outputs;
}

const op_def npuc_op_qconv = {
    .id = OP_QCONV,
    .domain = "npuc",
    .type = "QConv",
    .since_version = 1,
    .oldest_version = 1,
    .traits = TRAIT_INTEGER,
    .summary = "Convolution of 8-bit integers with a 32-bit bias, requantized per output channel.",
    .formula =
        "y = clamp(y_zero_point + (((bias[o] + sum (x - x_zero_point) * w[o]) * M[o] + rnd(s[o])) >> s[o]), lo, hi); outside the image x - "
        "x_zero_point is 0",
    .source = "docs/numerics.md QConv",
    PORTS_IN(qconv_inputs, 5),
    PORTS_OUT(y_port, 1),
    ATTRIBUTES(qconv_fields, qconv_attributes),
    .infer = qconv_infer,
    .verify = qconv_verify,
    .complete = qconv_complete,
    .cost = dot_cost,
    .eval = npuc_eval_qconv,
    .body = npuc_body_qconv,
};

/* -- QGemm -- */
static const op_port qgemm_inputs[] = {
    {.name = "x", .doc = "uint8 or int8 [R, K]"},
    {.name = "w", .doc = "int8 [O, K]"},
    {.name = "bias", .doc = "int32 [O]"},
    M_PORT("O"),
    S_PORT("O"),
};
static const attr_field qgemm_fields[] = {ZERO_POINT(qgemm_attributes, x_zero_point), OUTPUT_FIELDS(qgemm_attributes)};

static npuc_status qgemm_shapes(diag *d, const node *n, const shape *x, const shape *w) {
  if (x->rank < 0 || w->rank < 0) return NPUC_OK;
  bool good = x->rank == 2 && w->rank == 2 && (!dim_is_number(x->dims[1]) || !dim_is_number(w->dims[1]) || x->dims[1] == w->dims[1]);
  char a[SHAPE_TEXT], b[SHAPE_TEXT];
  return good ? NPUC_OK
              : npuc_op_fail(d, n, NPUC_DIAG_E0441, "w", "x %s and w %s given; [R, K] and [O, K] wanted", npuc_shape_text(NULL, x, a),
                             npuc_shape_text(NULL, w, b));
}

static npuc_status qgemm_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0), *w = npuc_fact_input(c, 1);
  c->outputs[0].type = type_of(NPUC_ATTRS(qgemm_attributes, c->node)->y_dtype);
  if (!x || !w || x->shape.rank < 0 || w->shape.rank < 0) return NPUC_OK;
  NPUC_TRY(qgemm_shapes(c->d, c->node, &x->shape, &w->shape));
  c->outputs[0].shape = (shape){.rank = 2, .dims = {x->shape.dims[0], w->shape.dims[0]}};
  return NPUC_OK;
}

static npuc_status qgemm_verify(diag *d, const node *n) {
  const qgemm_attributes *a = NPUC_ATTRS(qgemm_attributes, n);
  NPUC_TRY(check_input(d, n, 0, a->x_zero_point, "x_zero_point"));
  NPUC_TRY(check_type(d, n, 1, DTYPE_I8));
  NPUC_TRY(qgemm_shapes(d, n, &n->inputs[0]->shape, &n->inputs[1]->shape));
  int64_t outputs = first_dim(n->inputs[1]);
  NPUC_TRY(check_vector(d, n, 2, DTYPE_I32, outputs));
  NPUC_TRY(check_vector(d, n, 3, DTYPE_I32, outputs));
  NPUC_TRY(check_shifts(d, n, 4, outputs));
  return check_output(d, n, OUTPUT_OF(a));
}

const op_def npuc_op_qgemm = {
    .id = OP_QGEMM,
    .domain = "npuc",
    .type = "QGemm",
    .since_version = 1,
    .oldest_version = 1,
    .traits = TRAIT_INTEGER,
    .summary = "Matrix product of 8-bit integers with constant weights and a 32-bit bias, requantized per output.",
    .formula =
        "y[r,o] = clamp(y_zero_point + (((bias[o] + sum over k of (x[r,k] - x_zero_point) * w[o,k]) * M[o] + rnd(s[o])) >> s[o]), lo, hi)",
    .source = "docs/numerics.md QGemm",
    PORTS_IN(qgemm_inputs, 5),
    PORTS_OUT(y_port, 1),
    ATTRIBUTES(qgemm_fields, qgemm_attributes),
    .infer = qgemm_infer,
    .verify = qgemm_verify,
    .cost = dot_cost,
    .eval = npuc_eval_qgemm,
    .body = npuc_body_qgemm,
};

/* -- QAdd, QMul -- */
static const op_port qadd_inputs[] = {
    {.name = "a", .doc = "uint8 or int8"},
    {.name = "b", .doc = "uint8 or int8, broadcast with a"},
    {.name = "Ma", .doc = "int32 [1]: a's multiplier"},
    {.name = "Mb", .doc = "int32 [1]: b's multiplier; negative subtracts"},
    S_PORT("1"),
};
static const op_port qmul_inputs[] = {
    {.name = "a", .doc = "uint8 or int8"},
    {.name = "b", .doc = "uint8 or int8, broadcast with a"},
    M_PORT("1"),
    S_PORT("1"),
};
static const attr_field qbinary_fields[] = {ZERO_POINT(qbinary_attributes, a_zero_point), ZERO_POINT(qbinary_attributes, b_zero_point),
                                            OUTPUT_FIELDS(qbinary_attributes)};

static npuc_status qbinary_infer(infer_context *c) {
  const fact *a = npuc_fact_input(c, 0), *b = npuc_fact_input(c, 1);
  fact *y = &c->outputs[0];
  y->type = type_of(NPUC_ATTRS(qbinary_attributes, c->node)->y_dtype);
  if (!a || !b || a->shape.rank < 0 || b->shape.rank < 0) return NPUC_OK;
  NPUC_TRY(check_byte(c->d, c->node, "a", a->type));
  NPUC_TRY(check_byte(c->d, c->node, "b", b->type));
  shape result;
  if (!npuc_shape_broadcast(&a->shape, &b->shape, &result)) {
    char left[SHAPE_TEXT], right[SHAPE_TEXT];
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "b", "shapes %s and %s do not broadcast",
                        npuc_shape_text(c->module, &a->shape, left), npuc_shape_text(c->module, &b->shape, right));
  }
  for (int32_t i = 0; i < result.rank; i++) {
    if (result.dims[i] == DIM_UNKNOWN) result.dims[i] = npuc_infer_free_dim(c, 0, i);
  }
  y->shape = result;
  return NPUC_OK;
}

static npuc_status qbinary_verify(diag *d, const node *n) {
  const qbinary_attributes *a = NPUC_ATTRS(qbinary_attributes, n);
  NPUC_TRY(check_input(d, n, 0, a->a_zero_point, "a_zero_point"));
  NPUC_TRY(check_input(d, n, 1, a->b_zero_point, "b_zero_point"));
  for (int32_t i = 2; i < n->op->n_inputs - 1; i++) NPUC_TRY(check_vector(d, n, i, DTYPE_I32, 1));
  NPUC_TRY(check_shifts(d, n, n->op->n_inputs - 1, 1));
  return check_output(d, n, OUTPUT_OF(a));
}

const op_def npuc_op_qadd = {
    .id = OP_QADD,
    .domain = "npuc",
    .type = "QAdd",
    .since_version = 1,
    .oldest_version = 1,
    .traits = TRAIT_INTEGER | TRAIT_ELEMENTWISE,
    .summary = "Sum of two 8-bit tensors of different scales with one rounding; numpy broadcasting.",
    .formula = "y = clamp(y_zero_point + (((a - a_zero_point) * Ma + (b - b_zero_point) * Mb + rnd(s)) >> s), lo, hi)",
    .source = "docs/numerics.md QAdd",
    PORTS_IN(qadd_inputs, 5),
    PORTS_OUT(y_port, 1),
    ATTRIBUTES(qbinary_fields, qbinary_attributes),
    .infer = qbinary_infer,
    .verify = qbinary_verify,
    .eval = npuc_eval_qadd,
    .body = npuc_body_qadd,
};

const op_def npuc_op_qmul = {
    .id = OP_QMUL,
    .domain = "npuc",
    .type = "QMul",
    .since_version = 1,
    .oldest_version = 1,
    .traits = TRAIT_INTEGER | TRAIT_ELEMENTWISE,
    .summary = "Product of two 8-bit tensors, requantized; numpy broadcasting.",
    .formula = "y = clamp(y_zero_point + (((a - a_zero_point) * (b - b_zero_point) * M + rnd(s)) >> s), lo, hi)",
    .source = "docs/numerics.md QMul",
    PORTS_IN(qmul_inputs, 4),
    PORTS_OUT(y_port, 1),
    ATTRIBUTES(qbinary_fields, qbinary_attributes),
    .infer = qbinary_infer,
    .verify = qbinary_verify,
    .eval = npuc_eval_qmul,
    .body = npuc_body_qmul,
};

/* -- Requantize, QGlobalAveragePool -- */
static const op_port qunary_inputs[] = {X_PORT, M_PORT("1"), S_PORT("1")};
static const attr_field qunary_fields[] = {ZERO_POINT(qunary_attributes, x_zero_point), OUTPUT_FIELDS(qunary_attributes)};

static npuc_status qunary_verify(diag *d, const node *n) {
  const qunary_attributes *a = NPUC_ATTRS(qunary_attributes, n);
  NPUC_TRY(check_input(d, n, 0, a->x_zero_point, "x_zero_point"));
  NPUC_TRY(check_vector(d, n, 1, DTYPE_I32, 1));
  NPUC_TRY(check_shifts(d, n, 2, 1));
  return check_output(d, n, OUTPUT_OF(a));
}

static npuc_status requantize_infer(infer_context *c) { return infer_like_x(c, NPUC_ATTRS(qunary_attributes, c->node)->y_dtype); }

static npuc_status qglobalaveragepool_infer(infer_context *c) {
  NPUC_TRY(infer_like_x(c, NPUC_ATTRS(qunary_attributes, c->node)->y_dtype));
  shape *y = &c->outputs[0].shape;
  if (y->rank >= 0 && y->rank < 3)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "x", "rank %d given; at least 3 wanted: [N, C, D1, ...]", y->rank);
  for (int32_t i = 2; i < y->rank; i++) y->dims[i] = 1;
  return NPUC_OK;
}

/* Every element of x takes part once. */
static void input_cost(const node *n, op_cost *out_cost) { out_cost->operations = npuc_value_elements(n->inputs[0]); }

const op_def npuc_op_requantize = {
    .id = OP_REQUANTIZE,
    .domain = "npuc",
    .type = "Requantize",
    .since_version = 1,
    .oldest_version = 1,
    .traits = TRAIT_INTEGER | TRAIT_ELEMENTWISE,
    .summary = "Another scale, zero point or 8-bit dtype; a ReLU or Clip that stands alone.",
    .formula = "y = clamp(y_zero_point + (((x - x_zero_point) * M + rnd(s)) >> s), lo, hi)",
    .source = "docs/numerics.md Requantize",
    PORTS_IN(qunary_inputs, 3),
    PORTS_OUT(y_port, 1),
    ATTRIBUTES(qunary_fields, qunary_attributes),
    .infer = requantize_infer,
    .verify = qunary_verify,
    .eval = npuc_eval_requantize,
    .body = npuc_body_requantize,
};

const op_def npuc_op_qglobalaveragepool = {
    .id = OP_QGLOBALAVERAGEPOOL,
    .domain = "npuc",
    .type = "QGlobalAveragePool",
    .since_version = 1,
    .oldest_version = 1,
    .traits = TRAIT_INTEGER,
    .summary = "Mean over all spatial axes; 1/pixels is inside M.",
    .formula = "y[n,c] = clamp(y_zero_point + ((sum (x[n,c] - x_zero_point) * M + rnd(s)) >> s), lo, hi)",
    .source = "docs/numerics.md QGlobalAveragePool",
    PORTS_IN(qunary_inputs, 3),
    PORTS_OUT(y_port, 1),
    ATTRIBUTES(qunary_fields, qunary_attributes),
    .infer = qglobalaveragepool_infer,
    .verify = qunary_verify,
    .cost = input_cost,
    .eval = npuc_eval_qglobalaveragepool,
    .body = npuc_body_qglobalaveragepool,
};

/* -- QAveragePool -- */
static const op_port qaveragepool_inputs[] = {
    {.name = "x", .doc = "uint8 or int8 [N, C, D1, ..., Dk], k = 1, 2 or 3"},
    M_PORT("k"),
    S_PORT("k"),
    {.name = "counts", .doc = "int32 [k]: the distinct numbers of cells of windows, ascending"},
};
static const attr_field qpool_fields[] = {
    WINDOW_FIELDS(qpool_attributes),
    FIELD_INT(qpool_attributes, ceil_mode, 0, "1: sizes are rounded up"),
    FIELD_INT(qpool_attributes, count_include_pad, 0, "1: cells of the padding count"),
    ZERO_POINT(qpool_attributes, x_zero_point),
    OUTPUT_FIELDS(qpool_attributes),
};

static window_fields qpool_window(qpool_attributes *a) {
  return (window_fields){NULL, &a->kernel_shape, &a->strides, &a->pads, &a->dilations, a->ceil_mode};
}

static npuc_status qaveragepool_infer(infer_context *c) {
  qpool_attributes *a = NPUC_ATTRS(qpool_attributes, c->node);
  NPUC_TRY(infer_like_x(c, a->y_dtype));
  shape y = c->outputs[0].shape;
  if (y.rank < 0) return NPUC_OK;
  if (y.rank < 3 || y.rank > 5) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "x", "rank %d given; 3 to 5 wanted", y.rank);
  if (a->kernel_shape.count != y.rank - 2) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "kernel_shape", "%d values given; %d wanted", a->kernel_shape.count, y.rank - 2);
  }
  window_fields fields = qpool_window(a);
  shape x = y;
  NPUC_TRY(npuc_window_infer(c, &fields, &x, a->kernel_shape.values, &y));
  c->outputs[0].shape = y;
  return NPUC_OK;
}

static npuc_status qaveragepool_verify(diag *d, const node *n) {
  qpool_attributes *a = NPUC_ATTRS(qpool_attributes, n);
  NPUC_TRY(check_input(d, n, 0, a->x_zero_point, "x_zero_point"));
  int64_t k = first_dim(n->inputs[3]);
  NPUC_TRY(check_vector(d, n, 1, DTYPE_I32, k));
  NPUC_TRY(check_shifts(d, n, 2, k));
  NPUC_TRY(check_vector(d, n, 3, DTYPE_I32, k));
  const tensor *counts = n->inputs[3]->constant;
  for (int64_t i = 0; counts && i < npuc_tensor_elements(counts); i++) {
    if (npuc_tensor_get_int(counts, i) <= (i ? npuc_tensor_get_int(counts, i - 1) : 0)) {
      return npuc_op_fail(d, n, NPUC_DIAG_E0440, "counts", "entry %lld: positive and ascending numbers wanted", (long long)i);
    }
  }
  window_fields fields = qpool_window(a);
  int32_t rank = n->inputs[0]->shape.rank;
  NPUC_TRY(npuc_window_verify(d, n, &fields, rank >= 0 ? rank - 2 : -1));
  return check_output(d, n, OUTPUT_OF(a));
}

static npuc_status qaveragepool_complete(diag *d, node *n) {
  (void)d;
  qpool_attributes *a = NPUC_ATTRS(qpool_attributes, n);
  window_fields fields = qpool_window(a);
  const char *auto_pad = "NOTSET";
  if (a->kernel_shape.count != n->inputs[0]->shape.rank - 2) return NPUC_OK;
  return npuc_window_complete(n, &fields, &n->inputs[0]->shape, a->kernel_shape.values, &auto_pad);
}

static void qpool_cost(const node *n, op_cost *out_cost) {
  const qpool_attributes *a = NPUC_ATTRS(qpool_attributes, n);
  double cells = 1;
  for (int32_t i = 0; i < a->kernel_shape.count; i++) cells *= (double)a->kernel_shape.values[i];
  out_cost->operations = npuc_value_elements(n->outputs[0]) * cells;
}

const op_def npuc_op_qaveragepool = {
    .id = OP_QAVERAGEPOOL,
    .domain = "npuc",
    .type = "QAveragePool",
    .since_version = 1,
    .oldest_version = 1,
    .traits = TRAIT_INTEGER,
    .summary = "Mean over a sliding window; 1/count is inside M, one M for each distinct count.",
    .formula =
        "y = clamp(y_zero_point + ((sum (x - x_zero_point) * M[i] + rnd(s[i])) >> s[i]), lo, hi) where counts[i] is the window's number of "
        "cells",
    .source = "docs/numerics.md QAveragePool",
    PORTS_IN(qaveragepool_inputs, 4),
    PORTS_OUT(y_port, 1),
    ATTRIBUTES(qpool_fields, qpool_attributes),
    .infer = qaveragepool_infer,
    .verify = qaveragepool_verify,
    .complete = qaveragepool_complete,
    .cost = qpool_cost,
    .eval = npuc_eval_qaveragepool,
    .body = npuc_body_qaveragepool,
};

/* -- Lookup -- */
static const op_port lookup_inputs[] = {X_PORT, {.name = "table", .doc = "uint8 or int8 [256]: y for x = lowest ... highest"}};

static npuc_status lookup_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0), *table = npuc_fact_input(c, 1);
  if (table) c->outputs[0].type = table->type;
  if (!x) return NPUC_OK;
  NPUC_TRY(check_byte(c->d, c->node, "x", x->type));
  c->outputs[0].shape = x->shape;
  return NPUC_OK;
}

static npuc_status lookup_verify(diag *d, const node *n) {
  NPUC_TRY(check_byte(d, n, "x", n->inputs[0]->type));
  NPUC_TRY(check_byte(d, n, "table", n->inputs[1]->type));
  return check_vector(d, n, 1, n->inputs[1]->type, 256);
}

const op_def npuc_op_lookup = {
    .id = OP_LOOKUP,
    .domain = "npuc",
    .type = "Lookup",
    .since_version = 1,
    .oldest_version = 1,
    .traits = TRAIT_INTEGER | TRAIT_ELEMENTWISE,
    .summary = "Any function of one 8-bit value, as a table.",
    .formula = "y = table[x] (uint8), table[x + 128] (int8)",
    .source = "docs/numerics.md Lookup",
    PORTS_IN(lookup_inputs, 2),
    PORTS_OUT(y_port, 1),
    .infer = lookup_infer,
    .verify = lookup_verify,
    .eval = npuc_eval_lookup,
    .body = npuc_body_lookup,
};

/* -- QSoftmax, QLogSoftmax -- */
static const op_port qsoftmax_inputs[] = {
    X_PORT,
    {.name = "T", .doc = "uint16 [256]: floor(65535 * e^(-x_scale * d) + 1/2) for d = 0..255"},
    {.name = "scale", .doc = "int32 [1]: log2 of 1/y_scale"},
};
static const op_port qlogsoftmax_inputs[] = {
    X_PORT,
    {.name = "T", .doc = "uint16 [256], as QSoftmax"},
    {.name = "L", .doc = "int32 [256]: logarithms of 1 + (k + 1/2)/256 in output steps times 2^s"},
    {.name = "M", .doc = "int32 [2]: x's step and ln 2 in output steps times 2^s"},
    S_PORT("1"),
};
static const attr_field qsoftmax_fields[] = {
    FIELD_INT(qsoftmax_attributes, axis, -1, "the axis that sums to 1"),
    OUTPUT_FIELDS(qsoftmax_attributes),
};

static npuc_status check_axis(diag *d, const node *n, int64_t axis, int32_t rank) {
  int32_t normal;
  if (rank < 0 || npuc_axis_normalize(axis, rank, &normal)) return NPUC_OK;
  return npuc_op_fail(d, n, NPUC_DIAG_E0440, "axis", "%lld is out of range for rank %d", (long long)axis, rank);
}

static npuc_status qsoftmax_infer(infer_context *c) {
  const qsoftmax_attributes *a = NPUC_ATTRS(qsoftmax_attributes, c->node);
  NPUC_TRY(infer_like_x(c, a->y_dtype));
  return check_axis(c->d, c->node, a->axis, c->outputs[0].shape.rank);
}

static npuc_status softmax_common(diag *d, const node *n) {
  const qsoftmax_attributes *a = NPUC_ATTRS(qsoftmax_attributes, n);
  NPUC_TRY(check_byte(d, n, "x", n->inputs[0]->type));
  NPUC_TRY(check_vector(d, n, 1, DTYPE_U16, 256));
  const tensor *t = n->inputs[1]->constant;
  if (t && npuc_tensor_get_int(t, 0) != 65535) {
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "T", "T[0] is %lld; it must be 65535", (long long)npuc_tensor_get_int(t, 0));
  }
  NPUC_TRY(check_axis(d, n, a->axis, n->inputs[0]->shape.rank));
  return check_output(d, n, OUTPUT_OF(a));
}

static npuc_status qsoftmax_verify(diag *d, const node *n) {
  NPUC_TRY(softmax_common(d, n));
  NPUC_TRY(check_vector(d, n, 2, DTYPE_I32, 1));
  const tensor *t = n->inputs[2]->constant;
  int64_t scale = t ? npuc_tensor_get_int(t, 0) : 8;
  if (scale >= 0 && scale <= 16) return NPUC_OK;
  return npuc_op_fail(d, n, NPUC_DIAG_E0440, "scale", "%lld given; 0 to 16 allowed", (long long)scale);
}

static npuc_status qlogsoftmax_verify(diag *d, const node *n) {
  NPUC_TRY(softmax_common(d, n));
  NPUC_TRY(check_vector(d, n, 2, DTYPE_I32, 256));
  NPUC_TRY(check_vector(d, n, 3, DTYPE_I32, 2));
  return check_shifts(d, n, 4, 1);
}

const op_def npuc_op_qsoftmax = {
    .id = OP_QSOFTMAX,
    .domain = "npuc",
    .type = "QSoftmax",
    .since_version = 1,
    .oldest_version = 1,
    .traits = TRAIT_INTEGER,
    .summary = "Softmax of 8-bit integers: a table of exponentials and one 16-bit normalized reciprocal a row.",
    .formula =
        "e = T[max(x) - x]; S = sum e; E = floor(log2 S); r = min(65535, (2^(E+16) + S/2) / S); "
        "y = clamp(y_zero_point + ((e * r + rnd(q)) >> q), lo, hi), q = E + 16 - scale",
    .source = "docs/numerics.md QSoftmax",
    PORTS_IN(qsoftmax_inputs, 3),
    PORTS_OUT(y_port, 1),
    ATTRIBUTES(qsoftmax_fields, qsoftmax_attributes),
    .infer = qsoftmax_infer,
    .verify = qsoftmax_verify,
    .eval = npuc_eval_qsoftmax,
    .body = npuc_body_qsoftmax,
};

const op_def npuc_op_qlogsoftmax = {
    .id = OP_QLOGSOFTMAX,
    .domain = "npuc",
    .type = "QLogSoftmax",
    .since_version = 1,
    .oldest_version = 1,
    .traits = TRAIT_INTEGER,
    .summary = "Logarithm of softmax of 8-bit integers: tables of exponentials and of logarithms.",
    .formula =
        "S, E as QSoftmax; k = (S >> (E - 8)) mod 256; y = clamp(y_zero_point + ((-(max(x) - x) * M[0] - (E - 16) * M[1] - L[k] + rnd(s)) "
        ">> s), lo, hi)",
    .source = "docs/numerics.md QLogSoftmax",
    PORTS_IN(qlogsoftmax_inputs, 5),
    PORTS_OUT(y_port, 1),
    ATTRIBUTES(qsoftmax_fields, qsoftmax_attributes),
    .infer = qsoftmax_infer,
    .verify = qlogsoftmax_verify,
    .eval = npuc_eval_qlogsoftmax,
    .body = npuc_body_qlogsoftmax,
};
