/* SPDX-License-Identifier: Apache-2.0 */
/* Adjacent axes merge where both operands continue, so that [N,C,H,W] + [C,1,1] becomes N*C rows of H*W with one repeated number. */
#include "ir/eval/broadcast.h"

/* Strides of `s` seen from the axes of `y`. */
static void strides_in(const shape *s, const shape *y, int64_t out[MAX_RANK]) {
  int64_t own[MAX_RANK];
  npuc_shape_strides(s, own);
  for (int32_t i = 0; i < y->rank; i++) {
    int32_t j = i - (y->rank - s->rank);
    out[i] = j < 0 || s->dims[j] == 1 ? 0 : own[j];
  }
}

broadcast npuc_broadcast_plan(const shape *a, const shape *b, const shape *y) { return npuc_broadcast_plan_three(a, b, y, y); }

broadcast npuc_broadcast_plan_three(const shape *a, const shape *b, const shape *c, const shape *y) {
  int64_t as[MAX_RANK], bs[MAX_RANK], cs[MAX_RANK];
  strides_in(a, y, as);
  strides_in(b, y, bs);
  strides_in(c, y, cs);
  broadcast p = {.rows = 1, .inner = 1, .a_step = 1, .b_step = 1, .c_step = 1};
  int32_t rank = 0;
  for (int32_t i = 0; i < y->rank; i++) {
    int64_t n = y->dims[i];
    if (n == 1) continue;
    if (rank > 0 && p.a_strides[rank - 1] == n * as[i] && p.b_strides[rank - 1] == n * bs[i] && p.c_strides[rank - 1] == n * cs[i]) {
      p.dims[rank - 1] *= n;
    } else {
      p.dims[rank++] = n;
    }
    p.a_strides[rank - 1] = as[i];
    p.b_strides[rank - 1] = bs[i];
    p.c_strides[rank - 1] = cs[i];
  }
  if (rank > 0) { /* the last axis has strides 0 or 1 in each */
    rank--;
    p.inner = p.dims[rank];
    p.a_step = p.a_strides[rank];
    p.b_step = p.b_strides[rank];
    p.c_step = p.c_strides[rank];
  }
  p.rank = rank;
  for (int32_t i = 0; i < rank; i++) p.rows *= p.dims[i];
  return p;
}

void npuc_broadcast_row(const broadcast *p, int64_t row, int64_t *out_a, int64_t *out_b) {
  int64_t a = 0, b = 0;
  for (int32_t i = p->rank - 1; i >= 0; i--) {
    int64_t k = row % p->dims[i];
    row /= p->dims[i];
    a += k * p->a_strides[i];
    b += k * p->b_strides[i];
  }
  *out_a = a;
  *out_b = b;
}

int64_t npuc_broadcast_row_third(const broadcast *p, int64_t row) {
  int64_t c = 0;
  for (int32_t i = p->rank - 1; i >= 0; i--) {
    c += row % p->dims[i] * p->c_strides[i];
    row /= p->dims[i];
  }
  return c;
}
