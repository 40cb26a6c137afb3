/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a report in which every text is hostile: nothing of it may become markup. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/page.h"
#include "support/html.h"

#define EVIL "</code></script><script>alert(1)</script>\\\" onload=\\\"x' &amp;"

#define HOSTILE_GRAPH                                                                                                       \
  "{\"name\":\"" EVIL "\",\"inputs\":[\"" EVIL "\"],\"outputs\":[\"y\"],\"values\":{\"" EVIL                                \
  "\":{\"dtype\":\"float32\",\"shape\":[\"" EVIL                                                                            \
  "\"]}},"                                                                                                                  \
  "\"nodes\":[{\"name\":\"" EVIL "\",\"op\":\"" EVIL "\",\"domain\":\"" EVIL "\",\"source\":\"" EVIL "\",\"place\":\"" EVIL \
  "\",\"attributes\":{\"" EVIL "\":\"" EVIL                                                                                 \
  "\"},"                                                                                                                    \
  "\"inputs\":[\"" EVIL "\",\"\"],\"outputs\":[\"y\"]}]}"

static const char hostile_report[] =
    "{\"target\":\"" EVIL "\",\"evidence\":\"" EVIL "\",\"options\":{\"model\":\"" EVIL "\",\"" EVIL "\":[\"" EVIL
    "\"]},"
    "\"stages\":[{\"name\":\"baseline\",\"gate\":{\"samples\":16,\"finite\":true,\"pass\":true},\"seconds\":0.5,\"peak_rss_bytes\":5000000}"
    ","
    "{\"name\":\"" EVIL "\",\"gate\":{\"kind\":\"" EVIL "\",\"outputs\":[{\"name\":\"" EVIL
    "\",\"different\":1,\"max_abs\":\"inf\",\"sqnr_db\":\"nan\"}],\"pass\":false},"
    "\"rewrites\":[{\"pass\":\"" EVIL "\",\"pattern\":\"" EVIL "\",\"parity\":\"exact\",\"count\":3,\"first\":\"" EVIL
    "\"}]},{\"name\":\"build\"}],"
    "\"metric\":{\"samples\":3,\"float_top1\":50.0,\"integer_top1\":40.0},\"confusion\":{\"same\":1,\"lost\":1,\"won\":0,\"float\":[[1,0],["
    "0,1]],\"integer\":[[0,1],[0,1]]},"
    "\"parity\":{\"samples\":8,\"steepest\":\"" EVIL "\",\"nodes\":[{\"node\":\"" EVIL "\",\"op\":\"" EVIL "\",\"value\":\"" EVIL
    "\",\"sqnr_db\":\"inf\",\"cosine\":1.0,\"max_abs\":0.0,\"rmse\":0.0}]},"
    "\"cycles\":100,\"macs\":5,\"utilization\":0.5,\"units\":{\"" EVIL
    "\":{\"busy\":1,\"stalled\":2}},"
    "\"layers\":[{\"name\":\"" EVIL "\",\"op\":\"" EVIL
    "\",\"cycles\":100,\"array_busy\":50,\"vector_busy\":200,\"dma_busy\":0,\"macs\":5,\"utilization\":0.5}],"
    "\"memory\":{\"scratchpad\":{\"capacity\":100,\"steps\":[{\"node\":\"" EVIL
    "\",\"bytes\":50}]},\"executor\":{\"bytes\":5,\"steps\":[{\"node\":\"" EVIL
    "\",\"bytes\":5}]}},"
    "\"placement\":[{\"node\":\"" EVIL "\",\"op\":\"" EVIL "\",\"place\":\"" EVIL "\",\"reason\":\"" EVIL
    "\"}],"
    "\"histograms\":[{\"tensor\":\"" EVIL "\",\"kind\":\"weight\",\"dtype\":\"" EVIL
    "\",\"scale\":0.1,\"zero_point\":0,\"lo\":-1,\"hi\":1,\"count\":3,\"clipped\":1,\"min\":0,\"max\":1,"
    "\"from\":0,\"width\":0.5,\"bins\":[1,2]}],"
    "\"graph\":" HOSTILE_GRAPH "}";

static markup page_of(const char *text) {
  json_error_t error;
  json_t *report = json_loads(text, 0, &error);
  if (!report) fail_msg("%s at %d", error.text, error.position);
  markup page = {0};
  npuc_report_page(report, &page);
  json_decref(report);
  return page;
}

static void hostile_text_stays_text(void **state) {
  (void)state;
  markup page = page_of(hostile_report);
  const char *fault = html_fault(page.text);
  if (fault) fail_msg("%s", fault);
  assert_null(strstr(page.text, "<script>alert"));
  assert_null(strstr(page.text, "\" onload=\""));
  assert_non_null(strstr(page.text, "&lt;script&gt;alert(1)"));
  assert_int_equal(html_count(page.text, "script"), 3); /* two of ours, and the graph's data */
  npuc_markup_destroy(&page);
}

static void the_page_fetches_nothing(void **state) {
  (void)state;
  markup page = page_of(hostile_report);
  const char *found = html_fetches(page.text);
  if (found) fail_msg("the page has %s", found);
  assert_non_null(strstr(page.text, "default-src 'none'"));
  npuc_markup_destroy(&page);
}

