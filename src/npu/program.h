/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled program in memory: streams of decoded instructions, one list a queue, the constants that they load, what the host packs and unpacks,
 * and the steps that execute the whole graph. src/npu/write.c turns it and its qgraph into a `.npu` file. */
#ifndef NPUC_NPU_PROGRAM_H
#define NPUC_NPU_PROGRAM_H

#include "npu/isa.h"
#include "npu/layout.h"

typedef struct instr_list {
  instr *items;
  size_t count, capacity;
} instr_list;

typedef struct npu_binding {
  int32_t tensor;
  bool is_output;  /* the host unpacks it after the run; else packs it before */
  uint64_t offset; /* in the arena */
  layout layout;
} npu_binding;

/* Instructions [first, first + count) of a queue serve `node`. */
typedef struct npu_debug_run {
  npu_queue queue;
  uint32_t first, count;
  uint32_t node;
} npu_debug_run;

/* Bytes of the scratchpad that live while `node` is emitted. */
typedef struct npu_scratch_step {
  uint32_t node;
  uint64_t bytes;
} npu_scratch_step;

typedef struct npu_stream {
  const char *name;
  instr_list queues[NPU_QUEUES];
  uint64_t arena_bytes;
  uint64_t state_bytes;
  npu_binding *bindings;
  size_t n_bindings, bindings_capacity;
  npu_debug_run *runs;
  size_t n_runs, runs_capacity;
  npu_scratch_step *scratch; /* in order of emission; known when a stream is compiled, not in the file */
  size_t n_scratch;
  uint64_t predicted_cycles;
  uint64_t macs;
} npu_stream;

typedef struct npu_step {
  bool on_npu;
  uint32_t first_node, n_nodes;
  uint32_t stream; /* on_npu */
} npu_step;

typedef struct npu_program {
  arena *arena; /* borrowed */
  npu_arch arch;
  npu_stream *streams;
  size_t n_streams, streams_capacity;
  npu_step *steps;
  size_t n_steps, steps_capacity;
  uint8_t *constants; /* region 0 (in the arena): images for the NPU and, first, the graph's constants */
  size_t constants_bytes, constants_capacity;
  uint64_t *constant_offsets; /* by tensor: where a graph constant lies in `constants` */
} npu_program;

npu_program *npuc_npu_program_create(arena *a, const npu_arch *arch);
npu_stream *npuc_npu_program_add_stream(npu_program *p, const char *name);
void npuc_npu_program_add_step(npu_program *p, const npu_step *step);
/* Room for `bytes` zeroed bytes at a multiple of 64; the pointer holds until the next call. */
uint8_t *npuc_npu_program_add_constant(npu_program *p, size_t bytes, uint64_t *out_offset);
void npuc_npu_stream_append(npu_program *p, npu_stream *s, npu_queue queue, const instr *in, uint32_t node);
void npuc_npu_stream_bind(npu_program *p, npu_stream *s, const npu_binding *b);
/* The node that an instruction serves. */
uint32_t npuc_npu_stream_node(const npu_stream *s, npu_queue queue, size_t index);

#endif
