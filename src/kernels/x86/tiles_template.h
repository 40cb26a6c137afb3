/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of int8 convolutions on AMX's tiles, written once against the instructions below and included with NAME, TARGET and these defined;
 * no include guard on purpose: the processor's own (x86/tiles.c), and a model in C that checks every rule of the manual (tests).
 *
 *   TILES_BEGIN(config)  TILES_LOAD(tile, from, stride)  TILES_DOT(c, a, b, is_signed)  TILES_STORE(tile, to, stride)  TILES_END
 *
 * Every tile is 16 rows of 64 bytes, so that they are set up once. Pixels are the rows of a, loaded from the image itself: rows overlap where windows do. Quads of bytes are
 * its columns; b has a quad a row, 16 channels of 4 bytes; c += a * b in 32-bit sums that wrap, as the scalar kernel's do (Intel SDM vol. 2, TDPBSSD, TDPBUSD). The
 * first load into c repeats the bias: stride 0. What a reads beyond a run is multiplied by zeros. */

TARGET void NAME(quads_begin)(void) {
  tile_config config = {.palette = 1};
  for (int i = 0; i < TILES; i++) config.rows[i] = QUADS_PIXELS, config.columns[i] = 4 * QUADS_STEP;
  TILES_BEGIN(&config)
}

TARGET void NAME(quads_end)(void){TILES_END}

/* Up to four tiles of pixels by 16 channels: sums in 0 to 3. */
TARGET NPUC_INLINE void NAME(one_block)(const quads_i8 *t, const bool is_signed) {
  const int tiles = (t->pixels + QUADS_PIXELS - 1) / QUADS_PIXELS;
  const size_t next = QUADS_PIXELS * t->step, row = 4 * QUADS_STEP;
  const int8_t *w = t->weights;
  TILES_LOAD(0, t->bias, 0);
  TILES_LOAD(1, t->bias, 0);
  TILES_LOAD(2, t->bias, 0);
  TILES_LOAD(3, t->bias, 0);
  for (int32_t r = 0; r < t->runs; r++) {
    const uint8_t *x = t->x + t->offsets[r];
    for (int32_t k = 0; k < t->quads; k += QUADS_STEP, x += row, w += QUADS_STEP * row) {
      TILES_LOAD(4, w, row);
      TILES_LOAD(5, x, t->step);
      TILES_DOT(0, 5, 4, is_signed);
      if (tiles == 1) continue;
      TILES_LOAD(6, x + next, t->step);
      TILES_DOT(1, 6, 4, is_signed);
      if (tiles == 2) continue;
      TILES_LOAD(7, x + 2 * next, t->step);
      TILES_DOT(2, 7, 4, is_signed);
      if (tiles == 3) continue;
      TILES_LOAD(5, x + 3 * next, t->step);
      TILES_DOT(3, 5, 4, is_signed);
    }
  }
  int32_t *sums = t->sums;
  TILES_STORE(0, sums, row);
  if (tiles > 1) TILES_STORE(1, sums + QUADS_PIXELS * I8_WIDE, row);
  if (tiles > 2) TILES_STORE(2, sums + 2 * QUADS_PIXELS * I8_WIDE, row);
  if (tiles > 3) TILES_STORE(3, sums + 3 * QUADS_PIXELS * I8_WIDE, row);
}

/* Two tiles of pixels by 32 channels: sums in 0 1 (first block) and 2 3. */
TARGET NPUC_INLINE void NAME(two_blocks)(const quads_i8 *t, const bool is_signed) {
  const bool two = t->pixels > QUADS_PIXELS;
  const size_t next = QUADS_PIXELS * t->step, row = 4 * QUADS_STEP;
  const int8_t *w = t->weights, *v = w + (size_t)t->runs * (size_t)quads_padded(t->quads) * row;
  TILES_LOAD(0, t->bias, 0);
  TILES_LOAD(1, t->bias, 0);
  TILES_LOAD(2, t->bias + I8_WIDE, 0);
  TILES_LOAD(3, t->bias + I8_WIDE, 0);
  for (int32_t r = 0; r < t->runs; r++) {
    const uint8_t *x = t->x + t->offsets[r];
    for (int32_t k = 0; k < t->quads; k += QUADS_STEP, x += row, w += QUADS_STEP * row, v += QUADS_STEP * row) {
      TILES_LOAD(4, x, t->step);
      TILES_LOAD(6, w, row);
      TILES_DOT(0, 4, 6, is_signed);
      TILES_LOAD(7, v, row);
      TILES_DOT(2, 4, 7, is_signed);
      if (!two) continue;
      TILES_LOAD(5, x + next, t->step);
      TILES_DOT(1, 5, 6, is_signed);
      TILES_DOT(3, 5, 7, is_signed);
    }
  }
  int32_t *sums = t->sums, *more = sums + QUADS_STRIP / QUADS_BLOCKS * I8_WIDE;
  TILES_STORE(0, sums, row);
  TILES_STORE(2, more, row);
  if (!two) return;
  TILES_STORE(1, sums + QUADS_PIXELS * I8_WIDE, row);
  TILES_STORE(3, more + QUADS_PIXELS * I8_WIDE, row);
}

TARGET void NAME(quads)(const quads_i8 *t) {
  if (t->blocks == 1) {
    if (t->is_signed) {
      NAME(one_block)(t, true);
    } else {
      NAME(one_block)(t, false);
    }
  } else if (t->is_signed) {
    NAME(two_blocks)(t, true);
  } else {
    NAME(two_blocks)(t, false);
  }
}
