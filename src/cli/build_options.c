/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/build_options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "ir/text.h"
#include "quant/range.h"
#include "stages/target.h"

static const option target_options[] = {{"--target", 't', OPTION_LIST, "TARGET", "what to build for: `npuc targets` lists them"}};
const option_group npuc_cli_target_group = {"Target", target_options, 1};

static const option model_options[] = {
    {"--dim", 0, OPTION_LIST, "SYMBOL=N", "the number of a symbolic dim"},
    {"--shape", 0, OPTION_LIST, "INPUT=DIMS", "the whole shape of an input, e.g. image=1x3x224x224"},
    {"--reference", 0, OPTION_VALUE, "DIR", "the source framework's own outputs as NAME.npy, compared at import"},
};
const option_group npuc_cli_model_group = {"Model", model_options, sizeof model_options / sizeof *model_options};

static const option data_options[] = {
    {"--calib", 0, OPTION_VALUE, "DATA", "samples that the ranges of activations are measured on"},
    {"--eval", 0, OPTION_VALUE, "DATA", "labelled samples that accuracy is measured on"},
    {"--preprocess", 0, OPTION_VALUE, "SPEC", "scale=1/255,mean=a:b:c,std=a:b:c or a JSON file"},
    {"--max-drop", 0, OPTION_VALUE, "POINTS", "accuracy that quantization may cost (default 0.5)"},
};
const option_group npuc_cli_data_group = {"Data", data_options, sizeof data_options / sizeof *data_options};

static const option quantize_options[] = {
    {"--scheme", 0, OPTION_VALUE, "S", "precision, e.g. w8a8 (default: the target's)"},
    {"--set", 0, OPTION_LIST, "KEY=VALUE", "quantize.observer=min-max|percentile|mse|kl, quantize.bias_correction=true|false"},
};
const option_group npuc_cli_quantize_group = {"Quantization", quantize_options, sizeof quantize_options / sizeof *quantize_options};

static const option pass_options_table[] = {
    {"--print-after", 0, OPTION_VALUE, "PASS", "print the graph as text after a pass, or after `all`"},
    {"--stop-after", 0, OPTION_VALUE, "PASS", "end the stage's pipeline after a pass"},
    {"--pass-limit", 0, OPTION_VALUE, "N", "at most N rewrites: bisection of a wrong one"},
};
const option_group npuc_cli_pass_group = {"Passes", pass_options_table, sizeof pass_options_table / sizeof *pass_options_table};

static const option pipeline_options[] = {
    {"--output", 'o', OPTION_VALUE, "OUT", "the build's folder"},
    {"--from", 0, OPTION_VALUE, "STAGE", "do this stage and the later ones again"},
    {"--to", 0, OPTION_VALUE, "STAGE", "stop after this stage"},
    {"--force", 0, OPTION_FLAG, NULL, "do every stage again, also those whose inputs have not changed"},
};
const option_group npuc_cli_pipeline_group = {"Pipeline", pipeline_options, sizeof pipeline_options / sizeof *pipeline_options};

/* -- spellings -- */

npuc_status npuc_cli_shape(diag *d, const char *name, const char *text, shape *out_shape) {
  shape s = {.rank = 0};
  for (const char *p = text;;) {
    char *end = NULL;
    long long v = strtoll(p, &end, 10);
    if (end == p || v < 0 || v > INT32_MAX || s.rank == MAX_RANK || (*end != 'x' && *end != '\0'))
      return npuc_fail(d, NPUC_DIAG_E0104, &(diag_place){.attribute = name}, "dims are written 1x3x224x224, not '%s'", text);
    s.dims[s.rank++] = v;
    if (*end == '\0') break;
    p = end + 1;
  }
  *out_shape = s;
  return NPUC_OK;
}

static npuc_status split_pair(cli *c, const char *name, const char *text, const char **out_key, const char **out_value) {
  const char *equal = strchr(text, '=');
  if (!equal || equal == text || equal[1] == '\0')
    return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = name}, "%s wants NAME=VALUE, not '%s'", name, text);
  *out_key = npuc_arena_strn(c->arena, text, (size_t)(equal - text));
  *out_value = equal + 1;
  return NPUC_OK;
}

