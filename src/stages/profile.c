/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "passes/names.h"
#include "report/markup.h"
#include "stages/bench.h"

/* -- measuring -- */

typedef struct recorder {
  double *starts, *ends; /* of this run, by step; room for one step a node */
  size_t n;
} recorder;

static void on_step(void *user, size_t step, double start, double end) {
  recorder *r = user;
  r->starts[step] = start;
  r->ends[step] = end;
  if (step + 1 > r->n) r->n = step + 1;
}

typedef struct measurement {
  recorder now;
  double *samples;            /* [step * runs + run] */
  double *totals;             /* [runs] */
  double *starts, *durations; /* of the fastest run */
  double fastest;
  size_t runs;
} measurement;

static void keep_run(measurement *m, size_t run, double begin, double end) {
  m->totals[run] = end - begin;
  bool best = run == 0 || end - begin < m->fastest;
  if (best) m->fastest = end - begin;
  for (size_t i = 0; i < m->now.n; i++) {
    m->samples[i * m->runs + run] = m->now.ends[i] - m->now.starts[i];
    if (!best) continue;
    m->starts[i] = m->now.starts[i] - begin;
    m->durations[i] = m->now.ends[i] - m->now.starts[i];
  }
}

static npuc_status run_all(executor *e, diag *d, const progress *p, const graph *g, const tensor *inputs, measurement *m) {
  tensor *outputs = npuc_xcalloc(g->n_outputs + 1, sizeof *outputs);
  npuc_status status = npuc_executor_run(e, d, inputs, outputs); /* plans, and takes memory */
  const node *first;
  size_t bytes;
  if (status == NPUC_OK && !npuc_executor_step(e, 0, &first, &bytes) && g->n_nodes)
    status = npuc_fail(d, NPUC_DIAG_E0604, NULL,
                       "shapes of this graph depend on its data, so that it runs without a plan whose steps could be timed");
  for (size_t run = 0; run < m->runs && status == NPUC_OK; run++) {
    if (npuc_progress_cancelled(p)) status = npuc_fail(d, NPUC_DIAG_E0005, NULL, "profile was stopped");
    double begin = npuc_clock_seconds();
    if (status == NPUC_OK) status = npuc_executor_run(e, d, inputs, outputs);
    if (status == NPUC_OK) keep_run(m, run, begin, npuc_clock_seconds());
    npuc_progress_report(p, "profile", run + 1, m->runs);
  }
  free(outputs);
  return status;
}

/* -- which nodes a step is -- */

/* By node id: the step whose result holds the node's, SIZE_MAX where the node was folded away. Nodes that are no step's last went into the step of their reader. */
static size_t *owners(arena *a, const executor *e, const graph *g) {
  size_t *owner = NPUC_NEW_ARRAY(a, (size_t)g->next_node_id + 1, size_t);
  const node *n;
  size_t bytes;
  for (size_t i = 0; i <= g->next_node_id; i++) owner[i] = SIZE_MAX;
  for (size_t i = 0; npuc_executor_step(e, i, &n, &bytes); i++) owner[n->id] = i;
  for (n = g->last; n; n = n->prev) {
    const value *y = n->n_outputs ? n->outputs[0] : NULL;
    if (owner[n->id] == SIZE_MAX && y && y->n_uses) owner[n->id] = owner[y->uses[0].user->id];
  }
  return owner;
}

enum { SPELLED_OUT = 4 };

static void describe_steps(arena *a, const executor *e, const graph *g, profile *p) {
  const size_t *owner = owners(a, e, g);
  const node *n;
  for (size_t i = 0; i < p->n_steps; i++) {
    profile_step *s = &p->steps[i];
    (void)npuc_executor_step(e, i, &n, &s->live_bytes);
    s->name = npuc_arena_str(a, n->name);
    s->source = npuc_source_name(g, a, n->name);
  }
  NPUC_EACH_NODE(g, m) {
    if (owner[m->id] == SIZE_MAX) continue;
    profile_step *s = &p->steps[owner[m->id]];
    s->n_nodes++;
    s->macs += npuc_node_cost(m).macs;
    if (s->n_nodes == 1)
      s->ops = m->op->type;
    else if (s->n_nodes <= SPELLED_OUT)
      s->ops = npuc_arena_printf(a, "%s+%s", s->ops, m->op->type);
    else
      s->ops = npuc_arena_printf(a, "%.*s..%s (%zu nodes)", (int)strcspn(s->ops, "+."), s->ops, m->op->type, s->n_nodes);
  }
}

npuc_status npuc_profile_graph(diag *d, arena *a, const progress *p, thread_pool *pool, const graph *g, const tensor *inputs, size_t runs,
                               profile *out_profile) {
  measurement m = {.runs = runs};
  double **lists[] = {&m.now.starts, &m.now.ends, &m.starts, &m.durations};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) *lists[i] = NPUC_NEW_ARRAY(a, g->n_nodes + 1, double);
  m.totals = NPUC_NEW_ARRAY(a, runs, double);
  m.samples = NPUC_NEW_ARRAY(a, (g->n_nodes + 1) * runs, double);
  exec_options options = {.pool = pool, .user = &m.now, .on_step = on_step};
  executor *e = NULL;
  NPUC_TRY(npuc_executor_create(d, g, &options, &e));
  npuc_status status = run_all(e, d, p, g, inputs, &m);
  if (status == NPUC_OK) {
    *out_profile = (profile){.steps = NPUC_NEW_ARRAY(a, m.now.n + 1, profile_step),
                             .n_steps = m.now.n,
                             .runs = runs,
                             .seconds = npuc_bench_times(m.totals, runs).median,
                             .memory_bytes = npuc_executor_memory(e)};
    describe_steps(a, e, g, out_profile);
    for (size_t i = 0; i < m.now.n; i++) {
      profile_step *s = &out_profile->steps[i];
      s->seconds = npuc_bench_times(m.samples + i * runs, runs).median;
      s->start = m.starts[i];
      s->duration = m.durations[i];
    }
  }
  npuc_executor_destroy(e);
  return status;
}

