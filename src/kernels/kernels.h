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
/* One row of LayerNormalization (centered) or RMSNormalization, sums of doubles in `lanes16`: y = (x - mean) * inverse * scale + bias,
 * inverse = 1 / sqrt(variance + epsilon); mean 0 where it is not centered; y may be x. */
typedef struct norm_f32 {
  const float *scale, *bias; /* [n]; bias may be NULL */
  size_t n;
  double epsilon;
  bool centered;
} norm_f32;
typedef void norm_f32_kernel(const norm_f32 *g, const float *x, float *y, double *out_mean, double *out_inverse);

/* float32 convolution or matrix product: pairs of pixels by `blocks` blocks of `lanes` output channels; each output is one `chain` over the
 * taps:
 *
 *   y[p][c] = clip(start[c] + sum over k of x[at[p] + offsets[k]] * weights[k * w_step + c] + add[p][c])
 *
 * A pair is two pixels whose distance is the same in all pairs, so that a tile of many pixels needs an address for every second one only.
 * Block b of pair p is at y + y_at[p] + b * y_block, and y_step further for its second pixel. */
typedef struct tile_f32 {
  const float *x;
  const int64_t *x_at; /* [pairs]; so are y_at, add_at, skip */
  int64_t x_step;
  const int32_t *offsets; /* [taps] */
  size_t taps;
  int run; /* taps come in runs of so many, each x_step behind the one before; 1: nothing is known */
  const float *weights;
  size_t w_step;
  const float *ahead; /* what will be read as weights next: fetched meanwhile */
  size_t ahead_bytes;
  size_t ahead_step;  /* bytes: there are as many rows of ahead_bytes as taps, so far apart; 0: all of it is adjacent */
  const float *start; /* [lanes * blocks] */
  float *y;
  const int64_t *y_at;
  int64_t y_step;
  size_t y_block;
  const float *add; /* laid out in its own way; may be y; or NULL */
  const int64_t *add_at;
  int64_t add_step;
  size_t add_block;
  const bool *skip;         /* the pair's first pixel is another pair's, and not stored; NULL: nowhere */
  int lanes, blocks;        /* the set's lanes; 1 .. 3 */
  int first_lane, end_lane; /* of the first block (0 unless it is the only one), and of the last: only these are stored */
  float clip_lo, clip_hi;   /* none: -infinity, infinity */
} tile_f32;
/* A depthwise tile has one block, and every channel its own input: lane c reads x[x_at[p] + offsets[k] + c]. */
typedef void tile_f32_kernel(const tile_f32 *t, size_t pairs);
/* Planes to a block, y[i * width + c] = x[c * plane + i], and back; width 8, 16 or (not back) 32, lanes 1 .. width, lanes beyond become 0. */
typedef void block_f32_kernel(const float *x, size_t plane, size_t lanes, float *y, size_t width, size_t n);
typedef void unblock_f32_kernel(const float *x, size_t width, float *y, size_t plane, size_t lanes, size_t n);

/* `lanes16`: y[m, n] = sum over k of a[m, k] * b[n, k], rows of `a` a_stride elements apart, of `b` b_stride, of y y_stride. */
typedef void dot_f32_kernel(const float *a, size_t a_stride, const float *b, size_t b_stride, size_t k, float *y, size_t y_stride, size_t m,
                            size_t n);

/* One row of a matrix product, `chain` from what y holds: y[n] += sum over k of a[k] * b[k, n]; rows of b are b_stride elements apart. */
typedef void rows_f32_kernel(const float *a, const float *b, size_t b_stride, size_t k, float *y, size_t n);

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

/* Whether dense int8 convolutions go through quads_i8, not sums_i8, and which x it takes. */
typedef enum quads_kind { QUADS_NONE, QUADS_SIGNED, QUADS_UNSIGNED, QUADS_EITHER } quads_kind;

typedef struct kernel_set {
  cpu_level level;
  int lanes; /* channels of a block of the float32 tiles: 8 or 16 */
  quads_kind quads;
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
