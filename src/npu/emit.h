/* SPDX-License-Identifier: Apache-2.0 */
/* Emitter: takes instructions in plain program order, as if the machine had one queue, and appends them to the four queues with the WAITs that keep that meaning.
 * Every unit instruction signals. Configuration that is already in force is not repeated. */
#ifndef NPUC_NPU_EMIT_H
#define NPUC_NPU_EMIT_H

#include "npu/program.h"
#include "npu/scoreboard.h"

typedef enum npu_memory_kind { MEMORY_SCRATCHPAD, MEMORY_WEIGHTS, MEMORY_ACCUMULATORS, MEMORY_ARENA, MEMORY_KINDS } npu_memory_kind;

/* What an instruction touches: bytes, or rows of the accumulators. */
typedef struct mem_access {
  npu_memory_kind kind;
  uint64_t begin, end;
  bool is_write;
} mem_access;

typedef struct emitter {
  npu_program *program;
  npu_stream *stream;
  scoreboard boards[MEMORY_KINDS];
  uint32_t tokens[NPU_QUEUES];                       /* signalled so far */
  uint32_t waited[NPU_QUEUES][NPU_QUEUES];           /* [queue][of]: the count that it has waited for */
  instr geometry[3], source, parameters, pitches[2]; /* configuration in force; op NOP: none */
  uint32_t node;                                     /* what is being lowered, for the debug table */
} emitter;

void npuc_emit_init(emitter *e, arena *scratch, npu_program *p, npu_stream *s, uint64_t arena_bytes);
/* A unit instruction; accesses say all that it reads and writes. */
void npuc_emit_unit(emitter *e, npu_queue queue, const instr *in, const mem_access *accesses, size_t n);
/* A control instruction: ACFG, VGEO, VPAR (immediate), DCFG. Left out when it repeats what is in force. */
void npuc_emit_config(emitter *e, npu_queue queue, const instr *in);
/* VPAR with lane parameters at `address`. */
void npuc_emit_lane_parameters(emitter *e, const instr *in);
/* HALT in every queue. */
void npuc_emit_end(emitter *e);

#endif
