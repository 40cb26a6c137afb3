/* SPDX-License-Identifier: Apache-2.0 */
#include "support/damage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "support/scratch.h"

static void put_file(const char *path, const uint8_t *bytes, size_t n) {
  (void)remove(path); /* a truncated file is flushed to the disk when it is closed, a new one is not */
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  if (n) assert_int_equal(fwrite(bytes, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
}

static size_t try_bytes(const char *path, const uint8_t *bytes, size_t n, damage_reader *read, diag_code *out_code) {
  put_file(path, bytes, n);
  diag *d = npuc_diag_create(NULL, NULL);
  npuc_status status = read(d, path);
  assert_int_not_equal(status, NPUC_INTERNAL);
  if (status != NPUC_OK) {
    assert_non_null(npuc_diag_first_error(d));
    if (out_code) *out_code = npuc_diag_first_error(d)->code;
  }
  npuc_diag_destroy(d);
  return status != NPUC_OK;
}

size_t npuc_damage_try(const char *valid, const char *as, damage_reader *read) {
  arena *a = npuc_arena_create();
  char *dir = npuc_scratch_create(a), *path = npuc_path_join(a, dir, as);
  mapped_file *file;
  assert_int_equal(npuc_file_map(NULL, valid, &file), NPUC_OK);
  size_t n = npuc_file_size(file), refused = 0;
  uint8_t *bytes = npuc_arena_copy(a, npuc_file_bytes(file), n);
  npuc_file_release(file);
  assert_int_equal(try_bytes(path, bytes, n, read, NULL), 0); /* control: undamaged, it is read */
  for (size_t i = 0; i < n; i++) refused += try_bytes(path, bytes, i, read, NULL);
  static const uint8_t changes[] = {0x01, 0x80, 0xff};
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < sizeof changes; k++) {
      bytes[i] ^= changes[k];
      refused += try_bytes(path, bytes, n, read, NULL);
      bytes[i] ^= changes[k];
    }
  }
  npuc_scratch_remove(dir);
  npuc_arena_destroy(a);
  return refused;
}

npuc_status npuc_damage_bytes(const void *bytes, size_t n, const char *as, damage_reader *read, diag_code *out_code) {
  arena *a = npuc_arena_create();
  char *dir = npuc_scratch_create(a), *path = npuc_path_join(a, dir, as);
  size_t refused = try_bytes(path, bytes, n, read, out_code);
  npuc_scratch_remove(dir);
  npuc_arena_destroy(a);
  return refused ? npuc_diag_info(*out_code)->status : NPUC_OK;
}
