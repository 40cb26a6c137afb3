/* SPDX-License-Identifier: Apache-2.0 */
/* A strided copy against its definition, element by element, over every order of axes: sizes below, at and beyond a tile, every element size, guards on both
 * sides of the result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/movement.h"

enum { GUARD = 64, RANK = 4 };

/* Axis i of the result is axis perm[i] of the source. */
static strided_copy transpose(const int64_t *dims, const int32_t *perm, size_t bytes, const void *from, void *to) {
  strided_copy c = {.from = from, .to = to, .element_bytes = bytes, .rank = RANK};
  int64_t strides[RANK], step = 1;
  for (int32_t i = RANK - 1; i >= 0; step *= dims[i--]) strides[i] = step;
  step = 1;
  for (int32_t i = RANK - 1; i >= 0; i--) {
    c.dims[i] = dims[perm[i]];
    c.from_strides[i] = strides[perm[i]];
    c.to_strides[i] = step;
    step *= c.dims[i];
  }
  return c;
}

static void by_definition(const strided_copy *c, char *to) {
  int64_t n = c->dims[0] * c->dims[1] * c->dims[2] * c->dims[3], size = (int64_t)c->element_bytes;
  for (int64_t e = 0; e < n; e++) {
    int64_t left = e, from = 0, at = 0;
    for (int32_t i = RANK - 1; i >= 0; left /= c->dims[i--]) {
      from += left % c->dims[i] * c->from_strides[i];
      at += left % c->dims[i] * c->to_strides[i];
    }
    memcpy(to + at * size, (const char *)c->from + from * size, c->element_bytes);
  }
}

static void check(const int64_t *dims, const int32_t *perm, size_t bytes) {
  size_t n = (size_t)(dims[0] * dims[1] * dims[2] * dims[3]) * bytes;
  char *from = malloc(n), *to = malloc(n + 2 * GUARD), *want = malloc(n + 2 * GUARD);
  assert_true(from && to && want);
  for (size_t i = 0; i < n; i++) from[i] = (char)(i * 37 + i / 251);
  memset(to, 0x5a, n + 2 * GUARD);
  memset(want, 0x5a, n + 2 * GUARD);
  strided_copy c = transpose(dims, perm, bytes, from, to + GUARD);
  by_definition(&c, want + GUARD);
  npuc_strided_copy(&c);
  assert_memory_equal(to, want, n + 2 * GUARD);
  from[n / 2] ^= 1; /* control: one bit of the source shows */
  by_definition(&c, want + GUARD);
  assert_true(memcmp(to, want, n + 2 * GUARD) != 0);
  free(from);
  free(to);
  free(want);
}

static void every_order_of_axes(void **state) {
  (void)state;
  static const int64_t sizes[][RANK] = {{1, 1, 3, 5},   {2, 3, 4, 5},   {1, 1, 16, 32}, {1, 2, 17, 33},
                                        {3, 18, 1, 40}, {5, 4, 19, 21}, {1, 1, 1, 7}};
  static const size_t bytes[] = {1, 2, 4, 8, 16};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    for (int32_t code = 0; code < 256; code++) {
      int32_t perm[RANK] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6};
      int32_t seen = 0;
      for (int32_t i = 0; i < RANK; i++) seen |= 1 << perm[i];
      for (size_t b = 0; seen == 15 && b < 5; b++) check(sizes[k], perm, bytes[b]);
    }
  }
}

/* Rows of a larger matrix, backwards along one axis: what Slice asks for. */
static void steps_may_be_negative(void **state) {
  (void)state;
  int32_t from[40 * 50], to[20 * 30], want[20 * 30];
  for (int32_t i = 0; i < 40 * 50; i++) from[i] = i;
  strided_copy c = {
      .from = from + 39 * 50, .to = to, .element_bytes = 4, .rank = 2, .dims = {20, 30}, .from_strides = {1, -50}, .to_strides = {30, 1}};
  for (int32_t i = 0; i < 20; i++)
    for (int32_t j = 0; j < 30; j++) want[i * 30 + j] = (39 - j) * 50 + i;
  npuc_strided_copy(&c);
  assert_memory_equal(to, want, sizeof want);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_order_of_axes), cmocka_unit_test(steps_may_be_negative)};
  return cmocka_run_group_tests_name("movement", tests, NULL, NULL);
}
