/* SPDX-License-Identifier: Apache-2.0 */
/* exp, log, tanh, sigmoid, erf and what is made of them in float32, ours: a C library's differ by version, and calibration, hence every artifact, would with them.
 * Straight-line code of fused multiply-adds and selections, so that the compiler vectorizes the loops around it and every level gives
 * the same bits. Coefficients: minimax fits by scripts/fit_polynomials.py. Largest error against the real function, measured
 * on a dense grid by tests/unit/kernels/math_f32_test.c:
 *
 *   exp      1 ulp      on [-104, 89]; subnormal results are rounded once
 *   log      1 ulp      on positive normal numbers
 *   tanh     2 ulp
 *   sigmoid  2.5 ulp      relative, also far in the negative tail
 *   erf      1.5 ulp
 *   gelu     2^-23 of |x|  absolute; its negative tail goes to 0 without a step
 *
 * NaN gives NaN. */
#ifndef NPUC_KERNELS_MATH_F32_H
#define NPUC_KERNELS_MATH_F32_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/target.h"

NPUC_INLINE uint32_t bits_of_f32(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

NPUC_INLINE float f32_of_bits(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

/* e^x = 2^n * e^r with n = round(x / ln 2), |r| <= ln(2)/2, e^r = 1 + r + r^2 P(r). Adding 1.5 * 2^23 rounds to an integer
 * (half even) that stands in the low bits. 2^n is applied in two steps: the first is exact, the second rounds into the subnormals or overflows. */
NPUC_INLINE float npuc_exp_f32(float x) {
  const float magic = 12582912.0f;
  float c = x < -104.0f ? -104.0f : x;
  c = c > 89.0f ? 89.0f : c;
  float shifted = fmaf(c, 1.44269504f, magic);
  float n = shifted - magic;
  float r = fmaf(n, -0.693359375f, c); /* ln 2 = 0.693359375 - 2.12194440e-4 */
  r = fmaf(n, 2.12194440e-4f, r);
  float p = 0.000199193804f;
  p = fmaf(p, r, 0.00139472249f);
  p = fmaf(p, r, 0.00833326299f);
  p = fmaf(p, r, 0.0416662544f);
  p = fmaf(p, r, 0.166666672f);
  p = fmaf(p, r, 0.5f);
  p = fmaf(p, r * r, r) + 1.0f;
  int32_t k = (int32_t)(bits_of_f32(shifted) - 0x4b400000u);
  int32_t half = k >> 1;
  float first = f32_of_bits((uint32_t)(half + 127) << 23);
  float second = f32_of_bits((uint32_t)((int32_t)((uint32_t)k - (uint32_t)half) + 127) << 23);
  return p * first * second;
}

/* log x = e ln 2 + log(1 + f), x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2); log(1 + f) = f - f^2/2 + f^3 P(f). For x > 0, normal. */
NPUC_INLINE float npuc_log_f32(float x) {
  uint32_t u = bits_of_f32(x) - 0x3f3504f3u; /* sqrt(1/2) becomes the cut between exponents */
  int32_t e = (int32_t)u >> 23;
  float f = f32_of_bits((u & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  float n = (float)e;
  float p = 0.0691536814f;
  p = fmaf(p, f, -0.117898077f);
  p = fmaf(p, f, 0.118729763f);
  p = fmaf(p, f, -0.123843484f);
  p = fmaf(p, f, 0.142186582f);
  p = fmaf(p, f, -0.16669251f);
  p = fmaf(p, f, 0.200022265f);
  p = fmaf(p, f, -0.249999866f);
  p = fmaf(p, f, 0.333333105f);
  float f2 = f * f;
  float low = fmaf(n, -2.12194440e-4f, fmaf(p, f2 * f, -0.5f * f2));
  float y = fmaf(n, 0.693359375f, f + low);
  return x == x ? y : x;
}

/* Below 0.625 a polynomial in x^2 (relative accuracy), above it 1 - 2/(e^2|x| + 1). */
NPUC_INLINE float npuc_tanh_f32(float x) {
  float a = fabsf(x);
  float u = x * x;
  float p = 0.0021227425895631313f;
  p = fmaf(p, u, -0.008156276308000088f);
  p = fmaf(p, u, 0.021692605689167976f);
  p = fmaf(p, u, -0.053945377469062805f);
  p = fmaf(p, u, 0.13333195447921753f);
  p = fmaf(p, u, -0.3333333134651184f);
  float small = fmaf(p * u, x, x);
  float large = 1.0f - 2.0f / (npuc_exp_f32(2.0f * a) + 1.0f);
  return copysignf(a < 0.625f ? small : large, x);
}

/* With e = e^-|x|: 1/(1 + e) for x >= 0, e/(1 + e) below, so that neither tail overflows nor vanishes early. */
NPUC_INLINE float npuc_sigmoid_f32(float x) {
  float e = npuc_exp_f32(-fabsf(x));
  float top = x >= 0.0f ? 1.0f : e;
  float y = top / (1.0f + e);
  return x == x ? y : x;
}

/* erf x = x + x P(x^2), for |x| below 0.875. */
NPUC_INLINE float npuc_erf_small_f32(float x) {
  float u = x * x;
  float p = 8.60303189e-05f;
  p = fmaf(p, u, -0.000819603971f);
  p = fmaf(p, u, 0.00520558935f);
  p = fmaf(p, u, -0.0268611833f);
  p = fmaf(p, u, 0.11283727f);
  p = fmaf(p, u, -0.376126349f);
  p = fmaf(p, u, 0.128379166f);
  return fmaf(p, x, x);
}

/* erfc a = 1 - erf a for a >= 0.875: e^P(a) up to 4. There it is 1.5e-8, less than an ulp of what it is added to, and falls on as e^-a^2 does. */
NPUC_INLINE float npuc_erfc_large_f32(float a) {
  float c = a < 4.0f ? a : 4.0f;
  float p = -1.11437657e-06f;
  p = fmaf(p, c, -6.10687721e-06f);
  p = fmaf(p, c, 0.000348130619f);
  p = fmaf(p, c, -0.0038928485f);
  p = fmaf(p, c, 0.024570616f);
  p = fmaf(p, c, -0.10760124f);
  p = fmaf(p, c, -0.633861363f);
  p = fmaf(p, c, -1.12929642f);
  p = fmaf(p, c, 0.000134843154f);
  return npuc_exp_f32(p - (a * a - c * c));
}

NPUC_INLINE float npuc_erf_f32(float x) {
  float a = fabsf(x);
  float large = copysignf(1.0f - npuc_erfc_large_f32(a), x);
  return a < 0.875f ? npuc_erf_small_f32(x) : large;
}

/* x Phi(x), Phi(x) = (1 + erf(x / sqrt 2)) / 2, on the negative side erfc / 2, so that nothing cancels. */
NPUC_INLINE float npuc_gelu_f32(float x) {
  float z = x * 0.707106781f;
  float a = fabsf(z);
  float tail = 0.5f * npuc_erfc_large_f32(a);
  float large = z < 0.0f ? tail : 1.0f - tail;
  return x * (a < 0.875f ? fmaf(0.5f, npuc_erf_small_f32(z), 0.5f) : large);
}

/* x (1 + tanh v) / 2 = x sigmoid(2 v), v = sqrt(2 / pi) (x + 0.044715 x^3). */
NPUC_INLINE float npuc_gelu_tanh_f32(float x) {
  float cubed = fmaf(0.044715f * x, x, 1.0f);
  return x * npuc_sigmoid_f32(1.59576912f * x * cubed);
}

NPUC_INLINE float npuc_clamp_unit(float v) { return v < 0.0f ? 0.0f : (v > 1.0f ? 1.0f : v); }

#endif
