/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "ir/attributes.h"
#include "support/ir.h"

static void types_flow_from_the_inputs(void **state) {
  (void)state;
  module *m = npuc_test_module(
      "main (float[N,1,9,8] x) => (y, u)\n"
      "<float[2,1,1,1] w = {1, 2}>\n"
      "{ c = Conv <strides = [2, 2]> (x, w) y = Flatten (c) u = QuantizeLinear (x, half, zero) half = Constant <value = float {0.5}> ()\n"
      "  zero = Constant <value = uint8 {7}> () }");
  npuc_test_type_is(m->graphs[0], "c", "float[N,2,5,4]");
  npuc_test_type_is(m->graphs[0], "y", "float[N,40]");
  npuc_test_type_is(m->graphs[0], "u", "uint8[N,1,9,8]");
  npuc_test_type_is(m->graphs[0], "half", "float");
  npuc_module_destroy(m);
}

/* The chain that exporters write for x.view(x.size(0), -1): the symbol survives it. */
static void shapes_computed_by_nodes_are_followed(void **state) {
  (void)state;
  module *m = npuc_test_module(
      "main (float[N,3,8,8] x) => (y)\n"
      "<int64[1] minus = {-1}>\n"
      "{\n"
      "  s = Shape (x)\n"
      "  zero = Constant <value_ints = [0]> ()\n"
      "  n = Gather (s, zero)\n"
      "  target = Concat <axis = 0> (n, minus)\n"
      "  y = Reshape (x, target)\n"
      "}");
  npuc_test_type_is(m->graphs[0], "y", "float[N,192]");
  npuc_test_type_is(m->graphs[0], "target", "int64[2]");
  npuc_module_destroy(m);
}

/* Arithmetic on shapes is evaluated where it is all numbers. */
static void small_constant_nodes_are_evaluated(void **state) {
  (void)state;
  module *m = npuc_test_module(
      "main (float[2,3,8,8] x) => (y)\n"
      "<int64[1] at = {2}, int64[1] two = {2}, int64[1] minus = {-1}>\n"
      "{ s = Shape (x) h = Gather (s, at) d = Mul (h, two) t = Concat <axis = 0> (d, minus) y = Reshape (x, t) }");
  npuc_test_type_is(m->graphs[0], "y", "float[16,24]");
  npuc_module_destroy(m);
}

static void inferring_twice_changes_nothing(void **state) {
  (void)state;
  module *m = npuc_test_module("main (float[N,M] x, int64[2] s) => (y) { r = Reshape (x, s) y = Relu (r) }");
  arena *a = npuc_arena_create();
  char *once = npuc_module_print(a, m, &(text_options){.types = true});
  assert_int_equal(npuc_graph_infer(NULL, m->graphs[0]), NPUC_OK);
  assert_string_equal(npuc_module_print(a, m, &(text_options){.types = true}), once);
  npuc_arena_destroy(a);
  npuc_module_destroy(m);
}

static void contradicted(const char *text, diag_code code, const char *part) {
  module *m = npuc_test_parse(text);
  diag *d = npuc_diag_create(NULL, NULL);
  assert_int_equal(npuc_graph_infer(d, m->graphs[0]), NPUC_BAD_INPUT);
  npuc_test_error_is(d, code, part);
  npuc_diag_destroy(d);
  npuc_module_destroy(m);
}

static void contradictions_name_the_node(void **state) {
  (void)state;
  contradicted("main (float[2,3] x) => (y) <float[2,4] t> { t = Relu (x) y = Relu (t) }", NPUC_DIAG_E0414, "[2,4]");
  contradicted("main (float[2,3] x) => (float[2] y) { y = Relu (x) }", NPUC_DIAG_E0414, "y");
  contradicted("main (float[2,3] x) => (int8[2,3] y) { y = Relu (x) }", NPUC_DIAG_E0413, "int8");
}

/* Files are inferred before they are verified: what a definition looks at must be there. */
static void missing_inputs_and_outputs_are_named(void **state) {
  (void)state;
  contradicted("main (float[1,2,3,3] x) => (y) { y = Conv () }", NPUC_DIAG_E0411, "Conv");
  contradicted("main (float[1,2,3,3] x) => (y) { y = Conv (x) }", NPUC_DIAG_E0411, "Conv");
  contradicted("main (float[1,2,3,3] x) => (y) { y = Transpose () }", NPUC_DIAG_E0411, "Transpose");
}

