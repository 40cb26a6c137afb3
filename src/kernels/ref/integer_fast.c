/* SPDX-License-Identifier: Apache-2.0 */
/* QConv and QGemm as int16 dot products (integer_fast.h). */
#include "kernels/ref/integer_fast.h"

#include <string.h>

static int64_t volume(const int64_t dims[Q8_SPATIAL]) { return dims[0] * dims[1] * dims[2]; }

void npuc_q8_pack_weights(int64_t rows, int64_t depth, const int8_t *w, int16_t *out) {
  int64_t packed = npuc_q8_packed(depth);
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t k = 0; k < depth; k++) out[r * packed + k] = w[r * depth + k];
    for (int64_t k = depth; k < packed; k++) out[r * packed + k] = 0;
  }
}

int64_t npuc_q8_tile_values(const q8_window *g) {
  return Q8_TILE * npuc_q8_packed(g->channels / g->group * volume(g->kernel));
}

int64_t npuc_q8_conv_tiles(const q8_window *g) { return g->batch * g->group * ((volume(g->out) + Q8_TILE - 1) / Q8_TILE); }

/* (x - zero point) under the kernel for one output pixel, one channel: values of the taps in order, 0 outside. */
static void gather_taps(const q8_window *g, const q8_input *x, int64_t image, const int64_t p[Q8_SPATIAL], int16_t *out) {
  int64_t z0 = p[0] * g->stride[0] - g->begin[0], y0 = p[1] * g->stride[1] - g->begin[1], x0 = p[2] * g->stride[2] - g->begin[2];
  for (int64_t i = 0; i < g->kernel[0]; i++) {
    int64_t z = z0 + i * g->dilation[0];
    for (int64_t j = 0; j < g->kernel[1]; j++) {
      int64_t row = y0 + j * g->dilation[1];
      bool inside = z >= 0 && z < g->in[0] && row >= 0 && row < g->in[1];
      for (int64_t k = 0; k < g->kernel[2]; k++) {
        int64_t column = x0 + k * g->dilation[2];
        *out++ = inside && column >= 0 && column < g->in[2]
                     ? (int16_t)(npuc_q8_get(x, image + (z * g->in[1] + row) * g->in[2] + column) - x->zero_point)
                     : 0;
      }
    }
  }
}

static void gather_patch(const q8_window *g, const q8_input *x, int64_t first_image, int64_t pixel, int16_t *out) {
  int64_t channels = g->channels / g->group, taps = volume(g->kernel), pixels = volume(g->in);
  int64_t p[Q8_SPATIAL];
  for (int a = Q8_SPATIAL - 1; a >= 0; a--) {
    p[a] = pixel % g->out[a];
    pixel /= g->out[a];
  }
  for (int64_t c = 0; c < channels; c++) gather_taps(g, x, (first_image + c) * pixels, p, out + c * taps);
  int64_t depth = channels * taps, packed = npuc_q8_packed(depth);
  memset(out + depth, 0, (size_t)(packed - depth) * sizeof *out);
}

/* Four patches times one row of weights: enough independent sums to keep the multipliers busy. */
static void dot4(const int16_t *restrict w, const int16_t *restrict p, int64_t packed, int32_t out[4]) {
  const int16_t *p0 = p, *p1 = p + packed, *p2 = p + 2 * packed, *p3 = p + 3 * packed;
  int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (int64_t k = 0; k < packed; k++) s0 += (int32_t)w[k] * p0[k];
  for (int64_t k = 0; k < packed; k++) s1 += (int32_t)w[k] * p1[k];
  for (int64_t k = 0; k < packed; k++) s2 += (int32_t)w[k] * p2[k];
  for (int64_t k = 0; k < packed; k++) s3 += (int32_t)w[k] * p3[k];
  out[0] = s0;
  out[1] = s1;
  out[2] = s2;
  out[3] = s3;
}

static int32_t dot1(const int16_t *restrict w, const int16_t *restrict p, int64_t packed) {
  int32_t sum = 0;
  for (int64_t k = 0; k < packed; k++) sum += (int32_t)w[k] * p[k];
  return sum;
}

