/* SPDX-License-Identifier: Apache-2.0 */
#include "npu/layout.h"

#include <assert.h>
#include <string.h>

layout npuc_layout_make(uint32_t n, uint32_t c, uint32_t h, uint32_t w, layout_order order) {
  assert(c > 0 && h > 0 && w > 0);
  uint32_t pitch = n;
  if (c < n) {
    pitch = 4;
    while (pitch < c) pitch *= 2;
  }
  return (layout){.c = c, .h = h, .w = w, .n = n, .pitch = pitch, .order = order};
}

uint32_t npuc_layout_blocks(const layout *l) { return (l->c + l->n - 1) / l->n; }

uint64_t npuc_layout_block_bytes(const layout *l) { return (uint64_t)l->h * l->w * l->pitch; }

uint64_t npuc_layout_bytes(const layout *l) { return npuc_layout_blocks(l) * npuc_layout_block_bytes(l); }

bool npuc_layout_same(const layout *a, const layout *b) { return a->c == b->c && a->h == b->h && a->w == b->w && a->n == b->n; }

static uint64_t packed_index(const layout *l, uint32_t c, uint64_t pixel) {
  return c / l->n * npuc_layout_block_bytes(l) + pixel * l->pitch + c % l->n;
}

static uint64_t dense_index(const layout *l, uint32_t c, uint64_t pixel) {
  return l->order == LAYOUT_CHANNELS_FIRST ? (uint64_t)c * l->h * l->w + pixel : pixel * l->c + c;
}

void npuc_layout_pack(const layout *l, const uint8_t *dense, uint8_t *packed) {
  memset(packed, 0, npuc_layout_bytes(l));
  for (uint32_t c = 0; c < l->c; c++) {
    for (uint64_t pixel = 0; pixel < (uint64_t)l->h * l->w; pixel++) packed[packed_index(l, c, pixel)] = dense[dense_index(l, c, pixel)];
  }
}

void npuc_layout_unpack(const layout *l, const uint8_t *packed, uint8_t *dense) {
  for (uint32_t c = 0; c < l->c; c++) {
    for (uint64_t pixel = 0; pixel < (uint64_t)l->h * l->w; pixel++) dense[dense_index(l, c, pixel)] = packed[packed_index(l, c, pixel)];
  }
}
