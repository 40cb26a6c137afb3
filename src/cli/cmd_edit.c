/* SPDX-License-Identifier: Apache-2.0 */
/* npuc edit MODEL -o DIR: graph edits by name, in order, judged on seeded random inputs before the model is written. What edits take out of the model (tables, parts) is kept until then. */
#include <stdlib.h>
#include <string.h>

#include "cli/build_options.h"
#include "cli/check_change.h"
#include "cli/inputs.h"
#include "formats/npy.h"
#include "passes/edits/edits.h"
#include "stages/stages.h"
#include "stages/model_folder.h"

/* A table, a part or a text that belongs beside the model. */
typedef struct side_file {
  const char *name;
  tensor tensor;
  module *module;
  const char *text;
  struct side_file *next;
} side_file;

typedef struct work {
  cli *c;
  model_folder folder;
  const char *stem;
  side_file *files, **last;
  bool dump;
} work;

static side_file *new_file(work *w, const char *name) {
  side_file *f = NPUC_NEW(w->c->arena, side_file);
  f->name = npuc_arena_str(w->c->arena, name);
  *w->last = f;
  w->last = &f->next;
  return f;
}

static npuc_status keep_tensor(void *user, diag *d, const char *name, const tensor *t) {
  return npuc_tensor_align(d, t, &new_file(user, name)->tensor);
}

static npuc_status keep_model(void *user, diag *d, const char *name, const module *m) {
  (void)d;
  new_file(user, name)->module = npuc_module_clone(m);
  return NPUC_OK;
}

static npuc_status keep_text(void *user, diag *d, const char *name, const char *text) {
  work *w = user;
  (void)d;
  new_file(w, name)->text = npuc_arena_str(w->c->arena, text);
  return NPUC_OK;
}

static npuc_status dump(void *user, diag *d, size_t index, const char *edit, const module *m) {
  work *w = user;
  if (!w->dump) return NPUC_OK;
  return npuc_model_folder_write(&w->folder, d, npuc_arena_printf(w->c->arena, "intermediates/%04zu_%s_%s", index, edit, w->stem), m, NULL);
}

static npuc_status write_file(work *w, const side_file *f, json_t *list) {
  const char *path = npuc_path_join(w->c->arena, w->folder.path, f->name);
  json_array_append_new(list, json_string(f->name));
  if (strchr(f->name, '/') || f->name[0] == '.')
    return npuc_fail(w->c->diag, NPUC_DIAG_E0508, &(diag_place){.file = f->name}, "a file beside the model has a plain name");
  if (f->module) return npuc_model_folder_write(&w->folder, w->c->diag, npuc_model_stem(w->c->arena, f->name), f->module, NULL);
  if (f->text) return npuc_file_write_all(w->c->diag, path, f->text, strlen(f->text));
  return npuc_npy_write(w->c->diag, path, &f->tensor);
}

static void release_files(work *w) {
  for (side_file *f = w->files; f; f = f->next) {
    npuc_tensor_release(&f->tensor);
    npuc_module_destroy(f->module);
  }
}

/* -- what was asked -- */

static npuc_status plan_of(cli *c, edit_plan *p) {
  const char **texts, *file = npuc_cli_value(&c->line, "--edits");
  if (file) NPUC_TRY(npuc_edit_plan_read(c->diag, p, file));
  size_t n = npuc_cli_list(&c->line, c->arena, "--edit", &texts);
  for (size_t i = 0; i < n; i++) NPUC_TRY(npuc_edit_plan_add(c->diag, p, "--edit", texts[i]));
  n = npuc_cli_list(&c->line, c->arena, "--skip-edit", &texts);
  for (size_t i = 0; i < n; i++) NPUC_TRY(npuc_edit_plan_skip(c->diag, p, "--skip-edit", texts[i]));
  return npuc_edit_plan_finish(c->diag, p);
}

static const char *parity_word(parity p) {
  static const char *const words[] = {
      [PARITY_EXACT] = "exact", [PARITY_REASSOCIATING] = "reassociating", [PARITY_APPROXIMATE] = "approximate"};
  return words[p];
}

