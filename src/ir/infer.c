/* SPDX-License-Identifier: Apache-2.0 */
/* Types and shapes of a whole graph, one node after the other in order.
 *
 * Exporters compute shapes by nodes: Shape -> Gather -> Concat -> Reshape. So a fact carries more than a shape. Two things travel:
 *   content   the elements of a small integer vector as dims, numbers or symbols; operators hand it on in their `infer`
 *   constant  the elements themselves; a node whose inputs are all constant and small is simply evaluated
 * and each gives the other where it can: a content of numbers only is a constant, a constant that fits is a content. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/internal.h"
#include "ir/eval/eval.h"

enum { MAX_CONTENT = 64, MAX_EVALUATED_BYTES = 64 << 10 };

/* -- content and constant -- */

static bool holds_dims(dtype type, const shape *s) {
  return (type == DTYPE_I64 || type == DTYPE_I32) &&
         (s->rank == 0 || (s->rank == 1 && dim_is_number(s->dims[0]) && s->dims[0] <= MAX_CONTENT));
}

/* Negative elements (the -1 of a Reshape) are not dims: content says nothing then, the constant does. */
static void content_from_constant(fact *f, arena *scratch) {
  if (!f->constant || f->content || !holds_dims(f->constant->type, &f->constant->shape)) return;
  int32_t n = (int32_t)npuc_tensor_elements(f->constant);
  dim *content = NPUC_NEW_ARRAY(scratch, (size_t)n, dim);
  for (int32_t i = 0; i < n; i++) {
    int64_t element = npuc_tensor_get_int(f->constant, i);
    if (element < 0) return;
    content[i] = element;
  }
  f->content = content;
  f->n_content = n;
}

static void *aligned(arena *scratch, size_t bytes) {
  uintptr_t p = (uintptr_t)npuc_arena_alloc(scratch, bytes + 64);
  return (void *)((p + 63) & ~(uintptr_t)63);
}

static void constant_from_content(fact *f, arena *scratch) {
  assert(f);
  if (f->constant || !f->content || !holds_dims(f->type, &f->shape)) return;
  int64_t n;
  if (!npuc_shape_elements(&f->shape, &n) || n != f->n_content) return;
  for (int64_t i = 0; i < n; i++) {
    if (!dim_is_number(f->content[i])) return;
  }
  tensor *t = NPUC_NEW(scratch, tensor);
  *t = (tensor){.type = f->type, .shape = f->shape};
  bool sized = npuc_dtype_memory(f->type, n, &t->bytes);
  assert(sized);
  (void)sized;
  t->data = aligned(scratch, t->bytes);
  for (int64_t i = 0; i < n; i++) npuc_tensor_set_int(t, i, f->content[i]);
  f->constant = t;
}

fact npuc_fact_of_value(const value *v, arena *scratch) {
  fact f = {.type = v->type, .shape = v->shape, .constant = v->constant};
  content_from_constant(&f, scratch);
  return f;
}

/* -- evaluation of small constant nodes -- */

static bool inputs_are_small_constants(const node *n, const fact *const *inputs) {
  size_t bytes = 0;
  for (int32_t i = 0; i < n->n_inputs; i++) {
    assert(inputs);
    if (!inputs[i]) continue;
    if (!inputs[i]->constant) return false;
    bytes += inputs[i]->constant->bytes;
  }
  return bytes <= MAX_EVALUATED_BYTES;
}

static bool outputs_are_small(const node *n, const fact *outputs) {
  size_t total = 0;
  for (int32_t i = 0; i < n->n_outputs; i++) {
    int64_t elements;
    size_t bytes;
    if (!n->outputs[i]) continue;
    if (!npuc_shape_elements(&outputs[i].shape, &elements) || !npuc_dtype_memory(outputs[i].type, elements, &bytes)) return false;
    if (bytes > MAX_EVALUATED_BYTES - total) return false;
    total += bytes;
  }
  return true;
}

