/* SPDX-License-Identifier: Apache-2.0 */
/* How much large memory the process may hold (--max-memory). A file of a few hundred bytes can ask for terabytes, and systems that promise memory
 * which they have not got would let it: what npuc_buffer_create gives out and the large blocks of arenas are counted, and a claim beyond the limit is refused with its size named. */
#ifndef NPUC_BASE_LIMIT_H
#define NPUC_BASE_LIMIT_H

#include "base/diag.h"

/* Set once, before other threads run. 0, as at the start: no limit. */
void npuc_memory_limit(size_t bytes);
/* False when these bytes more would pass the limit; else they are counted until they are given back. */
bool npuc_memory_claim(size_t bytes);
void npuc_memory_give_back(size_t bytes);
/* Whether the limit, and not the machine, is why `bytes` more are not given; out_held what is in use. */
bool npuc_memory_is_limited(size_t bytes, size_t *out_limit, size_t *out_held);
/* Why a claim of `bytes` was not met: E0009 when it is the limit, else E0002. The text says what they were for: "packed weights". */
npuc_status npuc_fail_memory(diag *d, const diag_place *place, size_t bytes, const char *format, ...) NPUC_PRINTF(4, 5) NPUC_MUST_USE;

#endif
