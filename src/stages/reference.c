/* SPDX-License-Identifier: Apache-2.0 */
/* --reference DIR: the source framework's own outputs, DIR/OUTPUT.npy, first axis samples. They belong to the baseline's inputs, or to those in DIR/inputs/INPUT.npy where
 * that folder exists. Frameworks sum in other orders, so the bound is float rounding: max|d| <= 1e-4 max|ref| and SQNR >= 60 dB. */
#include <stdlib.h>
#include <string.h>

#include "formats/npy.h"
#include "stages/stages.h"

static const double reference_relative = 1e-4, reference_sqnr_db = 60.0;

typedef struct reference {
  build *b;
  const graph *graph;
  baseline inputs; /* n_samples and inputs */
  tensor *wanted;  /* [n_samples, ...] by output */
  comparison_sum *sums;
} reference;

static const char *file_of(const reference *r, const char *kind, const char *name) {
  return npuc_arena_printf(r->b->arena, "%s%s/%s.npy", r->b->options.reference, kind, name);
}

/* The folder's own inputs replace the baseline's. */
static npuc_status load_inputs(reference *r) {
  NPUC_TRY(npuc_baseline_load(r->b, r->graph, &r->inputs));
  if (!npuc_path_is_dir(npuc_path_join(r->b->arena, r->b->options.reference, "inputs"))) return NPUC_OK;
  for (size_t i = 0; i < r->graph->n_inputs; i++) {
    tensor *t = &r->inputs.inputs[i];
    npuc_tensor_release(t);
    NPUC_TRY(npuc_npy_read(r->b->diag, file_of(r, "/inputs", r->graph->inputs[i]->name), t));
    shape one = r->graph->inputs[i]->shape; /* of a sample: a fixed batch is part of it */
    if (one.rank > 0 && !dim_is_number(one.dims[0])) one.dims[0] = 1;
    int64_t elements = 0;
    if (!npuc_shape_elements(&one, &elements) || elements == 0 || npuc_tensor_elements(t) % elements)
      return npuc_fail(r->b->diag, NPUC_DIAG_E0919, &(diag_place){.file = r->b->options.reference, .node = r->graph->inputs[i]->name},
                       "the input's file holds no whole samples");
    size_t n = (size_t)(npuc_tensor_elements(t) / elements);
    if (i > 0 && n != r->inputs.n_samples)
      return npuc_fail(r->b->diag, NPUC_DIAG_E0919, &(diag_place){.file = r->b->options.reference},
                       "the inputs have different numbers of samples");
    r->inputs.n_samples = n;
  }
  return NPUC_OK;
}

static npuc_status load_wanted(reference *r) {
  for (size_t i = 0; i < r->graph->n_outputs; i++) {
    const char *path = file_of(r, "", r->graph->outputs[i]->name);
    NPUC_TRY(npuc_npy_read(r->b->diag, path, &r->wanted[i]));
    if (r->inputs.n_samples == 0 || npuc_tensor_elements(&r->wanted[i]) % (int64_t)r->inputs.n_samples)
      return npuc_fail(r->b->diag, NPUC_DIAG_E0919, &(diag_place){.file = path}, "%lld elements are no %zu samples",
                       (long long)npuc_tensor_elements(&r->wanted[i]), r->inputs.n_samples);
  }
  return NPUC_OK;
}

static npuc_status compare_sample(void *user, diag *d, size_t index, const tensor *inputs, const tensor *outputs) {
  (void)inputs;
  reference *r = user;
  for (size_t k = 0; k < r->graph->n_outputs; k++) {
    tensor slice = r->wanted[k];
    slice.bytes /= r->inputs.n_samples;
    slice.data = (char *)slice.data + index * slice.bytes;
    slice.owner = NULL;
    slice.shape = (shape){.rank = 1, .dims = {npuc_tensor_elements(&r->wanted[k]) / (int64_t)r->inputs.n_samples}};
    if (slice.shape.dims[0] != npuc_tensor_elements(&outputs[k]))
      return npuc_fail(d, NPUC_DIAG_E0919, &(diag_place){.file = r->b->options.reference, .node = r->graph->outputs[k]->name},
                       "a sample has %lld elements, the model gives %lld", (long long)slice.shape.dims[0],
                       (long long)npuc_tensor_elements(&outputs[k]));
    NPUC_TRY(npuc_compare_add(d, &r->sums[k], &outputs[k], &slice));
  }
  return NPUC_OK;
}

static npuc_status judge(stage_work *w, const reference *r) {
  json_t *list = json_array();
  json_object_set_new(w->gate, "reference", list);
  for (size_t i = 0; i < r->graph->n_outputs; i++) {
    const comparison *c = &r->sums[i].result;
    const char *name = r->graph->outputs[i]->name;
    json_array_append_new(list, npuc_comparison_json(name, c));
    if (c->max_abs <= reference_relative * c->max_ref && c->sqnr_db >= reference_sqnr_db) continue;
    json_object_set_new(w->gate, "pass", json_false());
    return npuc_fail(w->b->diag, NPUC_DIAG_E0919, &(diag_place){.file = file_of(r, "", name), .node = name},
                     "max|d| %.3g with max|ref| %.3g, SQNR %.1f dB", c->max_abs, c->max_ref, c->sqnr_db);
  }
  return NPUC_OK;
}

static npuc_status run_reference(stage_work *w, reference *r) {
  runner *run = NULL;
  NPUC_TRY(load_inputs(r));
  NPUC_TRY(load_wanted(r));
  NPUC_TRY(npuc_runner_create(w->b->diag, w->b->pool, r->graph, &run));
  npuc_status status =
      npuc_runner_run(run, w->b->diag, NULL, "reference", 0, r->inputs.n_samples, npuc_sample_of_baseline, &r->inputs, compare_sample, r);
  npuc_runner_destroy(run);
  return status == NPUC_OK ? judge(w, r) : status;
}

npuc_status npuc_gate_reference(stage_work *w, const graph *g) {
  reference r = {.b = w->b, .graph = g};
  r.wanted = npuc_xcalloc(g->n_outputs + 1, sizeof(tensor));
  r.sums = npuc_xcalloc(g->n_outputs + 1, sizeof(comparison_sum));
  npuc_status status = run_reference(w, &r);
  for (size_t i = 0; i < g->n_outputs; i++) npuc_tensor_release(&r.wanted[i]);
  free(r.wanted);
  free(r.sums);
  npuc_baseline_release(&r.inputs);
  return status;
}
