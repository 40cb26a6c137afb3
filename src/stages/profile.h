/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of a run goes and what memory it holds meanwhile, step by step of the executor. */
#ifndef NPUC_STAGES_PROFILE_H
#define NPUC_STAGES_PROFILE_H

#include <jansson.h>

#include "base/trace.h"
#include "exec/executor.h"

/* One step of the plan: a node, or several that are computed as one. */
typedef struct profile_step {
  const char *name, *source; /* of the last node; source: as the source model calls it */
  const char *ops;           /* "Conv", "Conv+Relu", "Conv..Add (7 nodes)" */
  size_t n_nodes;
  double macs;
  double seconds;         /* median of all runs */
  double start, duration; /* in the fastest run, from its begin */
  size_t live_bytes;      /* activations that live while it runs */
} profile_step;

typedef struct profile {
  profile_step *steps;
  size_t n_steps, runs;
  double seconds;      /* median of the whole run */
  size_t memory_bytes; /* the plan's activation memory */
} profile;

/* One run that is not counted, then `runs`. The graph's dims are numbers. E0604 for a graph whose shapes depend on data: it has no plan to be measured by. */
npuc_status npuc_profile_graph(diag *d, arena *a, const progress *p, thread_pool *pool, const graph *g, const tensor *inputs, size_t runs,
                               profile *out_profile) NPUC_MUST_USE;
/* Adds steps (name, source, ops, nodes, macs, ms, share, start_ms, live_bytes), operators (ops, steps, ms, share), memory {bytes, steps: [{node, bytes}]},
 * median_ms and runs to `into`. */
void npuc_profile_json(const profile *p, json_t *into);
/* Shares by kind of step, the largest first; returns how many. */
typedef struct profile_kind {
  const char *ops;
  size_t steps;
  double seconds, macs;
} profile_kind;
size_t npuc_profile_kinds(arena *a, const profile *p, profile_kind **out_kinds);
/* The fastest run as a track of spans, and its memory as a counter. */
void npuc_profile_trace(const profile *p, trace *t);

#endif
