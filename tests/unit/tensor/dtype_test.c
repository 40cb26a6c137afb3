/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "tensor/dtype.h"

static void names_and_numbers_are_onnx_s(void **state) {
  (void)state;
  assert_int_equal(DTYPE_F32, 1);
  assert_int_equal(DTYPE_I64, 7);
  assert_int_equal(DTYPE_BF16, 16);
  assert_int_equal(DTYPE_I4, 22);
  assert_string_equal(npuc_dtype_name(DTYPE_F32), "float32");
  assert_string_equal(npuc_dtype_name(DTYPE_NONE), "unknown");
  assert_string_equal(npuc_dtype_name((dtype)1000), "unknown");
}

static void every_name_parses_to_its_type(void **state) {
  (void)state;
  for (int t = 1; t < (int)DTYPE_END; t++) {
    dtype found;
    assert_true(npuc_dtype_parse(npuc_dtype_name((dtype)t), &found));
    assert_int_equal(found, t);
  }
  dtype found;
  assert_true(npuc_dtype_parse("float", &found) && found == DTYPE_F32);
  assert_true(npuc_dtype_parse("s8", &found) && found == DTYPE_I8);
  assert_false(npuc_dtype_parse("flaot", &found));
  assert_false(npuc_dtype_parse("", &found));
}

static void ranges_are_those_of_the_bits(void **state) {
  (void)state;
  int64_t lo, hi;
  assert_true(npuc_dtype_range(DTYPE_I8, &lo, &hi) && lo == -128 && hi == 127);
  assert_true(npuc_dtype_range(DTYPE_U4, &lo, &hi) && lo == 0 && hi == 15);
  assert_true(npuc_dtype_range(DTYPE_I32, &lo, &hi) && lo == INT32_MIN && hi == INT32_MAX);
  assert_true(npuc_dtype_range(DTYPE_U32, &lo, &hi) && lo == 0 && hi == UINT32_MAX);
  assert_false(npuc_dtype_range(DTYPE_I64, &lo, &hi));
  assert_false(npuc_dtype_range(DTYPE_F32, &lo, &hi));
  assert_false(npuc_dtype_range(DTYPE_BOOL, &lo, &hi));
}

static void sizes_are_packed_and_checked(void **state) {
  (void)state;
  size_t bytes;
  assert_true(npuc_dtype_bytes(DTYPE_F32, 3, &bytes) && bytes == 12);
  assert_true(npuc_dtype_bytes(DTYPE_I4, 3, &bytes) && bytes == 2);
  assert_true(npuc_dtype_bytes(DTYPE_U2, 5, &bytes) && bytes == 2);
  assert_true(npuc_dtype_bytes(DTYPE_F32, 0, &bytes) && bytes == 0);
  assert_true(npuc_dtype_bytes(DTYPE_I4, INT64_MAX, &bytes) && bytes == (size_t)1 << 62);
  assert_false(npuc_dtype_bytes(DTYPE_F64, INT64_MAX / 4, &bytes));
  assert_false(npuc_dtype_bytes(DTYPE_U8, -1, &bytes));
  assert_false(npuc_dtype_bytes(DTYPE_STRING, 1, &bytes));
  assert_false(npuc_dtype_bytes(DTYPE_NONE, 1, &bytes));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_and_numbers_are_onnx_s),
      cmocka_unit_test(every_name_parses_to_its_type),
      cmocka_unit_test(ranges_are_those_of_the_bits),
      cmocka_unit_test(sizes_are_packed_and_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
