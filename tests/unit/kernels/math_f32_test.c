/* SPDX-License-Identifier: Apache-2.0 */
/* The elementary functions against the C library's in double, in units in the last place, over a dense grid of floats; and every level of
 * the elementwise kernels against the scalar one, bit for bit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/kernels.h"
#include "kernels/math_f32.h"
#include "support/random.h"

/* |got - want| in units of the last place of the float nearest to want (subnormals: of the smallest float). */
static double ulps(float got, double want) {
  float nearest = fabsf((float)want);
  if (nearest < 1.17549435e-38f) nearest = 1.17549435e-38f;
  double unit = ldexp(1.0, ilogbf(nearest) - 23);
  return fabs((double)got - want) / unit;
}

static double exp_of(double x) { return exp(x); }
static double sigmoid_of(double x) { return x >= 0 ? 1.0 / (1.0 + exp(-x)) : exp(x) / (1.0 + exp(x)); }
static float exp_ours(float x) { return npuc_exp_f32(x); }
static float log_ours(float x) { return npuc_log_f32(x); }
static float tanh_ours(float x) { return npuc_tanh_f32(x); }
static float sigmoid_ours(float x) { return npuc_sigmoid_f32(x); }

static float erf_ours(float x) { return npuc_erf_f32(x); }
static double gelu_of(double x) { return 0.5 * x * erfc(x * -0.70710678118654752440); }
static double gelu_tanh_of(double x) { return 0.5 * x * (1.0 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x))); }

/* The largest error of a GELU as a part of |x|. */
static double worst_part(float (*ours)(float), double (*theirs)(double), float low, float high, int n) {
  double most = 0.0;
  for (int i = 0; i <= n; i++) {
    float x = low + (high - low) * ((float)i / (float)n);
    double part = fabs((double)ours(x) - theirs((double)x)) / fabs((double)x);
    if (part > most) most = part;
  }
  return most;
}

static float gelu_ours(float x) { return npuc_gelu_f32(x); }
static float gelu_tanh_ours(float x) { return npuc_gelu_tanh_f32(x); }

static double worst(float (*ours)(float), double (*theirs)(double), float low, float high, int n) {
  double most = 0.0;
  for (int i = 0; i <= n; i++) {
    float x = low + (high - low) * ((float)i / (float)n);
    double u = ulps(ours(x), theirs((double)x));
    if (u > most) most = u;
  }
  return most;
}

/* The limits are those that math_f32.h states. */
static void functions_keep_their_ulps(void **state) {
  (void)state;
  assert_true(worst(exp_ours, exp_of, -87.0f, 88.0f, 2000000) <= 1.0);
  assert_true(worst(exp_ours, exp_of, -104.0f, -87.0f, 200000) <= 1.0);
  assert_true(worst(exp_ours, exp_of, -1.0f, 1.0f, 1000000) <= 1.0);
  assert_true(worst(log_ours, log, 0.5f, 2.0f, 1000000) <= 1.0);
  assert_true(worst(log_ours, log, 2.0f, 100000.0f, 1000000) <= 1.0);
  assert_true(worst(tanh_ours, tanh, -10.0f, 10.0f, 2000000) <= 2.0);
  assert_true(worst(tanh_ours, tanh, -0.01f, 0.01f, 200000) <= 2.0);
  assert_true(worst(sigmoid_ours, sigmoid_of, -86.0f, 30.0f, 2000000) <= 2.5);
  assert_true(worst(erf_ours, erf, -1.0f, 1.0f, 1000000) <= 1.5);
  assert_true(worst(erf_ours, erf, -6.0f, 6.0f, 2000000) <= 1.5);
  assert_true(worst(erf_ours, erf, 1e-9f, 1e-6f, 10000) <= 1.5);
  assert_true(worst_part(gelu_ours, gelu_of, -20.0f, 20.0f, 1999999) <= 0x1p-23);
  assert_true(worst_part(gelu_tanh_ours, gelu_tanh_of, -20.0f, 20.0f, 1999999) <= 0x1p-22);
  assert_true(worst_part(gelu_ours, gelu_of, -30.0f, -3.0f, 1999999) <= 1e-8); /* the tail does not cancel */
  assert_false(worst_part(gelu_ours, gelu_tanh_of, -3.0f, 3.0f, 9999) <= 0x1p-22);
  assert_false(worst(exp_ours, exp_of, -1.0f, 1.0f, 1000) <= 0.1); /* negative control: the measure is not blind */
}

