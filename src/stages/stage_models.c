/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the stage before, writing this one's model, opening data: what every stage does. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "import/state_dict.h"
#include "passes/decoder_source.h"
#include "stages/stages.h"
#include "stages/target.h"

npuc_status npuc_stage_arch(const stage_work *w, npu_arch *out_arch) {
  target_file t;
  NPUC_TRY(npuc_target_open(w->b->diag, w->b->arena, w->target, &t));
  npuc_status status = npuc_npu_arch_load(w->b->diag, w->b->arena, t.path, out_arch);
  npuc_target_close(&t);
  return status;
}

npuc_status npuc_build_source(build *b, module **out_module, json_t **out_report) {
  const build_options *o = &b->options;
  state_request request = {.path = o->state_dict, .prefix = o->state_dict_prefix, .match = o->state_dict_match};
  if (out_report) *out_report = NULL;
  npuc_diag_set_file(b->diag, o->model);
  NPUC_TRY(npuc_source_read(b->diag, o->model, out_module));
  npuc_status status = request.path ? npuc_state_dict_load(b->diag, *out_module, &request, out_report) : NPUC_OK;
  if (status == NPUC_OK) return NPUC_OK;
  if (out_report) json_decref(*out_report);
  npuc_module_destroy(*out_module);
  *out_module = NULL;
  return status;
}

npuc_status npuc_stage_model(const stage_work *w, stage_id s, module **out_module) {
  const char *path = npuc_build_path(w->b, s, npuc_stage_per_target(s) ? w->target : NULL);
  npuc_diag_set_file(w->b->diag, path);
  return npuc_onnx_read(w->b->diag, path, out_module);
}

npuc_status npuc_stage_write(stage_work *w, const module *m) {
  const char *path = npuc_build_path(w->b, w->stage, w->target);
  NPUC_TRY(npuc_build_write_model(w->b, m, path));
  w->outputs[w->n_outputs++] = path + strlen(w->b->path) + 1;
  return NPUC_OK;
}

npuc_status npuc_stage_gate_failed(stage_work *w, const module *m, npuc_status status) {
  if (status != NPUC_GATE_FAILED) return status;
  const char *path = npuc_build_path(w->b, w->stage, w->target);
  size_t n = strlen(path);
  const char *failed = npuc_arena_printf(w->b->arena, "%.*s.failed.onnx", (int)(n > 5 ? n - 5 : n), path);
  npuc_status written = npuc_build_write_model(w->b, m, failed);
  if (written == NPUC_OK) npuc_fix(w->b->diag, "npuc inspect %s", failed);
  return status;
}

npuc_status npuc_build_dataset(build *b, const char *text, const runner *r, dataset **out_dataset) {
  preprocess *p = NULL;
  if (b->options.preprocess) NPUC_TRY(npuc_preprocess_parse(b->diag, b->arena, b->options.preprocess, &p));
  size_t n;
  const sample_port *ports = npuc_runner_ports(r, &n);
  return npuc_dataset_open(b->diag, text, p, ports, n, b->seed, out_dataset);
}

/* A number for each dim that --dim names by symbol or --shape by input; the batch rule is the static stage's. */
static void bind_symbols(const build *b, const module *m, shape *s) {
  for (int32_t k = 0; k < s->rank; k++) {
    if (!dim_is_symbol(s->dims[k])) continue;
    const char *name = npuc_module_symbol_name(m, s->dims[k]);
    for (size_t i = 0; i < b->options.n_dims; i++)
      if (name && strcmp(name, b->options.dims[i].symbol) == 0) s->dims[k] = b->options.dims[i].value;
  }
}

static npuc_status bind_input(const build *b, value *v) {
  for (size_t i = 0; i < b->options.n_shapes; i++) {
    const input_shape *s = &b->options.shapes[i];
    if (strcmp(s->input, v->name) != 0) continue;
    if (v->shape.rank >= 0 && v->shape.rank != s->shape.rank)
      return npuc_fail(b->diag, NPUC_DIAG_E0104, &(diag_place){.node = v->name, .attribute = "--shape"}, "the input has %d axes, not %d",
                       v->shape.rank, s->shape.rank);
    v->shape = s->shape;
  }
  return NPUC_OK;
}

