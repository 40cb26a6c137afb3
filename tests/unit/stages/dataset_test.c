/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of DATA on small files of known content, what is refused, and damaged files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/npy.h"
#include "stages/dataset.h"
#include "support/damage.h"
#include "support/scratch.h"

#define FORMATS NPUC_SOURCE_DIR "/tests/data/formats/"
#define DEMO NPUC_SOURCE_DIR "/examples/demo/"

static sample_port port_of(const char *name, dtype type, int32_t rank, int64_t a, int64_t b, int64_t c) {
  return (sample_port){.name = name, .type = type, .shape = {.rank = rank, .dims = {1, a, b, c}}};
}

static dataset *open_one(const char *text, const sample_port *port) {
  diag *d = npuc_diag_create(NULL, NULL);
  dataset *s = NULL;
  if (npuc_dataset_open(d, text, NULL, port, 1, 7, &s) != NPUC_OK) fail_msg("%s: %s", text, npuc_diag_first_error(d)->reason);
  npuc_diag_destroy(d);
  return s;
}

/* Element `at` of sample `index`. */
static double element(const dataset *s, const sample_port *port, size_t index, int64_t at) {
  tensor t;
  assert_int_equal(npuc_tensor_create(NULL, port->type, &port->shape, &t), NPUC_OK);
  assert_int_equal(npuc_dataset_sample(s, NULL, index, &t), NPUC_OK);
  double v = npuc_tensor_get(&t, at);
  npuc_tensor_release(&t);
  return v;
}

static void npy_with_labels(void **state) {
  (void)state;
  const sample_port port = port_of("image", DTYPE_F32, 4, 3, 16, 16);
  dataset *s = open_one(DEMO "test.npy", &port);
  tensor file, labels;
  assert_int_equal(npuc_npy_read(NULL, DEMO "test.npy", &file), NPUC_OK);
  assert_int_equal(npuc_npy_read(NULL, DEMO "test.labels.npy", &labels), NPUC_OK);
  assert_int_equal(npuc_dataset_count(s), 400);
  assert_true(npuc_dataset_has_labels(s));
  assert_int_equal(npuc_dataset_label(s, 399), npuc_tensor_get_int(&labels, 399));
  assert_true(element(s, &port, 17, 100) == npuc_tensor_get(&file, 17 * 768 + 100));
  assert_int_equal(npuc_dataset_check(s, NULL, 0), NPUC_OK);
  npuc_tensor_release(&file);
  npuc_tensor_release(&labels);
  npuc_dataset_destroy(s);
}

/* [3, 3, 16, 16] takes three records at a time; 400 records are 133 samples and one record that the last sample repeats. */
static void fixed_batch(void **state) {
  (void)state;
  const sample_port port = {.name = "image", .type = DTYPE_F32, .shape = {.rank = 4, .dims = {3, 3, 16, 16}}};
  dataset *s = open_one(DEMO "test.npy", &port);
  tensor file;
  assert_int_equal(npuc_npy_read(NULL, DEMO "test.npy", &file), NPUC_OK);
  assert_int_equal(npuc_dataset_count(s), 134);
  assert_int_equal(npuc_dataset_rows(s), 3);
  assert_int_equal(npuc_dataset_records(s), 400);
  for (int64_t record = 0; record < 402; record++) {
    int64_t from = record < 400 ? record : 399;
    double got = element(s, &port, (size_t)record / 3, record % 3 * 768 + 100);
    if (got != npuc_tensor_get(&file, from * 768 + 100)) fail_msg("record %lld", (long long)record);
  }
  npuc_dataset_destroy(s);
  const sample_port whole = {
      .name = "image", .type = DTYPE_F32, .shape = {.rank = 3, .dims = {3, 16, 16}}}; /* no batch: a record is the input */
  s = open_one(DEMO "test.npy", &whole);
  assert_int_equal(npuc_dataset_rows(s), 1);
  assert_int_equal(npuc_dataset_count(s), 400);
  npuc_dataset_destroy(s);
  npuc_tensor_release(&file);
}

