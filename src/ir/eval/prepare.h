/* SPDX-License-Identifier: Apache-2.0 */
/* What can be made of a node's constants once, before many runs: packed weights, in the form that a kernel set reads. Results are the same with and without. */
#ifndef NPUC_IR_EVAL_PREPARE_H
#define NPUC_IR_EVAL_PREPARE_H

#include "ir/op.h"
#include "kernels/kernels.h"

/* constants: one per input, NULL where the input is omitted or computed at run time. *out_prepared is NULL when there is nothing to prepare;
 * else memory for eval_context.prepared, of npuc_buffer_destroy. */
npuc_status npuc_eval_prepare(diag *d, const kernel_set *kernels, const node *n, const tensor *const *constants,
                              void **out_prepared) NPUC_MUST_USE;

#endif
