/* SPDX-License-Identifier: Apache-2.0 */
/* State dicts into graphs by name. The files are written here byte by byte, as the format's specification says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "formats/safetensors.h"
#include "import/state_dict.h"
#include "support/ir.h"
#include "support/scratch.h"

static const char graph_text[] =
    "<ir_version: 10, opset_import: [\"\" : 21]>\n"
    "main (float[N,2] x) => (float[N,3] y)\n"
    "<float[2,3] \"fc.weight\" = {1, 2, 3, 4, 5, 6}, float[3] \"fc.bias\" = {7, 8, 9}, float epsilon = {0.5}>\n"
    "{\n  h = MatMul(x, \"fc.weight\")\n  b = Add(h, \"fc.bias\")\n  y = Add(b, epsilon)\n}\n";

#define WEIGHT "\"fc.weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}"
#define BIAS "\"fc.bias\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[24,36]}"
static const float data[9] = {10, 20, 30, 40, 50, 60, 70, 80, 90};

static const char *folder; /* of this program's files */

/* u64 length, header, data. */
static const char *write_file(arena *a, const char *name, const char *header, const void *bytes, size_t n) {
  const char *path = npuc_path_join(a, folder, name);
  size_t length = strlen(header);
  uint8_t *all = npuc_xcalloc(8 + length + n, 1);
  for (int i = 0; i < 8; i++) all[i] = (uint8_t)((uint64_t)length >> (8 * i));
  memcpy(all + 8, header, length);
  memcpy(all + 8 + length, bytes, n);
  assert_int_equal(npuc_file_write_all(NULL, path, all, 8 + length + n), NPUC_OK);
  free(all);
  return path;
}

static module *graph_of(void) { return npuc_test_module(graph_text); }

static float element(const module *m, const char *name, int64_t i) {
  const value *v = npuc_graph_value(m->graphs[0], name);
  assert_non_null(v);
  return (float)npuc_tensor_get(v->constant, i);
}

/* The code of the first error, and the state that the graph is left in. */
static void expect(const char *path, const char *prefix, const char *match, const char *code, float weight, float bias) {
  diag *d = npuc_diag_create(NULL, NULL);
  module *m = graph_of();
  json_t *report = NULL;
  npuc_status status = npuc_state_dict_load(d, m, &(state_request){path, prefix, match}, &report);
  const diag_record *r = npuc_diag_first_error(d);
  assert_string_equal(r ? npuc_diag_info(r->code)->text_code + 5 : "", code);
  assert_int_equal(status == NPUC_OK, *code == '\0');
  assert_float_equal(element(m, "fc.weight", 5), weight, 0);
  assert_float_equal(element(m, "fc.bias", 2), bias, 0);
  assert_float_equal(element(m, "epsilon", 0), 0.5f, 0);
  json_decref(report);
  npuc_module_destroy(m);
  npuc_diag_destroy(d);
}

static void test_names(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  expect(write_file(a, "plain", "{" WEIGHT "," BIAS "}", data, 36), NULL, NULL, "", 60, 90);
  /* trainers' prefixes; an average beside the weights is not taken unless it is asked for */
#define UNDER(prefix, from, mid, to)                                                                          \
  "\"" prefix "fc.weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[" from "," mid "]},\"" prefix \
  "fc.bias\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[" mid "," to "]}"
  expect(write_file(a, "wrapped", "{" UNDER("state_dict._orig_mod.module.", "0", "24", "36") "}", data, 36), NULL, NULL, "", 60, 90);
  float both[18];
  memcpy(both, data, 36);
  for (int i = 0; i < 9; i++) both[9 + i] = -data[i];
  const char *two = write_file(a, "two", "{" UNDER("ema.", "36", "60", "72") "," UNDER("model.", "0", "24", "36") "}", both, 72);
  expect(two, NULL, NULL, "", 60, 90);
  expect(two, "ema.", NULL, "", -60, -90);
  expect(two, "teacher.", NULL, "E0341", 6, 9);
  /* half floats are widened */
  static const uint16_t halves[9] = {0, 0, 0, 0, 0, 0x4700, 0, 0, 0x4900}; /* 7, 10 */
  expect(write_file(a, "half",
                    "{\"fc.weight\":{\"dtype\":\"F16\",\"shape\":[2,3],\"data_offsets\":[0,12]},"
                    "\"fc.bias\":{\"dtype\":\"F16\",\"shape\":[3],\"data_offsets\":[12,18]}}",
                    halves, 18),
         NULL, NULL, "", 7, 10);
  npuc_arena_destroy(a);
}

