/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one number, for tables. Addition, multiplication, division, square root and fma are rounded correctly everywhere, so what is built of
 * them alone is the same on every machine; a C library's sin or erf is not. Absolute errors stay below 1e-13 for |v| below 1e6, far below a step of a table. */
#include "quant/unary.h"

#include <math.h>

#include "ir/attributes.h"
#include "quant/tables.h"

static const double PI_2 = 1.57079632679489661923132169163975, PI_2_LOW = 6.123233995736766e-17;

static double clamp01(double v) { return v < 0 ? 0 : v > 1 ? 1 : v; }
static double sign_of(double v, double magnitude) { return v < 0 ? -magnitude : magnitude; }
static double logarithm(double v) { return isinf(v) ? v : v > 0 ? npuc_exact_log(v) : v == 0 ? -INFINITY : NAN; }
static double sigmoid(double v) { return 1 / (1 + npuc_exact_exp(-v)); }

static double hyperbolic_tangent(double v) {
  double e = npuc_exact_exp(-2 * fabs(v));
  return sign_of(v, (1 - e) / (1 + e));
}

/* ln(1 + e^v) */
static double softplus(double v) { return (v > 0 ? v : 0) + npuc_exact_log(1 + npuc_exact_exp(-fabs(v))); }

/* 2 / sqrt(pi) * e^(-v^2) * sum of 2^n * v^(2n+1) / (1 * 3 * ... * (2n+1)): all terms have one sign. */
static double error_function(double v) {
  if (fabs(v) > 6) return sign_of(v, 1);
  double term = v, sum = v;
  for (int n = 1; n < 200; n++) {
    term *= 2 * v * v / (2 * n + 1);
    sum += term;
  }
  return 1.12837916709551257389615890312 * npuc_exact_exp(-v * v) * sum;
}

/* v = n * pi/2 + r, |r| <= pi/4; both series at r; n mod 4 says which is the sine. */
static double sine(double v, int quarter_turns) {
  double n = rint(v / PI_2), r = fma(-n, PI_2_LOW, fma(-n, PI_2, v)), square = r * r, sine = 1, cosine = 1;
  for (int i = 22; i >= 2; i -= 2) {
    sine = 1 - square * sine / (i * (i + 1));
    cosine = 1 - square * cosine / (i * (i - 1));
  }
  double turns = n + quarter_turns;
  int quarter = (int)(turns - 4 * floor(turns / 4));
  double y = quarter % 2 ? cosine : r * sine;
  return quarter / 2 ? -y : y;
}

/* atan v = pi/2 - atan 1/v; atan v = 2 atan(v / (1 + sqrt(1 + v^2))), twice; then the series. */
static double arc_tangent(double v) {
  double a = fabs(v), t = a > 1 ? 1 / a : a, sum = 0;
  for (int i = 0; i < 2; i++) t = t / (1 + sqrt(1 + t * t));
  for (int i = 29; i >= 1; i -= 2) sum = 1.0 / i - t * t * sum;
  double y = 4 * t * sum;
  return sign_of(v, a > 1 ? PI_2 - y : y);
}

static double arc_sine(double v) { return fabs(v) <= 1 ? arc_tangent(v / sqrt(1 - v * v)) : NAN; }

/* v^e: whole exponents by multiplication, halves by the square root, others of positive numbers by logarithms. */
static double power(double v, double e) {
  if (e == rint(e) && fabs(e) <= 64) {
    double y = 1;
    for (int i = 0; i < (int)fabs(e); i++) y *= v;
    return e < 0 ? 1 / y : y;
  }
  if (e == 0.5) return sqrt(v);
  if (v == 0) return e > 0 ? 0 : INFINITY;
  return v > 0 ? npuc_exact_exp(e * npuc_exact_log(v)) : NAN;
}

static double gelu(const node *n, double v) {
  if (NPUC_ATTRS(gelu_attributes, n)->approximate[0] == 't')
    return 0.5 * v * (1 + hyperbolic_tangent(0.79788456080286535588 * (v + 0.044715 * v * v * v)));
  return 0.5 * v * (1 + error_function(v * 0.70710678118654752440));
}

static double shrink(const node *n, double v) {
  const shrink_attributes *a = NPUC_ATTRS(shrink_attributes, n);
  double bias = (double)a->bias, most = (double)a->lambd;
  return v < -most ? v + bias : v > most ? v - bias : 0;
}

/* A second operand that is one number: Pow's exponent, PRelu's slope. */
static bool one_number(const node *n, double *out) {
  const value *c = n->n_inputs > 1 ? n->inputs[1] : NULL;
  if (!c || !c->constant || npuc_tensor_elements(c->constant) != 1 || c->shape.rank > n->inputs[0]->shape.rank) return false;
  *out = npuc_tensor_get(c->constant, 0);
  return true;
}

