/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of int8 convolutions with AVX2 (vpmaddwd on int16: vpmaddubsw would saturate) and AVX-512 VNNI (vpdpwssd, the same sums), and what
 * feeds them. 6 pixels x 16 channels fill the registers: 12 sums, 2 weights, an input pair and a product. */
#include "kernels/kernels.h"
#include "kernels/target.h"

#if NPUC_X86
#include <immintrin.h>
#include <string.h>

#include "kernels/x86/rule_channels.h"

NPUC_TARGET_AVX2 NPUC_INLINE __m256i load(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
NPUC_TARGET_AVX2 NPUC_INLINE void store(void *p, __m256i v) { _mm256_storeu_si256((__m256i *)p, v); }

/* -- dense -- */

NPUC_TARGET_AVX2 NPUC_INLINE void accumulate(const sums_i8 *t, const int16_t *const *from, __m256i sum[I8_PIXELS][2], const int pixels,
                                             const int vectors) {
  NPUC_UNROLL
  for (int p = 0; p < pixels; p++) {
    for (int v = 0; v < vectors; v++) sum[p][v] = load(t->bias + 8 * v);
  }
  const int32_t *w = t->weights;
  const int64_t pairs = t->pairs;
  for (int32_t r = 0; r < t->runs; r++) {
    const int64_t offset = t->offsets[r];
    const int16_t *x[I8_PIXELS];
    NPUC_UNROLL
    for (int p = 0; p < pixels; p++) x[p] = from[p] + offset;
    for (int64_t k = 0; k < pairs; k++, w += 8 * vectors) {
      __m256i weight[2];
      NPUC_UNROLL
      for (int v = 0; v < vectors; v++) weight[v] = load(w + 8 * v);
      NPUC_UNROLL
      for (int p = 0; p < pixels; p++) {
        int32_t pair;
        memcpy(&pair, x[p] + 2 * k, sizeof pair);
        __m256i in = _mm256_set1_epi32(pair);
        for (int v = 0; v < vectors; v++) sum[p][v] = _mm256_add_epi32(sum[p][v], _mm256_madd_epi16(in, weight[v]));
      }
    }
  }
}

NPUC_TARGET_AVX2 NPUC_INLINE void sums_avx2(const sums_i8 *t, const int pixels, const int vectors) {
  __m256i sum[I8_PIXELS][2];
  accumulate(t, t->x, sum, pixels, vectors);
  NPUC_UNROLL
  for (int p = 0; p < pixels; p++) {
    for (int v = 0; v < vectors; v++) store(t->sums + 8 * (vectors * p + v), sum[p][v]);
  }
}

#define SUMS_CASES(vectors)       \
  switch (t->pixels) {            \
    case 1:                       \
      sums_avx2(t, 1, (vectors)); \
      break;                      \
    case 2:                       \
      sums_avx2(t, 2, (vectors)); \
      break;                      \
    case 3:                       \
      sums_avx2(t, 3, (vectors)); \
      break;                      \
    case 4:                       \
      sums_avx2(t, 4, (vectors)); \
      break;                      \
    case 5:                       \
      sums_avx2(t, 5, (vectors)); \
      break;                      \
    default:                      \
      sums_avx2(t, 6, (vectors)); \
      break;                      \
  }

NPUC_TARGET_AVX2 void npuc_i8_sums__avx2(const sums_i8 *t) {
  if (t->width == I8_WIDE) {
    SUMS_CASES(2)
  } else {
    SUMS_CASES(1)
  }
}

/* -- dense, to bytes -- */

NPUC_TARGET_AVX2 NPUC_INLINE void store_pixels(const __m256i *sum, const rule_constants *c, const rule_limits *l, uint8_t *y, size_t pitch,
                                               const int vectors, const bool is_short) {
  __m256i bytes = rule_bytes_of(rule_shifted(sum[0], &c[0], is_short), rule_shifted(sum[1], &c[vectors - 1], is_short),
                                rule_shifted(sum[2], &c[0], is_short), rule_shifted(sum[3], &c[vectors - 1], is_short), l);
  __m128i low = _mm256_castsi256_si128(bytes), high = _mm256_extracti128_si256(bytes, 1);
  if (vectors == 2) {
    _mm_storeu_si128((__m128i *)(void *)y, low);
    _mm_storeu_si128((__m128i *)(void *)(y + pitch), high);
    return;
  }
  _mm_storel_epi64((__m128i *)(void *)y, low);
  _mm_storel_epi64((__m128i *)(void *)(y + pitch), _mm_unpackhi_epi64(low, low));
  _mm_storel_epi64((__m128i *)(void *)(y + 2 * pitch), high);
  _mm_storel_epi64((__m128i *)(void *)(y + 3 * pitch), _mm_unpackhi_epi64(high, high));
}

/* Whole tiles; the number of pixels done. */
NPUC_TARGET_AVX2 NPUC_INLINE size_t dense_avx2(const dense_i8 *t, const int vectors, const bool is_short) {
  const rule_constants c[2] = {rule_constants_of(t->rule, 0, is_short), rule_constants_of(t->rule, 8 * (vectors - 1), is_short)};
  const rule_limits l = rule_limits_of(t->rule);
  const size_t pitch = t->pitch;
  uint8_t *y = t->y;
  size_t i = 0;
  for (; i + I8_PIXELS <= t->pixels; i += I8_PIXELS, y += I8_PIXELS * pitch) {
    const int16_t *x[I8_PIXELS];
    __m256i sum[I8_PIXELS][2];
    NPUC_UNROLL
    for (int p = 0; p < I8_PIXELS; p++) x[p] = t->x + t->at[i + (size_t)p];
    accumulate(&t->tile, x, sum, I8_PIXELS, vectors);
    if (vectors == 2) {
      NPUC_UNROLL
      for (int p = 0; p < I8_PIXELS; p += 2) {
        const __m256i four[4] = {sum[p][0], sum[p][1], sum[p + 1][0], sum[p + 1][1]};
        store_pixels(four, c, &l, y + (size_t)p * pitch, pitch, vectors, is_short);
      }
    } else {
      const __m256i four[4] = {sum[0][0], sum[1][0], sum[2][0], sum[3][0]}, last[4] = {sum[2][0], sum[3][0], sum[4][0], sum[5][0]};
      store_pixels(four, c, &l, y, pitch, vectors, is_short);
      store_pixels(last, c, &l, y + 2 * pitch, pitch, vectors, is_short);
    }
  }
  return i;
}

NPUC_TARGET_AVX2 void npuc_i8_dense__avx2(const dense_i8 *t) {
  size_t done = 0;
  if (t->channels == t->tile.width && t->rule->kind != RULE_ANY) {
    if (t->tile.width == I8_WIDE) {
      done = t->rule->kind == RULE_SHORT ? dense_avx2(t, 2, true) : dense_avx2(t, 2, false);
    } else {
      done = t->rule->kind == RULE_SHORT ? dense_avx2(t, 1, true) : dense_avx2(t, 1, false);
    }
  }
  dense_i8 rest = *t;
  rest.at += done;
  rest.pixels -= done;
  rest.y += done * t->pitch;
  npuc_i8_dense__scalar(&rest);
}

/* The tiles are VNNI's. */
void npuc_i8_dense__avx512(const dense_i8 *t) { npuc_i8_dense__scalar(t); }

/* -- depthwise -- */

NPUC_TARGET_AVX2 NPUC_INLINE void depthwise_avx2(const depthwise_i8 *t, const int pixels, const int vectors) {
  __m256i sum[I8_PIXELS][2];
  NPUC_UNROLL
  for (int p = 0; p < pixels; p++) {
    for (int v = 0; v < vectors; v++) sum[p][v] = load(t->bias + 8 * v);
  }
  const int32_t *w = t->weights;
  const size_t step = t->step;
  for (int32_t k = 0; k < t->taps; k++, w += t->weights_step) {
    const int32_t *x = t->x + t->offsets[k];
    __m256i weight[2];
    NPUC_UNROLL
    for (int v = 0; v < vectors; v++) weight[v] = load(w + 8 * v);
    NPUC_UNROLL
    for (int p = 0; p < pixels; p++, x += step) {
      for (int v = 0; v < vectors; v++) sum[p][v] = _mm256_add_epi32(sum[p][v], _mm256_madd_epi16(load(x + 8 * v), weight[v]));
    }
  }
  NPUC_UNROLL
  for (int p = 0; p < pixels; p++) {
    for (int v = 0; v < vectors; v++) store(t->sums + 8 * (vectors * p + v), sum[p][v]);
  }
}

#define DEPTHWISE_CASES(vectors)       \
  switch (t->pixels) {                 \
    case 1:                            \
      depthwise_avx2(t, 1, (vectors)); \
      break;                           \
    case 2:                            \
      depthwise_avx2(t, 2, (vectors)); \
      break;                           \
    case 3:                            \
      depthwise_avx2(t, 3, (vectors)); \
      break;                           \
    case 4:                            \
      depthwise_avx2(t, 4, (vectors)); \
      break;                           \
    case 5:                            \
      depthwise_avx2(t, 5, (vectors)); \
      break;                           \
    default:                           \
      depthwise_avx2(t, 6, (vectors)); \
      break;                           \
  }

NPUC_TARGET_AVX2 void npuc_i8_depthwise__avx2(const depthwise_i8 *t) {
  if (t->width == I8_WIDE) {
    DEPTHWISE_CASES(2)
  } else {
    DEPTHWISE_CASES(1)
  }
}

/* -- AVX-512 VNNI: 16 channels are one vector; an input pair is broadcast inside the instruction -- */

NPUC_TARGET_AVX512 NPUC_INLINE void sums_avx512(const sums_i8 *t, const int pixels) {
  __m512i sum[I8_PIXELS];
  NPUC_UNROLL
  for (int p = 0; p < pixels; p++) sum[p] = _mm512_loadu_si512((const void *)t->bias);
  const int32_t *w = t->weights;
  for (int32_t r = 0; r < t->runs; r++) {
    const int16_t *x[I8_PIXELS];
    NPUC_UNROLL
    for (int p = 0; p < pixels; p++) x[p] = t->x[p] + t->offsets[r];
    for (int64_t k = 0; k < t->pairs; k++, w += I8_WIDE) {
      __m512i weight = _mm512_loadu_si512((const void *)w);
      NPUC_UNROLL
      for (int p = 0; p < pixels; p++) {
        int32_t pair;
        memcpy(&pair, x[p] + 2 * k, sizeof pair);
        sum[p] = _mm512_dpwssd_epi32(sum[p], weight, _mm512_set1_epi32(pair));
      }
    }
  }
  NPUC_UNROLL
  for (int p = 0; p < pixels; p++) _mm512_storeu_si512((void *)(t->sums + I8_WIDE * p), sum[p]);
}

NPUC_TARGET_AVX512 void npuc_i8_sums__avx512(const sums_i8 *t) {
  if (t->width != I8_WIDE) {
    npuc_i8_sums__avx2(t);
    return;
  }
  if (t->pixels == I8_PIXELS) {
    sums_avx512(t, I8_PIXELS);
    return;
  }
  sums_i8 one = *t;
  for (int p = 0; p < t->pixels; p++) {
    one.x[0] = t->x[p];
    one.sums = t->sums + I8_WIDE * p;
    sums_avx512(&one, 1);
  }
}

/* -- feeding -- */

NPUC_TARGET_AVX2 NPUC_INLINE __m256i widen(__m128i bytes, bool is_signed, __m256i zero) {
  return _mm256_sub_epi16(is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes), zero);
}

