/* SPDX-License-Identifier: Apache-2.0 */
/* A graph on a page: laid out here, drawn as SVG where it is small (no script needed), and given as data to the viewer (assets/graph.js), which searches, zooms and shows details. */
#ifndef NPUC_REPORT_GRAPH_VIEW_H
#define NPUC_REPORT_GRAPH_VIEW_H

#include "report/markup.h"

/* `graph`: of npuc_graph_json. `report`: what else is known of nodes by name (layers, parity, histograms), or NULL. */
void npuc_graph_view(markup *m, const json_t *graph, const json_t *report);

#endif
