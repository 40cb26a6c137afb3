/* SPDX-License-Identifier: Apache-2.0 */
/* The int8 convolutions' kernels with NEON. A pair of int16 is a 32-bit lane, as in the packed weights: of four channels' pairs, xtn and
 * shrn make the vectors of first and of second weights, and smlal multiplies each by a pixel's element, in 32 bits. SDOT multiplies bytes, and
 * x minus its zero point needs nine bits. */
#include "kernels/kernels.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#include <string.h>

#include "kernels/target.h"

enum { LANES = 4 };

/* -- dense -- */

NPUC_INLINE void dense(const sums_i8 *t, const int pixels, const int vectors) {
  int32x4_t sum[I8_PIXELS][I8_WIDE / LANES];
  NPUC_UNROLL
  for (int p = 0; p < pixels; p++) {
    for (int v = 0; v < vectors; v++) sum[p][v] = vld1q_s32(t->bias + LANES * v);
  }
  const int32_t *w = t->weights;
  for (int32_t r = 0; r < t->runs; r++) {
    const int16_t *x[I8_PIXELS];
    NPUC_UNROLL
    for (int p = 0; p < pixels; p++) x[p] = t->x[p] + t->offsets[r];
    for (int64_t k = 0; k < t->pairs; k++, w += LANES * vectors) {
      NPUC_UNROLL
      for (int v = 0; v < vectors; v++) {
        const int32x4_t both = vld1q_s32(w + LANES * v);
        const int16x4_t first = vmovn_s32(both), second = vshrn_n_s32(both, 16);
        NPUC_UNROLL
        for (int p = 0; p < pixels; p++) sum[p][v] = vmlal_n_s16(vmlal_n_s16(sum[p][v], first, x[p][2 * k]), second, x[p][2 * k + 1]);
      }
    }
  }
  NPUC_UNROLL
  for (int p = 0; p < pixels; p++) {
    for (int v = 0; v < vectors; v++) vst1q_s32(t->sums + LANES * (vectors * p + v), sum[p][v]);
  }
}

/* A whole tile, or its pixels one by one: the last tile of a row is seldom the time. */
void npuc_i8_sums__neon(const sums_i8 *t) {
  if (t->pixels == I8_PIXELS) {
    if (t->width == I8_WIDE) {
      dense(t, I8_PIXELS, I8_WIDE / LANES);
    } else {
      dense(t, I8_PIXELS, I8_NARROW / LANES);
    }
    return;
  }
  sums_i8 one = *t;
  for (int p = 0; p < t->pixels; p++) {
    one.x[0] = t->x[p];
    one.sums = t->sums + t->width * p;
    if (t->width == I8_WIDE) {
      dense(&one, 1, I8_WIDE / LANES);
    } else {
      dense(&one, 1, I8_NARROW / LANES);
    }
  }
}

/* -- depthwise -- */

/* The products of two vectors of int16 pairs, added pair by pair. */
NPUC_INLINE int32x4_t pair_products(int32x4_t sum, int32x4_t x, int32x4_t w) {
  const int16x8_t a = vreinterpretq_s16_s32(x), b = vreinterpretq_s16_s32(w);
  return vaddq_s32(sum, vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)), vmull_high_s16(a, b)));
}

NPUC_INLINE void depthwise(const depthwise_i8 *t, const int pixels, const int vectors) {
  int32x4_t sum[I8_PIXELS][I8_WIDE / LANES];
  NPUC_UNROLL
  for (int p = 0; p < pixels; p++) {
    for (int v = 0; v < vectors; v++) sum[p][v] = vld1q_s32(t->bias + LANES * v);
  }
  const int32_t *w = t->weights;
  for (int32_t k = 0; k < t->taps; k++, w += t->weights_step) {
    const int32_t *x = t->x + t->offsets[k];
    NPUC_UNROLL
    for (int p = 0; p < pixels; p++, x += t->step) {
      for (int v = 0; v < vectors; v++) sum[p][v] = pair_products(sum[p][v], vld1q_s32(x + LANES * v), vld1q_s32(w + LANES * v));
    }
  }
  NPUC_UNROLL
  for (int p = 0; p < pixels; p++) {
    for (int v = 0; v < vectors; v++) vst1q_s32(t->sums + LANES * (vectors * p + v), sum[p][v]);
  }
}

void npuc_i8_depthwise__neon(const depthwise_i8 *t) {
  if (t->pixels == I8_PIXELS) {
    if (t->width == I8_WIDE) {
      depthwise(t, I8_PIXELS, I8_WIDE / LANES);
    } else {
      depthwise(t, I8_PIXELS, I8_NARROW / LANES);
    }
    return;
  }
  depthwise_i8 one = *t;
  for (int p = 0; p < t->pixels; p++) {
    one.x = t->x + (size_t)p * t->step;
    one.sums = t->sums + t->width * p;
    if (t->width == I8_WIDE) {
      depthwise(&one, 1, I8_WIDE / LANES);
    } else {
      depthwise(&one, 1, I8_NARROW / LANES);
    }
  }
}

