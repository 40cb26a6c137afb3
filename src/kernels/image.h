/* SPDX-License-Identifier: Apache-2.0 */
/* How float32 feature maps lie in memory: planar, as tensors are, or in blocks of as many channels as the kernels have lanes:
 *
 *   planar    [batch, channels, d, h, w]
 *   blocked   [batch, ceil(channels / lanes), d, h, w, lanes]   lanes: 8, with AVX-512 16
 *
 * Either may have a border of zeros around each map: a convolution that finds its padding there needs no tests and no copy. Lanes of the last
 * block beyond the channels hold anything. */
#ifndef NPUC_KERNELS_IMAGE_H
#define NPUC_KERNELS_IMAGE_H

#include <stdbool.h>

#include "kernels/kernels.h"
#include "kernels/window.h"

typedef struct image_border {
  int64_t before[WINDOW_AXES], after[WINDOW_AXES];
} image_border;

/* Strides in elements. Channel c, cell (d, h, w) of a sample is at
 * origin + c / lanes * block + c % lanes + d * step[0] + h * step[1] + w * step[2]. */
typedef struct image {
  int64_t channels, lanes; /* lanes 1: planar, a block is a plane */
  int64_t size[WINDOW_AXES];
  image_border border;
  int64_t sample, block, step[WINDOW_AXES], origin;
} image;

/* False when a sample's offsets do not fit 32 bits. */
bool npuc_image_blocked(int64_t channels, int64_t lanes, const int64_t size[WINDOW_AXES], const image_border *border, image *out_image);
bool npuc_image_planar(int64_t channels, const int64_t size[WINDOW_AXES], const image_border *border, image *out_image);

/* Blocks [first, last) of `to`, or of `from` where only that is blocked, of a sample are copied from one image to another of the same channels and size, where both are
 * blocked with the same lanes; borders of `to` become zeros. */
void npuc_image_copy(const kernel_set *kernels, const image *from, const float *x, const image *to, float *y, int64_t first, int64_t last);
static inline bool image_is_blocked(const image *i) { return i->lanes > 1; }
static inline int64_t image_blocks(const image *i) { return (i->channels + i->lanes - 1) / i->lanes; }
/* Zeros around every map of one sample. */
void npuc_image_clear_border(const image *i, float *x);
bool npuc_image_has_border(const image *i);

#endif
