/* SPDX-License-Identifier: Apache-2.0 */
/* auto_pad may still be SAME here, where the dims were symbols until the run: it is resolved from the tensors. */
#include "ir/eval/window.h"

#include <string.h>

npuc_status npuc_eval_window(const eval_context *c, const window_fields *fields, const tensor *x, const tensor *y, const int64_t *kernel,
                             int64_t group, kernel_window *out_window) {
  int32_t spatial = x->shape.rank - 2;
  if (spatial < 1 || spatial > WINDOW_AXES) {
    diag_place place = npuc_eval_place(c);
    return npuc_fail(c->d, NPUC_DIAG_E0602, &place, "%d spatial axes; 1 to %d are executed", (int)spatial, (int)WINDOW_AXES);
  }
  kernel_window g = {.batch = x->shape.dims[0], .channels = x->shape.dims[1], .out_channels = y->shape.dims[1], .group = group};
  bool upper = fields->auto_pad && strcmp(fields->auto_pad, "SAME_UPPER") == 0;
  bool same = upper || (fields->auto_pad && strcmp(fields->auto_pad, "SAME_LOWER") == 0);
  for (int axis = 0; axis < WINDOW_AXES; axis++) {
    g.in[axis] = g.out[axis] = g.kernel[axis] = g.stride[axis] = g.dilation[axis] = 1;
  }
  for (int32_t i = 0; i < spatial; i++) {
    int32_t axis = WINDOW_AXES - spatial + i;
    window_axis a = npuc_window_axis(fields, i, kernel[i]);
    if (same) npuc_window_same(&a, x->shape.dims[2 + i], upper);
    g.in[axis] = x->shape.dims[2 + i];
    g.out[axis] = y->shape.dims[2 + i];
    g.kernel[axis] = a.kernel;
    g.stride[axis] = a.stride;
    g.dilation[axis] = a.dilation;
    g.begin[axis] = a.begin;
    g.end[axis] = a.end;
  }
  *out_window = g;
  return NPUC_OK;
}
