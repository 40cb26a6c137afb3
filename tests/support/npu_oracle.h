/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of src/npu: a builder of integer graphs with random constants, and an interpreter that follows docs/refnpu.md section 7 in the plainest way, dense tensors
 * and 64-bit integers, sharing nothing with the compiler. */
#ifndef NPUC_TESTS_NPU_ORACLE_H
#define NPUC_TESTS_NPU_ORACLE_H

#include "npu/program.h"
#include "npu/qgraph.h"

typedef struct net {
  arena *a;
  qgraph *g;
  uint64_t random;
  bool s8; /* activations are s8, else u8 */
} net;

net npu_net_create(arena *a, uint64_t seed, bool s8);
int64_t npu_net_random(net *b, int64_t lo, int64_t hi);
int32_t npu_net_input(net *b, int32_t rank, const int64_t *dims);
/* pads: top, left, bottom, right. Returns the output tensor. relu: lo at the zero point. */
int32_t npu_net_conv(net *b, int32_t x, int64_t outputs, int64_t k, int64_t stride, int64_t pad, int64_t group, int64_t dilation);
int32_t npu_net_gemm(net *b, int32_t x, int64_t outputs);
int32_t npu_net_add(net *b, int32_t x, int32_t y);
int32_t npu_net_mul(net *b, int32_t x, int32_t y);
int32_t npu_net_requantize(net *b, int32_t x);
int32_t npu_net_lookup(net *b, int32_t x);
int32_t npu_net_average(net *b, int32_t x, int64_t k, int64_t stride, int64_t pad, bool include_pad);
int32_t npu_net_max(net *b, int32_t x, int64_t k, int64_t stride, int64_t pad);
int32_t npu_net_global(net *b, int32_t x);
int32_t npu_net_flatten(net *b, int32_t x);
int32_t npu_net_softmax(net *b, int32_t x);
int32_t npu_net_concat(net *b, int32_t x, int32_t y, int64_t axis);
int32_t npu_net_slice(net *b, int32_t x, const int64_t starts[4], const int64_t counts[4], const int64_t steps[4]);
int32_t npu_net_pad(net *b, int32_t x, const int64_t pads[8]);
int32_t npu_net_transpose_hw(net *b, int32_t x);
/* ResNet-20 for CIFAR with option A shortcuts, as its exporter writes it (stride, slice, pad, average pool, flatten). */
void npu_net_resnet20(net *b);
/* The last tensor of the graph as output. */
void npu_net_output(net *b, int32_t tensor);

/* Values of all tensors by index (arena), constants included; inputs given in order. */
uint8_t **npu_oracle_run(arena *a, const qgraph *g, const uint8_t *const *inputs);

/* Runs a compiled program: host steps by the oracle, streams by the simulator. values: by tensor, filled for what is bound or computed on the host.
 * seed 0: timed; else queues by chance. Returns the cycles of all streams, or UINT64_MAX on failure. */
uint64_t npu_program_run(arena *a, const qgraph *g, const npu_program *p, const uint8_t *const *inputs, uint64_t seed, uint8_t **values);
/* Runs one host node on values. */
void npu_oracle_node(arena *a, const qgraph *g, const qnode *n, uint8_t **values);

#endif