NPUC_TARGET_AVX2 void npuc_i8_widen__avx2(const uint8_t *x, bool is_signed, int32_t zero_point, size_t n, int16_t *out) {
  const __m256i zero = _mm256_set1_epi16((short)zero_point);
  if (n < 16) {
    npuc_i8_widen__scalar(x, is_signed, zero_point, n, out);
    return;
  }
  size_t i = 0;
  for (; i + 16 <= n; i += 16) store(out + i, widen(_mm_loadu_si128((const __m128i *)(const void *)(x + i)), is_signed, zero));
  if (i < n) store(out + n - 16, widen(_mm_loadu_si128((const __m128i *)(const void *)(x + n - 16)), is_signed, zero));
}

NPUC_TARGET_AVX2 NPUC_INLINE void pair16(const uint8_t *a, const uint8_t *b, bool is_signed, __m256i zero, __m128i nothing, int16_t *out) {
  __m128i p = a ? _mm_loadu_si128((const __m128i *)(const void *)a) : nothing;
  __m128i q = b ? _mm_loadu_si128((const __m128i *)(const void *)b) : nothing;
  store(out, widen(_mm_unpacklo_epi8(p, q), is_signed, zero));
  store(out + 16, widen(_mm_unpackhi_epi8(p, q), is_signed, zero));
}

