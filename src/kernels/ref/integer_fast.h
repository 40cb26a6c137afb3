/* SPDX-License-Identifier: Apache-2.0 */
/* QConv and QGemm for the executor, in portable C that compilers vectorize: patches of (x - zero point) as int16 in rows, weights as int16
 * in rows, dot products of int16 pairs into int32 (pmaddwd on x86, smlal on ARM). Integer sums are exact in any order, so the bytes are
 * those of kernels/ref/integer.c. */
#ifndef NPUC_KERNELS_REF_INTEGER_FAST_H
#define NPUC_KERNELS_REF_INTEGER_FAST_H

#include <stddef.h>

#include "kernels/ref/integer.h"

/* Rows of patches and weights are padded with zeros to a multiple of this many values. */
enum { Q8_PACK = 16, Q8_TILE = 16 /* output pixels of a tile */ };
static inline int64_t npuc_q8_packed(int64_t depth) { return (depth + Q8_PACK - 1) / Q8_PACK * Q8_PACK; }

/* rows x depth bytes s8 -> rows x packed(depth) int16. */
void npuc_q8_pack_weights(int64_t rows, int64_t depth, const int8_t *w, int16_t *out);
/* Values of scratch that one call of npuc_q8_conv_tile needs. */
int64_t npuc_q8_tile_values(const q8_window *g);
/* Tiles of the whole output: batch * group * ceil(output pixels / Q8_TILE). Tile i may run in any thread. `packed`: weights of all output
 * channels; patch: scratch. */
int64_t npuc_q8_conv_tiles(const q8_window *g);
void npuc_q8_conv_tile(const q8_window *g, int64_t tile, const q8_input *x, const int16_t *packed, const q8_scale *scale, int16_t *patch, const q8_output *y);
/* Depthwise (group = channels = out_channels) planes [first, first + count) of batch * channels. row: scratch of out[2] int32. */
void npuc_q8_depthwise(const q8_window *g, int64_t first, int64_t count, const q8_input *x, const int8_t *w, const q8_scale *scale, int32_t *row,
                       const q8_output *y);
/* Rows [first, first + count) of a QGemm. */
void npuc_q8_gemm_rows(int64_t first, int64_t count, int64_t depth, int64_t outputs, const q8_input *x, const int16_t *packed, const q8_scale *scale,
                       int16_t *patch, const q8_output *y);

#endif
