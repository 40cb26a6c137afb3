/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold when a pipeline has run: the gates of the stages normalize, static and adapt. */
#include <string.h>

#include "ir/ops/support.h"
#include "passes/internal.h"
#include "passes/names.h"

/* -- names -- */

static npuc_status check_name(diag *d, const graph *g, map *seen, const char *kind, const char *name) {
  diag_place place = {.part = g->name, .node = name};
  if (!npuc_name_is_clean(name)) {
    return npuc_fail(d, NPUC_DIAG_E0912, &place, "the %s name \"%s\" has a character outside [A-Za-z0-9_.]", kind, name);
  }
  if (npuc_map_put(seen, name, (void *)name)) return npuc_fail(d, NPUC_DIAG_E0912, &place, "two %ss have the name \"%s\"", kind, name);
  return NPUC_OK;
}

static npuc_status check_graph_names(diag *d, arena *a, const graph *g) {
  map *values = npuc_map_create(a), *nodes = npuc_map_create(a);
  const graph *body;
  size_t cursor = 0;
  void *item;
  while (npuc_map_next(g->values, &cursor, NULL, &item)) NPUC_TRY(check_name(d, g, values, "value", ((const value *)item)->name));
  for (const node *n = g->first; n; n = n->next) {
    NPUC_TRY(check_name(d, g, nodes, "node", n->name));
    for (int32_t i = 0; (body = npuc_node_body(n, i)); i++) NPUC_TRY(check_graph_names(d, a, body));
  }
  return NPUC_OK;
}

npuc_status npuc_check_names(diag *d, const module *m) {
  npuc_status status = NPUC_OK;
  arena *a = npuc_arena_create();
  for (size_t i = 0; i < m->n_graphs && status == NPUC_OK; i++) status = check_graph_names(d, a, m->graphs[i]);
  npuc_arena_destroy(a);
  return status;
}

/* -- static -- */

/* For each value the input symbol that its dims come from, or NULL: the first symbolic dim among what it is computed from. */
typedef struct causes {
  const char **of; /* by value id */
} causes;

static const char *first_symbol(const module *m, const shape *s) {
  for (int32_t i = 0; i < s->rank; i++) {
    if (dim_is_symbol(s->dims[i])) return npuc_module_symbol_name(m, s->dims[i]);
  }
  return NULL;
}

static const char *cause_of_inputs(const causes *c, const node *n) {
  for (int32_t i = 0; i < n->n_inputs; i++) {
    if (n->inputs[i] && c->of[n->inputs[i]->id]) return c->of[n->inputs[i]->id];
  }
  return NULL;
}

/* Each named dim of an input is a question of its own. */
static npuc_status report_input(diag *d, const value *v) {
  diag_place place = {.part = v->owner->name, .node = v->name};
  npuc_status status = NPUC_OK;
  for (int32_t i = 0; i < v->shape.rank; i++) {
    if (!dim_is_symbol(v->shape.dims[i])) continue;
    const char *symbol = npuc_module_symbol_name(v->owner->module, v->shape.dims[i]);
    status = npuc_fail(d, NPUC_DIAG_E0913, &place, "the input \"%s\" has the dim \"%s\" without a number", v->name, symbol);
    npuc_fix(d, "give it one: --dim %s=1", symbol);
  }
  if (status != NPUC_OK) return status;
  status = npuc_fail(d, NPUC_DIAG_E0913, &place, "the input \"%s\" has a dim, or a rank, that is not known", v->name);
  npuc_fix(d, "give its dims: --shape %s=DIMS", v->name);
  return status;
}

static npuc_status report_dim(diag *d, const value *v, const char *cause) {
  diag_place place = npuc_node_place(v->producer, NULL);
  if (cause) return npuc_fail(d, NPUC_DIAG_E0913, &place, "the shape of \"%s\" depends on the input dim \"%s\"", v->name, cause);
  return npuc_fail(d, NPUC_DIAG_E0913, &place, "the shape of \"%s\" depends on data at run time, not on the input shapes", v->name);
}

/* Inside a body there are no input dims: what is open there is what turns change, or what depends on data. */
static npuc_status check_body_static(diag *d, const graph *body) {
  npuc_status status = NPUC_OK;
  const graph *inner;
  NPUC_EACH_NODE(body, n) {
    for (int32_t i = 0; i < n->n_outputs; i++) {
      if (n->outputs[i] && !npuc_shape_is_static(&n->outputs[i]->shape)) status = report_dim(d, n->outputs[i], NULL);
    }
    for (int32_t i = 0; (inner = npuc_node_body(n, i)); i++) {
      npuc_status one = check_body_static(d, inner);
      if (one != NPUC_OK) status = one;
    }
  }
  return status;
}

static npuc_status check_graph_static(diag *d, const graph *g) {
  arena *a = npuc_arena_create();
  causes c = {.of = NPUC_NEW_ARRAY(a, g->next_value_id, const char *)};
  npuc_status status = NPUC_OK;
  for (size_t i = 0; i < g->n_inputs; i++) {
    const value *v = g->inputs[i];
    c.of[v->id] = first_symbol(g->module, &v->shape);
    if (!npuc_shape_is_static(&v->shape)) status = report_input(d, v);
  }
  NPUC_EACH_NODE(g, n) {
    const char *cause = cause_of_inputs(&c, n);
    for (int32_t i = 0; npuc_node_body(n, i); i++) {
      npuc_status one = check_body_static(d, npuc_node_body(n, i));
      if (one != NPUC_OK) status = one;
    }
    for (int32_t i = 0; i < n->n_outputs; i++) {
      const value *v = n->outputs[i];
      if (!v) continue;
      bool fixed = npuc_shape_is_static(&v->shape);
      /* Numbers do not carry a symbol on, but contents computed from it do: Shape of a symbolic value. */
      c.of[v->id] = fixed && !node_is(n, OP_SHAPE) && v->type != DTYPE_I64 ? NULL : cause;
      if (!fixed) status = report_dim(d, v, cause);
    }
    if (node_is(n, OP_SHAPE)) {
      diag_place place = {.part = g->name, .node = n->location ? n->location->name : n->name, .op = "Shape"};
      status = npuc_fail(d, NPUC_DIAG_E0913, &place, "reads a shape at run time%s%s", cause ? ": the input dim " : "", cause ? cause : "");
    }
  }
  npuc_arena_destroy(a);
  return status;
}

npuc_status npuc_check_static(diag *d, const module *m) {
  npuc_status status = NPUC_OK;
  for (size_t i = 0; i < m->n_graphs; i++) {
    npuc_status one = check_graph_static(d, m->graphs[i]);
    if (one != NPUC_OK) status = one;
  }
  return status;
}

/* -- places -- */

npuc_status npuc_check_places(diag *d, const module *m) {
  npuc_status status = NPUC_OK;
  for (size_t i = 0; i < m->n_graphs; i++) {
    NPUC_EACH_NODE(m->graphs[i], n) {
      bool known = n->place && (strcmp(n->place, "npu") == 0 || strcmp(n->place, "host") == 0);
      if (known && n->place_reason && *n->place_reason) continue;
      diag_place place = {.part = m->graphs[i]->name, .node = n->name, .op = n->op->type};
      status = npuc_fail(d, NPUC_DIAG_E0914, &place, known ? "its place has no reason" : "it has no place");
    }
  }
  return status;
}
