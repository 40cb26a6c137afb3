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

/* 20,000 nodes: linear passes take a moment here, quadratic ones the test's whole time limit. */
static void large_graphs_settle(void **state) {
  (void)state;
  module *m = npuc_module_create();
  graph *g = npuc_graph_create(m, "g");
  shape s = {.rank = 2, .dims = {npuc_module_symbol(m, "N"), 4}};
  value *x = npuc_graph_add_input(g, "x", DTYPE_F32, &s);
  for (int i = 0; i < 5000; i++) {
    float numbers[] = {1.0f, 2.0f, 3.0f, 4.0f};
    value *c = npuc_graph_constant_floats(g, "c", numbers, 4);
    static const op_id chain[] = {OP_IDENTITY, OP_ADD, OP_DROPOUT, OP_RELU};
    for (int k = 0; k < 4; k++) {
      x = npuc_graph_insert_node(g, NULL, npuc_op(chain[k]), "n", (value *[]){x, c}, chain[k] == OP_ADD ? 2 : 1, 1, NULL)->outputs[0];
    }
  }
  npuc_graph_add_output(g, x);
  arena *a = npuc_arena_create();
  pass_report report;
  pass_options options = {.limit = -1};
  assert_int_equal(npuc_passes_run(NULL, a, m, "normalize", &options, &report), NPUC_OK);
  assert_int_equal(g->n_nodes, 10000);
  npuc_test_recount(g);
  npuc_arena_destroy(a);
  npuc_module_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_report_names_pass_pattern_and_place),
      cmocka_unit_test(stop_print_and_limit_are_honoured),
      cmocka_unit_test(unknown_passes_are_named_with_the_nearest),
      cmocka_unit_test(source_names_stay_reachable),
      cmocka_unit_test(the_static_gate_names_the_symbol),
      cmocka_unit_test(every_node_gets_place_and_reason),
      cmocka_unit_test(large_graphs_settle),
  };
  return cmocka_run_group_tests_name("passes/manager", tests, NULL, NULL);
}
