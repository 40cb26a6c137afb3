/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies: what ties the graphs inside a node to the graph outside (graph.h). The tie is by position alone: capture k of a body is what the node's input
 * n_inputs - n_captures + k is. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ir/internal.h"

static graph *body_at(const node *n, const attr_field *f) { return *(graph *const *)((const char *)n->attributes + f->offset); }

graph *npuc_node_body(const node *n, int32_t i) {
  for (int32_t k = 0; n->attributes && k < n->op->n_attributes; k++) {
    const attr_field *f = &n->op->attributes[k];
    if (f->kind == ATTR_GRAPH && body_at(n, f) && i-- == 0) return body_at(n, f);
  }
  return NULL;
}

int32_t npuc_node_captures(const node *n) {
  const graph *body = npuc_node_body(n, 0);
  return body ? body->n_captures : 0;
}

/* The capture of `outer`, or -1. */
static int32_t find_capture(const node *n, const value *outer) {
  int32_t count = npuc_node_captures(n);
  for (int32_t k = 0; k < count; k++) {
    if (n->inputs[n->n_inputs - count + k] == outer) return k;
  }
  return -1;
}

/* A new capture that nothing reads yet. */
static int32_t add_capture(node *n, value *outer) {
  graph *body;
  for (int32_t i = 0; (body = npuc_node_body(n, i)); i++) {
    value *v = npuc_graph_add_value(body, outer->name, outer->type, &outer->shape);
    npuc_graph_mark_input(body, v);
    body->n_captures++;
  }
  npuc_node_set_input(n, n->n_inputs, outer);
  return npuc_node_captures(n) - 1;
}

void npuc_body_capture(node *n, graph *body, value *inner, value *outer) {
  int32_t k = find_capture(n, outer);
  if (k < 0) k = add_capture(n, outer);
  value **at = &body->inputs[body->n_inputs - (size_t)body->n_captures + (size_t)k], *there = *at;
  if (there->n_uses || there->is_output) { /* two names inside for one value outside */
    npuc_value_replace(inner, there);
    npuc_graph_remove_value(body, inner);
    return;
  }
  there->is_input = false;
  npuc_graph_remove_value(body, there);
  inner->is_input = true;
  inner->type = outer->type;
  inner->shape = outer->shape;
  *at = inner;
}

static void drop_input(graph *body, size_t at) {
  value *v = body->inputs[at];
  memmove(&body->inputs[at], &body->inputs[at + 1], (body->n_inputs - at - 1) * sizeof *body->inputs);
  body->n_inputs--;
  body->n_captures--;
  v->is_input = false;
  npuc_graph_remove_value(body, v);
}

static bool is_read(const node *n, int32_t k) {
  const graph *body;
  for (int32_t i = 0; (body = npuc_node_body(n, i)); i++) {
    const value *v = body->inputs[body->n_inputs - (size_t)body->n_captures + (size_t)k];
    if (v->n_uses || v->is_output) return true;
  }
  return false;
}

void npuc_node_prune_captures(node *n) {
  int32_t count = npuc_node_captures(n);
  for (int32_t k = count - 1; k >= 0; k--) {
    if (is_read(n, k)) continue;
    int32_t at = n->n_inputs - npuc_node_captures(n) + k;
    for (int32_t i = at; i + 1 < n->n_inputs; i++) npuc_node_set_input(n, i, n->inputs[i + 1]);
    npuc_node_truncate_inputs(n, n->n_inputs - 1);
    graph *body;
    for (int32_t i = 0; (body = npuc_node_body(n, i)); i++) drop_input(body, body->n_inputs - (size_t)body->n_captures + (size_t)k);
  }
}

/* -- inlining -- */

static value *inlined(graph *g, const value *v, const char *prefix, value **map_by_id) {
  if (!v) return NULL;
  if (map_by_id[v->id]) return map_by_id[v->id];
  const char *name = npuc_arena_printf(g->module->arena, "%s.%s", prefix, v->name);
  value *c = v->constant ? npuc_graph_add_constant(g, name, v->constant) : npuc_graph_add_value(g, name, v->type, &v->shape);
  c->quant = v->quant;
  return map_by_id[v->id] = c;
}

void npuc_body_inline(graph *g, node *before, const graph *body, const char *prefix, value *const *arguments, value **out_results) {
  assert(g->module == body->module);
  module *m = g->module;
  value **map_by_id = npuc_xcalloc(body->next_value_id + (size_t)1, sizeof *map_by_id);
  for (size_t i = 0; i < body->n_inputs; i++) map_by_id[body->inputs[i]->id] = arguments[i];
  NPUC_EACH_NODE(body, n) {
    value **inputs = npuc_xcalloc((size_t)n->n_inputs + 1, sizeof *inputs),
          **outputs = npuc_xcalloc((size_t)n->n_outputs + 1, sizeof *outputs);
    for (int32_t i = 0; i < n->n_inputs; i++) inputs[i] = inlined(g, n->inputs[i], prefix, map_by_id);
    for (int32_t i = 0; i < n->n_outputs; i++) outputs[i] = inlined(g, n->outputs[i], prefix, map_by_id);
    node *c = npuc_graph_insert_node_with_outputs(g, before, n->op, npuc_arena_printf(m->arena, "%s.%s", prefix, n->name), inputs,
                                                  n->n_inputs, outputs, n->n_outputs, n->location);
    if (n->attributes) c->attributes = npuc_attributes_clone(m, n->op, n->attributes);
    free(inputs);
    free(outputs);
  }
  for (size_t i = 0; i < body->n_outputs; i++) out_results[i] = inlined(g, body->outputs[i], prefix, map_by_id);
  free(map_by_id);
}
