/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/range.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "quant/tables.h"

static const char *const names[OBSERVER_COUNT] = {"min-max", "percentile", "mse", "kl"};

const char *npuc_observer_name(quant_observer kind) { return names[kind]; }

bool npuc_observer_parse(const char *text, quant_observer *out_kind) {
  for (int i = 0; i < OBSERVER_COUNT; i++) {
    if (strcmp(text, names[i]) == 0) {
      *out_kind = (quant_observer)i;
      return true;
    }
  }
  return false;
}

/* -- scale and zero point -- */
qparams npuc_range_qparams(quant_range range, quant_grid grid, bool *out_constant) {
  double lo = range.lo < 0 ? range.lo : 0, hi = range.hi > 0 ? range.hi : 0;
  qparams p = {.type = grid.type, .lo = grid.type == DTYPE_I8 ? -128 : 0, .hi = grid.type == DTYPE_I8 ? 127 : 255};
  bool symmetric = grid.symmetric && grid.type == DTYPE_I8;
  if (symmetric) p.lo = -127;
  double scale = symmetric ? fmax(-lo, hi) / 127 : (hi - lo) / 255;
  *out_constant = !(scale >= 16 * (double)FLT_MIN);
  if (*out_constant) {
    p.scale = (float)(1.0 / 255);
    p.zero_point = symmetric ? 0 : p.lo;
    return p;
  }
  p.scale = (float)scale;
  if (symmetric) return p;
  double zero = rint(p.lo - lo / (double)p.scale);
  p.zero_point = zero < p.lo ? p.lo : zero > p.hi ? p.hi : (int32_t)zero;
  return p;
}

int32_t npuc_qparams_quantize(const qparams *p, double real) {
  double q = rint(real / (double)p->scale) + p->zero_point;
  if (isnan(q)) return p->zero_point; /* as at the boundary */
  return q <= p->lo ? p->lo : q >= p->hi ? p->hi : (int32_t)q;
}

/* -- choosing -- */
typedef struct filled {
  int32_t n;
  double centre[OBSERVER_BINS];
  double count[OBSERVER_BINS];
} filled;

/* Only the bins in use, their centres moved inside [min, max]. */
static void fill(const observer *o, filled *out) {
  out->n = 0;
  for (int32_t i = 0; i < OBSERVER_BINS; i++) {
    if (!o->bins[i]) continue;
    out->centre[out->n] = fmin(fmax(npuc_observer_centre(o, i), o->min), o->max);
    out->count[out->n++] = (double)o->bins[i];
  }
}

static double grid_error(const observer *o, const filled *f, const qparams *p) {
  double scale = (double)p->scale;
  grid_f64 g = {.inverse = 1 / scale, .scale = scale, .lo = p->lo - p->zero_point, .hi = p->hi - p->zero_point};
  return o->kernels->grid_error_f64(&g, f->centre, f->count, (size_t)f->n);
}

double npuc_range_mse(const observer *o, const qparams *p) {
  filled f;
  fill(o, &f);
  return o->count ? grid_error(o, &f, p) / (double)o->count : 0;
}

/* The value below which `share` of the observations lie, linear inside a bin. */
static double quantile(const observer *o, double share) {
  double below = 0, wanted = share * (double)o->count;
  for (int32_t i = 0; i < OBSERVER_BINS; i++) {
    double count = (double)o->bins[i];
    if (count > 0 && below + count >= wanted) {
      double inside = (wanted - below) / count;
      double v = ldexp(i - OBSERVER_HALF + inside, o->k);
      return fmin(fmax(v, o->min), o->max);
    }
    below += count;
  }
  return o->max;
}

static quant_range choose_percentile(const observer *o, double percentile) {
  double tail = (1 - percentile / 100) / 2;
  if (o->min >= 0) return (quant_range){0, quantile(o, 1 - 2 * tail)};
  if (o->max <= 0) return (quant_range){quantile(o, 2 * tail), 0};
  return (quant_range){quantile(o, tail), quantile(o, 1 - tail)};
}

static double range_error(const observer *o, const filled *f, quant_range r, quant_grid grid) {
  bool constant;
  qparams p = npuc_range_qparams(r, grid, &constant);
  return grid_error(o, f, &p);
}