/* -- feeding -- */

typedef struct wide {
  int16x8_t low, high;
} wide;

/* 16 bytes as int16, minus the zero point. */
NPUC_INLINE wide widened(uint8x16_t bytes, bool is_signed, int16x8_t zero) {
  wide w;
  if (is_signed) {
    const int8x16_t s = vreinterpretq_s8_u8(bytes);
    w = (wide){vmovl_s8(vget_low_s8(s)), vmovl_high_s8(s)};
  } else {
    w = (wide){vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(bytes))), vreinterpretq_s16_u16(vmovl_high_u8(bytes))};
  }
  return (wide){vsubq_s16(w.low, zero), vsubq_s16(w.high, zero)};
}

NPUC_INLINE void widen16(const uint8_t *x, bool is_signed, int16x8_t zero, int16_t *out) {
  const wide w = widened(vld1q_u8(x), is_signed, zero);
  vst1q_s16(out, w.low);
  vst1q_s16(out + 8, w.high);
}

void npuc_i8_widen__neon(const uint8_t *x, bool is_signed, int32_t zero_point, size_t n, int16_t *out) {
  if (n < 16) {
    npuc_i8_widen__scalar(x, is_signed, zero_point, n, out);
    return;
  }
  const int16x8_t zero = vdupq_n_s16((int16_t)zero_point);
  for (size_t i = 0; i + 16 <= n; i += 16) widen16(x + i, is_signed, zero, out + i);
  widen16(x + n - 16, is_signed, zero, out + n - 16);
}

/* A row that is not there is a row of the zero point. */
NPUC_INLINE void pair16(const uint8_t *a, const uint8_t *b, bool is_signed, int16x8_t zero, uint8x16_t nothing, int16_t *out) {
  const wide p = widened(a ? vld1q_u8(a) : nothing, is_signed, zero), q = widened(b ? vld1q_u8(b) : nothing, is_signed, zero);
  vst2q_s16(out, ((int16x8x2_t){{p.low, q.low}}));
  vst2q_s16(out + 16, ((int16x8x2_t){{p.high, q.high}}));
}

void npuc_i8_pair__neon(const uint8_t *a, const uint8_t *b, bool is_signed, int32_t zero_point, size_t n, int16_t *out) {
  if (n < 16) {
    npuc_i8_pair__scalar(a, b, is_signed, zero_point, n, out);
    return;
  }
  const int16x8_t zero = vdupq_n_s16((int16_t)zero_point);
  const uint8x16_t nothing = vdupq_n_u8((uint8_t)zero_point);
  for (size_t i = 0; i + 16 <= n; i += 16) pair16(a ? a + i : NULL, b ? b + i : NULL, is_signed, zero, nothing, out + 2 * i);
  const size_t last = n - 16;
  pair16(a ? a + last : NULL, b ? b + last : NULL, is_signed, zero, nothing, out + 2 * last);
}

/* 8 rows of 16 bytes to 16 rows of 8: three rounds of interleaving rows that are half, a quarter, an eighth apart. */
NPUC_INLINE void transpose_8x16(const uint8_t *from, size_t from_pitch, uint8_t *to, size_t to_pitch) {
  uint8x16_t r[8], s[8];
  NPUC_UNROLL
  for (size_t i = 0; i < 8; i++) r[i] = vld1q_u8(from + i * from_pitch);
  NPUC_UNROLL
  for (int round = 0; round < 3; round++) {
    for (size_t i = 0; i < 4; i++) {
      s[2 * i] = vzip1q_u8(r[i], r[i + 4]);
      s[2 * i + 1] = vzip2q_u8(r[i], r[i + 4]);
    }
    memcpy(r, s, sizeof r);
  }
  NPUC_UNROLL
  for (size_t i = 0; i < 8; i++) {
    vst1_u8(to + 2 * i * to_pitch, vget_low_u8(r[i]));
    vst1_u8(to + (2 * i + 1) * to_pitch, vget_high_u8(r[i]));
  }
}

void npuc_i8_transpose__neon(const uint8_t *from, size_t from_pitch, size_t rows, size_t columns, uint8_t *to, size_t to_pitch) {
  if (rows < 8 || columns < 16) {
    npuc_i8_transpose__scalar(from, from_pitch, rows, columns, to, to_pitch);
    return;
  }
  for (size_t r = 0; r < rows; r += 8) { /* the last of each overlap */
    const size_t row = r + 8 <= rows ? r : rows - 8;
    for (size_t c = 0; c < columns; c += 16) {
      const size_t column = c + 16 <= columns ? c : columns - 16;
      transpose_8x16(from + row * from_pitch + column, from_pitch, to + column * to_pitch + row, to_pitch);
    }
  }
}

#endif
