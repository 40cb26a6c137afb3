/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/multiplier.h"

#include <math.h>

/* Half away from zero; |v| < 2^52, so that v + 1/2 is exact. */
static int64_t round_away(double v) { return v < 0 ? -(int64_t)floor(-v + 0.5) : (int64_t)floor(v + 0.5); }

multiplier_fit npuc_multiplier(double r, int32_t bits, int32_t *out_m, int32_t *out_s) {
  *out_m = *out_s = 0;
  if (r == 0) return MULTIPLIER_FITS;
  if (!isfinite(r)) return MULTIPLIER_TOO_LARGE;
  int e;
  double f = frexp(fabs(r), &e);
  int64_t m = round_away(ldexp(f, bits));
  if (m == INT64_C(1) << bits) { /* rounded up to the next power of two */
    m /= 2;
    e++;
  }
  if (e < -31) return MULTIPLIER_VANISHES;
  if (e > bits) return MULTIPLIER_TOO_LARGE;
  *out_m = (int32_t)(r < 0 ? -m : m);
  *out_s = bits - e;
  return MULTIPLIER_FITS;
}

multiplier_fit npuc_multiplier_pair(double ra, double rb, int32_t bits, int32_t *out_ma, int32_t *out_mb, int32_t *out_s) {
  *out_ma = *out_mb = *out_s = 0;
  int32_t m, s;
  double larger = fabs(ra) > fabs(rb) ? ra : rb;
  if (!isfinite(ra) || !isfinite(rb)) return MULTIPLIER_TOO_LARGE;
  multiplier_fit fit = npuc_multiplier(larger, bits, &m, &s);
  if (fit != MULTIPLIER_FITS) return fit;
  *out_ma = (int32_t)round_away(ldexp(ra, s));
  *out_mb = (int32_t)round_away(ldexp(rb, s));
  *out_s = s;
  return MULTIPLIER_FITS;
}