static void a_declaration_that_says_more_is_kept(void **state) {
  (void)state;
  module *m = npuc_test_module("main (float[N,M] x, int64[2] s) => (float[rows,7] y) { y = Reshape (x, s) }");
  npuc_test_type_is(m->graphs[0], "y", "float[rows,7]");
  npuc_module_destroy(m);
  /* Of two symbols the inferred one stands, because it ties the value to the input. */
  m = npuc_test_module("main (float[N,3] x) => (float[batch,3] y) { y = Relu (x) }");
  npuc_test_type_is(m->graphs[0], "y", "float[N,3]");
  npuc_module_destroy(m);
}

static void facts_bind_symbols_and_leave_the_graph(void **state) {
  (void)state;
  module *m = npuc_test_module("main (float[N,3] x, int64[2] s) => (y, float[N,3] z) { y = Relu (x) z = Reshape (x, s) }");
  graph *g = m->graphs[0];
  arena *scratch = npuc_arena_create();
  fact inputs[] = {{.type = DTYPE_F32, .shape = {.rank = 2, .dims = {5, 3}}}, {.type = DTYPE_I64, .shape = {.rank = 1, .dims = {2}}}};
  fact *facts;
  size_t symbols = m->n_symbols;
  assert_int_equal(npuc_graph_infer_facts(NULL, g, inputs, scratch, &facts), NPUC_OK);
  assert_int_equal(facts[npuc_graph_value(g, "y")->id].shape.dims[0], 5);
  assert_int_equal(facts[npuc_graph_value(g, "z")->id].shape.dims[0], 5); /* declared with N, which the input binds */
  npuc_test_type_is(g, "y", "float[N,3]");
  assert_int_equal(m->n_symbols, symbols);
  npuc_arena_destroy(scratch);
  npuc_module_destroy(m);
}

static void changed_inputs_need_forgotten_shapes(void **state) {
  (void)state;
  module *m = npuc_test_module("main (float[2,3] x) => (y) { t = Relu (x) y = Relu (t) }");
  graph *g = m->graphs[0];
  g->inputs[0]->shape.dims[0] = 7;
  assert_int_equal(npuc_graph_infer(NULL, g), NPUC_BAD_INPUT);
  npuc_graph_forget_shapes(g);
  assert_int_equal(npuc_graph_infer(NULL, g), NPUC_OK);
  npuc_test_type_is(g, "y", "float[7,3]");
  npuc_module_destroy(m);
}

static void attributes_are_completed_from_shapes(void **state) {
  (void)state;
  module *m = npuc_test_module(
      "main (float[1,1,5,5] x) => (y) <float[1,1,3,3] w = {1,1,1,1,1,1,1,1,1}> { y = Conv <auto_pad = \"SAME_UPPER\"> (x, w) }");
  const conv_attributes *c = NPUC_ATTRS(conv_attributes, m->graphs[0]->first);
  assert_string_equal(c->auto_pad, "NOTSET");
  assert_int_equal(c->kernel_shape.count, 2);
  assert_int_equal(c->pads.count, 4);
  assert_int_equal(c->pads.values[3], 1);
  npuc_module_destroy(m);
}

static void one_node_is_inferred_from_its_inputs(void **state) {
  (void)state;
  module *m = npuc_test_module("main (float[N,4] x) => (y) { y = Relu (x) }");
  graph *g = m->graphs[0];
  const int64_t dims[] = {0, 2, -1};
  value *inputs[] = {g->inputs[0], npuc_graph_constant_ints(g, "dims", DTYPE_I64, dims, 3)};
  node *n = npuc_graph_insert_node(g, NULL, npuc_op(OP_RESHAPE), "r", inputs, 2, 1, NULL);
  assert_int_equal(npuc_node_infer(NULL, n), NPUC_OK);
  npuc_test_type_is(g, "r", "float[N,2,2]");
  npuc_module_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(types_flow_from_the_inputs),           cmocka_unit_test(shapes_computed_by_nodes_are_followed),
      cmocka_unit_test(small_constant_nodes_are_evaluated),   cmocka_unit_test(inferring_twice_changes_nothing),
      cmocka_unit_test(contradictions_name_the_node),         cmocka_unit_test(missing_inputs_and_outputs_are_named),
      cmocka_unit_test(a_declaration_that_says_more_is_kept), cmocka_unit_test(facts_bind_symbols_and_leave_the_graph),
      cmocka_unit_test(changed_inputs_need_forgotten_shapes), cmocka_unit_test(attributes_are_completed_from_shapes),
      cmocka_unit_test(one_node_is_inferred_from_its_inputs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
