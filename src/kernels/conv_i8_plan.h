/* SPDX-License-Identifier: Apache-2.0 */
/* Inside conv_i8.c, conv_i8_pack.c, winograd_i8.c, quads_i8.c and depthwise_i8.c: how a convolution is cut up. Depthwise ones take two rows of a channel
 * together, or four; all others are dense, and small groups are merged to dense ones with zeros between, so that a vector of output channels is full. */
#ifndef NPUC_KERNELS_CONV_I8_PLAN_H
#define NPUC_KERNELS_CONV_I8_PLAN_H

#include "kernels/conv_i8.h"

/* What weights are packed by. */
typedef struct conv_i8_form {
  bool depthwise;
  bool bytes;             /* by quads of bytes */
  int64_t width;          /* channels of a block's parameters: 16; depthwise by quads: 64, in the order of depthwise_channel */
  bool winograd;          /* 3x3 without stride: runs are the 16 positions of a tile */
  int64_t groups, ci, co; /* merged groups, channels of each; depthwise: 1 and the padded channels */
  int64_t blocks;         /* of 16 channels in a group, the last of 8 where no more are left; depthwise by quads: of 64 */
  int64_t runs, pairs;    /* of a group's taps; depthwise: taps of the two parities of the first row */
  int64_t quads;          /* of a run of bytes */
  int64_t group_weights;  /* elements */
  bool whole_rows;        /* a run is a whole row of the kernel */
} conv_i8_form;

conv_i8_form npuc_conv_i8_form(const kernel_window *g, quads_kind kind);
/* Channels of a block as kernels see it. */
static inline int conv_i8_width(int64_t co, int64_t block) { return co - block * I8_WIDE > I8_NARROW ? I8_WIDE : I8_NARROW; }
static inline int64_t conv_i8_padded(int64_t channels) { return (channels + I8_NARROW - 1) / I8_NARROW * I8_NARROW; }

typedef struct conv_i8_units {
  kernel_window g; /* 1x1 without stride: a pixel is a row */
  conv_i8_form f;
  int64_t rows, units;      /* output rows of a unit, units of a plane of rows */
  int64_t parts;            /* of the channel blocks */
  int64_t in_rows, columns; /* padded input of a unit */
  int64_t pitch;            /* elements of a padded input row: int16, or pairs of them when depthwise; bytes of a record */
  size_t at_bytes, row_bytes, x_bytes, y_bytes, thread_bytes, shared_bytes;
} conv_i8_units;

/* Channels [o, o + channels) of y as block `block` (of all groups). */
typedef struct conv_i8_block {
  int64_t index, group, o;
  int width, channels;
  rule_i8 rule;
  const int32_t *weights, *bias;
} conv_i8_block;

/* What a call prepares for all units. */
typedef struct conv_i8_job {
  const kernel_set *kernels;
  const conv_i8 *conv;
  conv_i8_units p;
  bool flips; /* x's highest bit, on the way into a unit */
  rule_kind kind;
  conv_i8_block *blocks; /* [blocks of all groups] */
  int32_t *bias, *m, *s; /* [blocks of all groups, f.width] */
  int32_t *offsets;      /* [runs] elements; depthwise: [taps of parity 0], [taps of parity 1] */
  char *threads;
} conv_i8_job;

/* One unit at work. */
typedef struct conv_i8_unit {
  const conv_i8_job *job;
  int64_t sample, depth, first, rows; /* output rows */
  int32_t *at;                        /* [pixels]: element of a pixel's first tap; or working memory */
  void *input;                        /* widened rows */
  uint8_t *x, *y;                     /* channels-last copies, or NULL */
  int32_t *sums;
} conv_i8_unit;

int64_t npuc_conv_i8_input_rows(const kernel_window *g, int64_t rows);
/* Input row `row` of the unit, one of the padded ones, at depth `d` of the kernel: its first element; NULL in the padding. Channels last, but for dense
 * quads of bytes the caller's layout. */
const uint8_t *npuc_conv_i8_source(const conv_i8_unit *u, int64_t d, int64_t row);
/* The first element of a unit's rows where they have no padding and lie one behind the other, or NULL. */
const uint8_t *npuc_conv_i8_adjacent(const conv_i8_unit *u);
/* Where the unit's outputs go, channels last. */
uint8_t *npuc_conv_i8_output(const conv_i8_unit *u);

/* winograd_i8.c: blocks [first, last) of a unit whose rows are widened. Scratch (at conv_i8_unit.at) in bytes. */
void npuc_winograd_i8(const conv_i8_unit *u, int64_t first, int64_t last);
int64_t npuc_winograd_i8_scratch(const conv_i8_form *f);
/* quads_i8.c: blocks [first, last) of a unit, from the caller's x. Scratch (at conv_i8_unit.at) and records (at input) in bytes. */
void npuc_quads_i8(const conv_i8_unit *u, int64_t first, int64_t last);
int64_t npuc_quads_i8_scratch(void);
int64_t npuc_quads_i8_pitch(const kernel_window *g);
int64_t npuc_quads_i8_rows_bytes(const conv_i8_units *p, int64_t in_rows);
void npuc_quads_i8_offsets(const conv_i8_units *p, int32_t *offsets);
bool npuc_quads_i8_flips(const kernel_set *kernels, bool is_signed);
/* depthwise_i8.c: the same for depthwise convolutions. */
void npuc_depthwise_i8(const conv_i8_unit *u, int64_t first, int64_t last);
int64_t npuc_depthwise_i8_rows_bytes(const conv_i8_units *p, int64_t in_rows);
/* Pixels, `stride` columns apart, whose windows the kernel interleaves at once; below 1: none. */
static inline int64_t depthwise_strip(const kernel_window *g, int64_t stride) {
  const int64_t n = (DEPTHWISE_COLUMNS - 1 - (g->kernel[2] - 1) * g->dilation[2]) / stride + 1;
  return n < DEPTHWISE_STRIP ? n : DEPTHWISE_STRIP;
}
/* Pixels that are one of 64 channels. */
static inline int64_t depthwise_together(const kernel_window *g) {
  return g->stride[2] == 1 && DEPTHWISE_CHANNELS % g->channels == 0 ? DEPTHWISE_CHANNELS / g->channels : 1;
}
/* Channel in place i of a block's parameters. */
static inline int64_t depthwise_channel_at(int64_t channels, int64_t i) {
  const int64_t channel = i / DEPTHWISE_CHANNELS * DEPTHWISE_CHANNELS + depthwise_channel(i);
  return DEPTHWISE_CHANNELS % channels == 0 ? channel % channels : channel;
}

#endif
