/* SPDX-License-Identifier: Apache-2.0 */
/* The driver: nodes wait in a queue, in order; a node whose patterns match is rewritten, and what that touched (new nodes, readers of
 * replaced values, a value's only reader left) queues again. When the queue is empty and anything was rewritten, all nodes queue once
 * more, so that the end is a true fixpoint and not only a local one.
 *
 * One firing: log, rewrite (which builds before the root and replaces), infer the new nodes, check that no replaced value changed its type,
 * remove the root and what fed only it. */
#include "ir/rewrite.h"

#include <stdlib.h>
#include <string.h>

#include "ir/internal.h"
#include "ir/text.h"

typedef struct replacement {
  value *old, *with;
  bool had_readers;
} replacement;

typedef struct engine {
  rewriter r;   /* first: the rewriter that patterns see is the engine's head */
  node **queue; /* ring of capacity slots */
  size_t head, count, capacity;
  bool *queued; /* by node id */
  size_t queued_capacity;
  node **made; /* in this firing */
  size_t n_made, made_capacity;
  replacement *replaced;
  size_t n_replaced, replaced_capacity;
  const location *where; /* merged of all captured nodes, on first demand */
  bool order_is_lost;    /* an inner value was replaced: its readers may stand before the root */
  size_t *fired_by;      /* by pattern */
} engine;

/* -- the queue -- */

static void enqueue(engine *e, node *n) {
  if (!n || !n->owner) return;
  if (n->id >= e->queued_capacity) {
    size_t capacity = 2 * (size_t)n->id + 64;
    e->queued = npuc_xrealloc(e->queued, capacity * sizeof *e->queued);
    memset(e->queued + e->queued_capacity, 0, (capacity - e->queued_capacity) * sizeof *e->queued);
    e->queued_capacity = capacity;
  }
  if (e->queued[n->id]) return;
  if (e->count == e->capacity) {
    size_t capacity = 2 * e->capacity + 64;
    node **queue = npuc_xmalloc(capacity * sizeof *queue);
    for (size_t i = 0; i < e->count; i++) queue[i] = e->queue[(e->head + i) % e->capacity];
    free(e->queue);
    e->queue = queue;
    e->capacity = capacity;
    e->head = 0;
  }
  e->queue[(e->head + e->count++) % e->capacity] = n;
  e->queued[n->id] = true;
}

static node *dequeue(engine *e) {
  node *n = e->queue[e->head];
  e->head = (e->head + 1) % e->capacity;
  e->count--;
  e->queued[n->id] = false;
  return n;
}

/* Readers, and their readers: patterns are a few levels deep. Wide fans are left to the last sweep, which keeps this linear. */
static void enqueue_readers(engine *e, const value *v, int depth) {
  enum { WIDE = 64 };
  if (!v || v->n_uses > WIDE) return;
  for (size_t i = 0; i < v->n_uses; i++) {
    node *n = v->uses[i].user;
    enqueue(e, n);
    for (int32_t k = 0; depth > 1 && k < n->n_outputs; k++) enqueue_readers(e, n->outputs[k], depth - 1);
  }
}

/* -- what a rewrite calls -- */

static const location *merged_location(engine *e) {
  module *m = e->r.graph->module;
  const match *found = e->r.match;
  if (e->where) return e->where;
  e->where = found->root->location;
  for (int i = 0; i < MAX_CAPTURES; i++) {
    if (found->nodes[i] && found->nodes[i] != found->root) e->where = npuc_location_merge(m, e->where, found->nodes[i]->location);
  }
  return e->where;
}

node *npuc_rewrite_node(rewriter *r, op_id op, value *const *inputs, int32_t n_inputs, int32_t n_outputs) {
  engine *e = (engine *)r;
  node *root = r->match->root;
  node *n = npuc_graph_insert_node(r->graph, root, npuc_op(op), root->name, inputs, n_inputs, n_outputs, merged_location(e));
  n->place = root->place;
  n->place_reason = root->place_reason;
  if (e->n_made == e->made_capacity) {
    e->made_capacity = 2 * e->made_capacity + 8;
    e->made = npuc_xrealloc(e->made, e->made_capacity * sizeof *e->made);
  }
  e->made[e->n_made++] = n;
  return n;
}

void npuc_rewrite_replace(rewriter *r, value *old, value *with) {
  engine *e = (engine *)r;
  if (e->n_replaced == e->replaced_capacity) {
    e->replaced_capacity = 2 * e->replaced_capacity + 8;
    e->replaced = npuc_xrealloc(e->replaced, e->replaced_capacity * sizeof *e->replaced);
  }
  e->replaced[e->n_replaced++] = (replacement){old, with, old->n_uses > 0};
  if (old->producer != r->match->root) e->order_is_lost = true;
  for (size_t i = 0; i < old->n_uses; i++) enqueue(e, old->uses[i].user);
  npuc_value_replace(old, with);
}

