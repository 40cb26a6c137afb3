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

/* -- transposes -- */
enum { TILE = 16 }; /* a cache line of float32: each line of either side is fetched once for a tile */

/* Steps in bytes; rows follow each other in `from`, columns in `to`. */
typedef struct plane {
  const char *from;
  char *to;
  int64_t rows, columns, from_column, to_row;
} plane;

/* Locals: what is written through a char could otherwise be the plane itself. */
#define TILE_LOOP(bytes)                                                                                                        \
  for (int64_t i = 0; i < rows; i++) {                                                                                          \
    for (int64_t j = 0; j < columns; j++) memcpy(to + i * to_row + j * (bytes), from + i * (bytes) + j * from_column, (bytes)); \
  }                                                                                                                             \
  return

static void copy_tile(const char *restrict from, int64_t from_column, char *restrict to, int64_t to_row, int64_t rows, int64_t columns,
                      size_t bytes) {
  switch (bytes) {
    case 1:
      TILE_LOOP(1);
    case 2:
      TILE_LOOP(2);
    case 4:
      TILE_LOOP(4);
    default:
      TILE_LOOP(8);
  }
}

static void copy_plane(const plane *p, size_t bytes) {
  for (int64_t row = 0; row < p->rows; row += TILE) {
    int64_t rows = p->rows - row < TILE ? p->rows - row : TILE;
    for (int64_t column = 0; column < p->columns; column += TILE) {
      int64_t columns = p->columns - column < TILE ? p->columns - column : TILE;
      copy_tile(p->from + row * (int64_t)bytes + column * p->from_column, p->from_column, p->to + row * p->to_row + column * (int64_t)bytes,
                p->to_row, rows, columns, bytes);
    }
  }
}

/* The axis along which `from` is dense, where `to` is so along the last one: both together are a transpose; -1: none. */
static int32_t dense_axis(const strided_copy *c) {
  int32_t last = c->rank - 1;
  bool size = c->element_bytes == 1 || c->element_bytes == 2 || c->element_bytes == 4 || c->element_bytes == 8;
  if (!size || c->to_strides[last] != 1 || c->from_strides[last] == 1 || c->dims[last] < 4) return -1;
  for (int32_t i = 0; i < last; i++)
    if (c->from_strides[i] == 1 && c->dims[i] >= 4) return i;
  return -1;
}

static void move_axis(int64_t *list, int32_t from, int32_t to) {
  int64_t moved = list[from];
  for (int32_t i = from; i < to; i++) list[i] = list[i + 1];
  list[to] = moved;
}

/* -- the walk over all but the inner one or two axes -- */
static void copy_inner(const strided_copy *c, const char *from, char *to, int32_t inner) {
  int64_t size = (int64_t)c->element_bytes;
  int32_t last = c->rank - 1;
  if (inner == 1) {
    copy_row(from, c->from_strides[last] * size, to, c->to_strides[last] * size, c->dims[last], c->element_bytes);
    return;
  }
  const plane p = {from, to, c->dims[last - 1], c->dims[last], c->from_strides[last] * size, c->to_strides[last - 1] * size};
  copy_plane(&p, c->element_bytes);
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
  int32_t dense = dense_axis(&c), inner = dense < 0 ? 1 : 2;
  if (dense >= 0) {
    move_axis(c.dims, dense, c.rank - 2);
    move_axis(c.from_strides, dense, c.rank - 2);
    move_axis(c.to_strides, dense, c.rank - 2);
  }
  for (;;) {
    copy_inner(&c, from, to, inner);
    int32_t axis = c.rank - 1 - inner;
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
