/* SPDX-License-Identifier: Apache-2.0 */
/* The int8 kernels' types. Inside convolutions data is channels-last: a vector is adjacent output channels, an element of x is broadcast
 * to it, and a pixel's taps lie in runs of adjacent elements (all channels of a kernel row), two int16 to a 32-bit pair. */
#ifndef NPUC_KERNELS_INT8_H
#define NPUC_KERNELS_INT8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  I8_WIDE = 16, /* output channels of a block; the last may be I8_NARROW */
  I8_NARROW = 8,
  I8_PIXELS = 6, /* of a tile: 6 pixels x 16 channels are 12 vectors of sums */
  I8_TILES = 4,  /* tiles between two uses of the rule */
  I8_RUN = I8_PIXELS * I8_TILES
};

/* A tile: sums[p][i] = bias[i] + sum over runs r and pairs k of x[p][offsets[r] + 2k, + 2k + 1] . weights[r][k][i], i < width. Exact modulo 2^32. */
typedef struct sums_i8 {
  const int16_t *x[I8_PIXELS];
  int pixels; /* 1 .. I8_PIXELS */
  int width;  /* I8_NARROW or I8_WIDE */
  int32_t runs, pairs;
  const int32_t *offsets; /* [runs], elements */
  const int32_t *weights; /* [runs, pairs, width] pairs of int16 */
  const int32_t *bias;    /* [width] */
  int32_t *sums;          /* [pixels, width] */
} sums_i8;
typedef void sums_i8_kernel(const sums_i8 *t);

/* The same on bytes, for processors that multiply four at once (SDOT, VNNI, AMX): pixels are `step` apart, and a run is whole quads of bytes, its weights extended
 * by zeros to a multiple of QUADS_STEP. x is s8 or u8, whichever the kernel takes (kernel_set.quads).
 *
 *   sums[b][p][i] = bias[b][i] + sum over runs r, quads k and j < 4 of x[p * step + offsets[r] + 4k + j] * weights[b][r][k][i][j]
 *
 * A kernel may read x as if pixels were a multiple of QUADS_PIXELS and quads of QUADS_STEP, and writes whatever it likes to the sums of such pixels. */
enum { QUADS_PIXELS = 16, QUADS_STEP = 16, QUADS_BLOCKS = 2, QUADS_STRIP = 64 };
typedef struct quads_i8 {
  const uint8_t *x;
  bool is_signed;
  size_t step;
  int pixels; /* 1 .. QUADS_STRIP / blocks */
  int blocks; /* 1 .. QUADS_BLOCKS, of 16 channels */
  int32_t runs, quads;
  const int32_t *offsets; /* [runs], bytes */
  const int8_t *weights;  /* [blocks, runs, quads, 16, 4], 64-byte aligned */
  const int32_t *bias;    /* [blocks, 16] */
  int32_t *sums;          /* [blocks, QUADS_STRIP / QUADS_BLOCKS, 16]; of one block [QUADS_STRIP, 16] */
} quads_i8;
typedef void quads_i8_kernel(const quads_i8 *t);
static inline int32_t quads_padded(int32_t quads) { return (quads + QUADS_STEP - 1) / QUADS_STEP * QUADS_STEP; }
/* n records of `bytes` bytes each: to[i * pitch + k] = x[i * step + k] ^ mask; x may be `to`. */
typedef void records_i8_kernel(const uint8_t *x, size_t step, size_t bytes, size_t n, uint8_t mask, uint8_t *to, size_t pitch);
/* Around any number of quads_i8 calls of a thread: AMX's tiles are set up and given back. */
typedef void quads_frame_i8_kernel(void);

/* The same for depthwise convolutions: a pair is one channel of two adjacent rows; sums[p][i] = bias[i] + sum over taps k of
 * x[p * step + offsets[k] + i] . weights[k * weights_step + i]. */
typedef struct depthwise_i8 {
  const int32_t *x; /* pairs of int16 */
  size_t step;
  int pixels, width;
  int32_t taps;
  const int32_t *offsets; /* [taps] */
  const int32_t *weights;
  size_t weights_step;
  const int32_t *bias; /* [width] */
  int32_t *sums;       /* [pixels, width] */
} depthwise_i8;
typedef void depthwise_i8_kernel(const depthwise_i8 *t);

/* Winograd's F(2x2, 3x3), exact in integers (Lavin and Gray 2015). in: v[position * step + c] = (B^T d B)[position][c] of the 4 x 4 pixels d at
 * x, rows `pitch` apart; channels a multiple of 16, |d| <= 255. out: from m[position * step + i], four times the sums' products,
 * sums[p][i] = bias[i] + (A^T m A)[p][i] / 4 of the 2 x 2 pixels p: top[0], top[1], bottom[0], bottom[1], each [width]. */
typedef void winograd_in_i8_kernel(const int16_t *x, size_t pitch, size_t channels, int16_t *v, size_t step);
typedef void winograd_out_i8_kernel(const int32_t *m, size_t step, const int32_t *bias, int width, int32_t *top, int32_t *bottom);

