/* SPDX-License-Identifier: Apache-2.0 */
/* Order within the ranks: sweeps by the barycentre of the neighbours; of all orders seen, the one with the fewest crossings stays. */
#include <stdlib.h>
#include <string.h>

#include "report/layered_internal.h"

enum { SWEEPS = 12 };

typedef struct keyed {
  double key;
  int32_t position, item;
} keyed;

static int by_key(const void *a, const void *b) {
  const keyed *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return x->position < y->position ? -1 : x->position > y->position;
}

static double barycentre(const layered_plan *p, const layered_item *it, bool from_above) {
  const int32_t *neighbours = from_above ? it->up : it->down;
  int32_t n = from_above ? it->n_up : it->n_down;
  double sum = 0;
  for (int32_t i = 0; i < n; i++) sum += p->items[neighbours[i]].position;
  return n ? sum / n : it->position;
}

static void sort_rank(layered_plan *p, int32_t rank, bool from_above, keyed *keys) {
  layered_rank *r = &p->ranks[rank];
  for (int32_t i = 0; i < r->count; i++) keys[i] = (keyed){barycentre(p, &p->items[r->items[i]], from_above), i, r->items[i]};
  qsort(keys, (size_t)r->count, sizeof *keys, by_key);
  for (int32_t i = 0; i < r->count; i++) {
    r->items[i] = keys[i].item;
    p->items[keys[i].item].position = i;
  }
}

static int by_number(const void *a, const void *b) {
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return x < y ? -1 : x > y;
}

/* Crossings between a rank and the one below: inversions among the links' lower ends, taken in the order of their upper ends (counted with a Fenwick tree). */
static size_t crossings_below(const layered_plan *p, int32_t rank, int32_t *ends, int32_t *tree) {
  const layered_rank *r = &p->ranks[rank];
  int32_t width = p->ranks[rank + 1].count, seen = 0;
  size_t crossings = 0;
  memset(tree, 0, ((size_t)width + 1) * sizeof *tree);
  for (int32_t i = 0; i < r->count; i++) {
    const layered_item *it = &p->items[r->items[i]];
    for (int32_t k = 0; k < it->n_down; k++) ends[k] = p->items[it->down[k]].position;
    qsort(ends, (size_t)it->n_down, sizeof *ends, by_number);
    for (int32_t k = 0; k < it->n_down; k++) {
      int32_t not_after = 0;
      for (int32_t at = ends[k] + 1; at > 0; at -= at & -at) not_after += tree[at];
      crossings += (size_t)(seen - not_after);
    }
    for (int32_t k = 0; k < it->n_down; k++, seen++)
      for (int32_t at = ends[k] + 1; at <= width; at += at & -at) tree[at]++;
  }
  return crossings;
}

typedef struct sweep_room {
  keyed *keys;
  int32_t *ends, *tree, *best;
} sweep_room;

static size_t count_crossings(const layered_plan *p, const sweep_room *room) {
  size_t sum = 0;
  for (int32_t r = 0; r + 1 < p->n_ranks; r++) sum += crossings_below(p, r, room->ends, room->tree);
  return sum;
}

static void keep(const layered_plan *p, int32_t *best) {
  for (size_t i = 0; i < p->n_items; i++) best[i] = p->items[i].position;
}

static void restore(layered_plan *p, const int32_t *best) {
  for (size_t i = 0; i < p->n_items; i++) {
    p->items[i].position = best[i];
    p->ranks[p->items[i].rank].items[best[i]] = (int32_t)i;
  }
}

void npuc_layered_order(layered_plan *p) {
  size_t widest = 1, most_links = 1;
  for (int32_t r = 0; r < p->n_ranks; r++)
    if ((size_t)p->ranks[r].count > widest) widest = (size_t)p->ranks[r].count;
  for (size_t i = 0; i < p->n_items; i++)
    if ((size_t)p->items[i].n_down > most_links) most_links = (size_t)p->items[i].n_down;
  sweep_room room = {.keys = NPUC_NEW_ARRAY(p->scratch, widest, keyed),
                     .ends = NPUC_NEW_ARRAY(p->scratch, most_links, int32_t),
                     .tree = NPUC_NEW_ARRAY(p->scratch, widest + 1, int32_t),
                     .best = NPUC_NEW_ARRAY(p->scratch, p->n_items + 1, int32_t)};
  size_t fewest = count_crossings(p, &room);
  keep(p, room.best);
  for (int sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
    bool down = sweep % 2 == 0;
    for (int32_t i = 1; i < p->n_ranks; i++) sort_rank(p, down ? i : p->n_ranks - 1 - i, down, room.keys);
    size_t now = count_crossings(p, &room);
    if (now >= fewest) continue;
    fewest = now;
    keep(p, room.best);
  }
  restore(p, room.best);
}
