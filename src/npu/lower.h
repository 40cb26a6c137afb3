/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering: an integer graph to a program. Nodes are placed, runs of NPU nodes become streams (one scratchpad life each), the rest host steps. */
#ifndef NPUC_NPU_LOWER_H
#define NPUC_NPU_LOWER_H

#include "npu/place.h"
#include "npu/program.h"

/* Places every node of `g` (on_npu, place_reason are set) and compiles. The program lives in `a`. Predicted cycles of each stream are exact (the simulator's timing).
 * The result depends on nothing but the graph and the hardware. */
npuc_status npuc_npu_compile(diag *d, arena *a, qgraph *g, const npu_arch *arch, npu_program **out_program) NPUC_MUST_USE;

#endif
