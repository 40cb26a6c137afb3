/* SPDX-License-Identifier: Apache-2.0 */
/* npuc convert-dtype MODEL --to bf16|fp16|int32|int16|int8 -o DIR: narrower types, one after the other, and how near the result answers to the source on seeded random inputs. */
#include <stdlib.h>
#include <string.h>

#include "cli/build_options.h"
#include "cli/check_change.h"
#include "cli/inputs.h"
#include "passes/names.h"
#include "passes/precision.h"
#include "stages/model_folder.h"
#include "stages/stages.h"

typedef struct target_type {
  const char *name;
  dtype type;
} target_type;
static const target_type types[] = {{"bf16", DTYPE_BF16}, {"fp16", DTYPE_F16},  {"bfloat16", DTYPE_BF16}, {"float16", DTYPE_F16},
                                    {"int32", DTYPE_I32}, {"int16", DTYPE_I16}, {"int8", DTYPE_I8}};

static npuc_status find_type(cli *c, const char *text, dtype *out) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    if (strcmp(types[i].name, text) != 0) continue;
    *out = types[i].type;
    return NPUC_OK;
  }
  return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = "--to"}, "types are bf16, fp16, int32, int16 and int8, not '%s'",
                   text);
}

/* NAME=LO:HI; NAME may be the source's. */
static npuc_status parse_range(cli *c, const module *m, const char *text, value_range *out) {
  const char *equal = strrchr(text, '=');
  char *end = NULL;
  const value *v = equal ? npuc_find_value(m->graphs[0], npuc_arena_strn(c->arena, text, (size_t)(equal - text))) : NULL;
  if (equal) out->lo = strtoll(equal + 1, &end, 10);
  bool good = equal && end != equal + 1 && *end == ':';
  if (good) {
    const char *hi = end + 1;
    out->hi = strtoll(hi, &end, 10);
    good = end != hi && *end == '\0' && out->lo <= out->hi;
  }
  if (!good)
    return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = "--range"}, "a range is written NAME=LO:HI, not '%s'", text);
  if (!v)
    return npuc_fail(c->diag, NPUC_DIAG_E0514, &(diag_place){.attribute = "--range"}, "no value of the model is called like that: '%s'",
                     text);
  out->name = v->name;
  return NPUC_OK;
}

static npuc_status request_of(cli *c, const module *m, precision_request *r) {
  const char **texts;
  size_t n = npuc_cli_list(&c->line, c->arena, "--range", &texts);
  value_range *ranges = NPUC_NEW_ARRAY(c->arena, n + 1, value_range);
  for (size_t i = 0; i < n; i++) NPUC_TRY(parse_range(c, m, texts[i], &ranges[i]));
  *r = (precision_request){.convert_ports = npuc_cli_flag(&c->line, "--convert-io"),
                           .clamp = npuc_cli_flag(&c->line, "--clamp"),
                           .ranges = ranges,
                           .n_ranges = n};
  const char *rounding = npuc_cli_value(&c->line, "--rounding");
  if (rounding && strcmp(rounding, "nearest") != 0 && strcmp(rounding, "truncate") != 0)
    return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = "--rounding"}, "nearest or truncate, not '%s'", rounding);
  r->truncate = rounding && strcmp(rounding, "truncate") == 0;
  r->n_keep = npuc_cli_list(&c->line, c->arena, "--keep", &texts);
  r->keep = texts;
  return NPUC_OK;
}

static json_t *report_json(cli *c, dtype to, const precision_report *r) {
  json_t *kept = json_array();
  for (size_t i = 0; i < r->n_kept; i++)
    json_array_append_new(kept, json_pack("{s:s, s:s, s:s}", "node", r->kept[i].node, "op", r->kept[i].op, "why", r->kept[i].why));
  npuc_cli_say(c, "%s: %zu values, %zu constants, %zu Casts, %zu nodes with wide ports\n", npuc_dtype_name(to), r->values, r->constants,
               r->casts, r->n_kept);
  return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "to", npuc_dtype_name(to), "values", (json_int_t)r->values, "constants",
                   (json_int_t)r->constants, "casts", (json_int_t)r->casts, "clamped", (json_int_t)r->clamped, "vanished",
                   (json_int_t)r->vanished, "kept", kept);
}

static npuc_status convert(cli *c, module *m, precision_request *r, json_t *list) {
  const char **texts;
  size_t n = npuc_cli_list(&c->line, c->arena, "--to", &texts);
  if (n == 0)
    return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = "--to"}, "--to TYPE is needed: bf16, fp16, int32, int16, int8");
  for (size_t i = 0; i < n; i++) NPUC_TRY(find_type(c, texts[i], &r->to));
  for (size_t i = 0; i < n; i++) {
    precision_report report;
    NPUC_TRY(find_type(c, texts[i], &r->to));
    bool is_float = npuc_dtype_kind(r->to) == KIND_FLOAT;
    NPUC_TRY(is_float ? npuc_convert_floats(c->diag, c->arena, m, r, &report) : npuc_narrow_integers(c->diag, c->arena, m, r, &report));
    json_array_append_new(list, report_json(c, r->to, &report));
  }
  return NPUC_OK;
}

