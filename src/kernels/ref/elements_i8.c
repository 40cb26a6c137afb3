/* SPDX-License-Identifier: Apache-2.0 */
/* The scalar level of the elementwise integer kernels. */
#include "kernels/kernels.h"
#include "kernels/ref/integer.h"

static int32_t value_at(const uint8_t *x, size_t i, bool is_signed) { return is_signed ? (int8_t)x[i] : x[i]; }

void npuc_i8_add__scalar(const binary_i8 *p, const uint8_t *a, size_t a_step, const uint8_t *b, size_t b_step, uint8_t *y, size_t n) {
  q8_output out = {.zero_point = p->zero_point, .lo = p->lo, .hi = p->hi};
  for (size_t i = 0; i < n; i++) {
    int64_t u = value_at(a, i * a_step, p->a_signed) - p->a_zero_point, v = value_at(b, i * b_step, p->b_signed) - p->b_zero_point;
    y[i] = (uint8_t)npuc_q8_clamp(&out, npuc_round_shift(u * p->a_multiplier + v * p->b_multiplier, p->shift));
  }
}

void npuc_i8_mul__scalar(const binary_i8 *p, const uint8_t *a, size_t a_step, const uint8_t *b, size_t b_step, uint8_t *y, size_t n) {
  q8_output out = {.zero_point = p->zero_point, .lo = p->lo, .hi = p->hi};
  for (size_t i = 0; i < n; i++) {
    int64_t u = value_at(a, i * a_step, p->a_signed) - p->a_zero_point, v = value_at(b, i * b_step, p->b_signed) - p->b_zero_point;
    y[i] = (uint8_t)npuc_q8_rule(&out, u * v, p->a_multiplier, p->shift);
  }
}

void npuc_i8_max__scalar(const uint8_t *x, bool is_signed, size_t n, uint8_t *y) {
  for (size_t i = 0; i < n; i++) {
    if (value_at(x, i, is_signed) > value_at(y, i, is_signed)) y[i] = x[i];
  }
}

void npuc_i8_accumulate__scalar(const uint8_t *x, bool is_signed, size_t n, int32_t *sums) {
  for (size_t i = 0; i < n; i++) sums[i] += value_at(x, i, is_signed);
}
