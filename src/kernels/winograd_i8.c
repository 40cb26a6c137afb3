/* SPDX-License-Identifier: Apache-2.0 */
/* 3x3 convolutions without stride by Winograd's F(2x2, 3x3) (Lavin and Gray, "Fast algorithms for convolutional neural networks", 2015): 16 products
 * give 4 outputs instead of 36. In floats it would change results; in integers it is exact: the weights' transform is taken four times
 * as large, which removes its fractions, and the sums, which are then multiples of 4, are divided again.
 *
 * A group of tiles is transformed to [position][tile][channels]; each position is a matrix product by the kernel of dense convolutions. */
#include <string.h>

#include "kernels/conv_i8_plan.h"

enum { TILES = 12, POSITIONS = 16, AHEAD = 64 }; /* the rule reads sums in groups */

typedef struct tile_memory {
  int16_t *v;            /* [POSITIONS, TILES, channels] */
  int32_t *m;            /* [POSITIONS, TILES, I8_WIDE] */
  int32_t *top, *bottom; /* [2 * TILES, I8_WIDE] */
  int32_t *zeros;        /* [I8_WIDE] */
} tile_memory;

int64_t npuc_winograd_i8_scratch(const conv_i8_form *f) {
  int64_t sums = POSITIONS * TILES * I8_WIDE + 2 * (2 * TILES * I8_WIDE + AHEAD) + I8_WIDE;
  return POSITIONS * TILES * f->ci * 2 + sums * 4;
}

static tile_memory memory_of(const conv_i8_unit *u) {
  tile_memory t = {.m = u->at};
  t.top = t.m + POSITIONS * TILES * I8_WIDE;
  t.bottom = t.top + 2 * TILES * I8_WIDE + AHEAD;
  t.zeros = t.bottom + 2 * TILES * I8_WIDE + AHEAD;
  t.v = (int16_t *)(t.zeros + I8_WIDE);
  memset(t.zeros, 0, I8_WIDE * sizeof *t.zeros);
  return t;
}

static void multiply(const conv_i8_unit *u, const conv_i8_block *b, const tile_memory *t, int n) {
  const conv_i8_form *f = &u->job->p.f;
  static const int32_t none = 0;
  sums_i8 s = {.width = b->width, .runs = 1, .pairs = (int32_t)f->pairs, .offsets = &none, .bias = t->zeros};
  for (int64_t k = 0; k < POSITIONS; k++) {
    s.weights = b->weights + k * f->pairs * b->width;
    for (int i = 0; i < n; i += I8_PIXELS) {
      s.pixels = n - i < I8_PIXELS ? n - i : I8_PIXELS;
      for (int j = 0; j < s.pixels; j++) s.x[j] = t->v + (k * TILES + i + j) * f->ci;
      s.sums = t->m + (k * TILES + i) * b->width;
      u->job->kernels->sums_i8(&s);
    }
  }
}

/* Tiles [first, first + n) of the unit, row after row of tiles, through the rule. */
static void finish(const conv_i8_unit *u, const conv_i8_block *b, const tile_memory *t, int64_t first, int64_t n) {
  const kernel_window *g = &u->job->p.g;
  const kernel_set *kernels = u->job->kernels;
  int64_t across = (g->out[2] + 1) / 2;
  size_t pitch = (size_t)g->out_channels;
  for (int64_t i = 0, run; i < n; i += run) {
    int64_t row = (first + i) / across * 2, column = (first + i) % across * 2;
    run = across - column / 2 < n - i ? across - column / 2 : n - i;
    size_t pixels = (size_t)(2 * run < g->out[2] - column ? 2 * run : g->out[2] - column);
    uint8_t *y = npuc_conv_i8_output(u) + (row * g->out[2] + column) * g->out_channels + b->o;
    kernels->rule_i8(&b->rule, t->top + 2 * i * b->width, pixels, b->width, b->channels, y, pitch);
    if (row + 1 == u->rows) continue;
    kernels->rule_i8(&b->rule, t->bottom + 2 * i * b->width, pixels, b->width, b->channels, y + g->out[2] * g->out_channels, pitch);
  }
}

void npuc_winograd_i8(const conv_i8_unit *u, int64_t first, int64_t last) {
  const conv_i8_units *p = &u->job->p;
  const kernel_set *kernels = u->job->kernels;
  int64_t across = (p->g.out[2] + 1) / 2, tiles = (u->rows + 1) / 2 * across, ci = p->f.ci;
  tile_memory t = memory_of(u);
  for (int64_t start = 0; start < tiles; start += TILES) {
    int n = (int)(tiles - start < TILES ? tiles - start : TILES);
    for (int64_t i = 0; i < n; i++) {
      int64_t row = (start + i) / across * 2, column = (start + i) % across * 2;
      const int16_t *x = (const int16_t *)u->input + row * p->pitch + column * ci;
      kernels->winograd_in_i8(x, (size_t)p->pitch, (size_t)ci, t.v + i * ci, (size_t)(TILES * ci));
    }
    for (int64_t index = first; index < last; index++) {
      conv_i8_block b = u->job->blocks[index];
      multiply(u, &b, &t, n);
      for (int64_t i = 0; i < n; i++) {
        int64_t at = 2 * i * b.width;
        kernels->winograd_out_i8(t.m + i * b.width, (size_t)(TILES * b.width), b.bias, b.width, t.top + at, t.bottom + at);
      }
      finish(u, &b, &t, start, n);
    }
  }
}
