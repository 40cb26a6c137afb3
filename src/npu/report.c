/* SPDX-License-Identifier: Apache-2.0 */
#include "npu/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct gatherer {
  arena *a;
  const qgraph *g;
  const npu_stream *s;
  uint32_t *node_of[NPU_QUEUES]; /* by instruction */
  npu_layer_cost *by_node;       /* n_nodes */
  trace *trace;                  /* NULL: none is wanted */
} gatherer;

static void index_nodes(gatherer *t) {
  for (int q = 0; q < NPU_QUEUES; q++) t->node_of[q] = NPUC_NEW_ARRAY(t->a, t->s->queues[q].count, uint32_t);
  for (size_t i = 0; i < t->s->n_runs; i++) {
    const npu_debug_run *run = &t->s->runs[i];
    for (uint32_t k = 0; k < run->count; k++) t->node_of[run->queue][run->first + k] = run->node;
  }
}

/* Each queue has three tracks, because a wait and what was issued before it, or a load and the pass that it runs behind, overlap. */
enum { TRACK_WORK, TRACK_LOAD, TRACK_WAIT, TRACKS };

static int track_of(npu_queue queue, int kind) { return 1 + (int)queue * TRACKS + kind; }

static void name_tracks(trace *t) {
  static const char *const queues[NPU_QUEUES] = {
      [QUEUE_DMA0] = "dma0", [QUEUE_DMA1] = "dma1", [QUEUE_ARRAY] = "array", [QUEUE_VECTOR] = "vector"};
  static const char *const kinds[TRACKS] = {"", " loads", " waits"};
  for (int q = 0; q < NPU_QUEUES; q++) {
    for (int kind = 0; kind < TRACKS; kind++) {
      char name[32];
      snprintf(name, sizeof name, "%s%s", queues[q], kinds[kind]);
      npuc_trace_track(t, track_of((npu_queue)q, kind), name);
    }
  }
}

/* One cycle is shown as one microsecond. */
static void trace_event(const gatherer *t, const npu_event *e, uint32_t index) {
  bool waits = e->op == ISA_WAIT, loads = e->op == ISA_LDW || e->op == ISA_VPAR;
  uint64_t start = waits ? e->issue - e->stall : e->start, length = waits ? e->stall : e->end - e->start;
  const qnode *n = &t->g->nodes[index];
  const trace_argument arguments[] = {{"node", n->name, 0},
                                      {"operator", npuc_qop_name(n->op), 0},
                                      {"instruction", NULL, (double)e->index},
                                      {"complete", NULL, (double)e->complete}};
  npuc_trace_span(t->trace,
                  track_of(e->queue, waits   ? TRACK_WAIT
                                     : loads ? TRACK_LOAD
                                             : TRACK_WORK),
                  npuc_isa_info(e->op)->name, waits ? "wait" : "work", (double)start, (double)length, arguments,
                  sizeof arguments / sizeof *arguments);
}

static void on_event(void *user, const npu_event *e) {
  gatherer *t = user;
  uint32_t node = t->node_of[e->queue][e->index];
  npu_layer_cost *layer = &t->by_node[node];
  uint64_t work = e->end - e->start;
  if (t->trace) trace_event(t, e, node);
  if (e->op == ISA_WAIT) {
    if (e->queue == QUEUE_ARRAY) layer->array_stall += e->stall;
    return;
  }
  if (layer->last == 0 || e->issue < layer->first) layer->first = e->issue;
  if (e->complete > layer->last) layer->last = e->complete;
  if (e->op == ISA_MM)
    layer->array_busy += work; /* tile loads run behind passes and are no work of the array */
  else if (e->queue == QUEUE_VECTOR)
    layer->vector_busy += work;
  else if (e->queue != QUEUE_ARRAY)
    layer->dma_busy += work;
}

/* Layers by completion; each is charged the cycles since the completion before, so that the shares add up to the total. */
static void share_cycles(const gatherer *t, uint32_t n, npu_report *report) {
  for (uint32_t i = 0; i < t->g->n_nodes; i++) {
    if (t->by_node[i].last == 0) continue;
    npu_layer_cost layer = t->by_node[i];
    layer.node = i;
    layer.macs = npuc_qnode_macs(t->g, &t->g->nodes[i]);
    size_t at = report->n_layers++;
    for (; at > 0 && report->layers[at - 1].last > layer.last; at--) report->layers[at] = report->layers[at - 1];
    report->layers[at] = layer;
  }
  uint64_t before = 0;
  for (size_t i = 0; i < report->n_layers; i++) {
    npu_layer_cost *layer = &report->layers[i];
    layer->cycles = layer->last - before;
    before = layer->last;
    /* Passes overlap with other layers' ends: the longer of share and work keeps the ratio at most 1. */
    uint64_t cycles = layer->cycles > layer->array_busy ? layer->cycles : layer->array_busy;
    layer->utilization = cycles ? (double)layer->macs / ((double)cycles * n * n) : 0;
  }
}

npuc_status npuc_npu_report(diag *d, arena *a, const qgraph *g, const npu_program *p, const npu_stream *s,
                            const uint32_t registers[NPU_REGISTERS], trace **out_trace, npu_report *out_report) {
  gatherer t = {.a = a, .g = g, .s = s, .by_node = NPUC_NEW_ARRAY(a, g->n_nodes, npu_layer_cost)};
  index_nodes(&t);
  if (out_trace) {
    t.trace = npuc_trace_create(a, p->arch.name);
    name_tracks(t.trace);
  }
  npu_sim_options options = {.timing_only = true, .on_event = on_event, .user = &t};
  if (registers) memcpy(options.registers, registers, sizeof options.registers);
  *out_report = (npu_report){.layers = NPUC_NEW_ARRAY(a, g->n_nodes, npu_layer_cost)};
  NPUC_TRY(npuc_npu_simulate(d, &p->arch, s, NULL, &options, &out_report->total));
  share_cycles(&t, p->arch.n, out_report);
  if (out_trace) *out_trace = t.trace;
  return NPUC_OK;
}
