/* SPDX-License-Identifier: Apache-2.0 */
/* Floats of 16 bits and fewer as codes: sign, exponent, mantissa.
 *
 *   type      bits  s eeee mmm      bias  infinity            NaN
 *   float16    16   1  5   10        15   e all ones, m 0     e all ones, m > 0
 *   bfloat16   16   1  8    7       127   likewise            likewise
 *   e4m3fn      8   1  4    3         7   none                s.1111.111
 *   e4m3fnuz    8   1  4    3         8   none                0x80 (there is no negative zero)
 *   e5m2        8   1  5    2        15   s.11111.00          m > 0
 *   e5m2fnuz    8   1  5    2        16   none                0x80
 *   e2m1        4   1  2    1         1   none                none
 *   e8m0        8   0  8    0       127   none                0xff; a power of two, no zero
 */
#ifndef NPUC_TENSOR_MINIFLOAT_H
#define NPUC_TENSOR_MINIFLOAT_H

#include "tensor/dtype.h"

/* `type` is one of the above; exact. */
double npuc_minifloat_decode(dtype type, uint32_t code);
/* One rounding, half to even. Out of range: infinity for float16 and bfloat16, the largest finite value (ONNX Cast with saturate = 1) for the
 * others. e8m0 rounds up (ONNX Cast's default), the sign is dropped, zero gives the smallest power. NaN in a type without NaN gives zero. */
uint32_t npuc_minifloat_encode(dtype type, double x);

/* The other ways of ONNX Cast. overflows: out of range is infinity, or NaN where the type has none (saturate = 0). rounding: of e8m0 only. */
typedef enum minifloat_rounding { ROUND_UP, ROUND_DOWN, ROUND_NEAREST } minifloat_rounding;
typedef struct minifloat_mode {
  bool overflows;
  minifloat_rounding rounding;
} minifloat_mode;
uint32_t npuc_minifloat_encode_by(dtype type, double x, minifloat_mode mode);

#endif
