/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of two elements without kernels of their own, with broadcasting: comparisons, logic, bits, Pow, Mod, PRelu; and Sum, Mean of many operands. */
#include <math.h>
#include <string.h>

#include "ir/eval/text.h"
#include "ir/eval/broadcast.h"
#include "ir/eval/elementwise.h"
#include "kernels/convert.h"

#define F64(name, formula)                                        \
  static double name##_f64(double a, double b, const double *p) { \
    (void)p;                                                      \
    return (formula);                                             \
  }
#define I64(name, formula)                                      \
  static int64_t name##_i64(int64_t a, int64_t b, dtype type) { \
    (void)type;                                                 \
    return (formula);                                           \
  }

static int64_t bits_mask(dtype t) { return npuc_dtype_bits(t) >= 64 ? -1 : (int64_t)(((uint64_t)1 << npuc_dtype_bits(t)) - 1); }
static bool below(int64_t a, int64_t b, dtype t) { return t == DTYPE_U64 ? (uint64_t)a < (uint64_t)b : a < b; }

F64(equal, a == b ? 1.0 : 0.0)
F64(less, a < b ? 1.0 : 0.0)
F64(greater, a > b ? 1.0 : 0.0)
F64(lessorequal, a <= b ? 1.0 : 0.0)
F64(greaterorequal, a >= b ? 1.0 : 0.0)
I64(equal, a == b)
I64(less, below(a, b, type))
I64(greater, below(b, a, type))
I64(lessorequal, !below(b, a, type))
I64(greaterorequal, !below(a, b, type))
I64(and, a != 0 && b != 0)
I64(or, a != 0 || b != 0)
I64(xor, (a != 0) != (b != 0))
I64(bitwiseand, a &b)
I64(bitwiseor, a | b)
I64(bitwisexor, a ^ b)
/* A shift by the width or more leaves nothing. */
I64(shift_left, b < 0 || (uint64_t)b >= npuc_dtype_bits(type) ? 0 : (int64_t)((uint64_t)a << b))
/* Signed: the sign comes in. */
I64(shift_right, b < 0 || (uint64_t)b >= npuc_dtype_bits(type) ? (npuc_dtype_kind(type) == KIND_INT && a < 0 ? -1 : 0)
                 : npuc_dtype_kind(type) == KIND_INT           ? (a < 0 ? ~(~a >> b) : a >> b)
                                                               : (int64_t)((uint64_t)(a & bits_mask(type)) >> b))
F64(pow, pow(a, b))
F64(prelu, a < 0.0 ? b * a : a)
I64(prelu, type != DTYPE_U64 && a < 0 ? (int64_t)((uint64_t)a * (uint64_t)b) : a)
F64(fmod, fmod(a, b))
F64(floor_mod,
    fmod(a, b) != 0.0 && (fmod(a, b) < 0.0) != (b < 0.0) ? fmod(a, b) + b : copysign(fmod(a, b), fmod(a, b) == 0.0 ? b : fmod(a, b)))

/* Whole powers by squaring, modulo 2^64; a negative exponent leaves 1, -1 or 0. */
static int64_t pow_i64(int64_t a, int64_t b, dtype type) {
  if (b < 0 && type != DTYPE_U64) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
  uint64_t result = 1, base = (uint64_t)a;
  for (uint64_t e = (uint64_t)b; e; e >>= 1, base *= base) {
    if (e & 1) result *= base;
  }
  return (int64_t)result;
}

/* The remainder has the divisor's sign; by 0 it is 0, where ONNX defines nothing. */
static int64_t floor_mod_i64(int64_t a, int64_t b, dtype type) {
  if (b == 0) return 0;
  if (type == DTYPE_U64) return (int64_t)((uint64_t)a % (uint64_t)b);
  int64_t r = b == -1 ? 0 : a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t fmod_i64(int64_t a, int64_t b, dtype type) {
  if (b == 0) return 0;
  if (type == DTYPE_U64) return (int64_t)((uint64_t)a % (uint64_t)b);
  return b == -1 ? 0 : a % b;
}

#define EVAL(name, floats, integers)                                                                         \
  npuc_status npuc_eval_##name(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) { \
    zip_functions f = {floats, integers, NULL};                                                              \
    return npuc_eval_zip(c, &f, inputs[0], inputs[1], outputs[0]);                                           \
  }

