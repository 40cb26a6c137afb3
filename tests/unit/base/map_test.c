/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"

static int values[5000];

static void keys_keep_their_values_and_their_order(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  map *m = npuc_map_create(a);
  assert_null(npuc_map_get(m, "x"));
  char key[32];
  for (int i = 0; i < 5000; i++) {
    (void)snprintf(key, sizeof key, "node_%d", i * 7919 % 5000);
    assert_null(npuc_map_put(m, key, &values[i * 7919 % 5000]));
  }
  assert_int_equal(npuc_map_count(m), 5000);
  for (int i = 0; i < 5000; i++) {
    (void)snprintf(key, sizeof key, "node_%d", i);
    assert_ptr_equal(npuc_map_get(m, key), &values[i]);
  }
  assert_null(npuc_map_get(m, "node_5000"));
  size_t cursor = 0;
  const char *name;
  void *value;
  for (int i = 0; i < 5000; i++) {
    assert_true(npuc_map_next(m, &cursor, &name, &value));
    (void)snprintf(key, sizeof key, "node_%d", i * 7919 % 5000);
    assert_string_equal(name, key);
  }
  assert_false(npuc_map_next(m, &cursor, &name, &value));
  npuc_arena_destroy(a);
}

static void putting_again_replaces_in_place(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  map *m = npuc_map_create(a);
  npuc_map_put(m, "a", &values[0]);
  npuc_map_put(m, "b", &values[1]);
  assert_ptr_equal(npuc_map_put(m, "a", &values[2]), &values[0]);
  assert_int_equal(npuc_map_count(m), 2);
  size_t cursor = 0;
  const char *name;
  assert_true(npuc_map_next(m, &cursor, &name, NULL));
  assert_string_equal(name, "a");
  assert_ptr_equal(npuc_map_getn(m, "abc", 1), &values[2]);
  assert_null(npuc_map_getn(m, "abc", 2));
  npuc_map_put(m, "", &values[3]);
  assert_ptr_equal(npuc_map_get(m, ""), &values[3]);
  npuc_arena_destroy(a);
}

/* Against a plain array of flags: any mixture of puts and removals. */
static void removal_holds_under_churn(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  map *m = npuc_map_create(a);
  bool there[64] = {false};
  size_t live = 0;
  uint32_t random = 1;
  for (int step = 0; step < 20000; step++) {
    random = random * 1664525u + 1013904223u;
    unsigned k = (random >> 16) % 64;
    char key[8];
    (void)snprintf(key, sizeof key, "%u", k);
    if (random >> 31) {
      void *earlier = npuc_map_put(m, key, &values[k]);
      assert_true((earlier != NULL) == there[k]);
      live += !there[k];
      there[k] = true;
    } else {
      assert_true(npuc_map_remove(m, key) == there[k]);
      live -= there[k];
      there[k] = false;
    }
    assert_int_equal(npuc_map_count(m), live);
    assert_true((npuc_map_get(m, key) != NULL) == there[k]);
  }
  size_t cursor = 0, seen = 0;
  while (npuc_map_next(m, &cursor, NULL, NULL)) seen++;
  assert_int_equal(seen, live);
  npuc_arena_destroy(a);
}

static void equal_strings_intern_to_one_pointer(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  interner *in = npuc_interner_create(a);
  char text[] = "weight";
  const char *first = npuc_intern(in, text);
  text[0] = 'W';
  assert_string_equal(first, "weight");
  assert_ptr_equal(npuc_intern(in, "weight"), first);
  assert_ptr_equal(npuc_internn(in, "weights", 6), first);
  assert_ptr_not_equal(npuc_intern(in, "weights"), first);
  for (int i = 0; i < 1000; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "n%d", i);
    (void)npuc_intern(in, name);
  }
  assert_ptr_equal(npuc_intern(in, "weight"), first);
  npuc_arena_destroy(a);
}

static void nearest_guesses_slips_only(void **state) {
  (void)state;
  const char *const names[] = {"Conv", "ConvInteger", "Relu", "LeakyRelu", "MaxPool", "AveragePool", "--calib", "--eval"};
  size_t n = sizeof names / sizeof names[0];
  assert_string_equal(npuc_nearest("conv", names, n), "Conv");
  assert_string_equal(npuc_nearest("Rleu", names, n), "Relu");
  assert_string_equal(npuc_nearest("MaxPol", names, n), "MaxPool");
  assert_string_equal(npuc_nearest("AvgPool", names, n), "MaxPool"); /* two letters away; AveragePool is four */
  assert_string_equal(npuc_nearest("--calibr", names, n), "--calib");
  assert_string_equal(npuc_nearest("--evla", names, n), "--eval");
  assert_null(npuc_nearest("Transpose", names, n));
  assert_null(npuc_nearest("x", names, n));
  assert_null(npuc_nearest("", names, n));
  char longest[200];
  memset(longest, 'a', sizeof longest - 1);
  longest[199] = '\0';
  assert_null(npuc_nearest(longest, names, n));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keys_keep_their_values_and_their_order),
      cmocka_unit_test(putting_again_replaces_in_place),
      cmocka_unit_test(removal_holds_under_churn),
      cmocka_unit_test(equal_strings_intern_to_one_pointer),
      cmocka_unit_test(nearest_guesses_slips_only),
  };
  return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
