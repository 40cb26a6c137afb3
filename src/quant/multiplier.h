/* SPDX-License-Identifier: Apache-2.0 */
/* Real factors as integer multiplier and shift: r ~ M * 2^-s (docs/numerics.md section 3). */
#ifndef NPUC_QUANT_MULTIPLIER_H
#define NPUC_QUANT_MULTIPLIER_H

#include <stdint.h>

enum { MULTIPLIER_BITS_WIDE = 31, MULTIPLIER_BITS_NARROW = 15 };

typedef enum multiplier_fit {
  MULTIPLIER_FITS,
  MULTIPLIER_VANISHES, /* |r| below 2^-32: M = 0, s = 0 */
  MULTIPLIER_TOO_LARGE /* |r| at or above 2^bits, or not finite: nothing is set */
} multiplier_fit;

/* bits: 31 or 15. |M| in [2^(bits-1), 2^bits), or M = 0. */
multiplier_fit npuc_multiplier(double r, int32_t bits, int32_t *out_m, int32_t *out_s);
/* Two factors at one shift: the larger is normalized, the smaller has what bits remain. */
multiplier_fit npuc_multiplier_pair(double ra, double rb, int32_t bits, int32_t *out_ma, int32_t *out_mb, int32_t *out_s);

#endif
