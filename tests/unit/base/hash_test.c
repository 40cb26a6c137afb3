/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
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
static int by_value(const void *a, const void *b) {
  uint64_t x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return (x > y) - (x < y);
}

/* No two of 200,000 names of the kind that exporters write share 32 bits in both halves, and the low bits, which choose a slot, are even. */
static void names_spread_over_a_table(void **state) {
  (void)state;
  enum { COUNT = 200000, SLOTS = 1024 };
  static unsigned slots[SLOTS];
  static uint64_t seen[COUNT];
  for (unsigned i = 0; i < COUNT; i++) {
    char name[64];
    int n = snprintf(name, sizeof name, "model/layers.%u/block%u/conv_out", i % 97, i);
    seen[i] = npuc_hash_bytes(name, (size_t)n);
    slots[seen[i] % SLOTS]++;
  }
  qsort(seen, COUNT, sizeof *seen, by_value);
  for (unsigned i = 1; i < COUNT; i++) assert_true(seen[i] != seen[i - 1]);
  for (unsigned i = 0; i < SLOTS; i++) assert_in_range(slots[i], COUNT / SLOTS / 2, COUNT / SLOTS * 2);
  assert_true(npuc_hash_bytes("abc", 3) != npuc_hash_bytes("abc\0", 4)); /* zeros at the end count */
  assert_true(npuc_hash_bytes("12345678", 8) != npuc_hash_bytes("12345678\0", 9));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(crc32c_equals_the_published_values),
      cmocka_unit_test(crc32c_equals_the_bitwise_definition),
      cmocka_unit_test(crc32c_forms_agree),
      cmocka_unit_test(crc32c_chains_and_sees_one_flipped_bit),
      cmocka_unit_test(names_spread_over_a_table),
  };
  return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
