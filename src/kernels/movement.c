/* SPDX-License-Identifier: Apache-2.0 */
/* Axes are first merged where both sides step alike, so that a slice of whole rows becomes a few memcpy; the last axis is a
 * loop by element size. */
#include "kernels/movement.h"

#include <string.h>

/* Drops axes of 1 and merges axis i into i + 1 where both strides continue. */
static void collapse(strided_copy *c) {
  int32_t rank = 0;
  for (int32_t i = 0; i < c->rank; i++) {
    if (c->dims[i] == 1) continue;
    if (rank > 0 && c->from_strides[rank - 1] == c->dims[i] * c->from_strides[i] &&
        c->to_strides[rank - 1] == c->dims[i] * c->to_strides[i]) {
      c->dims[rank - 1] *= c->dims[i];
    } else {
      c->dims[rank++] = c->dims[i];
    }
    c->from_strides[rank - 1] = c->from_strides[i];
    c->to_strides[rank - 1] = c->to_strides[i];
  }
  c->rank = rank;
}

#define COPY_LOOP(bytes)                                     \
  for (int64_t i = 0; i < n; i++) {                          \
    memcpy(to + i * to_step, from + i * from_step, (bytes)); \
  }                                                          \
  return

/* Steps in bytes here. */
static void copy_row(const char *from, int64_t from_step, char *to, int64_t to_step, int64_t n, size_t bytes) {
  if (from_step == (int64_t)bytes && to_step == (int64_t)bytes) {
    memcpy(to, from, (size_t)n * bytes);
    return;
  }
  switch (bytes) {
    case 1:
      COPY_LOOP(1);
    case 2:
      COPY_LOOP(2);
    case 4:
      COPY_LOOP(4);
    case 8:
      COPY_LOOP(8);
    default:
      COPY_LOOP(bytes);
  }
}

void npuc_strided_copy(const strided_copy *request) {
  strided_copy c = *request;
  int64_t index[MAX_RANK] = {0}, size = (int64_t)c.element_bytes;
  for (int32_t i = 0; i < c.rank; i++) {
    if (c.dims[i] == 0) return;
  }
  collapse(&c);
  const char *from = c.from;
  char *to = c.to;
  if (c.rank == 0) {
    memcpy(to, from, c.element_bytes);
    return;
  }
  int32_t last = c.rank - 1;
  for (;;) {
    copy_row(from, c.from_strides[last] * size, to, c.to_strides[last] * size, c.dims[last], c.element_bytes);
    int32_t axis = last - 1;
    for (; axis >= 0; axis--) {
      from += c.from_strides[axis] * size;
      to += c.to_strides[axis] * size;
      if (++index[axis] < c.dims[axis]) break;
      from -= c.from_strides[axis] * size * c.dims[axis];
      to -= c.to_strides[axis] * size * c.dims[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}
