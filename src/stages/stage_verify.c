/* SPDX-License-Identifier: Apache-2.0 */
/* Stage 7: the artifact is executed. Its file is loaded as a user would load it, run in the simulator and in the runtime's plain kernels on the baseline's inputs, and every output byte compared with the
 * integer module of stage 5. Then report.json and report.html gather what the whole build found. */
#include <stdlib.h>
#include <string.h>

#include "stages/build_report.h"
#include "stages/npu_engine.h"
#include "stages/stages.h"

/* -- bytes -- */

typedef struct kept_bytes {
  size_t n_outputs, n_samples;
  tensor *tensors;
  size_t compared, different;
} kept_bytes;

static npuc_status keep(void *user, diag *d, size_t index, const tensor *inputs, const tensor *outputs) {
  (void)inputs;
  kept_bytes *kept = user;
  for (size_t k = 0; k < kept->n_outputs; k++) {
    tensor *t = &kept->tensors[index * kept->n_outputs + k];
    NPUC_TRY(npuc_tensor_create(d, outputs[k].type, &outputs[k].shape, t));
    if (t->bytes) memcpy(t->data, outputs[k].data, t->bytes);
  }
  return NPUC_OK;
}

static npuc_status compare(void *user, diag *d, size_t index, const tensor *inputs, const tensor *outputs) {
  (void)inputs;
  (void)d;
  kept_bytes *kept = user;
  for (size_t k = 0; k < kept->n_outputs; k++) {
    const tensor *t = &kept->tensors[index * kept->n_outputs + k];
    bool same = t->bytes == outputs[k].bytes && memcmp(t->data, outputs[k].data, t->bytes) == 0;
    kept->different += !same;
    kept->compared++;
  }
  return NPUC_OK;
}

static npuc_status run_graph(stage_work *w, const graph *g, baseline *base, kept_bytes *kept) {
  runner *r = NULL;
  NPUC_TRY(npuc_runner_create(w->b->diag, w->b->pool, g, &r));
  npuc_status status =
      npuc_runner_run(r, w->b->diag, w->b->progress, "verify", 0, base->n_samples, npuc_sample_of_baseline, base, keep, kept);
  npuc_runner_destroy(r);
  return status;
}

static npuc_status run_artifact(stage_work *w, const char *path, const char *kind, baseline *base, kept_bytes *kept) {
  npu_engine *e = NULL;
  runner *r = NULL;
  runner_backend backend;
  NPUC_TRY(npuc_npu_engine_open(w->b->diag, w->b->arena, path, kind, &e));
  npuc_npu_engine_backend(e, &backend);
  npuc_status status = npuc_runner_create_with(w->b->diag, w->b->pool, &backend, &r);
  kept->compared = kept->different = 0;
  if (status == NPUC_OK && backend.n_outputs != kept->n_outputs)
    status = npuc_fail(w->b->diag, NPUC_DIAG_E0917, &(diag_place){.file = path}, "the artifact has another number of outputs");
  if (status == NPUC_OK)
    status = npuc_runner_run(r, w->b->diag, w->b->progress, "verify", 0, base->n_samples, npuc_sample_of_baseline, base, compare, kept);
  if (status == NPUC_OK) {
    json_object_set_new(w->gate, kind,
                        json_pack("{s:I, s:I}", "tensors", (json_int_t)kept->compared, "different", (json_int_t)kept->different));
    if (kept->different)
      status = npuc_fail(w->b->diag, NPUC_DIAG_E0917, &(diag_place){.file = path},
                         "engine %s: %zu of %zu outputs differ from the integer module's", kind, kept->different, kept->compared);
  }
  npuc_runner_destroy(r);
  npuc_npu_engine_close(e);
  return status;
}

static npuc_status gate(stage_work *w, const module *m, const char *artifact) {
  baseline base;
  const graph *g = m->graphs[0];
  NPUC_TRY(npuc_baseline_load(w->b, g, &base));
  kept_bytes kept = {
      .n_outputs = g->n_outputs, .n_samples = base.n_samples, .tensors = npuc_xcalloc(base.n_samples * g->n_outputs + 1, sizeof(tensor))};
  npuc_status status = run_graph(w, g, &base, &kept);
  if (status == NPUC_OK) status = run_artifact(w, artifact, "graph", &base, &kept);
  if (status == NPUC_OK) status = run_artifact(w, artifact, "simulator", &base, &kept);
  for (size_t i = 0; i < kept.n_samples * kept.n_outputs; i++) npuc_tensor_release(&kept.tensors[i]);
  free(kept.tensors);
  npuc_baseline_release(&base);
  json_object_set_new(w->gate, "samples", json_integer((json_int_t)kept.n_samples));
  json_object_set_new(w->gate, "pass", json_boolean(status == NPUC_OK));
  return status;
}

/* -- the report -- */

/* The stage's own entry is not in the manifest yet. Its seconds are those until now. */
static void add_own_entry(const stage_work *w, json_t *report, double started) {
  json_t *own = json_array_get(json_object_get(report, "stages"), STAGE_VERIFY);
  json_object_set(own, "gate", w->gate);
  json_object_set_new(own, "seconds", json_real(npuc_clock_seconds() - started));
  json_object_set_new(own, "peak_rss_bytes", json_integer((json_int_t)npuc_peak_rss_bytes()));
  json_object_set_new(report, "evidence", json_string("executed"));
}

static npuc_status write_report(stage_work *w, double started) {
  static const char *const recorded[] = {"cycles", "macs", "utilization", "layers", "evidence"};
  build *b = w->b;
  const char *folder = npuc_build_path(b, STAGE_VERIFY, w->target);
  json_t *report = npuc_build_report(b, w->target);
  npuc_status status = npuc_build_report_observe(b, w->target, report);
  if (status == NPUC_OK) {
    add_own_entry(w, report, started);
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++)
      json_object_set(w->extras, recorded[i], json_object_get(report, recorded[i]));
    status = npuc_dir_create(b->diag, folder);
  }
  if (status == NPUC_OK) status = npuc_build_report_write(b->diag, b->arena, folder, report);
  json_decref(report);
  w->outputs[w->n_outputs++] = npuc_path_join(b->arena, folder, "report.json") + strlen(b->path) + 1;
  w->outputs[w->n_outputs++] = npuc_path_join(b->arena, folder, "report.html") + strlen(b->path) + 1;
  return status;
}

npuc_status npuc_stage_verify(stage_work *w) {
  module *m = NULL;
  double started = npuc_clock_seconds();
  const char *artifact = npuc_arena_printf(w->b->arena, "%s/model.npu", npuc_build_path(w->b, STAGE_BUILD, w->target));
  NPUC_TRY(npuc_stage_model(w, STAGE_QUANTIZE, &m));
  npuc_status status = gate(w, m, artifact);
  npuc_module_destroy(m);
  if (status == NPUC_OK) status = write_report(w, started);
  return status;
}
