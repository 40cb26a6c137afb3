/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/runner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/executor.h"
#include "kernels/convert.h"

enum { CHUNK = 16 }; /* samples in flight for each thread */

typedef struct slot {
  tensor *floats;  /* as the ports say: what `sample` fills */
  tensor *inputs;  /* as the graph wants them; shares data with floats where nothing is quantized */
  tensor *outputs; /* copies, owned */
  npuc_status status;
} slot;

struct runner {
  arena *arena;
  thread_pool *pool;
  runner_backend backend;
  sample_port *ports;
  size_t n_workers, n_slots;
  void **workers;
  slot *slots;
};

static bool quantized(const model_port *p) { return p->quant && npuc_dtype_is_integer(p->type); }

static npuc_status make_ports(diag *d, runner *r) {
  r->ports = NPUC_NEW_ARRAY(r->arena, r->backend.n_inputs, sample_port);
  for (size_t i = 0; i < r->backend.n_inputs; i++) {
    const model_port *v = &r->backend.inputs[i];
    sample_port *p = &r->ports[i];
    *p = (sample_port){.name = v->name, .type = quantized(v) ? DTYPE_F32 : v->type, .shape = v->shape};
    if (v->shape.rank > 0 && !dim_is_number(v->shape.dims[0])) p->shape.dims[0] = 1;
    if (npuc_shape_is_static(&p->shape)) continue;
    npuc_status status = npuc_fail(d, NPUC_DIAG_E0913, &(diag_place){.node = v->name, .attribute = "shape"},
                                   "input '%s' has a dim other than the first that is not a number", v->name);
    npuc_fix(d, "give it a value: --dim SYMBOL=N");
    return status;
  }
  return NPUC_OK;
}

/* When first used: a decoder's caches are many megabytes a slot. */
static npuc_status make_slot(diag *d, runner *r, slot *s) {
  size_t n = r->backend.n_inputs;
  if (s->inputs) return NPUC_OK;
  s->floats = NPUC_NEW_ARRAY(r->arena, n, tensor);
  s->inputs = NPUC_NEW_ARRAY(r->arena, n, tensor);
  s->outputs = NPUC_NEW_ARRAY(r->arena, r->backend.n_outputs, tensor);
  for (size_t i = 0; i < n; i++) {
    const model_port *v = &r->backend.inputs[i];
    NPUC_TRY(npuc_tensor_create(d, r->ports[i].type, &r->ports[i].shape, &s->floats[i]));
    if (quantized(v)) {
      NPUC_TRY(npuc_tensor_create(d, v->type, &r->ports[i].shape, &s->inputs[i]));
    } else {
      s->inputs[i] = s->floats[i];
      s->inputs[i].owner = NULL;
    }
  }
  return NPUC_OK;
}

static npuc_status fill_runner(diag *d, runner *r) {
  NPUC_TRY(make_ports(d, r));
  for (size_t i = 0; i < r->n_workers; i++) NPUC_TRY(r->backend.open(r->backend.model, d, &r->workers[i]));
  return NPUC_OK;
}

static npuc_status create_in(diag *d, arena *a, thread_pool *pool, const runner_backend *backend, runner **out_runner) {
  runner *r = NPUC_NEW(a, runner);
  *r = (runner){.arena = a, .pool = pool, .backend = *backend, .n_workers = npuc_pool_threads(pool)};
  r->n_slots = r->n_workers * CHUNK;
  r->workers = (void **)npuc_arena_array(a, r->n_workers, sizeof(void *));
  r->slots = NPUC_NEW_ARRAY(a, r->n_slots, slot);
  npuc_status status = fill_runner(d, r);
  if (status != NPUC_OK) {
    npuc_runner_destroy(r);
    r = NULL;
  }
  *out_runner = r;
  return status;
}

npuc_status npuc_runner_create_with(diag *d, thread_pool *pool, const runner_backend *backend, runner **out_runner) {
  return create_in(d, npuc_arena_create(), pool, backend, out_runner);
}

/* -- graphs -- */

