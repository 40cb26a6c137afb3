/* SPDX-License-Identifier: Apache-2.0 */
/* References and texts: a text is its length, then its bytes, then a 0. */
#include "tensor/reference.h"

#include <assert.h>
#include <string.h>

typedef struct text_head {
  uint64_t n;
} text_head;

size_t npuc_text_bytes(size_t n) { return n > SIZE_MAX / 2 ? SIZE_MAX : (sizeof(text_head) + n + 8) & ~(size_t)7; }

char *npuc_text_begin(void *memory, size_t n) {
  text_head *head = memory;
  head->n = n;
  return (char *)(head + 1);
}

const void *npuc_text_place(void *memory, text_span text) {
  char *to = npuc_text_begin(memory, text.n);
  if (text.n) memcpy(to, text.bytes, text.n);
  return memory;
}

text_span npuc_text_of(const void *reference) {
  if (!reference) return (text_span){"", 0};
  const text_head *head = reference;
  return (text_span){(const char *)(head + 1), (size_t)head->n};
}

const void *npuc_reference_get(const tensor *t, int64_t index) {
  assert(index >= 0 && ((uint64_t)index + 1) * sizeof(uint64_t) <= t->bytes);
  uint64_t raw;
  memcpy(&raw, (const char *)t->data + (size_t)index * sizeof raw, sizeof raw);
  return (const void *)(uintptr_t)raw;
}

void npuc_reference_set(tensor *t, int64_t index, const void *reference) {
  assert(index >= 0 && ((uint64_t)index + 1) * sizeof(uint64_t) <= t->bytes);
  uint64_t raw = (uint64_t)(uintptr_t)reference;
  memcpy((char *)t->data + (size_t)index * sizeof raw, &raw, sizeof raw);
}

int npuc_text_compare(text_span a, text_span b) {
  size_t common = a.n < b.n ? a.n : b.n;
  int order = common ? memcmp(a.bytes, b.bytes, common) : 0;
  return order ? order : a.n < b.n ? -1 : a.n > b.n;
}

bool npuc_references_equal(const tensor *a, const tensor *b) {
  int64_t n = npuc_tensor_elements(a);
  bool texts = a->type == DTYPE_STRING;
  for (int64_t i = 0; i < n; i++) {
    if (npuc_reference_get(a, i) == npuc_reference_get(b, i)) continue;
    if (texts ? npuc_text_compare(npuc_tensor_text(a, i), npuc_tensor_text(b, i)) != 0
              : !npuc_tensor_equal(npuc_tensor_item(a, i), npuc_tensor_item(b, i)))
      return false;
  }
  return true;
}

void *npuc_references_copy(arena *a, const tensor *t) {
  tensor copy = *t;
  copy.data = npuc_arena_copy(a, t->data, t->bytes);
  int64_t n = t->type == DTYPE_STRING ? npuc_tensor_elements(t) : 0;
  for (int64_t i = 0; i < n; i++) {
    text_span text = npuc_tensor_text(t, i);
    npuc_reference_set(&copy, i, text.n ? npuc_text_place(npuc_arena_alloc(a, npuc_text_bytes(text.n)), text) : NULL);
  }
  return copy.data;
}
