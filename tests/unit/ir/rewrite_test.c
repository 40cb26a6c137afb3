/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "ir/rewrite.h"
#include "support/ir.h"

enum { Y, A, X, C, D };

/* Relu(Relu(x)) -> Relu(x) */
static void keep_inner(rewriter *r, const match *m) { npuc_rewrite_replace(r, m->values[Y], m->values[A]); }
static const pattern relu_relu = {
    .name = "relu-relu", .doc = "Relu(Relu(x)) -> Relu(x)", .root = NODE(OP_RELU, Y, NODE(OP_RELU, A, ANY(X))), .rewrite = keep_inner};

/* Mul(Add(x, c), d) -> Add(Mul(x, d), Mul(c, d)) with scalars */
static bool scalars(const match *m) { return npuc_is_scalar(m->values[C]) && npuc_is_scalar(m->values[D]); }
static void distribute(rewriter *r, const match *m) {
  value *left[] = {m->values[X], m->values[D]}, *right[] = {m->values[C], m->values[D]};
  value *sum[] = {npuc_rewrite_node(r, OP_MUL, left, 2, 1)->outputs[0], npuc_rewrite_node(r, OP_MUL, right, 2, 1)->outputs[0]};
  npuc_rewrite_replace(r, m->values[Y], npuc_rewrite_node(r, OP_ADD, sum, 2, 1)->outputs[0]);
}
static const pattern mul_of_add = {.name = "mul-of-add",
                                   .doc = "(x + c) d -> x d + c d",
                                   .parity = PARITY_REASSOCIATING,
                                   .root = NODE(OP_MUL, Y, ONE_USE(OP_ADD, A, ANY(X), CONST(C)), CONST(D)),
                                   .where = scalars,
                                   .rewrite = distribute};

static bool rewritten(module *m, const pattern *p, npuc_status wanted, diag *d) {
  bool changed = false;
  assert_int_equal(npuc_rewrite(d, m->graphs[0], &p, 1, NULL, NULL, &changed), wanted);
  npuc_test_recount(m->graphs[0]);
  if (wanted == NPUC_OK) {
    npuc_graph_remove_dead(m->graphs[0]);
    assert_int_equal(npuc_module_verify(d, m, p->name), NPUC_OK);
  }
  return changed;
}

static void goes_to(const pattern *p, const char *from, const char *to) {
  module *m = npuc_test_module(from);
  assert_true(rewritten(m, p, NPUC_OK, NULL));
  npuc_test_graph_is(m->graphs[0], to);
  npuc_module_destroy(m);
}

static void stays(const pattern *p, const char *text) {
  module *m = npuc_test_module(text), *same = npuc_test_module(text);
  assert_false(rewritten(m, p, NPUC_OK, NULL));
  arena *a = npuc_arena_create();
  assert_string_equal(npuc_module_print(a, m, NULL), npuc_module_print(a, same, NULL));
  npuc_arena_destroy(a);
  npuc_module_destroy(m);
  npuc_module_destroy(same);
}

static void a_chain_collapses_to_the_fixpoint(void **state) {
  (void)state;
  goes_to(&relu_relu, "main (float[2] x) => (float[2] y) { a = Relu (x) b = Relu (a) c = Relu (b) y = Relu (c) }",
          "main (float[2] x) => (float[2] y) { [a] y = Relu (x) }");
  stays(&relu_relu, "main (float[2] x) => (float[2] y) { a = Relu (x) b = Sigmoid (a) y = Relu (b) }");
}

static void commutative_inputs_match_in_both_orders(void **state) {
  (void)state;
  const char *wanted =
      "main (float[2] x) => (float[2] y) <float c = {3.0}, float d = {2.0}>\n"
      "{ y_1 = Mul (x, d) y_2 = Mul (c, d) y = Add (y_1, y_2) }";
  goes_to(&mul_of_add, "main (float[2] x) => (float[2] y) <float c = {3}, float d = {2}> { a = Add (x, c) y = Mul (a, d) }", wanted);
  goes_to(&mul_of_add, "main (float[2] x) => (float[2] y) <float c = {3}, float d = {2}> { a = Add (c, x) y = Mul (d, a) }", wanted);
}

