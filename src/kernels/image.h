/* SPDX-License-Identifier: Apache-2.0 */
/* How float32 feature maps lie in memory: planar, as tensors are, or in blocks of 8 channels, as the fast kernels want them:
 *
 *   planar    [batch, channels, d, h, w]
 *   blocked   [batch, ceil(channels / 8), d, h, w, 8]
 *
 * Either may have a border of zeros around each map: a convolution that finds its padding there needs no tests and no copy. Lanes of the last
 * block beyond the channels hold anything. */
#ifndef NPUC_KERNELS_IMAGE_H
#define NPUC_KERNELS_IMAGE_H

#include <stdbool.h>

#include "kernels/kernels.h"
#include "kernels/window.h"

enum { IMAGE_BLOCK = 8 };

typedef struct image_border {
  int64_t before[WINDOW_AXES], after[WINDOW_AXES];
} image_border;

/* Strides in elements. Channel c, cell (d, h, w) of a sample is at
 * origin + c / 8 * block + c % 8 * lane + d * step[0] + h * step[1] + w * step[2]. */
typedef struct image {
  int64_t channels, size[WINDOW_AXES];
  image_border border;
  bool blocked;
  int64_t sample, block, lane, step[WINDOW_AXES], origin;
} image;

/* False when a sample's offsets do not fit 32 bits. */
bool npuc_image_blocked(int64_t channels, const int64_t size[WINDOW_AXES], const image_border *border, image *out_image);
bool npuc_image_planar(int64_t channels, const int64_t size[WINDOW_AXES], const image_border *border, image *out_image);

/* Elements of the blocks (planes) [first, last) of a sample are copied from one image to another of the same channels and size; borders of `to` become zeros. */
void npuc_image_copy(const kernel_set *kernels, const image *from, const float *x, const image *to, float *y, int64_t first, int64_t last);
static inline int64_t image_blocks(const image *i) { return (i->channels + IMAGE_BLOCK - 1) / IMAGE_BLOCK; }
/* Zeros around every map of one sample. */
void npuc_image_clear_border(const image *i, float *x);
bool npuc_image_has_border(const image *i);

#endif
