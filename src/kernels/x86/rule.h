/* SPDX-License-Identifier: Apache-2.0 */
/* RULE of docs/numerics.md on vectors of 8 sums: clamp(zp + ((t*M + rnd) >> s), lo, hi) with 64-bit products.
 *
 * Callers scale M and s (or t and s) by the same power of two, which changes no result, so that s >= 32 in practice: then the
 * shifted value is the product's high half shifted by s - 32, in 32-bit lanes. A smaller s takes the 64-bit way. */
#ifndef NPUC_KERNELS_X86_RULE_H
#define NPUC_KERNELS_X86_RULE_H

#include <immintrin.h>
#include <string.h>

#include "kernels/target.h"

/* p >> s in 64-bit lanes, arithmetic: AVX2 has only the logical shift. */
NPUC_TARGET_AVX2 NPUC_INLINE __m256i shift_i64(__m256i p, __m128i s) {
  const __m256i top = _mm256_set1_epi64x((long long)0x8000000000000000ull);
  return _mm256_sub_epi64(_mm256_srl_epi64(_mm256_xor_si256(p, top), s), _mm256_srl_epi64(top, s));
}

NPUC_TARGET_AVX2 NPUC_INLINE __m256i clamp_i64(__m256i v, __m256i lo, __m256i hi) {
  v = _mm256_blendv_epi8(v, lo, _mm256_cmpgt_epi64(lo, v));
  return _mm256_blendv_epi8(v, hi, _mm256_cmpgt_epi64(v, hi));
}

/* even, odd: products of lanes 0 2 4 6 and 1 3 5 7, rounding constant included. */
NPUC_TARGET_AVX2 NPUC_INLINE __m256i finish_rule(__m256i even, __m256i odd, int32_t s, int32_t zero_point, int32_t lo, int32_t hi) {
  if (s >= 32) {
    __m256i high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
    __m256i v = _mm256_sra_epi32(high, _mm_cvtsi32_si128(s - 32));
    /* |v| < 2^30, so that the zero point cannot overflow it */
    v = _mm256_add_epi32(v, _mm256_set1_epi32(zero_point));
    return _mm256_min_epi32(_mm256_max_epi32(v, _mm256_set1_epi32(lo)), _mm256_set1_epi32(hi));
  }
  const __m128i count = _mm_cvtsi32_si128(s);
  const __m256i zp = _mm256_set1_epi64x(zero_point), least = _mm256_set1_epi64x(lo), most = _mm256_set1_epi64x(hi);
  even = clamp_i64(_mm256_add_epi64(shift_i64(even, count), zp), least, most);
  odd = clamp_i64(_mm256_add_epi64(shift_i64(odd, count), zp), least, most);
  return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
}

NPUC_TARGET_AVX2 NPUC_INLINE __m256i rule_i32(__m256i t, int32_t m, int32_t s, int32_t zero_point, int32_t lo, int32_t hi) {
  const __m256i factor = _mm256_set1_epi32(m), round = _mm256_set1_epi64x(s ? 1ll << (s - 1) : 0);
  __m256i even = _mm256_add_epi64(_mm256_mul_epi32(t, factor), round);
  __m256i odd = _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(t, 32), factor), round);
  return finish_rule(even, odd, s, zero_point, lo, hi);
}

/* The low bytes of 8 lanes. */
NPUC_TARGET_AVX2 NPUC_INLINE void store_bytes(__m256i v, uint8_t *y, int32_t lanes) {
  const __m256i low = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1,
                                       -1, -1, -1, -1, -1);
  __m256i packed = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(v, low), _mm256_setr_epi32(0, 4, 1, 1, 1, 1, 1, 1));
  if (lanes == 8) {
    _mm_storel_epi64((__m128i *)(void *)y, _mm256_castsi256_si128(packed));
    return;
  }
  uint8_t all[16];
  _mm_storeu_si128((__m128i *)(void *)all, _mm256_castsi256_si128(packed));
  memcpy(y, all, (size_t)lanes);
}

#endif
