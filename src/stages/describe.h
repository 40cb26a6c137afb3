/* SPDX-License-Identifier: Apache-2.0 */
/* What is in a model, as JSON: the document of `npuc inspect` and of npuc_network_describe. */
#ifndef NPUC_STAGES_DESCRIBE_H
#define NPUC_STAGES_DESCRIBE_H

#include <jansson.h>

#include "ir/graph.h"

/* {name, inputs, outputs, ops, parameters, macs, nodes, dtypes, dynamic_dims, macs_formula?, largest_tensors} of part `index`. New reference; `a` is scratch. */
json_t *npuc_describe_part(arena *a, const module *m, size_t index);
/* [1, "N", 224]; "?" where nothing is known, null without a rank. `m` names symbols, NULL where there are none. */
json_t *npuc_describe_shape(const module *m, const shape *s);

#endif
