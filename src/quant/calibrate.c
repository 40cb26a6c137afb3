/* SPDX-License-Identifier: Apache-2.0 */
/* One run of the float graph over the samples. Values that have a scale of their own are observed; the inputs of layers with weights are summed
 * element by element for bias correction.
 *
 * Samples go in chunks of CHUNK, each to a lane: an executor with observers and sums of its own. Histograms merge in any order (observer.h). Sums are
 * doubles, so theirs is fixed: a chunk's samples in order, then the chunks in order. How many lanes there are changes nothing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/executor.h"
#include "quant/plan.h"

static npuc_status no_memory(const plan *p, size_t bytes) {
  return npuc_fail(p->d, NPUC_DIAG_E0002, NULL, "%zu bytes for the statistics of an activation", bytes);
}

static npuc_status want_observer(plan *p, const value *v) {
  plan_value *pv = &p->values[v->id];
  if (!pv->quantized || pv->same_as != v->id || pv->seen) return NPUC_OK;
  pv->seen = malloc(sizeof *pv->seen);
  if (!pv->seen) return no_memory(p, sizeof *pv->seen);
  npuc_observer_init(pv->seen, &p->kernels);
  return NPUC_OK;
}

static npuc_status want_mean(plan *p, const value *v) {
  plan_value *pv = &p->values[v->id];
  int64_t elements;
  if (pv->mean || !npuc_shape_elements(&v->shape, &elements)) return NPUC_OK;
  pv->mean = calloc((size_t)elements + 1, sizeof *pv->mean);
  if (!pv->mean) return no_memory(p, (size_t)elements * sizeof *pv->mean);
  pv->mean_elements = elements;
  return NPUC_OK;
}

/* A padding value takes part in its tensor's range; minus infinity (before a maximum) does not: it becomes the lowest integer. */
static void see_padding(plan *p, const plan_node *pn) {
  double v;
  if (!npuc_plan_scalar(pn->node, 2, &v) || !(fabs(v) < 1e30)) return;
  observer *o = p->values[p->values[pn->node->inputs[0]->id].same_as].seen;
  float narrow = (float)v;
  if (o) npuc_observer_add(o, &narrow, 1);
}

static npuc_status prepare(plan *p) {
  for (size_t i = 0; i < p->g->n_inputs; i++) NPUC_TRY(want_observer(p, p->g->inputs[i]));
  for (size_t i = 0; i < p->n_nodes; i++) {
    const plan_node *pn = &p->nodes[i];
    if (pn->role == ROLE_FUSED) continue;
    if (pn->out) NPUC_TRY(want_observer(p, pn->out));
    for (int32_t k = 1; k < pn->node->n_outputs; k++) {
      if (pn->node->outputs[k]) NPUC_TRY(want_observer(p, pn->node->outputs[k]));
    }
    bool weights = pn->role == ROLE_CONV || pn->role == ROLE_GEMM || pn->role == ROLE_MATMUL || pn->role == ROLE_CHANNEL;
    if (weights && p->options->bias_correction) NPUC_TRY(want_mean(p, plan_x(pn->node)));
  }
  return NPUC_OK;
}

/* -- lanes -- */

enum { CHUNK = 8 };
static const size_t most_lane_bytes = (size_t)256 << 20; /* of all lanes together, where one alone does not need more */

typedef struct lane {
  const plan *p;
  executor *e;
  observer **seen; /* by value id, as in plan_value */
  double **sums;
  tensor *own, *inputs, *outputs;
  size_t index;     /* of the sample at work */
  const value *odd; /* NaN or infinity came out here */
  npuc_status status;
} lane;

static npuc_status observe(void *user, const value *v, const tensor *t) {
  lane *l = user;
  if (t->type != DTYPE_F32) return NPUC_OK;
  const float *x = t->data;
  observer *seen = l->seen[v->id];
  if (seen) {
    npuc_observer_add(seen, x, t->bytes / sizeof *x);
    if (!seen->finite) {
      l->odd = v;
      return NPUC_BAD_INPUT;
    }
  }
  const plan_value *pv = &l->p->values[v->id];
  if (pv->mean && (size_t)pv->mean_elements * sizeof *x == t->bytes)
    l->p->kernels.accumulate_f64(x, (size_t)pv->mean_elements, l->sums[v->id]);
  return NPUC_OK;
}

