/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/diag.h"
#include "base/threads.h"

static const diag_place conv_place = {.file = "a.onnx", .part = "main", .node = "conv1", .op = "Conv", .attribute = "pads"};

static void a_failure_returns_the_status_of_its_code(void **state) {
  (void)state;
  diag *d = npuc_diag_create(NULL, NULL);
  assert_int_equal(npuc_fail(d, NPUC_DIAG_E0002, NULL, "no room for %d bytes", 5), NPUC_ENVIRONMENT);
  assert_int_equal(npuc_fail(d, NPUC_DIAG_E0001, NULL, "x"), NPUC_INTERNAL);
  assert_int_equal(npuc_fail(NULL, NPUC_DIAG_E0007, NULL, "x"), NPUC_USAGE);
  assert_int_equal(npuc_diag_count(d), 2);
  assert_string_equal(npuc_diag_at(d, 0)->reason, "no room for 5 bytes");
  assert_null(npuc_diag_at(d, 2));
  npuc_diag_destroy(d);
}

static void a_record_copies_its_place_and_collects_fixes(void **state) {
  (void)state;
  diag *d = npuc_diag_create(NULL, NULL);
  char node[] = "conv1";
  diag_place place = {.node = node, .op = "Conv"};
  npuc_warn(d, NPUC_DIAG_E0004, &place, "full");
  for (int i = 0; i < 20; i++) npuc_fix(d, "try %d", i);
  node[0] = 'X';
  const diag_record *r = npuc_diag_at(d, 0);
  assert_int_equal(r->severity, DIAG_WARNING);
  assert_string_equal(r->place.node, "conv1");
  assert_null(r->place.file);
  assert_int_equal(r->n_fixes, 20);
  assert_string_equal(r->fixes[0], "try 0");
  assert_string_equal(r->fixes[19], "try 19");
  assert_null(npuc_diag_first_error(d));
  npuc_fail(d, NPUC_DIAG_E0003, NULL, "gone");
  assert_ptr_equal(npuc_diag_first_error(d), npuc_diag_at(d, 1));
  assert_int_equal(npuc_diag_at(d, 1)->n_fixes, 0);
  npuc_diag_destroy(d);
}

static void repeats_are_counted_not_repeated(void **state) {
  (void)state;
  diag *d = npuc_diag_create(NULL, NULL);
  for (int i = 0; i < 100; i++) {
    npuc_warn(d, NPUC_DIAG_E0006, &conv_place, "number %d", i);
    npuc_fix(d, "fix %d", i);
  }
  size_t kept = npuc_diag_count(d), total = 0;
  assert_true(kept < 10);
  for (size_t i = 0; i < kept; i++) {
    total += npuc_diag_at(d, i)->count;
    assert_int_equal(npuc_diag_at(d, i)->n_fixes, 1); /* fixes of what was only counted go nowhere */
  }
  assert_int_equal(total, 100);

  /* Another operator, attribute, severity or code is another kind. */
  diag_place other = conv_place;
  other.op = "Gemm";
  npuc_warn(d, NPUC_DIAG_E0006, &other, "x");
  other = conv_place;
  other.attribute = "strides";
  npuc_warn(d, NPUC_DIAG_E0006, &other, "x");
  npuc_note(d, NPUC_DIAG_E0006, &conv_place, "x");
  npuc_warn(d, NPUC_DIAG_E0003, &conv_place, "x");
  assert_int_equal(npuc_diag_count(d), kept + 4);
  npuc_diag_destroy(d);
}

static void later_records_take_the_file(void **state) {
  (void)state;
  diag *d = npuc_diag_create(NULL, NULL);
  assert_null(npuc_diag_set_file(d, "one.onnx"));
  npuc_note(d, NPUC_DIAG_E0006, NULL, "x");
  const char *earlier = npuc_diag_set_file(d, "two.onnx");
  assert_string_equal(earlier, "one.onnx");
  npuc_note(d, NPUC_DIAG_E0006, &conv_place, "x");
  npuc_diag_set_file(d, earlier);
  npuc_note(d, NPUC_DIAG_E0006, &(diag_place){.node = "n"}, "x");
  assert_string_equal(npuc_diag_at(d, 0)->place.file, "one.onnx");
  assert_string_equal(npuc_diag_at(d, 1)->place.file, "a.onnx");
  assert_string_equal(npuc_diag_at(d, 2)->place.file, "one.onnx");
  npuc_diag_destroy(d);
}

