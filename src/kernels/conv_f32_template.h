/* SPDX-License-Identifier: Apache-2.0 */
/* The float32 tile, included once per level with NAME, TARGET, VEC, VEC_BLOCKS (blocks of 8 channels in a vector), LOAD, SET, FMA, ADD,
 * MIN, MAX defined, load_blocks and store_blocks (lanes [first, end) of a block), and WIDE_1, WIDE_2, WIDE_3: pixels of a tile of so
 * many blocks. No include guard on purpose. All sums stay in registers over all taps:
 *
 *   per tap: a load of weights per vector, a broadcast of x per pixel, pixels * vectors fused multiply-adds
 *   AVX2, 6 pixels x 2 vectors: 12 sums + 2 weights + 1 input of 16 registers, 8 loads for 12 multiply-adds
 *
 * Lanes are outputs, so that no sum crosses them: any vector length gives the same bits. A tile with fewer pixels left computes the first
 * one again in their place, and does not store it. */

enum { NAME(most_pixels) = 8, NAME(most_vectors) = 3 };

TARGET NPUC_INLINE void NAME(finish)(const tile_f32 *t, size_t p, const int blocks, VEC *sums) {
  const VEC lo = SET(t->clip_lo), hi = SET(t->clip_hi);
  for (int b = 0; b < blocks; b += VEC_BLOCKS) {
    float *y = t->y + t->y_at[p] + (size_t)b * t->y_block;
    const float *add = t->add ? t->add + t->add_at[p] + (size_t)b * t->add_block : NULL;
    bool two = VEC_BLOCKS == 2 && b + 1 < blocks;
    VEC v = sums[b / VEC_BLOCKS];
    if (add) v = ADD(v, NAME(load_blocks)(add, t->add_block, two));
    v = MIN(hi, MAX(lo, v)); /* the second operand where either is NaN */
    int first = b == 0 ? t->first_lane : 0, end = b + VEC_BLOCKS >= blocks ? t->end_lane : 8;
    NAME(store_blocks)(v, y, t->y_block, two, first, end);
  }
}

TARGET NPUC_INLINE void NAME(finish_whole)(const tile_f32 *t, size_t p, const int wide, const int blocks, VEC sum[][NAME(most_vectors)]) {
  const VEC lo = SET(t->clip_lo), hi = SET(t->clip_hi);
  const float *add = t->add;
  float *y = t->y;
  const size_t y_block = t->y_block, add_block = t->add_block;
  if (add) {
    NPUC_UNROLL
    for (int v = 0; v < wide; v++) {
      const float *from = add + t->add_at[p + (size_t)v];
      NPUC_UNROLL
      for (int b = 0; b < blocks; b += VEC_BLOCKS) {
        VEC *s = &sum[v][b / VEC_BLOCKS];
        *s = ADD(*s, NAME(load_blocks)(from + (size_t)b * add_block, add_block, VEC_BLOCKS == 2 && b + 1 < blocks));
      }
    }
  }
  NPUC_UNROLL
  for (int v = 0; v < wide; v++) {
    float *to = y + t->y_at[p + (size_t)v];
    NPUC_UNROLL
    for (int b = 0; b < blocks; b += VEC_BLOCKS) {
      VEC s = MIN(hi, MAX(lo, sum[v][b / VEC_BLOCKS]));
      NAME(store_blocks)(s, to + (size_t)b * y_block, y_block, VEC_BLOCKS == 2 && b + 1 < blocks, 0, 8);
    }
  }
}

TARGET NPUC_INLINE void NAME(finish_tile)(const tile_f32 *t, size_t p, size_t count, const int wide, const int blocks,
                                          VEC sum[][NAME(most_vectors)]) {
  if (count == (size_t)wide && t->first_lane == 0 && t->end_lane == 8) { /* as most tiles are: straight from the registers */
    NAME(finish_whole)(t, p, wide, blocks, sum);
    return;
  }
  NPUC_UNROLL
  for (int v = 0; v < wide; v++) {
    if ((size_t)v < count) NAME(finish)(t, p + (size_t)v, blocks, sum[v]);
  }
}