static npuc_status make_statistics(const plan *p, lane *l) {
  for (uint32_t i = 0; i < p->g->next_value_id; i++) {
    const plan_value *pv = &p->values[i];
    if (pv->seen) {
      l->seen[i] = malloc(sizeof *l->seen[i]);
      if (!l->seen[i]) return no_memory(p, sizeof *l->seen[i]);
      npuc_observer_init(l->seen[i], &p->kernels);
    }
    if (!pv->mean) continue;
    l->sums[i] = calloc((size_t)pv->mean_elements + 1, sizeof *l->sums[i]);
    if (!l->sums[i]) return no_memory(p, (size_t)pv->mean_elements * sizeof *l->sums[i]);
  }
  return NPUC_OK;
}

static npuc_status open_lane(plan *p, thread_pool *pool, lane *l) {
  const graph *g = p->g;
  l->p = p;
  l->seen = NPUC_NEW_ARRAY(p->arena, g->next_value_id + 1, observer *);
  l->sums = NPUC_NEW_ARRAY(p->arena, g->next_value_id + 1, double *);
  l->own = NPUC_NEW_ARRAY(p->arena, g->n_inputs + 1, tensor);
  l->inputs = NPUC_NEW_ARRAY(p->arena, g->n_inputs + 1, tensor);
  l->outputs = NPUC_NEW_ARRAY(p->arena, g->n_outputs + 1, tensor);
  NPUC_TRY(make_statistics(p, l));
  for (size_t i = 0; i < g->n_inputs; i++) NPUC_TRY(npuc_tensor_create(p->d, g->inputs[i]->type, &g->inputs[i]->shape, &l->own[i]));
  return npuc_executor_create(p->d, g, &(exec_options){.pool = pool, .observe = observe, .user = l}, &l->e);
}

static void close_lane(const plan *p, lane *l) {
  if (!l->p) return;
  npuc_executor_destroy(l->e);
  for (uint32_t i = 0; i < p->g->next_value_id; i++) {
    free(l->seen[i]);
    free(l->sums[i]);
  }
  for (size_t i = 0; i < p->g->n_inputs; i++) npuc_tensor_release(&l->own[i]);
}

/* -- one round: every lane takes one chunk -- */

typedef struct calibration_round {
  plan *p;
  const quant_samples *samples;
  lane *lanes;
  size_t first, end; /* samples */
} calibration_round;

static npuc_status run_sample(const calibration_round *r, lane *l) {
  const graph *g = r->p->g;
  for (size_t i = 0; i < g->n_inputs; i++) {
    l->inputs[i] = l->own[i];
    l->inputs[i].owner = NULL;
  }
  NPUC_TRY(r->samples->read(r->samples->user, r->p->d, l->index, l->inputs));
  NPUC_TRY(npuc_executor_run(l->e, r->p->d, l->inputs, l->outputs));
  return r->samples->ran ? r->samples->ran(r->samples->user, r->p->d, l->index, l->outputs) : NPUC_OK;
}

static void run_lanes(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const calibration_round *r = context;
  for (size_t i = begin; i < end; i++) {
    lane *l = &r->lanes[i];
    size_t first = r->first + i * CHUNK, last = first + CHUNK < r->end ? first + CHUNK : r->end;
    for (l->index = first; l->index < last && l->status == NPUC_OK; l->index += l->status == NPUC_OK) l->status = run_sample(r, l);
  }
}

/* The first chunk's failure is told, whichever came first. */
static npuc_status check_lane(const plan *p, const lane *l) {
  if (!l->odd) return l->status;
  diag_place place = {.part = p->g->name, .node = l->odd->name, .op = l->odd->producer ? l->odd->producer->op->type : NULL};
  return npuc_fail(p->d, NPUC_DIAG_E0703, &place, "sample %zu gives a NaN or an infinity here", l->index);
}

static void take_sums(const plan *p, lane *l) {
  for (uint32_t i = 0; i < p->g->next_value_id; i++) {
    double *total = p->values[i].mean, *chunk = l->sums[i];
    if (!chunk) continue;
    for (int64_t k = 0; k < p->values[i].mean_elements; k++) total[k] += chunk[k];
    memset(chunk, 0, (size_t)p->values[i].mean_elements * sizeof *chunk);
  }
}

