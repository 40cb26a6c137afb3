/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of src/ir share and nobody else needs. */
#ifndef NPUC_IR_INTERNAL_H
#define NPUC_IR_INTERNAL_H

#include "ir/op.h"

/* names.c: the first free name in one of the graph's two name spaces, and what to do when a name goes. */
const char *npuc_name_free_in(graph *g, const map *names, const char *name);
void npuc_name_released(graph *g, const char *name);

/* graph.c: the inputs are set and recorded, nothing is looked at. */
void npuc_node_drop_inputs(node *n);
void npuc_graph_unlink_node(graph *g, node *n);

/* module.c: a tensor that lives as long as the module: shares a counted owner, else (copy) the bytes are copied into the arena. */
const tensor *npuc_module_tensor(module *m, const tensor *t, bool copy);

#endif
