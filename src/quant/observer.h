/* SPDX-License-Identifier: Apache-2.0 */
/* What calibration remembers of an activation: extremes and a histogram, in one pass over the data, whatever the data's range turns out to be.
 *
 * Bins have a width of 2^k and the edges i * 2^k, i = -4096 .. 4095. A value beyond the last bin doubles the width: neighbours are merged in
 * pairs, exactly, because bin i of width 2^k lies in bin floor(i/2) of width 2^(k+1). The final k follows from the largest magnitude alone, so the
 * histogram depends on the set of values and on nothing else: not on their order, the batch, or the thread. Histograms merge the same way. */
#ifndef NPUC_QUANT_OBSERVER_H
#define NPUC_QUANT_OBSERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

enum { OBSERVER_HALF = HISTOGRAM_HALF, OBSERVER_BINS = 2 * OBSERVER_HALF };

typedef struct observer {
  const kernel_set *kernels;
  float min, max; /* +inf, -inf while count is 0 */
  uint64_t count;
  bool finite; /* no NaN or infinity so far */
  int32_t k;   /* binary logarithm of the bins' width */
  uint64_t bins[OBSERVER_BINS + HISTOGRAM_SPARE];
} observer;

void npuc_observer_init(observer *o, const kernel_set *kernels);
void npuc_observer_add(observer *o, const float *values, size_t n);
void npuc_observer_merge(observer *o, const observer *more);
/* Centre of bin i (0 .. OBSERVER_BINS - 1). */
double npuc_observer_centre(const observer *o, int32_t i);

#endif
