/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes with graphs inside. Part of cleanup: a constant that bodies read moves into them, where folding sees it; an If whose condition is known becomes its branch. A pass of its
 * own: unroll-loops, which writes the turns of a Loop or Scan one behind the other where their number is known.
 *
 * unroll-loops requires shapes, and leaves new nodes inferred. A loop whose turns together are more than MAX_UNROLLED_NODES nodes stays, with a note. */
#include <stdlib.h>

#include "passes/internal.h"

enum { MAX_UNROLLED_NODES = 1 << 16 };

/* -- constants -- */

static void sink(graph *body, size_t at, const value *outer) {
  value *v = body->inputs[at];
  if (!v->n_uses && !v->is_output) return;
  const char *name = v->name;
  npuc_value_rename(v, npuc_graph_unique_name(body, name)); /* the constant takes it */
  value *inner = npuc_graph_add_constant(body, name, outer->constant);
  inner->quant = outer->quant;
  if (v->n_uses) npuc_value_replace(v, inner); /* an input that is an output too stays that */
}

bool npuc_sink_constants(pass_context *c, graph *g) {
  bool changed = false;
  graph *body;
  NPUC_EACH_NODE(g, n) {
    int32_t captures = npuc_node_captures(n);
    for (int32_t k = 0; k < captures; k++) {
      const value *outer = n->inputs[n->n_inputs - captures + k];
      if (!outer->constant || outer->is_input) continue;
      bool read = false;
      for (int32_t i = 0; (body = npuc_node_body(n, i)); i++) read = read || body->inputs[body->n_inputs - (size_t)(captures - k)]->n_uses;
      if (!read || !npuc_pass_allow(c, "sink-constants", PARITY_EXACT, n)) continue;
      for (int32_t i = 0; (body = npuc_node_body(n, i)); i++) sink(body, body->n_inputs - (size_t)(captures - k), outer);
      changed = true;
    }
    if (captures) npuc_node_prune_captures(n);
  }
  return changed;
}

/* -- what replaces a node -- */

/* A port that is no node's output so far gets a node: outputs have producers. */
static void replace_output(graph *g, node *n, int32_t i, value *with) {
  value *old = n->outputs[i];
  if (!old) return;
  if (old->is_output && !with->producer)
    with = npuc_graph_insert_node(g, n, npuc_op(OP_IDENTITY), old->name, &with, 1, 1, n->location)->outputs[0];
  npuc_value_replace(old, with);
}

static value *const *captured(const node *n) { return n->inputs + n->n_inputs - npuc_node_captures(n); }

/* -- If -- */

bool npuc_inline_known_branches(pass_context *c, graph *g) {
  bool changed = false;
  NPUC_EACH_NODE_SAFE(g, n, after) {
    const tensor *cond = node_is(n, OP_IF) && !n->inputs[0]->is_input ? n->inputs[0]->constant : NULL;
    if (!cond || npuc_tensor_elements(cond) != 1 || !npuc_pass_allow(c, "inline-known-branch", PARITY_EXACT, n)) continue;
    const graph *body = npuc_node_body(n, npuc_tensor_get_int(cond, 0) ? 0 : 1);
    value **results = NPUC_NEW_ARRAY(c->scratch, body->n_outputs, value *);
    npuc_body_inline(g, n, body, n->name, captured(n), results);
    for (int32_t i = 0; i < n->n_outputs; i++) replace_output(g, n, i, results[i]);
    npuc_graph_remove_node(g, n);
    changed = true;
  }
  return changed;
}

/* -- loops -- */

typedef struct unroller {
  pass_context *c;
  graph *g;
  node *n;
  const graph *body;
  int64_t turns;
  int32_t n_carried, n_stacked;
  value **carried;   /* [n_carried]: now */
  value **stacked;   /* [n_stacked, turns] */
  value **arguments; /* [body->n_inputs] */
  value **results;   /* [body->n_outputs] */
} unroller;

