/* SPDX-License-Identifier: Apache-2.0 */
/* The verifier: every rule that the IR's functions keep and every rule that files must keep, checked from scratch. It goes on after a
 * violation, so that one run names all of them; the first one decides the status. Bookkeeping (uses, links, order) comes first: where
 * it is broken the rest is not looked at, because nothing else can be trusted then. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/internal.h"

typedef struct checker {
  diag *d;
  const graph *g;
  const char *after;
  npuc_status status;
  const value **values; /* by id: as the graph lists them */
  const node **nodes;
} checker;

static void fail(checker *c, diag_code code, const node *n, const char *attribute, const char *reason) {
  diag_place place = {.part = c->g->name, .node = n ? n->name : NULL, .op = n ? n->op->type : NULL, .attribute = attribute};
  const char *pass = c->after ? c->after : "";
  npuc_status status = npuc_fail(c->d, code, &place, "%s%s%s", reason, c->after ? ", after " : "", pass);
  if (c->status == NPUC_OK) c->status = status;
}

NPUC_PRINTF(5, 6) static void failf(checker *c, diag_code code, const node *n, const char *attribute, const char *format, ...) {
  va_list args;
  va_start(args, format);
  arena *scratch = npuc_arena_create();
  fail(c, code, n, attribute, npuc_arena_vprintf(scratch, format, args));
  npuc_arena_destroy(scratch);
  va_end(args);
}

/* -- bookkeeping -- */

static void check_uses(checker *c, const value *v) {
  for (size_t i = 0; i < v->n_uses; i++) {
    use u = v->uses[i];
    bool right = u.user && u.user->owner == c->g && u.index >= 0 && u.index < u.user->n_inputs && u.user->inputs[u.index] == v &&
                 u.user->use_slots[u.index] == i;
    if (!right) failf(c, NPUC_DIAG_E0410, NULL, NULL, "use %zu of the value \"%s\" is no input of its node", i, v->name);
  }
}

static void check_value_links(checker *c, const value *v, const char *key) {
  if (v->owner != c->g) failf(c, NPUC_DIAG_E0410, NULL, NULL, "the value \"%s\" belongs to another graph or was removed", key);
  if (strcmp(v->name, key) != 0) failf(c, NPUC_DIAG_E0410, NULL, NULL, "the value \"%s\" is listed under the name \"%s\"", v->name, key);
  if (v->id >= c->g->next_value_id || c->values[v->id]) {
    failf(c, NPUC_DIAG_E0410, NULL, NULL, "the value \"%s\" has an id that is not its own", v->name);
    return;
  }
  c->values[v->id] = v;
  int sources = (v->producer != NULL) + v->is_input + (v->constant != NULL);
  if (sources > 1) failf(c, NPUC_DIAG_E0410, NULL, NULL, "the value \"%s\" is defined more than once", v->name);
  if (sources == 0 && (v->n_uses || v->is_output)) failf(c, NPUC_DIAG_E0417, NULL, NULL, "nothing defines the value \"%s\"", v->name);
  const node *p = v->producer;
  if (p && (p->owner != c->g || v->output_index < 0 || v->output_index >= p->n_outputs || p->outputs[v->output_index] != v)) {
    failf(c, NPUC_DIAG_E0410, NULL, NULL, "the value \"%s\" is no output of the node that it names", v->name);
  }
  check_uses(c, v);
}

static size_t check_values(checker *c) {
  size_t uses = 0, cursor = 0, inputs = 0, outputs = 0;
  const char *key;
  void *item;
  while (npuc_map_next(c->g->values, &cursor, &key, &item)) {
    const value *v = item;
    check_value_links(c, v, key);
    uses += v->n_uses;
    inputs += v->is_input;
    outputs += v->is_output;
  }
  if (inputs != c->g->n_inputs) fail(c, NPUC_DIAG_E0410, NULL, NULL, "the list of inputs and the values marked as inputs differ");
  if (outputs > c->g->n_outputs) fail(c, NPUC_DIAG_E0410, NULL, NULL, "a value that is no output is marked as one");
  return uses;
}

/* Names and ids; whether the list of nodes agrees is check_node_links' question. */
static void list_nodes(checker *c) {
  size_t cursor = 0;
  const char *key;
  void *item;
  while (npuc_map_next(c->g->node_names, &cursor, &key, &item)) {
    const node *n = item;
    if (n->id < c->g->next_node_id && strcmp(n->name, key) == 0) c->nodes[n->id] = n;
  }
}

static bool is_listed(const checker *c, const value *v) { return v->id < c->g->next_value_id && c->values[v->id] == v; }

