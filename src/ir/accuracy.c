/* SPDX-License-Identifier: Apache-2.0 */
/* The table of stated accuracies: accuracy.def by operator. */
#include "ir/accuracy.h"

op_accuracy npuc_op_accuracy(const op_def *op) {
  static const op_accuracy table[OP_COUNT] = {
#define ACCURACY(id, ulp, of) [OP_##id] = {(ulp), ULP_OF_##of},
#include "ir/accuracy.def"
#undef ACCURACY
  };
  return op ? table[op->id] : (op_accuracy){0};
}
