/* SPDX-License-Identifier: Apache-2.0 */
/* The float32 tile, included once per level with NAME, TARGET, VEC of LANES floats, LOAD, STORE, SET, FMA, ADD, MIN, MAX, store_lanes (lanes
 * [first, end) of a vector) and PAIRS_1, PAIRS_2, PAIRS_3 defined: pairs of pixels of a tile of so many blocks (PAIRS_RUN: of one block, by runs of taps). No include guard on purpose.
 * All sums stay in registers over all taps:
 *
 *   per tap: a load of weights per block, a broadcast of x per pixel, pixels * blocks fused multiply-adds
 *   AVX2, 6 pixels x 2 blocks: 12 sums + 2 weights + 1 input of 16 registers, 8 loads for 12 multiply-adds
 *   AVX-512, 12 pixels x 2 blocks: 24 sums + 2 weights + 1 input of 32 registers, 14 loads for 24 multiply-adds
 *
 * Lanes are outputs, so that no sum crosses them: any vector length gives the same bits. A tile with fewer pairs left computes the first
 * one again in their place, and does not store it. */

enum { NAME(most_pairs) = 8, NAME(most_blocks) = 3, NAME(most_run) = 5 };

/* One pixel, wherever and however much of it is stored. */
TARGET NPUC_INLINE void NAME(finish)(const tile_f32 *t, int64_t y_at, int64_t add_at, const int blocks, VEC *sums) {
  const VEC lo = SET(t->clip_lo), hi = SET(t->clip_hi);
  for (int b = 0; b < blocks; b++) {
    VEC v = sums[b];
    if (t->add) v = ADD(v, LOAD(t->add + add_at + (size_t)b * t->add_block));
    v = MIN(hi, MAX(lo, v)); /* the second operand where either is NaN */
    NAME(store_lanes)(v, t->y + y_at + (size_t)b * t->y_block, b == 0 ? t->first_lane : 0, b + 1 == blocks ? t->end_lane : LANES);
  }
}

/* A whole tile, straight from the registers. A first pixel that is to be skipped goes where the second goes after it. */
TARGET NPUC_INLINE void NAME(finish_whole)(const tile_f32 *t, size_t p, const int wide, const int blocks, const bool skips,
                                           VEC sum[][NAME(most_blocks)]) {
  const VEC lo = SET(t->clip_lo), hi = SET(t->clip_hi);
  const float *add = t->add;
  float *y = t->y;
  const size_t y_block = t->y_block, add_block = t->add_block;
  const int64_t y_step = t->y_step, add_step = t->add_step;
  if (add) {
    NPUC_UNROLL
    for (int v = 0; v < 2 * wide; v++) {
      const size_t at = p + (size_t)v / 2;
      const float *from = add + t->add_at[at] + (v % 2 || (skips && t->skip[at]) ? add_step : 0);
      NPUC_UNROLL
      for (int b = 0; b < blocks; b++) sum[v][b] = ADD(sum[v][b], LOAD(from + (size_t)b * add_block));
    }
  }
  NPUC_UNROLL
  for (int v = 0; v < 2 * wide; v++) {
    const size_t at = p + (size_t)v / 2;
    float *to = y + t->y_at[at] + (v % 2 || (skips && t->skip[at]) ? y_step : 0);
    NPUC_UNROLL
    for (int b = 0; b < blocks; b++) STORE(to + (size_t)b * y_block, MIN(hi, MAX(lo, sum[v][b])));
  }
}

TARGET NPUC_INLINE void NAME(finish_tile)(const tile_f32 *t, size_t p, size_t count, const int wide, const int blocks,
                                          VEC sum[][NAME(most_blocks)]) {
  if (count == (size_t)wide && t->first_lane == 0 && t->end_lane == LANES) {
    if (t->skip) {
      NAME(finish_whole)(t, p, wide, blocks, true, sum);
    } else {
      NAME(finish_whole)(t, p, wide, blocks, false, sum);
    }
    return;
  }
  NPUC_UNROLL
  for (int v = 0; v < 2 * wide; v++) {
    size_t at = p + (size_t)v / 2;
    if ((size_t)v >= 2 * count || (v % 2 == 0 && t->skip && t->skip[at])) continue;
    NAME(finish)(t, t->y_at[at] + (v % 2) * t->y_step, t->add ? t->add_at[at] + (v % 2) * t->add_step : 0, blocks, sum[v]);
  }
}

/* What tile n fetches of the weights that come next, so much a tap: the memory behind the second cache is slower than a tile, and waits would be
 * the first tile's. */
typedef struct NAME(fetch) {
  uintptr_t at, step;
} NAME(fetch);

TARGET NPUC_INLINE NAME(fetch) NAME(fetch_of)(const tile_f32 *t, size_t tile) {
  enum { BYTES = 32, LINE = 64 };
  if (t->ahead_step && tile * LINE < t->ahead_bytes) return (NAME(fetch)){(uintptr_t)t->ahead + tile * LINE, t->ahead_step};
  uintptr_t begin = (uintptr_t)t->ahead + tile * t->taps * BYTES;
  if (begin < (uintptr_t)t->ahead + t->ahead_bytes) return (NAME(fetch)){begin, BYTES};
  return (NAME(fetch)){(uintptr_t)t->weights, 0};
}

