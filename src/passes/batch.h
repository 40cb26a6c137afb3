/* SPDX-License-Identifier: Apache-2.0 */
/* Another batch for a graph whose dims are numbers already. */
#ifndef NPUC_PASSES_BATCH_H
#define NPUC_PASSES_BATCH_H

#include "ir/graph.h"

/* Gives every input's first axis n elements. A number other than n must be the same in all inputs and outputs (the old batch); Reshape targets that begin
 * with it follow. E0929 where the graph has its batch built in. Whether row k of the outputs still is the answer to row k of the inputs is the graph's
 * matter: callers that cannot know compare one row with the graph as it was. */
npuc_status npuc_graph_set_batch(diag *d, graph *g, int64_t n) NPUC_MUST_USE;

#endif
