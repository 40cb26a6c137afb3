/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs inside the graph. torch writes them into the node's arguments, complete with the names of their inputs, and gives the node the values that
 * these stand for:
 *
 *   cond(pred, then, else, [x, w])          -> If(pred) {then, else}, captures x, w
 *   while_loop(test, body, [i, x], [w])     -> Loop(-, test(i, x)) {body; test again on what it left}, carries i, x, captures w
 *   map_impl(body, [xs], [w])               -> Scan(xs) {body}, captures w
 *   scan(body, [c], [xs], [w])              -> Scan(c, xs) {body}, captures w
 *   wrap_with_set_grad_enabled(mode, body, x, w)   the body's nodes stand in the graph as if they had been written there
 *
 * A body of its own may not write what it was given: torch does not export one that does, and a file that says so is refused. */
#include <string.h>

#include "import/pt2/aten.h"

enum { MAX_DEPTH = 32 };

static json_t *argument(pt2_node *n, size_t index, const char *kind) {
  return json_object_get(json_object_get(json_array_get(n->arguments, index), "arg"), kind);
}

static json_t *body_of(pt2_node *n, size_t index) { return json_object_get(argument(n, index, "as_graph"), "graph"); }

static npuc_status find_body(pt2_node *n, size_t index, json_t **out_body) {
  *out_body = body_of(n, index);
  if (json_is_array(json_object_get(*out_body, "nodes")) && json_is_array(json_object_get(*out_body, "inputs")) &&
      json_is_array(json_object_get(*out_body, "outputs")))
    return NPUC_OK;
  return npuc_pt2_fail(n, NPUC_DIAG_E0332, NULL, "the node lacks the graph that it runs (its argument %zu)", index);
}

/* -- what a node gives its graphs -- */
typedef struct operands {
  const pt2_binding **at;
  size_t count, capacity;
} operands;

static npuc_status add_operand(pt2_node *n, operands *o, const char *name, const pt2_binding *known) {
  const pt2_binding *b = known ? known : name ? npuc_map_get(n->s->bindings, name) : NULL;
  if (!b || b->kind == PT2_LIST)
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, NULL, "its graph takes '%s', which is no tensor and no size", name ? name : "?");
  o->at = npuc_arena_grow(n->s->scratch, o->at, o->count, o->count + 1, sizeof *o->at, &o->capacity);
  o->at[o->count++] = b;
  return NPUC_OK;
}

static const pt2_binding *number_binding(pt2_node *n, json_t *number) {
  pt2_binding *b = NPUC_NEW(n->s->scratch, pt2_binding);
  *b = (pt2_binding){.kind = json_is_null(number) ? PT2_NOTHING : PT2_INT, .integer = pt2_number((int64_t)json_integer_value(number))};
  return b;
}

/* The entries of a list, or one entry: {"name"} of tensors, {"as_name"} or {"as_int"} of sizes, numbers. torch writes a size among tensors as
 * if it were one, so the name alone says what it is. */
static npuc_status add_entry(pt2_node *n, operands *o, json_t *entry) {
  json_t *inner = json_object_get(entry, "as_tensor"), *number = json_object_get(entry, "as_int");
  const char *name = json_string_value(json_object_get(inner ? inner : entry, "name"));
  if (!name) name = json_string_value(json_object_get(entry, "as_name"));
  if (json_is_integer(entry)) number = entry;
  return add_operand(n, o, name, !name && json_is_integer(number) ? number_binding(n, number) : NULL);
}

static npuc_status gather(pt2_node *n, size_t index, operands *out) {
  json_t *arg = json_object_get(json_array_get(n->arguments, index), "arg");
  void *member = json_object_iter(arg);
  json_t *content = member ? json_object_iter_value(member) : NULL, *entry;
  size_t i;
  if (json_object_get(arg, "as_none")) return add_operand(n, out, NULL, number_binding(n, json_null()));
  if (!json_is_array(content)) return add_entry(n, out, content);
  json_array_foreach(content, i, entry) NPUC_TRY(add_entry(n, out, entry));
  return NPUC_OK;
}

static const char *formal_name(json_t *formal) {
  const char *name = json_string_value(json_object_get(json_object_get(formal, "as_tensor"), "name"));
  if (!name) name = json_string_value(json_object_get(json_object_get(formal, "as_sym_int"), "as_name"));
  return name ? name : json_string_value(json_object_get(json_object_get(formal, "as_sym_bool"), "as_name"));
}

/* -- translating a graph -- */
typedef struct scope {
  graph *g;
  map *bindings;
  json_t *metas;
  pt2_storage *states, *last_state;
} scope;

