/* SPDX-License-Identifier: Apache-2.0 */
/* The equation of an Einsum, read against the operands' shapes. A label is a letter, or one of the axes that an ellipsis stands for. */
#ifndef NPUC_IR_OPS_EINSUM_H
#define NPUC_IR_OPS_EINSUM_H

#include "ir/ops/support.h"

enum { EINSUM_LABELS = 128 + MAX_RANK, EINSUM_TERMS = 16 };

typedef struct einsum_plan {
  dim sizes[EINSUM_LABELS]; /* by label */
  bool used[EINSUM_LABELS];
  int32_t n_terms, ranks[EINSUM_TERMS], labels[EINSUM_TERMS][MAX_RANK];
  int32_t out_rank, out_labels[MAX_RANK];
} einsum_plan;

/* NULL, or why the equation and the shapes (of known rank) do not fit. */
const char *npuc_einsum_plan(const char *equation, const shape *const *operands, int32_t count, einsum_plan *out);

#endif
