/* SPDX-License-Identifier: Apache-2.0 */
/* Element types; the one table is dtype.def. Types below 8 bits are packed, element 0 in the low bits of byte 0. */
#ifndef NPUC_TENSOR_DTYPE_H
#define NPUC_TENSOR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum dtype {
  DTYPE_NONE = 0, /* unknown */
#define DTYPE(name, text, onnx, bits, kind) DTYPE_##name = (onnx),
#include "tensor/dtype.def"
#undef DTYPE
  DTYPE_END
} dtype;

typedef enum dtype_kind { KIND_NONE, KIND_FLOAT, KIND_INT, KIND_UINT, KIND_BOOL, KIND_STRING, KIND_COMPLEX } dtype_kind;

const char *npuc_dtype_name(dtype type);                  /* "float32"; "unknown" for DTYPE_NONE */
bool npuc_dtype_parse(const char *text, dtype *out_type); /* "float32", "f32", "float", "u8", "uint8", ... */
unsigned npuc_dtype_bits(dtype type);
dtype_kind npuc_dtype_kind(dtype type);
static inline bool npuc_dtype_is_integer(dtype t) { return npuc_dtype_kind(t) == KIND_INT || npuc_dtype_kind(t) == KIND_UINT; }
/* Smallest and largest value of an integer type of up to 32 bits; false for others. */
bool npuc_dtype_range(dtype type, int64_t *out_lo, int64_t *out_hi);
/* Bytes of n elements, packed; false on overflow or a type without a size. */
bool npuc_dtype_bytes(dtype type, int64_t n, size_t *out_bytes);

#endif
