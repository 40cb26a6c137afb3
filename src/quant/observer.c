/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/observer.h"

#include <math.h>
#include <string.h>

enum { SMALLEST_K = -120 }; /* so that 2^-k is a normal float */

void npuc_observer_init(observer *o, const kernel_set *kernels) {
  memset(o, 0, sizeof *o);
  o->kernels = kernels;
  o->min = INFINITY;
  o->max = -INFINITY;
  o->finite = true;
  o->k = SMALLEST_K;
}

/* The smallest width whose bins hold +-largest. */
static int32_t width_for(float largest) {
  if (largest == 0) return SMALLEST_K;
  int e;
  (void)frexpf(largest, &e); /* largest < 2^e = 4096 * 2^(e - 12) */
  return e - 12 < SMALLEST_K ? SMALLEST_K : e - 12;
}

static void widen(observer *o, int32_t k) {
  int32_t shift = k - o->k;
  if (shift <= 0) return;
  o->k = k;
  if (o->count == 0) return;
  if (shift > 13) shift = 13; /* everything is in bins -1 and 0 then */
  uint64_t old[OBSERVER_BINS];
  memcpy(old, o->bins, sizeof old);
  memset(o->bins, 0, sizeof o->bins);
  for (int32_t i = 0; i < OBSERVER_BINS; i++) {
    int32_t signed_bin = i - OBSERVER_HALF;
    int32_t merged = signed_bin >= 0 ? signed_bin >> shift : -((-signed_bin - 1) >> shift) - 1;
    o->bins[merged + OBSERVER_HALF] += old[i];
  }
}

void npuc_observer_add(observer *o, const float *values, size_t n) {
  float lo = o->min, hi = o->max;
  if (n == 0) return;
  if (!o->kernels->bounds_f32(values, n, &lo, &hi)) {
    o->finite = false;
    return;
  }
  widen(o, width_for(fmaxf(fabsf(lo), fabsf(hi))));
  o->min = lo;
  o->max = hi;
  /* A negative power of two lies on its own bin's edge: -4096 is in, and nothing is outside. */
  o->kernels->histogram_f32(values, n, ldexpf(1.0f, -o->k), o->bins + OBSERVER_HALF);
  o->count += n;
}

void npuc_observer_merge(observer *o, const observer *more) {
  o->finite = o->finite && more->finite;
  if (more->count == 0) return;
  observer wide = *more;
  int32_t k = o->k > more->k ? o->k : more->k;
  widen(o, k);
  widen(&wide, k);
  for (int32_t i = 0; i < OBSERVER_BINS; i++) o->bins[i] += wide.bins[i];
  o->min = fminf(o->min, more->min);
  o->max = fmaxf(o->max, more->max);
  o->count += more->count;
}

double npuc_observer_centre(const observer *o, int32_t i) { return ldexp(i - OBSERVER_HALF + 0.5, o->k); }
