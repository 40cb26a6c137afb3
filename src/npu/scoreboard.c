/* SPDX-License-Identifier: Apache-2.0 */
#include "npu/scoreboard.h"

#include <assert.h>
#include <string.h>

void npuc_score_init(scoreboard *s, arena *a, uint64_t size) {
  *s = (scoreboard){.arena = a};
  s->segments = npuc_arena_grow(a, NULL, 0, 1, sizeof *s->segments, &s->capacity);
  s->segments[0] = (score_segment){.end = size};
  s->count = 1;
}

/* First segment that ends after `at`. */
static size_t find(const scoreboard *s, uint64_t at) {
  size_t low = 0, high = s->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (s->segments[middle].end <= at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Makes `at` a boundary; returns the segment that begins there. */
static size_t split(scoreboard *s, uint64_t at) {
  size_t i = find(s, at);
  if (i == s->count) return i;
  uint64_t begin = i ? s->segments[i - 1].end : 0;
  if (begin == at) return i;
  s->segments = npuc_arena_grow(s->arena, s->segments, s->count, s->count + 1, sizeof *s->segments, &s->capacity);
  memmove(&s->segments[i + 1], &s->segments[i], (s->count - i) * sizeof *s->segments);
  s->segments[i].end = at;
  s->count++;
  return i + 1;
}

static bool agree(const score_segment *a, const score_segment *b) {
  return memcmp(a->written_by, b->written_by, sizeof a->written_by) == 0 && memcmp(a->read_by, b->read_by, sizeof a->read_by) == 0;
}

/* Joins equal neighbours among segments first-1 .. last+1. */
static void join(scoreboard *s, size_t first, size_t last) {
  size_t from = first ? first - 1 : 0, to = last + 1 < s->count ? last + 1 : s->count - 1, kept = from;
  for (size_t i = from + 1; i <= to; i++) {
    if (agree(&s->segments[kept], &s->segments[i]))
      s->segments[kept].end = s->segments[i].end;
    else
      s->segments[++kept] = s->segments[i];
  }
  memmove(&s->segments[kept + 1], &s->segments[to + 1], (s->count - to - 1) * sizeof *s->segments);
  s->count -= to - kept;
}

static void raise_need(uint32_t need[NPU_QUEUES], const uint32_t tokens[NPU_QUEUES]) {
  for (int q = 0; q < NPU_QUEUES; q++) {
    if (tokens[q] > need[q]) need[q] = tokens[q];
  }
}

void npuc_score_access(scoreboard *s, uint64_t begin, uint64_t end, bool is_write, npu_queue queue, uint32_t token,
                       uint32_t need[NPU_QUEUES]) {
  if (begin >= end) return;
  assert(end <= s->segments[s->count - 1].end);
  size_t first = split(s, begin), after = split(s, end);
  for (size_t i = first; i < after; i++) {
    score_segment *segment = &s->segments[i];
    raise_need(need, segment->written_by);
    if (is_write) {
      raise_need(need, segment->read_by);
      memset(segment->written_by, 0, sizeof segment->written_by);
      memset(segment->read_by, 0, sizeof segment->read_by);
      segment->written_by[queue] = token;
    } else {
      segment->read_by[queue] = token;
    }
  }
  join(s, first, after - 1);
}
