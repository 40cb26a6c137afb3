/* SPDX-License-Identifier: Apache-2.0 */
/* .npu files on the command line: what is in one, and one run of it. */
#include "cli/npu_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/graph_page.h"
#include "cli/inputs.h"
#include "formats/npy.h"
#include "report/graph_json.h"

static json_t *port_json(const npuc_port *p) {
  json_t *dims = json_array();
  for (int32_t i = 0; i < p->rank; i++) json_array_append_new(dims, json_integer(p->dims[i]));
  json_t *o = json_pack("{s:s, s:s, s:s, s:o}", "name", p->name, "source", p->source_name, "dtype", npuc_dtype_name((dtype)p->dtype),
                        "shape", dims);
  if (!p->quantized) return o;
  json_object_set_new(o, "scale", json_real((double)p->scale));
  json_object_set_new(o, "zero_point", json_integer(p->zero_point));
  return o;
}

static void say_port(cli *c, const char *title, const npuc_port *p) {
  npuc_cli_say(c, "  %-7s %s  %s [", title, p->name, npuc_dtype_name((dtype)p->dtype));
  for (int32_t i = 0; i < p->rank; i++) npuc_cli_say(c, "%s%" PRId64, i ? "," : "", p->dims[i]);
  npuc_cli_say(c, "]");
  if (p->quantized) npuc_cli_say(c, "  scale %.8g zero point %d", (double)p->scale, p->zero_point);
  npuc_cli_say(c, "\n");
}

static json_t *nodes_json(cli *c, const qgraph *g) {
  json_t *list = json_array();
  for (size_t i = 0; i < g->n_nodes; i++) {
    const qnode *n = &g->nodes[i];
    json_array_append_new(
        list, json_pack("{s:s, s:s, s:s, s:s, s:I}", "name", n->name, "op", npuc_qop_name(n->op), "place", n->on_npu ? "npu" : "host",
                        "reason", n->place_reason ? n->place_reason : "", "macs", (json_int_t)npuc_qnode_macs(g, n)));
    if (npuc_cli_flag(&c->line, "--nodes"))
      npuc_cli_say(c, "  %-18s %-40s %s: %s\n", npuc_qop_name(n->op), n->name, n->on_npu ? "npu" : "host",
                   n->place_reason ? n->place_reason : "");
  }
  return list;
}

static json_t *streams_json(cli *c, const npuc_program *p) {
  json_t *list = json_array();
  for (size_t i = 0; i < p->n_configurations; i++) {
    const npu_program *plan = p->programs[i];
    for (size_t k = 0; k < plan->n_streams; k++) {
      const npu_stream *s = &plan->streams[k];
      size_t instructions = 0;
      for (int q = 0; q < NPU_QUEUES; q++) instructions += s->queues[q].count;
      json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:I, s:I, s:I}", "configuration", plan->arch.name, "name", s->name,
                                            "instructions", (json_int_t)instructions, "predicted_cycles", (json_int_t)s->predicted_cycles,
                                            "macs", (json_int_t)s->macs, "arena_bytes", (json_int_t)s->arena_bytes));
      npuc_cli_say(c, "  stream  %s for %s: %zu instructions, %" PRIu64 " cycles predicted, %" PRIu64 " MACs\n", s->name, plan->arch.name,
                   instructions, s->predicted_cycles, s->macs);
    }
  }
  return list;
}