/* -- after a firing -- */

static npuc_status fail_type(engine *e, const value *old, const value *with) {
  const node *root = e->r.match->root;
  arena *a = e->r.scratch;
  const module *m = e->r.graph->module;
  diag_place place = {.part = e->r.graph->name, .node = root->name, .op = root->op->type};
  return npuc_fail(e->r.d, NPUC_DIAG_E0482, &place, "the rewrite %s replaced a value of type %s by one of type %s", e->r.pattern->name,
                   npuc_type_print(a, m, old->type, &old->shape), npuc_type_print(a, m, with->type, &with->shape));
}

/* The replacement must be what the old value was; where inference found less than was known, the known is kept. */
static npuc_status check_replacement(engine *e, const replacement *x) {
  const value *old = x->old;
  value *with = x->with;
  if (with->type == DTYPE_NONE) with->type = old->type;
  if (old->type != DTYPE_NONE && with->type != old->type) return fail_type(e, old, with);
  if (old->quant && !with->quant && with->producer) with->quant = old->quant;
  if (old->shape.rank < 0) return NPUC_OK;
  if (with->shape.rank < 0 && with->producer) with->shape = old->shape;
  if (with->shape.rank >= 0 && with->shape.rank != old->shape.rank) return fail_type(e, old, with);
  for (int32_t i = 0; i < with->shape.rank; i++) {
    dim a = old->shape.dims[i], *b = &with->shape.dims[i];
    if (dim_is_number(a) && dim_is_number(*b) && a != *b) return fail_type(e, old, with);
    if (with->producer && (*b == DIM_UNKNOWN || (dim_is_number(a) && dim_is_symbol(*b)))) *b = a;
  }
  return NPUC_OK;
}

static bool is_dead(const node *n) {
  for (int32_t i = 0; i < n->n_outputs; i++) {
    if (n->outputs[i] && (n->outputs[i]->n_uses || n->outputs[i]->is_output)) return false;
  }
  return true;
}

/* Removes n when nothing reads it, then what fed only n. */
static void remove_if_dead(engine *e, node *n) {
  node **stack = npuc_xmalloc(sizeof *stack);
  size_t depth = 0, capacity = 1;
  stack[depth++] = n;
  while (depth) {
    n = stack[--depth];
    if (!n->owner || !is_dead(n)) continue;
    if (depth + (size_t)n->n_inputs > capacity) {
      capacity = 2 * (depth + (size_t)n->n_inputs);
      stack = npuc_xrealloc(stack, capacity * sizeof *stack);
    }
    for (int32_t i = 0; i < n->n_inputs; i++) {
      value *v = n->inputs[i];
      npuc_node_set_input(n, i, NULL);
      if (v && v->n_uses == 1) enqueue_readers(e, v, 2); /* what wanted a single reader has it now */
      if (v && v->producer) stack[depth++] = v->producer;
    }
    npuc_graph_remove_node(e->r.graph, n);
  }
  free(stack);
}

/* What stands for a node that is gone takes its names, so that stages can be compared value by value. */
static void inherit_names(engine *e) {
  graph *g = e->r.graph;
  const node *root = e->r.match->root;
  for (size_t i = 0; i < e->n_replaced; i++) {
    const value *old = e->replaced[i].old;
    value *with = e->replaced[i].with;
    node *n = with->producer;
    bool made = false;
    for (size_t k = 0; k < e->n_made && !made; k++) made = e->made[k] == n;
    if (!made || !n) continue;
    if (!with->is_output && !npuc_graph_value(g, old->name)) npuc_value_rename(with, old->name);
    if (!root->owner && !npuc_graph_node(g, root->name)) npuc_node_rename(n, root->name);
  }
}

static npuc_status settle(engine *e) {
  for (size_t i = 0; i < e->n_made; i++) {
    if (e->made[i]->owner) NPUC_TRY(npuc_node_infer(e->r.d, e->made[i]));
  }
  for (size_t i = 0; i < e->n_replaced; i++) NPUC_TRY(check_replacement(e, &e->replaced[i]));
  node *root = e->r.match->root;
  if (root->owner) enqueue(e, root);
  if (root->owner) remove_if_dead(e, root);
  for (int i = 0; i < MAX_CAPTURES; i++) {
    node *n = e->r.match->nodes[i];
    if (n && n->owner) remove_if_dead(e, n);
  }
  inherit_names(e);
  for (size_t i = 0; i < e->n_made; i++) enqueue(e, e->made[i]);
  for (size_t i = 0; i < e->n_replaced; i++) enqueue_readers(e, e->replaced[i].with, 2);
  return NPUC_OK;
}

