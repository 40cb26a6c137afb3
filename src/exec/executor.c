/* SPDX-License-Identifier: Apache-2.0 */
/* Running a plan: bind addresses, walk the steps, show values to the observer. Plans are kept by input dims; activation and scratch
 * memory are shared by all of them and only grow, so that a second run with the same dims allocates nothing. */
#include "exec/executor.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/limit.h"
#include "exec/dynamic.h"
#include "exec/heap.h"
#include "ir/decoder_form.h"
#include "kernels/kernels.h"

/* What one thread runs a plan in. */
typedef struct exec_lane {
  char *memory;
  size_t memory_bytes;
  void *scratch;
  size_t scratch_bytes;
  tensor *parts; /* [graph->n_inputs]: some samples of the inputs */
} exec_lane;

struct executor {
  const graph *graph;
  exec_options options;
  kernel_set kernels;
  tensor *constants;       /* by value id: aligned, of the graph or our own copy */
  void **owned;            /* by value id: the copy, or NULL */
  void **prepared;         /* by node id */
  exec_plan *plans;        /* latest used first */
  const exec_plan *latest; /* of the last good run */
  exec_lane *lanes;        /* [threads of the pool]; the first is used where threads share the nodes of one plan */
  size_t n_lanes;
  shape *shapes;  /* [graph->n_inputs]: of the run being started */
  tensor *whole;  /* [graph->n_inputs]: a batch's inputs, aligned */
  run_heap *heap; /* what references name; a body's is that of the executor around it */
  bool owns_heap;
  tensor *kept;      /* [graph->n_inputs]: the inputs of the run, those that hold references copied to the heap; NULL: no input holds any */
  buffer_pool *pool; /* of runs whose shapes depend on data */
  executor ***bodies; /* by node id: an executor for each of the node's bodies, or NULL */
  bool is_decoder;    /* a static decoder, whose calls are checked against its cache */
  decoder_form form;
  void **aligned; /* [graph->n_inputs]: copy of an input that came at an odd address */
  size_t *aligned_bytes;
};

static npuc_status out_of_memory(diag *d, size_t bytes, const char *what) { return npuc_fail_memory(d, NULL, bytes, "%s", what); }

/* -- create -- */

static bool is_aligned(const tensor *t) {
  size_t bytes = npuc_dtype_width(t->type);
  return bytes < 2 || (uintptr_t)t->data % bytes == 0;
}

/* Whether every reader takes this value from its prepared form. */
static bool only_prepared(const executor *e, const value *v) {
  for (size_t i = 0; i < v->n_uses; i++) {
    const use *u = &v->uses[i];
    if (!e->prepared[u->user->id] || u->user->op->id != OP_CONV || u->index != 1) return false;
  }
  return v->n_uses > 0 && !v->is_output;
}

static npuc_status hold_constant(executor *e, diag *d, const value *v) {
  if (!v || !v->constant || e->constants[v->id].type != DTYPE_NONE) return NPUC_OK;
  e->constants[v->id] = *v->constant;
  if (v->constant->bytes == 0 || is_aligned(v->constant) || only_prepared(e, v)) return NPUC_OK;
  void *copy = npuc_buffer_create(v->constant->bytes);
  if (!copy) return out_of_memory(d, v->constant->bytes, "constants");
  memcpy(copy, v->constant->data, v->constant->bytes);
  e->owned[v->id] = copy;
  e->constants[v->id].data = copy;
  return NPUC_OK;
}

static npuc_status prepare_node(executor *e, diag *d, const node *n) {
  const tensor **constants = npuc_xcalloc((size_t)n->n_inputs + 1, sizeof *constants);
  for (int32_t i = 0; i < n->n_inputs; i++) constants[i] = n->inputs[i] && !n->inputs[i]->is_input ? n->inputs[i]->constant : NULL;
  npuc_status status = npuc_eval_prepare(d, &e->kernels, n, constants, &e->prepared[n->id]);
  free(constants);
  return status;
}

/* Bodies are graphs like any other, with executors of their own, which keep plans and memory from one run to the next. Nobody looks at their values. */
static npuc_status create(diag *d, const graph *g, const exec_options *options, run_heap *heap, executor **out_executor);

static npuc_status prepare_bodies(executor *e, diag *d, const node *n) {
  size_t count = 0;
  while (npuc_node_body(n, (int32_t)count)) count++;
  if (count == 0) return NPUC_OK;
  const exec_options options = {.pool = e->options.pool};
  executor **bodies = e->bodies[n->id] = npuc_xcalloc(count + 1, sizeof(executor *));
  for (size_t i = 0; i < count; i++) NPUC_TRY(create(d, npuc_node_body(n, (int32_t)i), &options, e->heap, &bodies[i]));
  return NPUC_OK;
}

