/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/npu_engine.h"

#include <stdlib.h>
#include <string.h>

#include "npu/run.h"

/* -- ports -- */

static npuc_status describe_port(diag *d, arena *a, const npuc_port *p, model_port *out) {
  *out = (model_port){.name = p->name, .type = (dtype)p->dtype, .shape = {.rank = p->rank}};
  for (int32_t i = 0; i < p->rank; i++) out->shape.dims[i] = p->dims[i];
  if (!p->quantized) return NPUC_OK;
  quant *q = NPUC_NEW(a, quant);
  q->axis = -1;
  float *scale = NPUC_NEW(a, float);
  *scale = p->scale;
  q->scale = (tensor){.type = DTYPE_F32, .shape = SHAPE_SCALAR, .data = scale, .bytes = sizeof *scale};
  uint8_t *zero = NPUC_NEW(a, uint8_t);
  *zero = (uint8_t)p->zero_point;
  q->zero_point = (tensor){.type = (dtype)p->dtype, .shape = SHAPE_SCALAR, .data = zero, .bytes = 1};
  out->quant = q;
  return npuc_dtype_bits((dtype)p->dtype) == 8
             ? NPUC_OK
             : npuc_fail(d, NPUC_DIAG_E1005, &(diag_place){.node = p->name}, "a quantized port of more than 8 bits");
}

static npuc_status describe_ports(diag *d, arena *a, npu_engine *e) {
  size_t n = npuc_program_inputs(e->program), m = npuc_program_outputs(e->program);
  e->inputs = NPUC_NEW_ARRAY(a, n, model_port);
  e->outputs = NPUC_NEW_ARRAY(a, m, model_port);
  for (size_t i = 0; i < n; i++) NPUC_TRY(describe_port(d, a, npuc_program_input(e->program, i), &e->inputs[i]));
  for (size_t i = 0; i < m; i++) NPUC_TRY(describe_port(d, a, npuc_program_output(e->program, i), &e->outputs[i]));
  return NPUC_OK;
}

npuc_status npuc_npu_engine_open(diag *d, arena *a, const char *path, const char *kind, npu_engine **out_engine) {
  npu_engine *e = NPUC_NEW(a, npu_engine);
  *out_engine = NULL;
  e->simulates = strcmp(kind, "simulator") == 0;
  NPUC_TRY(npuc_program_open(d, path, &e->program));
  npuc_status status = describe_ports(d, a, e);
  if (status == NPUC_OK)
    *out_engine = e;
  else
    npuc_npu_engine_close(e);
  return status;
}

void npuc_npu_engine_close(npu_engine *e) {
  if (!e) return;
  npuc_program_destroy(e->program);
  e->program = NULL;
}

/* -- one worker: a session, and for the simulator the state that lives between runs -- */

typedef struct worker {
  const npu_engine *engine;
  npuc_session *session;
  uint8_t *state_memory;
  npu_timing *timing;
  const void *inputs[64];
  void *outputs[64];
  tensor *results; /* owned memory of the outputs */
} worker;

static npuc_status simulate_stream(void *user, diag *d, const npu_program *p, uint32_t stream, void *const *tensors) {
  worker *w = user;
  const npu_stream *s = &p->streams[stream];
  npu_sim_result result;
  NPUC_TRY(npuc_npu_run_stream(d, p, s, tensors, w->state_memory, NULL, &result));
  if (!w->timing) return NPUC_OK;
  w->timing->cycles += result.cycles;
  w->timing->macs += s->macs;
  for (int q = 0; q < NPU_QUEUES; q++) {
    w->timing->busy[q] += result.busy[q];
    w->timing->stalled[q] += result.stalled[q];
  }
  return NPUC_OK;
}

static void close_worker(void *user) {
  worker *w = user;
  if (!w) return;
  npuc_session_destroy(w->session);
  npuc_buffer_destroy(w->state_memory);
  for (size_t i = 0; w->results && i < npuc_program_outputs(w->engine->program); i++) npuc_tensor_release(&w->results[i]);
  free(w->results);
  free(w);
}

static npuc_status fill_worker(diag *d, worker *w) {
  const npuc_program *p = w->engine->program;
  npuc_session_options options = {.configuration = w->engine->configuration};
  size_t n = npuc_program_outputs(p);
  if (npuc_program_inputs(p) > 64 || n > 64) return npuc_fail(d, NPUC_DIAG_E1005, NULL, "a program with more than 64 inputs or outputs");
  NPUC_TRY(npuc_session_create_diag(d, p, &options, &w->session));
  w->results = npuc_xcalloc(n + 1, sizeof(tensor));
  for (size_t i = 0; i < n; i++) {
    NPUC_TRY(npuc_tensor_create(d, w->engine->outputs[i].type, &w->engine->outputs[i].shape, &w->results[i]));
    w->outputs[i] = w->results[i].data;
  }
  if (!w->engine->simulates) return NPUC_OK;
  uint64_t state_bytes = 0;
  const npu_program *plan = p->programs[w->engine->configuration];
  for (size_t i = 0; i < plan->n_streams; i++) {
    if (plan->streams[i].state_bytes > state_bytes) state_bytes = plan->streams[i].state_bytes;
  }
  w->state_memory = npuc_buffer_create(state_bytes);
  npuc_session_set_stream_executor(w->session, simulate_stream, w);
  return w->state_memory ? NPUC_OK : npuc_fail(d, NPUC_DIAG_E0002, NULL, "memory of the simulator");
}

static npuc_status open_worker(const void *model, diag *d, void **out_worker) {
  worker *w = npuc_xcalloc(1, sizeof *w);
  w->engine = model;
  npuc_status status = fill_worker(d, w);
  if (status != NPUC_OK)
    close_worker(w);
  else
    *out_worker = w;
  return status;
}

static npuc_status run_worker(void *user, diag *d, const tensor *inputs, tensor *out_outputs) {
  worker *w = user;
  const npuc_program *p = w->engine->program;
  for (size_t i = 0; i < npuc_program_inputs(p); i++) w->inputs[i] = inputs[i].data;
  NPUC_TRY(npuc_session_run_diag(w->session, d, w->inputs, w->outputs));
  for (size_t i = 0; i < npuc_program_outputs(p); i++) {
    out_outputs[i] = w->results[i];
    out_outputs[i].owner = NULL;
  }
  return NPUC_OK;
}

void npuc_npu_engine_backend(npu_engine *e, runner_backend *out_backend) {
  *out_backend = (runner_backend){.inputs = e->inputs,
                                  .outputs = e->outputs,
                                  .n_inputs = npuc_program_inputs(e->program),
                                  .n_outputs = npuc_program_outputs(e->program),
                                  .open = open_worker,
                                  .run = run_worker,
                                  .close = close_worker,
                                  .model = e};
}

npuc_status npuc_npu_engine_time(npu_engine *e, diag *d, const void *const *inputs, void *const *outputs, tensor_observer *observe,
                                 void *observe_user, npu_timing *timing) {
  void *opened = NULL;
  NPUC_TRY(open_worker(e, d, &opened));
  worker *w = opened;
  w->timing = timing;
  npuc_session_set_observer(w->session, observe, observe_user);
  npuc_status status = npuc_session_run_diag(w->session, d, inputs, outputs);
  close_worker(w);
  return status;
}
