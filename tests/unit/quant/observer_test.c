/* SPDX-License-Identifier: Apache-2.0 */
/* One pass, any order: the histogram depends on the values alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "quant/observer.h"

enum { N = 20000 };

static float values[N];

/* Wide spread of magnitudes, both signs, zeros. */
static void make_values(void) {
  uint32_t state = 7;
  for (int i = 0; i < N; i++) {
    state = state * 1664525u + 1013904223u;
    float u = (float)(state >> 8) / 16777216.0f - 0.5f;
    values[i] = i % 97 == 0 ? 0 : u * u * u * (i % 1000 == 0 ? 300.0f : 4.0f);
  }
}

static bool same(const observer *a, const observer *b) {
  return a->k == b->k && a->min == b->min && a->max == b->max && a->count == b->count && memcmp(a->bins, b->bins, sizeof a->bins) == 0;
}

static void order_and_batches_do_not_matter(void **state) {
  (void)state;
  make_values();
  observer *o = malloc(4 * sizeof *o);
  assert_non_null(o);
  for (int i = 0; i < 4; i++) npuc_observer_init(&o[i], npuc_kernels_scalar());
  npuc_observer_add(&o[0], values, N);
  for (int i = 0; i < N; i++) npuc_observer_add(&o[1], &values[N - 1 - i], 1);
  npuc_observer_add(&o[2], values + N / 3, N - N / 3);
  npuc_observer_add(&o[3], values, N / 3);
  npuc_observer_merge(&o[2], &o[3]);
  assert_true(same(&o[0], &o[1]));
  assert_true(same(&o[0], &o[2]));
  /* Control: one value changed by more than a bin is another histogram. */
  observer *other = &o[3];
  npuc_observer_init(other, npuc_kernels_scalar());
  values[5] += 1;
  npuc_observer_add(other, values, N);
  assert_false(same(&o[0], other));
  free(o);
}

/* Each value lies in its bin: counted anew from the definition. */
static void bins_are_the_definition(void **state) {
  (void)state;
  make_values();
  observer *o = malloc(sizeof *o);
  uint64_t *bins = calloc(OBSERVER_BINS, sizeof *bins);
  assert_non_null(o);
  assert_non_null(bins);
  npuc_observer_init(o, npuc_kernels_scalar());
  for (int i = 0; i < N; i += 100) npuc_observer_add(o, values + i, 100);
  float lo = INFINITY, hi = -INFINITY;
  for (int i = 0; i < N; i++) {
    lo = fminf(lo, values[i]);
    hi = fmaxf(hi, values[i]);
    bins[(int)floor(ldexp((double)values[i], -o->k)) + OBSERVER_HALF]++;
  }
  assert_true(o->min == lo && o->max == hi);
  assert_int_equal(o->count, N);
  assert_memory_equal(o->bins, bins, OBSERVER_BINS * sizeof *bins);
  /* The largest magnitude lies in the outer half: no resolution is wasted. */
  float largest = fmaxf(-lo, hi);
  assert_true((double)largest < ldexp(OBSERVER_HALF, o->k) && (double)largest >= ldexp(OBSERVER_HALF / 2, o->k));
  free(bins);
  free(o);
}

static void extremes(void **state) {
  (void)state;
  observer *o = malloc(sizeof *o);
  assert_non_null(o);
  npuc_observer_init(o, npuc_kernels_scalar());
  const float tiny[] = {0, 1e-42f, -1e-42f}, huge[] = {3e38f, -3e38f}, power[] = {-1, 1, 0.5f};
  npuc_observer_add(o, tiny, 3);
  npuc_observer_add(o, power, 3);
  npuc_observer_add(o, huge, 2);
  assert_true(o->finite);
  assert_int_equal(o->count, 8);
  uint64_t sum = 0;
  for (int i = 0; i < OBSERVER_BINS; i++) sum += o->bins[i];
  assert_int_equal(sum, 8);
  const float bad[] = {1, NAN};
  npuc_observer_add(o, bad, 2);
  assert_false(o->finite);
  npuc_observer_init(o, npuc_kernels_scalar());
  npuc_observer_add(o, &(float){-INFINITY}, 1);
  assert_false(o->finite);
  free(o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(order_and_batches_do_not_matter),
      cmocka_unit_test(bins_are_the_definition),
      cmocka_unit_test(extremes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
