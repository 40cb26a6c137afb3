/* SPDX-License-Identifier: Apache-2.0 */
/* Differences of two tensors. With d_i = a_i - b_i, b the reference:
 *
 *   rmse = sqrt(sum d^2 / n)     cosine = sum ab / sqrt(sum a^2 sum b^2)     sqnr = 10 log10(sum b^2 / sum d^2) dB
 *
 * An element where one side is NaN, or where infinities differ, counts as infinitely far apart; where both are the same infinity or both
 * NaN the difference is 0. Such elements stay out of the sums of a and b, and `finite` says that there were some. */
#include "tensor/compare.h"

#include <assert.h>
#include <math.h>

static void add_element(comparison_sum *s, double a, double b) {
  comparison *r = &s->result;
  bool equal = a == b || (isnan(a) && isnan(b));
  double distance = equal ? 0.0 : fabs(a - b);
  if (isnan(distance)) distance = (double)INFINITY;
  if (!equal) r->different++;
  if (distance > r->max_abs) r->max_abs = distance;
  double relative = distance == 0.0 ? 0.0 : distance / fmax(fabs(b), 1e-30);
  if (isnan(relative)) relative = (double)INFINITY;
  if (relative > r->max_rel) r->max_rel = relative;
  if (fabs(b) > r->max_ref) r->max_ref = fabs(b);
  s->sum_dd += distance * distance;
  if (isfinite(a) && isfinite(b)) {
    s->sum_aa += a * a;
    s->sum_bb += b * b;
    s->sum_ab += a * b;
  } else {
    r->finite = false;
  }
}

static int64_t argmax(const tensor *t, int64_t begin, int64_t n) {
  int64_t best = 0;
  double largest = npuc_tensor_get(t, begin);
  for (int64_t i = 1; i < n; i++) {
    double x = npuc_tensor_get(t, begin + i);
    if (x > largest) {
      largest = x;
      best = i;
    }
  }
  return best;
}

static void finish(comparison_sum *s) {
  comparison *r = &s->result;
  r->rmse = r->elements ? sqrt(s->sum_dd / (double)r->elements) : 0.0;
  if (s->sum_aa == 0.0 && s->sum_bb == 0.0)
    r->cosine = 1.0;
  else if (s->sum_aa == 0.0 || s->sum_bb == 0.0)
    r->cosine = 0.0;
  else
    r->cosine = s->sum_ab / (sqrt(s->sum_aa) * sqrt(s->sum_bb));
  r->sqnr_db = s->sum_dd == 0.0 ? (double)INFINITY : 10.0 * log10(s->sum_bb / s->sum_dd);
}

npuc_status npuc_compare_add(diag *d, comparison_sum *sum, const tensor *a, const tensor *b) {
  int64_t n = npuc_tensor_elements(a);
  if (n != npuc_tensor_elements(b)) {
    return npuc_fail(d, NPUC_DIAG_E0403, NULL, "%lld elements against %lld of the reference", (long long)n,
                     (long long)npuc_tensor_elements(b));
  }
  if (sum->result.elements == 0 && sum->result.rows == 0) sum->result.finite = true;
  for (int64_t i = 0; i < n; i++) add_element(sum, npuc_tensor_get(a, i), npuc_tensor_get(b, i));
  sum->result.elements += n;
  /* A row is the reference's last axis; a scalar is one row of one. */
  int64_t row = b->shape.rank > 0 ? b->shape.dims[b->shape.rank - 1] : 1;
  for (int64_t at = 0; row > 0 && at < n; at += row) {
    sum->result.rows++;
    if (argmax(a, at, row) == argmax(b, at, row)) sum->result.rows_agree++;
  }
  finish(sum);
  return NPUC_OK;
}

npuc_status npuc_compare(diag *d, const tensor *a, const tensor *b, comparison *out_result) {
  comparison_sum sum = {.result = {.finite = true}};
  NPUC_TRY(npuc_compare_add(d, &sum, a, b));
  *out_result = sum.result;
  return NPUC_OK;
}
