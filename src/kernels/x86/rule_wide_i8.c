/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of docs/numerics.md on sums in memory, 16 channels of a pixel a vector: the arithmetic of rule_channels.h, in which AVX-512 VNNI adds the high
 * half's product to the rounding constant by itself. Four pixels become 64 bytes. */
#include "kernels/kernels.h"
#include "kernels/target.h"

#if NPUC_X86
#include <immintrin.h>

typedef struct wide_constants {
  __m512i low, high, round, odd, shift; /* as rule_constants */
  __m512i zero_point, lo, hi;
} wide_constants;

NPUC_TARGET_AVX512 NPUC_INLINE wide_constants constants_of(const rule_i8 *r, const bool is_short) {
  const __m512i m = _mm512_loadu_si512((const void *)r->m), s = _mm512_loadu_si512((const void *)r->s);
  wide_constants c = {.low = m,
                      .zero_point = _mm512_set1_epi16((short)r->zero_point),
                      .lo = _mm512_set1_epi8((char)r->lo),
                      .hi = _mm512_set1_epi8((char)r->hi)};
  if (is_short) {
    c.high = _mm512_slli_epi32(m, 16);
    c.round = _mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_sub_epi32(s, _mm512_set1_epi32(17)));
    c.shift = _mm512_sub_epi32(s, _mm512_set1_epi32(16));
    return c;
  }
  const __m512i one = _mm512_set1_epi64(1), before = _mm512_sub_epi32(s, _mm512_set1_epi32(1));
  c.high = _mm512_srli_epi64(m, 32);
  c.round = _mm512_sllv_epi64(one, _mm512_and_si512(before, _mm512_set1_epi64(0xffffffffll)));
  c.odd = _mm512_sllv_epi64(one, _mm512_srli_epi64(before, 32));
  c.shift = _mm512_sub_epi32(s, _mm512_set1_epi32(32));
  return c;
}

NPUC_TARGET_AVX512 NPUC_INLINE __m512i shifted(const int32_t *sums, const wide_constants *c, const bool is_short) {
  const __m512i t = _mm512_loadu_si512((const void *)sums);
  if (is_short)
    return _mm512_srav_epi32(_mm512_add_epi32(_mm512_dpwssd_epi32(c->round, t, c->high), _mm512_mulhi_epu16(t, c->low)), c->shift);
  const __m512i even = _mm512_add_epi64(_mm512_mul_epi32(t, c->low), c->round);
  const __m512i odd = _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(t, 32), c->high), c->odd);
  return _mm512_srav_epi32(_mm512_mask_mov_epi32(_mm512_srli_epi64(even, 32), 0xaaaa, odd), c->shift);
}

/* Four pixels in order, 16 bytes each. Saturation to 16 bits on the way changes nothing: the clamp is narrower. */
NPUC_TARGET_AVX512 NPUC_INLINE __m512i bytes_of(const __m512i v[4], const wide_constants *c, const bool is_signed) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i ab = _mm512_adds_epi16(_mm512_packs_epi32(v[0], v[1]), c->zero_point);
  const __m512i cd = _mm512_adds_epi16(_mm512_packs_epi32(v[2], v[3]), c->zero_point);
  const __m512i all = is_signed ? _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(ab, cd), c->lo), c->hi)
                                : _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(ab, cd), c->lo), c->hi);
  return _mm512_permutexvar_epi32(order, all);
}

NPUC_TARGET_AVX512 NPUC_INLINE void put_four(__m512i bytes, uint8_t *y, size_t pitch) {
  _mm_storeu_si128((__m128i *)(void *)y, _mm512_castsi512_si128(bytes));
  _mm_storeu_si128((__m128i *)(void *)(y + pitch), _mm512_extracti32x4_epi32(bytes, 1));
  _mm_storeu_si128((__m128i *)(void *)(y + 2 * pitch), _mm512_extracti32x4_epi32(bytes, 2));
  _mm_storeu_si128((__m128i *)(void *)(y + 3 * pitch), _mm512_extracti32x4_epi32(bytes, 3));
}

NPUC_TARGET_AVX512 NPUC_INLINE void put_some(__m512i bytes, size_t n, int channels, uint8_t *y, size_t pitch) {
  const __mmask16 mask = (__mmask16)((1u << channels) - 1);
  _mm_mask_storeu_epi8(y, mask, _mm512_castsi512_si128(bytes));
  if (n > 1) _mm_mask_storeu_epi8(y + pitch, mask, _mm512_extracti32x4_epi32(bytes, 1));
  if (n > 2) _mm_mask_storeu_epi8(y + 2 * pitch, mask, _mm512_extracti32x4_epi32(bytes, 2));
  if (n > 3) _mm_mask_storeu_epi8(y + 3 * pitch, mask, _mm512_extracti32x4_epi32(bytes, 3));
}

NPUC_TARGET_AVX512 NPUC_INLINE void rule_wide(const rule_i8 *r, const int32_t *sums, size_t pixels, int channels, uint8_t *y, size_t pitch,
                                              const bool is_short, const bool is_signed) {
  const wide_constants c = constants_of(r, is_short);
  size_t p = 0;
  for (; p + 4 <= pixels; p += 4, sums += 4 * I8_WIDE, y += 4 * pitch) {
    const __m512i v[4] = {shifted(sums, &c, is_short), shifted(sums + I8_WIDE, &c, is_short), shifted(sums + 2 * I8_WIDE, &c, is_short),
                          shifted(sums + 3 * I8_WIDE, &c, is_short)};
    const __m512i bytes = bytes_of(v, &c, is_signed);
    if (channels != I8_WIDE) {
      put_some(bytes, 4, channels, y, pitch);
    } else if (pitch == I8_WIDE) {
      _mm512_storeu_si512((void *)y, bytes);
    } else {
      put_four(bytes, y, pitch);
    }
  }
  if (p == pixels) return;
  __m512i v[4];
  for (size_t i = 0; i < 4; i++) v[i] = p + i < pixels ? shifted(sums + i * I8_WIDE, &c, is_short) : _mm512_setzero_si512();
  put_some(bytes_of(v, &c, is_signed), pixels - p, channels, y, pitch);
}

NPUC_TARGET_AVX512 void npuc_i8_rule__avx512(const rule_i8 *r, const int32_t *sums, size_t pixels, int width, int channels, uint8_t *y,
                                             size_t pitch) {
  if (width != I8_WIDE || r->kind == RULE_ANY) {
    npuc_i8_rule__avx2(r, sums, pixels, width, channels, y, pitch);
  } else if (r->kind == RULE_SHORT) {
    if (r->is_signed) {
      rule_wide(r, sums, pixels, channels, y, pitch, true, true);
    } else {
      rule_wide(r, sums, pixels, channels, y, pitch, true, false);
    }
  } else if (r->is_signed) {
    rule_wide(r, sums, pixels, channels, y, pitch, false, true);
  } else {
    rule_wide(r, sums, pixels, channels, y, pitch, false, false);
  }
}

#endif
