/* SPDX-License-Identifier: Apache-2.0 */
/* Cost model: what a graph will take, told before it is compiled, from shapes alone. The build gate holds the artifact's length against it; analysis uses the cycles by node. */
#ifndef NPUC_NPU_COST_H
#define NPUC_NPU_COST_H

#include "npu/place.h"

typedef struct npu_node_cost {
  uint64_t array_cycles; /* passes, at least N + 1 cycles each */
  uint64_t vector_cycles;
  uint64_t instructions;
  uint64_t image_bytes; /* weight tiles and parameters for the machine, beside the graph's own constants */
} npu_node_cost;

typedef struct npu_cost {
  uint64_t cycles;     /* of all streams; host steps count nothing */
  uint64_t file_bytes; /* of the .npu, without META */
} npu_cost;

/* Costs of a node that runs on the NPU. */
npu_node_cost npuc_npu_node_cost(const qgraph *g, size_t node, const npu_arch *arch);
/* Of the whole graph; nodes must be placed (npuc_npu_place_all). */
npu_cost npuc_npu_predict(const qgraph *g, const npu_arch *arch);

#endif
