/* SPDX-License-Identifier: Apache-2.0 */
/* Two public reports on graph simplifiers (tests/data/cases): P44 padding that convolutions share or that is not spatial, P46 how far a
 * folded batch normalization may differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/executor.h"
#include "formats/npy.h"
#include "import/onnx/onnx.h"
#include "passes/pass.h"
#include "tensor/compare.h"

#define CASES NPUC_SOURCE_DIR "/tests/data/cases/"

typedef struct folded {
  diag *d;
  arena *a;
  module *m;
  pass_report report;
  executor *e;
  tensor input, outputs[2];
} folded;

static tensor load(const char *path) {
  tensor t;
  if (npuc_npy_read(NULL, path, &t) != NPUC_OK) fail_msg("%s cannot be read", path);
  return t;
}

/* The case after the normalize and static pipelines, run. */
static folded run(const char *name) {
  folded f = {.d = npuc_diag_create(NULL, NULL), .a = npuc_arena_create()};
  pass_report second;
  const pass_options options = {.limit = -1};
  assert_int_equal(npuc_onnx_read(f.d, npuc_arena_printf(f.a, CASES "%s/model.onnx", name), &f.m), NPUC_OK);
  assert_int_equal(npuc_passes_run(f.d, f.a, f.m, "normalize", &options, &f.report), NPUC_OK);
  assert_int_equal(npuc_passes_run(f.d, f.a, f.m, "static", &options, &second), NPUC_OK);
  tensor stored = load(npuc_arena_printf(f.a, CASES "%s/input_x.npy", name));
  assert_int_equal(npuc_tensor_align(f.d, &stored, &f.input), NPUC_OK);
  npuc_tensor_release(&stored);
  assert_int_equal(npuc_executor_create(f.d, f.m->graphs[0], &(exec_options){0}, &f.e), NPUC_OK);
  assert_int_equal(npuc_executor_run(f.e, f.d, &f.input, f.outputs), NPUC_OK);
  return f;
}

static void release(folded *f) {
  npuc_executor_destroy(f->e);
  npuc_tensor_release(&f->input);
  npuc_module_destroy(f->m);
  npuc_arena_destroy(f->a);
  npuc_diag_destroy(f->d);
}

/* Output `index` against a file of the case: the measures, after its shape is seen to be right. */
static comparison against(const folded *f, size_t index, const char *name, const char *file) {
  tensor wanted = load(npuc_arena_printf(f->a, CASES "%s/%s.npy", name, file));
  comparison c;
  assert_int_equal(wanted.shape.rank, f->outputs[index].shape.rank);
  for (int32_t i = 0; i < wanted.shape.rank; i++) assert_int_equal(wanted.shape.dims[i], f->outputs[index].shape.dims[i]);
  assert_int_equal(npuc_compare(NULL, &f->outputs[index], &wanted, &c), NPUC_OK);
  npuc_tensor_release(&wanted);
  return c;
}

/* The bound of `reassociating` rewrites. */
static bool rounding_only(const comparison *c) { return c->finite && c->max_abs <= 1e-5 * c->max_ref && c->sqnr_db >= 100; }

static size_t count_op(const folded *f, const char *type) {
  size_t n = 0;
  NPUC_EACH_NODE(f->m->graphs[0], i) n += strcmp(i->op->type, type) == 0;
  return n;
}

static void padding_of_the_batch_stays(void **state) {
  (void)state;
  folded f = run("P44");
  assert_int_equal(count_op(&f, "Pad"), 1);
  const comparison a = against(&f, 0, "P44", "output_a"), b = against(&f, 1, "P44", "output_b");
  assert_true(rounding_only(&a) && rounding_only(&b));
  release(&f);
}

static void shared_padding_gives_both_outputs(void **state) {
  (void)state;
  folded f = run("P44-spatial");
  const comparison a = against(&f, 0, "P44-spatial", "output_a"), b = against(&f, 1, "P44-spatial", "output_b");
  assert_true(rounding_only(&a) && rounding_only(&b));
  release(&f);
}

static void sole_padding_is_absorbed(void **state) {
  (void)state;
  folded f = run("P44-sole");
  assert_int_equal(count_op(&f, "Pad"), 0);
  const comparison c = against(&f, 0, "P44-sole", "output_y");
  assert_true(rounding_only(&c));
  release(&f);
}

static void batch_norm_folds_within_rounding(void **state) {
  (void)state;
  folded f = run("P46");
  assert_int_equal(count_op(&f, "BatchNormalization"), 0);
  assert_int_equal(count_op(&f, "Conv"), 1);
  assert_int_equal(f.report.parity, PARITY_REASSOCIATING); /* so the stage's gate knows that bits may differ */
  const comparison right = against(&f, 0, "P46", "output_y"), wrong = against(&f, 0, "P46", "wrong_y");
  if (!rounding_only(&right)) fail_msg("%g apart of %g, %.1f dB", right.max_abs, right.max_ref, right.sqnr_db);
  assert_false(rounding_only(&wrong)); /* epsilon forgotten: told from rounding by the same bound */
  release(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(padding_of_the_batch_stays),
      cmocka_unit_test(shared_padding_gives_both_outputs),
      cmocka_unit_test(sole_padding_is_absorbed),
      cmocka_unit_test(batch_norm_folds_within_rounding),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
