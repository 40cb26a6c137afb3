/* SPDX-License-Identifier: Apache-2.0 */
/* What a layered picture must be, whatever the graph: edges go down, nothing overlaps, the same again; and on small graphs what anybody would draw. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "report/layered.h"

enum { MOST = 400 };

static layered_graph graph_of(layered_node *nodes, size_t n, layered_edge *edges, size_t m) {
  for (size_t i = 0; i < n; i++) nodes[i] = (layered_node){.width = 60 + (double)(i % 5) * 20};
  return (layered_graph){.nodes = nodes, .n_nodes = n, .edges = edges, .n_edges = m, .gap = 20};
}

static void check(const layered_graph *g) {
  for (size_t e = 0; e < g->n_edges; e++) {
    int32_t span = g->nodes[g->edges[e].to].rank - g->nodes[g->edges[e].from].rank;
    assert_true(span >= 1);
    assert_true(g->edges[e].n_bends == span - 1 || g->edges[e].n_bends == 0);
    for (int32_t k = 0; k < g->edges[e].n_bends; k++) assert_true(g->edges[e].bends[k] >= 0 && g->edges[e].bends[k] <= g->width);
  }
  for (size_t i = 0; i < g->n_nodes; i++) {
    const layered_node *a = &g->nodes[i];
    assert_true(a->rank >= 0 && a->rank < g->n_ranks);
    assert_true(a->x - a->width / 2 >= -1e-6 && a->x + a->width / 2 <= g->width + 1e-6);
    for (size_t k = i + 1; k < g->n_nodes; k++) {
      const layered_node *b = &g->nodes[k];
      if (a->rank == b->rank) assert_true(fabs(a->x - b->x) >= (a->width + b->width) / 2 + g->gap - 1e-6);
    }
  }
}

static void a_chain_is_a_straight_line(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  layered_node nodes[4];
  layered_edge edges[] = {{.from = 0, .to = 1}, {.from = 1, .to = 2}, {.from = 2, .to = 3}};
  layered_graph g = graph_of(nodes, 4, edges, 3);
  npuc_layered_layout(a, &g);
  check(&g);
  assert_int_equal(g.n_ranks, 4);
  for (size_t i = 1; i < 4; i++) assert_true(fabs(nodes[i].x - nodes[0].x) < 1e-6);
  npuc_arena_destroy(a);
}

static void a_skip_bends_around_what_it_skips(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  layered_node nodes[3];
  layered_edge edges[] = {{.from = 0, .to = 1}, {.from = 1, .to = 2}, {.from = 0, .to = 2}};
  layered_graph g = graph_of(nodes, 3, edges, 3);
  npuc_layered_layout(a, &g);
  check(&g);
  assert_int_equal(edges[2].n_bends, 1);
  assert_true(fabs(edges[2].bends[0] - nodes[1].x) > nodes[1].width / 2);
  npuc_arena_destroy(a);
}

/* 0 and 1 are read by 3 and 2: the order that the nodes come in crosses, the other does not. */
static void crossings_that_need_not_be_are_not(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  layered_node nodes[4];
  layered_edge edges[] = {{.from = 0, .to = 3}, {.from = 1, .to = 2}};
  layered_graph g = graph_of(nodes, 4, edges, 2);
  npuc_layered_layout(a, &g);
  check(&g);
  assert_true((nodes[0].x < nodes[1].x) == (nodes[3].x < nodes[2].x));
  npuc_arena_destroy(a);
}

static void an_input_stands_above_its_reader(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  layered_node nodes[5]; /* 1 is read by the last only */
  layered_edge edges[] = {{.from = 0, .to = 2}, {.from = 2, .to = 3}, {.from = 3, .to = 4}, {.from = 1, .to = 4}};
  layered_graph g = graph_of(nodes, 5, edges, 4);
  npuc_layered_layout(a, &g);
  check(&g);
  assert_int_equal(nodes[1].rank, nodes[4].rank - 1);
  npuc_arena_destroy(a);
}

static size_t random_edges(layered_edge *edges, size_t n_nodes, uint32_t seed) {
  size_t n = 0;
  for (size_t to = 1; to < n_nodes; to++) {
    for (int k = 0; k < 2; k++) {
      seed = seed * 1664525u + 1013904223u;
      size_t from = seed >> 28 == 0 ? (seed >> 8) % to : to - 1 - (seed >> 8) % (to < 8 ? to : 8);
      edges[n++] = (layered_edge){.from = (int32_t)from, .to = (int32_t)to};
    }
  }
  return n;
}

static void any_graph_is_drawn_in_layers_and_again_the_same(void **state) {
  (void)state;
  static layered_node first[MOST], second[MOST];
  static layered_edge edges[2 * MOST], again[2 * MOST];
  for (uint32_t seed = 1; seed <= 8; seed++) {
    arena *a = npuc_arena_create();
    size_t n = 1 + seed * 49, m = random_edges(edges, n, seed);
    memcpy(again, edges, sizeof again);
    layered_graph g = graph_of(first, n, edges, m), h = graph_of(second, n, again, m);
    npuc_layered_layout(a, &g);
    npuc_layered_layout(a, &h);
    check(&g);
    for (size_t i = 0; i < n; i++) assert_true(first[i].x == second[i].x && first[i].rank == second[i].rank);
    npuc_arena_destroy(a);
  }
}

static void nothing_is_a_graph_too(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  layered_graph g = {.gap = 20};
  npuc_layered_layout(a, &g);
  assert_int_equal(g.n_ranks, 0);
  npuc_arena_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_chain_is_a_straight_line),
      cmocka_unit_test(a_skip_bends_around_what_it_skips),
      cmocka_unit_test(crossings_that_need_not_be_are_not),
      cmocka_unit_test(an_input_stands_above_its_reader),
      cmocka_unit_test(any_graph_is_drawn_in_layers_and_again_the_same),
      cmocka_unit_test(nothing_is_a_graph_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
