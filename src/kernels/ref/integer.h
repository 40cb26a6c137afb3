/* SPDX-License-Identifier: Apache-2.0 */
/* The integer operators of docs/numerics.md, one readable loop each: they are the specification in C. No IR here: the runtime links
 * these, and the executor, the NPU simulator and every fast kernel must equal them byte for byte.
 *
 * Bytes are u8 or s8 as the view says. Callers have checked shapes, parameters (0 <= s <= 62, lo <= hi inside the dtype) and that
 * accumulators fit 32 bits where docs/numerics.md asks for it. */
#ifndef NPUC_KERNELS_REF_INTEGER_H
#define NPUC_KERNELS_REF_INTEGER_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/window.h"

enum { Q8_SPATIAL = WINDOW_AXES, Q8_RANK = 8 };

/* What is read, what is written. */
typedef struct q8_input {
  const void *data;
  bool is_signed;
  int32_t zero_point;
} q8_input;
typedef struct q8_output {
  void *data;
  bool is_signed;
  int32_t zero_point, lo, hi;
} q8_output;

/* Multipliers and shifts: one, or one for each output channel. */
typedef struct q8_scale {
  const int32_t *bias; /* NULL: 0 */
  const int32_t *m, *s;
} q8_scale;

static inline int32_t npuc_q8_get(const q8_input *x, int64_t i) {
  return x->is_signed ? (int32_t)((const int8_t *)x->data)[i] : (int32_t)((const uint8_t *)x->data)[i];
}
static inline void npuc_q8_set(const q8_output *y, int64_t i, int32_t v) {
  if (y->is_signed) {
    ((int8_t *)y->data)[i] = (int8_t)v;
  } else {
    ((uint8_t *)y->data)[i] = (uint8_t)v;
  }
}
/* Arithmetic shift right with the rounding constant: (p + rnd(s)) >> s, toward minus infinity on every compiler. */
static inline int64_t npuc_round_shift(int64_t p, int32_t s) {
  if (s == 0) return p;
  int64_t t = p + (INT64_C(1) << (s - 1));
  return t >= 0 ? t >> s : ~(~t >> s);
}
static inline int32_t npuc_q8_clamp(const q8_output *y, int64_t shifted) {
  int64_t v = shifted + y->zero_point;
  return v < y->lo ? y->lo : v > y->hi ? y->hi : (int32_t)v;
}
/* RULE(t, M, s). */
static inline int32_t npuc_q8_rule(const q8_output *y, int64_t t, int64_t m, int32_t s) {
  return npuc_q8_clamp(y, npuc_round_shift(t * m, s));
}

/* The geometry of sliding windows is shared with the float kernels. */
typedef kernel_window q8_window;

/* x [N, C, in...], w [Co, C/group, kernel...], y [N, Co, out...]. */
void npuc_ref_qconv(const q8_window *g, const q8_input *x, const int8_t *w, const q8_scale *scale, const q8_output *y);
/* x [R, K], w [O, K], y [R, O]. */
void npuc_ref_qgemm(int64_t rows, int64_t depth, int64_t outputs, const q8_input *x, const int8_t *w, const q8_scale *scale,
                    const q8_output *y);
/* counts ascending, m and s by count. False when a window's count is not among them (y is then unspecified). */
bool npuc_ref_qaveragepool(const q8_window *g, bool count_include_pad, const q8_input *x, const int32_t *counts, int64_t n_counts,
                           const q8_scale *scale, const q8_output *y);
/* x [maps, pixels], y [maps]. */
void npuc_ref_qglobalaveragepool(int64_t maps, int64_t pixels, const q8_input *x, const q8_scale *scale, const q8_output *y);

/* Output dims and the operands' strides in elements (0 where broadcast). */
typedef struct q8_broadcast {
  int32_t rank;
  int64_t dims[Q8_RANK], a_stride[Q8_RANK], b_stride[Q8_RANK];
} q8_broadcast;
void npuc_ref_qadd(const q8_broadcast *g, const q8_input *a, const q8_input *b, int32_t ma, int32_t mb, int32_t s, const q8_output *y);
void npuc_ref_qmul(const q8_broadcast *g, const q8_input *a, const q8_input *b, int32_t m, int32_t s, const q8_output *y);
void npuc_ref_requantize(int64_t n, const q8_input *x, int32_t m, int32_t s, const q8_output *y);
/* x's zero point is not used; y's bytes are the table's. */
void npuc_ref_lookup(int64_t n, const q8_input *x, const void *table, void *y);

/* Axis of length n between `outer` and `inner` other elements. */
typedef struct q8_axis {
  int64_t outer, n, inner;
} q8_axis;
/* 16-bit normalized reciprocal of S >= 1: x / S ~ (x * r) >> (E + 16). */
void npuc_q8_reciprocal(uint64_t sum, int32_t *out_e, int64_t *out_r);
void npuc_ref_qsoftmax(const q8_axis *g, const q8_input *x, const uint16_t *table, int32_t scale, const q8_output *y);
void npuc_ref_qlogsoftmax(const q8_axis *g, const q8_input *x, const uint16_t *table, const int32_t *log_table, const int32_t *m, int32_t s,
                          const q8_output *y);

/* x as [rows, count, inner]; element j of y has parameters j / repeat mod n_parameters. */
typedef struct q8_normal {
  int64_t rows, count, inner, repeat, n_parameters, epsilon;
  bool centre;
} q8_normal;
/* 16-bit normalized reciprocal root of V >= 1, below 2^62: x / sqrt(V) ~ (x * r) >> (E/2 + 16), E even. */
void npuc_q8_reciprocal_root(uint64_t v, int32_t *out_e, int64_t *out_r);
void npuc_ref_qnormalize(const q8_normal *g, const q8_input *x, const q8_scale *scale, const q8_output *y);

#endif
