/* SPDX-License-Identifier: Apache-2.0 */
/* Widths, cuts and cleaning of text, with every kind of malformed byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"

static void characters(void **state) {
  (void)state;
  const struct {
    const char *text;
    size_t bytes;
    int32_t code;
  } cases[] = {{"", 0, 0},
               {"a", 1, 'a'},
               {"\xc3\xa9", 2, 0xe9},
               {"\xe2\x80\xa6", 3, 0x2026},
               {"\xf0\x9f\x98\x80", 4, 0x1f600},
               {"\x80", 1, UTF8_BAD}, /* continues nothing */
               {"\xc3", 1, UTF8_BAD}, /* cut off */
               {"\xe2\x80", 1, UTF8_BAD},
               {"\xc0\xaf", 1, UTF8_BAD}, /* overlong '/' */
               {"\xe0\x80\xaf", 1, UTF8_BAD},
               {"\xed\xa0\x80", 1, UTF8_BAD},     /* a surrogate */
               {"\xf4\x90\x80\x80", 1, UTF8_BAD}, /* beyond Unicode */
               {"\xff", 1, UTF8_BAD}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int32_t code;
    assert_int_equal(npuc_utf8_next(cases[i].text, &code), cases[i].bytes);
    assert_int_equal(code, cases[i].code);
  }
}

static void columns(void **state) {
  (void)state;
  assert_int_equal(npuc_utf8_columns("conv"), 4);
  assert_int_equal(npuc_utf8_columns("\xe7\x95\xb3\xe3\x81\xbf"), 4); /* two wide characters */
  assert_int_equal(npuc_utf8_columns("e\xcc\x81"), 1);                /* e and a combining accent */
  assert_int_equal(npuc_utf8_fit("\xe7\x95\xb3\xe3\x81\xbf", 3), 3);
  assert_int_equal(npuc_utf8_fit("abc", 9), 3);
}

/* No cut leaves half a character, and no result is wider than asked. */
static void shortening(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  assert_string_equal(npuc_utf8_shorten(a, "layer1.block2.conv3", 9),
                      "laye\xe2\x80\xa6"
                      "onv3");
  assert_string_equal(npuc_utf8_shorten(a, "short", 5), "short");
  static const char text[] =
      "\xe7\x95\xb3\xe3\x81\xbf-\xc3\xa9"
      "e\xcc\x81-\xf0\x9f\x98\x80-\xe7\x95\xb3\xe3\x81\xbf";
  for (size_t n = 0; n < 20; n++) {
    const char *cut = npuc_utf8_shorten(a, text, n);
    assert_true(npuc_utf8_columns(cut) <= n);
    int32_t code;
    for (size_t bytes; (bytes = npuc_utf8_next(cut, &code)) != 0; cut += bytes) assert_int_not_equal(code, UTF8_BAD);
  }
  npuc_arena_destroy(a);
}

static void cleaning(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  static const char fine[] = "\xc3\xa9 conv\n\t1";
  assert_ptr_equal(npuc_utf8_clean(a, fine), fine);
  assert_string_equal(npuc_utf8_clean(a,
                                      "a\x1b[31mb\x7f\xff\xc2\x9b"
                                      "31m\xc3\xa9"),
                      "a\\x1b[31mb\\x7f\\xff\\xc2\\x9b"
                      "31m\xc3\xa9");
  assert_string_equal(npuc_utf8_line(a, fine), "\xc3\xa9 conv\\x0a\\x091");
  npuc_arena_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(characters), cmocka_unit_test(columns), cmocka_unit_test(shortening),
                                     cmocka_unit_test(cleaning)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