static npuc_status list_edits(cli *c) {
  size_t n;
  const edit_info *edits = npuc_edit_table(&n);
  json_t *list = json_array();
  cli_rows rows = {.c = c, .header = (const char *[]){"edit", "concern", "parity", "what it does"}, .columns = 4};
  for (size_t i = 0; i < n; i++) {
    const edit_info *e = &edits[i];
    json_t *parameters = json_array();
    for (size_t k = 0; k < e->n_parameters; k++)
      json_array_append_new(parameters, json_pack("{s:s, s:s?, s:s}", "name", e->parameters[k].name, "default", e->parameters[k].fallback,
                                                  "meaning", e->parameters[k].doc));
    json_array_append_new(
        list, json_pack("{s:s, s:s, s:s, s:s, s:b, s:o}", "name", e->name, "concern", e->concern, "parity", parity_word(e->parity),
                        "summary", e->summary, "changes_ports", e->changes_ports, "parameters", parameters));
    npuc_cli_row(&rows, e->name, e->concern, parity_word(e->parity), e->summary);
  }
  npuc_cli_set(c, "edits", list);
  npuc_cli_rows_print(&rows);
  return NPUC_OK;
}

/* -- judging -- */

/* rtol < 0: what the parity promises. */
static bool within(const comparison *r, parity p, double rtol) {
  if (r->different == 0 || p == PARITY_APPROXIMATE) return true;
  if (p == PARITY_REASSOCIATING && rtol >= 0) return r->max_abs <= rtol * r->max_ref;
  return p == PARITY_REASSOCIATING && r->max_abs <= 1e-5 * r->max_ref && r->sqnr_db >= 100.0;
}

static npuc_status judge(cli *c, const module *before, const module *after, parity bound) {
  comparison_sum *sums;
  const char *why;
  double rtol;
  NPUC_TRY(npuc_cli_real(c->diag, &c->line, "--rtol", -1, &rtol));
  NPUC_TRY(npuc_cli_check_change(c, before, after, &sums, &why));
  npuc_cli_set(c, "compared", json_boolean(sums != NULL));
  if (!sums) {
    npuc_cli_set(c, "not_compared", json_string(why));
    npuc_cli_say(c, "not compared with the source: %s\n", why);
    return NPUC_OK;
  }
  json_t *list = json_array();
  npuc_cli_set(c, "outputs", list);
  for (size_t i = 0; i < after->graphs[0]->n_outputs; i++) {
    const comparison *r = &sums[i].result;
    const char *name = after->graphs[0]->outputs[i]->name;
    json_array_append_new(list, npuc_comparison_json(name, r));
    npuc_cli_say(c, "%s: %lld of %lld differ, max|d| %.3g of %.3g\n", name, (long long)r->different, (long long)r->elements, r->max_abs,
                 r->max_ref);
    if (within(r, bound, rtol)) continue;
    npuc_status status =
        npuc_fail(c->diag, NPUC_DIAG_E0911, &(diag_place){.node = name}, "the edits are %s, and changed this output: max|d| %.3g of %.3g",
                  parity_word(bound), r->max_abs, r->max_ref);
    if (bound == PARITY_REASSOCIATING) npuc_fix(c->diag, "--rtol %.1g, where the network enlarges rounding", 2 * r->max_abs / r->max_ref);
    return status;
  }
  return NPUC_OK;
}

static json_t *rewrites_json(cli *c, const pass_report *r) {
  json_t *list = json_array();
  for (size_t i = 0; i < r->n_rewrites; i++) {
    const rewrite_record *w = &r->rewrites[i];
    json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:I, s:s}", "edit", w->pass, "pattern", w->pattern, "parity",
                                          parity_word(w->parity), "count", (json_int_t)w->count, "first", w->first_node));
    npuc_cli_say(c, "%s: %zu x %s, first at %s\n", w->pass, w->count, w->pattern, w->first_node);
  }
  return list;
}

static json_t *plan_json(const edit_plan *p) {
  json_t *list = json_array();
  for (size_t i = 0; i < p->n; i++)
    json_array_append_new(list, json_pack("{s:s, s:O}", "name", p->steps[i].edit->name, "args", p->steps[i].arguments));
  return list;
}

static npuc_status write_all(work *w, const module *m, const edit_plan *plan, json_t *rewrites) {
  const char *path;
  json_t *files = json_array();
  npuc_status status = NPUC_OK;
  for (const side_file *f = w->files; f && status == NPUC_OK; f = f->next) status = write_file(w, f, files);
  if (status == NPUC_OK) status = npuc_model_folder_write(&w->folder, w->c->diag, w->stem, m, &path);
  json_t *record = json_pack("{s:s, s:s, s:o, s:O, s:O}", "command", w->c->line.text, "model", w->stem, "edits", plan_json(plan),
                             "rewrites", rewrites, "files", files);
  if (status == NPUC_OK) status = npuc_model_folder_finish(&w->folder, w->c->diag, record);
  if (status == NPUC_OK) {
    npuc_cli_set(w->c, "model", json_string(path));
    npuc_cli_say(w->c, "%s\n", path);
  }
  npuc_cli_set(w->c, "files", files);
  json_decref(record);
  return status;
}

