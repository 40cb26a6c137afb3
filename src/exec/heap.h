/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for what references name: texts, and the tensors that sequences hold. Only data says how much that is. It lives until the next run of the outermost executor,
 * whose bodies share it, and is then used again; it counts against --max-memory. */
#ifndef NPUC_EXEC_HEAP_H
#define NPUC_EXEC_HEAP_H

#include "tensor/tensor.h"

typedef struct run_heap run_heap;
run_heap *npuc_run_heap_create(void);
void npuc_run_heap_destroy(run_heap *h); /* NULL is fine */
/* Everything is forgotten; the memory is kept. */
void npuc_run_heap_reset(run_heap *h);
/* Zeroed, 64-byte aligned; NULL when out of memory. `heap` is a run_heap (eval_context.keep). */
void *npuc_run_heap_take(void *heap, size_t bytes);
/* A tensor of references to copies of what `t` refers to, all in the heap: the caller's input may go before the outputs do. */
npuc_status npuc_run_heap_copy(diag *d, run_heap *h, const tensor *t, tensor *out_tensor) NPUC_MUST_USE;

#endif