static npuc_status prepare_graph(executor *e, diag *d) {
  const graph *g = e->graph;
  NPUC_TRY(npuc_kernels_select(d, &e->kernels));
  NPUC_EACH_NODE(g, n) NPUC_TRY(prepare_node(e, d, n));
  NPUC_EACH_NODE(g, n) NPUC_TRY(prepare_bodies(e, d, n));
  NPUC_EACH_NODE(g, n) {
    for (int32_t i = 0; i < n->n_inputs; i++) NPUC_TRY(hold_constant(e, d, n->inputs[i]));
  }
  for (size_t i = 0; i < g->n_outputs; i++) NPUC_TRY(hold_constant(e, d, g->outputs[i]));
  return NPUC_OK;
}

/* Where the caller gives references, they are copied: the caller's may go before the outputs do. */
static bool takes_references(const graph *g) {
  for (size_t i = 0; i < g->n_inputs; i++) {
    if (npuc_dtype_is_reference(g->inputs[i]->type)) return true;
  }
  return false;
}

static npuc_status create(diag *d, const graph *g, const exec_options *options, run_heap *heap, executor **out_executor) {
  executor *e = npuc_xcalloc(1, sizeof *e);
  e->graph = g;
  e->heap = heap ? heap : npuc_run_heap_create();
  e->owns_heap = !heap;
  if (!heap && takes_references(g)) e->kept = npuc_xcalloc(g->n_inputs + 1, sizeof *e->kept);
  if (options) e->options = *options;
  e->constants = npuc_xcalloc((size_t)g->next_value_id + 1, sizeof *e->constants);
  e->owned = npuc_xcalloc((size_t)g->next_value_id + 1, sizeof *e->owned);
  e->prepared = npuc_xcalloc((size_t)g->next_node_id + 1, sizeof *e->prepared);
  e->bodies = npuc_xcalloc((size_t)g->next_node_id + 1, sizeof *e->bodies);
  e->shapes = npuc_xcalloc(g->n_inputs + 1, sizeof *e->shapes);
  e->whole = npuc_xcalloc(g->n_inputs + 1, sizeof *e->whole);
  e->n_lanes = npuc_pool_threads(e->options.pool);
  e->lanes = npuc_xcalloc(e->n_lanes, sizeof *e->lanes);
  for (size_t i = 0; i < e->n_lanes; i++) e->lanes[i].parts = npuc_xcalloc(g->n_inputs + 1, sizeof(tensor));
  e->aligned = npuc_xcalloc(g->n_inputs + 1, sizeof *e->aligned);
  e->aligned_bytes = npuc_xcalloc(g->n_inputs + 1, sizeof *e->aligned_bytes);
  e->is_decoder = g->module->n_graphs && g->module->graphs[0] == g && npuc_decoder_form_of(g->module, &e->form);
  npuc_status status = prepare_graph(e, d);
  if (status == NPUC_OK) {
    *out_executor = e;
  } else {
    npuc_executor_destroy(e);
  }
  return status;
}

static npuc_status check_port(diag *d, const value *v, const char *what) {
  if (!npuc_dtype_is_reference(v->type)) return NPUC_OK;
  diag_place place = {.part = v->owner->name, .node = v->name};
  return npuc_fail(d, NPUC_DIAG_E0606, &place, "the %s \"%s\" is %s", what, v->name, npuc_dtype_name(v->type));
}

npuc_status npuc_executor_create(diag *d, const graph *g, const exec_options *options, executor **out_executor) {
  bool checks = !options || !options->takes_references;
  for (size_t i = 0; checks && i < g->n_inputs; i++) NPUC_TRY(check_port(d, g->inputs[i], "input"));
  for (size_t i = 0; checks && i < g->n_outputs; i++) NPUC_TRY(check_port(d, g->outputs[i], "output"));
  return create(d, g, options, NULL, out_executor);
}