/* A row that is not there is a row of the zero point. */
NPUC_TARGET_AVX2 void npuc_i8_pair__avx2(const uint8_t *a, const uint8_t *b, bool is_signed, int32_t zero_point, size_t n, int16_t *out) {
  const __m256i zero = _mm256_set1_epi16((short)zero_point);
  const __m128i nothing = _mm_set1_epi8((char)zero_point);
  if (n < 16) {
    npuc_i8_pair__scalar(a, b, is_signed, zero_point, n, out);
    return;
  }
  size_t i = 0;
  for (; i + 16 <= n; i += 16) pair16(a ? a + i : NULL, b ? b + i : NULL, is_signed, zero, nothing, out + 2 * i);
  i = n - 16;
  pair16(a ? a + i : NULL, b ? b + i : NULL, is_signed, zero, nothing, out + 2 * i);
}

/* 8 rows of 16 bytes, those from `rows` on zero, to 16 rows of 8, in ascending order. */
NPUC_TARGET_AVX2 NPUC_INLINE void transpose_8x16(const uint8_t *from, size_t from_pitch, size_t rows, uint8_t *to, size_t to_pitch) {
  __m128i r[8], s[8];
  NPUC_UNROLL
  for (size_t i = 0; i < 8; i++)
    r[i] = i < rows ? _mm_loadu_si128((const __m128i *)(const void *)(from + i * from_pitch)) : _mm_setzero_si128();
  NPUC_UNROLL
  for (size_t i = 0; i < 4; i++) {
    s[i] = _mm_unpacklo_epi8(r[i], r[i + 4]);     /* rows i, i + 4; columns 0-7 */
    s[i + 4] = _mm_unpackhi_epi8(r[i], r[i + 4]); /* 8-15 */
  }
  NPUC_UNROLL
  for (size_t half = 0; half < 2; half++) {
    const __m128i *q = s + 4 * half;
    __m128i a = _mm_unpacklo_epi8(q[0], q[2]), b = _mm_unpackhi_epi8(q[0], q[2]); /* rows 0 2 4 6; columns 0-3, 4-7 */
    __m128i c = _mm_unpacklo_epi8(q[1], q[3]), d = _mm_unpackhi_epi8(q[1], q[3]); /* rows 1 3 5 7 */
    __m128i pixels[4] = {_mm_unpacklo_epi8(a, c), _mm_unpackhi_epi8(a, c), _mm_unpacklo_epi8(b, d), _mm_unpackhi_epi8(b, d)};
    NPUC_UNROLL
    for (size_t i = 0; i < 4; i++) {
      uint8_t *at = to + (8 * half + 2 * i) * to_pitch;
      _mm_storel_epi64((__m128i *)(void *)at, pixels[i]);
      _mm_storel_epi64((__m128i *)(void *)(at + to_pitch), _mm_unpackhi_epi64(pixels[i], pixels[i]));
    }
  }
}