npuc_status npuc_cli_inspect_npu(cli *c, const char *path) {
  npuc_program *p = NULL;
  NPUC_TRY(npuc_program_open(c->diag, path, &p));
  json_t *inputs = json_array(), *outputs = json_array();
  size_t n = npuc_program_inputs(p), m = npuc_program_outputs(p);
  int64_t parameters = 0;
  uint64_t macs = 0;
  for (size_t i = 0; i < p->graph->n_tensors; i++)
    if (p->graph->tensors[i].role == QROLE_CONSTANT) parameters += npuc_qtensor_elements(&p->graph->tensors[i]);
  for (size_t i = 0; i < p->graph->n_nodes; i++) macs += npuc_qnode_macs(p->graph, &p->graph->nodes[i]);
  npuc_cli_say(c, "%s: program, %zu nodes, %" PRId64 " parameters, %" PRIu64 " MACs, %zu bytes\n", path, p->graph->n_nodes, parameters,
               macs, npuc_file_size(p->file.file));
  for (size_t i = 0; i < n; i++)
    json_array_append_new(inputs, port_json(npuc_program_input(p, i))), say_port(c, "input", npuc_program_input(p, i));
  for (size_t i = 0; i < m; i++)
    json_array_append_new(outputs, port_json(npuc_program_output(p, i))), say_port(c, "output", npuc_program_output(p, i));
  json_t *ops = json_object();
  for (size_t i = 0; i < p->graph->n_nodes; i++) {
    const char *name = npuc_qop_name(p->graph->nodes[i].op);
    json_object_set_new(ops, name, json_integer(json_integer_value(json_object_get(ops, name)) + 1));
  }
  json_t *part = json_pack("{s:s, s:o, s:o, s:o, s:I, s:I}", "name", "main", "inputs", inputs, "outputs", outputs, "ops", ops, "parameters",
                           (json_int_t)parameters, "macs", (json_int_t)macs);
  json_object_set_new(part, "streams", streams_json(c, p));
  json_object_set_new(part, "nodes_list", nodes_json(c, p->graph));
  npuc_cli_set(c, "parts", json_pack("[o]", part));
  const char *file = npuc_cli_value(&c->line, "--graph");
  npuc_status status = file ? npuc_cli_graph_page(c, json_pack("[o]", npuc_qgraph_json(p->graph)), file) : NPUC_OK;
  npuc_program_destroy(p);
  return status;
}

/* -- inputs and outputs of one run -- */

/* Leading axes of 1 are a batch that may be written or not; any other difference is a transposition or another picture's size. */
static bool same_dims(const shape *a, const shape *b) {
  int32_t i = 0, k = 0;
  while (i < a->rank && a->dims[i] == 1) i++;
  while (k < b->rank && b->dims[k] == 1) k++;
  if (a->rank - i != b->rank - k) return false;
  for (; i < a->rank; i++, k++)
    if (a->dims[i] != b->dims[k]) return false;
  return true;
}

const char *npuc_cli_dims_text(arena *a, const shape *s) {
  const char *text = "";
  for (int32_t i = 0; i < s->rank; i++)
    text = dim_is_number(s->dims[i]) ? npuc_arena_printf(a, "%s%s%" PRId64, text, i ? "x" : "", s->dims[i])
                                     : npuc_arena_printf(a, "%s%s?", text, i ? "x" : "");
  return text;
}

static npuc_status port_input(cli *c, const model_port *p, const char *file, uint64_t stream, tensor *out) {
  if (!file) {
    NPUC_TRY(npuc_tensor_create(c->diag, p->type, &p->shape, out));
    npuc_cli_random(c->seed, stream, out);
    return NPUC_OK;
  }
  tensor t = {0};
  NPUC_TRY(npuc_npy_read(c->diag, file, &t));
  bool fits = same_dims(&p->shape, &t.shape) && (t.type == p->type || (p->quant && t.type == DTYPE_F32));
  npuc_status status = fits ? npuc_tensor_create(c->diag, p->type, &p->shape, out)
                            : npuc_fail(c->diag, NPUC_DIAG_E0921, &(diag_place){.file = file, .node = p->name},
                                        "the input wants %s of %s%s; the file holds %s of %s", npuc_cli_dims_text(c->arena, &p->shape),
                                        npuc_dtype_name(p->type), p->quant ? " (or float32 to be quantized)" : "",
                                        npuc_cli_dims_text(c->arena, &t.shape), npuc_dtype_name(t.type));
  if (status == NPUC_OK && t.type == p->type)
    memcpy(out->data, t.data, out->bytes);
  else if (status == NPUC_OK)
    npuc_quantize_tensor(p->quant, &t, out);
  npuc_tensor_release(&t);
  return status;
}

static npuc_status all_inputs(cli *c, npu_run *r, const char *const *sources) {
  const char **names = (const char **)npuc_arena_array(c->arena, r->n_inputs + 1, sizeof(char *)),
             **files = (const char **)npuc_arena_array(c->arena, r->n_inputs + 1, sizeof(char *));
  for (size_t i = 0; i < r->n_inputs; i++) names[i] = r->engine->inputs[i].name;
  NPUC_TRY(npuc_cli_input_files(c, names, sources, r->n_inputs, files));
  for (size_t i = 0; i < r->n_inputs; i++) {
    NPUC_TRY(port_input(c, &r->engine->inputs[i], files[i], i, &r->inputs[i]));
    r->input_data[i] = r->inputs[i].data;
  }
  for (size_t i = 0; i < r->n_outputs; i++) {
    NPUC_TRY(npuc_tensor_create(c->diag, r->engine->outputs[i].type, &r->engine->outputs[i].shape, &r->outputs[i]));
    r->output_data[i] = r->outputs[i].data;
  }
  return NPUC_OK;
}

