/* SPDX-License-Identifier: Apache-2.0 */
/* Faulty models (tests/data/onnx_bad, made by make.py there): each is refused with its code, and the message names what a user needs. And damaged files: every prefix and every changed
 * byte of small valid models, read to the end or refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "import/onnx/onnx.h"
#include "ir/attributes.h"
#include "support/damage.h"
#include "support/scratch.h"

#define BAD NPUC_SOURCE_DIR "/tests/data/onnx_bad/"

typedef struct wanted {
  const char *file;
  npuc_status status;
  diag_code code;
  const char *node; /* or NULL */
  const char *says; /* part of the reason */
} wanted;

static const wanted models[] = {
    {"unknown_operator", NPUC_UNSUPPORTED, NPUC_DIAG_E0421, "act", "Relu"},
    {"unknown_domain", NPUC_UNSUPPORTED, NPUC_DIAG_E0421, "act", "com.example"},
    {"foreign_form", NPUC_UNSUPPORTED, NPUC_DIAG_E0443, "product", "FusedMatMul"},
    {"foreign_attribute", NPUC_BAD_INPUT, NPUC_DIAG_E0412, "act", "'alpha'"},
    {"foreign_operator", NPUC_UNSUPPORTED, NPUC_DIAG_E0421, "embed", "com.microsoft"},
    {"learning_operator", NPUC_UNSUPPORTED, NPUC_DIAG_E0421, "norm", "classical machine learning"},
    {"training_operator", NPUC_UNSUPPORTED, NPUC_DIAG_E0421, "step", "a training operator"},
    {"opset_unnamed", NPUC_UNSUPPORTED, NPUC_DIAG_E0303, "act", "does not say which opset"},
    {"unknown_attribute", NPUC_BAD_INPUT, NPUC_DIAG_E0412, "act", "nearest: 'alpha'"},
    {"attribute_twice", NPUC_BAD_INPUT, NPUC_DIAG_E0412, "act", "given twice"},
    {"body_twice", NPUC_BAD_INPUT, NPUC_DIAG_E0412, "choice", "given twice"},
    {"wrong_kind", NPUC_BAD_INPUT, NPUC_DIAG_E0412, "act", "holds an integer and should hold a float"},
    {"cycle", NPUC_BAD_INPUT, NPUC_DIAG_E0415, NULL, ""},
    {"undefined_input", NPUC_BAD_INPUT, NPUC_DIAG_E0417, "relu", "'xx'"},
    {"undefined_output", NPUC_BAD_INPUT, NPUC_DIAG_E0417, "yy", "'yy'"},
    {"assigned_twice", NPUC_BAD_INPUT, NPUC_DIAG_E0416, "again", "'y'"},
    {"no_outputs", NPUC_BAD_INPUT, NPUC_DIAG_E0301, NULL, "no outputs"},
    {"opset_0", NPUC_UNSUPPORTED, NPUC_DIAG_E0303, NULL, "opset 0"},
    {"opset_29", NPUC_UNSUPPORTED, NPUC_DIAG_E0303, NULL, "opset 29"},
    {"ir_2", NPUC_UNSUPPORTED, NPUC_DIAG_E0302, NULL, "IR version 2"},
    {"ir_99", NPUC_UNSUPPORTED, NPUC_DIAG_E0302, NULL, "IR version 99"},
    {"subgraph", NPUC_UNSUPPORTED, NPUC_DIAG_E0309, "choice", "subgraph"},
    {"body_outputs", NPUC_BAD_INPUT, NPUC_DIAG_E0444, "choice", "2 outputs"},
    {"body_hides", NPUC_BAD_INPUT, NPUC_DIAG_E0416, "inner", "hidden"},
    {"body_undefined", NPUC_BAD_INPUT, NPUC_DIAG_E0417, "inner", "'xx'"},
    {"body_cycle", NPUC_BAD_INPUT, NPUC_DIAG_E0415, NULL, ""},
    {"body_type", NPUC_BAD_INPUT, NPUC_DIAG_E0413, "choice", "float32"},
    {"body_deep", NPUC_BAD_INPUT, NPUC_DIAG_E0201, NULL, "deep"},
    {"loop_inputs", NPUC_BAD_INPUT, NPUC_DIAG_E0444, "loop", "3 inputs"},
    {"scan_lengths", NPUC_BAD_INPUT, NPUC_DIAG_E0441, "scan", "3"},
    {"scan_count", NPUC_BAD_INPUT, NPUC_DIAG_E0440, "scan", "2 given"},
    {"sequence_position", NPUC_BAD_INPUT, NPUC_DIAG_E0603, "at", "2 elements"},
    {"sequence_whole", NPUC_BAD_INPUT, NPUC_DIAG_E0442, "whole", "seq(float32)"},
    {"sequence_mixed", NPUC_BAD_INPUT, NPUC_DIAG_E0442, "insert", "int64"},
    {"sequence_of_sequences", NPUC_UNSUPPORTED, NPUC_DIAG_E0305, "s", "no tensor"},
    {"map_input", NPUC_UNSUPPORTED, NPUC_DIAG_E0305, "s", "no tensor"},
    {"optional_untyped", NPUC_BAD_INPUT, NPUC_DIAG_E0412, "none", "says what it would hold"},
    {"string_arithmetic", NPUC_BAD_INPUT, NPUC_DIAG_E0442, "add", "string"},
    {"regex_wrong", NPUC_UNSUPPORTED, NPUC_DIAG_E0443, "match", "missing )"},
    {"external_missing", NPUC_BAD_INPUT, NPUC_DIAG_E0306, "w", "nowhere.bin"},
    {"external_above", NPUC_BAD_INPUT, NPUC_DIAG_E0307, "w", ".."},
    {"external_absolute", NPUC_BAD_INPUT, NPUC_DIAG_E0307, "w", "absolute"},
    {"external_hidden_above", NPUC_BAD_INPUT, NPUC_DIAG_E0307, "w", ".."},
    {"external_beyond_end", NPUC_BAD_INPUT, NPUC_DIAG_E0306, "w", "beyond its end"},
    {"external_offset", NPUC_BAD_INPUT, NPUC_DIAG_E0307, NULL, "'12x'"},
    {"external_length", NPUC_BAD_INPUT, NPUC_DIAG_E0304, "w", "length 15"},
    {"huge_tensor", NPUC_BAD_INPUT, NPUC_DIAG_E0304, "w", "10000000000"},
    {"overflowing_tensor", NPUC_BAD_INPUT, NPUC_DIAG_E0304, "w", "more elements"},
    {"negative_dim", NPUC_BAD_INPUT, NPUC_DIAG_E0304, "w", "-4"},
    {"short_tensor", NPUC_BAD_INPUT, NPUC_DIAG_E0304, "w", "12 bytes"},
    {"string_raw", NPUC_BAD_INPUT, NPUC_DIAG_E0304, "w", "0 strings"},
    {"string_count", NPUC_BAD_INPUT, NPUC_DIAG_E0304, "w", "1 strings, its shape needs 2"},
    {"batchnorm_training", NPUC_UNSUPPORTED, NPUC_DIAG_E0311, "norm", "'m'"},
    {"annotation", NPUC_BAD_INPUT, NPUC_DIAG_E0313, "w", "SCALE_TENSOR"},
    {"function_recursion", NPUC_BAD_INPUT, NPUC_DIAG_E0310, NULL, "calls itself"},
    {"function_depth", NPUC_BAD_INPUT, NPUC_DIAG_E0310, NULL, "64 deep"},
    {"function_doubling", NPUC_BAD_INPUT, NPUC_DIAG_E0310, NULL, "nodes"},
    {"function_inputs", NPUC_BAD_INPUT, NPUC_DIAG_E0411, "f", "2 inputs"},
    {"function_attribute", NPUC_BAD_INPUT, NPUC_DIAG_E0412, "f", "'factr'"},
    {"function_output", NPUC_BAD_INPUT, NPUC_DIAG_E0417, "f", "'c'"},
    {"function_undefined", NPUC_BAD_INPUT, NPUC_DIAG_E0417, "f/b", "'x'"},
    {"function_opset", NPUC_UNSUPPORTED, NPUC_DIAG_E0303, NULL, "opset 29"},
    {"function_reference", NPUC_BAD_INPUT, NPUC_DIAG_E0412, "f/b", "'slope'"},
    {"function_kind", NPUC_BAD_INPUT, NPUC_DIAG_E0412, "f/b", "an integer"},
    {"function_twice", NPUC_BAD_INPUT, NPUC_DIAG_E0310, NULL, "two functions"},
};

