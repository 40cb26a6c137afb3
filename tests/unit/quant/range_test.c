/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges: closed forms, brute force, and a second implementation of the entropy search written from its description. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "quant/range.h"

static const quant_grid U8 = {.type = DTYPE_U8}, I8 = {.type = DTYPE_I8}, SYMMETRIC = {.type = DTYPE_I8, .symmetric = true};

static uint32_t seed;
static double uniform(void) {
  seed = seed * 1664525u + 1013904223u;
  return ((seed >> 8) + 0.5) / 16777216.0;
}
static double normal(void) { return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()); }

static observer *observe(double (*draw)(void), int n) {
  observer *o = malloc(sizeof *o);
  assert_non_null(o);
  npuc_observer_init(o, npuc_kernels_scalar());
  seed = 99;
  for (int i = 0; i < n; i++) {
    float v = (float)draw();
    npuc_observer_add(o, &v, 1);
  }
  return o;
}

static double relu_normal(void) { return fmax(normal(), 0); }
static double outliers(void) {
  double v = normal();
  return uniform() < 0.0005 ? v * 12 : v;
}
static double cubed(void) {
  double v = normal();
  return v * v * v;
}
static double relu_outliers(void) { return fmax(outliers(), 0); }

static void parameters_in_closed_form(void **state) {
  (void)state;
  bool constant;
  qparams p = npuc_range_qparams((quant_range){0, 2.55}, U8, &constant);
  assert_false(constant);
  assert_true(p.scale == (float)(2.55 / 255));
  assert_int_equal(p.zero_point, 0);
  p = npuc_range_qparams((quant_range){0, 2.55}, I8, &constant);
  assert_int_equal(p.zero_point, -128);
  p = npuc_range_qparams((quant_range){-64.5 / 64, 190.5 / 64}, U8, &constant);
  assert_int_equal(p.zero_point, 64); /* 64.5 to even */
  p = npuc_range_qparams((quant_range){-65.5 / 64, 189.5 / 64}, U8, &constant);
  assert_int_equal(p.zero_point, 66);
  p = npuc_range_qparams((quant_range){-1, 3}, U8, &constant);
  assert_int_equal(p.zero_point, 64); /* 63.75 */
  p = npuc_range_qparams((quant_range){-2, 1}, SYMMETRIC, &constant);
  assert_true(p.scale == (float)(2.0 / 127) && p.zero_point == 0 && p.lo == -127);
  p = npuc_range_qparams((quant_range){5, 9}, U8, &constant); /* extended to hold 0 */
  assert_true(p.scale == (float)(9.0 / 255) && p.zero_point == 0);
  p = npuc_range_qparams((quant_range){-9, -5}, U8, &constant);
  assert_int_equal(p.zero_point, 255);
  p = npuc_range_qparams((quant_range){0, 0}, U8, &constant);
  assert_true(constant);
  assert_true(p.scale == (float)(1.0 / 255));
  /* Zero is exact in every grid, and ends clamp. */
  p = npuc_range_qparams((quant_range){-0.7, 2.1}, U8, &constant);
  assert_true(npuc_qparams_real(&p, npuc_qparams_quantize(&p, 0)) == 0);
  assert_int_equal(npuc_qparams_quantize(&p, 1e9), 255);
  assert_int_equal(npuc_qparams_quantize(&p, -1e9), 0);
}

static void half_to_even_at_the_boundary(void **state) {
  (void)state;
  qparams p = {.type = DTYPE_U8, .scale = 1, .zero_point = 10, .lo = 0, .hi = 255};
  assert_int_equal(npuc_qparams_quantize(&p, 0.5), 10);
  assert_int_equal(npuc_qparams_quantize(&p, 1.5), 12);
  assert_int_equal(npuc_qparams_quantize(&p, -0.5), 10);
  assert_int_equal(npuc_qparams_quantize(&p, -1.5), 8);
}

static void percentile_of_uniform(void **state) {
  (void)state;
  observer *o = observe(uniform, 100000);
  quant_range r = npuc_range_choose(o, OBSERVER_PERCENTILE, 99, U8);
  assert_true(r.lo == 0 && fabs(r.hi - 0.99) < 0.002);
  r = npuc_range_choose(o, OBSERVER_MINMAX, 0, U8);
  assert_true(r.hi == (double)o->max);
  free(o);
  o = observe(normal, 100000);
  r = npuc_range_choose(o, OBSERVER_PERCENTILE, 95, U8); /* 2.5 % a side: 1.96 sigma */
  assert_true(fabs(r.hi - 1.96) < 0.03 && fabs(r.lo + 1.96) < 0.03);
  free(o);
}

