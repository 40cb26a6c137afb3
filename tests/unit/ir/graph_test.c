/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/progress.h"
#include "support/ir.h"

static const char *const diamond =
    "main (float[4] x) => (float[4] y) {\n"
    "  a = Relu (x)\n"
    "  b = Sigmoid (a)\n"
    "  c = Tanh (a)\n"
    "  y = Add (b, c)\n"
    "}";

static void uses_are_recorded_both_ways(void **state) {
  (void)state;
  module *m = npuc_test_module(diamond);
  graph *g = m->graphs[0];
  assert_int_equal(npuc_graph_value(g, "a")->n_uses, 2);
  assert_int_equal(npuc_graph_value(g, "y")->n_uses, 0);
  assert_true(npuc_graph_value(g, "y")->is_output);
  npuc_test_recount(g);
  npuc_module_destroy(m);
}

static void replacing_moves_every_use(void **state) {
  (void)state;
  module *m = npuc_test_module(diamond);
  graph *g = m->graphs[0];
  npuc_value_replace(npuc_graph_value(g, "a"), npuc_graph_value(g, "x"));
  npuc_test_recount(g);
  assert_int_equal(npuc_graph_remove_dead(g), 1);
  npuc_test_graph_is(g, "main (float[4] x) => (float[4] y) { b = Sigmoid (x) c = Tanh (x) y = Add (b, c) }");
  npuc_module_destroy(m);
}

static void an_output_keeps_its_name_when_it_is_replaced(void **state) {
  (void)state;
  module *m = npuc_test_module(diamond);
  graph *g = m->graphs[0];
  npuc_value_replace(npuc_graph_value(g, "y"), npuc_graph_value(g, "b"));
  npuc_test_recount(g);
  assert_int_equal(npuc_graph_remove_dead(g), 2);
  npuc_test_graph_is(g, "main (float[4] x) => (float[4] y) { a = Relu (x) [b] y = Sigmoid (a) }");
  npuc_module_destroy(m);
}

/* An input cannot take an output's name: a copy does. */
static void an_output_replaced_by_an_input_becomes_a_copy(void **state) {
  (void)state;
  module *m = npuc_test_module("main (float[4] x) => (float[4] y) { y = Relu (x) }");
  graph *g = m->graphs[0];
  npuc_value_replace(npuc_graph_value(g, "y"), npuc_graph_value(g, "x"));
  npuc_graph_remove_dead(g);
  npuc_test_recount(g);
  npuc_test_graph_is(g, "main (float[4] x) => (float[4] y) { [y_1] y = Identity (x) }");
  npuc_value_replace(npuc_graph_value(g, "y"), npuc_graph_value(g, "x")); /* already that copy: nothing happens */
  npuc_test_graph_is(g, "main (float[4] x) => (float[4] y) { [y_1] y = Identity (x) }");
  npuc_module_destroy(m);
}

static void a_value_can_be_wrapped(void **state) {
  (void)state;
  module *m = npuc_test_module(diamond);
  graph *g = m->graphs[0];
  value *a = npuc_graph_value(g, "a");
  node *n = npuc_graph_insert_node(g, a->producer->next, npuc_op(OP_IDENTITY), "wrap", &a, 1, 1, NULL);
  npuc_value_replace(a, n->outputs[0]);
  npuc_test_recount(g);
  npuc_test_graph_is(
      g, "main (float[4] x) => (float[4] y) { a = Relu (x) wrap = Identity (a) b = Sigmoid (wrap) c = Tanh (wrap) y = Add (b, c) }");
  npuc_module_destroy(m);
}

static void new_names_are_the_first_free_ones(void **state) {
  (void)state;
  module *m = npuc_test_module("main (float[4] x) => (float[4] y) { n = Relu (x) n_2 = Relu (n) y = Relu (n_2) }");
  graph *g = m->graphs[0];
  value *x = g->inputs[0];
  node *first = npuc_graph_insert_node(g, NULL, npuc_op(OP_RELU), "n", &x, 1, 1, NULL);
  assert_string_equal(first->name, "n_1");
  assert_string_equal(first->outputs[0]->name, "n_1");
  assert_string_equal(npuc_graph_unique_name(g, "n"), "n_3");
  assert_string_equal(npuc_graph_unique_name(g, "fresh"), "fresh");
  node *split = npuc_graph_insert_node(g, NULL, npuc_op(OP_SPLIT), "s", &x, 1, 2, NULL);
  assert_string_equal(split->outputs[1]->name, "s_out1");
  npuc_graph_remove_node(g, first); /* its name is free again */
  assert_string_equal(npuc_graph_unique_name(g, "n"), "n_1");
  npuc_module_destroy(m);
}

