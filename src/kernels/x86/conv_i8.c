/* SPDX-License-Identifier: Apache-2.0 */
/* The int8 convolution tile with AVX2 (vpmaddwd on sign-extended values: vpmaddubsw would saturate) and AVX-512 VNNI (vpdpwssd, the
 * same sums), the dot products of QGemm, and the loader that interleaves two channels. */
#include "kernels/kernels.h"
#include "kernels/target.h"

#if NPUC_X86
#include <immintrin.h>

#include "kernels/x86/rule.h"

NPUC_TARGET_AVX2 NPUC_INLINE void rule_avx2(__m256i sum, const conv_tile *t, int c, uint8_t *y, int32_t lanes) {
  store_bytes(rule_i32(sum, t->multiplier[c], t->shift[c], t->zero_point, t->lo, t->hi), y, lanes);
}

#define NAME(op) npuc_i8_##op##__avx2
#define TARGET NPUC_TARGET_AVX2
#define VEC __m256i
#define LANES 8
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), (v))
#define SET _mm256_set1_epi32
#define MAC(sum, a, b) _mm256_add_epi32((sum), _mm256_madd_epi16((a), (b)))
#define RULE rule_avx2
#include "kernels/conv_i8_template.h"
#undef NAME
#undef TARGET
#undef VEC
#undef LANES
#undef LOAD
#undef STORE
#undef SET
#undef MAC
#undef RULE

NPUC_TARGET_AVX512 NPUC_INLINE void rule_avx512(__m512i sum, const conv_tile *t, int c, uint8_t *y, int32_t lanes) {
  __m256i low = rule_i32(_mm512_castsi512_si256(sum), t->multiplier[c], t->shift[c], t->zero_point, t->lo, t->hi);
  store_bytes(low, y, lanes < 8 ? lanes : 8);
  if (lanes <= 8) return;
  __m256i high = rule_i32(_mm512_extracti64x4_epi64(sum, 1), t->multiplier[c], t->shift[c], t->zero_point, t->lo, t->hi);
  store_bytes(high, y + 8, lanes - 8);
}

#define NAME(op) npuc_i8_##op##__avx512
#define TARGET NPUC_TARGET_AVX512
#define VEC __m512i
#define LANES 16
#define LOAD(p) _mm512_loadu_si512((const void *)(p))
#define STORE(p, v) _mm512_storeu_si512((void *)(p), (v))
#define SET _mm512_set1_epi32
#define MAC _mm512_dpwssd_epi32
#define RULE rule_avx512
#include "kernels/conv_i8_template.h"

NPUC_TARGET_AVX2 NPUC_INLINE int32_t sum_lanes(__m256i v) {
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  __m128i two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 1)));
}

NPUC_TARGET_AVX2 void npuc_i8_dot__avx2(const int16_t *a, const int8_t *b, size_t b_stride, size_t k, int32_t *y, size_t n) {
  for (size_t j = 0; j < n; j++) {
    const int8_t *row = b + j * b_stride;
    __m256i sum = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + 16 <= k; i += 16) {
      __m256i w = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(row + i)));
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_loadu_si256((const __m256i *)(const void *)(a + i)), w));
    }
    int32_t total = sum_lanes(sum);
    for (; i < k; i++) total += (int32_t)a[i] * row[i];
    y[j] = total;
  }
}

NPUC_TARGET_AVX2 NPUC_INLINE __m256i widen(const uint8_t *p, bool is_signed, __m256i zero) {
  __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
  return _mm256_sub_epi16(is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes), zero);
}

NPUC_TARGET_AVX2 NPUC_INLINE __m128i widen_half(const uint8_t *p, bool is_signed, __m128i zero) {
  __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)p);
  return _mm_sub_epi16(is_signed ? _mm_cvtepi8_epi16(bytes) : _mm_cvtepu8_epi16(bytes), zero);
}

NPUC_TARGET_AVX2 void npuc_i8_pair__avx2(const uint8_t *a, const uint8_t *b, bool is_signed, int32_t zero_point, size_t n, int16_t *out) {
  const __m256i zero = _mm256_set1_epi16((short)zero_point);
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    __m256i p = widen(a + i, is_signed, zero), q = b ? widen(b + i, is_signed, zero) : _mm256_setzero_si256();
    __m256i low = _mm256_unpacklo_epi16(p, q), high = _mm256_unpackhi_epi16(p, q); /* pairs 0-3 8-11, 4-7 12-15 */
    _mm256_storeu_si256((__m256i *)(void *)(out + 2 * i), _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256((__m256i *)(void *)(out + 2 * i + 16), _mm256_permute2x128_si256(low, high, 0x31));
  }
  if (i + 8 <= n) {
    const __m128i half = _mm256_castsi256_si128(zero);
    __m128i p = widen_half(a + i, is_signed, half), q = b ? widen_half(b + i, is_signed, half) : _mm_setzero_si128();
    _mm_storeu_si128((__m128i *)(void *)(out + 2 * i), _mm_unpacklo_epi16(p, q));
    _mm_storeu_si128((__m128i *)(void *)(out + 2 * i + 8), _mm_unpackhi_epi16(p, q));
    i += 8;
  }
  npuc_i8_pair__scalar(a + i, b ? b + i : NULL, is_signed, zero_point, n - i, out + 2 * i);
}

#endif
