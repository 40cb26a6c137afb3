/* SPDX-License-Identifier: Apache-2.0 */
/* From the IR to what the NPU compiler reads, and placement asked about IR nodes: of the integer module, and, before quantization, of a float graph by the integer operators
 * that its nodes will become. */
#ifndef NPUC_NPU_FROM_IR_H
#define NPUC_NPU_FROM_IR_H

#include "ir/graph.h"
#include "npu/place.h"

/* `g` is an integer graph (domain npuc and standard operators on integers), static. Constants' bytes are borrowed from it. A node that has no integer form is E0805. */
npuc_status npuc_npu_from_ir(diag *d, arena *a, const graph *g, qgraph **out_graph) NPUC_MUST_USE;

/* Answers for nodes of IR graphs; keeps the picture of the latest graph asked about, and makes it anew when the graph has changed. */
typedef struct npu_placer npu_placer;
npu_placer *npuc_npu_placer_create(const npu_arch *arch);
void npuc_npu_placer_destroy(npu_placer *p);
/* Fits pass_target.place; `placer` is an npu_placer. The reason is static. */
bool npuc_npu_placer_place(void *placer, const node *n, const char **out_reason);
/* Sets place ("npu" or "host") and place_reason of every node of the graph. */
void npuc_npu_place_graph(const npu_arch *arch, graph *g);

#endif
