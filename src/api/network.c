/* SPDX-License-Identifier: Apache-2.0 */
/* A network: an opened model, its ports as public records, and an executor that is made at the first run. */
#include <stdlib.h>
#include <string.h>

#include "api/handles.h"
#include "exec/executor.h"
#include "import/onnx/onnx.h"
#include "import/state_dict.h"
#include "passes/names.h"
#include "stages/describe.h"
#include "stages/open_model.h"
#include "stages/runner.h"

struct npuc_network {
  npuc_context *context;
  arena *arena;
  opened_model model;
  graph *graph;
  npuc_port *inputs, *outputs;
  array_ports names; /* of the inputs */
  executor *executor;
  tensor *quantized; /* [inputs], owned: floats that were given to integer inputs */
  tensor *in, *out;
  const npuc_array **places;
  char *description;
};

/* -- ports -- */

static npuc_port port_of(npuc_network *n, const value *v) {
  npuc_port p = {.name = v->name, .source_name = npuc_source_name(n->graph, n->arena, v->name), .dtype = (int32_t)v->type};
  int64_t elements;
  if (strcmp(p.source_name, v->name) == 0) p.source_name = "";
  p.rank = v->shape.rank;
  for (int32_t k = 0; k < p.rank; k++) p.dims[k] = dim_is_number(v->shape.dims[k]) ? v->shape.dims[k] : -1;
  if (!npuc_shape_is_static(&v->shape) || !npuc_shape_elements(&v->shape, &elements) || !npuc_dtype_bytes(v->type, elements, &p.bytes))
    p.bytes = 0;
  p.quantized = v->quant && v->quant->axis < 0;
  if (p.quantized) {
    p.scale = (float)npuc_tensor_get(&v->quant->scale, 0);
    p.zero_point = (int32_t)npuc_tensor_get_int(&v->quant->zero_point, 0);
  }
  return p;
}

static void fill_ports(npuc_network *n) {
  for (size_t i = 0; i < n->graph->n_inputs; i++) n->inputs[i] = port_of(n, n->graph->inputs[i]);
  for (size_t i = 0; i < n->graph->n_outputs; i++) n->outputs[i] = port_of(n, n->graph->outputs[i]);
}

static void make_ports(npuc_network *n) {
  const graph *g = n->graph;
  n->inputs = NPUC_NEW_ARRAY(n->arena, g->n_inputs + 1, npuc_port);
  n->outputs = NPUC_NEW_ARRAY(n->arena, g->n_outputs + 1, npuc_port);
  n->quantized = NPUC_NEW_ARRAY(n->arena, g->n_inputs + 1, tensor);
  n->in = NPUC_NEW_ARRAY(n->arena, g->n_inputs + 1, tensor);
  n->out = NPUC_NEW_ARRAY(n->arena, g->n_outputs + 1, tensor);
  n->places = (const npuc_array **)npuc_arena_array(n->arena, g->n_inputs + 1, sizeof(npuc_array *));
  fill_ports(n);
  const char **names = (const char **)npuc_arena_array(n->arena, g->n_inputs + 1, sizeof(char *));
  const char **sources = (const char **)npuc_arena_array(n->arena, g->n_inputs + 1, sizeof(char *));
  for (size_t i = 0; i < g->n_inputs; i++) names[i] = n->inputs[i].name, sources[i] = n->inputs[i].source_name;
  n->names = (array_ports){.n = g->n_inputs, .names = names, .source_names = sources};
}

/* -- opening -- */

static npuc_status open_model(npuc_network *n, const char *text) {
  diag *d = n->context->diag;
  NPUC_TRY(npuc_model_open(d, n->arena, text, &n->model));
  if (n->model.kind != MODEL_NPU) return NPUC_OK;
  npuc_status status = npuc_fail(d, NPUC_DIAG_E0906, &(diag_place){.file = text}, "it is a program for an NPU, not a model");
  npuc_fix(d, "npuc_program_load(\"%s\", ...) of npuc/runtime.h", n->model.path);
  return status;
}

npuc_status npuc_network_open(npuc_context *context, const char *model, npuc_network **out_network) {
  *out_network = NULL;
  npuc_network *n = npuc_xcalloc(1, sizeof *n);
  n->context = context;
  n->arena = npuc_arena_create();
  npuc_status status = open_model(n, npuc_arena_str(n->arena, model));
  if (status != NPUC_OK) {
    npuc_network_destroy(n);
    return status;
  }
  n->graph = n->model.module->graphs[0];
  make_ports(n);
  *out_network = n;
  return NPUC_OK;
}

