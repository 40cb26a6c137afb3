/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of docs/numerics.md on sums of int8 convolutions, in registers: 4 vectors of 8 channels become 32 bytes in order.
 *
 * SHORT: with t = 2^16 h + l (h signed, l unsigned, 16 bits), M < 2^15 and 17 <= s,
 *   (t*M + 2^(s-1)) >> s = (h*M + ((l*M) >> 16) + 2^(s-17)) >> (s - 16)
 * because 2^(s-1) is a multiple of 2^16: vpmaddwd and vpmulhuw instead of 64-bit products. */
#ifndef NPUC_KERNELS_X86_RULE_CHANNELS_H
#define NPUC_KERNELS_X86_RULE_CHANNELS_H

#include <immintrin.h>

#include "kernels/int8.h"
#include "kernels/target.h"

/* What is the same for all pixels of a vector of channels. */
typedef struct rule_constants {
  __m256i low, high;  /* SHORT: M in the low and in the high half; LONG: M of even and of odd channels */
  __m256i round, odd; /* rounding constant; LONG: of even and of odd channels */
  __m256i shift;
} rule_constants;

NPUC_TARGET_AVX2 NPUC_INLINE rule_constants rule_constants_of(const rule_i8 *r, int first, const bool is_short) {
  const __m256i m = _mm256_loadu_si256((const __m256i *)(const void *)(r->m + first));
  const __m256i s = _mm256_loadu_si256((const __m256i *)(const void *)(r->s + first));
  if (is_short) {
    const __m256i one = _mm256_set1_epi32(1);
    return (rule_constants){.low = m,
                            .high = _mm256_slli_epi32(m, 16),
                            .round = _mm256_sllv_epi32(one, _mm256_sub_epi32(s, _mm256_set1_epi32(17))),
                            .shift = _mm256_sub_epi32(s, _mm256_set1_epi32(16))};
  }
  const __m256i one = _mm256_set1_epi64x(1), before = _mm256_sub_epi32(s, _mm256_set1_epi32(1));
  const __m256i even = _mm256_and_si256(before, _mm256_set1_epi64x(0xffffffffll));
  return (rule_constants){.low = m,
                          .high = _mm256_srli_epi64(m, 32),
                          .round = _mm256_sllv_epi64(one, even),
                          .odd = _mm256_sllv_epi64(one, _mm256_srli_epi64(before, 32)),
                          .shift = _mm256_sub_epi32(s, _mm256_set1_epi32(32))};
}

NPUC_TARGET_AVX2 NPUC_INLINE __m256i rule_shifted(__m256i t, const rule_constants *c, const bool is_short) {
  if (is_short) {
    __m256i product = _mm256_add_epi32(_mm256_madd_epi16(t, c->high), _mm256_mulhi_epu16(t, c->low));
    return _mm256_srav_epi32(_mm256_add_epi32(product, c->round), c->shift);
  }
  __m256i even = _mm256_add_epi64(_mm256_mul_epi32(t, c->low), c->round);
  __m256i odd = _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(t, 32), c->high), c->odd);
  return _mm256_srav_epi32(_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa), c->shift);
}

typedef struct rule_limits {
  __m256i zero_point, lo, hi;
  bool is_signed;
} rule_limits;

NPUC_TARGET_AVX2 NPUC_INLINE rule_limits rule_limits_of(const rule_i8 *r) {
  return (rule_limits){_mm256_set1_epi16((short)r->zero_point), _mm256_set1_epi8((char)r->lo), _mm256_set1_epi8((char)r->hi), r->is_signed};
}

/* 32 results as bytes. Saturation to 16 bits on the way changes nothing: the clamp is narrower. */
NPUC_TARGET_AVX2 NPUC_INLINE __m256i rule_bytes_of(__m256i a, __m256i b, __m256i c, __m256i d, const rule_limits *l) {
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  __m256i ab = _mm256_adds_epi16(_mm256_packs_epi32(a, b), l->zero_point);
  __m256i cd = _mm256_adds_epi16(_mm256_packs_epi32(c, d), l->zero_point);
  if (l->is_signed) {
    __m256i all = _mm256_packs_epi16(ab, cd);
    return _mm256_permutevar8x32_epi32(_mm256_min_epi8(_mm256_max_epi8(all, l->lo), l->hi), order);
  }
  __m256i all = _mm256_packus_epi16(ab, cd);
  return _mm256_permutevar8x32_epi32(_mm256_min_epu8(_mm256_max_epu8(all, l->lo), l->hi), order);
}

#endif
