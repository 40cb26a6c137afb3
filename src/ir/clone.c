/* SPDX-License-Identifier: Apache-2.0 */
/* A deep copy of a module: new arena, compact ids, same names and orders. Counted bytes are shared, the arena's are copied. */
#include <stdlib.h>

#include "ir/internal.h"

static const location *clone_location(module *to, const location *from, const location **last_from, const location **last_to) {
  if (!from) return NULL;
  if (from == *last_from) return *last_to; /* neighbours often share one */
  location *l = NPUC_NEW(to->arena, location);
  l->name = from->name ? npuc_intern(to->names, from->name) : NULL;
  l->n_derived = from->n_derived;
  const char **derived = NPUC_NEW_ARRAY(to->arena, from->n_derived, const char *);
  for (size_t i = 0; i < from->n_derived; i++) derived[i] = npuc_intern(to->names, from->derived[i]);
  l->derived = derived;
  *last_from = from;
  *last_to = l;
  return l;
}

/* In the map's order, which is creation order: printing and iteration of the copy follow the original's. */
static value **clone_values(graph *g, const graph *from) {
  value **map_by_id = npuc_xcalloc(from->next_value_id + (size_t)1, sizeof(value *));
  size_t cursor = 0;
  void *item;
  while (npuc_map_next(from->values, &cursor, NULL, &item)) {
    const value *v = item;
    value *c = npuc_graph_add_value(g, v->name, v->type, &v->shape);
    if (v->constant) c->constant = npuc_module_tensor(g->module, v->constant, true);
    if (v->quant) npuc_value_set_quant(c, v->quant);
    map_by_id[v->id] = c;
  }
  return map_by_id;
}

static void clone_nodes(graph *g, const graph *from, value *const *values) {
  module *m = g->module;
  const location *last_from = NULL, *last_to = NULL;
  arena *scratch = npuc_arena_create();
  NPUC_EACH_NODE(from, n) {
    value **inputs = NPUC_NEW_ARRAY(scratch, (size_t)n->n_inputs, value *);
    value **outputs = NPUC_NEW_ARRAY(scratch, (size_t)n->n_outputs, value *);
    for (int32_t i = 0; i < n->n_inputs; i++) inputs[i] = n->inputs[i] ? values[n->inputs[i]->id] : NULL;
    for (int32_t i = 0; i < n->n_outputs; i++) outputs[i] = n->outputs[i] ? values[n->outputs[i]->id] : NULL;
    const location *where = clone_location(m, n->location, &last_from, &last_to);
    node *c = npuc_graph_insert_node_with_outputs(g, NULL, n->op, n->name, inputs, n->n_inputs, outputs, n->n_outputs, where);
    if (n->attributes) c->attributes = npuc_attributes_clone(m, n->op, n->attributes);
    c->place = n->place ? npuc_intern(m->names, n->place) : NULL;
    c->place_reason = n->place_reason ? npuc_arena_str(m->arena, n->place_reason) : NULL;
    npuc_arena_reset(scratch);
  }
  npuc_arena_destroy(scratch);
}

static void clone_into(graph *g, const graph *from) {
  value **values = clone_values(g, from);
  for (size_t i = 0; i < from->n_inputs; i++) npuc_graph_mark_input(g, values[from->inputs[i]->id]);
  g->n_captures = from->n_captures;
  clone_nodes(g, from, values);
  for (size_t i = 0; i < from->n_outputs; i++) npuc_graph_add_output(g, values[from->outputs[i]->id]);
  free(values);
}

graph *npuc_graph_clone_body(module *to, const graph *from) {
  graph *g = npuc_body_create(to, from->name);
  clone_into(g, from);
  return g;
}

module *npuc_module_clone(const module *m) {
  module *c = npuc_module_create();
  for (size_t i = 0; i < m->n_symbols; i++) (void)npuc_module_symbol(c, m->symbols[i]);
  c->next_fresh_symbol = m->next_fresh_symbol;
  size_t cursor = 0;
  const char *key;
  void *text;
  while (npuc_map_next(m->metadata, &cursor, &key, &text)) npuc_map_put(c->metadata, key, npuc_arena_str(c->arena, text));
  c->source_path = m->source_path ? npuc_arena_str(c->arena, m->source_path) : NULL;
  c->producer = m->producer ? npuc_arena_str(c->arena, m->producer) : NULL;
  for (size_t i = 0; i < m->n_graphs; i++) clone_into(npuc_graph_create(c, m->graphs[i]->name), m->graphs[i]);
  return c;
}
