/* SPDX-License-Identifier: Apache-2.0 */
#include "npu/emit.h"

#include <assert.h>
#include <string.h>

void npuc_emit_init(emitter *e, arena *scratch, npu_program *p, npu_stream *s, uint64_t arena_bytes) {
  *e = (emitter){.program = p, .stream = s};
  const uint64_t sizes[MEMORY_KINDS] = {p->arch.scratchpad_bytes, p->arch.weight_buffer_bytes, NPU_ACC_ROWS, arena_bytes ? arena_bytes : 1};
  for (int i = 0; i < MEMORY_KINDS; i++) npuc_score_init(&e->boards[i], scratch, sizes[i]);
}

static void append(emitter *e, npu_queue queue, const instr *in) { npuc_npu_stream_append(e->program, e->stream, queue, in, e->node); }

/* Its own queue needs no WAIT: a queue runs in order, and its units finish in order. */
static void emit_waits(emitter *e, npu_queue queue, const uint32_t need[NPU_QUEUES]) {
  static const int fields[NPU_QUEUES] = {NPU_WAIT_t0, NPU_WAIT_t1, NPU_WAIT_t2, NPU_WAIT_t3};
  instr wait = {.op = ISA_WAIT};
  bool any = false;
  for (int q = 0; q < NPU_QUEUES; q++) {
    if (q == (int)queue || need[q] <= e->waited[queue][q]) continue;
    wait.f[fields[q]] = need[q];
    e->waited[queue][q] = need[q];
    any = true;
  }
  if (any) append(e, queue, &wait);
}

void npuc_emit_unit(emitter *e, npu_queue queue, const instr *in, const mem_access *accesses, size_t n) {
  uint32_t need[NPU_QUEUES] = {0};
  uint32_t token = e->tokens[queue] + 1;
  for (size_t i = 0; i < n; i++)
    npuc_score_access(&e->boards[accesses[i].kind], accesses[i].begin, accesses[i].end, accesses[i].is_write, queue, token, need);
  emit_waits(e, queue, need);
  instr signalling = *in;
  signalling.signal = 1;
  e->tokens[queue] = token;
  append(e, queue, &signalling);
}

static instr *in_force(emitter *e, npu_queue queue, const instr *in) {
  switch (in->op) {
    case ISA_VGEO:
      return &e->geometry[in->f[NPU_VGEO_slot]];
    case ISA_ACFG:
      return &e->source;
    case ISA_VPAR:
      return &e->parameters;
    default:
      return &e->pitches[queue];
  }
}

void npuc_emit_config(emitter *e, npu_queue queue, const instr *in) {
  instr *current = in_force(e, queue, in);
  if (current->op == in->op && memcmp(current->f, in->f, sizeof in->f) == 0) return;
  *current = *in;
  append(e, queue, in);
}

void npuc_emit_lane_parameters(emitter *e, const instr *in) {
  if (e->parameters.op == ISA_VPAR && memcmp(e->parameters.f, in->f, sizeof in->f) == 0) return;
  uint64_t address = (uint64_t)in->f[NPU_VPAR_addr];
  npuc_emit_unit(e, QUEUE_VECTOR, in, &(mem_access){MEMORY_SCRATCHPAD, address, address + (uint64_t)8 * e->program->arch.n, false}, 1);
  e->parameters = *in;
}

void npuc_emit_end(emitter *e) {
  for (int q = 0; q < NPU_QUEUES; q++) append(e, (npu_queue)q, &(instr){.op = ISA_HALT});
}
