/* SPDX-License-Identifier: Apache-2.0 */
/* The int8 tile, included once per level with NAME, TARGET, VEC, LANES, LOAD, STORE, SET, MAC and RULE defined; no include guard on purpose.
 * An element is a pair of int16 (two channels of x minus its zero point, two weights); MAC adds both products to a 32-bit sum, so one
 * step is worth two of the float tile's. Sums are exact in any order. */

TARGET NPUC_INLINE void NAME(tile)(const conv_tile *t, const int nv, const int nc) {
  VEC sum[CONV_TILE_CHANNELS][CONV_MOST_VECTORS];
  const int32_t *w = t->weights, *x[CONV_MOST_VECTORS];
  for (int v = 0; v < nv; v++) x[v] = t->x[v];
  for (int c = 0; c < nc; c++) {
    for (int v = 0; v < nv; v++) sum[c][v] = SET(t->bias[c]);
  }
  const int32_t *offsets = t->offsets;
  for (size_t k = 0, taps = t->taps; k < taps; k++, w += CONV_TILE_CHANNELS) {
    const int64_t offset = offsets[k];
    VEC in[CONV_MOST_VECTORS];
    for (int v = 0; v < nv; v++) in[v] = LOAD(x[v] + offset);
    for (int c = 0; c < nc; c++) {
      VEC weight = SET(w[c]);
      for (int v = 0; v < nv; v++) sum[c][v] = MAC(sum[c][v], in[v], weight);
    }
  }
  /* Through memory, so that the sums above are registers and the rule below is one loop. */
  int32_t sums[CONV_TILE_CHANNELS * CONV_MOST_VECTORS][LANES];
  NPUC_UNROLL
  for (int c = 0; c < nc; c++) {
    NPUC_UNROLL
    for (int v = 0; v < nv; v++) STORE(sums[c * nv + v], sum[c][v]);
  }
  const int channels = nc < t->channels ? nc : t->channels;
  for (int c = 0; c < channels; c++) {
    for (int v = 0; v < nv; v++) RULE(LOAD(sums[c * nv + v]), t, c, (uint8_t *)t->y[v] + (size_t)c * t->y_channel, t->lanes[v]);
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
