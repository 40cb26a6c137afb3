/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks: as high as the inputs allow (longest path), then what has room below it sinks towards its reader, so that an input stands where it is used. */
#include <assert.h>

#include "report/layered_internal.h"

int32_t npuc_layered_rank(arena *scratch, layered_graph *g) {
  int32_t *lowest = NPUC_NEW_ARRAY(scratch, g->n_nodes, int32_t), most = -1;
  for (size_t i = 0; i < g->n_nodes; i++) {
    g->nodes[i].rank = 0;
    lowest[i] = INT32_MAX;
  }
  bool *has_input = NPUC_NEW_ARRAY(scratch, g->n_nodes, bool);
  /* Edges may come in any order: those of a node are gathered by its end. */
  int32_t *first = NPUC_NEW_ARRAY(scratch, g->n_nodes + 1, int32_t), *next = NPUC_NEW_ARRAY(scratch, g->n_edges + 1, int32_t);
  for (size_t i = 0; i < g->n_nodes; i++) first[i] = -1;
  for (size_t e = 0; e < g->n_edges; e++) {
    assert(g->edges[e].from < g->edges[e].to);
    next[e] = first[g->edges[e].to];
    first[g->edges[e].to] = (int32_t)e;
    has_input[g->edges[e].to] = true;
  }
  for (size_t i = 0; i < g->n_nodes; i++) {
    for (int32_t e = first[i]; e >= 0; e = next[e]) {
      int32_t above = g->nodes[g->edges[e].from].rank + 1;
      if (above > g->nodes[i].rank) g->nodes[i].rank = above;
    }
    if (g->nodes[i].rank > most) most = g->nodes[i].rank;
  }
  for (size_t i = g->n_nodes; i-- > 0;) { /* readers come after what they read */
    if (!has_input[i] && lowest[i] != INT32_MAX && lowest[i] - 1 > g->nodes[i].rank) g->nodes[i].rank = lowest[i] - 1;
    for (int32_t e = first[i]; e >= 0; e = next[e]) {
      int32_t from = g->edges[e].from;
      if (g->nodes[i].rank < lowest[from]) lowest[from] = g->nodes[i].rank;
    }
  }
  return most + 1;
}
