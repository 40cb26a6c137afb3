/* SPDX-License-Identifier: Apache-2.0 */
/* IR graphs in ONNX text to integer graphs and placements. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/op.h"
#include "ir/text.h"
#include "npu/from_ir.h"
#include "npu/lower.h"
#include "support/npu_oracle.h"

static const char integer_text[] =
    "<ir_version: 10, opset_import: [\"\" : 28, \"npuc\" : 1]>\n"
    "main (uint8[1,2,6,6] x) => (uint8[1,3] y)\n"
    "<int8[2,2,1,1] w = {1, -2, 3, 4}, int32[2] b = {5, -6}, int32[2] M = {20000, 30000}, int32[2] s = {14, 15},\n"
    " int64[2] starts = {0, -5}, int64[2] ends = {100, 1000}, int64[2] axes = {2, 3}, int64[2] steps = {2, 2},\n"
    " int64[8] pads = {0, 1, 0, 0, 0, 0, 0, 0}, uint8 fill = {7},\n"
    " int32[1] m1 = {16384}, int32[1] s1 = {17},\n"
    " int8[3,3] wg = {1, 2, 3, -4, 5, 6, 7, 8, -9}, int32[3] bg = {1, 2, 3}, int32[3] mg = {16384, 16385, 16386}, int32[3] sg = {14, 14, "
    "14}>\n"
    "{\n"
    "  c = npuc.QConv <kernel_shape = [1,1], strides = [1,1], pads = [0,0,0,0], dilations = [1,1], group = 1, x_zero_point = 3, "
    "y_zero_point = 9, lo = 0, hi = 255, y_dtype = 2> (x, w, b, M, s)\n"
    "  t = Slice (c, starts, ends, axes, steps)\n"
    "  p = Pad <mode = \"constant\"> (t, pads, fill)\n"
    "  q = npuc.QGlobalAveragePool <x_zero_point = 9, y_zero_point = 4, lo = 0, hi = 255, y_dtype = 2> (p, m1, s1)\n"
    "  f = Flatten <axis = 1> (q)\n"
    "  y = npuc.QGemm <x_zero_point = 4, y_zero_point = 100, lo = 0, hi = 255, y_dtype = 2> (f, wg, bg, mg, sg)\n"
    "}\n";

static module *parse(const char *text) {
  diag *d = npuc_diag_create(NULL, NULL);
  module *m = NULL;
  npuc_status status = npuc_module_parse(d, "test", text, strlen(text), &m);
  if (status == NPUC_OK) status = npuc_graph_infer(d, m->graphs[0]);
  if (status != NPUC_OK) fail_msg("%s", npuc_diag_first_error(d)->reason);
  npuc_diag_destroy(d);
  return m;
}

static npu_arch load_arch(arena *a, int n) {
  npu_arch arch;
  assert_int_equal(npuc_npu_arch_load(NULL, a, npuc_arena_printf(a, "%s/share/npuc/targets/refnpu-n%d.json", NPUC_SOURCE_DIR, n), &arch),
                   NPUC_OK);
  return arch;
}

static void test_integer_graph(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  module *m = parse(integer_text);
  diag *d = npuc_diag_create(NULL, NULL);
  qgraph *g = NULL;
  if (npuc_npu_from_ir(d, a, m->graphs[0], &g) != NPUC_OK) fail_msg("%s", npuc_diag_first_error(d)->reason);
  assert_int_equal(g->n_nodes, 6);
  assert_int_equal(g->nodes[1].op, QOP_Slice);
  uint32_t count;
  const int64_t *starts = npuc_qnode_list(&g->nodes[1], QATTR_starts, &count), *ends = npuc_qnode_list(&g->nodes[1], QATTR_ends, &count);
  assert_true(starts[0] == 0 && starts[1] == 1 && ends[0] == 6 && ends[1] == 6);
  assert_int_equal(npuc_qnode_int(&g->nodes[2], QATTR_value, -1), 7);
  npu_arch arch = load_arch(a, 8);
  npu_program *p = NULL;
  assert_int_equal(npuc_npu_compile(d, a, g, &arch, &p), NPUC_OK);
  for (size_t i = 0; i < g->n_nodes; i++) assert_true(g->nodes[i].on_npu);
  uint8_t x[72];
  for (int i = 0; i < 72; i++) x[i] = (uint8_t)(i * 7);
  const uint8_t *inputs[] = {x};
  uint8_t **values = NPUC_NEW_ARRAY(a, g->n_tensors, uint8_t *), **expected = npu_oracle_run(a, g, inputs);
  assert_true(npu_program_run(a, g, p, inputs, 0, values) != UINT64_MAX);
  assert_memory_equal(values[g->outputs[0]], expected[g->outputs[0]], 3);
  npuc_diag_destroy(d);
  npuc_module_destroy(m);
  npuc_arena_destroy(a);
}

static void test_float_placement(void **state) {
  (void)state;
  static const char text[] =
      "<ir_version: 10, opset_import: [\"\" : 28]>\n"
      "main (float[1,8,10,10] x) => (float[1,5] y)\n"
      "<float[8,1,3,3] w = {...}, float[8,2,1,1] v = {...}, float[200,5] k = {...}, float[5] b = {...}>\n"
      "{ c = Conv <group = 8, pads = [1,1,1,1]> (x, w)\n"
      "  r = Relu (c)\n"
      "  g = Conv <group = 4> (r, v)\n"
      "  t = Transpose <perm = [0,1,3,2]> (g)\n"
      "  m = MaxPool <kernel_shape = [2,2], strides = [2,2]> (t)\n"
      "  f = Flatten (m)\n"
      "  y = Gemm (f, k, b)\n"
      "}\n";
  static const struct {
    op_id op;
    const char *place, *word;
  } expected[] = {
      {OP_CONV, "npu", "array"},     {OP_RELU, "npu", "vector"},        {OP_CONV, "host", "grouped"}, {OP_TRANSPOSE, "host", "transposing"},
      {OP_MAXPOOL, "npu", "vector"}, {OP_FLATTEN, "npu", "same bytes"}, {OP_GEMM, "npu", "array"}};
  diag *d = npuc_diag_create(NULL, NULL);
  module *m = NULL;
  char *whole = strdup(text);
  /* The text form has no constants of unknown content: zeros are spelled out. */
  arena *a = npuc_arena_create();
  char *with_zeros = npuc_arena_str(a, "");
  static const int counts[] = {72, 16, 1000, 5};
  char *rest = whole;
  for (int i = 0; i < 4; i++) {
    char *dots = strstr(rest, "...");
    *dots = 0;
    with_zeros = npuc_arena_printf(a, "%s%s0", with_zeros, rest);
    for (int k = 1; k < counts[i]; k++) with_zeros = npuc_arena_printf(a, "%s, 0", with_zeros);
    rest = dots + 3;
  }
  with_zeros = npuc_arena_printf(a, "%s%s", with_zeros, rest);
  free(whole);
  if (npuc_module_parse(d, "test", with_zeros, strlen(with_zeros), &m) != NPUC_OK || npuc_graph_infer(d, m->graphs[0]) != NPUC_OK)
    fail_msg("%s", npuc_diag_first_error(d)->reason);
  NPUC_EACH_NODE(m->graphs[0], n) {
    if (n->op->complete) assert_int_equal(n->op->complete(d, n), NPUC_OK);
  }
  npu_arch arch = load_arch(a, 16);
  npuc_npu_place_graph(&arch, m->graphs[0]);
  size_t i = 0;
  NPUC_EACH_NODE(m->graphs[0], n) {
    assert_int_equal(n->op->id, expected[i].op);
    assert_string_equal(n->place, expected[i].place);
    assert_non_null(strstr(n->place_reason, expected[i].word));
    i++;
  }
  npuc_module_destroy(m);
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
}