static void faults_are_named(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    const wanted *w = &models[i];
    diag *d = npuc_diag_create(NULL, NULL);
    module *m = NULL;
    npuc_status status = npuc_onnx_read(d, npuc_arena_printf(a, BAD "%s.onnx", w->file), &m);
    const diag_record *r = npuc_diag_first_error(d);
    if (status != w->status || m || !r) fail_msg("%s: status %d", w->file, (int)status);
    if (r->code != w->code) fail_msg("%s: %s: %s", w->file, npuc_diag_info(r->code)->text_code, r->reason);
    if (w->node && (!r->place.node || strcmp(r->place.node, w->node) != 0))
      fail_msg("%s: names node %s", w->file, r->place.node ? r->place.node : "none");
    if (!strstr(r->reason, w->says)) fail_msg("%s: says '%s'", w->file, r->reason);
    assert_non_null(strstr(r->place.file, w->file));
    npuc_diag_destroy(d);
  }
  npuc_arena_destroy(a);
}

static void nan_weights_are_a_warning(void **state) {
  (void)state;
  diag *d = npuc_diag_create(NULL, NULL);
  module *m = NULL;
  assert_int_equal(npuc_onnx_read(d, BAD "nan_weights.onnx", &m), NPUC_OK);
  assert_int_equal(npuc_diag_count(d), 1);
  assert_int_equal(npuc_diag_at(d, 0)->severity, DIAG_WARNING);
  assert_int_equal(npuc_diag_at(d, 0)->code, NPUC_DIAG_E0308);
  assert_string_equal(npuc_diag_at(d, 0)->place.node, "w");
  npuc_module_destroy(m);
  npuc_diag_destroy(d);
}

