/* SPDX-License-Identifier: Apache-2.0 */
/* Gates with numbers. Two models are run on the baseline's inputs, sample by sample, and their outputs compared: an exact stage must give the same bits, a reassociating one
 * max|d| <= 1e-5 max|ref| and SQNR >= 100 dB. A stage that left the graph as it was (ir/same.h) is proved by that, and nothing runs. As long as every stage so far gave the baseline's bits, the baseline's recorded outputs are the first model's, and only the
 * second one runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/same.h"
#include "stages/stages.h"

static const double reassociating_relative = 1e-5, reassociating_sqnr_db = 100.0;

json_t *npuc_json_number(double v) {
  if (isnan(v)) return json_string("nan");
  if (isinf(v)) return json_string(v > 0 ? "inf" : "-inf");
  return json_real(v);
}

json_t *npuc_comparison_json(const char *name, const comparison *c) {
  json_t *o = json_object();
  json_object_set_new(o, "name", json_string(name));
  json_object_set_new(o, "elements", json_integer(c->elements));
  json_object_set_new(o, "different", json_integer(c->different));
  json_object_set_new(o, "max_abs", npuc_json_number(c->max_abs));
  json_object_set_new(o, "max_rel", npuc_json_number(c->max_rel));
  json_object_set_new(o, "max_ref", npuc_json_number(c->max_ref));
  json_object_set_new(o, "rmse", npuc_json_number(c->rmse));
  json_object_set_new(o, "cosine", npuc_json_number(c->cosine));
  json_object_set_new(o, "sqnr_db", npuc_json_number(c->sqnr_db));
  json_object_set_new(o, "argmax_agreement", npuc_json_number(c->rows ? (double)c->rows_agree / (double)c->rows : 1.0));
  return o;
}

/* Keeps the first model's outputs of every sample. */
typedef struct kept_outputs {
  size_t n_outputs;
  tensor *tensors; /* [sample * n_outputs + k] */
  comparison_sum *sums;
} kept_outputs;

static npuc_status keep(void *user, diag *d, size_t index, const tensor *inputs, const tensor *outputs) {
  (void)inputs;
  kept_outputs *kept = user;
  for (size_t k = 0; k < kept->n_outputs; k++) {
    tensor *t = &kept->tensors[index * kept->n_outputs + k];
    NPUC_TRY(npuc_tensor_create(d, outputs[k].type, &outputs[k].shape, t));
    if (t->bytes) memcpy(t->data, outputs[k].data, t->bytes);
  }
  return NPUC_OK;
}

static npuc_status compare_kept(void *user, diag *d, size_t index, const tensor *inputs, const tensor *outputs) {
  (void)inputs;
  kept_outputs *kept = user;
  for (size_t k = 0; k < kept->n_outputs; k++)
    NPUC_TRY(npuc_compare_add(d, &kept->sums[k], &outputs[k], &kept->tensors[index * kept->n_outputs + k]));
  return NPUC_OK;
}

static npuc_status run_over_baseline(stage_work *w, const graph *g, baseline *base, consume_function *consume, void *user) {
  runner *r;
  NPUC_TRY(npuc_runner_create(w->b->diag, w->b->pool, g, &r));
  npuc_status status = npuc_runner_run(r, w->b->diag, NULL, "gate", 0, base->n_samples, npuc_sample_of_baseline, base, consume, user);
  npuc_runner_destroy(r);
  return status;
}

static bool within(const comparison *c, parity bound) {
  if (c->different == 0) return true;
  return bound != PARITY_EXACT && c->max_abs <= reassociating_relative * c->max_ref && c->sqnr_db >= reassociating_sqnr_db;
}

npuc_status npuc_gate_judge(stage_work *w, const graph *after, const comparison_sum *sums, parity bound) {
  json_t *list = json_array();
  npuc_status status = NPUC_OK;
  for (size_t k = 0; k < after->n_outputs; k++) {
    const comparison *c = &sums[k].result;
    json_array_append_new(list, npuc_comparison_json(after->outputs[k]->name, c));
    if (within(c, bound) || status != NPUC_OK) continue;
    status = npuc_fail(w->b->diag, NPUC_DIAG_E0911, &(diag_place){.file = w->b->path, .node = after->outputs[k]->name},
                       "stage %s changed this output: max|d| %.3g with max|ref| %.3g, SQNR %.1f dB; %s", npuc_stage_name(w->stage),
                       c->max_abs, c->max_ref, c->sqnr_db,
                       bound == PARITY_EXACT ? "its rewrites are exact" : "its rewrites may change rounding only (1e-5, 100 dB)");
    npuc_fix(w->b->diag, "npuc diff %s@%s %s --nodes", w->b->path, npuc_stage_name((stage_id)(w->stage - 1)),
             npuc_build_path(w->b, w->stage, w->target));
  }
  json_object_set_new(w->gate, "kind", json_string(bound == PARITY_EXACT ? "exact" : "reassociating"));
  if (bound != PARITY_EXACT) {
    json_object_set_new(w->gate, "max_relative", json_real(reassociating_relative));
    json_object_set_new(w->gate, "least_sqnr_db", json_real(reassociating_sqnr_db));
  }
  json_object_set_new(w->gate, "outputs", list);
  json_object_set_new(w->gate, "pass", json_boolean(status == NPUC_OK));
  return status;
}

