/* SPDX-License-Identifier: Apache-2.0 */
/* Multipliers against docs/numerics.md section 3: for every exponent and many mantissas. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "quant/multiplier.h"

static double mantissa(int32_t i, int32_t n) { return 0.5 + 0.5 * i / n; }

/* |M| normalized, |r - M * 2^-s| <= |r| * 2^-bits, s in 0..62. */
static void check_one(double r, int32_t bits) {
  int32_t m, s;
  assert_int_equal(npuc_multiplier(r, bits, &m, &s), MULTIPLIER_FITS);
  double magnitude = fabs((double)m);
  assert_true(magnitude >= ldexp(1, bits - 1) && magnitude < ldexp(1, bits));
  assert_true(s >= 0 && s <= 62);
  assert_true(fabs(r - ldexp((double)m, -s)) <= ldexp(fabs(r), -bits));
  assert_true((m < 0) == (r < 0));
}

static void every_exponent(void **state) {
  (void)state;
  for (int32_t bits = 15; bits <= 31; bits += 16) {
    for (int e = -31; e <= bits - 1; e++) {
      for (int32_t i = 0; i < 1000; i++) {
        check_one(ldexp(mantissa(i, 1000), e), bits);
        check_one(-ldexp(mantissa(i, 1000), e), bits);
      }
    }
  }
}

static void edges(void **state) {
  (void)state;
  int32_t m, s;
  assert_int_equal(npuc_multiplier(0, 31, &m, &s), MULTIPLIER_FITS);
  assert_int_equal(m, 0);
  assert_int_equal(npuc_multiplier(1, 31, &m, &s), MULTIPLIER_FITS);
  assert_int_equal(m, 1 << 30);
  assert_int_equal(s, 30);
  /* The mantissa rounds up to 2^15: halved, one shift less. */
  assert_int_equal(npuc_multiplier(1 - 1e-9, 15, &m, &s), MULTIPLIER_FITS);
  assert_int_equal(m, 1 << 14);
  assert_int_equal(s, 14);
  assert_int_equal(npuc_multiplier(ldexp(1, -32), 31, &m, &s), MULTIPLIER_FITS);
  assert_int_equal(s, 62);
  assert_int_equal(npuc_multiplier(ldexp(1, -32) * (1 - 1e-6), 31, &m, &s), MULTIPLIER_VANISHES);
  assert_int_equal(m, 0);
  assert_int_equal(s, 0);
  assert_int_equal(npuc_multiplier(ldexp(1, -33), 15, &m, &s), MULTIPLIER_VANISHES);
  assert_int_equal(npuc_multiplier(ldexp(1, 31) - 1, 31, &m, &s), MULTIPLIER_FITS);
  assert_int_equal(s, 0);
  assert_int_equal(npuc_multiplier(ldexp(1, 31), 31, &m, &s), MULTIPLIER_TOO_LARGE);
  assert_int_equal(npuc_multiplier(ldexp(1, 15), 15, &m, &s), MULTIPLIER_TOO_LARGE);
  assert_int_equal(npuc_multiplier(NAN, 15, &m, &s), MULTIPLIER_TOO_LARGE);
  assert_int_equal(npuc_multiplier(INFINITY, 15, &m, &s), MULTIPLIER_TOO_LARGE);
}

static void pairs_share_the_shift(void **state) {
  (void)state;
  for (int e = -30; e < 10; e++) {
    for (int f = -30; f < 10; f++) {
      for (int i = 0; i < 20; i++) {
        double ra = ldexp(mantissa(i, 20), e), rb = -ldexp(mantissa(19 - i, 20), f);
        int32_t ma, mb, s;
        assert_int_equal(npuc_multiplier_pair(ra, rb, 15, &ma, &mb, &s), MULTIPLIER_FITS);
        double larger = fmax(fabs((double)ma), fabs((double)mb));
        assert_true(larger >= 16384 && larger < 32768);
        assert_true(fabs(ra - ldexp((double)ma, -s)) <= ldexp(0.5, -s));
        assert_true(fabs(rb - ldexp((double)mb, -s)) <= ldexp(0.5, -s));
      }
    }
  }
}

/* A truncated mantissa is caught by the bound that rounding meets. */
static void truncation_would_be_seen(void **state) {
  (void)state;
  int worse = 0;
  for (int32_t i = 0; i < 1000; i++) {
    double r = mantissa(i, 1000);
    int e;
    double m = floor(ldexp(frexp(r, &e), 15));
    worse += fabs(r - ldexp(m, e - 15)) > ldexp(r, -15);
  }
  assert_true(worse > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_exponent),
      cmocka_unit_test(edges),
      cmocka_unit_test(pairs_share_the_shift),
      cmocka_unit_test(truncation_would_be_seen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
