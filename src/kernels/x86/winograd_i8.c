/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's transforms: 16 channels of int16 on the way in, 8 channels of int32 on the way out. */
#include "kernels/kernels.h"
#include "kernels/target.h"

#if NPUC_X86
#include <immintrin.h>

NPUC_TARGET_AVX2 NPUC_INLINE __m256i load(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
NPUC_TARGET_AVX2 NPUC_INLINE void store(void *p, __m256i v) { _mm256_storeu_si256((__m256i *)p, v); }

/* One row of B^T d B from the same row of B^T d. */
NPUC_TARGET_AVX2 NPUC_INLINE void put_row(const __m256i t[4], int16_t *v, size_t step) {
  store(v, _mm256_sub_epi16(t[0], t[2]));
  store(v + step, _mm256_add_epi16(t[1], t[2]));
  store(v + 2 * step, _mm256_sub_epi16(t[2], t[1]));
  store(v + 3 * step, _mm256_sub_epi16(t[1], t[3]));
}

NPUC_TARGET_AVX2 void npuc_i8_winograd_in__avx2(const int16_t *x, size_t pitch, size_t channels, int16_t *v, size_t step) {
  for (size_t c = 0; c < channels; c += 16) {
    const int16_t *d0 = x + c, *d1 = d0 + pitch, *d2 = d1 + pitch, *d3 = d2 + pitch;
    __m256i t[4];
    NPUC_UNROLL
    for (size_t j = 0; j < 4; j++) t[j] = _mm256_sub_epi16(load(d0 + j * channels), load(d2 + j * channels));
    put_row(t, v + c, step);
    NPUC_UNROLL
    for (size_t j = 0; j < 4; j++) t[j] = _mm256_add_epi16(load(d1 + j * channels), load(d2 + j * channels));
    put_row(t, v + 4 * step + c, step);
    NPUC_UNROLL
    for (size_t j = 0; j < 4; j++) t[j] = _mm256_sub_epi16(load(d2 + j * channels), load(d1 + j * channels));
    put_row(t, v + 8 * step + c, step);
    NPUC_UNROLL
    for (size_t j = 0; j < 4; j++) t[j] = _mm256_sub_epi16(load(d1 + j * channels), load(d3 + j * channels));
    put_row(t, v + 12 * step + c, step);
  }
}

NPUC_TARGET_AVX2 NPUC_INLINE void put_pixels(const __m256i a[4], __m256i bias, int32_t *to, int width) {
  __m256i first = _mm256_add_epi32(_mm256_add_epi32(a[0], a[1]), a[2]), second = _mm256_sub_epi32(_mm256_sub_epi32(a[1], a[2]), a[3]);
  store(to, _mm256_add_epi32(_mm256_srai_epi32(first, 2), bias));
  store(to + width, _mm256_add_epi32(_mm256_srai_epi32(second, 2), bias));
}

NPUC_TARGET_AVX2 void npuc_i8_winograd_out__avx2(const int32_t *m, size_t step, const int32_t *bias, int width, int32_t *top,
                                                 int32_t *bottom) {
  for (int i = 0; i < width; i += 8) {
    __m256i a[4], b[4];
    NPUC_UNROLL
    for (size_t j = 0; j < 4; j++) {
      const int32_t *at = m + j * step + i;
      __m256i m1 = load(at + 4 * step), m2 = load(at + 8 * step);
      a[j] = _mm256_add_epi32(_mm256_add_epi32(m1, m2), load(at));
      b[j] = _mm256_sub_epi32(_mm256_sub_epi32(m1, m2), load(at + 12 * step));
    }
    __m256i add = load(bias + i);
    put_pixels(a, add, top + i, width);
    put_pixels(b, add, bottom + i, width);
  }
}

#endif
