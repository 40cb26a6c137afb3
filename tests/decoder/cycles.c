/* SPDX-License-Identifier: Apache-2.0 */
/* Time (docs/refnpu.md section 5), cycle by cycle: in every cycle the DMA port is granted, then each queue issues at most one
 * instruction. Whatever an instruction makes happen lies in a later cycle, so queues do not see one another within a cycle. */
#include "stream.h"

#include "fail.h"

#include <stdlib.h>

static const uint64_t never = UINT64_MAX;

typedef struct timed_queue {
  queue_reader reader;
  insn next;
  bool has_next;
  uint64_t ready;  /* the cycle from which the next instruction may issue */
  uint64_t *token; /* the cycle of each token so far, not falling */
  uint32_t tokens;
  uint64_t descriptor_end; /* DMA: of the earlier descriptor; never while it waits for the port */
  uint64_t ask;            /* DMA: when the waiting descriptor asks for the port; never when none waits */
  uint64_t transfer;       /* cycles for which it holds the port */
  bool transfer_signals;
} timed_queue;

typedef struct clock {
  const hardware *hw;
  timed_queue queue[QUEUES];
  uint64_t now, last; /* last: the largest completion so far */
  uint64_t port_free, array_free, load_end, vector_free;
  bool after_vwin;    /* the last unit instruction of VECTOR was a VWIN ... */
  uint64_t vwin_next; /* ... and this is when another may start */
} clock;

static uint64_t max2(uint64_t a, uint64_t b) { return a > b ? a : b; }

static void complete(clock *c, timed_queue *queue, uint64_t cycle, bool signals) {
  if (signals) {
    cycle = queue->tokens > 0 ? max2(cycle, queue->token[queue->tokens - 1]) : cycle;
    queue->token[queue->tokens++] = cycle;
  }
  c->last = max2(c->last, cycle);
}

static bool tokens_suffice(const clock *c, const insn *wait) {
  for (unsigned q = 0; q < QUEUES; q++) {
    const int64_t least = wait->f[WAIT_T0 + q];
    const timed_queue *queue = &c->queue[q];
    if (least > 0 && (least > queue->tokens || queue->token[least - 1] > c->now)) return false;
  }
  return true;
}

/* D of a vector instruction. */
static uint64_t vector_duration(const insn *in, uint64_t n) {
  const int64_t *f = in->f;
  if (decoder_insn_is_empty(in)) return 1;
  int64_t d = 0;
  switch (in->spec->code) {
    case OP_VRQ:
      d = (f[VRQ_WIDE_ACC] || f[VRQ_WIDE_OUT] ? 2 : 1) * f[VRQ_NX] * f[VRQ_NY];
      break;
    case OP_VWIN:
      d = f[VWIN_NX] * f[VWIN_NY];
      break;
    case OP_VBIN:
      d = f[VBIN_NX] * f[VBIN_NY];
      break;
    case OP_VFIL:
      d = f[VFIL_NX] * f[VFIL_NY];
      break;
    case OP_VRED:
      d = f[VRED_NX] * f[VRED_NY];
      break;
    case OP_VSEL:
      d = f[VSEL_NX] * f[VSEL_NY];
      break;
    case OP_VNRM:
      d = (f[VNRM_WIDE_OUT] ? 2 : 1) * f[VNRM_NX];
      break;
    case OP_VMOV:
      d = f[VMOV_NX] * f[VMOV_NY] + (f[VMOV_OP] == 2 ? 256 / (int64_t)n : 0);
      break;
    case OP_VEXP:
      d = 2 * f[VEXP_NX] + 512 / (int64_t)n;
      break;
    case OP_VROW:
      d = f[VROW_N] + (f[VROW_OP] == 2 ? 0 : 32);
      break;
    default:
      break;
  }
  return d > 1 ? (uint64_t)d : 1;
}

