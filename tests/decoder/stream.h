/* SPDX-License-Identifier: Apache-2.0 */
/* Running one stream: its four queues against one another (docs/refnpu.md section 3), and how long that takes (section 5). */
#ifndef DECODER_STREAM_H
#define DECODER_STREAM_H

#include "file.h"
#include "machine.h"

typedef struct queue_reader { /* walks an instruction list; IDX are applied on the way */
  const npu_file *file;
  const hardware *hw;
  const uint32_t *reg;
  unsigned queue;
  span list;
  uint32_t pc; /* of the instruction that `next` gave */
  uint32_t following;
  bool has_idx;
  insn idx;
} queue_reader;

queue_reader decoder_queue_open(const npu_file *file, const stream_record *stream, unsigned queue, const hardware *hw,
                                const uint32_t reg[8]);

/* The next instruction, changed by the IDX before it; false behind HALT. An IDX is given too: it takes its place in time. */
bool decoder_queue_next(queue_reader *reader, insn *out);

/* In which order the queues are tried. A correct program gives the same bytes in each. */
enum { ORDER_BACKWARD = 1, ORDER_PRIORITY = 2, ORDERS = 4 };

/* Runs the stream on m, whose dram and reg are set. */
void decoder_stream_run(machine *m, const npu_file *file, const stream_record *stream, unsigned order);

uint64_t decoder_stream_cycles(const npu_file *file, const stream_record *stream, const uint32_t reg[8]);

#endif