/* Fewer than 8 rows to pixels without a gap: what 8 bytes write beyond a pixel, the next ones write again. The columns done; behind them is room. */
NPUC_TARGET_AVX2 static size_t transpose_few(const uint8_t *from, size_t from_pitch, size_t rows, size_t columns, uint8_t *to) {
  size_t c = 0;
  for (; c + 16 + 8 <= columns; c += 16) {
    if (rows == 3) {
      transpose_8x16(from + c, from_pitch, 3, to + c * 3, 3);
    } else {
      transpose_8x16(from + c, from_pitch, rows, to + c * rows, rows);
    }
  }
  return c;
}

NPUC_TARGET_AVX2 void npuc_i8_transpose__avx2(const uint8_t *from, size_t from_pitch, size_t rows, size_t columns, uint8_t *to,
                                              size_t to_pitch) {
  size_t done = rows < 8 && to_pitch == rows ? transpose_few(from, from_pitch, rows, columns, to) : 0;
  if (rows < 8 || columns < 16) {
    npuc_i8_transpose__scalar(from + done, from_pitch, rows, columns - done, to + done * to_pitch, to_pitch);
    return;
  }
  for (size_t r = 0; r < rows; r += 8) { /* the last of each overlap */
    size_t row = r + 8 <= rows ? r : rows - 8;
    for (size_t c = 0; c < columns; c += 16) {
      size_t column = c + 16 <= columns ? c : columns - 16;
      transpose_8x16(from + row * from_pitch + column, from_pitch, 8, to + column * to_pitch + row, to_pitch);
    }
  }
}

#endif
