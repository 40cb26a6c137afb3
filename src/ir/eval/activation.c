/* SPDX-License-Identifier: Apache-2.0 */
/* Activations: one function of each element, with float32 kernels (elementwise.h); integers (Relu, Clip) have exact formulas. */
#include <math.h>

#include "ir/eval/elementwise.h"
#include "kernels/convert.h"

enum { PIECE = 1024 };

/* p: what the kernel gets as a and b. */
#define F64(name, formula)                              \
  static double name##_f64(double x, const double *p) { \
    (void)p;                                            \
    return (formula);                                   \
  }
F64(relu, x < 0.0 ? 0.0 : x)
F64(leakyrelu, x < 0.0 ? p[0] * x : x)
F64(sigmoid, 1.0 / (1.0 + exp(-x)))
F64(tanh, tanh(x))
F64(unit, x<0.0 ? 0.0 : x> 1.0 ? 1.0 : x) /* NaN stays */
F64(hardsigmoid, unit_f64(p[0] * x + p[1], p))
F64(hardswish, x *hardsigmoid_f64(x, p))
F64(clip, x<p[0] ? p[0] : x> p[1] ? p[1] : x)

static npuc_status run(const eval_context *c, const tensor *const *inputs, tensor *const *outputs, unary_f64_function *floats,
                       unary_f32_kernel *kernel, double a, double b) {
  const double p[] = {a, b}; /* float32 attributes, or Clip's bounds in x's own type */
  const map_functions f = {floats, NULL, p, kernel};
  return npuc_eval_map(c, &f, inputs[0], outputs[0]);
}

#define EVAL(name, a, b)                                                                                     \
  npuc_status npuc_eval_##name(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) { \
    return run(c, inputs, outputs, name##_f64, npuc_eval_kernels(c)->name##_f32, a, b);                      \
  }
EVAL(sigmoid, 0.0, 0.0)
EVAL(tanh, 0.0, 0.0)
EVAL(leakyrelu, (double)NPUC_ATTRS(alpha_attributes, c->node)->alpha, 0.0)
EVAL(hardsigmoid, (double)NPUC_ATTRS(hardsigmoid_attributes, c->node)->alpha, (double)NPUC_ATTRS(hardsigmoid_attributes, c->node)->beta)
EVAL(hardswish, (double)(1.0f / 6.0f), 0.5)

/* -- Relu and Clip also take integers -- */

/* uint64 comes as int64 with its bits: with the highest one turned round, the order is the signed one. */
static int64_t ordered(int64_t v, bool turn) { return turn ? (int64_t)((uint64_t)v ^ (uint64_t)INT64_MIN) : v; }

/* The bounds are ordered numbers, INT64_MIN and INT64_MAX where there is none. */
static npuc_status clip_integers(const eval_context *c, const tensor *x, tensor *y, int64_t lo, int64_t hi) {
  if (!npuc_dtype_is_integer(x->type)) return npuc_eval_unsupported(c, x->type);
  int64_t v[PIECE], total = npuc_tensor_elements(x);
  bool turn = x->type == DTYPE_U64;
  for (int64_t i = 0; i < total; i += PIECE) {
    int64_t n = total - i < PIECE ? total - i : PIECE;
    npuc_convert_to_i64(x, i, n, v);
    for (int64_t k = 0; k < n; k++) {
      int64_t o = ordered(v[k], turn);
      v[k] = ordered(o < lo ? lo : o > hi ? hi : o, turn);
    }
    npuc_convert_from_i64(v, n, y, i);
  }
  return NPUC_OK;
}

npuc_status npuc_eval_relu(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  if (npuc_dtype_kind(inputs[0]->type) != KIND_FLOAT)
    return clip_integers(c, inputs[0], outputs[0], ordered(0, inputs[0]->type == DTYPE_U64), INT64_MAX);
  return run(c, inputs, outputs, relu_f64, npuc_eval_kernels(c)->relu_f32, 0.0, 0.0);
}

/* min above max gives max, as ONNX says. */
npuc_status npuc_eval_clip(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *least = eval_input(c, inputs, 1), *most = eval_input(c, inputs, 2);
  if (npuc_dtype_kind(inputs[0]->type) == KIND_FLOAT) {
    double lo = least ? npuc_tensor_get(least, 0) : (double)-INFINITY, hi = most ? npuc_tensor_get(most, 0) : (double)INFINITY;
    if (lo > hi) lo = hi;
    return run(c, inputs, outputs, clip_f64, npuc_eval_kernels(c)->clip_f32, lo, hi);
  }
  bool turn = inputs[0]->type == DTYPE_U64;
  int64_t lo = least ? ordered(npuc_tensor_get_int(least, 0), turn) : INT64_MIN;
  int64_t hi = most ? ordered(npuc_tensor_get_int(most, 0), turn) : INT64_MAX;
  return clip_integers(c, inputs[0], outputs[0], lo > hi ? hi : lo, hi);
}
