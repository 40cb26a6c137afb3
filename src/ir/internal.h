/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of src/ir share and nobody else needs. */
#ifndef NPUC_IR_INTERNAL_H
#define NPUC_IR_INTERNAL_H

#include "ir/op.h"
#include "ir/rewrite.h"

/* names.c: the first free name in one of the graph's two name spaces, and what to do when a name goes. */
const char *npuc_name_free_in(graph *g, const map *names, const char *name);
void npuc_name_released(graph *g, const char *name);

/* clone.c: a body and the bodies in it. */
graph *npuc_graph_clone_body(module *to, const graph *from);

/* graph.c: the inputs are set and recorded, nothing is looked at. */
void npuc_node_drop_inputs(node *n);
void npuc_graph_unlink_node(graph *g, node *n);

/* module.c: a tensor that lives as long as the module: shares a counted owner, else (copy) the bytes are copied into the arena. */
const tensor *npuc_module_tensor(module *m, const tensor *t, bool copy);

/* infer.c: what a value says by itself (a constant's small content included), and one node's outputs from its inputs. `inputs` has n_inputs
 * entries, `outputs` n_outputs. module NULL: no new symbols. */
fact npuc_fact_of_value(const value *v, arena *scratch);
npuc_status npuc_infer_outputs(diag *d, module *m, arena *scratch, const node *n, const fact *const *inputs, fact *outputs) NPUC_MUST_USE;
/* The more exact of what was declared for a value and what was inferred, into `inferred`; E0413, E0414 when they contradict. */
npuc_status npuc_fact_merge(diag *d, const value *v, dtype declared_type, const shape *declared, fact *inferred) NPUC_MUST_USE;

/* match.c: whether `p` lies over the graph with `root` as its root; reads only. */
bool npuc_match_pattern(const pattern *p, node *root, const void *parameters, match *out_match);

/* E0411 for each input or output that is missing or one too many. */
npuc_status npuc_node_check_arity(diag *d, const node *n) NPUC_MUST_USE;

#endif
