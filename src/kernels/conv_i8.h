/* SPDX-License-Identifier: Apache-2.0 */
/* int8 convolution and matrix product (QConv, QGemm of docs/numerics.md) on the kernels of a set: byte for byte what kernels/ref/integer.c gives. */
#ifndef NPUC_KERNELS_CONV_I8_H
#define NPUC_KERNELS_CONV_I8_H

#include "base/threads.h"
#include "kernels/kernels.h"
#include "kernels/ref/integer.h"

typedef struct conv_i8 {
  kernel_window g;
  q8_input x;  /* [batch, channels, in...], channels last where x_last */
  q8_output y; /* [batch, out_channels, out...], channels last where y_last */
  bool x_last, y_last;
  const int32_t *packed; /* of npuc_conv_i8_pack */
  q8_scale scale;
} conv_i8;

/* 32-bit elements of packed weights, a multiple of 16; they depend on the kernel set, and on channels, group, kernel and dilation only. */
size_t npuc_conv_i8_packed_elements(const kernel_set *kernels, const kernel_window *g);
/* w s8 [out_channels, channels/group, kernel volume]; out_packed at a multiple of 64 bytes. */
void npuc_conv_i8_pack(const kernel_set *kernels, const kernel_window *g, const int8_t *w, int32_t *out_packed);
/* Bytes of scratch for one call; false when they are beyond 2^31. */
bool npuc_conv_i8_scratch(const kernel_set *kernels, const conv_i8 *conv, size_t threads, size_t *out_bytes);
void npuc_conv_i8(const kernel_set *kernels, thread_pool *pool, const conv_i8 *conv, void *scratch);

/* A matrix product x [rows, depth] * w [outputs, depth] as a convolution: a row is a pixel. */
kernel_window npuc_gemm_i8_window(int64_t rows, int64_t depth, int64_t outputs);

#endif
