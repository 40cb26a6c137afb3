/* SPDX-License-Identifier: Apache-2.0 */
/* QNormalize as docs/numerics.md writes it: sums of a row, one reciprocal root, the rule for each element. */
#include "kernels/ref/integer.h"

/* floor of the root of v <= 2^62, bit by bit. */
static uint64_t integer_root(uint64_t v) {
  uint64_t root = 0;
  for (uint64_t bit = UINT64_C(1) << 31; bit; bit >>= 1) {
    if ((root + bit) * (root + bit) <= v) root += bit;
  }
  return root;
}

void npuc_q8_reciprocal_root(uint64_t v, int32_t *out_e, int64_t *out_r) {
  int32_t e = 0;
  while (v >> (e + 2)) e += 2;
  uint64_t m = e <= 30 ? v << (30 - e) : v >> (e - 30), r = integer_root((UINT64_C(1) << 62) / m);
  *out_e = e;
  *out_r = r > 65535 ? 65535 : (int64_t)r;
}

typedef struct row_sums {
  int64_t sum, squares;
} row_sums;

static row_sums sums_of(const q8_normal *g, const q8_input *x, int64_t first) {
  row_sums s = {0, 0};
  for (int64_t k = 0; k < g->count; k++) {
    int64_t d = npuc_q8_get(x, first + k * g->inner) - x->zero_point;
    s.sum += d;
    s.squares += d * d;
  }
  return s;
}

void npuc_ref_qnormalize(const q8_normal *g, const q8_input *x, const q8_scale *scale, const q8_output *y) {
  for (int64_t row = 0; row < g->rows * g->inner; row++) {
    int64_t first = row / g->inner * g->count * g->inner + row % g->inner, r;
    row_sums s = sums_of(g, x, first);
    int64_t mean = g->centre ? s.sum : 0, v = g->count * s.squares - mean * mean + g->epsilon;
    int32_t e;
    npuc_q8_reciprocal_root(v < 1 ? 1 : (uint64_t)v, &e, &r);
    for (int64_t k = 0; k < g->count; k++) {
      int64_t at = first + k * g->inner, p = at / g->repeat % g->n_parameters;
      int64_t c = g->count * (npuc_q8_get(x, at) - x->zero_point) - mean, t = npuc_round_shift(c * r, e / 2 + 4);
      npuc_q8_set(y, at, npuc_q8_rule(y, t + scale->bias[p], scale->m[p], scale->s[p]));
    }
  }
}
