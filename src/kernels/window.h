/* SPDX-License-Identifier: Apache-2.0 */
/* The geometry of convolutions and pools: up to three spatial axes, the last axes of the arrays in use (a 2-D image has depth 1:
 * in[0] = out[0] = kernel[0] = 1). Window p of an axis covers input cells p * stride - begin + j * dilation, 0 <= j < kernel. */
#ifndef NPUC_KERNELS_WINDOW_H
#define NPUC_KERNELS_WINDOW_H

#include <stdint.h>

enum { WINDOW_AXES = 3 };

typedef struct kernel_window {
  int64_t batch, channels, out_channels, group;
  int64_t in[WINDOW_AXES], out[WINDOW_AXES], kernel[WINDOW_AXES], stride[WINDOW_AXES], begin[WINDOW_AXES], end[WINDOW_AXES],
      dilation[WINDOW_AXES];
} kernel_window;

static inline int64_t window_volume(const int64_t dims[WINDOW_AXES]) { return dims[0] * dims[1] * dims[2]; }

/* Outputs [first, last) of one axis for which tap j lies inside the input. */
static inline void window_inside(const kernel_window *g, int axis, int64_t j, int64_t *out_first, int64_t *out_last) {
  int64_t offset = j * g->dilation[axis] - g->begin[axis], s = g->stride[axis];
  int64_t first = offset >= 0 ? 0 : s == 1 ? -offset : (-offset + s - 1) / s;
  int64_t room = g->in[axis] - 1 - offset;
  int64_t last = room < 0 ? 0 : s == 1 ? room + 1 : room / s + 1;
  if (last > g->out[axis]) last = g->out[axis];
  *out_first = first > last ? last : first;
  *out_last = last;
}

#endif
