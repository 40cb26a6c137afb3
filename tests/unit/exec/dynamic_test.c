/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes that depend on data: each run has the shapes of its own data, buffers are used again, and what the graph declares still holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "exec/executor.h"
#include "support/ir.h"

static const char reshaped[] =
    "<ir_version: 10, opset_import: [\"\" : 21]>\n"
    "g (float[2,6] x, int64[R] s) => (float[A,B] y, float[2,6] z) {\n"
    "  t = Add (x, x)\n  u = Reshape (t, s)\n  y = Relu (u)\n  z = Identity (x)\n}\n";

static float x_data[12];
static int64_t s_data[3];

static tensor x_input(void) {
  for (int i = 0; i < 12; i++) x_data[i] = (float)i - 3.0f;
  return (tensor){.type = DTYPE_F32, .shape = {.rank = 2, .dims = {2, 6}}, .data = x_data, .bytes = sizeof x_data};
}

static tensor s_input(int64_t count) {
  return (tensor){.type = DTYPE_I64, .shape = {.rank = 1, .dims = {count}}, .data = s_data, .bytes = (size_t)count * sizeof *s_data};
}

static void check(const tensor *y, const tensor *z, int64_t rows, int64_t columns) {
  assert_int_equal(y->shape.rank, 2);
  assert_int_equal(y->shape.dims[0], rows);
  assert_int_equal(y->shape.dims[1], columns);
  for (int i = 0; i < 12; i++) {
    float twice = 2.0f * ((float)i - 3.0f);
    assert_true(((const float *)y->data)[i] == (twice < 0.0f ? 0.0f : twice));
  }
  assert_memory_equal(z->data, x_data, sizeof x_data);
  assert_ptr_not_equal(z->data, x_data); /* not the caller's memory */
}

static void each_run_has_its_own_shapes(void **state) {
  (void)state;
  for (int keep = 0; keep < 2; keep++) {
    module *m = npuc_test_module(reshaped);
    diag *d = npuc_diag_create(NULL, NULL);
    executor *e;
    exec_options options = {.keep_all = keep != 0};
    assert_int_equal(npuc_executor_create(d, m->graphs[0], &options, &e), NPUC_OK);
    static const int64_t targets[][2] = {{3, 4}, {12, 1}, {3, -1}};
    size_t bytes = 0;
    for (int i = 0; i < 3; i++) {
      memcpy(s_data, targets[i], sizeof targets[i]);
      tensor inputs[] = {x_input(), s_input(2)}, outputs[2];
      assert_int_equal(npuc_executor_run(e, d, inputs, outputs), NPUC_OK);
      check(&outputs[0], &outputs[1], targets[i][0], targets[i][1] < 0 ? 4 : targets[i][1]);
      if (i == 0) bytes = npuc_executor_memory(e);
      assert_int_equal(npuc_executor_memory(e), bytes); /* the first run's buffers serve the others */
      const tensor *t = npuc_executor_value(e, npuc_graph_value(m->graphs[0], "t"));
      assert_int_equal(t != NULL, keep);
      if (t) assert_true(((const float *)t->data)[11] == 16.0f);
    }
    npuc_executor_destroy(e);
    npuc_diag_destroy(d);
    npuc_module_destroy(m);
  }
}

static void run_fails(int64_t a, int64_t b, int64_t c, int64_t count, diag_code code, const char *part) {
  module *m = npuc_test_module(reshaped);
  diag *d = npuc_diag_create(NULL, NULL);
  executor *e;
  assert_int_equal(npuc_executor_create(d, m->graphs[0], NULL, &e), NPUC_OK);
  s_data[0] = a, s_data[1] = b, s_data[2] = c;
  tensor inputs[] = {x_input(), s_input(count)}, outputs[2];
  assert_int_not_equal(npuc_executor_run(e, d, inputs, outputs), NPUC_OK);
  npuc_test_error_is(d, code, part);
  npuc_executor_destroy(e);
  npuc_diag_destroy(d);
  npuc_module_destroy(m);
}

static void wrong_data_is_refused(void **state) {
  (void)state;
  run_fails(5, 2, 0, 2, NPUC_DIAG_E0441, "do not fit");
  run_fails(-1, -1, 0, 2, NPUC_DIAG_E0440, "more than once");
  run_fails(2, 2, 3, 3, NPUC_DIAG_E0414, "declared"); /* rank 2 by the graph's own word */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_run_has_its_own_shapes), cmocka_unit_test(wrong_data_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
