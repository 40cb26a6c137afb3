/* SPDX-License-Identifier: Apache-2.0 */
/* Random float networks that are valid: layers of the op table on values whose shapes are known, in ONNX text, the same for the same seed everywhere. */
#ifndef NPUC_TESTS_SUPPORT_RANDOM_GRAPH_H
#define NPUC_TESTS_SUPPORT_RANDOM_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/* One input "x" [1, C, H, W] (batch as asked), one output. `quantizable`: layers that have an integer form only. */
char *npuc_random_graph(arena *a, uint64_t seed, int batch, bool quantizable);

#endif
