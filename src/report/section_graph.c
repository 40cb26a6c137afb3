/* SPDX-License-Identifier: Apache-2.0 */
/* The graph that runs, with what is known of each node. */
#include "report/graph_view.h"
#include "report/section.h"

void npuc_section_graph(page *p, const json_t *report) {
  const json_t *graph = json_object_get(report, "graph");
  if (!json_array_size(json_object_get(graph, "nodes"))) return;
  npuc_section_lead(
      p, "The graph that runs. Solid borders are on the NPU, dashed ones on the host; a node tells its shapes, scales, cycles and noise.");
  npuc_graph_view(&p->out, graph, report);
}
