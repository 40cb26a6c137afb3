/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of docs/numerics.md on sums in memory. */
#include "kernels/kernels.h"
#include "kernels/target.h"

#if NPUC_X86
#include <immintrin.h>
#include <string.h>

#include "kernels/x86/rule_channels.h"

NPUC_TARGET_AVX2 NPUC_INLINE __m256i load(const int32_t *sums) { return _mm256_loadu_si256((const __m256i *)(const void *)sums); }

/* `n` pixels of one half register or quarter: bytes at y, pitch apart. */
NPUC_TARGET_AVX2 NPUC_INLINE void put(__m256i bytes, size_t n, int width, int channels, uint8_t *y, size_t pitch) {
  if (width == I8_WIDE && channels == I8_WIDE) {
    _mm_storeu_si128((__m128i *)(void *)y, _mm256_castsi256_si128(bytes));
    if (n > 1) _mm_storeu_si128((__m128i *)(void *)(y + pitch), _mm256_extracti128_si256(bytes, 1));
    return;
  }
  uint8_t all[32];
  _mm256_storeu_si256((__m256i *)(void *)all, bytes);
  if (channels == I8_NARROW) {
    for (size_t i = 0; i < n; i++) memcpy(y + i * pitch, all + i * (size_t)width, I8_NARROW);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    for (int k = 0; k < channels; k++) y[i * pitch + (size_t)k] = all[i * (size_t)width + (size_t)k];
  }
}

NPUC_TARGET_AVX2 NPUC_INLINE void rule_avx2(const rule_i8 *r, const int32_t *sums, size_t pixels, int width, int channels, uint8_t *y,
                                            size_t pitch, const bool is_short) {
  const rule_constants first = rule_constants_of(r, 0, is_short), second = rule_constants_of(r, width == I8_WIDE ? 8 : 0, is_short);
  const rule_limits l = rule_limits_of(r);
  const size_t step = 32 / (size_t)width;
  for (size_t p = 0; p < pixels; p += step, sums += 32, y += step * pitch) {
    __m256i bytes = rule_bytes_of(rule_shifted(load(sums), &first, is_short), rule_shifted(load(sums + 8), &second, is_short),
                                  rule_shifted(load(sums + 16), &first, is_short), rule_shifted(load(sums + 24), &second, is_short), &l);
    put(bytes, pixels - p < step ? pixels - p : step, width, channels, y, pitch);
  }
}

NPUC_TARGET_AVX2 void npuc_i8_rule__avx2(const rule_i8 *r, const int32_t *sums, size_t pixels, int width, int channels, uint8_t *y,
                                         size_t pitch) {
  switch (r->kind) {
    case RULE_SHORT:
      rule_avx2(r, sums, pixels, width, channels, y, pitch, true);
      break;
    case RULE_LONG:
      rule_avx2(r, sums, pixels, width, channels, y, pitch, false);
      break;
    default:
      npuc_i8_rule__scalar(r, sums, pixels, width, channels, y, pitch);
      break;
  }
}

#endif
