/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one element whose result has the input's type, or is a boolean. (Those with kernels of their own: activation.c.) */
#include <stddef.h>
#include <string.h>

#include "ir/ops/support.h"

static const op_port x_input[] = {{.name = "X", .doc = "any shape"}};
static const op_port y_output[] = {{.name = "Y", .doc = "as X"}};

static npuc_status boolean_infer(infer_context *c) {
  NPUC_TRY(npuc_infer_unary(c));
  c->outputs[0].type = DTYPE_BOOL;
  return NPUC_OK;
}

static npuc_status fail_type(diag *d, const node *n, const char *wanted) {
  return npuc_op_fail(d, n, NPUC_DIAG_E0442, n->op->inputs[0].name, "%s given; %s wanted", npuc_dtype_name(n->inputs[0]->type), wanted);
}

static npuc_status float_verify(diag *d, const node *n) {
  dtype t = n->inputs[0]->type;
  return t == DTYPE_NONE || npuc_dtype_kind(t) == KIND_FLOAT ? NPUC_OK : fail_type(d, n, "a float type");
}
static npuc_status number_verify(diag *d, const node *n) {
  dtype t = n->inputs[0]->type;
  return t == DTYPE_NONE || npuc_dtype_kind(t) == KIND_FLOAT || npuc_dtype_is_integer(t) ? NPUC_OK : fail_type(d, n, "a number type");
}
static npuc_status integer_verify(diag *d, const node *n) {
  dtype t = n->inputs[0]->type;
  return t == DTYPE_NONE || npuc_dtype_is_integer(t) ? NPUC_OK : fail_type(d, n, "an integer type");
}
static npuc_status boolean_verify(diag *d, const node *n) {
  dtype t = n->inputs[0]->type;
  return t == DTYPE_NONE || t == DTYPE_BOOL ? NPUC_OK : fail_type(d, n, "bool");
}

/* Without attributes: types by `check`, output by `inference`. */
#define UNARY(op_symbol, op_enum, name, since, oldest, flags, inference, check, text, rule) \
  const op_def npuc_op_##op_symbol = {                                                      \
      .id = op_enum,                                                                        \
      .domain = "",                                                                         \
      .type = name,                                                                         \
      .since_version = since,                                                               \
      .oldest_version = oldest,                                                             \
      .traits = TRAIT_ELEMENTWISE | (flags),                                                \
      .summary = text,                                                                      \
      .formula = rule,                                                                      \
      .source = "ONNX " name "-" #since,                                                    \
      PORTS_IN(x_input, 1),                                                                 \
      PORTS_OUT(y_output, 1),                                                               \
      .infer = inference,                                                                   \
      .verify = check,                                                                      \
      .eval = npuc_eval_##op_symbol,                                                        \
  }

UNARY(abs, OP_ABS, "Abs", 13, 6, 0, npuc_infer_unary, number_verify, "Absolute value.", "Y = |X|");
UNARY(neg, OP_NEG, "Neg", 13, 6, 0, npuc_infer_unary, number_verify, "The value with the other sign.", "Y = -X");
UNARY(sign, OP_SIGN, "Sign", 13, 9, TRAIT_MONOTONE, npuc_infer_unary, number_verify, "-1, 0 or 1.", "Y = X < 0 ? -1 : X > 0 ? 1 : 0");
UNARY(ceil, OP_CEIL, "Ceil", 13, 6, TRAIT_MONOTONE, npuc_infer_unary, float_verify, "Rounds up.", "Y = ceil(X)");
UNARY(floor, OP_FLOOR, "Floor", 13, 6, TRAIT_MONOTONE, npuc_infer_unary, float_verify, "Rounds down.", "Y = floor(X)");
UNARY(round, OP_ROUND, "Round", 22, 11, TRAIT_MONOTONE, npuc_infer_unary, float_verify, "Rounds to the nearest, halves to even.",
      "Y = round_half_even(X)");
UNARY(sqrt, OP_SQRT, "Sqrt", 13, 6, TRAIT_MONOTONE, npuc_infer_unary, float_verify, "Square root; NaN of a negative number.",
      "Y = sqrt(X)");