static npuc_status translate(pt2_node *n, json_t *body, map *inner) {
  pt2_source *s = n->s;
  json_t *metas = s->metas;
  map *outer = s->bindings;
  if (s->depth >= MAX_DEPTH) return npuc_pt2_fail(n, NPUC_DIAG_E0332, NULL, "graphs are nested more than %d deep", MAX_DEPTH);
  s->bindings = inner;
  s->metas = json_object_get(body, "tensor_values");
  s->depth++;
  npuc_status status = npuc_pt2_nodes(s, body);
  s->depth--;
  s->bindings = outer;
  s->metas = metas;
  return status;
}

static npuc_status bind_formals(pt2_node *n, json_t *body, const operands *given, map *inner) {
  json_t *formals = json_object_get(body, "inputs");
  if (json_array_size(formals) != given->count)
    return npuc_pt2_fail(n, NPUC_DIAG_E0332, NULL, "its graph takes %zu inputs and is given %zu", json_array_size(formals), given->count);
  for (size_t i = 0; i < given->count; i++) {
    const char *name = formal_name(json_array_get(formals, i));
    if (name) npuc_map_put(inner, name, (void *)(uintptr_t)given->at[i]);
  }
  return NPUC_OK;
}

/* Values of the graph's results, in the graph that is being built. */
static npuc_status read_results(pt2_node *n, json_t *body, map *inner, value ***out_values, size_t *out_count) {
  json_t *results = json_object_get(body, "outputs");
  *out_count = json_array_size(results);
  *out_values = NPUC_NEW_ARRAY(n->s->scratch, *out_count + 1, value *);
  for (size_t i = 0; i < *out_count; i++) {
    const char *name = formal_name(json_array_get(results, i));
    const pt2_binding *b = name ? npuc_map_get(inner, name) : NULL;
    if (!b || b->kind != PT2_TENSOR) return npuc_pt2_fail(n, NPUC_DIAG_E0336, NULL, "its graph gives a result that is no tensor");
    NPUC_TRY(npuc_pt2_read_tensor(n, b->tensor, &(*out_values)[i]));
  }
  return NPUC_OK;
}

/* The graph's nodes become those of `g`, its inputs are `given`; it may not write them. */
static npuc_status closed_graph(pt2_node *n, graph *g, json_t *body, const operands *given, value ***out_values, size_t *out_count) {
  pt2_source *s = n->s;
  const scope outer = {.g = s->g, .states = s->states, .last_state = s->last_state};
  map *inner = npuc_map_create(s->scratch);
  NPUC_TRY(bind_formals(n, body, given, inner));
  s->g = g;
  s->states = s->last_state = NULL;
  npuc_status status = translate(n, body, inner);
  if (status == NPUC_OK) status = read_results(n, body, inner, out_values, out_count);
  bool writes = s->states != NULL;
  s->g = outer.g;
  s->states = outer.states;
  s->last_state = outer.last_state;
  if (status == NPUC_OK && writes) return npuc_pt2_fail(n, NPUC_DIAG_E0336, NULL, "its graph writes what it was given in place");
  return status;
}

/* -- what stands for the operands inside a body -- */

/* Values of the outer graph, one for each operand: NULL for numbers that are known now. */
static npuc_status outer_values(pt2_node *n, const operands *o, value ***out_values) {
  *out_values = NPUC_NEW_ARRAY(n->s->scratch, o->count + 1, value *);
  for (size_t i = 0; i < o->count; i++) {
    const pt2_binding *b = o->at[i];
    if (b->kind == PT2_TENSOR) NPUC_TRY(npuc_pt2_read_tensor(n, b->tensor, &(*out_values)[i]));
    if (b->kind == PT2_INT) (*out_values)[i] = b->integer.value;
  }
  return NPUC_OK;
}

/* The operand as the body sees it, when `v` stands for it there. */
static const pt2_binding *seen_as(pt2_source *s, const pt2_binding *outer, value *v) {
  pt2_binding *b = NPUC_NEW(s->scratch, pt2_binding);
  *b = *outer;
  if (b->kind == PT2_TENSOR) b->tensor = npuc_pt2_port(s, v->name, v);
  if (b->kind == PT2_INT && v) b->integer = (pt2_int){.value = v};
  return b;
}

