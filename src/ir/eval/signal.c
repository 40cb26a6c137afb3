/* SPDX-License-Identifier: Apache-2.0 */
/* HannWindow, HammingWindow, BlackmanWindow: sums of cosines; MelWeightMatrix: triangles. In double. */
#include <math.h>
#include <string.h>

#include "ir/eval/eval.h"

static npuc_status window(const eval_context *c, tensor *y, double a0, double a1, double a2) {
  int64_t n = npuc_tensor_elements(y);
  double period = (double)(NPUC_ATTRS(signal_window_attributes, c->node)->periodic ? n : n - 1), turn = 6.28318530717958647693;
  for (int64_t i = 0; i < n; i++)
    npuc_tensor_set(y, i, a0 - a1 * cos(turn * (double)i / period) + a2 * cos(2.0 * turn * (double)i / period));
  return NPUC_OK;
}

npuc_status npuc_eval_hannwindow(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  (void)inputs;
  return window(c, outputs[0], 0.5, 0.5, 0.0);
}
npuc_status npuc_eval_hammingwindow(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  (void)inputs;
  return window(c, outputs[0], 25.0 / 46.0, 21.0 / 46.0, 0.0);
}
npuc_status npuc_eval_blackmanwindow(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  (void)inputs;
  return window(c, outputs[0], 0.42, 0.5, 0.08);
}

/* -- MelWeightMatrix -- */

/* Column i of [bins, columns]: up from `low`, 1 at `mid`, down to `high`. */
static void triangle(tensor *y, int64_t i, int64_t low, int64_t mid, int64_t high) {
  int64_t bins = y->shape.dims[0], columns = y->shape.dims[1];
  for (int64_t k = low < 0 ? 0 : low; k <= high && k < bins; k++) {
    double v = k < mid ? (double)(k - low) / (double)(mid - low) : k == mid ? 1.0 : (double)(high - k) / (double)(high - mid);
    npuc_tensor_set(y, k * columns + i, v);
  }
}

npuc_status npuc_eval_melweightmatrix(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  tensor *y = outputs[0];
  int64_t columns = y->shape.dims[1], length = npuc_tensor_get_int(inputs[1], 0), rate = npuc_tensor_get_int(inputs[2], 0);
  double low = npuc_tensor_get(inputs[3], 0), high = npuc_tensor_get(inputs[4], 0);
  diag_place place = npuc_eval_place(c);
  if (rate < 1 || !(low > -700.0) || !(high > -700.0))
    return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "sample rate %lld, edges %g and %g hertz", (long long)rate, low, high);
  if (y->bytes) memset(y->data, 0, y->bytes);
  double first = log10(1.0 + low / 700.0), step = (log10(1.0 + high / 700.0) - first) / (double)(columns + 2);
  int64_t edge[3] = {0, 0, 0};
  for (int64_t i = 0; i < columns + 2; i++) {
    edge[0] = edge[1];
    edge[1] = edge[2];
    edge[2] = (int64_t)floor((double)(length + 1) * 700.0 * (pow(10.0, first + (double)i * step) - 1.0) / (double)rate);
    if (i >= 2) triangle(y, i - 2, edge[0], edge[1], edge[2]);
  }
  return NPUC_OK;
}
