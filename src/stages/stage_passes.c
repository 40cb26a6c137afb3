/* SPDX-License-Identifier: Apache-2.0 */
/* Stages 2 to 4: a pipeline of passes over the model of the stage before, a check of what the stage promises, and a gate whose bound is the weakest parity that was used. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "npu/from_ir.h"
#include "passes/edits/edits.h"
#include "stages/stages.h"
#include "stages/target.h"

static json_t *rewrites_json(const pass_report *r) {
  static const char *const parities[] = {
      [PARITY_EXACT] = "exact", [PARITY_REASSOCIATING] = "reassociating", [PARITY_APPROXIMATE] = "approximate"};
  json_t *list = json_array();
  for (size_t i = 0; i < r->n_rewrites; i++) {
    const rewrite_record *w = &r->rewrites[i];
    json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:I, s:s}", "pass", w->pass, "pattern", w->pattern ? w->pattern : "", "parity",
                                          parities[w->parity], "count", (json_int_t)w->count, "first", w->first_node ? w->first_node : ""));
  }
  return list;
}

/* -- edits, in front of stage adapt's pipeline: the target's, the list's, the command line's -- */

static npuc_status plan_edits(build *b, const json_t *defaults, const char *file, edit_plan *p) {
  const build_options *o = &b->options;
  if (defaults) NPUC_TRY(npuc_edit_plan_add_json(b->diag, p, &(diag_place){.file = file, .attribute = "edits"}, defaults));
  if (o->edits) NPUC_TRY(npuc_edit_plan_read(b->diag, p, o->edits));
  for (size_t i = 0; i < o->n_edit; i++) NPUC_TRY(npuc_edit_plan_add(b->diag, p, "--edit", o->edit[i]));
  for (size_t i = 0; i < o->n_skip_edit; i++) NPUC_TRY(npuc_edit_plan_skip(b->diag, p, "--skip-edit", o->skip_edit[i]));
  NPUC_TRY(npuc_edit_plan_finish(b->diag, p));
  for (size_t i = 0; i < p->n; i++) {
    if (!p->steps[i].edit->changes_ports) continue;
    npuc_status status = npuc_fail(b->diag, NPUC_DIAG_E0511, &(diag_place){.attribute = p->steps[i].edit->name},
                                   "the edit changes inputs or outputs, which a stage may not");
    npuc_fix(b->diag, "npuc edit %s -o DIR --edit %s", o->model, p->steps[i].edit->name);
    return status;
  }
  return NPUC_OK;
}

static npuc_status dump_edit(void *user, diag *d, size_t index, const char *edit, const module *m) {
  build *b = user;
  const char *folder = npuc_path_join(b->arena, b->path, "intermediates");
  NPUC_TRY(npuc_dir_create(d, folder));
  return npuc_pool_write_model(d, b->arena, folder, m,
                               npuc_arena_printf(b->arena, "%s/%04zu_%s_%s.onnx", folder, index, edit, m->graphs[0]->name));
}

static npuc_status run_edits(stage_work *w, module *m, pass_report *out_report) {
  build *b = w->b;
  target_file t;
  NPUC_TRY(npuc_target_open(b->diag, b->arena, w->target, &t));
  edit_plan *plan = npuc_edit_plan_create();
  side_files side = {.after = b->controls.dump_after_edit ? dump_edit : NULL, .user = b};
  pass_options options = {.limit = -1, .side_files = &side};
  npuc_status status = plan_edits(b, json_object_get(t.description, "edits"), t.path, plan);
  if (status == NPUC_OK) status = npuc_edits_run(b->diag, b->arena, m, plan, &options, out_report);
  npuc_edit_plan_destroy(plan);
  npuc_target_close(&t);
  return status;
}

/* The options' dims are in the module already (npuc_apply_dims); what is left to the passes is the batch. */
static npuc_status run_pipeline(stage_work *w, module *m, const pass_target *target, const pass_options *decoder, pass_report *out_report) {
  build *b = w->b;
  pass_report edits = {.parity = PARITY_EXACT};
  if (w->stage == STAGE_ADAPT) NPUC_TRY(run_edits(w, m, &edits));
  pass_options options = {.target = target,
                          .limit = b->controls.limit,
                          .stop_after = b->controls.stop_after,
                          .print_after = b->controls.print_after,
                          .print = b->controls.print,
                          .user = b->controls.user,
                          .max_length = decoder->max_length,
                          .chunk = decoder->chunk,
                          .kv_form = decoder->kv_form};
  npuc_status status = npuc_passes_run(b->diag, b->arena, m, npuc_stage_name(w->stage), &options, out_report);
  if (status != NPUC_OK) return status;
  json_t *rewrites = rewrites_json(&edits), *own = rewrites_json(out_report);
  json_array_extend(rewrites, own);
  json_decref(own);
  json_object_set_new(w->extras, "rewrites", rewrites);
  if (edits.parity > out_report->parity) out_report->parity = edits.parity;
  return NPUC_OK;
}

