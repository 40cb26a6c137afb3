/* SPDX-License-Identifier: Apache-2.0 */
/* Functions in ONNX text, read into plain structs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/text.h"

static void a_function_has_its_parts(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  diag *d = npuc_diag_create(NULL, NULL);
  function_text f;
  const char *text =
      "<domain: \"npuc\", opset_import: [\"\" : 21]>\n"
      "QThing <zero_point, lo: int = -128, names = [\"a\", \"b\"]> (x, w, bias) => (y)\n"
      "{\n"
      "   # a comment\n"
      "   t = Conv <group: int = @group, pads = [0, 1], scale = 0.5> (x, w, \"\")\n"
      "   [last] y, \"\" = com.example.Clip <limit = int64[2] {-3, 4}> (t, , \"odd/name\") <e: ints = []>\n"
      "}\n";
  assert_int_equal(npuc_function_parse(d, a, "body", text, &f), NPUC_OK);
  assert_string_equal(f.domain, "npuc");
  assert_string_equal(f.name, "QThing");
  assert_int_equal(f.n_opsets, 1);
  assert_int_equal(f.opsets[0].version, 21);
  assert_int_equal(f.n_parameters, 1);
  assert_string_equal(f.parameters[0], "zero_point");
  assert_int_equal(f.n_defaults, 2);
  assert_int_equal(f.defaults[0].i, -128);
  assert_int_equal(f.defaults[1].kind, TEXT_STRINGS);
  assert_string_equal(f.defaults[1].strings[1], "b");
  assert_int_equal(f.n_inputs, 3);
  assert_string_equal(f.outputs[0], "y");
  assert_int_equal(f.n_nodes, 2);
  const text_node *conv = &f.nodes[0];
  assert_int_equal(conv->line, 5);
  assert_string_equal(conv->type, "Conv");
  assert_string_equal(conv->domain, "");
  assert_int_equal(conv->n_inputs, 3);
  assert_string_equal(conv->inputs[2], "");
  assert_string_equal(conv->attributes[0].reference, "group");
  assert_int_equal(conv->attributes[0].kind, TEXT_INT);
  assert_int_equal(conv->attributes[1].ints[1], 1);
  assert_true(conv->attributes[2].f == 0.5f);
  const text_node *clip = &f.nodes[1];
  assert_string_equal(clip->label, "last");
  assert_string_equal(clip->domain, "com.example");
  assert_int_equal(clip->n_outputs, 2);
  assert_int_equal(clip->attributes[0].kind, TEXT_TENSOR);
  assert_int_equal(npuc_tensor_get_int(clip->attributes[0].t, 0), -3);
  assert_int_equal(clip->attributes[1].kind, TEXT_INTS);
  assert_int_equal(clip->attributes[1].count, 0);
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
}

/* Reads one attribute value and checks that it fails, with `reason` in the message. */
static void refused(const char *text_value, const char *reason) {
  arena *a = npuc_arena_create();
  diag *d = npuc_diag_create(NULL, NULL);
  function_text f;
  char text[400];
  snprintf(text, sizeof text, "F (x) => (y) {\n y = Op <a = %s> (x)\n}", text_value);
  assert_int_equal(npuc_function_parse(d, a, "body", text, &f), NPUC_BAD_INPUT);
  const diag_record *r = npuc_diag_first_error(d);
  assert_int_equal(r->code, NPUC_DIAG_E0420);
  if (!strstr(r->reason, reason)) fail_msg("\"%s\" is not in \"%s\"", reason, r->reason);
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
}

static void what_is_wrong_is_named_with_its_place(void **state) {
  (void)state;
  refused("", "line 2, column");
  refused("99999999999999999999", "another kind");
  refused("[1, \"a\"]", "element 1");
  refused("int8[2] {1, 200}", "200 is no int8");
  refused("int8[3] {1, 2}", "2 of its 3");
  refused("int8[1] {1, 2}", "more than its 1");
  refused("float[1000000000000] {1}", "shorter");
  refused("float[4294967296,4294967296] {1}", "addressed");
  refused("float[N] {1}", "must be a number");
  refused("bool[1] {2}", "2 is no bool");
  refused("float16[1] {65536}", "65536 is no float16");
  refused("\"no end", "no end");
  refused("float[2] {...}", "left out");
  refused("graph", "expected a number");
  refused("@", "attribute parameter");
  refused("float[1,1,1,1,1,1,1,1,1] {1}", "more than 8 dims");
}

static text_attribute attribute_of(arena *a, const char *text_value) {
  function_text f;
  char text[400];
  snprintf(text, sizeof text, "F (x) => (y) { y = Op <a = %s> (x) }", text_value);
  assert_int_equal(npuc_function_parse(NULL, a, "body", text, &f), NPUC_OK);
  return f.nodes[0].attributes[0];
}

static void numbers_are_read_to_the_bit(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  assert_true(attribute_of(a, "0.1").f == 0.1f);
  assert_true(attribute_of(a, "-1e-45").f == -1e-45f);
  assert_true(isinf(attribute_of(a, "-inf").f));
  assert_true(isnan(attribute_of(a, "nan").f));
  assert_int_equal(attribute_of(a, "-9223372036854775808").i, INT64_MIN);
  assert_string_equal(attribute_of(a, "\"q\\\"\\\\n\"").s, "q\"\\n");
  /* 16-bit floats: an integer is the pattern, a decimal the value. */
  text_attribute t = attribute_of(a, "float16[3] {15360, 1.0, -inf}");
  assert_true(npuc_tensor_get(t.t, 0) == 1.0 && npuc_tensor_get(t.t, 1) == 1.0 && isinf(npuc_tensor_get(t.t, 2)));
  t = attribute_of(a, "uint64[2] {18446744073709551615, 0}");
  assert_true(npuc_tensor_get(t.t, 0) == 18446744073709551615.0);
  t = attribute_of(a, "int4[3] x = {-8, 7, -1}");
  assert_int_equal(t.t->bytes, 2);
  assert_int_equal(npuc_tensor_get_int(t.t, 0), -8);
  assert_int_equal(npuc_tensor_get_int(t.t, 2), -1);
  npuc_arena_destroy(a);
}

/* Every prefix of a good text is refused cleanly or read: no crash, no endless loop. */
static void truncated_texts_end(void **state) {
  (void)state;
  const char *text =
      "<domain: \"npuc\">\nF <a, b: float = 1.5> (x) => (y)\n{ [n] y = p.Q <v = float[2] {1, 2}, l = [1, 2], r: int = @a> (x) }";
  char copy[200];
  for (size_t n = 0; n < strlen(text); n++) {
    memcpy(copy, text, n);
    copy[n] = 0;
    arena *a = npuc_arena_create();
    function_text f;
    assert_int_equal(npuc_function_parse(NULL, a, "body", copy, &f), NPUC_BAD_INPUT);
    npuc_arena_destroy(a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_function_has_its_parts),
      cmocka_unit_test(what_is_wrong_is_named_with_its_place),
      cmocka_unit_test(numbers_are_read_to_the_bit),
      cmocka_unit_test(truncated_texts_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
