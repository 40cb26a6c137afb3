/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/tables.h"

#include <math.h>

#include "quant/unary.h"

static const double LN2 = 0.693147180559945309417232121458;

/* e^v = 2^n * e^r, |r| <= ln2 / 2, e^r by its series from the smallest term up. */
double npuc_exact_exp(double v) {
  if (v < -700) return 0;
  if (v > 700) v = 700;
  double n = rint(v / LN2), r = v - n * LN2, sum = 1;
  for (int i = 20; i >= 1; i--) sum = 1 + r * sum / i;
  return ldexp(sum, (int)n);
}

/* v = m * 2^e, m in [sqrt 1/2, sqrt 2): ln m = 2 atanh t, t = (m - 1) / (m + 1). */
double npuc_exact_log(double v) {
  int e;
  double m = frexp(v, &e);
  if (m < 0.70710678118654752) {
    m *= 2;
    e--;
  }
  double t = (m - 1) / (m + 1), square = t * t, sum = 0;
  for (int i = 41; i >= 1; i -= 2) sum = 1.0 / i + square * sum;
  return 2 * t * sum + e * LN2;
}

bool npuc_table_unary(const node *n, const qparams *x, const qparams *y, int32_t out_table[256]) {
  int32_t lowest = x->type == DTYPE_I8 ? -128 : 0;
  for (int32_t i = 0; i < 256; i++) {
    double v;
    if (!npuc_unary_real(n, npuc_qparams_real(x, lowest + i), &v)) return false;
    out_table[i] = npuc_qparams_quantize(y, v);
  }
  return true;
}

void npuc_table_softmax(float x_scale, uint16_t out_table[256]) {
  for (int32_t d = 0; d < 256; d++) out_table[d] = (uint16_t)floor(65535 * npuc_exact_exp(-(double)x_scale * d) + 0.5);
}

bool npuc_table_logsoftmax(float x_scale, float y_scale, int32_t bits, log_tables *out) {
  double step = (double)x_scale / (double)y_scale, ln2 = LN2 / (double)y_scale;
  double larger = step > ln2 ? step : ln2, limit = ldexp(1, bits == 15 ? 15 : 30);
  int32_t s = 40;
  while (s >= 0 && rint(ldexp(larger, s)) >= limit) s--;
  if (s < 0) return false;
  out->s = s;
  out->m[0] = (int32_t)floor(ldexp(step, s) + 0.5);
  out->m[1] = (int32_t)floor(ldexp(ln2, s) + 0.5);
  for (int32_t k = 0; k < 256; k++) {
    double v = (npuc_exact_log(1 + (k + 0.5) / 256) + npuc_exact_log(65536.0 / 65535.0)) / (double)y_scale;
    out->logs[k] = (int32_t)floor(ldexp(v, s) + 0.5);
  }
  return true;
}