static npuc_status run_rounds(plan *p, const quant_samples *samples, size_t count, lane *lanes, size_t n_lanes) {
  while (p->samples < count) {
    size_t n = n_lanes * CHUNK, left = count - (size_t)p->samples;
    if (n > left) n = left;
    size_t used = (n + CHUNK - 1) / CHUNK;
    calibration_round r = {p, samples, lanes, (size_t)p->samples, (size_t)p->samples + n};
    npuc_parallel_for(n_lanes > 1 ? p->options->pool : NULL, used, 1, run_lanes, &r);
    for (size_t i = 0; i < used; i++) {
      NPUC_TRY(check_lane(p, &lanes[i]));
      take_sums(p, &lanes[i]);
    }
    p->samples += n;
    npuc_progress_report(p->options->progress, "calibrate", p->samples, count);
    if (npuc_progress_cancelled(p->options->progress))
      return npuc_fail(p->d, NPUC_DIAG_E0005, NULL, "calibration stopped after %llu samples", (unsigned long long)p->samples);
  }
  return NPUC_OK;
}

static void merge_histograms(const plan *p, const lane *l) {
  for (uint32_t i = 0; i < p->g->next_value_id; i++) {
    if (l->seen[i]) npuc_observer_merge(p->values[i].seen, l->seen[i]);
  }
}

/* As many lanes as threads, unless the statistics of a large model would take more memory than that is worth: then fewer, and the last one's
 * operators use the threads. */
static size_t count_lanes(const plan *p, size_t count) {
  size_t bytes = 1, threads = npuc_pool_threads(p->options->pool), chunks = (count + CHUNK - 1) / CHUNK;
  for (uint32_t i = 0; i < p->g->next_value_id; i++) {
    const plan_value *pv = &p->values[i];
    bytes += (pv->seen ? sizeof *pv->seen : 0) + (size_t)pv->mean_elements * sizeof *pv->mean;
  }
  size_t n = most_lane_bytes / bytes;
  if (n > threads) n = threads;
  if (n > chunks) n = chunks;
  return n ? n : 1;
}

static npuc_status run_samples(plan *p, const quant_samples *samples) {
  size_t count = samples->count, most = p->options->max_samples;
  if (most && most < count) count = most;
  size_t n = count_lanes(p, count);
  lane *lanes = NPUC_NEW_ARRAY(p->arena, n, lane);
  npuc_status status = NPUC_OK;
  for (size_t i = 0; i < n && status == NPUC_OK; i++) status = open_lane(p, n == 1 ? p->options->pool : NULL, &lanes[i]);
  if (status == NPUC_OK) status = run_rounds(p, samples, count, lanes, n);
  for (size_t i = 0; i < n; i++) {
    if (status == NPUC_OK) merge_histograms(p, &lanes[i]);
    close_lane(p, &lanes[i]);
  }
  return status;
}

/* Every float input had one single value in all samples: the first of them (others may stand before it), else NULL. */
static const value *constant_input(const plan *p) {
  const value *first = NULL;
  for (size_t i = 0; i < p->g->n_inputs; i++) {
    const observer *o = p->values[p->g->inputs[i]->id].seen;
    if (!o) continue;
    if (o->min < o->max) return NULL;
    if (!first) first = p->g->inputs[i];
  }
  return first;
}

npuc_status npuc_plan_calibrate(plan *p, const quant_samples *samples) {
  NPUC_TRY(npuc_kernels_select(p->d, &p->kernels));
  NPUC_TRY(prepare(p));
  for (size_t i = 0; i < p->n_nodes; i++) {
    if (p->nodes[i].role == ROLE_PAD) see_padding(p, &p->nodes[i]);
  }
  NPUC_TRY(run_samples(p, samples));
  if (p->samples == 0) return npuc_fail(p->d, NPUC_DIAG_E0701, NULL, "the calibration data holds no sample");
  const value *constant = constant_input(p);
  if (constant) {
    return npuc_fail(p->d, NPUC_DIAG_E0702, &(diag_place){.node = constant->name}, "all %llu samples are %g everywhere",
                     (unsigned long long)p->samples, (double)p->values[constant->id].seen->min);
  }
  return NPUC_OK;
}

void npuc_plan_release(plan *p) {
  if (!p) return;
  for (uint32_t i = 0; i < p->g->next_value_id; i++) {
    free(p->values[i].seen);
    free(p->values[i].mean);
  }
}
