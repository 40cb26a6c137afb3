/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas of MACs against counts worked by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "stages/macs.h"
#include "support/ir.h"

static void is(const char *text, const char *expected) {
  module *m = npuc_test_module(text);
  arena *a = npuc_arena_create();
  const char *formula = npuc_macs_formula(a, m, 0);
  if (expected)
    assert_string_equal(formula, expected);
  else
    assert_null(formula);
  npuc_arena_destroy(a);
  npuc_module_destroy(m);
}

static void formulas(void **state) {
  (void)state;
  is("g (float[2,8] x, float[8,3] w) => (float[2,3] y) { y = MatMul(x, w) }", NULL);
  is("g (float[N,8] x, float[8,3] w) => (float[N,3] y) { y = MatMul(x, w) }", "24 N");
  /* S x 8 times 8 x S, then S x S times S x 8: attention without its projections */
  is("g (float[S,8] x) => (float[S,8] y) { t = Transpose<perm=[1,0]>(x)\n s = MatMul(x, t)\n y = MatMul(s, x) }", "16 S^2");
  is("g (float[S,8] x, float[8,8] w) => (float[S,8] y) { t = Transpose<perm=[1,0]>(x)\n s = MatMul(x, t)\n a = MatMul(s, x)\n y = "
     "MatMul(a, w) }",
     "16 S^2 + 64 S");
  /* 3x3 without padding over L + 0 pixels: 2 (L - 2) of 4 channels */
  is("g (float[1,2,1,L] x, float[4,2,1,3] w) => (float[1,4,1,M] y) { y = Conv(x, w) }", "24 L - 48");
  is("g (float[N,2] x) => (float[N,2] y) { y = Relu(x) }", "0");
}

static void what_has_none(void **state) {
  (void)state;
  is("g (float[N,S] x, float[S,3] w) => (float[N,3] y) { y = MatMul(x, w) }", "unknown (give --dim N=NUMBER --dim S=NUMBER)");
  /* a stride of 2 halves and rounds: no polynomial */
  is("g (float[1,2,1,L] x, float[4,2,1,3] w) => (float[1,4,1,M] y) { y = Conv<strides=[1,2]>(x, w) }", "unknown (give --dim L=NUMBER)");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(formulas), cmocka_unit_test(what_has_none)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