/* A constant is the body's own too (bytes are shared): translators want to see its content. */
static value *capture(node *made, graph *body, value *outer) {
  const char *name = npuc_graph_unique_name(body, outer->name);
  if (outer->constant) return npuc_graph_add_constant(body, name, outer->constant);
  value *inner = npuc_graph_add_value(body, name, outer->type, &outer->shape);
  npuc_body_capture(made, body, inner, outer);
  return inner;
}

/* Operands from `first` on become captures of the node. */
static void capture_operands(pt2_node *n, node *made, graph *body, const operands *o, value *const *values, size_t first, operands *out) {
  value **inner = NPUC_NEW_ARRAY(n->s->scratch, o->count + 1, value *);
  for (size_t i = first; i < o->count; i++) {
    for (size_t k = first; k < i && values[i] && !inner[i]; k++) { /* the same value twice is one capture */
      if (values[k] == values[i]) inner[i] = inner[k];
    }
    if (values[i] && !inner[i]) inner[i] = capture(made, body, values[i]);
    out->at[i] = seen_as(n->s, o->at[i], inner[i]);
  }
}

static value *body_input(pt2_node *n, graph *body, const char *name, dtype type, const shape *dims) {
  return npuc_graph_add_input(body, npuc_graph_unique_name(body, npuc_arena_str(n->s->scratch, name)), type, dims);
}

static operands room(pt2_node *n, const operands *o) {
  return (operands){.at = NPUC_NEW_ARRAY(n->s->scratch, o->count + 1, const pt2_binding *), .count = o->count};
}

static void add_outputs(pt2_source *s, graph *body, value *const *values, size_t count) {
  graph *outer = s->g;
  s->g = body;
  for (size_t i = 0; i < count; i++) npuc_pt2_add_output(s, values[i], values[i]->name);
  s->g = outer;
}

static npuc_status finish(pt2_node *n, node *made) {
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  json_t *first = json_array_get(json_object_get(n->json, "outputs"), 0);
  n->used = ~(uint64_t)0;
  if (!json_object_get(first, "as_tensors")) return npuc_pt2_results(n, made->outputs, (size_t)made->n_outputs);
  pt2_tensor **list = NPUC_NEW_ARRAY(n->s->scratch, (size_t)made->n_outputs + 1, pt2_tensor *);
  for (int32_t i = 0; i < made->n_outputs; i++) list[i] = npuc_pt2_own(n->s, made->outputs[i]);
  return npuc_pt2_result_list(n, list, (size_t)made->n_outputs);
}

static graph **body_slot(node *made, const char *attribute) {
  return (graph **)((char *)made->attributes + npuc_op_attribute(made->op, attribute)->offset);
}

static graph *add_body(pt2_node *n, node *made, const char *attribute) {
  graph *body = npuc_body_create(n->s->m, npuc_arena_printf(n->s->m->arena, "%s.%s", made->name, attribute));
  *body_slot(made, attribute) = body;
  return body;
}

/* -- cond -- */
static npuc_status condition(pt2_node *n, value **out) {
  operands pred = {0};
  json_t *constant = argument(n, 0, "as_bool");
  *out = NULL;
  if (json_is_boolean(constant)) {
    *out = npuc_pt2_constant_int(n, DTYPE_BOOL, json_is_true(constant));
    return NPUC_OK;
  }
  NPUC_TRY(gather(n, 0, &pred));
  value **values;
  NPUC_TRY(outer_values(n, &pred, &values));
  if (pred.count != 1 || pred.at[0]->kind == PT2_NOTHING)
    return npuc_pt2_fail(n, NPUC_DIAG_E0335, NULL, "the condition is no truth value that is known");
  if (!values[0]) *out = npuc_pt2_constant_int(n, DTYPE_BOOL, pred.at[0]->integer.number != 0);
  return values[0] ? npuc_pt2_cast(n, values[0], DTYPE_BOOL, out) : NPUC_OK;
}

static npuc_status branch(pt2_node *n, node *made, const char *attribute, json_t *json, const operands *o, value *const *values) {
  graph *body = *body_slot(made, attribute);
  operands inside = room(n, o);
  value **results;
  size_t count;
  capture_operands(n, made, body, o, values, 0, &inside);
  NPUC_TRY(closed_graph(n, body, json, &inside, &results, &count));
  if (count != (size_t)made->n_outputs)
    return npuc_pt2_fail(n, NPUC_DIAG_E0332, NULL, "one branch gives %zu results, the other %d", count, made->n_outputs);
  add_outputs(n->s, body, results, count);
  return NPUC_OK;
}

