/* SPDX-License-Identifier: Apache-2.0 */
/* Quantiles against worked values, turns of the lanes, and where peers are looked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stages/bench.h"
#include "stages/peer.h"
#include "support/ir.h"
#include "support/scratch.h"

static void quantiles(void **state) {
  (void)state;
  double samples[] = {5, 1, 4, 2, 3, 6}; /* numpy.quantile(., [0.1, 0.5, 0.9]) = 1.5, 3.5, 5.5 */
  bench_times t = npuc_bench_times(samples, 6);
  assert_true(t.min == 1 && t.p10 == 1.5 && t.median == 3.5 && t.p90 == 5.5);
  double one[] = {7};
  t = npuc_bench_times(one, 1);
  assert_true(t.min == 7 && t.p10 == 7 && t.median == 7 && t.p90 == 7);
}

/* Who ran, in order. */
typedef struct trace {
  char text[64];
  size_t n;
} trace;
typedef struct runner_state {
  trace *trace;
  char name;
  size_t fails_at;
} runner_state;

static npuc_status note(void *user, diag *d) {
  runner_state *s = user;
  s->trace->text[s->trace->n++] = s->name;
  return s->trace->n == s->fails_at ? npuc_fail(d, NPUC_DIAG_E0931, NULL, "no") : NPUC_OK;
}

static void lanes_take_turns(void **state) {
  (void)state;
  trace seen = {.n = 0};
  runner_state a = {&seen, 'a', 0}, b = {&seen, 'b', 0};
  double seconds[4][3];
  bench_lane lanes[] = {{note, &a, seconds[0], seconds[1]}, {note, &b, seconds[2], seconds[3]}};
  assert_int_equal(npuc_bench_run(NULL, NULL, lanes, 2, 3), NPUC_OK);
  assert_string_equal(seen.text, "abbaabbaab"); /* two rounds that are not counted, three that are */
  b.fails_at = seen.n + 3;
  assert_int_equal(npuc_bench_run(NULL, NULL, lanes, 2, 3), NPUC_ENVIRONMENT);
  assert_int_equal(seen.n, 13);
}

static void floats_at_both_ends(void **state) {
  (void)state;
  module *m = npuc_test_module("g (float[N,2] x) => (float[N,2] y) <float zero = {0.0}> { y = Sub(zero, x) }");
  arena *scratch = npuc_arena_create();
  float x[] = {1, -2, 3, 4};
  tensor input = {.type = DTYPE_F32, .shape = {.rank = 2, .dims = {2, 2}}, .data = x, .bytes = sizeof x};
  bench_model *b = NULL;
  assert_int_equal(npuc_bench_model_open(NULL, scratch, NULL, m->graphs[0], NULL, &input, &b), NPUC_OK);
  assert_int_equal(npuc_bench_model_run(b, NULL), NPUC_OK);
  const float expected[] = {-1, 2, -3, -4};
  assert_int_equal(npuc_bench_model_outputs(b), 1);
  assert_memory_equal(npuc_bench_model_output(b, 0)->data, expected, sizeof expected);
  npuc_bench_model_close(b);
  npuc_arena_destroy(scratch);
  npuc_module_destroy(m);
}

static void finds_peers(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  diag *d = npuc_diag_create(NULL, NULL);
  const peer_info *p = npuc_peer_find("onnxruntime");
  const char *root = npuc_scratch_create(a), *file;
  assert_null(npuc_peer_find("onnx"));
  const char *folder = root;
  const char *const parts[] = {"lib", "python3.11", "site-packages", "onnxruntime", "capi"};
  for (size_t i = 0; i < 5; i++) {
    folder = npuc_path_join(a, folder, parts[i]);
    assert_int_equal(npuc_dir_create(d, folder), NPUC_OK);
  }
  const char *library = npuc_path_join(a, folder, "libonnxruntime.so.1.99.0");
  assert_int_equal(npuc_file_write_all(d, library, "no library", 10), NPUC_OK);
  unsetenv(p->variable);
  assert_int_equal(npuc_peer_library(d, a, p, root, &file), NPUC_OK);
  assert_string_equal(file, library);
  assert_int_equal(npuc_peer_library(d, a, p, npuc_path_join(a, root, "bin/python"), &file), NPUC_OK);
  assert_string_equal(file, library);
  setenv(p->variable, library, 1);
  assert_int_equal(npuc_peer_library(d, a, p, "/nowhere", &file), NPUC_OK);
  assert_string_equal(file, library);
  setenv(p->variable, "/nowhere", 1);
  assert_int_equal(npuc_peer_library(d, a, p, NULL, &file), NPUC_ENVIRONMENT);
  npuc_test_error_is(d, NPUC_DIAG_E0930, "not in that place");
  void *loaded;
  assert_int_equal(npuc_peer_load(d, library, &loaded), NPUC_ENVIRONMENT);
  unsetenv(p->variable);
  npuc_scratch_remove(root);
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(quantiles), cmocka_unit_test(lanes_take_turns), cmocka_unit_test(floats_at_both_ends),
                                     cmocka_unit_test(finds_peers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
