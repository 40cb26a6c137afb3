/* SPDX-License-Identifier: Apache-2.0 */
#include "support/npu_bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/hash.h"

uint8_t *npuc_npu_bytes_read(arena *a, const char *path, size_t *out_n) {
  mapped_file *f;
  assert_int_equal(npuc_file_map(NULL, path, &f), NPUC_OK);
  *out_n = npuc_file_size(f);
  uint8_t *bytes = npuc_arena_copy(a, npuc_file_bytes(f), *out_n);
  npuc_file_release(f);
  return bytes;
}

void npuc_npu_bytes_write(const char *path, const uint8_t *bytes, size_t n) {
  (void)remove(path); /* a new file is not flushed to the disk when it is closed */
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
}

static uint8_t *entry_of(uint8_t *bytes, const char *kind) {
  uint32_t sections;
  memcpy(&sections, bytes + 24, 4);
  for (uint32_t i = 0; i < sections; i++) {
    if (memcmp(bytes + 64 + 48 * i, kind, 4) == 0) return bytes + 64 + 48 * i;
  }
  return NULL;
}

void npuc_npu_bytes_find(const uint8_t *bytes, const char *kind, uint64_t *out_offset, uint64_t *out_bytes) {
  const uint8_t *entry = entry_of((uint8_t *)(uintptr_t)bytes, kind);
  assert_non_null(entry);
  memcpy(out_offset, entry + 8, 8);
  memcpy(out_bytes, entry + 16, 8);
}

static void seal_weights(uint8_t *bytes) {
  if (!entry_of(bytes, "WGTS") || !entry_of(bytes, "WCRC")) return;
  uint64_t weights, n, sums, sums_bytes;
  npuc_npu_bytes_find(bytes, "WGTS", &weights, &n);
  npuc_npu_bytes_find(bytes, "WCRC", &sums, &sums_bytes);
  const uint64_t block = 1 << 20;
  for (uint64_t i = 0; i * block < n && 4 * i < sums_bytes; i++) {
    uint32_t crc = npuc_crc32c(0, bytes + weights + i * block, (size_t)(n - i * block < block ? n - i * block : block));
    memcpy(bytes + sums + 4 * i, &crc, 4);
  }
}

void npuc_npu_bytes_seal(uint8_t *bytes) {
  uint32_t sections, crc;
  memcpy(&sections, bytes + 24, 4);
  seal_weights(bytes);
  for (uint32_t i = 0; i < sections; i++) {
    uint8_t *entry = bytes + 64 + 48 * i;
    uint64_t offset, n;
    memcpy(&offset, entry + 8, 8);
    memcpy(&n, entry + 16, 8);
    if (memcmp(entry, "WGTS", 4) == 0) continue;
    crc = npuc_crc32c(0, bytes + offset, (size_t)n);
    memcpy(entry + 32, &crc, 4);
  }
  crc = npuc_crc32c(0, bytes + 64, 48 * (size_t)sections);
  memcpy(bytes + 32, &crc, 4);
  crc = npuc_crc32c(0, bytes, 60);
  memcpy(bytes + 60, &crc, 4);
}
