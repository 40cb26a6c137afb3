/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of int8 convolutions by AVX-512 VNNI on bytes: vpdpbusd takes four products of u8 and s8 into a 32-bit lane, and saturates nowhere. 16 channels are a
 * vector; 12 pixels x 2 blocks fill the registers: 24 sums, 2 weights, an input quad. */
#include "kernels/kernels.h"
#include "kernels/target.h"

#if NPUC_X86
#include <immintrin.h>
#include <string.h>

enum { MOST_PIXELS = 12 };

NPUC_TARGET_AVX512 NPUC_INLINE void sums_of(const quads_i8 *t, int first, const int pixels, const int blocks) {
  const size_t run = (size_t)quads_padded(t->quads) * I8_WIDE * 4, block = (size_t)t->runs * run;
  __m512i sum[QUADS_BLOCKS][MOST_PIXELS];
  NPUC_UNROLL
  for (int b = 0; b < blocks; b++) {
    for (int p = 0; p < pixels; p++) sum[b][p] = _mm512_loadu_si512((const void *)(t->bias + b * I8_WIDE));
  }
  const int8_t *weights = t->weights;
  for (int32_t r = 0; r < t->runs; r++, weights += run) {
    const uint8_t *x = t->x + (size_t)first * t->step + t->offsets[r];
    const int8_t *w = weights;
    for (int32_t k = 0; k < t->quads; k++, x += 4, w += I8_WIDE * 4) {
      __m512i weight[QUADS_BLOCKS];
      NPUC_UNROLL
      for (int b = 0; b < blocks; b++) weight[b] = _mm512_loadu_si512((const void *)(w + (size_t)b * block));
      NPUC_UNROLL
      for (int p = 0; p < pixels; p++) {
        int32_t quad;
        memcpy(&quad, x + (size_t)p * t->step, sizeof quad);
        const __m512i in = _mm512_set1_epi32(quad);
        for (int b = 0; b < blocks; b++) sum[b][p] = _mm512_dpbusd_epi32(sum[b][p], in, weight[b]);
      }
    }
  }
  NPUC_UNROLL
  for (int b = 0; b < blocks; b++) {
    int32_t *to = t->sums + (b * (QUADS_STRIP / QUADS_BLOCKS) + first) * I8_WIDE;
    for (int p = 0; p < pixels; p++) _mm512_storeu_si512((void *)(to + p * I8_WIDE), sum[b][p]);
  }
}

NPUC_TARGET_AVX512 NPUC_INLINE void strip(const quads_i8 *t, const int blocks) {
  int p = 0;
  for (; p + MOST_PIXELS <= t->pixels; p += MOST_PIXELS) sums_of(t, p, MOST_PIXELS, blocks);
  if (p + 8 <= t->pixels) sums_of(t, p, 8, blocks), p += 8;
  if (p + 4 <= t->pixels) sums_of(t, p, 4, blocks), p += 4;
  for (; p < t->pixels; p++) sums_of(t, p, 1, blocks);
}

NPUC_TARGET_AVX512 void npuc_i8_quads__avx512(const quads_i8 *t) {
  if (t->blocks == 1) {
    strip(t, 1);
  } else {
    strip(t, 2);
  }
}

NPUC_TARGET_AVX512 NPUC_INLINE void copy_record(const uint8_t *x, size_t whole, __mmask64 rest, __m512i flip, uint8_t *to) {
  size_t k = 0;
  for (; k < whole; k += 64) _mm512_storeu_si512((void *)(to + k), _mm512_xor_si512(_mm512_loadu_si512((const void *)(x + k)), flip));
  if (rest) _mm512_mask_storeu_epi8(to + k, rest, _mm512_xor_si512(_mm512_maskz_loadu_epi8(rest, x + k), flip));
}

NPUC_TARGET_AVX512 void npuc_i8_records__avx512(const uint8_t *x, size_t step, size_t bytes, size_t n, uint8_t mask, uint8_t *to,
                                                size_t pitch) {
  const size_t whole = bytes / 64 * 64;
  const __mmask64 rest = ((__mmask64)1 << bytes % 64) - 1;
  const __m512i flip = _mm512_set1_epi8((char)mask);
  if (whole == 0) {
    for (size_t i = 0; i < n; i++) copy_record(x + i * step, 0, rest, flip, to + i * pitch);
  } else {
    for (size_t i = 0; i < n; i++) copy_record(x + i * step, whole, rest, flip, to + i * pitch);
  }
}

#endif