static void test_parts(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  const char *half = write_file(a, "weight_only", "{" WEIGHT "}", data, 24);
  expect(half, NULL, NULL, "E0341", 6, 9);
  expect(half, NULL, "some", "", 60, 9);
  expect(half, NULL, "most", "E0104", 6, 9);
  const char *turned =
      write_file(a, "turned", "{\"fc.weight\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]}," BIAS "}", data, 36);
  expect(turned, NULL, NULL, "E0341", 6, 9);
  expect(turned, NULL, "some", "", 6, 90);
  const char *integers =
      write_file(a, "integers", "{\"fc.weight\":{\"dtype\":\"I32\",\"shape\":[2,3],\"data_offsets\":[0,24]}," BIAS "}", data, 36);
  expect(integers, NULL, NULL, "E0341", 6, 9);
  const char *nothing = write_file(a, "nothing", "{\"other\":{\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[0,36]}}", data, 36);
  expect(nothing, NULL, "some", "E0341", 6, 9);
  /* more than the graph has is a warning */
  expect(write_file(a, "more", "{" WEIGHT "," BIAS ",\"head\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[36,36]}}", data, 36), NULL,
         NULL, "", 60, 90);
  npuc_arena_destroy(a);
}

static void test_report(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  diag *d = npuc_diag_create(NULL, NULL);
  module *m = graph_of();
  json_t *report;
  const char *path = write_file(a, "report",
                                "{\"module.fc.weight\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]},\"module.x\":{\"dtype\":"
                                "\"F32\",\"shape\":[3],\"data_offsets\":[24,36]}}",
                                data, 36);
  assert_int_equal(npuc_state_dict_load(d, m, &(state_request){.path = path}, &report), NPUC_USAGE);
  assert_string_equal(json_string_value(json_object_get(report, "prefix")), "module.");
  assert_int_equal(json_integer_value(json_object_get(report, "matched")), 0);
  assert_string_equal(json_string_value(json_array_get(json_object_get(report, "missing"), 0)), "fc.bias");
  assert_string_equal(json_string_value(json_array_get(json_object_get(report, "unexpected"), 0)), "module.x");
  json_t *other = json_array_get(json_object_get(report, "mismatched"), 0);
  assert_string_equal(json_string_value(json_object_get(other, "graph")), "float32[2,3]");
  assert_string_equal(json_string_value(json_object_get(other, "file")), "float32[6]");
  json_decref(report);
  npuc_module_destroy(m);
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
}

static void write_text(const char *path, const char *text) {
  assert_int_equal(npuc_file_write_all(NULL, path, text, strlen(text)), NPUC_OK);
}

static void test_shards(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  const char *index = npuc_path_join(a, folder, "model.safetensors.index.json");
  write_file(a, "1.safetensors", "{" WEIGHT "}", data, 24);
  write_file(a, "2.safetensors", "{\"fc.bias\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]}}", data + 6, 12);
  write_text(index, "{\"weight_map\":{\"fc.weight\":\"1.safetensors\",\"fc.bias\":\"2.safetensors\"}}");
  assert_true(npuc_state_dict_is(index));
  assert_true(npuc_state_dict_is(folder));
  expect(index, NULL, NULL, "", 60, 90);
  expect(folder, NULL, NULL, "", 60, 90);
  write_text(index, "{\"weight_map\":{\"fc.weight\":\"1.safetensors\",\"fc.bias\":\"1.safetensors\"}}");
  expect(index, NULL, NULL, "E0340", 6, 9);
  write_text(index, "{\"weight_map\":{\"fc.weight\":\"../1.safetensors\"}}");
  expect(index, NULL, NULL, "E0340", 6, 9);
  write_text(index, "{\"weight_map\":{\"fc.weight\":\"3.safetensors\"}}");
  expect(index, NULL, NULL, "E0008", 6, 9);
  write_text(index, "{\"weights\":{}}");
  expect(index, NULL, NULL, "E0340", 6, 9);
  write_text(index, "{");
  expect(index, NULL, NULL, "E0340", 6, 9);
  assert_int_equal(npuc_path_remove(NULL, index), NPUC_OK);
  assert_false(npuc_state_dict_is(folder));
  expect(folder, NULL, NULL, "E0340", 6, 9);
  npuc_arena_destroy(a);
}