static void edges(void **state) {
  (void)state;
  assert_true(npuc_exp_f32(0.0f) == 1.0f);
  assert_true(isinf(npuc_exp_f32(89.0f)) && isinf(npuc_exp_f32(INFINITY)));
  assert_true(npuc_exp_f32(-INFINITY) == 0.0f && npuc_exp_f32(-104.5f) == 0.0f);
  assert_true(isnan(npuc_exp_f32(NAN)) && isnan(npuc_tanh_f32(NAN)) && isnan(npuc_sigmoid_f32(NAN)) && isnan(npuc_log_f32(NAN)));
  assert_true(npuc_log_f32(1.0f) == 0.0f);
  assert_true(npuc_erf_f32(INFINITY) == 1.0f && npuc_erf_f32(-INFINITY) == -1.0f && npuc_erf_f32(5.0f) == 1.0f && isnan(npuc_erf_f32(NAN)));
  assert_true(signbit(npuc_erf_f32(-0.0f)) && signbit(npuc_gelu_f32(-0.0f)));
  assert_true(npuc_gelu_f32(100.0f) == 100.0f && npuc_gelu_f32(-100.0f) == 0.0f && isnan(npuc_gelu_f32(NAN)));
  assert_true(npuc_gelu_tanh_f32(100.0f) == 100.0f && npuc_gelu_tanh_f32(-100.0f) == 0.0f && isnan(npuc_gelu_tanh_f32(NAN)));
  assert_true(npuc_tanh_f32(100.0f) == 1.0f && npuc_tanh_f32(-INFINITY) == -1.0f);
  assert_true(signbit(npuc_tanh_f32(-0.0f)));
  assert_true(npuc_sigmoid_f32(200.0f) == 1.0f && npuc_sigmoid_f32(-200.0f) == 0.0f && npuc_sigmoid_f32(0.0f) == 0.5f);
}

/* -- levels -- */

enum { COUNT = 1031, GUARD = 16 };

static void fill(float *x, uint64_t seed) {
  static const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, 1e-40f, -1e-40f, 88.7f, -103.9f, 3e38f};
  random_floats(&seed, x, COUNT, 12.0f);
  memcpy(x + 7, special, sizeof special);
}

static void compare_unary_f32(const char *name, unary_f32_kernel *fast, unary_f32_kernel *scalar) {
  float x[COUNT], want[COUNT], got[COUNT + GUARD];
  fill(x, 3);
  for (size_t n = 0; n <= COUNT; n = n < 40 ? n + 1 : n + 331) {
    memset(got, 0xa5, sizeof got);
    scalar(x, want, n, 0.3f, 0.6f);
    fast(x, got, n, 0.3f, 0.6f);
    if (memcmp(want, got, n * sizeof *got) != 0) fail_msg("%s, %zu elements", name, n);
    for (size_t i = 0; i < GUARD; i++) assert_int_equal(bits_of_f32(got[n + i]), 0xa5a5a5a5u);
    memcpy(got, x, n * sizeof *got);
    fast(got, got, n, 0.3f, 0.6f); /* in place */
    assert_memory_equal(want, got, n * sizeof *got);
  }
}

