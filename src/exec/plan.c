/* SPDX-License-Identifier: Apache-2.0 */
/* Planning: shapes from inference with the inputs' dims bound; a place for every value; the steps.
 *
 * Nodes over images run together, as segments (exec/segment.h), whose inner values have no place here.
 *
 * A value's place is decided when its producer is reached: views (Reshape, Identity ...) share their input's place, an elementwise
 * node writes over an input that dies there, everything else gets a new storage. Storages live from the step that writes them to the
 * last step that reads any value in them; npuc_memory_plan turns that into offsets. */
#include "exec/plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limit.h"
#include "exec/channels_last.h"
#include "exec/fuse.h"
#include "exec/memory_plan.h"
#include "exec/samples.h"

/* A step to be: one node, or those of a segment. */
typedef struct plan_item {
  const node *node;
  const node *const *nodes;
  size_t n_nodes;
} plan_item;

typedef struct planner {
  diag *d;
  const plan_source *source;
  exec_plan *plan;
  fact *facts;              /* by value id */
  size_t *last_use;         /* by value id: last step that reads it; SIZE_MAX for outputs */
  const fusion *fusions;    /* by node id */
  const size_t *segment_of; /* by node id: number from 1, or 0 */
  size_t *step_of;          /* by node id: the step in which the node runs */
  size_t *image_of;         /* by value id: segment_source's */
  size_t *made_in;          /* by value id: the segment that makes it, or 0 */
  bool *outside;            /* by value id: read by a node of no segment or of another than its producer's, or an output */
  live_range *ranges;       /* storages in order of their first step */
  size_t n_ranges, ranges_capacity;
  plan_item *items;
  size_t n_items;
  arena *scratch;
} planner;

/* -- values -- */

static npuc_status size_value(planner *p, exec_value *v, const value *of, const fact *f) {
  diag_place place = {.node = of->producer ? of->producer->name : of->name, .op = of->producer ? of->producer->op->type : NULL};
  int64_t n;
  if (f->type == DTYPE_NONE || !npuc_shape_is_static(&f->shape)) {
    npuc_status status = npuc_fail(p->d, NPUC_DIAG_E0604, &place, "the %s of value \"%s\" is not known from the inputs' dims",
                                   f->type == DTYPE_NONE ? "dtype" : "shape", of->name);
    npuc_fix(p->d, "npuc static MODEL -o OUT");
    return status;
  }
  v->value = of;
  v->tensor = (tensor){.type = f->type, .shape = f->shape};
  if (!npuc_shape_elements(&f->shape, &n) || !npuc_dtype_memory(f->type, n, &v->tensor.bytes)) {
    return npuc_fail_memory(p->d, &place, SIZE_MAX, "value \"%s\", whose size cannot be addressed", of->name);
  }
  return NPUC_OK;
}

static exec_value *slot(const planner *p, const value *v) {
  assert(v);
  return &p->plan->values[v->id];
}

static void place_constant(exec_value *v, const tensor *t) {
  v->storage = STORAGE_CONSTANT;
  v->tensor.data = t->data;
}

/* A constant that inference computed lives in its scratch memory: it moves to the plan's. */
static void place_folded(planner *p, exec_value *v, const tensor *t) {
  v->storage = STORAGE_CONSTANT;
  if (v->tensor.bytes) v->tensor.data = npuc_arena_copy(p->plan->arena, t->data, v->tensor.bytes);
}

static size_t new_range(planner *p, size_t bytes, size_t step) {
  p->ranges = npuc_arena_grow(p->scratch, p->ranges, p->n_ranges, p->n_ranges + 1, sizeof *p->ranges, &p->ranges_capacity);
  p->ranges[p->n_ranges] = (live_range){.bytes = bytes, .first = step, .last = step};
  return p->n_ranges++;
}

static void new_storage(planner *p, exec_value *v, size_t step) {
  if (v->tensor.bytes == 0) return;
  v->storage = STORAGE_MEMORY;
  v->index = new_range(p, v->tensor.bytes, step);
}

