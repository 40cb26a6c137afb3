/* SPDX-License-Identifier: Apache-2.0 */
/* Inside conv.c and conv_i8.c: how the padded input lies in scratch memory, and the walk over tiles. */
#ifndef NPUC_KERNELS_CONV_LAYOUT_H
#define NPUC_KERNELS_CONV_LAYOUT_H

#include "base/threads.h"
#include "kernels/kernels.h"
#include "kernels/window.h"

/* A cell is a 32-bit element: one channel of floats, or two channels of int16. */
typedef struct conv_layout {
  kernel_window g; /* with the axes merged when `direct` */
  bool direct;     /* x itself is read: 1x1, stride 1, no padding */
  int64_t cells;   /* per group: channels/group floats, or half as many pairs */
  int64_t taps;    /* cells * kernel volume */
  int64_t rows[2]; /* padded extent of the first two axes */
  int64_t phase;   /* elements of one phase of a row */
  int64_t pitch;   /* of a row: stride * phase */
  int64_t plane;   /* of a cell */
  int64_t sample;  /* of all cells of a sample, slack included */
} conv_layout;

enum { CONV_SLACK = 16 }; /* elements readable past the last plane: one vector */

/* False when an offset does not fit 32 bits. `pair`: two channels to a cell. */
bool npuc_conv_layout(const kernel_window *g, bool pair, int32_t lanes, conv_layout *out_layout);
/* offsets [taps]: where each tap lies from an output's place, in weight order (cell, kernel axes). */
void npuc_conv_offsets(const conv_layout *l, int32_t *offsets);
/* Element of the padded plane that holds input (d, h, w) (each from -begin), for writers of planes. */
static inline int64_t conv_row_at(const conv_layout *l, int64_t d, int64_t h) { return (d * l->rows[1] + h) * l->pitch; }

/* Elements [first, last) of a phase of a row lie in the image: element i is input i * stride + phase - begin. The others are padding. */
static inline void conv_phase_range(const conv_layout *l, int64_t phase, int64_t *out_first, int64_t *out_last) {
  int64_t s = l->g.stride[2], lead = l->g.begin[2] - phase, room = l->g.in[2] - 1 + lead;
  int64_t first = lead <= 0 ? 0 : s == 1 ? lead : (lead + s - 1) / s;
  int64_t last = room < 0 ? 0 : s == 1 ? room + 1 : room / s + 1;
  if (first > l->phase) first = l->phase;
  if (last > l->phase) last = l->phase;
  *out_first = first;
  *out_last = last < first ? first : last;
}

typedef struct conv_walk {
  const conv_layout *layout;
  conv_tile_kernel *kernel;
  int32_t lanes;
  int most_vectors; /* of a tile with several channels: as many sums as registers hold */
  const int32_t *offsets;
  size_t y_bytes; /* of an element */
  /* Fills what depends on output channel: start, weights, multiplier, shift of `t` for channels [o, o + t->channels). */
  void (*channel)(const void *context, int64_t o, int64_t group, int64_t block, conv_tile *t);
  const void *context;
} conv_walk;

/* Tiles of one sample: vectors of outputs in runs. */
int64_t npuc_conv_vectors(const conv_layout *l, int32_t lanes);
int64_t npuc_conv_blocks(const conv_layout *l); /* of 4 channels, all groups */
/* Computes vectors [first, last) of channel block `block` of one sample. x: its padded planes; y, add: its first output. */
void npuc_conv_block(const conv_walk *walk, const void *x, void *y, const float *add, const conv_tile *model, int64_t block, int64_t first,
                     int64_t last);

/* Runs all samples: `load` fills the padded planes of cells [first, last) of a sample. scratch: npuc_conv_scratch bytes after the offsets. */
typedef struct conv_run {
  conv_walk walk;
  conv_tile model; /* what is the same for all tiles */
  const void *x;   /* when direct */
  void (*load)(const void *context, int64_t sample, int64_t first, int64_t last, void *planes);
  void *y;
  const float *add;
  void *planes; /* [threads or 1, layout->sample] */
} conv_run;
void npuc_conv_run(thread_pool *pool, const conv_run *run);
/* Elements of `planes`. */
int64_t npuc_conv_planes(const conv_layout *l, size_t threads);

#endif
