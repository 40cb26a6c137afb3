/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: pure functions of their arguments that compute, and nothing else: no allocation, no globals, no failure. kernels.def lists
 * every one with the level that it needs; a kernel_set is filled from scalar upward and carried by whoever runs kernels. Each level
 * gives the bits of the scalar one (docs/kernels.md states the numeric contracts; NaNs are NaNs everywhere, their payloads are not promised). */
#ifndef NPUC_KERNELS_KERNELS_H
#define NPUC_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"
#include "kernels/int8.h"

/* y[i] = f(x[i]; a, b); y may be x. */
typedef void unary_f32_kernel(const float *x, float *y, size_t n, float a, float b);
/* y[i] = f(a[i * a_step], b[i * b_step]), steps 0 or 1; y may be a or b where that operand's step is 1. */
typedef void binary_f32_kernel(const float *a, size_t a_step, const float *b, size_t b_step, float *y, size_t n);
/* `lanes16`: sum of n elements of x, `stride` apart, for `columns` adjacent columns. */
typedef void sum_f32_kernel(const float *x, size_t n, size_t stride, size_t columns, float *sums);
/* One softmax over n adjacent elements; y may be x. */
typedef void row_f32_kernel(const float *x, float *y, size_t n);

/* One tile of a convolution or matrix product: `vectors` vectors of adjacent outputs x `channels` output channels; each output is one
 * `chain` over the taps (float) or an exact sum (integers). An element is 32 bits: a float, or a pair of int16. */
enum { CONV_TILE_CHANNELS = 4, CONV_TILE_VECTORS = 3, CONV_MOST_VECTORS = 8 };
typedef struct conv_tile {
  const void *x[CONV_MOST_VECTORS]; /* where each vector's first output finds tap 0; a whole vector is read at every tap */
  const int32_t *offsets;           /* [taps], in elements */
  size_t taps;
  const void *weights;              /* [taps, CONV_TILE_CHANNELS] elements */
  void *y[CONV_MOST_VECTORS];       /* channel 0's outputs of each vector */
  size_t y_channel;                 /* elements from one channel of y to the next */
  int32_t lanes[CONV_MOST_VECTORS]; /* outputs of each vector that exist, 1 .. lanes of the kernel */
  int channels;                     /* that exist, 1 .. CONV_TILE_CHANNELS */
  /* float32: sums begin at start; y = clip(sum + add), add NULL or laid out as y; no clip is -infinity, infinity */
  float start[CONV_TILE_CHANNELS];
  const float *add[CONV_MOST_VECTORS];
  float clip_lo, clip_hi;
} conv_tile;
/* One channel: up to CONV_MOST_VECTORS vectors; more: up to CONV_TILE_VECTORS. */
typedef void conv_tile_kernel(const conv_tile *t, int vectors);

/* `lanes16`: y[m, n] = sum over k of a[m, k] * b[n, k], rows of `a` a_stride elements apart, of `b` b_stride, of y y_stride. */
typedef void dot_f32_kernel(const float *a, size_t a_stride, const float *b, size_t b_stride, size_t k, float *y, size_t y_stride, size_t m,
                            size_t n);

/* -- what calibration counts -- */

/* Extends [*lo, *hi] by the n elements; false, and nothing said, when one of them is NaN or infinite. */
typedef bool bounds_f32_kernel(const float *x, size_t n, float *lo, float *hi);
/* bins[floor(x[i] * scale)]++; each quotient lies in -HISTOGRAM_HALF .. HISTOGRAM_HALF - 1. The HISTOGRAM_SPARE counters behind the
 * last bin are the kernel's to use, 0 before and after. */
enum { HISTOGRAM_HALF = 4096, HISTOGRAM_SPARE = 8 };
typedef void histogram_f32_kernel(const float *x, size_t n, float scale, uint64_t *bins);
/* sums[i] += x[i]. */
typedef void accumulate_f64_kernel(const float *x, size_t n, double *sums);
/* Sum of count[i] * (centre[i] - scale * clamp(rint(centre[i] * inverse), lo, hi))^2: eight lanes, lane i mod 8 takes element i, then
 * lane k + lane k + 4, then (0 + 2) + (1 + 3). */
typedef struct grid_f64 {
  double inverse, scale, lo, hi;
} grid_f64;
typedef double grid_error_f64_kernel(const grid_f64 *g, const double *centre, const double *count, size_t n);

typedef struct kernel_set {
  cpu_level level;
  int32_t lanes; /* outputs in one vector of the conv tiles */
  bool quads;    /* dense int8 convolutions go through quads_i8, not sums_i8 */
#define KERNEL_SLOT(slot, type, function) type##_kernel *slot;
#define KERNEL_FAST(slot, type, level, function)
#include "kernels/kernels.def"
#undef KERNEL_SLOT
#undef KERNEL_FAST
} kernel_set;

#define KERNEL_SLOT(slot, type, function) extern type##_kernel function;
#define KERNEL_FAST(slot, type, level, function) extern type##_kernel function;
#include "kernels/kernels.def"
#undef KERNEL_SLOT
#undef KERNEL_FAST

/* The best kernels at or below `level`; the processor must have it. */
void npuc_kernels_for_level(cpu_level level, kernel_set *out_set);
/* The same for what NPUC_CPU asks for, or the processor's best. */
npuc_status npuc_kernels_select(diag *d, kernel_set *out_set) NPUC_MUST_USE;
/* Constant set of scalar kernels: for callers that carry none. */
const kernel_set *npuc_kernels_scalar(void);

#endif
