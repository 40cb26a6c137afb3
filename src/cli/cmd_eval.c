/* SPDX-License-Identifier: Apache-2.0 */
/* npuc eval MODEL --data DATA: accuracy on labelled samples. */
#include <string.h>

#include "cli/build_options.h"
#include "cli/inputs.h"
#include "stages/engine.h"

static npuc_status bind(void *user, module *m) {
  NPUC_TRY(npuc_cli_load_state(user, m));
  NPUC_TRY(npuc_cli_check_dims(user, m));
  return npuc_cli_bind_dims(user, m);
}

static npuc_status open_data(cli *c, const engine *e, dataset **out_data) {
  const char *text = npuc_cli_value(&c->line, "--data"), *spec = npuc_cli_value(&c->line, "--preprocess");
  if (!text) return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = "--data"}, "--data DATA is needed");
  preprocess *p = NULL;
  if (!spec) spec = e->model.preprocess;
  if (spec) NPUC_TRY(npuc_preprocess_parse(c->diag, c->arena, spec, &p));
  size_t n;
  const sample_port *ports = npuc_runner_ports(e->runner, &n);
  return npuc_dataset_open(c->diag, text, p, ports, n, c->seed, out_data);
}

static npuc_status count(cli *c, engine *e) {
  dataset *data = NULL;
  long long limit = 0;
  accuracy found;
  NPUC_TRY(npuc_cli_int(c->diag, &c->line, "--limit", 1, INT64_MAX, 0, &limit));
  NPUC_TRY(open_data(c, e, &data));
  double started = npuc_clock_seconds();
  npuc_status status = npuc_accuracy(c->diag, &c->progress, "eval", e->runner, data, (size_t)limit, NULL, &found);
  npuc_dataset_destroy(data);
  NPUC_TRY(status);
  double seconds = npuc_clock_seconds() - started;
  npuc_cli_set(c, "samples", json_integer((json_int_t)found.samples));
  npuc_cli_set(c, "right", json_integer((json_int_t)found.top1));
  npuc_cli_set(c, "top1", json_real(npuc_percent(found.top1, found.samples)));
  npuc_cli_set(c, "top5", json_real(npuc_percent(found.top5, found.samples)));
  npuc_cli_say(c, "top-1 %.2f %% (%zu of %zu), top-5 %.2f %%, %.0f samples/s\n", npuc_percent(found.top1, found.samples), found.top1,
               found.samples, npuc_percent(found.top5, found.samples), seconds > 0 ? (double)found.samples / seconds : 0.0);
  return NPUC_OK;
}

static npuc_status run(cli *c) {
  const char *task = npuc_cli_value(&c->line, "--task");
  if (task && strcmp(task, "classify") != 0)
    return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = "--task"}, "--task is classify, not '%s'", task);
  engine e = {0};
  npuc_status status =
      npuc_engine_open(c->diag, c->arena, c->pool, c->line.arguments[0], npuc_cli_value(&c->line, "--engine"), bind, c, &e);
  if (status == NPUC_OK && e.model.kind == MODEL_NPU) status = npuc_cli_refuse_state(c, e.model.label);
  if (status == NPUC_OK) status = count(c, &e);
  npuc_engine_close(&e);
  return status;
}

static const option options[] = {
    {"--data", 0, OPTION_VALUE, "DATA", "labelled samples"},
    {"--preprocess", 0, OPTION_VALUE, "SPEC", "as in compile; a build's own is used unasked"},
    {"--task", 0, OPTION_VALUE, "classify", "what is measured"},
    {"--limit", 0, OPTION_VALUE, "N", "at most N samples"},
    {"--dim", 0, OPTION_LIST, "SYMBOL=N", "the number of a symbolic dim"},
    {"--engine", 0, OPTION_VALUE, "graph|simulator", "for .npu files"},
};
static const option_group group = {"Eval", options, sizeof options / sizeof *options};
static const option_group *const groups[] = {&group, &npuc_cli_state_group, NULL};
static const char *const examples[] = {"npuc eval build/demo@quantize --data examples/demo/test.npy",
                                       "npuc eval build/demo --data examples/demo/test.npy --engine simulator --limit 100", NULL};

const command npuc_command_eval = {.name = "eval",
                                   .arguments = "MODEL",
                                   .purpose = "measure accuracy on labelled data",
                                   .min_arguments = 1,
                                   .max_arguments = 1,
                                   .groups = groups,
                                   .examples = examples,
                                   .run = run};
