/* SPDX-License-Identifier: Apache-2.0 */
/* Numpy broadcasting of two or three operands, reduced to rows: `rows` runs of `inner` adjacent outputs, in which each operand steps by 1 or stays. */
#ifndef NPUC_IR_EVAL_BROADCAST_H
#define NPUC_IR_EVAL_BROADCAST_H

#include "tensor/shape.h"

typedef struct broadcast {
  int32_t rank; /* of the outer axes */
  int64_t dims[MAX_RANK];
  int64_t a_strides[MAX_RANK], b_strides[MAX_RANK], c_strides[MAX_RANK]; /* elements; 0 where the operand is repeated */
  int64_t rows, inner;
  int64_t a_step, b_step, c_step; /* 0 or 1 */
} broadcast;

/* `y` is the broadcast shape of a and b (static). */
broadcast npuc_broadcast_plan(const shape *a, const shape *b, const shape *y);
broadcast npuc_broadcast_plan_three(const shape *a, const shape *b, const shape *c, const shape *y);
/* First elements of the operands of a row. */
void npuc_broadcast_row(const broadcast *plan, int64_t row, int64_t *out_a, int64_t *out_b);
int64_t npuc_broadcast_row_third(const broadcast *plan, int64_t row);

#endif
