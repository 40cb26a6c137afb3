/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "tensor/shape.h"

enum { N = -1, M = -2 }; /* symbols 0 and 1 */

static shape of(int32_t rank, dim a, dim b, dim c) { return (shape){.rank = rank, .dims = {a, b, c}}; }

static void equality_needs_known_dims(void **state) {
  (void)state;
  shape a = of(2, N, 3, 0), b = of(2, N, 3, 9), c = of(2, M, 3, 0), u = of(2, DIM_UNKNOWN, 3, 0), none = SHAPE_UNKNOWN;
  assert_true(npuc_shape_equal(&a, &b)); /* dims behind the rank do not count */
  assert_false(npuc_shape_equal(&a, &c));
  assert_false(npuc_shape_equal(&u, &u));
  assert_false(npuc_shape_equal(&none, &none));
}

static void counts_are_checked(void **state) {
  (void)state;
  int64_t n;
  shape a = of(3, 2, 3, 4), scalar = SHAPE_SCALAR, s = of(2, N, 3, 0), big = of(2, (int64_t)1 << 32, (int64_t)1 << 31, 0),
        empty = of(3, (int64_t)1 << 62, (int64_t)1 << 62, 0), none = SHAPE_UNKNOWN;
  assert_true(npuc_shape_elements(&a, &n) && n == 24);
  assert_true(npuc_shape_elements(&scalar, &n) && n == 1);
  assert_true(npuc_shape_elements(&empty, &n) && n == 0);
  assert_false(npuc_shape_elements(&s, &n));
  assert_false(npuc_shape_elements(&big, &n));
  assert_false(npuc_shape_elements(&none, &n));
}

static dim broadcast(dim a, dim b) {
  shape x = of(1, a, 0, 0), y = of(1, b, 0, 0), z;
  return npuc_shape_broadcast(&x, &y, &z) ? z.dims[0] : -999;
}

static void broadcasting_is_numpy_s_with_symbols(void **state) {
  (void)state;
  shape a = of(3, 2, 1, 4), b = of(2, 3, 4, 0), c;
  assert_true(npuc_shape_broadcast(&a, &b, &c));
  shape wanted = of(3, 2, 3, 4);
  assert_true(npuc_shape_equal(&c, &wanted));
  assert_int_equal(broadcast(N, N), N);
  assert_int_equal(broadcast(N, 1), N);
  assert_int_equal(broadcast(1, N), N);
  assert_int_equal(broadcast(N, 5), 5);
  assert_int_equal(broadcast(0, 1), 0);
  assert_true(broadcast(N, M) == DIM_UNKNOWN);
  assert_true(broadcast(DIM_UNKNOWN, 1) == DIM_UNKNOWN);
  assert_int_equal(broadcast(DIM_UNKNOWN, 7), 7);
  assert_int_equal(broadcast(2, 3), -999);
  assert_int_equal(broadcast(0, 3), -999);
}

static void axes_and_strides(void **state) {
  (void)state;
  int32_t axis;
  assert_true(npuc_axis_normalize(-1, 4, &axis) && axis == 3);
  assert_true(npuc_axis_normalize(0, 1, &axis) && axis == 0);
  assert_false(npuc_axis_normalize(4, 4, &axis));
  assert_false(npuc_axis_normalize(-5, 4, &axis));
  assert_false(npuc_axis_normalize(0, 0, &axis));
  int64_t strides[MAX_RANK];
  shape s = of(3, 2, 3, 4);
  npuc_shape_strides(&s, strides);
  assert_int_equal(strides[0], 12);
  assert_int_equal(strides[1], 4);
  assert_int_equal(strides[2], 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equality_needs_known_dims),
      cmocka_unit_test(counts_are_checked),
      cmocka_unit_test(broadcasting_is_numpy_s_with_symbols),
      cmocka_unit_test(axes_and_strides),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
