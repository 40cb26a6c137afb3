/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine and the host do with a program, as JSON: cycles by layer and unit, memory over time. The documents of simulate, profile and verify are made of it. */
#ifndef NPUC_REPORT_MACHINE_H
#define NPUC_REPORT_MACHINE_H

#include <jansson.h>

#include "exec/executor.h"
#include "npu/report.h"

/* One layer: name, op, source, first, last, cycles, array_busy, vector_busy, dma_busy, array_stall, macs, utilization. */
json_t *npuc_layer_json(const qgraph *g, const npu_layer_cost *layer);
/* Times all streams of a program: sets cycles, macs, utilization, units {dma0, dma1, array, vector: {busy, stalled}} and layers of `into`. */
npuc_status npuc_machine_json(diag *d, arena *a, const qgraph *g, const npu_program *p, json_t *into) NPUC_MUST_USE;
/* {capacity, steps: [{node, bytes}]}: the scratchpad over the nodes of all streams. Compiles the graph again, since a file does not keep the plan. */
npuc_status npuc_scratchpad_json(diag *d, arena *a, qgraph *g, const npu_arch *arch, json_t **out_memory) NPUC_MUST_USE;
/* {bytes, steps: [{node, bytes}]} of an executor that has run. */
json_t *npuc_executor_memory_json(const executor *e);

#endif
