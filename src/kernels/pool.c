/* SPDX-License-Identifier: Apache-2.0 */
/* Tap by tap: each tap of the window is combined into a whole row of outputs, whose inside range is known, so that the inner loop has
 * no tests and is a vector loop for stride 1. */
#include "kernels/pool.h"

#include <math.h>
#include <string.h>

#define NPUC_POOL_BODY(type, first_value, combine)                                                                             \
  int64_t in = window_volume(g->in), out = window_volume(g->out), taps = window_volume(g->kernel);                             \
  for (int64_t plane = first; plane < last; plane++) {                                                                         \
    const type *from = x + plane * in;                                                                                         \
    type *to = y + plane * out;                                                                                                \
    for (int64_t i = 0; i < out; i++) to[i] = (first_value);                                                                   \
    int64_t tap[WINDOW_AXES] = {0}, low[WINDOW_AXES], high[WINDOW_AXES];                                                       \
    for (int64_t j = 0; j < taps; j++, next_tap(g, tap)) {                                                                     \
      tap_ranges(g, tap, low, high);                                                                                           \
      for (int64_t d = low[0]; d < high[0]; d++) {                                                                             \
        for (int64_t h = low[1]; h < high[1]; h++) {                                                                           \
          const type *row =                                                                                                    \
              from + (source(g, 0, d, tap[0]) * g->in[1] + source(g, 1, h, tap[1])) * g->in[2] + source(g, 2, low[2], tap[2]); \
          type *result = to + (d * g->out[1] + h) * g->out[2] + low[2];                                                        \
          int64_t n = high[2] - low[2], step = g->stride[2];                                                                   \
          if (step == 1) {                                                                                                     \
            for (int64_t i = 0; i < n; i++) {                                                                                  \
              type v = row[i], sofar = result[i];                                                                              \
              result[i] = (combine);                                                                                           \
            }                                                                                                                  \
          } else {                                                                                                             \
            for (int64_t i = 0; i < n; i++) {                                                                                  \
              type v = row[i * step], sofar = result[i];                                                                       \
              result[i] = (combine);                                                                                           \
            }                                                                                                                  \
          }                                                                                                                    \
        }                                                                                                                      \
      }                                                                                                                        \
    }                                                                                                                          \
  }

/* Where output p of an axis finds tap j. */
static int64_t source(const kernel_window *g, int axis, int64_t p, int64_t j) {
  return p * g->stride[axis] - g->begin[axis] + j * g->dilation[axis];
}

/* Row-major order. */
static void next_tap(const kernel_window *g, int64_t tap[WINDOW_AXES]) {
  for (int axis = WINDOW_AXES - 1; axis >= 0; axis--) {
    if (++tap[axis] < g->kernel[axis]) return;
    tap[axis] = 0;
  }
}

static void tap_ranges(const kernel_window *g, const int64_t tap[WINDOW_AXES], int64_t low[WINDOW_AXES], int64_t high[WINDOW_AXES]) {
  for (int axis = 0; axis < WINDOW_AXES; axis++) window_inside(g, axis, tap[axis], &low[axis], &high[axis]);
  if (low[2] >= high[2]) high[0] = low[0]; /* nothing in any row */
}

void npuc_maxpool_f32(const kernel_window *g, const float *x, float *y, int64_t first, int64_t last) {
  NPUC_POOL_BODY(float, -INFINITY, v > sofar || v != v ? v : sofar)
}

void npuc_maxpool_u8(const kernel_window *g, const uint8_t *x, uint8_t *y, int64_t first, int64_t last) {
  NPUC_POOL_BODY(uint8_t, 0, v > sofar ? v : sofar)
}

void npuc_maxpool_i8(const kernel_window *g, const int8_t *x, int8_t *y, int64_t first, int64_t last) {
  NPUC_POOL_BODY(int8_t, INT8_MIN, v > sofar ? v : sofar)
}

/* Cells of the window at p along one axis that lie in [least, most). */
static int64_t cells(const kernel_window *g, int axis, int64_t p, int64_t least, int64_t most) {
  int64_t n = 0;
  for (int64_t j = 0; j < g->kernel[axis]; j++) {
    int64_t q = source(g, axis, p, j);
    n += q >= least && q < most;
  }
  return n;
}

static int64_t axis_count(const kernel_window *g, int axis, int64_t p, bool padded) {
  return padded ? cells(g, axis, p, -g->begin[axis], g->in[axis] + g->end[axis]) : cells(g, axis, p, 0, g->in[axis]);
}

