/* SPDX-License-Identifier: Apache-2.0 */
/* Running a batch a few samples at a time: the activations of an integer graph then stay in the second cache from node to node, and threads need not meet
 * behind every node. */
#ifndef NPUC_EXEC_SAMPLES_H
#define NPUC_EXEC_SAMPLES_H

#include "ir/op.h"

/* Samples for a thread to run together so that a node's images fit the cache, and every thread has some; 0: all of them, because the graph is no integer graph, or because sample k of
 * some value depends on more than sample k of the inputs. facts are static. */
int64_t npuc_exec_samples(const graph *g, const fact *facts, size_t threads);

#endif
