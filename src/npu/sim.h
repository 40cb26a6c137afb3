/* SPDX-License-Identifier: Apache-2.0 */
/* Simulator of refnpu: exact bytes (docs/refnpu.md section 4) and exact cycles (section 5) of one stream.
 *
 * Time and meaning are separate. The time of an instruction depends only on its fields, so the engine walks the four queues in order of issue and executes each
 * instruction when it issues; tokens make that order right. With `shuffle_seed` it instead picks any queue that may run: a stream whose tokens are right gives the
 * same bytes, one that lacks a token is found out. */
#ifndef NPUC_NPU_SIM_H
#define NPUC_NPU_SIM_H

#include "npu/program.h"

typedef struct npu_event {
  npu_queue queue;
  size_t index; /* in the queue's list */
  isa_op op;
  uint64_t issue;    /* cycle of issue; units start then (DMA: transfer_start below) */
  uint64_t start;    /* the unit's work: array and vector from issue, DMA from the first byte */
  uint64_t end;      /* work done, without fill, drain and latency */
  uint64_t complete; /* token's cycle */
  uint64_t stall;    /* WAIT: cycles blocked */
} npu_event;

typedef struct npu_sim_options {
  bool timing_only;      /* nothing is computed; memories may be NULL */
  uint64_t shuffle_seed; /* not 0: order by chance, cycles are not meaningful */
  uint32_t registers[NPU_REGISTERS];
  void (*on_event)(void *user, const npu_event *event); /* unit instructions and WAIT, in order of issue; may be NULL */
  void *user;
} npu_sim_options;

typedef struct npu_sim_result {
  uint64_t cycles;
  uint64_t busy[NPU_QUEUES];    /* cycles in which the queue's unit worked */
  uint64_t stalled[NPU_QUEUES]; /* cycles in which a WAIT blocked the queue */
  uint64_t instructions;
} npu_sim_result;

typedef struct npu_memory {
  const uint8_t *constants; /* region 0 */
  uint64_t constants_bytes;
  uint8_t *arena; /* region 1 */
  uint64_t arena_bytes;
  uint8_t *state; /* region 2 */
  uint64_t state_bytes;
} npu_memory;

/* Runs a stream to its end. A program that breaks a rule of the document is E0803, with queue and instruction. */
npuc_status npuc_npu_simulate(diag *d, const npu_arch *arch, const npu_stream *s, const npu_memory *memory, const npu_sim_options *options,
                              npu_sim_result *out_result) NPUC_MUST_USE;

#endif