static void external_data_is_a_view(void **state) {
  (void)state;
  module *m = NULL;
  assert_int_equal(npuc_onnx_read(NULL, BAD "external_good.onnx", &m), NPUC_OK);
  const tensor *w = npuc_graph_value(m->graphs[0], "w")->constant;
  for (int i = 0; i < 4; i++) assert_true(npuc_tensor_get(w, i) == i + 1);
  const mapped_file *f;
  size_t offset;
  assert_true(npuc_blob_locate(w->owner, w->data, &f, &offset));
  assert_int_equal(offset, 4);
  npuc_module_destroy(m);
}

/* A link inside the folder is followed, one that leaves it is not. */
static void links_may_not_leave_the_folder(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  char *dir = npuc_scratch_create(a), *model = npuc_path_join(a, dir, "m.onnx"), *link_path = npuc_path_join(a, dir, "weights.bin");
  mapped_file *f;
  assert_int_equal(npuc_file_map(NULL, BAD "external_good.onnx", &f), NPUC_OK);
  assert_int_equal(npuc_file_write_all(NULL, model, npuc_file_bytes(f), npuc_file_size(f)), NPUC_OK);
  npuc_file_release(f);
  assert_int_equal(symlink(BAD "weights.bin", link_path), 0);
  diag *d = npuc_diag_create(NULL, NULL);
  module *m = NULL;
  assert_int_equal(npuc_onnx_read(d, model, &m), NPUC_BAD_INPUT);
  assert_int_equal(npuc_diag_first_error(d)->code, NPUC_DIAG_E0307);
  npuc_diag_destroy(d);
  assert_int_equal(unlink(link_path), 0);
  const float content[6] = {0, 1, 2, 3, 4, 5};
  assert_int_equal(npuc_file_write_all(NULL, npuc_path_join(a, dir, "real.bin"), content, sizeof content), NPUC_OK);
  assert_int_equal(symlink("real.bin", link_path), 0);
  assert_int_equal(npuc_onnx_read(NULL, model, &m), NPUC_OK);
  npuc_module_destroy(m);
  npuc_scratch_remove(dir);
  npuc_arena_destroy(a);
}

static void is_element(const graph *g, const char *name, dtype type, int64_t index, double want) {
  const value *v = npuc_graph_value(g, name);
  assert_non_null(v);
  assert_int_equal(v->constant->type, type);
  if (npuc_tensor_get(v->constant, index) != want) fail_msg("%s[%d] is %g", name, (int)index, npuc_tensor_get(v->constant, index));
}