UNARY(reciprocal, OP_RECIPROCAL, "Reciprocal", 13, 6, 0, npuc_infer_unary, float_verify, "Reciprocal.", "Y = 1 / X");
UNARY(exp, OP_EXP, "Exp", 13, 6, TRAIT_MONOTONE, npuc_infer_unary, float_verify, "Exponential.", "Y = e^X");
UNARY(log, OP_LOG, "Log", 13, 6, TRAIT_MONOTONE, npuc_infer_unary, float_verify, "Natural logarithm.", "Y = log(X)");
UNARY(erf, OP_ERF, "Erf", 13, 9, TRAIT_MONOTONE, npuc_infer_unary, float_verify, "Error function.", "Y = erf(X)");
UNARY(sin, OP_SIN, "Sin", 22, 7, 0, npuc_infer_unary, float_verify, "Sine.", "Y = sin(X)");
UNARY(cos, OP_COS, "Cos", 22, 7, 0, npuc_infer_unary, float_verify, "Cosine.", "Y = cos(X)");
UNARY(tan, OP_TAN, "Tan", 22, 7, 0, npuc_infer_unary, float_verify, "Tangent.", "Y = tan(X)");
UNARY(asin, OP_ASIN, "Asin", 22, 7, TRAIT_MONOTONE, npuc_infer_unary, float_verify, "Arc sine.", "Y = asin(X)");
UNARY(acos, OP_ACOS, "Acos", 22, 7, 0, npuc_infer_unary, float_verify, "Arc cosine.", "Y = acos(X)");
UNARY(atan, OP_ATAN, "Atan", 22, 7, TRAIT_MONOTONE, npuc_infer_unary, float_verify, "Arc tangent.", "Y = atan(X)");
UNARY(sinh, OP_SINH, "Sinh", 22, 9, TRAIT_MONOTONE, npuc_infer_unary, float_verify, "Hyperbolic sine.", "Y = sinh(X)");
UNARY(cosh, OP_COSH, "Cosh", 22, 9, 0, npuc_infer_unary, float_verify, "Hyperbolic cosine.", "Y = cosh(X)");
UNARY(asinh, OP_ASINH, "Asinh", 22, 9, TRAIT_MONOTONE, npuc_infer_unary, float_verify, "Inverse of the hyperbolic sine.", "Y = asinh(X)");
UNARY(acosh, OP_ACOSH, "Acosh", 22, 9, TRAIT_MONOTONE, npuc_infer_unary, float_verify, "Inverse of the hyperbolic cosine.", "Y = acosh(X)");
UNARY(atanh, OP_ATANH, "Atanh", 22, 9, TRAIT_MONOTONE, npuc_infer_unary, float_verify, "Inverse of the hyperbolic tangent.",
      "Y = atanh(X)");
UNARY(not, OP_NOT, "Not", 1, 1, 0, npuc_infer_unary, boolean_verify, "Logical negation.", "Y = !X");
UNARY(bitwisenot, OP_BITWISENOT, "BitwiseNot", 18, 18, 0, npuc_infer_unary, integer_verify, "Every bit inverted.", "Y = ~X");
UNARY(isnan, OP_ISNAN, "IsNaN", 20, 9, 0, boolean_infer, float_verify, "Whether the value is NaN.", "Y = X != X");
UNARY(softplus, OP_SOFTPLUS, "Softplus", 22, 1, TRAIT_MONOTONE, npuc_infer_unary, float_verify, "A smooth Relu.", "Y = log(1 + e^X)");
UNARY(softsign, OP_SOFTSIGN, "Softsign", 22, 1, TRAIT_MONOTONE, npuc_infer_unary, float_verify, "A rational sigmoid.", "Y = X / (1 + |X|)");
UNARY(mish, OP_MISH, "Mish", 22, 18, 0, npuc_infer_unary, float_verify, "The input times the tanh of its Softplus.",
      "Y = X * tanh(log(1 + e^X))");

/* -- with attributes -- */
static const attr_field elu_fields[] = {FIELD_FLOAT(alpha_attributes, alpha, 1.0f, "minus the limit below 0")};
static const attr_field celu_fields[] = {FIELD_FLOAT(alpha_attributes, alpha, 1.0f, "minus the limit below 0, never 0")};
static const attr_field thresholdedrelu_fields[] = {FIELD_FLOAT(alpha_attributes, alpha, 1.0f, "the threshold")};
static const attr_field swish_fields[] = {FIELD_FLOAT(alpha_attributes, alpha, 1.0f, "factor inside the sigmoid")};
static const attr_field selu_fields[] = {FIELD_FLOAT(selu_attributes, alpha, 1.67326319217681884765625f, "as Elu's"),
                                         FIELD_FLOAT(selu_attributes, gamma, 1.05070102214813232421875f, "factor of all")};
static const attr_field shrink_fields[] = {FIELD_FLOAT(shrink_attributes, lambd, 0.5f, "half the width of the gap"),
                                           FIELD_FLOAT(shrink_attributes, bias, 0.0f, "how far what is outside moves toward 0")};
static const attr_field isinf_fields[] = {FIELD_INT(isinf_attributes, detect_negative, 1, "1: -infinity counts"),
                                          FIELD_INT(isinf_attributes, detect_positive, 1, "1: infinity counts")};