static void extend(planner *p, const value *v) {
  const exec_value *s = slot(p, v);
  if (s->storage != STORAGE_MEMORY) return;
  assert(p->ranges); /* a value in memory has a range */
  live_range *r = &p->ranges[s->index];
  size_t last = p->source->keep_all ? SIZE_MAX : p->last_use[v->id];
  if (last != SIZE_MAX && last < r->first) return;
  if (last > r->last) r->last = last;
}

static void share(exec_value *to, const exec_value *from) {
  to->storage = from->storage;
  to->index = from->index;
  to->tensor.data = from->tensor.data;
}

/* -- views and in-place -- */

static bool is_view(const node *n) {
  switch (n->op->id) {
    case OP_RESHAPE:
    case OP_FLATTEN:
    case OP_SQUEEZE:
    case OP_UNSQUEEZE:
    case OP_IDENTITY:
      return true;
    case OP_DROPOUT:
      return (n->n_outputs < 2 || !n->outputs[1]) && (n->n_inputs < 3 || !n->inputs[2]);
    default:
      return false;
  }
}

/* Whether the node at `step` may write its output over input i: nothing reads that storage later, and element k of the output needs
 * element k of the input only. */
static bool may_overwrite(const planner *p, const node *n, int32_t i, const exec_value *y, size_t step) {
  if (p->source->keep_all || i >= n->n_inputs || !n->inputs[i]) return false;
  const exec_value *x = slot(p, n->inputs[i]);
  if (x->storage != STORAGE_MEMORY || x->tensor.type != y->tensor.type || !npuc_shape_equal(&x->tensor.shape, &y->tensor.shape))
    return false;
  if (p->ranges[x->index].last > step) return false;
  for (int32_t k = 0; k < n->n_inputs; k++) { /* another view of the same bytes, read in another order */
    if (k == i || !n->inputs[k]) continue;
    const exec_value *other = slot(p, n->inputs[k]);
    if (other->storage == STORAGE_MEMORY && other->index == x->index && !npuc_shape_equal(&other->tensor.shape, &x->tensor.shape))
      return false;
  }
  return true;
}

static int32_t overwritten_input(const planner *p, const node *n, const exec_value *y, size_t step) {
  if (!(n->op->traits & TRAIT_ELEMENTWISE) || n->n_outputs != 1) return -1;
  if (may_overwrite(p, n, 0, y, step)) return 0;
  bool two = n->op->id == OP_ADD || n->op->id == OP_SUB || n->op->id == OP_MUL || n->op->id == OP_DIV || n->op->id == OP_QADD ||
             n->op->id == OP_QMUL;
  return two && may_overwrite(p, n, 1, y, step) ? 1 : -1;
}

/* -- steps -- */

static bool outputs_are_folded(const planner *p, const node *n) {
  for (int32_t i = 0; i < n->n_outputs; i++) {
    if (n->outputs[i] && !p->facts[n->outputs[i]->id].constant) return false;
  }
  return true;
}

/* One value that is more than all that is left is named, before the sum of all is asked for. */
static npuc_status check_limit(const planner *p, const node *n, const exec_value *y) {
  diag_place place = {.node = n->name, .op = n->op->type};
  if (!npuc_memory_claim(y->tensor.bytes)) return npuc_fail_memory(p->d, &place, y->tensor.bytes, "value \"%s\"", y->value->name);
  npuc_memory_give_back(y->tensor.bytes);
  return NPUC_OK;
}

static npuc_status place_output(planner *p, const node *n, exec_step *s, int32_t i, size_t step) {
  const value *v = n->outputs[i];
  exec_value *y = slot(p, v);
  NPUC_TRY(size_value(p, y, v, &p->facts[v->id]));
  if (s->skip) {
    place_folded(p, y, p->facts[v->id].constant);
    return NPUC_OK;
  }
  if (is_view(n) && i == 0) {
    const exec_value *x = slot(p, n->inputs[0]);
    share(y, x);
    s->skip = true;
    extend(p, v);
    return NPUC_OK;
  }
  int32_t over = overwritten_input(p, n, y, step);
  if (over >= 0) {
    share(y, slot(p, n->inputs[over]));
  } else {
    NPUC_TRY(check_limit(p, n, y));
    new_storage(p, y, step);
  }
  extend(p, v);
  return NPUC_OK;
}

