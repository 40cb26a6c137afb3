/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise integer operators, 8 lanes at a time. Operands are at most 255 (sums) or 255^2 (products) in magnitude: they are shifted
 * left together with s where s is below 32, which changes no result and keeps the rule in 32-bit lanes. */
#include "kernels/kernels.h"
#include "kernels/target.h"

#if NPUC_X86
#include "kernels/x86/rule.h"

NPUC_TARGET_AVX2 NPUC_INLINE __m256i eight(const uint8_t *x, size_t step, bool is_signed, __m256i zero) {
  if (step == 0) return _mm256_sub_epi32(_mm256_set1_epi32(is_signed ? (int8_t)x[0] : x[0]), zero);
  __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)x);
  return _mm256_sub_epi32(is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes), zero);
}

NPUC_TARGET_AVX2 void npuc_i8_max__avx2(const uint8_t *x, bool is_signed, size_t n, uint8_t *y) {
  size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(x + i)), b = _mm256_loadu_si256((const __m256i *)(const void *)(y + i));
    _mm256_storeu_si256((__m256i *)(void *)(y + i), is_signed ? _mm256_max_epi8(a, b) : _mm256_max_epu8(a, b));
  }
  for (; i + 8 <= n; i += 8) {
    __m128i a = _mm_loadl_epi64((const __m128i *)(const void *)(x + i)), b = _mm_loadl_epi64((const __m128i *)(const void *)(y + i));
    _mm_storel_epi64((__m128i *)(void *)(y + i), is_signed ? _mm_max_epi8(a, b) : _mm_max_epu8(a, b));
  }
  npuc_i8_max__scalar(x + i, is_signed, n - i, y + i);
}

NPUC_TARGET_AVX2 void npuc_i8_accumulate__avx2(const uint8_t *x, bool is_signed, size_t n, int32_t *sums) {
  const __m256i zero = _mm256_setzero_si256();
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m256i *at = (__m256i *)(void *)(sums + i);
    _mm256_storeu_si256(at, _mm256_add_epi32(_mm256_loadu_si256(at), eight(x + i, 1, is_signed, zero)));
  }
  npuc_i8_accumulate__scalar(x + i, is_signed, n - i, sums + i);
}

/* How far operands of `bits` bits can be shifted: up to s = 32, and within 31 bits. */
static int32_t lift(int32_t shift, int32_t bits) {
  int32_t wanted = shift < 32 ? 32 - shift : 0, room = 31 - bits;
  return wanted < room ? wanted : room;
}

/* -- multipliers of 15 bits: a vector of pairs (a - za, b - zb) times (ma, mb) is one vpmaddwd, and the sum stays within 32 bits -- */

static bool is_short(int32_t ma, int32_t mb, int32_t shift) {
  return ma > -32768 && ma < 32768 && mb > -32768 && mb < 32768 && shift <= 30;
}

typedef struct short_add {
  __m256i za, zb, factors, round, zero_point, lo, hi;
  __m128i shift;
} short_add;

static int32_t value_of(const uint8_t *x, bool is_signed) { return is_signed ? (int8_t)x[0] : x[0]; }

NPUC_TARGET_AVX2 NPUC_INLINE __m256i sixteen(const uint8_t *x, bool is_signed, __m256i zero) {
  __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)x);
  return _mm256_sub_epi16(is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes), zero);
}

/* 16 results in 16 bits, zero point included; saturation changes nothing: the clamp is narrower. */
NPUC_TARGET_AVX2 NPUC_INLINE __m256i add_sixteen(const short_add *k, __m256i a, __m256i b) {
  __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), k->factors),
          high = _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), k->factors);
  low = _mm256_sra_epi32(_mm256_add_epi32(low, k->round), k->shift);
  high = _mm256_sra_epi32(_mm256_add_epi32(high, k->round), k->shift);
  return _mm256_adds_epi16(_mm256_packs_epi32(low, high), k->zero_point);
}

