/* SPDX-License-Identifier: Apache-2.0 */
/* Segments: nodes in a row that all work on blocked images, sample by sample. A segment runs as one step: a few samples go through all its
 * nodes, then the next few, so that what lies between the nodes stays in the cache and takes memory for those few only. */
#ifndef NPUC_EXEC_SEGMENT_H
#define NPUC_EXEC_SEGMENT_H

#include "exec/image_step.h"

typedef struct segment {
  image_step *steps;
  size_t n_steps;
  int64_t batch, chunk; /* samples of the whole, and of one pass */
  size_t workers;       /* passes that may run at a time */
  size_t images, bytes; /* of one worker's memory: the images, then scratch; `bytes` in all */
} segment;

/* By node id: the number of the segment from 1, or 0. Node order is that of the steps: a fused Conv stands where its last node does. */
typedef enum segment_mode {
  SEGMENTS_NONE,
  SEGMENTS_SINGLE, /* every convolution alone: a step is a node, with what is fused into it */
  SEGMENTS_LONG
} segment_mode;
size_t *npuc_exec_segments(arena *scratch, const graph *g, const fact *facts, const fusion *fusions, const kernel_set *kernels,
                           segment_mode mode);

typedef struct segment_source {
  arena *arena, *scratch;
  const node *const *nodes; /* roots, in order */
  size_t n_nodes;
  size_t threads;
  const fact *facts;
  const fusion *fusions;
  const kernel_set *kernels;
  void *const *prepared;
  size_t *image_of; /* by value id, all SIZE_MAX: used here and left so */
  /* The tensor that a value has outside, or NULL where nobody outside reads it. */
  const tensor *(*outside)(void *user, const value *v);
  void *user;
} segment_source;

/* False when the memory of it cannot be addressed. */
bool npuc_segment_create(const segment_source *source, segment **out_segment);
/* memory: workers * bytes. */
void npuc_segment_run(const segment *s, const kernel_set *kernels, thread_pool *pool, void *memory);

#endif
