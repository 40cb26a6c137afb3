/* SPDX-License-Identifier: Apache-2.0 */
/* Element types; the one table is dtype.def. Types below 8 bits are packed, element 0 in the low bits of byte 0.
 *
 * A text (string) and what a sequence or an optional holds have no bits of their own: an element is a reference (reference.h). Such a type has a size in memory
 * (npuc_dtype_memory), and none in a file (npuc_dtype_bytes), so no reader of bytes can take a file's bytes for a reference. A sequence is a vector of references to
 * tensors, an optional such a vector with one element or none; their types are made of the element's: DTYPE_SEQUENCE | DTYPE_F32, DTYPE_OPTIONAL | DTYPE_SEQUENCE | DTYPE_F32. */
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
  DTYPE_END,
  DTYPE_SEQUENCE = 64, /* marks, not types */
  DTYPE_OPTIONAL = 128
} dtype;

typedef enum dtype_kind { KIND_NONE, KIND_FLOAT, KIND_INT, KIND_UINT, KIND_BOOL, KIND_STRING, KIND_COMPLEX, KIND_LIST } dtype_kind;

const char *npuc_dtype_name(dtype type);                  /* "float32"; "unknown" for DTYPE_NONE */
bool npuc_dtype_parse(const char *text, dtype *out_type); /* "float32", "f32", "float", "u8", "uint8", ... */
unsigned npuc_dtype_bits(dtype type);
dtype_kind npuc_dtype_kind(dtype type);
static inline bool npuc_dtype_is_integer(dtype t) { return npuc_dtype_kind(t) == KIND_INT || npuc_dtype_kind(t) == KIND_UINT; }
/* Smallest and largest value of an integer type of up to 32 bits; false for others. */
bool npuc_dtype_range(dtype type, int64_t *out_lo, int64_t *out_hi);
/* Bytes of n elements, packed; false on overflow or a type without a size. */
bool npuc_dtype_bytes(dtype type, int64_t n, size_t *out_bytes);
/* The same, of references too: bytes of n elements as tensors have them. */
bool npuc_dtype_memory(dtype type, int64_t n, size_t *out_bytes);
/* Bytes from one element to the next in memory; 0 for packed types. */
size_t npuc_dtype_width(dtype type);

/* -- sequences and optionals -- */
static inline bool npuc_dtype_is_list(dtype t) { return ((unsigned)t & (DTYPE_SEQUENCE | DTYPE_OPTIONAL)) != 0; }
static inline bool npuc_dtype_is_optional(dtype t) { return ((unsigned)t & DTYPE_OPTIONAL) != 0; }
static inline dtype npuc_dtype_sequence(dtype t) { return t == DTYPE_NONE ? t : (dtype)((unsigned)t | DTYPE_SEQUENCE); }
static inline dtype npuc_dtype_optional(dtype t) { return t == DTYPE_NONE ? t : (dtype)((unsigned)t | DTYPE_OPTIONAL); }
/* What one element is. */
static inline dtype npuc_dtype_item(dtype t) {
  return (dtype)((unsigned)t & ~(unsigned)(npuc_dtype_is_optional(t) ? DTYPE_OPTIONAL : DTYPE_SEQUENCE));
}
/* What the tensors in it are made of. */
static inline dtype npuc_dtype_element(dtype t) { return (dtype)((unsigned)t & ~(unsigned)(DTYPE_SEQUENCE | DTYPE_OPTIONAL)); }
/* Text, sequence or optional. */
static inline bool npuc_dtype_is_reference(dtype t) { return t == DTYPE_STRING || npuc_dtype_is_list(t); }

#endif
