/* SPDX-License-Identifier: Apache-2.0 */
/* Layout of a directed acyclic graph in layers, after Sugiyama, Tagawa and Toda ("Methods for visual understanding of hierarchical system structures", 1981) with the coordinates as
 * in Gansner et al. ("A technique for drawing directed graphs", 1993):
 *
 *   rank    every node below all that it reads; edges over several ranks get a bend in each rank between
 *   order   nodes of a rank by the mean place of their neighbours, down and up again, the order with the fewest crossings kept
 *   place   x as near to the neighbours' mean as the widths allow
 *
 * The result depends on the graph alone. */
#ifndef NPUC_REPORT_LAYERED_H
#define NPUC_REPORT_LAYERED_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

typedef struct layered_node {
  double width;
  int32_t rank; /* out */
  double x;     /* out: centre */
} layered_node;

typedef struct layered_edge {
  int32_t from, to; /* from < to: nodes are in topological order */
  double *bends;    /* out: x in each rank between, in the arena */
  int32_t n_bends;  /* out; 0 also for edges that are too long to be led through the ranks */
} layered_edge;

typedef struct layered_graph {
  layered_node *nodes;
  size_t n_nodes;
  layered_edge *edges;
  size_t n_edges;
  double gap;      /* least distance between neighbours of a rank */
  int32_t n_ranks; /* out */
  double width;    /* out: nodes and bends lie in [0, width] */
} layered_graph;

void npuc_layered_layout(arena *a, layered_graph *g);

#endif