enum { MSE_STEPS = 100, MSE_LEAST = 30, MSE_ROUNDS = 3 };

/* Shrinks one end after the other, in hundredths of the observed extreme; wider wins when equal. */
static quant_range choose_mse(const observer *o, quant_grid grid) {
  filled f;
  fill(o, &f);
  double low = fmin((double)o->min, 0), high = fmax((double)o->max, 0);
  quant_range best = {low, high};
  double least = range_error(o, &f, best, grid);
  for (int round = 0; round < MSE_ROUNDS; round++) {
    bool improved = false;
    for (int side = 0; side < 2; side++) {
      if ((side == 0 && high == 0) || (side == 1 && low == 0)) continue;
      for (int j = MSE_STEPS; j >= MSE_LEAST; j--) {
        quant_range r = best;
        if (side == 0) {
          r.hi = high * j / MSE_STEPS;
        } else {
          r.lo = low * j / MSE_STEPS;
        }
        double e = range_error(o, &f, r, grid);
        if (e < least) {
          least = e;
          best = r;
          improved = true;
        }
      }
    }
    if (!improved) break;
  }
  return best;
}

/* KL divergence of the first n bins of |x| (the rest added to the last) from the same bins in `levels` equal groups, each group's count spread over its
 * bins in use. */
static double divergence(const double *bins, int32_t n, int32_t levels, double total) {
  double outliers = 0, sum_q = 0, result = 0;
  for (int32_t i = n; i < OBSERVER_HALF; i++) outliers += bins[i];
  for (int32_t i = 0; i < n; i++) sum_q += bins[i];
  if (sum_q == 0) return INFINITY;
  for (int32_t level = 0; level < levels; level++) {
    int32_t first = (int32_t)((int64_t)level * n / levels), last = (int32_t)((int64_t)(level + 1) * n / levels);
    double sum = 0;
    int32_t used = 0;
    for (int32_t i = first; i < last; i++) {
      sum += bins[i];
      used += bins[i] > 0 || (i == n - 1 && outliers > 0);
    }
    for (int32_t i = first; i < last; i++) {
      double p = (bins[i] + (i == n - 1 ? outliers : 0)) / total;
      if (p == 0) continue;
      double q = used && sum > 0 ? sum / used / sum_q : 0;
      result += q > 0 ? p * npuc_exact_log(p / q) : p * 40; /* a level that has lost its bin */
    }
  }
  return result;
}

enum { KL_STEP = 16 };

static quant_range choose_kl(const observer *o, quant_grid grid) {
  double bins[OBSERVER_HALF], total = (double)o->count; /* of |x| */
  for (int32_t i = 0; i < OBSERVER_HALF; i++) bins[i] = (double)o->bins[OBSERVER_HALF + i] + (double)o->bins[OBSERVER_HALF - 1 - i];
  bool one_sided = o->min >= 0 || o->max <= 0;
  /* Zeros are exact in every grid: behind a ReLU they are half of all values, and would drown the rest. */
  total -= bins[0];
  bins[0] = 0;
  int32_t levels = one_sided && !grid.symmetric ? 256 : 128;
  int32_t best = OBSERVER_HALF;
  if (total <= 0) return (quant_range){(double)o->min, (double)o->max};
  double least = divergence(bins, best, levels, total);
  for (int32_t n = OBSERVER_HALF - KL_STEP; n >= 2 * levels; n -= KL_STEP) {
    double d = divergence(bins, n, levels, total);
    if (d < least) {
      least = d;
      best = n;
    }
  }
  double t = ldexp(best, o->k);
  return (quant_range){fmax((double)o->min, -t), fmin((double)o->max, t)};
}

quant_range npuc_range_choose(const observer *o, quant_observer kind, double percentile, quant_grid grid) {
  quant_range r = {(double)o->min, (double)o->max};
  if (o->count == 0) return (quant_range){0, 0};
  if (o->min < o->max) {
    if (kind == OBSERVER_PERCENTILE) r = choose_percentile(o, percentile);
    if (kind == OBSERVER_MSE) r = choose_mse(o, grid);
    if (kind == OBSERVER_KL) r = choose_kl(o, grid);
  }
  r.lo = fmin(r.lo, 0);
  r.hi = fmax(r.hi, 0);
  return r;
}
