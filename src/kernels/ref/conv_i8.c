/* SPDX-License-Identifier: Apache-2.0 */
/* The scalar level of the int8 tile, dot product and loader. kernels/ref/integer.c has the operators themselves as readable loops. */
#include "kernels/kernels.h"
#include "kernels/ref/integer.h"

/* A pair is two int16 in one 32-bit element, the first in the low half. Sums wrap, as vector lanes do; their bound keeps them from it. */
static uint32_t pair_product(int32_t x, int32_t w) {
  int32_t low = (int32_t)(int16_t)((uint32_t)x & 0xffffu) * (int16_t)((uint32_t)w & 0xffffu);
  int32_t high = (int32_t)(int16_t)((uint32_t)x >> 16) * (int16_t)((uint32_t)w >> 16);
  return (uint32_t)low + (uint32_t)high;
}

void npuc_i8_conv__scalar(const conv_tile *t, int vectors) {
  q8_output y = {.zero_point = t->zero_point, .lo = t->lo, .hi = t->hi};
  for (int v = 0; v < vectors; v++) {
    for (int c = 0; c < t->channels; c++) {
      for (int32_t i = 0; i < t->lanes[v]; i++) {
        const int32_t *x = (const int32_t *)t->x[v] + i, *w = t->weights;
        uint32_t sum = (uint32_t)t->bias[c];
        for (size_t k = 0; k < t->taps; k++) sum += pair_product(x[t->offsets[k]], w[k * CONV_TILE_CHANNELS + (size_t)c]);
        ((uint8_t *)t->y[v])[(size_t)c * t->y_channel + (size_t)i] = (uint8_t)npuc_q8_rule(&y, (int32_t)sum, t->multiplier[c], t->shift[c]);
      }
    }
  }
}

void npuc_i8_dot__scalar(const int16_t *a, const int8_t *b, size_t b_stride, size_t k, int32_t *y, size_t n) {
  for (size_t j = 0; j < n; j++) {
    uint32_t sum = 0;
    for (size_t i = 0; i < k; i++) sum += (uint32_t)((int32_t)a[i] * b[j * b_stride + i]);
    y[j] = (int32_t)sum;
  }
}

void npuc_i8_pair__scalar(const uint8_t *a, const uint8_t *b, bool is_signed, int32_t zero_point, size_t n, int16_t *out) {
  for (size_t i = 0; i < n; i++) {
    int32_t p = is_signed ? (int8_t)a[i] : a[i], q = !b ? zero_point : is_signed ? (int8_t)b[i] : b[i];
    out[2 * i] = (int16_t)(p - zero_point);
    out[2 * i + 1] = (int16_t)(q - zero_point);
  }
}