/* A node that cannot be evaluated (its attributes or data are bad, or nothing evaluates it yet) is merely not known: whoever verifies or runs it reports. */
static void evaluate(arena *scratch, const node *n, const fact *const *inputs, fact *outputs) {
  if (!n->op->eval || !inputs_are_small_constants(n, inputs) || !outputs_are_small(n, outputs)) return;
  const tensor **in = NPUC_NEW_ARRAY(scratch, (size_t)n->n_inputs, const tensor *);
  tensor *results = NPUC_NEW_ARRAY(scratch, (size_t)n->n_outputs, tensor);
  tensor **out = NPUC_NEW_ARRAY(scratch, (size_t)n->n_outputs, tensor *);
  for (int32_t i = 0; i < n->n_inputs; i++) in[i] = inputs[i] ? inputs[i]->constant : NULL;
  for (int32_t i = 0; i < n->n_outputs; i++) {
    out[i] = &results[i];
    if (!n->outputs[i]) continue;
    results[i] = (tensor){.type = outputs[i].type, .shape = outputs[i].shape};
    bool sized = npuc_dtype_memory(outputs[i].type, npuc_tensor_elements(&results[i]), &results[i].bytes);
    assert(sized);
    (void)sized;
    results[i].data = aligned(scratch, results[i].bytes);
  }
  eval_context c = {.node = n};
  if (npuc_eval_node(&c, in, out) != NPUC_OK) return;
  for (int32_t i = 0; i < n->n_outputs; i++) {
    if (n->outputs[i] && !outputs[i].constant) outputs[i].constant = &results[i];
  }
}

/* Texts and lists go where the operator says that it takes them, or moves what it is given. */
static npuc_status check_references(diag *d, const node *n, const fact *const *inputs) {
  for (int32_t i = 0; i < n->n_inputs; i++) {
    dtype type = inputs && inputs[i] ? inputs[i]->type : DTYPE_NONE;
    unsigned wanted = npuc_dtype_is_list(type) ? TRAIT_TAKES_LISTS : TRAIT_TAKES_TEXT | TRAIT_MOVES_DATA;
    if (!npuc_dtype_is_reference(type) || n->op->traits & wanted) continue;
    diag_place place = {.part = n->owner->name, .node = n->name, .op = n->op->type};
    return npuc_fail(d, NPUC_DIAG_E0442, &place, "input %d is %s, which %s does not take", (int)i, npuc_dtype_name(type), n->op->type);
  }
  return NPUC_OK;
}

npuc_status npuc_infer_outputs(diag *d, module *m, arena *scratch, const node *n, const fact *const *inputs, fact *outputs) {
  for (int32_t i = 0; i < n->n_outputs; i++) outputs[i] = (fact){.type = DTYPE_NONE, .shape = SHAPE_UNKNOWN};
  /* Inference and evaluation rely on what these find, and files are inferred before they are verified. */
  NPUC_TRY(npuc_node_check_arity(d, n));
  if (n->op->verify) NPUC_TRY(n->op->verify(d, n));
  NPUC_TRY(check_references(d, n, inputs));
  if (!n->op->infer) return NPUC_OK;
  infer_context c = {.d = d, .module = m, .scratch = scratch, .node = n, .inputs = inputs, .outputs = outputs};
  NPUC_TRY(n->op->infer(&c));
  for (int32_t i = 0; i < n->n_outputs; i++) constant_from_content(&outputs[i], scratch);
  bool known = true;
  for (int32_t i = 0; i < n->n_outputs; i++) known = known && (!n->outputs[i] || outputs[i].constant);
  if (!known) evaluate(scratch, n, inputs, outputs);
  for (int32_t i = 0; i < n->n_outputs; i++) content_from_constant(&outputs[i], scratch);
  return NPUC_OK;
}

/* -- declared and inferred -- */

static const char *dim_text(const module *m, dim d, char *buffer, size_t bytes) {
  if (dim_is_number(d))
    snprintf(buffer, bytes, "%lld", (long long)d);
  else
    snprintf(buffer, bytes, "%s", dim_is_symbol(d) ? npuc_module_symbol_name(m, d) : "?");
  return buffer;
}

