/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "tensor/compare.h"

static tensor floats(const double *values, int64_t rows, int64_t columns) {
  tensor t;
  assert_int_equal(npuc_tensor_of_floats(NULL, DTYPE_F64, values, rows * columns, &t), NPUC_OK);
  t.shape = (shape){.rank = 2, .dims = {rows, columns}};
  return t;
}

static bool near(double a, double b) { return fabs(a - b) <= 1e-12 * fabs(b); }

/* a = [1 2 3; 4 5 7], b = [1 2 4; 4 6 5]: d = [0 0 -1; 0 -1 2], by hand. */
static void the_measures_are_their_formulas(void **state) {
  (void)state;
  tensor a = floats((const double[]){1, 2, 3, 4, 5, 7}, 2, 3), b = floats((const double[]){1, 2, 4, 4, 6, 5}, 2, 3);
  comparison r;
  assert_int_equal(npuc_compare(NULL, &a, &b, &r), NPUC_OK);
  assert_int_equal(r.elements, 6);
  assert_int_equal(r.different, 3);
  assert_true(r.max_abs == 2.0);
  assert_true(near(r.max_rel, 0.4));
  assert_true(r.max_ref == 6.0);
  assert_true(near(r.rmse, 1.0));                         /* sqrt(6/6) */
  assert_true(near(r.cosine, 98.0 / sqrt(104.0 * 98.0))); /* sum ab = 1+4+12+16+30+35 */
  assert_true(near(r.sqnr_db, 10.0 * log10(98.0 / 6.0)));
  assert_int_equal(r.rows, 2);
  assert_int_equal(r.rows_agree, 1);
  assert_true(r.finite);
  npuc_tensor_release(&a);
  npuc_tensor_release(&b);
}

static void equal_tensors_are_infinitely_alike(void **state) {
  (void)state;
  double v[] = {1, (double)NAN, (double)INFINITY, 0};
  tensor a = floats(v, 1, 4), b = floats(v, 1, 4);
  comparison r;
  assert_int_equal(npuc_compare(NULL, &a, &b, &r), NPUC_OK);
  assert_int_equal(r.different, 0);
  assert_true(r.max_abs == 0.0 && isinf(r.sqnr_db) && r.sqnr_db > 0);
  assert_false(r.finite);
  npuc_tensor_set(&a, 1, 3.0); /* NaN against a number is as far as can be */
  assert_int_equal(npuc_compare(NULL, &a, &b, &r), NPUC_OK);
  assert_int_equal(r.different, 1);
  assert_true(isinf(r.max_abs));
  npuc_tensor_release(&a);
  npuc_tensor_release(&b);
}

static void zeros_are_alike(void **state) {
  (void)state;
  tensor a = floats((const double[]){0, 0}, 1, 2), b = floats((const double[]){0, 0}, 1, 2), c = floats((const double[]){0, 1}, 1, 2);
  comparison r;
  assert_int_equal(npuc_compare(NULL, &a, &b, &r), NPUC_OK);
  assert_true(r.cosine == 1.0);
  assert_int_equal(npuc_compare(NULL, &c, &b, &r), NPUC_OK);
  assert_true(r.cosine == 0.0 && isinf(r.sqnr_db) && r.sqnr_db < 0);
  npuc_tensor_release(&a);
  npuc_tensor_release(&b);
  npuc_tensor_release(&c);
}

/* Adding two halves is comparing the whole. */
static void sums_over_samples_are_the_whole(void **state) {
  (void)state;
  const double x[] = {1, 2, 3, 4, 5, 7}, y[] = {1, 2.5, 3, 4.25, 5, 6};
  tensor a = floats(x, 2, 3), b = floats(y, 2, 3), a1 = floats(x, 1, 3), b1 = floats(y, 1, 3), a2 = floats(x + 3, 1, 3),
         b2 = floats(y + 3, 1, 3);
  comparison whole;
  comparison_sum sum = {0};
  assert_int_equal(npuc_compare(NULL, &a, &b, &whole), NPUC_OK);
  assert_int_equal(npuc_compare_add(NULL, &sum, &a1, &b1), NPUC_OK);
  assert_int_equal(npuc_compare_add(NULL, &sum, &a2, &b2), NPUC_OK);
  assert_true(sum.result.rmse == whole.rmse && sum.result.cosine == whole.cosine && sum.result.sqnr_db == whole.sqnr_db);
  assert_int_equal(sum.result.rows, whole.rows);
  assert_true(sum.result.finite);
  tensor *all[] = {&a, &b, &a1, &b1, &a2, &b2};
  assert_int_equal(npuc_compare(NULL, &a, &a1, &whole), NPUC_BAD_INPUT); /* 6 against 3 */
  for (int i = 0; i < 6; i++) npuc_tensor_release(all[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_measures_are_their_formulas),
      cmocka_unit_test(equal_tensors_are_infinitely_alike),
      cmocka_unit_test(zeros_are_alike),
      cmocka_unit_test(sums_over_samples_are_the_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
