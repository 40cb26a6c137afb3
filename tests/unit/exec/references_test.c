/* SPDX-License-Identifier: Apache-2.0 */
/* Texts and sequences in the executor: what numbers become as texts (right values: Python's repr; float32 by the fewest digits that read back), what texts are no
 * numbers, that outputs stand alone, that memory is bounded and used again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/limit.h"
#include "exec/executor.h"
#include "support/ir.h"
#include "tensor/reference.h"

typedef struct run {
  module *m;
  diag *d;
  executor *e;
  tensor outputs[2];
  npuc_status status;
} run;

static run begin(const char *text) {
  run r = {.m = npuc_test_module(text), .d = npuc_diag_create(NULL, NULL)};
  assert_int_equal(npuc_executor_create(r.d, r.m->graphs[0], &(exec_options){.takes_references = true}, &r.e), NPUC_OK);
  return r;
}

static void go(run *r, const tensor *inputs) { r->status = npuc_executor_run(r->e, r->d, inputs, r->outputs); }

static void end(run *r) {
  npuc_executor_destroy(r->e);
  npuc_module_destroy(r->m);
  npuc_diag_destroy(r->d);
}

static void assert_texts(const tensor *t, const char *const *wanted) {
  for (int64_t i = 0; i < npuc_tensor_elements(t); i++) assert_string_equal(npuc_tensor_text(t, i).bytes, wanted[i]);
}

static void doubles_are_written_as_python_does(void **state) {
  (void)state;
  static double x[] = {0.1,
                       1e-5,
                       1.5e16,
                       123456.0,
                       -0.0,
                       1e22,
                       100.0,
                       0.0001,
                       1e15,
                       1e16,
                       -2.5,
                       1.0 / 3,
                       3.141592653589793,
                       5e-324,
                       (double)INFINITY,
                       -(double)INFINITY};
  static const char *const wanted[] = {"0.1",
                                       "1e-05",
                                       "1.5e+16",
                                       "123456.0",
                                       "-0.0",
                                       "1e+22",
                                       "100.0",
                                       "0.0001",
                                       "1000000000000000.0",
                                       "1e+16",
                                       "-2.5",
                                       "0.3333333333333333",
                                       "3.141592653589793",
                                       "5e-324",
                                       "inf",
                                       "-inf"};
  run r = begin(
      "<opset_import: [\"\" : 21]> g (double[16] x) => (string[16] y, double[16] z) { y = Cast <to = 8> (x)  z = Cast <to = 11> (y) }");
  go(&r, &(tensor){.type = DTYPE_F64, .shape = {.rank = 1, .dims = {16}}, .data = x, .bytes = sizeof x});
  assert_int_equal(r.status, NPUC_OK);
  assert_texts(&r.outputs[0], wanted);
  assert_memory_equal(r.outputs[1].data, x, sizeof x); /* and read back, bit for bit */
  end(&r);
}

static void floats_are_written_by_the_fewest_digits(void **state) {
  (void)state;
  static float x[] = {0.1f, 1e-5f, 1.5e16f, 123456.0f, -0.0f, 3.4028235e38f, 1e-45f, 3.1415927f};
  static const char *const wanted[] = {"0.1", "1e-05", "1.5e+16", "123456.0", "-0.0", "3.4028235e+38", "1e-45", "3.1415927"};
  run r = begin("<opset_import: [\"\" : 21]> g (float[8] x) => (string[8] y, float[8] z) { y = Cast <to = 8> (x)  z = Cast <to = 1> (y) }");
  go(&r, &(tensor){.type = DTYPE_F32, .shape = {.rank = 1, .dims = {8}}, .data = x, .bytes = sizeof x});
  assert_int_equal(r.status, NPUC_OK);
  assert_texts(&r.outputs[0], wanted);
  assert_memory_equal(r.outputs[1].data, x, sizeof x);
  end(&r);
}

