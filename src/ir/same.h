/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two graphs are one computation, by their form alone. */
#ifndef NPUC_IR_SAME_H
#define NPUC_IR_SAME_H

#include "ir/graph.h"

/* True: the same operators with the same attributes on the same values and constants, in the same order, between the same inputs and outputs; only names differ. Then
 * every run gives the same bits. False proves nothing: graphs with bodies or quantized values are not compared. */
bool npuc_graph_same(const graph *a, const graph *b);

#endif
