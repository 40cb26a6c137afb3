/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: values, nodes in a doubly linked list, and the uses that tie them.
 *
 * Invariant: inputs[i] == v exactly when v->uses[use_slots[i]] is {node, i}. Uses have no order: removing one moves the last into its
 * place, which makes every edit O(1) however many uses a value has. */
#include <assert.h>
#include <string.h>

#include "ir/internal.h"

graph *npuc_body_create(module *m, const char *name) {
  graph *g = NPUC_NEW(m->arena, graph);
  g->module = m;
  g->name = npuc_intern(m->names, name);
  g->values = npuc_map_create(m->arena);
  g->node_names = npuc_map_create(m->arena);
  g->suffixes = npuc_map_create(m->arena);
  return g;
}

graph *npuc_graph_create(module *m, const char *name) {
  graph *g = npuc_body_create(m, name);
  /* Modules have few parts: growing by one each time is fine. */
  graph **graphs = NPUC_NEW_ARRAY(m->arena, m->n_graphs + 1, graph *);
  if (m->n_graphs) memcpy(graphs, m->graphs, m->n_graphs * sizeof *graphs);
  graphs[m->n_graphs++] = g;
  m->graphs = graphs;
  return g;
}

value *npuc_graph_value(const graph *g, const char *name) { return npuc_map_get(g->values, name); }

node *npuc_graph_node(const graph *g, const char *name) { return npuc_map_get(g->node_names, name); }

npuc_status npuc_graph_check_symbol(diag *d, const graph *g, const char *symbol) {
  enum { SHOWN = 4 };
  const char *names[SHOWN];
  size_t n = 0;
  for (size_t i = 0; i < g->n_inputs; i++) {
    const shape *s = &g->inputs[i]->shape;
    for (int32_t k = 0; k < s->rank; k++) {
      if (!dim_is_symbol(s->dims[k])) continue;
      const char *name = npuc_module_symbol_name(g->module, s->dims[k]);
      if (strcmp(name, symbol) == 0) return NPUC_OK;
      bool known = n == SHOWN;
      for (size_t j = 0; j < n && !known; j++) known = strcmp(names[j], name) == 0;
      if (!known) names[n++] = name;
    }
  }
  npuc_status status = npuc_fail(d, NPUC_DIAG_E0502, &(diag_place){.attribute = "--dim"}, "no input of the model has a dim named '%s'%s",
                                 symbol, n ? "" : ": all are numbers");
  for (size_t i = 0; i < n; i++) npuc_fix(d, "--dim %s=NUMBER", names[i]);
  return status;
}

/* -- values -- */

value *npuc_graph_add_value(graph *g, const char *name, dtype type, const shape *s) {
  value *v = NPUC_NEW(g->module->arena, value);
  v->name = npuc_name_free_in(g, g->values, name);
  v->id = g->next_value_id++;
  v->type = type;
  v->shape = s ? *s : SHAPE_UNKNOWN;
  v->owner = g;
  npuc_map_put(g->values, v->name, v);
  return v;
}

void npuc_graph_mark_input(graph *g, value *v) {
  assert(v->owner == g && !v->producer && !v->constant && !v->is_input);
  v->is_input = true;
  g->inputs = npuc_arena_grow(g->module->arena, g->inputs, g->n_inputs, g->n_inputs + 1, sizeof *g->inputs, &g->inputs_capacity);
  g->inputs[g->n_inputs++] = v;
}

value *npuc_graph_add_input(graph *g, const char *name, dtype type, const shape *s) {
  assert(!npuc_graph_value(g, name));
  value *v = npuc_graph_add_value(g, name, type, s);
  npuc_graph_mark_input(g, v);
  return v;
}

void npuc_graph_add_output(graph *g, value *v) {
  assert(v->owner == g);
  v->is_output = true;
  g->outputs = npuc_arena_grow(g->module->arena, g->outputs, g->n_outputs, g->n_outputs + 1, sizeof *g->outputs, &g->outputs_capacity);
  g->outputs[g->n_outputs++] = v;
}

