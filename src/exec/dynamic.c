/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over the nodes, see dynamic.h. A value's buffer goes back to the pool after its last reader; outputs keep theirs until the next run. */
#include "exec/dynamic.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limit.h"

/* -- the pool -- */

typedef struct pool_buffer {
  void *memory;
  size_t bytes;
  bool taken;
} pool_buffer;

struct buffer_pool {
  pool_buffer *buffers;
  size_t n, capacity, total;
};

buffer_pool *npuc_buffer_pool_create(void) { return npuc_xcalloc(1, sizeof(buffer_pool)); }

void npuc_buffer_pool_destroy(buffer_pool *p) {
  if (!p) return;
  for (size_t i = 0; i < p->n; i++) npuc_buffer_destroy(p->buffers[i].memory);
  free(p->buffers);
  free(p);
}

size_t npuc_buffer_pool_bytes(const buffer_pool *p) { return p->total; }

static pool_buffer *add_buffer(buffer_pool *p) {
  if (p->n == p->capacity) {
    p->capacity = p->capacity ? 2 * p->capacity : 16;
    p->buffers = npuc_xrealloc(p->buffers, p->capacity * sizeof *p->buffers);
  }
  p->buffers[p->n] = (pool_buffer){0};
  return &p->buffers[p->n++];
}

static bool fill_buffer(buffer_pool *p, pool_buffer *b, size_t bytes) {
  b->memory = npuc_buffer_create(bytes);
  b->bytes = b->memory ? bytes : 0;
  p->total += b->bytes;
  return b->memory != NULL;
}

/* The smallest free buffer that holds `bytes`; else the largest free one is replaced, with some room to spare, so that a value which grows from turn to turn does not leave a
 * buffer of each size behind; else a new one. NULL when out of memory. */
static void *take(buffer_pool *p, size_t bytes) {
  pool_buffer *best = NULL, *small = NULL;
  for (size_t i = 0; i < p->n; i++) {
    pool_buffer *b = &p->buffers[i];
    if (b->taken) continue;
    if (b->bytes >= bytes) {
      if (!best || b->bytes < best->bytes) best = b;
    } else if (!small || b->bytes > small->bytes) {
      small = b;
    }
  }
  if (!best) {
    best = small ? small : add_buffer(p);
    npuc_buffer_destroy(best->memory);
    p->total -= best->bytes;
    size_t spare = best->memory && bytes < SIZE_MAX / 2 ? bytes / 8 : 0;
    if (!fill_buffer(p, best, bytes + spare) && !(spare && fill_buffer(p, best, bytes))) return NULL;
  }
  best->taken = true;
  return best->memory;
}

static void give_back(buffer_pool *p, const void *memory) {
  for (size_t i = 0; i < p->n && memory; i++) {
    if (p->buffers[i].memory == memory) p->buffers[i].taken = false;
  }
}

static void give_all_back(buffer_pool *p) {
  for (size_t i = 0; i < p->n; i++) p->buffers[i].taken = false;
}

/* -- one node -- */

typedef struct walker {
  diag *d;
  const dynamic_run *r;
  exec_plan *plan;
  arena *scratch; /* of the node */
  const node *node;
} walker;

static tensor *slot(const walker *w, const value *v) { return &w->plan->values[v->id].tensor; }

static npuc_status allocate(walker *w, const value *v, tensor *t) {
  diag_place place = {.node = w->node->name, .op = w->node->op->type};
  int64_t n;
  if (!npuc_shape_elements(&t->shape, &n) || !npuc_dtype_memory(t->type, n, &t->bytes)) {
    return npuc_fail_memory(w->d, &place, SIZE_MAX, "value \"%s\", whose size cannot be addressed", v->name);
  }
  t->data = NULL;
  if (t->bytes && !(t->data = take(w->r->pool, t->bytes))) return npuc_fail_memory(w->d, &place, t->bytes, "value \"%s\"", v->name);
  return NPUC_OK;
}

/* An operator that learns its output's dims by computing asks for them here. */
static npuc_status allocate_output(void *user, int32_t output, const shape *s, tensor *t) {
  walker *w = user;
  t->shape = *s;
  return allocate(w, w->node->outputs[output], t);
}

static npuc_status unknown(const walker *w, const value *v, dtype type) {
  diag_place place = {.node = w->node->name, .op = w->node->op->type};
  return npuc_fail(w->d, NPUC_DIAG_E0604, &place, "the %s of value \"%s\" does not follow from the node's inputs",
                   type == DTYPE_NONE ? "dtype" : "shape", v->name);
}

static npuc_status prepare_outputs(walker *w, const tensor *const *inputs, tensor **outputs) {
  const node *n = w->node;
  fact *facts = NPUC_NEW_ARRAY(w->scratch, (size_t)n->n_inputs + 1, fact);
  fact *results = NPUC_NEW_ARRAY(w->scratch, (size_t)n->n_outputs + 1, fact);
  const fact **known = NPUC_NEW_ARRAY(w->scratch, (size_t)n->n_inputs + 1, const fact *);
  for (int32_t i = 0; i < n->n_inputs; i++) {
    if (!inputs[i]) continue;
    facts[i] = (fact){.type = inputs[i]->type, .shape = inputs[i]->shape, .constant = inputs[i]};
    known[i] = &facts[i];
  }
  NPUC_TRY(npuc_infer_from_data(w->d, w->scratch, n, known, results));
  for (int32_t i = 0; i < n->n_outputs; i++) {
    const value *v = n->outputs[i];
    if (!v) continue;
    tensor *t = outputs[i] = slot(w, v);
    assert(t);
    *t = (tensor){.type = results[i].type, .shape = results[i].shape};
    w->plan->values[v->id].value = v;
    if (t->type == DTYPE_NONE) return unknown(w, v, t->type);
    if (n->op->traits & TRAIT_DATA_SHAPE) continue;
    if (!npuc_shape_is_static(&t->shape)) return unknown(w, v, t->type);
    NPUC_TRY(allocate(w, v, t));
  }
  return NPUC_OK;
}

