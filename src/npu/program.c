/* SPDX-License-Identifier: Apache-2.0 */
#include "npu/program.h"

npu_program *npuc_npu_program_create(arena *a, const npu_arch *arch) {
  npu_program *p = NPUC_NEW(a, npu_program);
  p->arena = a;
  p->arch = *arch;
  return p;
}

npu_stream *npuc_npu_program_add_stream(npu_program *p, const char *name) {
  p->streams = npuc_arena_grow(p->arena, p->streams, p->n_streams, p->n_streams + 1, sizeof *p->streams, &p->streams_capacity);
  npu_stream *s = &p->streams[p->n_streams++];
  *s = (npu_stream){.name = npuc_arena_str(p->arena, name)};
  return s;
}

void npuc_npu_program_add_step(npu_program *p, const npu_step *step) {
  p->steps = npuc_arena_grow(p->arena, p->steps, p->n_steps, p->n_steps + 1, sizeof *p->steps, &p->steps_capacity);
  p->steps[p->n_steps++] = *step;
}

uint8_t *npuc_npu_program_add_constant(npu_program *p, size_t bytes, uint64_t *out_offset) {
  size_t offset = (p->constants_bytes + 63) / 64 * 64;
  p->constants = npuc_arena_grow(p->arena, p->constants, p->constants_bytes, offset + bytes, 1, &p->constants_capacity);
  for (size_t i = p->constants_bytes; i < offset + bytes; i++) p->constants[i] = 0;
  p->constants_bytes = offset + bytes;
  *out_offset = offset;
  return p->constants + offset;
}

void npuc_npu_stream_append(npu_program *p, npu_stream *s, npu_queue queue, const instr *in, uint32_t node) {
  instr_list *list = &s->queues[queue];
  list->items = npuc_arena_grow(p->arena, list->items, list->count, list->count + 1, sizeof *list->items, &list->capacity);
  list->items[list->count] = *in;
  /* A run goes on only while no other queue was written in between: runs stay in program order, which the reports rely on. */
  npu_debug_run *last = s->n_runs ? &s->runs[s->n_runs - 1] : NULL;
  if (last && last->queue == queue && last->node == node) {
    last->count++;
  } else {
    s->runs = npuc_arena_grow(p->arena, s->runs, s->n_runs, s->n_runs + 1, sizeof *s->runs, &s->runs_capacity);
    s->runs[s->n_runs++] = (npu_debug_run){.queue = queue, .first = (uint32_t)list->count, .count = 1, .node = node};
  }
  list->count++;
}

void npuc_npu_stream_bind(npu_program *p, npu_stream *s, const npu_binding *b) {
  s->bindings = npuc_arena_grow(p->arena, s->bindings, s->n_bindings, s->n_bindings + 1, sizeof *s->bindings, &s->bindings_capacity);
  s->bindings[s->n_bindings++] = *b;
}

uint32_t npuc_npu_stream_node(const npu_stream *s, npu_queue queue, size_t index) {
  for (size_t i = 0; i < s->n_runs; i++) {
    const npu_debug_run *run = &s->runs[i];
    if (run->queue == queue && index >= run->first && index - run->first < run->count) return run->node;
  }
  return UINT32_MAX;
}