static bool activation(const node *n, double v, double *out) {
  double alpha = 0;
  switch (n->op->id) {
    case OP_LEAKYRELU:
    case OP_ELU:
    case OP_CELU:
    case OP_THRESHOLDEDRELU:
    case OP_SWISH:
      alpha = (double)NPUC_ATTRS(alpha_attributes, n)->alpha;
      break;
    default:
      break;
  }
  switch (n->op->id) {
    case OP_SIGMOID:
      return *out = sigmoid(v), true;
    case OP_TANH:
      return *out = hyperbolic_tangent(v), true;
    case OP_LEAKYRELU:
      return *out = v < 0 ? alpha * v : v, true;
    case OP_PRELU:
      if (!one_number(n, &alpha)) return false;
      return *out = v < 0 ? alpha * v : v, true;
    case OP_HARDSIGMOID: {
      const hardsigmoid_attributes *a = NPUC_ATTRS(hardsigmoid_attributes, n);
      return *out = clamp01((double)a->alpha * v + (double)a->beta), true;
    }
    case OP_HARDSWISH:
      return *out = v * clamp01(v / 6 + 0.5), true;
    case OP_ELU:
      return *out = v < 0 ? alpha * (npuc_exact_exp(v) - 1) : v, true;
    case OP_CELU:
      return *out = v < 0 ? alpha * (npuc_exact_exp(v / alpha) - 1) : v, true;
    case OP_SELU: {
      const selu_attributes *a = NPUC_ATTRS(selu_attributes, n);
      return *out = (double)a->gamma * (v <= 0 ? (double)a->alpha * (npuc_exact_exp(v) - 1) : v), true;
    }
    case OP_THRESHOLDEDRELU:
      return *out = v > alpha ? v : 0, true;
    case OP_SHRINK:
      return *out = shrink(n, v), true;
    case OP_SOFTPLUS:
      return *out = softplus(v), true;
    case OP_SOFTSIGN:
      return *out = v / (1 + fabs(v)), true;
    case OP_MISH:
      return *out = v * hyperbolic_tangent(softplus(v)), true;
    case OP_SWISH:
      return *out = v * sigmoid(alpha * v), true;
    case OP_GELU:
      return *out = gelu(n, v), true;
    default:
      return false;
  }
}

static bool elementary(const node *n, double v, double *out) {
  double e;
  switch (n->op->id) {
    case OP_POW:
      if (!one_number(n, &e)) return false;
      return *out = power(v, e), true;
    case OP_ABS:
      return *out = fabs(v), true;
    case OP_NEG:
      return *out = -v, true;
    case OP_SIGN:
      return *out = v > 0 ? 1 : v < 0 ? -1 : 0, true;
    case OP_CEIL:
      return *out = ceil(v), true;
    case OP_FLOOR:
      return *out = floor(v), true;
    case OP_ROUND:
      return *out = rint(v), true;
    case OP_SQRT:
      return *out = sqrt(v), true;
    case OP_RECIPROCAL:
      return *out = 1 / v, true;
    case OP_EXP:
      return *out = npuc_exact_exp(v), true;
    case OP_LOG:
      return *out = logarithm(v), true;
    case OP_ERF:
      return *out = error_function(v), true;
    default:
      return false;
  }
}

static bool trigonometric(const node *n, double v, double *out) {
  switch (n->op->id) {
    case OP_SIN:
      return *out = sine(v, 0), true;
    case OP_COS:
      return *out = sine(v, 1), true;
    case OP_TAN:
      return *out = sine(v, 0) / sine(v, 1), true;
    case OP_ASIN:
      return *out = arc_sine(v), true;
    case OP_ACOS:
      return *out = PI_2 - arc_sine(v), true;
    case OP_ATAN:
      return *out = arc_tangent(v), true;
    case OP_SINH:
      return *out = (npuc_exact_exp(v) - npuc_exact_exp(-v)) / 2, true;
    case OP_COSH:
      return *out = (npuc_exact_exp(v) + npuc_exact_exp(-v)) / 2, true;
    case OP_ASINH:
      return *out = sign_of(v, npuc_exact_log(fabs(v) + sqrt(v * v + 1))), true;
    case OP_ACOSH:
      return *out = logarithm(v + sqrt(v * v - 1)), true;
    case OP_ATANH:
      return *out = logarithm((1 + v) / (1 - v)) / 2, true;
    default:
      return false;
  }
}

bool npuc_unary_real(const node *n, double v, double *out_y) {
  if (n->op->domain[0]) return false;
  return activation(n, v, out_y) || elementary(n, v, out_y) || trigonometric(n, v, out_y);
}

bool npuc_unary_known(const node *n) {
  double y;
  return npuc_unary_real(n, 1, &y);
}