void npuc_q8_conv_tile(const q8_window *g, int64_t tile, const q8_input *x, const int16_t *packed, const q8_scale *scale, int16_t *patch, const q8_output *y) {
  int64_t outputs = volume(g->out), tiles = (outputs + Q8_TILE - 1) / Q8_TILE;
  int64_t first = tile % tiles * Q8_TILE, image = tile / tiles;
  int64_t n = image / g->group, group = image % g->group;
  int64_t count = outputs - first < Q8_TILE ? outputs - first : Q8_TILE;
  int64_t channels = g->channels / g->group, per_group = g->out_channels / g->group;
  int64_t depth = npuc_q8_packed(channels * volume(g->kernel));
  for (int64_t i = 0; i < count; i++) gather_patch(g, x, n * g->channels + group * channels, first + i, patch + i * depth);
  for (int64_t i = count; i % 4; i++) memset(patch + i * depth, 0, (size_t)depth * sizeof *patch);
  for (int64_t o = group * per_group; o < (group + 1) * per_group; o++) {
    int64_t bias = scale->bias ? scale->bias[o] : 0, base = (n * g->out_channels + o) * outputs + first;
    for (int64_t i = 0; i < count; i += 4) {
      int32_t sums[4];
      dot4(packed + o * depth, patch + i * depth, depth, sums);
      for (int64_t j = i; j < i + 4 && j < count; j++) npuc_q8_set(y, base + j, npuc_q8_rule(y, bias + sums[j - i], scale->m[o], scale->s[o]));
    }
  }
}

/* One output row of one plane: sum over taps, whole rows at a time. */
static void depthwise_row(const q8_window *g, const q8_input *x, int64_t plane, const int8_t *w, int64_t oz, int64_t oy, int32_t *row) {
  memset(row, 0, (size_t)g->out[2] * sizeof *row);
  for (int64_t i = 0; i < g->kernel[0] * g->kernel[1]; i++) {
    int64_t z = oz * g->stride[0] - g->begin[0] + i / g->kernel[1] * g->dilation[0];
    int64_t line = oy * g->stride[1] - g->begin[1] + i % g->kernel[1] * g->dilation[1];
    if (z < 0 || z >= g->in[0] || line < 0 || line >= g->in[1]) continue;
    int64_t base = plane + (z * g->in[1] + line) * g->in[2];
    for (int64_t k = 0; k < g->kernel[2]; k++) {
      int32_t weight = w[i * g->kernel[2] + k];
      for (int64_t ox = 0; ox < g->out[2]; ox++) {
        int64_t column = ox * g->stride[2] - g->begin[2] + k * g->dilation[2];
        if (column >= 0 && column < g->in[2]) row[ox] += weight * (npuc_q8_get(x, base + column) - x->zero_point);
      }
    }
  }
}

void npuc_q8_depthwise(const q8_window *g, int64_t first, int64_t count, const q8_input *x, const int8_t *w, const q8_scale *scale, int32_t *row,
                       const q8_output *y) {
  int64_t pixels = volume(g->in), outputs = volume(g->out), taps = volume(g->kernel);
  for (int64_t map = first; map < first + count; map++) {
    int64_t o = map % g->channels;
    for (int64_t line = 0; line < g->out[0] * g->out[1]; line++) {
      depthwise_row(g, x, map * pixels, w + o * taps, line / g->out[1], line % g->out[1], row);
      for (int64_t ox = 0; ox < g->out[2]; ox++) {
        int64_t t = (scale->bias ? (int64_t)scale->bias[o] : 0) + row[ox];
        npuc_q8_set(y, map * outputs + line * g->out[2] + ox, npuc_q8_rule(y, t, scale->m[o], scale->s[o]));
      }
    }
  }
}

void npuc_q8_gemm_rows(int64_t first, int64_t count, int64_t depth, int64_t outputs, const q8_input *x, const int16_t *packed, const q8_scale *scale,
                       int16_t *patch, const q8_output *y) {
  int64_t padded = npuc_q8_packed(depth);
  memset(patch + depth, 0, (size_t)(padded - depth) * sizeof *patch);
  for (int64_t r = first; r < first + count; r++) {
    for (int64_t k = 0; k < depth; k++) patch[k] = (int16_t)(npuc_q8_get(x, r * depth + k) - x->zero_point);
    for (int64_t o = 0; o < outputs; o++) {
      int64_t t = (scale->bias ? (int64_t)scale->bias[o] : 0) + dot1(packed + o * padded, patch, padded);
      npuc_q8_set(y, r * outputs + o, npuc_q8_rule(y, t, scale->m[o], scale->s[o]));
    }
  }
}
