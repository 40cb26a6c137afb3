/* SPDX-License-Identifier: Apache-2.0 */
#include "npu/run.h"

npuc_status npuc_npu_run_stream(diag *d, const npu_program *p, const npu_stream *s, void *const *tensors, uint8_t *state,
                                const npu_sim_options *options, npu_sim_result *out_result) {
  npu_memory memory = {.constants = p->constants,
                       .constants_bytes = p->constants_bytes,
                       .arena_bytes = s->arena_bytes,
                       .state = state,
                       .state_bytes = state ? s->state_bytes : 0};
  memory.arena = npuc_buffer_create(s->arena_bytes ? s->arena_bytes : 1);
  if (!memory.arena) return npuc_fail(d, NPUC_DIAG_E0002, NULL, "the arena of stream %s", s->name);
  for (size_t i = 0; i < s->n_bindings; i++) {
    const npu_binding *b = &s->bindings[i];
    if (!b->is_output) npuc_layout_pack(&b->layout, tensors[b->tensor], memory.arena + b->offset);
  }
  npuc_status status = npuc_npu_simulate(d, &p->arch, s, &memory, options, out_result);
  for (size_t i = 0; i < s->n_bindings && status == NPUC_OK; i++) {
    const npu_binding *b = &s->bindings[i];
    if (b->is_output) npuc_layout_unpack(&b->layout, memory.arena + b->offset, tensors[b->tensor]);
  }
  npuc_buffer_destroy(memory.arena);
  return status;
}
