/* SPDX-License-Identifier: Apache-2.0 */
/* A bound batch becomes another one, or is said to be built in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "passes/batch.h"
#include "support/ir.h"

static void follows_reshape(void **state) {
  (void)state;
  module *m = npuc_test_module(
      "g (float[1,2,3] x) => (float[1,6] y, float[1,2,3] z) <int64[2] to = {1, 6}, int64[3] whole = {1, -1, 3}> {\n"
      "  y = Reshape(x, to)\n  z = Reshape(y, whole)\n}\n");
  diag *d = npuc_diag_create(NULL, NULL);
  assert_int_equal(npuc_graph_set_batch(d, m->graphs[0], 5), NPUC_OK);
  npuc_test_type_is(m->graphs[0], "x", "float[5,2,3]");
  npuc_test_type_is(m->graphs[0], "y", "float[5,6]");
  npuc_test_type_is(m->graphs[0], "z", "float[5,2,3]");
  npuc_test_recount(m->graphs[0]);
  npuc_diag_destroy(d);
  npuc_module_destroy(m);
}

static void refuses(const char *text, const char *part) {
  module *m = npuc_test_module(text);
  diag *d = npuc_diag_create(NULL, NULL);
  assert_int_equal(npuc_graph_set_batch(d, m->graphs[0], 5), NPUC_UNSUPPORTED);
  npuc_test_error_is(d, NPUC_DIAG_E0929, part);
  npuc_diag_destroy(d);
  npuc_module_destroy(m);
}

static void says_what_is_built_in(void **state) {
  (void)state;
  refuses("g (float[1,2] x, float[2,2] w) => (float[1,2] y) { y = MatMul(x, w) }", "differ");
  refuses("g (float[1,2] x) => (float[1,2] y) <float[1,2] fixed = {0.5, 0.25}> { u = Relu(x)\n y = Identity(fixed) }", "follow");
  refuses("g (float[1] x, float s) => (float[1] y) { y = Mul(x, s) }", "no batch");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(follows_reshape), cmocka_unit_test(says_what_is_built_in)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
