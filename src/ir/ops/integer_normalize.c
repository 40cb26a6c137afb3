/* SPDX-License-Identifier: Apache-2.0 */
/* QNormalize: layer, group, instance and RMS normalization of 8-bit integers, told apart by which elements belong together and which share parameters. */
#include <stddef.h>

#include "ir/ops/integer_bodies.h"
#include "ir/ops/support.h"

static const op_port qnormalize_inputs[] = {
    {.name = "x", .doc = "uint8 or int8, read as [rows, count, inner]"},
    {.name = "bias", .doc = "int32 [P], in units of 2^-12 of the normalized value"},
    {.name = "M", .doc = "int32 [P]: multiplier"},
    {.name = "s", .doc = "int32 [P]: shift, 0..62"},
};
static const op_port qnormalize_outputs[] = {{.name = "y", .doc = "uint8 or int8, as y_dtype says"}};
static const attr_field qnormalize_fields[] = {
    FIELD_INT(qnormalize_attributes, count, 1, "elements that are normalized together, at most 2^22"),
    FIELD_INT(qnormalize_attributes, inner, 1, "distance of their neighbours in x"),
    FIELD_INT(qnormalize_attributes, repeat, 1, "elements in a row with the same parameters"),
    FIELD_INT(qnormalize_attributes, centre, 1, "1: the mean is taken off; 0: RMS"),
    FIELD_INT(qnormalize_attributes, epsilon, 0, "added to count^2 times the variance, 0 to 2^60"),
    FIELD_INT(qnormalize_attributes, x_zero_point, 0, "the integer that stands for 0.0"),
    FIELD_INT(qnormalize_attributes, y_zero_point, 0, "the integer that stands for 0.0"),
    FIELD_INT(qnormalize_attributes, lo, 0, "smallest y"),
    FIELD_INT(qnormalize_attributes, hi, 255, "largest y"),
    FIELD_INT(qnormalize_attributes, y_dtype, 2, "ONNX number of y's dtype: 2 (uint8) or 3 (int8)"),
};

static npuc_status qnormalize_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0);
  c->outputs[0].type = NPUC_ATTRS(qnormalize_attributes, c->node)->y_dtype == DTYPE_I8 ? DTYPE_I8 : DTYPE_U8;
  if (x) c->outputs[0].shape = x->shape;
  return NPUC_OK;
}

static npuc_status check_number(diag *d, const node *n, const char *name, int64_t given, int64_t lo, int64_t hi) {
  if (given >= lo && given <= hi) return NPUC_OK;
  return npuc_op_fail(d, n, NPUC_DIAG_E0440, name, "%lld given; %lld to %lld allowed", (long long)given, (long long)lo, (long long)hi);
}

/* bias, M, s: int32 [P], each element in [lo, hi]. */
static npuc_status check_parameter(diag *d, const node *n, int32_t input, int64_t lo, int64_t hi) {
  const value *v = n->inputs[input];
  const char *name = n->op->inputs[input].name;
  if (v->type != DTYPE_I32) return npuc_op_fail(d, n, NPUC_DIAG_E0442, name, "%s given; int32 wanted", npuc_dtype_name(v->type));
  char text[SHAPE_TEXT];
  if (v->shape.rank != 1 || (dim_is_number(v->shape.dims[0]) && v->shape.dims[0] < 1) || !npuc_shape_equal(&v->shape, &n->inputs[1]->shape))
    return npuc_op_fail(d, n, NPUC_DIAG_E0441, name, "%s given; one axis as long as bias wanted", npuc_shape_text(NULL, &v->shape, text));
  for (int64_t i = 0; v->constant && i < npuc_tensor_elements(v->constant); i++)
    NPUC_TRY(check_number(d, n, name, npuc_tensor_get_int(v->constant, i), lo, hi));
  return NPUC_OK;
}

