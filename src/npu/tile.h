/* SPDX-License-Identifier: Apache-2.0 */
/* Tiling: how a convolution becomes passes. Output pixels are cut into chunks of at most 512 (half the accumulators); the kernel into weight tiles of N x N:
 *
 *   tile (kb, ky, kx): input block kb, kernel row ky, kernel columns kx .. kx+taps-1, rows k = (column - kx)*P + channel
 *
 * With C < N channels, N/P adjacent columns share a tile, because an N-byte read spans N/P pixels (dilation 1). Tiles are ordered kb, ky, kx: what a layer
 * reads last is then what the layer before it writes last, and the drain of one layer hides behind the first passes of the next. */
#ifndef NPUC_NPU_TILE_H
#define NPUC_NPU_TILE_H

#include "npu/layout.h"

/* A convolution as the machine sees it: a Gemm is one with kernel 1x1 over [K, 1, R], or of its input's size. */
typedef struct conv_shape {
  layout x, y;
  uint32_t kh, kw, stride_y, stride_x, dilation_y, dilation_x;
  int32_t pad_top, pad_left;
} conv_shape;

typedef struct pixel_chunk {
  uint32_t x, y, nx, ny; /* rectangle of output pixels */
} pixel_chunk;

typedef struct weight_tile {
  uint32_t block, ky, kx;
  uint32_t taps; /* kernel columns in the tile */
  uint32_t rows; /* valid rows: taps*P, or the block's channels */
} weight_tile;

uint32_t npuc_npu_tile_count(const conv_shape *c);
weight_tile npuc_npu_tile_at(const conv_shape *c, uint32_t index);
/* Writes the tile's bytes (rows * N) for output block `ob` from w [Co, C, kh, kw]. */
void npuc_npu_tile_pack(const conv_shape *c, const weight_tile *t, uint32_t ob, const int8_t *w, uint8_t *out_bytes);

/* How many chunks the output takes, at least `least` where a pass would still hide the load of a weight tile. */
uint32_t npuc_npu_chunk_count(const layout *y, uint32_t least);
pixel_chunk npuc_npu_chunk_at(const layout *y, uint32_t least, uint32_t index);

#endif
