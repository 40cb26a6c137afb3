/* SPDX-License-Identifier: Apache-2.0 */
/* See fourier.h. */
#include "ir/eval/fourier.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

static int64_t power_for(int64_t n) {
  int64_t m = 1;
  while (m < n) m *= 2;
  if (m == n) return m;
  while (m < 2 * n - 1) m *= 2;
  return m;
}

bool npuc_fourier_sizes(int64_t n, size_t *out_plan, size_t *out_work) {
  if (n < 1 || n > INT64_C(1) << 40) return false;
  size_t m = (size_t)power_for(n);
  *out_plan = (m / 2 + (size_t)n + m + 1) * sizeof(complex64);
  *out_work = m * sizeof(complex64);
  return true;
}

static complex64 times(complex64 a, complex64 b) { return (complex64){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
static complex64 conjugate(complex64 a) { return (complex64){a.re, -a.im}; }
static complex64 turn(double angle) { return (complex64){cos(angle), sin(angle)}; }

/* Decimation in time: bits of the index reversed, then butterflies. */
static void radix2(const complex64 *roots, int64_t m, complex64 *x) {
  for (int64_t i = 1, j = 0; i < m; i++) {
    int64_t bit = m / 2;
    for (; j & bit; bit /= 2) j ^= bit;
    j ^= bit;
    if (i >= j) continue;
    complex64 held = x[i];
    x[i] = x[j];
    x[j] = held;
  }
  for (int64_t half = 1; half < m; half *= 2) {
    int64_t step = m / 2 / half;
    for (int64_t first = 0; first < m; first += 2 * half) {
      for (int64_t k = 0; k < half; k++) {
        complex64 a = x[first + k], b = times(x[first + half + k], roots[k * step]);
        x[first + k] = (complex64){a.re + b.re, a.im + b.im};
        x[first + half + k] = (complex64){a.re - b.re, a.im - b.im};
      }
    }
  }
}

void npuc_fourier_plan(int64_t n, void *memory, fourier *f) {
  *f = (fourier){.n = n, .m = power_for(n), .roots = memory};
  f->chirp = f->roots + f->m / 2 + 1;
  f->kernel = f->chirp + n;
  for (int64_t k = 0; k < f->m / 2; k++) f->roots[k] = turn(-2.0 * PI * (double)k / (double)f->m);
  if (f->m == n) return;
  for (int64_t k = 0, square = 0; k < n; k++) { /* k^2 mod 2n, so that the angle stays small */
    f->chirp[k] = turn(-PI * (double)square / (double)n);
    square = (square + 2 * k + 1) % (2 * n);
  }
  memset(f->kernel, 0, (size_t)f->m * sizeof(complex64));
  for (int64_t k = 0; k < n; k++) {
    f->kernel[k] = conjugate(f->chirp[k]);
    if (k) f->kernel[f->m - k] = f->kernel[k];
  }
  radix2(f->roots, f->m, f->kernel);
  for (int64_t k = 0; k < f->m; k++) f->kernel[k] = (complex64){f->kernel[k].re / (double)f->m, f->kernel[k].im / (double)f->m};
}

static void bluestein(const fourier *f, complex64 *x, complex64 *work) {
  memset(work, 0, (size_t)f->m * sizeof *work);
  for (int64_t k = 0; k < f->n; k++) work[k] = times(x[k], f->chirp[k]);
  radix2(f->roots, f->m, work);
  for (int64_t k = 0; k < f->m; k++) work[k] = conjugate(times(work[k], f->kernel[k])); /* the inverse is the conjugates' transform */
  radix2(f->roots, f->m, work);
  for (int64_t k = 0; k < f->n; k++) x[k] = times(conjugate(work[k]), f->chirp[k]);
}

void npuc_fourier_run(const fourier *f, bool inverse, complex64 *x, void *work) {
  for (int64_t k = 0; inverse && k < f->n; k++) x[k] = conjugate(x[k]);
  if (f->m == f->n) {
    radix2(f->roots, f->m, x);
  } else {
    bluestein(f, x, work);
  }
  for (int64_t k = 0; inverse && k < f->n; k++) x[k] = conjugate(x[k]);
}