void npuc_executor_destroy(executor *e) {
  if (!e) return;
  for (size_t i = 0; i < e->graph->next_value_id; i++) npuc_buffer_destroy(e->owned[i]);
  for (size_t i = 0; i < e->graph->next_node_id; i++) npuc_buffer_destroy(e->prepared[i]);
  for (size_t i = 0; i < e->graph->next_node_id; i++) {
    for (executor **b = e->bodies[i]; b && *b; b++) npuc_executor_destroy(*b);
    free(e->bodies[i]);
  }
  free(e->bodies);
  for (exec_plan *p = e->plans, *next; p; p = next) {
    next = p->next;
    npuc_exec_plan_destroy(p);
  }
  for (size_t i = 0; i < e->n_lanes; i++) {
    npuc_buffer_destroy(e->lanes[i].memory);
    npuc_buffer_destroy(e->lanes[i].scratch);
    free(e->lanes[i].parts);
  }
  free(e->lanes);
  npuc_buffer_pool_destroy(e->pool);
  if (e->owns_heap) npuc_run_heap_destroy(e->heap);
  free(e->kept);
  free(e->constants);
  free(e->owned);
  free(e->prepared);
  for (size_t i = 0; i < e->graph->n_inputs; i++) npuc_buffer_destroy(e->aligned[i]);
  free(e->shapes);
  free(e->whole);
  free(e->aligned);
  free(e->aligned_bytes);
  free(e);
}

/* -- inputs -- */

static npuc_status bad_input(diag *d, const value *v, const char *format, long long wanted, long long given, int axis) {
  diag_place place = {.node = v->name};
  npuc_status status = npuc_fail(d, NPUC_DIAG_E0601, &place, format, v->name, axis, wanted, given);
  npuc_fix(d, "npuc inspect MODEL");
  return status;
}

/* The dim that the graph input before `i` gave to a symbol, or -1. */
static int64_t bound_dim(const executor *e, const tensor *inputs, size_t i, int32_t axis, dim symbol) {
  for (size_t k = 0; k <= i; k++) {
    const shape *s = &e->graph->inputs[k]->shape;
    for (int32_t j = 0; j < s->rank && (k < i || j < axis); j++) {
      if (s->dims[j] == symbol) return inputs[k].shape.dims[j];
    }
  }
  return -1;
}

static npuc_status check_input(const executor *e, diag *d, const tensor *inputs, size_t i) {
  const value *v = e->graph->inputs[i];
  const tensor *t = &inputs[i];
  if (t->type != v->type) {
    diag_place place = {.node = v->name};
    return npuc_fail(d, NPUC_DIAG_E0601, &place, "input \"%s\" is %s, and %s was given", v->name, npuc_dtype_name(v->type),
                     npuc_dtype_name(t->type));
  }
  if (v->shape.rank < 0) return NPUC_OK;
  if (t->shape.rank != v->shape.rank)
    return bad_input(d, v, "input \"%s\": rank of axis count %d: %lld wanted, %lld given", v->shape.rank, t->shape.rank, 0);
  for (int32_t axis = 0; axis < v->shape.rank; axis++) {
    dim declared = v->shape.dims[axis], given = t->shape.dims[axis];
    if (dim_is_symbol(declared)) {
      int64_t bound = bound_dim(e, inputs, i, axis, declared);
      if (bound < 0) continue;
      declared = bound;
    }
    if (dim_is_number(declared) && declared != given)
      return bad_input(d, v, "input \"%s\", axis %d: %lld wanted, %lld given", declared, given, axis);
  }
  return NPUC_OK;
}

/* -- plans -- */

static bool fits_shapes(const exec_plan *p, const shape *shapes, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!npuc_shape_equal(&p->input_shapes[i], &shapes[i])) return false;
  return true;
}

static exec_plan *find_plan(executor *e) {
  for (exec_plan **at = &e->plans; *at; at = &(*at)->next) {
    exec_plan *p = *at;
    if (!fits_shapes(p, e->shapes, e->graph->n_inputs)) continue;
    *at = p->next;
    p->next = e->plans;
    e->plans = p;
    return p;
  }
  return NULL;
}

static plan_source source_of(const executor *e) {
  return (plan_source){.graph = e->graph,
                       .keep_all = e->options.keep_all,
                       .fuse = !e->options.keep_all && !e->options.observe,
                       .single = e->options.on_step != NULL,
                       .threads = npuc_pool_threads(e->options.pool),
                       .constants = e->constants,
                       .kernels = &e->kernels,
                       .prepared = e->prepared};
}

static npuc_status plan_for(executor *e, diag *d, exec_plan **out_plan) {
  *out_plan = find_plan(e);
  if (*out_plan) return NPUC_OK;
  plan_source source = source_of(e);
  NPUC_TRY(npuc_exec_plan_create(d, &source, e->shapes, out_plan));
  (*out_plan)->next = e->plans;
  e->plans = *out_plan;
  return NPUC_OK;
}

