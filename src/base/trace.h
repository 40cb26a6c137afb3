/* SPDX-License-Identifier: Apache-2.0 */
/* What happened when, in Chrome's trace event format (JSON), which Perfetto and chrome://tracing open. Spans of one track may lie in one another
 * but not overlap by halves: what does so needs a track of its own. Times are microseconds in the viewer's eyes. */
#ifndef NPUC_BASE_TRACE_H
#define NPUC_BASE_TRACE_H

#include <stdint.h>

#include "base/arena.h"

typedef struct trace trace;

typedef struct trace_argument {
  const char *key;
  const char *text; /* or NULL: `number` */
  double number;
} trace_argument;

/* `process` names what ran; in the arena, like all that it gives. */
trace *npuc_trace_create(arena *a, const char *process);
/* A track's name; tracks are shown in the order of their numbers. */
void npuc_trace_track(trace *t, int track, const char *name);
void npuc_trace_span(trace *t, int track, const char *name, const char *category, double start, double duration,
                     const trace_argument *arguments, size_t n_arguments);
/* A value that holds from `start` on, drawn as an area. */
void npuc_trace_counter(trace *t, const char *name, const char *unit, double start, double amount);
/* The whole document; the trace takes no more events then. */
const char *npuc_trace_text(trace *t, size_t *out_bytes);

#endif