static void check_ports(checker *c) {
  const graph *g = c->g;
  for (size_t i = 0; i < g->n_inputs; i++) {
    const value *v = g->inputs[i];
    if (!v || v->owner != g || !v->is_input) failf(c, NPUC_DIAG_E0410, NULL, NULL, "input %zu is no input value of the graph", i);
  }
  for (size_t i = 0; i < g->n_outputs; i++) {
    const value *v = g->outputs[i];
    if (!v || v->owner != g || !v->is_output) failf(c, NPUC_DIAG_E0410, NULL, NULL, "output %zu is no output value of the graph", i);
  }
}

/* Links, names, ids; then that inputs are live and come from earlier nodes (`seen` by node id). Returns the number of inputs set. */
static size_t check_node_links(checker *c, const node *n, bool *seen) {
  const graph *g = c->g;
  size_t set = 0;
  if (n->owner != g) fail(c, NPUC_DIAG_E0410, n, NULL, "the node belongs to another graph or was removed");
  if ((n->prev ? n->prev->next : g->first) != n || (n->next ? n->next->prev : g->last) != n) {
    fail(c, NPUC_DIAG_E0410, n, NULL, "the list of nodes is broken at this node");
  }
  if (!n->name || c->nodes[n->id] != n) fail(c, NPUC_DIAG_E0410, n, NULL, "the node is not listed under its name");
  for (int32_t i = 0; i < n->n_inputs; i++) {
    const value *v = n->inputs[i];
    if (!v) continue;
    set++;
    if (v->owner != g || !is_listed(c, v)) {
      failf(c, NPUC_DIAG_E0410, n, NULL, "input %d is a value that was removed from the graph", (int)i);
    } else if (n->use_slots[i] >= v->n_uses || v->uses[n->use_slots[i]].user != n || v->uses[n->use_slots[i]].index != i) {
      failf(c, NPUC_DIAG_E0410, n, NULL, "input %d is not among the uses of \"%s\"", (int)i, v->name);
    } else if (v->producer && !seen[v->producer->id]) {
      failf(c, NPUC_DIAG_E0410, n, NULL, "the value \"%s\" is read before the node that makes it", v->name);
    }
  }
  for (int32_t i = 0; i < n->n_outputs; i++) {
    const value *v = n->outputs[i];
    if (v && (v->owner != g || v->producer != n || v->output_index != i || !is_listed(c, v))) {
      failf(c, NPUC_DIAG_E0410, n, NULL, "output %d is not a live value that this node makes", (int)i);
    }
  }
  return set;
}

static void check_links(checker *c) {
  const graph *g = c->g;
  c->values = npuc_xcalloc(g->next_value_id + (size_t)1, sizeof *c->values);
  c->nodes = npuc_xcalloc(g->next_node_id + (size_t)1, sizeof *c->nodes);
  size_t uses = check_values(c), set = 0, count = 0;
  list_nodes(c);
  check_ports(c);
  bool *seen = npuc_xcalloc(g->next_node_id + (size_t)1, sizeof *seen);
  for (const node *n = g->first; n; n = n->next) {
    if (n->id >= g->next_node_id || seen[n->id] || count++ >= g->n_nodes) {
      fail(c, NPUC_DIAG_E0410, n, NULL, "the node is listed twice, or its id is not its own");
      break;
    }
    set += check_node_links(c, n, seen);
    seen[n->id] = true;
  }
  free(seen);
  free(c->values);
  free(c->nodes);
  if (count != g->n_nodes || npuc_map_count(g->node_names) != g->n_nodes) {
    fail(c, NPUC_DIAG_E0410, NULL, NULL, "the number of nodes is not the number that the graph says");
  }
  if (uses != set) fail(c, NPUC_DIAG_E0410, NULL, NULL, "the numbers of uses and of inputs differ");
}

/* -- what values say of themselves -- */

static void check_quant(checker *c, const value *v) {
  const quant *q = v->quant;
  int64_t n = npuc_tensor_elements(&q->scale), wanted = 1;
  if (q->axis >= 0) {
    if (v->shape.rank >= 0 && q->axis >= v->shape.rank) {
      failf(c, NPUC_DIAG_E0418, v->producer, NULL, "the value \"%s\" has no axis %d", v->name, (int)q->axis);
      return;
    }
    wanted = v->shape.rank >= 0 && dim_is_number(v->shape.dims[q->axis]) ? v->shape.dims[q->axis] : n;
  }
  if (q->scale.type != DTYPE_F32 || n != wanted) {
    failf(c, NPUC_DIAG_E0418, v->producer, NULL, "the value \"%s\" wants %lld float32 scales and has %lld of %s", v->name,
          (long long)wanted, (long long)n, npuc_dtype_name(q->scale.type));
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    double s = npuc_tensor_get(&q->scale, i);
    if (!(s > 0.0) || isinf(s)) {
      failf(c, NPUC_DIAG_E0418, v->producer, NULL, "the value \"%s\" has scale %g at index %lld", v->name, s, (long long)i);
      return;
    }
  }
  const tensor *z = &q->zero_point;
  if (npuc_tensor_elements(z) != n || !npuc_dtype_is_integer(z->type)) {
    failf(c, NPUC_DIAG_E0418, v->producer, NULL, "the value \"%s\" has %lld zero points of type %s for %lld scales", v->name,
          (long long)npuc_tensor_elements(z), npuc_dtype_name(z->type), (long long)n);
  } else if (v->type != DTYPE_NONE && npuc_dtype_is_integer(v->type) && z->type != v->type) {
    failf(c, NPUC_DIAG_E0418, v->producer, NULL, "the value \"%s\" is %s and its zero point %s", v->name, npuc_dtype_name(v->type),
          npuc_dtype_name(z->type));
  }
}