void npuc_graph_set_output(graph *g, size_t index, value *v) {
  assert(index < g->n_outputs && v->owner == g);
  value *old = g->outputs[index];
  g->outputs[index] = v;
  v->is_output = true;
  bool still = false;
  for (size_t i = 0; i < g->n_outputs; i++) still = still || g->outputs[i] == old;
  old->is_output = still;
}

static value *add_constant(graph *g, const char *name, const tensor *t, bool copy) {
  value *v = npuc_graph_add_value(g, name, t->type, &t->shape);
  v->constant = npuc_module_tensor(g->module, t, copy);
  return v;
}

value *npuc_graph_add_constant(graph *g, const char *name, const tensor *t) { return add_constant(g, name, t, false); }

static tensor arena_vector(graph *g, dtype type, int64_t n) {
  size_t bytes = 0;
  bool sized = npuc_dtype_bytes(type, n < 0 ? 1 : n, &bytes);
  assert(sized);
  (void)sized;
  return (tensor){.type = type,
                  .shape = n < 0 ? SHAPE_SCALAR : (shape){.rank = 1, .dims = {n}},
                  .data = bytes ? npuc_arena_alloc(g->module->arena, bytes) : NULL,
                  .bytes = bytes};
}

value *npuc_graph_constant_ints(graph *g, const char *name, dtype type, const int64_t *values, int64_t n) {
  tensor t = arena_vector(g, type, n);
  for (int64_t i = 0; i < (n < 0 ? 1 : n); i++) npuc_tensor_set_int(&t, i, values[i]);
  return add_constant(g, name, &t, false);
}

value *npuc_graph_constant_floats(graph *g, const char *name, const float *values, int64_t n) {
  tensor t = arena_vector(g, DTYPE_F32, n);
  if (t.bytes) memcpy(t.data, values, t.bytes);
  return add_constant(g, name, &t, false);
}

void npuc_value_set_quant(value *v, const quant *q) {
  module *m = v->owner->module;
  if (!q) {
    v->quant = NULL;
    return;
  }
  quant *kept = NPUC_NEW(m->arena, quant);
  kept->axis = q->axis;
  kept->scale = *npuc_module_tensor(m, &q->scale, true);
  kept->zero_point = *npuc_module_tensor(m, &q->zero_point, true);
  v->quant = kept;
}

void npuc_graph_remove_value(graph *g, value *v) {
  assert(v->owner == g && !v->producer && v->n_uses == 0 && !v->is_input && !v->is_output);
  npuc_map_remove(g->values, v->name);
  npuc_name_released(g, v->name);
  v->owner = NULL;
}

void npuc_value_rename(value *v, const char *name) {
  graph *g = v->owner;
  if (strcmp(v->name, name) == 0) return;
  assert(!npuc_graph_value(g, name));
  npuc_map_remove(g->values, v->name);
  npuc_name_released(g, v->name);
  v->name = npuc_intern(g->module->names, name);
  npuc_map_put(g->values, v->name, v);
}

/* -- uses -- */

static void add_use(value *v, node *n, int32_t index) {
  arena *a = n->owner->module->arena;
  v->uses = npuc_arena_grow(a, v->uses, v->n_uses, v->n_uses + 1, sizeof *v->uses, &v->uses_capacity);
  n->use_slots[index] = (uint32_t)v->n_uses;
  v->uses[v->n_uses++] = (use){n, index};
}

static void remove_use(node *n, int32_t index) {
  value *v = n->inputs[index];
  if (!v) return;
  uint32_t slot = n->use_slots[index];
  use moved = v->uses[--v->n_uses];
  v->uses[slot] = moved;
  moved.user->use_slots[moved.index] = slot;
}

static void reserve_inputs(node *n, int32_t count) {
  if (count <= n->inputs_capacity) return;
  arena *a = n->owner->module->arena;
  int32_t capacity = n->inputs_capacity ? 2 * n->inputs_capacity : count;
  if (capacity < count) capacity = count;
  value **inputs = NPUC_NEW_ARRAY(a, (size_t)capacity, value *);
  uint32_t *slots = NPUC_NEW_ARRAY(a, (size_t)capacity, uint32_t);
  if (n->n_inputs) {
    memcpy(inputs, n->inputs, (size_t)n->n_inputs * sizeof *inputs);
    memcpy(slots, n->use_slots, (size_t)n->n_inputs * sizeof *slots);
  }
  n->inputs = inputs;
  n->use_slots = slots;
  n->inputs_capacity = capacity;
}

