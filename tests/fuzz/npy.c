/* SPDX-License-Identifier: Apache-2.0 */
/* A .npy file: what is read is written again and must be read as the same array. */
#include "formats/npy.h"
#include "fuzz/support/files.h"
#include "fuzz/support/target.h"

static void again(diag *d, const tensor *t) {
  tensor same;
  fuzz_expect(npuc_npy_write(d, "again.npy", t) == NPUC_OK, "what was read can be written");
  fuzz_expect(npuc_npy_read(d, "again.npy", &same) == NPUC_OK, "and read");
  fuzz_expect(npuc_tensor_equal(t, &same), "and is the same");
  npuc_tensor_release(&same);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  fuzz_files_put("x.npy", bytes, n);
  diag *d = npuc_diag_create(NULL, NULL);
  tensor t;
  npuc_status status = npuc_npy_read(d, "x.npy", &t);
  fuzz_expect_told(d, status);
  if (status == NPUC_OK) {
    again(d, &t);
    npuc_tensor_release(&t);
  }
  npuc_diag_destroy(d);
  fuzz_files_clear();
  return 0;
}
