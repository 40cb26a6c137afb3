/* SPDX-License-Identifier: Apache-2.0 */
/* Strided copies: what Transpose, Slice, Concat, Split, Expand and the inside of Pad are. */
#ifndef NPUC_KERNELS_MOVEMENT_H
#define NPUC_KERNELS_MOVEMENT_H

#include <stddef.h>
#include <stdint.h>

#include "tensor/shape.h"

/* to[i . to_strides] = from[i . from_strides] for every i below `dims`; strides in elements of `element_bytes` (1, 2, 4, 8 or 16), negative
 * and zero allowed in from_strides. The two do not overlap. */
typedef struct strided_copy {
  int32_t rank;
  int64_t dims[MAX_RANK];
  int64_t from_strides[MAX_RANK], to_strides[MAX_RANK];
  size_t element_bytes;
  const void *from;
  void *to;
} strided_copy;

void npuc_strided_copy(const strided_copy *c);

#endif
