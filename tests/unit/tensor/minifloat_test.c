/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/half.h"
#include "tensor/minifloat.h"

static const dtype small_types[] = {DTYPE_F16, DTYPE_BF16, DTYPE_F8E4M3FN, DTYPE_F8E4M3FNUZ, DTYPE_F8E5M2, DTYPE_F8E5M2FNUZ, DTYPE_F4E2M1};

/* Sums over all finite codes, counts of NaN and infinities, and single codes: recorded from ml_dtypes 0.6. */
static void eight_bit_floats_are_what_ml_dtypes_says(void **state) {
  (void)state;
  const struct {
    dtype type;
    double sum;
    int nans, infinities;
    uint32_t code[3];
    double at[3];
  } expected[] = {
      {DTYPE_F8E4M3FN, 10815.75, 2, 0, {0x01, 0x38, 0x7e}, {0.001953125, 1.0, 448.0}},
      {DTYPE_F8E4M3FNUZ, 5887.875, 1, 0, {0x07, 0x38, 0x81}, {0.0068359375, 0.5, -0.0009765625}},
      {DTYPE_F8E5M2, 720895.9995117188, 6, 2, {0x01, 0x38, 0x81}, {1.52587890625e-05, 0.5, -1.52587890625e-05}},
      {DTYPE_F8E5M2FNUZ, 720895.9997558594, 1, 0, {0x07, 0x38, 0x7e}, {5.340576171875e-05, 0.25, 49152.0}},
      {DTYPE_F4E2M1, 36.0, 0, 0, {1, 3, 7}, {0.5, 1.5, 6.0}},
  };
  for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
    double sum = 0.0;
    int nans = 0, infinities = 0;
    for (uint32_t code = 0; code < (expected[k].type == DTYPE_F4E2M1 ? 16u : 256u); code++) {
      double x = npuc_minifloat_decode(expected[k].type, code);
      nans += isnan(x) != 0;
      infinities += isinf(x) != 0;
      if (isfinite(x)) sum += fabs(x);
    }
    assert_true(fabs(sum - expected[k].sum) <= 1e-9 * sum);
    assert_int_equal(nans, expected[k].nans);
    assert_int_equal(infinities, expected[k].infinities);
    for (int i = 0; i < 3; i++) assert_true(npuc_minifloat_decode(expected[k].type, expected[k].code[i]) == expected[k].at[i]);
  }
}

static void every_finite_code_comes_back(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof small_types / sizeof *small_types; k++) {
    uint32_t codes = 1u << npuc_dtype_bits(small_types[k]);
    for (uint32_t code = 0; code < codes; code++) {
      double x = npuc_minifloat_decode(small_types[k], code);
      uint32_t back = npuc_minifloat_encode(small_types[k], x);
      if (isnan(x))
        assert_true(isnan(npuc_minifloat_decode(small_types[k], back)));
      else if (!isinf(x))
        assert_int_equal(back, code);
    }
  }
}

static void sixteen_bit_floats_are_those_of_base(void **state) {
  (void)state;
  for (uint32_t code = 0; code < 65536; code++) {
    double a = npuc_minifloat_decode(DTYPE_F16, code), b = npuc_minifloat_decode(DTYPE_BF16, code);
    float c = npuc_f16_to_f32((uint16_t)code), d = npuc_bf16_to_f32((uint16_t)code);
    assert_true(isnan(a) ? isnan(c) : a == (double)c);
    assert_true(isnan(b) ? isnan(d) : b == (double)d);
  }
  for (int i = -40; i < 40; i++) {
    float x = ldexpf(1.2345678f, i);
    assert_int_equal(npuc_minifloat_encode(DTYPE_F16, (double)x), npuc_f32_to_f16(x));
    assert_int_equal(npuc_minifloat_encode(DTYPE_BF16, (double)-x), npuc_f32_to_bf16(-x));
  }
}

/* The nearest of all codes by exhaustion; between two equally near ones the even code. */
static uint32_t nearest_code(dtype type, double x) {
  uint32_t best = 0;
  double distance = (double)INFINITY;
  for (uint32_t code = 0; code < 1u << (npuc_dtype_bits(type) - 1); code++) {
    double y = npuc_minifloat_decode(type, code);
    if (!isfinite(y)) continue;
    double d = fabs(y - x);
    if (d < distance || (d == distance && code % 2 == 0)) {
      best = code;
      distance = d;
    }
  }
  return best;
}

static void encoding_takes_the_nearest_and_ties_to_even(void **state) {
  (void)state;
  for (size_t k = 2; k < sizeof small_types / sizeof *small_types; k++) {
    dtype type = small_types[k];
    uint32_t codes = 1u << (npuc_dtype_bits(type) - 1);
    for (uint32_t code = 0; code + 1 < codes; code++) {
      double a = npuc_minifloat_decode(type, code), b = npuc_minifloat_decode(type, code + 1);
      if (!isfinite(a) || !isfinite(b)) continue;
      const double between[] = {(a + b) / 2, a + (b - a) * 0.49, a + (b - a) * 0.51};
      for (int i = 0; i < 3; i++) assert_int_equal(npuc_minifloat_encode(type, between[i]), nearest_code(type, between[i]));
    }
  }
  /* Negative control: truncation would give another code. */
  assert_int_not_equal(npuc_minifloat_encode(DTYPE_F4E2M1, 5.9), npuc_minifloat_encode(DTYPE_F4E2M1, 4.0));
}

static void the_range_ends_as_documented(void **state) {
  (void)state;
  assert_int_equal(npuc_minifloat_encode(DTYPE_F16, 65519.0), 0x7bff);
  assert_int_equal(npuc_minifloat_encode(DTYPE_F16, 65520.0), 0x7c00);
  assert_int_equal(npuc_minifloat_encode(DTYPE_BF16, 1e39), 0x7f80);
  assert_int_equal(npuc_minifloat_encode(DTYPE_F8E4M3FN, 1e9), 0x7e);
  assert_int_equal(npuc_minifloat_encode(DTYPE_F8E4M3FN, -(double)INFINITY), 0xfe);
  assert_int_equal(npuc_minifloat_encode(DTYPE_F8E4M3FNUZ, -0.0), 0x00);
  assert_int_equal(npuc_minifloat_encode(DTYPE_F8E8M0, 3.0), 129); /* up to 4 */
  assert_int_equal(npuc_minifloat_encode(DTYPE_F8E8M0, 2.0), 128);
  assert_int_equal(npuc_minifloat_encode(DTYPE_F8E8M0, 0.0), 0);
  assert_true(npuc_minifloat_decode(DTYPE_F8E8M0, 0x7e) == 0.5);
  assert_true(isnan(npuc_minifloat_decode(DTYPE_F8E8M0, 0xff)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(eight_bit_floats_are_what_ml_dtypes_says),
      cmocka_unit_test(every_finite_code_comes_back),
      cmocka_unit_test(sixteen_bit_floats_are_those_of_base),
      cmocka_unit_test(encoding_takes_the_nearest_and_ties_to_even),
      cmocka_unit_test(the_range_ends_as_documented),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