npuc_status npuc_cli_dims(cli *c, const char *name, const symbol_binding **out_dims, size_t *out_count) {
  const char **texts;
  size_t n = npuc_cli_list(&c->line, c->arena, name, &texts);
  symbol_binding *dims = NPUC_NEW_ARRAY(c->arena, n, symbol_binding);
  for (size_t i = 0; i < n; i++) {
    const char *number = NULL;
    char *end = NULL;
    NPUC_TRY(split_pair(c, name, texts[i], &dims[i].symbol, &number));
    dims[i].value = strtoll(number, &end, 10);
    if (*end != '\0' || dims[i].value < 1 || dims[i].value > INT32_MAX)
      return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = name}, "a dim is a number from 1 on, not '%s'", number);
  }
  *out_dims = dims;
  *out_count = n;
  return NPUC_OK;
}

static npuc_status shapes(cli *c, const input_shape **out_shapes, size_t *out_count) {
  const char **texts;
  size_t n = npuc_cli_list(&c->line, c->arena, "--shape", &texts);
  input_shape *list = NPUC_NEW_ARRAY(c->arena, n, input_shape);
  for (size_t i = 0; i < n; i++) {
    const char *dims = NULL;
    NPUC_TRY(split_pair(c, "--shape", texts[i], &list[i].input, &dims));
    NPUC_TRY(npuc_cli_shape(c->diag, "--shape", dims, &list[i].shape));
  }
  *out_shapes = list;
  *out_count = n;
  return NPUC_OK;
}

/* -- recorded options -- */

static const char *recorded(const build *b, const char *key) {
  const char *text = json_string_value(json_object_get(json_object_get(b->manifest, "options"), key));
  return text ? npuc_arena_str(b->arena, text) : NULL;
}

/* The command line's value over the recorded one; an override is said. */
static const char *merged(cli *c, build *b, const char *name, const char *key) {
  const char *given = npuc_cli_value(&c->line, name), *before = recorded(b, key);
  if (given && before && strcmp(given, before) != 0)
    npuc_note(c->diag, NPUC_DIAG_E0925, &(diag_place){.attribute = name}, "%s replaces the recorded %s", given, before);
  return given ? given : before;
}

static npuc_status apply_setting(cli *c, build_options *o, const char *key, const char *text) {
  static const char *const keys[] = {"quantize.observer", "quantize.bias_correction"};
  if (strcmp(key, keys[0]) == 0) {
    quant_observer kind;
    if (npuc_observer_parse(text, &kind)) {
      o->observer = npuc_observer_name(kind);
      return NPUC_OK;
    }
    return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = key}, "observers are min-max, percentile, mse and kl, not '%s'",
                     text);
  }
  if (strcmp(key, keys[1]) == 0) {
    o->bias_correction = strcmp(text, "true") == 0;
    if (o->bias_correction || strcmp(text, "false") == 0) return NPUC_OK;
    return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = key}, "true or false, not '%s'", text);
  }
  npuc_status status = npuc_fail(c->diag, NPUC_DIAG_E0922, &(diag_place){.attribute = key}, "there is no setting '%s'", key);
  const char *near = npuc_nearest(key, keys, sizeof keys / sizeof *keys);
  if (near) npuc_fix(c->diag, "--set %s=VALUE", near);
  return status;
}

static npuc_status apply_settings(cli *c, build *b, build_options *o) {
  const char *kind = recorded(b, "observer");
  o->observer = NULL;
  if (kind) NPUC_TRY(apply_setting(c, o, "quantize.observer", kind));
  json_t *correction = json_object_get(json_object_get(b->manifest, "options"), "bias_correction");
  o->bias_correction = correction ? json_is_true(correction) : true;
  const char **texts;
  size_t n = npuc_cli_list(&c->line, c->arena, "--set", &texts);
  for (size_t i = 0; i < n; i++) {
    const char *key = NULL, *setting = NULL;
    NPUC_TRY(split_pair(c, "--set", texts[i], &key, &setting));
    NPUC_TRY(apply_setting(c, o, key, setting));
  }
  return NPUC_OK;
}

static npuc_status merge_targets(cli *c, build *b, build_options *o) {
  const char **given;
  size_t n = npuc_cli_list(&c->line, c->arena, "--target", &given);
  json_t *before = json_object_get(json_object_get(b->manifest, "options"), "targets"), *entry;
  if (n == 0) {
    given = (const char **)npuc_arena_array(b->arena, json_array_size(before) + 1, sizeof(char *));
    size_t i;
    json_array_foreach(before, i, entry) given[n++] = npuc_arena_str(b->arena, json_string_value(entry) ? json_string_value(entry) : "");
  }
  for (size_t i = 0; i < n; i++) { /* a wrong name is said before any work */
    target_file t;
    NPUC_TRY(npuc_target_open(c->diag, b->arena, given[i], &t));
    npuc_target_close(&t);
  }
  o->targets = given;
  o->n_targets = n;
  return NPUC_OK;
}

