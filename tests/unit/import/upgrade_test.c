/* SPDX-License-Identifier: Apache-2.0 */
/* Every old form of an operator (tests/data/onnx_old, made by make.py there) is read, brought to opset 28, run, and compared with what ONNX Runtime computed
 * from the old file. Then it is written, read again and must still give the same bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/executor.h"
#include "formats/npz.h"
#include "import/onnx/onnx.h"
#include "support/scratch.h"
#include "tensor/compare.h"

#define OLD NPUC_SOURCE_DIR "/tests/data/onnx_old"

static module *read_model(const char *path) {
  diag *d = npuc_diag_create(NULL, NULL);
  module *m = NULL;
  if (npuc_onnx_read(d, path, &m) != NPUC_OK) fail_msg("%s: %s", path, npuc_diag_first_error(d)->reason);
  npuc_diag_destroy(d);
  return m;
}

/* Largest difference over all outputs; fails when types or shapes differ. */
static double run(const char *path, const module *m, const npz *z) {
  diag *d = npuc_diag_create(NULL, NULL);
  const graph *g = m->graphs[0];
  executor *e = NULL;
  tensor outputs[4] = {{0}};
  const exec_options options = {0};
  npuc_status status = npuc_executor_create(d, g, &options, &e);
  if (status == NPUC_OK) status = npuc_executor_run(e, d, npuc_npz_get(z, "x"), outputs);
  if (status != NPUC_OK) fail_msg("%s: %s", path, npuc_diag_first_error(d)->reason);
  double worst = 0;
  for (size_t i = 0; i < g->n_outputs; i++) {
    char name[24];
    (void)snprintf(name, sizeof name, "y%zu", i);
    const tensor *want = npuc_npz_get(z, name);
    assert_non_null(want);
    if (outputs[i].type != want->type || !npuc_shape_equal(&outputs[i].shape, &want->shape))
      fail_msg("%s: output %zu has another type or shape", path, i);
    comparison c;
    assert_int_equal(npuc_compare(d, &outputs[i], want, &c), NPUC_OK);
    if (c.max_abs > worst) worst = c.max_abs;
  }
  npuc_executor_destroy(e);
  npuc_diag_destroy(d);
  return worst;
}

static void old_forms_give_onnx_runtimes_results(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  char *dir = npuc_scratch_create(a), *copy = npuc_path_join(a, dir, "copy.onnx");
  char **names;
  size_t n, seen = 0;
  assert_int_equal(npuc_dir_list(NULL, a, OLD, &names, &n), NPUC_OK);
  for (size_t i = 0; i < n; i++) {
    char *end = strstr(names[i], ".onnx");
    if (!end) continue;
    const char *path = npuc_path_join(a, OLD, names[i]);
    npz z;
    assert_int_equal(npuc_npz_read(NULL, npuc_arena_printf(a, "%s/%.*s.npz", OLD, (int)(end - names[i]), names[i]), &z), NPUC_OK);
    module *m = read_model(path), *again;
    double worst = run(path, m, &z);
    if (worst > 2e-6) fail_msg("%s: differs from ONNX Runtime by %g", path, worst);
    assert_int_equal(npuc_onnx_write(NULL, m, copy, NULL), NPUC_OK);
    again = read_model(copy);
    if (run(copy, again, &z) != worst) fail_msg("%s: written and read it gives another result", path);
    npuc_module_destroy(again);
    npuc_module_destroy(m);
    npuc_npz_release(&z);
    seen++;
  }
  assert_true(seen >= 50);
  npuc_scratch_remove(dir);
  npuc_arena_destroy(a);
}

/* Negative control: read as what it is not (the present meaning of axis = 1), an old softmax gives another result, which the comparison must see. */
static void a_softmax_not_upgraded_is_told_apart(void **state) {
  (void)state;
  npz z;
  assert_int_equal(npuc_npz_read(NULL, OLD "/softmax_12_flatten.npz", &z), NPUC_OK);
  module *m = npuc_module_create();
  graph *g = npuc_graph_create(m, "wrong");
  value *x = npuc_graph_add_input(g, "x", DTYPE_F32, &npuc_npz_get(&z, "x")->shape);
  node *n = npuc_graph_insert_node(g, NULL, npuc_op(OP_SOFTMAX), "y0", &x, 1, 1, NULL);
  npuc_graph_add_output(g, n->outputs[0]);
  assert_int_equal(npuc_graph_infer(NULL, g), NPUC_OK);
  assert_true(run("control", m, &z) > 1e-2);
  npuc_module_destroy(m);
  npuc_npz_release(&z);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(old_forms_give_onnx_runtimes_results),
      cmocka_unit_test(a_softmax_not_upgraded_is_told_apart),
  };
  return cmocka_run_group_tests_name("onnx upgrade", tests, NULL, NULL);
}
