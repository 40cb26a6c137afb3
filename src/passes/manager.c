/* SPDX-License-Identifier: Apache-2.0 */
/* The pass manager: runs a pipeline over every part, verifies after each pass, records what fired, and honours --print-after,
 * --stop-after and --pass-limit. A single pass may be run by its name too (tests, bisection). */
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "passes/edits/edits.h"

/* What fired, in order of first firing; key is "pass\npattern". */
typedef struct recorder {
  arena *arena;
  map *records;
  const char *pass;
  uint64_t visits;
} recorder;

static void record(recorder *r, const char *what, parity p, const node *n) {
  const char *key = npuc_arena_printf(r->arena, "%s\n%s", r->pass, what);
  rewrite_record *known = npuc_map_get(r->records, key);
  if (!known) {
    known = NPUC_NEW(r->arena, rewrite_record);
    *known = (rewrite_record){.pass = r->pass, .pattern = npuc_arena_str(r->arena, what), .parity = p};
    const char *source = n && n->location && n->location->name ? n->location->name : n ? n->name : "";
    known->first_node = npuc_arena_str(r->arena, source);
    (void)npuc_map_put(r->records, key, known);
  }
  known->count++;
}

bool npuc_pass_allow(pass_context *c, const char *what, parity p, const node *n) {
  if (c->limit && *c->limit >= 0) {
    if (*c->limit == 0) return false;
    --*c->limit;
  }
  record(c->recorder, what, p, n);
  return true;
}

static void on_fired(void *user, const pattern *p, const node *root) { record(user, p->name, p->parity, root); }

npuc_status npuc_pass_rewrite(pass_context *c, graph *g, pattern_set set, bool *out_changed) {
  rewrite_log log = {.fired = on_fired, .user = c->recorder, .parameters = c->arguments, .visits = &c->recorder->visits};
  bool changed = false;
  NPUC_TRY(npuc_rewrite(c->d, g, set.patterns, set.count, &log, c->limit, &changed));
  if (!changed) return NPUC_OK;
  *out_changed = true;
  (void)npuc_graph_remove_dead(g);
  return NPUC_OK;
}

npuc_status npuc_pass_rewrite_named(pass_context *c, graph *g, const char *const *names, size_t n, bool *out_changed) {
  const pattern **patterns = NPUC_NEW_ARRAY(c->scratch, n, const pattern *);
  for (size_t i = 0; i < n; i++) patterns[i] = npuc_pattern_find(names[i]);
  return npuc_pass_rewrite(c, g, (pattern_set){patterns, n}, out_changed);
}

static bool is_named(const char *asked, const char *pass) { return asked && (strcmp(asked, "all") == 0 || strcmp(asked, pass) == 0); }

/* Bodies are normalized and cleaned as the graph around them is; places and forms that targets want are given outside only. */
static bool runs_in_bodies(const pass_info *pass) {
  return !(pass->requires & GRAPH_STATIC) && strcmp(pass->name, "bind-dims") != 0 && strcmp(pass->name, "sanitize-names") != 0;
}

static npuc_status run_pass(pass_context *c, const pass_info *pass, graph *g) {
  bool changed = false;
  graph *body;
  for (node *n = g->first; n && runs_in_bodies(pass); n = n->next) {
    for (int32_t i = 0; (body = npuc_node_body(n, i)); i++) NPUC_TRY(run_pass(c, pass, body));
  }
  c->scratch = npuc_arena_create();
  npuc_status status = pass->run(c, g, &changed);
  npuc_arena_destroy(c->scratch);
  return status;
}

/* A pass that wants shapes gets them, also when it is run by itself or behind one that broke them. */
static npuc_status run_on_graph(pass_context *c, const pass_info *pass, bool shapes_known, graph *g) {
  if ((pass->requires & GRAPH_SHAPES) && !shapes_known) NPUC_TRY(npuc_graph_infer(c->d, g));
  npuc_status status = run_pass(c, pass, g);
  if (status == NPUC_OK) status = npuc_graph_verify(c->d, g, pass->name);
  if (status == NPUC_OK && is_named(c->options->print_after, pass->name) && c->options->print)
    c->options->print(c->options->user, pass->name, g);
  return status;
}

static npuc_status check_pass_name(diag *d, const char *option, const char *name, bool all) {
  if (!name || (all && strcmp(name, "all") == 0) || npuc_pass_find(name)) return NPUC_OK;
  size_t n;
  const pass_info *passes = npuc_pass_table(&n);
  const char **names = npuc_xcalloc(n, sizeof *names);
  for (size_t i = 0; i < n; i++) names[i] = passes[i].name;
  const char *near = npuc_nearest(name, names, n);
  free(names);
  diag_place place = {.attribute = option};
  npuc_status status = npuc_fail(d, NPUC_DIAG_E0505, &place, "there is no pass named \"%s\"", name);
  if (near) npuc_fix(d, "did you mean %s %s?", option, near);
  return status;
}

