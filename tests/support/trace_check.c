/* SPDX-License-Identifier: Apache-2.0 */
#include "support/trace_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static double number(const json_t *o, const char *key) { return json_number_value(json_object_get(o, key)); }

const char *npuc_test_overlap(const json_t *spans) {
  size_t i, k;
  json_t *a, *b;
  json_array_foreach(spans, i, a) {
    double start = number(a, "ts"), end = start + number(a, "dur");
    json_array_foreach(spans, k, b) {
      double other = number(b, "ts"), other_end = other + number(b, "dur");
      if (other > start && other < end && other_end > end) return json_string_value(json_object_get(b, "name"));
    }
  }
  return NULL;
}

json_t *npuc_test_spans(const json_t *document, int track) {
  json_t *list = json_array(), *e;
  size_t i;
  json_array_foreach(json_object_get(document, "traceEvents"), i, e) {
    if (strcmp(json_string_value(json_object_get(e, "ph")), "X") == 0 && json_integer_value(json_object_get(e, "tid")) == track)
      json_array_append(list, e);
  }
  return list;
}

static void check_event(const json_t *e) {
  const char *phase = json_string_value(json_object_get(e, "ph"));
  assert_non_null(phase);
  assert_true(json_is_integer(json_object_get(e, "pid")) && json_is_integer(json_object_get(e, "tid")));
  assert_true(json_is_string(json_object_get(e, "name")) && json_is_object(json_object_get(e, "args")));
  if (strcmp(phase, "M") == 0) return;
  assert_true(json_is_number(json_object_get(e, "ts")) && number(e, "ts") >= 0);
  if (strcmp(phase, "C") == 0) {
    const char *key;
    json_t *amount;
    json_object_foreach(json_object_get(e, "args"), key, amount) assert_true(json_is_number(amount));
    return;
  }
  assert_string_equal(phase, "X");
  assert_true(json_is_number(json_object_get(e, "dur")) && number(e, "dur") >= 0);
  assert_true(json_is_string(json_object_get(e, "cat")));
}

json_t *npuc_test_trace(const char *text) {
  json_error_t error;
  json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &error), *e;
  if (!document) fail_msg("line %d: %s", error.line, error.text);
  size_t i;
  json_int_t last = 0;
  json_array_foreach(json_object_get(document, "traceEvents"), i, e) {
    check_event(e);
    json_int_t track = json_integer_value(json_object_get(e, "tid"));
    if (track > last) last = track;
  }
  for (int track = 0; track <= last; track++) {
    json_t *spans = npuc_test_spans(document, track);
    const char *bad = npuc_test_overlap(spans);
    json_decref(spans);
    if (bad) fail_msg("track %d: %s overlaps another span", track, bad);
  }
  return document;
}
