/* SPDX-License-Identifier: Apache-2.0 */
/* Runs whose shapes depend on data: a Reshape to a computed shape, NonZero, Range. What the inputs' dims do not decide cannot be planned, so each
 * node's outputs are inferred from the tensors that it reads, just before it runs, and their memory comes from a pool of
 * buffers that later nodes and later runs use again. The arithmetic is that of the planned run. */
#ifndef NPUC_EXEC_DYNAMIC_H
#define NPUC_EXEC_DYNAMIC_H

#include "exec/plan.h"

typedef struct buffer_pool buffer_pool;
buffer_pool *npuc_buffer_pool_create(void);
void npuc_buffer_pool_destroy(buffer_pool *p);
/* Bytes that the pool holds. */
size_t npuc_buffer_pool_bytes(const buffer_pool *p);

typedef struct dynamic_run {
  const plan_source *source;
  eval_context context; /* all that nodes have in common */
  /* Shows a value that is computed; may be NULL. */
  npuc_status (*show)(void *user, const value *v, const tensor *t);
  void *user;
  buffer_pool *pool;
} dynamic_run;

/* inputs: one per graph input, aligned. Every value's tensor is left in plan->values; out_outputs borrow the pool until the next run. */
npuc_status npuc_dynamic_run(diag *d, const dynamic_run *r, exec_plan *plan, const tensor *inputs, tensor *out_outputs) NPUC_MUST_USE;

#endif
