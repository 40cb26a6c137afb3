/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: four queues, tokens, and the timing rules of docs/refnpu.md section 5. */
#include "npu/sim.h"

#include <stdlib.h>
#include <string.h>

#include "npu/sim_machine.h"

static const uint64_t unknown_time = UINT64_MAX;

typedef struct queue_state {
  const instr_list *list;
  size_t next;
  uint64_t ready;   /* issue of the instruction before, plus one */
  uint64_t *tokens; /* cycle of the k-th token */
  size_t n_tokens;
  bool has_modifiers;
  instr modifiers; /* pending IDX */
} queue_state;

typedef struct engine {
  machine machine;
  queue_state queues[NPU_QUEUES];
  uint64_t dma_free[2], port_free;
  uint64_t load_free, swap_start, array_free;
  uint64_t vector_free, window_free; /* window_free: earliest start of a VWIN that follows one directly */
  bool after_window;
  const npu_sim_options *options;
  npu_sim_result result;
  uint64_t random;
} engine;

/* -- durations -- */

static uint64_t at_least_one(int64_t v) { return v < 1 ? 1 : (uint64_t)v; }

/* D of a vector instruction. */
static uint64_t vector_cycles(const engine *e, const instr *in) {
  int64_t n = e->machine.arch.n;
  if (npuc_isa_is_empty(in)) return 1;
  switch (in->op) {
    case ISA_VRQ: {
      int64_t twice = in->f[NPU_VRQ_wide_acc] || in->f[NPU_VRQ_wide_out] ? 2 : 1;
      return (uint64_t)(twice * in->f[NPU_VRQ_nx] * in->f[NPU_VRQ_ny]);
    }
    case ISA_VWIN:
      return (uint64_t)(in->f[NPU_VWIN_nx] * in->f[NPU_VWIN_ny]);
    case ISA_VMOV:
      return (uint64_t)(in->f[NPU_VMOV_nx] * in->f[NPU_VMOV_ny] + (in->f[NPU_VMOV_op] == 2 ? 256 / n : 0));
    case ISA_VBIN:
      return (uint64_t)(in->f[NPU_VBIN_nx] * in->f[NPU_VBIN_ny]);
    case ISA_VFIL:
      return (uint64_t)(in->f[NPU_VFIL_nx] * in->f[NPU_VFIL_ny]);
    case ISA_VRED:
      return (uint64_t)(in->f[NPU_VRED_nx] * in->f[NPU_VRED_ny]);
    case ISA_VSEL:
      return (uint64_t)(in->f[NPU_VSEL_nx] * in->f[NPU_VSEL_ny]);
    case ISA_VROW:
      return (uint64_t)in->f[NPU_VROW_n] + (in->f[NPU_VROW_op] == 2 ? 0 : 32);
    case ISA_VNRM:
      return (uint64_t)((in->f[NPU_VNRM_wide_out] ? 2 : 1) * in->f[NPU_VNRM_nx]);
    case ISA_VEXP:
      return (uint64_t)(2 * in->f[NPU_VEXP_nx] + 512 / n);
    default:
      return 1;
  }
}

static uint64_t max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* -- when a queue's next instruction may issue -- */

static uint64_t wait_time(const engine *e, const instr *in, uint64_t ready) {
  static const int fields[NPU_QUEUES] = {NPU_WAIT_t0, NPU_WAIT_t1, NPU_WAIT_t2, NPU_WAIT_t3};
  uint64_t time = ready;
  for (int q = 0; q < NPU_QUEUES; q++) {
    uint64_t need = (uint64_t)in->f[fields[q]];
    if (need > e->queues[q].n_tokens) return unknown_time;
    if (need > 0) time = max_u64(time, e->queues[q].tokens[need - 1]);
  }
  return time;
}