static void texts_are_read_as_numbers_or_refused(void **state) {
  (void)state;
  run r = begin(
      "<opset_import: [\"\" : 21]> g () => (float[6] y, int64[3] z) <string[6] s = {\" 1.5 \", \"-INF\", \"nan\", \"1e3\", \"+.5\", "
      "\"7.\"}, "
      "string[3] t = {\"-9223372036854775808\", \"12\", \"2.9\"}> { y = Cast <to = 1> (s)  z = Cast <to = 7> (t) }");
  go(&r, NULL);
  assert_int_equal(r.status, NPUC_OK);
  const float *y = r.outputs[0].data;
  const int64_t *z = r.outputs[1].data;
  assert_true(y[0] == 1.5f && y[1] == -INFINITY && y[2] != y[2] && y[3] == 1000.0f && y[4] == 0.5f && y[5] == 7.0f);
  assert_true(z[0] == INT64_MIN && z[1] == 12 && z[2] == 2);
  end(&r);
  static const char *const wrong[] = {"", "one", "1,5", "1e", "0x10", "--1", "1 2", "infinite"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    char text[256];
    (void)snprintf(text, sizeof text, "<opset_import: [\"\" : 21]> g () => (float y) <string s = {\"%s\"}> { y = Cast <to = 1> (s) }",
                   wrong[i]);
    run bad = begin(text);
    go(&bad, NULL);
    if (bad.status != NPUC_BAD_INPUT) fail_msg("\"%s\" was read", wrong[i]);
    npuc_test_error_is(bad.d, NPUC_DIAG_E0605, "is no number");
    end(&bad);
  }
}

/* What the caller gave may go before the outputs are read. */
static void outputs_stand_alone(void **state) {
  (void)state;
  run r = begin(
      "<opset_import: [\"\" : 21]> g (seq(float[]) s, string[1] x) => (seq(float[]) t, string[1] y) { t = Identity (s)  y = Identity (x) "
      "}");
  arena *a = npuc_arena_create();
  float numbers[] = {1.0f, 2.0f};
  tensor item = {.type = DTYPE_F32, .shape = {.rank = 1, .dims = {2}}, .data = numbers, .bytes = sizeof numbers};
  tensor inputs[2];
  assert_int_equal(npuc_tensor_create(NULL, npuc_dtype_sequence(DTYPE_F32), &(shape){.rank = 1, .dims = {1}}, &inputs[0]), NPUC_OK);
  assert_int_equal(npuc_tensor_create(NULL, DTYPE_STRING, &(shape){.rank = 1, .dims = {1}}, &inputs[1]), NPUC_OK);
  npuc_reference_set(&inputs[0], 0, &item);
  npuc_reference_set(&inputs[1], 0, npuc_text_place(npuc_arena_alloc(a, npuc_text_bytes(3)), (text_span){"abc", 3}));
  go(&r, inputs);
  assert_int_equal(r.status, NPUC_OK);
  npuc_tensor_release(&inputs[0]);
  npuc_tensor_release(&inputs[1]);
  npuc_arena_destroy(a);
  memset(numbers, 0, sizeof numbers);
  memset(&item, 0, sizeof item);
  const tensor *got = npuc_tensor_item(&r.outputs[0], 0);
  assert_int_equal(got->shape.dims[0], 2);
  assert_true(((const float *)got->data)[1] == 2.0f);
  assert_string_equal(npuc_tensor_text(&r.outputs[1], 0).bytes, "abc");
  end(&r);
}

/* Who feeds and records numbers alone is told so before anything runs. */
static void ports_are_refused_unless_asked_for(void **state) {
  (void)state;
  static const char *const texts[] = {"<opset_import: [\"\" : 21]> g (string[1] x) => (bool[1] y) { y = Equal (x, x) }",
                                      "<opset_import: [\"\" : 21]> g (float[2] x) => (seq(float[]) y) { y = SplitToSequence (x) }"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    module *m = npuc_test_module(texts[i]);
    diag *d = npuc_diag_create(NULL, NULL);
    executor *e;
    assert_int_equal(npuc_executor_create(d, m->graphs[0], NULL, &e), NPUC_UNSUPPORTED);
    npuc_test_error_is(d, NPUC_DIAG_E0606, i ? "seq(float32)" : "string");
    npuc_diag_destroy(d);
    npuc_module_destroy(m);
  }
}