static npuc_status run_node(walker *w) {
  const node *n = w->node;
  const tensor **inputs = NPUC_NEW_ARRAY(w->scratch, (size_t)n->n_inputs + 1, const tensor *);
  tensor **outputs = NPUC_NEW_ARRAY(w->scratch, (size_t)n->n_outputs + 1, tensor *);
  for (int32_t i = 0; i < n->n_inputs; i++) inputs[i] = n->inputs[i] ? slot(w, n->inputs[i]) : NULL;
  NPUC_TRY(prepare_outputs(w, inputs, outputs));
  eval_context c = w->r->context;
  c.d = w->d;
  c.node = n;
  c.prepared = w->r->source->prepared[n->id];
  c.allocate = allocate_output;
  c.allocate_user = w;
  NPUC_TRY(n->op->eval(&c, inputs, outputs));
  for (int32_t i = 0; i < n->n_outputs; i++) {
    if (n->outputs[i] && w->r->show && !npuc_dtype_is_reference(outputs[i]->type))
      NPUC_TRY(w->r->show(w->r->user, n->outputs[i], outputs[i]));
  }
  return NPUC_OK;
}

/* -- the walk -- */

/* Last node that reads each value, by id; NULL where nothing reads it. */
static const node **last_readers(const graph *g, arena *a) {
  const node **last = NPUC_NEW_ARRAY(a, g->next_value_id + 1, const node *);
  NPUC_EACH_NODE(g, n) {
    for (int32_t i = 0; i < n->n_inputs; i++) {
      if (n->inputs[i]) last[n->inputs[i]->id] = n;
    }
  }
  return last;
}

static void release_dead(walker *w, const node **last) {
  const node *n = w->node;
  if (w->r->source->keep_all) return;
  for (int32_t i = 0; i < n->n_inputs; i++) {
    const value *v = n->inputs[i];
    if (!v || !v->producer || v->is_output || last[v->id] != n) continue;
    give_back(w->r->pool, slot(w, v)->data);
    slot(w, v)->data = NULL; /* the same value may be read twice by n */
  }
  for (int32_t i = 0; i < n->n_outputs; i++) {
    const value *v = n->outputs[i];
    if (v && !v->is_output && !last[v->id]) give_back(w->r->pool, slot(w, v)->data);
  }
}

static void place_constant(walker *w, const value *v) {
  if (!v || !v->constant || v->is_input) return;
  w->plan->values[v->id].value = v;
  *slot(w, v) = w->r->source->constants[v->id];
}

static void place_known(walker *w, const tensor *inputs) {
  const graph *g = w->r->source->graph;
  for (size_t i = 0; i < g->n_inputs; i++) {
    w->plan->values[g->inputs[i]->id].value = g->inputs[i];
    *slot(w, g->inputs[i]) = inputs[i];
  }
  NPUC_EACH_NODE(g, n) {
    for (int32_t i = 0; i < n->n_inputs; i++) place_constant(w, n->inputs[i]);
  }
  for (size_t i = 0; i < g->n_outputs; i++) place_constant(w, g->outputs[i]);
}

/* An output that is an input lies in the caller's memory: a copy is given. */
static npuc_status give_outputs(walker *w, tensor *out_outputs) {
  const graph *g = w->r->source->graph;
  for (size_t i = 0; i < g->n_outputs; i++) {
    tensor t = *slot(w, g->outputs[i]);
    if (g->outputs[i]->is_input && t.bytes) {
      const void *from = t.data;
      t.data = take(w->r->pool, t.bytes);
      if (!t.data) return npuc_fail_memory(w->d, NULL, t.bytes, "an output");
      memcpy(t.data, from, t.bytes);
    }
    t.owner = NULL;
    out_outputs[i] = t;
  }
  return NPUC_OK;
}

npuc_status npuc_dynamic_run(diag *d, const dynamic_run *r, exec_plan *plan, const tensor *inputs, tensor *out_outputs) {
  const graph *g = r->source->graph;
  arena *a = npuc_arena_create();
  walker w = {.d = d, .r = r, .plan = plan, .scratch = npuc_arena_create()};
  const node **last = last_readers(g, a);
  give_all_back(r->pool);
  place_known(&w, inputs);
  npuc_status status = NPUC_OK;
  for (size_t i = 0; i < g->n_inputs && status == NPUC_OK && r->show; i++)
    if (!npuc_dtype_is_reference(inputs[i].type)) status = r->show(r->user, g->inputs[i], &inputs[i]);
  for (w.node = g->first; w.node && status == NPUC_OK; w.node = w.node->next) {
    npuc_arena_reset(w.scratch);
    status = run_node(&w);
    if (status == NPUC_OK) release_dead(&w, last);
  }
  if (status == NPUC_OK) status = give_outputs(&w, out_outputs);
  npuc_arena_destroy(w.scratch);
  npuc_arena_destroy(a);
  return status;
}
