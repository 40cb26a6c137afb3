/* SPDX-License-Identifier: Apache-2.0 */
/* 16-bit floats by bit manipulation, so that the result is the same with and without hardware conversion.
 *
 *   f32   s eeeeeeee mmmmmmmmmmmmmmmmmmmmmmm   bias 127
 *   f16   s eeeee    mmmmmmmmmm                bias 15    (e = 0: subnormal, value m * 2^-24)
 *   bf16  s eeeeeeee mmmmmmm                   the upper half of an f32 */
#include "base/half.h"

#include <string.h>

static uint32_t bits_of(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}

static float float_of(uint32_t u) {
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}

float npuc_f16_to_f32(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
  uint32_t exponent = (h >> 10) & 0x1fu;
  uint32_t mantissa = h & 0x3ffu;
  if (exponent == 0x1f) { /* infinity, NaN (made quiet) */
    uint32_t quiet = mantissa ? 0x400000u : 0;
    return float_of(sign | 0x7f800000u | (mantissa << 13) | quiet);
  }
  if (exponent != 0) return float_of(sign | ((exponent + 112) << 23) | (mantissa << 13));
  if (mantissa == 0) return float_of(sign);
  /* Subnormal: shift the leading one up to the implicit place; each shift lowers the exponent by one. */
  exponent = 113;
  while (!(mantissa & 0x400u)) {
    mantissa <<= 1;
    exponent--;
  }
  return float_of(sign | (exponent << 23) | ((mantissa & 0x3ffu) << 13));
}

uint16_t npuc_f32_to_f16(float f) {
  uint32_t u = bits_of(f);
  uint32_t sign = (u >> 16) & 0x8000u;
  uint32_t magnitude = u & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  /* 65520 is half way between the largest finite value 65504 and 2^16; the tie goes to even, which is infinity. */
  if (magnitude >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);
  uint32_t kept, rest, half;
  if (magnitude >= 0x38800000u) { /* normal: at least 2^-14 */
    kept = (magnitude - 0x38000000u) >> 13;
    rest = magnitude & 0x1fffu;
    half = 0x1000u;
  } else { /* subnormal in units of 2^-24: value = m * 2^(e-150) = (m >> (126-e)) * 2^-24 */
    uint32_t exponent = magnitude >> 23;
    uint32_t shift = 126 - exponent;
    if (shift > 24) return (uint16_t)sign; /* below half of the smallest */
    uint32_t m = (magnitude & 0x7fffffu) | 0x800000u;
    kept = m >> shift;
    rest = m & ((1u << shift) - 1);
    half = 1u << (shift - 1);
  }
  /* A carry out of the mantissa moves into the exponent, which is the right answer. */
  if (rest > half || (rest == half && (kept & 1))) kept++;
  return (uint16_t)(sign | kept);
}

float npuc_bf16_to_f32(uint16_t h) {
  uint32_t u = (uint32_t)h << 16;
  if ((u & 0x7fffffffu) > 0x7f800000u) u |= 0x400000u;
  return float_of(u);
}

uint16_t npuc_f32_to_bf16(float f) {
  uint32_t u = bits_of(f);
  if ((u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)((u >> 16) | 0x40u);
  /* Adds just under a half, plus one when the kept part is odd: round to nearest, ties to even. */
  return (uint16_t)((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
}
