/* SPDX-License-Identifier: Apache-2.0 */
/* A small graph's profile: every node is in one step, MACs are those of its shapes, memory is what the values need. No time is judged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/markup.h"
#include "stages/profile.h"
#include "support/ir.h"
#include "support/trace_check.h"

/* conv and relu may be one step; the product, the sum and the last are steps of their own or of each other. */
static const char text[] =
    "g (float[2,3,8,8] x, float[4,3,3,3] w, float[256,5] m) => (float[2,5] y) {\n"
    "  c = Conv<pads=[1,1,1,1]>(x, w)\n  r = Relu(c)\n  f = Flatten(r)\n  y = MatMul(f, m)\n}\n";

static void steps(void **state) {
  (void)state;
  module *m = npuc_test_module(text);
  arena *a = npuc_arena_create();
  diag *d = npuc_diag_create(NULL, NULL);
  static float x[2 * 3 * 8 * 8], w[4 * 3 * 3 * 3], weights[256 * 5];
  tensor inputs[] = {{.type = DTYPE_F32, .shape = {.rank = 4, .dims = {2, 3, 8, 8}}, .data = x, .bytes = sizeof x},
                     {.type = DTYPE_F32, .shape = {.rank = 4, .dims = {4, 3, 3, 3}}, .data = w, .bytes = sizeof w},
                     {.type = DTYPE_F32, .shape = {.rank = 2, .dims = {256, 5}}, .data = weights, .bytes = sizeof weights}};
  profile p;
  assert_int_equal(npuc_profile_graph(d, a, NULL, NULL, m->graphs[0], inputs, 3, &p), NPUC_OK);
  double macs = 0, end = 0;
  size_t nodes = 0, most = 0;
  for (size_t i = 0; i < p.n_steps; i++) {
    const profile_step *s = &p.steps[i];
    macs += s->macs;
    nodes += s->n_nodes;
    if (s->live_bytes > most) most = s->live_bytes;
    assert_true(s->seconds >= 0 && s->duration >= 0 && s->start >= end);
    end = s->start + s->duration;
  }
  assert_int_equal(nodes, 4);
  assert_true(macs == 2 * 4 * 64 * 27 + 2 * 256 * 5);
  assert_true(most >= 2 * 4 * 64 * sizeof(float) && most <= p.memory_bytes);
  json_t *o = json_object();
  npuc_profile_json(&p, o);
  double share = 0;
  size_t i;
  json_t *entry;
  json_array_foreach(json_object_get(o, "operators"), i, entry) share += json_number_value(json_object_get(entry, "share"));
  assert_true(share > 0.999 && share < 1.001);
  assert_int_equal(json_array_size(json_object_get(json_object_get(o, "memory"), "steps")), p.n_steps);
  json_decref(o);
  trace *t = npuc_trace_create(a, "test");
  npuc_profile_trace(&p, t);
  size_t bytes;
  json_t *document = npuc_test_trace(npuc_trace_text(t, &bytes)), *spans = npuc_test_spans(document, 1);
  assert_int_equal(json_array_size(spans), p.n_steps);
  json_decref(spans);
  json_decref(document);
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
  npuc_module_destroy(m);
}

/* Without a plan there are no steps: said, not shown as nothing. */
static void data_dependent_shapes(void **state) {
  (void)state;
  module *m = npuc_test_module("g (float[4] x, int64[2] s) => (float[a,b] y) { y = Reshape(x, s) }");
  arena *a = npuc_arena_create();
  diag *d = npuc_diag_create(NULL, NULL);
  float data[] = {0, 1, 2, 0};
  int64_t target[] = {2, 2};
  tensor inputs[] = {{.type = DTYPE_F32, .shape = {.rank = 1, .dims = {4}}, .data = data, .bytes = sizeof data},
                     {.type = DTYPE_I64, .shape = {.rank = 1, .dims = {2}}, .data = target, .bytes = sizeof target}};
  profile p;
  assert_int_equal(npuc_profile_graph(d, a, NULL, NULL, m->graphs[0], inputs, 1, &p), NPUC_UNSUPPORTED);
  npuc_test_error_is(d, NPUC_DIAG_E0604, "depend on its data");
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
  npuc_module_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(steps), cmocka_unit_test(data_dependent_shapes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
