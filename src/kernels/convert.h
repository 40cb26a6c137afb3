/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of elements of any dtype to and from one working type, at any alignment. What the executor does with dtypes that have no
 * kernels of their own: convert, compute, convert back. Rounding is half to even; integers saturate. */
#ifndef NPUC_KERNELS_CONVERT_H
#define NPUC_KERNELS_CONVERT_H

#include "tensor/tensor.h"

/* Elements [first, first + n) of t. */
void npuc_convert_to_f32(const tensor *t, int64_t first, int64_t n, float *out);
void npuc_convert_from_f32(const float *in, int64_t n, tensor *t, int64_t first);
void npuc_convert_to_f64(const tensor *t, int64_t first, int64_t n, double *out);
void npuc_convert_from_f64(const double *in, int64_t n, tensor *t, int64_t first);
void npuc_convert_to_i64(const tensor *t, int64_t first, int64_t n, int64_t *out);
/* Wraps around modulo 2^bits, as ONNX's integer arithmetic does. */
void npuc_convert_from_i64(const int64_t *in, int64_t n, tensor *t, int64_t first);

/* The boundary of the integer module (docs/numerics.md section 4) for 8-bit types: clamp(round_half_even(x / scale) + zero), NaN as 0. */
void npuc_convert_quantize_u8(const float *x, int64_t n, float scale, int32_t zero, uint8_t *y);
void npuc_convert_quantize_i8(const float *x, int64_t n, float scale, int32_t zero, int8_t *y);

#endif
