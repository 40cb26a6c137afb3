/* SPDX-License-Identifier: Apache-2.0 */
/* How near an operator's float results are to the exact ones: the table is accuracy.def. What it does not name is exact: the result is the exact one,
 * rounded once to the output's type (or moved, or compared). docs/operators.md prints it; tests/grid holds the operators to it, at values of other makers, whose
 * own error counts as well. */
#ifndef NPUC_IR_ACCURACY_H
#define NPUC_IR_ACCURACY_H

#include "ir/op.h"

/* Where a unit in the last place is taken: at the element itself; or, where terms are added and may cancel, at the largest magnitude of all the node's float
 * inputs and of the output; or there, of float32 at the finest: the specification has part of the work done in it (stash_type, scales). */
typedef enum ulp_of { ULP_OF_ELEMENT, ULP_OF_LARGEST, ULP_OF_FLOAT32 } ulp_of;

typedef struct op_accuracy {
  double ulp; /* of the output's type; 0: exact */
  ulp_of of;
} op_accuracy;

/* Of an operator of the default domain or NULL, which is exact. */
op_accuracy npuc_op_accuracy(const op_def *op);

#endif
