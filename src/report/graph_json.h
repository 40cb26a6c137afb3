/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as JSON: what a person wants to know of a node, and who reads whom. No weights. */
#ifndef NPUC_REPORT_GRAPH_JSON_H
#define NPUC_REPORT_GRAPH_JSON_H

#include <jansson.h>

#include "ir/graph.h"
#include "npu/qgraph.h"

/* {name, inputs: [value name], outputs: [value name], nodes: [{name, op, domain, source, place, reason, macs, attributes: {..}, inputs: [..], outputs: [..]}],
 *  values: {name: {dtype, shape, constant, content, scale, zero_point, channels}}}. An omitted input or output is "". */
json_t *npuc_graph_json(const graph *g);
/* The same of a program's integer graph. */
json_t *npuc_qgraph_json(const qgraph *g);

#endif