static node *insert(unroller *u, op_id op, value *const *inputs, int32_t n_inputs) {
  return npuc_graph_insert_node(u->g, u->n, npuc_op(op), u->n->name, inputs, n_inputs, 1, u->n->location);
}

static value *unsqueezed(unroller *u, value *v, int64_t axis) {
  value *inputs[] = {v, npuc_graph_constant_ints(u->g, "axes", DTYPE_I64, &axis, 1)};
  return insert(u, OP_UNSQUEEZE, inputs, 2)->outputs[0];
}

/* What one turn gives; first: the body's first carried result. */
static void run_turn(unroller *u, int64_t t, size_t first_argument, size_t first_result) {
  for (int32_t i = 0; i < u->n_carried; i++) u->arguments[first_argument + (size_t)i] = u->carried[i];
  const char *prefix = npuc_arena_printf(u->c->scratch, "%s.%lld", u->n->name, (long long)t);
  npuc_body_inline(u->g, u->n, u->body, prefix, u->arguments, u->results);
  for (int32_t i = 0; i < u->n_carried; i++) u->carried[i] = u->results[first_result + (size_t)i];
  for (int32_t i = 0; i < u->n_stacked; i++) u->stacked[i * u->turns + t] = u->results[first_result + (size_t)(u->n_carried + i)];
}

static void finish(unroller *u, const int_list *axes, const int_list *directions) {
  for (int32_t i = 0; i < u->n_carried; i++) replace_output(u->g, u->n, i, u->carried[i]);
  value **parts = NPUC_NEW_ARRAY(u->c->scratch, (size_t)u->turns, value *);
  for (int32_t i = 0; i < u->n_stacked; i++) {
    int64_t axis = axes && axes->count ? axes->values[i] : 0;
    bool backward = directions && directions->count && directions->values[i] == 1;
    for (int64_t t = 0; t < u->turns; t++) parts[backward ? u->turns - 1 - t : t] = unsqueezed(u, u->stacked[i * u->turns + t], axis);
    node *joined = insert(u, OP_CONCAT, parts, (int32_t)u->turns);
    NPUC_ATTRS(axis_attributes, joined)->axis = axis;
    replace_output(u->g, u->n, u->n_carried + i, joined->outputs[0]);
  }
  npuc_graph_remove_node(u->g, u->n);
}

static void unroll_loop(unroller *u) {
  const uint8_t yes = 1;
  for (int64_t t = 0; t < u->turns; t++) {
    bool row = u->body->inputs[0]->shape.rank == 1, cond_row = u->body->inputs[1]->shape.rank == 1;
    int64_t one = yes;
    u->arguments[0] = npuc_graph_constant_ints(u->g, "turn", DTYPE_I64, &t, row ? 1 : -1);
    u->arguments[1] = npuc_graph_constant_ints(u->g, "going", DTYPE_BOOL, &one, cond_row ? 1 : -1);
    run_turn(u, t, 2, 1);
  }
  finish(u, NULL, NULL);
}

static void unroll_scan(unroller *u) {
  const scan_attributes *a = NPUC_ATTRS(scan_attributes, u->n);
  for (int64_t t = 0; t < u->turns; t++) {
    for (int32_t i = 0; i < a->num_scan_inputs; i++) {
      bool backward = a->scan_input_directions.count && a->scan_input_directions.values[i] == 1;
      int64_t at = backward ? u->turns - 1 - t : t;
      value *inputs[] = {u->n->inputs[u->n_carried + i], npuc_graph_constant_ints(u->g, "turn", DTYPE_I64, &at, -1)};
      node *slice = insert(u, OP_GATHER, inputs, 2);
      NPUC_ATTRS(axis_attributes, slice)->axis = a->scan_input_axes.count ? a->scan_input_axes.values[i] : 0;
      u->arguments[u->n_carried + i] = slice->outputs[0];
    }
    run_turn(u, t, 0, 0);
  }
  finish(u, &a->scan_output_axes, &a->scan_output_directions);
}

