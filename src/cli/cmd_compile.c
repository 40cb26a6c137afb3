/* SPDX-License-Identifier: Apache-2.0 */
/* npuc compile, and the commands of single stages: the same pipeline, from and to where the command says. */
#include <stdlib.h>
#include <string.h>

#include "cli/build_options.h"
#include "stages/open_model.h"
#include "stages/target.h"

typedef struct listening {
  cli *c;
  json_t *stages;
} listening;

static void on_stage(void *user, stage_id s, const char *target, const char *status, double seconds, const json_t *gate) {
  listening *l = user;
  json_t *entry = json_pack("{s:s, s:s, s:f}", "name", npuc_stage_name(s), "status", status, "seconds", seconds);
  if (target) json_object_set_new(entry, "target", json_string(target));
  json_object_set(entry, "gate", (json_t *)(uintptr_t)gate);
  json_array_append_new(l->stages, entry);
  npuc_cli_flush(l->c);
  if (l->c->json || l->c->quiet) return;
  printf("%d %-10s %-12s %-7s %7.2f s\n", (int)s, npuc_stage_name(s), target ? target : "", status, seconds);
  if (l->c->verbose) {
    char *text = json_dumps(gate, JSON_COMPACT | JSON_ENSURE_ASCII);
    printf("  gate %s\n", text ? text : "");
    free(text);
  }
  fflush(stdout);
}

/* What the build says about itself at the end. */
static void summarize(cli *c, const build *b) {
  json_t *each = npuc_build_results(b), *own;
  size_t i;
  npuc_cli_set(c, "targets", each);
  json_array_foreach(each, i, own) {
    const char *t = json_string_value(json_object_get(own, "target")), *artifact = json_string_value(json_object_get(own, "artifact"));
    json_t *metric = json_object_get(own, "accuracy"), *cycles = json_object_get(own, "cycles");
    if (metric) {
      npuc_cli_set(c, "accuracy", json_incref(metric));
      npuc_cli_say(c, "%s: top-1 float %.2f %%, integer %.2f %% of %lld samples\n", t,
                   json_number_value(json_object_get(metric, "float_top1")), json_number_value(json_object_get(metric, "integer_top1")),
                   (long long)json_integer_value(json_object_get(metric, "samples")));
    }
    if (cycles) {
      npuc_cli_set(c, "cycles", json_incref(cycles));
      npuc_cli_say(c, "%s: %lld cycles, array used %.1f %%; evidence: executed (simulator)\n", t, (long long)json_integer_value(cycles),
                   100.0 * json_number_value(json_object_get(own, "utilization")));
    }
    if (!artifact) continue;
    npuc_cli_set(c, "artifact", json_string(artifact));
    npuc_cli_say(c, "%s: %s\n", t, artifact);
  }
}

static npuc_status stage_option(cli *c, const char *name, stage_id fallback, stage_id *out_stage) {
  const char *text = npuc_cli_value(&c->line, name);
  *out_stage = fallback;
  if (!text || npuc_stage_find(text, out_stage)) return NPUC_OK;
  return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = name},
                   "'%s' is no stage: baseline, import, normalize, static, adapt, quantize, build, verify", text);
}

static npuc_status run_pipeline(cli *c, build *b, stage_id from, stage_id to) {
  listening l = {.c = c, .stages = json_array()};
  npuc_cli_set(c, "stages", l.stages);
  npuc_status status = npuc_pipeline_run(b, from, to, on_stage, &l);
  npuc_cli_set(c, "manifest", json_string(npuc_arena_printf(c->arena, "%s/manifest.json", b->path)));
  if (status == NPUC_OK) summarize(c, b);
  return status;
}

/* Model and targets are looked at before the folder is made: a slip leaves nothing behind. */
static npuc_status check_request(cli *c, const char *model, opened_model *out_found) {
  NPUC_TRY(npuc_model_find_source(c->diag, c->arena, model, out_found));
  const char **targets;
  size_t n = npuc_cli_list(&c->line, c->arena, "--target", &targets);
  for (size_t i = 0; i < n; i++) {
    target_file t;
    NPUC_TRY(npuc_target_open(c->diag, c->arena, targets[i], &t));
    npuc_target_close(&t);
  }
  return NPUC_OK;
}

/* Opens or makes the build and runs [from, to]; what is struck first is done again. */
static npuc_status in_build(cli *c, const char *folder, const char *model, stage_id from, stage_id to, stage_id strike) {
  build *b = NULL;
  opened_model found = {.path = NULL};
  if (model) NPUC_TRY(check_request(c, model, &found));
  npuc_status status = npuc_build_open(c->diag, c->arena, folder, model != NULL, &b);
  if (status == NPUC_OK) json_object_set_new(b->manifest, "command", json_string(c->line.text));
  if (status == NPUC_OK) npuc_build_inherit(b, found.preprocess);
  if (status == NPUC_OK) status = npuc_cli_build_options(c, b, found.path);
  if (status == NPUC_OK && strike != STAGE_COUNT) status = npuc_build_strike(b, strike, NULL);
  if (status == NPUC_OK) status = run_pipeline(c, b, from, to);
  npuc_build_close(b);
  return status;
}

