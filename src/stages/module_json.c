/* SPDX-License-Identifier: Apache-2.0 */
/* OUT/module.json: what a program that is not npuc needs to use the stage models: the parts and their ports with dtype, shape and quantization, the states and links between parts
 * (none for a network of one part), the stage files of each part, and the map from sanitized names to the source's. */
#include <stdlib.h>
#include <string.h>

#include "ir/decoder_form.h"
#include "passes/names.h"
#include "stages/stages.h"

static json_t *port_json(const module *m, const graph *g, arena *a, const value *v) {
  json_t *dims = json_array();
  for (int32_t i = 0; i < v->shape.rank; i++) {
    const char *symbol = dim_is_symbol(v->shape.dims[i]) ? npuc_module_symbol_name(m, v->shape.dims[i]) : NULL;
    json_array_append_new(dims, dim_is_number(v->shape.dims[i]) ? json_integer(v->shape.dims[i]) : json_string(symbol ? symbol : "?"));
  }
  json_t *o = json_pack("{s:s, s:s, s:s, s:o}", "name", v->name, "source", npuc_source_name(g, a, v->name), "dtype",
                        npuc_dtype_name(v->type), "shape", dims);
  if (!v->quant) return o;
  json_object_set_new(o, "scale", json_real(npuc_tensor_get(&v->quant->scale, 0)));
  json_object_set_new(o, "zero_point", json_integer(npuc_tensor_get_int(&v->quant->zero_point, 0)));
  return o;
}

static json_t *stage_files(const build *b) {
  json_t *files = json_object(), *record;
  const char *key;
  json_object_foreach(json_object_get(b->manifest, "stages"), key, record) {
    const char *file = json_string_value(json_object_get(json_array_get(json_object_get(record, "outputs"), 0), "file"));
    size_t n = file ? strlen(file) : 0;
    if (n > 5 && strcmp(file + n - 5, ".onnx") == 0) json_object_set_new(files, key, json_string(file));
  }
  return files;
}

static json_t *part_json(const build *b, const module *m, const graph *g) {
  json_t *inputs = json_array(), *outputs = json_array(), *names = json_object();
  for (size_t i = 0; i < g->n_inputs; i++) json_array_append_new(inputs, port_json(m, g, b->arena, g->inputs[i]));
  for (size_t i = 0; i < g->n_outputs; i++) json_array_append_new(outputs, port_json(m, g, b->arena, g->outputs[i]));
  map *renamed = npuc_name_map(b->arena, g);
  size_t cursor = 0;
  const char *ours;
  void *source;
  while (npuc_map_next(renamed, &cursor, &ours, &source)) json_object_set_new(names, ours, json_string(source));
  return json_pack("{s:s, s:o, s:o, s:o, s:o}", "name", g->name ? g->name : "main", "inputs", inputs, "outputs", outputs, "stages",
                   stage_files(b), "names", names);
}

/* Pairs of ports that are one buffer: what a call gives as `output`, the next one takes as `input`. */
static json_t *states_json(const build *b, const module *m) {
  json_t *states = json_array();
  const char *output, *input;
  for (size_t k = 0; npuc_module_state(m, b->arena, k, &output, &input); k++)
    json_array_append_new(
        states, json_pack("{s:s, s:s, s:s}", "part", m->graphs[0]->name ? m->graphs[0]->name : "main", "input", input, "output", output));
  return states;
}

/* max_length and chunk of a static decoder, null for anything else. */
static json_t *decoder_json(const module *m) {
  decoder_form f;
  if (!npuc_decoder_form_of(m, &f)) return json_null();
  return json_pack("{s:I, s:I}", "max_length", (json_int_t)f.max_length, "chunk", (json_int_t)f.chunk);
}

/* The newest stage that left a model, target of the last one for stages 4 and 5. */
static const char *newest_model(const build *b) {
  static const stage_id order[] = {STAGE_QUANTIZE, STAGE_ADAPT, STAGE_STATIC, STAGE_NORMALIZE, STAGE_IMPORT};
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    if (!npuc_stage_per_target(order[i])) {
      if (npuc_build_record(b, order[i], NULL)) return npuc_build_path(b, order[i], NULL);
      continue;
    }
    for (size_t k = 0; k < b->options.n_targets; k++)
      if (npuc_build_record(b, order[i], b->options.targets[k])) return npuc_build_path(b, order[i], b->options.targets[k]);
  }
  return NULL;
}

npuc_status npuc_module_json_write(build *b) {
  const char *path = newest_model(b);
  module *m = NULL;
  if (!path) return NPUC_OK;
  NPUC_TRY(npuc_onnx_read(b->diag, path, &m));
  json_t *parts = json_array();
  for (size_t i = 0; i < m->n_graphs; i++) json_array_append_new(parts, part_json(b, m, m->graphs[i]));
  json_t *states = states_json(b, m), *decoder = decoder_json(m);
  npuc_module_destroy(m);
  json_t *document = json_pack("{s:s, s:s, s:o, s:o, s:o, s:[]}", "schema", "npuc.module/1", "source", b->options.model, "parts", parts,
                               "states", states, "decoder", decoder, "links");
  char *text = document ? json_dumps(document, JSON_INDENT(1) | JSON_ENSURE_ASCII) : NULL;
  json_decref(document);
  if (!text) return npuc_fail(b->diag, NPUC_DIAG_E0002, NULL, "module.json cannot be built");
  npuc_status status = npuc_file_write_all(b->diag, npuc_path_join(b->arena, b->path, "module.json"), text, strlen(text));
  free(text);
  return status;
}
