/* SPDX-License-Identifier: Apache-2.0 */
/* The demo's network in integers on its 400 held-out pictures: accuracy beside float's 379 right, and the same decisions as the QDQ form
 * wherever the integers' two best are not neighbours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/npy.h"
#include "media/preprocess.h"
#include "support/quantized.h"

#define DEMO NPUC_SOURCE_DIR "/examples/demo/"
enum { CLASSES = 10, FLOAT_RIGHT = 379, MAX_LOST = 4 /* one point of 400; ONNX Runtime's quantizer loses 2 */ };

static tensor load(const char *path) {
  tensor t;
  if (npuc_npy_read(NULL, path, &t) != NPUC_OK) fail_msg("%s cannot be read", path);
  return t;
}

static tensor normalized(const char *path) {
  tensor pictures = load(path), floats;
  arena *a = npuc_arena_create();
  preprocess *p = NULL;
  preprocess_plan plan;
  const shape one = {.rank = 3, .dims = {3, 16, 16}};
  const size_t size = 3 * 16 * 16;
  assert_int_equal(npuc_preprocess_parse(NULL, a, "scale=1/255,mean=0.5:0.5:0.5,std=0.25:0.25:0.25", &p), NPUC_OK);
  assert_int_equal(npuc_preprocess_plan(NULL, p, pictures.type, &one, &one, &plan), NPUC_OK);
  assert_int_equal(npuc_tensor_create(NULL, DTYPE_F32, &pictures.shape, &floats), NPUC_OK);
  for (size_t i = 0; i < (size_t)pictures.shape.dims[0]; i++) {
    assert_int_equal(npuc_preprocess_apply(NULL, &plan, (const uint8_t *)pictures.data + i * size, (float *)floats.data + i * size),
                     NPUC_OK);
  }
  npuc_arena_destroy(a);
  npuc_tensor_release(&pictures);
  return floats;
}

static int best_of(const float *logits) {
  int best = 0;
  for (int c = 1; c < CLASSES; c++) {
    if (logits[c] > logits[best]) best = c;
  }
  return best;
}

/* Distance of the two best, in steps of the output. */
static float margin(const float *logits, float step) {
  const int best = best_of(logits);
  float second = -1e30f;
  for (int c = 0; c < CLASSES; c++) {
    if (c != best && logits[c] > second) second = logits[c];
  }
  return (logits[best] - second) / step;
}

typedef struct counts {
  int right, judged_right, differ, far; /* far: differing decisions more than 4 steps apart */
} counts;

static counts count(quantized *q, const tensor *pictures, const tensor *labels) {
  counts n = {0};
  const float step = (float)npuc_tensor_get(&q->integer->graphs[0]->outputs[0]->quant->scale, 0);
  for (int64_t i = 0; i < pictures->shape.dims[0]; i++) {
    float ours[CLASSES], judged[CLASSES];
    npuc_quantized_run(q, pictures, i, ours);
    npuc_quantized_judge(q, pictures, i, judged);
    const int64_t label = npuc_tensor_get_int(labels, i);
    n.right += best_of(ours) == label;
    n.judged_right += best_of(judged) == label;
    if (best_of(ours) == best_of(judged)) continue;
    n.differ++;
    n.far += margin(ours, step) > 4.5f;
  }
  return n;
}

static void check(quant_options options, const char *name) {
  tensor calib = normalized(DEMO "calib.npy"), pictures = normalized(DEMO "test.npy"), labels = load(DEMO "test.labels.npy");
  quantized q;
  npuc_quantized_create(DEMO "model.onnx", &calib, &options, &q);
  const counts n = count(&q, &pictures, &labels);
  print_message("%s: %d right in integers, %d in QDQ, %d decisions differ, %d of them far\n", name, n.right, n.judged_right, n.differ,
                n.far);
  assert_true(n.right >= FLOAT_RIGHT - MAX_LOST);
  assert_true(n.judged_right >= FLOAT_RIGHT - MAX_LOST);
  assert_true(n.differ <= 4);
  assert_int_equal(n.far, 0);
  npuc_quantized_release(&q);
  npuc_tensor_release(&calib);
  npuc_tensor_release(&pictures);
  npuc_tensor_release(&labels);
}

static void default_options(void **state) {
  (void)state;
  check(npuc_quant_options_default(), "default");
}

/* As refnpu takes it: multipliers of 15 bits. */
static void refnpu_multipliers(void **state) {
  (void)state;
  quant_options options = npuc_quant_options_default();
  options.multiplier_bits = 15;
  check(options, "15-bit multipliers");
}

static void symmetric_activations(void **state) {
  (void)state;
  quant_options options = npuc_quant_options_default();
  options.activations = (quant_grid){.type = DTYPE_I8, .symmetric = true};
  check(options, "symmetric");
}

static void every_observer(void **state) {
  (void)state;
  for (quant_observer kind = OBSERVER_MINMAX; kind < OBSERVER_COUNT; kind++) {
    quant_options options = npuc_quant_options_default();
    options.observer = kind;
    check(options, npuc_observer_name(kind));
  }
}

/* Calibrated on pictures a hundred times darker, everything saturates: the counts can fail. */
static void wrong_calibration_is_seen(void **state) {
  (void)state;
  tensor calib = normalized(DEMO "calib.npy"), pictures = normalized(DEMO "test.npy"), labels = load(DEMO "test.labels.npy");
  for (int64_t i = 0; i < npuc_tensor_elements(&calib); i++) npuc_tensor_set(&calib, i, npuc_tensor_get(&calib, i) / 100);
  quantized q;
  const quant_options options = npuc_quant_options_default();
  npuc_quantized_create(DEMO "model.onnx", &calib, &options, &q);
  assert_true(count(&q, &pictures, &labels).right < FLOAT_RIGHT - MAX_LOST);
  npuc_quantized_release(&q);
  npuc_tensor_release(&calib);
  npuc_tensor_release(&pictures);
  npuc_tensor_release(&labels);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(default_options), cmocka_unit_test(refnpu_multipliers),        cmocka_unit_test(symmetric_activations),
      cmocka_unit_test(every_observer),  cmocka_unit_test(wrong_calibration_is_seen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
