/* SPDX-License-Identifier: Apache-2.0 */
#include "report/histogram.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { LEAST_K = -149 }; /* of the smallest float */

static int64_t bin_of(float v, int32_t k) { return (int64_t)floor(ldexp((double)v, -k)); }

/* A float has 24 bits: finer bins than these would be empty between any two values of that size. */
static int32_t finest(float min, float max) {
  float most = fmaxf(fabsf(min), fabsf(max));
  int32_t k = most > 0 ? ilogb((double)most) - 23 : LEAST_K;
  return k < LEAST_K ? LEAST_K : k;
}

static bool fits(float min, float max, int32_t k) { return bin_of(max, k) - bin_of(min, k) < HISTOGRAM_BINS; }

static void widen(histogram *h, int32_t k) {
  uint64_t merged[HISTOGRAM_BINS] = {0};
  int64_t first = bin_of(h->min, k);
  for (int i = 0; i < HISTOGRAM_BINS; i++) {
    if (!h->bins[i]) continue;
    int64_t to = h->first + i;
    for (int32_t step = h->k; step < k; step++) to = to >= 0 ? to / 2 : -((1 - to) / 2); /* floor */
    merged[to - first] += h->bins[i];
  }
  memcpy(h->bins, merged, sizeof merged);
  h->k = k;
  h->first = first;
}

/* The window that holds what is there and [min, max]. */
static void make_room(histogram *h, float min, float max) {
  bool fresh = h->count == 0;
  h->min = fresh ? min : fminf(h->min, min);
  h->max = fresh ? max : fmaxf(h->max, max);
  int32_t k = finest(h->min, h->max);
  while (!fits(h->min, h->max, k)) k++;
  if (fresh) {
    h->k = k;
    h->first = bin_of(h->min, k);
  } else {
    widen(h, k > h->k ? k : h->k);
  }
}

void npuc_histogram_add(histogram *h, const float *values, size_t n) {
  float min = INFINITY, max = -INFINITY;
  for (size_t i = 0; i < n; i++) {
    if (!isfinite(values[i])) continue;
    min = values[i] < min ? values[i] : min;
    max = values[i] > max ? values[i] : max;
  }
  if (min > max) return;
  if (h->count == 0 || min < h->min || max > h->max) make_room(h, min, max);
  double scale = ldexp(1.0, -h->k);
  for (size_t i = 0; i < n; i++) {
    if (!isfinite(values[i])) continue;
    h->bins[(int64_t)floor((double)values[i] * scale) - h->first]++;
    h->count++;
  }
}

json_t *npuc_histogram_json(const histogram *h) {
  json_t *bins = json_array();
  int last = HISTOGRAM_BINS;
  while (last > 0 && h->bins[last - 1] == 0) last--;
  for (int i = 0; i < last; i++) json_array_append_new(bins, json_integer((json_int_t)h->bins[i]));
  return json_pack("{s:I, s:f, s:f, s:f, s:f, s:o}", "count", (json_int_t)h->count, "min", (double)h->min, "max", (double)h->max, "from",
                   ldexp((double)h->first, h->k), "width", ldexp(1.0, h->k), "bins", bins);
}
