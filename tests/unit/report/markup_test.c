/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/format.h"
#include "report/markup.h"
#include "support/html.h"

static void prints(const char *text, const char *wanted) {
  markup m = {0};
  npuc_markup_print(&m, "%s", text);
  assert_string_equal(m.text ? m.text : "", wanted);
  npuc_markup_destroy(&m);
}

static void text_is_escaped(void **state) {
  (void)state;
  prints("<script>alert('x')</script>", "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;");
  prints("a & \"b\"", "a &amp; &quot;b&quot;");
  prints("", "");
  prints("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
}

static void bytes_that_are_no_text_are_replaced(void **state) {
  (void)state;
  prints("a\x01z", "a\xef\xbf\xbdz");
  prints("\xff", "\xef\xbf\xbd");
  prints("\xc3(", "\xef\xbf\xbd(");                               /* cut short */
  prints("\xc0\xbc", "\xef\xbf\xbd\xef\xbf\xbd");                 /* '<', overlong */
  prints("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* a surrogate */
  prints("\xc2\x85", "\xef\xbf\xbd\xef\xbf\xbd");                 /* a C1 control */
}

static void print_knows_its_conversions(void **state) {
  (void)state;
  markup m = {0};
  npuc_markup_print(&m, "%d %zu %s 100%%", -3, (size_t)7, "<");
  assert_string_equal(m.text, "-3 7 &lt; 100%");
  npuc_markup_destroy(&m);
}

static void coordinates_are_short(void **state) {
  (void)state;
  static const struct {
    double v;
    const char *wanted;
  } cases[] = {{0, "0"}, {-0.001, "0"}, {1.5, "1.5"}, {10, "10"}, {0.126, "0.13"}, {-2.25, "-2.25"}, {(double)INFINITY, "0"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    markup m = {0};
    npuc_markup_number(&m, cases[i].v);
    assert_string_equal(m.text, cases[i].wanted);
    npuc_markup_destroy(&m);
  }
}

static void json_cannot_end_its_element(void **state) {
  (void)state;
  markup m = {0};
  json_t *v = json_pack("{s:s}", "name", "</script><!--&");
  npuc_markup_json(&m, v);
  assert_string_equal(m.text, "{\"name\":\"\\u003c/script\\u003e\\u003c!--\\u0026\"}");
  json_t *again = json_loads(m.text, 0, NULL);
  assert_true(json_equal(v, again));
  json_decref(again);
  json_decref(v);
  npuc_markup_destroy(&m);
}

static void any_bytes_become_json(void **state) {
  (void)state;
  json_t *t = npuc_json_text("a\xff\xc3\xa9");
  assert_string_equal(json_string_value(t), "a\xef\xbf\xbd\xc3\xa9");
  json_decref(t);
}

static void numbers_read_well(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  assert_string_equal(npuc_format_count(a, 1234567), "1,234,567");
  assert_string_equal(npuc_format_count(a, -123), "-123");
  assert_string_equal(npuc_format_count(a, -1234), "-1,234");
  assert_string_equal(npuc_format_bytes(a, 9999), "9,999 B");
  assert_string_equal(npuc_format_bytes(a, 262144), "262 kB");
  assert_string_equal(npuc_format_bytes(a, 4.32e6), "4.32 MB");
  assert_string_equal(npuc_format_bytes(a, 999.9e3), "1.00 MB");
  assert_string_equal(npuc_format_percent(a, 0.7796, 1), "78.0 %");
  assert_string_equal(npuc_format_seconds(a, 0.0296), "29.6 ms");
  assert_string_equal(npuc_format_seconds(a, 12.34), "12.3 s");
  json_t *dims = json_pack("[i, s, i]", 1, "N", 16), *o = json_pack("{s:s, s:s, s:f}", "a", "inf", "b", "nan", "c", 2.5);
  assert_string_equal(npuc_format_dims(a, dims),
                      "1\xc3\x97N\xc3\x97"
                      "16");
  assert_true(isinf(npuc_json_member(o, "a")));
  assert_true(isnan(npuc_json_member(o, "b")));
  assert_true(npuc_json_member(o, "c") == 2.5);
  assert_true(isnan(npuc_json_member(o, "d")));
  json_decref(dims);
  json_decref(o);
  npuc_arena_destroy(a);
}

/* The instrument of the page tests: it must find what is wrong. */
static void the_judge_of_pages_finds_faults(void **state) {
  (void)state;
  assert_null(html_fault("<!DOCTYPE html><p class=\"a\">x &amp; y<br><svg><path d=\"M0\"/></svg></p><script>a < b && c</script>"));
  assert_non_null(html_fault("<p></p>"));
  assert_non_null(html_fault("<!DOCTYPE html><p><b></p></b>"));
  assert_non_null(html_fault("<!DOCTYPE html><p>"));
  assert_non_null(html_fault("<!DOCTYPE html>a & b"));
  assert_non_null(html_fault("<!DOCTYPE html><p class=a></p>"));
  assert_non_null(html_fault("<!DOCTYPE html><p title=\"<\"></p>"));
  assert_non_null(html_fault("<!DOCTYPE html>></p>"));
  assert_int_equal(html_count("<p><pre></pre></p><p></p>", "p"), 2);
  assert_non_null(html_fetches("<script src=\"a\"></script>"));
  assert_non_null(html_fetches("<a href=\"http://a\">"));
  assert_null(html_fetches("<a href=\"#a\">"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_is_escaped),
      cmocka_unit_test(bytes_that_are_no_text_are_replaced),
      cmocka_unit_test(print_knows_its_conversions),
      cmocka_unit_test(coordinates_are_short),
      cmocka_unit_test(json_cannot_end_its_element),
      cmocka_unit_test(any_bytes_become_json),
      cmocka_unit_test(numbers_read_well),
      cmocka_unit_test(the_judge_of_pages_finds_faults),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