/* Every header that contradicts itself or the file; and every beginning of a good file. */
static void test_damage(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
#define ONE(fields) "{\"a\":{" fields "}}"
  static const struct {
    const char *header, *code;
  } bad[] = {
      {"{}", "E0216"}, /* bytes that belong to nobody */
      {"[1]", "E0216"},
      {"{\"a\":1}", "E0216"},
      {"{\"a\":{}", "E0216"},
      {ONE("\"shape\":[9],\"data_offsets\":[0,36]"), "E0216"},
      {ONE("\"dtype\":\"F32\",\"data_offsets\":[0,36]"), "E0216"},
      {ONE("\"dtype\":\"F32\",\"shape\":[9]"), "E0216"},
      {ONE("\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[0]"), "E0216"},
      {ONE("\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[0,36,37]"), "E0216"},
      {ONE("\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[0,37]"), "E0216"},
      {ONE("\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[36,0]"), "E0216"},
      {ONE("\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[-36,0]"), "E0216"},
      {ONE("\"dtype\":\"F32\",\"shape\":[8],\"data_offsets\":[0,36]"), "E0216"},
      {ONE("\"dtype\":\"F32\",\"shape\":[-9],\"data_offsets\":[0,36]"), "E0216"},
      {ONE("\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,36]"), "E0216"},
      {ONE("\"dtype\":\"F32\",\"shape\":[9.0],\"data_offsets\":[0,36]"), "E0216"},
      {ONE("\"dtype\":\"F32\",\"shape\":[8],\"data_offsets\":[4,36]"), "E0216"}, /* a gap */
      {ONE("\"dtype\":\"Q3\",\"shape\":[9],\"data_offsets\":[0,36]"), "E0217"},
      {ONE("\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,9],\"data_offsets\":[0,36]"), "E0217"},
      {"{" WEIGHT "," WEIGHT "," BIAS "}", "E0216"},                                              /* a name twice */
      {"{" WEIGHT ",\"b\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[20,36]}}", "E0216"}, /* an overlap */
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    expect(write_file(a, "bad.safetensors", bad[i].header, data, 36), NULL, NULL, bad[i].code, 6, 9);
  const char *good = "{" WEIGHT "," BIAS "}", *path = npuc_path_join(a, folder, "cut");
  mapped_file *file;
  assert_int_equal(npuc_file_map(NULL, write_file(a, "good", good, data, 36), &file), NPUC_OK);
  for (size_t n = 1; n < npuc_file_size(file); n++) {
    safetensors *f;
    assert_int_equal(npuc_file_write_all(NULL, path, npuc_file_bytes(file), n), NPUC_OK);
    assert_int_equal(npuc_safetensors_open(NULL, path, &f), NPUC_BAD_INPUT);
    assert_null(f);
  }
  npuc_file_release(file);
  npuc_arena_destroy(a);
}

static int make_folder(void **state) {
  *state = npuc_arena_create();
  folder = npuc_scratch_create(*state);
  return 0;
}

static int remove_folder(void **state) {
  npuc_scratch_remove(folder);
  npuc_arena_destroy(*state);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_parts), cmocka_unit_test(test_report),
                                     cmocka_unit_test(test_shards), cmocka_unit_test(test_damage)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
