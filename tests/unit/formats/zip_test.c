/* SPDX-License-Identifier: Apache-2.0 */
/* Archives as Python writes them (tests/data/formats/make_zip.py): stored members are views, deflated ones are inflated, an archive in an
 * archive opens on its bytes; archives made to deceive are refused before memory is asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/zip.h"
#include "support/damage.h"

#define DATA NPUC_SOURCE_DIR "/tests/data/formats/"

static zip_archive *open_file(diag *d, const char *path) {
  mapped_file *file;
  assert_int_equal(npuc_file_map(d, path, &file), NPUC_OK);
  blob *b = npuc_blob_from_file(file);
  npuc_file_release(file);
  zip_archive *z;
  npuc_status status = npuc_zip_open(d, path, b, npuc_blob_data(b), npuc_blob_size(b), &z);
  npuc_blob_release(b);
  return status == NPUC_OK ? z : NULL;
}

static void has_the_two(const zip_archive *z, bool stored) {
  assert_int_equal(npuc_zip_count(z), 2);
  assert_string_equal(npuc_zip_at(z, 1)->name, "second.txt");
  assert_null(npuc_zip_find(z, "first.bin"));
  const zip_member *m = npuc_zip_find(z, "a/first.bin");
  assert_int_equal(m->stored, stored);
  blob *owner;
  const uint8_t *data;
  assert_int_equal(npuc_zip_read(NULL, z, m, true, &owner, &data), NPUC_OK);
  assert_int_equal(m->bytes, 64);
  for (size_t i = 0; i < 64; i++) assert_int_equal(data[i], i);
  const mapped_file *file;
  size_t offset;
  assert_int_equal(npuc_blob_locate(owner, data, &file, &offset), stored);
  npuc_blob_release(owner);
  m = npuc_zip_find(z, "second.txt");
  assert_int_equal(npuc_zip_read(NULL, z, m, true, &owner, &data), NPUC_OK);
  assert_int_equal(m->bytes, 400);
  assert_memory_equal(data + 396, "two ", 4);
  npuc_blob_release(owner);
}

static void pythons_archives_are_read(void **state) {
  (void)state;
  static const char *const files[] = {DATA "stored.zip", DATA "deflated.zip", DATA "zip64.zip"};
  for (size_t i = 0; i < 3; i++) {
    zip_archive *z = open_file(NULL, files[i]);
    has_the_two(z, i != 1);
    npuc_zip_close(z);
  }
}

static void an_archive_in_an_archive_is_read_in_place(void **state) {
  (void)state;
  zip_archive *outer = open_file(NULL, DATA "nested.zip"), *inner;
  const zip_member *m = npuc_zip_at(outer, 0);
  blob *owner;
  const uint8_t *data;
  assert_int_equal(npuc_zip_read(NULL, outer, m, false, &owner, &data), NPUC_OK);
  assert_int_equal(npuc_zip_open(NULL, "inner.zip", owner, data, (size_t)m->bytes, &inner), NPUC_OK);
  npuc_blob_release(owner);
  npuc_zip_close(outer);
  has_the_two(inner, true);
  npuc_zip_close(inner);
}

static void deceivers_are_refused(void **state) {
  (void)state;
  static const char *const files[] = {DATA "twice.zip", DATA "bomb.zip", DATA "encrypted.zip", DATA "f32.npy"};
  for (size_t i = 0; i < 4; i++) {
    diag *d = npuc_diag_create(NULL, NULL);
    assert_null(open_file(d, files[i]));
    assert_int_equal(npuc_diag_first_error(d)->code, NPUC_DIAG_E0214);
    npuc_diag_destroy(d);
  }
}

static void a_stored_members_checksum_is_compared_on_demand(void **state) {
  (void)state;
  zip_archive *z = open_file(NULL, DATA "wrong-crc.zip");
  const zip_member *m = npuc_zip_find(z, "a/first.bin");
  blob *owner;
  const uint8_t *data;
  assert_int_equal(npuc_zip_read(NULL, z, m, true, &owner, &data), NPUC_BAD_INPUT);
  assert_int_equal(npuc_zip_read(NULL, z, m, false, &owner, &data), NPUC_OK);
  npuc_blob_release(owner);
  npuc_zip_close(z);
}

static npuc_status read_all(diag *d, const char *path) {
  mapped_file *file;
  NPUC_TRY(npuc_file_map(d, path, &file));
  blob *b = npuc_blob_from_file(file), *owner;
  npuc_file_release(file);
  zip_archive *z;
  npuc_status status = npuc_zip_open(d, path, b, npuc_blob_data(b), npuc_blob_size(b), &z);
  npuc_blob_release(b);
  if (status != NPUC_OK) return status;
  for (size_t i = 0; status == NPUC_OK && i < npuc_zip_count(z); i++) {
    const uint8_t *data;
    status = npuc_zip_read(d, z, npuc_zip_at(z, i), true, &owner, &data);
    if (status == NPUC_OK) npuc_blob_release(owner);
  }
  npuc_zip_close(z);
  return status;
}

static void damaged_archives_are_refused(void **state) {
  (void)state;
  assert_true(npuc_damage_try(DATA "deflated.zip", "x.zip", read_all) > 300);
  assert_true(npuc_damage_try(DATA "zip64.zip", "x.zip", read_all) > 500);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pythons_archives_are_read),    cmocka_unit_test(an_archive_in_an_archive_is_read_in_place),
      cmocka_unit_test(deceivers_are_refused),        cmocka_unit_test(a_stored_members_checksum_is_compared_on_demand),
      cmocka_unit_test(damaged_archives_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
