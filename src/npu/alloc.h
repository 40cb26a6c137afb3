/* SPDX-License-Identifier: Apache-2.0 */
/* Scratchpad allocation: buffers with a life in positions of the emission order, each at the lowest address that is free for its whole life. Buffers are placed in order
 * of birth (then of index), so the result depends on nothing else. */
#ifndef NPUC_NPU_ALLOC_H
#define NPUC_NPU_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sp_buffer {
  uint64_t bytes;
  uint32_t first, last; /* positions, both inclusive */
  uint64_t address;     /* result, a multiple of 64 */
} sp_buffer;

/* false when they do not fit in `limit` bytes; *out_position is then the birth of the buffer that did not. */
bool npuc_npu_alloc(sp_buffer *buffers, size_t n, uint64_t limit, uint32_t *out_position);

#endif
