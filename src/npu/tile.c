/* SPDX-License-Identifier: Apache-2.0 */
#include "npu/tile.h"

#include "npu/arch.h"

static uint32_t divide_up(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

/* -- weight tiles -- */

static uint32_t taps_of_tile(const conv_shape *c) { return c->dilation_x == 1 || c->kw == 1 ? c->x.n / c->x.pitch : 1; }

static uint32_t tiles_of_row(const conv_shape *c) { return divide_up(c->kw, taps_of_tile(c)); }

uint32_t npuc_npu_tile_count(const conv_shape *c) { return npuc_layout_blocks(&c->x) * c->kh * tiles_of_row(c); }

weight_tile npuc_npu_tile_at(const conv_shape *c, uint32_t index) {
  uint32_t taps = taps_of_tile(c), per_row = tiles_of_row(c);
  weight_tile t = {.block = index / (c->kh * per_row), .ky = index / per_row % c->kh, .kx = index % per_row * taps};
  t.taps = c->kw - t.kx < taps ? c->kw - t.kx : taps;
  uint32_t channels = c->x.c - t.block * c->x.n;
  t.rows = channels >= c->x.n ? c->x.n : t.taps == 1 ? channels : t.taps * c->x.pitch;
  return t;
}

void npuc_npu_tile_pack(const conv_shape *c, const weight_tile *t, uint32_t ob, const int8_t *w, uint8_t *out_bytes) {
  uint32_t n = c->x.n;
  for (uint32_t row = 0; row < t->rows; row++) {
    uint32_t kx = t->kx + row / c->x.pitch, channel = t->block * n + row % c->x.pitch;
    for (uint32_t column = 0; column < n; column++) {
      uint32_t o = ob * n + column;
      bool exists = o < c->y.c && channel < c->x.c;
      /* w [Co, C, kh, kw] */
      out_bytes[row * n + column] = exists ? (uint8_t)w[(((uint64_t)o * c->x.c + channel) * c->kh + t->ky) * c->kw + kx] : 0;
    }
  }
}

/* -- chunks of output pixels -- */

typedef struct chunking {
  uint32_t columns, rows; /* chunks across and down */
  uint32_t width, height; /* of a chunk, but the last */
} chunking;

static chunking plan_chunks(const layout *y, uint32_t least) {
  chunking p;
  p.columns = divide_up(y->w, NPU_PASS_ROWS);
  p.width = divide_up(y->w, p.columns);
  uint32_t most_rows = NPU_PASS_ROWS / p.width;
  p.rows = divide_up(y->h, most_rows);
  /* More chunks let the next layer begin behind this one's drain, as long as a pass hides the next tile's N cycles of load. */
  if (p.columns * p.rows < least && y->h >= least && y->h / least * y->w >= y->n + 2) p.rows = least;
  p.height = divide_up(y->h, p.rows);
  p.rows = divide_up(y->h, p.height);
  return p;
}

uint32_t npuc_npu_chunk_count(const layout *y, uint32_t least) {
  chunking p = plan_chunks(y, least);
  return p.columns * p.rows;
}

pixel_chunk npuc_npu_chunk_at(const layout *y, uint32_t least, uint32_t index) {
  chunking p = plan_chunks(y, least);
  pixel_chunk c = {.x = index % p.columns * p.width, .y = index / p.columns * p.height};
  c.nx = y->w - c.x < p.width ? y->w - c.x : p.width;
  c.ny = y->h - c.y < p.height ? y->h - c.y : p.height;
  return c;
}