static const attr_field gelu_fields[] = {FIELD_STRING(gelu_attributes, approximate, "none", "none or tanh")};

static npuc_status isinf_verify(diag *d, const node *n) {
  NPUC_TRY(npuc_verify_flag(d, n, "detect_negative", NPUC_ATTRS(isinf_attributes, n)->detect_negative));
  NPUC_TRY(npuc_verify_flag(d, n, "detect_positive", NPUC_ATTRS(isinf_attributes, n)->detect_positive));
  return float_verify(d, n);
}

static npuc_status gelu_verify(diag *d, const node *n) {
  const char *by = NPUC_ATTRS(gelu_attributes, n)->approximate;
  if (!by || (strcmp(by, "none") != 0 && strcmp(by, "tanh") != 0)) {
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "approximate", "\"%s\" is not one of none, tanh", by ? by : "");
  }
  return float_verify(d, n);
}

static npuc_status celu_verify(diag *d, const node *n) {
  if (NPUC_ATTRS(alpha_attributes, n)->alpha == 0.0f) return npuc_op_fail(d, n, NPUC_DIAG_E0440, "alpha", "0 given; it divides");
  return float_verify(d, n);
}

#define UNARY_WITH(op_symbol, op_enum, name, since, oldest, flags, inference, check, fields, type_of_fields, text, rule) \
  const op_def npuc_op_##op_symbol = {                                                                                   \
      .id = op_enum,                                                                                                     \
      .domain = "",                                                                                                      \
      .type = name,                                                                                                      \
      .since_version = since,                                                                                            \
      .oldest_version = oldest,                                                                                          \
      .traits = TRAIT_ELEMENTWISE | (flags),                                                                             \
      .summary = text,                                                                                                   \
      .formula = rule,                                                                                                   \
      .source = "ONNX " name "-" #since,                                                                                 \
      PORTS_IN(x_input, 1),                                                                                              \
      PORTS_OUT(y_output, 1),                                                                                            \
      ATTRIBUTES(fields, type_of_fields),                                                                                \
      .infer = inference,                                                                                                \
      .verify = check,                                                                                                   \
      .eval = npuc_eval_##op_symbol,                                                                                     \
  }

UNARY_WITH(elu, OP_ELU, "Elu", 22, 6, 0, npuc_infer_unary, float_verify, elu_fields, alpha_attributes,
           "Exponential below 0, the input above.", "Y = X < 0 ? alpha * (e^X - 1) : X");
UNARY_WITH(celu, OP_CELU, "Celu", 28, 12, 0, npuc_infer_unary, celu_verify, celu_fields, alpha_attributes,
           "Elu whose slope is continuous for every alpha.", "Y = max(0, X) + min(0, alpha * (e^(X / alpha) - 1))");
UNARY_WITH(selu, OP_SELU, "Selu", 22, 6, 0, npuc_infer_unary, float_verify, selu_fields, selu_attributes, "Scaled Elu.",
           "Y = gamma * (X <= 0 ? alpha * (e^X - 1) : X)");
UNARY_WITH(thresholdedrelu, OP_THRESHOLDEDRELU, "ThresholdedRelu", 22, 10, 0, npuc_infer_unary, float_verify, thresholdedrelu_fields,
           alpha_attributes, "Values up to a threshold become 0.", "Y = X > alpha ? X : 0");
UNARY_WITH(shrink, OP_SHRINK, "Shrink", 9, 9, 0, npuc_infer_unary, number_verify, shrink_fields, shrink_attributes,
           "Values near 0 become 0, the others move toward it.", "Y = X < -lambd ? X + bias : X > lambd ? X - bias : 0");
UNARY_WITH(swish, OP_SWISH, "Swish", 24, 24, 0, npuc_infer_unary, float_verify, swish_fields, alpha_attributes,
           "The input times a sigmoid of it.", "Y = X / (1 + e^(-alpha * X))");
UNARY_WITH(gelu, OP_GELU, "Gelu", 20, 20, 0, npuc_infer_unary, gelu_verify, gelu_fields, gelu_attributes,
           "The input times the normal distribution function of it.",
           "none: Y = X / 2 * (1 + erf(X / sqrt(2))); tanh: Y = X / 2 * (1 + tanh(sqrt(2 / pi) * (X + 0.044715 X^3)))");
UNARY_WITH(isinf, OP_ISINF, "IsInf", 20, 10, 0, boolean_infer, isinf_verify, isinf_fields, isinf_attributes,
           "Whether the value is infinite.", "Y = X is infinity (detect_positive) or -infinity (detect_negative)");
