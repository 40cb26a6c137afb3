/* SPDX-License-Identifier: Apache-2.0 */
/* .npy, .npz and IDX as NumPy and gzip write them (tests/data/formats/make.py), what is refused, and damaged files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/idx.h"
#include "formats/npy.h"
#include "formats/npz.h"
#include "support/damage.h"
#include "support/scratch.h"

#define DATA NPUC_SOURCE_DIR "/tests/data/formats/"

static void is_the_array(const tensor *t) { /* arange(24).reshape(2, 3, 4) / 8 */
  assert_int_equal(t->type, DTYPE_F32);
  assert_int_equal(t->shape.rank, 3);
  assert_int_equal(t->shape.dims[0] * 100 + t->shape.dims[1] * 10 + t->shape.dims[2], 234);
  for (int i = 0; i < 24; i++) assert_true(npuc_tensor_get(t, i) == i / 8.0);
}

static void numpys_files_are_read(void **state) {
  (void)state;
  tensor t;
  assert_int_equal(npuc_npy_read(NULL, DATA "f32.npy", &t), NPUC_OK);
  is_the_array(&t);
  npuc_tensor_release(&t);
  assert_int_equal(npuc_npy_read(NULL, DATA "fortran.npy", &t), NPUC_OK);
  is_the_array(&t);
  npuc_tensor_release(&t);
  assert_int_equal(npuc_npy_read(NULL, DATA "scalar.npy", &t), NPUC_OK);
  assert_int_equal(t.shape.rank, 0);
  assert_true(npuc_tensor_get(&t, 0) == 2.5);
  npuc_tensor_release(&t);
  assert_int_equal(npuc_npy_read(NULL, DATA "i16.npy", &t), NPUC_OK);
  assert_int_equal(npuc_tensor_get_int(&t, 0), -3);
  assert_int_equal(npuc_tensor_get_int(&t, 2), 300);
  npuc_tensor_release(&t);
  assert_int_equal(npuc_npy_read(NULL, DATA "empty.npy", &t), NPUC_OK);
  assert_int_equal(npuc_tensor_elements(&t), 0);
  npuc_tensor_release(&t);
}

static void other_types_are_refused(void **state) {
  (void)state;
  static const char *const files[] = {DATA "big.npy", DATA "text.npy"};
  for (size_t i = 0; i < 2; i++) {
    diag *d = npuc_diag_create(NULL, NULL);
    tensor t;
    assert_int_equal(npuc_npy_read(d, files[i], &t), NPUC_UNSUPPORTED);
    assert_int_equal(npuc_diag_first_error(d)->code, NPUC_DIAG_E0211);
    assert_true(npuc_diag_first_error(d)->n_fixes == 1);
    npuc_diag_destroy(d);
  }
}

static void same_file(const char *a, const char *b) {
  mapped_file *f, *g;
  assert_int_equal(npuc_file_map(NULL, a, &f), NPUC_OK);
  assert_int_equal(npuc_file_map(NULL, b, &g), NPUC_OK);
  assert_int_equal(npuc_file_size(f), npuc_file_size(g));
  assert_memory_equal(npuc_file_bytes(f), npuc_file_bytes(g), npuc_file_size(f));
  npuc_file_release(f);
  npuc_file_release(g);
}

static void what_is_written_is_numpys_bytes(void **state) {
  (void)state;
  static const char *const files[] = {DATA "f32.npy", DATA "scalar.npy", DATA "i16.npy", DATA "empty.npy", DATA "bool.npy"};
  arena *a = npuc_arena_create();
  char *dir = npuc_scratch_create(a), *path = npuc_path_join(a, dir, "x.npy");
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    tensor t;
    assert_int_equal(npuc_npy_read(NULL, files[i], &t), NPUC_OK);
    assert_int_equal(npuc_npy_write(NULL, path, &t), NPUC_OK);
    npuc_tensor_release(&t);
    same_file(path, files[i]);
  }
  npuc_scratch_remove(dir);
  npuc_arena_destroy(a);
}

static void types_that_numpy_lacks_are_widened(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  char *dir = npuc_scratch_create(a), *path = npuc_path_join(a, dir, "x.npy");
  tensor t, back;
  const double values[] = {1.5, -2, 0.25};
  const int64_t small[] = {-8, 7, 1};
  assert_int_equal(npuc_tensor_of_floats(NULL, DTYPE_BF16, values, 3, &t), NPUC_OK);
  assert_int_equal(npuc_npy_write(NULL, path, &t), NPUC_OK);
  npuc_tensor_release(&t);
  assert_int_equal(npuc_npy_read(NULL, path, &back), NPUC_OK);
  assert_int_equal(back.type, DTYPE_F32);
  for (int i = 0; i < 3; i++) assert_true(npuc_tensor_get(&back, i) == values[i]);
  npuc_tensor_release(&back);
  assert_int_equal(npuc_tensor_of_ints(NULL, DTYPE_I4, small, 3, &t), NPUC_OK);
  assert_int_equal(npuc_npy_write(NULL, path, &t), NPUC_OK);
  npuc_tensor_release(&t);
  assert_int_equal(npuc_npy_read(NULL, path, &back), NPUC_OK);
  assert_int_equal(back.type, DTYPE_I8);
  for (int i = 0; i < 3; i++) assert_int_equal(npuc_tensor_get_int(&back, i), small[i]);
  npuc_tensor_release(&back);
  npuc_scratch_remove(dir);
  npuc_arena_destroy(a);
}

