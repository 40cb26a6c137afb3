/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar level of what calibration counts (quant/observer.h, quant/range.h). */
#include <math.h>

#include "kernels/kernels.h"

bool npuc_f32_bounds__scalar(const float *x, size_t n, float *lo, float *hi) {
  float least = *lo, most = *hi;
  for (size_t i = 0; i < n; i++) {
    if (!isfinite(x[i])) return false;
    least = x[i] < least ? x[i] : least;
    most = x[i] > most ? x[i] : most;
  }
  *lo = least + 0.0f; /* -0 is 0: which of the two came first says nothing */
  *hi = most + 0.0f;
  return true;
}

void npuc_f32_histogram__scalar(const float *x, size_t n, float scale, uint64_t *bins) {
  for (size_t i = 0; i < n; i++) bins[(int32_t)floorf(x[i] * scale)]++;
}

void npuc_f32_accumulate__scalar(const float *x, size_t n, double *sums) {
  for (size_t i = 0; i < n; i++) sums[i] += (double)x[i];
}

double npuc_f64_grid_error__scalar(const grid_f64 *g, const double *centre, const double *count, size_t n) {
  double lanes[8] = {0};
  for (size_t i = 0; i < n; i++) {
    double q = rint(centre[i] * g->inverse);
    q = q < g->lo ? g->lo : q;
    q = q > g->hi ? g->hi : q;
    double d = centre[i] - q * g->scale;
    lanes[i % 8] += count[i] * d * d;
  }
  for (int k = 0; k < 4; k++) lanes[k] += lanes[k + 4];
  return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}
