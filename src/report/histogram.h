/* SPDX-License-Identifier: Apache-2.0 */
/* A small histogram that needs no range beforehand: bins are 2^k wide, with edges i * 2^k; a value outside the window doubles the width, and neighbours merge in pairs,
 * exactly. The final k follows from the extremes alone, so that the result does not depend on the order of the values. (quant/observer.h is the fine one that
 * calibration searches; this one is drawn.) */
#ifndef NPUC_REPORT_HISTOGRAM_H
#define NPUC_REPORT_HISTOGRAM_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum { HISTOGRAM_BINS = 64 };

typedef struct histogram {
  uint64_t count; /* finite values */
  float min, max; /* of them */
  int32_t k;      /* binary logarithm of the width */
  int64_t first;  /* bins[0] begins at first * 2^k */
  uint64_t bins[HISTOGRAM_BINS];
} histogram;

/* Zero-initialised before. Values that are not finite are left out. */
void npuc_histogram_add(histogram *h, const float *values, size_t n);
/* {count, min, max, from, width, bins}; bins end at the last that is not empty. */
json_t *npuc_histogram_json(const histogram *h);

#endif
