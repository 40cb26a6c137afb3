/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of int8 convolutions with SDOT: four products of bytes a lane, 24 sums, 4 weights and a quad of x in 32 registers. */
#include "kernels/kernels.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#include <string.h>

#include "kernels/target.h"

#define TARGET __attribute__((target("arch=armv8.2-a+dotprod")))

enum { LANES = 4 };

TARGET NPUC_INLINE void quads(const quads_i8 *t, int first, const int pixels, const int vectors) {
  int32x4_t sum[I8_PIXELS][I8_WIDE / LANES];
  NPUC_UNROLL
  for (int p = 0; p < pixels; p++) {
    for (int v = 0; v < vectors; v++) sum[p][v] = vld1q_s32(t->bias + LANES * v);
  }
  const int8_t *w = t->weights;
  for (int32_t r = 0; r < t->runs; r++) {
    const int8_t *x = t->x + (size_t)first * t->step + t->offsets[r];
    for (int32_t k = 0; k < t->quads; k++, x += 4, w += 4 * LANES * vectors) {
      int8x16_t weight[I8_WIDE / LANES];
      NPUC_UNROLL
      for (int v = 0; v < vectors; v++) weight[v] = vld1q_s8(w + 4 * LANES * v);
      NPUC_UNROLL
      for (int p = 0; p < pixels; p++) {
        int32_t quad;
        memcpy(&quad, x + (size_t)p * t->step, sizeof quad);
        const int8x16_t in = vreinterpretq_s8_s32(vdupq_n_s32(quad));
        for (int v = 0; v < vectors; v++) sum[p][v] = vdotq_s32(sum[p][v], weight[v], in);
      }
    }
  }
  NPUC_UNROLL
  for (int p = 0; p < pixels; p++) {
    for (int v = 0; v < vectors; v++) vst1q_s32(t->sums + LANES * (vectors * (first + p) + v), sum[p][v]);
  }
}

TARGET void npuc_i8_quads__dotprod(const quads_i8 *t) {
  int p = 0;
  if (t->width == I8_WIDE) {
    for (; p + I8_PIXELS <= t->pixels; p += I8_PIXELS) quads(t, p, I8_PIXELS, I8_WIDE / LANES);
    for (; p < t->pixels; p++) quads(t, p, 1, I8_WIDE / LANES);
  } else {
    for (; p + I8_PIXELS <= t->pixels; p += I8_PIXELS) quads(t, p, I8_PIXELS, I8_NARROW / LANES);
    for (; p < t->pixels; p++) quads(t, p, 1, I8_NARROW / LANES);
  }
}

#endif