npuc_status npuc_cli_npu_prepare(cli *c, const char *path, const char *kind, npu_run *r) {
  *r = (npu_run){0};
  NPUC_TRY(npuc_npu_engine_open(c->diag, c->arena, path, kind, &r->engine));
  const npuc_program *p = r->engine->program;
  r->n_inputs = npuc_program_inputs(p);
  r->n_outputs = npuc_program_outputs(p);
  r->inputs = NPUC_NEW_ARRAY(c->arena, r->n_inputs, tensor);
  r->outputs = NPUC_NEW_ARRAY(c->arena, r->n_outputs, tensor);
  r->input_data = (const void **)npuc_arena_array(c->arena, r->n_inputs + 1, sizeof(void *));
  r->output_data = (void **)npuc_arena_array(c->arena, r->n_outputs + 1, sizeof(void *));
  const char **sources = (const char **)npuc_arena_array(c->arena, r->n_inputs + 1, sizeof(char *));
  for (size_t i = 0; i < r->n_inputs; i++) sources[i] = npuc_program_input(p, i)->source_name;
  return all_inputs(c, r, sources);
}

void npuc_cli_npu_finish(npu_run *r) {
  npuc_cli_release_inputs(r->inputs, r->n_inputs);
  npuc_cli_release_inputs(r->outputs, r->n_outputs);
  npuc_npu_engine_close(r->engine);
}

typedef struct seen {
  cli *c;
  const qgraph *graph;
  json_t *list;
  npuc_status status;
} seen;

static void observe(void *user, int32_t index, const void *data) {
  seen *s = user;
  const qtensor *q = &s->graph->tensors[index];
  tensor t = {.type = q->type, .shape = {.rank = q->rank}, .data = (void *)(uintptr_t)data, .bytes = q->bytes};
  memcpy(t.shape.dims, q->dims, sizeof t.shape.dims);
  json_array_append_new(s->list, npuc_cli_describe_tensor(q->name, &t, NULL));
  const char *folder = npuc_cli_value(&s->c->line, "--output");
  if (folder && s->status == NPUC_OK) s->status = npuc_npy_write(s->c->diag, npuc_cli_port_path(s->c->arena, folder, q->name), &t);
}

static npuc_status run_once(cli *c, npu_run *r) {
  npu_timing timing = {0};
  seen s = {.c = c, .graph = r->engine->program->graph, .list = json_array()};
  bool watching = npuc_cli_flag(&c->line, "--observe");
  npuc_status status = npuc_npu_engine_time(r->engine, c->diag, r->input_data, r->output_data, watching ? observe : NULL, &s, &timing);
  if (status == NPUC_OK) status = s.status;
  json_t *list = json_array();
  for (size_t i = 0; i < r->n_outputs && status == NPUC_OK; i++)
    status = npuc_cli_output(c, list, r->engine->outputs[i].name, &r->outputs[i], r->engine->outputs[i].quant);
  npuc_cli_set(c, "outputs", list);
  if (watching) npuc_cli_set(c, "values", json_incref(s.list));
  json_decref(s.list);
  if (r->engine->simulates) {
    npuc_cli_set(c, "cycles", json_integer((json_int_t)timing.cycles));
    npuc_cli_say(c, "%" PRIu64 " cycles\n", timing.cycles);
  }
  return status;
}

npuc_status npuc_cli_run_npu(cli *c, const char *path) {
  npu_run r;
  const char *kind = npuc_cli_value(&c->line, "--engine");
  if (kind && strcmp(kind, "graph") != 0 && strcmp(kind, "simulator") != 0)
    return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = "--engine"}, "engines are graph and simulator, not '%s'", kind);
  npuc_status status = npuc_cli_npu_prepare(c, path, kind ? kind : "graph", &r);
  if (status == NPUC_OK) status = run_once(c, &r);
  npuc_cli_npu_finish(&r);
  return status;
}
