/* SPDX-License-Identifier: Apache-2.0 */
/* Pools over 8-bit images whose channels are last: every step is over adjacent channels, and for stride 1 over whole rows. Byte for byte what
 * pool.c and ref/integer.c give on channels-first images. */
#ifndef NPUC_KERNELS_POOL_I8_H
#define NPUC_KERNELS_POOL_I8_H

#include "kernels/kernels.h"
#include "kernels/ref/integer.h"

/* Rows of outputs [first, last) of batch * out[0] * out[1]. */
void npuc_maxpool_last(const kernel_set *kernels, const kernel_window *g, bool is_signed, const uint8_t *x, uint8_t *y, int64_t first,
                       int64_t last);

typedef struct averagepool_i8 {
  kernel_window g;
  bool count_include_pad;
  q8_input x;
  q8_output y;
  const int32_t *counts; /* [n_counts], ascending; scale by count */
  int64_t n_counts;
  q8_scale scale;
} averagepool_i8;
/* int32 elements of scratch for one row of outputs. */
int64_t npuc_averagepool_last_scratch(const kernel_window *g);
/* False when a window's count is not among `counts`. */
bool npuc_averagepool_last(const kernel_set *kernels, const averagepool_i8 *pool, int32_t *scratch, int64_t first, int64_t last);

/* One sample: x [pixels, channels], y [channels]; scratch of `channels` + 64. */
void npuc_globalaveragepool_last(const kernel_set *kernels, int64_t pixels, int64_t channels, const q8_input *x, const q8_scale *scale,
                                 const q8_output *y, int32_t *scratch);

#endif
