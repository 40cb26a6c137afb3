/* SPDX-License-Identifier: Apache-2.0 */
/* The loader on files that are not whole: every prefix and every byte changed, other versions, sections unknown, missing, twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "npuc/runtime.h"
#include "support/damage.h"
#include "support/every_operator.h"
#include "support/ir.h"
#include "support/npu_bytes.h"
#include "support/scratch.h"

static const char small_text[] =
    "<ir_version: 10, opset_import: [\"\" : 28, \"npuc\" : 1]>\n"
    "main (uint8[1,4] x) => (uint8[1,3] y)\n"
    "<int8[3,4] w = {1, 2, 3, -4, 5, 6, 7, 8, -9, 10, 11, 12}, int32[3] b = {1, 2, 3}, int32[3] m = {16384, 16385, 16386}, int32[3] s = "
    "{14, 14, 14}>\n"
    "{ y = npuc.QGemm <x_zero_point = 4, y_zero_point = 100, lo = 0, hi = 255, y_dtype = 2> (x, w, b, m, s) }\n";

typedef struct sample {
  arena *a;
  char *dir, *path;
  uint8_t *bytes;
  size_t n;
} sample;

static sample open_sample(void) {
  sample s = {.a = npuc_arena_create()};
  module *m = npuc_test_module(small_text);
  s.dir = npuc_scratch_create(s.a);
  s.path = npuc_path_join(s.a, s.dir, "small.npu");
  npuc_test_build_npu(m->graphs[0], 8, s.path);
  s.bytes = npuc_npu_bytes_read(s.a, s.path, &s.n);
  npuc_module_destroy(m);
  return s;
}

static void close_sample(sample *s) {
  npuc_scratch_remove(s->dir);
  npuc_arena_destroy(s->a);
}

/* Loads through the public API; what is loaded must also run. */
static npuc_status load(diag *d, const char *path) {
  npuc_program *p = (npuc_program *)(uintptr_t)1;
  npuc_error error;
  npuc_status status = npuc_program_load(path, &p, &error);
  assert_int_equal(error.status, status);
  if (status == NPUC_OK) {
    npuc_session *s;
    const uint8_t x[4] = {1, 2, 3, 4};
    uint8_t y[3];
    const void *inputs[] = {x};
    void *outputs[] = {y};
    assert_int_equal(npuc_session_create(p, NULL, &s, &error), NPUC_OK);
    assert_int_equal(npuc_session_run(s, inputs, outputs, &error), NPUC_OK);
    npuc_session_destroy(s);
  } else {
    assert_null(p);
    assert_int_equal(strncmp(error.code, "NPUC-E", 6), 0);
    assert_true(error.message[0] != 0);
    (void)npuc_fail(d, NPUC_DIAG_E1004, NULL, "%s", error.message);
  }
  npuc_program_destroy(p);
  return status;
}

static void test_damage(void **state) {
  (void)state;
  sample s = open_sample();
  /* Every byte of a file is checked: its field, its checksum, or the zeros between sections. */
  assert_int_equal(npuc_damage_try(s.path, "damaged.npu", load), s.n + 3 * s.n);
  close_sample(&s);
}

static npuc_status load_bytes(const sample *s, const uint8_t *bytes, size_t n, npuc_error *out_error) {
  const char *path = npuc_path_join(s->a, s->dir, "other.npu");
  npuc_npu_bytes_write(path, bytes, n);
  npuc_program *p;
  npuc_status status = npuc_program_load(path, &p, out_error);
  npuc_program_destroy(p);
  return status;
}

static void test_version(void **state) {
  (void)state;
  sample s = open_sample();
  npuc_error error;
  s.bytes[8] = 2;
  npuc_npu_bytes_seal(s.bytes);
  assert_int_equal(load_bytes(&s, s.bytes, s.n, &error), NPUC_UNSUPPORTED);
  assert_string_equal(error.code, "NPUC-E1002");
  s.bytes[8] = 1;
  npuc_npu_bytes_seal(s.bytes);
  assert_int_equal(load_bytes(&s, s.bytes, s.n, &error), NPUC_OK);
  close_sample(&s);
}

