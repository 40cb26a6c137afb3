/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and matrix products above the tile kernels: packing, padding, splitting into tiles and among threads; the same for every
 * level, so that a level only changes the tile.
 *
 * Input planes are first copied with their padding, and split into `stride` phases along the last axis, so that every tap of a row
 * of outputs is a run of adjacent elements at a fixed offset:
 *
 *   x row, stride 2:  . a b c d e f .      ->   phase 0: . b d f    phase 1: a c e .
 *   output i, tap j reads phase j mod 2, element i + j / 2
 */
#ifndef NPUC_KERNELS_CONV_H
#define NPUC_KERNELS_CONV_H

#include "base/threads.h"
#include "kernels/kernels.h"
#include "kernels/window.h"

/* -- float32 -- */

typedef struct conv_f32 {
  kernel_window g;
  const float *x;         /* [batch, channels, in...] */
  const float *packed;    /* of npuc_conv_f32_pack */
  const float *bias;      /* [out_channels] or NULL */
  float *y;               /* [batch, out_channels, out...] */
  const float *add;       /* as y, or NULL: y = clip(conv + add); not y itself */
  float clip_lo, clip_hi; /* -INFINITY, INFINITY: none */
} conv_f32;

/* Elements of packed weights: [group, ceil(out_channels/group / 4), channels/group * kernel volume, 4]. */
size_t npuc_conv_packed_elements(int64_t group, int64_t out_channels, int64_t taps);
/* w [out_channels, taps] at any alignment. */
void npuc_conv_f32_pack(int64_t group, int64_t out_channels, int64_t taps, const void *w, float *out_packed);
/* Bytes of scratch for one call with this many threads; false when the sizes cannot be addressed. */
bool npuc_conv_f32_scratch(const kernel_window *g, size_t threads, size_t *out_bytes);
void npuc_conv_f32(const kernel_set *kernels, thread_pool *pool, const conv_f32 *conv, void *scratch);

/* y[m, n] = sum over k of a[m, k] * b[k, n] as `chain` from +0: a packed as m output channels of k taps, b [k, n] row-major. */
typedef struct matmul_f32 {
  int64_t m, k, n;
  const float *packed_a; /* of npuc_conv_f32_pack(1, m, k, a) */
  const float *b;
  float *y; /* [m, n] */
} matmul_f32;
bool npuc_matmul_f32_scratch(int64_t m, int64_t k, int64_t n, size_t *out_bytes);
void npuc_matmul_f32(const kernel_set *kernels, thread_pool *pool, const matmul_f32 *job, void *scratch);

#endif