static bool issue_dma(clock *c, timed_queue *queue, const insn *in) {
  if (queue->descriptor_end > c->now) return false;
  const int64_t bytes = in->f[in->spec->code == OP_DLD ? DLD_BYTES : DST_BYTES];
  const int64_t rows = in->f[in->spec->code == OP_DLD ? DLD_ROWS : DST_ROWS];
  queue->transfer = (uint64_t)rows * (((uint64_t)bytes + c->hw->dma_bytes - 1) / c->hw->dma_bytes);
  queue->transfer_signals = in->signal;
  queue->ask = c->now + c->hw->dma_latency;
  queue->descriptor_end = never;
  return true;
}

static bool issue_array(clock *c, timed_queue *queue, const insn *in) {
  const uint64_t n = c->hw->n;
  if (in->spec->code == OP_LDW) {
    const bool from_sp = in->f[LDW_MEM] != 0;
    if (c->load_end > c->now || (from_sp && c->array_free > c->now)) return false;
    c->load_end = c->now + n;
    if (from_sp) c->array_free = c->now + n;
    complete(c, queue, c->now + n, in->signal);
    return true;
  }
  if (c->array_free > c->now || (in->f[MM_SWAP] && c->load_end > c->now)) return false;
  const uint64_t d = max2(1, (uint64_t)(in->f[MM_NX] * in->f[MM_NY]));
  c->array_free = c->now + d;
  complete(c, queue, c->now + d + 2 * n, in->signal);
  return true;
}

static bool issue_vector(clock *c, timed_queue *queue, const insn *in) {
  const bool window = in->spec->code == OP_VWIN;
  if ((window && c->after_vwin ? c->vwin_next : c->vector_free) > c->now) return false;
  const bool parameters = in->spec->code == OP_VPAR;
  const uint64_t d = parameters ? 4 : vector_duration(in, c->hw->n);
  const uint64_t latency = parameters ? 0 : c->hw->vector_latency;
  c->vector_free = c->now + d + latency;
  c->after_vwin = window;
  c->vwin_next = c->now + max2(d, latency);
  complete(c, queue, c->vector_free, in->signal);
  return true;
}

static bool issue(clock *c, unsigned q) {
  timed_queue *queue = &c->queue[q];
  const insn *in = &queue->next;
  if (decoder_insn_is_control(in)) {
    if (in->spec->code == OP_WAIT && !tokens_suffice(c, in)) return false;
    complete(c, queue, c->now, false);
    return true;
  }
  if (q < QUEUE_ARRAY) return issue_dma(c, queue, in);
  return q == QUEUE_ARRAY ? issue_array(c, queue, in) : issue_vector(c, queue, in);
}

/* Requests in order of asking, DMA0 first when equal, for as long as the port is free. */
static void grant_port(clock *c) {
  while (c->port_free <= c->now) {
    timed_queue *first = c->queue[1].ask < c->queue[0].ask ? &c->queue[1] : &c->queue[0];
    if (first->ask > c->now) return;
    first->ask = never;
    first->descriptor_end = c->port_free = c->now + first->transfer;
    complete(c, first, first->descriptor_end, first->transfer_signals);
  }
}

static bool tick(clock *c) {
  bool open = false;
  grant_port(c);
  for (unsigned q = 0; q < QUEUES; q++) {
    timed_queue *queue = &c->queue[q];
    if (queue->has_next && queue->ready <= c->now && issue(c, q)) {
      queue->ready = c->now + 1;
      queue->has_next = decoder_queue_next(&queue->reader, &queue->next);
    }
    open |= queue->has_next || queue->ask != never;
  }
  return open;
}

uint64_t decoder_stream_cycles(const npu_file *file, const stream_record *stream, const uint32_t reg[8]) {
  const hardware hw = decoder_hardware(file, stream->configuration);
  clock c = {.hw = &hw};
  for (unsigned q = 0; q < QUEUES; q++) {
    timed_queue *queue = &c.queue[q];
    queue->reader = decoder_queue_open(file, stream, q, &hw, reg);
    queue->token = decoder_alloc(stream->queue[q].count, sizeof queue->token[0]);
    queue->ask = never;
    queue->has_next = decoder_queue_next(&queue->reader, &queue->next);
  }
  while (tick(&c)) c.now++;
  for (unsigned q = 0; q < QUEUES; q++) free(c.queue[q].token);
  return c.last;
}
