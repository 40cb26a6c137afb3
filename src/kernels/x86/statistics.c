/* SPDX-License-Identifier: Apache-2.0 */
/* What calibration counts, eight values at a time. */
#include "kernels/kernels.h"
#include "kernels/target.h"

#if NPUC_X86
#include <immintrin.h>
#include <math.h>

NPUC_TARGET_AVX2 bool npuc_f32_bounds__avx2(const float *x, size_t n, float *lo, float *hi) {
  const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff)), infinite = _mm256_set1_ps(INFINITY);
  __m256 least = _mm256_set1_ps(*lo), most = _mm256_set1_ps(*hi), finite = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m256 v = _mm256_loadu_ps(x + i);
    finite = _mm256_and_ps(finite, _mm256_cmp_ps(_mm256_and_ps(v, magnitude), infinite, _CMP_LT_OQ));
    least = _mm256_min_ps(v, least);
    most = _mm256_max_ps(v, most);
  }
  if (_mm256_movemask_ps(finite) != 0xff) return false;
  float ends[2][8];
  _mm256_storeu_ps(ends[0], least);
  _mm256_storeu_ps(ends[1], most);
  float narrow[2] = {*lo, *hi};
  for (int k = 0; k < 8; k++) {
    narrow[0] = ends[0][k] < narrow[0] ? ends[0][k] : narrow[0];
    narrow[1] = ends[1][k] > narrow[1] ? ends[1][k] : narrow[1];
  }
  if (!npuc_f32_bounds__scalar(x + i, n - i, &narrow[0], &narrow[1])) return false;
  *lo = narrow[0];
  *hi = narrow[1];
  return true;
}

/* Half of what comes out of a ReLU is 0: eight counters of their own take the zeros, so that increments seldom wait for one another. */
NPUC_TARGET_AVX2 void npuc_f32_histogram__avx2(const float *x, size_t n, float scale, uint64_t *bins) {
  const __m256 factor = _mm256_set1_ps(scale);
  uint64_t *spare = bins + HISTOGRAM_HALF;
  const __m256i own = _mm256_setr_epi32(HISTOGRAM_HALF, HISTOGRAM_HALF + 1, HISTOGRAM_HALF + 2, HISTOGRAM_HALF + 3, HISTOGRAM_HALF + 4,
                                        HISTOGRAM_HALF + 5, HISTOGRAM_HALF + 6, HISTOGRAM_HALF + 7);
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m256 v = _mm256_loadu_ps(x + i);
    __m256i bin = _mm256_cvttps_epi32(_mm256_floor_ps(_mm256_mul_ps(v, factor)));
    __m256i zero = _mm256_castps_si256(_mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_EQ_OQ));
    int32_t at[8];
    _mm256_storeu_si256((__m256i *)(void *)at, _mm256_blendv_epi8(bin, own, zero));
    NPUC_UNROLL
    for (int k = 0; k < 8; k++) bins[at[k]]++;
  }
  for (int k = 0; k < HISTOGRAM_SPARE; k++) {
    bins[0] += spare[k];
    spare[k] = 0;
  }
  npuc_f32_histogram__scalar(x + i, n - i, scale, bins);
}

static void count_bins(const int32_t *at, size_t n, uint64_t *bins) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    NPUC_UNROLL
    for (size_t k = 0; k < 8; k++) bins[at[i + k]]++;
  }
  for (; i < n; i++) bins[at[i]]++;
}

/* The zeros are counted sixteen at a time, and only the bins of the others are looked up, from a list that they are pressed into. */
NPUC_TARGET_AVX512 void npuc_f32_histogram__avx512(const float *x, size_t n, float scale, uint64_t *bins) {
  enum { ROOM = 1024 };
  int32_t at[ROOM + 16];
  const __m512 factor = _mm512_set1_ps(scale);
  size_t i = 0, held = 0, others = 0;
  for (; i + 16 <= n; i += 16) {
    __m512 v = _mm512_loadu_ps(x + i);
    __mmask16 other = _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NEQ_UQ);
    __m512i bin = _mm512_cvt_roundps_epi32(_mm512_mul_ps(v, factor), _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    _mm512_storeu_si512(at + held, _mm512_maskz_compress_epi32(other, bin));
    held += (size_t)__builtin_popcount(other);
    if (held < ROOM) continue;
    count_bins(at, held, bins);
    others += held;
    held = 0;
  }
  count_bins(at, held, bins);
  bins[0] += i - (others + held);
  npuc_f32_histogram__scalar(x + i, n - i, scale, bins);
}

NPUC_TARGET_AVX2 void npuc_f32_accumulate__avx2(const float *x, size_t n, double *sums) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) _mm256_storeu_pd(sums + i, _mm256_add_pd(_mm256_loadu_pd(sums + i), _mm256_cvtps_pd(_mm_loadu_ps(x + i))));
  npuc_f32_accumulate__scalar(x + i, n - i, sums + i);
}

NPUC_TARGET_AVX2 NPUC_INLINE __m256d four_errors(const grid_f64 *g, __m256d centre, __m256d count) {
  __m256d q = _mm256_round_pd(_mm256_mul_pd(centre, _mm256_set1_pd(g->inverse)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  q = _mm256_min_pd(_mm256_max_pd(q, _mm256_set1_pd(g->lo)), _mm256_set1_pd(g->hi));
  __m256d d = _mm256_sub_pd(centre, _mm256_mul_pd(q, _mm256_set1_pd(g->scale)));
  return _mm256_mul_pd(_mm256_mul_pd(count, d), d);
}

NPUC_TARGET_AVX2 double npuc_f64_grid_error__avx2(const grid_f64 *g, const double *centre, const double *count, size_t n) {
  __m256d low = _mm256_setzero_pd(), high = _mm256_setzero_pd();
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    low = _mm256_add_pd(low, four_errors(g, _mm256_loadu_pd(centre + i), _mm256_loadu_pd(count + i)));
    high = _mm256_add_pd(high, four_errors(g, _mm256_loadu_pd(centre + i + 4), _mm256_loadu_pd(count + i + 4)));
  }
  if (i < n) { /* empty bins cost nothing */
    double rest[2][8] = {{0}};
    for (size_t k = 0; i + k < n; k++) {
      rest[0][k] = centre[i + k];
      rest[1][k] = count[i + k];
    }
    low = _mm256_add_pd(low, four_errors(g, _mm256_loadu_pd(rest[0]), _mm256_loadu_pd(rest[1])));
    high = _mm256_add_pd(high, four_errors(g, _mm256_loadu_pd(rest[0] + 4), _mm256_loadu_pd(rest[1] + 4)));
  }
  double lanes[4];
  _mm256_storeu_pd(lanes, _mm256_add_pd(low, high));
  return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}

#endif
