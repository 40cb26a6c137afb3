/* SPDX-License-Identifier: Apache-2.0 */
/* Large memory is counted, and refused by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/limit.h"

enum { KIB = 1024 };

static void what_is_held_counts_until_it_is_given_back(void **state) {
  (void)state;
  npuc_memory_limit(100 * KIB);
  void *a = npuc_buffer_create(60 * KIB), *b = npuc_buffer_create(40 * KIB);
  assert_non_null(a);
  assert_non_null(b);
  assert_null(npuc_buffer_create(1));
  npuc_buffer_destroy(b);
  assert_null(npuc_buffer_create(40 * KIB + 1));
  b = npuc_buffer_create(40 * KIB);
  assert_non_null(b);
  npuc_buffer_destroy(a);
  npuc_buffer_destroy(b);
  assert_null(npuc_buffer_create(SIZE_MAX / 4)); /* no sum wraps */
  npuc_memory_limit(0);
  a = npuc_buffer_create(200 * KIB); /* control: without a limit it is given */
  assert_non_null(a);
  npuc_buffer_destroy(a);
}

static void the_limit_is_told_from_the_machine(void **state) {
  (void)state;
  diag *d = npuc_diag_create(NULL, NULL);
  npuc_memory_limit(10 * KIB);
  assert_int_equal(npuc_fail_memory(d, &(diag_place){.node = "n"}, 11 * KIB, "value \"%s\"", "v"), NPUC_UNSUPPORTED);
  const diag_record *r = npuc_diag_first_error(d);
  assert_int_equal(r->code, NPUC_DIAG_E0009);
  assert_non_null(strstr(r->reason, "value \"v\": 11264 bytes"));
  assert_int_equal(r->n_fixes, 1);
  npuc_memory_limit(0);
  assert_int_equal(npuc_fail_memory(NULL, NULL, 11 * KIB, "v"), NPUC_ENVIRONMENT);
  npuc_diag_destroy(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_held_counts_until_it_is_given_back),
      cmocka_unit_test(the_limit_is_told_from_the_machine),
  };
  return cmocka_run_group_tests_name("limit", tests, NULL, NULL);
}
