/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets of random live ranges: no two that live together overlap, the whole is not larger than all together, and simple chains reuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "exec/memory_plan.h"
#include "support/random.h"

static bool together(const live_range *a, const live_range *b) { return a->first <= b->last && b->first <= a->last; }

static bool overlaps(const live_range *ranges, size_t n) {
  for (size_t i = 0; i < n; i++) {
    for (size_t j = i + 1; j < n; j++) {
      const live_range *a = &ranges[i], *b = &ranges[j];
      if (!together(a, b) || !a->bytes || !b->bytes) continue;
      if (a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes) return true;
    }
  }
  return false;
}

static void random_ranges(void **state) {
  (void)state;
  uint64_t seed = 1;
  for (int round = 0; round < 200; round++) {
    arena *a = npuc_arena_create();
    live_range ranges[120];
    size_t n = 1 + random_next(&seed) % 120, sum = 0, peak = 0;
    for (size_t i = 0; i < n; i++) {
      ranges[i] = (live_range){.bytes = random_next(&seed) % 5000, .first = i / 2};
      ranges[i].last = random_next(&seed) % 10 ? ranges[i].first + random_next(&seed) % 8 : SIZE_MAX;
      sum += (ranges[i].bytes + 63) / 64 * 64;
    }
    size_t total = npuc_memory_plan(a, ranges, n);
    assert_false(overlaps(ranges, n));
    for (size_t i = 0; i < n; i++) {
      assert_int_equal(ranges[i].offset % 64, 0);
      if (ranges[i].bytes && ranges[i].offset + ranges[i].bytes > peak) peak = ranges[i].offset + ranges[i].bytes;
    }
    assert_true(peak <= total && total <= sum);
    if (n > 4) { /* negative control: the check sees an overlap */
      ranges[1].offset = ranges[0].offset;
      ranges[0].bytes = ranges[1].bytes = 64;
      assert_true(overlaps(ranges, 2));
    }
    npuc_arena_destroy(a);
  }
}

/* Four quarters of the address space are 2^64 bytes, which a sum in size_t would call none. */
static void more_than_can_be_addressed(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  live_range ranges[8];
  for (size_t n = 2; n <= 8; n++) {
    for (size_t i = 0; i < n; i++) ranges[i] = (live_range){.bytes = (size_t)1 << 62, .first = i, .last = SIZE_MAX};
    assert_true(npuc_memory_plan(a, ranges, n) == SIZE_MAX);
  }
  ranges[0] = (live_range){.bytes = SIZE_MAX - 1, .first = 0, .last = 1};
  assert_true(npuc_memory_plan(a, ranges, 1) == SIZE_MAX);
  npuc_arena_destroy(a);
}

static void a_chain_takes_two_places(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  live_range ranges[50];
  for (size_t i = 0; i < 50; i++) ranges[i] = (live_range){.bytes = 1000, .first = i, .last = i + 1};
  assert_int_equal(npuc_memory_plan(a, ranges, 50), 2048);
  npuc_arena_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_ranges), cmocka_unit_test(more_than_can_be_addressed),
                                     cmocka_unit_test(a_chain_takes_two_places)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