/* A section of a kind that nobody knows yet: the table grows by an entry, and every offset by what that takes. */
static void test_unknown_section(void **state) {
  (void)state;
  sample s = open_sample();
  npuc_error error;
  size_t n = s.n + 64 + 4096;
  uint8_t *bytes = npuc_arena_alloc(s.a, n);
  uint32_t sections;
  memcpy(&sections, s.bytes + 24, 4);
  size_t table = 48 * (size_t)sections;
  /* The table has room up to the first section only when the gap allows it; so the whole rest moves by 4096, which keeps every alignment. */
  memcpy(bytes, s.bytes, 64 + table);
  memcpy(bytes + 64 + table + 4096, s.bytes + 64 + table, s.n - 64 - table);
  for (uint32_t i = 0; i < sections; i++) {
    uint64_t offset;
    memcpy(&offset, bytes + 64 + 48 * i + 8, 8);
    offset += 4096;
    memcpy(bytes + 64 + 48 * i + 8, &offset, 8);
  }
  uint8_t *entry = bytes + 64 + table;
  uint64_t at = (s.n + 4096 + 63) / 64 * 64, count = 5;
  memcpy(entry, "ZZZZ", 4);
  memcpy(entry + 8, &at, 8);
  memcpy(entry + 16, &count, 8);
  memcpy(bytes + at, "hello", 5);
  sections++;
  memcpy(bytes + 24, &sections, 4);
  uint64_t length = at + count;
  memcpy(bytes + 16, &length, 8);
  npuc_npu_bytes_seal(bytes);
  assert_int_equal(load_bytes(&s, bytes, (size_t)length, &error), NPUC_OK);
  memcpy(entry, "STRS", 4); /* negative control: a known kind a second time */
  npuc_npu_bytes_seal(bytes);
  assert_int_equal(load_bytes(&s, bytes, (size_t)length, &error), NPUC_BAD_INPUT);
  assert_string_equal(error.code, "NPUC-E1004");
  close_sample(&s);
}

static void test_missing_sections(void **state) {
  (void)state;
  sample s = open_sample();
  npuc_error error;
  uint32_t sections;
  memcpy(&sections, s.bytes + 24, 4);
  for (uint32_t i = 0; i < sections; i++) { /* its name becomes one that is ignored */
    uint8_t *entry = s.bytes + 64 + 48 * i, kept[48];
    memcpy(kept, entry, sizeof kept);
    memcpy(entry, "ZZZZ", 4);
    npuc_npu_bytes_seal(s.bytes);
    assert_int_equal(load_bytes(&s, s.bytes, s.n, &error), NPUC_BAD_INPUT);
    if (!strstr(error.message, "is missing") && !strstr(error.message, "weights")) fail_msg("%.4s: %s", (const char *)kept, error.message);
    memcpy(entry, kept, sizeof kept);
  }
  npuc_npu_bytes_seal(s.bytes);
  assert_int_equal(load_bytes(&s, s.bytes, s.n, &error), NPUC_OK);
  close_sample(&s);
}

static void test_paths(void **state) {
  (void)state;
  npuc_error error;
  npuc_program *p;
  assert_int_equal(npuc_program_load("/nonexistent/x.npu", &p, &error), NPUC_BAD_INPUT);
  assert_null(p);
  assert_int_equal(npuc_program_load("/", &p, &error), NPUC_BAD_INPUT);
  assert_int_equal(npuc_program_load("/dev/null", &p, NULL), NPUC_BAD_INPUT);
  npuc_program_destroy(NULL);
  npuc_session_destroy(NULL);
}

static void test_audit(void **state) {
  (void)state;
  sample s = open_sample();
  npuc_program *p;
  npuc_error error;
  assert_int_equal(npuc_program_load(s.path, &p, &error), NPUC_OK);
  assert_int_equal(npuc_program_audit(p, &error), NPUC_OK);
  assert_null(npuc_program_input(p, 1));
  assert_null(npuc_program_output(p, SIZE_MAX));
  assert_string_equal(npuc_program_input(p, 0)->name, "x");
  npuc_program_destroy(p);
  close_sample(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_damage),          cmocka_unit_test(test_version),
                                     cmocka_unit_test(test_unknown_section), cmocka_unit_test(test_missing_sections),
                                     cmocka_unit_test(test_paths),           cmocka_unit_test(test_audit)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
