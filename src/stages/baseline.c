/* SPDX-License-Identifier: Apache-2.0 */
/* Stage 0: what the source model answers, before npuc changed anything. The first 16 samples of --eval, else --calib, else seeded random ones, and the model's outputs:
 * every later gate stands on them.
 *
 * A run reads every weight and visits every node. Where 16 runs would read more than a budget of 1 GiB (a node counts as 4 KiB), the samples are fewer, two at least, and
 * a note says so. The number follows from the graph alone, never from a clock. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/npy.h"
#include "ir/decoder_form.h"
#include "stages/stages.h"

enum { BASELINE_SAMPLES = 16, LEAST_SAMPLES = 2, NODE_BYTES = 4096 };
static const size_t run_budget = (size_t)1 << 30; /* bytes that all samples together may read */

static size_t bytes_of_run(const graph *g) {
  size_t bytes = g->n_nodes * NODE_BYTES, at = 0;
  void *item;
  while (npuc_map_next(g->values, &at, NULL, &item)) {
    const value *v = item;
    if (v->constant && v->n_uses) bytes += v->constant->bytes;
  }
  return bytes;
}

/* Of `n` that there are. */
static size_t affordable_samples(stage_work *w, const graph *g, size_t n) {
  size_t bytes = bytes_of_run(g), affordable = bytes ? run_budget / bytes : BASELINE_SAMPLES;
  if (n > BASELINE_SAMPLES) n = BASELINE_SAMPLES;
  if (affordable < LEAST_SAMPLES) affordable = LEAST_SAMPLES;
  if (n <= affordable) return n;
  npuc_note(w->b->diag, NPUC_DIAG_E0934, &(diag_place){.file = w->b->options.model},
            "gates run %zu samples in place of %zu: one reads %zu MiB of weights and nodes", affordable, n, bytes >> 20);
  json_object_set_new(w->gate, "samples_left_out", json_integer((json_int_t)(n - affordable)));
  return affordable;
}

/* Ports' names may hold anything; files are named by the characters that every file system takes, and not by more than it takes. */
static const char *port_file(build *b, const char *folder, const char *kind, const char *name) {
  enum { LONGEST = 200, KEPT = 160 };
  if (strlen(name) > LONGEST) name = npuc_arena_printf(b->arena, "%.*s_%s", (int)KEPT, name, npuc_hash_text(b->arena, name));
  char *clean = npuc_arena_str(b->arena, name);
  for (char *p = clean; *p; p++)
    if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-", *p)) *p = '_';
  return npuc_arena_printf(b->arena, "%s/%s/%s.npy", folder, kind, clean);
}

/* -- loading -- */

/* A static decoder has other ports than its source: its samples are the calls that the static stage compared. */
static json_t *record_for(const build *b, const graph *g) {
  decoder_form form;
  return npuc_build_record(b, npuc_decoder_form_of(g->module, &form) ? STAGE_STATIC : STAGE_BASELINE, NULL);
}

static npuc_status load_ports(build *b, const json_t *record, const char *kind, value *const *ports, size_t n, tensor *out) {
  json_t *files = json_object_get(record, kind);
  for (size_t i = 0; i < n; i++) {
    const char *file = json_string_value(json_array_get(files, i));
    if (!file)
      return npuc_fail(b->diag, NPUC_DIAG_E0905, &(diag_place){.file = b->path, .node = ports[i]->name}, "the baseline has no file for it");
    NPUC_TRY(npuc_npy_read(b->diag, npuc_path_join(b->arena, b->path, file), &out[i]));
  }
  return NPUC_OK;
}

npuc_status npuc_baseline_load(build *b, const graph *g, baseline *out_baseline) {
  *out_baseline = (baseline){.n_inputs = g->n_inputs, .n_outputs = g->n_outputs};
  out_baseline->inputs = npuc_xcalloc(g->n_inputs + 1, sizeof(tensor));
  out_baseline->outputs = npuc_xcalloc(g->n_outputs + 1, sizeof(tensor));
  /* The files stack samples along the first axis, whose size is no count: an input of batch 4 adds 4 to it a sample. */
  json_t *record = record_for(b, g);
  json_int_t samples = json_integer_value(json_object_get(json_object_get(record, "gate"), "samples"));
  npuc_status status =
      samples >= 1 ? NPUC_OK : npuc_fail(b->diag, NPUC_DIAG_E0905, &(diag_place){.file = b->path}, "the baseline records no samples");
  if (status == NPUC_OK) out_baseline->n_samples = (size_t)samples;
  if (status == NPUC_OK) status = load_ports(b, record, "outputs_files", g->outputs, g->n_outputs, out_baseline->outputs);
  if (status == NPUC_OK) status = load_ports(b, record, "inputs_files", g->inputs, g->n_inputs, out_baseline->inputs);
  if (status != NPUC_OK) npuc_baseline_release(out_baseline);
  return status;
}

