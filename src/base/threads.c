/* SPDX-License-Identifier: Apache-2.0 */
/* One job at a time: a range and a shared counter from which each thread takes the next chunk until none is left. The calling
 * thread is worker 0 and works too. A call from inside a body (nested) is known by its thread, runs in it, and keeps its worker
 * number, so that scratch memory by worker number stays private; a call from another thread waits for its turn.
 *
 * A network is many short jobs one behind the other, and waking a thread costs as much as a small one: a helper looks for the next job
 * for some microseconds before it sleeps, and so does the caller for the last helper. Not where there are more threads than processors. */
#include "base/threads.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/os.h"

#define MOST_THREADS 1024
enum { SPINS = 2000 }; /* some ten microseconds */

typedef struct job {
  void (*body)(void *context, size_t begin, size_t end, size_t worker);
  void *context;
  size_t n, grain, chunks;
} job;

struct thread_pool {
  pthread_mutex_t lock;
  pthread_cond_t work; /* a job came, or stop */
  pthread_cond_t idle; /* the last helper left the job, or the pool is free again */
  pthread_t *helpers;  /* workers 1 .. n_helpers */
  size_t n_helpers;
  job current;
  atomic_size_t next_chunk;
  pthread_t caller;                /* of the current job */
  atomic_uint_fast64_t generation; /* changed under the lock */
  atomic_size_t active;            /* helpers inside the current job; changed under the lock */
  int spins;
  bool busy, stop;
};

typedef struct helper_start {
  thread_pool *pool;
  size_t worker;
} helper_start;

static void run_chunks(thread_pool *pool, const job *j, size_t worker) {
  for (;;) {
    size_t chunk = atomic_fetch_add_explicit(&pool->next_chunk, 1, memory_order_relaxed);
    if (chunk >= j->chunks) return;
    size_t begin = chunk * j->grain;
    size_t end = j->n - begin < j->grain ? j->n : begin + j->grain;
    j->body(j->context, begin, end, worker);
  }
}

static void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* Only to be quick: whoever returns looks again under the lock. */
static void spin_for_job(thread_pool *pool, uint64_t seen) {
  for (int i = 0; i < pool->spins && atomic_load_explicit(&pool->generation, memory_order_relaxed) == seen; i++) relax();
}

static void spin_for_helpers(thread_pool *pool) {
  for (int i = 0; i < pool->spins && atomic_load_explicit(&pool->active, memory_order_relaxed) > 0; i++) relax();
}

static void *helper_main(void *argument) {
  helper_start start = *(helper_start *)argument;
  free(argument);
  thread_pool *pool = start.pool;
  uint64_t seen = 0;
  pthread_mutex_lock(&pool->lock);
  for (;;) {
    while (!pool->stop && !(pool->busy && pool->generation != seen)) pthread_cond_wait(&pool->work, &pool->lock);
    if (pool->stop) break;
    seen = pool->generation;
    job j = pool->current;
    pool->active++;
    pthread_mutex_unlock(&pool->lock);
    run_chunks(pool, &j, start.worker);
    pthread_mutex_lock(&pool->lock);
    if (--pool->active == 0) pthread_cond_broadcast(&pool->idle);
    pthread_mutex_unlock(&pool->lock);
    spin_for_job(pool, seen);
    pthread_mutex_lock(&pool->lock);
  }
  pthread_mutex_unlock(&pool->lock);
  return NULL;
}

static bool start_helper(thread_pool *pool, size_t worker) {
  helper_start *start = malloc(sizeof *start);
  if (!start) return false;
  *start = (helper_start){pool, worker};
  if (pthread_create(&pool->helpers[worker - 1], NULL, helper_main, start) != 0) {
    free(start);
    return false;
  }
  pool->n_helpers = worker;
  return true;
}

/* Helpers take no signals: an interrupt belongs to the program's own thread. */
static bool start_helpers(thread_pool *pool, size_t count) {
  sigset_t all, before;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return false;
  bool good = true;
  pthread_mutex_lock(&pool->lock);
  for (size_t worker = 1; good && worker <= count; worker++) good = start_helper(pool, worker);
  pthread_mutex_unlock(&pool->lock);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  return good;
}

