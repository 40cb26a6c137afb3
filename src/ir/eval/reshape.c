/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose output is the input's bytes under another shape (or none at all): the executor makes them views, here they copy. */
#include <string.h>

#include "ir/eval/eval.h"

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

/* At inference nothing is dropped; the mask is all true. A training_mode input that is true is refused: it would be random. */
npuc_status npuc_eval_dropout(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *training = eval_input(c, inputs, 2), *ratio = eval_input(c, inputs, 1);
  if (training && npuc_tensor_get_int(training, 0) != 0 && (!ratio || npuc_tensor_get(ratio, 0) != 0.0)) {
    diag_place place = npuc_eval_place(c);
    place.attribute = "training_mode";
    return npuc_fail(c->d, NPUC_DIAG_E0602, &place, "training_mode is true: the result would be random");
  }
  npuc_eval_copy(inputs[0], outputs[0]);
  if (eval_wants(c, outputs, 1)) memset(outputs[1]->data, 1, outputs[1]->bytes);
  return NPUC_OK;
}
