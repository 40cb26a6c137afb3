/* SPDX-License-Identifier: Apache-2.0 */
/* The rule on sums of int8 convolutions, with NEON: one 64-bit form for every kind, 8 channels at a time. */
#include "kernels/kernels.h"

#if defined(__aarch64__)
#include <string.h>

#include "kernels/arm/rule.h"

typedef struct limits {
  int64x2_t zero_point, lo, hi;
} limits;

NPUC_INLINE int32x4_t four(const rule_i8 *r, const int32_t *sums, int at, const limits *l) {
  const int32x4_t t = vld1q_s32(sums + at), m = vld1q_s32(r->m + at), s = vnegq_s32(vld1q_s32(r->s + at));
  return rule_clamped(vmull_s32(vget_low_s32(t), vget_low_s32(m)), vmull_high_s32(t, m), vmovl_s32(vget_low_s32(s)), vmovl_high_s32(s),
                      l->zero_point, l->lo, l->hi);
}

NPUC_INLINE void put(uint8x16_t bytes, int channels, uint8_t *y) {
  if (channels == 16) {
    vst1q_u8(y, bytes);
  } else if (channels == 8) {
    vst1_u8(y, vget_low_u8(bytes));
  } else {
    uint8_t all[16];
    vst1q_u8(all, bytes);
    memcpy(y, all, (size_t)channels);
  }
}

void npuc_i8_rule__neon(const rule_i8 *r, const int32_t *sums, size_t pixels, int width, int channels, uint8_t *y, size_t pitch) {
  const limits l = {vdupq_n_s64(r->zero_point), vdupq_n_s64(r->lo), vdupq_n_s64(r->hi)};
  for (size_t p = 0; p < pixels; p++, sums += width, y += pitch) {
    int32x4_t a = four(r, sums, 0, &l), b = four(r, sums, 4, &l), c = a, d = b;
    if (width == I8_WIDE) {
      c = four(r, sums, 8, &l);
      d = four(r, sums, 12, &l);
    }
    put(rule_bytes(a, b, c, d), channels, y);
  }
}

#endif
