/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise integer operators with multipliers of 15 bits, 64 lanes at a time: interleaving a, b and zeros makes pairs of int16 of them, whose products with (Ma, Mb)
 * vpdpwssd adds to the rounding constant; packing puts the lanes in order again. Zero points are in that constant, and s8 is read as u8 with its highest bit
 * flipped, its zero point with it. */
#include "kernels/kernels.h"
#include "kernels/target.h"

#if NPUC_X86
#include <immintrin.h>

/* What is linear in a and b, as u8: a*ma + b*mb + constant, shifted. */
typedef struct wide_sum {
  __m512i flip_a, flip_b, factors, constant, zero_point, lo, hi;
  __m128i shift;
} wide_sum;

static bool fits(int64_t m) { return m > -32768 && m < 32768; }

/* |sum| <= 2 * 255 * 2^15, twice (the zero points), and the rounding constant is below 2^29. */
NPUC_TARGET_AVX512 static wide_sum sum_of(const binary_i8 *p, int32_t ma, int32_t mb) {
  const int32_t za = p->a_zero_point + (p->a_signed ? 128 : 0), zb = p->b_zero_point + (p->b_signed ? 128 : 0);
  const int32_t round = p->shift ? 1 << (p->shift - 1) : 0;
  return (wide_sum){.flip_a = _mm512_set1_epi8((char)(p->a_signed ? 0x80 : 0)),
                    .flip_b = _mm512_set1_epi8((char)(p->b_signed ? 0x80 : 0)),
                    .factors = _mm512_set1_epi32((int32_t)((uint32_t)(uint16_t)ma | (uint32_t)(uint16_t)mb << 16)),
                    .constant = _mm512_set1_epi32(round - za * ma - zb * mb),
                    .zero_point = _mm512_set1_epi16((short)p->zero_point),
                    .lo = _mm512_set1_epi16((short)p->lo),
                    .hi = _mm512_set1_epi16((short)p->hi),
                    .shift = _mm_cvtsi32_si128(p->shift)};
}

NPUC_TARGET_AVX512 NPUC_INLINE __m512i lanes(const wide_sum *k, __m512i pairs) {
  return _mm512_sra_epi32(_mm512_dpwssd_epi32(k->constant, pairs, k->factors), k->shift);
}

/* Saturation to 16 bits changes nothing: the clamp is narrower. */
NPUC_TARGET_AVX512 NPUC_INLINE __m512i half(const wide_sum *k, __m512i bytes) {
  const __m512i zero = _mm512_setzero_si512();
  const __m512i v = _mm512_packs_epi32(lanes(k, _mm512_unpacklo_epi8(bytes, zero)), lanes(k, _mm512_unpackhi_epi8(bytes, zero)));
  return _mm512_min_epi16(_mm512_max_epi16(_mm512_adds_epi16(v, k->zero_point), k->lo), k->hi);
}

NPUC_TARGET_AVX512 NPUC_INLINE __m512i bytes_of(const wide_sum *k, __m512i a, __m512i b, const bool is_signed) {
  a = _mm512_xor_si512(a, k->flip_a);
  b = _mm512_xor_si512(b, k->flip_b);
  const __m512i low = half(k, _mm512_unpacklo_epi8(a, b)), high = half(k, _mm512_unpackhi_epi8(a, b));
  return is_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
}

NPUC_TARGET_AVX512 static void run(const wide_sum *k, bool is_signed, const uint8_t *a, const uint8_t *b, uint8_t *y, size_t n) {
  for (size_t i = 0; i < n; i += 64) {
    const __mmask64 mask = n - i < 64 ? ((__mmask64)1 << (n - i)) - 1 : ~(__mmask64)0;
    const __m512i u = _mm512_maskz_loadu_epi8(mask, a + i), v = _mm512_maskz_loadu_epi8(mask, b + i);
    _mm512_mask_storeu_epi8(y + i, mask, is_signed ? bytes_of(k, u, v, true) : bytes_of(k, u, v, false));
  }
}

NPUC_TARGET_AVX512 void npuc_i8_add__avx512(const binary_i8 *p, const uint8_t *a, size_t a_step, const uint8_t *b, size_t b_step,
                                            uint8_t *y, size_t n) {
  if (a_step != 1 || b_step != 1 || !fits(p->a_multiplier) || !fits(p->b_multiplier) || p->shift > 30) {
    npuc_i8_add__avx2(p, a, a_step, b, b_step, y, n);
    return;
  }
  const wide_sum k = sum_of(p, p->a_multiplier, p->b_multiplier);
  run(&k, p->lo < 0, a, b, y, n); /* without negative bytes both are the same, or above 127 */
}

/* a times a number: b's part is none. */
NPUC_TARGET_AVX512 void npuc_i8_mul__avx512(const binary_i8 *p, const uint8_t *a, size_t a_step, const uint8_t *b, size_t b_step,
                                            uint8_t *y, size_t n) {
  const int32_t number = n == 0 ? 0 : p->b_signed ? (int8_t)b[0] : b[0];
  const int64_t factor = (int64_t)(number - p->b_zero_point) * p->a_multiplier;
  if (a_step != 1 || b_step != 0 || !fits(factor) || p->shift > 30) {
    npuc_i8_mul__avx2(p, a, a_step, b, b_step, y, n);
    return;
  }
  const wide_sum k = sum_of(p, (int32_t)factor, 0);
  run(&k, p->lo < 0, a, a, y, n);
}

#endif