static void npz_by_name(void **state) {
  (void)state;
  const sample_port port = port_of("other", DTYPE_F32, 3, 3, 4, 0);
  dataset *s = open_one(FORMATS "deflated.npz", &port); /* x serves the only input, y is the labels */
  assert_int_equal(npuc_dataset_count(s), 2);
  assert_int_equal(npuc_dataset_label(s, 1), 2);
  assert_true(element(s, &port, 1, 0) == 1.5);
  npuc_dataset_destroy(s);
  const sample_port two[] = {port_of("x", DTYPE_F32, 3, 3, 4, 0), {.name = "y", .type = DTYPE_I64, .shape = {.rank = 1, .dims = {1}}}};
  assert_int_equal(npuc_dataset_open(NULL, FORMATS "stored.npz", NULL, two, 2, 0, &s), NPUC_OK);
  tensor t[2];
  for (int k = 0; k < 2; k++) assert_int_equal(npuc_tensor_create(NULL, two[k].type, &two[k].shape, &t[k]), NPUC_OK);
  assert_int_equal(npuc_dataset_sample(s, NULL, 1, t), NPUC_OK);
  assert_int_equal(npuc_tensor_get_int(&t[1], 0), 2);
  assert_false(npuc_dataset_has_labels(s)); /* y is an input here */
  for (int k = 0; k < 2; k++) npuc_tensor_release(&t[k]);
  npuc_dataset_destroy(s);
  const sample_port missing[] = {port_of("x", DTYPE_F32, 3, 3, 4, 0), port_of("mask", DTYPE_F32, 1, 0, 0, 0)};
  diag *d = npuc_diag_create(NULL, NULL);
  assert_int_equal(npuc_dataset_open(d, FORMATS "stored.npz", NULL, missing, 2, 0, &s), NPUC_USAGE);
  assert_int_equal(npuc_diag_first_error(d)->code, NPUC_DIAG_E1108);
  assert_non_null(strstr(npuc_diag_first_error(d)->reason, "'mask'"));
  npuc_diag_destroy(d);
}

static void mnist_plain_and_zipped(void **state) {
  (void)state;
  static const char *const texts[] = {FORMATS "three-images-idx3-ubyte", FORMATS "three-images-idx3-ubyte.gz",
                                      "mnist:" FORMATS "three-images-idx3-ubyte.gz"};
  const sample_port port = port_of("x", DTYPE_F32, 4, 1, 4, 5);
  for (size_t i = 0; i < 3; i++) {
    dataset *s = open_one(texts[i], &port);
    assert_int_equal(npuc_dataset_count(s), 3);
    assert_int_equal(npuc_dataset_label(s, 2), 9);
    assert_true(element(s, &port, 2, 3) == (2 * 20 + 3) * 7 % 256);
    npuc_dataset_destroy(s);
  }
}

static void raw_and_cifar10(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  char *dir = npuc_scratch_create(a), *path = npuc_path_join(a, dir, "r.bin");
  int16_t values[12];
  for (int i = 0; i < 12; i++) values[i] = (int16_t)(i * 100 - 500);
  const int64_t numbers[] = {3, 1, 2};
  tensor labels;
  assert_int_equal(npuc_file_write_all(NULL, path, values, sizeof values), NPUC_OK);
  assert_int_equal(npuc_tensor_of_ints(NULL, DTYPE_I64, numbers, 3, &labels), NPUC_OK);
  assert_int_equal(npuc_npy_write(NULL, npuc_arena_printf(a, "%s.labels.npy", path), &labels), NPUC_OK);
  npuc_tensor_release(&labels);
  const sample_port port = port_of("x", DTYPE_F32, 3, 2, 2, 0);
  dataset *s = open_one(npuc_arena_printf(a, "raw:int16:2x2:%s", path), &port);
  assert_int_equal(npuc_dataset_count(s), 3);
  assert_int_equal(npuc_dataset_label(s, 0), 3);
  assert_true(element(s, &port, 2, 1) == 400);
  npuc_dataset_destroy(s);
  uint8_t *records = npuc_arena_alloc(a, 2 * 3073);
  records[0] = 6;
  records[3073] = 9;
  records[3073 + 1 + 1024] = 200; /* the first green of the second picture */
  path = npuc_path_join(a, dir, "c.bin");
  assert_int_equal(npuc_file_write_all(NULL, path, records, 2 * 3073), NPUC_OK);
  const sample_port image = port_of("x", DTYPE_F32, 4, 3, 32, 32);
  s = open_one(path, &image); /* guessed by its size */
  assert_int_equal(npuc_dataset_count(s), 2);
  assert_int_equal(npuc_dataset_label(s, 0), 6);
  assert_int_equal(npuc_dataset_label(s, 1), 9);
  assert_true(element(s, &image, 1, 1024) == 200);
  assert_true(element(s, &image, 0, 1024) == 0);
  npuc_dataset_destroy(s);
  npuc_scratch_remove(dir);
  npuc_arena_destroy(a);
}