/* Whole rows, and whole rounds of the parameters. */
static npuc_status check_fit(diag *d, const node *n, const qnormalize_attributes *a) {
  const shape *x = &n->inputs[0]->shape, *p = &n->inputs[1]->shape;
  int64_t count, parameters, row, round;
  if (!npuc_shape_elements(x, &count) || !npuc_shape_elements(p, &parameters)) return NPUC_OK;
  if (__builtin_mul_overflow(a->count, a->inner, &row) || count % row)
    return npuc_op_fail(d, n, NPUC_DIAG_E0441, "x", "%lld elements are no whole rows of count * inner", (long long)count);
  if (__builtin_mul_overflow(parameters, a->repeat, &round) || count % round)
    return npuc_op_fail(d, n, NPUC_DIAG_E0441, "bias", "%lld elements are no whole rounds of %lld parameters, each for repeat elements",
                        (long long)count, (long long)parameters);
  return NPUC_OK;
}

static npuc_status qnormalize_verify(diag *d, const node *n) {
  const qnormalize_attributes *a = NPUC_ATTRS(qnormalize_attributes, n);
  const int64_t any = INT64_C(1) << 40;
  int64_t lo, hi;
  dtype x = n->inputs[0]->type;
  if (x != DTYPE_U8 && x != DTYPE_I8) return npuc_op_fail(d, n, NPUC_DIAG_E0442, "x", "%s given; uint8 or int8 wanted", npuc_dtype_name(x));
  NPUC_TRY(check_number(d, n, "count", a->count, 1, 1 << 22));
  NPUC_TRY(check_number(d, n, "inner", a->inner, 1, any));
  NPUC_TRY(check_number(d, n, "repeat", a->repeat, 1, any));
  NPUC_TRY(check_number(d, n, "centre", a->centre, 0, 1));
  NPUC_TRY(check_number(d, n, "epsilon", a->epsilon, 0, INT64_C(1) << 60));
  NPUC_TRY(check_number(d, n, "y_dtype", a->y_dtype, DTYPE_U8, DTYPE_I8));
  (void)npuc_dtype_range(x, &lo, &hi);
  NPUC_TRY(check_number(d, n, "x_zero_point", a->x_zero_point, lo, hi));
  (void)npuc_dtype_range((dtype)a->y_dtype, &lo, &hi);
  NPUC_TRY(check_number(d, n, "y_zero_point", a->y_zero_point, lo, hi));
  NPUC_TRY(check_number(d, n, "hi", a->hi, lo, hi));
  NPUC_TRY(check_number(d, n, "lo", a->lo, lo, a->hi));
  NPUC_TRY(check_parameter(d, n, 1, -(1 << 30), 1 << 30));
  NPUC_TRY(check_parameter(d, n, 2, INT32_MIN, INT32_MAX));
  NPUC_TRY(check_parameter(d, n, 3, 0, 62));
  return check_fit(d, n, a);
}

const op_def npuc_op_qnormalize = {
    .id = OP_QNORMALIZE,
    .domain = "npuc",
    .type = "QNormalize",
    .since_version = 1,
    .oldest_version = 1,
    .traits = TRAIT_INTEGER,
    .summary = "Layer, group, instance and RMS normalization of 8-bit integers: integer sums and one 16-bit reciprocal root a row.",
    .formula =
        "V = max(1, n * sum d^2 - S^2 + epsilon); r ~ 2^(E/2 + 16) / sqrt(V); t = ((n * d - S) * r) >> (E/2 + 4); y = clamp(y_zero_point + "
        "(((t + bias) * M + rnd(s)) >> s), lo, hi)",
    .source = "docs/numerics.md QNormalize",
    PORTS_IN(qnormalize_inputs, 4),
    PORTS_OUT(qnormalize_outputs, 1),
    ATTRIBUTES(qnormalize_fields, qnormalize_attributes),
    .infer = qnormalize_infer,
    .verify = qnormalize_verify,
    .eval = npuc_eval_qnormalize,
    .body = npuc_body_qnormalize,
};