/* -- shown -- */

static int longer_first(const void *x, const void *y) {
  const profile_kind *a = x, *b = y;
  return a->seconds != b->seconds ? (a->seconds < b->seconds) - (a->seconds > b->seconds) : strcmp(a->ops, b->ops);
}

size_t npuc_profile_kinds(arena *a, const profile *p, profile_kind **out_kinds) {
  map *seen = npuc_map_create(a);
  profile_kind *kinds = NPUC_NEW_ARRAY(a, p->n_steps + 1, profile_kind);
  size_t n = 0;
  for (size_t i = 0; i < p->n_steps; i++) {
    const profile_step *s = &p->steps[i];
    const char *ops = s->n_nodes <= SPELLED_OUT ? s->ops : npuc_arena_printf(a, "%.*s..", (int)strcspn(s->ops, "."), s->ops);
    profile_kind *k = npuc_map_get(seen, ops);
    if (!k) {
      k = &kinds[n++];
      k->ops = ops;
      npuc_map_put(seen, ops, k);
    }
    k->steps++;
    k->seconds += s->seconds;
    k->macs += s->macs;
  }
  qsort(kinds, n, sizeof *kinds, longer_first);
  *out_kinds = kinds;
  return n;
}

static double sum_of_steps(const profile *p) {
  double sum = 0;
  for (size_t i = 0; i < p->n_steps; i++) sum += p->steps[i].seconds;
  return sum > 0 ? sum : 1;
}

static json_t *step_json(const profile_step *s, double sum) {
  json_t *o = json_pack("{s:I, s:f, s:f, s:f, s:f, s:I}", "nodes", (json_int_t)s->n_nodes, "macs", s->macs, "ms", 1e3 * s->seconds, "share",
                        s->seconds / sum, "start_ms", 1e3 * s->start, "live_bytes", (json_int_t)s->live_bytes);
  json_object_set_new(o, "name", npuc_json_text(s->name));
  json_object_set_new(o, "source", npuc_json_text(s->source));
  json_object_set_new(o, "ops", json_string(s->ops));
  return o;
}

void npuc_profile_json(const profile *p, json_t *into) {
  json_t *steps = json_array(), *operators = json_array(), *memory = json_array();
  double sum = sum_of_steps(p);
  arena *a = npuc_arena_create();
  profile_kind *kinds;
  size_t n = npuc_profile_kinds(a, p, &kinds);
  for (size_t i = 0; i < p->n_steps; i++) {
    json_array_append_new(steps, step_json(&p->steps[i], sum));
    json_t *point = json_pack("{s:I}", "bytes", (json_int_t)p->steps[i].live_bytes);
    json_object_set_new(point, "node", npuc_json_text(p->steps[i].name));
    json_array_append_new(memory, point);
  }
  for (size_t i = 0; i < n; i++)
    json_array_append_new(operators, json_pack("{s:s, s:I, s:f, s:f, s:f}", "ops", kinds[i].ops, "steps", (json_int_t)kinds[i].steps, "ms",
                                               1e3 * kinds[i].seconds, "share", kinds[i].seconds / sum, "macs", kinds[i].macs));
  npuc_arena_destroy(a);
  json_object_set_new(into, "median_ms", json_real(1e3 * p->seconds));
  json_object_set_new(into, "runs", json_integer((json_int_t)p->runs));
  json_object_set_new(into, "steps", steps);
  json_object_set_new(into, "operators", operators);
  json_object_set_new(into, "memory", json_pack("{s:I, s:o}", "bytes", (json_int_t)p->memory_bytes, "steps", memory));
}

void npuc_profile_trace(const profile *p, trace *t) {
  npuc_trace_track(t, 1, "executor");
  for (size_t i = 0; i < p->n_steps; i++) {
    const profile_step *s = &p->steps[i];
    const trace_argument arguments[] = {{"source", s->source, 0},
                                        {"operators", s->ops, 0},
                                        {"macs", NULL, s->macs},
                                        {"GMAC/s", NULL, s->duration > 0 ? s->macs / s->duration * 1e-9 : 0},
                                        {"live bytes", NULL, (double)s->live_bytes}};
    npuc_trace_span(t, 1, s->name, s->ops, 1e6 * s->start, 1e6 * s->duration, arguments, sizeof arguments / sizeof *arguments);
    npuc_trace_counter(t, "activations", "bytes", 1e6 * s->start, (double)s->live_bytes);
  }
  if (p->n_steps)
    npuc_trace_counter(t, "activations", "bytes", 1e6 * (p->steps[p->n_steps - 1].start + p->steps[p->n_steps - 1].duration), 0);
}