static uint64_t unit_free(const engine *e, int queue, const instr *in) {
  if (queue == QUEUE_DMA0 || queue == QUEUE_DMA1) return e->dma_free[queue];
  if (in->op == ISA_LDW) {
    uint64_t free = max_u64(e->load_free, e->swap_start);
    return in->f[NPU_LDW_mem] ? max_u64(free, e->array_free) : free;
  }
  if (in->op == ISA_MM) return in->f[NPU_MM_swap] ? max_u64(e->array_free, e->load_free) : e->array_free;
  return in->op == ISA_VWIN && e->after_window ? e->window_free : e->vector_free;
}

static uint64_t issue_time(const engine *e, int queue) {
  const queue_state *q = &e->queues[queue];
  if (q->next >= q->list->count) return unknown_time;
  const instr *in = &q->list->items[q->next];
  if (in->op == ISA_WAIT) return wait_time(e, in, q->ready);
  return npuc_isa_is_unit(in) ? max_u64(q->ready, unit_free(e, queue, in)) : q->ready;
}

/* -- issue -- */

static void time_dma(engine *e, int queue, const instr *in, uint64_t issue, npu_event *event) {
  int bytes_field = in->op == ISA_DLD ? NPU_DLD_bytes : NPU_DST_bytes, rows_field = in->op == ISA_DLD ? NPU_DLD_rows : NPU_DST_rows;
  uint64_t width = e->machine.arch.dma_bytes_per_cycle;
  uint64_t cycles = (uint64_t)in->f[rows_field] * (((uint64_t)in->f[bytes_field] + width - 1) / width);
  event->start = max_u64(issue + e->machine.arch.dma_descriptor_cycles, e->port_free);
  event->end = event->complete = event->start + cycles;
  e->port_free = e->dma_free[queue] = event->end;
}

static void time_array(engine *e, const instr *in, uint64_t issue, npu_event *event) {
  uint64_t n = e->machine.arch.n;
  if (in->op == ISA_LDW) {
    event->end = event->complete = e->load_free = issue + n;
    if (in->f[NPU_LDW_mem]) e->array_free = event->end;
    return;
  }
  event->end = e->array_free = issue + at_least_one(in->f[NPU_MM_nx] * in->f[NPU_MM_ny]);
  event->complete = event->end + 2 * n;
  if (in->f[NPU_MM_swap]) e->swap_start = issue;
}

static void time_vector(engine *e, const instr *in, uint64_t issue, npu_event *event) {
  uint64_t latency = e->machine.arch.vector_latency;
  e->after_window = in->op == ISA_VWIN;
  if (in->op == ISA_VPAR) {
    event->end = event->complete = e->vector_free = issue + 4;
    return;
  }
  uint64_t cycles = vector_cycles(e, in);
  event->end = issue + cycles;
  event->complete = e->vector_free = event->end + latency;
  e->window_free = issue + max_u64(cycles, latency);
}

static bool apply_modifier(engine *e, const isa_field *field, int64_t reg, int64_t pitch, int64_t *value) {
  int64_t r = e->machine.registers[reg];
  if (field->mark == ISA_MARK_ADDRESS) {
    *value += r * pitch;
    return *value >= 0 && *value < (int64_t)1 << field->width;
  }
  int64_t most = r - pitch < 0 ? 0 : r - pitch;
  if (*value > most) *value = most;
  return true;
}

/* The instruction with its queue's pending IDX applied. */
static bool modify(engine *e, queue_state *q, instr *in) {
  static const int regs[3] = {NPU_IDX_reg0, NPU_IDX_reg1, NPU_IDX_reg2}, bits[3] = {NPU_IDX_bit0, NPU_IDX_bit1, NPU_IDX_bit2},
                   pitches[3] = {NPU_IDX_pitch0, NPU_IDX_pitch1, NPU_IDX_pitch2};
  if (!q->has_modifiers) return true;
  q->has_modifiers = false;
  const char *why = npuc_isa_check_modified(&q->modifiers, in);
  if (why) return sim_fault(&e->machine, why);
  unsigned count;
  const isa_field *fields = npuc_isa_fields(in->op, &count);
  for (int k = 0; k < q->modifiers.f[NPU_IDX_n]; k++) {
    unsigned f = 0;
    while (f < count && fields[f].low != q->modifiers.f[bits[k]]) f++;
    if (!apply_modifier(e, &fields[f], q->modifiers.f[regs[k]], q->modifiers.f[pitches[k]], &in->f[f]))
      return sim_fault(&e->machine, "IDX: the changed address leaves its field");
  }
  return true;
}