void npuc_baseline_release(baseline *b) {
  for (size_t i = 0; i < b->n_inputs; i++) npuc_tensor_release(&b->inputs[i]);
  for (size_t i = 0; i < b->n_outputs; i++) npuc_tensor_release(&b->outputs[i]);
  free(b->inputs);
  free(b->outputs);
  *b = (baseline){0};
}

npuc_status npuc_sample_of_baseline(void *user, diag *d, size_t index, tensor *out_inputs) {
  const baseline *b = user;
  for (size_t i = 0; i < b->n_inputs; i++) {
    const tensor *all = &b->inputs[i];
    size_t bytes = all->bytes / b->n_samples;
    if (bytes != out_inputs[i].bytes || bytes * b->n_samples != all->bytes || all->type != out_inputs[i].type)
      return npuc_fail(d, NPUC_DIAG_E0905, NULL, "the baseline's inputs do not fit the model's input %zu", i);
    memcpy(out_inputs[i].data, (const char *)all->data + index * bytes, bytes);
  }
  return NPUC_OK;
}

/* -- making -- */

typedef struct recording {
  const graph *graph;
  size_t n_samples;
  tensor *inputs, *outputs; /* stacked */
  size_t run;               /* 0: keep, 1: compare with what was kept */
  size_t not_repeated, not_finite;
} recording;

static npuc_status stack(diag *d, tensor *all, size_t n_samples, size_t index, const tensor *one) {
  if (!all->data) {
    shape s = one->shape;
    if (s.rank == 0) s = (shape){.rank = 1, .dims = {1}};
    s.dims[0] *= (int64_t)n_samples;
    NPUC_TRY(npuc_tensor_create(d, one->type, &s, all));
  }
  if (one->bytes) memcpy((char *)all->data + index * one->bytes, one->data, one->bytes);
  return NPUC_OK;
}

static bool finite(const tensor *t) {
  if (npuc_dtype_kind(t->type) != KIND_FLOAT) return true;
  int64_t n = npuc_tensor_elements(t);
  for (int64_t i = 0; i < n; i++)
    if (!isfinite(npuc_tensor_get(t, i))) return false;
  return true;
}

static npuc_status record(void *user, diag *d, size_t index, const tensor *inputs, const tensor *outputs) {
  recording *r = user;
  for (size_t i = 0; i < r->graph->n_inputs && r->run == 0; i++) NPUC_TRY(stack(d, &r->inputs[i], r->n_samples, index, &inputs[i]));
  for (size_t i = 0; i < r->graph->n_outputs; i++) {
    if (r->run == 0) {
      NPUC_TRY(stack(d, &r->outputs[i], r->n_samples, index, &outputs[i]));
      r->not_finite += !finite(&outputs[i]);
    } else {
      r->not_repeated += memcmp((char *)r->outputs[i].data + index * outputs[i].bytes, outputs[i].data, outputs[i].bytes) != 0;
    }
  }
  return NPUC_OK;
}

/* Every sample gives the same although the inputs differ. */
static bool constant_output(const tensor *all, size_t n) {
  size_t bytes = n ? all->bytes / n : 0;
  for (size_t i = 1; i < n; i++)
    if (memcmp(all->data, (const char *)all->data + i * bytes, bytes) != 0) return false;
  return n > 1;
}

static npuc_status check(stage_work *w, const recording *r) {
  diag *d = w->b->diag;
  json_object_set_new(w->gate, "samples", json_integer((json_int_t)r->n_samples));
  json_object_set_new(w->gate, "finite", json_boolean(r->not_finite == 0));
  json_object_set_new(w->gate, "repeatable", json_boolean(r->not_repeated == 0));
  const char *label = w->b->options.model;
  if (r->not_finite) return npuc_fail(d, NPUC_DIAG_E0910, &(diag_place){.file = label}, "%zu outputs hold NaN or infinity", r->not_finite);
  if (r->not_repeated) return npuc_fail(d, NPUC_DIAG_E0910, &(diag_place){.file = label}, "two runs on the same inputs differ");
  bool all_constant = true;
  for (size_t i = 0; i < r->graph->n_outputs; i++) all_constant &= constant_output(&r->outputs[i], r->n_samples);
  if (all_constant && r->graph->n_inputs)
    return npuc_fail(d, NPUC_DIAG_E0910, &(diag_place){.file = label},
                     "all %zu samples give the same outputs: the data is constant, or the model ignores it", r->n_samples);
  json_object_set_new(w->gate, "constant", json_false());
  json_object_set_new(w->gate, "pass", json_true());
  return NPUC_OK;
}