static npuc_status reserve(exec_lane *l, diag *d, size_t bytes) {
  if (l->memory_bytes >= bytes) return NPUC_OK;
  npuc_buffer_destroy(l->memory);
  l->memory_bytes = 0;
  l->memory = npuc_buffer_create(bytes);
  if (!l->memory) return out_of_memory(d, bytes, "activation memory");
  l->memory_bytes = bytes;
  return NPUC_OK;
}

/* Where the kernels read input `i`: the caller's bytes, or an aligned copy of them. */
static npuc_status align_input(executor *e, diag *d, const tensor *t, size_t i, void **out_data) {
  *out_data = t->data;
  if (t->bytes == 0 || is_aligned(t)) return NPUC_OK;
  if (e->aligned_bytes[i] < t->bytes) {
    npuc_buffer_destroy(e->aligned[i]);
    e->aligned_bytes[i] = 0;
    e->aligned[i] = npuc_buffer_create(t->bytes);
    if (!e->aligned[i]) return out_of_memory(d, t->bytes, "inputs");
    e->aligned_bytes[i] = t->bytes;
  }
  memcpy(e->aligned[i], t->data, t->bytes);
  *out_data = e->aligned[i];
  return NPUC_OK;
}

/* Addresses in the activation memory change when it grows, those in the caller's inputs from run to run. */
static npuc_status bind(executor *e, const exec_lane *l, diag *d, exec_plan *p, const tensor *inputs) {
  for (size_t i = 0; p->bound != l->memory && i < e->graph->next_value_id; i++) {
    exec_value *v = &p->values[i];
    if (v->storage == STORAGE_MEMORY) v->tensor.data = l->memory + v->index;
  }
  p->bound = l->memory;
  for (size_t i = 0; i < p->n_lent; i++) {
    exec_value *v = p->lent[i];
    if (v->value->is_input) NPUC_TRY(align_input(e, d, &inputs[v->index], v->index, &v->tensor.data));
  }
  for (size_t i = 0; i < p->n_lent; i++) { /* views of inputs */
    exec_value *v = p->lent[i];
    v->tensor.data = p->values[e->graph->inputs[v->index]->id].tensor.data;
  }
  return NPUC_OK;
}

/* -- run -- */

static void *grow_scratch(void *user, size_t bytes) {
  exec_lane *l = user;
  if (l->scratch_bytes >= bytes && l->scratch) return l->scratch;
  npuc_buffer_destroy(l->scratch);
  l->scratch_bytes = 0;
  l->scratch = npuc_buffer_create(bytes ? bytes : 64);
  if (l->scratch) l->scratch_bytes = bytes;
  return l->scratch;
}

static npuc_status show(const executor *e, const exec_plan *p, const value *v) {
  return e->options.observe && !npuc_dtype_is_reference(v->type) ? e->options.observe(e->options.user, v, &p->values[v->id].tensor)
                                                                 : NPUC_OK;
}

static npuc_status run_body(const eval_context *c, int32_t body, const tensor *inputs, tensor *results) {
  const executor *e = c->body_user;
  return npuc_executor_run(e->bodies[c->node->id][body], c->d, inputs, results);
}

static eval_context context_of(const executor *e, exec_lane *l, thread_pool *pool, diag *d) {
  return (eval_context){.d = d,
                        .pool = pool,
                        .scratch = grow_scratch,
                        .user = l,
                        .kernels = &e->kernels,
                        .run_body = run_body,
                        .body_user = e,
                        .keep = npuc_run_heap_take,
                        .keep_user = e->heap};
}

static npuc_status run_step(const executor *e, exec_lane *l, thread_pool *pool, diag *d, const exec_plan *p, const exec_step *s) {
  if (s->segment) { /* nobody observes */
    npuc_segment_run(s->segment, &e->kernels, pool, l->memory + s->memory);
    return NPUC_OK;
  }
  if (!s->skip) {
    eval_context c = context_of(e, l, pool, d);
    c.node = s->node;
    c.prepared = s->prepared;
    c.weight_transposed = s->weight_transposed;
    if (!s->node->op->eval) {
      diag_place place = {.node = s->node->name, .op = s->node->op->type};
      return npuc_fail(d, NPUC_DIAG_E0602, &place, "the executor does not run %s", s->node->op->type);
    }
    NPUC_TRY(s->node->op->eval(&c, s->inputs, s->outputs));
  }
  for (int32_t i = 0; i < s->node->n_outputs; i++) {
    if (s->node->outputs[i]) NPUC_TRY(show(e, p, s->node->outputs[i]));
  }
  return NPUC_OK;
}