static npuc_status open_graph(const void *model, diag *d, void **out_worker) {
  executor *e = NULL;
  exec_options options = {.pool = NULL}; /* samples run side by side, so that each runs in one thread */
  NPUC_TRY(npuc_executor_create(d, model, &options, &e));
  *out_worker = e;
  return NPUC_OK;
}

static npuc_status run_graph(void *worker, diag *d, const tensor *inputs, tensor *out_outputs) {
  return npuc_executor_run(worker, d, inputs, out_outputs);
}

static void close_graph(void *worker) { npuc_executor_destroy(worker); }

static const model_port *graph_ports(arena *a, value *const *values, size_t n) {
  model_port *ports = NPUC_NEW_ARRAY(a, n, model_port);
  for (size_t i = 0; i < n; i++) ports[i] = (model_port){values[i]->name, values[i]->type, values[i]->shape, values[i]->quant};
  return ports;
}

npuc_status npuc_runner_create(diag *d, thread_pool *pool, const graph *g, runner **out_runner) {
  arena *a = npuc_arena_create();
  runner_backend backend = {.inputs = graph_ports(a, g->inputs, g->n_inputs),
                            .outputs = graph_ports(a, g->outputs, g->n_outputs),
                            .n_inputs = g->n_inputs,
                            .n_outputs = g->n_outputs,
                            .open = open_graph,
                            .run = run_graph,
                            .close = close_graph,
                            .model = g};
  return create_in(d, a, pool, &backend, out_runner);
}

static void release_all(tensor *tensors, size_t n) {
  for (size_t i = 0; tensors && i < n; i++) npuc_tensor_release(&tensors[i]);
}

void npuc_runner_destroy(runner *r) {
  if (!r) return;
  for (size_t i = 0; i < r->n_workers; i++)
    if (r->workers[i]) r->backend.close(r->workers[i]);
  for (size_t i = 0; i < r->n_slots; i++) {
    release_all(r->slots[i].inputs, r->backend.n_inputs);
    release_all(r->slots[i].floats, r->backend.n_inputs);
    release_all(r->slots[i].outputs, r->backend.n_outputs);
  }
  npuc_arena_destroy(r->arena);
}

const sample_port *npuc_runner_ports(const runner *r, size_t *out_count) {
  *out_count = r->backend.n_inputs;
  return r->ports;
}

const model_port *npuc_runner_outputs(const runner *r, size_t *out_count) {
  *out_count = r->backend.n_outputs;
  return r->backend.outputs;
}

/* -- one round: up to n_slots samples, any worker takes the next ones -- */
typedef struct work_round {
  runner *r;
  diag *d;
  size_t first;
  sample_function *sample;
  void *sample_user;
} work_round;

static npuc_status keep_outputs(diag *d, const runner *r, slot *s, const tensor *outputs) {
  for (size_t k = 0; k < r->backend.n_outputs; k++) {
    tensor *kept = &s->outputs[k];
    if (kept->data == NULL || kept->type != outputs[k].type || !npuc_shape_equal(&kept->shape, &outputs[k].shape)) {
      npuc_tensor_release(kept);
      NPUC_TRY(npuc_tensor_create(d, outputs[k].type, &outputs[k].shape, kept));
    }
    if (outputs[k].bytes) memcpy(kept->data, outputs[k].data, outputs[k].bytes);
  }
  return NPUC_OK;
}

static npuc_status run_sample(const work_round *job, size_t i, size_t worker) {
  runner *r = job->r;
  slot *s = &r->slots[i];
  NPUC_TRY(job->sample(job->sample_user, job->d, job->first + i, s->floats));
  for (size_t k = 0; k < r->backend.n_inputs; k++)
    if (quantized(&r->backend.inputs[k])) npuc_quantize_tensor(r->backend.inputs[k].quant, &s->floats[k], &s->inputs[k]);
  tensor *outputs = calloc(r->backend.n_outputs + 1, sizeof(tensor));
  if (!outputs) return npuc_fail(job->d, NPUC_DIAG_E0002, NULL, "no memory for outputs");
  npuc_status status = r->backend.run(r->workers[worker], job->d, s->inputs, outputs);
  if (status == NPUC_OK) status = keep_outputs(job->d, r, s, outputs);
  free(outputs);
  return status;
}