/* All pairs of ends on a grid of hundredths. */
static double brute_force(const observer *o, quant_grid grid) {
  double least = INFINITY;
  for (int a = 100; a >= 0; a -= 2) {
    for (int b = 100; b > 0; b -= 2) {
      bool constant;
      quant_range r = {fmin((double)o->min, 0) * a / 100, fmax((double)o->max, 0) * b / 100};
      qparams p = npuc_range_qparams(r, grid, &constant);
      least = fmin(least, npuc_range_mse(o, &p));
    }
    if (o->min >= 0) break;
  }
  return least;
}

static void mse_is_as_good_as_brute_force(void **state) {
  (void)state;
  double (*const draws[])(void) = {uniform, normal, relu_normal, outliers, relu_outliers, cubed};
  for (size_t i = 0; i < sizeof draws / sizeof draws[0]; i++) {
    observer *o = observe(draws[i], 100000);
    bool constant;
    qparams p = npuc_range_qparams(npuc_range_choose(o, OBSERVER_MSE, 0, U8), U8, &constant);
    qparams whole = npuc_range_qparams(npuc_range_choose(o, OBSERVER_MINMAX, 0, U8), U8, &constant);
    double chosen = npuc_range_mse(o, &p), least = brute_force(o, U8);
    if (chosen > least * 1.02) print_error("draw %zu: %g, brute force %g\n", i, chosen, least);
    assert_true(chosen <= least * 1.02);
    assert_true(chosen <= npuc_range_mse(o, &whole));
    /* Where a long tail stretches the range, min-max is clearly worse: the control. */
    if (draws[i] == cubed) assert_true(npuc_range_mse(o, &whole) > 1.05 * chosen);
    free(o);
  }
}

/* TensorRT's description, step by step: P is the first n bins with all that lies beyond added to the last; Q is the same bins (without the addition) merged into
 * `levels` and spread evenly over P's bins in use; both normalized; sum P log(P/Q). */
static double kl_plain(const double *bins, int n, int levels) {
  double *p = calloc((size_t)n, sizeof *p), *q = calloc((size_t)n, sizeof *q), sum_p = 0, sum_q = 0, kl = 0;
  for (int i = 0; i < OBSERVER_HALF; i++) p[i < n ? i : n - 1] += bins[i];
  for (int j = 0; j < levels; j++) {
    int from = (int)((long long)j * n / levels), to = (int)((long long)(j + 1) * n / levels), used = 0;
    double mass = 0;
    for (int i = from; i < to; i++) {
      mass += bins[i];
      used += p[i] != 0;
    }
    for (int i = from; i < to; i++) q[i] = p[i] != 0 && used ? mass / used : 0;
  }
  for (int i = 0; i < n; i++) {
    sum_p += p[i];
    sum_q += q[i];
  }
  for (int i = 0; i < n; i++) {
    if (p[i] == 0) continue;
    kl += q[i] > 0 ? p[i] / sum_p * log(p[i] / sum_p / (q[i] / sum_q)) : p[i] / sum_p * 40;
  }
  free(p);
  free(q);
  return kl;
}

static void kl_equals_a_plain_search(void **state) {
  (void)state;
  double (*const draws[])(void) = {relu_normal, normal, outliers, relu_outliers};
  for (size_t d = 0; d < sizeof draws / sizeof draws[0]; d++) {
    observer *o = observe(draws[d], 30000);
    double bins[OBSERVER_HALF] = {0};
    for (int i = 0; i < OBSERVER_BINS; i++) bins[i >= OBSERVER_HALF ? i - OBSERVER_HALF : OBSERVER_HALF - 1 - i] += (double)o->bins[i];
    bins[0] = 0; /* zeros are exact in every grid */
    int levels = o->min >= 0 ? 256 : 128, best = 0;
    double least = INFINITY;
    for (int n = 2 * levels; n <= OBSERVER_HALF; n += 16) {
      double kl = kl_plain(bins, n, levels);
      if (kl < least) {
        least = kl;
        best = n;
      }
    }
    quant_range r = npuc_range_choose(o, OBSERVER_KL, 0, U8);
    double t = fmax(-r.lo, r.hi), wanted = fmin(ldexp(best, o->k), fmax(-(double)o->min, (double)o->max));
    assert_true(fabs(t - wanted) <= ldexp(16, o->k)); /* equal minima may tie */
    free(o);
  }
}

static void names(void **state) {
  (void)state;
  for (int i = 0; i < OBSERVER_COUNT; i++) {
    quant_observer kind;
    assert_true(npuc_observer_parse(npuc_observer_name((quant_observer)i), &kind));
    assert_int_equal(kind, i);
  }
  quant_observer kind;
  assert_false(npuc_observer_parse("median", &kind));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parameters_in_closed_form), cmocka_unit_test(half_to_even_at_the_boundary),
      cmocka_unit_test(percentile_of_uniform),     cmocka_unit_test(mse_is_as_good_as_brute_force),
      cmocka_unit_test(kl_equals_a_plain_search),  cmocka_unit_test(names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
