/* SPDX-License-Identifier: Apache-2.0 */
/* What operators hand on besides shapes: contents of small tensors with symbols, attributes that follow from shapes, costs, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ir/attributes.h"
#include "support/ir.h"

static void computed_reshape_targets_keep_symbols(void **state) {
  (void)state;
  module *m = npuc_test_module(
      "g (float[N,3,4,5] x) => (float[N,Q] y, float[N,R,S] z, float[A,B,C,D] e) "
      "<int64 zero = {0}, int64 one = {1}, int64[1] axis = {0}, int64[1] minus = {-1}, int64 two = {2}, int64[1] last = {9}, int64[2] ones "
      "= {1, 1}> {"
      " s = Shape (x) n = Gather (s, zero) n1 = Unsqueeze (n, axis) to = Concat <axis = 0> (n1, minus) y = Reshape (x, to)"
      " head = Slice (s, axis, minus) c = Gather (s, one) cc = Mul (c, two) c1 = Unsqueeze (cc, axis) t2 = Concat <axis = 0> (n1, c1, "
      "minus) z = Reshape (x, t2)"
      " pair = Shape <start = -2> (x) half = Div (s, s) e0 = Concat <axis = 0> (ones, pair) e = Expand (x, e0) }");
  const graph *g = m->graphs[0];
  npuc_test_type_is(g, "y", "float[N,60]");
  npuc_test_type_is(g, "z", "float[N,6,10]");
  npuc_test_type_is(g, "e", "float[N,3,4,5]");
  npuc_module_destroy(m);
}

static void arithmetic_on_symbols_is_careful(void **state) {
  (void)state;
  module *m = npuc_test_module(
      "g (float[N,3] x, float[12] v) => (float[N,P] same, float[Q] nil, float[R,3] grown) "
      "<int64[1] zero = {0}, int64[1] one = {1}, int64[1] three = {3}> {"
      " n = Shape <end = 1> (x) a = Add (n, zero) b = Mul (one, a) c = Div (b, one) d = Sub (c, zero) e = Max (d, d) f = Cast <to = 7> (e)"
      " t = Concat <axis = 0> (f, three) same = Reshape (x, t)"
      " o = Sub (n, n) nil = ConstantOfShape (o)"
      " p = Add (n, one) t2 = Concat <axis = 0> (p, three) grown = ConstantOfShape (t2) }");
  const graph *g = m->graphs[0];
  npuc_test_type_is(g, "same", "float[N,3]");
  npuc_test_type_is(g, "nil", "float[0]");
  /* N + 1 is no symbol that is known: R stays what it was called. */
  npuc_test_type_is(g, "grown", "float[R,3]");
  npuc_module_destroy(m);
}

static void check_pads(const char *auto_pad, int64_t a, int64_t b, int64_t c, int64_t d) {
  arena *text = npuc_arena_create();
  module *m = npuc_test_module(npuc_arena_printf(text,
                                                 "g (float[1,1,5,6] x) => (y) <float[1,1,2,3] w = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}> "
                                                 "{ y = Conv <auto_pad = \"%s\", strides = [2, 2]> (x, w) }",
                                                 auto_pad));
  const conv_attributes *conv = NPUC_ATTRS(conv_attributes, m->graphs[0]->first);
  assert_string_equal(conv->auto_pad, "NOTSET");
  assert_int_equal(conv->pads.count, 4);
  int64_t wanted[] = {a, b, c, d};
  for (int i = 0; i < 4; i++) assert_int_equal(conv->pads.values[i], wanted[i]);
  assert_true(conv->kernel_shape.count == 2 && conv->kernel_shape.values[0] == 2 && conv->kernel_shape.values[1] == 3);
  assert_true(conv->dilations.count == 2 && conv->dilations.values[1] == 1);
  npuc_module_destroy(m);
  npuc_arena_destroy(text);
}

/* Height 5, kernel 2, stride 2: 3 outputs want 6 cells, one more. Width 6, kernel 3, stride 2: 3 outputs want 7 cells, one more. */
static void auto_pad_becomes_pads(void **state) {
  (void)state;
  check_pads("SAME_UPPER", 0, 0, 1, 1);
  check_pads("SAME_LOWER", 1, 1, 0, 0);
  check_pads("VALID", 0, 0, 0, 0);
}

