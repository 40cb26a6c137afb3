/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of int8 convolutions on AMX's tiles, written once against the eight instructions below and included with NAME, TARGET and these defined;
 * no include guard on purpose: the processor's own (x86/tiles.c), and a model in C that checks every rule of the manual (tests).
 *
 *   TILES_BEGIN(config)  TILES_LOAD(tile, from, stride)  TILES_DOT(c, a, b)  TILES_STORE(tile, to, stride)  TILES_END
 *
 * A tile is up to 16 rows of 64 bytes. Pixels are the rows of a, quads of bytes its columns; b has a quad a row, 16 channels of 4 bytes; c += a * b in
 * 32-bit sums that wrap, as the scalar kernel's do (Intel SDM vol. 2, TDPBSSD). The first load into c repeats the bias: stride 0.
 *
 *   tile 0, 1: sums of pixels 0-15, 16-23      2, 3: their x, 16 quads      4: weights      5, 6, 7: the same for a run's last quads */

enum { TILE_ROWS = 16, TILE_QUADS = 16 };

TARGET NPUC_INLINE void NAME(configure)(const quads_i8 *t, tile_config *c) {
  const int first = t->pixels < TILE_ROWS ? t->pixels : TILE_ROWS, second = t->pixels - first;
  const int whole = t->quads < TILE_QUADS ? 0 : TILE_QUADS, rest = t->quads % TILE_QUADS;
  const int rows[TILES] = {first, second, first, second, whole, first, second, rest};
  const int columns[TILES] = {4 * t->width, 4 * t->width, 4 * whole, 4 * whole, 4 * t->width, 4 * rest, 4 * rest, 4 * t->width};
  *c = (tile_config){.palette = 1};
  for (int i = 0; i < TILES; i++) {
    if (rows[i] == 0 || columns[i] == 0) continue; /* a tile without rows or columns is not there */
    c->rows[i] = (uint8_t)rows[i];
    c->columns[i] = (uint16_t)columns[i];
  }
}

TARGET void NAME(quads)(const quads_i8 *t) {
  const bool two = t->pixels > TILE_ROWS;
  const int32_t whole = t->quads / TILE_QUADS * TILE_QUADS;
  const size_t row = (size_t)t->width * 4, sixteen = TILE_ROWS * t->step;
  const int8_t *w = t->weights;
  tile_config config;
  NAME(configure)(t, &config);
  TILES_BEGIN(&config)
  TILES_LOAD(0, t->bias, 0);
  if (two) TILES_LOAD(1, t->bias, 0);
  for (int32_t r = 0; r < t->runs; r++) {
    const int8_t *x = t->x + t->offsets[r];
    for (int32_t k = 0; k < whole; k += TILE_QUADS, x += 4 * TILE_QUADS, w += TILE_QUADS * row) {
      TILES_LOAD(4, w, row);
      TILES_LOAD(2, x, t->step);
      TILES_DOT(0, 2, 4);
      if (!two) continue;
      TILES_LOAD(3, x + sixteen, t->step);
      TILES_DOT(1, 3, 4);
    }
    if (whole == t->quads) continue;
    TILES_LOAD(7, w, row);
    TILES_LOAD(5, x, t->step);
    TILES_DOT(0, 5, 7);
    if (two) {
      TILES_LOAD(6, x + sixteen, t->step);
      TILES_DOT(1, 6, 7);
    }
    w += (size_t)(t->quads - whole) * row;
  }
  TILES_STORE(0, t->sums, row);
  if (two) TILES_STORE(1, t->sums + TILE_ROWS * t->width, row);
  TILES_END
}