static void archives_are_read(void **state) {
  (void)state;
  static const char *const files[] = {DATA "stored.npz", DATA "deflated.npz"};
  for (size_t i = 0; i < 2; i++) {
    npz z;
    assert_int_equal(npuc_npz_read(NULL, files[i], &z), NPUC_OK);
    assert_int_equal(z.n, 2);
    is_the_array(npuc_npz_get(&z, "x"));
    assert_int_equal(npuc_tensor_get_int(npuc_npz_get(&z, "y"), 1), 2);
    assert_null(npuc_npz_get(&z, "z"));
    npuc_npz_release(&z);
  }
}

static void idx_is_read_plain_and_zipped(void **state) {
  (void)state;
  static const char *const files[] = {DATA "three-images-idx3-ubyte", DATA "three-images-idx3-ubyte.gz"};
  for (size_t i = 0; i < 2; i++) {
    tensor t;
    assert_int_equal(npuc_idx_read(NULL, files[i], &t), NPUC_OK);
    assert_int_equal(t.shape.dims[0] * 100 + t.shape.dims[1] * 10 + t.shape.dims[2], 345);
    for (int k = 0; k < 60; k++) assert_int_equal(npuc_tensor_get_int(&t, k), k * 7 % 256);
    npuc_tensor_release(&t);
  }
  tensor t;
  assert_int_equal(npuc_idx_read(NULL, DATA "shorts-idx", &t), NPUC_OK);
  assert_int_equal(t.type, DTYPE_I16);
  assert_int_equal(npuc_tensor_get_int(&t, 0), -2);
  assert_int_equal(npuc_tensor_get_int(&t, 1), 513);
  npuc_tensor_release(&t);
}

static npuc_status read_npy(diag *d, const char *path) {
  tensor t;
  NPUC_TRY(npuc_npy_read(d, path, &t));
  npuc_tensor_release(&t);
  return NPUC_OK;
}

static npuc_status read_npz(diag *d, const char *path) {
  npz z;
  NPUC_TRY(npuc_npz_read(d, path, &z));
  npuc_npz_release(&z);
  return NPUC_OK;
}

static npuc_status read_idx(diag *d, const char *path) {
  tensor t;
  NPUC_TRY(npuc_idx_read(d, path, &t));
  npuc_tensor_release(&t);
  return NPUC_OK;
}

/* Every prefix is refused at least: 224 bytes of .npy have 224 proper prefixes. */
static void damaged_files_are_refused_or_read(void **state) {
  (void)state;
  assert_true(npuc_damage_try(DATA "f32.npy", "x.npy", read_npy) >= 224);
  assert_true(npuc_damage_try(DATA "fortran.npy", "x.npy", read_npy) >= 224);
  assert_true(npuc_damage_try(DATA "three-images-idx3-ubyte", "x", read_idx) >= 76);
  assert_true(npuc_damage_try(DATA "three-images-idx3-ubyte.gz", "x.gz", read_idx) > 50);
  assert_true(npuc_damage_try(DATA "stored.npz", "x.npz", read_npz) > 500);
  assert_true(npuc_damage_try(DATA "deflated.npz", "x.npz", read_npz) > 500);
}

/* Ten gigabytes promised in a hundred bytes. */
static void huge_claims_are_refused(void **state) {
  (void)state;
  diag_code code = NPUC_DIAG_E0001;
  char npy[128];
  memset(npy, ' ', sizeof npy);
  memcpy(npy, "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': True, 'shape': (50000, 50000), }", 74);
  npy[127] = '\n';
  assert_int_equal(npuc_damage_bytes(npy, sizeof npy, "x.npy", read_npy, &code), NPUC_BAD_INPUT);
  assert_int_equal(code, NPUC_DIAG_E0210);
  assert_int_equal(npuc_damage_bytes("\0\0\x08\x03\0\x98\x96\x80\0\0\x04\0\0\0\x04\0", 16, "x", read_idx, &code), NPUC_BAD_INPUT);
  assert_int_equal(code, NPUC_DIAG_E0213);
  assert_int_equal(npuc_damage_bytes("", 0, "x", read_idx, &code), NPUC_BAD_INPUT);
  assert_int_equal(npuc_damage_bytes("", 0, "x", read_npy, &code), NPUC_BAD_INPUT);
  assert_int_equal(npuc_damage_bytes("", 0, "x", read_npz, &code), NPUC_BAD_INPUT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numpys_files_are_read),
      cmocka_unit_test(other_types_are_refused),
      cmocka_unit_test(what_is_written_is_numpys_bytes),
      cmocka_unit_test(types_that_numpy_lacks_are_widened),
      cmocka_unit_test(archives_are_read),
      cmocka_unit_test(idx_is_read_plain_and_zipped),
      cmocka_unit_test(damaged_files_are_refused_or_read),
      cmocka_unit_test(huge_claims_are_refused),
  };
  return cmocka_run_group_tests_name("arrays", tests, NULL, NULL);
}