static double constant_element(const graph *g, const char *output, int64_t index) {
  const node *n = npuc_graph_value(g, output)->producer;
  return npuc_tensor_get(NPUC_ATTRS(constant_attributes, n)->value, index);
}

static void every_form_of_a_tensor_is_read(void **state) {
  (void)state;
  module *m = NULL;
  assert_int_equal(npuc_onnx_read(NULL, BAD "all_forms.onnx", &m), NPUC_OK);
  const graph *g = m->graphs[0];
  is_element(g, "f", DTYPE_F32, 1, -2);
  is_element(g, "d", DTYPE_F64, 1, 1e300);
  is_element(g, "i", DTYPE_I64, 1, 1099511627776.0);
  is_element(g, "i", DTYPE_I64, 0, -1);
  is_element(g, "u", DTYPE_U64, 0, 9223372036854775808.0);
  is_element(g, "u4", DTYPE_U32, 0, 4e9);
  is_element(g, "b", DTYPE_I8, 0, -1);
  is_element(g, "h", DTYPE_F16, 1, -2);
  is_element(g, "t", DTYPE_BOOL, 0, 1);
  is_element(g, "n", DTYPE_I4, 0, -1);
  is_element(g, "n", DTYPE_I4, 1, 7);
  is_element(g, "n", DTYPE_I4, 2, -8);
  is_element(g, "raw", DTYPE_F32, 3, 4);
  assert_true(constant_element(g, "c0", 0) == 0.5);
  assert_true(constant_element(g, "c1", 1) == 2);
  assert_true(constant_element(g, "c2", 0) == 7);
  assert_true(constant_element(g, "c3", 2) == 3);
  assert_true(constant_element(g, "c4", 0) == 5);
  const quant *q = npuc_graph_value(g, "raw")->quant;
  assert_non_null(q);
  assert_true(npuc_tensor_get(&q->scale, 1) == 0.25);
  assert_null(npuc_graph_value(g, "raw_scale")); /* the annotation's, not the graph's */
  assert_string_equal(npuc_map_get(m->metadata, "b"), "two");
  assert_string_equal(m->producer, "forms");
  npuc_module_destroy(m);
}

static npuc_status read_model(diag *d, const char *path) {
  module *m = NULL;
  NPUC_TRY(npuc_onnx_read(d, path, &m));
  npuc_module_destroy(m);
  return NPUC_OK;
}

static void damaged_models_are_refused_or_read(void **state) {
  (void)state;
  assert_true(npuc_damage_try(BAD "all_forms.onnx", "x.onnx", read_model) > 1000);
  assert_true(npuc_damage_try(NPUC_SOURCE_DIR "/tests/data/onnx_old/batchnorm_8.onnx", "x.onnx", read_model) > 300);
  assert_true(npuc_damage_try(NPUC_SOURCE_DIR "/tests/data/cases/P44/model.onnx", "x.onnx", read_model) > 300);
  static const char *const nested[] = {"function_with_if", "if_nested", "loop_several", "scan_8", "scan_directions", "sequence_split"};
  for (size_t i = 0; i < sizeof nested / sizeof *nested; i++) {
    char path[512];
    (void)snprintf(path, sizeof path, NPUC_SOURCE_DIR "/tests/data/nested/%s/model.onnx", nested[i]);
    assert_true(npuc_damage_try(path, "x.onnx", read_model) > 300);
  }
  diag_code code = NPUC_DIAG_E0001;
  assert_int_equal(npuc_damage_bytes("", 0, "x.onnx", read_model, &code), NPUC_BAD_INPUT);
  assert_int_equal(code, NPUC_DIAG_E0301);
  assert_int_equal(npuc_damage_bytes("<!DOCTYPE html>", 15, "x.onnx", read_model, &code), NPUC_BAD_INPUT);
  assert_int_equal(code, NPUC_DIAG_E0201);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(faults_are_named),
      cmocka_unit_test(nan_weights_are_a_warning),
      cmocka_unit_test(external_data_is_a_view),
      cmocka_unit_test(links_may_not_leave_the_folder),
      cmocka_unit_test(every_form_of_a_tensor_is_read),
      cmocka_unit_test(damaged_models_are_refused_or_read),
  };
  return cmocka_run_group_tests_name("onnx refuse", tests, NULL, NULL);
}
