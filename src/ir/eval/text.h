/* SPDX-License-Identifier: Apache-2.0 */
/* What operators on texts share: making texts that live until the executor's next run, and numbers in texts. */
#ifndef NPUC_IR_EVAL_TEXT_H
#define NPUC_IR_EVAL_TEXT_H

#include "ir/eval/eval.h"
#include "tensor/reference.h"

/* Element `at` of `to` becomes `a` followed by `b`. */
npuc_status npuc_eval_keep_text(const eval_context *c, text_span a, text_span b, tensor *to, int64_t at) NPUC_MUST_USE;
/* Cast to and from texts; x or y has type string. */
npuc_status npuc_eval_cast_text(const eval_context *c, const tensor *x, tensor *y) NPUC_MUST_USE;
/* y, of booleans: whether texts are equal. */
npuc_status npuc_eval_equal_texts(const eval_context *c, const tensor *a, const tensor *b, tensor *y) NPUC_MUST_USE;

#endif
