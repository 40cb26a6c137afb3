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

void npuc_f32_conv__scalar(const conv_tile *t, int vectors) {
  for (int v = 0; v < vectors; v++) {
    for (int c = 0; c < t->channels; c++) {
      for (int32_t i = 0; i < t->lanes[v]; i++) {
        const float *x = (const float *)t->x[v] + i, *w = t->weights;
        float sum = t->start[c];
        for (size_t k = 0; k < t->taps; k++) sum = fmaf(x[t->offsets[k]], w[k * CONV_TILE_CHANNELS + (size_t)c], sum);
        if (t->add[v]) sum = sum + t->add[v][(size_t)c * t->y_channel + (size_t)i];
        sum = sum < t->clip_lo ? t->clip_lo : sum > t->clip_hi ? t->clip_hi : sum;
        ((float *)t->y[v])[(size_t)c * t->y_channel + (size_t)i] = sum;
      }
    }
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