static void run_range(void *context, size_t begin, size_t end, size_t worker) {
  const work_round *job = context;
  for (size_t i = begin; i < end; i++) job->r->slots[i].status = run_sample(job, i, worker);
}

npuc_status npuc_runner_run(runner *r, diag *d, const progress *p, const char *what, size_t first, size_t count, sample_function *sample,
                            void *sample_user, consume_function *consume, void *consume_user) {
  for (size_t done = 0; done < count;) {
    if (npuc_progress_cancelled(p)) return npuc_fail(d, NPUC_DIAG_E0005, NULL, "%s was stopped", what);
    size_t n = count - done < r->n_slots ? count - done : r->n_slots;
    for (size_t i = 0; i < n; i++) NPUC_TRY(make_slot(d, r, &r->slots[i]));
    work_round job = {.r = r, .d = d, .first = first + done, .sample = sample, .sample_user = sample_user};
    npuc_parallel_for(r->pool, n, 1, run_range, &job);
    for (size_t i = 0; i < n; i++) {
      NPUC_TRY(r->slots[i].status);
      NPUC_TRY(consume(consume_user, d, first + done + i, r->slots[i].floats, r->slots[i].outputs));
    }
    done += n;
    npuc_progress_report(p, what, done, count);
  }
  return NPUC_OK;
}

npuc_status npuc_sample_of_dataset(void *user, diag *d, size_t index, tensor *out_inputs) {
  const dataset *s = user;
  return npuc_dataset_sample(s, d, index, out_inputs);
}

/* -- the boundary: docs/numerics.md section 4 -- */

static int64_t channel_of(const quant *q, const shape *s, int64_t i) {
  if (q->axis < 0) return 0;
  int64_t inner = 1;
  for (int32_t k = q->axis + 1; k < s->rank; k++) inner *= s->dims[k];
  return i / inner % s->dims[q->axis];
}

void npuc_quantize_tensor(const quant *q, const tensor *from, tensor *to) {
  int64_t lo = 0, hi = 0, n = npuc_tensor_elements(from);
  if (q->axis < 0 && (to->type == DTYPE_U8 || to->type == DTYPE_I8)) {
    float scale = (float)npuc_tensor_get(&q->scale, 0);
    int32_t zero = (int32_t)npuc_tensor_get_int(&q->zero_point, 0);
    if (to->type == DTYPE_U8)
      npuc_convert_quantize_u8(from->data, n, scale, zero, to->data);
    else
      npuc_convert_quantize_i8(from->data, n, scale, zero, to->data);
    return;
  }
  npuc_dtype_range(to->type, &lo, &hi);
  for (int64_t i = 0; i < n; i++) {
    int64_t c = channel_of(q, &from->shape, i);
    float scale = (float)npuc_tensor_get(&q->scale, c);
    int64_t zero = npuc_tensor_get_int(&q->zero_point, c);
    float x = ((const float *)from->data)[i] / scale;
    float limit = 1e9f;
    x = isnan(x) ? 0.0f : x > limit ? limit : x < -limit ? -limit : x;
    int64_t v = (int64_t)rintf(x) + zero;
    npuc_tensor_set_int(to, i, v < lo ? lo : v > hi ? hi : v);
  }
}

void npuc_dequantize_tensor(const quant *q, const tensor *from, tensor *to) {
  float *y = to->data;
  int64_t n = npuc_tensor_elements(from);
  for (int64_t i = 0; i < n; i++) {
    int64_t c = channel_of(q, &from->shape, i);
    y[i] = (float)(npuc_tensor_get_int(from, i) - npuc_tensor_get_int(&q->zero_point, c)) * (float)npuc_tensor_get(&q->scale, c);
  }
}

npuc_status npuc_dequantized(diag *d, const quant *q, const tensor *t, tensor *out_float) {
  if (!q || !npuc_dtype_is_integer(t->type)) return npuc_tensor_cast(d, t, DTYPE_F32, out_float);
  NPUC_TRY(npuc_tensor_create(d, DTYPE_F32, &t->shape, out_float));
  npuc_dequantize_tensor(q, t, out_float);
  return NPUC_OK;
}
