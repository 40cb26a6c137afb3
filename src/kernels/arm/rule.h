/* SPDX-License-Identifier: Apache-2.0 */
/* RULE of docs/numerics.md on vectors of 4: clamp(zp + ((t*M + rnd(s)) >> s), lo, hi) in 64-bit lanes. sshl by a negative count shifts right
 * arithmetically, srshl rounds on the way by adding 2^(s-1) without overflow: the rule in one instruction. */
#ifndef NPUC_KERNELS_ARM_RULE_H
#define NPUC_KERNELS_ARM_RULE_H

#include <arm_neon.h>

#include "kernels/target.h"

/* The low and the high two of four products, shifted; s as a negative count. */
NPUC_INLINE int32x4_t rule_clamped(int64x2_t low, int64x2_t high, int64x2_t minus_s_low, int64x2_t minus_s_high, int64x2_t zero_point,
                                   int64x2_t lo, int64x2_t hi) {
  low = vaddq_s64(vrshlq_s64(low, minus_s_low), zero_point);
  high = vaddq_s64(vrshlq_s64(high, minus_s_high), zero_point);
  low = vbslq_s64(vcgtq_s64(lo, low), lo, low);
  high = vbslq_s64(vcgtq_s64(lo, high), lo, high);
  low = vbslq_s64(vcgtq_s64(low, hi), hi, low);
  high = vbslq_s64(vcgtq_s64(high, hi), hi, high);
  return vuzp1q_s32(vreinterpretq_s32_s64(low), vreinterpretq_s32_s64(high));
}

/* The low bytes of 16 lanes, in order. */
NPUC_INLINE uint8x16_t rule_bytes(int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d) {
  const int16x8_t ab = vcombine_s16(vmovn_s32(a), vmovn_s32(b)), cd = vcombine_s16(vmovn_s32(c), vmovn_s32(d));
  return vreinterpretq_u8_s8(vcombine_s8(vmovn_s16(ab), vmovn_s16(cd)));
}

#endif
