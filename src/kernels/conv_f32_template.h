/* SPDX-License-Identifier: Apache-2.0 */
/* The float32 tile, included once per level with NAME, TARGET, VEC, LANES, LOAD, STORE, SET, FMA, ADD, MIN, MAX defined; no include
 * guard on purpose. nv x nc accumulators stay in registers over all taps:
 *
 *   per tap: nv loads of x, nc broadcasts of weights, nv * nc fused multiply-adds      (3 x 4: 12 sums, 3 + 1 operands: 16 registers)
 *
 * Lanes are outputs, so that no sum crosses them: any vector length gives the same bits. */

TARGET NPUC_INLINE void NAME(store)(VEC v, float *y, int32_t lanes) {
  if (lanes == LANES) {
    STORE(y, v);
    return;
  }
  float all[LANES];
  STORE(all, v);
  for (int32_t i = 0; i < lanes; i++) y[i] = all[i];
}

TARGET NPUC_INLINE VEC NAME(load)(const float *x, int32_t lanes) {
  if (lanes == LANES) return LOAD(x);
  float all[LANES] = {0};
  for (int32_t i = 0; i < lanes; i++) all[i] = x[i];
  return LOAD(all);
}

TARGET NPUC_INLINE void NAME(tile)(const conv_tile *t, const int nv, const int nc) {
  VEC sum[CONV_TILE_CHANNELS][CONV_MOST_VECTORS];
  const float *w = t->weights, *x[CONV_MOST_VECTORS];
  for (int v = 0; v < nv; v++) x[v] = t->x[v];
  for (int c = 0; c < nc; c++) {
    for (int v = 0; v < nv; v++) sum[c][v] = SET(t->start[c]);
  }
  const int32_t *offsets = t->offsets;
  for (size_t k = 0, taps = t->taps; k < taps; k++, w += CONV_TILE_CHANNELS) {
    const int64_t offset = offsets[k];
    VEC in[CONV_MOST_VECTORS];
    for (int v = 0; v < nv; v++) in[v] = LOAD(x[v] + offset);
    for (int c = 0; c < nc; c++) {
      VEC weight = SET(w[c]);
      for (int v = 0; v < nv; v++) sum[c][v] = FMA(in[v], weight, sum[c][v]);
    }
  }
  const VEC lo = SET(t->clip_lo), hi = SET(t->clip_hi);
  for (int c = 0; c < nc; c++) {
    if (c >= t->channels) break;
    for (int v = 0; v < nv; v++) {
      VEC y = sum[c][v];
      if (t->add[v]) y = ADD(y, NAME(load)(t->add[v] + (size_t)c * t->y_channel, t->lanes[v]));
      y = MIN(hi, MAX(lo, y)); /* the second operand where either is NaN */
      NAME(store)(y, (float *)t->y[v] + (size_t)c * t->y_channel, t->lanes[v]);
    }
  }
}

TARGET void NAME(conv)(const conv_tile *t, int vectors) {
  if (t->channels > 1) {
    switch (vectors) {
      case 1:
        NAME(tile)(t, 1, CONV_TILE_CHANNELS);
        break;
      case 2:
        NAME(tile)(t, 2, CONV_TILE_CHANNELS);
        break;
      default:
        NAME(tile)(t, 3, CONV_TILE_CHANNELS);
        break;
    }
    return;
  }
  switch (vectors) {
    case 1:
      NAME(tile)(t, 1, 1);
      break;
    case 2:
      NAME(tile)(t, 2, 1);
      break;
    case 3:
      NAME(tile)(t, 3, 1);
      break;
    case 4:
      NAME(tile)(t, 4, 1);
      break;
    case 5:
      NAME(tile)(t, 5, 1);
      break;
    case 6:
      NAME(tile)(t, 6, 1);
      break;
    case 7:
      NAME(tile)(t, 7, 1);
      break;
    default:
      NAME(tile)(t, 8, 1);
      break;
  }
}