static void give_outputs(executor *e, exec_plan *p, tensor *out_outputs) {
  const graph *g = e->graph;
  for (size_t i = 0; i < g->n_outputs; i++) {
    tensor t = p->values[g->outputs[i]->id].tensor;
    if (p->copy_offsets[i] != SIZE_MAX && t.bytes) {
      memcpy(e->lanes->memory + p->copy_offsets[i], t.data, t.bytes);
      t.data = e->lanes->memory + p->copy_offsets[i];
    }
    out_outputs[i] = t;
  }
}

static npuc_status run_dynamic(executor *e, diag *d, exec_plan *p, const tensor *inputs, tensor *out_outputs) {
  const graph *g = e->graph;
  plan_source source = source_of(e);
  if (!e->pool) e->pool = npuc_buffer_pool_create();
  dynamic_run r = {.source = &source,
                   .context = context_of(e, e->lanes, e->options.pool, d),
                   .show = e->options.observe,
                   .user = e->options.user,
                   .pool = e->pool};
  tensor *aligned = npuc_xcalloc(g->n_inputs + 1, sizeof *aligned);
  npuc_status status = NPUC_OK;
  for (size_t i = 0; i < g->n_inputs && status == NPUC_OK; i++) {
    aligned[i] = inputs[i];
    status = align_input(e, d, &inputs[i], i, &aligned[i].data);
  }
  if (status == NPUC_OK) status = npuc_dynamic_run(d, &r, p, aligned, out_outputs);
  free(aligned);
  p->memory_bytes = npuc_buffer_pool_bytes(e->pool);
  if (status == NPUC_OK) e->latest = p;
  return status;
}

/* `n` samples of t from the `first` on, of a batch of t's first axis. */
static tensor samples_of(const tensor *t, int64_t first, int64_t n) {
  tensor part = *t;
  size_t bytes = t->bytes / (size_t)t->shape.dims[0];
  part.shape.dims[0] = n;
  part.bytes = bytes * (size_t)n;
  if (part.bytes) part.data = (char *)t->data + bytes * (size_t)first;
  return part;
}

/* Outputs of the whole batch lie behind the activations of the first lane. */
static npuc_status place_batch(executor *e, diag *d, const exec_plan *p, int64_t batch, tensor *out_outputs) {
  const graph *g = e->graph;
  size_t at = p->memory_bytes, bytes = at;
  if (p->rest && p->rest->memory_bytes > at) at = bytes = p->rest->memory_bytes;
  for (size_t i = 0; i < g->n_outputs; i++) {
    const tensor *t = &p->values[g->outputs[i]->id].tensor;
    out_outputs[i] = *t;
    out_outputs[i].shape.dims[0] = batch;
    out_outputs[i].bytes = t->bytes / (size_t)p->samples * (size_t)batch;
    bytes += (out_outputs[i].bytes + 63) & ~(size_t)63;
  }
  for (size_t i = 0; i < p->n_lanes; i++) NPUC_TRY(reserve(&e->lanes[i], d, i ? at : bytes));
  for (size_t i = 0; i < g->n_outputs; i++) {
    out_outputs[i].data = e->lanes->memory + at;
    at += (out_outputs[i].bytes + 63) & ~(size_t)63;
  }
  return NPUC_OK;
}

typedef struct batch_run {
  executor *e;
  diag *d;
  const exec_plan *plan;
  tensor *outputs;
  atomic_int status; /* of a part that failed */
} batch_run;

/* Part `part` of the batch, in one thread. */
static npuc_status run_part(const batch_run *b, int64_t part, size_t worker) {
  executor *e = b->e;
  const graph *g = e->graph;
  exec_lane *l = &e->lanes[worker];
  exec_plan *now = b->plan->lanes[worker];
  const int64_t first = part * now->samples;
  if (e->whole[0].shape.dims[0] - first < now->samples) now = now->rest;
  for (size_t i = 0; i < g->n_inputs; i++) l->parts[i] = samples_of(&e->whole[i], first, now->samples);
  NPUC_TRY(bind(e, l, b->d, now, l->parts));
  for (size_t i = 0; i < now->n_steps; i++) NPUC_TRY(run_step(e, l, NULL, b->d, now, &now->steps[i]));
  for (size_t i = 0; i < g->n_outputs; i++) {
    const tensor *t = &now->values[g->outputs[i]->id].tensor;
    if (t->bytes) memcpy(samples_of(&b->outputs[i], first, now->samples).data, t->data, t->bytes);
  }
  return NPUC_OK;
}

