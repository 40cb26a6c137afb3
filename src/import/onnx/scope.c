/* SPDX-License-Identifier: Apache-2.0 */
/* What a name means. A graph's names are its values', then those of the graphs around it (a value from there is captured, see ir/graph.h); a function's body has names of its own, which stand for the caller's values or for values that get a longer name in
 * the graph, so that a function may be called any number of times. */
#include "import/onnx/source.h"

typedef struct scope_entry {
  value *v; /* NULL: an input that the caller left out */
} scope_entry;

onnx_scope *npuc_onnx_scope(onnx_source *s, graph *g, const onnx_frame *frame) {
  onnx_scope *scope = NPUC_NEW(s->scratch, onnx_scope);
  *scope = (onnx_scope){.g = g, .names = npuc_map_create(s->scratch), .frame = frame, .opset = s->opset};
  return scope;
}

void npuc_onnx_bind(onnx_source *s, const char *name, value *v) {
  scope_entry *e = NPUC_NEW(s->scratch, scope_entry);
  e->v = v;
  npuc_map_put(s->scope->names, name, e);
}

bool npuc_onnx_find_own(const onnx_scope *scope, const char *name, value **out_value) {
  const scope_entry *e = npuc_map_get(scope->names, name);
  if (e) *out_value = e->v;
  return e != NULL;
}

static bool find(onnx_source *s, onnx_scope *scope, const char *name, value **out_value) {
  if (npuc_onnx_find_own(scope, name, out_value)) return true;
  value *outer = NULL;
  if (!scope->parent || !find(s, scope->parent, name, &outer)) return false;
  npuc_onnx_settle(s, outer);
  *out_value = outer ? npuc_graph_add_value(scope->g, name, outer->type, &outer->shape) : NULL;
  if (outer) {
    scope->captures = npuc_arena_grow(s->scratch, scope->captures, scope->n_captures, scope->n_captures + 1, sizeof *scope->captures,
                                      &scope->captures_capacity);
    scope->captures[scope->n_captures++] = (onnx_capture){*out_value, outer};
  }
  scope_entry *e = NPUC_NEW(s->scratch, scope_entry);
  e->v = *out_value;
  npuc_map_put(scope->names, name, e);
  return true;
}

bool npuc_onnx_find(onnx_source *s, const char *name, value **out_value) { return find(s, s->scope, name, out_value); }

const char *npuc_onnx_nearest(onnx_source *s, const char *name) {
  const map *known = s->scope->names;
  size_t n = npuc_map_count(known), cursor = 0, at = 0;
  const char **names = NPUC_NEW_ARRAY(s->scratch, n, const char *);
  void *entry;
  while (at < n && npuc_map_next(known, &cursor, &names[at], &entry)) at++;
  return npuc_nearest(name, names, at);
}

const char *npuc_onnx_inner_name(onnx_source *s, const char *name) {
  const onnx_frame *frame = s->scope->frame;
  return frame ? npuc_intern(s->m->names, npuc_arena_printf(s->scratch, "%s/%s", frame->label, name)) : name;
}