/* Pixels [p, p + count) of the tile, count at most `wide`. */
TARGET NPUC_INLINE void NAME(tile)(const tile_f32 *t, size_t p, size_t count, const int wide, const int blocks) {
  const int vectors = (blocks + VEC_BLOCKS - 1) / VEC_BLOCKS;
  VEC sum[NAME(most_pixels)][NAME(most_vectors)];
  const float *x[NAME(most_pixels)], *w = t->weights;
  const size_t w_step = t->w_step;
  NPUC_UNROLL
  for (int v = 0; v < wide; v++) {
    x[v] = t->x + t->x_at[p + ((size_t)v < count ? (size_t)v : 0)];
    NPUC_UNROLL
    for (int b = 0; b < vectors; b++) sum[v][b] = LOAD(t->start + b * VEC_BLOCKS * 8);
  }
  const int32_t *offsets = t->offsets;
  for (size_t k = 0, taps = t->taps; k < taps; k++, w += w_step) {
    const int64_t offset = offsets[k];
    VEC weight[NAME(most_vectors)];
    NPUC_UNROLL
    for (int b = 0; b < vectors; b++) weight[b] = LOAD(w + b * VEC_BLOCKS * 8);
    NPUC_UNROLL
    for (int v = 0; v < wide; v++) {
      const VEC in = SET(x[v][offset]);
      NPUC_UNROLL
      for (int b = 0; b < vectors; b++) sum[v][b] = FMA(in, weight[b], sum[v][b]);
    }
  }
  NAME(finish_tile)(t, p, count, wide, blocks, sum);
}

TARGET NPUC_INLINE void NAME(tiles)(const tile_f32 *t, size_t pixels, const int wide, const int blocks) {
  size_t p = 0, whole = (size_t)wide, half = whole / 2;
  for (; p + half < pixels; p += whole) NAME(tile)(t, p, pixels - p < whole ? pixels - p : whole, wide, blocks);
  if (p < pixels) NAME(tile)(t, p, pixels - p, wide / 2, blocks);
}

TARGET void NAME(conv)(const tile_f32 *t, size_t pixels) {
  switch (t->blocks) {
    case 1:
      NAME(tiles)(t, pixels, WIDE_1, 1);
      break;
    case 2:
      NAME(tiles)(t, pixels, WIDE_2, 2);
      break;
    default:
      NAME(tiles)(t, pixels, WIDE_3, 3);
      break;
  }
}

#if VEC_BLOCKS == 1
/* Depthwise: a vector is the 8 channels of a pixel; the pixels share the load of a tap's weights. */
TARGET NPUC_INLINE void NAME(depthwise_tile)(const tile_f32 *t, size_t p, size_t count, const int wide) {
  VEC sum[NAME(most_pixels)][NAME(most_vectors)]; /* the first of each is used */
  const float *x[NAME(most_pixels)], *w = t->weights;
  NPUC_UNROLL
  for (int v = 0; v < wide; v++) {
    x[v] = t->x + t->x_at[p + ((size_t)v < count ? (size_t)v : 0)];
    sum[v][0] = LOAD(t->start);
  }
  const int32_t *offsets = t->offsets;
  for (size_t k = 0, taps = t->taps; k < taps; k++, w += 8) {
    const int64_t offset = offsets[k];
    const VEC weight = LOAD(w);
    NPUC_UNROLL
    for (int v = 0; v < wide; v++) sum[v][0] = FMA(LOAD(x[v] + offset), weight, sum[v][0]);
  }
  NAME(finish_tile)(t, p, count, wide, 1, sum);
}

TARGET void NAME(depthwise)(const tile_f32 *t, size_t pixels) {
  size_t p = 0;
  for (; p + 4 < pixels; p += 8) NAME(depthwise_tile)(t, p, pixels - p < 8 ? pixels - p : 8, 8);
  if (p < pixels) NAME(depthwise_tile)(t, p, pixels - p, 4);
}
#endif
