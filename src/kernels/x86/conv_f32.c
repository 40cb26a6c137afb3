/* SPDX-License-Identifier: Apache-2.0 */
/* The float32 convolution tile with AVX2 and with AVX-512, and the `lanes16` dot product. */
#include "kernels/kernels.h"
#include "kernels/target.h"

#if NPUC_X86
#include <immintrin.h>

#define NAME(op) npuc_f32_##op##__avx2
#define TARGET NPUC_TARGET_AVX2
#define VEC __m256
#define LANES 8
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#define SET _mm256_set1_ps
#define FMA _mm256_fmadd_ps
#define ADD _mm256_add_ps
#define MIN _mm256_min_ps
#define MAX _mm256_max_ps
#include "kernels/conv_f32_template.h"
#undef NAME
#undef TARGET
#undef VEC
#undef LANES
#undef LOAD
#undef STORE
#undef SET
#undef FMA
#undef ADD
#undef MIN
#undef MAX

#define NAME(op) npuc_f32_##op##__avx512
#define TARGET NPUC_TARGET_AVX512
#define VEC __m512
#define LANES 16
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#define SET _mm512_set1_ps
#define FMA _mm512_fmadd_ps
#define ADD _mm512_add_ps
#define MIN _mm512_min_ps
#define MAX _mm512_max_ps
#include "kernels/conv_f32_template.h"

/* Two vectors of 8 are the 16 lanes; a tail is extended by zeros. */
NPUC_TARGET_AVX2 NPUC_INLINE float tree(__m256 low, __m256 high) {
  __m256 eight = _mm256_add_ps(low, high);
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

NPUC_TARGET_AVX2 NPUC_INLINE void load_tail(const float *x, size_t n, __m256 *low, __m256 *high) {
  float all[16] = {0};
  for (size_t i = 0; i < n; i++) all[i] = x[i];
  *low = _mm256_loadu_ps(all);
  *high = _mm256_loadu_ps(all + 8);
}

/* One row of a against nb rows of b. */
NPUC_TARGET_AVX2 NPUC_INLINE void dot_row(const float *a, const float *b, size_t b_stride, size_t k, float *y, const size_t nb) {
  __m256 low[4], high[4];
  size_t i = 0;
  for (size_t n = 0; n < nb; n++) low[n] = high[n] = _mm256_setzero_ps();
  for (; i + 16 <= k; i += 16) {
    __m256 al = _mm256_loadu_ps(a + i), ah = _mm256_loadu_ps(a + i + 8);
    for (size_t n = 0; n < nb; n++) {
      low[n] = _mm256_fmadd_ps(al, _mm256_loadu_ps(b + n * b_stride + i), low[n]);
      high[n] = _mm256_fmadd_ps(ah, _mm256_loadu_ps(b + n * b_stride + i + 8), high[n]);
    }
  }
  if (i < k) {
    __m256 al, ah, bl, bh;
    load_tail(a + i, k - i, &al, &ah);
    for (size_t n = 0; n < nb; n++) {
      load_tail(b + n * b_stride + i, k - i, &bl, &bh);
      low[n] = _mm256_fmadd_ps(al, bl, low[n]);
      high[n] = _mm256_fmadd_ps(ah, bh, high[n]);
    }
  }
  for (size_t n = 0; n < nb; n++) y[n] = tree(low[n], high[n]);
}

NPUC_TARGET_AVX2 void npuc_f32_dot__avx2(const float *a, size_t a_stride, const float *b, size_t b_stride, size_t k, float *y,
                                         size_t y_stride, size_t m, size_t n) {
  for (size_t j = 0; j < n; j += 4) {
    for (size_t i = 0; i < m; i++) {
      const float *row = a + i * a_stride, *columns = b + j * b_stride;
      float *out = y + i * y_stride + j;
      switch (n - j) {
        case 1:
          dot_row(row, columns, b_stride, k, out, 1);
          break;
        case 2:
          dot_row(row, columns, b_stride, k, out, 2);
          break;
        case 3:
          dot_row(row, columns, b_stride, k, out, 3);
          break;
        default:
          dot_row(row, columns, b_stride, k, out, 4);
          break;
      }
    }
  }
}

#endif
