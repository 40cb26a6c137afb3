/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/build_options.h"

#include <string.h>

#include "import/state_dict.h"
#include "ir/text.h"
#include "stages/target.h"

static const option target_options[] = {{"--target", 't', OPTION_LIST, "TARGET", "what to build for: `npuc targets` lists them"}};
const option_group npuc_cli_target_group = {"Target", target_options, 1};

static const option model_options[] = {
    {"--dim", 0, OPTION_LIST, "SYMBOL=N", "the number of a symbolic dim"},
    {"--shape", 0, OPTION_LIST, "INPUT=DIMS", "the whole shape of an input, e.g. image=1x3x224x224"},
    {"--max-length", 0, OPTION_VALUE, "N", "of a decoder: tokens that a sequence may have; its cache becomes a buffer of fixed length"},
    {"--chunk", 0, OPTION_VALUE, "C", "of a decoder with --max-length: tokens a call (default: as the model says, else 1)"},
    {"--kv-form", 0, OPTION_VALUE, "F", "how a write into the cache is spelled: scatter (default), where, matmul"},
    {"--reference", 0, OPTION_VALUE, "DIR", "the source framework's own outputs as NAME.npy, compared at import"},
};
const option_group npuc_cli_model_group = {"Model", model_options, sizeof model_options / sizeof *model_options};

static const option state_options[] = {
    {"--state-dict", 0, OPTION_VALUE, "FILE", "weights for the graph, by name: torch.save, safetensors, an index of shards or its folder"},
    {"--state-dict-prefix", 0, OPTION_VALUE, "PREFIX",
     "what the names in FILE begin with (default: found; module., state_dict., ema. ...)"},
    {"--state-dict-match", 0, OPTION_VALUE, "all|some", "some: parameters that FILE does not have stay as they are (default all)"},
};
const option_group npuc_cli_state_group = {"State dict", state_options, sizeof state_options / sizeof *state_options};

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

static const option edit_options[] = {
    {"--edit", 0, OPTION_LIST, "NAME[:KEY=VALUE]", "an edit, with arguments; NAME:[a, b] gives them in order"},
    {"--edits", 0, OPTION_VALUE, "FILE", "a list of edits, YAML or JSON, as torq-tools writes it; --edit is stronger"},
    {"--skip-edit", 0, OPTION_LIST, "NAME", "leave an edit out, wherever it was asked for"},
};
const option_group npuc_cli_edit_group = {"Edits", edit_options, sizeof edit_options / sizeof *edit_options};

static const option pass_options_table[] = {
    {"--print-after", 0, OPTION_VALUE, "PASS", "print the graph as text after a pass, or after `all`"},
    {"--stop-after", 0, OPTION_VALUE, "PASS", "end the stage's pipeline after a pass"},
    {"--dump-after-edit", 0, OPTION_FLAG, NULL, "write intermediates/0001_EDIT_MODEL.onnx, ... beside the result"},
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

npuc_status npuc_cli_dims(cli *c, const char *name, const symbol_binding **out_dims, size_t *out_count) {
  const char **texts;
  size_t n = npuc_cli_list(&c->line, c->arena, name, &texts);
  symbol_binding *dims = NPUC_NEW_ARRAY(c->arena, n, symbol_binding);
  for (size_t i = 0; i < n; i++) NPUC_TRY(npuc_parse_binding(c->diag, c->arena, name, texts[i], &dims[i]));
  *out_dims = dims;
  *out_count = n;
  return NPUC_OK;
}

npuc_status npuc_cli_refuse_state(cli *c, const char *label) {
  if (!npuc_cli_value(&c->line, "--state-dict")) return NPUC_OK;
  return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.file = label, .attribute = "--state-dict"},
                   "it is a program for an NPU: its weights are packed for the target");
}

npuc_status npuc_cli_load_state(cli *c, module *m) {
  state_request request = {.path = npuc_cli_value(&c->line, "--state-dict"),
                           .prefix = npuc_cli_value(&c->line, "--state-dict-prefix"),
                           .match = npuc_cli_value(&c->line, "--state-dict-match")};
  json_t *report;
  if (!request.path && (request.prefix || request.match))
    return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = "--state-dict"}, "its prefix or match is given, and no file");
  if (!request.path) return NPUC_OK;
  npuc_status status = npuc_state_dict_load(c->diag, m, &request, &report);
  if (status == NPUC_OK)
    npuc_cli_say(c, "state dict %s: %lld tensors\n", request.path, (long long)json_integer_value(json_object_get(report, "matched")));
  if (report) npuc_cli_set(c, "state_dict", report);
  return status;
}

/* The command line's values over the recorded ones; that a text replaces another is said. A list that is given replaces the recorded list. */
static npuc_status apply_option(cli *c, build *b, const option *o) {
  const char **texts, *name = o->name + 2, *before = npuc_build_option_text(b, name);
  size_t n = npuc_cli_list(&c->line, c->arena, o->name, &texts);
  if (n) npuc_build_option_clear(b, name);
  if (n && before && strcmp(texts[n - 1], before) != 0)
    npuc_note(c->diag, NPUC_DIAG_E0925, &(diag_place){.attribute = o->name}, "%s replaces the recorded %s", texts[n - 1], before);
  for (size_t i = 0; i < n; i++) NPUC_TRY(npuc_build_option_set(b, name, texts[i]));
  return NPUC_OK;
}

static npuc_status apply_options(cli *c, build *b) {
  static const option_group *const groups[] = {&npuc_cli_target_group, &npuc_cli_model_group,    &npuc_cli_state_group,
                                               &npuc_cli_data_group,   &npuc_cli_quantize_group, &npuc_cli_edit_group};
  static const option seed = {.name = "--seed"};
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
    for (size_t k = 0; k < groups[i]->n_options; k++) NPUC_TRY(apply_option(c, b, &groups[i]->options[k]));
  NPUC_TRY(apply_option(c, b, &seed));
  for (size_t i = 0; i < b->options.n_targets; i++) { /* a wrong name is said before any work */
    target_file t;
    NPUC_TRY(npuc_target_open(c->diag, b->arena, b->options.targets[i], &t));
    npuc_target_close(&t);
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
                                .dump_after_edit = npuc_cli_flag(&c->line, "--dump-after-edit"),
                                .print = print_graph,
                                .user = c};
  return NPUC_OK;
}

npuc_status npuc_cli_build_options(cli *c, build *b, const char *model) {
  b->pool = c->pool;
  b->progress = &c->progress;
  NPUC_TRY(npuc_build_options_load(b));
  if (model) b->options.model = model;
  if (!b->options.model)
    return npuc_fail(c->diag, NPUC_DIAG_E0905, &(diag_place){.file = b->path}, "the build records no model: start it with a model");
  NPUC_TRY(apply_options(c, b));
  NPUC_TRY(controls(c, b));
  return npuc_build_options_save(b);
}
