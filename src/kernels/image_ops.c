/* SPDX-License-Identifier: Apache-2.0 */
/* In blocks a vector is the channels of a cell, so that windows need no tricks: each output is a loop over the cells that exist. Bodies take
 * the number of lanes as a constant, 8 or 16. */
#include "kernels/image_ops.h"

#include <math.h>
#include <string.h>

#include "kernels/target.h"

enum { SUM_LANES = 16, MOST_LANES = 16 };

/* -- windows -- */

typedef struct tap_range {
  int64_t first, last; /* taps inside the image */
  int64_t source;      /* input cell of tap 0 */
} tap_range;

static tap_range taps_at(const kernel_window *g, int axis, int64_t p) {
  tap_range r = {.last = g->kernel[axis], .source = p * g->stride[axis] - g->begin[axis]};
  int64_t d = g->dilation[axis];
  if (r.source < 0) r.first = (-r.source + d - 1) / d;
  int64_t room = g->in[axis] - 1 - r.source;
  int64_t most = room < 0 ? 0 : room / d + 1;
  if (r.last > most) r.last = most;
  return r;
}

/* Taps that count for an average: inside the image, or inside the padded image. */
static int64_t counted(const kernel_window *g, int axis, int64_t p, bool padded) {
  int64_t n = 0, least = padded ? -g->begin[axis] : 0, most = g->in[axis] + (padded ? g->end[axis] : 0);
  for (int64_t j = 0; j < g->kernel[axis]; j++) {
    int64_t q = p * g->stride[axis] - g->begin[axis] + j * g->dilation[axis];
    n += q >= least && q < most;
  }
  return n;
}

typedef void combine(float *restrict sofar, const float *restrict v, const int lanes);

static inline void largest(float *restrict sofar, const float *restrict v, const int lanes) {
  for (int c = 0; c < lanes; c++) sofar[c] = v[c] > sofar[c] || v[c] != v[c] ? v[c] : sofar[c];
}
static inline void total(float *restrict sofar, const float *restrict v, const int lanes) {
  for (int c = 0; c < lanes; c++) sofar[c] = sofar[c] + v[c];
}

/* One window over cells in row-major order, from `start` in every lane. */
NPUC_INLINE void window(const kernel_window *g, const image *i, const float *x, const tap_range r[WINDOW_AXES], float start, combine *f,
                        float *out, const int lanes) {
  float sofar[MOST_LANES];
  for (int c = 0; c < lanes; c++) sofar[c] = start;
  for (int64_t d = r[0].first; d < r[0].last; d++) {
    for (int64_t h = r[1].first; h < r[1].last; h++) {
      const float *row = x + (r[0].source + d * g->dilation[0]) * i->step[0] + (r[1].source + h * g->dilation[1]) * i->step[1];
      for (int64_t w = r[2].first; w < r[2].last; w++) f(sofar, row + (r[2].source + w * g->dilation[2]) * i->step[2], lanes);
    }
  }
  for (int c = 0; c < lanes; c++) out[c] = sofar[c];
}

static float *cell_of(const image *i, float *y, const int64_t p[WINDOW_AXES]) {
  return y + p[0] * i->step[0] + p[1] * i->step[1] + p[2] * i->step[2];
}

NPUC_INLINE void maxpool(const kernel_window *g, const image_pair *i, const float *x, float *y, int64_t first, int64_t last,
                         const int lanes) {
  for (int64_t b = first; b < last; b++) {
    const float *from = x + i->x.origin + b * i->x.block;
    float *to = y + i->y.origin + b * i->y.block;
    for (int64_t e = 0; e < window_volume(g->out); e++) {
      int64_t p[WINDOW_AXES] = {e / g->out[2] / g->out[1], e / g->out[2] % g->out[1], e % g->out[2]};
      tap_range r[WINDOW_AXES] = {taps_at(g, 0, p[0]), taps_at(g, 1, p[1]), taps_at(g, 2, p[2])};
      window(g, &i->x, from, r, -INFINITY, largest, cell_of(&i->y, to, p), lanes);
    }
  }
}

void npuc_image_maxpool(const kernel_window *g, const image_pair *i, const float *x, float *y, int64_t first, int64_t last) {
  if (i->x.lanes == 16) {
    maxpool(g, i, x, y, first, last, 16);
  } else {
    maxpool(g, i, x, y, first, last, 8);
  }
}

NPUC_INLINE void averagepool(const kernel_window *g, bool count_include_pad, const image_pair *i, const float *x, float *y, int64_t first,
                             int64_t last, const int lanes) {
  for (int64_t e = 0; e < window_volume(g->out); e++) {
    int64_t p[WINDOW_AXES] = {e / g->out[2] / g->out[1], e / g->out[2] % g->out[1], e % g->out[2]}, count = 1;
    tap_range r[WINDOW_AXES];
    for (int axis = 0; axis < WINDOW_AXES; axis++) {
      r[axis] = taps_at(g, axis, p[axis]);
      count *= counted(g, axis, p[axis], count_include_pad);
    }
    for (int64_t b = first; b < last; b++) {
      float *cell = cell_of(&i->y, y + i->y.origin + b * i->y.block, p);
      window(g, &i->x, x + i->x.origin + b * i->x.block, r, 0.0f, total, cell, lanes);
      for (int c = 0; c < lanes && count; c++) cell[c] = cell[c] / (float)count; /* of no cell: the sum, 0 */
    }
  }
}

