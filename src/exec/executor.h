/* SPDX-License-Identifier: Apache-2.0 */
/* The executor: the project's judge. Runs a graph as ONNX specifies it, plans memory once per set of input dims, and shows any value to an
 * observer. Results are the same bits for every thread count and CPU level. */
#ifndef NPUC_EXEC_EXECUTOR_H
#define NPUC_EXEC_EXECUTOR_H

#include "base/progress.h"
#include "ir/op.h"

typedef struct executor executor;

typedef struct exec_options {
  thread_pool *pool; /* NULL: this thread */
  /* Called for each value when it is computed (graph inputs first); `t` is valid during the call. NULL: no observation, and memory is reused. */
  npuc_status (*observe)(void *user, const value *v, const tensor *t);
  void *user;
  /* Called after each step with its number (npuc_executor_step) and the clock before and behind it. NULL: no time is taken. Nothing else changes. */
  void (*on_step)(void *user, size_t step, double start, double end);
  /* The caller knows strings, sequences and optionals (tensor/reference.h): a graph's inputs and outputs may be such. Observers are shown tensors of numbers alone. */
  bool takes_references;
  bool keep_all; /* every intermediate stays readable through npuc_executor_value until the next run */
} exec_options;

/* The graph is borrowed and must not change while the executor lives. */
npuc_status npuc_executor_create(diag *d, const graph *g, const exec_options *options, executor **out_executor) NPUC_MUST_USE;
void npuc_executor_destroy(executor *e);
/* inputs: one per graph input, in order, dtype as declared, dims matching (symbols bound consistently; error E06xx names input, wanted and given). outputs: n_outputs
 * tensors that borrow executor memory until the next run or destroy. A second run with the same dims allocates nothing, unless a shape
 * depends on data (dynamic.h). */
npuc_status npuc_executor_run(executor *e, diag *d, const tensor *inputs, tensor *out_outputs) NPUC_MUST_USE;
/* With keep_all: the value's tensor of the last run, or NULL. */
const tensor *npuc_executor_value(const executor *e, const value *v);
/* Bytes of the activation memory of the present plan. */
size_t npuc_executor_memory(const executor *e);
/* Memory over time of the latest run's plan: bytes of the values that live while step `i` runs, and the step's node (the last of those fused into one). False when there is
 * no such step. */
bool npuc_executor_step(const executor *e, size_t i, const node **out_node, size_t *out_live_bytes);

#endif