static npuc_status plan_step(planner *p, const node *n) {
  exec_plan *plan = p->plan;
  size_t step = plan->n_steps++;
  exec_step *s = &plan->steps[step];
  *s = (exec_step){.node = n, .prepared = p->source->prepared[n->id]};
  s->skip = outputs_are_folded(p, n);
  s->inputs = NPUC_NEW_ARRAY(plan->arena, (size_t)n->n_inputs + 1, const tensor *);
  s->outputs = NPUC_NEW_ARRAY(plan->arena, (size_t)n->n_outputs + 1, tensor *);
  for (int32_t i = 0; i < n->n_inputs; i++) {
    if (n->inputs[i]) s->inputs[i] = &slot(p, n->inputs[i])->tensor;
  }
  const value *weight = p->fusions[n->id].weight;
  if (weight) s->inputs[1] = &slot(p, weight)->tensor;
  s->weight_transposed = weight != NULL;
  for (int32_t i = 0; i < n->n_outputs; i++) {
    if (!n->outputs[i]) continue;
    NPUC_TRY(place_output(p, n, s, i, step));
    s->outputs[i] = &slot(p, n->outputs[i])->tensor;
  }
  return NPUC_OK;
}

/* -- segments -- */

static npuc_status too_much_memory(const planner *p) {
  return npuc_fail_memory(p->d, NULL, SIZE_MAX, "the activations together, whose size cannot be addressed");
}

static const value *result_of(const planner *p, const node *n) {
  const fusion *f = &p->fusions[n->id];
  return (f->last ? f->last : n)->outputs[0];
}

static const tensor *outside_tensor(void *user, const value *v) {
  const planner *p = user;
  const exec_value *e = slot(p, v);
  return e->value ? &e->tensor : NULL;
}

/* nodes: of one segment, roots in order. Values that others read are tensors as ever; the rest is the segment's own memory. */
static npuc_status plan_segment(planner *p, const node *const *nodes, size_t n) {
  exec_plan *plan = p->plan;
  size_t step = plan->n_steps++;
  for (size_t i = 0; i < n; i++) {
    const value *v = result_of(p, nodes[i]);
    if (!p->outside[v->id]) continue;
    exec_value *y = slot(p, v);
    NPUC_TRY(size_value(p, y, v, &p->facts[v->id]));
    new_storage(p, y, step);
    extend(p, v);
  }
  segment_source source = {.arena = plan->arena,
                           .scratch = p->scratch,
                           .nodes = nodes,
                           .n_nodes = n,
                           .threads = p->source->threads,
                           .facts = p->facts,
                           .fusions = p->fusions,
                           .kernels = p->source->kernels,
                           .prepared = p->source->prepared,
                           .image_of = p->image_of,
                           .outside = outside_tensor,
                           .user = p};
  segment *made;
  if (!npuc_segment_create(&source, &made)) return too_much_memory(p);
  const fusion *f = &p->fusions[nodes[n - 1]->id];
  plan->steps[step] =
      (exec_step){.node = f->last ? f->last : nodes[n - 1], .segment = made, .memory = new_range(p, made->workers * made->bytes, step)};
  return NPUC_OK;
}

static void note_use(planner *p, const value *v, size_t step) {
  if (v && p->last_use[v->id] < step) p->last_use[v->id] = step;
}

/* The node that runs at `at`'s place, or NULL. */
static const node *node_of_step(const planner *p, const node *at) {
  const fusion *f = &p->fusions[at->id];
  return f->root ? f->root : f->absorbed ? NULL : at;
}

/* The steps to be: a node, or the nodes of a segment. A segment comes where its last node stands: what stands between its nodes is folded,
 * and reads nothing of it. */
