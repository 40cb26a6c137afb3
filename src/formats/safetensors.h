/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors: names, types, shapes and places as JSON, then the bytes.
 *
 *   u64 n | n bytes of JSON {NAME: {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]}, .., "__metadata__": {..}} | data
 *
 * Tensors are views into the mapped file. The data is covered without gaps and overlaps, as the format's own rules say: a file in which two names share bytes, or in
 * which bytes belong to nobody, is refused. */
#ifndef NPUC_FORMATS_SAFETENSORS_H
#define NPUC_FORMATS_SAFETENSORS_H

#include "tensor/tensor.h"

typedef struct safetensor {
  const char *name;
  tensor value; /* its bytes may be at any alignment */
} safetensor;

typedef struct safetensors safetensors;

/* Whether a file that begins so (n bytes of `size`) is one. */
bool npuc_safetensors_is(const void *bytes, size_t n, size_t size);
/* E0216: malformed; E0217: an element type that npuc does not have. */
npuc_status npuc_safetensors_open(diag *d, const char *path, safetensors **out_file) NPUC_MUST_USE;
void npuc_safetensors_close(safetensors *f); /* NULL is fine; tensors whose owner was retained live on */
size_t npuc_safetensors_count(const safetensors *f);
const safetensor *npuc_safetensors_at(const safetensors *f, size_t index); /* in the header's order */

#endif