static npuc_status run_compile(cli *c) {
  const char *out = npuc_cli_value(&c->line, "--output"), *model = c->line.arguments[0];
  stage_id from, to;
  NPUC_TRY(stage_option(c, "--from", STAGE_BASELINE, &from));
  NPUC_TRY(stage_option(c, "--to", STAGE_VERIFY, &to));
  if (from > to)
    return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = "--from"}, "--from %s is after --to %s", npuc_stage_name(from),
                     npuc_stage_name(to));
  stage_id strike = npuc_cli_value(&c->line, "--from") ? from : npuc_cli_flag(&c->line, "--force") ? STAGE_BASELINE : STAGE_COUNT;
  if (!out && npuc_build_is(model)) return in_build(c, model, NULL, STAGE_BASELINE, to, strike);
  if (!out) return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = "--output"}, "-o OUT is needed: the folder to build in");
  if (npuc_stage_per_target(to) && !npuc_cli_value(&c->line, "--target") && !npuc_build_is(out)) {
    npuc_status status = npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = "--target"}, "-t TARGET is needed");
    npuc_fix(c->diag, "npuc compile %s -t refnpu-n16 -o %s", model, out);
    return status;
  }
  return in_build(c, out, model, STAGE_BASELINE, to, strike);
}

/* One stage: goes on in OUT, or with -o starts from a model and does what comes before it too. */
static npuc_status run_stage(cli *c) {
  stage_id s;
  if (!npuc_stage_find(c->line.command->name, &s)) return NPUC_INTERNAL;
  const char *out = npuc_cli_value(&c->line, "--output"), *argument = c->line.arguments[0];
  stage_id strike = npuc_cli_flag(&c->line, "--force") ? s : STAGE_COUNT;
  if (out) return in_build(c, out, argument, STAGE_BASELINE, s, strike);
  if (!npuc_build_is(argument)) {
    npuc_status status = npuc_fail(c->diag, NPUC_DIAG_E0903, &(diag_place){.file = argument}, "it is no build; a model needs -o OUT");
    npuc_fix(c->diag, "npuc %s %s -o OUT", c->line.command->name, argument);
    return status;
  }
  return in_build(c, argument, NULL, s, s, strike);
}

static const option_group *const all_groups[] = {&npuc_cli_target_group, &npuc_cli_model_group,    &npuc_cli_state_group,
                                                 &npuc_cli_data_group,   &npuc_cli_quantize_group, &npuc_cli_edit_group,
                                                 &npuc_cli_pass_group,   &npuc_cli_pipeline_group, NULL};
static const option_group *const model_groups[] = {&npuc_cli_model_group, &npuc_cli_state_group,    &npuc_cli_data_group,
                                                   &npuc_cli_pass_group,  &npuc_cli_pipeline_group, NULL};

static const char *const compile_examples[] = {
    "npuc compile examples/demo/model.onnx -t refnpu-n16 -o out --calib examples/demo/calib.npy --eval examples/demo/test.npy --preprocess "
    "scale=1/255,mean=0.5:0.5:0.5,std=0.25:0.25:0.25",
    "npuc compile examples/demo/model.onnx -t refnpu-n8 -t refnpu-n32 -o out2 --calib examples/demo/calib.npy --preprocess "
    "scale=1/255,mean=0.5:0.5:0.5,std=0.25:0.25:0.25",
    NULL};

const command npuc_command_compile = {.name = "compile",
                                      .arguments = "MODEL",
                                      .purpose = "take a model through every stage to a target's artifact",
                                      .min_arguments = 1,
                                      .max_arguments = 1,
                                      .groups = all_groups,
                                      .examples = compile_examples,
                                      .run = run_compile};

#define STAGE_COMMAND(symbol, text, stage_groups, sentence)                   \
  static const char *const symbol##_examples[] = {"npuc " text " out", NULL}; \
  const command npuc_command_##symbol = {.name = text,                        \
                                         .arguments = "OUT",                  \
                                         .purpose = sentence,                 \
                                         .min_arguments = 1,                  \
                                         .max_arguments = 1,                  \
                                         .groups = stage_groups,              \
                                         .examples = symbol##_examples,       \
                                         .run = run_stage}

STAGE_COMMAND(baseline, "baseline", model_groups, "stage 0: record what the source model answers");
STAGE_COMMAND(import, "import", model_groups, "stage 1: read the source into 1-import.onnx");
STAGE_COMMAND(normalize, "normalize", model_groups, "stage 2: fold, clean up, name");
STAGE_COMMAND(static, "static", model_groups, "stage 3: give every dim a number");
STAGE_COMMAND(adapt, "adapt", all_groups, "stage 4: edit for the target, place every node");
STAGE_COMMAND(quantize, "quantize", all_groups, "stage 5: integers, and the QDQ model beside them");
STAGE_COMMAND(build, "build", all_groups, "stage 6: the target's artifact");
STAGE_COMMAND(verify, "verify", all_groups, "stage 7: execute the artifact and compare");