static void sorting_is_stable_and_finds_cycles(void **state) {
  (void)state;
  module *m = npuc_test_module(diamond);
  graph *g = m->graphs[0];
  node *relu = g->first, *tanh = npuc_graph_node(g, "c");
  npuc_graph_move_node(g, relu, NULL);
  npuc_test_recount(g);
  assert_int_equal(npuc_graph_sort(NULL, g), NPUC_OK);
  npuc_test_graph_is(g, "main (float[4] x) => (float[4] y) { a = Relu (x) b = Sigmoid (a) c = Tanh (a) y = Add (b, c) }");
  npuc_node_set_input(relu, 0, tanh->outputs[0]);
  diag *d = npuc_diag_create(NULL, NULL);
  assert_int_equal(npuc_graph_sort(d, g), NPUC_BAD_INPUT);
  npuc_test_error_is(d, NPUC_DIAG_E0415, "a");
  npuc_test_recount(g); /* left as it was */
  npuc_diag_destroy(d);
  npuc_module_destroy(m);
}

static void dead_nodes_and_constants_go_and_inputs_stay(void **state) {
  (void)state;
  module *m = npuc_test_module(
      "main (float[2] x, float[2] unused) => (float[2] y)\n"
      "<float[2] w = {1, 2}, float[2] v = {3, 4}>\n"
      "{ d1 = Add (x, v) d2 = Relu (d1) y = Add (x, w) }");
  assert_int_equal(npuc_graph_remove_dead(m->graphs[0]), 2);
  npuc_test_recount(m->graphs[0]);
  npuc_test_graph_is(m->graphs[0], "main (float[2] x, float[2] unused) => (float[2] y) <float[2] w = {1.0, 2.0}> { y = Add (x, w) }");
  npuc_module_destroy(m);
}

static void a_clone_prints_the_same_and_stands_alone(void **state) {
  (void)state;
  module *m = npuc_test_module(
      "<ir_version: 10, opset_import: [\"\" : 28], metadata_props: [\"k\": \"v\"]>\n"
      "main (float[N,3,8,8] x) => (y)\n"
      "<float[2,3,1,1] w = {1, 2, 3, 4, 5, 6}>\n"
      "{ t = Conv <pads = [1, 1, 1, 1]> (x, w) [last] y = Relu (t) }");
  const float scale = 0.5f;
  const uint8_t zero = 3;
  value *t = npuc_graph_value(m->graphs[0], "t");
  t->type = DTYPE_U8;
  npuc_value_set_quant(t, &(quant){.axis = -1,
                                   .scale = {.type = DTYPE_F32, .shape = {.rank = 0}, .data = (void *)(uintptr_t)&scale, .bytes = 4},
                                   .zero_point = {.type = DTYPE_U8, .shape = {.rank = 0}, .data = (void *)(uintptr_t)&zero, .bytes = 1}});
  m->graphs[0]->first->place = "npu";
  module *c = npuc_module_clone(m);
  arena *a = npuc_arena_create();
  text_options all = {.max_elements = -1, .types = true, .locations = true};
  char *before = npuc_module_print(a, m, &all);
  npuc_module_destroy(m);
  assert_string_equal(npuc_module_print(a, c, &all), before);
  assert_non_null(strstr(before, "uint8[N,2,10,10] scale 0.5 zero 3"));
  assert_non_null(strstr(before, "# on npu"));
  npuc_test_recount(c->graphs[0]);
  npuc_module_destroy(c);
  npuc_arena_destroy(a);
}

static void locations_merge_without_repeating(void **state) {
  (void)state;
  module *m = npuc_module_create();
  const char *const more[] = {"b", "c"};
  location a = {.name = "a"}, b = {.name = "b"}, abc = {.name = "a", .derived = more, .n_derived = 2};
  const location *ab = npuc_location_merge(m, &a, &b);
  assert_string_equal(ab->name, "a");
  assert_int_equal(ab->n_derived, 1);
  assert_ptr_equal(npuc_location_merge(m, &abc, &b), &abc); /* nothing new */
  assert_ptr_equal(npuc_location_merge(m, NULL, &b), &b);
  assert_ptr_equal(npuc_location_merge(m, &a, NULL), &a);
  assert_int_equal(npuc_location_merge(m, &b, &abc)->n_derived, 2);
  npuc_module_destroy(m);
}

static uint64_t next_random(uint64_t *s) {
  *s ^= *s << 13;
  *s ^= *s >> 7;
  *s ^= *s << 17;
  return *s;
}

static value *any_value(graph *g, uint64_t *random) {
  size_t wanted = next_random(random) % npuc_map_count(g->values), cursor = 0;
  void *item = NULL;
  for (size_t i = 0; i <= wanted; i++) (void)npuc_map_next(g->values, &cursor, NULL, &item);
  return item;
}

static node *any_node(graph *g, uint64_t *random) {
  node *n = g->first;
  for (size_t steps = g->n_nodes ? next_random(random) % g->n_nodes : 0; n && steps; steps--) n = n->next;
  return n;
}

