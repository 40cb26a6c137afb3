/* SPDX-License-Identifier: Apache-2.0 */
/* An ONNX file: read, verified, inferred, normalized, made static; then what is left must be writable, and readable again with as many nodes. The mutator
 * (support/onnx_mutate.c) keeps the wire right and changes what it says. */
#include "fuzz/support/files.h"
#include "fuzz/support/onnx_mutate.h"
#include "fuzz/support/target.h"
#include "import/onnx/onnx.h"
#include "passes/pass.h"

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t most, unsigned int seed) { return fuzz_onnx_mutate(bytes, n, most, seed); }

static npuc_status run_pipelines(diag *d, arena *a, module *m) {
  static const char *const pipelines[] = {"normalize", "static", "adapt"};
  const pass_options options = {.dims = &(dim_binding){"N", 2}, .n_dims = 1, .limit = -1};
  for (size_t i = 0; i < sizeof pipelines / sizeof *pipelines; i++) {
    pass_report report;
    NPUC_TRY(npuc_passes_run(d, a, m, pipelines[i], &options, &report));
  }
  return NPUC_OK;
}

static void write_and_read(diag *d, const module *m) {
  fuzz_expect(npuc_onnx_write(d, m, "again.onnx", NULL) == NPUC_OK, "what was read can be written");
  module *again;
  npuc_status status = npuc_onnx_read(d, "again.onnx", &again);
  fuzz_expect_told(d, status);
  fuzz_expect(status == NPUC_OK, "what was written can be read");
  fuzz_expect(again->graphs[0]->n_nodes == m->graphs[0]->n_nodes, "with the same nodes");
  npuc_module_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  fuzz_files_put("m.onnx", bytes, n);
  fuzz_files_put("weights.bin", "0123456789abcdef0123456789abcdef", 32);
  arena *a = npuc_arena_create();
  diag *d = npuc_diag_create(NULL, NULL);
  module *m;
  npuc_status status = npuc_onnx_read(d, "m.onnx", &m);
  fuzz_expect_told(d, status);
  if (status == NPUC_OK) {
    status = run_pipelines(d, a, m);
    fuzz_expect_told(d, status);
    if (status == NPUC_OK) write_and_read(d, m);
    npuc_module_destroy(m);
  }
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
  fuzz_files_clear();
  return 0;
}