static void what_the_pattern_does_not_say_does_not_match(void **state) {
  (void)state;
  /* the sum has a second reader; the constant is no scalar; nothing is constant; the sum is an output */
  stays(&mul_of_add, "main (float[2] x) => (y, z) <float c = {3}, float d = {2}> { a = Add (x, c) y = Mul (a, d) z = Relu (a) }");
  stays(&mul_of_add, "main (float[2] x) => (float[2] y) <float[2] c = {3, 4}, float d = {2}> { a = Add (x, c) y = Mul (a, d) }");
  stays(&mul_of_add, "main (float[2] x, float c, float d) => (float[2] y) { a = Add (x, c) y = Mul (a, d) }");
  stays(&mul_of_add, "main (float[2] x) => (y, a) <float c = {3}, float d = {2}> { a = Add (x, c) y = Mul (a, d) }");
}

/* The same capture twice is the same value: x x -> x for Max, in every order, through a nested commutative node too. */
static void keep_x(rewriter *r, const match *m) { npuc_rewrite_replace(r, m->values[Y], m->values[X]); }
static const pattern max_same = {.name = "max-same", .root = NODE(OP_ADD, Y, NODE(OP_MUL, A, ANY(X), ANY(C)), ANY(C)), .rewrite = keep_x};

static void a_capture_twice_is_one_value(void **state) {
  (void)state;
  goes_to(&max_same, "main (float[2] p, float[2] q) => (y) { u = Relu (p) a = Mul (q, u) s = Add (a, q) y = Relu (s) }",
          "main (float[2] p, float[2] q) => (float[2] y) { u = Relu (p) y = Relu (u) }");
  goes_to(&max_same, "main (float[2] p, float[2] q) => (y) { u = Relu (p) a = Mul (u, q) s = Add (q, a) y = Relu (s) }",
          "main (float[2] p, float[2] q) => (float[2] y) { u = Relu (p) y = Relu (u) }");
  stays(&max_same, "main (float[2] p, float[2] q, float[2] r) => (y) { a = Mul (p, q) s = Add (a, r) y = Relu (s) }");
}

static const pattern clip_open = {
    .name = "clip-open", .root = NODE(OP_CLIP, Y, ANY(X), OPTIONAL_CONST(C), OPTIONAL_INPUT(D)), .rewrite = keep_x};
static const pattern clip_bare = {.name = "clip-bare", .root = NODE(OP_CLIP, Y, ANY(X)), .rewrite = keep_x};

static void optional_inputs_may_be_absent(void **state) {
  (void)state;
  const char *to = "main (float[2] x) => (float[2] y) { a = Relu (x) y = Relu (a) }";
  goes_to(&clip_open, "main (float[2] x) => (y) { a = Relu (x) c = Clip (a) y = Relu (c) }", to);
  goes_to(&clip_open, "main (float[2] x) => (y) <float hi = {1}> { a = Relu (x) c = Clip (a, \"\", hi) y = Relu (c) }", to);
  goes_to(&clip_bare, "main (float[2] x) => (y) { a = Relu (x) c = Clip (a) y = Relu (c) }", to);
  /* inputs that the pattern does not list must be absent; an optional constant that is there must be one */
  stays(&clip_bare, "main (float[2] x) => (y) <float hi = {1}> { a = Relu (x) c = Clip (a, \"\", hi) y = Relu (c) }");
  stays(&clip_open, "main (float[2] x, float lo) => (y) { a = Relu (x) c = Clip (a, lo) y = Relu (c) }");
}

static void locations_and_places_are_inherited(void **state) {
  (void)state;
  module *m = npuc_test_module("main (float[2] x) => (float[2] y) <float c = {3}, float d = {2}> { a = Add (x, c) y = Mul (a, d) }");
  m->graphs[0]->last->place = "npu";
  assert_true(rewritten(m, &mul_of_add, NPUC_OK, NULL));
  const node *n = m->graphs[0]->first;
  assert_string_equal(n->location->name, "y");
  assert_int_equal(n->location->n_derived, 1);
  assert_string_equal(n->location->derived[0], "a");
  assert_string_equal(n->place, "npu");
  npuc_module_destroy(m);
}