static void edit(graph *g, uint64_t *random) {
  value *v = any_value(g, random);
  node *n = any_node(g, random);
  switch (next_random(random) % 8) {
    case 0: {
      value *inputs[] = {v, any_value(g, random), v};
      npuc_graph_insert_node(g, n, npuc_op(OP_MAX), "n", inputs, 3, 1, NULL);
      break;
    }
    case 1:
      if (n) npuc_node_set_input(n, (int32_t)(next_random(random) % (uint64_t)(n->n_inputs + 1)), next_random(random) % 4 ? v : NULL);
      break;
    case 2:
      if (n && n->n_inputs) npuc_node_truncate_inputs(n, (int32_t)(next_random(random) % (uint64_t)n->n_inputs));
      break;
    case 3:
      npuc_value_replace(v, any_value(g, random));
      break;
    case 4:
      if (n && n->outputs[0]->n_uses == 0 && !n->outputs[0]->is_output) npuc_graph_remove_node(g, n);
      break;
    case 5:
      if (n) npuc_graph_move_node(g, n, any_node(g, random));
      break;
    case 6:
      npuc_value_rename(v, npuc_graph_unique_name(g, "renamed"));
      break;
    case 7:
      if (g->n_outputs && !v->is_input) npuc_graph_set_output(g, next_random(random) % g->n_outputs, v);
      break;
  }
}

static void random_edits_keep_the_books(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    uint64_t random = seed * 0x9e3779b97f4a7c15u;
    module *m = npuc_test_module(diamond);
    graph *g = m->graphs[0];
    npuc_graph_add_output(g, npuc_graph_value(g, "b"));
    for (int i = 0; i < 200; i++) {
      edit(g, &random);
      if (i % 10 == 0) npuc_test_recount(g);
    }
    npuc_status sorted = npuc_graph_sort(NULL, g); /* random inputs make cycles */
    assert_true(sorted == NPUC_OK || sorted == NPUC_BAD_INPUT);
    npuc_graph_remove_dead(g);
    npuc_test_recount(g);
    npuc_module_destroy(m);
  }
}

/* Long chains and wide fans take linear time: no time is asserted, but quadratic work would not end within the test's limit. */
static void large_graphs_are_linear(void **state) {
  (void)state;
  enum { N = 100000 };
  double start = npuc_clock_seconds();
  module *m = npuc_module_create();
  graph *g = npuc_graph_create(m, "main");
  value *x = npuc_graph_add_input(g, "x", DTYPE_F32, &(shape){.rank = 1, .dims = {4}}), *v = x;
  for (int i = 0; i < N; i++) {
    value *inputs[] = {v, x};
    v = npuc_graph_insert_node(g, NULL, npuc_op(OP_ADD), "add", inputs, 2, 1, NULL)->outputs[0];
  }
  npuc_graph_add_output(g, v);
  double built = npuc_clock_seconds();
  assert_int_equal(npuc_graph_infer(NULL, g), NPUC_OK);
  double inferred = npuc_clock_seconds();
  assert_int_equal(npuc_graph_verify(NULL, g, NULL), NPUC_OK);
  double verified = npuc_clock_seconds();
  assert_int_equal(npuc_graph_sort(NULL, g), NPUC_OK);
  double sorted = npuc_clock_seconds();
  assert_int_equal(x->n_uses, N + 1);
  NPUC_EACH_NODE(g, n) npuc_node_set_input(n, 1, n->inputs[0]); /* one use of a wide fan goes at a time */
  assert_int_equal(x->n_uses, 2);
  double cut = npuc_clock_seconds();
  print_message("%d nodes: build %.0f ms, infer %.0f, verify %.0f, sort %.0f, cut %.0f\n", N, 1e3 * (built - start),
                1e3 * (inferred - built), 1e3 * (verified - inferred), 1e3 * (sorted - verified), 1e3 * (cut - sorted));
  assert_int_equal(npuc_graph_remove_dead(g), 0);
  assert_string_equal(g->last->name, "add_99999");
  npuc_module_destroy(m);
}

static void symbols_are_one_per_name(void **state) {
  (void)state;
  module *m = npuc_module_create();
  dim n = npuc_module_symbol(m, "N"), other = npuc_module_symbol(m, "M");
  assert_true(n != other && n == npuc_module_symbol(m, "N"));
  assert_string_equal(npuc_module_symbol_name(m, other), "M");
  assert_null(npuc_module_symbol_name(m, 7));
  assert_null(npuc_module_symbol_name(m, DIM_UNKNOWN));
  (void)npuc_module_symbol(m, "unk__0");
  assert_string_equal(npuc_module_symbol_name(m, npuc_module_fresh_symbol(m)), "unk__1");
  npuc_module_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(uses_are_recorded_both_ways),
      cmocka_unit_test(replacing_moves_every_use),
      cmocka_unit_test(an_output_keeps_its_name_when_it_is_replaced),
      cmocka_unit_test(an_output_replaced_by_an_input_becomes_a_copy),
      cmocka_unit_test(a_value_can_be_wrapped),
      cmocka_unit_test(new_names_are_the_first_free_ones),
      cmocka_unit_test(sorting_is_stable_and_finds_cycles),
      cmocka_unit_test(dead_nodes_and_constants_go_and_inputs_stay),
      cmocka_unit_test(a_clone_prints_the_same_and_stands_alone),
      cmocka_unit_test(locations_merge_without_repeating),
      cmocka_unit_test(random_edits_keep_the_books),
      cmocka_unit_test(large_graphs_are_linear),
      cmocka_unit_test(symbols_are_one_per_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
