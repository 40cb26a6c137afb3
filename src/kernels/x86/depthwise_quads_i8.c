/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise int8 convolutions with AVX-512 VNNI: four rows of 64 channels are interleaved once a column, to four vectors of quads, which all windows over that column
 * read; packing four vectors of sums to bytes puts the channels in order again. */
#include "kernels/kernels.h"
#include "kernels/target.h"

#if NPUC_X86
#include <string.h>

#include "kernels/x86/rule_wide.h"

enum { VECTORS = 4, TILE = 4, QUADS = DEPTHWISE_ROWS / 4, LANES = 16 };

typedef struct quad_columns {
  _Alignas(64) int32_t at[DEPTHWISE_COLUMNS * QUADS][DEPTHWISE_CHANNELS]; /* [column, quad of rows] */
} quad_columns;

/* Rows past the kernel's meet weights of zero: any byte will do. */
NPUC_TARGET_AVX512 NPUC_INLINE void interleave(const depthwise_quads_i8 *t, int quad, int columns, int quads, quad_columns *to) {
  const __mmask64 mask = t->channels == DEPTHWISE_CHANNELS ? ~(__mmask64)0 : ((__mmask64)1 << t->channels) - 1;
  const int left = t->rows - 4 * quad;
  const uint8_t *const *rows = t->x + 4 * quad;
  const uint8_t *a = rows[0], *b = left > 1 ? rows[1] : a, *c = left > 2 ? rows[2] : a, *d = left > 3 ? rows[3] : c;
  for (int k = 0; k < columns; k++) {
    const size_t at = (size_t)k * t->column;
    const __m512i va = _mm512_maskz_loadu_epi8(mask, a + at), vb = _mm512_maskz_loadu_epi8(mask, b + at);
    const __m512i vc = _mm512_maskz_loadu_epi8(mask, c + at), vd = _mm512_maskz_loadu_epi8(mask, d + at);
    const __m512i ab = _mm512_unpacklo_epi8(va, vb), ab_high = _mm512_unpackhi_epi8(va, vb);
    const __m512i cd = _mm512_unpacklo_epi8(vc, vd), cd_high = _mm512_unpackhi_epi8(vc, vd);
    int32_t *out = to->at[k * quads + quad];
    _mm512_store_si512((void *)out, _mm512_unpacklo_epi16(ab, cd));
    _mm512_store_si512((void *)(out + LANES), _mm512_unpackhi_epi16(ab, cd));
    _mm512_store_si512((void *)(out + 2 * LANES), _mm512_unpacklo_epi16(ab_high, cd_high));
    _mm512_store_si512((void *)(out + 3 * LANES), _mm512_unpackhi_epi16(ab_high, cd_high));
  }
}

NPUC_TARGET_AVX512 NPUC_INLINE void sums_of(const depthwise_quads_i8 *t, const quad_columns *x, int first, const int pixels,
                                            const int quads, __m512i sum[TILE][VECTORS]) {
  NPUC_UNROLL
  for (int p = 0; p < pixels; p++) {
    for (int v = 0; v < VECTORS; v++) sum[p][v] = _mm512_loadu_si512((const void *)(t->bias + LANES * v));
  }
  const int8_t *w = t->weights;
  const int step = t->stride * quads;
  for (int k = 0; k < t->columns; k++) {
    const int start = first * step + k * t->dilation * quads;
    for (int q = 0; q < quads; q++, w += 4 * DEPTHWISE_CHANNELS) {
      __m512i weight[VECTORS];
      NPUC_UNROLL
      for (int v = 0; v < VECTORS; v++) weight[v] = _mm512_loadu_si512((const void *)(w + 4 * LANES * v));
      NPUC_UNROLL
      for (int p = 0; p < pixels; p++) {
        const int32_t *in = x->at[start + p * step + q];
        for (int v = 0; v < VECTORS; v++)
          sum[p][v] = _mm512_dpbusd_epi32(sum[p][v], _mm512_load_si512((const void *)(in + LANES * v)), weight[v]);
      }
    }
  }
}

NPUC_TARGET_AVX512 NPUC_INLINE void tile(const depthwise_quads_i8 *t, const quad_columns *x, const wide_constants c[VECTORS],
                                         const wide_limits *l, int first, const int pixels, const int quads, const bool is_short,
                                         const bool is_signed) {
  __m512i sum[TILE][VECTORS];
  sums_of(t, x, first, pixels, quads, sum);
  const __mmask64 mask = t->channels == DEPTHWISE_CHANNELS ? ~(__mmask64)0 : ((__mmask64)1 << t->channels) - 1;
  NPUC_UNROLL
  for (int p = 0; p < pixels; p++) {
    __m512i v[VECTORS];
    for (int k = 0; k < VECTORS; k++) v[k] = wide_shifted(sum[p][k], &c[k], is_short);
    _mm512_mask_storeu_epi8(t->y + (size_t)(first + p) * t->pitch, mask, wide_bytes_of(v, l, is_signed));
  }
}

NPUC_TARGET_AVX512 NPUC_INLINE void strip(const depthwise_quads_i8 *t, const int quads, const bool is_short, const bool is_signed) {
  const int columns = (t->pixels - 1) * t->stride + (t->columns - 1) * t->dilation + 1;
  wide_constants c[VECTORS];
  const wide_limits l = wide_limits_of(t->rule);
  quad_columns x;
  NPUC_UNROLL
  for (int v = 0; v < VECTORS; v++) c[v] = wide_constants_of(t->rule, LANES * v, is_short);
  for (int q = 0; q < quads; q++) interleave(t, q, columns, quads, &x);
  int p = 0;
  for (; p + TILE <= t->pixels; p += TILE) tile(t, &x, c, &l, p, TILE, quads, is_short, is_signed);
  for (; p < t->pixels; p++) tile(t, &x, c, &l, p, 1, quads, is_short, is_signed);
}

NPUC_TARGET_AVX512 NPUC_INLINE void strip_of_quads(const depthwise_quads_i8 *t, const bool is_short, const bool is_signed) {
  if (t->rows <= 4) {
    strip(t, 1, is_short, is_signed);
  } else {
    strip(t, 2, is_short, is_signed);
  }
}

NPUC_TARGET_AVX512 void npuc_i8_depthwise_quads__avx512(const depthwise_quads_i8 *t) {
  const bool is_signed = t->rule->is_signed;
  if (t->rule->kind == RULE_ANY) {
    npuc_i8_depthwise_quads__scalar(t);
  } else if (t->rule->kind == RULE_SHORT) {
    if (is_signed) {
      strip_of_quads(t, true, true);
    } else {
      strip_of_quads(t, true, false);
    }
  } else if (is_signed) {
    strip_of_quads(t, false, true);
  } else {
    strip_of_quads(t, false, false);
  }
}

#endif
