/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "report/histogram.h"

static uint64_t total(const histogram *h) {
  uint64_t n = 0;
  for (int i = 0; i < HISTOGRAM_BINS; i++) n += h->bins[i];
  return n;
}

/* Counted again, value by value, in the final bins. */
static void agrees(const histogram *h, const float *values, size_t n) {
  uint64_t wanted[HISTOGRAM_BINS] = {0};
  for (size_t i = 0; i < n; i++) wanted[(int64_t)floor((double)values[i] / ldexp(1.0, h->k)) - h->first]++;
  assert_memory_equal(wanted, h->bins, sizeof wanted);
  assert_int_equal(total(h), n);
  assert_int_equal(h->count, n);
}

static void bins_do_not_depend_on_the_order(void **state) {
  (void)state;
  enum { N = 1000 };
  float forward[N], backward[N];
  for (int i = 0; i < N; i++) forward[i] = sinf((float)i) * (float)(i % 37) - 3.0f;
  for (int i = 0; i < N; i++) backward[i] = forward[N - 1 - i];
  histogram a = {0}, b = {0}, c = {0};
  npuc_histogram_add(&a, forward, N);
  for (int i = 0; i < N; i++) npuc_histogram_add(&b, &forward[i], 1);
  for (int i = 0; i < N; i += 10) npuc_histogram_add(&c, &backward[i], 10);
  agrees(&a, forward, N);
  assert_memory_equal(&a, &b, sizeof a);
  assert_memory_equal(&a, &c, sizeof a);
}

static void the_window_is_used(void **state) {
  (void)state;
  float values[256];
  for (int i = 0; i < 256; i++) values[i] = (float)i / 100.0f;
  histogram h = {0};
  npuc_histogram_add(&h, values, 256);
  int used = 0;
  for (int i = 0; i < HISTOGRAM_BINS; i++) used += h.bins[i] > 0;
  assert_in_range(used, HISTOGRAM_BINS / 2 - 1, HISTOGRAM_BINS);
}

static void odd_values(void **state) {
  (void)state;
  const float zeros[] = {0.0f, -0.0f, 0.0f}, same[] = {-2.5f, -2.5f}, strange[] = {NAN, INFINITY, -INFINITY, 1.0f},
              wide[] = {-3.4e38f, 1e-45f, 3.4e38f};
  histogram h = {0};
  npuc_histogram_add(&h, zeros, 3);
  agrees(&h, zeros, 3);
  h = (histogram){0};
  npuc_histogram_add(&h, same, 2);
  agrees(&h, same, 2);
  h = (histogram){0};
  npuc_histogram_add(&h, strange, 4);
  agrees(&h, &strange[3], 1);
  h = (histogram){0};
  npuc_histogram_add(&h, wide, 3);
  agrees(&h, wide, 3);
  h = (histogram){0};
  npuc_histogram_add(&h, strange, 3);
  assert_int_equal(h.count, 0);
}

static void json_names_the_bins(void **state) {
  (void)state;
  const float values[] = {1.0f, 1.0f, 2.0f};
  histogram h = {0};
  npuc_histogram_add(&h, values, 3);
  json_t *o = npuc_histogram_json(&h), *bins = json_object_get(o, "bins");
  double from = json_number_value(json_object_get(o, "from")), width = json_number_value(json_object_get(o, "width"));
  assert_int_equal(json_integer_value(json_array_get(bins, (size_t)((1.0 - from) / width))), 2);
  assert_int_equal(json_integer_value(json_array_get(bins, (size_t)((2.0 - from) / width))), 1);
  assert_int_equal(json_array_size(bins), (size_t)((2.0 - from) / width) + 1);
  json_decref(o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bins_do_not_depend_on_the_order),
      cmocka_unit_test(the_window_is_used),
      cmocka_unit_test(odd_values),
      cmocka_unit_test(json_names_the_bins),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
