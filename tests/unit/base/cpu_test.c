/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"

static void the_best_level_is_the_default(void **state) {
  (void)state;
  diag *d = npuc_diag_create(NULL, NULL);
  cpu_level level;
  assert_int_equal(unsetenv("NPUC_CPU"), 0);
  assert_int_equal(npuc_cpu_select(d, &level), NPUC_OK);
  assert_int_equal(level, npuc_cpu_best());
  assert_int_equal(setenv("NPUC_CPU", "", 1), 0);
  assert_int_equal(npuc_cpu_select(d, &level), NPUC_OK);
  assert_int_equal(level, npuc_cpu_best());
  npuc_diag_destroy(d);
}

static void levels_can_be_lowered(void **state) {
  (void)state;
  diag *d = npuc_diag_create(NULL, NULL);
  cpu_level level;
  assert_int_equal(setenv("NPUC_CPU", "scalar", 1), 0);
  assert_int_equal(npuc_cpu_select(d, &level), NPUC_OK);
  assert_int_equal(level, CPU_SCALAR);
  assert_int_equal(setenv("NPUC_CPU", npuc_cpu_name(npuc_cpu_best()), 1), 0);
  assert_int_equal(npuc_cpu_select(d, &level), NPUC_OK);
  assert_int_equal(level, npuc_cpu_best());
  assert_int_equal(npuc_diag_count(d), 0);
  npuc_diag_destroy(d);
}

static void check_refused(const char *name) {
  diag *d = npuc_diag_create(NULL, NULL);
  cpu_level level;
  assert_int_equal(setenv("NPUC_CPU", name, 1), 0);
  assert_int_equal(npuc_cpu_select(d, &level), NPUC_USAGE);
  assert_int_equal(npuc_diag_count(d), 1);
  assert_int_equal(npuc_diag_at(d, 0)->code, NPUC_DIAG_E0007);
  assert_non_null(strstr(npuc_diag_at(d, 0)->reason, name));
  assert_int_equal(npuc_diag_at(d, 0)->n_fixes, 1);
  npuc_diag_destroy(d);
}

static void unknown_and_missing_levels_are_errors(void **state) {
  (void)state;
  check_refused("sse9");
  check_refused("AVX2 ");
#if defined(__x86_64__)
  check_refused("neon");
  if (npuc_cpu_best() < CPU_AVX512) check_refused("avx512");
#else
  check_refused("avx2");
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_best_level_is_the_default),
      cmocka_unit_test(levels_can_be_lowered),
      cmocka_unit_test(unknown_and_missing_levels_are_errors),
  };
  return cmocka_run_group_tests_name("cpu", tests, NULL, NULL);
}
