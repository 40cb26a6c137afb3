/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of docs/numerics.md on sums in memory, 16 channels of a pixel a vector: four pixels become 64 bytes. */
#include "kernels/kernels.h"
#include "kernels/target.h"

#if NPUC_X86
#include "kernels/x86/rule_wide.h"

/* Four pixels in order, 16 bytes each. */
NPUC_TARGET_AVX512 NPUC_INLINE __m512i pixels_of(const __m512i v[4], const wide_limits *l, const bool is_signed) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_permutexvar_epi32(order, wide_bytes_of(v, l, is_signed));
}

NPUC_TARGET_AVX512 NPUC_INLINE __m512i shifted(const int32_t *sums, const wide_constants *c, const bool is_short) {
  return wide_shifted(_mm512_loadu_si512((const void *)sums), c, is_short);
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
  const wide_constants c = wide_constants_of(r, 0, is_short);
  const wide_limits l = wide_limits_of(r);
  size_t p = 0;
  for (; p + 4 <= pixels; p += 4, sums += 4 * I8_WIDE, y += 4 * pitch) {
    const __m512i v[4] = {shifted(sums, &c, is_short), shifted(sums + I8_WIDE, &c, is_short), shifted(sums + 2 * I8_WIDE, &c, is_short),
                          shifted(sums + 3 * I8_WIDE, &c, is_short)};
    const __m512i bytes = pixels_of(v, &l, is_signed);
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
  put_some(pixels_of(v, &l, is_signed), pixels - p, channels, y, pitch);
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
