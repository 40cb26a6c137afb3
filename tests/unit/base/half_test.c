/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/half.h"

static float from_bits(uint32_t u) {
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}

static uint32_t to_bits(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}

/* IEEE 754 by its formula: (-1)^s 2^(e-15) (1 + m/1024), or (-1)^s m 2^-24. */
static double f16_by_formula(unsigned h) {
  double sign = (h & 0x8000) ? -1.0 : 1.0;
  int e = (int)((h >> 10) & 31);
  double m = h & 1023;
  if (e == 31) return m != 0.0 ? (double)NAN : sign * (double)INFINITY;
  if (e == 0) return sign * ldexp(m, -24);
  return sign * ldexp(1.0 + m / 1024.0, e - 15);
}

static void every_f16_has_its_value_and_comes_back(void **state) {
  (void)state;
  for (unsigned h = 0; h < 65536; h++) {
    float f = npuc_f16_to_f32((uint16_t)h);
    double expected = f16_by_formula(h);
    if (isnan(expected)) {
      assert_true(isnan(f));
      assert_int_equal(npuc_f32_to_f16(f), h | 0x200); /* quiet, payload kept */
      continue;
    }
    assert_true((double)f == expected);
    assert_int_equal(signbit(f) != 0, (h >> 15) & 1);
    assert_int_equal(npuc_f32_to_f16(f), h);
  }
}

/* Between any two neighbours: below the middle goes down, above goes up, the middle goes to the even one. */
static void f16_rounds_to_nearest_even(void **state) {
  (void)state;
  for (unsigned h = 0; h < 0x7bff; h++) {
    float low = npuc_f16_to_f32((uint16_t)h), high = npuc_f16_to_f32((uint16_t)(h + 1));
    float middle = (low + high) / 2; /* exact: f32 has 13 more bits */
    assert_int_equal(npuc_f32_to_f16(middle), (h & 1) ? h + 1 : h);
    assert_int_equal(npuc_f32_to_f16(nextafterf(middle, 0)), h);
    assert_int_equal(npuc_f32_to_f16(nextafterf(middle, INFINITY)), h + 1);
    assert_int_equal(npuc_f32_to_f16(-middle), 0x8000u | ((h & 1) ? h + 1 : h));
  }
}

static void f16_limits(void **state) {
  (void)state;
  assert_int_equal(npuc_f32_to_f16(65504.0f), 0x7bff);
  assert_int_equal(npuc_f32_to_f16(nextafterf(65520.0f, 0)), 0x7bff);
  assert_int_equal(npuc_f32_to_f16(65520.0f), 0x7c00);
  assert_int_equal(npuc_f32_to_f16(3.4e38f), 0x7c00);
  assert_int_equal(npuc_f32_to_f16(-INFINITY), 0xfc00);
  assert_int_equal(npuc_f32_to_f16(ldexpf(1, -25)), 0); /* tie with zero: even */
  assert_int_equal(npuc_f32_to_f16(nextafterf(ldexpf(1, -25), 1)), 1);
  assert_int_equal(npuc_f32_to_f16(ldexpf(1, -149)), 0);
  assert_int_equal(npuc_f32_to_f16(-0.0f), 0x8000);
  assert_int_equal(npuc_f32_to_f16(from_bits(0x7f800001u)), 0x7e00); /* signalling NaN becomes quiet */
}

static void every_bf16_comes_back(void **state) {
  (void)state;
  for (unsigned h = 0; h < 65536; h++) {
    float f = npuc_bf16_to_f32((uint16_t)h);
    if (isnan(f)) {
      assert_true((h & 0x7f80) == 0x7f80 && (h & 0x7f));
      assert_int_equal(npuc_f32_to_bf16(f), h | 0x40);
      continue;
    }
    assert_int_equal(to_bits(f), h << 16);
    assert_int_equal(npuc_f32_to_bf16(f), h);
  }
}

/* The nearest of the two neighbours by distance in double, where every f32 is exact. */
static void bf16_rounds_to_nearest_even(void **state) {
  (void)state;
  uint32_t u = 12345;
  for (int i = 0; i < 200000; i++) {
    u = u * 1664525u + 1013904223u;
    uint32_t bits = (i & 7) ? u : ((u & 0xffff0000u) | 0x8000u); /* one in eight is a tie */
    if ((bits & 0x7f800000u) == 0x7f800000u || (bits & 0x7fff0000u) == 0x7f7f0000u) continue;
    float f = from_bits(bits);
    double low = (double)from_bits(bits & 0xffff0000u), high = (double)from_bits((bits & 0xffff0000u) + 0x10000u);
    double to_low = fabs((double)f - low), to_high = fabs(high - (double)f);
    uint32_t h = bits >> 16;
    uint32_t expected = to_low < to_high ? h : to_low > to_high ? h + 1 : h + (h & 1);
    assert_int_equal(npuc_f32_to_bf16(f), expected);
  }
  assert_int_equal(npuc_f32_to_bf16(from_bits(0x7f7fffffu)), 0x7f80); /* largest finite f32 rounds to infinity */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_f16_has_its_value_and_comes_back),
      cmocka_unit_test(f16_rounds_to_nearest_even),
      cmocka_unit_test(f16_limits),
      cmocka_unit_test(every_bf16_comes_back),
      cmocka_unit_test(bf16_rounds_to_nearest_even),
  };
  return cmocka_run_group_tests_name("half", tests, NULL, NULL);
}