/* How near, in numbers; what is near enough is for the user to say (npuc diff --cosine). */
static npuc_status compare(cli *c, const module *before, const module *after) {
  comparison_sum *sums;
  const char *why;
  NPUC_TRY(npuc_cli_check_change(c, before, after, &sums, &why));
  npuc_cli_set(c, "compared", json_boolean(sums != NULL));
  if (!sums) {
    npuc_cli_set(c, "not_compared", json_string(why));
    npuc_cli_say(c, "not compared with the source: %s\n", why);
    return NPUC_OK;
  }
  json_t *list = json_array();
  for (size_t i = 0; i < after->graphs[0]->n_outputs; i++) {
    const comparison *r = &sums[i].result;
    json_array_append_new(list, npuc_comparison_json(after->graphs[0]->outputs[i]->name, r));
    npuc_cli_say(c, "%s: cosine %.6f, max|d| %.3g of %.3g\n", after->graphs[0]->outputs[i]->name, r->cosine, r->max_abs, r->max_ref);
  }
  npuc_cli_set(c, "outputs", list);
  return NPUC_OK;
}

static npuc_status write_result(cli *c, const module *m, const char *stem, const json_t *conversions) {
  model_folder folder;
  const char *path;
  NPUC_TRY(npuc_model_folder_open(c->diag, c->arena, npuc_cli_value(&c->line, "--output"), &folder));
  NPUC_TRY(npuc_model_folder_write(&folder, c->diag, stem, m, &path));
  json_t *record = json_pack("{s:s, s:s, s:O}", "command", c->line.text, "model", stem, "conversions", conversions);
  npuc_status status = npuc_model_folder_finish(&folder, c->diag, record);
  json_decref(record);
  if (status != NPUC_OK) return status;
  npuc_cli_set(c, "model", json_string(path));
  npuc_cli_say(c, "%s\n", path);
  return NPUC_OK;
}

static npuc_status convert_model(cli *c, opened_model *m) {
  precision_request request;
  json_t *list = json_array();
  npuc_cli_set(c, "conversions", list);
  if (m->kind != MODEL_GRAPH)
    return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.file = m->label}, "it is a program for an NPU: its types are what they are");
  NPUC_TRY(npuc_cli_check_dims(c, m->module));
  if (npuc_cli_value(&c->line, "--dim")) NPUC_TRY(npuc_cli_bind_dims(c, m->module));
  NPUC_TRY(request_of(c, m->module, &request));
  module *before = npuc_module_clone(m->module);
  npuc_status status = convert(c, m->module, &request, list);
  if (status == NPUC_OK) status = compare(c, before, m->module);
  npuc_module_destroy(before);
  return status == NPUC_OK ? write_result(c, m->module, npuc_model_stem(c->arena, m->path), list) : status;
}

static npuc_status run(cli *c) {
  opened_model m;
  if (!npuc_cli_value(&c->line, "--output"))
    return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = "--output"},
                     "-o DIR is needed: the folder for the converted model");
  NPUC_TRY(npuc_model_open(c->diag, c->arena, c->line.arguments[0], &m));
  npuc_status status = convert_model(c, &m);
  npuc_model_close(&m);
  return status;
}

static const option options[] = {
    {"--to", 0, OPTION_LIST, "TYPE", "bf16 or fp16 for float32; int32, int16 or int8 for int64; one after the other"},
    {"--output", 'o', OPTION_VALUE, "DIR", "the folder for the converted model"},
    {"--convert-io", 0, OPTION_FLAG, NULL, "inputs and outputs too (default: they keep their types, with Casts)"},
    {"--keep", 0, OPTION_LIST, "NAME", "a node, or every node of an operator, that stays wide"},
    {"--range", 0, OPTION_LIST, "NAME=LO:HI", "what an integer value may be, where it cannot be proved"},
    {"--clamp", 0, OPTION_FLAG, NULL, "float constants beyond the type become its largest number (default: an error)"},
    {"--rounding", 0, OPTION_VALUE, "nearest|truncate", "how bf16 is made of float32 (default nearest, ties to even)"},
    {"--dim", 0, OPTION_LIST, "SYMBOL=N", "the number of a symbolic dim"},
};
static const option_group group = {"Convert", options, sizeof options / sizeof *options};
static const option_group *const groups[] = {&group, NULL};
static const char *const examples[] = {"npuc convert-dtype examples/demo/model.onnx --to bf16 -o converted", NULL};

const command npuc_command_convert_dtype = {.name = "convert-dtype",
                                            .arguments = "MODEL",
                                            .purpose = "give a model narrower types: bfloat16, float16, 32-bit integers",
                                            .min_arguments = 1,
                                            .max_arguments = 1,
                                            .groups = groups,
                                            .examples = examples,
                                            .run = run};
