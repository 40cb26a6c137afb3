/* SPDX-License-Identifier: Apache-2.0 */
/* Thread pool: splits an index range; never a sum. Which thread runs which chunk is not fixed, so a body may depend only on its
 * indices, and results are the same for every number of threads. The pool is passed, never global; NULL means run here. */
#ifndef NPUC_BASE_THREADS_H
#define NPUC_BASE_THREADS_H

#include <stddef.h>

#include "base/status.h"

typedef struct thread_pool thread_pool;

/* threads counts the caller; 0 means all processors that this process may use (sched_getaffinity). NULL when out of memory or threads refused. */
thread_pool *npuc_pool_create(size_t threads);
void npuc_pool_destroy(thread_pool *pool);
size_t npuc_pool_threads(const thread_pool *pool); /* 1 for NULL */
/* Calls body(context, begin, end, worker) over [0, n) in chunks of at most `grain` (0: n/threads/4, at least 1); worker < threads. Blocks.
 * Nested calls run in the calling thread. */
void npuc_parallel_for(thread_pool *pool, size_t n, size_t grain, void (*body)(void *context, size_t begin, size_t end, size_t worker),
                       void *context);

#endif
