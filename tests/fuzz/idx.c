/* SPDX-License-Identifier: Apache-2.0 */
/* IDX (MNIST's files). The first byte: the file itself, or bytes that a gzip stream of stored blocks is made around. */
#include <string.h>

#include "formats/idx.h"
#include "fuzz/support/files.h"
#include "fuzz/support/target.h"

/* RFC 1952 header, then one stored block of RFC 1951. */
static size_t make_gzip(uint8_t *out, const uint8_t *bytes, uint16_t n) {
  static const uint8_t header[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
  memcpy(out, header, sizeof header);
  uint8_t *at = out + sizeof header;
  *at++ = 1;
  *at++ = (uint8_t)n, *at++ = (uint8_t)(n >> 8);
  *at++ = (uint8_t)~n, *at++ = (uint8_t)(~n >> 8);
  if (n) memcpy(at, bytes, n);
  return (size_t)(at + n - out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  static uint8_t zipped[(1 << 16) + 64];
  fuzz_bytes all = {bytes, n};
  bool plain = fuzz_take(&all) % 2 == 0;
  if (all.left >= 1 << 16) return 0;
  if (plain)
    fuzz_files_put("x", all.at, all.left);
  else
    fuzz_files_put("x", zipped, make_gzip(zipped, all.at, (uint16_t)all.left));
  diag *d = npuc_diag_create(NULL, NULL);
  tensor t;
  npuc_status status = npuc_idx_read(d, "x", &t);
  fuzz_expect_told(d, status);
  if (status == NPUC_OK) {
    double sum = 0;
    for (int64_t i = 0; i < npuc_tensor_elements(&t); i++) sum += npuc_tensor_get(&t, i);
    (void)sum;
    npuc_tensor_release(&t);
  }
  npuc_diag_destroy(d);
  fuzz_files_clear();
  return 0;
}
