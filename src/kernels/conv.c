/* SPDX-License-Identifier: Apache-2.0 */
/* float32 convolution and matrix product on the shared walk. */
#include "kernels/conv.h"

#include <math.h>
#include <string.h>

#include "kernels/conv_layout.h"

static size_t align64(size_t bytes) { return (bytes + 63) / 64 * 64; }

size_t npuc_conv_packed_elements(int64_t group, int64_t out_channels, int64_t taps) {
  int64_t blocks = (out_channels / group + CONV_TILE_CHANNELS - 1) / CONV_TILE_CHANNELS;
  return (size_t)(group * blocks * taps) * CONV_TILE_CHANNELS;
}

void npuc_conv_f32_pack(int64_t group, int64_t out_channels, int64_t taps, const void *w, float *out_packed) {
  int64_t per_group = out_channels / group;
  const char *from = w;
  for (int64_t g = 0; g < group; g++) {
    for (int64_t o = 0; o < per_group; o += CONV_TILE_CHANNELS) {
      for (int64_t k = 0; k < taps; k++) {
        for (int64_t c = 0; c < CONV_TILE_CHANNELS; c++, out_packed++) {
          *out_packed = 0.0f;
          if (o + c < per_group) memcpy(out_packed, from + ((g * per_group + o + c) * taps + k) * 4, sizeof *out_packed);
        }
      }
    }
  }
}

/* Only `direct` depends on the vector's length, and it takes less memory: the widest vectors need the most. */
bool npuc_conv_f32_scratch(const kernel_window *g, size_t threads, size_t *out_bytes) {
  conv_layout l;
  if (!npuc_conv_layout(g, false, CONV_SLACK, &l)) return false;
  *out_bytes = align64((size_t)l.taps * sizeof(int32_t)) + (size_t)npuc_conv_planes(&l, threads) * sizeof(float);
  return true;
}

typedef struct f32_context {
  const conv_layout *layout;
  const conv_f32 *conv;
} f32_context;

static void f32_channel(const void *context, int64_t o, int64_t group, int64_t block, conv_tile *t) {
  const f32_context *c = context;
  (void)group;
  t->weights = c->conv->packed + block * c->layout->taps * CONV_TILE_CHANNELS;
  for (int i = 0; i < CONV_TILE_CHANNELS; i++) t->start[i] = c->conv->bias && i < t->channels ? c->conv->bias[o + i] : 0.0f;
}

/* Borders are a few elements: a loop is cheaper than a call. */
static void clear(float *to, int64_t n) {
  if (n > 16) {
    memset(to, 0, (size_t)n * sizeof *to);
  } else {
    for (int64_t i = 0; i < n; i++) to[i] = 0.0f;
  }
}

/* The same for rows: 8 at a time, the last 8 overlapping. */
static void copy(float *restrict to, const float *restrict from, int64_t n) {
  enum { STEP = 8 };
  if (n > 128) {
    memcpy(to, from, (size_t)n * sizeof *to);
    return;
  }
  int64_t i = 0;
  for (; i + STEP <= n; i += STEP) memcpy(to + i, from + i, STEP * sizeof *to);
  if (i == n) return;
  if (n >= STEP) {
    memcpy(to + n - STEP, from + n - STEP, STEP * sizeof *to);
  } else {
    for (; i < n; i++) to[i] = from[i];
  }
}

/* One row of a plane: `pitch` elements, phase by phase. */
static void load_row(const conv_layout *l, const float *x, float *to) {
  const kernel_window *g = &l->g;
  for (int64_t phase = 0; phase < g->stride[2]; phase++, to += l->phase) {
    int64_t first, last;
    conv_phase_range(l, phase, &first, &last);
    clear(to, first);
    const float *from = x + first * g->stride[2] + phase - g->begin[2];
    if (g->stride[2] == 1) {
      copy(to + first, from, last - first);
    } else {
      for (int64_t i = first; i < last; i++) to[i] = from[(i - first) * g->stride[2]];
    }
    clear(to + last, l->phase - last);
  }
}

static void f32_load(const void *context, int64_t sample, int64_t first, int64_t last, void *planes) {
  const f32_context *c = context;
  const conv_layout *l = c->layout;
  const kernel_window *g = &l->g;
  for (int64_t cell = first; cell < last; cell++) {
    const float *x = c->conv->x + (sample * g->channels + cell) * window_volume(g->in);
    float *to = (float *)planes + cell * l->plane;
    for (int64_t r = 0; r < l->rows[0] * l->rows[1]; r++, to += l->pitch) {
      int64_t d = r / l->rows[1] - g->begin[0], h = r % l->rows[1] - g->begin[1];
      if (d < 0 || d >= g->in[0] || h < 0 || h >= g->in[1]) {
        memset(to, 0, (size_t)l->pitch * sizeof *to);
      } else {
        load_row(l, x + (d * g->in[1] + h) * g->in[2], to);
      }
    }
  }
}

void npuc_conv_f32(const kernel_set *kernels, thread_pool *pool, const conv_f32 *conv, void *scratch) {
  conv_layout l;
  (void)npuc_conv_layout(&conv->g, false, kernels->lanes, &l);
  int32_t *offsets = scratch;
  npuc_conv_offsets(&l, offsets);
  f32_context context = {&l, conv};
  conv_run run = {
      .walk = {.layout = &l,
               .kernel = kernels->conv_f32,
               .lanes = kernels->lanes,
               .most_vectors = CONV_TILE_VECTORS,
               .offsets = offsets,
               .y_bytes = sizeof(float),
               .channel = f32_channel,
               .context = &context},
      .model = {.clip_lo = conv->clip_lo, .clip_hi = conv->clip_hi},
      .x = conv->x,
      .load = f32_load,
      .y = conv->y,
      .add = conv->add,
      .planes = (char *)scratch + align64((size_t)l.taps * sizeof(int32_t)),
  };
  npuc_conv_run(pool, &run);
}

/* -- matrix product: b's rows are the channels of a 1x1 convolution over n pixels -- */

static kernel_window matmul_window(int64_t m, int64_t k, int64_t n) {
  return (kernel_window){.batch = 1,
                         .channels = k,
                         .out_channels = m,
                         .group = 1,
                         .in = {1, 1, n},
                         .out = {1, 1, n},
                         .kernel = {1, 1, 1},
                         .stride = {1, 1, 1},
                         .dilation = {1, 1, 1}};
}

bool npuc_matmul_f32_scratch(int64_t m, int64_t k, int64_t n, size_t *out_bytes) {
  kernel_window g = matmul_window(m, k, n);
  conv_layout l;
  if (!npuc_conv_layout(&g, false, CONV_SLACK, &l)) return false;
  *out_bytes = align64((size_t)l.taps * sizeof(int32_t)) + (size_t)npuc_conv_planes(&l, 1) * sizeof(float);
  return true;
}

void npuc_matmul_f32(const kernel_set *kernels, thread_pool *pool, const matmul_f32 *job, void *scratch) {
  conv_f32 conv = {.g = matmul_window(job->m, job->k, job->n),
                   .x = job->b,
                   .packed = job->packed_a,
                   .y = job->y,
                   .clip_lo = -INFINITY,
                   .clip_hi = INFINITY};
  npuc_conv_f32(kernels, pool, &conv, scratch);
}