static void fill_report(const recorder *r, arena *a, pass_report *out) {
  *out = (pass_report){.parity = PARITY_EXACT, .visits = r->visits};
  out->rewrites = NPUC_NEW_ARRAY(a, npuc_map_count(r->records), rewrite_record);
  size_t cursor = 0;
  void *item;
  while (npuc_map_next(r->records, &cursor, NULL, &item)) {
    const rewrite_record *one = item;
    out->rewrites[out->n_rewrites++] = *one;
    if (one->parity > out->parity) out->parity = one->parity;
  }
}

static npuc_status run_steps(pass_context *c, module *m, const pipeline_step *steps, size_t n) {
  bool shapes_known = false;
  for (size_t i = 0; i < n; i++) {
    const pass_info *pass = npuc_pass_find(steps[i].pass);
    c->pass = pass->name;
    c->recorder->pass = pass->name;
    for (size_t k = 0; k < m->n_graphs; k++) NPUC_TRY(run_on_graph(c, pass, shapes_known, m->graphs[k]));
    shapes_known = !(pass->breaks & GRAPH_SHAPES) && (shapes_known || (pass->requires & GRAPH_SHAPES));
    if (c->options->stop_after && strcmp(c->options->stop_after, pass->name) == 0) break;
  }
  return NPUC_OK;
}

npuc_status npuc_passes_run(diag *d, arena *a, module *m, const char *pipeline, const pass_options *options, pass_report *out_report) {
  size_t n;
  pipeline_step single = {.pass = pipeline};
  const pipeline_step *steps = npuc_pipeline(pipeline, &n);
  *out_report = (pass_report){.parity = PARITY_EXACT};
  if (!steps) {
    NPUC_TRY(check_pass_name(d, "pipeline", pipeline, false));
    steps = &single;
    n = 1;
  }
  NPUC_TRY(check_pass_name(d, "--stop-after", options->stop_after, false));
  NPUC_TRY(check_pass_name(d, "--print-after", options->print_after, true));
  int64_t limit = options->limit;
  recorder r = {.arena = a, .records = npuc_map_create(a)};
  pass_context c = {.d = d, .options = options, .limit = &limit, .recorder = &r};
  npuc_status status = run_steps(&c, m, steps, n);
  fill_report(&r, a, out_report);
  return status;
}

/* -- edits -- */

static npuc_status run_edit(pass_context *c, module *m, const edit_step *step, size_t index) {
  const pass_info *pass = npuc_pass_find(step->edit->name);
  size_t before = npuc_map_count(c->recorder->records);
  c->pass = c->recorder->pass = pass->name;
  c->arguments = step->arguments;
  NPUC_TRY(run_on_graph(c, pass, false, m->graphs[0]));
  c->arguments = NULL;
  if (npuc_map_count(c->recorder->records) == before) {
    diag_place place = {.part = m->graphs[0]->name, .attribute = pass->name};
    npuc_note(c->d, NPUC_DIAG_E0512, &place, "%s found nothing to change", pass->name);
  }
  const side_files *side = c->options->side_files;
  return side && side->after ? side->after(side->user, c->d, index, pass->name, m) : NPUC_OK;
}

/* Some exporters write every weight as a node Constant; patterns want constants. */
static void constants_of_nodes(graph *g) {
  NPUC_EACH_NODE_SAFE(g, n, after) {
    value *v = node_is(n, OP_CONSTANT) ? n->outputs[0] : NULL;
    const tensor *t = v ? NPUC_ATTRS(constant_attributes, n)->value : NULL;
    if (!t || v->is_output) continue;
    const char *name = v->name;
    npuc_value_rename(v, npuc_graph_unique_name(g, name));
    npuc_value_replace(v, npuc_graph_add_constant(g, name, t));
    npuc_graph_remove_node(g, n);
  }
}

npuc_status npuc_edits_run(diag *d, arena *a, module *m, const edit_plan *p, const pass_options *options, pass_report *out_report) {
  int64_t limit = options->limit;
  recorder r = {.arena = a, .records = npuc_map_create(a)};
  pass_context c = {.d = d, .options = options, .limit = &limit, .recorder = &r};
  npuc_status status = NPUC_OK;
  constants_of_nodes(m->graphs[0]);
  for (size_t i = 0; i < p->n && status == NPUC_OK; i++) status = run_edit(&c, m, &p->steps[i], i + 1);
  if (status == NPUC_OK) status = npuc_graph_infer(d, m->graphs[0]);
  fill_report(&r, a, out_report);
  return status;
}
