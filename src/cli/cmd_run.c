/* SPDX-License-Identifier: Apache-2.0 */
/* npuc run MODEL: one execution, inputs from files or seeded random, outputs summarized and written. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/build_options.h"
#include "cli/inputs.h"
#include "cli/npu_view.h"
#include "exec/executor.h"
#include "formats/npy.h"
#include "stages/stages.h"

json_t *npuc_cli_describe_tensor(const char *name, const tensor *t, const quant *q) {
  int64_t n = npuc_tensor_elements(t);
  double lo = INFINITY, hi = -INFINITY, sum = 0;
  int64_t nans = 0;
  for (int64_t i = 0; i < n; i++) {
    double v = npuc_tensor_get(t, i);
    nans += isnan(v) != 0;
    lo = fmin(lo, v);
    hi = fmax(hi, v);
    sum += v;
  }
  json_t *dims = json_array();
  for (int32_t k = 0; k < t->shape.rank; k++) json_array_append_new(dims, json_integer(t->shape.dims[k]));
  json_t *text = json_string(name); /* a hostile file's name may be no UTF-8, and JSON takes no other */
  json_t *o =
      json_pack("{s:o, s:s, s:o}", "name", text ? text : json_string("(not UTF-8)"), "dtype", npuc_dtype_name(t->type), "shape", dims);
  json_object_set_new(o, "min", n ? npuc_json_number(n > nans ? lo : NAN) : json_null());
  json_object_set_new(o, "max", n ? npuc_json_number(n > nans ? hi : NAN) : json_null());
  json_object_set_new(o, "mean", n ? npuc_json_number(sum / (double)n) : json_null());
  if (nans) json_object_set_new(o, "nan", json_integer(nans));
  if (q) {
    json_object_set_new(o, "scale", json_real(npuc_tensor_get(&q->scale, 0)));
    json_object_set_new(o, "zero_point", json_integer(npuc_tensor_get_int(&q->zero_point, 0)));
  }
  return o;
}

/* JSON has no nan and no inf: npuc_json_number spells them, and a tensor without elements has none of the three. */
static const char *number_text(cli *c, const json_t *o, const char *key) {
  const json_t *v = json_object_get(o, key);
  return json_is_string(v) ? json_string_value(v) : json_is_number(v) ? npuc_arena_printf(c->arena, "%.6g", json_number_value(v)) : "-";
}

npuc_status npuc_cli_output(cli *c, json_t *list, const char *name, const tensor *t, const quant *q) {
  json_t *o = npuc_cli_describe_tensor(name, t, q);
  const char *folder = npuc_cli_value(&c->line, "--output");
  const char *file = folder ? npuc_cli_new_port_path(c->arena, folder, name, list) : NULL;
  json_array_append_new(list, o);
  if (folder) {
    NPUC_TRY(npuc_npy_write(c->diag, file, t));
    json_object_set_new(o, "file", json_string(file));
  }
  npuc_cli_say(c, "%s  %s [", name, npuc_dtype_name(t->type));
  for (int32_t k = 0; k < t->shape.rank; k++) npuc_cli_say(c, "%s%" PRId64, k ? "," : "", t->shape.dims[k]);
  npuc_cli_say(c, "]  min %s max %s mean %s", number_text(c, o, "min"), number_text(c, o, "max"), number_text(c, o, "mean"));
  if (json_object_get(o, "nan")) npuc_cli_say(c, " nan %s", number_text(c, o, "nan"));
  npuc_cli_say(c, "%s%s\n", folder ? "  " : "", folder ? json_string_value(json_object_get(o, "file")) : "");
  return NPUC_OK;
}

typedef struct observed {
  cli *c;
  json_t *list;
} observed;

static npuc_status observe(void *user, const value *v, const tensor *t) {
  observed *o = user;
  return npuc_cli_output(o->c, o->list, v->name, t, v->quant);
}

