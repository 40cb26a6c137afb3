/* SPDX-License-Identifier: Apache-2.0 */
/* The float32 convolution tiles and the `lanes16` dot product with NEON; fmla is fused, as `chain` asks. A vector is two registers, 8 lanes:
 * 12 sums are 24 of the 32, with 4 or 6 for weights and 2 for x. */
#include "kernels/kernels.h"

#if defined(__aarch64__)
#include <arm_neon.h>

#include "kernels/target.h"

typedef struct pair_f32 {
  float32x4_t low, high;
} pair_f32;

NPUC_INLINE pair_f32 load8(const float *x) { return (pair_f32){vld1q_f32(x), vld1q_f32(x + 4)}; }
NPUC_INLINE void store8(float *y, pair_f32 v) {
  vst1q_f32(y, v.low);
  vst1q_f32(y + 4, v.high);
}
NPUC_INLINE pair_f32 set8(float x) { return (pair_f32){vdupq_n_f32(x), vdupq_n_f32(x)}; }
NPUC_INLINE pair_f32 fma8(pair_f32 a, pair_f32 b, pair_f32 sum) {
  return (pair_f32){vfmaq_f32(sum.low, a.low, b.low), vfmaq_f32(sum.high, a.high, b.high)};
}
NPUC_INLINE pair_f32 add8(pair_f32 a, pair_f32 b) { return (pair_f32){vaddq_f32(a.low, b.low), vaddq_f32(a.high, b.high)}; }
/* The second operand where either is NaN, as on x86: fmin and fmax would give NaN whichever it is. */
NPUC_INLINE float32x4_t min4(float32x4_t a, float32x4_t b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
NPUC_INLINE float32x4_t max4(float32x4_t a, float32x4_t b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
NPUC_INLINE pair_f32 min8(pair_f32 a, pair_f32 b) { return (pair_f32){min4(a.low, b.low), min4(a.high, b.high)}; }
NPUC_INLINE pair_f32 max8(pair_f32 a, pair_f32 b) { return (pair_f32){max4(a.low, b.low), max4(a.high, b.high)}; }

/* Lanes [first, end). */
NPUC_INLINE void npuc_f32_store_lanes__neon(pair_f32 v, float *y, int first, int end) {
  if (first == 0 && end == 8) {
    store8(y, v);
    return;
  }
  float all[8];
  store8(all, v);
  for (int i = first; i < end; i++) y[i] = all[i];
}

#define NAME(op) npuc_f32_##op##__neon
#define TARGET
#define VEC pair_f32
#define LANES 8
#define PAIRS_1 4
#define PAIRS_RUN 4
#define PAIRS_2 3
#define PAIRS_3 2
#define LOAD load8
#define STORE store8
#define SET set8
#define FMA fma8
#define ADD add8
#define MIN min8
#define MAX max8
#include "kernels/conv_f32_template.h"

NPUC_INLINE float tree(const float32x4_t lane[4]) {
  const float32x4_t low = vaddq_f32(lane[0], lane[2]), high = vaddq_f32(lane[1], lane[3]); /* l and l + 8 */
  const float32x4_t four = vaddq_f32(low, high);                                           /* l and l + 4 */
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

NPUC_INLINE void step16(float32x4_t lane[4], const float *a, const float *b) {
  NPUC_UNROLL
  for (int v = 0; v < 4; v++) lane[v] = vfmaq_f32(lane[v], vld1q_f32(a + 4 * v), vld1q_f32(b + 4 * v));
}

static float dot(const float *a, const float *b, size_t k) {
  float32x4_t lane[4] = {vdupq_n_f32(0.0f), vdupq_n_f32(0.0f), vdupq_n_f32(0.0f), vdupq_n_f32(0.0f)};
  size_t i = 0;
  for (; i + 16 <= k; i += 16) step16(lane, a + i, b + i);
  if (i < k) { /* both rows extended by zeros */
    float last_a[16] = {0}, last_b[16] = {0};
    for (size_t l = 0; i + l < k; l++) last_a[l] = a[i + l], last_b[l] = b[i + l];
    step16(lane, last_a, last_b);
  }
  return tree(lane);
}

void npuc_f32_dot__neon(const float *a, size_t a_stride, const float *b, size_t b_stride, size_t k, float *y, size_t y_stride, size_t m,
                        size_t n) {
  for (size_t i = 0; i < m; i++) {
    for (size_t j = 0; j < n; j++) y[i * y_stride + j] = dot(a + i * a_stride, b + j * b_stride, k);
  }
}

#endif
