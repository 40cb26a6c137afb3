/* SPDX-License-Identifier: Apache-2.0 */
/* The trace's JSON, read back by another parser. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/trace.h"
#include "support/trace_check.h"

static void reads_back(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  trace *t = npuc_trace_create(a, "a \"name\"\\\n\xff");
  npuc_trace_track(t, 3, "executor");
  const trace_argument arguments[] = {{"node", "conv\t1\xc3\xa9", 0}, {"macs", NULL, 1e12}, {"rate", NULL, 0.5}, {"none", NULL, INFINITY}};
  npuc_trace_span(t, 3, "conv", "Conv", 1.25, 1000, arguments, 4);
  npuc_trace_counter(t, "memory", "bytes", 2, 4096);
  size_t bytes;
  const char *text = npuc_trace_text(t, &bytes);
  assert_int_equal(strlen(text), bytes);
  json_t *document = npuc_test_trace(text), *events = json_object_get(document, "traceEvents"), *spans = npuc_test_spans(document, 3);
  assert_int_equal(json_array_size(events), 5);
  assert_string_equal(json_string_value(json_object_get(json_object_get(json_array_get(events, 0), "args"), "name")),
                      "a \"name\"\\\n\xef\xbf\xbd");
  const json_t *span = json_array_get(spans, 0), *args = json_object_get(span, "args");
  assert_true(json_real_value(json_object_get(span, "ts")) == 1.25 && json_integer_value(json_object_get(span, "dur")) == 1000);
  assert_string_equal(json_string_value(json_object_get(args, "node")), "conv\t1\xc3\xa9");
  assert_true(json_integer_value(json_object_get(args, "macs")) == 1000000000000 && json_real_value(json_object_get(args, "rate")) == 0.5);
  assert_int_equal(json_integer_value(json_object_get(args, "none")), 0);
  json_decref(spans);
  json_decref(document);
  npuc_arena_destroy(a);
}

/* The check of the tests can fail. */
static void overlap_is_seen(void **state) {
  (void)state;
  json_t *apart = json_pack("[{s:s, s:i, s:i}, {s:s, s:i, s:i}, {s:s, s:i, s:i}]", "name", "a", "ts", 0, "dur", 10, "name", "b", "ts", 2,
                            "dur", 8, "name", "c", "ts", 10, "dur", 5);
  json_t *halves = json_pack("[{s:s, s:i, s:i}, {s:s, s:i, s:i}]", "name", "a", "ts", 0, "dur", 10, "name", "b", "ts", 2, "dur", 9);
  assert_null(npuc_test_overlap(apart));
  assert_string_equal(npuc_test_overlap(halves), "b");
  json_decref(apart);
  json_decref(halves);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(reads_back), cmocka_unit_test(overlap_is_seen)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
