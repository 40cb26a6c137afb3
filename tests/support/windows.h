/* SPDX-License-Identifier: Apache-2.0 */
/* A grid of convolutions for kernel tests: edges of tiles (channels 1, 4 +- 1, rows 8 and 16 +- 1), strides, dilations, groups, 1-D and 3-D. */
#ifndef NPUC_TESTS_SUPPORT_WINDOWS_H
#define NPUC_TESTS_SUPPORT_WINDOWS_H

#include "kernels/window.h"

static inline kernel_window test_window(int64_t batch, int64_t channels, int64_t out_channels, int64_t group, int64_t in_h, int64_t in_w,
                                        int64_t k_h, int64_t k_w, int64_t stride, int64_t dilation, int64_t pad) {
  kernel_window g = {.batch = batch,
                     .channels = channels,
                     .out_channels = out_channels,
                     .group = group,
                     .in = {1, in_h, in_w},
                     .out = {1, 1, 1},
                     .kernel = {1, k_h, k_w},
                     .stride = {1, stride, stride},
                     .begin = {0, pad, pad},
                     .end = {0, pad, pad},
                     .dilation = {1, dilation, dilation}};
  for (int a = 0; a < WINDOW_AXES; a++) {
    g.out[a] = (g.in[a] + g.begin[a] + g.end[a] - g.dilation[a] * (g.kernel[a] - 1) - 1) / g.stride[a] + 1;
  }
  return g;
}

/* Window `i` of the grid; false past its end. */
static inline int test_window_at(int i, kernel_window *out) {
  const kernel_window grid[] = {
      test_window(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0),       test_window(1, 3, 5, 1, 7, 7, 3, 3, 1, 1, 1),
      test_window(2, 4, 4, 1, 6, 8, 3, 3, 1, 1, 1),       test_window(3, 5, 3, 1, 5, 9, 3, 3, 2, 1, 1),
      test_window(1, 16, 16, 1, 8, 32, 3, 3, 1, 1, 1),    test_window(2, 7, 9, 1, 9, 17, 1, 1, 1, 1, 0),
      test_window(1, 8, 8, 8, 10, 10, 3, 3, 1, 1, 1),     test_window(2, 6, 12, 6, 9, 33, 3, 3, 2, 1, 1),
      test_window(1, 8, 12, 2, 11, 15, 3, 2, 1, 2, 2),    test_window(1, 3, 4, 1, 12, 23, 5, 5, 3, 1, 2),
      test_window(1, 64, 10, 1, 1, 16, 1, 1, 1, 1, 0),    test_window(1, 33, 6, 1, 3, 5, 1, 1, 1, 1, 0),
      test_window(1, 2, 6, 1, 1, 31, 1, 5, 2, 1, 2),      test_window(5, 9, 2, 1, 4, 4, 3, 3, 1, 1, 1),
      test_window(1, 4, 4, 1, 6, 6, 1, 1, 2, 1, 0),       test_window(1, 2, 3, 1, 4, 40, 2, 2, 1, 3, 1),
      test_window(1, 1, 64, 1, 12, 10, 10, 4, 2, 1, 4),   test_window(1, 5, 5, 5, 6, 5, 3, 3, 1, 2, 2),
      test_window(2, 24, 24, 24, 7, 7, 3, 3, 1, 1, 1),    test_window(1, 40, 40, 40, 9, 27, 5, 5, 2, 1, 2),
      test_window(1, 16, 16, 16, 6, 7, 2, 4, 1, 1, 1),    test_window(1, 16, 24, 1, 5, 5, 1, 1, 1, 1, 0),
      test_window(1, 80, 80, 80, 5, 9, 3, 3, 1, 1, 1),    test_window(2, 32, 32, 32, 4, 71, 3, 3, 1, 1, 1),
      test_window(1, 160, 160, 160, 7, 6, 5, 5, 2, 1, 2), test_window(1, 2, 2, 2, 5, 45, 3, 3, 1, 1, 1),
      test_window(1, 32, 40, 4, 7, 9, 3, 3, 1, 1, 1),     test_window(1, 32, 17, 1, 13, 5, 3, 3, 1, 1, 1),
  };
  if (i == (int)(sizeof grid / sizeof grid[0])) { /* 3-D */
    kernel_window g = test_window(1, 3, 4, 1, 5, 9, 3, 3, 2, 1, 1);
    g.in[0] = 4, g.kernel[0] = 2, g.begin[0] = 1, g.out[0] = 4;
    *out = g;
    return 1;
  }
  if (i > (int)(sizeof grid / sizeof grid[0])) return 0;
  *out = grid[i];
  return 1;
}

#endif
