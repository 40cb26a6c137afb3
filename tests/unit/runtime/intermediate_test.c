/* SPDX-License-Identifier: Apache-2.0 */
/* Simulator and integer module agree on every intermediate tensor, not only on outputs: the demo's network, n8, n16 and n32.
 * With arguments BUILD N COUNT it does the same for a build of `npuc compile` (tests/extra/intermediate.sh): its integer module and its baseline's inputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/file.h"
#include "formats/npy.h"
#include "import/onnx/onnx.h"
#include "support/intermediate.h"
#include "support/quantized.h"

#define DEMO NPUC_SOURCE_DIR "/examples/demo/"

static tensor read_floats(const char *path) {
  tensor pictures, floats;
  assert_int_equal(npuc_npy_read(NULL, path, &pictures), NPUC_OK);
  assert_int_equal(npuc_tensor_create(NULL, DTYPE_F32, &pictures.shape, &floats), NPUC_OK);
  for (int64_t i = 0; i < npuc_tensor_elements(&pictures); i++)
    npuc_tensor_set(&floats, i, (npuc_tensor_get(&pictures, i) / 255 - 0.5) / 0.25);
  npuc_tensor_release(&pictures);
  return floats;
}

static void test_demo(void **state) {
  (void)state;
  tensor calib = read_floats(DEMO "calib.npy"), pictures = read_floats(DEMO "test.npy");
  quant_options options = npuc_quant_options_default();
  options.multiplier_bits = 15; /* as refnpu takes it */
  quantized q;
  npuc_quantized_create(DEMO "model.onnx", &calib, &options, &q);
  for (int n = 8; n <= 32; n *= 2) {
    intermediate_counts counts;
    npuc_intermediate_compare(q.integer, n, &pictures, 2, false, &counts);
    print_message("n%d: %zu tensors, %zu of them from streams\n", n, counts.tensors, counts.from_streams);
    assert_int_equal(counts.different, 0);
    assert_true(counts.tensors > 8 && counts.from_streams > 8);
    npuc_intermediate_compare(q.integer, n, &pictures, 2, true, &counts); /* negative control */
    assert_true(counts.different > 0 && counts.different < counts.tensors * counts.samples);
  }
  npuc_quantized_release(&q);
  npuc_tensor_release(&calib);
  npuc_tensor_release(&pictures);
}

/* -- a build from outside -- */

static char **arguments;

static void test_build(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  diag *d = npuc_diag_create(NULL, NULL);
  module *m = NULL;
  tensor floats;
  char **names;
  size_t n_names;
  intermediate_counts counts;
  const char *folder = npuc_path_join(a, arguments[1], "0-baseline/inputs");
  int n = atoi(arguments[2]), count = atoi(arguments[3]);
  if (npuc_onnx_read(d, npuc_arena_printf(a, "%s/5-quantize.refnpu-n%d.onnx", arguments[1], n), &m) != NPUC_OK ||
      npuc_graph_infer(d, m->graphs[0]) != NPUC_OK)
    fail_msg("%s", npuc_diag_first_error(d)->reason);
  assert_int_equal(npuc_dir_list(d, a, folder, &names, &n_names), NPUC_OK);
  assert_int_equal(n_names, 1);
  assert_int_equal(npuc_npy_read(d, npuc_path_join(a, folder, names[0]), &floats), NPUC_OK);
  assert_int_equal(floats.type, DTYPE_F32);
  assert_true(floats.shape.dims[0] >= count);
  npuc_intermediate_compare(m, n, &floats, count, false, &counts);
  print_message("n%d: %zu samples, %zu tensors each (%zu left by the simulator's streams), %zu differ\n", n, counts.samples, counts.tensors,
                counts.from_streams, counts.different);
  assert_int_equal(counts.different, 0);
  npuc_intermediate_compare(m, n, &floats, 1, true, &counts);
  print_message("n%d: control with damaged weights: %zu of %zu differ\n", n, counts.different, counts.tensors);
  assert_true(counts.different > 0);
  npuc_tensor_release(&floats);
  npuc_module_destroy(m);
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
}

int main(int argc, char **argv) {
  const struct CMUnitTest demo[] = {cmocka_unit_test(test_demo)}, build[] = {cmocka_unit_test(test_build)};
  arguments = argv;
  return argc == 4 ? cmocka_run_group_tests(build, NULL, NULL) : cmocka_run_group_tests(demo, NULL, NULL);
}