npuc_status npuc_eval_equal(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  zip_functions f = {equal_f64, equal_i64, NULL};
  if (inputs[0]->type == DTYPE_STRING) return npuc_eval_equal_texts(c, inputs[0], inputs[1], outputs[0]);
  return npuc_eval_zip(c, &f, inputs[0], inputs[1], outputs[0]);
}

EVAL(less, less_f64, less_i64)
EVAL(greater, greater_f64, greater_i64)
EVAL(lessorequal, lessorequal_f64, lessorequal_i64)
EVAL(greaterorequal, greaterorequal_f64, greaterorequal_i64)
EVAL(and, NULL, and_i64)
EVAL(or, NULL, or_i64)
EVAL(xor, NULL, xor_i64)
EVAL(bitwiseand, NULL, bitwiseand_i64)
EVAL(bitwiseor, NULL, bitwiseor_i64)
EVAL(bitwisexor, NULL, bitwisexor_i64)
EVAL(prelu, prelu_f64, prelu_i64)

typedef struct square_job {
  binary_f32_kernel *mul;
  const float *x;
  float *y;
} square_job;

static void square_body(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const square_job *j = context;
  j->mul(j->x + begin, 1, j->x + begin, 1, j->y + begin, end - begin);
}

/* A square is exact in double, so that one rounded product has the bits of pow. */
npuc_status npuc_eval_pow(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const zip_functions f = {pow_f64, pow_i64, NULL};
  const tensor *x = inputs[0], *e = inputs[1];
  bool square = x->type == DTYPE_F32 && npuc_tensor_elements(e) == 1 && npuc_tensor_elements(outputs[0]) == npuc_tensor_elements(x) &&
                (npuc_dtype_kind(e->type) == KIND_FLOAT || npuc_dtype_is_integer(e->type)) && npuc_tensor_get(e, 0) == 2.0;
  if (!square) return npuc_eval_zip(c, &f, x, e, outputs[0]);
  square_job job = {npuc_eval_kernels(c)->mul_f32, x->data, outputs[0]->data};
  npuc_parallel_for(c->pool, (size_t)npuc_tensor_elements(x), 16384, square_body, &job);
  return NPUC_OK;
}

npuc_status npuc_eval_bitshift(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  bool left = strcmp(NPUC_ATTRS(bitshift_attributes, c->node)->direction, "LEFT") == 0;
  zip_functions f = {NULL, left ? shift_left_i64 : shift_right_i64, NULL};
  return npuc_eval_zip(c, &f, inputs[0], inputs[1], outputs[0]);
}

npuc_status npuc_eval_mod(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  bool by_fmod = NPUC_ATTRS(mod_attributes, c->node)->fmod != 0;
  zip_functions f = {by_fmod ? fmod_f64 : floor_mod_f64, by_fmod ? fmod_i64 : floor_mod_i64, NULL};
  return npuc_eval_zip(c, &f, inputs[0], inputs[1], outputs[0]);
}

/* -- many operands -- */

F64(add, a + b)
I64(add, (int64_t)((uint64_t)a + (uint64_t)b))

/* The output is the running sum; one operand broadcast alone has the output's shape. */
static npuc_status sum_of(const eval_context *c, const tensor *const *inputs, tensor *y) {
  zip_functions f = {add_f64, add_i64, NULL};
  if (c->node->n_inputs == 1) {
    npuc_eval_copy(inputs[0], y);
    return NPUC_OK;
  }
  NPUC_TRY(npuc_eval_zip(c, &f, inputs[0], inputs[1], y));
  for (int32_t i = 2; i < c->node->n_inputs; i++) NPUC_TRY(npuc_eval_zip(c, &f, y, inputs[i], y));
  return NPUC_OK;
}

npuc_status npuc_eval_sum(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return sum_of(c, inputs, outputs[0]);
}

static double divide_f64(double x, const double *p) { return x / p[0]; }

npuc_status npuc_eval_mean(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  double count[] = {(double)c->node->n_inputs};
  map_functions f = {divide_f64, NULL, count, NULL};
  NPUC_TRY(sum_of(c, inputs, outputs[0]));
  return npuc_eval_map(c, &f, outputs[0], outputs[0]);
}