static void compare_binary_f32(const char *name, binary_f32_kernel *fast, binary_f32_kernel *scalar) {
  float a[COUNT], b[COUNT], want[COUNT], got[COUNT + GUARD];
  fill(a, 5);
  fill(b, 6);
  for (size_t n = 0; n <= COUNT; n = n < 40 ? n + 1 : n + 331) {
    for (size_t steps = 1; steps < 4; steps++) {
      memset(got, 0xa5, sizeof got);
      scalar(a, steps & 1, b, steps >> 1, want, n);
      fast(a, steps & 1, b, steps >> 1, got, n);
      for (size_t i = 0; i < n; i++) {
        if (bits_of_f32(want[i]) != bits_of_f32(got[i]) && !(isnan(want[i]) && isnan(got[i])))
          fail_msg("%s, %zu elements, %zu", name, n, i);
      }
      for (size_t i = 0; i < GUARD; i++) assert_int_equal(bits_of_f32(got[n + i]), 0xa5a5a5a5u);
    }
  }
}

static void compare_sum_f32(const char *name, sum_f32_kernel *fast, sum_f32_kernel *scalar) {
  const size_t shapes[][2] = {{0, 1}, {1, 1}, {15, 1}, {16, 1}, {17, 1}, {1000, 1}, {9, 3}, {33, 16}, {20, 37}, {64, 15}};
  float x[COUNT], want[64], got[64];
  uint64_t seed = 9;
  random_floats(&seed, x, COUNT, 5.0f);
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    size_t n = shapes[i][0], columns = shapes[i][1];
    scalar(x, n, columns, columns, want);
    fast(x, n, columns, columns, got);
    if (memcmp(want, got, columns * sizeof *got) != 0) fail_msg("%s, %zu x %zu", name, n, columns);
  }
}

static void compare_row_f32(const char *name, row_f32_kernel *fast, row_f32_kernel *scalar) {
  float x[COUNT], want[COUNT], got[COUNT];
  uint64_t seed = 10;
  random_floats(&seed, x, COUNT, 20.0f);
  for (size_t n = 1; n <= COUNT; n = n < 40 ? n + 1 : n + 331) {
    scalar(x, want, n);
    fast(x, got, n);
    if (memcmp(want, got, n * sizeof *got) != 0) fail_msg("%s, %zu elements", name, n);
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += want[0] <= 0.0f && want[n - 1] <= 0.0f ? exp((double)got[i]) : (double)got[i];
    assert_true(fabs(sum - 1.0) < 1e-5);
  }
}

/* Against the formula too, summed another way. */
static void compare_norm_f32(const char *name, norm_f32_kernel *fast, norm_f32_kernel *scalar) {
  float x[COUNT], scale[COUNT], bias[COUNT], want[COUNT], got[COUNT + GUARD];
  uint64_t seed = 51;
  random_floats(&seed, scale, COUNT, 2.0f);
  random_floats(&seed, bias, COUNT, 2.0f);
  for (size_t n = 1; n <= COUNT; n = n < 40 ? n + 1 : n + 331) {
    random_floats(&seed, x, COUNT, 5.0f);
    for (int way = 0; way < 4; way++) {
      const norm_f32 g = {scale, way & 1 ? bias : NULL, n, 1e-5, way & 2};
      double mean[2], inverse[2], exact = 0.0, square = 0.0;
      memset(got, 0xa5, sizeof got);
      scalar(&g, x, want, &mean[0], &inverse[0]);
      fast(&g, x, got, &mean[1], &inverse[1]);
      if (memcmp(want, got, n * sizeof *got) != 0) fail_msg("%s, %zu elements, way %d", name, n, way);
      assert_true(mean[0] == mean[1] && inverse[0] == inverse[1]);
      for (size_t i = 0; i < GUARD; i++) assert_int_equal(bits_of_f32(got[n + i]), 0xa5a5a5a5u);
      for (size_t i = n; way & 2 && i-- > 0;) exact += (double)x[i] / (double)n;
      for (size_t i = n; i-- > 0;) square += ((double)x[i] - exact) * ((double)x[i] - exact) / (double)n;
      for (size_t i = 0; i < n; i++) {
        double y = ((double)x[i] - exact) / sqrt(square + 1e-5) * (double)scale[i] + (way & 1 ? (double)bias[i] : 0.0);
        assert_true(fabs((double)got[i] - y) <= 1e-6 * (1.0 + fabs(y)));
      }
      memcpy(got, x, n * sizeof *got);
      fast(&g, got, got, &mean[1], &inverse[1]); /* in place */
      assert_memory_equal(want, got, n * sizeof *got);
    }
  }
}

