/* SPDX-License-Identifier: Apache-2.0 */
/* What whole numbers can be: an interval for each integer value, from constants, shapes, the places that an index may name, and what the user vouches for. */
#ifndef NPUC_PASSES_RANGES_H
#define NPUC_PASSES_RANGES_H

#include "ir/op.h"

typedef struct interval {
  bool known;
  int64_t lo, hi;
} interval;

/* One for each value id of the graph as it is now; in `a`. `given(user, v, out)` says what is known of a value from outside (may be NULL). */
interval *npuc_graph_ranges(arena *a, const graph *g, bool (*given)(void *user, const value *v, interval *out), void *user);

#endif
