/* SPDX-License-Identifier: Apache-2.0 */
/* A .pt2 archive of torch.export: recognised, read, normalized, written as ONNX and read again. */
#include "fuzz/support/files.h"
#include "fuzz/support/target.h"
#include "fuzz/support/zip_mutate.h"
#include "import/onnx/onnx.h"
#include "import/read.h"
#include "passes/pass.h"

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t most, unsigned int seed) { return fuzz_zip_mutate(bytes, n, most, seed); }

static void write_and_read(diag *d, const module *m) {
  npuc_status status = npuc_onnx_write(d, m, "again.onnx", NULL);
  fuzz_expect_told(d, status);
  if (status != NPUC_OK) return;
  module *again;
  status = npuc_onnx_read(d, "again.onnx", &again);
  fuzz_expect_told(d, status);
  fuzz_expect(status == NPUC_OK, "what was written can be read");
  npuc_module_destroy(again);
}

/* E0338 is the reader's own mistake, or a program that lies of a result: a mutated one does, and is told so. */
static void expect_told(const diag *d, npuc_status status) {
  const diag_record *r = npuc_diag_first_error(d);
  if (status != NPUC_INTERNAL || !r || r->code != NPUC_DIAG_E0338) fuzz_expect_told(d, status);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  fuzz_files_put("m.pt2", bytes, n);
  arena *a = npuc_arena_create();
  diag *d = npuc_diag_create(NULL, NULL);
  module *m;
  npuc_status status = npuc_source_read(d, "m.pt2", &m);
  expect_told(d, status);
  if (status == NPUC_OK) {
    pass_report report;
    write_and_read(d, m);
    fuzz_expect_told(d, npuc_passes_run(d, a, m, "normalize", &(pass_options){.limit = -1}, &report));
    npuc_module_destroy(m);
  }
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
  fuzz_files_clear();
  return 0;
}
