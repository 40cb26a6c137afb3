/* SPDX-License-Identifier: Apache-2.0 */
/* A .npz archive. The first byte says what the rest is: the archive itself, or one member's bytes for which a right archive (stored, checksum and sizes right) is
 * made around: few changes by chance get past a zip's checksum. */
#include <string.h>
#include <zlib.h>

#include "formats/npz.h"
#include "fuzz/support/files.h"
#include "fuzz/support/target.h"

static uint8_t *put(uint8_t *at, uint32_t value, size_t width) {
  for (size_t i = 0; i < width; i++) *at++ = (uint8_t)(value >> (8 * i));
  return at;
}

/* What the local header and the central directory share: from "version needed" to the name's length. */
static uint8_t *put_facts(uint8_t *at, const uint8_t *bytes, uint32_t n, uint32_t name) {
  at = put(put(put(at, 20, 2), 0, 2), 0, 2); /* version, flags, stored */
  at = put(put(at, 0, 2), 0x21, 2);          /* time, date */
  at = put(put(put(at, (uint32_t)crc32(0, bytes, n), 4), n, 4), n, 4);
  return put(put(at, name, 2), 0, 2);
}

static size_t make_archive(uint8_t *out, const uint8_t *bytes, uint32_t n) {
  static const char name[] = "x.npy";
  const uint32_t length = sizeof name - 1;
  uint8_t *at = put_facts(put(out, 0x04034b50, 4), bytes, n, length);
  memcpy(at, name, length);
  if (n) memcpy(at + length, bytes, n);
  at += length + n;
  uint32_t directory = (uint32_t)(at - out);
  at = put_facts(put(put(at, 0x02014b50, 4), 20, 2), bytes, n, length);
  at = put(put(put(put(put(at, 0, 2), 0, 2), 0, 2), 0, 4), 0, 4); /* comment, disk, attributes, offset of the local header */
  memcpy(at, name, length);
  at += length;
  uint32_t bytes_of_directory = (uint32_t)(at - out) - directory;
  at = put(put(put(at, 0x06054b50, 4), 0, 2), 0, 2);
  at = put(put(put(put(put(at, 1, 2), 1, 2), bytes_of_directory, 4), directory, 4), 0, 2);
  return (size_t)(at - out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  static uint8_t archive[(1 << 16) + 256];
  fuzz_bytes all = {bytes, n};
  bool whole = fuzz_take(&all) % 2 == 0;
  if (all.left > 1 << 16) return 0;
  if (whole)
    fuzz_files_put("x.npz", all.at, all.left);
  else
    fuzz_files_put("x.npz", archive, make_archive(archive, all.at, (uint32_t)all.left));
  diag *d = npuc_diag_create(NULL, NULL);
  npz z;
  npuc_status status = npuc_npz_read(d, "x.npz", &z);
  fuzz_expect_told(d, status);
  if (status == NPUC_OK) {
    if (!whole) fuzz_expect(z.n == 1 && npuc_npz_get(&z, "x") != NULL, "the only member is found");
    npuc_npz_release(&z);
  }
  npuc_diag_destroy(d);
  fuzz_files_clear();
  return 0;
}