/* Pairs [p, p + count), count at most `wide`. Each tap of a run of `run` finds x one pixel on from the tap before it, so that the pixels of a pair
 * share all but the outer ones: run + 1 inputs serve 2 * run multiply-adds a block. */
TARGET NPUC_INLINE void NAME(tile)(const tile_f32 *t, size_t p, size_t count, const int wide, const int blocks, const int run,
                                   const bool depthwise) {
  NAME(fetch) fetch = NAME(fetch_of)(t, p / (size_t)wide);
  VEC sum[2 * NAME(most_pairs)][NAME(most_blocks)];
  const float *x[NAME(most_pairs)], *w = t->weights;
  const size_t w_step = t->w_step;
  const int64_t x_step = t->x_step;
  NPUC_UNROLL
  for (int v = 0; v < wide; v++) {
    x[v] = t->x + t->x_at[p + ((size_t)v < count ? (size_t)v : 0)];
    NPUC_UNROLL
    for (int b = 0; b < blocks; b++) sum[2 * v][b] = sum[2 * v + 1][b] = LOAD(t->start + b * LANES);
  }
  for (const int32_t *offset = t->offsets, *end = offset + t->taps; offset < end; offset += run) {
    VEC weight[NAME(most_run)][NAME(most_blocks)];
    int64_t at[NAME(most_run) + 1] = {*offset};
    NPUC_UNROLL
    for (int j = 0; j < run; j++, w += w_step) {
      at[j + 1] = at[j] + x_step;
      if (!depthwise) __builtin_prefetch((const void *)fetch.at, 0, 2);
      fetch.at += fetch.step;
      NPUC_UNROLL
      for (int b = 0; b < blocks; b++) weight[j][b] = LOAD(w + b * LANES);
    }
    NPUC_UNROLL
    for (int v = 0; v < wide; v++) {
      VEC in = depthwise ? LOAD(x[v] + at[0]) : SET(x[v][at[0]]);
      NPUC_UNROLL
      for (int j = 0; j < run; j++) {
        const VEC next = depthwise ? LOAD(x[v] + at[j + 1]) : SET(x[v][at[j + 1]]);
        NPUC_UNROLL
        for (int b = 0; b < blocks; b++) sum[2 * v][b] = FMA(in, weight[j][b], sum[2 * v][b]);
        NPUC_UNROLL
        for (int b = 0; b < blocks; b++) sum[2 * v + 1][b] = FMA(next, weight[j][b], sum[2 * v + 1][b]);
        in = next;
      }
    }
  }
  NAME(finish_tile)(t, p, count, wide, blocks, sum);
}

/* The last pairs go in a tile of half the width where they fit it. */
TARGET NPUC_INLINE void NAME(tiles)(const tile_f32 *t, size_t pairs, const int wide, const int blocks, const int run,
                                    const bool depthwise) {
  size_t p = 0, whole = (size_t)wide, half = whole / 2;
  for (; p + half < pairs; p += whole) NAME(tile)(t, p, pairs - p < whole ? pairs - p : whole, wide, blocks, run, depthwise);
  if (p < pairs) NAME(tile)(t, p, pairs - p, wide / 2, blocks, run, depthwise);
}

/* One block has too few multiply-adds for its loads: there a run pays. */
TARGET void NAME(conv)(const tile_f32 *t, size_t pairs) {
  if (t->blocks == 1 && t->run == 3) {
    NAME(tiles)(t, pairs, PAIRS_RUN, 1, 3, false);
  } else if (t->blocks == 1) {
    NAME(tiles)(t, pairs, PAIRS_1, 1, 1, false);
  } else if (t->blocks == 2) {
    NAME(tiles)(t, pairs, PAIRS_2, 2, 1, false);
  } else {
    NAME(tiles)(t, pairs, PAIRS_3, 3, 1, false);
  }
}

/* A vector is the channels of a pixel; the pixels share the load of a tap's weights. */
TARGET void NAME(depthwise)(const tile_f32 *t, size_t pairs) {
  if (t->run == 3) {
    NAME(tiles)(t, pairs, 4, 1, 3, true);
  } else if (t->run == 5 && LANES == 16) { /* else registers are too few */
    NAME(tiles)(t, pairs, 4, 1, 5, true);
  } else {
    NAME(tiles)(t, pairs, 4, 1, 1, true);
  }
}

#undef NAME
#undef TARGET
#undef VEC
#undef LANES
#undef PAIRS_1
#undef PAIRS_RUN
#undef PAIRS_2
#undef PAIRS_3
#undef LOAD
#undef STORE
#undef SET
#undef FMA
#undef ADD
#undef MIN
#undef MAX