static void auto_pad_waits_for_numbers(void **state) {
  (void)state;
  module *m = npuc_test_module(
      "g (float[1,1,H,6] x) => (y) <float[1,1,3,3] w = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0}> { y = Conv <auto_pad = "
      "\"SAME_UPPER\"> (x, w) }");
  assert_string_equal(NPUC_ATTRS(conv_attributes, m->graphs[0]->first)->auto_pad, "SAME_UPPER");
  npuc_test_type_is(m->graphs[0], "y", "float[1,1,H,6]");
  npuc_module_destroy(m);
}

static void costs_count_multiplications(void **state) {
  (void)state;
  module *m = npuc_test_module(
      "g (float[1,4,8,8] x, float[2,3] a, float[5,2,3] s, float[6,4,3,3] w, float[4,1,3,3] v, float[3,7] b) => (c, d, e, f) {"
      " c = Conv <pads = [1, 1, 1, 1]> (x, w) d = Conv <group = 4> (x, v) e = Gemm (a, b) f = MatMul (s, b) }");
  double wanted[] = {64.0 * 6 * 36, 36.0 * 4 * 9, 2.0 * 7 * 3, 5.0 * 2 * 7 * 3};
  int i = 0;
  NPUC_EACH_NODE(m->graphs[0], n) assert_true(npuc_node_cost(n).macs == wanted[i++]);
  npuc_module_destroy(m);
}

static void refused(const char *text, const char *part) {
  diag *d = npuc_diag_create(NULL, NULL);
  module *m = npuc_test_parse(text);
  npuc_status status = npuc_graph_infer(d, m->graphs[0]);
  if (status == NPUC_OK) status = npuc_graph_verify(d, m->graphs[0], NULL);
  assert_int_not_equal(status, NPUC_OK);
  const diag_record *e = npuc_diag_first_error(d);
  assert_non_null(e);
  if (!strstr(e->reason, part)) fail_msg("\"%s\" has no \"%s\"", e->reason, part);
  npuc_module_destroy(m);
  npuc_diag_destroy(d);
}

/* Each message says what was wanted and what was given. */
static void refusals_say_both_sides(void **state) {
  (void)state;
  refused("g (float[1,4,8,8] x, float[6,3,3,3] w) => (y) { y = Conv (x, w) }", "weight expects 3 input channels");
  refused("g (float[1,4,8,8] x, float[6,2,3,3] w) => (y) { y = Conv <group = 4> (x, w) }",
          "6 output channels are not divisible by group 4");
  refused("g (float[1,4,2,8] x, float[6,4,3,3] w) => (y) { y = Conv (x, w) }", "a window of 3 cells does not fit into 2");
  refused("g (float[1,4,8,8] x, float[6,4,3,3] w) => (y) { y = Conv <pads = [1, 1]> (x, w) }", "4 values wanted, 2 given");
  refused("g (float[1,4,8,8] x) => (y) { y = MaxPool <kernel_shape = [2, 2], pads = [2, 0, 0, 0]> (x) }",
          "less than the window's 2 wanted");
  refused("g (float[2,3] x) => (y) <int64[2] t = {4, -1}> { y = Reshape (x, t) }", "do not fit");
  refused("g (float[2,3] x, float[4,3] z) => (y) { y = Gemm (x, z) }", "3 elements of A and 4 of B");
  refused("g (float[2,3] x, float[3,2] z) => (y) { y = Add (x, z) }", "[2,3] and [3,2] do not broadcast");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(computed_reshape_targets_keep_symbols),
      cmocka_unit_test(arithmetic_on_symbols_is_careful),
      cmocka_unit_test(auto_pad_becomes_pads),
      cmocka_unit_test(auto_pad_waits_for_numbers),
      cmocka_unit_test(costs_count_multiplications),
      cmocka_unit_test(refusals_say_both_sides),
  };
  return cmocka_run_group_tests_name("ir_ops/content", tests, NULL, NULL);
}
