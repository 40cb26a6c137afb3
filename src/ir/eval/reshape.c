/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose output is the input's bytes under another shape (or none at all): the executor makes them views, here they copy. */
#include <string.h>

#include "ir/eval/eval.h"
#include "ir/eval/random_source.h"

#define COPIES(symbol)                                                                                         \
  npuc_status npuc_eval_##symbol(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) { \
    (void)c;                                                                                                   \
    npuc_eval_copy(inputs[0], outputs[0]);                                                                     \
    return NPUC_OK;                                                                                            \
  }

COPIES(reshape)
COPIES(flatten)
COPIES(squeeze)
COPIES(unsqueeze)
COPIES(identity)

/* In training: what is kept is scaled up, so that the mean stays. */
static npuc_status drop(const eval_context *c, const tensor *x, double ratio, tensor *const *outputs) {
  int64_t seed = NPUC_ATTRS(dropout_attributes, c->node)->seed;
  random_source source;
  diag_place place = npuc_eval_place(c);
  if (!(ratio >= 0.0 && ratio <= 1.0)) return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "ratio %g; 0 to 1 wanted", ratio);
  npuc_random_seed(&source, seed == ABSENT_SEED ? 0 : (uint32_t)seed);
  double scale = ratio < 1.0 ? 1.0 / (1.0 - ratio) : 0.0;
  for (int64_t i = 0; i < npuc_tensor_elements(x); i++) {
    bool kept = npuc_random_double(&source) >= ratio;
    npuc_tensor_set(outputs[0], i, kept ? npuc_tensor_get(x, i) * scale : 0.0);
    if (eval_wants(c, outputs, 1)) npuc_tensor_set_int(outputs[1], i, kept);
  }
  return NPUC_OK;
}

/* At inference nothing is dropped; the mask is all true. */
npuc_status npuc_eval_dropout(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *training = eval_input(c, inputs, 2), *ratio = eval_input(c, inputs, 1);
  double share = ratio ? npuc_tensor_get(ratio, 0) : 0.5;
  if (training && npuc_tensor_get_int(training, 0) != 0 && share != 0.0) return drop(c, inputs[0], share, outputs);
  npuc_eval_copy(inputs[0], outputs[0]);
  if (eval_wants(c, outputs, 1)) memset(outputs[1]->data, 1, outputs[1]->bytes);
  return NPUC_OK;
}