npuc_status npuc_aten_cond(pt2_node *n) {
  json_t *yes, *no;
  operands o = {0};
  value *pred, **values;
  node *made;
  NPUC_TRY(find_body(n, 1, &yes));
  NPUC_TRY(find_body(n, 2, &no));
  NPUC_TRY(condition(n, &pred));
  NPUC_TRY(gather(n, 3, &o));
  NPUC_TRY(outer_values(n, &o, &values));
  NPUC_TRY(npuc_pt2_emit(n, "If", &pred, 1, (int32_t)json_array_size(json_object_get(yes, "outputs")), &made));
  (void)add_body(n, made, "then_branch");
  (void)add_body(n, made, "else_branch");
  NPUC_TRY(branch(n, made, "then_branch", yes, &o, values));
  NPUC_TRY(branch(n, made, "else_branch", no, &o, values));
  npuc_node_prune_captures(made);
  return finish(n, made);
}

/* -- while_loop -- */
/* `given` with the carried ones replaced: what the test is asked after a turn. */
static operands after_turn(pt2_node *n, const operands *given, value *const *carried, size_t n_carried) {
  operands next = room(n, given);
  for (size_t i = 0; i < given->count; i++) next.at[i] = i < n_carried ? seen_as(n->s, given->at[i], carried[i]) : given->at[i];
  return next;
}

static npuc_status test_of(pt2_node *n, graph *g, json_t *test, const operands *given, value **out) {
  value **results;
  size_t count;
  NPUC_TRY(closed_graph(n, g, test, given, &results, &count));
  if (count != 1) return npuc_pt2_fail(n, NPUC_DIAG_E0332, NULL, "the loop's test gives %zu results", count);
  *out = results[0];
  return NPUC_OK;
}

/* Inside the loop: the number of the turn, the condition, what is carried, the captures. */
static npuc_status loop_body(pt2_node *n, node *made, json_t *test, json_t *turn, const operands *o, value *const *values, size_t carried) {
  graph *body = add_body(n, made, "body");
  operands inside = room(n, o);
  shape scalar = SHAPE_SCALAR;
  (void)body_input(n, body, "turn", DTYPE_I64, &scalar);
  (void)body_input(n, body, "go_on", DTYPE_BOOL, &scalar);
  for (size_t i = 0; i < carried; i++)
    inside.at[i] = seen_as(n->s, o->at[i], body_input(n, body, values[i]->name, values[i]->type, &values[i]->shape));
  capture_operands(n, made, body, o, values, carried, &inside);
  value **results, **all;
  size_t count;
  NPUC_TRY(closed_graph(n, body, turn, &inside, &results, &count));
  if (count != carried) return npuc_pt2_fail(n, NPUC_DIAG_E0332, NULL, "a turn leaves %zu values for %zu", count, carried);
  all = NPUC_NEW_ARRAY(n->s->scratch, carried + 1, value *);
  for (size_t i = 0; i < carried; i++) all[1 + i] = results[i];
  operands next = after_turn(n, &inside, results, carried);
  NPUC_TRY(test_of(n, body, test, &next, &all[0]));
  add_outputs(n->s, body, all, carried + 1);
  return NPUC_OK;
}

npuc_status npuc_aten_while_loop(pt2_node *n) {
  json_t *test, *turn;
  operands o = {0};
  value **values, **inputs;
  node *made;
  NPUC_TRY(find_body(n, 0, &test));
  NPUC_TRY(find_body(n, 1, &turn));
  NPUC_TRY(gather(n, 2, &o));
  size_t carried = o.count;
  NPUC_TRY(gather(n, 3, &o));
  NPUC_TRY(outer_values(n, &o, &values));
  for (size_t i = 0; i < carried; i++) {
    if (o.at[i]->kind != PT2_TENSOR) return npuc_pt2_fail(n, NPUC_DIAG_E0336, NULL, "the loop carries a number that is no tensor");
  }
  inputs = NPUC_NEW_ARRAY(n->s->scratch, carried + 2, value *);
  for (size_t i = 0; i < carried; i++) inputs[2 + i] = values[i];
  operands first = after_turn(n, &o, values, o.count);
  NPUC_TRY(test_of(n, n->s->g, test, &first, &inputs[1]));
  NPUC_TRY(npuc_pt2_emit(n, "Loop", inputs, carried + 2, (int32_t)carried, &made));
  NPUC_TRY(loop_body(n, made, test, turn, &o, values, carried));
  npuc_node_prune_captures(made);
  return finish(n, made);
}