/* Taps [first, last) of the window at p along one axis that lie inside the image. */
static void taps_inside(const kernel_window *g, int axis, int64_t p, int64_t *out_first, int64_t *out_last) {
  int64_t first = 0, last = g->kernel[axis];
  while (first < last && source(g, axis, p, first) < 0) first++;
  while (last > first && source(g, axis, p, last - 1) >= g->in[axis]) last--;
  *out_first = first;
  *out_last = last;
}

/* One window of one plane, in the same order. */
static float window_sum(const kernel_window *g, const float *from, const int64_t p[WINDOW_AXES]) {
  int64_t first[WINDOW_AXES], last[WINDOW_AXES];
  float sum = 0.0f;
  for (int axis = 0; axis < WINDOW_AXES; axis++) taps_inside(g, axis, p[axis], &first[axis], &last[axis]);
  for (int64_t d = first[0]; d < last[0]; d++) {
    for (int64_t h = first[1]; h < last[1]; h++) {
      const float *row = from + (source(g, 0, p[0], d) * g->in[1] + source(g, 1, p[1], h)) * g->in[2];
      for (int64_t w = first[2]; w < last[2]; w++) sum = sum + row[source(g, 2, p[2], w)];
    }
  }
  return sum;
}

/* Rows of a few outputs: window by window. */
static void sum_windows(const kernel_window *g, const float *x, float *y, int64_t first, int64_t last) {
  int64_t in = window_volume(g->in), out = window_volume(g->out);
  for (int64_t i = first * out; i < last * out; i++) {
    int64_t at = i % out, p[WINDOW_AXES] = {at / g->out[2] / g->out[1], at / g->out[2] % g->out[1], at % g->out[2]};
    y[i] = window_sum(g, x + i / out * in, p);
  }
}

static void sum_rows(const kernel_window *g, const float *x, float *y, int64_t first, int64_t last) {
  NPUC_POOL_BODY(float, 0.0f, sofar + v)
}

void npuc_averagepool_f32(const kernel_window *g, bool count_include_pad, const float *x, float *y, int64_t first, int64_t last) {
  if (g->out[2] < 4) {
    sum_windows(g, x, y, first, last);
  } else {
    sum_rows(g, x, y, first, last);
  }
  for (int64_t d = 0; d < g->out[0]; d++) {
    int64_t depth_count = axis_count(g, 0, d, count_include_pad);
    for (int64_t h = 0; h < g->out[1]; h++) {
      int64_t row_count = depth_count * axis_count(g, 1, h, count_include_pad);
      for (int64_t w = 0; w < g->out[2]; w++) {
        int64_t count = row_count * axis_count(g, 2, w, count_include_pad);
        if (count == 0) continue; /* the sum is 0 */
        for (int64_t plane = first; plane < last; plane++) {
          float *cell = y + ((plane * g->out[0] + d) * g->out[1] + h) * g->out[2] + w;
          *cell = *cell / (float)count;
        }
      }
    }
  }
}

static int64_t window_maximum(const kernel_window *g, const float *from, const int64_t p[WINDOW_AXES], int64_t at[WINDOW_AXES]) {
  int64_t taps = window_volume(g->kernel), best = -1;
  for (int64_t j = 0; j < taps; j++) {
    int64_t q[WINDOW_AXES], rest = j;
    bool inside = true;
    for (int axis = WINDOW_AXES - 1; axis >= 0; axis--) {
      q[axis] = source(g, axis, p[axis], rest % g->kernel[axis]);
      rest /= g->kernel[axis];
      inside = inside && q[axis] >= 0 && q[axis] < g->in[axis];
    }
    if (!inside) continue;
    int64_t i = (q[0] * g->in[1] + q[1]) * g->in[2] + q[2];
    if (best >= 0 && !(from[i] > from[best] || (isnan(from[i]) && !isnan(from[best])))) continue;
    best = i;
    memcpy(at, q, sizeof q);
  }
  return best;
}

void npuc_maxpool_indices(const kernel_window *g, const float *x, bool column_major, int64_t *indices, int64_t first, int64_t last) {
  int64_t in = window_volume(g->in), out = window_volume(g->out);
  for (int64_t plane = first; plane < last; plane++) {
    for (int64_t i = 0; i < out; i++) {
      int64_t p[WINDOW_AXES] = {i / g->out[2] / g->out[1], i / g->out[2] % g->out[1], i % g->out[2]}, at[WINDOW_AXES] = {0};
      int64_t best = window_maximum(g, x + plane * in, p, at);
      if (column_major && best >= 0) best = (at[2] * g->in[1] + at[1]) * g->in[0] + at[0];
      indices[plane * out + i] = plane * in + best;
    }
  }
}