static void run_parts(void *context, size_t begin, size_t end, size_t worker) {
  batch_run *b = context;
  for (size_t i = begin; i < end && atomic_load(&b->status) == NPUC_OK; i++) {
    npuc_status status = run_part(b, (int64_t)i, worker);
    if (status != NPUC_OK) atomic_store(&b->status, (int)status);
  }
}

static npuc_status run_samples(executor *e, diag *d, const exec_plan *p, const tensor *inputs, tensor *out_outputs) {
  int64_t batch = inputs[0].shape.dims[0];
  NPUC_TRY(place_batch(e, d, p, batch, out_outputs));
  for (size_t i = 0; i < e->graph->n_inputs; i++) { /* here, so that no thread has to copy */
    e->whole[i] = inputs[i];
    NPUC_TRY(align_input(e, d, &inputs[i], i, &e->whole[i].data));
  }
  batch_run b = {.e = e, .d = d, .plan = p, .outputs = out_outputs, .status = NPUC_OK};
  npuc_parallel_for(e->options.pool, (size_t)((batch + p->samples - 1) / p->samples), 1, run_parts, &b);
  if (atomic_load(&b.status) == NPUC_OK) e->latest = p;
  return (npuc_status)atomic_load(&b.status);
}

static npuc_status keep_references(executor *e, diag *d, const tensor **io_inputs) {
  if (!e->kept) return NPUC_OK;
  for (size_t i = 0; i < e->graph->n_inputs; i++) {
    e->kept[i] = (*io_inputs)[i];
    if (npuc_dtype_is_reference(e->kept[i].type)) NPUC_TRY(npuc_run_heap_copy(d, e->heap, &(*io_inputs)[i], &e->kept[i]));
  }
  *io_inputs = e->kept;
  return NPUC_OK;
}

npuc_status npuc_executor_run(executor *e, diag *d, const tensor *inputs, tensor *out_outputs) {
  const graph *g = e->graph;
  exec_plan *p;
  e->latest = NULL;
  if (e->owns_heap) npuc_run_heap_reset(e->heap);
  for (size_t i = 0; i < g->n_inputs; i++) {
    NPUC_TRY(check_input(e, d, inputs, i));
    e->shapes[i] = (shape){.rank = inputs[i].shape.rank};
    memcpy(e->shapes[i].dims, inputs[i].shape.dims, (size_t)inputs[i].shape.rank * sizeof(dim));
  }
  if (e->is_decoder) NPUC_TRY(npuc_decoder_form_check(d, &e->form, inputs));
  NPUC_TRY(plan_for(e, d, &p));
  NPUC_TRY(keep_references(e, d, &inputs));
  if (p->dynamic) return run_dynamic(e, d, p, inputs, out_outputs);
  if (p->samples) return run_samples(e, d, p, inputs, out_outputs);
  NPUC_TRY(reserve(e->lanes, d, p->memory_bytes));
  NPUC_TRY(bind(e, e->lanes, d, p, inputs));
  for (size_t i = 0; i < g->n_inputs; i++) NPUC_TRY(show(e, p, g->inputs[i]));
  for (size_t i = 0; i < p->n_steps; i++) {
    double start = e->options.on_step ? npuc_clock_seconds() : 0;
    NPUC_TRY(run_step(e, e->lanes, e->options.pool, d, p, &p->steps[i]));
    if (e->options.on_step) e->options.on_step(e->options.user, i, start, npuc_clock_seconds());
  }
  give_outputs(e, p, out_outputs);
  e->latest = p;
  return NPUC_OK;
}

const tensor *npuc_executor_value(const executor *e, const value *v) {
  if (!e->latest || !e->options.keep_all) return NULL;
  const exec_value *found = &e->latest->values[v->id];
  return found->value ? &found->tensor : NULL;
}

size_t npuc_executor_memory(const executor *e) { return e->latest ? e->latest->memory_bytes : e->plans ? e->plans->memory_bytes : 0; }

bool npuc_executor_step(const executor *e, size_t i, const node **out_node, size_t *out_live_bytes) {
  if (!e->latest || i >= e->latest->n_steps) return false;
  *out_node = e->latest->steps[i].node;
  *out_live_bytes = e->latest->live_bytes[i];
  return true;
}
