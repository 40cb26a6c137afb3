/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/bench.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exec/executor.h"

enum { WARM_ROUNDS = 2 };

static double cpu_seconds(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0) return 0;
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static npuc_status run_lane(bench_lane *lane, diag *d, size_t round) {
  double cpu = cpu_seconds(), clock = npuc_clock_seconds();
  NPUC_TRY(lane->run(lane->state, d));
  double seconds = npuc_clock_seconds() - clock;
  if (round < WARM_ROUNDS) return NPUC_OK;
  lane->seconds[round - WARM_ROUNDS] = seconds;
  lane->cpu_seconds[round - WARM_ROUNDS] = cpu_seconds() - cpu;
  return NPUC_OK;
}

npuc_status npuc_bench_run(diag *d, const progress *p, bench_lane *lanes, size_t n_lanes, size_t repeat) {
  for (size_t round = 0; round < repeat + WARM_ROUNDS; round++) {
    if (npuc_progress_cancelled(p)) return npuc_fail(d, NPUC_DIAG_E0005, NULL, "bench was stopped");
    for (size_t i = 0; i < n_lanes; i++) NPUC_TRY(run_lane(&lanes[(round + i) % n_lanes], d, round));
    npuc_progress_report(p, "bench", round + 1, repeat + WARM_ROUNDS);
  }
  return NPUC_OK;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double quantile(const double *sorted, size_t n, double q) {
  double at = q * (double)(n - 1);
  size_t i = (size_t)at;
  if (i + 1 >= n) return sorted[n - 1];
  return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

bench_times npuc_bench_times(double *samples, size_t n) {
  if (n == 0) return (bench_times){0};
  qsort(samples, n, sizeof *samples, compare);
  return (bench_times){
      .min = samples[0], .p10 = quantile(samples, n, 0.1), .median = quantile(samples, n, 0.5), .p90 = quantile(samples, n, 0.9)};
}

/* -- ours -- */

struct bench_model {
  size_t n_inputs, n_outputs;
  const quant **input_quant, **output_quant; /* NULL: no integers there */
  const tensor *floats;                      /* the caller's */
  tensor *inputs;                            /* in the model's own dtypes; those not quantized are the caller's */
  tensor *raw;                               /* outputs in the model's own dtypes: the engine's, or ours for a session */
  tensor *outputs;                           /* floats where quantized */
  executor *executor;
  npuc_session *session;
  const void **input_data;
  void **output_data;
};

static bool is_quantized(const quant *q, dtype type) { return q && npuc_dtype_is_integer(type); }

static void make_room(arena *a, bench_model *m, size_t n_inputs, size_t n_outputs) {
  m->n_inputs = n_inputs;
  m->n_outputs = n_outputs;
  m->input_quant = (const quant **)npuc_arena_array(a, n_inputs + 1, sizeof(quant *));
  m->output_quant = (const quant **)npuc_arena_array(a, n_outputs + 1, sizeof(quant *));
  m->inputs = NPUC_NEW_ARRAY(a, n_inputs + 1, tensor);
  m->raw = NPUC_NEW_ARRAY(a, n_outputs + 1, tensor);
  m->outputs = NPUC_NEW_ARRAY(a, n_outputs + 1, tensor);
}

static npuc_status make_input(diag *d, bench_model *m, size_t i, const quant *q, dtype type) {
  m->inputs[i] = m->floats[i];
  m->inputs[i].owner = NULL;
  if (!is_quantized(q, type)) return NPUC_OK;
  m->input_quant[i] = q;
  return npuc_tensor_create(d, type, &m->floats[i].shape, &m->inputs[i]);
}

static npuc_status open_graph(diag *d, arena *a, thread_pool *pool, const graph *g, bench_model *m) {
  make_room(a, m, g->n_inputs, g->n_outputs);
  for (size_t i = 0; i < g->n_inputs; i++) NPUC_TRY(make_input(d, m, i, g->inputs[i]->quant, g->inputs[i]->type));
  for (size_t i = 0; i < g->n_outputs; i++)
    if (is_quantized(g->outputs[i]->quant, g->outputs[i]->type)) m->output_quant[i] = g->outputs[i]->quant;
  exec_options options = {.pool = pool};
  return npuc_executor_create(d, g, &options, &m->executor);
}

static npuc_status open_session(diag *d, arena *a, npu_engine *npu, bench_model *m) {
  make_room(a, m, npuc_program_inputs(npu->program), npuc_program_outputs(npu->program));
  m->input_data = (const void **)npuc_arena_array(a, m->n_inputs + 1, sizeof(void *));
  m->output_data = (void **)npuc_arena_array(a, m->n_outputs + 1, sizeof(void *));
  for (size_t i = 0; i < m->n_inputs; i++) {
    NPUC_TRY(make_input(d, m, i, npu->inputs[i].quant, npu->inputs[i].type));
    m->input_data[i] = m->inputs[i].data;
  }
  for (size_t i = 0; i < m->n_outputs; i++) {
    const model_port *p = &npu->outputs[i];
    if (is_quantized(p->quant, p->type)) m->output_quant[i] = p->quant;
    NPUC_TRY(npuc_tensor_create(d, p->type, &p->shape, &m->raw[i]));
    m->output_data[i] = m->raw[i].data;
  }
  return npuc_session_create_diag(d, npu->program, NULL, &m->session);
}

npuc_status npuc_bench_model_open(diag *d, arena *a, thread_pool *pool, const graph *g, npu_engine *npu, const tensor *inputs,
                                  bench_model **out_model) {
  bench_model *m = NPUC_NEW(a, bench_model);
  m->floats = inputs;
  npuc_status status = g ? open_graph(d, a, pool, g, m) : open_session(d, a, npu, m);
  if (status == NPUC_OK)
    *out_model = m;
  else
    npuc_bench_model_close(m);
  return status;
}

/* The output as a float, in memory that the first run takes. */
static npuc_status take_output(bench_model *m, diag *d, size_t i) {
  if (!m->output_quant[i]) {
    m->outputs[i] = m->raw[i];
    m->outputs[i].owner = NULL;
    return NPUC_OK;
  }
  if (!m->outputs[i].owner) NPUC_TRY(npuc_tensor_create(d, DTYPE_F32, &m->raw[i].shape, &m->outputs[i]));
  npuc_dequantize_tensor(m->output_quant[i], &m->raw[i], &m->outputs[i]);
  return NPUC_OK;
}

npuc_status npuc_bench_model_run(void *model, diag *d) {
  bench_model *m = model;
  for (size_t i = 0; i < m->n_inputs; i++)
    if (m->input_quant[i]) npuc_quantize_tensor(m->input_quant[i], &m->floats[i], &m->inputs[i]);
  if (m->executor)
    NPUC_TRY(npuc_executor_run(m->executor, d, m->inputs, m->raw));
  else
    NPUC_TRY(npuc_session_run_diag(m->session, d, m->input_data, m->output_data));
  for (size_t i = 0; i < m->n_outputs; i++) NPUC_TRY(take_output(m, d, i));
  return NPUC_OK;
}

const tensor *npuc_bench_model_output(const bench_model *m, size_t index) { return &m->outputs[index]; }

size_t npuc_bench_model_outputs(const bench_model *m) { return m->n_outputs; }

void npuc_bench_model_close(bench_model *m) {
  if (!m) return;
  npuc_executor_destroy(m->executor);
  npuc_session_destroy(m->session);
  for (size_t i = 0; i < m->n_inputs; i++)
    if (m->input_quant[i]) npuc_tensor_release(&m->inputs[i]);
  for (size_t i = 0; i < m->n_outputs; i++) {
    npuc_tensor_release(&m->raw[i]); /* an executor's has no owner */
    npuc_tensor_release(&m->outputs[i]);
  }
}
