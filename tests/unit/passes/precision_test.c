/* SPDX-License-Identifier: Apache-2.0 */
/* convert-dtype: graph in, graph out, in ONNX text; and what it refuses. Right values: IEEE 754's rounding, ONNX's schemas (the table itself is compared with them by tests/peers/precision_table.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ir/text.h"
#include "passes/precision.h"
#include "support/ir.h"

typedef struct outcome {
  arena *a;
  diag *d;
  module *m;
  precision_report report;
  npuc_status status;
} outcome;

static outcome converted(const char *text, precision_request r) {
  outcome o = {.a = npuc_arena_create(), .d = npuc_diag_create(NULL, NULL), .m = npuc_test_module(text)};
  bool is_float = npuc_dtype_kind(r.to) == KIND_FLOAT;
  o.status = is_float ? npuc_convert_floats(o.d, o.a, o.m, &r, &o.report) : npuc_narrow_integers(o.d, o.a, o.m, &r, &o.report);
  return o;
}

static void finish(outcome *o) {
  npuc_module_destroy(o->m);
  npuc_diag_destroy(o->d);
  npuc_arena_destroy(o->a);
}

static void gives(const char *text, precision_request r, const char *wanted) {
  outcome o = converted(text, r);
  const diag_record *e = npuc_diag_first_error(o.d);
  if (o.status != NPUC_OK) fail_msg("%s", e ? e->reason : "no reason");
  npuc_test_graph_is(o.m->graphs[0], wanted);
  finish(&o);
}

static void refused(const char *text, precision_request r, const char *code, const char *where, const char *reason) {
  outcome o = converted(text, r);
  assert_int_not_equal(o.status, NPUC_OK);
  const diag_record *e = npuc_diag_first_error(o.d);
  assert_non_null(e);
  assert_string_equal(npuc_diag_info(e->code)->text_code + 5, code);
  if (where) assert_string_equal(e->place.node, where);
  if (!strstr(e->reason, reason)) fail_msg("%s does not say: %s", e->reason, reason);
  finish(&o);
}

static const char scale[] = "g (float[2] x) => (float[2] y) <float[2] w = {1.5, -2.25}> { a = Mul (x, w) y = Relu (a) }";

static void ports_keep_their_types_or_change_too(void **state) {
  (void)state;
  gives(
      scale, (precision_request){.to = DTYPE_BF16},
      "g (float[2] x) => (float[2] y)\n<bfloat16[2] w_bf16 = {16320, 49168}>\n{\n"
      "   x_bf16 = Cast <to = 16> (x)\n   a = Mul (x_bf16, w_bf16)\n   [y] y_bf16 = Relu (a)\n   [y_fp32] y = Cast <to = 1> (y_bf16)\n}\n");
  gives(scale, (precision_request){.to = DTYPE_F16, .convert_ports = true},
        "g (float16[2] x) => (float16[2] y)\n<float16[2] w_fp16 = {15872, 49280}>\n{\n   a = Mul (x, w_fp16)\n   y = Relu (a)\n}\n");
}

static void what_is_kept_has_casts_around_it(void **state) {
  (void)state;
  static const char *const softmax[] = {"Softmax"};
  gives("g (float[1,2] x) => (float[1,2] y) { a = Relu (x) p = Softmax (a) y = Mul (p, a) }",
        (precision_request){.to = DTYPE_BF16, .convert_ports = true, .keep = softmax, .n_keep = 1},
        "g (bfloat16[1,2] x) => (bfloat16[1,2] y)\n{\n   a = Relu (x)\n   a_fp32 = Cast <to = 1> (a)\n   p = Softmax (a_fp32)\n"
        "   p_bf16 = Cast <to = 16> (p)\n   y = Mul (p_bf16, a)\n}\n");
}

static void ports_of_the_table_stay(void **state) {
  (void)state;
  gives("g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[4] s = {1.0, 1.0, 2.0, 2.0}> { y = Resize <mode = \"linear\"> (x, \"\", s) }",
        (precision_request){.to = DTYPE_F16, .convert_ports = true},
        "g (float16[1,1,2,2] x) => (float16[1,1,4,4] y)\n<float[4] s = {1.0, 1.0, 2.0, 2.0}>\n{\n   y = Resize <mode = \"linear\"> (x, "
        "\"\", s)\n}\n");
}

static void scales_of_quantization_stay(void **state) {
  (void)state;
  gives(
      "g (float[2] x) => (float[2] y) <float s = {0.1}, uint8 z = {3}> { q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) y = "
      "Relu (d) }",
      (precision_request){.to = DTYPE_BF16, .convert_ports = true},
      "g (bfloat16[2] x) => (bfloat16[2] y)\n<float s = {0.1},\n uint8 z = {3}>\n{\n   x_fp32 = Cast <to = 1> (x)\n   q = QuantizeLinear "
      "(x_fp32, s, z)\n"
      "   d = DequantizeLinear (q, s, z)\n   d_bf16 = Cast <to = 16> (d)\n   y = Relu (d_bf16)\n}\n");
}

/* Casts to float32 and constants made by nodes follow; stash_type, the type that sums are taken in, stays float32. */
static void attributes_that_name_the_type_follow(void **state) {
  (void)state;
  gives("g (int64[2] i, float[2] s) => (float[2] y, float[1] m) { f = Cast <to = 1> (i) y, m = LayerNormalization (f, s) }",
        (precision_request){.to = DTYPE_F16, .convert_ports = true},
        "g (int64[2] i, float16[2] s) => (float16[2] y, float16[1] m)\n{\n   f = Cast <to = 10> (i)\n   y, m_fp32 = LayerNormalization (f, "
        "s)\n"
        "   [m_fp16] m = Cast <to = 10> (m_fp32)\n}\n");
}

