/* SPDX-License-Identifier: Apache-2.0 */
/* One run of the float graph over the samples. Values that have a scale of their own are observed; the inputs of layers with weights are summed
 * element by element, in the order of the samples, for bias correction. */
#include <math.h>
#include <stdlib.h>

#include "exec/executor.h"
#include "quant/plan.h"

static npuc_status no_memory(plan *p, size_t bytes) {
  return npuc_fail(p->d, NPUC_DIAG_E0002, NULL, "%zu bytes for the statistics of an activation", bytes);
}

static npuc_status want_observer(plan *p, const value *v) {
  plan_value *pv = &p->values[v->id];
  if (!pv->quantized || pv->same_as != v->id || pv->seen) return NPUC_OK;
  pv->seen = malloc(sizeof *pv->seen);
  if (!pv->seen) return no_memory(p, sizeof *pv->seen);
  npuc_observer_init(pv->seen);
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

static npuc_status observe(void *user, const value *v, const tensor *t) {
  plan *p = user;
  plan_value *pv = &p->values[v->id];
  if (t->type != DTYPE_F32) return NPUC_OK;
  const float *x = t->data;
  if (pv->seen) {
    npuc_observer_add(pv->seen, x, t->bytes / sizeof *x);
    if (!pv->seen->finite) {
      diag_place place = {.part = p->g->name, .node = v->name, .op = v->producer ? v->producer->op->type : NULL};
      return npuc_fail(p->d, NPUC_DIAG_E0703, &place, "sample %llu gives a NaN or an infinity here", (unsigned long long)p->samples);
    }
  }
  if (pv->mean && (size_t)pv->mean_elements * sizeof *x == t->bytes) {
    for (int64_t i = 0; i < pv->mean_elements; i++) pv->mean[i] += (double)x[i];
  }
  return NPUC_OK;
}

static npuc_status run_samples(plan *p, executor *e, const quant_samples *samples) {
  tensor *inputs = NPUC_NEW_ARRAY(p->arena, p->g->n_inputs + 1, tensor);
  tensor *outputs = NPUC_NEW_ARRAY(p->arena, p->g->n_outputs + 1, tensor);
  size_t most = p->options->max_samples;
  while (most == 0 || p->samples < most) {
    bool more = true;
    NPUC_TRY(samples->next(samples->user, p->d, inputs, &more));
    if (!more) break;
    NPUC_TRY(npuc_executor_run(e, p->d, inputs, outputs));
    p->samples++;
    npuc_progress_report(p->options->progress, "calibrate", p->samples, most);
    if (npuc_progress_cancelled(p->options->progress))
      return npuc_fail(p->d, NPUC_DIAG_E0005, NULL, "calibration stopped after %llu samples", (unsigned long long)p->samples);
  }
  return NPUC_OK;
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
  NPUC_TRY(prepare(p));
  exec_options options = {.pool = p->options->pool, .observe = observe, .user = p};
  for (size_t i = 0; i < p->n_nodes; i++) {
    if (p->nodes[i].role == ROLE_PAD) see_padding(p, &p->nodes[i]);
  }
  executor *e;
  NPUC_TRY(npuc_executor_create(p->d, p->g, &options, &e));
  npuc_status status = run_samples(p, e, samples);
  npuc_executor_destroy(e);
  NPUC_TRY(status);
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
