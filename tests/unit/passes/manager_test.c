/* SPDX-License-Identifier: Apache-2.0 */
/* The pass manager and what surrounds it: options, report, names, gates, places, a chain of passes that settles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "passes/names.h"
#include "passes/pipelines.h"
#include "support/ir.h"

static const char block[] =
    "g (float[N,1,4,4] \"in:0\") => (float[N,1,4,4] y) "
    "<float[1,1,1,1] w = {2.0}, float[1] s = {3.0}, float[1] o = {1.0}, float[1] m = {0.25}, float[1] v = {8.0}> {"
    " \"/a/Identity\" = Identity (\"in:0\")"
    " \"/a/Conv\" = Conv (\"/a/Identity\", w)"
    " \"/a/bn\" = BatchNormalization <epsilon = 1.0> (\"/a/Conv\", s, o, m, v)"
    " y = Relu (\"/a/bn\") }";

typedef struct fixture {
  arena *a;
  diag *d;
  module *m;
  pass_report report;
} fixture;

static fixture start(const char *text) {
  return (fixture){.a = npuc_arena_create(), .d = npuc_diag_create(NULL, NULL), .m = npuc_test_module(text)};
}

static void end(fixture *f) {
  npuc_module_destroy(f->m);
  npuc_diag_destroy(f->d);
  npuc_arena_destroy(f->a);
}

static npuc_status run(fixture *f, const char *pipeline, const pass_options *options) {
  return npuc_passes_run(f->d, f->a, f->m, pipeline, options, &f->report);
}

typedef struct seen {
  char passes[512];
} seen;

static void on_print(void *user, const char *pass, const graph *g) {
  seen *s = user;
  assert_non_null(g);
  (void)strcat(strcat(s->passes, pass), " ");
}

static void the_report_names_pass_pattern_and_place(void **state) {
  (void)state;
  fixture f = start(block);
  pass_options options = {.limit = -1};
  assert_int_equal(run(&f, "normalize", &options), NPUC_OK);
  assert_int_equal(f.report.n_rewrites, 2);
  assert_string_equal(f.report.rewrites[0].pass, "cleanup");
  assert_string_equal(f.report.rewrites[0].pattern, "identity");
  assert_string_equal(f.report.rewrites[1].pattern, "batchnorm-into-conv");
  assert_string_equal(f.report.rewrites[1].first_node, "/a/bn");
  assert_int_equal(f.report.rewrites[1].parity, PARITY_REASSOCIATING);
  assert_int_equal(f.report.parity, PARITY_REASSOCIATING);
  /* Running again finds nothing more to do. */
  assert_int_equal(run(&f, "normalize", &options), NPUC_OK);
  assert_int_equal(f.report.n_rewrites, 0);
  assert_int_equal(f.report.parity, PARITY_EXACT);
  end(&f);
}

static void stop_print_and_limit_are_honoured(void **state) {
  (void)state;
  seen s = {""};
  fixture f = start(block);
  pass_options options = {.limit = -1, .stop_after = "fold-batchnorm", .print_after = "all", .print = on_print, .user = &s};
  assert_int_equal(run(&f, "normalize", &options), NPUC_OK);
  assert_string_equal(s.passes, "sanitize-names infer-shapes cleanup fold-batchnorm ");
  end(&f);

  f = start(block);
  s.passes[0] = '\0';
  options = (pass_options){.limit = 1, .print_after = "cleanup", .print = on_print, .user = &s};
  assert_int_equal(run(&f, "normalize", &options), NPUC_OK);
  assert_int_equal(f.report.n_rewrites, 1);
  assert_string_equal(s.passes, "cleanup cleanup ");
  end(&f);

  f = start(block);
  options = (pass_options){.limit = 0};
  assert_int_equal(run(&f, "normalize", &options), NPUC_OK);
  assert_int_equal(f.report.n_rewrites, 0);
  assert_int_equal(f.m->graphs[0]->n_nodes, 4);
  end(&f);
}

static void unknown_passes_are_named_with_the_nearest(void **state) {
  (void)state;
  fixture f = start(block);
  pass_options options = {.limit = -1, .stop_after = "fold-batchnrom"};
  assert_int_equal(run(&f, "normalize", &options), NPUC_USAGE);
  const diag_record *e = npuc_diag_first_error(f.d);
  assert_int_equal(e->code, NPUC_DIAG_E0505);
  assert_true(e->n_fixes == 1 && strstr(e->fixes[0], "fold-batchnorm"));
  assert_int_equal(run(&f, "nromalize", &(pass_options){.limit = -1}), NPUC_USAGE);
  end(&f);
}

