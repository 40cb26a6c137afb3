/* SPDX-License-Identifier: Apache-2.0 */
/* Any order of execution that respects queues and waits gives the same bytes, so one instruction at a time is run, from whichever
 * queue may go on: each in turn, or (ORDER_PRIORITY) the first that can. A difference between orders is a race in the program. */
#include "stream.h"

#include "fail.h"

queue_reader decoder_queue_open(const npu_file *file, const stream_record *stream, unsigned queue, const hardware *hw,
                                const uint32_t reg[8]) {
  return (queue_reader){.file = file, .hw = hw, .reg = reg, .queue = queue, .list = stream->queue[queue]};
}

bool decoder_queue_next(queue_reader *reader, insn *out) {
  if (reader->following == reader->list.count) return false;
  reader->pc = reader->following++;
  const uint8_t *bytes = decoder_record(reader->file, INST, (uint64_t)reader->list.first + reader->pc);
  const char *why = decoder_insn_decode(bytes, reader->queue, reader->hw, out);
  if (why == NULL && reader->has_idx) why = decoder_insn_apply(&reader->idx, reader->reg, reader->hw, out);
  if (why != NULL) decoder_fail(EXIT_RUN, "queue %u, instruction %u: %s", reader->queue, reader->pc, why);
  reader->has_idx = out->spec->code == OP_IDX;
  if (reader->has_idx) reader->idx = *out;
  return true;
}

typedef struct queue_state {
  queue_reader reader;
  insn next;
  bool has_next;
  uint32_t tokens;
} queue_state;

static bool may_run(const queue_state queues[QUEUES], const insn *in) {
  if (in->spec->code == OP_WAIT)
    for (unsigned q = 0; q < QUEUES; q++)
      if (queues[q].tokens < in->f[WAIT_T0 + q]) return false;
  return true;
}

static void execute(machine *m, const insn *in) {
  if (in->spec->code < OP_DCFG) return; /* NOP, WAIT, IDX, HALT: the reader and may_run see to them */
  if (m->queue < QUEUE_ARRAY)
    decoder_exec_dma(m, in);
  else if (m->queue == QUEUE_ARRAY)
    decoder_exec_array(m, in);
  else
    decoder_exec_vector(m, in);
}

static void run_one(machine *m, unsigned q, queue_state *queue) {
  m->queue = q;
  m->pc = queue->reader.pc;
  execute(m, &queue->next);
  queue->tokens += queue->next.signal;
  queue->has_next = decoder_queue_next(&queue->reader, &queue->next);
}

void decoder_stream_run(machine *m, const npu_file *file, const stream_record *stream, unsigned order) {
  queue_state queues[QUEUES];
  for (unsigned q = 0; q < QUEUES; q++) {
    queues[q] = (queue_state){.reader = decoder_queue_open(file, stream, q, &m->hw, m->reg)};
    queues[q].has_next = decoder_queue_next(&queues[q].reader, &queues[q].next);
  }
  bool ran = true;
  while (ran) {
    ran = false;
    for (unsigned i = 0; i < QUEUES; i++) {
      const unsigned q = order & ORDER_BACKWARD ? QUEUES - 1 - i : i;
      if (!queues[q].has_next || !may_run(queues, &queues[q].next)) continue;
      run_one(m, q, &queues[q]);
      ran = true;
      if (order & ORDER_PRIORITY) break; /* a later queue goes on only where all before it wait */
    }
  }
  for (unsigned q = 0; q < QUEUES; q++)
    if (queues[q].has_next) decoder_machine_fail(m, "deadlock: every queue waits");
}