static npuc_status execute(cli *c, const opened_model *m, tensor *inputs) {
  graph *g = m->module->graphs[0];
  observed seen = {.c = c, .list = json_array()};
  bool watching = npuc_cli_flag(&c->line, "--observe");
  exec_options options = {.pool = c->pool, .observe = watching ? observe : NULL, .user = &seen};
  executor *e = NULL;
  tensor *outputs = NPUC_NEW_ARRAY(c->arena, g->n_outputs, tensor);
  json_t *list = json_array();
  npuc_status status = npuc_executor_create(c->diag, g, &options, &e);
  if (status == NPUC_OK) status = npuc_executor_run(e, c->diag, inputs, outputs);
  for (size_t i = 0; i < g->n_outputs && status == NPUC_OK; i++)
    status = npuc_cli_output(c, list, g->outputs[i]->name, &outputs[i], g->outputs[i]->quant);
  npuc_cli_set(c, "outputs", list);
  if (watching) npuc_cli_set(c, "values", json_incref(seen.list));
  json_decref(seen.list);
  npuc_executor_destroy(e);
  return status;
}

static npuc_status run(cli *c) {
  opened_model m;
  const char *folder = npuc_cli_value(&c->line, "--output");
  NPUC_TRY(npuc_model_open(c->diag, c->arena, c->line.arguments[0], &m));
  if (m.kind == MODEL_NPU) {
    NPUC_TRY(npuc_cli_refuse_state(c, m.label));
    if (folder) NPUC_TRY(npuc_dir_create(c->diag, folder));
    return npuc_cli_run_npu(c, m.path);
  }
  tensor *inputs = NULL;
  npuc_status status = NPUC_OK;
  if (npuc_cli_value(&c->line, "--engine")) {
    status = npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.file = m.label, .attribute = "--engine"},
                       "--engine is for .npu programs; this is an ONNX model, which the executor runs");
    npuc_fix(c->diag, "npuc run %s", c->line.arguments[0]);
  }
  if (status == NPUC_OK && folder) status = npuc_dir_create(c->diag, folder);
  if (status == NPUC_OK) status = npuc_cli_load_state(c, m.module);
  if (status == NPUC_OK) status = npuc_cli_check_dims(c, m.module);
  if (status == NPUC_OK) status = npuc_cli_bind_dims(c, m.module);
  if (status == NPUC_OK) status = npuc_cli_graph_inputs(c, &m, &inputs);
  if (status == NPUC_OK) status = execute(c, &m, inputs);
  npuc_cli_release_inputs(inputs, m.module->graphs[0]->n_inputs);
  npuc_model_close(&m);
  return status;
}

static const option options[] = {
    {"--input", 'i', OPTION_LIST, "NAME=FILE.npy", "an input; those not named are seeded random in [-1, 1)"},
    {"--output", 'o', OPTION_VALUE, "DIR", "write each output as DIR/NAME.npy"},
    {"--dim", 0, OPTION_LIST, "SYMBOL=N", "the number of a symbolic dim (default 1 for the first axis)"},
    {"--observe", 0, OPTION_FLAG, NULL, "describe (and with -o write) every intermediate value too"},
    {"--engine", 0, OPTION_VALUE, "graph|simulator", "for .npu files: plain kernels, or the NPU's simulator (equal bytes)"},
};
static const option_group group = {"Run", options, sizeof options / sizeof *options};
static const option_group *const groups[] = {&group, &npuc_cli_state_group, NULL};
static const char *const examples[] = {"npuc run examples/demo/model.onnx --dim N=4", "npuc run build/demo --engine simulator", NULL};

const command npuc_command_run = {.name = "run",
                                  .arguments = "MODEL",
                                  .purpose = "run a model on inputs from files, or seeded random ones",
                                  .min_arguments = 1,
                                  .max_arguments = 1,
                                  .groups = groups,
                                  .examples = examples,
                                  .run = run};
