/* SPDX-License-Identifier: Apache-2.0 */
/* AMX's tile instructions in plain C, with the faults of the manual (Intel SDM vol. 2: LDTILECFG, TILELOADD, TDPBSSD, TILESTORED) as a
 * count, so that kernels written on tiles run and are checked where there are none. */
#ifndef NPUC_TESTS_SUPPORT_TILE_MODEL_H
#define NPUC_TESTS_SUPPORT_TILE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "kernels/x86/tiles.h"

enum { TILE_MOST_ROWS = 16, TILE_MOST_BYTES = 64 };
typedef struct tile_model {
  tile_config config; /* palette 0: no tiles */
  uint8_t data[TILES][TILE_MOST_ROWS][TILE_MOST_BYTES];
  int faults;
} tile_model;

static inline bool tile_fits(int rows, int columns) {
  return rows <= TILE_MOST_ROWS && columns <= TILE_MOST_BYTES && (rows == 0) == (columns == 0);
}

static inline void tile_model_configure(tile_model *m, const tile_config *c) {
  bool good = c->palette == 1 && c->start_row == 0;
  for (int i = 0; i < 14; i++) good = good && c->reserved[i] == 0;
  for (int i = 0; i < 16; i++) good = good && tile_fits(c->rows[i], c->columns[i]) && (i < TILES || c->rows[i] == 0);
  if (!good) m->faults++;
  m->config = *c;
  memset(m->data, 0, sizeof m->data);
}

/* Using a tile that is not configured is #UD. */
static inline bool tile_usable(tile_model *m, int tile) {
  bool usable = m->config.palette == 1 && tile >= 0 && tile < TILES && m->config.rows[tile] > 0;
  if (!usable) m->faults++;
  return usable;
}

static inline void tile_model_load(tile_model *m, int tile, const void *from, size_t stride) {
  if (!tile_usable(m, tile)) return;
  memset(m->data[tile], 0, sizeof m->data[tile]);
  for (size_t r = 0; r < m->config.rows[tile]; r++) memcpy(m->data[tile][r], (const char *)from + r * stride, m->config.columns[tile]);
}

static inline void tile_model_store(tile_model *m, int tile, void *to, size_t stride) {
  if (!tile_usable(m, tile)) return;
  for (size_t r = 0; r < m->config.rows[tile]; r++) memcpy((char *)to + r * stride, m->data[tile][r], m->config.columns[tile]);
}

/* TDPBSSD, TDPBUSD (a unsigned): c's rows are a's, c's columns b's, and a row of b is a quad of a's columns. */
static inline void tile_model_dot(tile_model *m, int c, int a, int b, bool is_signed) {
  if (!tile_usable(m, c) || !tile_usable(m, a) || !tile_usable(m, b)) return;
  const tile_config *f = &m->config;
  if (c == a || c == b || a == b || f->columns[a] % 4 != 0 || f->columns[b] % 4 != 0 || f->rows[c] != f->rows[a] ||
      f->columns[c] != f->columns[b] || f->columns[a] / 4 != f->rows[b]) {
    m->faults++;
    return;
  }
  for (int r = 0; r < f->rows[c]; r++) {
    for (int i = 0; i < f->columns[c] / 4; i++) {
      uint32_t sum;
      memcpy(&sum, m->data[c][r] + 4 * i, sizeof sum);
      for (int k = 0; k < f->columns[a]; k++) {
        const int x = is_signed ? (int8_t)m->data[a][r][k] : m->data[a][r][k];
        sum += (uint32_t)(x * (int8_t)m->data[b][k / 4][4 * i + k % 4]);
      }
      memcpy(m->data[c][r] + 4 * i, &sum, sizeof sum);
    }
  }
}

#endif
