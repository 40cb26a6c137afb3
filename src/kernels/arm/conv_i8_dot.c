/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of int8 convolutions with SDOT: four products of bytes a lane, 24 sums, 4 weights and a quad of x in 32 registers. */
#include "kernels/kernels.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#include <string.h>

#include "kernels/target.h"

#define TARGET __attribute__((target("arch=armv8.2-a+dotprod")))

enum { LANES = 4 };

TARGET NPUC_INLINE void quads(const quads_i8 *t, int block, int first, const int pixels) {
  enum { VECTORS = I8_WIDE / LANES };
  int32x4_t sum[I8_PIXELS][VECTORS];
  NPUC_UNROLL
  for (int p = 0; p < pixels; p++) {
    for (int v = 0; v < VECTORS; v++) sum[p][v] = vld1q_s32(t->bias + block * I8_WIDE + LANES * v);
  }
  const size_t run = (size_t)quads_padded(t->quads) * I8_WIDE * 4;
  const int8_t *weights = t->weights + (size_t)block * (size_t)t->runs * run;
  for (int32_t r = 0; r < t->runs; r++, weights += run) {
    const uint8_t *x = t->x + (size_t)first * t->step + t->offsets[r];
    const int8_t *w = weights;
    for (int32_t k = 0; k < t->quads; k++, x += 4, w += 4 * I8_WIDE) {
      int8x16_t weight[VECTORS];
      NPUC_UNROLL
      for (int v = 0; v < VECTORS; v++) weight[v] = vld1q_s8(w + 4 * LANES * v);
      NPUC_UNROLL
      for (int p = 0; p < pixels; p++) {
        int32_t quad;
        memcpy(&quad, x + (size_t)p * t->step, sizeof quad);
        const int8x16_t in = vreinterpretq_s8_s32(vdupq_n_s32(quad));
        for (int v = 0; v < VECTORS; v++) sum[p][v] = vdotq_s32(sum[p][v], weight[v], in);
      }
    }
  }
  int32_t *to = t->sums + (block * (QUADS_STRIP / QUADS_BLOCKS) + first) * I8_WIDE;
  NPUC_UNROLL
  for (int p = 0; p < pixels; p++) {
    for (int v = 0; v < VECTORS; v++) vst1q_s32(to + I8_WIDE * p + LANES * v, sum[p][v]);
  }
}

TARGET void npuc_i8_quads__dotprod(const quads_i8 *t) {
  for (int block = 0; block < t->blocks; block++) {
    int p = 0;
    for (; p + I8_PIXELS <= t->pixels; p += I8_PIXELS) quads(t, block, p, I8_PIXELS);
    for (; p < t->pixels; p++) quads(t, block, p, 1);
  }
}

#endif
