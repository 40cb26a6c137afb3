/* SPDX-License-Identifier: Apache-2.0 */
/* Feature tensors in the scratchpad and in a stream's arena (docs/refnpu.md section 2): channel blocks of N, each block a plane of pixels.
 *
 *   element (c, y, x) at  floor(c/N) * (H*W*P)  +  (y*W + x) * P  +  c mod N,     P = N, or for C < N max(4, power of two >= C) */
#ifndef NPUC_NPU_LAYOUT_H
#define NPUC_NPU_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum layout_order {
  LAYOUT_CHANNELS_FIRST, /* the dense tensor is [C, H, W] */
  LAYOUT_CHANNELS_LAST   /* the dense tensor is [H, W, C]: rows of a matrix */
} layout_order;

typedef struct layout {
  uint32_t c, h, w;
  uint32_t n;     /* block: lanes of the machine */
  uint32_t pitch; /* bytes of a pixel in a block */
  layout_order order;
} layout;

/* c, h, w at least 1. */
layout npuc_layout_make(uint32_t n, uint32_t c, uint32_t h, uint32_t w, layout_order order);
uint32_t npuc_layout_blocks(const layout *l);
uint64_t npuc_layout_block_bytes(const layout *l);
uint64_t npuc_layout_bytes(const layout *l);
/* Same geometry, whatever the order of the dense form. */
bool npuc_layout_same(const layout *a, const layout *b);
/* dense: c*h*w bytes; packed: npuc_layout_bytes bytes, padding lanes become 0. */
void npuc_layout_pack(const layout *l, const uint8_t *dense, uint8_t *packed);
void npuc_layout_unpack(const layout *l, const uint8_t *packed, uint8_t *dense);

#endif