/* -- the baseline's outputs in the first model's place -- */

/* Whether the stage before gave the baseline's bits; the pipeline has seen to it that its files are the recorded ones. */
static bool before_is_baseline(const stage_work *w) {
  stage_id last = (stage_id)(w->stage - 1);
  if (last == STAGE_BASELINE) return true;
  json_t *record = npuc_build_record(w->b, last, npuc_stage_per_target(last) ? w->target : NULL);
  return json_is_true(json_object_get(json_object_get(record, "gate"), "equals_baseline"));
}

/* One sample of a stacked output: its first axis is the samples' (of a scalar, their number). */
static tensor sample_of(const tensor *all, size_t n_samples, size_t index, int32_t rank) {
  tensor one = *all;
  one.owner = NULL;
  one.bytes = all->bytes / n_samples;
  one.data = one.bytes ? (char *)all->data + index * one.bytes : NULL;
  one.shape.dims[0] /= (int64_t)n_samples;
  if (rank == 0 && one.shape.rank == 1 && one.shape.dims[0] == 1) one.shape.rank = 0;
  return one;
}

typedef struct recorded_outputs {
  const baseline *base;
  comparison_sum *sums;
} recorded_outputs;

static npuc_status compare_recorded(void *user, diag *d, size_t index, const tensor *inputs, const tensor *outputs) {
  (void)inputs;
  recorded_outputs *r = user;
  for (size_t k = 0; k < r->base->n_outputs; k++) {
    tensor wanted = sample_of(&r->base->outputs[k], r->base->n_samples, index, outputs[k].shape.rank);
    NPUC_TRY(npuc_compare_add(d, &r->sums[k], &outputs[k], &wanted));
  }
  return NPUC_OK;
}

/* Files hold every type but the 16-bit floats' own; what came back as something else is run again. */
static bool types_are_recorded(const baseline *base, const graph *before) {
  for (size_t k = 0; k < base->n_outputs; k++) {
    const tensor *t = &base->outputs[k];
    if (t->type != before->outputs[k]->type || t->shape.rank < 1 || t->shape.dims[0] % (int64_t)base->n_samples) return false;
  }
  return true;
}

static npuc_status run_both(stage_work *w, const graph *before, const graph *after, baseline *base, kept_outputs *kept) {
  NPUC_TRY(run_over_baseline(w, before, base, keep, kept));
  return run_over_baseline(w, after, base, compare_kept, kept);
}

static bool all_equal(const kept_outputs *kept) {
  for (size_t k = 0; k < kept->n_outputs; k++)
    if (kept->sums[k].result.different) return false;
  return true;
}

/* The graph as it was: no run could differ. Said as such, with no sample. */
static void record_same(stage_work *w) {
  json_object_set_new(w->gate, "kind", json_string("exact"));
  json_object_set_new(w->gate, "proof", json_string("same graph"));
  json_object_set_new(w->gate, "outputs", json_array());
  json_object_set_new(w->gate, "pass", json_true());
  json_object_set_new(w->gate, "samples", json_integer(0));
  json_object_set_new(w->gate, "equals_baseline", json_boolean(before_is_baseline(w)));
}

npuc_status npuc_gate_parity(stage_work *w, const graph *before, const graph *after, parity bound) {
  baseline base;
  if (npuc_graph_same(before, after)) {
    record_same(w);
    return NPUC_OK;
  }
  NPUC_TRY(npuc_baseline_load(w->b, after, &base));
  kept_outputs kept = {.n_outputs = after->n_outputs};
  kept.tensors = npuc_xcalloc(base.n_samples * kept.n_outputs + 1, sizeof(tensor));
  kept.sums = npuc_xcalloc(kept.n_outputs + 1, sizeof(comparison_sum));
  recorded_outputs recorded = {&base, kept.sums};
  bool is_baseline = before_is_baseline(w);
  npuc_status status = is_baseline && types_are_recorded(&base, before) ? run_over_baseline(w, after, &base, compare_recorded, &recorded)
                                                                        : run_both(w, before, after, &base, &kept);
  if (status == NPUC_OK) status = npuc_gate_judge(w, after, kept.sums, bound);
  json_object_set_new(w->gate, "samples", json_integer((json_int_t)base.n_samples));
  json_object_set_new(w->gate, "equals_baseline", json_boolean(status == NPUC_OK && is_baseline && all_equal(&kept)));
  for (size_t i = 0; i < base.n_samples * kept.n_outputs; i++) npuc_tensor_release(&kept.tensors[i]);
  free(kept.tensors);
  free(kept.sums);
  npuc_baseline_release(&base);
  return status;
}
