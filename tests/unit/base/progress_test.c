/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/progress.h"

typedef struct told {
  const char *what;
  uint64_t done, total;
} told;

static void tell(void *user, const char *what, uint64_t done, uint64_t total) { *(told *)user = (told){what, done, total}; }

static bool yes(void *user) {
  (void)user;
  return true;
}

static void reports_reach_the_listener(void **state) {
  (void)state;
  told t = {0};
  progress p = {.report = tell, .user = &t};
  npuc_progress_report(&p, "calibrate", 3, 16);
  assert_string_equal(t.what, "calibrate");
  assert_int_equal(t.done, 3);
  assert_int_equal(t.total, 16);
  assert_false(npuc_progress_cancelled(&p));
  p.cancelled = yes;
  assert_true(npuc_progress_cancelled(&p));
}

static void nobody_listening_is_fine(void **state) {
  (void)state;
  progress silent = {0};
  npuc_progress_report(NULL, "x", 0, 0);
  npuc_progress_report(&silent, "x", 0, 0);
  assert_false(npuc_progress_cancelled(NULL));
  assert_false(npuc_progress_cancelled(&silent));
}

static void the_clock_goes_forward_and_memory_is_used(void **state) {
  (void)state;
  double first = npuc_clock_seconds();
  assert_true(npuc_clock_seconds() >= first);
  assert_true(npuc_peak_rss_bytes() > 100000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reports_reach_the_listener),
      cmocka_unit_test(nobody_listening_is_fine),
      cmocka_unit_test(the_clock_goes_forward_and_memory_is_used),
  };
  return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
