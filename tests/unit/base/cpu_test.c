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
  for (int level = CPU_SCALAR; level < CPU_LEVELS; level++) {
    if (!npuc_cpu_has((cpu_level)level)) check_refused(npuc_cpu_name((cpu_level)level));
  }
}

/* Scalar and the best are there, nothing above the best is, and no level of another architecture. */
static void levels_are_of_one_architecture(void **state) {
  (void)state;
  assert_true(npuc_cpu_has(CPU_SCALAR));
  assert_true(npuc_cpu_has(npuc_cpu_best()));
  for (int level = (int)npuc_cpu_best() + 1; level < CPU_LEVELS; level++) assert_false(npuc_cpu_has((cpu_level)level));
  assert_false(npuc_cpu_has(CPU_NEON) && npuc_cpu_has(CPU_AVX2));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_best_level_is_the_default),
      cmocka_unit_test(levels_can_be_lowered),
      cmocka_unit_test(unknown_and_missing_levels_are_errors),
      cmocka_unit_test(levels_are_of_one_architecture),
  };
  return cmocka_run_group_tests_name("cpu", tests, NULL, NULL);
}
