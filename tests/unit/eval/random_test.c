/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds mean what they mean to NumPy 2.4's RandomState(seed): .random_sample(), .standard_normal(), .binomial(1, p). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/eval/random_source.h"

static void uniforms_are_numpys(void **state) {
  (void)state;
  static const struct {
    uint32_t seed;
    double first[3], after_1000; /* the 1001st: the words were renewed three times by then */
  } wanted[] = {
      {0u, {0.5488135039273248, 0.7151893663724195, 0.6027633760716439}, 0.5928802707811576},
      {1u, {0.417022004702574, 0.7203244934421581, 0.00011437481734488664}, 0.3258099666132048},
      {4294967295u, {0.0976320289940138, 0.9123828453026218, 0.78903530185164}, 0.9783407784257938},
  };
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    random_source r;
    npuc_random_seed(&r, wanted[i].seed);
    for (int k = 0; k < 3; k++) assert_true(npuc_random_double(&r) == wanted[i].first[k]);
    for (int k = 3; k < 1000; k++) (void)npuc_random_double(&r);
    assert_true(npuc_random_double(&r) == wanted[i].after_1000);
  }
}

static void normals_are_numpys(void **state) {
  (void)state;
  static const double wanted[] = {0.4967141530112327,   -0.13826430117118466, 0.6476885381006925, 1.5230298564080254, -0.23415337472333597,
                                  -0.23413695694918055, 1.5792128155073915,   0.7674347291529088, -0.4694743859349521};
  random_source r;
  npuc_random_seed(&r, 42);
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) assert_true(fabs(npuc_random_normal(&r) - wanted[i]) <= 1e-15);
}

static void bernoulli_is_numpys(void **state) {
  (void)state;
  static const double p[] = {0.0, 0.1,  0.25, 0.5, 0.5, 0.6, 0.75, 0.9, 1.0, 0.0, 0.1,  0.25, 0.5, 0.5,
                             0.6, 0.75, 0.9,  1.0, 0.0, 0.1, 0.25, 0.5, 0.5, 0.6, 0.75, 0.9,  1.0};
  static const int wanted[] = {0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0, 1, 0, 1, 1};
  random_source r;
  npuc_random_seed(&r, 7);
  for (size_t i = 0; i < sizeof p / sizeof *p; i++) assert_int_equal(npuc_random_bernoulli(&r, p[i]), wanted[i]);
}

/* Negative control: another seed gives other numbers. */
static void seeds_differ(void **state) {
  (void)state;
  random_source a, b;
  npuc_random_seed(&a, 1);
  npuc_random_seed(&b, 2);
  assert_true(npuc_random_double(&a) != npuc_random_double(&b));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(uniforms_are_numpys), cmocka_unit_test(normals_are_numpys),
                                     cmocka_unit_test(bernoulli_is_numpys), cmocka_unit_test(seeds_differ)};
  return cmocka_run_group_tests_name("eval/random", tests, NULL, NULL);
}
