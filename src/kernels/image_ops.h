/* SPDX-License-Identifier: Apache-2.0 */
/* Pools, element by element functions and moves over blocked images, blocks [first, last) of one sample at a time: the bits of the same
 * operators over planes (pool.h, kernels.def). */
#ifndef NPUC_KERNELS_IMAGE_OPS_H
#define NPUC_KERNELS_IMAGE_OPS_H

#include "kernels/image.h"

typedef struct image_pair {
  image x, y; /* both blocked */
} image_pair;

void npuc_image_maxpool(const kernel_window *g, const image_pair *i, const float *x, float *y, int64_t first, int64_t last);
void npuc_image_averagepool(const kernel_window *g, bool count_include_pad, const image_pair *i, const float *x, float *y, int64_t first,
                            int64_t last);
/* `lanes16` over all cells, divided by their count. */
void npuc_image_globalaveragepool(const image_pair *i, const float *x, float *y, int64_t first, int64_t last);

/* y[c][p] = x[c - channel_shift][p * step + start] where that exists, else fill. */
typedef struct image_move {
  int64_t channel_shift, start[WINDOW_AXES], step[WINDOW_AXES];
  float fill;
} image_move;
void npuc_image_move(const image_move *m, const image_pair *i, const float *x, float *y, int64_t first, int64_t last);

/* Rows of whole blocks: calls row(context, element of x, element of y, floats) for each. */
void npuc_image_rows(const image *x, const image *y, int64_t first, int64_t last,
                     void (*row)(const void *context, int64_t x, int64_t y, int64_t n), const void *context);

#endif
