/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/name_scope.h"

name_scope npuc_name_scope(const graph *part) { return (name_scope){.g = part}; }

const char *npuc_name_in(const name_scope *s, const value *v) { return s->names ? s->names[v->id] : v->name; }

static bool is_taken(const name_scope *s, const char *name) {
  for (; s; s = s->outer) {
    if (s->taken ? npuc_map_get(s->taken, name) != NULL : npuc_graph_value(s->g, name) != NULL) return true;
  }
  return false;
}

/* A capture is called what the outer value is; the rest keep their names where those are free. */
name_scope npuc_name_scope_body(arena *a, const name_scope *outer, const node *n, const graph *body) {
  name_scope s = {
      .outer = outer, .g = body, .names = NPUC_NEW_ARRAY(a, body->next_value_id + (size_t)1, const char *), .taken = npuc_map_create(a)};
  size_t own = body->n_inputs - (size_t)body->n_captures;
  for (size_t i = own; i < body->n_inputs; i++)
    s.names[body->inputs[i]->id] = npuc_name_in(outer, n->inputs[(size_t)n->n_inputs - (size_t)body->n_captures + i - own]);
  size_t cursor = 0;
  void *item;
  while (npuc_map_next(body->values, &cursor, NULL, &item)) {
    value *v = item;
    if (s.names[v->id]) continue;
    const char *name = v->name;
    for (unsigned k = 1; is_taken(&s, name) || (k > 1 && npuc_graph_value(body, name)); k++)
      name = npuc_arena_printf(a, "%s_%u", v->name, k);
    s.names[v->id] = name;
    npuc_map_put(s.taken, name, v);
  }
  return s;
}