/* Add(x, c) -> Add(x, c): matches its own result for ever. */
static void again(rewriter *r, const match *m) {
  value *inputs[] = {m->values[X], m->values[C]};
  npuc_rewrite_replace(r, m->values[Y], npuc_rewrite_node(r, OP_ADD, inputs, 2, 1)->outputs[0]);
}
static const pattern endless = {.name = "add-for-ever", .root = NODE(OP_ADD, Y, ANY(X), CONST(C)), .rewrite = again};

static void what_does_not_settle_is_named(void **state) {
  (void)state;
  module *m = npuc_test_module("main (float[2] x) => (float[2] y) <float c = {3}> { y = Add (x, c) }");
  diag *d = npuc_diag_create(NULL, NULL);
  assert_false(!rewritten(m, &endless, NPUC_INTERNAL, d));
  npuc_test_error_is(d, NPUC_DIAG_E0481, "add-for-ever");
  npuc_diag_destroy(d);
  npuc_module_destroy(m);
}

/* Relu(x) -> ReduceSum-like change of shape: Flatten gives [1,2] for [2]. */
static void flatten(rewriter *r, const match *m) {
  npuc_rewrite_replace(r, m->values[Y], npuc_rewrite_node(r, OP_FLATTEN, &m->values[X], 1, 1)->outputs[0]);
}
static const pattern wrong_shape = {.name = "relu-to-flatten", .root = NODE(OP_RELU, Y, ANY(X)), .rewrite = flatten};

static void a_rewrite_that_changes_a_type_is_named(void **state) {
  (void)state;
  module *m = npuc_test_module("main (float[2,3,4] x) => (y) { a = Relu (x) y = Sigmoid (a) }");
  diag *d = npuc_diag_create(NULL, NULL);
  rewritten(m, &wrong_shape, NPUC_INTERNAL, d);
  npuc_test_error_is(d, NPUC_DIAG_E0482, "relu-to-flatten");
  npuc_diag_destroy(d);
  npuc_module_destroy(m);
}

static void fail_it(rewriter *r, const match *m) {
  (void)m;
  r->status = NPUC_ENVIRONMENT;
}
static const pattern failing = {.name = "failing", .root = NODE(OP_RELU, Y, ANY(X)), .rewrite = fail_it};

static void a_failing_rewrite_stops_the_driver(void **state) {
  (void)state;
  module *m = npuc_test_module("main (float[2] x) => (y) { a = Relu (x) y = Relu (a) }");
  rewritten(m, &failing, NPUC_ENVIRONMENT, NULL);
  npuc_module_destroy(m);
}

static void count(void *user, const pattern *p, const node *root) {
  (void)p;
  assert_non_null(root->owner);
  ++*(int *)user;
}

static void the_limit_bisects_and_the_log_counts(void **state) {
  (void)state;
  const char *text = "main (float[2] x) => (y) { a = Relu (x) b = Relu (a) c = Relu (b) y = Relu (c) }";
  const pattern *patterns[] = {&relu_relu};
  for (int64_t wanted = 0; wanted <= 4; wanted++) {
    module *m = npuc_test_module(text);
    int64_t limit = wanted;
    int fired = 0;
    bool changed;
    rewrite_log log = {.fired = count, .user = &fired};
    assert_int_equal(npuc_rewrite(NULL, m->graphs[0], patterns, 1, &log, &limit, &changed), NPUC_OK);
    int most = wanted < 3 ? (int)wanted : 3;
    assert_int_equal(fired, most);
    assert_int_equal(limit, wanted - most);
    assert_int_equal(changed, most > 0);
    npuc_graph_remove_dead(m->graphs[0]);
    assert_int_equal(m->graphs[0]->n_nodes, 4 - most);
    npuc_module_destroy(m);
  }
}

