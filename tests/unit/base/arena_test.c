/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"

static void allocations_are_aligned_zeroed_and_apart(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  unsigned char *earlier = NULL;
  size_t earlier_bytes = 0;
  for (size_t i = 0; i < 3000; i++) {
    size_t bytes = (i * 37) % 301;
    unsigned char *p = npuc_arena_alloc(a, bytes);
    assert_int_equal((uintptr_t)p % 16, 0);
    for (size_t k = 0; k < bytes; k++) assert_int_equal(p[k], 0);
    memset(p, 0xa5, bytes);
    if (earlier) {
      assert_ptr_not_equal(p, earlier);
      for (size_t k = 0; k < earlier_bytes; k++) assert_int_equal(earlier[k], 0xa5);
    }
    earlier = p;
    earlier_bytes = bytes;
  }
  assert_true(npuc_arena_used(a) > 3000 * 100);
  npuc_arena_destroy(a);
}

static void large_requests_keep_the_small_ones_together(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  unsigned char *first = npuc_arena_alloc(a, 16);
  unsigned char *large = npuc_arena_alloc(a, 5 << 20);
  unsigned char *second = npuc_arena_alloc(a, 16);
  large[(5 << 20) - 1] = 1;
  assert_ptr_equal(second, first + 16);
  npuc_arena_destroy(a);
}

static void reset_starts_again_and_zeroes(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  unsigned char *first = npuc_arena_alloc(a, 64);
  (void)npuc_arena_alloc(a, 3 << 20);
  for (int i = 0; i < 1000; i++) memset(npuc_arena_alloc(a, 100), 0xff, 100);
  memset(first, 0xff, 64);
  npuc_arena_reset(a);
  assert_int_equal(npuc_arena_used(a), 0);
  unsigned char *again = npuc_arena_alloc(a, 64);
  assert_ptr_equal(again, first);
  for (int i = 0; i < 64; i++) assert_int_equal(again[i], 0);
  npuc_arena_reset(a);
  npuc_arena_reset(a);
  npuc_arena_destroy(a);
}

static void growth_keeps_the_elements(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  int *array = NULL;
  size_t capacity = 0;
  for (size_t i = 0; i < 10000; i++) {
    array = npuc_arena_grow(a, array, i, i + 1, sizeof *array, &capacity);
    assert_true(capacity > i);
    array[i] = (int)i;
  }
  for (size_t i = 0; i < 10000; i++) assert_int_equal(array[i], (int)i);
  assert_ptr_equal(npuc_arena_grow(a, array, 10000, 5, sizeof *array, &capacity), array);
  npuc_arena_destroy(a);
}

static void strings(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  assert_string_equal(npuc_arena_str(a, "conv1"), "conv1");
  assert_string_equal(npuc_arena_strn(a, "conv1/relu", 5), "conv1");
  assert_string_equal(npuc_arena_strn(a, NULL, 0), "");
  assert_string_equal(npuc_arena_printf(a, "%s_%d", "x", 7), "x_7");
  assert_string_equal(npuc_arena_printf(a, "%s", ""), "");
  assert_memory_equal(npuc_arena_copy(a, "a\0b", 3), "a\0b", 3);
  npuc_arena_destroy(a);
}

static void leave_with_seven(size_t bytes) {
  (void)bytes;
  _exit(7);
}

/* An impossible size goes to the handler, in a process of its own because the handler does not return. */
static int status_of(void (*act)(arena *a)) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    npuc_set_oom_handler(leave_with_seven);
    arena *a = npuc_arena_create();
    act(a);
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void overflowing_array(arena *a) { (void)npuc_arena_array(a, SIZE_MAX / 8 + 2, 8); /* would wrap to 8 bytes */ }

static void overflowing_alloc(arena *a) { (void)npuc_arena_alloc(a, SIZE_MAX - 3); }

static void overflowing_growth(arena *a) {
  size_t capacity = 1;
  (void)npuc_arena_grow(a, NULL, 0, SIZE_MAX / 4, 16, &capacity);
}

static void fitting_array(arena *a) { (void)npuc_arena_array(a, 1000, 8); }

static void overflow_goes_to_the_handler(void **state) {
  (void)state;
  assert_int_equal(status_of(overflowing_array), 7);
  assert_int_equal(status_of(overflowing_alloc), 7);
  assert_int_equal(status_of(overflowing_growth), 7);
  assert_int_equal(status_of(fitting_array), 0);
}

static void buffers_are_aligned_and_can_fail(void **state) {
  (void)state;
  for (size_t bytes = 0; bytes < 300; bytes += 13) {
    unsigned char *p = npuc_buffer_create(bytes);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % 64, 0);
    for (size_t i = 0; i < bytes; i++) assert_int_equal(p[i], 0);
    npuc_buffer_destroy(p);
  }
  assert_null(npuc_buffer_create(SIZE_MAX));
  assert_null(npuc_buffer_create(SIZE_MAX - 63));
  npuc_buffer_destroy(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(allocations_are_aligned_zeroed_and_apart),
      cmocka_unit_test(large_requests_keep_the_small_ones_together),
      cmocka_unit_test(reset_starts_again_and_zeroes),
      cmocka_unit_test(growth_keeps_the_elements),
      cmocka_unit_test(strings),
      cmocka_unit_test(overflow_goes_to_the_handler),
      cmocka_unit_test(buffers_are_aligned_and_can_fail),
  };
  return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
