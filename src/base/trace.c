/* SPDX-License-Identifier: Apache-2.0 */
/* The format is Google's "Trace Event Format": metadata (M), complete (X) and counter (C) events in one object. */
#include "base/trace.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

struct trace {
  arena *arena;
  char *text;
  size_t bytes, capacity;
  size_t events;
};

static void put_bytes(trace *t, const char *text, size_t n) {
  t->text = npuc_arena_grow(t->arena, t->text, t->bytes, t->bytes + n + 1, 1, &t->capacity);
  memcpy(t->text + t->bytes, text, n);
  t->bytes += n;
  t->text[t->bytes] = '\0';
}

static NPUC_PRINTF(2, 3) void put(trace *t, const char *format, ...) {
  char line[256];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(line, sizeof line, format, args);
  va_end(args);
  if (n > 0) put_bytes(t, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

/* A JSON string; bytes that are no UTF-8 become U+FFFD. */
static void put_string(trace *t, const char *text) {
  int32_t code;
  put_bytes(t, "\"", 1);
  for (size_t n; (n = npuc_utf8_next(text, &code)) != 0; text += n) {
    if (code == UTF8_BAD)
      put_bytes(t, "\\ufffd", 6);
    else if (code < 0x20 || code == '"' || code == '\\')
      put(t, "\\u%04x", (unsigned)code);
    else
      put_bytes(t, text, n);
  }
  put_bytes(t, "\"", 1);
}

/* Whole numbers stay whole; JSON has no infinities. */
static void put_number(trace *t, double v) { put(t, fabs(v) < 1e15 && v == floor(v) ? "%.0f" : "%.3f", isfinite(v) ? v : 0.0); }

static void begin_event(trace *t, const char *phase, const char *name, int track) {
  put(t, "%s{\"ph\":\"%s\",\"pid\":1,\"tid\":%d,\"name\":", t->events++ ? ",\n" : "\n", phase, track);
  put_string(t, name);
}

trace *npuc_trace_create(arena *a, const char *process) {
  trace *t = NPUC_NEW(a, trace);
  t->arena = a;
  put(t, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
  begin_event(t, "M", "process_name", 0);
  put(t, ",\"args\":{\"name\":");
  put_string(t, process);
  put(t, "}}");
  return t;
}

void npuc_trace_track(trace *t, int track, const char *name) {
  begin_event(t, "M", "thread_name", track);
  put(t, ",\"args\":{\"name\":");
  put_string(t, name);
  put(t, "}}");
  begin_event(t, "M", "thread_sort_index", track);
  put(t, ",\"args\":{\"sort_index\":%d}}", track);
}

void npuc_trace_span(trace *t, int track, const char *name, const char *category, double start, double duration,
                     const trace_argument *arguments, size_t n_arguments) {
  begin_event(t, "X", name, track);
  put(t, ",\"cat\":");
  put_string(t, category);
  put(t, ",\"ts\":");
  put_number(t, start);
  put(t, ",\"dur\":");
  put_number(t, duration);
  put(t, ",\"args\":{");
  for (size_t i = 0; i < n_arguments; i++) {
    put(t, "%s", i ? "," : "");
    put_string(t, arguments[i].key);
    put(t, ":");
    if (arguments[i].text)
      put_string(t, arguments[i].text);
    else
      put_number(t, arguments[i].number);
  }
  put(t, "}}");
}

void npuc_trace_counter(trace *t, const char *name, const char *unit, double start, double amount) {
  begin_event(t, "C", name, 0);
  put(t, ",\"ts\":");
  put_number(t, start);
  put(t, ",\"args\":{");
  put_string(t, unit);
  put(t, ":");
  put_number(t, amount);
  put(t, "}}");
}

const char *npuc_trace_text(trace *t, size_t *out_bytes) {
  put(t, "\n]}\n");
  *out_bytes = t->bytes;
  return t->text;
}
