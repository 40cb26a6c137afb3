/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the layout's files only: nodes and bends are both items; a link joins items of neighbouring ranks. */
#ifndef NPUC_REPORT_LAYERED_INTERNAL_H
#define NPUC_REPORT_LAYERED_INTERNAL_H

#include <stdbool.h>

#include "report/layered.h"

typedef struct layered_item {
  int32_t rank, position; /* in its rank */
  double width, x;
  bool is_bend;
  const int32_t *up, *down; /* items of the rank above and below that it is linked to */
  int32_t n_up, n_down;
} layered_item;

typedef struct layered_rank {
  int32_t *items; /* by position */
  int32_t count;
} layered_rank;

typedef struct layered_plan {
  arena *scratch;
  layered_item *items;
  size_t n_items;
  layered_rank *ranks;
  int32_t n_ranks;
  double gap;
} layered_plan;

/* Sets the nodes' ranks; returns how many there are. */
int32_t npuc_layered_rank(arena *scratch, layered_graph *g);
void npuc_layered_order(layered_plan *p);
void npuc_layered_place(layered_plan *p);

#endif
