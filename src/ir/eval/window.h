/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels' window geometry of a node and its tensors. */
#ifndef NPUC_IR_EVAL_WINDOW_H
#define NPUC_IR_EVAL_WINDOW_H

#include "ir/eval/eval.h"
#include "ir/ops/window.h"
#include "kernels/window.h"

/* kernel: size per spatial axis (attribute's or W's); out_channels and group as given. Up to three spatial axes: more is E0602. */
npuc_status npuc_eval_window(const eval_context *c, const window_fields *fields, const tensor *x, const tensor *y, const int64_t *kernel,
                             int64_t group, kernel_window *out_window) NPUC_MUST_USE;

#endif
