/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one element. p holds the attributes, in the order of the operator's list. */
#include <math.h>

#include "ir/eval/elementwise.h"

/* -- floats -- */
#define F64(name, formula)                              \
  static double name##_f64(double x, const double *p) { \
    (void)p;                                            \
    return (formula);                                   \
  }
F64(abs, fabs(x))
F64(neg, -x)
F64(sign, x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x)
F64(ceil, ceil(x))
F64(floor, floor(x))
F64(round, rint(x)) /* half to even */
F64(sqrt, sqrt(x))
F64(reciprocal, 1.0 / x)
F64(exp, exp(x))
F64(log, log(x))
F64(erf, erf(x))
F64(sin, sin(x))
F64(cos, cos(x))
F64(tan, tan(x))
F64(asin, asin(x))
F64(acos, acos(x))
F64(atan, atan(x))
F64(sinh, sinh(x))
F64(cosh, cosh(x))
F64(asinh, asinh(x))
F64(acosh, acosh(x))
F64(atanh, atanh(x))
F64(isnan, isnan(x) ? 1.0 : 0.0)
F64(isinf, isinf(x) && (x < 0.0 ? p[0] : p[1]) != 0.0 ? 1.0 : 0.0)
F64(elu, x < 0.0 ? p[0] * expm1(x) : x)
F64(celu, x < 0.0 ? p[0] * expm1(x / p[0]) : x)
F64(selu, x <= 0.0 ? p[1] * (p[0] * expm1(x)) : p[1] * x)
F64(thresholdedrelu, x > p[0] ? x : x != x ? x : 0.0)
F64(shrink, x<-p[1] ? x + p[0] : x> p[1] ? x - p[0] : x != x ? x : 0.0)
F64(softplus, x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x)))
F64(softsign, x / (1.0 + fabs(x)))
F64(mish, x *tanh(softplus_f64(x, p)))
F64(swish, x / (1.0 + exp(-p[0] * x)))
F64(gelu, 0.5 * x * (1.0 + erf(x * 0.70710678118654752440)))
F64(gelu_tanh, 0.5 * x * (1.0 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x))))

/* -- integers and booleans -- */
#define I64(name, formula)                           \
  static int64_t name##_i64(int64_t x, dtype type) { \
    (void)type;                                      \
    return (formula);                                \
  }
I64(abs, type != DTYPE_U64 && x < 0 ? (int64_t)(0 - (uint64_t)x) : x)
I64(neg, (int64_t)(0 - (uint64_t)x))
I64(sign, x == 0 ? 0 : type == DTYPE_U64 || x > 0 ? 1 : -1)
I64(not, x == 0)
I64(bitwise_not, ~x)

static npuc_status run(const eval_context *c, const tensor *const *inputs, tensor *const *outputs, unary_f64_function *floats,
                       unary_i64_function *integers, const double *p) {
  map_functions f = {floats, integers, p};
  return npuc_eval_map(c, &f, inputs[0], outputs[0]);
}

#define EVAL(name, floats, integers)                                                                         \
  npuc_status npuc_eval_##name(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) { \
    return run(c, inputs, outputs, floats, integers, NULL);                                                  \
  }
EVAL(abs, abs_f64, abs_i64)
EVAL(neg, neg_f64, neg_i64)
EVAL(sign, sign_f64, sign_i64)
EVAL(ceil, ceil_f64, NULL)
EVAL(floor, floor_f64, NULL)
EVAL(round, round_f64, NULL)
EVAL(sqrt, sqrt_f64, NULL)
EVAL(reciprocal, reciprocal_f64, NULL)
EVAL(log, log_f64, NULL)
EVAL(exp, exp_f64, NULL)
EVAL(erf, erf_f64, NULL)
EVAL(sin, sin_f64, NULL)
EVAL(cos, cos_f64, NULL)
EVAL(tan, tan_f64, NULL)
EVAL(asin, asin_f64, NULL)
EVAL(acos, acos_f64, NULL)
EVAL(atan, atan_f64, NULL)
EVAL(sinh, sinh_f64, NULL)
EVAL(cosh, cosh_f64, NULL)
EVAL(asinh, asinh_f64, NULL)
EVAL(acosh, acosh_f64, NULL)
EVAL(atanh, atanh_f64, NULL)
EVAL(not, NULL, not_i64)
EVAL(bitwisenot, NULL, bitwise_not_i64)
EVAL(isnan, isnan_f64, NULL)
EVAL(softplus, softplus_f64, NULL)
EVAL(softsign, softsign_f64, NULL)
EVAL(mish, mish_f64, NULL)

/* One attribute, alpha. */
#define EVAL_ALPHA(name)                                                                                     \
  npuc_status npuc_eval_##name(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) { \
    double p[] = {(double)NPUC_ATTRS(alpha_attributes, c->node)->alpha};                                     \
    return run(c, inputs, outputs, name##_f64, NULL, p);                                                     \
  }
EVAL_ALPHA(elu)
EVAL_ALPHA(celu)
EVAL_ALPHA(thresholdedrelu)
EVAL_ALPHA(swish)

npuc_status npuc_eval_selu(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const selu_attributes *a = NPUC_ATTRS(selu_attributes, c->node);
  double p[] = {(double)a->alpha, (double)a->gamma};
  return run(c, inputs, outputs, selu_f64, NULL, p);
}

npuc_status npuc_eval_isinf(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const isinf_attributes *a = NPUC_ATTRS(isinf_attributes, c->node);
  double p[] = {(double)a->detect_negative, (double)a->detect_positive};
  return run(c, inputs, outputs, isinf_f64, NULL, p);
}

npuc_status npuc_eval_gelu(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  bool by_tanh = NPUC_ATTRS(gelu_attributes, c->node)->approximate[0] == 't';
  return run(c, inputs, outputs, by_tanh ? gelu_tanh_f64 : gelu_f64, NULL, NULL);
}

/* Integers take part with the attributes' whole numbers: the result is truncated. */
npuc_status npuc_eval_shrink(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const shrink_attributes *a = NPUC_ATTRS(shrink_attributes, c->node);
  double p[] = {(double)a->bias, (double)a->lambd};
  if (!npuc_dtype_is_integer(inputs[0]->type)) return run(c, inputs, outputs, shrink_f64, NULL, p);
  for (int64_t i = 0; i < npuc_tensor_elements(inputs[0]); i++) {
    npuc_tensor_set_int(outputs[0], i, (int64_t)trunc(shrink_f64(npuc_tensor_get(inputs[0], i), p)));
  }
  return NPUC_OK;
}
