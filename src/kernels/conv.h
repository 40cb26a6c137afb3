/* SPDX-License-Identifier: Apache-2.0 */
/* float32 convolutions and matrix products above the tile kernels: packing, padding, splitting into tiles and among threads; the same for
 * every level, so that a level only changes the tile.
 *
 * A tile is a few output pixels by one to three blocks of output channels, whose sums stay in registers. It finds tap k of pixel p at
 * x + at[p] + offset[k], in whatever layout x has: the padding is zeros in x's border, so that every pixel is like every other. */
#ifndef NPUC_KERNELS_CONV_H
#define NPUC_KERNELS_CONV_H

#include "base/threads.h"
#include "kernels/image.h"

/* What packing depends on. */
typedef struct conv_weights {
  int64_t group, out_channels;
  int64_t channels; /* of one group's input */
  int64_t volume;   /* of the kernel */
  int64_t lanes;    /* of the kernels */
} conv_weights;

static inline conv_weights conv_weights_of(const kernel_set *kernels, const kernel_window *g) {
  return (conv_weights){g->group, g->out_channels, g->channels / g->group, window_volume(g->kernel), kernels->lanes};
}

typedef struct conv_f32 {
  kernel_window g;        /* batch: samples of this call */
  image x_image, y_image; /* planar, or blocked with the lanes of the kernels */
  const float *x;
  const float *packed;    /* of npuc_conv_f32_pack */
  const float *bias;      /* [out_channels] or NULL */
  float *y;               /* its border, if any, is the caller's to clear */
  image add_image;        /* blocked, of y's channels and size */
  const float *add;       /* y = clip(conv + add), y blocked; may be y itself; or NULL */
  float clip_lo, clip_hi; /* -INFINITY, INFINITY: none */
} conv_f32;

/* The border that x needs for a convolution without a copy. */
image_border npuc_conv_border(const kernel_window *g);
/* Elements of packed weights. */
size_t npuc_conv_f32_packed_elements(const conv_weights *w);
/* w [out_channels, channels, volume] at any alignment. */
void npuc_conv_f32_pack(const conv_weights *w, const void *from, float *out_packed);
/* Bytes of scratch for one call with this many threads; false when the sizes cannot be addressed. Reads g, x_image and y_image. */
bool npuc_conv_f32_scratch(const kernel_set *kernels, const conv_f32 *conv, size_t threads, size_t *out_bytes);
void npuc_conv_f32(const kernel_set *kernels, thread_pool *pool, const conv_f32 *conv, void *scratch);

/* y[m, n] = sum over k of a[m, k] * b[k, n] as `chain` from +0; all row-major. */
typedef struct matmul_f32 {
  int64_t m, k, n;
  const float *a, *b;
  float *y;
  bool b_transposed; /* b lies as [n, k]; the same bits */
} matmul_f32;
bool npuc_matmul_f32_scratch(int64_t m, int64_t k, int64_t n, size_t threads, size_t *out_bytes);
void npuc_matmul_f32(const kernel_set *kernels, thread_pool *pool, const matmul_f32 *job, void *scratch);

#endif