void npuc_node_set_input(node *n, int32_t index, value *v) {
  assert(index >= 0 && index <= n->n_inputs && (!v || v->owner == n->owner));
  if (index == n->n_inputs) {
    reserve_inputs(n, index + 1);
    n->inputs[index] = NULL;
    n->n_inputs++;
  }
  if (n->inputs[index] == v) return;
  remove_use(n, index);
  n->inputs[index] = v;
  if (v) add_use(v, n, index);
}

void npuc_node_truncate_inputs(node *n, int32_t count) {
  assert(count >= 0);
  while (n->n_inputs > count) {
    remove_use(n, n->n_inputs - 1);
    n->n_inputs--;
  }
}

void npuc_node_drop_inputs(node *n) {
  for (int32_t i = 0; i < n->n_inputs; i++) {
    remove_use(n, i);
    n->inputs[i] = NULL;
  }
}

static void move_uses(value *from, value *to) {
  size_t kept = 0;
  for (size_t i = 0; i < from->n_uses; i++) {
    use u = from->uses[i];
    if (u.user == to->producer) {
      u.user->use_slots[u.index] = (uint32_t)kept;
      from->uses[kept++] = u;
      continue;
    }
    u.user->inputs[u.index] = to;
    add_use(to, u.user, u.index);
  }
  from->n_uses = kept;
}

/* A port cannot give up its name, so the output becomes a copy of it. */
static value *identity_of(graph *g, const value *output, value *source) {
  const location *where = output->producer ? output->producer->location : NULL;
  node *copy = npuc_graph_insert_node(g, NULL, npuc_op(OP_IDENTITY), output->name, &source, 1, 1, where);
  copy->outputs[0]->type = source->type;
  copy->outputs[0]->shape = source->shape;
  return copy->outputs[0];
}

void npuc_value_replace(value *from, value *to) {
  graph *g = from->owner;
  assert(to->owner == g);
  if (from == to) return;
  bool is_copy = from->producer && from->producer->op == npuc_op(OP_IDENTITY) && from->producer->inputs[0] == to;
  move_uses(from, to);
  if (!from->is_output || from->is_input) return; /* an input keeps its name, so as an output it stays itself */
  if (to->is_input || to->is_output) {
    if (is_copy) return;
    to = identity_of(g, from, to);
  }
  const char *name = from->name;
  npuc_value_rename(from, npuc_name_free_in(g, g->values, name));
  npuc_value_rename(to, name);
  for (size_t i = 0; i < g->n_outputs; i++) {
    if (g->outputs[i] == from) g->outputs[i] = to;
  }
  to->is_output = true;
  from->is_output = false;
}

/* -- nodes -- */

static void link_before(graph *g, node *n, node *before) {
  n->next = before;
  n->prev = before ? before->prev : g->last;
  if (n->prev)
    n->prev->next = n;
  else
    g->first = n;
  if (before)
    before->prev = n;
  else
    g->last = n;
}

static void unlink_node(graph *g, node *n) {
  if (n->prev)
    n->prev->next = n->next;
  else
    g->first = n->next;
  if (n->next)
    n->next->prev = n->prev;
  else
    g->last = n->prev;
  n->prev = n->next = NULL;
}

static node *new_node(graph *g, node *before, const op_def *op, const char *name, value *const *inputs, int32_t n_inputs, int32_t n_outputs,
                      const location *loc) {
  assert(op && n_inputs >= 0 && n_outputs >= 0);
  arena *a = g->module->arena;
  node *n = NPUC_NEW(a, node);
  n->op = op;
  n->owner = g;
  n->id = g->next_node_id++;
  n->name = npuc_name_free_in(g, g->node_names, name && *name ? name : op->type);
  npuc_map_put(g->node_names, n->name, n);
  n->location = loc;
  if (op->attributes_bytes) {
    n->attributes = npuc_arena_alloc(a, op->attributes_bytes);
    npuc_attributes_default(op, n->attributes);
  }
  reserve_inputs(n, n_inputs);
  for (int32_t i = 0; i < n_inputs; i++) npuc_node_set_input(n, i, inputs[i]);
  n->outputs = NPUC_NEW_ARRAY(a, (size_t)n_outputs, value *);
  n->n_outputs = n_outputs;
  link_before(g, n, before);
  g->n_nodes++;
  return n;
}

