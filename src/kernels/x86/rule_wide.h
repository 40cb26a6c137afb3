/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of docs/numerics.md on vectors of 16 sums: the arithmetic of rule_channels.h, in which AVX-512 VNNI adds the high half's product to the
 * rounding constant by itself. */
#ifndef NPUC_KERNELS_X86_RULE_WIDE_H
#define NPUC_KERNELS_X86_RULE_WIDE_H

#include <immintrin.h>

#include "kernels/int8.h"
#include "kernels/target.h"

/* Of 16 channels, as rule_constants. */
typedef struct wide_constants {
  __m512i low, high, round, odd, shift;
} wide_constants;

NPUC_TARGET_AVX512 NPUC_INLINE wide_constants wide_constants_of(const rule_i8 *r, int first, const bool is_short) {
  const __m512i m = _mm512_loadu_si512((const void *)(r->m + first)), s = _mm512_loadu_si512((const void *)(r->s + first));
  if (is_short) {
    const __m512i one = _mm512_set1_epi32(1);
    return (wide_constants){.low = m,
                            .high = _mm512_slli_epi32(m, 16),
                            .round = _mm512_sllv_epi32(one, _mm512_sub_epi32(s, _mm512_set1_epi32(17))),
                            .shift = _mm512_sub_epi32(s, _mm512_set1_epi32(16))};
  }
  const __m512i one = _mm512_set1_epi64(1), before = _mm512_sub_epi32(s, _mm512_set1_epi32(1));
  return (wide_constants){.low = m,
                          .high = _mm512_srli_epi64(m, 32),
                          .round = _mm512_sllv_epi64(one, _mm512_and_si512(before, _mm512_set1_epi64(0xffffffffll))),
                          .odd = _mm512_sllv_epi64(one, _mm512_srli_epi64(before, 32)),
                          .shift = _mm512_sub_epi32(s, _mm512_set1_epi32(32))};
}

NPUC_TARGET_AVX512 NPUC_INLINE __m512i wide_shifted(__m512i t, const wide_constants *c, const bool is_short) {
  if (is_short)
    return _mm512_srav_epi32(_mm512_add_epi32(_mm512_dpwssd_epi32(c->round, t, c->high), _mm512_mulhi_epu16(t, c->low)), c->shift);
  const __m512i even = _mm512_add_epi64(_mm512_mul_epi32(t, c->low), c->round);
  const __m512i odd = _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(t, 32), c->high), c->odd);
  return _mm512_srav_epi32(_mm512_mask_mov_epi32(_mm512_srli_epi64(even, 32), 0xaaaa, odd), c->shift);
}

typedef struct wide_limits {
  __m512i zero_point, lo, hi;
} wide_limits;

NPUC_TARGET_AVX512 NPUC_INLINE wide_limits wide_limits_of(const rule_i8 *r) {
  return (wide_limits){_mm512_set1_epi16((short)r->zero_point), _mm512_set1_epi8((char)r->lo), _mm512_set1_epi8((char)r->hi)};
}

/* Four vectors to bytes: lane l of the result is lane l of each, 4 bytes a vector. Saturation to 16 bits on the way changes nothing: the clamp is narrower. */
NPUC_TARGET_AVX512 NPUC_INLINE __m512i wide_bytes_of(const __m512i v[4], const wide_limits *l, const bool is_signed) {
  const __m512i ab = _mm512_adds_epi16(_mm512_packs_epi32(v[0], v[1]), l->zero_point);
  const __m512i cd = _mm512_adds_epi16(_mm512_packs_epi32(v[2], v[3]), l->zero_point);
  return is_signed ? _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(ab, cd), l->lo), l->hi)
                   : _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(ab, cd), l->lo), l->hi);
}

#endif
