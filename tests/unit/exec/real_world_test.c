/* SPDX-License-Identifier: Apache-2.0 */
/* Public bug reports against other toolchains (tests/data/cases) in the executor: the right values within 1e-5 of the largest, and the wrong
 * answers that others gave told from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/executor.h"
#include "formats/npy.h"
#include "import/onnx/onnx.h"
#include "tensor/compare.h"

#define CASES NPUC_SOURCE_DIR "/tests/data/cases/"

typedef struct numeric_case {
  const char *name;
  const char *outputs[2]; /* in the graph's order */
  bool has_wrong;
} numeric_case;

static const numeric_case cases[] = {
    {"P10", {"y"}, true},
    {"P12", {"y"}, true},
    {"P43", {"y"}, true},
    {"P44", {"a", "b"}, false},
    {"P44-spatial", {"a", "b"}, false},
    {"P44-sole", {"y"}, false},
    {"P46", {"y"}, true},
    {"P60", {"y"}, true},
    {"P60-balanced", {"y"}, true},
    {"P62", {"y"}, true},
    {"P66", {"y"}, false},
};

static bool near(const tensor *got, const tensor *wanted) {
  comparison c;
  if (got->type != wanted->type || got->shape.rank != wanted->shape.rank) return false;
  for (int32_t i = 0; i < got->shape.rank; i++) {
    if (got->shape.dims[i] != wanted->shape.dims[i]) return false;
  }
  assert_int_equal(npuc_compare(NULL, got, wanted, &c), NPUC_OK);
  return c.finite && c.max_abs <= 1e-5 * c.max_ref;
}

static tensor load(arena *a, const char *name, const char *kind, const char *port) {
  tensor t;
  const char *path = npuc_arena_printf(a, CASES "%s/%s_%s.npy", name, kind, port);
  if (npuc_npy_read(NULL, path, &t) != NPUC_OK) fail_msg("%s cannot be read", path);
  return t;
}

static void check_outputs(arena *a, const numeric_case *c, const tensor *outputs) {
  for (size_t i = 0; i < 2 && c->outputs[i]; i++) {
    tensor wanted = load(a, c->name, "output", c->outputs[i]);
    if (!near(&outputs[i], &wanted)) fail_msg("%s: output %s is not the right one", c->name, c->outputs[i]);
    npuc_tensor_release(&wanted);
    if (!c->has_wrong) continue;
    tensor wrong = load(a, c->name, "wrong", c->outputs[i]);
    if (near(&outputs[i], &wrong)) fail_msg("%s: output %s is the known wrong one", c->name, c->outputs[i]);
    npuc_tensor_release(&wrong);
  }
}

static void values_are_right(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const numeric_case *c = &cases[i];
    diag *d = npuc_diag_create(NULL, NULL);
    module *m = NULL;
    executor *e = NULL;
    tensor outputs[2], stored = load(a, c->name, "input", "x"), input;
    npuc_status status = npuc_onnx_read(d, npuc_arena_printf(a, CASES "%s/model.onnx", c->name), &m);
    if (status == NPUC_OK) status = npuc_tensor_align(d, &stored, &input);
    if (status == NPUC_OK) status = npuc_executor_create(d, m->graphs[0], &(exec_options){0}, &e);
    if (status == NPUC_OK) status = npuc_executor_run(e, d, &input, outputs);
    if (status != NPUC_OK) fail_msg("%s: %s", c->name, npuc_diag_first_error(d)->reason);
    check_outputs(a, c, outputs);
    npuc_executor_destroy(e);
    npuc_module_destroy(m);
    npuc_tensor_release(&input);
    npuc_tensor_release(&stored);
    npuc_diag_destroy(d);
  }
  npuc_arena_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(values_are_right)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
