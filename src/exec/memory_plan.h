/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets for values that live over ranges of steps: values that live at the same time do not overlap. */
#ifndef NPUC_EXEC_MEMORY_PLAN_H
#define NPUC_EXEC_MEMORY_PLAN_H

#include <stdbool.h>

#include "base/arena.h"

typedef struct live_range {
  size_t bytes;
  size_t first, last; /* steps, inclusive: written at first, last read at last */
  size_t offset;      /* out: 64-byte aligned */
} live_range;

/* Ranges are in order of `first`. Returns the bytes of the whole; SIZE_MAX, and offsets that mean nothing, where that is more than can be addressed. */
size_t npuc_memory_plan(arena *scratch, live_range *ranges, size_t n);

#endif