static bool init_locks(thread_pool *pool) {
  if (pthread_mutex_init(&pool->lock, NULL) != 0) return false;
  if (pthread_cond_init(&pool->work, NULL) == 0) {
    if (pthread_cond_init(&pool->idle, NULL) == 0) return true;
    pthread_cond_destroy(&pool->work);
  }
  pthread_mutex_destroy(&pool->lock);
  return false;
}

thread_pool *npuc_pool_create(size_t threads) {
  if (threads == 0) threads = npuc_os_processors();
  if (threads > MOST_THREADS) threads = MOST_THREADS;
  thread_pool *pool = calloc(1, sizeof *pool);
  if (!pool) return NULL;
  pool->helpers = calloc(threads, sizeof *pool->helpers);
  pool->spins = threads <= npuc_os_processors() ? SPINS : 0;
  if (!pool->helpers || !init_locks(pool)) {
    free(pool->helpers);
    free(pool);
    return NULL;
  }
  if (!start_helpers(pool, threads - 1)) {
    npuc_pool_destroy(pool);
    return NULL;
  }
  return pool;
}

void npuc_pool_destroy(thread_pool *pool) {
  if (!pool) return;
  pthread_mutex_lock(&pool->lock);
  pool->stop = true;
  pthread_cond_broadcast(&pool->work);
  pthread_mutex_unlock(&pool->lock);
  for (size_t i = 0; i < pool->n_helpers; i++) (void)pthread_join(pool->helpers[i], NULL);
  pthread_cond_destroy(&pool->idle);
  pthread_cond_destroy(&pool->work);
  pthread_mutex_destroy(&pool->lock);
  free(pool->helpers);
  free(pool);
}

size_t npuc_pool_threads(const thread_pool *pool) { return pool ? pool->n_helpers + 1 : 1; }

static void run_here(const job *j, size_t worker) {
  for (size_t begin = 0; begin < j->n;) {
    size_t end = j->n - begin < j->grain ? j->n : begin + j->grain;
    j->body(j->context, begin, end, worker);
    begin = end;
  }
}

/* Under the lock: whether this thread is inside the current job, and as which worker. */
static bool is_nested(const thread_pool *pool, size_t *out_worker) {
  if (!pool->busy) return false;
  pthread_t self = pthread_self();
  *out_worker = 0;
  if (pthread_equal(pool->caller, self)) return true;
  for (size_t i = 0; i < pool->n_helpers; i++) {
    *out_worker = i + 1;
    if (pthread_equal(pool->helpers[i], self)) return true;
  }
  return false;
}

static void run_shared(thread_pool *pool, const job *j) {
  pthread_mutex_lock(&pool->lock);
  size_t worker;
  if (is_nested(pool, &worker)) {
    pthread_mutex_unlock(&pool->lock);
    run_here(j, worker);
    return;
  }
  while (pool->busy) pthread_cond_wait(&pool->idle, &pool->lock);
  pool->busy = true;
  pool->caller = pthread_self();
  bool alone = j->chunks == 1; /* nobody is woken for it */
  if (!alone) {
    pool->current = *j;
    atomic_store_explicit(&pool->next_chunk, 0, memory_order_relaxed);
    pool->generation++;
    pthread_cond_broadcast(&pool->work);
  }
  pthread_mutex_unlock(&pool->lock);

  if (alone) {
    run_here(j, 0);
  } else {
    run_chunks(pool, j, 0);
    spin_for_helpers(pool);
  }

  pthread_mutex_lock(&pool->lock);
  while (pool->active > 0) pthread_cond_wait(&pool->idle, &pool->lock);
  pool->busy = false;
  pthread_cond_broadcast(&pool->idle);
  pthread_mutex_unlock(&pool->lock);
}

void npuc_parallel_for(thread_pool *pool, size_t n, size_t grain, void (*body)(void *context, size_t begin, size_t end, size_t worker),
                       void *context) {
  if (n == 0) return;
  size_t threads = npuc_pool_threads(pool);
  if (grain == 0) grain = n / threads / 4;
  if (grain == 0) grain = 1;
  job j = {body, context, n, grain, n / grain + (n % grain != 0)};
  if (threads == 1) {
    run_here(&j, 0);
  } else {
    run_shared(pool, &j);
  }
}