/* Returns the elements done, a multiple of 32. */
NPUC_TARGET_AVX2 static size_t add_short(const binary_i8 *p, int32_t ma, int32_t mb, const uint8_t *a, const uint8_t *b, uint8_t *y,
                                         size_t n) {
  const short_add k = {.za = _mm256_set1_epi16((short)p->a_zero_point),
                       .zb = _mm256_set1_epi16((short)p->b_zero_point),
                       .factors = _mm256_set1_epi32((int32_t)((uint32_t)(uint16_t)ma | (uint32_t)(uint16_t)mb << 16)),
                       .round = _mm256_set1_epi32(p->shift ? 1 << (p->shift - 1) : 0),
                       .zero_point = _mm256_set1_epi16((short)p->zero_point),
                       .lo = _mm256_set1_epi16((short)p->lo),
                       .hi = _mm256_set1_epi16((short)p->hi),
                       .shift = _mm_cvtsi32_si128(p->shift)};
  const bool is_signed = p->lo < 0; /* else the bytes are the same, or above 127 */
  size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    __m256i v[2];
    NPUC_UNROLL
    for (size_t h = 0; h < 2; h++) {
      __m256i u = sixteen(a + i + 16 * h, p->a_signed, k.za), w = sixteen(b + i + 16 * h, p->b_signed, k.zb);
      v[h] = _mm256_min_epi16(_mm256_max_epi16(add_sixteen(&k, u, w), k.lo), k.hi);
    }
    __m256i bytes = is_signed ? _mm256_packs_epi16(v[0], v[1]) : _mm256_packus_epi16(v[0], v[1]);
    _mm256_storeu_si256((__m256i *)(void *)(y + i), _mm256_permute4x64_epi64(bytes, 0xd8));
  }
  return i;
}

NPUC_TARGET_AVX2 void npuc_i8_add__avx2(const binary_i8 *p, const uint8_t *a, size_t a_step, const uint8_t *b, size_t b_step, uint8_t *y,
                                        size_t n) {
  const int32_t up = lift(p->shift, 9), s = p->shift + up;
  const __m128i count = _mm_cvtsi32_si128(up);
  const __m256i za = _mm256_set1_epi32(p->a_zero_point), zb = _mm256_set1_epi32(p->b_zero_point);
  const __m256i ma = _mm256_set1_epi32(p->a_multiplier), mb = _mm256_set1_epi32(p->b_multiplier);
  const __m256i round = _mm256_set1_epi64x(s ? 1ll << (s - 1) : 0);
  size_t i = 0;
  if (a_step == 1 && b_step == 1 && is_short(p->a_multiplier, p->b_multiplier, p->shift))
    i = add_short(p, p->a_multiplier, p->b_multiplier, a, b, y, n);
  for (; i + 8 <= n; i += 8) {
    __m256i u = _mm256_sll_epi32(eight(a + i * a_step, a_step, p->a_signed, za), count);
    __m256i v = _mm256_sll_epi32(eight(b + i * b_step, b_step, p->b_signed, zb), count);
    __m256i even = _mm256_add_epi64(_mm256_mul_epi32(u, ma), _mm256_mul_epi32(v, mb));
    __m256i odd = _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(u, 32), ma), _mm256_mul_epi32(_mm256_srli_epi64(v, 32), mb));
    store_bytes(finish_rule(_mm256_add_epi64(even, round), _mm256_add_epi64(odd, round), s, p->zero_point, p->lo, p->hi), y + i, 8);
  }
  npuc_i8_add__scalar(p, a + i * a_step, a_step, b + i * b_step, b_step, y + i, n - i);
}

NPUC_TARGET_AVX2 void npuc_i8_mul__avx2(const binary_i8 *p, const uint8_t *a, size_t a_step, const uint8_t *b, size_t b_step, uint8_t *y,
                                        size_t n) {
  const int32_t up = lift(p->shift, 17);
  const __m128i count = _mm_cvtsi32_si128(up);
  const __m256i za = _mm256_set1_epi32(p->a_zero_point), zb = _mm256_set1_epi32(p->b_zero_point);
  size_t i = 0;
  if (a_step == 1 && b_step == 0 && n) { /* a times a number */
    int64_t factor = (int64_t)(value_of(b, p->b_signed) - p->b_zero_point) * p->a_multiplier;
    if (factor > -32768 && factor < 32768 && p->shift <= 30) i = add_short(p, (int32_t)factor, 0, a, a, y, n);
  }
  for (; i + 8 <= n; i += 8) {
    __m256i u = eight(a + i * a_step, a_step, p->a_signed, za), v = eight(b + i * b_step, b_step, p->b_signed, zb);
    __m256i t = _mm256_sll_epi32(_mm256_mullo_epi32(u, v), count);
    store_bytes(rule_i32(t, p->a_multiplier, p->shift + up, p->zero_point, p->lo, p->hi), y + i, 8);
  }
  npuc_i8_mul__scalar(p, a + i * a_step, a_step, b + i * b_step, b_step, y + i, n - i);
}

#endif