static void source_names_stay_reachable(void **state) {
  (void)state;
  fixture f = start(block);
  pass_options options = {.limit = -1};
  assert_int_equal(npuc_check_names(f.d, f.m), NPUC_GATE_FAILED);
  assert_int_equal(npuc_diag_first_error(f.d)->code, NPUC_DIAG_E0912);
  assert_int_equal(run(&f, "normalize", &options), NPUC_OK);
  assert_int_equal(npuc_check_names(f.d, f.m), NPUC_OK);
  const graph *g = f.m->graphs[0];
  assert_string_equal(g->inputs[0]->name, "in_0");
  assert_ptr_equal(npuc_find_value(g, "in:0"), g->inputs[0]);
  assert_ptr_equal(npuc_find_value(g, "in_0"), g->inputs[0]);
  assert_null(npuc_find_value(g, "in"));
  assert_string_equal(npuc_source_name(g, f.a, "in_0"), "in:0");
  assert_string_equal(npuc_source_name(g, f.a, "y"), "y");
  assert_string_equal(npuc_map_get(npuc_name_map(f.a, g), "in_0"), "in:0");
  /* The convolution stands for the batch normalization: it has its place and its name. */
  value *folded = npuc_find_value(g, "/a/bn");
  assert_non_null(folded);
  assert_true(node_is(folded->producer, OP_CONV));
  end(&f);
}

static void the_static_gate_names_the_symbol(void **state) {
  (void)state;
  fixture f = start("g (float[N,H] x, float[N,4] z) => (float[N,H] y, int64[2] s) { a = Relu (x) y = Sigmoid (a) s = Shape (x) }");
  pass_options options = {.limit = -1};
  assert_int_equal(run(&f, "static", &options), NPUC_OK);
  assert_int_equal(npuc_check_static(f.d, f.m), NPUC_GATE_FAILED);
  const diag_record *e = npuc_diag_first_error(f.d);
  assert_int_equal(e->code, NPUC_DIAG_E0913);
  assert_non_null(strstr(e->reason, "\"x\""));
  assert_non_null(strstr(e->reason, "\"N\""));
  assert_int_equal(e->n_fixes, 1);
  assert_string_equal(e->fixes[0], "give it one: --dim N=1");
  e = npuc_diag_at(f.d, 1);
  assert_non_null(strstr(e->reason, "\"H\""));
  end(&f);
}

static bool place_convolutions(void *user, const node *n, const char **out_reason) {
  *out_reason = node_is(n, OP_CONV) ? "a convolution" : (const char *)user;
  return node_is(n, OP_CONV);
}

static void every_node_gets_place_and_reason(void **state) {
  (void)state;
  fixture f = start(block);
  char why[] = "not a convolution";
  pass_target target = {.name = "t", .place = place_convolutions, .user = why};
  pass_options options = {.limit = -1, .target = &target};
  assert_int_equal(npuc_check_places(f.d, f.m), NPUC_GATE_FAILED);
  assert_int_equal(run(&f, "normalize", &options), NPUC_OK);
  assert_int_equal(run(&f, "static", &options), NPUC_OK);
  assert_int_equal(run(&f, "adapt", &options), NPUC_OK);
  assert_int_equal(npuc_check_places(f.d, f.m), NPUC_OK);
  NPUC_EACH_NODE(f.m->graphs[0], n) {
    assert_string_equal(n->place, node_is(n, OP_CONV) ? "npu" : "host");
    assert_string_equal(n->place_reason, node_is(n, OP_CONV) ? "a convolution" : why);
  }
  end(&f);
}

/* -- growth -- */

typedef struct maker {
  graph *g;
  value *x, *half, *bias, *permutation, *first, *rest;
} maker;

static value *add(maker *k, op_id op, value *a, value *b) {
  node *n = npuc_graph_insert_node(k->g, NULL, npuc_op(op), "n", (value *[]){a, b}, b ? 2 : 1, 1, NULL);
  return n->outputs[0];
}

static value *transposed(maker *k, value *x, int64_t *order) {
  value *y = add(k, OP_TRANSPOSE, x, NULL);
  NPUC_ATTRS(transpose_attributes, y->producer)->perm = (int_list){.values = order, .count = 4};
  return y;
}