static npuc_status fail_shape(diag *d, const value *v, const shape *declared, const shape *inferred) {
  diag_place place = {
      .part = v->owner->name, .node = v->producer ? v->producer->name : v->name, .op = v->producer ? v->producer->op->type : NULL};
  char text[2][MAX_RANK * 24 + 8];
  const shape *shapes[2] = {declared, inferred};
  for (int k = 0; k < 2; k++) {
    size_t at = (size_t)snprintf(text[k], sizeof text[k], "[");
    for (int32_t i = 0; i < shapes[k]->rank; i++) {
      char one[20];
      at += (size_t)snprintf(text[k] + at, sizeof text[k] - at, "%s%s", i ? "," : "",
                             dim_text(v->owner->module, shapes[k]->dims[i], one, sizeof one));
    }
    snprintf(text[k] + at, sizeof text[k] - at, "]");
  }
  return npuc_fail(d, NPUC_DIAG_E0414, &place, "the value \"%s\" is declared %s, and its node gives %s", v->name, text[0], text[1]);
}

/* A number says more than a symbol, a symbol more than nothing; of two symbols the inferred one ties the value to the inputs. */
npuc_status npuc_fact_merge(diag *d, const value *v, dtype declared_type, const shape *declared, fact *inferred) {
  if (inferred->type == DTYPE_NONE) {
    inferred->type = declared_type;
  } else if (declared_type != DTYPE_NONE && declared_type != inferred->type) {
    diag_place place = {
        .part = v->owner->name, .node = v->producer ? v->producer->name : v->name, .op = v->producer ? v->producer->op->type : NULL};
    return npuc_fail(d, NPUC_DIAG_E0413, &place, "the value \"%s\" is declared %s, and its node gives %s", v->name,
                     npuc_dtype_name(declared_type), npuc_dtype_name(inferred->type));
  }
  shape *s = &inferred->shape;
  if (declared->rank < 0) return NPUC_OK;
  if (s->rank < 0) {
    *s = *declared;
    return NPUC_OK;
  }
  if (s->rank != declared->rank) return fail_shape(d, v, declared, s);
  for (int32_t i = 0; i < s->rank; i++) {
    if (dim_is_number(s->dims[i])) {
      if (dim_is_number(declared->dims[i]) && declared->dims[i] != s->dims[i]) return fail_shape(d, v, declared, s);
    } else if (dim_is_number(declared->dims[i]) || s->dims[i] == DIM_UNKNOWN) {
      s->dims[i] = declared->dims[i];
    }
  }
  return NPUC_OK;
}

/* -- drivers -- */

/* The room that one node needs, grown to the widest. */
typedef struct ports {
  const fact **inputs;
  fact *outputs;
  int32_t input_capacity, output_capacity;
} ports;

static void ports_fit(ports *p, const node *n) {
  if (n->n_inputs > p->input_capacity) {
    p->input_capacity = n->n_inputs * 2;
    p->inputs = npuc_xrealloc(p->inputs, (size_t)p->input_capacity * sizeof *p->inputs);
  }
  if (n->n_outputs > p->output_capacity) {
    p->output_capacity = n->n_outputs * 2;
    p->outputs = npuc_xrealloc(p->outputs, (size_t)p->output_capacity * sizeof *p->outputs);
  }
}

static void ports_free(ports *p) {
  free(p->inputs);
  free(p->outputs);
}

/* Symbols that the given inputs decide: a declared [N,3] met by [4,3] makes N four wherever a declaration speaks of it. */
static dim *bind_symbols(const graph *g, const fact *inputs, arena *scratch) {
  size_t n = g->module->n_symbols;
  dim *bound = NPUC_NEW_ARRAY(scratch, n, dim);
  for (size_t i = 0; i < n; i++) bound[i] = dim_of_symbol((int32_t)i);
  for (size_t i = 0; inputs && i < g->n_inputs; i++) {
    const shape *declared = &g->inputs[i]->shape, *given = &inputs[i].shape;
    for (int32_t k = 0; declared->rank == given->rank && k < given->rank; k++) {
      if (dim_is_symbol(declared->dims[k])) bound[dim_symbol_id(declared->dims[k])] = given->dims[k];
    }
  }
  return bound;
}

