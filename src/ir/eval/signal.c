/* SPDX-License-Identifier: Apache-2.0 */
/* HannWindow, HammingWindow, BlackmanWindow: sums of cosines, in double. */
#include <math.h>

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