static void check_constant(checker *c, const value *v) {
  const tensor *t = v->constant;
  if (t->type != v->type) {
    failf(c, NPUC_DIAG_E0413, NULL, NULL, "the constant \"%s\" is declared %s and holds %s", v->name, npuc_dtype_name(v->type),
          npuc_dtype_name(t->type));
  }
  int64_t n;
  size_t bytes;
  if (!npuc_shape_elements(&t->shape, &n) || !npuc_dtype_memory(t->type, n, &bytes) || bytes != t->bytes || (bytes && !t->data)) {
    failf(c, NPUC_DIAG_E0401, NULL, NULL, "the constant \"%s\" holds %zu bytes, which its type and shape do not give", v->name, t->bytes);
  } else if (!npuc_shape_equal(&t->shape, &v->shape)) {
    failf(c, NPUC_DIAG_E0414, NULL, NULL, "the constant \"%s\" has another shape than its data", v->name);
  }
}

static void check_value(checker *c, const value *v) {
  if (!*v->name) fail(c, NPUC_DIAG_E0410, v->producer, NULL, "a value has no name");
  if (v->shape.rank < -1 || v->shape.rank > MAX_RANK) {
    failf(c, NPUC_DIAG_E0414, v->producer, NULL, "the value \"%s\" has rank %d; 0 to %d are possible", v->name, (int)v->shape.rank,
          (int)MAX_RANK);
    return;
  }
  for (int32_t i = 0; i < v->shape.rank; i++) {
    if (dim_is_symbol(v->shape.dims[i]) && !npuc_module_symbol_name(c->g->module, v->shape.dims[i])) {
      failf(c, NPUC_DIAG_E0414, v->producer, NULL, "dim %d of \"%s\" is a symbol that the module does not have", (int)i, v->name);
    }
  }
  if (v->constant) check_constant(c, v);
  if (v->quant) check_quant(c, v);
}

/* -- what nodes say -- */

static void check_arity(checker *c, const node *n, bool is_output) {
  const op_def *op = n->op;
  const op_port *ports = is_output ? op->outputs : op->inputs;
  int32_t have = is_output ? n->n_outputs : n->n_inputs, most = is_output ? op->n_outputs : op->n_inputs;
  int32_t least = is_output ? op->min_outputs : op->min_inputs;
  value *const *values = is_output ? n->outputs : n->inputs;
  const char *what = is_output ? "outputs" : "inputs";
  bool variadic = most > 0 && ports[most - 1].variadic;
  if (have < least) failf(c, NPUC_DIAG_E0411, n, NULL, "%d %s, at least %d are needed", (int)have, what, (int)least);
  if (have > most && !variadic) failf(c, NPUC_DIAG_E0411, n, NULL, "%d %s, at most %d are possible", (int)have, what, (int)most);
  for (int32_t i = 0; i < have && (i < most || variadic); i++) {
    const op_port *port = &ports[i < most ? i : most - 1];
    if (!values[i] && !port->optional)
      failf(c, NPUC_DIAG_E0411, n, port->name, "the %s %d may not be omitted", is_output ? "output" : "input", (int)i);
  }
}

npuc_status npuc_node_check_arity(diag *d, const node *n) {
  checker c = {.d = d, .g = n->owner};
  check_arity(&c, n, false);
  check_arity(&c, n, true);
  return c.status;
}

