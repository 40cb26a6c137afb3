/* SPDX-License-Identifier: Apache-2.0 */
/* The scalar level of the int8 convolution kernels. kernels/ref/integer.c has the operators themselves as readable loops. */
#include "kernels/kernels.h"
#include "kernels/ref/integer.h"

/* A pair is two int16 in one 32-bit element, the first in the low half. Sums wrap, as vector lanes do; their bound keeps them from it. */
static uint32_t pair_product(int32_t low, int32_t high, int32_t w) {
  int32_t a = low * (int16_t)((uint32_t)w & 0xffffu), b = high * (int16_t)((uint32_t)w >> 16);
  return (uint32_t)a + (uint32_t)b;
}

void npuc_i8_sums__scalar(const sums_i8 *t) {
  for (int p = 0; p < t->pixels; p++) {
    for (int i = 0; i < t->width; i++) {
      uint32_t sum = (uint32_t)t->bias[i];
      const int32_t *w = t->weights + i;
      for (int32_t r = 0; r < t->runs; r++) {
        const int16_t *x = t->x[p] + t->offsets[r];
        for (int32_t k = 0; k < t->pairs; k++, w += t->width) sum += pair_product(x[2 * k], x[2 * k + 1], *w);
      }
      t->sums[p * t->width + i] = (int32_t)sum;
    }
  }
}

void npuc_i8_dense__scalar(const dense_i8 *t) {
  sums_i8 tile = t->tile;
  for (size_t first = 0; first < t->pixels; first += I8_RUN) {
    const size_t n = t->pixels - first < I8_RUN ? t->pixels - first : I8_RUN;
    for (size_t i = 0; i < n; i += I8_PIXELS) {
      tile.pixels = (int)(n - i < I8_PIXELS ? n - i : I8_PIXELS);
      tile.sums = t->sums + i * (size_t)tile.width;
      for (int p = 0; p < tile.pixels; p++) tile.x[p] = t->x + t->at[first + i + (size_t)p];
      t->sums_kernel(&tile);
    }
    t->rule_kernel(t->rule, t->sums, n, tile.width, t->channels, t->y + first * t->pitch, t->pitch);
  }
}

static int32_t value_of(uint8_t x, bool is_signed) { return is_signed ? (int8_t)x : x; }

static int32_t quads_sum(const quads_i8 *t, int p, const int8_t *w, int32_t bias) {
  const int64_t step = quads_padded(t->quads) * (int64_t)I8_WIDE * 4;
  uint32_t sum = (uint32_t)bias;
  for (int32_t r = 0; r < t->runs; r++, w += step) {
    const uint8_t *x = t->x + (size_t)p * t->step + t->offsets[r];
    for (int32_t k = 0; k < 4 * t->quads; k++) sum += (uint32_t)(value_of(x[k], t->is_signed) * w[k / 4 * I8_WIDE * 4 + k % 4]);
  }
  return (int32_t)sum;
}

void npuc_i8_quads__scalar(const quads_i8 *t) {
  const int64_t block = t->runs * quads_padded(t->quads) * (int64_t)I8_WIDE * 4;
  for (int b = 0; b < t->blocks; b++) {
    for (int i = 0; i < t->pixels * I8_WIDE; i++) {
      const int8_t *w = t->weights + b * block + i % I8_WIDE * 4;
      t->sums[b * (QUADS_STRIP / QUADS_BLOCKS) * I8_WIDE + i] = quads_sum(t, i / I8_WIDE, w, t->bias[b * I8_WIDE + i % I8_WIDE]);
    }
  }
}

void npuc_i8_records__scalar(const uint8_t *x, size_t step, size_t bytes, size_t n, uint8_t mask, uint8_t *to, size_t pitch) {
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < bytes; k++) to[i * pitch + k] = x[i * step + k] ^ mask;
  }
}

void npuc_i8_quads_begin__scalar(void) {}
void npuc_i8_quads_end__scalar(void) {}

void npuc_i8_depthwise__scalar(const depthwise_i8 *t) {
  for (int p = 0; p < t->pixels; p++) {
    for (int i = 0; i < t->width; i++) {
      uint32_t sum = (uint32_t)t->bias[i];
      for (int32_t k = 0; k < t->taps; k++) {
        uint32_t x = (uint32_t)t->x[(size_t)p * t->step + (size_t)(t->offsets[k] + i)];
        sum += pair_product((int16_t)(x & 0xffffu), (int16_t)(x >> 16), t->weights[(size_t)k * t->weights_step + (size_t)i]);
      }
      t->sums[p * t->width + i] = (int32_t)sum;
    }
  }
}

