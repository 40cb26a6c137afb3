/* SPDX-License-Identifier: Apache-2.0 */
/* What the evaluation files share. Each npuc_eval_X computes a node's outputs from its inputs; shapes and types were inferred, so
 * they trust them, and check only what depends on data (indices, axes given as tensors). */
#ifndef NPUC_IR_EVAL_EVAL_H
#define NPUC_IR_EVAL_EVAL_H

#include "ir/attributes.h"
#include "ir/ops/definitions.h"
#include "kernels/kernels.h"

/* Runs the node's op: constants at odd addresses are copied to aligned memory first, as the kernels want. For callers outside the executor
 * (constant folding). scratch of `c` may be NULL: then memory comes from malloc for the call. */
npuc_status npuc_eval_node(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) NPUC_MUST_USE;

const kernel_set *npuc_eval_kernels(const eval_context *c);
/* Scratch memory of the call, or E0002. */
npuc_status npuc_eval_scratch(const eval_context *c, size_t bytes, void **out_memory) NPUC_MUST_USE;
/* E0602 for an input's dtype. */
npuc_status npuc_eval_unsupported(const eval_context *c, dtype type);
/* A diag_place of the node. */
diag_place npuc_eval_place(const eval_context *c);

/* Whether output `i` of the node was asked for. */
static inline bool eval_wants(const eval_context *c, tensor *const *outputs, int32_t i) {
  return i < c->node->n_outputs && outputs[i] && outputs[i]->data;
}
static inline const tensor *eval_input(const eval_context *c, const tensor *const *inputs, int32_t i) {
  return i < c->node->n_inputs ? inputs[i] : NULL;
}
/* Output `i` with dims that the evaluation found out: gets memory for them, or checks that they are those that it came with. */
npuc_status npuc_eval_allocate(const eval_context *c, tensor *const *outputs, int32_t i, const shape *s) NPUC_MUST_USE;
/* Runs body number `body` of the node, or E0602 where nothing runs bodies. */
npuc_status npuc_eval_run_body(const eval_context *c, int32_t body, const tensor *inputs, tensor *results) NPUC_MUST_USE;
/* Zeroed memory that lives until the executor's next run, or E0002; E0602 where nothing is kept. */
npuc_status npuc_eval_keep(const eval_context *c, size_t bytes, void **out_memory) NPUC_MUST_USE;
/* A tensor there. */
npuc_status npuc_eval_keep_tensor(const eval_context *c, dtype type, const shape *s, tensor **out_tensor) NPUC_MUST_USE;
/* Copies the bytes of `from` to `to`, unless they are the same memory. */
void npuc_eval_copy(const tensor *from, tensor *to);

/* The shape as the bytes lie, and where an axis is in it: `last` moves axis 1 behind the others (tensor.channels_last). */
shape npuc_eval_bytes_shape(const shape *s, bool last);
int32_t npuc_eval_bytes_axis(int32_t axis, int32_t rank, bool last);

/* [outer, axis, inner] of a shape around one axis. */
typedef struct axis_split {
  int64_t outer, axis, inner;
} axis_split;
axis_split npuc_eval_split_at(const shape *s, int32_t axis);

#endif
