/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions from inside: the same run with a window on every tensor, and a place to plug in what executes NPU streams. */
#ifndef NPUC_RUNTIME_SESSION_H
#define NPUC_RUNTIME_SESSION_H

#include "kernels/kernels.h"
#include "runtime/program.h"

/* Executes stream `stream` of the configuration's program: tensors[t] is the dense memory of tensor t (those bound as inputs hold their values, those bound as outputs are to be filled). */
typedef npuc_status stream_executor(void *user, diag *d, const npu_program *p, uint32_t stream, void *const *tensors);
/* Sees a tensor as soon as it is computed. */
typedef void tensor_observer(void *user, int32_t tensor, const void *data);

/* NULL (the start): the stream's nodes run by plain kernels instead, which give the same bytes. */
void npuc_session_set_stream_executor(npuc_session *s, stream_executor *run, void *user);
void npuc_session_set_observer(npuc_session *s, tensor_observer *observe, void *user);
/* As the public calls, with diagnostics of the caller's, so that a failure keeps its code and status. */
npuc_status npuc_session_create_diag(diag *d, const npuc_program *program, const npuc_session_options *options,
                                     npuc_session **out_session) NPUC_MUST_USE;
npuc_status npuc_session_run_diag(npuc_session *s, diag *d, const void *const *inputs, void *const *outputs) NPUC_MUST_USE;

/* run_node.c: one node by plain kernels. `packed` is the node's prepared weights or NULL, `scratch` has npuc_node_scratch bytes. */
npuc_status npuc_node_run(diag *d, const kernel_set *kernels, const qgraph *g, const qnode *n, void *const *tensors, const int32_t *packed,
                          void *scratch) NPUC_MUST_USE;
size_t npuc_node_scratch(const kernel_set *kernels, const qgraph *g, const qnode *n); /* SIZE_MAX: the node is too large for the kernels */
/* 32-bit elements of prepared weights, 0: the node needs none. */
size_t npuc_node_packed_elements(const kernel_set *kernels, const qgraph *g, const qnode *n);
void npuc_node_pack(const kernel_set *kernels, const qgraph *g, const qnode *n, int32_t *out_packed);

/* plan.c: offsets of every activation in one block, by live ranges; tensors that never live together share bytes. */
void npuc_plan_activations(arena *a, const qgraph *g, bool share, size_t **out_offsets, size_t *out_bytes);

#endif
