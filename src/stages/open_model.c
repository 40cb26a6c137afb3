/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/open_model.h"

#include <stdlib.h>
#include <string.h>

#include "formats/json.h"
#include "import/state_dict.h"
#include "ir/op.h"
#include "passes/names.h"
#include "stages/build.h"

/* The main output of a stage as recorded: its first file. */
static const char *recorded_file(arena *a, const char *folder, json_t *record) {
  const char *file = json_string_value(json_object_get(json_array_get(json_object_get(record, "outputs"), 0), "file"));
  return file && !strstr(file, "..") && file[0] != '/' ? npuc_path_join(a, folder, file) : NULL;
}

/* What an OUT folder stands for: the artifact if built, else its newest stage model. */
static json_t *newest_record(json_t *stages) {
  static const stage_id order[] = {STAGE_BUILD, STAGE_QUANTIZE, STAGE_ADAPT, STAGE_STATIC, STAGE_NORMALIZE, STAGE_IMPORT};
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    const char *name = npuc_stage_name(order[i]), *key;
    json_t *record;
    json_object_foreach(stages, key, record) {
      size_t n = strlen(name);
      if (strncmp(key, name, n) == 0 && (key[n] == '\0' || key[n] == '.')) return record;
    }
  }
  return NULL;
}

static npuc_status pick_stage(diag *d, json_t *stages, const char *label, const char *wanted, json_t **out_record) {
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(wanted, "."), wanted);
  stage_id s;
  if (!npuc_stage_find(name, &s) || s == STAGE_BASELINE || s == STAGE_VERIFY) {
    npuc_status status = npuc_fail(d, NPUC_DIAG_E0104, &(diag_place){.file = label}, "'%s' is no stage with a model", wanted);
    npuc_fix(d, "one of @import @normalize @static @adapt @quantize @build");
    return status;
  }
  *out_record = json_object_get(stages, wanted);
  if (*out_record) return NPUC_OK;
  size_t found = 0, n = strlen(name);
  const char *key;
  json_t *record;
  json_object_foreach(stages, key, record) {
    if (strchr(wanted, '.') || strncmp(key, name, n) != 0 || key[n] != '.') continue;
    *out_record = record;
    found++;
  }
  if (found == 1) return NPUC_OK;
  if (found > 1)
    return npuc_fail(d, NPUC_DIAG_E0908, &(diag_place){.file = label}, "stage %s was done for %zu targets: write @%s.TARGET", name, found,
                     name);
  return npuc_fail(d, NPUC_DIAG_E0905, &(diag_place){.file = label}, "stage %s has not been done", wanted);
}

static npuc_status find_in_build(diag *d, arena *a, const char *folder, const char *stage, opened_model *m) {
  json_t *manifest;
  NPUC_TRY(npuc_json_read(d, npuc_path_join(a, folder, "manifest.json"), NPUC_DIAG_E0904, &manifest));
  json_t *stages = json_object_get(manifest, "stages"), *record = NULL;
  npuc_status status = NPUC_OK;
  if (stage)
    status = pick_stage(d, stages, m->label, stage, &record);
  else if (!(record = newest_record(stages)))
    status = npuc_fail(d, NPUC_DIAG_E0905, &(diag_place){.file = m->label}, "nothing has been imported in this build");
  if (status == NPUC_OK && !(m->path = recorded_file(a, folder, record)))
    status = npuc_fail(d, NPUC_DIAG_E0904, &(diag_place){.file = m->label}, "the manifest's record of the stage names no file");
  if (status == NPUC_OK) status = npuc_pool_verify(d, a, folder);
  m->out = folder;
  const char *preprocess = json_string_value(json_object_get(json_object_get(manifest, "options"), "preprocess"));
  if (preprocess) m->preprocess = npuc_arena_str(a, preprocess);
  json_decref(manifest);
  return status;
}