static void compare_binary_i8(const char *name, binary_i8_kernel *fast, binary_i8_kernel *scalar) {
  uint8_t a[COUNT], b[COUNT], want[COUNT], got[COUNT];
  uint64_t seed = 12;
  random_bytes(&seed, a, COUNT);
  random_bytes(&seed, b, COUNT);
  for (int way = 0; way < 128; way++) { /* from 64 on: 15 bits, as refnpu has them */
    binary_i8 p = {.a_signed = way & 1,
                   .b_signed = way & 2,
                   .a_zero_point = way & 1 ? -128 : 255,
                   .b_zero_point = way & 2 ? 7 : 0,
                   .shift = (int32_t)(random_next(&seed) % 63),
                   .zero_point = 100,
                   .lo = way & 4 ? -100 : 0,
                   .hi = 127};
    p.a_multiplier = (int32_t)(random_next(&seed) & 0x7fffffffu) - (way & 8 ? 0x40000000 : 0);
    p.b_multiplier = (int32_t)(random_next(&seed) & (way & 16 ? 0x7fffu : 0x7fffffffu));
    if (way & 64) {
      p.a_multiplier = (int32_t)(random_next(&seed) % 65535) - 32767;
      p.b_multiplier = (int32_t)(random_next(&seed) % 65535) - 32767;
      p.shift %= 34;
    }
    if (way % 5 == 0) p.b_zero_point = (way & 2 ? (int8_t)b[0] : b[0]) - 1; /* times 1 */
    for (size_t n = 0; n < 90; n++) {
      scalar(&p, a, 1, b, n & 1, want, n);
      fast(&p, a, 1, b, n & 1, got, n);
      if (memcmp(want, got, n) != 0) fail_msg("%s, way %d, %zu elements, shift %d", name, way, n, (int)p.shift);
    }
  }
}

static void compare_dot_f32(const char *name, dot_f32_kernel *fast, dot_f32_kernel *scalar) {
  float a[400], b[800], want[64], got[64];
  uint64_t seed = 13;
  random_floats(&seed, a, 400, 1.0f);
  random_floats(&seed, b, 800, 1.0f);
  for (size_t k = 1; k <= 50; k++) {
    for (size_t n = 1; n <= 9; n++) {
      scalar(a, k, b, k, k, want, n, 3, n);
      fast(a, k, b, k, k, got, n, 3, n);
      if (memcmp(want, got, 3 * n * sizeof *got) != 0) fail_msg("%s, k %zu, n %zu", name, k, n);
    }
  }
}

/* Strides beyond the columns; every remainder of rows and columns; against ascending fmaf. */
static void compare_rows_f32(const char *name, rows_f32_kernel *fast, rows_f32_kernel *scalar) {
  enum { STRIDE = 53, K = 27 };
  float a[K], b[K * STRIDE], want[STRIDE + GUARD], got[STRIDE + GUARD], chain[STRIDE];
  uint64_t seed = 52;
  random_floats(&seed, a, K, 1.0f);
  random_floats(&seed, b, K * STRIDE, 1.0f);
  for (size_t k = 0; k <= K; k++) {
    for (size_t n = 0; n <= STRIDE; n++) {
      for (size_t c = 0; c < STRIDE + GUARD; c++) want[c] = got[c] = (float)c;
      for (size_t c = 0; c < n; c++) {
        chain[c] = (float)c;
        for (size_t i = 0; i < k; i++) chain[c] = fmaf(a[i], b[i * STRIDE + c], chain[c]);
      }
      scalar(a, b, STRIDE, k, want, n);
      fast(a, b, STRIDE, k, got, n);
      if (memcmp(want, got, sizeof got) != 0 || memcmp(chain, got, n * sizeof *got) != 0) fail_msg("%s, k %zu, n %zu", name, k, n);
    }
  }
}