static shape bound_shape(const shape *s, const dim *bound) {
  shape result = *s;
  for (int32_t i = 0; i < s->rank; i++) {
    if (dim_is_symbol(s->dims[i])) result.dims[i] = bound[dim_symbol_id(s->dims[i])];
  }
  return result;
}

/* Where a name stands already, a symbol made up just now says nothing: inferring twice changes nothing. */
static void prefer_declared(shape *inferred, const shape *declared, size_t n_known_symbols) {
  if (inferred->rank != declared->rank) return;
  for (int32_t i = 0; i < inferred->rank; i++) {
    bool fresh = dim_is_symbol(inferred->dims[i]) && (size_t)dim_symbol_id(inferred->dims[i]) >= n_known_symbols;
    if (fresh && declared->dims[i] != DIM_UNKNOWN) inferred->dims[i] = declared->dims[i];
  }
}

static npuc_status infer_one(diag *d, module *m, arena *scratch, const node *n, const dim *bound, ports *p, fact *facts) {
  ports_fit(p, n);
  for (int32_t i = 0; i < n->n_inputs; i++) p->inputs[i] = n->inputs[i] ? &facts[n->inputs[i]->id] : NULL;
  size_t n_symbols = n->owner->module->n_symbols;
  NPUC_TRY(npuc_infer_outputs(d, m, scratch, n, p->inputs, p->outputs));
  for (int32_t i = 0; i < n->n_outputs; i++) {
    const value *v = n->outputs[i];
    if (!v) continue;
    shape declared = bound ? bound_shape(&v->shape, bound) : v->shape;
    prefer_declared(&p->outputs[i].shape, &declared, n_symbols);
    NPUC_TRY(npuc_fact_merge(d, v, v->type, &declared, &p->outputs[i]));
    facts[v->id] = p->outputs[i];
  }
  return NPUC_OK;
}

static fact *initial_facts(const graph *g, const fact *inputs, arena *scratch) {
  fact *facts = NPUC_NEW_ARRAY(scratch, g->next_value_id, fact);
  for (uint32_t i = 0; i < g->next_value_id; i++) facts[i].shape.rank = -1;
  size_t cursor = 0;
  void *item;
  while (npuc_map_next(g->values, &cursor, NULL, &item)) {
    const value *v = item;
    if (!v->producer) facts[v->id] = npuc_fact_of_value(v, scratch);
  }
  for (size_t i = 0; inputs && i < g->n_inputs; i++) {
    fact f = inputs[i];
    content_from_constant(&f, scratch);
    facts[g->inputs[i]->id] = f;
  }
  return facts;
}

npuc_status npuc_graph_infer_facts(diag *d, const graph *g, const fact *inputs, arena *scratch, fact **out_facts) {
  fact *facts = initial_facts(g, inputs, scratch);
  const dim *bound = bind_symbols(g, inputs, scratch);
  ports p = {0};
  npuc_status status = NPUC_OK;
  for (const node *n = g->first; n && status == NPUC_OK; n = n->next) status = infer_one(d, NULL, scratch, n, bound, &p, facts);
  ports_free(&p);
  if (status == NPUC_OK) *out_facts = facts;
  return status;
}

npuc_status npuc_infer_from_data(diag *d, arena *scratch, const node *n, const fact *const *inputs, fact *outputs) {
  for (int32_t i = 0; i < n->n_outputs; i++) outputs[i] = (fact){.type = DTYPE_NONE, .shape = SHAPE_UNKNOWN};
  infer_context c = {.d = d, .scratch = scratch, .node = n, .inputs = inputs, .outputs = outputs};
  if (n->op->infer) NPUC_TRY(n->op->infer(&c));
  for (int32_t i = 0; i < n->n_outputs; i++) {
    const value *v = n->outputs[i];
    if (v) NPUC_TRY(npuc_fact_merge(d, v, v->type, &v->shape, &outputs[i]));
  }
  return NPUC_OK;
}

