/* SPDX-License-Identifier: Apache-2.0 */
/* Stage 6: the target's artifact, 6-build.TARGET/model.npu. The gate: it exists, and its size is within 10 % of what the graph alone predicts. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "formats/npu_file.h"
#include "npu/from_ir.h"
#include "npu/lower.h"
#include "npu/write.h"
#include "npuc/library.h"
#include "stages/stages.h"

/* For people only; nothing that differs from machine to machine or from run to run may be in it: the file's bytes are a function of model, data and options. */
static char *metadata(stage_work *w, const qgraph *g, const npu_program *p) {
  json_t *operators = json_object();
  size_t host = 0;
  for (size_t i = 0; i < g->n_nodes; i++) {
    const char *name = npuc_qop_name(g->nodes[i].op);
    json_object_set_new(operators, name, json_integer(json_integer_value(json_object_get(operators, name)) + 1));
    host += !g->nodes[i].on_npu;
  }
  json_t *config = json_pack("{s:s, s:b}", "scheme", w->b->options.scheme ? w->b->options.scheme : "w8a8", "bias_correction",
                             (int)w->b->options.bias_correction);
  json_t *observer_used =
      json_object_get(npuc_build_record(w->b, STAGE_QUANTIZE, w->target), "observer"); /* as resolved: asked for or default is the same */
  if (observer_used) json_object_set(config, "observer", observer_used);
  json_t *meta = json_pack("{s:s, s:s, s:[s], s:o, s:o, s:i, s:i}", "producer", npuc_arena_printf(w->b->arena, "npuc %s", npuc_version()),
                           "target", p->arch.name, "parts", "main", "config", config, "operators", operators, "host_nodes", (int)host,
                           "streams", (int)p->n_streams);
  char *text = json_dumps(meta, JSON_INDENT(1) | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
  json_decref(meta);
  return text;
}

/* Each text is in the file once; nothing for none. */
static uint64_t text_bytes(map *seen, const char *text) { return !text || !*text || npuc_map_put(seen, text, seen) ? 0 : strlen(text) + 1; }

static uint64_t all_text_bytes(const qgraph *g, const npu_program *p) {
  arena *a = npuc_arena_create();
  map *seen = npuc_map_create(a);
  uint64_t bytes = 1 + text_bytes(seen, p->arch.name);
  for (size_t i = 0; i < g->n_tensors; i++) bytes += text_bytes(seen, g->tensors[i].name) + text_bytes(seen, g->tensors[i].source);
  for (size_t i = 0; i < g->n_nodes; i++) {
    const qnode *n = &g->nodes[i];
    bytes += text_bytes(seen, n->name) + text_bytes(seen, n->place_reason) + text_bytes(seen, n->source);
  }
  for (size_t i = 0; i < p->n_streams; i++) bytes += text_bytes(seen, p->streams[i].name);
  npuc_arena_destroy(a);
  return bytes;
}

/* The records of graph and program, by table. */
static void count_records(const qgraph *g, const npu_program *p, uint64_t counts[NPU_SECTION_COUNT]) {
  counts[NPU_TENS] = g->n_tensors;
  counts[NPU_NODE] = g->n_nodes;
  counts[NPU_IOTB] = g->n_inputs + g->n_outputs;
  counts[NPU_CONF] = 1;
  counts[NPU_STEP] = p->n_steps;
  counts[NPU_STRM] = p->n_streams;
  counts[NPU_WCRC] = (p->constants_bytes + NPU_WEIGHT_BLOCK - 1) / NPU_WEIGHT_BLOCK;
  for (size_t i = 0; i < g->n_nodes; i++) {
    const qnode *n = &g->nodes[i];
    counts[NPU_ATTR] += (uint64_t)n->n_attributes;
    counts[NPU_INTS] += (uint64_t)n->n_inputs + (uint64_t)n->n_outputs;
    for (int32_t k = 0; k < n->n_attributes; k++) counts[NPU_INTS] += n->attributes[k].count;
  }
  for (size_t i = 0; i < p->n_streams; i++) {
    const npu_stream *s = &p->streams[i];
    for (int q = 0; q < NPU_QUEUES; q++) counts[NPU_INST] += s->queues[q].count;
    counts[NPU_BIND] += s->n_bindings;
    counts[NPU_DBUG] += s->n_runs;
  }
}

/* Predicted before writing, from what must be in the file (docs/refnpu.md section 6): small programs are mostly tables and alignment. */
static uint64_t predict_bytes(const qgraph *g, const npu_program *p, size_t meta_bytes) {
  enum { HEADER = 64, TABLE_ENTRY = 48 };
  uint64_t counts[NPU_SECTION_COUNT] = {0}, at = HEADER + NPU_SECTION_COUNT * TABLE_ENTRY;
  count_records(g, p, counts);
  for (int k = 0; k < NPU_SECTION_COUNT; k++) {
    uint64_t align = k == NPU_WGTS ? NPU_WEIGHTS_ALIGN : NPU_SECTION_ALIGN;
    uint64_t bytes = k == NPU_META   ? meta_bytes
                     : k == NPU_STRS ? all_text_bytes(g, p)
                     : k == NPU_WGTS ? p->constants_bytes
                                     : counts[k] * npuc_npu_section_record((npu_section_kind)k);
    at = (at + align - 1) / align * align + bytes;
  }
  return at;
}

static npuc_status gate(stage_work *w, const char *path, uint64_t predicted) {
  struct stat info;
  if (stat(path, &info) != 0) return npuc_fail(w->b->diag, NPUC_DIAG_E0916, &(diag_place){.file = path}, "the artifact is missing");
  double ratio = (double)info.st_size / (double)predicted;
  json_object_set_new(w->gate, "bytes", json_integer((json_int_t)info.st_size));
  json_object_set_new(w->gate, "predicted_bytes", json_integer((json_int_t)predicted));
  json_object_set_new(w->gate, "pass", json_boolean(ratio >= 0.9 && ratio <= 1.1));
  if (ratio >= 0.9 && ratio <= 1.1) return NPUC_OK;
  return npuc_fail(w->b->diag, NPUC_DIAG_E0916, &(diag_place){.file = path}, "it has %lld bytes, %llu were predicted",
                   (long long)info.st_size, (unsigned long long)predicted);
}

static npuc_status write_artifact(stage_work *w, const qgraph *g, const npu_program *p) {
  build *b = w->b;
  const char *folder = npuc_build_path(b, STAGE_BUILD, w->target);
  NPUC_TRY(npuc_dir_create(b->diag, folder));
  const char *path = npuc_path_join(b->arena, folder, "model.npu");
  char *meta = metadata(w, g, p);
  if (!meta) return npuc_fail(b->diag, NPUC_DIAG_E0002, NULL, "metadata");
  uint64_t predicted = predict_bytes(g, p, strlen(meta));
  npuc_status status = npuc_npu_write(b->diag, path, g, p, meta, NULL);
  free(meta);
  NPUC_TRY(status);
  if (b->tamper) NPUC_TRY(b->tamper(b->tamper_user, w->stage, NULL, path));
  status = gate(w, path, predicted);
  if (status != NPUC_OK) {
    npuc_status removed = npuc_path_remove(b->diag, path);
    return removed == NPUC_OK ? status : removed;
  }
  w->outputs[w->n_outputs++] = path + strlen(b->path) + 1;
  return NPUC_OK;
}

static void record_prediction(stage_work *w, const npu_program *p) {
  uint64_t cycles = 0;
  for (size_t i = 0; i < p->n_streams; i++) cycles += p->streams[i].predicted_cycles;
  json_object_set_new(w->extras, "predicted_cycles", json_integer((json_int_t)cycles));
  json_object_set_new(w->extras, "streams", json_integer((json_int_t)p->n_streams));
  json_object_set_new(w->extras, "evidence", json_string("compiled"));
}

npuc_status npuc_stage_build(stage_work *w) {
  build *b = w->b;
  module *m = NULL;
  npu_arch arch;
  NPUC_TRY(npuc_stage_arch(w, &arch));
  NPUC_TRY(npuc_stage_model(w, STAGE_QUANTIZE, &m));
  arena *a = npuc_arena_create();
  qgraph *g = NULL;
  npu_program *p = NULL;
  npuc_status status = npuc_npu_from_ir(b->diag, a, m->graphs[0], &g);
  if (status == NPUC_OK) status = npuc_npu_compile(b->diag, a, g, &arch, &p);
  if (status == NPUC_OK) record_prediction(w, p);
  if (status == NPUC_OK) status = write_artifact(w, g, p);
  npuc_arena_destroy(a);
  npuc_module_destroy(m);
  return status;
}