void npuc_image_averagepool(const kernel_window *g, bool count_include_pad, const image_pair *i, const float *x, float *y, int64_t first,
                            int64_t last) {
  if (i->x.lanes == 16) {
    averagepool(g, count_include_pad, i, x, y, first, last, 16);
  } else {
    averagepool(g, count_include_pad, i, x, y, first, last, 8);
  }
}

NPUC_INLINE void globalaveragepool(const image_pair *i, const float *x, float *y, int64_t first, int64_t last, const int lanes) {
  float count = (float)window_volume(i->x.size);
  for (int64_t b = first; b < last; b++) {
    float lane[SUM_LANES][MOST_LANES] = {{0}};
    int64_t k = 0;
    for (int64_t r = 0; r < i->x.size[0] * i->x.size[1]; r++) {
      const float *row = x + i->x.origin + b * i->x.block + r / i->x.size[1] * i->x.step[0] + r % i->x.size[1] * i->x.step[1];
      for (int64_t w = 0; w < i->x.size[2]; w++, k++) total(lane[k % SUM_LANES], row + w * lanes, lanes);
    }
    for (int half = SUM_LANES / 2; half; half /= 2) {
      for (int l = 0; l < half; l++) total(lane[l], lane[l + half], lanes);
    }
    float *cell = y + i->y.origin + b * i->y.block;
    for (int c = 0; c < lanes; c++) cell[c] = lane[0][c] / count;
  }
}

void npuc_image_globalaveragepool(const image_pair *i, const float *x, float *y, int64_t first, int64_t last) {
  if (i->x.lanes == 16) {
    globalaveragepool(i, x, y, first, last, 16);
  } else {
    globalaveragepool(i, x, y, first, last, 8);
  }
}

/* -- moves -- */

static void fill(float *to, int64_t n, float value) {
  for (int64_t c = 0; c < n; c++) to[c] = value;
}

static bool inside(const image *x, int axis, int64_t q) { return q >= 0 && q < x->size[axis]; }

/* Lanes [to, to + n) of a block of y are lanes [from, from + n) of block b of x. */
typedef struct lane_range {
  int64_t to, from, n, block;
} lane_range;

/* A block of y lies across two blocks of x, one of them perhaps not there, where channels are shifted by a part of a block. */
static int ranges_of(const image_move *m, const image *x, int64_t y_block, lane_range out[2]) {
  int64_t lanes = x->lanes, n = 0;
  for (int64_t lane = 0; lane < lanes;) {
    int64_t channel = y_block * lanes + lane - m->channel_shift, count;
    if (channel < 0) {
      count = -channel < lanes - lane ? -channel : lanes - lane;
    } else {
      count = lanes - channel % lanes < lanes - lane ? lanes - channel % lanes : lanes - lane;
      int64_t left = x->channels - channel;
      if (left > 0) out[n++] = (lane_range){lane, channel % lanes, count < left ? count : left, channel / lanes};
    }
    lane += count;
  }
  return (int)n;
}

void npuc_image_move(const image_move *m, const image_pair *i, const float *x, float *y, int64_t first, int64_t last) {
  int64_t rows = i->y.size[0] * i->y.size[1], n = i->y.size[2], lanes = i->y.lanes;
  for (int64_t b = first; b < last; b++) {
    lane_range ranges[2];
    int count = ranges_of(m, &i->x, b, ranges);
    bool whole = count == 1 && ranges[0].n == lanes;
    for (int64_t r = 0; r < rows; r++) {
      int64_t d = r / i->y.size[1], h = r % i->y.size[1], from_d = d * m->step[0] + m->start[0], from_h = h * m->step[1] + m->start[1];
      bool exists = count > 0 && inside(&i->x, 0, from_d) && inside(&i->x, 1, from_h);
      float *to = y + i->y.origin + b * i->y.block + d * i->y.step[0] + h * i->y.step[1];
      if (!whole || !exists) fill(to, n * lanes, m->fill);
      if (!exists) continue;
      const float *from = x + i->x.origin + from_d * i->x.step[0] + from_h * i->x.step[1];
      for (int64_t w = 0; w < n; w++, to += lanes) {
        int64_t q = w * m->step[2] + m->start[2];
        if (!inside(&i->x, 2, q)) fill(to, lanes, m->fill);
        for (int k = 0; inside(&i->x, 2, q) && k < count; k++) {
          const lane_range *l = &ranges[k];
          memcpy(to + l->to, from + l->block * i->x.block + q * lanes + l->from, (size_t)l->n * sizeof *to);
        }
      }
    }
  }
}

/* -- rows -- */

void npuc_image_rows(const image *x, const image *y, int64_t first, int64_t last,
                     void (*row)(const void *context, int64_t x, int64_t y, int64_t n), const void *context) {
  if (!npuc_image_has_border(x) && !npuc_image_has_border(y)) {
    row(context, first * x->block, first * y->block, (last - first) * x->block);
    return;
  }
  for (int64_t b = first; b < last; b++) {
    for (int64_t r = 0; r < x->size[0] * x->size[1]; r++) {
      int64_t d = r / x->size[1], h = r % x->size[1];
      row(context, x->origin + b * x->block + d * x->step[0] + h * x->step[1], y->origin + b * y->block + d * y->step[0] + h * y->step[1],
          x->size[2] * x->lanes);
    }
  }
}
