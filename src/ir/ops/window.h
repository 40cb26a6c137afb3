/* SPDX-License-Identifier: Apache-2.0 */
/* Sliding windows: the shape arithmetic of Conv, the pools and their integer forms.
 *
 *   span   = dilation * (kernel - 1) + 1                          cells from a window's first to its last tap
 *   padded = begin + input + end
 *   output = floor((padded - span) / stride) + 1                  ceil_mode = 0
 *   output = ceil((padded - span) / stride) + 1                   ceil_mode = 1; a last window that would start in the end
 *                                                                 padding is dropped: (output - 1) * stride >= begin + input
 *   SAME_UPPER, SAME_LOWER: output = ceil(input / stride); begin + end = max(0, (output - 1) * stride + span - input), the odd
 *   cell at the end for UPPER, at the beginning for LOWER. VALID: no padding. */
#ifndef NPUC_IR_OPS_WINDOW_H
#define NPUC_IR_OPS_WINDOW_H

#include "ir/ops/support.h"

/* The fields that conv_attributes, pool_attributes, qconv_attributes and qpool_attributes have in common. */
typedef struct window_fields {
  const char *auto_pad; /* NULL: NOTSET */
  int_list *kernel_shape, *strides, *pads, *dilations;
  int64_t ceil_mode;
} window_fields;

static inline window_fields window_of_conv(conv_attributes *a) {
  return (window_fields){a->auto_pad, &a->kernel_shape, &a->strides, &a->pads, &a->dilations, 0};
}
static inline window_fields window_of_pool(pool_attributes *a) {
  return (window_fields){a->auto_pad, &a->kernel_shape, &a->strides, &a->pads, &a->dilations, a->ceil_mode};
}

/* One spatial axis, defaults filled in. begin and end hold for NOTSET and VALID. */
typedef struct window_axis {
  int64_t kernel, stride, dilation, begin, end;
} window_axis;
window_axis npuc_window_axis(const window_fields *w, int32_t axis, int64_t kernel);

/* Outputs along one axis; false when the window does not fit into the padded input. */
bool npuc_window_output(const window_axis *a, int64_t input, bool ceil_mode, int64_t *out_output);
/* begin and end of SAME_UPPER (upper) or SAME_LOWER. */
void npuc_window_same(window_axis *a, int64_t input, bool upper);

/* Counts and ranges of the lists for `spatial` axes (or among themselves when spatial < 0). */
npuc_status npuc_window_verify(diag *d, const node *n, const window_fields *w, int32_t spatial);
/* Dims 2.. of output 0 from dims 2.. of x; kernel holds the kernel's size per axis. */
npuc_status npuc_window_infer(infer_context *c, const window_fields *w, const shape *x, const int64_t *kernel, shape *out_shape);
/* Fills strides, dilations, kernel_shape (from `kernel`), and pads where they can be computed; *auto_pad becomes NOTSET when they could. */
npuc_status npuc_window_complete(node *n, const window_fields *w, const shape *x, const int64_t *kernel, const char **auto_pad);

#endif