static void schedule(planner *p) {
  const graph *g = p->source->graph;
  size_t *left = NPUC_NEW_ARRAY(p->scratch, g->n_nodes + 2, size_t); /* nodes of a segment still to come */
  const node **nodes = NPUC_NEW_ARRAY(p->scratch, g->n_nodes + 1, const node *);
  p->items = NPUC_NEW_ARRAY(p->scratch, g->n_nodes + 1, plan_item);
  NPUC_EACH_NODE(g, at) {
    const node *n = node_of_step(p, at);
    if (n) left[p->segment_of[n->id]]++;
  }
  size_t pending = 0; /* nodes of the segment under way: segments do not overlap */
  NPUC_EACH_NODE(g, at) {
    const node *n = node_of_step(p, at);
    if (!n) continue;
    size_t number = p->segment_of[n->id];
    if (number) {
      nodes[pending++] = n;
      if (--left[number] > 0) continue;
      for (size_t i = 0; i < pending; i++) p->step_of[nodes[i]->id] = p->n_items;
      p->items[p->n_items++] = (plan_item){.nodes = nodes, .n_nodes = pending};
      nodes += pending;
      pending = 0;
    } else {
      p->step_of[n->id] = p->n_items;
      p->items[p->n_items++] = (plan_item){.node = n};
    }
  }
}

static void find_last_uses(planner *p) {
  const graph *g = p->source->graph;
  for (size_t i = 0; i < g->n_outputs; i++) {
    p->last_use[g->outputs[i]->id] = SIZE_MAX;
    p->outside[g->outputs[i]->id] = true;
  }
  NPUC_EACH_NODE(g, at) {
    const node *n = node_of_step(p, at);
    if (!n) continue;
    size_t step = p->step_of[n->id], number = p->segment_of[n->id];
    const value *add = p->fusions[n->id].add;
    for (int32_t i = 0; i <= n->n_inputs; i++) {
      const value *v = i < n->n_inputs ? n->inputs[i] : add;
      note_use(p, v, step);
      if (v && (!number || p->made_in[v->id] != number)) p->outside[v->id] = true;
    }
    if (number) p->made_in[result_of(p, n)->id] = number;
  }
}

static npuc_status plan_inputs(planner *p, const shape *input_shapes) {
  const graph *g = p->source->graph;
  for (size_t i = 0; i < g->n_inputs; i++) {
    exec_value *v = slot(p, g->inputs[i]);
    fact f = {.type = g->inputs[i]->type, .shape = input_shapes[i]};
    if (p->plan->samples) f.shape.dims[0] = p->plan->samples;
    NPUC_TRY(size_value(p, v, g->inputs[i], &f));
    v->storage = STORAGE_INPUT;
    v->index = i;
  }
  return NPUC_OK;
}

static npuc_status plan_constants(planner *p) {
  const graph *g = p->source->graph;
  NPUC_EACH_NODE(g, n) {
    for (int32_t i = 0; i < n->n_inputs; i++) {
      const value *v = n->inputs[i];
      if (!v || !v->constant || v->is_input || slot(p, v)->value) continue;
      fact f = {.type = v->constant->type, .shape = v->constant->shape};
      NPUC_TRY(size_value(p, slot(p, v), v, &f));
      place_constant(slot(p, v), &p->source->constants[v->id]);
    }
  }
  for (size_t i = 0; i < g->n_outputs; i++) {
    const value *v = g->outputs[i];
    if (!v->constant || v->is_input || slot(p, v)->value) continue;
    fact f = {.type = v->constant->type, .shape = v->constant->shape};
    NPUC_TRY(size_value(p, slot(p, v), v, &f));
    place_constant(slot(p, v), &p->source->constants[v->id]);
  }
  return NPUC_OK;
}

/* An output that lies in the caller's input gets memory of its own, copied at the end of a run. */
static npuc_status plan_output_copies(planner *p) {
  const graph *g = p->source->graph;
  for (size_t i = 0; i < g->n_outputs; i++) {
    const exec_value *v = slot(p, g->outputs[i]);
    p->plan->copy_offsets[i] = SIZE_MAX;
    if (v->storage != STORAGE_INPUT) continue;
    p->plan->copy_offsets[i] = p->plan->memory_bytes;
    if (v->tensor.bytes > SIZE_MAX / 2 - p->plan->memory_bytes) return too_much_memory(p);
    p->plan->memory_bytes += (v->tensor.bytes + 63) & ~(size_t)63;
  }
  return NPUC_OK;
}

