/* SPDX-License-Identifier: Apache-2.0 */
/* The integer operators on elements and rows, as docs/numerics.md writes them. */
#include "kernels/ref/integer.h"

/* Operand elements behind output element `index`. */
static void broadcast_at(const q8_broadcast *g, int64_t index, int64_t *out_a, int64_t *out_b) {
  *out_a = *out_b = 0;
  for (int32_t i = g->rank - 1; i >= 0; i--) {
    int64_t at = index % g->dims[i];
    index /= g->dims[i];
    *out_a += at * g->a_stride[i];
    *out_b += at * g->b_stride[i];
  }
}

static int64_t broadcast_elements(const q8_broadcast *g) {
  int64_t n = 1;
  for (int32_t i = 0; i < g->rank; i++) n *= g->dims[i];
  return n;
}

void npuc_ref_qadd(const q8_broadcast *g, const q8_input *a, const q8_input *b, int32_t ma, int32_t mb, int32_t s, const q8_output *y) {
  int64_t n = broadcast_elements(g);
  for (int64_t i = 0; i < n; i++) {
    int64_t at_a, at_b;
    broadcast_at(g, i, &at_a, &at_b);
    int64_t p = (int64_t)(npuc_q8_get(a, at_a) - a->zero_point) * ma + (int64_t)(npuc_q8_get(b, at_b) - b->zero_point) * mb;
    npuc_q8_set(y, i, npuc_q8_clamp(y, npuc_round_shift(p, s)));
  }
}

void npuc_ref_qmul(const q8_broadcast *g, const q8_input *a, const q8_input *b, int32_t m, int32_t s, const q8_output *y) {
  int64_t n = broadcast_elements(g);
  for (int64_t i = 0; i < n; i++) {
    int64_t at_a, at_b;
    broadcast_at(g, i, &at_a, &at_b);
    int64_t t = (int64_t)(npuc_q8_get(a, at_a) - a->zero_point) * (npuc_q8_get(b, at_b) - b->zero_point);
    npuc_q8_set(y, i, npuc_q8_rule(y, t, m, s));
  }
}

void npuc_ref_requantize(int64_t n, const q8_input *x, int32_t m, int32_t s, const q8_output *y) {
  for (int64_t i = 0; i < n; i++) npuc_q8_set(y, i, npuc_q8_rule(y, npuc_q8_get(x, i) - x->zero_point, m, s));
}

void npuc_ref_lookup(int64_t n, const q8_input *x, const void *table, void *y) {
  const uint8_t *bytes = table;
  uint8_t *out = y;
  for (int64_t i = 0; i < n; i++) out[i] = bytes[npuc_q8_get(x, i) + (x->is_signed ? 128 : 0)];
}

static int32_t highest_bit(uint64_t v) {
  int32_t e = 0;
  while (v >>= 1) e++;
  return e;
}

void npuc_q8_reciprocal(uint64_t sum, int32_t *out_e, int64_t *out_r) {
  *out_e = highest_bit(sum);
  uint64_t r = ((UINT64_C(1) << (*out_e + 16)) + sum / 2) / sum;
  *out_r = r > 65535 ? 65535 : (int64_t)r;
}

/* m and S of the row that starts at x[first] with stride inner. */
static void row_sum(const q8_axis *g, const q8_input *x, const uint16_t *table, int64_t first, int32_t *out_max, uint64_t *out_sum) {
  int32_t m = npuc_q8_get(x, first);
  for (int64_t i = 1; i < g->n; i++) {
    int32_t v = npuc_q8_get(x, first + i * g->inner);
    if (v > m) m = v;
  }
  uint64_t sum = 0;
  for (int64_t i = 0; i < g->n; i++) sum += table[m - npuc_q8_get(x, first + i * g->inner)];
  *out_max = m;
  *out_sum = sum ? sum : 1;
}

void npuc_ref_qsoftmax(const q8_axis *g, const q8_input *x, const uint16_t *table, int32_t scale, const q8_output *y) {
  for (int64_t row = 0; row < g->outer * g->inner; row++) {
    int64_t first = (row / g->inner) * g->n * g->inner + row % g->inner;
    int32_t m, e;
    uint64_t sum;
    int64_t r;
    row_sum(g, x, table, first, &m, &sum);
    npuc_q8_reciprocal(sum, &e, &r);
    for (int64_t i = 0; i < g->n; i++) {
      int64_t at = first + i * g->inner;
      npuc_q8_set(y, at, npuc_q8_rule(y, table[m - npuc_q8_get(x, at)], r, e + 16 - scale));
    }
  }
}

void npuc_ref_qlogsoftmax(const q8_axis *g, const q8_input *x, const uint16_t *table, const int32_t *log_table, const int32_t *m, int32_t s,
                          const q8_output *y) {
  for (int64_t row = 0; row < g->outer * g->inner; row++) {
    int64_t first = (row / g->inner) * g->n * g->inner + row % g->inner;
    int32_t largest;
    uint64_t sum;
    row_sum(g, x, table, first, &largest, &sum);
    int32_t e = highest_bit(sum);
    uint64_t k = (e >= 8 ? sum >> (e - 8) : sum << (8 - e)) & 255;
    int64_t norm = (int64_t)(e - 16) * m[1] + log_table[k];
    for (int64_t i = 0; i < g->n; i++) {
      int64_t at = first + i * g->inner;
      int64_t t = -(int64_t)(largest - npuc_q8_get(x, at)) * m[0] - norm;
      npuc_q8_set(y, at, npuc_q8_clamp(y, npuc_round_shift(t, s)));
    }
  }
}