static void bodies_are_converted_with_their_ports(void **state) {
  (void)state;
  outcome o = converted(
      "g (bool c, float[2] x) => (float[2] y) { y = If (c) <then_branch = t () => (float[2] a) { a = Relu (x) }, else_branch = e () => "
      "(float[2] b) <float two = {2.0}> { b = Mul (x, two) }> }",
      (precision_request){.to = DTYPE_BF16, .convert_ports = true});
  assert_int_equal(o.status, NPUC_OK);
  const node *n = npuc_graph_node(o.m->graphs[0], "y");
  for (int i = 0; i < 2; i++) {
    assert_int_equal(npuc_node_body(n, i)->outputs[0]->type, DTYPE_BF16);
    assert_int_equal(npuc_node_body(n, i)->inputs[0]->type, DTYPE_BF16);
  }
  assert_int_equal(o.report.casts, 0);
  finish(&o);
}

/* 1 + 2^-8 and 1 + 3 * 2^-8 lie between two bfloat16: half goes to the even one, truncation down. */
static void rounding_is_to_nearest_even_or_truncation(void **state) {
  (void)state;
  const char text[] = "g (float[3] x) => (float[3] y) <float[3] w = {1.00390625, 1.01171875, -1.01171875}> { y = Add (x, w) }";
  static const double nearest[] = {1.0, 1.015625, -1.015625}, truncated[] = {1.0, 1.0078125, -1.0078125};
  for (int cut = 0; cut < 2; cut++) {
    outcome o = converted(text, (precision_request){.to = DTYPE_BF16, .convert_ports = true, .truncate = cut});
    const value *w = npuc_graph_value(o.m->graphs[0], "w_bf16");
    for (int i = 0; i < 3; i++) assert_true(npuc_tensor_get(w->constant, i) == (cut ? truncated : nearest)[i]);
    finish(&o);
  }
}

static void a_float_that_does_not_fit_is_refused_or_clamped(void **state) {
  (void)state;
  const char mask[] = "g (float[2] x) => (float[2] y) <float[2] w = {-1e9, 0.0}> { y = Add (x, w) }";
  refused(mask, (precision_request){.to = DTYPE_F16}, "E0513", "w", "beyond float16");
  outcome o = converted(mask, (precision_request){.to = DTYPE_F16, .clamp = true});
  assert_int_equal(o.status, NPUC_OK);
  assert_int_equal(o.report.clamped, 1);
  assert_true(npuc_tensor_get(npuc_graph_value(o.m->graphs[0], "w_fp16")->constant, 0) == -65504.0);
  finish(&o);
  /* bfloat16 holds it; infinity is infinity; an epsilon that vanishes is told */
  o = converted(mask, (precision_request){.to = DTYPE_BF16});
  assert_int_equal(o.status, NPUC_OK);
  finish(&o);
  o = converted("g (float[1] x) => (float[1] y) <float[1] w = {-inf}, float e = {1e-12}> { a = Max (x, w) y = Add (a, e) }",
                (precision_request){.to = DTYPE_F16});
  assert_int_equal(o.status, NPUC_OK);
  assert_int_equal(o.report.clamped, 0);
  assert_int_equal(o.report.vanished, 1);
  assert_int_equal(npuc_diag_at(o.d, 0)->code, NPUC_DIAG_E0515);
  finish(&o);
}

/* -- integers -- */

static void shapes_stay_int64_and_data_becomes_int32(void **state) {
  (void)state;
  gives(
      "g (int64[2] i, float[10,3] table) => (float[6] y, int64[2] z) <int64[1] six = {6}, int64 one = {1}> "
      "{ rows = Gather (table, i) y = Reshape (rows, six) z = Add (i, one) }",
      (precision_request){.to = DTYPE_I32},
      "g (int64[2] i, float[10,3] table) => (float[6] y, int64[2] z)\n<int64[1] six = {6},\n int32 one_int32 = {1}>\n{\n   i_int32 = Cast "
      "<to = 6> (i)\n"
      "   rows = Gather (table, i_int32)\n   y = Reshape (rows, six)\n   [z] z_int32 = Add (i_int32, one_int32)\n   [z_int64] z = Cast <to "
      "= 7> (z_int32)\n}\n");
}

