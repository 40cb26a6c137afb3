/* SPDX-License-Identifier: Apache-2.0 */
/* How two tensors differ, in the measures that the gates and `diff` use. Sums are double, in index order. */
#ifndef NPUC_TENSOR_COMPARE_H
#define NPUC_TENSOR_COMPARE_H

#include "tensor/tensor.h"

typedef struct comparison {
  int64_t elements;
  int64_t different; /* elements whose values are not equal (NaN equals NaN) */
  double max_abs;    /* max |a-b| */
  double max_rel;    /* max |a-b| / max(|b|, 1e-30) */
  double max_ref;    /* max |b| */
  double rmse;
  double cosine;      /* 1 when both are all zero */
  double sqnr_db;     /* 10 log10(sum b^2 / sum (a-b)^2); +infinity when equal */
  int64_t rows;       /* argmax over the last axis: rows compared ... */
  int64_t rows_agree; /* ... and rows where the first largest index agrees */
  bool finite;        /* neither has NaN or infinity */
} comparison;

/* `b` is the reference. Shapes must have the same number of elements; types may differ (values are compared, both dequantized
 * by the caller when they are integers with scales). */
npuc_status npuc_compare(diag *d, const tensor *a, const tensor *b, comparison *out_result) NPUC_MUST_USE;
/* Accumulates over samples: merge(into, more). cosine and sqnr are recomputed from kept sums. */
typedef struct comparison_sum {
  comparison result;
  double sum_aa, sum_bb, sum_ab, sum_dd;
} comparison_sum;
npuc_status npuc_compare_add(diag *d, comparison_sum *sum, const tensor *a, const tensor *b) NPUC_MUST_USE;

#endif