static npuc_status recognise(diag *d, opened_model *m) {
  source_format format;
  const char *outer_file = npuc_diag_set_file(d, m->label);
  npuc_status status = npuc_source_format(d, m->path, &format);
  npuc_diag_set_file(d, outer_file);
  if (status != NPUC_OK) return status;
  m->kind = format == SOURCE_NPU                                                                     ? MODEL_NPU
            : format == SOURCE_TORCH || format == SOURCE_SAFETENSORS || format == SOURCE_TORCHSCRIPT ? MODEL_TENSORS
                                                                                                     : MODEL_GRAPH;
  if (format != SOURCE_UNKNOWN) return NPUC_OK;
  return npuc_fail(d, NPUC_DIAG_E0906, &(diag_place){.file = m->label},
                   "it begins like no format that npuc reads (ONNX, .pt2, torch.save, .npu, or a folder made by npuc), or it is empty");
}

npuc_status npuc_model_find(diag *d, arena *a, const char *text, opened_model *out_model) {
  *out_model = (opened_model){.label = text, .path = text};
  const char *at = strrchr(text, '@');
  if (!npuc_build_is(text) && npuc_state_dict_is(text)) {
    out_model->kind = MODEL_TENSORS;
    return NPUC_OK;
  }
  if (npuc_path_is_dir(text)) {
    if (!npuc_build_is(text)) {
      npuc_status status = npuc_fail(d, NPUC_DIAG_E0906, &(diag_place){.file = text}, "the folder is no build of npuc");
      return status;
    }
    NPUC_TRY(find_in_build(d, a, text, NULL, out_model));
  } else if (at && !npuc_path_exists(text)) {
    const char *folder = npuc_arena_strn(a, text, (size_t)(at - text));
    if (!npuc_build_is(folder)) return npuc_fail(d, NPUC_DIAG_E0903, &(diag_place){.file = folder}, "there is no build in that place");
    NPUC_TRY(find_in_build(d, a, folder, at + 1, out_model));
  }
  return recognise(d, out_model);
}

npuc_status npuc_model_open(diag *d, arena *a, const char *text, opened_model *out_model) {
  NPUC_TRY(npuc_model_find(d, a, text, out_model));
  if (out_model->kind == MODEL_NPU) return NPUC_OK;
  npuc_diag_set_file(d, out_model->label);
  return npuc_source_read(d, out_model->path, &out_model->module);
}

npuc_status npuc_model_find_source(diag *d, arena *a, const char *text, opened_model *out_model) {
  /* Of a whole build the source as it was read is meant: what it was quantized or built to does not start another. */
  const char *source = npuc_build_is(text) ? npuc_arena_printf(a, "%s@import", text) : text;
  NPUC_TRY(npuc_model_find(d, a, source, out_model));
  if (source != text) npuc_note(d, NPUC_DIAG_E0933, &(diag_place){.file = text}, "the model is its stage import, %s", out_model->path);
  if (out_model->kind == MODEL_NPU)
    return npuc_fail(d, NPUC_DIAG_E0906, &(diag_place){.file = text}, "it is a program for an NPU, not a model");
  module *none;
  if (out_model->kind == MODEL_TENSORS) return npuc_source_read(d, out_model->path, &none); /* which says what to do instead */
  return NPUC_OK;
}

static void bind_shape(const module *m, shape *s, const symbol_binding *dims, size_t n) {
  for (int32_t k = 0; k < s->rank; k++) {
    const char *name = dim_is_symbol(s->dims[k]) ? npuc_module_symbol_name(m, s->dims[k]) : NULL;
    for (size_t j = 0; name && j < n; j++) {
      if (strcmp(dims[j].symbol, name) != 0) continue;
      s->dims[k] = dims[j].value;
      break;
    }
  }
}

npuc_status npuc_model_bind(diag *d, opened_model *m, const symbol_binding *dims, size_t n) {
  for (size_t part = 0; part < m->module->n_graphs; part++) {
    graph *g = m->module->graphs[part];
    for (size_t i = 0; i < g->n_inputs; i++) bind_shape(m->module, &g->inputs[i]->shape, dims, n);
    npuc_graph_forget_shapes(g);
    NPUC_TRY(npuc_graph_infer(d, g));
  }
  return NPUC_OK;
}

void npuc_model_close(opened_model *m) {
  npuc_module_destroy(m->module);
  m->module = NULL;
}

value *npuc_model_port(const opened_model *m, const char *name) {
  graph *g = m->module->graphs[0];
  value *v = npuc_find_value(g, name);
  return v && (v->is_input || v->is_output) ? v : NULL;
}
