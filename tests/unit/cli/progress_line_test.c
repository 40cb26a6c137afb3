/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line at given times: rate, time left, width, and when it is due. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/progress_line.h"

static void shows(progress_line *p, uint64_t done, uint64_t total, double now, size_t columns, const char *expected) {
  char text[160];
  npuc_progress_line_text(p, done, total, now, columns, text, sizeof text);
  assert_string_equal(text, expected);
}

static void lines(void **state) {
  (void)state;
  progress_line p = {0};
  assert_true(npuc_progress_line_due(&p, "calibrate", 0, 1000, 5.0));
  shows(&p, 0, 1000, 5.0, 80, "calibrate  0/1000  0 %");
  shows(&p, 500, 1000, 7.0, 80, "calibrate  500/1000  50 %  250/s  2.0 s left");
  shows(&p, 1, 1000, 7.0, 80, "calibrate  1/1000  0 %  0.50/s  33 min left");
  shows(&p, 500, 1000, 505.0, 80, "calibrate  500/1000  50 %  1.00/s  8 min left");
  shows(&p, 500, 0, 7.0, 80, "calibrate  500  250/s");
  shows(&p, 500, 1000, 7.0, 20, "calibrate  500/1000 ");
}

static void due(void **state) {
  (void)state;
  progress_line p = {0};
  assert_true(npuc_progress_line_due(&p, "a", 1, 9, 1.0));
  assert_false(npuc_progress_line_due(&p, "a", 2, 9, 1.05));
  assert_true(npuc_progress_line_due(&p, "a", 3, 9, 1.15));
  assert_true(npuc_progress_line_due(&p, "a", 9, 9, 1.16)); /* the last is always told */
  assert_true(npuc_progress_line_due(&p, "b", 5, 9, 1.17)); /* other work: its rate starts anew */
  assert_int_equal(p.at_start, 5);
  double left;
  assert_true(npuc_progress_line_rate(&p, 5, 9, 1.18, &left) == 0 && left < 0);
  assert_true(npuc_progress_line_rate(&p, 7, 9, 2.17, &left) == 2 / (2.17 - 1.17) && left > 0.99 && left < 1.01);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lines), cmocka_unit_test(due)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