npuc_status npuc_baseline_write(stage_work *w, const char *folder, const char *kind, value *const *ports, const tensor *tensors, size_t n) {
  build *b = w->b;
  json_t *files = json_array();
  NPUC_TRY(npuc_dir_create(b->diag, npuc_arena_printf(b->arena, "%s/%s", b->path, folder)));
  NPUC_TRY(npuc_dir_create(b->diag, npuc_arena_printf(b->arena, "%s/%s/%s", b->path, folder, kind)));
  for (size_t i = 0; i < n; i++) {
    const char *file = port_file(b, folder, kind, ports[i]->name);
    for (size_t k = 0; k < json_array_size(files); k++) /* two names that clean to the same */
      if (strcmp(json_string_value(json_array_get(files, k)), file) == 0)
        file = port_file(b, folder, kind, npuc_arena_printf(b->arena, "%s_%zu", ports[i]->name, i));
    npuc_status status = npuc_npy_write(b->diag, npuc_path_join(b->arena, b->path, file), &tensors[i]);
    if (status != NPUC_OK) {
      json_decref(files);
      return status;
    }
    json_array_append_new(files, json_string(file));
    if (w->n_outputs == STAGE_MAX_OUTPUTS) {
      json_decref(files);
      return npuc_fail(b->diag, NPUC_DIAG_E0928, &(diag_place){.node = ports[i]->name}, "the model has more than %d inputs and outputs",
                       STAGE_MAX_OUTPUTS);
    }
    w->outputs[w->n_outputs++] = file;
  }
  json_object_set_new(w->extras, npuc_arena_printf(b->arena, "%s_files", kind), files);
  return NPUC_OK;
}

static npuc_status make(stage_work *w, runner *r, recording *rec, dataset *data) {
  build *b = w->b;
  rec->n_samples = affordable_samples(w, rec->graph, npuc_dataset_count(data));
  NPUC_TRY(npuc_dataset_check(data, b->diag, rec->n_samples));
  size_t repeated = json_object_get(w->gate, "samples_left_out") ? 1 : rec->n_samples; /* of those that are affordable */
  for (rec->run = 0; rec->run < 2; rec->run++)
    NPUC_TRY(npuc_runner_run(r, b->diag, b->progress, "baseline", 0, rec->run ? repeated : rec->n_samples, npuc_sample_of_dataset, data,
                             record, rec));
  NPUC_TRY(check(w, rec));
  NPUC_TRY(npuc_baseline_write(w, "0-baseline", "inputs", rec->graph->inputs, rec->inputs, rec->graph->n_inputs));
  return npuc_baseline_write(w, "0-baseline", "outputs", rec->graph->outputs, rec->outputs, rec->graph->n_outputs);
}

npuc_status npuc_stage_baseline(stage_work *w) {
  build *b = w->b;
  module *m = NULL;
  runner *r = NULL;
  dataset *data = NULL;
  NPUC_TRY(npuc_build_source(b, &m, NULL));
  const graph *g = m->graphs[0];
  recording rec = {.graph = g};
  rec.inputs = npuc_xcalloc(g->n_inputs + 1, sizeof(tensor));
  rec.outputs = npuc_xcalloc(g->n_outputs + 1, sizeof(tensor));
  const char *text = b->options.eval ? b->options.eval : b->options.calib ? b->options.calib : "random:16";
  npuc_status status = b->tamper ? b->tamper(b->tamper_user, w->stage, m, NULL) : NPUC_OK;
  if (status == NPUC_OK) status = npuc_check_dims(b, m);
  if (status == NPUC_OK) status = npuc_apply_dims(b, m);
  if (status == NPUC_OK) status = npuc_runner_create(b->diag, b->pool, g, &r);
  if (status == NPUC_OK) status = npuc_build_dataset(b, text, r, &data);
  if (status == NPUC_OK) status = make(w, r, &rec, data);
  for (size_t i = 0; i < g->n_inputs; i++) npuc_tensor_release(&rec.inputs[i]);
  for (size_t i = 0; i < g->n_outputs; i++) npuc_tensor_release(&rec.outputs[i]);
  free(rec.inputs);
  free(rec.outputs);
  npuc_dataset_destroy(data);
  npuc_runner_destroy(r);
  npuc_module_destroy(m);
  return status;
}