static bool execute(engine *e, int queue, const instr *in) {
  if (e->options->timing_only && !(in->op == ISA_VGEO || in->op == ISA_ACFG || in->op == ISA_DCFG)) return true;
  if (queue == QUEUE_ARRAY) return npuc_sim_array(&e->machine, in);
  if (queue == QUEUE_VECTOR) return npuc_sim_vector(&e->machine, in);
  return npuc_sim_dma(&e->machine, queue, in);
}

static void record(engine *e, int queue, const npu_event *event) {
  e->result.cycles = max_u64(e->result.cycles, event->complete);
  if (event->op != ISA_LDW) e->result.busy[queue] += event->end - event->start; /* tiles load behind passes */
  e->result.stalled[queue] += event->stall;
  if (e->options->on_event) e->options->on_event(e->options->user, event);
}

static bool issue_unit(engine *e, int queue, const instr *in, uint64_t issue) {
  queue_state *q = &e->queues[queue];
  npu_event event = {.queue = (npu_queue)queue, .index = q->next - 1, .op = in->op, .issue = issue, .start = issue, .end = issue};
  if (queue == QUEUE_ARRAY)
    time_array(e, in, issue, &event);
  else if (queue == QUEUE_VECTOR)
    time_vector(e, in, issue, &event);
  else
    time_dma(e, queue, in, issue, &event);
  if (in->signal) {
    uint64_t before = q->n_tokens ? q->tokens[q->n_tokens - 1] : 0;
    q->tokens[q->n_tokens++] = event.complete = max_u64(event.complete, before);
  }
  record(e, queue, &event);
  return execute(e, queue, in);
}

static bool step(engine *e, int queue, uint64_t issue) {
  queue_state *q = &e->queues[queue];
  const instr *original = &q->list->items[q->next++];
  if (!npuc_isa_queue_allows(original->op, (npu_queue)queue)) return sim_fault(&e->machine, "an instruction in the wrong queue");
  instr in = *original;
  /* As it is written and as IDX leaves it. */
  const char *why = npuc_isa_check(&in, e->machine.arch.n);
  if (why) return sim_fault(&e->machine, why);
  if (!modify(e, q, &in)) return false;
  if ((why = npuc_isa_check(&in, e->machine.arch.n))) return sim_fault(&e->machine, why);
  uint64_t stall = in.op == ISA_WAIT ? issue - q->ready : 0;
  q->ready = issue + 1;
  e->result.instructions++;
  e->result.cycles = max_u64(e->result.cycles, issue);
  switch (in.op) {
    case ISA_NOP:
      return true;
    case ISA_WAIT:
      record(e, queue,
             &(npu_event){.queue = (npu_queue)queue,
                          .index = q->next - 1,
                          .op = in.op,
                          .issue = issue,
                          .start = issue,
                          .end = issue,
                          .complete = issue,
                          .stall = stall});
      return true;
    case ISA_HALT:
      if (q->next != q->list->count) return sim_fault(&e->machine, "HALT is not the last instruction of its queue");
      return true;
    case ISA_IDX:
      q->modifiers = in;
      q->has_modifiers = true;
      return true;
    default:
      return npuc_isa_is_unit(&in) ? issue_unit(e, queue, &in, issue) : execute(e, queue, &in);
  }
}

/* -- choice of the queue -- */