static npuc_status write_back(diag *d, node *n, const fact *outputs) {
  for (int32_t i = 0; i < n->n_outputs; i++) {
    if (!n->outputs[i]) continue;
    n->outputs[i]->type = outputs[i].type;
    n->outputs[i]->shape = outputs[i].shape;
  }
  return n->op->complete ? n->op->complete(d, n) : NPUC_OK;
}

static npuc_status infer_and_write(diag *d, graph *g, const fact *inputs, arena *scratch, fact **out_facts) {
  fact *facts = initial_facts(g, inputs, scratch);
  ports p = {0};
  npuc_status status = NPUC_OK;
  for (node *n = g->first; n && status == NPUC_OK; n = n->next) {
    status = infer_one(d, g->module, scratch, n, NULL, &p, facts);
    if (status == NPUC_OK) status = write_back(d, n, p.outputs);
  }
  ports_free(&p);
  *out_facts = facts;
  return status;
}

npuc_status npuc_graph_infer(diag *d, graph *g) {
  arena *scratch = npuc_arena_create();
  fact *facts;
  npuc_status status = infer_and_write(d, g, NULL, scratch, &facts);
  npuc_arena_destroy(scratch);
  return status;
}

/* What a body's file declares of its inputs is believed where nothing better is known. */
static fact *body_inputs(const infer_context *c, const graph *body, const fact *inputs) {
  fact *merged = NPUC_NEW_ARRAY(c->scratch, body->n_inputs, fact);
  for (size_t i = 0; i < body->n_inputs; i++) {
    merged[i] = inputs[i];
    if (merged[i].type == DTYPE_NONE) merged[i].type = body->inputs[i]->type;
  }
  return merged;
}

npuc_status npuc_infer_body(infer_context *c, graph *body, const fact *inputs, fact *out_results) {
  fact *facts, *given = body_inputs(c, body, inputs);
  if (c->module) {
    for (size_t i = 0; i < body->n_inputs; i++) {
      body->inputs[i]->type = given[i].type;
      body->inputs[i]->shape = given[i].shape;
    }
    NPUC_TRY(infer_and_write(c->d, body, given, c->scratch, &facts));
  } else {
    NPUC_TRY(npuc_graph_infer_facts(c->d, body, given, c->scratch, &facts));
  }
  for (size_t i = 0; i < body->n_outputs; i++) {
    const fact *f = &facts[body->outputs[i]->id];
    out_results[i] = *f;
  }
  return NPUC_OK;
}

npuc_status npuc_node_infer(diag *d, node *n) {
  arena *scratch = npuc_arena_create();
  ports p = {0};
  ports_fit(&p, n);
  for (int32_t i = 0; i < n->n_inputs; i++) {
    p.inputs[i] = NULL;
    if (!n->inputs[i]) continue;
    fact *f = NPUC_NEW(scratch, fact);
    *f = npuc_fact_of_value(n->inputs[i], scratch);
    p.inputs[i] = f;
  }
  npuc_status status = npuc_infer_outputs(d, n->owner->module, scratch, n, p.inputs, p.outputs);
  for (int32_t i = 0; status == NPUC_OK && i < n->n_outputs; i++) {
    const value *v = n->outputs[i];
    if (v) status = npuc_fact_merge(d, v, v->type, &v->shape, &p.outputs[i]);
  }
  if (status == NPUC_OK) status = write_back(d, n, p.outputs);
  ports_free(&p);
  npuc_arena_destroy(scratch);
  return status;
}

void npuc_graph_forget_shapes(graph *g) {
  graph *body;
  NPUC_EACH_NODE(g, n) {
    for (int32_t i = 0; (body = npuc_node_body(n, i)); i++) npuc_graph_forget_shapes(body);
    for (int32_t i = 0; i < n->n_outputs; i++) {
      if (n->outputs[i]) n->outputs[i]->shape = SHAPE_UNKNOWN;
    }
  }
}