static void folders(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  char *dir = npuc_scratch_create(a), *sub = npuc_path_join(a, dir, "b");
  const double first[] = {1, 2}, second[] = {3, 4};
  tensor t;
  assert_int_equal(npuc_tensor_of_floats(NULL, DTYPE_F32, first, 2, &t), NPUC_OK);
  assert_int_equal(npuc_npy_write(NULL, npuc_path_join(a, dir, "a.npy"), &t), NPUC_OK);
  npuc_tensor_release(&t);
  assert_int_equal(npuc_dir_create(NULL, sub), NPUC_OK);
  assert_int_equal(npuc_tensor_of_floats(NULL, DTYPE_F64, second, 2, &t), NPUC_OK);
  assert_int_equal(npuc_npy_write(NULL, npuc_path_join(a, sub, "x.npy"), &t), NPUC_OK);
  npuc_tensor_release(&t);
  const sample_port port = port_of("x", DTYPE_F32, 2, 2, 0, 0);
  dataset *s = open_one(dir, &port);
  assert_int_equal(npuc_dataset_count(s), 2);
  assert_false(npuc_dataset_has_labels(s));
  assert_true(element(s, &port, 0, 1) == 2);
  assert_true(element(s, &port, 1, 0) == 3);
  npuc_dataset_destroy(s);
  npuc_scratch_remove(dir);
  npuc_arena_destroy(a);
}

static void random_is_seeded_and_uniform(void **state) {
  (void)state;
  const sample_port port = port_of("x", DTYPE_F32, 2, 1000, 0, 0);
  dataset *s = open_one("random:2", &port), *again = open_one("random:2", &port), *other = NULL;
  assert_int_equal(npuc_dataset_open(NULL, "random:2", NULL, &port, 1, 8, &other), NPUC_OK);
  double sum = 0, low = 1, high = -1;
  for (int i = 0; i < 1000; i++) {
    double v = element(s, &port, 1, i);
    sum += v;
    if (v < low) low = v;
    if (v > high) high = v;
  }
  assert_true(low >= -1 && low < -0.98 && high < 1 && high > 0.98 && sum / 1000 > -0.06 && sum / 1000 < 0.06);
  assert_true(element(s, &port, 1, 5) == element(again, &port, 1, 5));
  assert_true(element(s, &port, 1, 5) != element(s, &port, 0, 5));
  assert_true(element(s, &port, 1, 5) != element(other, &port, 1, 5));
  npuc_dataset_destroy(s);
  npuc_dataset_destroy(again);
  npuc_dataset_destroy(other);
}

static void refused(const char *text, const sample_port *port, diag_code code, const char *says) {
  diag *d = npuc_diag_create(NULL, NULL);
  dataset *s = NULL;
  npuc_status status = npuc_dataset_open(d, text, NULL, port, 1, 0, &s);
  if (status == NPUC_OK || npuc_diag_first_error(d)->code != code)
    fail_msg("%s: status %d: %s", text, (int)status, status ? npuc_diag_first_error(d)->reason : "");
  if (!strstr(npuc_diag_first_error(d)->reason, says)) fail_msg("%s: says '%s'", text, npuc_diag_first_error(d)->reason);
  npuc_diag_destroy(d);
}

