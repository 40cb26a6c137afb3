/* SPDX-License-Identifier: Apache-2.0 */
/* The executor's own fusions: a float32 Conv with the Add, Relu and Clip behind it, and a float32 MatMul with the Transpose of a weight before it. The graph
 * is not changed, and the bits are those of the separate nodes; what is saved is a pass over memory for each, and the memory of a transposed weight. */
#ifndef NPUC_EXEC_FUSE_H
#define NPUC_EXEC_FUSE_H

#include "ir/op.h"
#include "kernels/kernels.h"

typedef struct fusion {
  bool absorbed;       /* runs as part of another node, or (a Conv that absorbed) at another node's place */
  const node *root;    /* of the last absorbed node: the Conv, which runs here */
  const node *last;    /* of a Conv that absorbed nodes: the last of them; else NULL */
  const value *add;    /* other operand of the Add, or NULL */
  const value *weight; /* of a MatMul: the constant [..., n, k] that it reads in place of its Transpose [..., k, n]; or NULL */
  float clip_lo, clip_hi;
} fusion;

/* By node id. `enabled` false: no fusions. */
const fusion *npuc_exec_fusions(arena *scratch, const graph *g, const fact *facts, const kernel_set *kernels, bool enabled);

#endif
