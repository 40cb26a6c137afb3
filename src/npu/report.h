/* SPDX-License-Identifier: Apache-2.0 */
/* What a run cost, by node of the integer graph: from the simulator's events and the stream's debug table. */
#ifndef NPUC_NPU_REPORT_H
#define NPUC_NPU_REPORT_H

#include "base/trace.h"
#include "npu/program.h"
#include "npu/qgraph.h"
#include "npu/sim.h"

typedef struct npu_layer_cost {
  uint32_t node;
  uint64_t first, last; /* cycle of the first issue and of the last completion */
  uint64_t cycles;      /* this node's share of the total: from the latest completion before it to its own */
  uint64_t array_busy, vector_busy, dma_busy;
  uint64_t array_stall; /* cycles in which the array's queue was blocked for it */
  uint64_t macs;
  double utilization; /* macs / (max(cycles, array_busy) * N * N); depthwise MACs are the vector unit's */
} npu_layer_cost;

typedef struct npu_report {
  npu_sim_result total;
  npu_layer_cost *layers; /* by order of completion; in the arena */
  size_t n_layers;
} npu_report;

/* Times a stream (nothing is computed). out_trace may be NULL; else what each unit did, by tracks from 1 on: the caller may add to it. */
npuc_status npuc_npu_report(diag *d, arena *a, const qgraph *g, const npu_program *p, const npu_stream *s,
                            const uint32_t registers[NPU_REGISTERS], trace **out_trace, npu_report *out_report) NPUC_MUST_USE;

#endif