static const pattern no_identity = {.name = "no-identity", .root = NODE(OP_IDENTITY, Y, ANY(X)), .rewrite = keep_x};

/* The copy of an input that an output needs is not worth a rewrite, and must not be tried for ever. */
static void an_output_copy_of_an_input_stays(void **state) {
  (void)state;
  stays(&no_identity, "main (float[2] x) => (float[2] y) { y = Identity (x) }");
  goes_to(&no_identity, "main (float[2] x) => (float[2] y) { a = Identity (x) y = Identity (a) }",
          "main (float[2] x) => (float[2] y) { y = Identity (x) }");
}

static void per_channel_constants_broadcast_along_axis_1(void **state) {
  (void)state;
  module *m = npuc_test_parse(
      "main (float[1] x) => (x)\n"
      "<float[3,1,1] a = {1,2,3}, float[1,3,1,1] b = {1,2,3}, float[1,1,1,1] c = {1}, float[3] d = {1,2,3}, float[3,1] e = {1,2,3}, "
      "float[1,1,3] f = {1,2,3}>\n"
      "{ ka = Relu (a) kb = Relu (b) kc = Relu (c) kd = Relu (d) ke = Relu (e) kf = Relu (f) }");
  const graph *g = m->graphs[0];
  assert_true(npuc_is_per_channel(npuc_graph_value(g, "a"), 3, 4));
  assert_true(npuc_is_per_channel(npuc_graph_value(g, "b"), 3, 4));
  assert_true(npuc_is_per_channel(npuc_graph_value(g, "c"), 3, 4));
  assert_true(npuc_is_per_channel(npuc_graph_value(g, "d"), 3, 2)); /* [N,C] */
  assert_true(npuc_is_per_channel(npuc_graph_value(g, "e"), 3, 3));
  assert_false(npuc_is_per_channel(npuc_graph_value(g, "d"), 3, 4)); /* along the width */
  assert_false(npuc_is_per_channel(npuc_graph_value(g, "f"), 3, 4));
  assert_false(npuc_is_per_channel(npuc_graph_value(g, "a"), 4, 4));
  assert_false(npuc_is_per_channel(npuc_graph_value(g, "x"), 1, 1)); /* not constant */
  assert_true(npuc_has_rank(npuc_graph_value(g, "x"), 1));
  npuc_module_destroy(m);
}

/* 20,000 pairs collapse one by one: quadratic work would not end within the test's limit. */
static void long_chains_are_rewritten_in_linear_time(void **state) {
  (void)state;
  module *m = npuc_module_create();
  graph *g = npuc_graph_create(m, "main");
  value *v = npuc_graph_add_input(g, "x", DTYPE_F32, &(shape){.rank = 1, .dims = {4}});
  for (int i = 0; i < 40000; i++) v = npuc_graph_insert_node(g, NULL, npuc_op(OP_RELU), "r", &v, 1, 1, NULL)->outputs[0];
  npuc_graph_add_output(g, v);
  assert_int_equal(npuc_graph_infer(NULL, g), NPUC_OK);
  assert_true(rewritten(m, &relu_relu, NPUC_OK, NULL));
  assert_int_equal(g->n_nodes, 1);
  npuc_module_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_chain_collapses_to_the_fixpoint),
      cmocka_unit_test(commutative_inputs_match_in_both_orders),
      cmocka_unit_test(what_the_pattern_does_not_say_does_not_match),
      cmocka_unit_test(a_capture_twice_is_one_value),
      cmocka_unit_test(optional_inputs_may_be_absent),
      cmocka_unit_test(locations_and_places_are_inherited),
      cmocka_unit_test(what_does_not_settle_is_named),
      cmocka_unit_test(a_rewrite_that_changes_a_type_is_named),
      cmocka_unit_test(a_failing_rewrite_stops_the_driver),
      cmocka_unit_test(the_limit_bisects_and_the_log_counts),
      cmocka_unit_test(an_output_copy_of_an_input_stays),
      cmocka_unit_test(per_channel_constants_broadcast_along_axis_1),
      cmocka_unit_test(long_chains_are_rewritten_in_linear_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
