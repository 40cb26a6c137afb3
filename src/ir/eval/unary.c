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
F64(thresholdedrelu, x > p[0] ? x : 0.0)
F64(shrink, x<-p[1] ? x + p[0] : x> p[1] ? x - p[0] : 0.0)
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

static npuc_status run(const eval_context *c, const tensor *const *inputs, tensor *const *outputs, const map_functions *f) {
  return npuc_eval_map(c, f, inputs[0], outputs[0]);
}

#define EVAL(name, floats, integers, kernel)                                                                 \
  npuc_status npuc_eval_##name(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) { \
    const map_functions f = {floats, integers, NULL, kernel};                                                \
    return run(c, inputs, outputs, &f);                                                                      \
  }
#define KERNEL(name) npuc_eval_kernels(c)->name##_f32
EVAL(abs, abs_f64, abs_i64, KERNEL(abs))
EVAL(neg, neg_f64, neg_i64, KERNEL(neg))
EVAL(sign, sign_f64, sign_i64, NULL)
EVAL(ceil, ceil_f64, NULL, NULL)
EVAL(floor, floor_f64, NULL, NULL)
EVAL(round, round_f64, NULL, NULL)
EVAL(sqrt, sqrt_f64, NULL, KERNEL(sqrt))
EVAL(reciprocal, reciprocal_f64, NULL, KERNEL(reciprocal))
EVAL(log, log_f64, NULL, NULL)
EVAL(exp, exp_f64, NULL, KERNEL(exp))
EVAL(erf, erf_f64, NULL, KERNEL(erf))
EVAL(sin, sin_f64, NULL, NULL)
EVAL(cos, cos_f64, NULL, NULL)
EVAL(tan, tan_f64, NULL, NULL)
EVAL(asin, asin_f64, NULL, NULL)
EVAL(acos, acos_f64, NULL, NULL)
EVAL(atan, atan_f64, NULL, NULL)
EVAL(sinh, sinh_f64, NULL, NULL)
EVAL(cosh, cosh_f64, NULL, NULL)
EVAL(asinh, asinh_f64, NULL, NULL)
EVAL(acosh, acosh_f64, NULL, NULL)
EVAL(atanh, atanh_f64, NULL, NULL)
EVAL(not, NULL, not_i64, NULL)
EVAL(bitwisenot, NULL, bitwise_not_i64, NULL)
EVAL(softplus, softplus_f64, NULL, NULL)
EVAL(softsign, softsign_f64, NULL, NULL)
EVAL(mish, mish_f64, NULL, NULL)

static void isnan_body(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  tensor *const *pair = context; /* x, y */
  const float *x = pair[0]->data;
  uint8_t *y = pair[1]->data;
  for (size_t i = begin; i < end; i++) y[i] = x[i] != x[i];
}

npuc_status npuc_eval_isnan(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  if (inputs[0]->type != DTYPE_F32) return run(c, inputs, outputs, &(const map_functions){.floats = isnan_f64});
  tensor x = *inputs[0], *pair[] = {&x, outputs[0]};
  npuc_parallel_for(c->pool, (size_t)npuc_tensor_elements(&x), 65536, isnan_body, pair);
  return NPUC_OK;
}

/* One attribute, alpha. */
#define EVAL_ALPHA(name, kernel)                                                                             \
  npuc_status npuc_eval_##name(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) { \
    double p[] = {(double)NPUC_ATTRS(alpha_attributes, c->node)->alpha, 0.0};                                \
    const map_functions f = {name##_f64, NULL, p, kernel};                                                   \
    return run(c, inputs, outputs, &f);                                                                      \
  }
EVAL_ALPHA(elu, NULL)
EVAL_ALPHA(celu, NULL)
EVAL_ALPHA(thresholdedrelu, NULL)
EVAL_ALPHA(swish, KERNEL(swish))

npuc_status npuc_eval_selu(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const selu_attributes *a = NPUC_ATTRS(selu_attributes, c->node);
  double p[] = {(double)a->alpha, (double)a->gamma};
  return run(c, inputs, outputs, &(const map_functions){selu_f64, NULL, p, NULL});
}

npuc_status npuc_eval_isinf(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const isinf_attributes *a = NPUC_ATTRS(isinf_attributes, c->node);
  double p[] = {(double)a->detect_negative, (double)a->detect_positive};
  return run(c, inputs, outputs, &(const map_functions){isinf_f64, NULL, p, NULL});
}

npuc_status npuc_eval_gelu(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  bool by_tanh = NPUC_ATTRS(gelu_attributes, c->node)->approximate[0] == 't';
  const map_functions tanh_form = {gelu_tanh_f64, NULL, NULL, KERNEL(gelutanh)}, erf_form = {gelu_f64, NULL, NULL, KERNEL(gelu)};
  return run(c, inputs, outputs, by_tanh ? &tanh_form : &erf_form);
}

/* Integers take part with the attributes' whole numbers: the result is truncated. */
npuc_status npuc_eval_shrink(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const shrink_attributes *a = NPUC_ATTRS(shrink_attributes, c->node);
  double p[] = {(double)a->bias, (double)a->lambd};
  if (!npuc_dtype_is_integer(inputs[0]->type)) return run(c, inputs, outputs, &(const map_functions){shrink_f64, NULL, p, NULL});
  for (int64_t i = 0; i < npuc_tensor_elements(inputs[0]); i++) {
    npuc_tensor_set_int(outputs[0], i, (int64_t)trunc(shrink_f64(npuc_tensor_get(inputs[0], i), p)));
  }
  return NPUC_OK;
}
