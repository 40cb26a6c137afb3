/* SPDX-License-Identifier: Apache-2.0 */
/* npuc inspect MODEL: what is in it. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/build_options.h"
#include "cli/graph_page.h"
#include "cli/inputs.h"
#include "cli/npu_view.h"
#include "import/state_dict.h"
#include "ir/op.h"
#include "ir/text.h"
#include "report/graph_json.h"
#include "stages/describe.h"
#include "stages/open_model.h"

static const char *shape_text(arena *a, const module *m, const shape *s) {
  if (s->rank < 0) return "[?]";
  const char *text = "[";
  for (int32_t i = 0; i < s->rank; i++) {
    const char *symbol = dim_is_symbol(s->dims[i]) ? npuc_module_symbol_name(m, s->dims[i]) : "?";
    text = dim_is_number(s->dims[i]) ? npuc_arena_printf(a, "%s%s%" PRId64, text, i ? "," : "", s->dims[i])
                                     : npuc_arena_printf(a, "%s%s%s", text, i ? "," : "", symbol ? symbol : "?");
  }
  return npuc_arena_printf(a, "%s]", text);
}

static void say_ports(cli *c, const module *m, const char *title, value *const *ports, size_t n) {
  for (size_t i = 0; i < n; i++) {
    npuc_cli_say(c, "  %-8s%s  %s%s", title, ports[i]->name, npuc_dtype_name(ports[i]->type), shape_text(c->arena, m, &ports[i]->shape));
    const quant *q = ports[i]->quant;
    if (q) npuc_cli_say(c, "  scale %.8g zero point %" PRId64, npuc_tensor_get(&q->scale, 0), npuc_tensor_get_int(&q->zero_point, 0));
    npuc_cli_say(c, "\n");
  }
}

static json_t *nodes_json(cli *c, const module *m, const graph *g, bool say) {
  json_t *list = json_array();
  cli_rows rows = {.c = c, .columns = 4};
  NPUC_EACH_NODE(g, n) {
    const value *y = n->n_outputs ? n->outputs[0] : NULL;
    const char *text = y ? shape_text(c->arena, m, &y->shape) : "";
    json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:f}", "name", n->name, "op", n->op->type, "domain", n->op->domain, "shape", text, "macs",
                          npuc_node_cost(n).macs);
    if (n->place) json_object_set_new(o, "place", json_string(n->place));
    if (n->place_reason) json_object_set_new(o, "reason", json_string(n->place_reason));
    if (n->location && n->location->name) json_object_set_new(o, "source", json_string(n->location->name));
    json_array_append_new(list, o);
    if (say)
      npuc_cli_row(&rows, n->op->type, n->name, text,
                   npuc_arena_printf(c->arena, "%s%s%s", n->place ? n->place : "", n->place_reason ? ": " : "",
                                     n->place_reason ? n->place_reason : ""));
  }
  if (say) npuc_cli_rows_print(&rows);
  return list;
}

static void inspect_graph(cli *c, const module *m, size_t index, json_t *parts) {
  const graph *g = m->graphs[index];
  json_t *part = npuc_describe_part(c->arena, m, index), *count;
  const char *formula = json_string_value(json_object_get(part, "macs_formula")), *key;
  npuc_cli_say(c, "part %s: %lld nodes, %lld parameters, %s MACs\n", json_string_value(json_object_get(part, "name")),
               (long long)json_integer_value(json_object_get(part, "nodes")),
               (long long)json_integer_value(json_object_get(part, "parameters")),
               formula ? formula : npuc_arena_printf(c->arena, "%.4g", json_number_value(json_object_get(part, "macs"))));
  say_ports(c, m, "input", g->inputs, g->n_inputs);
  say_ports(c, m, "output", g->outputs, g->n_outputs);
  if (npuc_cli_flag(&c->line, "--ops"))
    json_object_foreach(json_object_get(part, "ops"), key, count)
        npuc_cli_say(c, "  %6lld %s\n", (long long)json_integer_value(count), key);
  if (npuc_cli_flag(&c->line, "--nodes")) json_object_set_new(part, "nodes_list", nodes_json(c, m, g, true));
  json_array_append_new(parts, part);
}

/* Smallest, largest and mean of the finite elements, and the first eight. */
static void add_content(json_t *o, const tensor *t) {
  int64_t n = npuc_tensor_elements(t), finite = 0;
  double lo = 0.0, hi = 0.0, sum = 0.0;
  json_t *head = json_array();
  for (int64_t i = 0; i < n; i++) {
    double v = npuc_tensor_get(t, i);
    if (i < 8) json_array_append_new(head, isfinite(v) ? json_real(v) : json_null());
    if (!isfinite(v)) continue;
    lo = finite == 0 || v < lo ? v : lo;
    hi = finite == 0 || v > hi ? v : hi;
    sum += v;
    finite++;
  }
  json_object_set_new(o, "head", head);
  if (finite) json_object_update_new(o, json_pack("{s:f, s:f, s:f}", "min", lo, "max", hi, "mean", sum / (double)finite));
}

