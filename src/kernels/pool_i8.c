/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/pool_i8.h"

#include <string.h>

/* A row of outputs at (d, h) of a sample. */
typedef struct output_row {
  int64_t sample, d, h;
} output_row;

static output_row row_at(const kernel_window *g, int64_t row) {
  return (output_row){.sample = row / g->out[1] / g->out[0], .d = row / g->out[1] % g->out[0], .h = row % g->out[1]};
}

static int64_t source(const kernel_window *g, int axis, int64_t p, int64_t j) {
  return p * g->stride[axis] - g->begin[axis] + j * g->dilation[axis];
}

/* Calls `step` for every run of elements that tap (d, h, w) brings to a row of outputs: x at `from`, outputs from element `to`. */
typedef void run_step(void *context, const uint8_t *from, int64_t to, size_t n);
static void each_run(const kernel_window *g, const uint8_t *x, output_row r, run_step *step, void *context) {
  int64_t c = g->channels;
  for (int64_t d = 0; d < g->kernel[0]; d++) {
    for (int64_t h = 0; h < g->kernel[1]; h++) {
      int64_t at_d = source(g, 0, r.d, d), at_h = source(g, 1, r.h, h);
      if (at_d < 0 || at_d >= g->in[0] || at_h < 0 || at_h >= g->in[1]) continue;
      const uint8_t *row = x + ((r.sample * g->in[0] + at_d) * g->in[1] + at_h) * g->in[2] * c;
      for (int64_t w = 0; w < g->kernel[2]; w++) {
        int64_t first, last;
        window_inside(g, 2, w, &first, &last);
        if (first >= last) continue;
        if (g->stride[2] == 1) {
          step(context, row + source(g, 2, first, w) * c, first * c, (size_t)((last - first) * c));
          continue;
        }
        for (int64_t p = first; p < last; p++) step(context, row + source(g, 2, p, w) * c, p * c, (size_t)c);
      }
    }
  }
}

typedef struct max_row {
  const kernel_set *kernels;
  bool is_signed;
  uint8_t *y;
} max_row;

static void max_step(void *context, const uint8_t *from, int64_t to, size_t n) {
  const max_row *m = context;
  m->kernels->max_i8(from, m->is_signed, n, m->y + to);
}

void npuc_maxpool_last(const kernel_set *kernels, const kernel_window *g, bool is_signed, const uint8_t *x, uint8_t *y, int64_t first,
                       int64_t last) {
  int64_t elements = g->out[2] * g->channels;
  for (int64_t row = first; row < last; row++) {
    max_row m = {kernels, is_signed, y + row * elements};
    memset(m.y, is_signed ? 0x80 : 0, (size_t)elements);
    each_run(g, x, row_at(g, row), max_step, &m);
  }
}

/* -- averages -- */

typedef struct sum_row {
  const kernel_set *kernels;
  bool is_signed;
  int32_t *sums;
} sum_row;

static void sum_step(void *context, const uint8_t *from, int64_t to, size_t n) {
  const sum_row *s = context;
  s->kernels->accumulate_i8(from, s->is_signed, n, s->sums + to);
}

/* Cells of the window at p along an axis that lie in [least, most). */
static int64_t cells(const kernel_window *g, int axis, int64_t p, int64_t least, int64_t most) {
  int64_t n = 0;
  for (int64_t j = 0; j < g->kernel[axis]; j++) {
    int64_t q = source(g, axis, p, j);
    n += q >= least && q < most;
  }
  return n;
}

/* The rule with one multiplier on n sums. */
static void finish(const kernel_set *kernels, const int32_t *sums, int64_t n, int32_t m, int32_t s, const q8_output *y, uint8_t *to) {
  int32_t factors[I8_WIDE], shifts[I8_WIDE];
  for (int i = 0; i < I8_WIDE; i++) factors[i] = m, shifts[i] = s;
  rule_i8 rule = {.kind = npuc_rule_kind(&m, &s, 1),
                  .m = factors,
                  .s = shifts,
                  .is_signed = y->is_signed,
                  .zero_point = y->zero_point,
                  .lo = y->lo,
                  .hi = y->hi};
  npuc_rule_prepare(rule.kind, factors, shifts, I8_WIDE);
  int64_t whole = n / I8_WIDE;
  if (whole) kernels->rule_i8(&rule, sums, (size_t)whole, I8_WIDE, I8_WIDE, to, I8_WIDE);
  if (n % I8_WIDE) kernels->rule_i8(&rule, sums + whole * I8_WIDE, 1, I8_WIDE, (int)(n % I8_WIDE), to + whole * I8_WIDE, I8_WIDE);
}

enum { READ_AHEAD = 64 }; /* the rule reads sums in groups */

int64_t npuc_averagepool_last_scratch(const kernel_window *g) { return g->out[2] * g->channels + READ_AHEAD; }

static int64_t find_count(const averagepool_i8 *p, int64_t count) {
  for (int64_t i = 0; i < p->n_counts; i++) {
    if (p->counts[i] == count) return i;
  }
  return -1;
}

static int64_t count_at(const averagepool_i8 *p, int axis, int64_t at) {
  const kernel_window *g = &p->g;
  return p->count_include_pad ? cells(g, axis, at, -g->begin[axis], g->in[axis] + g->end[axis]) : cells(g, axis, at, 0, g->in[axis]);
}

static bool average_row(const kernel_set *kernels, const averagepool_i8 *p, int32_t *sums, output_row r, uint8_t *y) {
  const kernel_window *g = &p->g;
  int64_t c = g->channels, rows = count_at(p, 0, r.d) * count_at(p, 1, r.h);
  int64_t inside = cells(g, 0, r.d, 0, g->in[0]) * cells(g, 1, r.h, 0, g->in[1]);
  for (int64_t w = 0; w < g->out[2]; w++) {
    int32_t start = (int32_t)(-p->x.zero_point * inside * cells(g, 2, w, 0, g->in[2]));
    for (int64_t i = 0; i < c; i++) sums[w * c + i] = start;
  }
  sum_row s = {kernels, p->x.is_signed, sums};
  each_run(g, p->x.data, r, sum_step, &s);
  for (int64_t w = 0, next; w < g->out[2]; w = next) { /* columns of one count together */
    int64_t count = rows * count_at(p, 2, w), k = find_count(p, count);
    if (k < 0) return false;
    for (next = w + 1; next < g->out[2] && rows * count_at(p, 2, next) == count;) next++;
    finish(kernels, sums + w * c, (next - w) * c, p->scale.m[k], p->scale.s[k], &p->y, y + w * c);
  }
  return true;
}

bool npuc_averagepool_last(const kernel_set *kernels, const averagepool_i8 *pool, int32_t *scratch, int64_t first, int64_t last) {
  int64_t elements = pool->g.out[2] * pool->g.channels;
  for (int64_t row = first; row < last; row++) {
    if (!average_row(kernels, pool, scratch, row_at(&pool->g, row), (uint8_t *)pool->y.data + row * elements)) return false;
  }
  return true;
}

void npuc_globalaveragepool_last(const kernel_set *kernels, int64_t pixels, int64_t channels, const q8_input *x, const q8_scale *scale,
                                 const q8_output *y, int32_t *scratch) {
  for (int64_t c = 0; c < channels; c++) scratch[c] = (int32_t)(-x->zero_point * pixels);
  for (int64_t i = 0; i < pixels; i++)
    kernels->accumulate_i8((const uint8_t *)x->data + i * channels, x->is_signed, (size_t)channels, scratch);
  finish(kernels, scratch, channels, scale->m[0], scale->s[0], y, y->data);
}
