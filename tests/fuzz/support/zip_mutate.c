/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/support/zip_mutate.h"

#include <string.h>
#include <zlib.h>

#include "fuzz/support/target.h"
#include "support/random.h"

enum { ENTRY = 46, LOCAL = 30, MOST_MEMBERS = 256, MOST_CHANGED = 1 << 16 };

typedef struct member {
  uint8_t *entry, *local, *data;
  size_t n;
} member;

static size_t number(const uint8_t *at, size_t width) {
  size_t v = 0;
  for (size_t i = 0; i < width; i++) v |= (size_t)at[i] << (8 * i);
  return v;
}

/* Stored members that lie inside, by the entries of the central directory wherever they are. */
static size_t find_members(uint8_t *bytes, size_t n, member *out) {
  size_t count = 0;
  for (size_t at = 0; at + ENTRY <= n && count < MOST_MEMBERS; at++) {
    uint8_t *entry = bytes + at;
    if (memcmp(entry, "PK\1\2", 4) != 0 || number(entry + 10, 2) != 0) continue;
    size_t size = number(entry + 24, 4), local = number(entry + 42, 4);
    if (local > n || n - local < LOCAL || memcmp(bytes + local, "PK\3\4", 4) != 0) continue;
    size_t data = local + LOCAL + number(bytes + local + 26, 2) + number(bytes + local + 28, 2);
    if (data > n || size > n - data || size == 0) continue;
    out[count++] = (member){entry, bytes + local, bytes + data, size};
  }
  return count;
}

static int is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

/* A digit for a digit, a word of the text over another of its length, or bytes blindly; the length stays. */
static void change(member *m, uint64_t *random) {
  static uint8_t copy[MOST_CHANGED];
  size_t at = random_next(random) % m->n;
  switch (random_next(random) % 4) {
    case 0:
      for (size_t i = 0; i < m->n; i++, at = (at + 1) % m->n) {
        if (!is_digit(m->data[at])) continue;
        m->data[at] = (uint8_t)('0' + random_next(random) % 10);
        return;
      }
      return;
    case 1: {
      size_t from = random_next(random) % m->n, length = 1 + random_next(random) % 24;
      if (from + length <= m->n && at + length <= m->n) memmove(m->data + at, m->data + from, length);
      return;
    }
    default: {
      size_t part = m->n - at < 64 ? m->n - at : 64;
      memcpy(copy, m->data + at, part);
      size_t made = LLVMFuzzerMutate(copy, part, part);
      memcpy(m->data + at, copy, made < part ? made : part);
    }
  }
}

size_t fuzz_zip_mutate(uint8_t *bytes, size_t n, size_t most, unsigned int seed) {
  static member members[MOST_MEMBERS];
  uint64_t random = seed;
  size_t count = find_members(bytes, n, members);
  if (count == 0 || random_next(&random) % 16 == 0) return LLVMFuzzerMutate(bytes, n, most);
  for (size_t k = 1 + random_next(&random) % 3; k > 0; k--) {
    member *m = &members[random_next(&random) % count];
    change(m, &random);
    uint32_t crc = (uint32_t)crc32(0, m->data, (uInt)m->n);
    for (size_t i = 0; i < 4; i++) m->entry[16 + i] = m->local[14 + i] = (uint8_t)(crc >> (8 * i));
  }
  return n;
}
