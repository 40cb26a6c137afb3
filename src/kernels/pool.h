/* SPDX-License-Identifier: Apache-2.0 */
/* Max and average pools over planes [first, last) of batch * channels. Taps are taken in row-major order, so an average is a `chain` of
 * additions, then one division. Cells outside the image do not take part in a maximum; NaN is a maximum. */
#ifndef NPUC_KERNELS_POOL_H
#define NPUC_KERNELS_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/window.h"

void npuc_maxpool_f32(const kernel_window *g, const float *x, float *y, int64_t first, int64_t last);
void npuc_maxpool_u8(const kernel_window *g, const uint8_t *x, uint8_t *y, int64_t first, int64_t last);
void npuc_maxpool_i8(const kernel_window *g, const int8_t *x, int8_t *y, int64_t first, int64_t last);
/* Flat index of each maximum in x, the first of equals; column_major counts the spatial axes in Fortran's order. */
void npuc_maxpool_indices(const kernel_window *g, const float *x, bool column_major, int64_t *indices, int64_t first, int64_t last);
/* Divisor: cells inside the image, or inside the padded image; cells beyond that (ceil_mode) never count. */
void npuc_averagepool_f32(const kernel_window *g, bool count_include_pad, const float *x, float *y, int64_t first, int64_t last);

#endif