/* An output that is an Identity of a port stays one (npuc_value_replace): asking for the port in its place changes nothing. */
static bool was_in_vain(const engine *e) {
  for (size_t i = 0; i < e->n_replaced; i++) {
    const value *old = e->replaced[i].old;
    bool stayed = old->is_output && !e->replaced[i].had_readers && old->producer && old->producer->owner && old->producer->n_inputs == 1 &&
                  old->producer->inputs[0] == e->replaced[i].with;
    if (!stayed) return false;
  }
  return e->n_made == 0 && e->n_replaced > 0;
}

static npuc_status fire(engine *e, size_t index, const pattern *p, const match *found, const rewrite_log *log) {
  if (log && log->fired) log->fired(log->user, p, found->root);
  e->n_made = e->n_replaced = 0;
  e->where = NULL;
  e->r.pattern = p;
  e->r.match = found;
  p->rewrite(&e->r, found);
  NPUC_TRY(e->r.status);
  if (was_in_vain(e)) return NPUC_OK;
  e->r.fired++;
  e->fired_by[index]++;
  npuc_status status = settle(e);
  npuc_arena_reset(e->r.scratch);
  return status;
}

static npuc_status fail_divergence(engine *e, const pattern *const *patterns, size_t n_patterns, const node *n) {
  size_t most = 0;
  for (size_t i = 1; i < n_patterns; i++) {
    if (e->fired_by[i] > e->fired_by[most]) most = i;
  }
  diag_place place = {.part = e->r.graph->name, .node = n->name, .op = n->op->type};
  npuc_status status = npuc_fail(e->r.d, NPUC_DIAG_E0481, &place,
                                 "rewriting does not settle: after %zu rewrites the pattern %s had fired %zu times, last here", e->r.fired,
                                 patterns[most]->name, e->fired_by[most]);
  npuc_fix(e->r.d, "run again with --pass-limit %zu to stop before it", e->r.fired / 2);
  return status;
}

/* One node: the patterns of its operator, in the order given. */
static npuc_status try_node(engine *e, node *n, const pattern *const *patterns, size_t n_patterns, const rewrite_log *log, size_t bound,
                            int64_t *limit) {
  for (size_t i = 0; i < n_patterns && n->owner; i++) {
    match found;
    int op = patterns[i]->root.op;
    if ((op != ANY_OP && npuc_op((op_id)op) != n->op) || !npuc_match_pattern(patterns[i], n, log ? log->parameters : NULL, &found))
      continue;
    if (limit && *limit == 0) return NPUC_OK;
    if (e->r.fired == bound) return fail_divergence(e, patterns, n_patterns, n);
    if (limit && *limit > 0) --*limit;
    return fire(e, i, patterns[i], &found, log);
  }
  return NPUC_OK;
}

static npuc_status run(engine *e, const pattern *const *patterns, size_t n_patterns, const rewrite_log *log, int64_t *limit) {
  graph *g = e->r.graph;
  size_t bound = 16 * g->n_nodes + 1000, before;
  do {
    before = e->r.fired;
    NPUC_EACH_NODE(g, n) enqueue(e, n);
    while (e->count && !(limit && *limit == 0)) {
      node *n = dequeue(e);
      if (log && log->visits) ++*log->visits;
      if (n->owner) NPUC_TRY(try_node(e, n, patterns, n_patterns, log, bound, limit));
    }
  } while (e->r.fired != before && !(limit && *limit == 0));
  return NPUC_OK;
}

npuc_status npuc_rewrite(diag *d, graph *g, const pattern *const *patterns, size_t n_patterns, const rewrite_log *log, int64_t *limit,
                         bool *out_changed) {
  engine e = {.r = {.d = d, .graph = g, .scratch = npuc_arena_create()}};
  e.fired_by = npuc_xcalloc(n_patterns + 1, sizeof *e.fired_by);
  npuc_status status = run(&e, patterns, n_patterns, log, limit);
  if (status == NPUC_OK && e.order_is_lost) status = npuc_graph_sort(d, g);
  if (out_changed) *out_changed = e.r.fired > 0;
  npuc_arena_destroy(e.r.scratch);
  free(e.fired_by);
  free(e.queue);
  free(e.queued);
  free(e.made);
  free(e.replaced);
  return status;
}
