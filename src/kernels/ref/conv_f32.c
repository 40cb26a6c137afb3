/* SPDX-License-Identifier: Apache-2.0 */
/* The scalar level of the float32 tile and dot product, and the convolution as one readable loop, which the tests hold against every level. */
#include "kernels/ref/float.h"

#include <math.h>

#include "kernels/kernels.h"

/* `chain`: start = bias; channels, then taps in row-major order, ascending; a tap in the padding multiplies its weight by +0. */
void npuc_ref_conv_f32(const kernel_window *g, const float *x, const float *w, const float *bias, float *y) {
  int64_t channels = g->channels / g->group, per_group = g->out_channels / g->group;
  int64_t in = window_volume(g->in), out = window_volume(g->out), taps = window_volume(g->kernel);
  for (int64_t i = 0; i < g->batch * g->out_channels * out; i++) {
    int64_t p = i % out, o = i / out % g->out_channels, n = i / out / g->out_channels;
    float sum = bias ? bias[o] : 0.0f;
    for (int64_t k = 0; k < channels * taps; k++) {
      int64_t c = o / per_group * channels + k / taps, rest_p = p, rest_j = k % taps, at = 0, size = 1;
      bool inside = true;
      for (int a = WINDOW_AXES - 1; a >= 0; a--) {
        int64_t q = rest_p % g->out[a] * g->stride[a] - g->begin[a] + rest_j % g->kernel[a] * g->dilation[a];
        rest_p /= g->out[a];
        rest_j /= g->kernel[a];
        inside = inside && q >= 0 && q < g->in[a];
        at += q * size;
        size *= g->in[a];
      }
      sum = fmaf(inside ? x[(n * g->channels + c) * in + at] : 0.0f, w[o * channels * taps + k], sum);
    }
    y[i] = sum;
  }
}

/* The lanes of block b that are stored. */
static bool is_stored(const tile_f32 *t, int b, int lane) {
  return (b > 0 || lane >= t->first_lane) && (b + 1 < t->blocks || lane < t->end_lane);
}

static void finish(const tile_f32 *t, size_t p, int b, int lane, float sum) {
  const int64_t pair = (int64_t)p / 2, second = (int64_t)p % 2;
  if (t->add) sum = sum + t->add[t->add_at[pair] + second * t->add_step + (int64_t)t->add_block * b + lane];
  sum = sum < t->clip_lo ? t->clip_lo : sum > t->clip_hi ? t->clip_hi : sum;
  t->y[t->y_at[pair] + second * t->y_step + (int64_t)t->y_block * b + lane] = sum;
}

/* Of the block's channels, each has its own input (step 1) or all have one. */
static void tile(const tile_f32 *t, size_t pairs, int64_t step) {
  for (size_t p = 0; p < 2 * pairs; p++) {
    if (p % 2 == 0 && t->skip && t->skip[p / 2]) continue;
    for (int c = 0; c < t->blocks * t->lanes; c++) {
      const float *x = t->x + t->x_at[p / 2] + (int64_t)(p % 2) * t->x_step + c * step;
      float sum = t->start[c];
      if (!is_stored(t, c / t->lanes, c % t->lanes)) continue;
      for (size_t k = 0; k < t->taps; k++) sum = fmaf(x[t->offsets[k]], t->weights[k * t->w_step + (size_t)c], sum);
      finish(t, p, c / t->lanes, c % t->lanes, sum);
    }
  }
}

void npuc_f32_conv__scalar(const tile_f32 *t, size_t pairs) { tile(t, pairs, 0); }
void npuc_f32_depthwise__scalar(const tile_f32 *t, size_t pairs) { tile(t, pairs, 1); }

void npuc_f32_block__scalar(const float *x, size_t plane, size_t lanes, float *y, size_t width, size_t n) {
  for (size_t i = 0; i < n; i++) {
    for (size_t c = 0; c < width; c++) y[i * width + c] = c < lanes ? x[c * plane + i] : 0.0f;
  }
}

void npuc_f32_unblock__scalar(const float *x, size_t width, float *y, size_t plane, size_t lanes, size_t n) {
  for (size_t c = 0; c < lanes; c++) {
    for (size_t i = 0; i < n; i++) y[c * plane + i] = x[i * width + c];
  }
}

/* `lanes16`: element k goes to lane k mod 16 by fused multiply-add, both rows extended by zeros to a multiple of 16; then lanes l and
 * l + 8, l + 4, l + 2, l + 1 are added. */
void npuc_f32_dot__scalar(const float *a, size_t a_stride, const float *b, size_t b_stride, size_t k, float *y, size_t y_stride, size_t m,
                          size_t n) {
  for (size_t i = 0; i < m; i++) {
    for (size_t j = 0; j < n; j++) {
      float lane[16] = {0};
      for (size_t e = 0; e < (k + 15) / 16 * 16; e++) {
        lane[e % 16] = e < k ? fmaf(a[i * a_stride + e], b[j * b_stride + e], lane[e % 16]) : fmaf(0.0f, 0.0f, lane[e % 16]);
      }
      for (size_t half = 8; half; half /= 2) {
        for (size_t l = 0; l < half; l++) lane[l] += lane[l + half];
      }
      y[i * y_stride + j] = lane[0];
    }
  }
}
