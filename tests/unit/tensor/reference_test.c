/* SPDX-License-Identifier: Apache-2.0 */
/* Texts and lists as elements: what is zeroed is empty, what is equal is equal by content, and a copy keeps its texts when the original goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "tensor/reference.h"

static tensor texts(arena *a, const char *first, const char *second) {
  tensor t;
  assert_int_equal(npuc_tensor_create(NULL, DTYPE_STRING, &(shape){.rank = 1, .dims = {2}}, &t), NPUC_OK);
  const char *given[] = {first, second};
  for (int64_t i = 0; i < 2; i++) {
    text_span text = {given[i], strlen(given[i])};
    npuc_reference_set(&t, i, npuc_text_place(npuc_arena_alloc(a, npuc_text_bytes(text.n)), text));
  }
  return t;
}

static void zeroed_memory_holds_empty_texts(void **state) {
  (void)state;
  tensor t;
  assert_int_equal(npuc_tensor_create(NULL, DTYPE_STRING, &(shape){.rank = 1, .dims = {3}}, &t), NPUC_OK);
  assert_int_equal(t.bytes, 24);
  for (int64_t i = 0; i < 3; i++) assert_int_equal(npuc_tensor_text(&t, i).n, 0);
  npuc_tensor_set(&t, 1, 3.0); /* numbers mean nothing here */
  assert_int_equal(npuc_tensor_text(&t, 1).n, 0);
  assert_true(npuc_tensor_get(&t, 1) == 0.0);
  npuc_tensor_release(&t);
}

static void equality_is_of_content(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  tensor x = texts(a, "one", ""), y = texts(a, "one", ""), z = texts(a, "one", " ");
  assert_true(npuc_tensor_equal(&x, &y));
  assert_false(npuc_tensor_equal(&x, &z));
  npuc_reference_set(&y, 1, NULL); /* an empty text without memory */
  assert_true(npuc_tensor_equal(&x, &y));
  tensor s[2];
  const tensor *items[2][2] = {{&x, &z}, {&y, &z}};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(npuc_tensor_create(NULL, npuc_dtype_sequence(DTYPE_STRING), &(shape){.rank = 1, .dims = {2}}, &s[i]), NPUC_OK);
    for (int64_t k = 0; k < 2; k++) npuc_reference_set(&s[i], k, items[i][k]);
  }
  assert_true(npuc_tensor_equal(&s[0], &s[1]));
  npuc_reference_set(&s[1], 1, &x);
  assert_false(npuc_tensor_equal(&s[0], &s[1]));
  for (int i = 0; i < 2; i++) npuc_tensor_release(&s[i]);
  npuc_tensor_release(&x);
  npuc_tensor_release(&y);
  npuc_tensor_release(&z);
  npuc_arena_destroy(a);
}

static void order_is_by_bytes(void **state) {
  (void)state;
  const struct {
    text_span a, b;
    int order;
  } rows[] = {{{"a", 1}, {"b", 1}, -1},       {{"ab", 2}, {"a", 1}, 1},   {{"", 0}, {"a", 1}, -1},
              {{"a\0b", 3}, {"a\0c", 3}, -1}, {{"\xc3", 1}, {"z", 1}, 1}, {{"q", 1}, {"q", 1}, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int order = npuc_text_compare(rows[i].a, rows[i].b);
    assert_int_equal((order > 0) - (order < 0), rows[i].order);
  }
}

static void a_copy_stands_alone(void **state) {
  (void)state;
  arena *first = npuc_arena_create(), *second = npuc_arena_create();
  tensor x = texts(first, "alpha", "beta"), copy = x;
  copy.data = npuc_references_copy(second, &x);
  copy.owner = NULL;
  npuc_tensor_release(&x);
  npuc_arena_destroy(first);
  assert_string_equal(npuc_tensor_text(&copy, 0).bytes, "alpha");
  assert_string_equal(npuc_tensor_text(&copy, 1).bytes, "beta");
  npuc_arena_destroy(second);
}

/* No reader of bytes can make a reference: such types have no size in a file. */
static void files_have_no_references(void **state) {
  (void)state;
  const dtype types[] = {DTYPE_STRING, npuc_dtype_sequence(DTYPE_F32), npuc_dtype_optional(DTYPE_I64),
                         npuc_dtype_optional(npuc_dtype_sequence(DTYPE_BOOL))};
  static const char *const names[] = {"string", "seq(float32)", "optional(int64)", "optional(seq(bool))"};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    size_t bytes;
    assert_int_equal(npuc_dtype_bits(types[i]), 0);
    assert_false(npuc_dtype_bytes(types[i], 1, &bytes));
    assert_true(npuc_dtype_memory(types[i], 5, &bytes));
    assert_int_equal(bytes, 40);
    assert_int_equal(npuc_dtype_width(types[i]), 8);
    assert_string_equal(npuc_dtype_name(types[i]), names[i]);
    assert_false(npuc_dtype_memory(types[i], INT64_MAX, &bytes));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(zeroed_memory_holds_empty_texts),
      cmocka_unit_test(equality_is_of_content),
      cmocka_unit_test(order_is_by_bytes),
      cmocka_unit_test(a_copy_stands_alone),
      cmocka_unit_test(files_have_no_references),
  };
  return cmocka_run_group_tests_name("references", tests, NULL, NULL);
}
