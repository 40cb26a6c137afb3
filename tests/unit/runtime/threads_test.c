/* SPDX-License-Identifier: Apache-2.0 */
/* One program, a session for each thread: the bytes are those of a run alone. Runs under ThreadSanitizer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/threads.h"
#include "npuc/runtime.h"
#include "support/every_operator.h"
#include "support/ir.h"
#include "support/scratch.h"

enum { RUNS = 200, INPUT = 144 };

typedef struct result {
  uint8_t dw[60], sp0[16], gl[2], id[5], ls[5];
  int64_t am;
} result;

typedef struct work {
  const npuc_program *program;
  result alone[RUNS];
  size_t different[2], failed[2];
} work;

static npuc_status run_one(npuc_session *s, int i, result *out) {
  uint8_t x[INPUT];
  for (int k = 0; k < INPUT; k++) x[k] = (uint8_t)(k * 7 + i * 31);
  const void *inputs[] = {x};
  void *outputs[] = {out->dw, out->sp0, out->gl, out->id, out->ls, &out->am};
  return npuc_session_run(s, inputs, outputs, NULL);
}

static bool same(const result *a, const result *b) {
  return memcmp(a->dw, b->dw, 60) == 0 && memcmp(a->sp0, b->sp0, 16) == 0 && memcmp(a->gl, b->gl, 2) == 0 && memcmp(a->id, b->id, 5) == 0 &&
         memcmp(a->ls, b->ls, 5) == 0 && a->am == b->am;
}

/* Chunk 0 counts up, chunk 1 down, so that different inputs are in flight. */
static void run_all(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  work *w = context;
  for (size_t chunk = begin; chunk < end; chunk++) {
    npuc_session *s;
    npuc_error error;
    w->failed[chunk] = npuc_session_create(w->program, NULL, &s, &error) != NPUC_OK;
    if (w->failed[chunk]) continue;
    for (int i = 0; i < RUNS; i++) {
      int k = chunk ? RUNS - 1 - i : i;
      result r;
      w->failed[chunk] += run_one(s, k, &r) != NPUC_OK;
      w->different[chunk] += !same(&r, &w->alone[k]);
    }
    npuc_session_destroy(s);
  }
}

static void test_two_sessions(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  module *m = npuc_test_module(npuc_every_operator_text(a, false));
  char *dir = npuc_scratch_create(a), *path = npuc_path_join(a, dir, "net.npu");
  npuc_test_build_npu(m->graphs[0], 8, path);
  npuc_program *p;
  npuc_session *s;
  work *w = npuc_arena_alloc(a, sizeof *w);
  assert_int_equal(npuc_program_load(path, &p, NULL), NPUC_OK);
  assert_int_equal(npuc_session_create(p, NULL, &s, NULL), NPUC_OK);
  w->program = p;
  for (int i = 0; i < RUNS; i++) assert_int_equal(run_one(s, i, &w->alone[i]), NPUC_OK);
  assert_false(same(&w->alone[0], &w->alone[1])); /* negative control: inputs differ, and so do results */
  npuc_session_destroy(s);
  thread_pool *pool = npuc_pool_create(2);
  assert_non_null(pool);
  npuc_parallel_for(pool, 2, 1, run_all, w);
  npuc_pool_destroy(pool);
  for (int chunk = 0; chunk < 2; chunk++) assert_true(w->failed[chunk] == 0 && w->different[chunk] == 0);
  npuc_program_destroy(p);
  npuc_module_destroy(m);
  npuc_scratch_remove(dir);
  npuc_arena_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_sessions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
