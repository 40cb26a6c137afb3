/* SPDX-License-Identifier: Apache-2.0 */
/* torch.save's files as torch writes them (tests/data/torch/make.py): both forms, windows on a shared storage, every element type; what runs
 * code, lies about sizes or is something else is refused by name; damaged files never crash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "import/torch/torch.h"
#include "support/damage.h"

#define DATA NPUC_SOURCE_DIR "/tests/data/torch/"

static const tensor *get(const torch_file *f, const char *name, int32_t rank, int64_t first) {
  const torch_tensor *t = npuc_torch_find(f, name);
  assert_non_null(t);
  assert_int_equal(t->value.shape.rank, rank);
  if (rank) assert_int_equal(t->value.shape.dims[0], first);
  return &t->value;
}

/* base is arange(24) / 8; every window's elements follow from it. */
static void windows_on_one_storage(void **state) {
  (void)state;
  static const char *const files[] = {DATA "views.pt", DATA "views_legacy.pt"};
  for (size_t file = 0; file < 2; file++) {
    torch_file *f;
    assert_int_equal(npuc_torch_open(NULL, files[file], &f), NPUC_OK);
    assert_int_equal(npuc_torch_count(f), 8);
    const tensor *t = get(f, "whole", 3, 2);
    for (int i = 0; i < 24; i++) assert_true(npuc_tensor_get(t, i) == i / 8.0);
    t = get(f, "tail", 1, 4);
    for (int i = 0; i < 4; i++) assert_true(npuc_tensor_get(t, i) == (20 + i) / 8.0);
    t = get(f, "transposed", 2, 6);
    for (int i = 0; i < 24; i++) assert_true(npuc_tensor_get(t, i) == (i % 4 * 6 + i / 4) / 8.0);
    t = get(f, "columns", 2, 4);
    for (int i = 0; i < 12; i++) assert_true(npuc_tensor_get(t, i) == (i / 3 * 6 + i % 3 * 2) / 8.0);
    t = get(f, "expanded", 1, 5);
    for (int i = 0; i < 5; i++) assert_true(npuc_tensor_get(t, i) == 3 / 8.0);
    t = get(f, "channels_last", 4, 1);
    for (int i = 0; i < 24; i++) assert_true(npuc_tensor_get(t, i) == i / 8.0);
    assert_true(npuc_tensor_get(get(f, "scalar", 0, 0), 0) == 2.5);
    assert_int_equal(npuc_tensor_elements(get(f, "empty", 2, 0)), 0);
    npuc_torch_close(f);
  }
}

/* Contiguous windows are views into the mapped file, also at an offset. */
static void weights_are_not_copied(void **state) {
  (void)state;
  torch_file *f;
  assert_int_equal(npuc_torch_open(NULL, DATA "views.pt", &f), NPUC_OK);
  const mapped_file *file;
  size_t whole, tail;
  const tensor *t = &npuc_torch_find(f, "whole")->value;
  assert_true(npuc_blob_locate(t->owner, t->data, &file, &whole));
  t = &npuc_torch_find(f, "tail")->value;
  assert_true(npuc_blob_locate(t->owner, t->data, &file, &tail));
  assert_int_equal(tail - whole, 80);
  t = &npuc_torch_find(f, "transposed")->value;
  assert_false(npuc_blob_locate(t->owner, t->data, &file, &tail));
  npuc_torch_close(f);
}

static void every_type(void **state) {
  (void)state;
  static const struct {
    const char *name;
    dtype type;
  } types[] = {{"float64", DTYPE_F64},
               {"float16", DTYPE_F16},
               {"bfloat16", DTYPE_BF16},
               {"int64", DTYPE_I64},
               {"int32", DTYPE_I32},
               {"int16", DTYPE_I16},
               {"int8", DTYPE_I8},
               {"uint8", DTYPE_U8},
               {"bool", DTYPE_BOOL},
               {"uint16", DTYPE_U16},
               {"float8_e4m3fn", DTYPE_F8E4M3FN},
               {"float8_e5m2", DTYPE_F8E5M2}};
  torch_file *f;
  assert_int_equal(npuc_torch_open(NULL, DATA "types.pt", &f), NPUC_OK);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    const tensor *t = get(f, types[i].name, 1, 3);
    assert_int_equal(t->type, types[i].type);
    assert_true(npuc_tensor_get(t, 0) == 0.0 && npuc_tensor_get(t, 1) == 1.0);
    assert_true(npuc_tensor_get(t, 2) == (types[i].type == DTYPE_BOOL ? 1.0 : 2.0));
  }
  npuc_torch_close(f);
}

static void names_are_paths(void **state) {
  (void)state;
  torch_file *f;
  assert_int_equal(npuc_torch_open(NULL, DATA "nested.pt", &f), NPUC_OK);
  assert_int_equal(npuc_torch_count(f), 3);
  assert_string_equal(npuc_torch_at(f, 0)->name, "model.w");
  assert_string_equal(npuc_torch_at(f, 2)->name, "model.list.1.x");
  npuc_torch_close(f);
}

static npuc_status read_file(diag *d, const char *path) {
  torch_file *f;
  NPUC_TRY(npuc_torch_open(d, path, &f));
  npuc_torch_close(f);
  return NPUC_OK;
}

static void is_refused(const char *path, diag_code code, const char *says) {
  diag *d = npuc_diag_create(NULL, NULL);
  assert_int_equal(read_file(d, path), npuc_diag_info(code)->status);
  assert_int_equal(npuc_diag_first_error(d)->code, code);
  assert_non_null(strstr(npuc_diag_first_error(d)->reason, says));
  npuc_diag_destroy(d);
}

static void what_runs_code_or_lies_is_refused(void **state) {
  (void)state;
  is_refused(DATA "hostile.pt", NPUC_DIAG_E0215, "posix.system");
  is_refused(DATA "hostile_legacy.pt", NPUC_DIAG_E0215, "posix.system");
  is_refused(DATA "plain_pickle.pt", NPUC_DIAG_E0215, "torch.save did not write it");
  is_refused(DATA "short_storage.pt", NPUC_DIAG_E0330, "a storage that holds 1");
  is_refused(NPUC_SOURCE_DIR "/tests/data/formats/stored.zip", NPUC_DIAG_E0215, "data.pkl");
}

static void damaged_files_are_refused(void **state) {
  (void)state;
  assert_true(npuc_damage_try(DATA "views_legacy.pt", "x.pt", read_file) > 1000);
  assert_true(npuc_damage_try(DATA "nested.pt", "x.pt", read_file) > 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(windows_on_one_storage),
      cmocka_unit_test(weights_are_not_copied),
      cmocka_unit_test(every_type),
      cmocka_unit_test(names_are_paths),
      cmocka_unit_test(what_runs_code_or_lies_is_refused),
      cmocka_unit_test(damaged_files_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
