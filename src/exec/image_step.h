/* SPDX-License-Identifier: Apache-2.0 */
/* What one operator does to blocked images (kernels/image.h): which nodes have such a form, and how it runs. */
#ifndef NPUC_EXEC_IMAGE_STEP_H
#define NPUC_EXEC_IMAGE_STEP_H

#include "exec/fuse.h"
#include "kernels/conv.h"
#include "kernels/image_ops.h"

/* Where an operand lies: in a tensor of the plan, or in the segment's own memory. */
typedef struct image_place {
  image image;
  const tensor *tensor; /* [batch, channels, ...]; NULL: own memory */
  size_t offset;        /* bytes; own memory is [samples of a chunk, image.sample] there */
} image_place;

typedef struct image_step image_step;

typedef struct image_call {
  const image_step *step;
  const kernel_set *kernels;
  thread_pool *pool;
  int64_t samples;
  const float *x, *other; /* first sample */
  float *y;
  void *scratch;
} image_call;

typedef void image_run(const image_call *c);

struct image_step {
  image_run *run;
  const node *node;
  image_place x, y, other; /* other: of Add and its like, or what a convolution adds; image.channels 0: none */
  bool clear_border;       /* y's border is to be written */
  size_t scratch;          /* bytes for one call */
  /* what the operator needs of these */
  kernel_window g;
  const float *packed;
  const tensor *bias;
  float a, b; /* parameters of a function, or the clip behind a convolution */
  bool include_pad;
  image_move move;
};

/* The node as a step over images: what can be said without layouts. False: it has no such form. */
bool npuc_image_step_of(const kernel_set *kernels, const node *n, const fusion *f, const fact *facts, image_step *out_step);
/* Whether the node's second input is an image as well. */
bool npuc_image_step_is_binary(const node *n);
/* Between a tensor's planes and own blocks, either way. */
extern image_run npuc_image_convert;
/* Channels, and up to three spatial axes, the last ones; false for other ranks, empty values and other types than float32. */
bool npuc_image_dims(const fact *f, int64_t *out_channels, int64_t out_size[WINDOW_AXES]);

#endif
