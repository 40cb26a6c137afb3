/* SPDX-License-Identifier: Apache-2.0 */
/* One function of each element, or of each pair of elements that numpy's broadcasting brings together, for any dtype: floats are computed in double
 * and rounded once, integers and booleans in int64, whose low bits are kept. A function of one element may have a float32 kernel, which then takes
 * the place of the double for float32, float16 and bfloat16. */
#ifndef NPUC_IR_EVAL_ELEMENTWISE_H
#define NPUC_IR_EVAL_ELEMENTWISE_H

#include "ir/eval/eval.h"

typedef double unary_f64_function(double x, const double *p);
typedef int64_t unary_i64_function(int64_t x, dtype type);
typedef double binary_f64_function(double a, double b, const double *p);
typedef int64_t binary_i64_function(int64_t a, int64_t b, dtype type);

typedef struct map_functions {
  unary_f64_function *floats;   /* NULL: floats are not taken */
  unary_i64_function *integers; /* NULL: integers and booleans are not taken */
  const double *parameters;     /* two for a kernel */
  unary_f32_kernel *kernel;     /* for float32, and through it 16-bit floats; NULL: these are computed in double too */
} map_functions;
/* y = f(x); y's dtype may be another than x's. */
npuc_status npuc_eval_map(const eval_context *c, const map_functions *f, const tensor *x, tensor *y) NPUC_MUST_USE;

typedef struct zip_functions {
  binary_f64_function *floats;
  binary_i64_function *integers; /* where both operands are integers or booleans; NULL: not taken */
  const double *parameters;
} zip_functions;
/* y = f(a, b); y has the broadcast shape and may be a or b where that one is not repeated. */
npuc_status npuc_eval_zip(const eval_context *c, const zip_functions *f, const tensor *a, const tensor *b, tensor *y) NPUC_MUST_USE;

#endif
