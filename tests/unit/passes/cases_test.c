/* SPDX-License-Identifier: Apache-2.0 */
/* Public bug reports (tests/data/cases) through normalize, static and adapt: the right values still come out, the wrong ones that some
 * tool gave are told from them, and what had to stay stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "exec/executor.h"
#include "formats/npy.h"
#include "import/onnx/onnx.h"
#include "passes/pass.h"
#include "support/ir.h"
#include "tensor/compare.h"

typedef struct run {
  arena *a;
  diag *d;
  module *m;
  pass_report normalize;
} run;

static char *case_file(arena *a, const char *name, const char *file) {
  return npuc_arena_printf(a, "%s/tests/data/cases/%s/%s", NPUC_SOURCE_DIR, name, file);
}

/* Read and taken through the three pipelines. */
static run prepared(const char *name) {
  run r = {.a = npuc_arena_create(), .d = npuc_diag_create(NULL, NULL)};
  pass_options options = {.limit = -1};
  pass_report report;
  assert_int_equal(npuc_onnx_read(r.d, case_file(r.a, name, "model.onnx"), &r.m), NPUC_OK);
  assert_int_equal(npuc_passes_run(r.d, r.a, r.m, "normalize", &options, &r.normalize), NPUC_OK);
  assert_int_equal(npuc_check_names(r.d, r.m), NPUC_OK);
  assert_int_equal(npuc_passes_run(r.d, r.a, r.m, "static", &options, &report), NPUC_OK);
  assert_int_equal(npuc_check_static(r.d, r.m), NPUC_OK);
  assert_int_equal(npuc_passes_run(r.d, r.a, r.m, "adapt", &options, &report), NPUC_OK);
  assert_int_equal(npuc_check_places(r.d, r.m), NPUC_OK);
  return r;
}

static void finish(run *r) {
  npuc_module_destroy(r->m);
  npuc_diag_destroy(r->d);
  npuc_arena_destroy(r->a);
}

static bool is_close(const tensor *given, const char *path) {
  tensor wanted;
  comparison c;
  assert_int_equal(npuc_npy_read(NULL, path, &wanted), NPUC_OK);
  assert_int_equal(npuc_compare(NULL, given, &wanted, &c), NPUC_OK);
  npuc_tensor_release(&wanted);
  return c.finite && c.max_abs <= 1e-5 * c.max_ref;
}

/* Every output equals output_NAME.npy, and differs from wrong_NAME.npy where there is one. */
static void outputs_are_right(run *r, const char *name) {
  const graph *g = r->m->graphs[0];
  exec_options options = {0};
  executor *e;
  tensor inputs[4] = {0}, outputs[4];
  assert_true(g->n_inputs <= 4 && g->n_outputs <= 4);
  for (size_t i = 0; i < g->n_inputs; i++) {
    char *path = case_file(r->a, name, npuc_arena_printf(r->a, "input_%s.npy", g->inputs[i]->name));
    assert_int_equal(npuc_npy_read(r->d, path, &inputs[i]), NPUC_OK);
  }
  assert_int_equal(npuc_executor_create(r->d, g, &options, &e), NPUC_OK);
  assert_int_equal(npuc_executor_run(e, r->d, inputs, outputs), NPUC_OK);
  for (size_t i = 0; i < g->n_outputs; i++) {
    char *wrong = case_file(r->a, name, npuc_arena_printf(r->a, "wrong_%s.npy", g->outputs[i]->name));
    assert_true(is_close(&outputs[i], case_file(r->a, name, npuc_arena_printf(r->a, "output_%s.npy", g->outputs[i]->name))));
    if (npuc_path_exists(wrong)) assert_false(is_close(&outputs[i], wrong));
  }
  npuc_executor_destroy(e);
  for (size_t i = 0; i < g->n_inputs; i++) npuc_tensor_release(&inputs[i]);
}

static size_t count(const graph *g, op_id op) {
  size_t n = 0;
  NPUC_EACH_NODE(g, one) n += node_is(one, op) ? 1 : 0;
  return n;
}

static size_t fired(const run *r, const char *pattern_name) {
  for (size_t i = 0; i < r->normalize.n_rewrites; i++) {
    if (strcmp(r->normalize.rewrites[i].pattern, pattern_name) == 0) return r->normalize.rewrites[i].count;
  }
  return 0;
}

static void average_pools_count_the_padded_extent(void **state) {
  (void)state;
  static const char *const names[] = {"P10", "P12"};
  for (size_t i = 0; i < 2; i++) {
    run r = prepared(names[i]);
    outputs_are_right(&r, names[i]);
    finish(&r);
  }
}

static void batchnorm_uses_the_running_statistics(void **state) {
  (void)state;
  run r = prepared("P43");
  outputs_are_right(&r, "P43");
  assert_true(fired(&r, "batchnorm-to-mul-add") == 1 && r.normalize.parity == PARITY_REASSOCIATING);
  finish(&r);
}

static void training_mode_is_refused(void **state) {
  (void)state;
  diag *d = npuc_diag_create(NULL, NULL);
  arena *a = npuc_arena_create();
  module *m = NULL;
  assert_int_equal(npuc_onnx_read(d, case_file(a, "P43-training", "model.onnx"), &m), NPUC_UNSUPPORTED);
  const diag_record *e = npuc_diag_first_error(d);
  assert_int_equal(e->code, NPUC_DIAG_E0443);
  assert_string_equal(e->place.op, "BatchNormalization");
  assert_string_equal(e->place.attribute, "training_mode");
  assert_true(e->n_fixes >= 1);
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
}

static void a_pad_of_the_batch_stays(void **state) {
  (void)state;
  run r = prepared("P44");
  assert_true(count(r.m->graphs[0], OP_PAD) >= 1 && fired(&r, "pad-into-conv") == 0);
  outputs_are_right(&r, "P44");
  finish(&r);
}

static void a_pad_with_two_readers_stays_right(void **state) {
  (void)state;
  run r = prepared("P44-spatial");
  outputs_are_right(&r, "P44-spatial");
  finish(&r);
}

static void a_pad_with_one_reader_is_absorbed(void **state) {
  (void)state;
  run r = prepared("P44-sole");
  assert_true(count(r.m->graphs[0], OP_PAD) == 0 && fired(&r, "pad-into-conv") == 1);
  outputs_are_right(&r, "P44-sole");
  finish(&r);
}

static void a_folded_batchnorm_differs_by_rounding_only(void **state) {
  (void)state;
  run r = prepared("P46");
  assert_true(fired(&r, "batchnorm-into-conv") == 1 && count(r.m->graphs[0], OP_BATCHNORM) == 0);
  assert_int_equal(r.normalize.parity, PARITY_REASSOCIATING);
  outputs_are_right(&r, "P46");
  finish(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(average_pools_count_the_padded_extent),
      cmocka_unit_test(batchnorm_uses_the_running_statistics),
      cmocka_unit_test(training_mode_is_refused),
      cmocka_unit_test(a_pad_of_the_batch_stays),
      cmocka_unit_test(a_pad_with_two_readers_stays_right),
      cmocka_unit_test(a_pad_with_one_reader_is_absorbed),
      cmocka_unit_test(a_folded_batchnorm_differs_by_rounding_only),
  };
  return cmocka_run_group_tests_name("passes/cases", tests, NULL, NULL);
}
