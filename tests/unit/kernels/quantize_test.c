/* SPDX-License-Identifier: Apache-2.0 */
/* The float boundary of 8-bit integers against its formula (docs/numerics.md section 4), one element at a time. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kernels/convert.h"

enum { COUNT = 20011 };

static int32_t formula(float x, float scale, int32_t zero, int32_t lo, int32_t hi) {
  double v = (isnan(x) ? 0.0 : nearbyint((double)(x / scale))) + zero;
  return v < lo ? lo : v > hi ? hi : (int32_t)v;
}

static void check(float scale, int32_t zero_u8, int32_t zero_i8) {
  static float x[COUNT];
  static uint8_t u[COUNT];
  static int8_t s[COUNT];
  for (int32_t i = 0; i < COUNT; i++) x[i] = ((float)i - COUNT / 2) * scale / 4; /* quarters: every half is among them */
  const float odd[] = {NAN, -NAN, INFINITY, -INFINITY, 3e38f, -3e38f, -0.0f, 1e-40f};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) x[i * 3] = odd[i];
  npuc_convert_quantize_u8(x, COUNT, scale, zero_u8, u);
  npuc_convert_quantize_i8(x, COUNT, scale, zero_i8, s);
  for (int32_t i = 0; i < COUNT; i++) {
    assert_int_equal(u[i], formula(x[i], scale, zero_u8, 0, 255));
    assert_int_equal(s[i], formula(x[i], scale, zero_i8, -128, 127));
  }
}

static void equals_the_formula(void **state) {
  (void)state;
  check(0.015686275f, 127, 0);
  check(1.0f, 0, -128);
  check(0.25f, 255, 127);
  check(3.0e-5f, 13, -7);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(equals_the_formula)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
