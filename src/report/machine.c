/* SPDX-License-Identifier: Apache-2.0 */
#include "report/machine.h"

#include "npu/lower.h"
#include "report/markup.h"

static const char *const unit_names[NPU_QUEUES] = {
    [QUEUE_DMA0] = "dma0", [QUEUE_DMA1] = "dma1", [QUEUE_ARRAY] = "array", [QUEUE_VECTOR] = "vector"};

json_t *npuc_layer_json(const qgraph *g, const npu_layer_cost *l) {
  const qnode *n = &g->nodes[l->node];
  json_t *o = json_object();
  json_object_set_new(o, "name", npuc_json_text(n->name));
  json_object_set_new(o, "op", json_string(npuc_qop_name(n->op)));
  json_object_set_new(o, "source", npuc_json_text(n->source ? n->source : ""));
  const struct {
    const char *key;
    uint64_t v;
  } counts[] = {{"first", l->first},
                {"last", l->last},
                {"cycles", l->cycles},
                {"array_busy", l->array_busy},
                {"vector_busy", l->vector_busy},
                {"dma_busy", l->dma_busy},
                {"array_stall", l->array_stall},
                {"macs", l->macs}};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) json_object_set_new(o, counts[i].key, json_integer((json_int_t)counts[i].v));
  json_object_set_new(o, "utilization", json_real(l->utilization));
  return o;
}

static json_t *units_json(const uint64_t busy[NPU_QUEUES], const uint64_t stalled[NPU_QUEUES]) {
  json_t *units = json_object();
  for (int q = 0; q < NPU_QUEUES; q++)
    json_object_set_new(units, unit_names[q], json_pack("{s:I, s:I}", "busy", (json_int_t)busy[q], "stalled", (json_int_t)stalled[q]));
  return units;
}

npuc_status npuc_machine_json(diag *d, arena *a, const qgraph *g, const npu_program *p, json_t *into) {
  json_t *layers = json_array();
  uint64_t cycles = 0, macs = 0, busy[NPU_QUEUES] = {0}, stalled[NPU_QUEUES] = {0};
  json_object_set_new(into, "layers", layers);
  for (size_t i = 0; i < p->n_streams; i++) {
    static const uint32_t registers[NPU_REGISTERS];
    npu_report r;
    NPUC_TRY(npuc_npu_report(d, a, g, p, &p->streams[i], registers, NULL, &r));
    cycles += r.total.cycles;
    macs += p->streams[i].macs;
    for (int q = 0; q < NPU_QUEUES; q++) {
      busy[q] += r.total.busy[q];
      stalled[q] += r.total.stalled[q];
    }
    for (size_t k = 0; k < r.n_layers; k++) json_array_append_new(layers, npuc_layer_json(g, &r.layers[k]));
  }
  json_object_set_new(into, "cycles", json_integer((json_int_t)cycles));
  json_object_set_new(into, "macs", json_integer((json_int_t)macs));
  json_object_set_new(into, "utilization", json_real(cycles ? (double)macs / ((double)cycles * p->arch.n * p->arch.n) : 0.0));
  json_object_set_new(into, "units", units_json(busy, stalled));
  return NPUC_OK;
}

static json_t *step_json(const char *name, uint64_t bytes) {
  json_t *o = json_object();
  json_object_set_new(o, "node", npuc_json_text(name));
  json_object_set_new(o, "bytes", json_integer((json_int_t)bytes));
  return o;
}

npuc_status npuc_scratchpad_json(diag *d, arena *a, qgraph *g, const npu_arch *arch, json_t **out_memory) {
  npu_program *p = NULL;
  NPUC_TRY(npuc_npu_compile(d, a, g, arch, &p));
  json_t *steps = json_array();
  for (size_t i = 0; i < p->n_streams; i++) {
    const npu_stream *s = &p->streams[i];
    for (size_t k = 0; k < s->n_scratch; k++)
      json_array_append_new(steps, step_json(g->nodes[s->scratch[k].node].name, s->scratch[k].bytes));
  }
  *out_memory = json_pack("{s:I, s:o}", "capacity", (json_int_t)arch->scratchpad_bytes, "steps", steps);
  return NPUC_OK;
}

json_t *npuc_executor_memory_json(const executor *e) {
  json_t *steps = json_array();
  const node *n;
  size_t bytes;
  for (size_t i = 0; npuc_executor_step(e, i, &n, &bytes); i++) json_array_append_new(steps, step_json(n->name, bytes));
  return json_pack("{s:I, s:o}", "bytes", (json_int_t)npuc_executor_memory(e), "steps", steps);
}