static void set_producer(node *n, int32_t index, value *v) {
  n->outputs[index] = v;
  if (!v) return;
  assert(!v->producer && !v->constant && !v->is_input && v->owner == n->owner);
  v->producer = n;
  v->output_index = index;
}

node *npuc_graph_insert_node(graph *g, node *before, const op_def *op, const char *name, value *const *inputs, int32_t n_inputs,
                             int32_t n_outputs, const location *loc) {
  node *n = new_node(g, before, op, name, inputs, n_inputs, n_outputs, loc);
  for (int32_t i = 0; i < n_outputs; i++) {
    const char *output = n_outputs == 1 ? n->name : npuc_arena_printf(g->module->arena, "%s_out%d", n->name, (int)i);
    set_producer(n, i, npuc_graph_add_value(g, output, DTYPE_NONE, NULL));
  }
  return n;
}

node *npuc_graph_insert_node_with_outputs(graph *g, node *before, const op_def *op, const char *name, value *const *inputs,
                                          int32_t n_inputs, value *const *outputs, int32_t n_outputs, const location *loc) {
  node *n = new_node(g, before, op, name, inputs, n_inputs, n_outputs, loc);
  for (int32_t i = 0; i < n_outputs; i++) set_producer(n, i, outputs[i]);
  return n;
}

/* The outputs stay as values without producer; the caller removes them. */
void npuc_graph_unlink_node(graph *g, node *n) {
  assert(n->owner == g);
  npuc_node_drop_inputs(n);
  unlink_node(g, n);
  npuc_map_remove(g->node_names, n->name);
  npuc_name_released(g, n->name);
  n->owner = NULL;
  g->n_nodes--;
}

void npuc_graph_remove_node(graph *g, node *n) {
  npuc_graph_unlink_node(g, n);
  for (int32_t i = 0; i < n->n_outputs; i++) {
    value *v = n->outputs[i];
    if (!v) continue;
    v->producer = NULL;
    npuc_graph_remove_value(g, v);
  }
}

void npuc_node_rename(node *n, const char *name) {
  graph *g = n->owner;
  if (strcmp(n->name, name) == 0) return;
  assert(!npuc_graph_node(g, name));
  npuc_map_remove(g->node_names, n->name);
  npuc_name_released(g, n->name);
  n->name = npuc_intern(g->module->names, name);
  npuc_map_put(g->node_names, n->name, n);
}

void npuc_graph_move_node(graph *g, node *n, node *before) {
  if (n == before) return;
  unlink_node(g, n);
  link_before(g, n, before);
}

/* -- locations -- */

static size_t names_in(const location *l) { return l ? (l->name ? 1 : 0) + l->n_derived : 0; }

/* A node that stands for thousands names the first ones: merging stays linear in the graph. */
enum { MAX_LOCATION_NAMES = 64 };

static void add_names(const char **names, size_t *n, const location *l) {
  for (size_t i = 0; l && i <= l->n_derived && *n < MAX_LOCATION_NAMES; i++) {
    const char *name = i == 0 ? l->name : l->derived[i - 1];
    bool known = !name;
    for (size_t k = 0; k < *n && !known; k++) known = strcmp(names[k], name) == 0;
    if (!known) names[(*n)++] = name;
  }
}

const location *npuc_location_merge(module *m, const location *a, const location *b) {
  if (!a || a == b) return b;
  if (!b) return a;
  const char **names = NPUC_NEW_ARRAY(m->arena, names_in(a) + names_in(b), const char *);
  size_t n = 0;
  add_names(names, &n, a);
  if (n == names_in(a)) {
    size_t before = n;
    add_names(names, &n, b);
    if (n == before) return a;
  } else {
    add_names(names, &n, b);
  }
  if (n == 0) return a;
  location *merged = NPUC_NEW(m->arena, location);
  *merged = (location){.name = names[0], .derived = names + 1, .n_derived = n - 1};
  return merged;
}