/* -- how many turns -- */

static bool constant_number(const value *v, int64_t *out) {
  if (!v || !v->constant || v->is_input || npuc_tensor_elements(v->constant) != 1) return false;
  *out = npuc_tensor_get_int(v->constant, 0);
  return true;
}

/* Whether the body hands its cond on, or says true. */
static bool never_stops(const graph *body) {
  const value *cond = body->outputs[0];
  while (cond->producer && node_is(cond->producer, OP_IDENTITY)) cond = cond->producer->inputs[0];
  int64_t constant;
  return cond == body->inputs[1] || (constant_number(cond, &constant) && constant);
}

/* -1: not known. */
static int64_t turns_of(const node *n) {
  int64_t most, cond = 1;
  if (node_is(n, OP_LOOP)) {
    if (!constant_number(n->inputs[0], &most) || (n->inputs[1] && !constant_number(n->inputs[1], &cond))) return -1;
    return !cond || most < 0 ? 0 : never_stops(npuc_node_body(n, 0)) ? most : -1;
  }
  const scan_attributes *a = NPUC_ATTRS(scan_attributes, n);
  const value *x = n->inputs[n->n_inputs - npuc_node_captures(n) - (int32_t)a->num_scan_inputs];
  int32_t axis;
  bool known = x->shape.rank > 0 && npuc_axis_normalize(a->scan_input_axes.count ? a->scan_input_axes.values[0] : 0, x->shape.rank, &axis);
  return known && dim_is_number(x->shape.dims[axis]) ? x->shape.dims[axis] : -1;
}

static void unroll(pass_context *c, graph *g, node *n, int64_t turns) {
  const graph *body = npuc_node_body(n, 0);
  bool loop = node_is(n, OP_LOOP);
  int32_t own = n->n_inputs - npuc_node_captures(n);
  int32_t carried = loop ? own - 2 : own - (int32_t)NPUC_ATTRS(scan_attributes, n)->num_scan_inputs;
  unroller u = {.c = c, .g = g, .n = n, .body = body, .turns = turns, .n_carried = carried, .n_stacked = n->n_outputs - carried};
  u.carried = NPUC_NEW_ARRAY(c->scratch, (size_t)carried + 1, value *);
  u.stacked = NPUC_NEW_ARRAY(c->scratch, (size_t)(u.n_stacked * turns) + 1, value *);
  u.arguments = NPUC_NEW_ARRAY(c->scratch, body->n_inputs, value *);
  u.results = NPUC_NEW_ARRAY(c->scratch, body->n_outputs, value *);
  for (int32_t i = 0; i < carried; i++) u.carried[i] = n->inputs[loop ? 2 + i : i];
  for (int32_t i = 0; i < body->n_captures; i++) u.arguments[own + i] = captured(n)[i];
  if (loop)
    unroll_loop(&u);
  else
    unroll_scan(&u);
}

npuc_status npuc_pass_unroll_loops(pass_context *c, graph *g, bool *out_changed) {
  bool changed = false;
  NPUC_EACH_NODE_SAFE(g, n, after) {
    if (!node_is(n, OP_LOOP) && !node_is(n, OP_SCAN)) continue;
    int64_t turns = turns_of(n), nodes = (int64_t)npuc_node_body(n, 0)->n_nodes + 1;
    if (turns < 1) continue;
    if (turns > MAX_UNROLLED_NODES / nodes) {
      diag_place place = {.part = g->name, .node = n->name, .op = n->op->type};
      npuc_note(c->d, NPUC_DIAG_E0506, &place, "%lld turns of %lld nodes: the loop stays, and runs on the host", (long long)turns,
                (long long)nodes);
      continue;
    }
    if (!npuc_pass_allow(c, "unroll-loops", PARITY_EXACT, n)) continue;
    unroll(c, g, n, turns);
    changed = true;
  }
  if (!changed) return NPUC_OK;
  *out_changed = true;
  return npuc_graph_infer(c->d, g);
}