npuc_status npuc_apply_given_dims(build *b, module *m) {
  graph *g = m->graphs[0];
  for (size_t i = 0; i < g->n_inputs; i++) NPUC_TRY(bind_input(b, g->inputs[i]));
  size_t cursor = 0;
  void *item;
  while (npuc_map_next(g->values, &cursor, NULL, &item)) bind_symbols(b, m, &((value *)item)->shape);
  return NPUC_OK;
}

static npuc_status whole_number(const build *b, const char *name, const char *text, int64_t *out) {
  char *end = NULL;
  if (!text) return NPUC_OK;
  *out = strtoll(text, &end, 10);
  if (end != text && *end == '\0' && *out >= 1 && *out <= INT32_MAX) return NPUC_OK;
  return npuc_fail(b->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = name}, "a number from 1 on is wanted, not '%s'", text);
}

npuc_status npuc_build_decoder_options(const build *b, pass_options *out_options) {
  static const char *const forms[] = {[KV_FORM_SCATTER] = "scatter", [KV_FORM_WHERE] = "where", [KV_FORM_MATMUL] = "matmul"};
  const build_options *o = &b->options;
  NPUC_TRY(whole_number(b, "--max-length", o->max_length, &out_options->max_length));
  NPUC_TRY(whole_number(b, "--chunk", o->chunk, &out_options->chunk));
  if (out_options->chunk && !out_options->max_length) {
    npuc_status status =
        npuc_fail(b->diag, NPUC_DIAG_E0531, &(diag_place){.attribute = "--chunk"}, "--chunk without --max-length says nothing");
    npuc_fix(b->diag, "--max-length N --chunk %s", o->chunk);
    return status;
  }
  out_options->kv_form = KV_FORM_SCATTER;
  if (!o->kv_form) return NPUC_OK;
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    out_options->kv_form = (kv_form)i;
    if (strcmp(o->kv_form, forms[i]) == 0) return NPUC_OK;
  }
  npuc_status status = npuc_fail(b->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = "--kv-form"},
                                 "scatter, where or matmul is wanted, not '%s'", o->kv_form);
  const char *near = npuc_nearest(o->kv_form, forms, sizeof forms / sizeof *forms);
  if (near) npuc_fix(b->diag, "--kv-form %s", near);
  return status;
}

/* The stages before static run the model as it came: at half the cache, one chunk. */
npuc_status npuc_apply_dims(build *b, module *m) {
  pass_options options = {0};
  int64_t chunk;
  bool is_free;
  NPUC_TRY(npuc_apply_given_dims(b, m));
  NPUC_TRY(npuc_build_decoder_options(b, &options));
  if (!options.max_length || !npuc_decoder_grows(m->graphs[0])) return NPUC_OK;
  NPUC_TRY(npuc_decoder_chunk(b->diag, m->graphs[0], &options, &chunk, &is_free));
  return npuc_decoder_bind(b->diag, m, &options, (options.max_length - chunk) / 2, chunk);
}

npuc_status npuc_check_dims(build *b, const module *m) {
  const graph *g = m->graphs[0];
  for (size_t i = 0; i < b->options.n_dims; i++) NPUC_TRY(npuc_graph_check_symbol(b->diag, g, b->options.dims[i].symbol));
  const char **names = (const char **)npuc_arena_array(b->arena, g->n_inputs + 1, sizeof(char *));
  for (size_t i = 0; i < g->n_inputs; i++) names[i] = g->inputs[i]->name;
  for (size_t i = 0; i < b->options.n_shapes; i++) {
    const char *input = b->options.shapes[i].input;
    bool found = false;
    for (size_t k = 0; k < g->n_inputs; k++) found |= strcmp(names[k], input) == 0;
    if (found) continue;
    npuc_status status =
        npuc_fail(b->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = "--shape"}, "the model has no input named '%s'", input);
    const char *near = npuc_nearest(input, names, g->n_inputs);
    npuc_fix(b->diag, "--shape %s=DIMS", near ? near : g->n_inputs ? names[0] : "INPUT");
    return status;
  }
  return NPUC_OK;
}
