/* SPDX-License-Identifier: Apache-2.0 */
/* Stage 7: the artifact is executed. Its file is loaded as a user would load it, run in the simulator and in the runtime's plain kernels on the baseline's inputs, and every output byte compared with the
 * integer module of stage 5. Then report.json gathers what the whole build found. */
#include <stdlib.h>
#include <string.h>

#include "npu/report.h"
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

/* -- cycles -- */

static npuc_status time_streams(stage_work *w, const npuc_program *p, json_t *layers, uint64_t *cycles, uint64_t *macs) {
  const npu_program *plan = p->programs[0];
  for (size_t i = 0; i < plan->n_streams; i++) {
    static const uint32_t registers[NPU_REGISTERS];
    npu_report r;
    NPUC_TRY(npuc_npu_report(w->b->diag, w->b->arena, p->graph, plan, &plan->streams[i], registers, NULL, &r));
    *cycles += r.total.cycles;
    *macs += plan->streams[i].macs;
    for (size_t k = 0; k < r.n_layers; k++) {
      const npu_layer_cost *l = &r.layers[k];
      json_array_append_new(layers, json_pack("{s:s, s:s, s:I, s:I, s:f}", "name", p->graph->nodes[l->node].name, "op",
                                              npuc_qop_name(p->graph->nodes[l->node].op), "cycles", (json_int_t)l->cycles, "macs",
                                              (json_int_t)l->macs, "utilization", l->utilization));
    }
  }
  return NPUC_OK;
}

static npuc_status cost(stage_work *w, const char *artifact) {
  npuc_program *p = NULL;
  uint64_t cycles = 0, macs = 0;
  json_t *layers = json_array();
  json_object_set_new(w->extras, "layers", layers);
  NPUC_TRY(npuc_program_open(w->b->diag, artifact, &p));
  npuc_status status = time_streams(w, p, layers, &cycles, &macs);
  uint32_t n = p->programs[0]->arch.n;
  json_object_set_new(w->extras, "cycles", json_integer((json_int_t)cycles));
  json_object_set_new(w->extras, "macs", json_integer((json_int_t)macs));
  json_object_set_new(w->extras, "utilization", json_real(cycles ? (double)macs / ((double)cycles * n * n) : 0.0));
  json_object_set_new(w->extras, "evidence", json_string("executed"));
  npuc_program_destroy(p);
  return status;
}

/* -- report.json: the whole build in one document -- */

static void copy_member(json_t *to, const char *key, const json_t *from, const char *member) {
  json_t *value_of = json_object_get(from, member);
  if (value_of) json_object_set(to, key, value_of);
}

static npuc_status write_report(stage_work *w) {
  build *b = w->b;
  json_t *report = json_pack("{s:s, s:s, s:s}", "schema", "npuc.report/1", "target", w->target, "evidence", "executed");
  json_t *stages = json_array();
  for (int s = 0; s < STAGE_VERIFY; s++) {
    json_t *record = npuc_build_record(b, (stage_id)s, npuc_stage_per_target((stage_id)s) ? w->target : NULL), *entry = json_object();
    json_object_set_new(entry, "name", json_string(npuc_stage_name((stage_id)s)));
    copy_member(entry, "gate", record, "gate");
    copy_member(entry, "seconds", record, "seconds");
    copy_member(entry, "peak_rss_bytes", record, "peak_rss_bytes");
    copy_member(entry, "rewrites", record, "rewrites");
    json_array_append_new(stages, entry);
  }
  json_array_append_new(stages, json_pack("{s:s, s:O}", "name", "verify", "gate", w->gate));
  json_object_set_new(report, "stages", stages);
  copy_member(report, "options", b->manifest, "options");
  copy_member(report, "placement", npuc_build_record(b, STAGE_ADAPT, w->target), "placement");
  json_t *quantized = npuc_build_record(b, STAGE_QUANTIZE, w->target);
  copy_member(report, "quantization", quantized, "layers");
  copy_member(report, "metric", json_object_get(quantized, "gate"), "metric");
  static const char *const own[] = {"cycles", "macs", "utilization", "layers"};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) copy_member(report, own[i], w->extras, own[i]);
  char *text = json_dumps(report, JSON_INDENT(1) | JSON_ENSURE_ASCII);
  json_decref(report);
  if (!text) return npuc_fail(b->diag, NPUC_DIAG_E0002, NULL, "report.json");
  const char *folder = npuc_build_path(b, STAGE_VERIFY, w->target), *path = npuc_path_join(b->arena, folder, "report.json");
  npuc_status status = npuc_dir_create(b->diag, folder);
  if (status == NPUC_OK) status = npuc_file_write_all(b->diag, path, text, strlen(text));
  free(text);
  w->outputs[w->n_outputs++] = path + strlen(b->path) + 1;
  return status;
}

npuc_status npuc_stage_verify(stage_work *w) {
  module *m = NULL;
  const char *artifact = npuc_arena_printf(w->b->arena, "%s/model.npu", npuc_build_path(w->b, STAGE_BUILD, w->target));
  NPUC_TRY(npuc_stage_model(w, STAGE_QUANTIZE, &m));
  npuc_status status = gate(w, m, artifact);
  npuc_module_destroy(m);
  if (status == NPUC_OK) status = cost(w, artifact);
  if (status == NPUC_OK) status = write_report(w);
  return status;
}