static npuc_status apply(work *w, opened_model *m, const edit_plan *plan) {
  cli *c = w->c;
  side_files side = {.tensor = keep_tensor, .model = keep_model, .text = keep_text, .after = dump, .user = w};
  long long limit;
  NPUC_TRY(npuc_cli_int(c->diag, &c->line, "--pass-limit", 0, INT32_MAX, -1, &limit));
  pass_options options = {.limit = limit, .side_files = &side};
  pass_report report;
  module *before = npuc_module_clone(m->module);
  npuc_status status = npuc_edits_run(c->diag, c->arena, m->module, plan, &options, &report);
  json_t *rewrites = rewrites_json(c, &report);
  npuc_cli_set(c, "edits", plan_json(plan));
  npuc_cli_set(c, "parity", json_string(parity_word(report.parity)));
  if (status == NPUC_OK) status = judge(c, before, m->module, report.parity);
  if (status == NPUC_OK) status = write_all(w, m->module, plan, rewrites);
  npuc_cli_set(c, "rewrites", rewrites);
  npuc_module_destroy(before);
  return status;
}

static npuc_status edit_model(cli *c, const edit_plan *plan) {
  const char *out = npuc_cli_value(&c->line, "--output"), *model = c->line.arguments[0];
  if (!out)
    return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = "--output"}, "-o DIR is needed: the folder for the edited model");
  opened_model m;
  NPUC_TRY(npuc_model_open(c->diag, c->arena, model, &m));
  work w = {.c = c, .stem = npuc_model_stem(c->arena, m.path), .dump = npuc_cli_flag(&c->line, "--dump-after-edit")};
  w.last = &w.files;
  npuc_status status = m.kind == MODEL_GRAPH ? NPUC_OK
                                             : npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.file = m.label},
                                                         "it is a program for an NPU: its graph is what it is");
  if (status == NPUC_OK) status = npuc_cli_check_dims(c, m.module);
  if (status == NPUC_OK && npuc_cli_value(&c->line, "--dim")) status = npuc_cli_bind_dims(c, m.module);
  if (status == NPUC_OK) status = npuc_model_folder_open(c->diag, c->arena, out, &w.folder);
  if (status == NPUC_OK) status = apply(&w, &m, plan);
  release_files(&w);
  npuc_model_close(&m);
  return status;
}

static npuc_status run(cli *c) {
  if (npuc_cli_flag(&c->line, "--list")) return list_edits(c);
  if (c->line.n_arguments == 0)
    return npuc_fail(c->diag, NPUC_DIAG_E0105, &(diag_place){.attribute = "MODEL"}, "a model is wanted, or --list");
  edit_plan *plan = npuc_edit_plan_create();
  npuc_status status = plan_of(c, plan);
  if (status == NPUC_OK && plan->n == 0) {
    status = npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = "--edit"}, "no edit is asked for");
    npuc_fix(c->diag, "npuc edit --list");
  }
  if (status == NPUC_OK) status = edit_model(c, plan);
  npuc_edit_plan_destroy(plan);
  return status;
}

static const option own_options[] = {
    {"--output", 'o', OPTION_VALUE, "DIR", "the folder for the model and what edits take out of it"},
    {"--dim", 0, OPTION_LIST, "SYMBOL=N", "the number of a symbolic dim: some edits wait for it"},
    {"--dump-after-edit", 0, OPTION_FLAG, NULL, "write intermediates/0001_EDIT_MODEL.onnx, ... beside the result"},
    {"--pass-limit", 0, OPTION_VALUE, "N", "at most N rewrites: bisection of a wrong one"},
    {"--rtol", 0, OPTION_VALUE, "X", "what reassociating edits may change of the largest (default 1e-5 and 100 dB)"},
    {"--list", 0, OPTION_FLAG, NULL, "list the edits (docs/edits.md tells more)"},
};
static const option_group own_group = {"Edit", own_options, sizeof own_options / sizeof *own_options};
static const option_group *const groups[] = {&npuc_cli_edit_group, &own_group, NULL};
static const char *const examples[] = {
    "npuc edit examples/demo/model.onnx -o edited --edit replace-constant-div-with-mul --edit eliminate-transpose", "npuc edit --list",
    NULL};

const command npuc_command_edit = {.name = "edit",
                                   .arguments = "[MODEL]",
                                   .purpose = "change a model's graph by named edits, and compare the results",
                                   .min_arguments = 0,
                                   .max_arguments = 1,
                                   .groups = groups,
                                   .examples = examples,
                                   .run = run};
