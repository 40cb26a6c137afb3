/* SPDX-License-Identifier: Apache-2.0 */
#include "npu/alloc.h"

static bool lives_overlap(const sp_buffer *a, const sp_buffer *b) { return a->first <= b->last && b->first <= a->last; }

static bool is_placed_before(const sp_buffer *buffers, size_t a, size_t b) {
  return buffers[a].first < buffers[b].first || (buffers[a].first == buffers[b].first && a < b);
}

/* Raises *address above a placed buffer in the way; false when nothing is in the way. */
static bool bump(const sp_buffer *buffers, size_t n, size_t self, uint64_t *address) {
  for (size_t i = 0; i < n; i++) {
    const sp_buffer *other = &buffers[i];
    if (i == self || !is_placed_before(buffers, i, self) || !lives_overlap(other, &buffers[self])) continue;
    if (*address < other->address + other->bytes && other->address < *address + buffers[self].bytes) {
      *address = (other->address + other->bytes + 63) / 64 * 64;
      return true;
    }
  }
  return false;
}

static bool place(sp_buffer *buffers, size_t n, size_t self, uint64_t limit) {
  uint64_t address = 0;
  while (bump(buffers, n, self, &address)) {
  }
  buffers[self].address = address;
  return buffers[self].bytes <= limit && address <= limit - buffers[self].bytes;
}

bool npuc_npu_alloc(sp_buffer *buffers, size_t n, uint64_t limit, uint32_t *out_position) {
  uint32_t last = 0;
  for (size_t i = 0; i < n; i++) last = buffers[i].first > last ? buffers[i].first : last;
  for (uint32_t position = 0; position <= last && n > 0; position++) {
    for (size_t i = 0; i < n; i++) {
      if (buffers[i].first != position) continue;
      if (!place(buffers, n, i, limit)) {
        *out_position = position;
        return false;
      }
    }
  }
  return true;
}
