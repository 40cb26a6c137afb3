/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the steps in order with a list of free holes sorted by offset: a value takes the smallest hole that holds it (the lowest of
 * equals), or grows the end; when its range is over, its place becomes a hole again and joins its neighbours. Ends are visited in
 * order through a list per last step, so that the walk is linear in values times holes. */
#include "exec/memory_plan.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

typedef struct hole {
  size_t offset, bytes;
} hole;

typedef struct hole_list {
  arena *scratch;
  hole *holes;
  size_t n, capacity;
  size_t end; /* memory beyond is untouched */
  bool too_large;
} hole_list;

static void insert_hole(hole_list *l, size_t at, hole h) {
  l->holes = npuc_arena_grow(l->scratch, l->holes, l->n, l->n + 1, sizeof *l->holes, &l->capacity);
  memmove(l->holes + at + 1, l->holes + at, (l->n - at) * sizeof *l->holes);
  l->holes[at] = h;
  l->n++;
}

static void remove_hole(hole_list *l, size_t at) {
  memmove(l->holes + at, l->holes + at + 1, (l->n - at - 1) * sizeof *l->holes);
  l->n--;
}

static void give_back(hole_list *l, size_t offset, size_t bytes) {
  if (bytes == 0) return;
  size_t at = 0;
  while (at < l->n && l->holes[at].offset < offset) at++;
  insert_hole(l, at, (hole){offset, bytes});
  if (at + 1 < l->n && offset + bytes == l->holes[at + 1].offset) {
    l->holes[at].bytes += l->holes[at + 1].bytes;
    remove_hole(l, at + 1);
  }
  if (at > 0 && l->holes[at - 1].offset + l->holes[at - 1].bytes == offset) {
    l->holes[at - 1].bytes += l->holes[at].bytes;
    remove_hole(l, at);
  }
}

static size_t take(hole_list *l, size_t bytes) {
  if (bytes == 0) return 0;
  size_t best = l->n;
  for (size_t i = 0; i < l->n; i++) {
    if (l->holes[i].bytes >= bytes && (best == l->n || l->holes[i].bytes < l->holes[best].bytes)) best = i;
  }
  if (best < l->n) {
    size_t offset = l->holes[best].offset;
    l->holes[best].offset += bytes;
    l->holes[best].bytes -= bytes;
    if (l->holes[best].bytes == 0) remove_hole(l, best);
    return offset;
  }
  size_t offset = l->end;
  if (l->n && l->holes[l->n - 1].offset + l->holes[l->n - 1].bytes == l->end) { /* a hole at the end only grows */
    offset = l->holes[l->n - 1].offset;
    remove_hole(l, l->n - 1);
  }
  if (__builtin_add_overflow(offset, bytes, &l->end) || l->end > SIZE_MAX / 2) {
    l->too_large = true;
    l->end = offset;
  }
  return offset;
}

/* To whole lines of 64 bytes; what cannot be rounded cannot be placed either. */
static size_t in_lines(size_t bytes) { return bytes > SIZE_MAX / 2 ? SIZE_MAX : (bytes + 63) & ~(size_t)63; }

size_t npuc_memory_plan(arena *scratch, live_range *ranges, size_t n) {
  size_t steps = 0;
  for (size_t i = 0; i < n; i++) {
    assert(i == 0 || ranges[i - 1].first <= ranges[i].first);
    if (ranges[i].first + 1 > steps) steps = ranges[i].first + 1;
  }
  hole_list list = {.scratch = scratch};
  size_t *ends = NPUC_NEW_ARRAY(scratch, steps + 1, size_t), *next = NPUC_NEW_ARRAY(scratch, n + 1, size_t); /* index + 1; 0 ends */
  size_t step = 0;
  for (size_t i = 0; i < n; i++) {
    for (; step < ranges[i].first; step++) { /* what was last read before this step */
      for (size_t k = ends[step]; k; k = next[k - 1]) give_back(&list, ranges[k - 1].offset, in_lines(ranges[k - 1].bytes));
    }
    ranges[i].offset = take(&list, in_lines(ranges[i].bytes));
    if (list.too_large) return SIZE_MAX;
    if (ranges[i].last < steps) {
      next[i] = ends[ranges[i].last];
      ends[ranges[i].last] = i + 1;
    }
  }
  return list.end;
}