static npuc_status merge_dims(cli *c, build *b, build_options *o) {
  NPUC_TRY(npuc_cli_dims(c, "--dim", &o->dims, &o->n_dims));
  NPUC_TRY(shapes(c, &o->shapes, &o->n_shapes));
  json_t *before = json_object_get(json_object_get(b->manifest, "options"), "dims"), *entry;
  const char *key;
  if (o->n_dims == 0 && json_object_size(before)) {
    symbol_binding *dims = NPUC_NEW_ARRAY(b->arena, json_object_size(before), symbol_binding);
    json_object_foreach(before, key, entry) dims[o->n_dims++] = (symbol_binding){npuc_arena_str(b->arena, key), json_integer_value(entry)};
    o->dims = dims;
  }
  before = json_object_get(json_object_get(b->manifest, "options"), "shapes");
  if (o->n_shapes == 0 && json_object_size(before)) {
    input_shape *list = NPUC_NEW_ARRAY(b->arena, json_object_size(before), input_shape);
    json_object_foreach(before, key, entry) {
      list[o->n_shapes].input = npuc_arena_str(b->arena, key);
      NPUC_TRY(npuc_cli_shape(c->diag, "--shape", json_string_value(entry) ? json_string_value(entry) : "", &list[o->n_shapes++].shape));
    }
    o->shapes = list;
  }
  return NPUC_OK;
}

static void print_graph(void *user, const char *pass, const graph *g) {
  arena *a = npuc_arena_create();
  const cli *c = user;
  if (c->json) {
    json_t *event =
        json_pack("{s:s, s:s, s:s}", "event", "graph", "pass", pass, "text", npuc_graph_print(a, g, &(text_options){.types = true}));
    json_dumpf(event, stderr, JSON_COMPACT | JSON_ENSURE_ASCII);
    fputc('\n', stderr);
    json_decref(event);
    npuc_arena_destroy(a);
    return;
  }
  fprintf(stderr, "-- after %s\n%s", pass, npuc_graph_print(a, g, &(text_options){.types = true}));
  npuc_arena_destroy(a);
}

static npuc_status controls(cli *c, build *b) {
  long long limit;
  NPUC_TRY(npuc_cli_int(c->diag, &c->line, "--pass-limit", 0, INT32_MAX, -1, &limit));
  b->controls = (pass_controls){.limit = limit,
                                .stop_after = npuc_cli_value(&c->line, "--stop-after"),
                                .print_after = npuc_cli_value(&c->line, "--print-after"),
                                .print = print_graph,
                                .user = c};
  return NPUC_OK;
}

npuc_status npuc_cli_build_options(cli *c, build *b, const char *model) {
  build_options *o = &b->options;
  b->pool = c->pool;
  b->progress = &c->progress;
  json_t *before = json_object_get(b->manifest, "options");
  b->seed = npuc_cli_value(&c->line, "--seed") ? c->seed : (uint64_t)json_integer_value(json_object_get(before, "seed"));
  o->model = model ? model : recorded(b, "model");
  if (!o->model)
    return npuc_fail(c->diag, NPUC_DIAG_E0905, &(diag_place){.file = b->path}, "the build records no model: start it with a model");
  o->calib = merged(c, b, "--calib", "calib");
  o->eval = merged(c, b, "--eval", "eval");
  o->preprocess = merged(c, b, "--preprocess", "preprocess");
  o->reference = merged(c, b, "--reference", "reference");
  o->scheme = merged(c, b, "--scheme", "scheme");
  json_t *drop = json_object_get(before, "max_drop");
  NPUC_TRY(npuc_cli_real(c->diag, &c->line, "--max-drop", drop ? json_number_value(drop) : 0.5, &o->max_drop));
  NPUC_TRY(merge_targets(c, b, o));
  NPUC_TRY(merge_dims(c, b, o));
  NPUC_TRY(apply_settings(c, b, o));
  NPUC_TRY(controls(c, b));
  return npuc_build_options_save(b);
}