/* The gate of stage quantize compares these with the places of the integer operators: they must be the same. */
static void test_float_placement_is_that_of_the_integers(void **state) {
  (void)state;
  static const char head[] = "<ir_version: 10, opset_import: [\"\" : 28]> main (float[1,3,6,6] x) => ";
  static const char *const texts[] = {
      "(float[1,3,6,6] y) { y = Identity (x) }", /* moves alone: all of it exists on integers too, but these are floats */
      "(float[1,3] y) <int64[2] axes = {-1, 2}> { y = ReduceSum <keepdims = 0> (x, axes) }",
      "(float[1,3,1,1] y) <int64[2] axes = {2, 3}> { y = ReduceSum (x, axes) }",
      "(float[1,3] y) <int64[2] axes = {2, 3}> { y = ReduceMean <keepdims = 0> (x, axes) }",
  };
  arena *a = npuc_arena_create();
  npu_arch arch = load_arch(a, 16);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    module *m = parse(npuc_arena_printf(a, "%s%s", head, texts[i]));
    npuc_npu_place_graph(&arch, m->graphs[0]);
    assert_string_equal(m->graphs[0]->first->place, "npu");
    npuc_module_destroy(m);
  }
  module *channels =
      parse(npuc_arena_printf(a, "%s(float[1,6,6] y) <int64[1] axes = {1}> { y = ReduceSum <keepdims = 0> (x, axes) }", head));
  npuc_npu_place_graph(&arch, channels->graphs[0]);
  assert_string_equal(channels->graphs[0]->first->place, "host");
  npuc_module_destroy(channels);
  npuc_arena_destroy(a);
}

static void test_refusals(void **state) {
  (void)state;
  static const char *const texts[] = {
      "<ir_version: 10, opset_import: [\"\" : 28]> main (float[1,4] x) => (float[1,4] y) { y = Relu (x) }",
      "<ir_version: 10, opset_import: [\"\" : 28]> main (uint8[N,4] x) => (uint8[N,4] y) { y = Identity (x) }",
  };
  for (size_t i = 0; i < 2; i++) {
    arena *a = npuc_arena_create();
    diag *d = npuc_diag_create(NULL, NULL);
    module *m = parse(texts[i]);
    qgraph *g;
    assert_int_equal(npuc_npu_from_ir(d, a, m->graphs[0], &g), NPUC_UNSUPPORTED);
    assert_int_equal(npuc_diag_first_error(d)->code, NPUC_DIAG_E0805);
    npuc_module_destroy(m);
    npuc_diag_destroy(d);
    npuc_arena_destroy(a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_integer_graph), cmocka_unit_test(test_float_placement),
                                     cmocka_unit_test(test_float_placement_is_that_of_the_integers), cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
