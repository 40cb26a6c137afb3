/* SPDX-License-Identifier: Apache-2.0 */
/* npuc_session_run takes no memory: every allocating call is wrapped by the linker (cmake/NpucTests.cmake sees the names) and counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "npuc/runtime.h"
#include "support/every_operator.h"
#include "support/ir.h"
#include "support/scratch.h"

static atomic_size_t calls;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t alignment, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t alignment, size_t n);
void __wrap_free(void *p);

void *__wrap_malloc(size_t n) {
  atomic_fetch_add(&calls, 1);
  return __real_malloc(n);
}
void *__wrap_calloc(size_t n, size_t size) {
  atomic_fetch_add(&calls, 1);
  return __real_calloc(n, size);
}
void *__wrap_realloc(void *p, size_t n) {
  atomic_fetch_add(&calls, 1);
  return __real_realloc(p, n);
}
void *__wrap_aligned_alloc(size_t alignment, size_t n) {
  atomic_fetch_add(&calls, 1);
  return __real_aligned_alloc(alignment, n);
}
void __wrap_free(void *p) {
  if (p) atomic_fetch_add(&calls, 1);
  __real_free(p);
}

static void test_run(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  module *m = npuc_test_module(npuc_every_operator_text(a, true));
  char *dir = npuc_scratch_create(a), *path = npuc_path_join(a, dir, "net.npu");
  npuc_test_build_npu(m->graphs[0], 8, path);
  npuc_program *p;
  npuc_session *s;
  npuc_error error;
  assert_int_equal(npuc_program_load(path, &p, &error), NPUC_OK);
  size_t before = atomic_load(&calls);
  assert_int_equal(npuc_session_create(p, NULL, &s, &error), NPUC_OK);
  assert_true(atomic_load(&calls) > before); /* negative control: the counter sees what a session takes */
  int8_t x[144] = {3}, dw[60], sp0[16], gl[2], id[5], ls[5];
  int64_t am[1];
  const void *inputs[] = {x};
  void *outputs[] = {dw, sp0, gl, id, ls, am};
  before = atomic_load(&calls);
  for (int i = 0; i < 3; i++) assert_int_equal(npuc_session_run(s, inputs, outputs, &error), NPUC_OK); /* the first run too */
  assert_int_equal(atomic_load(&calls), before);
  npuc_session_destroy(s);
  npuc_program_destroy(p);
  npuc_module_destroy(m);
  npuc_scratch_remove(dir);
  npuc_arena_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_run)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
