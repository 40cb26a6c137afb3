/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/build_report.h"

#include <stdlib.h>
#include <string.h>

#include "formats/json.h"
#include "report/graph_json.h"
#include "report/machine.h"
#include "report/page.h"
#include "runtime/program.h"
#include "stages/observe.h"

/* -- from the records -- */

static void copy_member(json_t *to, const char *key, const json_t *from, const char *member) {
  json_t *value_of = json_object_get(from, member);
  if (value_of) json_object_set(to, key, value_of);
}

static json_t *stage_json(const build *b, stage_id s, const char *target) {
  static const char *const members[] = {"gate", "seconds", "peak_rss_bytes", "rewrites"};
  json_t *record = npuc_build_record(b, s, npuc_stage_per_target(s) ? target : NULL), *entry = json_object();
  json_object_set_new(entry, "name", json_string(npuc_stage_name(s)));
  for (size_t i = 0; i < sizeof members / sizeof *members; i++) copy_member(entry, members[i], record, members[i]);
  return entry;
}

json_t *npuc_build_report(const build *b, const char *target) {
  json_t *quantized = npuc_build_record(b, STAGE_QUANTIZE, target), *built = npuc_build_record(b, STAGE_BUILD, target);
  const char *evidence = built ? "compiled" : npuc_build_record(b, STAGE_ADAPT, target) ? "linted" : "none";
  json_t *report = json_pack("{s:s, s:s, s:s}", "schema", "npuc.report/1", "target", target, "evidence", evidence);
  json_t *stages = json_array();
  for (int s = 0; s < STAGE_COUNT; s++) json_array_append_new(stages, stage_json(b, (stage_id)s, target));
  json_object_set_new(report, "stages", stages);
  copy_member(report, "options", b->manifest, "options");
  copy_member(report, "placement", npuc_build_record(b, STAGE_ADAPT, target), "placement");
  copy_member(report, "quantization", quantized, "layers");
  copy_member(report, "metric", json_object_get(quantized, "gate"), "metric");
  copy_member(report, "confusion", quantized, "confusion");
  copy_member(report, "artifact_bytes", json_object_get(built, "gate"), "bytes");
  return report;
}

/* -- from the models -- */

static npuc_status observe_models(build *b, const char *target, json_t *report) {
  module *floats = NULL, *integers = NULL;
  NPUC_TRY(npuc_onnx_read(b->diag, npuc_build_path(b, STAGE_ADAPT, target), &floats));
  npuc_status status = npuc_onnx_read(b->diag, npuc_build_path(b, STAGE_QUANTIZE, target), &integers);
  if (status == NPUC_OK) status = npuc_observe_graphs(b, floats->graphs[0], integers->graphs[0], report);
  if (status == NPUC_OK) json_object_set_new(report, "graph", npuc_graph_json(integers->graphs[0]));
  npuc_module_destroy(floats);
  npuc_module_destroy(integers);
  return status;
}

/* Before quantization the graph is the newest stage's. */
static npuc_status observe_float(build *b, const char *target, json_t *report) {
  static const stage_id newest_first[] = {STAGE_ADAPT, STAGE_STATIC, STAGE_NORMALIZE, STAGE_IMPORT};
  for (size_t i = 0; i < sizeof newest_first / sizeof *newest_first; i++) {
    const char *of = npuc_stage_per_target(newest_first[i]) ? target : NULL;
    module *m = NULL;
    if (!npuc_build_record(b, newest_first[i], of)) continue;
    NPUC_TRY(npuc_onnx_read(b->diag, npuc_build_path(b, newest_first[i], of), &m));
    json_object_set_new(report, "graph", npuc_graph_json(m->graphs[0]));
    npuc_module_destroy(m);
    break;
  }
  return NPUC_OK;
}

static npuc_status observe_program(build *b, const char *target, json_t *report) {
  npuc_program *p = NULL;
  json_t *scratchpad = NULL, *memory = json_object_get(report, "memory");
  NPUC_TRY(npuc_program_open(b->diag, npuc_arena_printf(b->arena, "%s/model.npu", npuc_build_path(b, STAGE_BUILD, target)), &p));
  npuc_status status = npuc_machine_json(b->diag, b->arena, p->graph, p->programs[0], report);
  if (status == NPUC_OK) status = npuc_scratchpad_json(b->diag, b->arena, p->graph, &p->programs[0]->arch, &scratchpad);
  if (status == NPUC_OK) {
    if (!memory) json_object_set_new(report, "memory", memory = json_object());
    json_object_set_new(memory, "scratchpad", scratchpad);
  }
  npuc_program_destroy(p);
  return status;
}

npuc_status npuc_build_report_observe(build *b, const char *target, json_t *report) {
  NPUC_TRY(npuc_build_record(b, STAGE_QUANTIZE, target) ? observe_models(b, target, report) : observe_float(b, target, report));
  if (npuc_build_record(b, STAGE_BUILD, target)) NPUC_TRY(observe_program(b, target, report));
  return NPUC_OK;
}

/* -- files -- */

npuc_status npuc_build_report_write(diag *d, arena *a, const char *folder, const json_t *report) {
  char *text = json_dumps(report, JSON_INDENT(1) | JSON_ENSURE_ASCII);
  if (!text) return npuc_fail(d, NPUC_DIAG_E0002, NULL, "report.json");
  npuc_status status = npuc_file_write_all(d, npuc_path_join(a, folder, "report.json"), text, strlen(text));
  free(text);
  NPUC_TRY(status);
  markup page = {0};
  npuc_report_page(report, &page);
  status = npuc_file_write_all(d, npuc_path_join(a, folder, "report.html"), page.text, page.bytes);
  npuc_markup_destroy(&page);
  return status;
}

npuc_status npuc_build_report_load(build *b, const char *target, json_t **out_report) {
  *out_report = NULL;
  if (npuc_build_record(b, STAGE_VERIFY, target)) {
    const char *path = npuc_path_join(b->arena, npuc_build_path(b, STAGE_VERIFY, target), "report.json");
    return npuc_json_read(b->diag, path, NPUC_DIAG_E0904, out_report);
  }
  *out_report = npuc_build_report(b, target);
  return npuc_build_report_observe(b, target, *out_report);
}