/* Tensors without a graph: files of torch.save, of safetensors, and the shards of either. */
static npuc_status inspect_tensors(cli *c, const char *path) {
  state_dict *dict;
  NPUC_TRY(npuc_state_dict_open(c->diag, path, &dict));
  json_t *list = json_array();
  int64_t parameters = 0;
  for (size_t i = 0; i < npuc_state_dict_count(dict); i++) {
    const torch_tensor *t = npuc_state_dict_at(dict, i);
    json_t *o = json_pack("{s:s, s:s}", "name", t->name, "dtype", npuc_dtype_name(t->value.type));
    json_object_set_new(o, "shape", npuc_describe_shape(NULL, &t->value.shape));
    if (npuc_cli_flag(&c->line, "--values")) add_content(o, &t->value);
    json_array_append_new(list, o);
    parameters += npuc_tensor_elements(&t->value);
    npuc_cli_say(c, "  %-10s %-24s %s\n", npuc_dtype_name(t->value.type), shape_text(c->arena, NULL, &t->value.shape), t->name);
  }
  npuc_cli_say(c, "%zu tensors, %" PRId64 " numbers\n", npuc_state_dict_count(dict), parameters);
  npuc_cli_set(c, "tensors", list);
  npuc_cli_set(c, "parameters", json_integer((json_int_t)parameters));
  npuc_state_dict_close(dict);
  return NPUC_OK;
}

static npuc_status write_graph(cli *c, const module *m, const char *file) {
  json_t *parts = json_array();
  for (size_t i = 0; i < m->n_graphs; i++) json_array_append_new(parts, npuc_graph_json(m->graphs[i]));
  return npuc_cli_graph_page(c, parts, file);
}

/* --dim, and only what it names. */
static npuc_status bind_dims(cli *c, opened_model *m) {
  const symbol_binding *dims;
  size_t n;
  NPUC_TRY(npuc_cli_dims(c, "--dim", &dims, &n));
  if (n == 0) return NPUC_OK;
  NPUC_TRY(npuc_cli_check_dims(c, m->module));
  return npuc_model_bind(c->diag, m, dims, n);
}

static npuc_status run(cli *c) {
  opened_model m;
  NPUC_TRY(npuc_model_find(c->diag, c->arena, c->line.arguments[0], &m));
  const char *file = npuc_cli_value(&c->line, "--graph");
  if (m.kind == MODEL_TENSORS && file)
    return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.file = m.path, .attribute = "--graph"},
                     "the file holds tensors and no graph");
  if (m.kind == MODEL_TENSORS) return inspect_tensors(c, m.path);
  NPUC_TRY(npuc_model_open(c->diag, c->arena, c->line.arguments[0], &m));
  if (m.kind == MODEL_NPU) return npuc_cli_inspect_npu(c, m.path);
  npuc_status status = bind_dims(c, &m);
  if (status != NPUC_OK) {
    npuc_model_close(&m);
    return status;
  }
  json_t *parts = json_array();
  for (size_t i = 0; i < m.module->n_graphs; i++) inspect_graph(c, m.module, i, parts);
  npuc_cli_set(c, "parts", parts);
  if (npuc_cli_flag(&c->line, "--text")) {
    const char *text = npuc_module_print(c->arena, m.module, &(text_options){.max_elements = 8, .types = true});
    npuc_cli_set(c, "text", json_string(text));
    npuc_cli_say(c, "%s", text);
  }
  if (file) status = write_graph(c, m.module, file);
  npuc_model_close(&m);
  return status;
}

static const option options[] = {
    {"--dim", 0, OPTION_LIST, "SYMBOL=N", "the number of a symbolic dim"},
    {"--ops", 0, OPTION_FLAG, NULL, "count operators"},
    {"--nodes", 0, OPTION_FLAG, NULL, "list nodes, with place and reason where they have one"},
    {"--values", 0, OPTION_FLAG, NULL, "tensors without a graph: smallest, largest, mean and first elements, in the JSON document"},
    {"--text", 0, OPTION_FLAG, NULL, "print the model in ONNX's text form"},
    {"--graph", 0, OPTION_VALUE, "FILE.html", "write the graph as a page: searched, zoomed, clicked"},
};
static const option_group group = {"Inspect", options, sizeof options / sizeof *options};
static const option_group *const groups[] = {&group, NULL};
static const char *const examples[] = {"npuc inspect examples/demo/model.onnx --ops", "npuc inspect build/demo@adapt --nodes",
                                       "npuc inspect examples/demo/model.onnx --graph build/demo-graph.html", NULL};

const command npuc_command_inspect = {.name = "inspect",
                                      .arguments = "MODEL",
                                      .purpose = "show what is in a model",
                                      .min_arguments = 1,
                                      .max_arguments = 1,
                                      .groups = groups,
                                      .examples = examples,
                                      .run = run};
