/* SPDX-License-Identifier: Apache-2.0 */
/* Scoreboard: for every byte (or row) of a memory, who wrote it last and who has read it since. It turns a program in plain order into one whose queues run at once:
 * an instruction must wait for the last writer of what it reads, and for the last writer and the later readers of what it writes.
 *
 * Kept as a sorted list of segments that cover the memory; neighbours that agree are joined. Tokens are counts: "token t of queue q" is its t-th signalling instruction;
 * 0 means never. Because tokens of a queue come in order, remembering the latest is enough. */
#ifndef NPUC_NPU_SCOREBOARD_H
#define NPUC_NPU_SCOREBOARD_H

#include "npu/arch.h"

typedef struct score_segment {
  uint64_t end;                    /* exclusive; begins where the one before ends */
  uint32_t written_by[NPU_QUEUES]; /* token of the last write (one queue nonzero) */
  uint32_t read_by[NPU_QUEUES];    /* tokens of reads since */
} score_segment;

typedef struct scoreboard {
  arena *arena;
  score_segment *segments;
  size_t count, capacity;
} scoreboard;

void npuc_score_init(scoreboard *s, arena *a, uint64_t size);
/* Raises need[q] to what an access of [begin, end) must wait for, and records it as token `token` of `queue`. */
void npuc_score_access(scoreboard *s, uint64_t begin, uint64_t end, bool is_write, npu_queue queue, uint32_t token,
                       uint32_t need[NPU_QUEUES]);

#endif
