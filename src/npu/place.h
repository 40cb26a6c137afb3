/* SPDX-License-Identifier: Apache-2.0 */
/* Placement: which nodes of an integer graph run on the NPU, and why the others do not. Each operator has a list of named predicates, every one with the sentence that
 * the placement table shows when it fails. */
#ifndef NPUC_NPU_PLACE_H
#define NPUC_NPU_PLACE_H

#include "npu/arch.h"
#include "npu/layout.h"
#include "npu/qgraph.h"

/* Layout of a tensor on the machine: that of its dims, [1,C,H,W], [1,R,K], [R,K] or [K], or, behind a Reshape-like node that stays on the NPU, that of
 * the tensor before it (the bytes do not move). false when there is none. */
bool npuc_npu_layout_of(const qgraph *g, const npu_arch *arch, int32_t tensor, layout *out_layout);
/* Reshape, Flatten, Squeeze, Unsqueeze, Identity: the output is another name of the input's bytes. */
/* A QNormalize of x, of this layout, whose rows are the channels of pixels; else they are groups of channels. */
bool npuc_npu_normalizes_pixels(const qnode *n, const layout *x);
bool npuc_npu_is_alias(const qgraph *g, const npu_arch *arch, size_t node);

/* true: NPU. *out_reason is a static sentence in either case. */
bool npuc_npu_place(const qgraph *g, size_t node, const npu_arch *arch, const char **out_reason);
/* Sets on_npu and place_reason of every node. */
void npuc_npu_place_all(qgraph *g, const npu_arch *arch);

/* One operator's rules, for documentation: the i-th predicate's name and sentence, NULL after the last. */
const char *npuc_npu_place_rule(qop op, size_t i, const char **out_sentence);

#endif