/* Sum of the storages that live in each step, from what each step adds and what the one before it took away. */
static void count_live_bytes(planner *p) {
  exec_plan *plan = p->plan;
  size_t *ending = NPUC_NEW_ARRAY(p->scratch, plan->n_steps + 1, size_t), live = 0;
  plan->live_bytes = NPUC_NEW_ARRAY(plan->arena, plan->n_steps + 1, size_t);
  for (size_t i = 0; i < p->n_ranges; i++) {
    const live_range *r = &p->ranges[i];
    plan->live_bytes[r->first] += r->bytes;
    if (r->last < plan->n_steps) ending[r->last] += r->bytes;
  }
  for (size_t i = 0; i < plan->n_steps; i++) {
    live += plan->live_bytes[i];
    plan->live_bytes[i] = live;
    live -= ending[i];
  }
}

static npuc_status infer(planner *p, const shape *input_shapes) {
  const graph *g = p->source->graph;
  fact *inputs = NPUC_NEW_ARRAY(p->scratch, g->n_inputs + 1, fact), *facts;
  for (size_t i = 0; i < g->n_inputs; i++) inputs[i] = (fact){.type = g->inputs[i]->type, .shape = input_shapes[i]};
  NPUC_TRY(npuc_graph_infer_facts(p->d, g, inputs, p->scratch, &facts));
  p->facts = facts;
  return NPUC_OK;
}

static bool has_open_shape(const planner *p) {
  NPUC_EACH_NODE(p->source->graph, n) {
    for (int32_t i = 0; i < n->n_outputs; i++) {
      if (n->outputs[i] && !npuc_shape_is_static(&p->facts[n->outputs[i]->id].shape)) return true;
    }
  }
  return false;
}

static void list_lent(exec_plan *plan, size_t n_values) {
  size_t n = 0;
  for (size_t i = 0; i < n_values; i++) n += plan->values[i].storage == STORAGE_INPUT;
  plan->lent = NPUC_NEW_ARRAY(plan->arena, n + 1, exec_value *);
  for (size_t i = 0; i < n_values; i++) {
    if (plan->values[i].storage == STORAGE_INPUT) plan->lent[plan->n_lent++] = &plan->values[i];
  }
}

/* In a graph that is run by samples, every value that is not constant has the batch as its first axis. */
static void take_samples(planner *p) {
  exec_plan *plan = p->plan;
  const graph *g = p->source->graph;
  if (!plan->samples && p->source->fuse && !p->source->single) plan->samples = npuc_exec_samples(g, p->facts, p->source->threads);
  if (!plan->samples) return;
  NPUC_EACH_NODE(g, n) p->facts[n->outputs[0]->id].shape.dims[0] = plan->samples;
}