static int32_t depthwise_sum(const depthwise_quads_i8 *t, int p, int i) {
  const int quads = (t->rows + 3) / 4;
  uint32_t sum = (uint32_t)t->bias[i];
  for (int k = 0; k < t->rows * t->columns; k++) {
    const int row = k / t->columns, column = k % t->columns;
    const uint8_t *x = t->x[row] + (size_t)(p * t->stride + column * t->dilation) * t->column;
    sum += (uint32_t)(x[depthwise_channel(i)] * t->weights[((column * quads + row / 4) * DEPTHWISE_CHANNELS + i) * 4 + row % 4]);
  }
  return (int32_t)sum;
}

void npuc_i8_depthwise_quads__scalar(const depthwise_quads_i8 *t) {
  const q8_output out = {.zero_point = t->rule->zero_point, .lo = t->rule->lo, .hi = t->rule->hi};
  for (int p = 0; p < t->pixels; p++) {
    for (int i = 0; i < DEPTHWISE_CHANNELS; i++) {
      const int channel = depthwise_channel(i);
      if (channel < t->channels)
        t->y[(size_t)p * t->pitch + (size_t)channel] = (uint8_t)npuc_q8_rule(&out, depthwise_sum(t, p, i), t->rule->m[i], t->rule->s[i]);
    }
  }
}

void npuc_i8_winograd_in__scalar(const int16_t *x, size_t pitch, size_t channels, int16_t *v, size_t step) {
  static const int rows[4][4] = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}};
  for (size_t c = 0; c < channels; c++) {
    for (size_t i = 0; i < 16; i++) {
      int32_t sum = 0;
      for (size_t k = 0; k < 16; k++) sum += rows[i / 4][k / 4] * rows[i % 4][k % 4] * x[k / 4 * pitch + k % 4 * channels + c];
      v[i * step + c] = (int16_t)sum;
    }
  }
}

void npuc_i8_winograd_out__scalar(const int32_t *m, size_t step, const int32_t *bias, int width, int32_t *top, int32_t *bottom) {
  static const int rows[2][4] = {{1, 1, 1, 0}, {0, 1, -1, -1}};
  for (int i = 0; i < width; i++) {
    for (int p = 0; p < 4; p++) {
      uint32_t sum = 0;
      for (size_t k = 0; k < 16; k++) sum += (uint32_t)(rows[p / 2][k / 4] * rows[p % 2][k % 4]) * (uint32_t)m[k * step + (size_t)i];
      (p < 2 ? top : bottom)[p % 2 * width + i] = bias[i] + (int32_t)sum / 4;
    }
  }
}

void npuc_i8_rule__scalar(const rule_i8 *r, const int32_t *sums, size_t pixels, int width, int channels, uint8_t *y, size_t pitch) {
  q8_output out = {.zero_point = r->zero_point, .lo = r->lo, .hi = r->hi};
  for (size_t p = 0; p < pixels; p++) {
    for (int i = 0; i < channels; i++)
      y[p * pitch + (size_t)i] = (uint8_t)npuc_q8_rule(&out, sums[p * (size_t)width + (size_t)i], r->m[i], r->s[i]);
  }
}

void npuc_i8_widen__scalar(const uint8_t *x, bool is_signed, int32_t zero_point, size_t n, int16_t *out) {
  for (size_t i = 0; i < n; i++) out[i] = (int16_t)(value_of(x[i], is_signed) - zero_point);
}

void npuc_i8_pair__scalar(const uint8_t *a, const uint8_t *b, bool is_signed, int32_t zero_point, size_t n, int16_t *out) {
  for (size_t i = 0; i < n; i++) {
    out[2 * i] = a ? (int16_t)(value_of(a[i], is_signed) - zero_point) : 0;
    out[2 * i + 1] = b ? (int16_t)(value_of(b[i], is_signed) - zero_point) : 0;
  }
}

void npuc_i8_transpose__scalar(const uint8_t *from, size_t from_pitch, size_t rows, size_t columns, uint8_t *to, size_t to_pitch) {
  for (size_t r = 0; r < rows; r++) {
    for (size_t c = 0; c < columns; c++) to[c * to_pitch + r] = from[r * from_pitch + c];
  }
}