/* RULE of docs/numerics.md with a multiplier and shift for each channel. */
typedef enum rule_kind {
  RULE_SHORT, /* 0 <= M < 2^15, 17 <= s <= 47: 32-bit arithmetic */
  RULE_LONG,  /* s >= 32: the result is in the product's high half */
  RULE_ANY
} rule_kind;
typedef struct rule_i8 {
  rule_kind kind;
  const int32_t *m, *s; /* [width] */
  bool is_signed;       /* y */
  int32_t zero_point, lo, hi;
} rule_i8;
/* What n pairs M, s allow, and M, s in the form that it wants (the same results). */
rule_kind npuc_rule_kind(const int32_t *m, const int32_t *s, int64_t n);
void npuc_rule_prepare(rule_kind kind, int32_t *m, int32_t *s, int64_t n);
/* y[p * pitch + i] of channels i < `channels` of each pixel; sums [pixels, width] may be read to a multiple of 4 vectors of 8. */
typedef void rule_i8_kernel(const rule_i8 *r, const int32_t *sums, size_t pixels, int width, int channels, uint8_t *y, size_t pitch);

/* A block of channels over any number of pixels: sums, then the rule. A kernel either keeps the sums in registers until they are bytes, or
 * goes through memory with the tile and rule kernels of its set. */
typedef struct dense_i8 {
  sums_i8 tile; /* its x, pixels and sums are filled by the kernel */
  const int16_t *x;
  const int32_t *at; /* [pixels]: element of a pixel's first tap */
  size_t pixels;
  const rule_i8 *rule;
  int channels; /* stored, of tile.width */
  uint8_t *y;   /* pixels `pitch` apart */
  size_t pitch;
  int32_t *sums; /* [I8_RUN, width]: scratch */
  sums_i8_kernel *sums_kernel;
  rule_i8_kernel *rule_kernel;
} dense_i8;
typedef void dense_i8_kernel(const dense_i8 *t);

/* Depthwise on bytes, to bytes: a pixel of up to 64 channels, x u8. Columns of x are `column` bytes apart. Four rows of a channel are a quad; what
 * interleaving leaves in place i of 64 is channel 16 * (i % 16 / 4) + 4 * (i / 16) + i % 4, and weights, bias and the rule's M, s come in that order. */
enum { DEPTHWISE_CHANNELS = 64, DEPTHWISE_STRIP = 32, DEPTHWISE_COLUMNS = 80, DEPTHWISE_ROWS = 8 };
typedef struct depthwise_quads_i8 {
  const uint8_t *x[DEPTHWISE_ROWS]; /* rows of the first pixel's window, its first column */
  size_t column;
  int rows, columns;    /* of the kernel */
  int stride, dilation; /* of columns */
  int pixels;           /* (pixels - 1) * stride + (columns - 1) * dilation < DEPTHWISE_COLUMNS */
  int channels;
  const int8_t *weights; /* [columns, quads of rows, 64, 4] */
  const int32_t *bias;   /* [64] */
  const rule_i8 *rule;
  uint8_t *y; /* pixels `pitch` apart */
  size_t pitch;
} depthwise_quads_i8;
typedef void depthwise_quads_i8_kernel(const depthwise_quads_i8 *t);
static inline int depthwise_channel(int64_t i) { return (int)(16 * (i % 16 / 4) + 4 * (i % 64 / 16) + i % 4); }

/* out[i] = x[i] - zero_point; x is u8, or s8 when is_signed. */
typedef void widen_i8_kernel(const uint8_t *x, bool is_signed, int32_t zero_point, size_t n, int16_t *out);
/* out[2i] = a[i] - zero_point, out[2i + 1] = b[i] - zero_point; 0 where a or b is NULL. */
typedef void pair_i8_kernel(const uint8_t *a, const uint8_t *b, bool is_signed, int32_t zero_point, size_t n, int16_t *out);
/* to[c * to_pitch + r] = from[r * from_pitch + c], r < rows, c < columns. */
typedef void transpose_i8_kernel(const uint8_t *from, size_t from_pitch, size_t rows, size_t columns, uint8_t *to, size_t to_pitch);

/* y[i] = max(x[i], y[i]); sums[i] += x[i]. */
typedef void max_i8_kernel(const uint8_t *x, bool is_signed, size_t n, uint8_t *y);
typedef void accumulate_i8_kernel(const uint8_t *x, bool is_signed, size_t n, int32_t *sums);

/* Elementwise integer operators: add is QAdd; mul is QMul, and Requantize where b is the number b_zero_point + 1 (step 0).
 *
 *   add  y = clamp(zp + (((a - za)*ma + (b - zb)*mb + rnd(s)) >> s), lo, hi)
 *   mul  y = clamp(zp + (((a - za)*(b - zb)*ma + rnd(s)) >> s), lo, hi) */
typedef struct binary_i8 {
  bool a_signed, b_signed;
  int32_t a_zero_point, b_zero_point, a_multiplier, b_multiplier, shift;
  int32_t zero_point, lo, hi;
} binary_i8;
typedef void binary_i8_kernel(const binary_i8 *p, const uint8_t *a, size_t a_step, const uint8_t *b, size_t b_step, uint8_t *y, size_t n);

#endif