static npuc_status check_promise(stage_work *w, const module *m) {
  switch (w->stage) {
    case STAGE_NORMALIZE:
      return npuc_check_names(w->b->diag, m);
    case STAGE_STATIC:
      return npuc_check_static(w->b->diag, m);
    default:
      return npuc_check_places(w->b->diag, m);
  }
}

/* Of a decoder whose cache still grows, at the baseline's length of it. */
static npuc_status compare(stage_work *w, module *before, module *written, parity bound) {
  NPUC_TRY(npuc_apply_dims(w->b, before));
  NPUC_TRY(npuc_apply_dims(w->b, written));
  return npuc_gate_parity(w, before->graphs[0], written->graphs[0], bound);
}

/* Written first and read back, so that the gate judges the file, not the memory. */
static npuc_status write_and_compare(stage_work *w, module *before, module *m, const pass_options *decoder, parity bound) {
  if (w->b->tamper) NPUC_TRY(w->b->tamper(w->b->tamper_user, w->stage, m, NULL));
  NPUC_TRY(check_promise(w, m));
  NPUC_TRY(npuc_stage_write(w, m));
  module *written = NULL;
  NPUC_TRY(npuc_stage_model(w, w->stage, &written));
  npuc_status status = decoder->max_length ? npuc_gate_decoder(w, before, written, decoder) : compare(w, before, written, bound);
  npuc_module_destroy(written);
  if (status == NPUC_OK) return status;
  npuc_status removed = npuc_path_remove(w->b->diag, npuc_build_path(w->b, w->stage, w->target));
  return removed == NPUC_OK ? status : removed;
}

/* In the static stage a decoder's cache still grows; afterwards, and without --max-length, its options say nothing. */
static npuc_status decoder_options(const stage_work *w, pass_options *out_options) {
  NPUC_TRY(npuc_build_decoder_options(w->b, out_options));
  if (w->stage == STAGE_STATIC) return NPUC_OK;
  *out_options = (pass_options){0};
  return NPUC_OK;
}

static npuc_status run_stage(stage_work *w, const pass_target *target) {
  module *m = NULL;
  pass_report report;
  pass_options decoder = {0};
  NPUC_TRY(npuc_stage_model(w, (stage_id)(w->stage - 1), &m));
  npuc_status status = decoder_options(w, &decoder);
  if (status == NPUC_OK) status = npuc_apply_given_dims(w->b, m);
  module *before = status == NPUC_OK ? npuc_module_clone(m) : NULL;
  if (status == NPUC_OK) status = run_pipeline(w, m, target, &decoder, &report);
  if (status == NPUC_OK) status = write_and_compare(w, before, m, &decoder, report.parity);
  if (status != NPUC_OK) status = npuc_stage_gate_failed(w, m, status);
  npuc_module_destroy(before);
  npuc_module_destroy(m);
  return status;
}

npuc_status npuc_stage_normalize(stage_work *w) { return run_stage(w, NULL); }
npuc_status npuc_stage_static(stage_work *w) { return run_stage(w, NULL); }

static json_t *placement_json(const module *m) {
  json_t *list = json_array();
  NPUC_EACH_NODE(m->graphs[0], n)
  json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "node", n->name, "op", n->op->type, "place", n->place ? n->place : "",
                                        "reason", n->place_reason ? n->place_reason : ""));
  return list;
}

npuc_status npuc_stage_adapt(stage_work *w) {
  npu_arch arch;
  NPUC_TRY(npuc_stage_arch(w, &arch));
  npu_placer *placer = npuc_npu_placer_create(&arch);
  pass_target target = {.name = w->target, .place = npuc_npu_placer_place, .user = placer};
  npuc_status status = run_stage(w, &target);
  npuc_npu_placer_destroy(placer);
  if (status != NPUC_OK) return status;
  module *m = NULL;
  NPUC_TRY(npuc_stage_model(w, STAGE_ADAPT, &m));
  json_object_set_new(w->extras, "placement", placement_json(m));
  npuc_module_destroy(m);
  return NPUC_OK;
}