static void faults_are_named(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  char *dir = npuc_scratch_create(a), *odd = npuc_path_join(a, dir, "odd.bin"), *nothing = npuc_path_join(a, dir, "nothing.bin");
  assert_int_equal(npuc_file_write_all(NULL, odd, "12345", 5), NPUC_OK);
  assert_int_equal(npuc_file_write_all(NULL, nothing, "", 0), NPUC_OK);
  const sample_port image = port_of("image", DTYPE_F32, 4, 3, 16, 16), large = port_of("image", DTYPE_F32, 4, 3, 32, 32);
  refused(DEMO "test.npy", &large, NPUC_DIAG_E1101, "3x16x16");
  refused("cfar10:x.bin", &image, NPUC_DIAG_E1102, "cifar10");
  refused(odd, &image, NPUC_DIAG_E1102, "none of the kinds");
  refused(npuc_arena_printf(a, "cifar10:%s", odd), &large, NPUC_DIAG_E1106, "no whole number");
  refused(npuc_arena_printf(a, "cifar10:%s", nothing), &large, NPUC_DIAG_E1103, "empty");
  refused(npuc_arena_printf(a, "raw:uint8:3xx16:%s", odd), &image, NPUC_DIAG_E1102, "raw:DTYPE:DIMS:PATH");
  refused("images:pictures", &image, NPUC_DIAG_E1107, "'images'");
  refused("audio:clips", &image, NPUC_DIAG_E1107, "'audio'");
  refused("random:0", &image, NPUC_DIAG_E1102, "random:N");
  refused("/nowhere/x.npy", &image, NPUC_DIAG_E0008, "");
  refused(npuc_arena_printf(a, "dir:%s", dir), &image, NPUC_DIAG_E1103, "no .npy");
  refused(FORMATS "empty.npy", &(sample_port){.name = "x", .type = DTYPE_F32, .shape = {.rank = 2, .dims = {1, 3}}}, NPUC_DIAG_E1103,
          "no samples");
  npuc_scratch_remove(dir);
  npuc_arena_destroy(a);
}

/* Constant and non-finite data is found by the check, good data passes it (npy_with_labels). */
static void checks_find_constant_and_nan(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  char *dir = npuc_scratch_create(a), *path = npuc_path_join(a, dir, "x.bin");
  const float same[] = {1, 2, 1, 2, 1, 2}, broken[] = {1, 2, 3, 4, 5, (float)strtod("nan", NULL)};
  const sample_port port = port_of("x", DTYPE_F32, 2, 2, 0, 0);
  const struct {
    const float *values;
    diag_code code;
    const char *says;
  } cases[] = {{same, NPUC_DIAG_E1104, "3 samples"}, {broken, NPUC_DIAG_E1105, "sample 2"}};
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(npuc_file_write_all(NULL, path, cases[i].values, sizeof same), NPUC_OK);
    dataset *s = open_one(npuc_arena_printf(a, "raw:float32:2:%s", path), &port);
    diag *d = npuc_diag_create(NULL, NULL);
    assert_int_equal(npuc_dataset_check(s, d, 0), NPUC_BAD_INPUT);
    assert_int_equal(npuc_diag_first_error(d)->code, cases[i].code);
    assert_non_null(strstr(npuc_diag_first_error(d)->reason, cases[i].says));
    npuc_diag_destroy(d);
    npuc_dataset_destroy(s);
  }
  npuc_scratch_remove(dir);
  npuc_arena_destroy(a);
}

static npuc_status read_all(diag *d, const char *path) {
  const sample_port port = port_of("x", DTYPE_F32, 3, 3, 4, 0);
  dataset *s;
  NPUC_TRY(npuc_dataset_open(d, path, NULL, &port, 1, 0, &s));
  npuc_status status = npuc_dataset_check(s, d, 0);
  npuc_dataset_destroy(s);
  return status;
}

static void damaged_data_is_refused_or_read(void **state) {
  (void)state;
  assert_true(npuc_damage_try(FORMATS "f32.npy", "x.npy", read_all) >= 224);
  assert_true(npuc_damage_try(FORMATS "deflated.npz", "x.npz", read_all) > 400);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(npy_with_labels),
      cmocka_unit_test(fixed_batch),
      cmocka_unit_test(npz_by_name),
      cmocka_unit_test(mnist_plain_and_zipped),
      cmocka_unit_test(raw_and_cifar10),
      cmocka_unit_test(folders),
      cmocka_unit_test(random_is_seeded_and_uniform),
      cmocka_unit_test(faults_are_named),
      cmocka_unit_test(checks_find_constant_and_nan),
      cmocka_unit_test(damaged_data_is_refused_or_read),
  };
  return cmocka_run_group_tests_name("dataset", tests, NULL, NULL);
}
