/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>

#include "base/threads.h"

#define MOST 10007

typedef struct counts {
  atomic_int times[MOST];
  atomic_size_t largest_worker, longest_chunk;
} counts;

static void count_indices(void *context, size_t begin, size_t end, size_t worker) {
  counts *c = context;
  size_t seen = atomic_load(&c->largest_worker);
  while (worker > seen && !atomic_compare_exchange_weak(&c->largest_worker, &seen, worker)) {
  }
  seen = atomic_load(&c->longest_chunk);
  while (end - begin > seen && !atomic_compare_exchange_weak(&c->longest_chunk, &seen, end - begin)) {
  }
  for (size_t i = begin; i < end; i++) atomic_fetch_add(&c->times[i], 1);
}

static void check_range(thread_pool *pool, size_t n, size_t grain) {
  counts *c = calloc(1, sizeof *c);
  assert_non_null(c);
  npuc_parallel_for(pool, n, grain, count_indices, c);
  for (size_t i = 0; i < MOST; i++) assert_int_equal(atomic_load(&c->times[i]), i < n ? 1 : 0);
  assert_true(atomic_load(&c->largest_worker) < npuc_pool_threads(pool));
  if (grain) assert_true(atomic_load(&c->longest_chunk) <= grain);
  free(c);
}

static void every_index_comes_exactly_once(void **state) {
  (void)state;
  const size_t sizes[] = {0, 1, 2, 3, 5, 64, 1000, MOST};
  const size_t grains[] = {0, 1, 2, 7, 1000, SIZE_MAX};
  for (size_t threads = 1; threads <= 5; threads++) {
    thread_pool *pool = npuc_pool_create(threads);
    assert_non_null(pool);
    assert_int_equal(npuc_pool_threads(pool), threads);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
      for (size_t g = 0; g < sizeof grains / sizeof grains[0]; g++) check_range(pool, sizes[s], grains[g]);
    }
    npuc_pool_destroy(pool);
  }
  check_range(NULL, 100, 3);
  assert_int_equal(npuc_pool_threads(NULL), 1);
}

typedef struct nest {
  thread_pool *pool;
  atomic_int inner;
  size_t scratch[4]; /* by worker: written without a lock, so a shared worker number is a race that TSan reports */
  atomic_int wrong_worker;
} nest;

typedef struct nest_call {
  nest *shared;
  size_t worker;
} nest_call;

static void inner_body(void *context, size_t begin, size_t end, size_t worker) {
  nest_call *call = context;
  if (worker != call->worker) atomic_fetch_add(&call->shared->wrong_worker, 1);
  call->shared->scratch[worker] += end - begin;
  atomic_fetch_add(&call->shared->inner, (int)(end - begin));
}

static void outer_body(void *context, size_t begin, size_t end, size_t worker) {
  nest *shared = context;
  nest_call call = {shared, worker};
  for (size_t i = begin; i < end; i++) npuc_parallel_for(shared->pool, 10, 3, inner_body, &call);
}

static void nested_calls_stay_in_their_thread(void **state) {
  (void)state;
  nest shared = {0};
  shared.pool = npuc_pool_create(4);
  npuc_parallel_for(shared.pool, 200, 1, outer_body, &shared);
  assert_int_equal(atomic_load(&shared.inner), 2000);
  assert_int_equal(atomic_load(&shared.wrong_worker), 0);
  assert_int_equal(shared.scratch[0] + shared.scratch[1] + shared.scratch[2] + shared.scratch[3], 2000);
  npuc_pool_destroy(shared.pool);
}

static void add_one(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  int *array = context;
  for (size_t i = begin; i < end; i++) array[i]++;
}

/* What a body wrote is seen by the caller and by the next call: plain memory, no atomics. */
static void calls_are_ordered(void **state) {
  (void)state;
  static int array[512];
  memset(array, 0, sizeof array);
  thread_pool *pool = npuc_pool_create(3);
  for (int round = 0; round < 500; round++) npuc_parallel_for(pool, 512, 16, add_one, array);
  for (int i = 0; i < 512; i++) assert_int_equal(array[i], 500);
  npuc_pool_destroy(pool);
}

typedef struct rival {
  thread_pool *pool;
  int array[64];
} rival;

static void *rival_main(void *argument) {
  rival *r = argument;
  for (int round = 0; round < 200; round++) npuc_parallel_for(r->pool, 64, 4, add_one, r->array);
  return NULL;
}

static void two_callers_share_one_pool(void **state) {
  (void)state;
  thread_pool *pool = npuc_pool_create(2);
  rival rivals[3];
  pthread_t threads[3];
  memset(rivals, 0, sizeof rivals);
  for (int i = 0; i < 3; i++) {
    rivals[i].pool = pool;
    assert_int_equal(pthread_create(&threads[i], NULL, rival_main, &rivals[i]), 0);
  }
  for (int i = 0; i < 3; i++) {
    pthread_join(threads[i], NULL);
    for (int k = 0; k < 64; k++) assert_int_equal(rivals[i].array[k], 200);
  }
  npuc_pool_destroy(pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_index_comes_exactly_once),
      cmocka_unit_test(nested_calls_stay_in_their_thread),
      cmocka_unit_test(calls_are_ordered),
      cmocka_unit_test(two_callers_share_one_pool),
  };
  return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
