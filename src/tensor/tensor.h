/* SPDX-License-Identifier: Apache-2.0 */
/* tensor: a typed, shaped span of bytes, row-major and dense. blob: the counted owner of such bytes (a mapped file or a buffer);
 * the only counted thing in npuc, so that importing copies no weights.
 *
 * A constant's bytes may be at any alignment and in read-only memory (ONNX raw_data inside a mapped file): take them as
 * `const tensor *`, and read elements through memcpy or after npuc_tensor_align. Tensors of the executor are 64-byte aligned. */
#ifndef NPUC_TENSOR_TENSOR_H
#define NPUC_TENSOR_TENSOR_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/file.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

typedef struct blob blob;
/* Takes its own reference on the file. */
blob *npuc_blob_from_file(mapped_file *file);
/* Zeroed, aligned; NULL when out of memory. */
blob *npuc_blob_create(size_t bytes);
blob *npuc_blob_retain(blob *b);
void npuc_blob_release(blob *b);
void *npuc_blob_data(const blob *b); /* for a file's blob: read-only memory */
size_t npuc_blob_size(const blob *b);
/* The mapped file behind it and the offset of `data` in it, or false: lets the weight pool copy ranges file to file. */
bool npuc_blob_locate(const blob *b, const void *data, const mapped_file **out_file, size_t *out_offset);

typedef struct tensor {
  dtype type;
  shape shape; /* static */
  void *data;  /* NULL only when bytes is 0 */
  size_t bytes;
  blob *owner;        /* NULL: borrowed from something that outlives it */
  bool channels_last; /* inside the executor only: an image [N, C, D1..Dn] whose bytes lie as [N, D1..Dn, C] */
} tensor;

/* New zeroed tensor with its own blob. */
npuc_status npuc_tensor_create(diag *d, dtype type, const shape *s, tensor *out_tensor) NPUC_MUST_USE;
void npuc_tensor_release(tensor *t); /* drops the reference and clears */
int64_t npuc_tensor_elements(const tensor *t);
/* The same content at a 64-byte aligned address: another reference to the same bytes when they lie so already, else an owned copy. */
npuc_status npuc_tensor_align(diag *d, const tensor *t, tensor *out_tensor) NPUC_MUST_USE;
/* Element as a double / int64, any dtype (4-bit too), any alignment. index in elements. Floats convert by truncation for get_int
 * (saturating, NaN is 0). References give 0, and setting them to a number does nothing. Complex numbers give their real part; uint64 above INT64_MAX wraps in get_int. */
double npuc_tensor_get(const tensor *t, int64_t index);
int64_t npuc_tensor_get_int(const tensor *t, int64_t index);
/* Rounds half to even, saturates for integers. */
void npuc_tensor_set(tensor *t, int64_t index, double value);
void npuc_tensor_set_int(tensor *t, int64_t index, int64_t value);
bool npuc_tensor_equal(const tensor *a, const tensor *b); /* type, shape, bytes; what references name */
/* Small helpers that build owned 1-D (or scalar, n < 0 gives a scalar from values[0]) tensors. */
npuc_status npuc_tensor_of_ints(diag *d, dtype type, const int64_t *values, int64_t n, tensor *out_tensor) NPUC_MUST_USE;
npuc_status npuc_tensor_of_floats(diag *d, dtype type, const double *values, int64_t n, tensor *out_tensor) NPUC_MUST_USE;
/* Converted copy (Cast of ONNX: float to int truncates and saturates here; to bool is != 0; between integers the low bits are kept). */
npuc_status npuc_tensor_cast(diag *d, const tensor *t, dtype type, tensor *out_tensor) NPUC_MUST_USE;

#endif
