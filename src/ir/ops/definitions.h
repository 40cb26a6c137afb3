/* SPDX-License-Identifier: Apache-2.0 */
/* Declares what ops.def promises: each operator's definition (src/ir/ops/FAMILY.c) and its reference evaluation
 * (src/ir/eval/FAMILY.c). The files that define them include this header, so that a slip in a name is a compile error, and the
 * table (src/ir/op_table.c) refers to every definition, so that a missing one is a link error. */
#ifndef NPUC_IR_OPS_DEFINITIONS_H
#define NPUC_IR_OPS_DEFINITIONS_H

#include "ir/op.h"

#define OP(id, domain, type, symbol)    \
  extern const op_def npuc_op_##symbol; \
  extern eval_function npuc_eval_##symbol;
#include "ir/ops.def"
#undef OP

#endif
