/* SPDX-License-Identifier: Apache-2.0 */
/* A session gives, tensor by tensor, the bytes that the executor gives for the same integer graph: every operator of docs/refnpu.md section 7, u8 and s8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/executor.h"
#include "npu/qgraph.h"
#include "runtime/session.h"
#include "support/every_operator.h"
#include "support/ir.h"
#include "support/random.h"
#include "support/scratch.h"

typedef struct expected {
  const graph *g;
  const executor *e;
  const npuc_program *program;
  size_t compared, different;
} expected;

static void compare_tensor(void *user, int32_t index, const void *data) {
  expected *x = user;
  const qtensor *t = &x->program->graph->tensors[index];
  const value *v = npuc_graph_value(x->g, t->name);
  assert_non_null(v);
  const tensor *want = npuc_executor_value(x->e, v);
  assert_non_null(want);
  assert_int_equal(want->bytes, t->bytes);
  bool same = memcmp(want->data, data, t->bytes) == 0;
  if (!same) print_message("tensor %s differs\n", t->name);
  x->compared++;
  x->different += !same;
}

typedef struct both {
  arena *a;
  diag *d;
  module *m;
  char *dir, *path;
  executor *e;
  npuc_program *program;
  npuc_session *session;
} both;

static both open_both(const char *text, arena *a) {
  both b = {.a = a, .d = npuc_diag_create(NULL, NULL), .m = npuc_test_module(text)};
  npuc_error error;
  b.dir = npuc_scratch_create(a);
  b.path = npuc_path_join(a, b.dir, "net.npu");
  npuc_test_build_npu(b.m->graphs[0], 8, b.path);
  assert_int_equal(npuc_executor_create(b.d, b.m->graphs[0], &(exec_options){.keep_all = true}, &b.e), NPUC_OK);
  assert_int_equal(npuc_program_load(b.path, &b.program, &error), NPUC_OK);
  assert_int_equal(npuc_session_create(b.program, NULL, &b.session, &error), NPUC_OK);
  return b;
}

static void close_both(both *b) {
  npuc_session_destroy(b->session);
  npuc_program_destroy(b->program);
  npuc_executor_destroy(b->e);
  npuc_module_destroy(b->m);
  npuc_diag_destroy(b->d);
  npuc_scratch_remove(b->dir);
}

static void compare_runs(bool is_signed, int damage, size_t *out_compared, size_t *out_different) {
  arena *a = npuc_arena_create();
  both b = open_both(npuc_every_operator_text(a, is_signed), a);
  expected x = {.g = b.m->graphs[0], .e = b.e, .program = b.program};
  uint64_t random = 77;
  uint8_t input[144], dw[60], sp0[16], gl[2], id[5], ls[5];
  int64_t am[1];
  void *outputs[] = {dw, sp0, gl, id, ls, am};
  for (int run = 0; run < 20; run++) {
    random_bytes(&random, input, sizeof input);
    const tensor in = {
        .type = is_signed ? DTYPE_I8 : DTYPE_U8, .shape = {.rank = 4, .dims = {1, 4, 6, 6}}, .data = input, .bytes = sizeof input};
    tensor out[6];
    assert_int_equal(npuc_executor_run(b.e, b.d, &in, out), NPUC_OK);
    const void *inputs[] = {input};
    npuc_session_set_observer(b.session, damage ? NULL : compare_tensor, &x);
    input[17] = (uint8_t)(input[17] ^ damage);
    assert_int_equal(npuc_session_run_diag(b.session, b.d, inputs, outputs), NPUC_OK);
    for (size_t k = 0; k < 6; k++) {
      assert_int_equal(npuc_program_output(b.program, k)->bytes, out[k].bytes);
      x.compared++;
      x.different += memcmp(outputs[k], out[k].data, out[k].bytes) != 0;
    }
  }
  *out_compared = x.compared, *out_different = x.different;
  close_both(&b);
  npuc_arena_destroy(a);
}

static void test_every_operator(void **state) {
  (void)state;
  for (int is_signed = 0; is_signed < 2; is_signed++) {
    size_t compared, different;
    compare_runs(is_signed, 0, &compared, &different);
    assert_int_equal(different, 0);
    assert_int_equal(compared, 20 * (1 + 25 + 1 + 6));    /* input, 25 nodes of which Split has two outputs, and the outputs again */
    compare_runs(is_signed, 0x40, &compared, &different); /* negative control: another input */
    assert_true(different > 0);
  }
}

/* The text has every operator: a new one must be added to it. */
static void test_none_is_missing(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  both b = open_both(npuc_every_operator_text(a, false), a);
  static const qop all[] = {
#define QOP(name, code) QOP_##name,
#include "npu/qops.def"
#undef QOP
  };
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    size_t found = 0;
    for (size_t i = 0; i < b.program->graph->n_nodes; i++) found += b.program->graph->nodes[i].op == all[k];
    if (!found) fail_msg("%s is not in the graph", npuc_qop_name(all[k]));
  }
  close_both(&b);
  npuc_arena_destroy(a);
}

/* Buffers of callers have no alignment beyond their dtype's. */
static void test_odd_addresses(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  both b = open_both(npuc_every_operator_text(a, false), a);
  uint8_t in[146] = {0}, dw[62], sp0[18], gl[4], id[7], ls[7], dw2[60];
  int64_t am[1];
  const void *inputs[] = {in + 1};
  void *outputs[] = {dw + 1, sp0 + 1, gl + 1, id + 1, ls + 1, am};
  npuc_error error;
  for (size_t i = 0; i < sizeof in; i++) in[i] = (uint8_t)(i * 7);
  assert_int_equal(npuc_session_run(b.session, inputs, outputs, &error), NPUC_OK);
  uint8_t copy[144];
  memcpy(copy, in + 1, sizeof copy);
  const void *inputs2[] = {copy};
  void *outputs2[] = {dw2, sp0 + 1, gl + 1, id + 1, ls + 1, am};
  assert_int_equal(npuc_session_run(b.session, inputs2, outputs2, NULL), NPUC_OK); /* no error struct is fine */
  assert_memory_equal(dw + 1, dw2, sizeof dw2);
  assert_true(npuc_session_memory(b.session) >= 144 + 60);
  close_both(&b);
  npuc_arena_destroy(a);
}

static void test_wrong_configuration(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  both b = open_both(npuc_every_operator_text(a, false), a);
  npuc_session *s = b.session;
  npuc_error error;
  assert_int_equal(npuc_session_create(b.program, &(npuc_session_options){.configuration = 1}, &s, &error), NPUC_USAGE);
  assert_null(s);
  assert_string_equal(error.code, "NPUC-E1005");
  close_both(&b);
  npuc_arena_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_operator), cmocka_unit_test(test_none_is_missing),
                                     cmocka_unit_test(test_odd_addresses), cmocka_unit_test(test_wrong_configuration)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