static void compare_block_f32(const char *name, block_f32_kernel *fast, block_f32_kernel *scalar) {
  enum { LENGTH = 37 };
  float x[32 * LENGTH], want[32 * LENGTH + GUARD], got[32 * LENGTH + GUARD];
  uint64_t seed = 14;
  random_floats(&seed, x, 32 * LENGTH, 1.0f);
  for (size_t lanes = 1; lanes <= 8 + 16 + 32; lanes++) { /* of 8, of 16, of 32 */
    size_t width = lanes <= 8 ? 8 : lanes <= 24 ? 16 : 32, used = lanes <= 8 ? lanes : lanes <= 24 ? lanes - 8 : lanes - 24;
    for (size_t n = 0; n <= LENGTH; n++) {
      memset(want, 0xa5, sizeof want);
      memset(got, 0xa5, sizeof got);
      scalar(x, LENGTH, used, want, width, n);
      fast(x, LENGTH, used, got, width, n);
      if (memcmp(want, got, sizeof got) != 0) fail_msg("%s, %zu lanes of %zu, %zu cells", name, used, width, n);
    }
  }
}

static void compare_unblock_f32(const char *name, unblock_f32_kernel *fast, unblock_f32_kernel *scalar) {
  enum { LENGTH = 37 };
  float x[16 * LENGTH], want[16 * LENGTH], got[16 * LENGTH];
  uint64_t seed = 15;
  random_floats(&seed, x, 16 * LENGTH, 1.0f);
  for (size_t lanes = 1; lanes <= 8 + 16; lanes++) { /* of 8, then of 16 */
    size_t width = lanes <= 8 ? 8 : 16, used = lanes <= 8 ? lanes : lanes - 8;
    for (size_t n = 0; n <= LENGTH; n++) { /* what lies between the planes stays */
      memset(want, 0xa5, sizeof want);
      memset(got, 0xa5, sizeof got);
      scalar(x, width, want, LENGTH, used, n);
      fast(x, width, got, LENGTH, used, n);
      if (memcmp(want, got, sizeof got) != 0) fail_msg("%s, %zu lanes of %zu, %zu cells", name, used, width, n);
    }
  }
}

static void compare_bounds_f32(const char *name, bounds_f32_kernel *fast, bounds_f32_kernel *scalar) {
  float x[COUNT];
  uint64_t seed = 21;
  random_floats(&seed, x, COUNT, 5.0f);
  x[3] = -0.0f;
  for (size_t n = 0; n < 40; n++) {
    for (size_t odd = 0; odd <= n; odd++) { /* each place once holds what is not finite */
      float kept = x[odd], want[2] = {INFINITY, -INFINITY}, got[2] = {INFINITY, -INFINITY};
      if (odd < n) x[odd] = odd % 3 == 0 ? NAN : odd % 3 == 1 ? INFINITY : -INFINITY;
      bool good = scalar(x, n, &want[0], &want[1]);
      assert_int_equal(good, odd == n);
      assert_int_equal(fast(x, n, &got[0], &got[1]), good);
      if (memcmp(want, got, sizeof got) != 0) fail_msg("%s, %zu elements, odd %zu", name, n, odd);
      x[odd] = kept;
    }
  }
  const float zeros[9] = {-0.0f, 0.0f, -0.0f, -0.0f, 0.0f, 0.0f, -0.0f, 0.0f, -0.0f};
  float ends[2] = {INFINITY, -INFINITY};
  assert_true(fast(zeros, 9, &ends[0], &ends[1]));
  assert_false(signbit(ends[0]) || signbit(ends[1]));
}

