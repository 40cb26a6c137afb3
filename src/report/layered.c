/* SPDX-License-Identifier: Apache-2.0 */
#include "report/layered.h"

#include <math.h>

#include "report/layered_internal.h"

/* A bend in every rank of every edge would be quadratic where one value is read all along a deep graph: longer edges are drawn over the ranks. */
enum { LONGEST_EDGE = 48, BEND_WIDTH = 8 };

static int32_t bends_of(const layered_graph *g, const layered_edge *e) {
  int32_t span = g->nodes[e->to].rank - g->nodes[e->from].rank;
  return span > 1 && span <= LONGEST_EDGE ? span - 1 : 0;
}

static bool is_led(const layered_graph *g, const layered_edge *e) { return g->nodes[e->to].rank - g->nodes[e->from].rank <= LONGEST_EDGE; }

/* -- items and links -- */

typedef struct link_list {
  int32_t *from, *to;
  size_t count;
} link_list;

static void make_items(layered_plan *p, const layered_graph *g, const int32_t *first_bend) {
  for (size_t i = 0; i < g->n_nodes; i++) p->items[i] = (layered_item){.rank = g->nodes[i].rank, .width = g->nodes[i].width};
  for (size_t e = 0; e < g->n_edges; e++) {
    for (int32_t k = 0; k < bends_of(g, &g->edges[e]); k++)
      p->items[first_bend[e] + k] = (layered_item){.rank = g->nodes[g->edges[e].from].rank + 1 + k, .width = BEND_WIDTH, .is_bend = true};
  }
}

static link_list make_links(const layered_plan *p, const layered_graph *g, const int32_t *first_bend) {
  size_t most = p->n_items - g->n_nodes + g->n_edges;
  link_list l = {.from = NPUC_NEW_ARRAY(p->scratch, most + 1, int32_t), .to = NPUC_NEW_ARRAY(p->scratch, most + 1, int32_t)};
  for (size_t e = 0; e < g->n_edges; e++) {
    if (!is_led(g, &g->edges[e])) continue;
    int32_t at = g->edges[e].from, n = bends_of(g, &g->edges[e]);
    for (int32_t k = 0; k <= n; k++) {
      int32_t to = k < n ? first_bend[e] + k : g->edges[e].to;
      l.from[l.count] = at;
      l.to[l.count++] = to;
      at = to;
    }
  }
  return l;
}

static void connect(layered_plan *p, const link_list *l) {
  int32_t *room = NPUC_NEW_ARRAY(p->scratch, 2 * l->count + 1, int32_t);
  for (size_t i = 0; i < l->count; i++) {
    p->items[l->from[i]].n_down++;
    p->items[l->to[i]].n_up++;
  }
  for (size_t i = 0; i < p->n_items; i++) {
    layered_item *it = &p->items[i];
    it->up = room;
    room += it->n_up;
    it->down = room;
    room += it->n_down;
    it->n_up = it->n_down = 0;
  }
  for (size_t i = 0; i < l->count; i++) {
    layered_item *above = &p->items[l->from[i]], *below = &p->items[l->to[i]];
    ((int32_t *)(uintptr_t)above->down)[above->n_down++] = l->to[i];
    ((int32_t *)(uintptr_t)below->up)[below->n_up++] = l->from[i];
  }
}

/* Items enter their ranks in the graph's own order, which is often good already. */
static void fill_ranks(layered_plan *p) {
  p->ranks = NPUC_NEW_ARRAY(p->scratch, (size_t)p->n_ranks + 1, layered_rank);
  for (size_t i = 0; i < p->n_items; i++) p->ranks[p->items[i].rank].count++;
  for (int32_t r = 0; r < p->n_ranks; r++) {
    p->ranks[r].items = NPUC_NEW_ARRAY(p->scratch, (size_t)p->ranks[r].count, int32_t);
    p->ranks[r].count = 0;
  }
  for (size_t i = 0; i < p->n_items; i++) {
    layered_rank *r = &p->ranks[p->items[i].rank];
    p->items[i].position = r->count;
    r->items[r->count++] = (int32_t)i;
  }
}

/* -- results -- */

static void give_back(arena *a, layered_graph *g, const layered_plan *p, const int32_t *first_bend) {
  double left = 0, right = 0;
  for (size_t i = 0; i < p->n_items; i++) {
    double half = p->items[i].width / 2;
    left = i == 0 ? p->items[i].x - half : fmin(left, p->items[i].x - half);
    right = i == 0 ? p->items[i].x + half : fmax(right, p->items[i].x + half);
  }
  g->width = right - left;
  g->n_ranks = p->n_ranks;
  for (size_t i = 0; i < g->n_nodes; i++) g->nodes[i].x = p->items[i].x - left;
  for (size_t e = 0; e < g->n_edges; e++) {
    layered_edge *edge = &g->edges[e];
    edge->n_bends = bends_of(g, edge);
    edge->bends = NPUC_NEW_ARRAY(a, (size_t)edge->n_bends, double);
    for (int32_t k = 0; k < edge->n_bends; k++) edge->bends[k] = p->items[first_bend[e] + k].x - left;
  }
}

void npuc_layered_layout(arena *a, layered_graph *g) {
  arena *scratch = npuc_arena_create();
  layered_plan p = {.scratch = scratch, .gap = g->gap, .n_ranks = npuc_layered_rank(scratch, g), .n_items = g->n_nodes};
  int32_t *first_bend = NPUC_NEW_ARRAY(scratch, g->n_edges + 1, int32_t);
  for (size_t e = 0; e < g->n_edges; e++) {
    first_bend[e] = (int32_t)p.n_items;
    p.n_items += (size_t)bends_of(g, &g->edges[e]);
  }
  p.items = NPUC_NEW_ARRAY(scratch, p.n_items + 1, layered_item);
  make_items(&p, g, first_bend);
  link_list links = make_links(&p, g, first_bend);
  connect(&p, &links);
  fill_ranks(&p);
  npuc_layered_order(&p);
  npuc_layered_place(&p);
  give_back(a, g, &p, first_bend);
  npuc_arena_destroy(scratch);
}