static npuc_status build(planner *p, const shape *input_shapes) {
  const graph *g = p->source->graph;
  exec_plan *plan = p->plan;
  size_t n_values = g->next_value_id;
  plan->values = NPUC_NEW_ARRAY(plan->arena, n_values + 1, exec_value);
  plan->steps = NPUC_NEW_ARRAY(plan->arena, g->n_nodes + 1, exec_step);
  plan->copy_offsets = NPUC_NEW_ARRAY(plan->arena, g->n_outputs + 1, size_t);
  plan->input_shapes = npuc_arena_copy(plan->arena, input_shapes, g->n_inputs * sizeof *input_shapes);
  p->last_use = NPUC_NEW_ARRAY(p->scratch, n_values + 1, size_t);
  p->made_in = NPUC_NEW_ARRAY(p->scratch, n_values + 1, size_t);
  p->outside = NPUC_NEW_ARRAY(p->scratch, n_values + 1, bool);
  p->image_of = NPUC_NEW_ARRAY(p->scratch, n_values + 1, size_t);
  for (size_t i = 0; i < n_values; i++) p->image_of[i] = SIZE_MAX;
  p->step_of = NPUC_NEW_ARRAY(p->scratch, g->next_node_id + 1, size_t);
  NPUC_TRY(infer(p, input_shapes));
  plan->dynamic = has_open_shape(p);
  if (plan->dynamic) return NPUC_OK;
  take_samples(p);
  p->fusions = npuc_exec_fusions(p->scratch, g, p->facts, p->source->kernels, p->source->fuse);
  segment_mode mode = !p->source->fuse ? SEGMENTS_NONE : p->source->single ? SEGMENTS_SINGLE : SEGMENTS_LONG;
  p->segment_of = npuc_exec_segments(p->scratch, g, p->facts, p->fusions, p->source->kernels, mode);
  schedule(p);
  find_last_uses(p);
  NPUC_TRY(plan_inputs(p, input_shapes));
  NPUC_TRY(plan_constants(p));
  for (size_t i = 0; i < p->n_items; i++) {
    const plan_item *item = &p->items[i];
    NPUC_TRY(item->node ? plan_step(p, item->node) : plan_segment(p, item->nodes, item->n_nodes));
  }
  plan->memory_bytes = npuc_memory_plan(p->scratch, p->ranges, p->n_ranges);
  if (plan->memory_bytes == SIZE_MAX) return too_much_memory(p);
  count_live_bytes(p);
  for (size_t i = 0; i < n_values; i++) {
    if (plan->values[i].storage != STORAGE_MEMORY) continue;
    assert(p->ranges);
    plan->values[i].index = p->ranges[plan->values[i].index].offset;
  }
  list_lent(plan, n_values);
  if (p->source->fuse) { /* nobody looks at values between nodes */
    const bool *last = npuc_exec_channels_last(p->scratch, g, p->facts);
    assert(last);
    for (size_t i = 0; i < n_values; i++) plan->values[i].tensor.channels_last = last[i];
  }
  for (size_t i = 0; i < plan->n_steps; i++) {
    assert(p->ranges || !plan->steps[i].segment);
    if (plan->steps[i].segment) plan->steps[i].memory = p->ranges[plan->steps[i].memory].offset;
  }
  return plan_output_copies(p);
}

/* samples: 0 lets the plan decide. */
static npuc_status create(diag *d, const plan_source *source, const shape *input_shapes, int64_t samples, exec_plan **out_plan) {
  arena *a = npuc_arena_create(), *scratch = npuc_arena_create();
  exec_plan *plan = NPUC_NEW(a, exec_plan);
  plan->arena = a;
  plan->samples = samples;
  planner p = {.d = d, .source = source, .plan = plan, .scratch = scratch};
  npuc_status status = build(&p, input_shapes);
  npuc_arena_destroy(scratch);
  if (status == NPUC_OK) {
    *out_plan = plan;
  } else {
    npuc_exec_plan_destroy(plan);
  }
  return status;
}

/* With what is left over of the batch. */
static npuc_status create_whole(diag *d, const plan_source *source, const shape *input_shapes, int64_t samples, exec_plan **out_plan) {
  NPUC_TRY(create(d, source, input_shapes, samples, out_plan));
  int64_t left = (*out_plan)->samples ? input_shapes[0].dims[0] % (*out_plan)->samples : 0;
  npuc_status status = left ? create(d, source, input_shapes, left, &(*out_plan)->rest) : NPUC_OK;
  if (status != NPUC_OK) npuc_exec_plan_destroy(*out_plan);
  return status;
}

npuc_status npuc_exec_plan_create(diag *d, const plan_source *source, const shape *input_shapes, exec_plan **out_plan) {
  exec_plan *plan;
  npuc_status status = NPUC_OK;
  NPUC_TRY(create_whole(d, source, input_shapes, 0, &plan));
  if (plan->samples) {
    plan->lanes = NPUC_NEW_ARRAY(plan->arena, source->threads, exec_plan *);
    plan->lanes[plan->n_lanes++] = plan;
  }
  while (plan->samples && plan->n_lanes < source->threads && status == NPUC_OK) {
    status = create_whole(d, source, input_shapes, plan->samples, &plan->lanes[plan->n_lanes]);
    if (status == NPUC_OK) plan->n_lanes++;
  }
  if (status == NPUC_OK) {
    *out_plan = plan;
  } else {
    npuc_exec_plan_destroy(plan);
  }
  return status;
}

void npuc_exec_plan_destroy(exec_plan *p) {
  if (!p) return;
  for (size_t i = 1; i < p->n_lanes; i++) npuc_exec_plan_destroy(p->lanes[i]);
  npuc_exec_plan_destroy(p->rest);
  npuc_arena_destroy(p->arena);
}