static void compare_histogram_f32(const char *name, histogram_f32_kernel *fast, histogram_f32_kernel *scalar) {
  enum { BINS = 2 * HISTOGRAM_HALF + HISTOGRAM_SPARE };
  uint64_t *want = calloc(BINS, sizeof *want), *got = calloc(BINS, sizeof *got), sum = 0;
  assert_non_null(want);
  assert_non_null(got);
  float x[COUNT];
  uint64_t seed = 22;
  random_floats(&seed, x, COUNT, 3.9f);
  for (size_t i = 0; i < COUNT; i += 3) x[i] = i % 2 ? 0.0f : -0.0f;
  x[1] = -4.0f;
  x[2] = -1e-45f;
  for (size_t n = 0; n <= COUNT; n = n < 40 ? n + 1 : n + 331) {
    scalar(x, n, 1024.0f, want + HISTOGRAM_HALF);
    fast(x, n, 1024.0f, got + HISTOGRAM_HALF);
    if (memcmp(want, got, BINS * sizeof *got) != 0) fail_msg("%s, %zu elements", name, n);
    sum += n;
  }
  for (size_t i = 0; i < 2 * HISTOGRAM_HALF; i++) sum -= got[i];
  assert_int_equal(sum, 0);
  free(want);
  free(got);
}

static void compare_accumulate_f64(const char *name, accumulate_f64_kernel *fast, accumulate_f64_kernel *scalar) {
  float x[COUNT];
  double want[COUNT] = {0}, got[COUNT] = {0};
  uint64_t seed = 23;
  for (size_t n = 0; n < 50; n++) {
    random_floats(&seed, x, COUNT, 5.0f);
    scalar(x, n, want);
    fast(x, n, got);
    if (memcmp(want, got, sizeof got) != 0) fail_msg("%s, %zu elements", name, n);
  }
}

static void compare_grid_error_f64(const char *name, grid_error_f64_kernel *fast, grid_error_f64_kernel *scalar) {
  double centre[COUNT], count[COUNT];
  uint64_t seed = 24;
  for (size_t i = 0; i < COUNT; i++) {
    centre[i] = ((double)(random_next(&seed) >> 11) * 0x1p-53 - 0.5) * 8;
    count[i] = (double)(random_next(&seed) % 1000 + 1);
  }
  const grid_f64 grid = {.inverse = 1 / 0.013, .scale = 0.013, .lo = -100, .hi = 155};
  for (size_t n = 0; n <= COUNT; n = n < 40 ? n + 1 : n + 331) {
    double want = scalar(&grid, centre, count, n), got = fast(&grid, centre, count, n), exact = 0;
    if (memcmp(&want, &got, sizeof got) != 0) fail_msg("%s, %zu elements: %a %a", name, n, want, got);
    for (size_t i = 0; i < n; i++) {
      double q = fmin(fmax(rint(centre[i] / 0.013), -100), 155), d = centre[i] - q * 0.013;
      exact += count[i] * d * d;
    }
    assert_true(fabs(exact - want) <= 1e-9 * exact);
  }
}

static void compare_max_i8(const char *name, max_i8_kernel *fast, max_i8_kernel *scalar) {
  uint8_t x[COUNT], want[COUNT], got[COUNT];
  uint64_t seed = 31;
  for (size_t n = 0; n < 200; n++) {
    random_bytes(&seed, x, COUNT);
    random_bytes(&seed, want, COUNT);
    memcpy(got, want, COUNT);
    scalar(x, n % 2, n, want);
    fast(x, n % 2, n, got);
    if (memcmp(want, got, COUNT) != 0) fail_msg("%s, %zu elements", name, n);
  }
}