static void the_same_report_is_the_same_page(void **state) {
  (void)state;
  markup a = page_of(hostile_report), b = page_of(hostile_report), c = page_of("{\"target\":\"x\"}");
  assert_int_equal(a.bytes, b.bytes);
  assert_memory_equal(a.text, b.text, a.bytes);
  assert_true(c.bytes != a.bytes);
  npuc_markup_destroy(&a);
  npuc_markup_destroy(&b);
  npuc_markup_destroy(&c);
}

static void what_is_there_is_shown_and_nothing_else(void **state) {
  (void)state;
  static const char *const ids[] = {"stages", "accuracy",  "parity",        "cycles",    "memory",
                                    "graph",  "placement", "distributions", "provenance"};
  markup all = page_of(hostile_report), none = page_of("{}");
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    char section[64], link[64];
    (void)snprintf(section, sizeof section, "<section id=\"%s\"", ids[i]);
    (void)snprintf(link, sizeof link, "href=\"#%s\"", ids[i]);
    assert_non_null(strstr(all.text, section));
    assert_non_null(strstr(all.text, link));
    assert_null(strstr(none.text, section));
    assert_null(strstr(none.text, link));
  }
  assert_null(html_fault(none.text));
  npuc_markup_destroy(&all);
  npuc_markup_destroy(&none);
}

/* Numbers arrive: cells of the tables hold what the report says. */
static void numbers_reach_the_tables(void **state) {
  (void)state;
  markup page = page_of(
      "{\"target\":\"t\",\"cycles\":13641,\"macs\":2722432,\"utilization\":0.7796,\"layers\":[{\"name\":\"conv\",\"op\":\"QConv\","
      "\"cycles\":13641,"
      "\"array_busy\":10900,\"vector_busy\":5,\"dma_busy\":6,\"macs\":2722432,\"utilization\":0.78}]}");
  assert_non_null(strstr(page.text, "<td class=\"n\">13,641</td>"));
  assert_non_null(strstr(page.text, "<td class=\"n\">10,900</td>"));
  assert_non_null(strstr(page.text, "100.0 %</td>"));
  assert_non_null(strstr(page.text, "<strong>78.0 %</strong>"));
  npuc_markup_destroy(&page);
}

static void two_builds_are_compared(void **state) {
  (void)state;
  json_t *a = json_loads(hostile_report, 0, NULL);
  json_t *b = json_loads(
      "{\"target\":\"t\",\"cycles\":150,\"options\":{\"model\":\"m\"},\"metric\":{\"integer_top1\":45.5},\"layers\":[{\"name\":\"other\","
      "\"op\":\"QConv\",\"cycles\":150}],"
      "\"placement\":[{\"node\":\"other\",\"op\":\"Conv\",\"place\":\"host\",\"reason\":\"why\"}]}",
      0, NULL);
  assert_non_null(b);
  markup page = {0}, same = {0};
  npuc_report_compare_page(a, "<A>", b, "B\"", &page);
  const char *fault = html_fault(page.text);
  if (fault) fail_msg("%s", fault);
  assert_null(strstr(page.text, "<script>alert"));
  assert_null(html_fetches(page.text));
  assert_non_null(strstr(page.text, "+50 (+50.0 %)"));                       /* cycles, worse */
  assert_non_null(strstr(page.text, "<td class=\"n better\">+5.50 %</td>")); /* top-1 */
  assert_non_null(strstr(page.text, "<td>absent</td><td>host</td><td>why</td>"));
  npuc_report_compare_page(a, "a", a, "b", &same);
  assert_non_null(strstr(same.text, "All 1 nodes are where they were."));
  assert_non_null(strstr(same.text, "Both builds were asked for the same."));
  json_decref(a);
  json_decref(b);
  npuc_markup_destroy(&page);
  npuc_markup_destroy(&same);
}

static void the_page_of_a_model_is_as_careful(void **state) {
  (void)state;
  json_t *document = json_loads("{\"title\":\"" EVIL "\",\"parts\":[" HOSTILE_GRAPH "]}", 0, NULL);
  assert_non_null(document);
  markup page = {0};
  npuc_report_graph_page(document, &page);
  json_decref(document);
  const char *fault = html_fault(page.text);
  if (fault) fail_msg("%s", fault);
  assert_null(strstr(page.text, "<script>alert"));
  assert_null(html_fetches(page.text));
  assert_int_equal(html_count(page.text, "script"), 3);
  assert_int_equal(html_count(page.text, "rect"), 3); /* input, node, output */
  npuc_markup_destroy(&page);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hostile_text_stays_text),           cmocka_unit_test(the_page_fetches_nothing),
      cmocka_unit_test(the_same_report_is_the_same_page),  cmocka_unit_test(what_is_there_is_shown_and_nothing_else),
      cmocka_unit_test(numbers_reach_the_tables),          cmocka_unit_test(two_builds_are_compared),
      cmocka_unit_test(the_page_of_a_model_is_as_careful),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
