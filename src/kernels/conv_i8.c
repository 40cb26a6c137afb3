/* SPDX-License-Identifier: Apache-2.0 */
/* int8 on the walk of conv_layout.c: planes of interleaved channel pairs, x minus its zero point, so that padding is 0. */
#include "kernels/conv_i8.h"

#include <string.h>

#include "kernels/conv_layout.h"

static size_t align64(size_t bytes) { return (bytes + 63) / 64 * 64; }

static int64_t group_channels(const kernel_window *g) { return g->channels / g->group; }
static int64_t group_pairs(const kernel_window *g) { return (group_channels(g) + 1) / 2; }

size_t npuc_conv_i8_packed_elements(const kernel_window *g) {
  int64_t blocks = (g->out_channels / g->group + CONV_TILE_CHANNELS - 1) / CONV_TILE_CHANNELS;
  return (size_t)(g->group * blocks * group_pairs(g) * window_volume(g->kernel)) * CONV_TILE_CHANNELS;
}

static int32_t pair_of(int32_t low, int32_t high) { return (int32_t)((uint32_t)(uint16_t)low | (uint32_t)(uint16_t)high << 16); }

void npuc_conv_i8_pack(const kernel_window *g, const int8_t *w, int32_t *out_packed) {
  int64_t per_group = g->out_channels / g->group, channels = group_channels(g), volume = window_volume(g->kernel);
  for (int64_t group = 0; group < g->group; group++) {
    for (int64_t o = 0; o < per_group; o += CONV_TILE_CHANNELS) {
      for (int64_t k = 0; k < group_pairs(g) * volume; k++) {
        int64_t c = k / volume * 2, j = k % volume;
        for (int64_t i = 0; i < CONV_TILE_CHANNELS; i++, out_packed++) {
          *out_packed = 0;
          if (o + i >= per_group) continue;
          const int8_t *row = w + (group * per_group + o + i) * channels * volume;
          *out_packed = pair_of(row[c * volume + j], c + 1 < channels ? row[(c + 1) * volume + j] : 0);
        }
      }
    }
  }
}

bool npuc_conv_i8_scratch(const kernel_window *g, size_t threads, size_t *out_bytes) {
  conv_layout l;
  if (!npuc_conv_layout(g, true, CONV_SLACK, &l)) return false;
  *out_bytes = align64((size_t)l.taps * sizeof(int32_t)) + (size_t)npuc_conv_planes(&l, threads) * sizeof(int32_t);
  return true;
}

typedef struct i8_context {
  const conv_layout *layout;
  const conv_i8 *conv;
  pair_i8_kernel *pair;
} i8_context;

/* M and s times the same power of two: no result changes, and s reaches 32 where the rule is cheap. |M| stays below 2^31. */
static void normalize(int32_t *m, int32_t *s) {
  if (*m == 0) {
    *s = *s < 32 ? 32 : *s;
    return;
  }
  while (*s < 32 && *m < (INT32_C(1) << 30) && *m >= -(INT32_C(1) << 30)) {
    *m *= 2;
    ++*s;
  }
}

static void i8_channel(const void *context, int64_t o, int64_t group, int64_t block, conv_tile *t) {
  const i8_context *c = context;
  const q8_scale *scale = &c->conv->scale;
  (void)group;
  t->weights = c->conv->packed + block * c->layout->taps * CONV_TILE_CHANNELS;
  for (int i = 0; i < CONV_TILE_CHANNELS; i++) {
    bool real = i < t->channels;
    t->bias[i] = real && scale->bias ? scale->bias[o + i] : 0;
    t->multiplier[i] = real ? scale->m[o + i] : 0;
    t->shift[i] = real ? scale->s[o + i] : 0;
    normalize(&t->multiplier[i], &t->shift[i]);
  }
}

/* One row of pairs, phase by phase (conv.h); a and b are the two channels' rows, b NULL for the odd one. */
static void load_row(const i8_context *context, const uint8_t *a, const uint8_t *b, int16_t *to) {
  const conv_layout *l = context->layout;
  const kernel_window *g = &l->g;
  const q8_input *x = &context->conv->x;
  for (int64_t phase = 0; phase < g->stride[2]; phase++, to += 2 * l->phase) {
    int64_t first, last;
    conv_phase_range(l, phase, &first, &last);
    memset(to, 0, (size_t)first * 4);
    memset(to + 2 * last, 0, (size_t)(l->phase - last) * 4);
    int64_t from = first * g->stride[2] + phase - g->begin[2];
    if (last == first) continue;
    if (g->stride[2] == 1) {
      context->pair(a + from, b ? b + from : NULL, x->is_signed, x->zero_point, (size_t)(last - first), to + 2 * first);
      continue;
    }
    for (int64_t i = first; i < last; i++, from += g->stride[2]) {
      int32_t p = x->is_signed ? (int8_t)a[from] : a[from], q = !b ? x->zero_point : x->is_signed ? (int8_t)b[from] : b[from];
      to[2 * i] = (int16_t)(p - x->zero_point);
      to[2 * i + 1] = (int16_t)(q - x->zero_point);
    }
  }
}

