/* SPDX-License-Identifier: Apache-2.0 */
/* Shape arithmetic that inference and evaluation of Resize and ConvTranspose share. */
#ifndef NPUC_IR_OPS_RESAMPLE_H
#define NPUC_IR_OPS_RESAMPLE_H

#include "ir/ops/support.h"

/* One axis of a Resize: dims and the factor between them, 1 where the axis is not resized. */
typedef struct resize_axis {
  int64_t input, output;
  double scale;
  double length; /* of the resized axis, of which the output is the floor: scale * input in float32, as scales are given */
} resize_axis;
/* scales, sizes: NULL or known tensors; exactly one has elements. False with a reason when they do not fit. */
bool npuc_resize_axes(const resize_attributes *a, const shape *x, const tensor *scales, const tensor *sizes, resize_axis out[MAX_RANK],
                      const char **out_reason);

/* The axis as a linear map [output, input]: each output place is a sum of weighted input places. Not for tf_crop_and_resize, whose
 * places outside have a value of their own. In the arena, which holds output * input doubles more. */
double *npuc_resize_matrix(arena *a, const resize_attributes *attributes, const resize_axis *r);

/* One spatial axis of a ConvTranspose: window begin and output's size; false when that is below 0. kernel is the number of taps. */
typedef struct transposed_axis {
  int64_t stride, dilation, begin, output;
} transposed_axis;
bool npuc_transposed_axis(const convtranspose_attributes *a, int32_t axis, int32_t spatial, int64_t input, int64_t kernel,
                          transposed_axis *out);

#endif
