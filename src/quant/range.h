/* SPDX-License-Identifier: Apache-2.0 */
/* From an observed distribution to a range, and from a range to scale and zero point (docs/numerics.md section 7). */
#ifndef NPUC_QUANT_RANGE_H
#define NPUC_QUANT_RANGE_H

#include "quant/observer.h"
#include "tensor/dtype.h"

typedef enum quant_observer {
  OBSERVER_MINMAX,
  OBSERVER_PERCENTILE, /* cuts the tails */
  OBSERVER_MSE,        /* the range whose grid has the least mean squared error */
  OBSERVER_KL,         /* the threshold whose quantized distribution diverges least (entropy) */
  OBSERVER_COUNT
} quant_observer;

/* How activations are stored. */
typedef struct quant_grid {
  dtype type;     /* DTYPE_U8 or DTYPE_I8 */
  bool symmetric; /* DTYPE_I8 only: zero point 0, range +-127 */
} quant_grid;

typedef struct quant_range {
  double lo, hi; /* lo <= 0 <= hi */
} quant_range;

typedef struct qparams {
  dtype type;
  float scale;
  int32_t zero_point;
  int32_t lo, hi; /* of the grid */
} qparams;

const char *npuc_observer_name(quant_observer kind);
bool npuc_observer_parse(const char *text, quant_observer *out_kind);

/* Extended to hold 0. percentile is for OBSERVER_PERCENTILE, e.g. 99.99: both tails together hold 0.01 %. */
quant_range npuc_range_choose(const observer *o, quant_observer kind, double percentile, quant_grid grid);
/* *out_constant: the range is empty (all zero), the scale a guess. */
qparams npuc_range_qparams(quant_range range, quant_grid grid, bool *out_constant);
/* Mean squared error of quantizing the observed values (each at its bin's centre) with these parameters. */
double npuc_range_mse(const observer *o, const qparams *p);

/* clamp(round_half_even(real / scale) + zero_point), in double. */
int32_t npuc_qparams_quantize(const qparams *p, double real);
static inline double npuc_qparams_real(const qparams *p, int32_t q) { return (double)p->scale * (q - p->zero_point); }

#endif