static void compare_accumulate_i8(const char *name, accumulate_i8_kernel *fast, accumulate_i8_kernel *scalar) {
  uint8_t x[COUNT];
  int32_t want[COUNT] = {0}, got[COUNT] = {0};
  uint64_t seed = 32;
  for (size_t n = 0; n < 200; n++) {
    random_bytes(&seed, x, COUNT);
    scalar(x, n % 2, n, want);
    fast(x, n % 2, n, got);
    if (memcmp(want, got, sizeof got) != 0) fail_msg("%s, %zu elements", name, n);
  }
}

/* Guard bytes around `to`, whose rows may lie apart: what is between them stays. */
static void compare_transpose_i8(const char *name, transpose_i8_kernel *fast, transpose_i8_kernel *scalar) {
  enum { ROWS = 20, COLUMNS = 70, ALL = (ROWS + 3) * COLUMNS + 2 * GUARD };
  uint8_t from[ROWS * (COLUMNS + 1)], want[ALL], got[ALL];
  uint64_t seed = 41;
  random_bytes(&seed, from, sizeof from);
  for (size_t rows = 1; rows <= ROWS; rows++) {
    for (size_t columns = 1; columns <= COLUMNS; columns++) {
      const size_t pitch = rows + (columns % 2 ? 0 : 3);
      memset(want, 0x5a, ALL);
      memset(got, 0x5a, ALL);
      scalar(from, COLUMNS + 1, rows, columns, want + GUARD, pitch);
      fast(from, COLUMNS + 1, rows, columns, got + GUARD, pitch);
      if (memcmp(want, got, ALL) != 0) fail_msg("%s, %zu rows of %zu", name, rows, columns);
    }
  }
}

/* What makes up convolutions is compared whole, in conv_f32_test.c and conv_test.c. */
#define COMPARED_WHOLE(type) \
  static void compare_##type(const char *name, type##_kernel *fast, type##_kernel *scalar) { (void)name, (void)fast, (void)scalar; }
COMPARED_WHOLE(tile_f32)
COMPARED_WHOLE(sums_i8)
COMPARED_WHOLE(quads_i8)
COMPARED_WHOLE(depthwise_quads_i8)
COMPARED_WHOLE(records_i8)
COMPARED_WHOLE(quads_frame_i8)
COMPARED_WHOLE(depthwise_i8)
COMPARED_WHOLE(winograd_in_i8)
COMPARED_WHOLE(winograd_out_i8)
COMPARED_WHOLE(rule_i8)
COMPARED_WHOLE(dense_i8)
COMPARED_WHOLE(widen_i8)
COMPARED_WHOLE(pair_i8)

/* Every line of the table. */
static void levels_agree(void **state) {
  (void)state;
  const kernel_set *scalar = npuc_kernels_scalar();
#define KERNEL_SLOT(slot, type, function)   \
  assert_ptr_equal(scalar->slot, function); \
  compare_##type(#function, function, scalar->slot); /* in place, apart */
#define KERNEL_FAST(slot, type, level, function) \
  if (npuc_cpu_has(CPU_##level)) compare_##type(#function, function, scalar->slot);
#include "kernels/kernels.def"
#undef KERNEL_SLOT
#undef KERNEL_FAST
}

/* Negative control: another function is not equal. */
static void unequal_is_seen(void **state) {
  (void)state;
  float x[COUNT], a[COUNT], b[COUNT];
  fill(x, 3);
  npuc_f32_relu__scalar(x, a, COUNT, 0.0f, 0.0f);
  npuc_f32_leakyrelu__scalar(x, b, COUNT, 0.01f, 0.0f);
  assert_memory_not_equal(a, b, sizeof a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(functions_keep_their_ulps), cmocka_unit_test(edges), cmocka_unit_test(levels_agree),
                                     cmocka_unit_test(unequal_is_seen)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
