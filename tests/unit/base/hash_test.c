/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/hash.h"

/* RFC 3720 appendix B.4: the published values. */
static void crc32c_equals_the_published_values(void **state) {
  (void)state;
  uint8_t bytes[32];
  assert_int_equal(npuc_crc32c(0, "123456789", 9), 0xE3069283u);
  memset(bytes, 0, sizeof bytes);
  assert_int_equal(npuc_crc32c(0, bytes, 32), 0x8A9136AAu);
  memset(bytes, 0xff, sizeof bytes);
  assert_int_equal(npuc_crc32c(0, bytes, 32), 0x62A8AB43u);
  for (int i = 0; i < 32; i++) bytes[i] = (uint8_t)i;
  assert_int_equal(npuc_crc32c(0, bytes, 32), 0x46DD794Eu);
  for (int i = 0; i < 32; i++) bytes[i] = (uint8_t)(31 - i);
  assert_int_equal(npuc_crc32c(0, bytes, 32), 0x113FDB5Cu);
  assert_int_equal(npuc_crc32c(0, NULL, 0), 0);
}

static uint32_t bitwise_crc32c(const uint8_t *p, size_t n) {
  uint32_t c = 0xffffffffu;
  for (size_t i = 0; i < n; i++) {
    c ^= p[i];
    for (int bit = 0; bit < 8; bit++) c = (c >> 1) ^ ((c & 1) ? 0x82F63B78u : 0);
  }
  return ~c;
}

/* Each form (table, eight tables, instruction) at every start and end, short and long. */
static void crc32c_forms_agree(void **state) {
  (void)state;
  enum { LONG = 20000 };
  static uint8_t bytes[LONG + 16];
  uint32_t random = 1;
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)((random = random * 1664525u + 1013904223u) >> 24);
  for (size_t start = 0; start < 9; start++) {
    for (size_t n = 0; n < 40; n++) {
      uint32_t want = bitwise_crc32c(bytes + start, n);
      assert_int_equal(npuc_crc32c(0, bytes + start, n), want);
      assert_int_equal(npuc_crc32c_portable(0, bytes + start, n), want);
    }
    size_t n = LONG - start;
    uint32_t want = bitwise_crc32c(bytes + start, n), half = npuc_crc32c_portable(0, bytes + start, 17000);
    assert_int_equal(npuc_crc32c(0, bytes + start, n), want);
    assert_int_equal(npuc_crc32c_portable(0, bytes + start, n), want);
    assert_int_equal(npuc_crc32c(half, bytes + start + 17000, n - 17000), want);
  }
  uint32_t before = npuc_crc32c_portable(0, bytes, LONG); /* control */
  bytes[12345] ^= 4;
  assert_int_not_equal(npuc_crc32c_portable(0, bytes, LONG), before);
}

/* Every table entry is used by some single byte. */
static void crc32c_equals_the_bitwise_definition(void **state) {
  (void)state;
  for (unsigned b = 0; b < 256; b++) {
    uint8_t byte = (uint8_t)b;
    assert_int_equal(npuc_crc32c(0, &byte, 1), bitwise_crc32c(&byte, 1));
  }
}

static void crc32c_chains_and_sees_one_flipped_bit(void **state) {
  (void)state;
  const char *text = "the quick brown fox jumps over the lazy dog";
  size_t n = strlen(text);
  uint32_t whole = npuc_crc32c(0, text, n);
  for (size_t cut = 0; cut <= n; cut++) {
    uint32_t first = npuc_crc32c(0, text, cut);
    assert_int_equal(npuc_crc32c(first, text + cut, n - cut), whole);
  }
  uint8_t copy[64];
  memcpy(copy, text, n);
  for (size_t bit = 0; bit < n * 8; bit++) {
    copy[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    assert_int_not_equal(npuc_crc32c(0, copy, n), whole);
    copy[bit / 8] ^= (uint8_t)(1u << (bit % 8));
  }
}

/* Values from the FNV reference page (Noll). */
static void fnv1a_equals_the_published_values(void **state) {
  (void)state;
  assert_true(npuc_fnv1a("", 0) == UINT64_C(0xcbf29ce484222325));
  assert_true(npuc_fnv1a("a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
  assert_true(npuc_fnv1a("foobar", 6) == UINT64_C(0x85944171f73967e8));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(crc32c_equals_the_published_values),
      cmocka_unit_test(crc32c_equals_the_bitwise_definition),
      cmocka_unit_test(crc32c_forms_agree),
      cmocka_unit_test(crc32c_chains_and_sees_one_flipped_bit),
      cmocka_unit_test(fnv1a_equals_the_published_values),
  };
  return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