/* -- map, scan -- */
/* A slice along the first axis. */
static npuc_status slice_input(pt2_node *n, graph *body, const value *xs, value **out) {
  shape one = {.rank = xs->shape.rank - 1};
  if (one.rank < 0) return npuc_pt2_fail(n, NPUC_DIAG_E0335, NULL, "'%s' has no axis along which it could be cut", xs->name);
  for (int32_t i = 0; i < one.rank; i++) one.dims[i] = xs->shape.dims[i + 1];
  *out = body_input(n, body, xs->name, xs->type, &one);
  return NPUC_OK;
}

/* `states` operands are carried, those up to `given` are cut, the others are captures. */
static npuc_status scan(pt2_node *n, json_t *json, const operands *o, size_t states, size_t given) {
  value **values, **results;
  size_t count;
  node *made;
  NPUC_TRY(outer_values(n, o, &values));
  for (size_t i = 0; i < given; i++) {
    if (o->at[i]->kind != PT2_TENSOR) return npuc_pt2_fail(n, NPUC_DIAG_E0336, NULL, "what is cut or carried is a number and no tensor");
  }
  if (states == given) return npuc_pt2_fail(n, NPUC_DIAG_E0336, NULL, "there is nothing that is cut into turns");
  NPUC_TRY(npuc_pt2_emit(n, "Scan", values, given, (int32_t)json_array_size(json_object_get(json, "outputs")), &made));
  npuc_pt2_set_int(made, "num_scan_inputs", (int64_t)(given - states));
  graph *body = add_body(n, made, "body");
  operands inside = room(n, o);
  for (size_t i = 0; i < given; i++) {
    value *v = NULL;
    if (i < states)
      v = body_input(n, body, values[i]->name, values[i]->type, &values[i]->shape);
    else
      NPUC_TRY(slice_input(n, body, values[i], &v));
    inside.at[i] = seen_as(n->s, o->at[i], v);
  }
  capture_operands(n, made, body, o, values, given, &inside);
  NPUC_TRY(closed_graph(n, body, json, &inside, &results, &count));
  add_outputs(n->s, body, results, count);
  npuc_node_prune_captures(made);
  return finish(n, made);
}

npuc_status npuc_aten_map(pt2_node *n) {
  json_t *body;
  operands o = {0};
  NPUC_TRY(find_body(n, 0, &body));
  NPUC_TRY(gather(n, 1, &o));
  size_t cut = o.count;
  NPUC_TRY(gather(n, 2, &o));
  return scan(n, body, &o, 0, cut);
}

npuc_status npuc_aten_scan(pt2_node *n) {
  json_t *body;
  operands o = {0};
  NPUC_TRY(find_body(n, 0, &body));
  NPUC_TRY(gather(n, 1, &o));
  size_t states = o.count;
  NPUC_TRY(gather(n, 2, &o));
  size_t given = o.count;
  NPUC_TRY(gather(n, 3, &o));
  return scan(n, body, &o, states, given);
}

/* -- wrap_with_set_grad_enabled(mode, graph, operands...), wrap_with_autocast(device, dtype, enabled, cache, graph, operands...) -- */
static npuc_status bind_outer(pt2_node *n, json_t *outputs, map *inner) {
  json_t *names = json_object_get(n->json, "outputs");
  json_t *list = json_object_get(json_array_get(names, 0), "as_tensors");
  for (size_t i = 0; i < json_array_size(outputs); i++) {
    const char *made = json_string_value(json_object_get(json_object_get(json_array_get(outputs, i), "as_tensor"), "name"));
    json_t *as = list ? json_array_get(list, i) : json_object_get(json_array_get(names, i), "as_tensor");
    const char *name = json_string_value(json_object_get(as, "name"));
    void *b = made ? npuc_map_get(inner, made) : NULL;
    if (!name || !b) return npuc_pt2_fail(n, NPUC_DIAG_E0336, NULL, "its graph gives a result that is no tensor");
    npuc_map_put(n->s->bindings, name, b);
  }
  return NPUC_OK;
}

npuc_status npuc_aten_wrapped_graph(pt2_node *n) {
  json_t *body;
  size_t at = 0, count = json_array_size(n->arguments);
  operands o = {0};
  while (at < count && !body_of(n, at)) at++;
  NPUC_TRY(find_body(n, at, &body));
  for (size_t i = at + 1; i < count; i++) NPUC_TRY(gather(n, i, &o));
  n->used = ~(uint64_t)0;
  map *inner = npuc_map_create(n->s->scratch);
  NPUC_TRY(bind_formals(n, body, &o, inner));
  NPUC_TRY(translate(n, body, inner));
  return bind_outer(n, json_object_get(body, "outputs"), inner);
}
