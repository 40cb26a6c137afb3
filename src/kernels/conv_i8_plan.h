/* SPDX-License-Identifier: Apache-2.0 */
/* Inside conv_i8.c and conv_i8_pack.c: how a convolution is cut up. Depthwise ones pair two rows of a channel; all others are dense,
 * and small groups are merged to dense ones with zeros between, so that a vector of output channels is full. */
#ifndef NPUC_KERNELS_CONV_I8_PLAN_H
#define NPUC_KERNELS_CONV_I8_PLAN_H

#include "kernels/int8.h"
#include "kernels/window.h"

/* What weights are packed by. */
typedef struct conv_i8_form {
  bool depthwise;
  int64_t groups, ci, co; /* merged groups, channels of each; depthwise: 1 and the padded channels */
  int64_t blocks;         /* of 16 channels in a group, the last of 8 where no more are left */
  int64_t runs, pairs;    /* of a group's taps; depthwise: taps of the two parities of the first row */
  int64_t group_weights;  /* elements */
  bool whole_rows;        /* a run is a whole row of the kernel */
} conv_i8_form;

conv_i8_form npuc_conv_i8_form(const kernel_window *g);
/* Channels of a block as kernels see it. */
static inline int conv_i8_width(int64_t co, int64_t block) { return co - block * I8_WIDE > I8_NARROW ? I8_WIDE : I8_NARROW; }
static inline int64_t conv_i8_padded(int64_t channels) { return (channels + I8_NARROW - 1) / I8_NARROW * I8_NARROW; }

#endif
