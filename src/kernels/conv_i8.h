/* SPDX-License-Identifier: Apache-2.0 */
/* int8 convolution and matrix product (QConv, QGemm of docs/numerics.md) on the kernels of a set: byte for byte what kernels/ref/integer.c gives. */
#ifndef NPUC_KERNELS_CONV_I8_H
#define NPUC_KERNELS_CONV_I8_H

#include "base/threads.h"
#include "kernels/kernels.h"
#include "kernels/ref/integer.h"

typedef struct conv_i8 {
  kernel_window g;
  q8_input x;            /* [batch, channels, in...] */
  const int32_t *packed; /* of npuc_conv_i8_pack */
  q8_scale scale;
  q8_output y; /* [batch, out_channels, out...] */
} conv_i8;

/* 32-bit elements of packed weights: [group, ceil(out_channels/group / 4), ceil(channels/group / 2) * kernel volume, 4] pairs of int16. */
size_t npuc_conv_i8_packed_elements(const kernel_window *g);
/* w s8 [out_channels, channels/group, kernel volume]. */
void npuc_conv_i8_pack(const kernel_window *g, const int8_t *w, int32_t *out_packed);
/* Bytes of scratch for one call; false when a sample is beyond 2^31 elements. */
bool npuc_conv_i8_scratch(const kernel_window *g, size_t threads, size_t *out_bytes);
void npuc_conv_i8(const kernel_set *kernels, thread_pool *pool, const conv_i8 *conv, void *scratch);

/* x [rows, depth], w s8 [outputs, depth] as it is, y [rows, outputs]. */
typedef struct gemm_i8 {
  int64_t rows, depth, outputs;
  q8_input x;
  const int8_t *w;
  q8_scale scale;
  q8_output y;
} gemm_i8;
size_t npuc_gemm_i8_scratch(int64_t depth, size_t threads);
void npuc_gemm_i8(const kernel_set *kernels, thread_pool *pool, const gemm_i8 *gemm, void *scratch);

#endif