static void check_attribute(checker *c, const node *n, const attr_field *f) {
  const void *at = (const char *)n->attributes + f->offset;
  bool absent = false;
  switch (f->kind) {
    case ATTR_STRING:
      absent = *(const char *const *)at == NULL;
      break;
    case ATTR_TENSOR:
      absent = *(const tensor *const *)at == NULL;
      break;
    case ATTR_TYPE:
      absent = *(const dtype *)at == DTYPE_NONE;
      break;
    case ATTR_GRAPH:
      absent = *(graph *const *)at == NULL;
      break;
    case ATTR_INTS: {
      const int_list *l = at;
      absent = l->count == 0 && !l->values;
      if (l->count < 0 || (l->count > 0 && !l->values)) fail(c, NPUC_DIAG_E0412, n, f->name, "the list is broken");
      break;
    }
    case ATTR_FLOATS: {
      const float_list *l = at;
      absent = l->count == 0 && !l->values;
      if (l->count < 0 || (l->count > 0 && !l->values)) fail(c, NPUC_DIAG_E0412, n, f->name, "the list is broken");
      break;
    }
    case ATTR_STRINGS: {
      const string_list *l = at;
      absent = l->count == 0 && !l->values;
      if (l->count < 0 || (l->count > 0 && !l->values)) fail(c, NPUC_DIAG_E0412, n, f->name, "the list is broken");
      break;
    }
    case ATTR_INT:
    case ATTR_FLOAT:
      break; /* importers check presence: zero is a value */
  }
  if (absent && f->required) fail(c, NPUC_DIAG_E0412, n, f->name, "the attribute is required");
}

/* A branch that never runs was inferred without shapes (ops/control.c), and which one that is, values alone do not say. */
static bool is_open_inside(const node *n, int32_t input) {
  const graph *body;
  int32_t capture = input - (n->n_inputs - npuc_node_captures(n));
  for (int32_t i = 0; capture >= 0 && (body = npuc_node_body(n, i)); i++) {
    if (body->inputs[body->n_inputs - (size_t)body->n_captures + (size_t)capture]->shape.rank < 0) return true;
  }
  return false;
}

/* Infers the node again and compares: a pass that changed a node and left its outputs' old shapes is caught here. */
static void check_inference(checker *c, const node *n, arena *scratch) {
  const fact **inputs = NPUC_NEW_ARRAY(scratch, (size_t)n->n_inputs, const fact *);
  fact *outputs = NPUC_NEW_ARRAY(scratch, (size_t)n->n_outputs, fact);
  for (int32_t i = 0; i < n->n_inputs; i++) {
    if (!n->inputs[i]) continue;
    fact *f = NPUC_NEW(scratch, fact);
    *f = npuc_fact_of_value(n->inputs[i], scratch);
    if (is_open_inside(n, i)) *f = (fact){.type = f->type, .shape = SHAPE_UNKNOWN};
    inputs[i] = f;
  }
  npuc_status status = npuc_infer_outputs(c->d, NULL, scratch, n, inputs, outputs);
  for (int32_t i = 0; status == NPUC_OK && i < n->n_outputs; i++) {
    const value *v = n->outputs[i];
    if (v) status = npuc_fact_merge(c->d, v, v->type, &v->shape, &outputs[i]);
  }
  if (status != NPUC_OK && c->status == NPUC_OK) c->status = status;
}

static void check_node(checker *c, const node *n, arena *scratch) {
  npuc_status before = c->status;
  c->status = NPUC_OK;
  check_arity(c, n, false);
  check_arity(c, n, true);
  if (n->op->attributes_bytes && !n->attributes) fail(c, NPUC_DIAG_E0410, n, NULL, "the node has no attributes struct");
  for (int32_t i = 0; n->attributes && i < n->op->n_attributes; i++) check_attribute(c, n, &n->op->attributes[i]);
  const graph *body;
  for (int32_t i = 0; c->status == NPUC_OK && (body = npuc_node_body(n, i)); i++) c->status = npuc_graph_verify(c->d, body, c->after);
  if (c->status == NPUC_OK) check_inference(c, n, scratch); /* with the definition's own check */
  if (before != NPUC_OK) c->status = before;
}

npuc_status npuc_graph_verify(diag *d, const graph *g, const char *after) {
  checker c = {.d = d, .g = g, .after = after};
  check_links(&c);
  if (c.status != NPUC_OK) return c.status;
  size_t cursor = 0;
  void *item;
  while (npuc_map_next(g->values, &cursor, NULL, &item)) check_value(&c, item);
  if (c.status != NPUC_OK) return c.status;
  arena *scratch = npuc_arena_create();
  for (const node *n = g->first; n; n = n->next) {
    check_node(&c, n, scratch);
    npuc_arena_reset(scratch);
  }
  npuc_arena_destroy(scratch);
  return c.status;
}

npuc_status npuc_module_verify(diag *d, const module *m, const char *after) {
  npuc_status status = NPUC_OK;
  for (size_t i = 0; i < m->n_graphs; i++) {
    npuc_status one = npuc_graph_verify(d, m->graphs[i], after);
    if (status == NPUC_OK) status = one;
    for (size_t k = 0; k < i; k++) {
      if (strcmp(m->graphs[i]->name, m->graphs[k]->name) != 0) continue;
      diag_place place = {.part = m->graphs[i]->name};
      npuc_status twice = npuc_fail(d, NPUC_DIAG_E0416, &place, "two parts have this name");
      if (status == NPUC_OK) status = twice;
    }
  }
  return status;
}