typedef struct seen {
  size_t count, fixes;
} seen;

static void count_record(void *user, const diag_record *record) {
  seen *s = user;
  s->count++;
  s->fixes += record->n_fixes;
}

static void the_listener_sees_whole_records(void **state) {
  (void)state;
  seen s = {0};
  diag *d = npuc_diag_create(count_record, &s);
  npuc_warn(d, NPUC_DIAG_E0006, NULL, "x");
  npuc_fix(d, "a");
  npuc_fix(d, "b");
  assert_int_equal(s.count, 0); /* its fixes may still come */
  npuc_warn(d, NPUC_DIAG_E0003, NULL, "y");
  assert_int_equal(s.count, 1);
  assert_int_equal(s.fixes, 2);
  npuc_diag_flush(d);
  assert_int_equal(s.count, 2);
  npuc_warn(d, NPUC_DIAG_E0004, NULL, "z");
  npuc_diag_destroy(d);
  assert_int_equal(s.count, 3);
}

static void add_many(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  for (size_t i = begin; i < end; i++) npuc_warn(context, NPUC_DIAG_E0006, &conv_place, "%zu", i);
}

static void adding_is_thread_safe(void **state) {
  (void)state;
  diag *d = npuc_diag_create(NULL, NULL);
  thread_pool *pool = npuc_pool_create(4);
  npuc_parallel_for(pool, 4000, 10, add_many, d);
  npuc_pool_destroy(pool);
  size_t total = 0;
  for (size_t i = 0; i < npuc_diag_count(d); i++) total += npuc_diag_at(d, i)->count;
  assert_int_equal(total, 4000);
  npuc_diag_destroy(d);
}

static void every_code_is_unique_and_explained(void **state) {
  (void)state;
  for (int i = 0; i < (int)NPUC_DIAG_COUNT; i++) {
    const diag_info *info = npuc_diag_info((diag_code)i);
    assert_int_equal(strlen(info->text_code), strlen("NPUC-E0001"));
    assert_true(info->status > NPUC_OK && info->status <= NPUC_BAD_INPUT);
    if (strlen(info->explanation) < 60 || strlen(info->summary) < 8 || strlen(info->summary) > 120)
      fail_msg("%s: a summary of one line and an explanation of at least two", info->text_code);
    for (int k = 0; k < i; k++) {
      if (strcmp(npuc_diag_info((diag_code)k)->text_code, info->text_code) == 0) fail_msg("%s twice", info->text_code);
      if (strcmp(npuc_diag_info((diag_code)k)->name, info->name) == 0) fail_msg("name %s twice", info->name);
    }
  }
}

static void codes_are_found_by_each_spelling(void **state) {
  (void)state;
  diag_code code = NPUC_DIAG_COUNT;
  assert_true(npuc_diag_find("E0004", &code) && code == NPUC_DIAG_E0004);
  assert_true(npuc_diag_find("NPUC-E0005", &code) && code == NPUC_DIAG_E0005);
  assert_true(npuc_diag_find("out-of-memory", &code) && code == NPUC_DIAG_E0002);
  assert_false(npuc_diag_find("E9999", &code));
  assert_false(npuc_diag_find("", &code));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_failure_returns_the_status_of_its_code), cmocka_unit_test(a_record_copies_its_place_and_collects_fixes),
      cmocka_unit_test(repeats_are_counted_not_repeated),         cmocka_unit_test(later_records_take_the_file),
      cmocka_unit_test(the_listener_sees_whole_records),          cmocka_unit_test(adding_is_thread_safe),
      cmocka_unit_test(every_code_is_unique_and_explained),       cmocka_unit_test(codes_are_found_by_each_spelling),
  };
  return cmocka_run_group_tests_name("diag", tests, NULL, NULL);
}