/* ArgMax gives int64 by its schema; what is computed from it is int32; the Slice that takes it as a begin gets int64 back. */
static void results_by_schema_have_casts(void **state) {
  (void)state;
  gives("g (float[2,5] x) => (int64[2] y) <int64 two = {2}> { a = ArgMax <axis = 1, keepdims = 0> (x) y = Mul (a, two) }",
        (precision_request){.to = DTYPE_I32, .convert_ports = true},
        "g (float[2,5] x) => (int32[2] y)\n<int32 two_int32 = {2}>\n{\n   a = ArgMax <axis = 1, keepdims = 0> (x)\n   a_int32 = Cast <to = "
        "6> (a)\n"
        "   y = Mul (a_int32, two_int32)\n}\n");
}

static const char sums[] = "g (int64[2] i) => (int64[2] y) <int64 k = {1000}> { a = Mul (i, k) y = Add (a, i) }";

static void a_range_is_proved_or_vouched_for(void **state) {
  (void)state;
  refused(sums, (precision_request){.to = DTYPE_I32}, "E0513", "i", "range is not known");
  value_range fits = {"i", -2000000, 2000000}, large = {"i", 0, 3000000}, beyond = {"i", 0, INT64_C(1) << 40};
  gives(sums, (precision_request){.to = DTYPE_I32, .ranges = &fits, .n_ranges = 1},
        "g (int64[2] i) => (int64[2] y)\n<int32 k_int32 = {1000}>\n{\n   i_int32 = Cast <to = 6> (i)\n   a = Mul (i_int32, k_int32)\n"
        "   [y] y_int32 = Add (a, i_int32)\n   [y_int64] y = Cast <to = 7> (y_int32)\n}\n");
  refused(sums, (precision_request){.to = DTYPE_I32, .ranges = &large, .n_ranges = 1}, "E0513", "a", "[0, 3000000000]");
  refused(sums, (precision_request){.to = DTYPE_I32, .ranges = &beyond, .n_ranges = 1}, "E0513", "i", "int32 does not hold");
  refused(sums, (precision_request){.to = DTYPE_I32, .convert_ports = true}, "E0513", "a", "does not hold");
  value_range nothing = {"j", 0, 1};
  refused(sums, (precision_request){.to = DTYPE_I32, .ranges = &nothing, .n_ranges = 1}, "E0514", NULL, "\"j\"");
}

static void a_constant_that_does_not_fit_is_refused(void **state) {
  (void)state;
  refused("g (int64[1] i) => (bool[1] y) <int64 k = {4294967296}> { y = Less (i, k) }",
          (precision_request){.to = DTYPE_I32, .convert_ports = true}, "E0513", "k", "[4294967296, 4294967296]");
  /* the end of a Slice is no number of the data: it stays */
  gives("g (float[4] x) => (float[3] y) <int64[1] one = {1}, int64[1] end = {9223372036854775807}> { y = Slice (x, one, end) }",
        (precision_request){.to = DTYPE_I32, .convert_ports = true},
        "g (float[4] x) => (float[3] y)\n<int64[1] one = {1},\n int64[1] end = {9223372036854775807}>\n{\n   y = Slice (x, one, end)\n}\n");
}

static void keep_must_name_something(void **state) {
  (void)state;
  static const char *const slip[] = {"Softmaks"};
  refused(scale, (precision_request){.to = DTYPE_BF16, .keep = slip, .n_keep = 1}, "E0514", NULL, "Softmaks");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ports_keep_their_types_or_change_too),
      cmocka_unit_test(what_is_kept_has_casts_around_it),
      cmocka_unit_test(ports_of_the_table_stay),
      cmocka_unit_test(scales_of_quantization_stay),
      cmocka_unit_test(attributes_that_name_the_type_follow),
      cmocka_unit_test(bodies_are_converted_with_their_ports),
      cmocka_unit_test(rounding_is_to_nearest_even_or_truncation),
      cmocka_unit_test(a_float_that_does_not_fit_is_refused_or_clamped),
      cmocka_unit_test(shapes_stay_int64_and_data_becomes_int32),
      cmocka_unit_test(results_by_schema_have_casts),
      cmocka_unit_test(a_range_is_proved_or_vouched_for),
      cmocka_unit_test(a_constant_that_does_not_fit_is_refused),
      cmocka_unit_test(keep_must_name_something),
  };
  return cmocka_run_group_tests_name("passes/precision", tests, NULL, NULL);
}
