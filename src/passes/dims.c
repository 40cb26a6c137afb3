/* SPDX-License-Identifier: Apache-2.0 */
/* bind-dims: the symbols of the input shapes get numbers: those of --dim, and the batch.
 *
 * A symbolic first axis that every input and output of the module shares is the batch; where --dim does not name it, it becomes 1, with
 * a note. Any other symbol stays, and the static gate names it. */
#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "passes/internal.h"

/* Symbols of the inputs' shapes, without repetition; NULL-ended. */
static const char **input_symbols(arena *a, const graph *g, size_t *out_count) {
  map *seen = npuc_map_create(a);
  const char **names = NPUC_NEW_ARRAY(a, g->n_inputs * MAX_RANK + 1, const char *);
  *out_count = 0;
  for (size_t i = 0; i < g->n_inputs; i++) {
    const shape *s = &g->inputs[i]->shape;
    for (int32_t k = 0; k < s->rank; k++) {
      if (!dim_is_symbol(s->dims[k])) continue;
      const char *name = npuc_module_symbol_name(g->module, s->dims[k]);
      if (!npuc_map_put(seen, name, (void *)name)) names[(*out_count)++] = name;
    }
  }
  return names;
}

/* The symbol that is dim 0 of every port, or DIM_UNKNOWN. */
static dim batch_symbol(const graph *g) {
  dim batch = DIM_UNKNOWN;
  for (size_t i = 0; i < g->n_inputs + g->n_outputs; i++) {
    const value *v = i < g->n_inputs ? g->inputs[i] : g->outputs[i - g->n_inputs];
    if (v->shape.rank < 1 || !dim_is_symbol(v->shape.dims[0])) return DIM_UNKNOWN;
    if (i && v->shape.dims[0] != batch) return DIM_UNKNOWN;
    batch = v->shape.dims[0];
  }
  return batch;
}

/* An input whose symbol is asked for twice with two values, or that no part has, is a slip of the command line. */
static npuc_status check_binding(pass_context *c, const dim_binding *b) {
  if (b->value >= 1) return NPUC_OK;
  diag_place place = {.attribute = "--dim"};
  return npuc_fail(c->d, NPUC_DIAG_E0503, &place, "%s=%" PRId64 " given; a size of at least 1 wanted", b->symbol, b->value);
}

static bool module_has_symbol(pass_context *c, const module *m, const char *symbol) {
  for (size_t i = 0; i < m->n_graphs; i++) {
    size_t n;
    const char **names = input_symbols(c->scratch, m->graphs[i], &n);
    for (size_t k = 0; k < n; k++) {
      if (strcmp(names[k], symbol) == 0) return true;
    }
  }
  return false;
}

static npuc_status unknown_symbol(pass_context *c, const module *m, const char *symbol) {
  diag_place place = {.attribute = "--dim"};
  char list[256] = "";
  const char *near = NULL;
  for (size_t i = 0; i < m->n_graphs; i++) {
    size_t n;
    const char **names = input_symbols(c->scratch, m->graphs[i], &n);
    for (size_t k = 0; k < n; k++) {
      if (strlen(list) + strlen(names[k]) + 3 < sizeof list) strcat(strcat(list, *list ? ", " : ""), names[k]);
    }
    if (!near) near = npuc_nearest(symbol, names, n);
  }
  npuc_status status =
      npuc_fail(c->d, NPUC_DIAG_E0502, &place, "no input has a dim named \"%s\" (named dims: %s)", symbol, *list ? list : "none");
  if (near) npuc_fix(c->d, "did you mean --dim %s=N?", near);
  return status;
}

/* A symbol may be gone because an earlier run bound it; only a module that still has the like can tell a slip. */
static npuc_status check_bindings(pass_context *c, const module *m) {
  for (size_t i = 0; i < c->options->n_dims; i++) {
    const dim_binding *b = &c->options->dims[i];
    NPUC_TRY(check_binding(c, b));
    if (!module_has_symbol(c, m, b->symbol)) return unknown_symbol(c, m, b->symbol);
  }
  return NPUC_OK;
}

static void substitute(shape *s, const dim *bound) {
  for (int32_t i = 0; i < s->rank; i++) {
    if (dim_is_symbol(s->dims[i])) s->dims[i] = bound[dim_symbol_id(s->dims[i])];
  }
}

static void substitute_all(graph *g, const dim *bound) {
  size_t cursor = 0;
  void *item;
  while (npuc_map_next(g->values, &cursor, NULL, &item)) substitute(&((value *)item)->shape, bound);
  graph *body;
  NPUC_EACH_NODE(g, n) {
    for (int32_t i = 0; (body = npuc_node_body(n, i)); i++) substitute_all(body, bound);
  }
}

npuc_status npuc_pass_bind_dims(pass_context *c, graph *g, bool *out_changed) {
  module *m = g->module;
  if (g == m->graphs[0]) NPUC_TRY(check_bindings(c, m));
  dim *bound = NPUC_NEW_ARRAY(c->scratch, m->n_symbols, dim);
  for (size_t i = 0; i < m->n_symbols; i++) bound[i] = dim_of_symbol((int32_t)i);
  for (size_t i = 0; i < c->options->n_dims; i++)
    bound[dim_symbol_id(npuc_module_symbol(m, c->options->dims[i].symbol))] = c->options->dims[i].value;
  dim batch = batch_symbol(g);
  if (batch != DIM_UNKNOWN && !dim_is_number(bound[dim_symbol_id(batch)])) {
    const char *name = npuc_module_symbol_name(m, batch);
    diag_place place = {.part = g->name};
    bound[dim_symbol_id(batch)] = 1;
    npuc_note(c->d, NPUC_DIAG_E0504, &place, "the batch \"%s\" (first axis of every input and output) becomes 1", name);
    npuc_fix(c->d, "to choose another size: --dim %s=NUMBER", name);
  }
  for (size_t i = 0; i < m->n_symbols; i++) *out_changed = *out_changed || dim_is_number(bound[i]);
  substitute_all(g, bound);
  return NPUC_OK;
}
