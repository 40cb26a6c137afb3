/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise integer operators with NEON, 8 elements at a time in 64-bit lanes. */
#include "kernels/kernels.h"

#if defined(__aarch64__)
#include "kernels/arm/rule.h"

typedef struct eight {
  int32x4_t low, high;
} eight;

NPUC_INLINE eight eight_of(const uint8_t *x, size_t step, bool is_signed, int32_t zero_point) {
  const uint8x8_t bytes = step ? vld1_u8(x) : vdup_n_u8(x[0]);
  const int16x8_t wide = is_signed ? vmovl_s8(vreinterpret_s8_u8(bytes)) : vreinterpretq_s16_u16(vmovl_u8(bytes));
  const int32x4_t zero = vdupq_n_s32(zero_point);
  return (eight){vsubq_s32(vmovl_s16(vget_low_s16(wide)), zero), vsubq_s32(vmovl_high_s16(wide), zero)};
}

typedef struct constants {
  int64x2_t minus_s, zero_point, lo, hi;
} constants;

NPUC_INLINE constants constants_of(const binary_i8 *p) {
  return (constants){vdupq_n_s64(-(int64_t)p->shift), vdupq_n_s64(p->zero_point), vdupq_n_s64(p->lo), vdupq_n_s64(p->hi)};
}

NPUC_INLINE int32x4_t clamped(int64x2_t low, int64x2_t high, const constants *c) {
  return rule_clamped(low, high, c->minus_s, c->minus_s, c->zero_point, c->lo, c->hi);
}

NPUC_INLINE int32x4_t add_four(int32x4_t u, int32x4_t v, int32x2_t mu, int32x2_t mv, const constants *c) {
  const int64x2_t low = vmlal_s32(vmull_s32(vget_low_s32(u), mu), vget_low_s32(v), mv);
  const int64x2_t high = vmlal_s32(vmull_s32(vget_high_s32(u), mu), vget_high_s32(v), mv);
  return clamped(low, high, c);
}

void npuc_i8_add__neon(const binary_i8 *p, const uint8_t *a, size_t a_step, const uint8_t *b, size_t b_step, uint8_t *y, size_t n) {
  const constants c = constants_of(p);
  const int32x2_t mu = vdup_n_s32(p->a_multiplier), mv = vdup_n_s32(p->b_multiplier);
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const eight u = eight_of(a + i * a_step, a_step, p->a_signed, p->a_zero_point);
    const eight v = eight_of(b + i * b_step, b_step, p->b_signed, p->b_zero_point);
    const int32x4_t low = add_four(u.low, v.low, mu, mv, &c), high = add_four(u.high, v.high, mu, mv, &c);
    vst1_u8(y + i, vget_low_u8(rule_bytes(low, high, low, high)));
  }
  npuc_i8_add__scalar(p, a + i * a_step, a_step, b + i * b_step, b_step, y + i, n - i);
}

NPUC_INLINE int32x4_t mul_four(int32x4_t t, int32x2_t m, const constants *c) {
  return clamped(vmull_s32(vget_low_s32(t), m), vmull_s32(vget_high_s32(t), m), c);
}

void npuc_i8_mul__neon(const binary_i8 *p, const uint8_t *a, size_t a_step, const uint8_t *b, size_t b_step, uint8_t *y, size_t n) {
  const constants c = constants_of(p);
  const int32x2_t m = vdup_n_s32(p->a_multiplier);
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const eight u = eight_of(a + i * a_step, a_step, p->a_signed, p->a_zero_point);
    const eight v = eight_of(b + i * b_step, b_step, p->b_signed, p->b_zero_point);
    const int32x4_t low = mul_four(vmulq_s32(u.low, v.low), m, &c), high = mul_four(vmulq_s32(u.high, v.high), m, &c);
    vst1_u8(y + i, vget_low_u8(rule_bytes(low, high, low, high)));
  }
  npuc_i8_mul__scalar(p, a + i * a_step, a_step, b + i * b_step, b_step, y + i, n - i);
}

#endif