static npuc_status count_shown(void *user, const value *v, const tensor *t) {
  (void)v;
  assert_false(npuc_dtype_is_reference(t->type));
  ++*(int *)user;
  return NPUC_OK;
}

/* Observers, in planned and in dynamic runs. */
static void observers_see_numbers_alone(void **state) {
  (void)state;
  static const char *const texts[] = {
      "<opset_import: [\"\" : 21]> g (float[2] x) => (float[2] y) { s = Cast <to = 8> (x)  y = Cast <to = 1> (s) }",
      "<opset_import: [\"\" : 21]> g (float[2] x) => (float[K] y) { s = SplitToSequence (x)  y = ConcatFromSequence <axis = 0> (s) }"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    module *m = npuc_test_module(texts[i]);
    int shown = 0;
    executor *e;
    float x[] = {1.0f, 2.0f};
    tensor input = {.type = DTYPE_F32, .shape = {.rank = 1, .dims = {2}}, .data = x, .bytes = sizeof x}, output;
    assert_int_equal(npuc_executor_create(NULL, m->graphs[0], &(exec_options){.observe = count_shown, .user = &shown}, &e), NPUC_OK);
    assert_int_equal(npuc_executor_run(e, NULL, &input, &output), NPUC_OK);
    assert_memory_equal(output.data, x, sizeof x);
    assert_int_equal(shown, 2);
    npuc_executor_destroy(e);
    npuc_module_destroy(m);
  }
}

static const char grows[] =
    "<opset_import: [\"\" : 21]> g (int64 M, float[1024] x) => (int64 n) {\n"
    "  none = SequenceEmpty ()\n"
    "  all = Loop (M, \"\", none) <body = turn (int64 i, bool go, seq(float[]) s) => (bool on, seq(float[]) t) { on = Identity (go) t = "
    "SequenceInsert (s, x) }>\n"
    "  n = SequenceLength (all)\n}";

static npuc_status grow(run *r, int64_t turns) {
  static float x[1024];
  tensor inputs[] = {{.type = DTYPE_I64, .data = &turns, .bytes = sizeof turns},
                     {.type = DTYPE_F32, .shape = {.rank = 1, .dims = {1024}}, .data = x, .bytes = sizeof x}};
  go(r, inputs);
  return r->status;
}

/* A sequence of 4 KiB tensors under a limit of 8 MiB: 1500 fit, again and again in the same memory, though each turn makes a longer sequence; 4000 do not, and that is a status. */
static void memory_is_bounded_and_used_again(void **state) {
  (void)state;
  npuc_memory_limit((size_t)8 << 20);
  run r = begin(grows);
  for (int i = 0; i < 20; i++) {
    assert_int_equal(grow(&r, 1500), NPUC_OK);
    assert_int_equal(npuc_tensor_get_int(&r.outputs[0], 0), 1500);
  }
  npuc_status status = grow(&r, 4000);
  npuc_memory_limit(0);
  assert_int_not_equal(status, NPUC_OK);
  npuc_test_error_is(r.d, NPUC_DIAG_E0009, "the limit of 8388608");
  end(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(doubles_are_written_as_python_does),   cmocka_unit_test(floats_are_written_by_the_fewest_digits),
      cmocka_unit_test(texts_are_read_as_numbers_or_refused), cmocka_unit_test(outputs_stand_alone),
      cmocka_unit_test(ports_are_refused_unless_asked_for),   cmocka_unit_test(observers_see_numbers_alone),
      cmocka_unit_test(memory_is_bounded_and_used_again),
  };
  return cmocka_run_group_tests_name("references", tests, NULL, NULL);
}
