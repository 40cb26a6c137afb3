/* SPDX-License-Identifier: Apache-2.0 */
/* Orders and reachability of a graph, by walks with a stack of their own: a chain of 100,000 nodes must not use the machine's. */
#include <stdlib.h>
#include <string.h>

#include "ir/internal.h"

typedef struct frame {
  node *n;
  int32_t next_input;
} frame;

enum { UNSEEN, OPEN, DONE };

static npuc_status fail_cycle(diag *d, const graph *g, const node *n, const value *through) {
  diag_place place = {.part = g->name, .node = n->name, .op = n->op->type};
  return npuc_fail(d, NPUC_DIAG_E0415, &place, "the node needs its own output, by way of the value \"%s\"", through->name);
}

/* Depth first from `root`: appends to order[] every node that root needs and that is not there yet, then root. */
static npuc_status visit(diag *d, const graph *g, node *root, unsigned char *state, frame *stack, node **order, size_t *n_order) {
  size_t depth = 0;
  stack[depth++] = (frame){root, 0};
  state[root->id] = OPEN;
  while (depth) {
    frame *top = &stack[depth - 1];
    if (top->next_input == top->n->n_inputs) {
      state[top->n->id] = DONE;
      order[(*n_order)++] = top->n;
      depth--;
      continue;
    }
    const value *v = top->n->inputs[top->next_input++];
    node *producer = v ? v->producer : NULL;
    if (!producer || state[producer->id] == DONE) continue;
    if (state[producer->id] == OPEN) return fail_cycle(d, g, producer, v);
    state[producer->id] = OPEN;
    stack[depth++] = (frame){producer, 0};
  }
  return NPUC_OK;
}

/* Producers are drawn forward to just before their first reader, so a graph that is in order stays as it is. */
npuc_status npuc_graph_sort(diag *d, graph *g) {
  unsigned char *state = npuc_xcalloc(g->next_node_id, 1);
  frame *stack = npuc_xcalloc(g->n_nodes + 1, sizeof *stack);
  node **order = npuc_xcalloc(g->n_nodes + 1, sizeof(node *));
  size_t n_order = 0;
  npuc_status status = NPUC_OK;
  for (node *n = g->first; n && status == NPUC_OK; n = n->next) {
    if (state[n->id] == UNSEEN) status = visit(d, g, n, state, stack, order, &n_order);
  }
  if (status == NPUC_OK) {
    for (size_t i = 0; i < n_order; i++) {
      order[i]->prev = i ? order[i - 1] : NULL;
      order[i]->next = i + 1 < n_order ? order[i + 1] : NULL;
    }
    g->first = n_order ? order[0] : NULL;
    g->last = n_order ? order[n_order - 1] : NULL;
  }
  free(state);
  free(stack);
  free(order);
  return status;
}

static void mark(const value *v, bool *alive, node **stack, size_t *depth) {
  if (!v || !v->producer || alive[v->producer->id]) return;
  alive[v->producer->id] = true;
  stack[(*depth)++] = v->producer;
}

static void remove_unmarked(graph *g, const bool *alive) {
  /* Inputs go first: dead nodes read each other. */
  for (node *n = g->first; n; n = n->next) {
    if (!alive[n->id]) npuc_node_drop_inputs(n);
  }
  NPUC_EACH_NODE_SAFE(g, n, after) {
    if (!alive[n->id]) npuc_graph_remove_node(g, n);
  }
}

/* Captures that only dead nodes of bodies read go with them. */
static void remove_dead_in_bodies(graph *g) {
  NPUC_EACH_NODE(g, n) {
    if (!npuc_node_body(n, 0)) continue;
    for (int32_t i = 0; npuc_node_body(n, i); i++) (void)npuc_graph_remove_dead(npuc_node_body(n, i));
    npuc_node_prune_captures(n);
  }
}

size_t npuc_graph_remove_dead(graph *g) {
  remove_dead_in_bodies(g);
  bool *alive = npuc_xcalloc(g->next_node_id, sizeof *alive);
  node **stack = npuc_xcalloc(g->n_nodes + 1, sizeof(node *));
  size_t depth = 0, before = g->n_nodes;
  for (size_t i = 0; i < g->n_outputs; i++) mark(g->outputs[i], alive, stack, &depth);
  while (depth) {
    const node *n = stack[--depth];
    for (int32_t i = 0; i < n->n_inputs; i++) mark(n->inputs[i], alive, stack, &depth);
  }
  remove_unmarked(g, alive);
  size_t cursor = 0;
  void *item;
  while (npuc_map_next(g->values, &cursor, NULL, &item)) {
    value *v = item;
    if (!v->producer && v->n_uses == 0 && !v->is_input && !v->is_output) npuc_graph_remove_value(g, v);
  }
  free(alive);
  free(stack);
  return before - g->n_nodes;
}