/* x + x, a copy, a pair of transpositions, constants to be folded, a shape computed for a Reshape, a convolution with ReLU. */
static void add_block(maker *k) {
  static int64_t there[] = {0, 2, 3, 1}, back[] = {0, 3, 1, 2};
  const float identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  value *x = add(k, OP_MUL, add(k, OP_ADD, k->x, add(k, OP_IDENTITY, k->x, NULL)), k->half);
  x = transposed(k, transposed(k, x, there), back);
  x = add(k, OP_MUL, x, add(k, OP_DIV, add(k, OP_ADD, k->half, k->half), add(k, OP_ADD, k->half, k->half)));
  value *batch = add(k, OP_GATHER, add(k, OP_SHAPE, x, NULL), k->first);
  x = add(k, OP_RESHAPE, x, add(k, OP_CONCAT, batch, k->rest));
  value *w = npuc_graph_constant_floats(k->g, "w", identity, 16);
  shape s = {.rank = 4, .dims = {4, 4, 1, 1}};
  tensor t = *w->constant;
  t.shape = s;
  w = npuc_graph_add_constant(k->g, "w", &t);
  node *conv = npuc_graph_insert_node(k->g, NULL, npuc_op(OP_CONV), "n", (value *[]){x, w, k->bias}, 3, 1, NULL);
  k->x = add(k, OP_RELU, conv->outputs[0], NULL);
}

static module *mixed_graph(size_t blocks) {
  module *m = npuc_module_create();
  maker k = {.g = npuc_graph_create(m, "g")};
  shape s = {.rank = 4, .dims = {npuc_module_symbol(m, "N"), 4, 2, 2}};
  k.x = npuc_graph_add_input(k.g, "x", DTYPE_F32, &s);
  k.half = npuc_graph_constant_floats(k.g, "half", (const float[]){0.5f}, 1);
  k.bias = npuc_graph_constant_floats(k.g, "bias", (const float[]){1, 2, 3, 4}, 4);
  k.first = npuc_graph_constant_ints(k.g, "first", DTYPE_I64, (const int64_t[]){0}, 1);
  k.rest = npuc_graph_constant_ints(k.g, "rest", DTYPE_I64, (const int64_t[]){4, 2, 2}, 3);
  for (size_t i = 0; i < blocks; i++) add_block(&k);
  npuc_graph_add_output(k.g, k.x);
  return m;
}

/* Nodes that patterns looked at, over all pipelines. */
static uint64_t visits_of(size_t blocks, size_t *out_nodes) {
  module *m = mixed_graph(blocks);
  *out_nodes = m->graphs[0]->n_nodes;
  arena *a = npuc_arena_create();
  diag *d = npuc_diag_create(NULL, NULL);
  pass_options options = {.limit = -1};
  uint64_t visits = 0;
  static const char *const pipelines[] = {"normalize", "static", "adapt"};
  for (int i = 0; i < 3; i++) {
    pass_report report;
    assert_int_equal(npuc_passes_run(d, a, m, pipelines[i], &options, &report), NPUC_OK);
    visits += report.visits;
  }
  assert_true(m->graphs[0]->n_nodes <= 4 * blocks + 1);
  npuc_test_recount(m->graphs[0]);
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
  npuc_module_destroy(m);
  return visits;
}

/* Ten times the graph is ten times the work, counted, not timed. */
static void work_grows_with_the_graph_alone(void **state) {
  (void)state;
  size_t small_nodes, large_nodes;
  uint64_t small = visits_of(100, &small_nodes), large = visits_of(1000, &large_nodes);
  assert_int_equal(large_nodes, 10 * small_nodes);
  assert_true(small > 2 * small_nodes); /* the count is alive */
  if (large > 12 * small)
    fail_msg("%llu visits for %zu nodes, %llu for %zu", (unsigned long long)large, large_nodes, (unsigned long long)small, small_nodes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_report_names_pass_pattern_and_place),   cmocka_unit_test(stop_print_and_limit_are_honoured),
      cmocka_unit_test(unknown_passes_are_named_with_the_nearest), cmocka_unit_test(source_names_stay_reachable),
      cmocka_unit_test(the_static_gate_names_the_symbol),          cmocka_unit_test(every_node_gets_place_and_reason),
      cmocka_unit_test(work_grows_with_the_graph_alone),
  };
  return cmocka_run_group_tests_name("passes/manager", tests, NULL, NULL);
}
