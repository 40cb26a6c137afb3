/* SPDX-License-Identifier: Apache-2.0 */
/* A file of torch.save, zip or legacy: every tensor's elements are read. */
#include "fuzz/support/files.h"
#include "fuzz/support/target.h"
#include "fuzz/support/zip_mutate.h"
#include "import/torch/torch.h"

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t most, unsigned int seed) { return fuzz_zip_mutate(bytes, n, most, seed); }

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  fuzz_files_put("x.pt", bytes, n);
  diag *d = npuc_diag_create(NULL, NULL);
  torch_file *f;
  npuc_status status = npuc_torch_open(d, "x.pt", &f);
  fuzz_expect_told(d, status);
  if (status == NPUC_OK) {
    unsigned sum = 0;
    for (size_t i = 0; i < npuc_torch_count(f) && i < 64; i++) {
      const tensor *t = &npuc_torch_at(f, i)->value;
      for (size_t k = 0; k < t->bytes && k < 1 << 16; k++) sum += ((const uint8_t *)t->data)[k];
      if (t->bytes) sum += ((const uint8_t *)t->data)[t->bytes - 1];
    }
    fuzz_expect(sum < UINT32_MAX, "bytes");
    npuc_torch_close(f);
  }
  npuc_diag_destroy(d);
  fuzz_files_clear();
  return 0;
}