static int earliest(const engine *e, uint64_t *out_issue) {
  int best = -1;
  *out_issue = unknown_time;
  for (int q = 0; q < NPU_QUEUES; q++) {
    uint64_t issue = issue_time(e, q);
    if (issue < *out_issue) *out_issue = issue, best = q;
  }
  return best;
}

static int by_chance(engine *e, uint64_t *out_issue) {
  int choices[NPU_QUEUES], n = 0;
  for (int q = 0; q < NPU_QUEUES; q++) {
    if (issue_time(e, q) != unknown_time) choices[n++] = q;
  }
  if (n == 0) return -1;
  e->random = e->random * 6364136223846793005u + 1442695040888963407u;
  int q = choices[(e->random >> 33) % (uint64_t)n];
  *out_issue = issue_time(e, q);
  return q;
}

static bool run(engine *e, int *out_queue) {
  for (;;) {
    uint64_t issue = 0;
    int q = e->options->shuffle_seed ? by_chance(e, &issue) : earliest(e, &issue);
    *out_queue = q;
    if (q < 0) break;
    if (!step(e, q, issue)) return false;
  }
  for (int q = 0; q < NPU_QUEUES; q++) {
    const queue_state *state = &e->queues[q];
    *out_queue = q;
    if (state->next < state->list->count) return sim_fault(&e->machine, "deadlock: a WAIT for a token that never comes");
    if (state->next == 0 || state->list->items[state->next - 1].op != ISA_HALT)
      return sim_fault(&e->machine, "the queue does not end in HALT");
  }
  return true;
}

static bool allocate(engine *e, const npu_stream *s) {
  machine *m = &e->machine;
  m->sp = npuc_buffer_create(m->arch.scratchpad_bytes);
  m->wb = npuc_buffer_create(m->arch.weight_buffer_bytes);
  m->acc = npuc_buffer_create((size_t)NPU_ACC_ROWS * m->arch.n * sizeof *m->acc);
  bool good = m->sp && m->wb && m->acc;
  for (int q = 0; q < NPU_QUEUES; q++) {
    e->queues[q].list = &s->queues[q];
    e->queues[q].tokens = malloc((s->queues[q].count + 1) * sizeof(uint64_t));
    good = good && e->queues[q].tokens;
  }
  return good;
}

static void release(engine *e) {
  npuc_buffer_destroy(e->machine.sp);
  npuc_buffer_destroy(e->machine.wb);
  npuc_buffer_destroy(e->machine.acc);
  for (int q = 0; q < NPU_QUEUES; q++) free(e->queues[q].tokens);
  free(e);
}

npuc_status npuc_npu_simulate(diag *d, const npu_arch *arch, const npu_stream *s, const npu_memory *memory, const npu_sim_options *options,
                              npu_sim_result *out_result) {
  static const npu_sim_options defaults;
  engine *e = calloc(1, sizeof *e);
  if (!e) return npuc_fail(d, NPUC_DIAG_E0002, NULL, "the simulator's state");
  e->options = options ? options : &defaults;
  e->random = e->options->shuffle_seed;
  e->machine.arch = *arch;
  if (memory) e->machine.memory = *memory;
  memcpy(e->machine.registers, e->options->registers, sizeof e->machine.registers);
  npuc_status status = NPUC_OK;
  int queue = 0;
  if (!allocate(e, s)) {
    status = npuc_fail(d, NPUC_DIAG_E0002, NULL, "the simulated memories");
  } else if (!run(e, &queue)) {
    const queue_state *q = &e->queues[queue];
    size_t at = q->next ? q->next - 1 : 0;
    const char *name = at < q->list->count ? npuc_isa_info(q->list->items[at].op)->name : "end";
    status = npuc_fail(d, NPUC_DIAG_E0803, &(diag_place){.op = name}, "queue %d, instruction %zu: %s", queue, at, e->machine.fault);
  }
  if (status == NPUC_OK && out_result) *out_result = e->result;
  release(e);
  return status;
}
