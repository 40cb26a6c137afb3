/* SPDX-License-Identifier: Apache-2.0 */
/* Three public reports on quantizers (tests/data/cases): P60 depthwise scales, P62 a bias that 32 bits do not hold, P66 the range of a
 * ReLU that is added to negative data. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/npy.h"
#include "support/quantized.h"

#define CASES NPUC_SOURCE_DIR "/tests/data/cases/"

static tensor load(const char *path) {
  tensor t;
  if (npuc_npy_read(NULL, path, &t) != NPUC_OK) fail_msg("%s cannot be read", path);
  return t;
}

static const node *find_op(const graph *g, const char *type) {
  NPUC_EACH_NODE(g, n) {
    if (strcmp(n->op->type, type) == 0) return n;
  }
  fail_msg("no %s in the graph", type);
  return NULL;
}

static double sqnr(const double signal, const double noise) { return noise > 0 ? 10 * log10(signal / noise) : INFINITY; }

/* Of `got` against `wanted`, both [samples, ...] floats. */
static double whole_sqnr(const float *got, const tensor *wanted) {
  double signal = 0, noise = 0;
  for (int64_t i = 0; i < npuc_tensor_elements(wanted); i++) {
    const double b = npuc_tensor_get(wanted, i);
    signal += b * b;
    noise += (got[i] - b) * (got[i] - b);
  }
  return sqnr(signal, noise);
}

static float *run_all(quantized *q, const tensor *inputs, const tensor *outputs) {
  const size_t each = (size_t)(npuc_tensor_elements(outputs) / outputs->shape.dims[0]);
  float *got = calloc((size_t)npuc_tensor_elements(outputs), sizeof *got);
  assert_non_null(got);
  for (int64_t i = 0; i < inputs->shape.dims[0]; i++) npuc_quantized_run(q, inputs, i, got + (size_t)i * each);
  return got;
}

/* SQNR of a channel's int8 weights, from the largest magnitude that its scale was chosen for: `range` is the channel's own, or the tensor's. */
static double channel_sqnr(const float *w, int64_t n, double range) {
  double signal = 0, noise = 0;
  for (int64_t i = 0; i < n; i++) {
    const double step = range / 127, back = rint(w[i] / step) * step;
    signal += (double)w[i] * w[i];
    noise += (back - w[i]) * (back - w[i]);
  }
  return sqnr(signal, noise);
}

static void depthwise_weights_keep_their_channels(void **state) {
  (void)state;
  enum { CHANNELS = 8, TAPS = 9 };
  tensor inputs = load(CASES "P60/input_x.npy");
  quantized q;
  const quant_options options = npuc_quant_options_default();
  npuc_quantized_create(CASES "P60/model.onnx", &inputs, &options, &q);
  const value *w = find_op(q.integer->graphs[0], "QConv")->inputs[1];
  const value *origin = find_op(q.qdq->graphs[0], "Conv")->inputs[1];
  assert_int_equal(w->quant->axis, 0);
  assert_int_equal(npuc_tensor_elements(&w->quant->scale), CHANNELS);
  assert_string_equal(origin->producer->op->type, "DequantizeLinear");
  assert_int_equal(npuc_tensor_elements(origin->producer->inputs[1]->constant), CHANNELS);
  float largest = 0;
  for (int64_t c = 0; c < CHANNELS; c++) {
    float back[TAPS], most = 0;
    const double scale = npuc_tensor_get(&w->quant->scale, c);
    for (int64_t i = 0; i < TAPS; i++) {
      back[i] = (float)(scale * (double)npuc_tensor_get_int(w->constant, c * TAPS + i));
      most = fmaxf(most, fabsf(back[i]));
    }
    largest = fmaxf(largest, most);
    assert_true(most > 126.5 * scale && most < 127.5 * scale);                  /* the channel uses all of its int8 */
    if (c == CHANNELS - 1) assert_true(channel_sqnr(back, TAPS, largest) < 20); /* with one scale it would not */
  }
  npuc_quantized_release(&q);
  npuc_tensor_release(&inputs);
}

