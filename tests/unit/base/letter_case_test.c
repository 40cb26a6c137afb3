/* SPDX-License-Identifier: Apache-2.0 */
/* Right values: Python's str.upper and str.lower, for letters that map to one letter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/letter_case.h"

static void letters_of_any_script_change(void **state) {
  (void)state;
  static const struct {
    const char *lower, *upper;
  } rows[] = {{"monday 1", "MONDAY 1"},
              {"\303\251t\303\251", "\303\211T\303\211"},
              {"\316\261\316\262", "\316\221\316\222"},
              {"\320\266", "\320\226"},
              {"", ""}};
  char out[64];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    size_t n = npuc_letter_case(rows[i].lower, strlen(rows[i].lower), true, out);
    if (n == SIZE_MAX) { /* only letters beyond ASCII need the system's tables */
      print_message("skipped: no locale C.UTF-8\n");
      skip();
    }
    assert_int_equal(n, strlen(rows[i].upper));
    assert_memory_equal(out, rows[i].upper, n);
    n = npuc_letter_case(rows[i].upper, strlen(rows[i].upper), false, out);
    assert_int_equal(n, strlen(rows[i].lower));
    assert_memory_equal(out, rows[i].lower, n);
  }
}

static void other_bytes_stay(void **state) {
  (void)state;
  char out[64];
  static const char mixed[] = "\377a\303", nul[] = "a\0b";
  assert_int_equal(npuc_letter_case(mixed, 3, true, out), 3);
  assert_memory_equal(out, "\377A\303", 3);
  assert_int_equal(npuc_letter_case(nul, 3, true, out), 3);
  assert_memory_equal(out, "A\0B", 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(letters_of_any_script_change), cmocka_unit_test(other_bytes_stay)};
  return cmocka_run_group_tests_name("letter case", tests, NULL, NULL);
}