static void i8_load(const void *context, int64_t sample, int64_t first, int64_t last, void *planes) {
  const i8_context *c = context;
  const conv_layout *l = c->layout;
  const kernel_window *g = &l->g;
  int64_t image = window_volume(g->in), channels = group_channels(g);
  for (int64_t cell = first; cell < last; cell++) {
    int64_t channel = cell / l->cells * channels + cell % l->cells * 2;
    const uint8_t *a = (const uint8_t *)c->conv->x.data + (sample * g->channels + channel) * image;
    bool two = cell % l->cells * 2 + 1 < channels;
    int16_t *to = (int16_t *)planes + 2 * cell * l->plane;
    for (int64_t r = 0; r < l->rows[0] * l->rows[1]; r++, to += 2 * l->pitch) {
      int64_t d = r / l->rows[1] - g->begin[0], h = r % l->rows[1] - g->begin[1], row = (d * g->in[1] + h) * g->in[2];
      if (d < 0 || d >= g->in[0] || h < 0 || h >= g->in[1]) {
        memset(to, 0, (size_t)l->pitch * 4);
      } else {
        load_row(c, a + row, two ? a + image + row : NULL, to);
      }
    }
  }
}

void npuc_conv_i8(const kernel_set *kernels, thread_pool *pool, const conv_i8 *conv, void *scratch) {
  conv_layout l;
  (void)npuc_conv_layout(&conv->g, true, kernels->lanes, &l);
  int32_t *offsets = scratch;
  npuc_conv_offsets(&l, offsets);
  i8_context context = {&l, conv, kernels->pair_i8};
  conv_run run = {
      .walk = {.layout = &l,
               .kernel = kernels->conv_i8,
               .lanes = kernels->lanes,
               .most_vectors = 2,
               .offsets = offsets,
               .y_bytes = 1,
               .channel = i8_channel,
               .context = &context},
      .model = {.zero_point = conv->y.zero_point, .lo = conv->y.lo, .hi = conv->y.hi},
      .load = i8_load,
      .y = conv->y.data,
      .planes = (char *)scratch + align64((size_t)l.taps * sizeof(int32_t)),
  };
  npuc_conv_run(pool, &run);
}

/* -- matrix product: rows of x as int16, then dot products in runs of outputs -- */

enum { DOT_RUN = 64 };

typedef struct gemm_job {
  const gemm_i8 *gemm;
  dot_i8_kernel *dot;
  char *rows; /* [workers, row_bytes] */
  size_t row_bytes;
} gemm_job;

size_t npuc_gemm_i8_scratch(int64_t depth, size_t threads) { return align64((size_t)depth * sizeof(int16_t)) * threads; }

static void gemm_rows(void *context, size_t begin, size_t end, size_t worker) {
  const gemm_job *job = context;
  const gemm_i8 *g = job->gemm;
  int16_t *row = (int16_t *)(void *)(job->rows + job->row_bytes * worker);
  for (int64_t r = (int64_t)begin; r < (int64_t)end; r++) {
    for (int64_t k = 0; k < g->depth; k++) row[k] = (int16_t)(npuc_q8_get(&g->x, r * g->depth + k) - g->x.zero_point);
    for (int64_t o = 0; o < g->outputs; o += DOT_RUN) {
      int32_t sums[DOT_RUN];
      int64_t n = g->outputs - o < DOT_RUN ? g->outputs - o : DOT_RUN;
      job->dot(row, g->w + o * g->depth, (size_t)g->depth, (size_t)g->depth, sums, (size_t)n);
      for (int64_t i = 0; i < n; i++) {
        int64_t t = (g->scale.bias ? (int64_t)g->scale.bias[o + i] : 0) + sums[i];
        npuc_q8_set(&g->y, r * g->outputs + o + i, npuc_q8_rule(&g->y, t, g->scale.m[o + i], g->scale.s[o + i]));
      }
    }
  }
}

void npuc_gemm_i8(const kernel_set *kernels, thread_pool *pool, const gemm_i8 *gemm, void *scratch) {
  gemm_job job = {gemm, kernels->dot_i8, scratch, align64((size_t)gemm->depth * sizeof(int16_t))};
  npuc_parallel_for(pool, (size_t)gemm->rows, 0, gemm_rows, &job);
}