static void depthwise_per_channel_beats_per_tensor(void **state) {
  (void)state;
  tensor inputs = load(CASES "P60-balanced/input_x.npy"), outputs = load(CASES "P60-balanced/output_y.npy"),
         coarse = load(CASES "P60-balanced/wrong_y.npy");
  quantized q;
  const quant_options options = npuc_quant_options_default();
  npuc_quantized_create(CASES "P60-balanced/model.onnx", &inputs, &options, &q);
  float *got = run_all(&q, &inputs, &outputs);
  const double ours = whole_sqnr(got, &outputs), theirs = whole_sqnr((const float *)coarse.data, &outputs);
  if (!(ours > 30 && theirs < 20)) fail_msg("per channel %.1f dB, per tensor %.1f dB", ours, theirs);
  free(got);
  npuc_quantized_release(&q);
  npuc_tensor_release(&inputs);
  npuc_tensor_release(&outputs);
  npuc_tensor_release(&coarse);
}

static bool has_warning(const diag *d, diag_code code) {
  for (size_t i = 0; i < npuc_diag_count(d); i++) {
    const diag_record *r = npuc_diag_at(d, i);
    if (r->code == code && r->severity == DIAG_WARNING) return true;
  }
  return false;
}

static void large_bias_raises_the_weight_scale(void **state) {
  (void)state;
  tensor inputs = load(CASES "P62/input_x.npy"), outputs = load(CASES "P62/output_y.npy");
  const dtype types[] = {DTYPE_U8, DTYPE_I8};
  for (size_t t = 0; t < 2; t++) {
    quantized q;
    quant_options options = npuc_quant_options_default();
    options.activations.type = types[t];
    options.multiplier_bits = t == 0 ? 31 : 15;
    npuc_quantized_create(CASES "P62/model.onnx", &inputs, &options, &q);
    const value *result = q.integer->graphs[0]->outputs[0];
    const double step = npuc_tensor_get(&result->quant->scale, 0);
    float *got = run_all(&q, &inputs, &outputs);
    for (int64_t i = 0; i < npuc_tensor_elements(&outputs); i++) {
      const double apart = fabs(got[i] - npuc_tensor_get(&outputs, i));
      if (apart > step) fail_msg("element %lld: %g apart, the step is %g", (long long)i, apart, step);
    }
    assert_true(step < 0.05); /* so a wrapped bias, units away, could not pass */
    assert_true(has_warning(q.d, NPUC_DIAG_E0707));
    assert_true(q.report->n_layers > 0 && q.report->layers[0].raised_channels == 2);
    free(got);
    npuc_quantized_release(&q);
  }
  npuc_tensor_release(&inputs);
  npuc_tensor_release(&outputs);
}

static void relu_before_an_addition_keeps_its_own_range(void **state) {
  (void)state;
  tensor inputs = load(CASES "P66/input_x.npy"), outputs = load(CASES "P66/output_y.npy");
  const dtype types[] = {DTYPE_U8, DTYPE_I8};
  for (size_t t = 0; t < 2; t++) {
    quantized q;
    quant_options options = npuc_quant_options_default();
    options.activations.type = types[t];
    npuc_quantized_create(CASES "P66/model.onnx", &inputs, &options, &q);
    const value *relu = find_op(q.integer->graphs[0], "QConv")->outputs[0];
    const int64_t lowest = types[t] == DTYPE_U8 ? 0 : -128;
    assert_int_equal(npuc_tensor_get_int(&relu->quant->zero_point, 0), lowest);
    const value *x = q.integer->graphs[0]->inputs[0]; /* while what it is added to has another */
    assert_true(npuc_tensor_get_int(&x->quant->zero_point, 0) > lowest + 100);
    float *got = run_all(&q, &inputs, &outputs);
    const double ours = whole_sqnr(got, &outputs);
    if (ours < 30) fail_msg("%.1f dB", ours);
    free(got);
    npuc_quantized_release(&q);
  }
  npuc_tensor_release(&inputs);
  npuc_tensor_release(&outputs);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(depthwise_weights_keep_their_channels),
      cmocka_unit_test(depthwise_per_channel_beats_per_tensor),
      cmocka_unit_test(large_bias_raises_the_weight_scale),
      cmocka_unit_test(relu_before_an_addition_keeps_its_own_range),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
