/* SPDX-License-Identifier: Apache-2.0 */
/* The fixtures of tests/data/cases and the demo's network through the ONNX reader: the shapes that their right values have, the one
 * that must be refused refused by name, and no file cut short accepted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "import/onnx/onnx.h"
#include "support/scratch.h"

#define CASES NPUC_SOURCE_DIR "/tests/data/cases/"
#define DEMO NPUC_SOURCE_DIR "/examples/demo/model.onnx"
enum { SYMBOL = -1, MOST_DIMS = 4 };

typedef struct wanted {
  const char *path, *output;
  int rank;
  int64_t dims[MOST_DIMS]; /* SYMBOL: a named symbol */
} wanted;

static const wanted models[] = {
    {CASES "P10/model.onnx", "y", 4, {1, 1, 3, 3}},
    {CASES "P12/model.onnx", "y", 3, {1, 2, 4}},
    {CASES "P43/model.onnx", "y", 4, {2, 3, 4, 4}},
    {CASES "P44/model.onnx", "a", 4, {5, 2, 8, 4}},
    {CASES "P44/model.onnx", "b", 4, {5, 2, 6, 2}},
    {CASES "P44-spatial/model.onnx", "a", 4, {1, 2, 8, 8}},
    {CASES "P44-spatial/model.onnx", "b", 4, {1, 2, 6, 6}},
    {CASES "P44-sole/model.onnx", "y", 4, {1, 2, 6, 8}},
    {CASES "P46/model.onnx", "y", 4, {2, 4, 7, 7}},
    {CASES "P60/model.onnx", "y", 4, {SYMBOL, 8, 8, 8}},
    {CASES "P60-balanced/model.onnx", "y", 4, {SYMBOL, 8, 8, 8}},
    {CASES "P62/model.onnx", "y", 4, {SYMBOL, 2, 8, 8}},
    {CASES "P66/model.onnx", "y", 3, {SYMBOL, 12, 6}},
    {DEMO, "logits", 2, {SYMBOL, 10}},
};

static bool has_shape(const value *v, const wanted *w) {
  if (v->shape.rank != w->rank) return false;
  for (int i = 0; i < w->rank; i++) {
    const dim d = v->shape.dims[i];
    if (w->dims[i] == SYMBOL ? !dim_is_symbol(d) : d != w->dims[i]) return false;
  }
  return true;
}

static void shapes_are_those_of_the_right_values(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
    const wanted *w = &models[i];
    diag *d = npuc_diag_create(NULL, NULL);
    module *m = NULL;
    const npuc_status status = npuc_onnx_read(d, w->path, &m);
    if (status != NPUC_OK) fail_msg("%s: %s", w->path, npuc_diag_first_error(d)->reason);
    const value *v = npuc_graph_value(m->graphs[0], w->output);
    assert_non_null(v);
    if (!v->is_output || !has_shape(v, w)) fail_msg("%s: output %s has another shape", w->path, w->output);
    wanted wrong = *w; /* the comparison can fail */
    wrong.dims[wrong.rank - 1]++;
    assert_false(has_shape(v, &wrong));
    npuc_module_destroy(m);
    npuc_diag_destroy(d);
  }
}

static void training_mode_is_refused_by_name(void **state) {
  (void)state;
  diag *d = npuc_diag_create(NULL, NULL);
  module *m = NULL;
  assert_int_equal(npuc_onnx_read(d, CASES "P43-training/model.onnx", &m), NPUC_UNSUPPORTED);
  const diag_record *record = npuc_diag_first_error(d);
  assert_non_null(record);
  assert_string_equal(record->place.attribute, "training_mode");
  assert_string_equal(record->place.op, "BatchNormalization");
  assert_non_null(record->place.node);
  assert_null(m);
  npuc_diag_destroy(d);
}

static char *read_all(const char *path, size_t *out_size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  const long size = ftell(file);
  assert_true(size > 0);
  rewind(file);
  char *bytes = malloc((size_t)size);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, (size_t)size, file), (size_t)size);
  fclose(file);
  *out_size = (size_t)size;
  return bytes;
}

/* A prefix of a protobuf message may end between two fields; then the graph or its opset is missing, which is as bad. */
static void no_prefix_of_the_demo_is_accepted(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  const char *folder = npuc_scratch_create(a);
  size_t size = 0;
  char *bytes = read_all(DEMO, &size);
  char *path = npuc_arena_printf(a, "%s/cut.onnx", folder);
  for (size_t step = 0; step < 200; step++) {
    const size_t length = step < 100 ? step : step == 199 ? size - 1 : (size - 1) / 100 * (step - 99);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    diag *d = npuc_diag_create(NULL, NULL);
    module *m = NULL;
    const npuc_status status = npuc_onnx_read(d, path, &m);
    if (status != NPUC_BAD_INPUT) fail_msg("the first %zu of %zu bytes: status %d", length, size, (int)status);
    assert_non_null(npuc_diag_first_error(d));
    npuc_diag_destroy(d);
  }
  free(bytes);
  npuc_scratch_remove(folder);
  npuc_arena_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shapes_are_those_of_the_right_values),
      cmocka_unit_test(training_mode_is_refused_by_name),
      cmocka_unit_test(no_prefix_of_the_demo_is_accepted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