void npuc_network_destroy(npuc_network *n) {
  if (!n) return;
  npuc_executor_destroy(n->executor);
  for (size_t i = 0; n->graph && i < n->graph->n_inputs; i++) npuc_tensor_release(&n->quantized[i]);
  free(n->description);
  npuc_model_close(&n->model);
  npuc_arena_destroy(n->arena);
  free(n);
}

npuc_status npuc_network_bind(npuc_network *n, const char *symbol, int64_t size) {
  diag *d = n->context->diag;
  diag_place place = {.file = n->model.label, .attribute = symbol};
  if (n->executor) return npuc_fail(d, NPUC_DIAG_E0104, &place, "dims are bound before the first run");
  if (size < 1 || size > INT32_MAX) return npuc_fail(d, NPUC_DIAG_E0104, &place, "a dim is a number from 1 on, not %lld", (long long)size);
  NPUC_TRY(npuc_graph_check_symbol(d, n->graph, symbol));
  NPUC_TRY(npuc_model_bind(d, &n->model, &(symbol_binding){symbol, size}, 1));
  fill_ports(n);
  return NPUC_OK;
}

npuc_status npuc_network_load(npuc_network *n, const char *dict, const char *prefix, bool some) {
  diag *d = n->context->diag;
  if (n->executor) return npuc_fail(d, NPUC_DIAG_E0104, &(diag_place){.file = dict}, "weights are loaded before the first run");
  return npuc_state_dict_load(d, n->model.module, &(state_request){.path = dict, .prefix = prefix, .match = some ? "some" : "all"}, NULL);
}

size_t npuc_network_inputs(const npuc_network *n) { return n->graph->n_inputs; }
size_t npuc_network_outputs(const npuc_network *n) { return n->graph->n_outputs; }
const npuc_port *npuc_network_input(const npuc_network *n, size_t index) { return index < n->graph->n_inputs ? &n->inputs[index] : NULL; }
const npuc_port *npuc_network_output(const npuc_network *n, size_t index) {
  return index < n->graph->n_outputs ? &n->outputs[index] : NULL;
}

const char *npuc_network_describe(npuc_network *n) {
  json_t *parts = json_array();
  arena *scratch = npuc_arena_create();
  for (size_t i = 0; i < n->model.module->n_graphs; i++) json_array_append_new(parts, npuc_describe_part(scratch, n->model.module, i));
  json_t *document = json_pack("{s:o}", "parts", parts);
  free(n->description);
  n->description = json_dumps(document, JSON_ENSURE_ASCII);
  json_decref(document);
  npuc_arena_destroy(scratch);
  return n->description ? n->description : "{}";
}

npuc_status npuc_network_save(npuc_network *n, const char *path) { return npuc_onnx_write(n->context->diag, n->model.module, path, NULL); }

/* -- running -- */

/* The executor judges type and shape; here floats become the integers that an integer input stands for. */
static npuc_status bind_input(npuc_network *n, size_t i) {
  const value *v = n->graph->inputs[i];
  tensor *t = &n->in[i], *q = &n->quantized[i];
  NPUC_TRY(npuc_array_tensor(n->context->diag, v->name, n->places[i], t));
  if (!v->quant || t->type != DTYPE_F32 || v->type == DTYPE_F32) return NPUC_OK;
  if (!npuc_shape_equal(&q->shape, &t->shape) || q->type != v->type) {
    npuc_tensor_release(q);
    NPUC_TRY(npuc_tensor_create(n->context->diag, v->type, &t->shape, q));
  }
  npuc_quantize_tensor(v->quant, t, q);
  *t = *q;
  t->owner = NULL;
  return NPUC_OK;
}

static npuc_array array_of(const value *v, const tensor *t) {
  npuc_array a = {.name = v->name, .dtype = (int32_t)t->type, .rank = t->shape.rank, .data = t->data, .bytes = t->bytes};
  for (int32_t k = 0; k < a.rank; k++) a.dims[k] = t->shape.dims[k];
  return a;
}

npuc_status npuc_network_run(npuc_network *n, const npuc_array *inputs, size_t n_inputs, npuc_array *out_outputs) {
  diag *d = n->context->diag;
  npuc_diag_set_file(d, n->model.label);
  NPUC_TRY(npuc_array_places(d, &n->names, inputs, n_inputs, n->places));
  for (size_t i = 0; i < n->graph->n_inputs; i++) NPUC_TRY(bind_input(n, i));
  if (!n->executor) NPUC_TRY(npuc_executor_create(d, n->graph, &(exec_options){.pool = n->context->pool}, &n->executor));
  NPUC_TRY(npuc_executor_run(n->executor, d, n->in, n->out));
  for (size_t i = 0; i < n->graph->n_outputs; i++) out_outputs[i] = array_of(n->graph->outputs[i], &n->out[i]);
  return NPUC_OK;
}
