/* SPDX-License-Identifier: Apache-2.0 */
/* Shape arithmetic with dims that may be numbers, symbols or unknown. */
#include "tensor/shape.h"

#include <assert.h>

bool npuc_shape_equal(const shape *a, const shape *b) {
  if (a->rank < 0 || a->rank != b->rank) return false;
  for (int32_t i = 0; i < a->rank; i++) {
    if (a->dims[i] != b->dims[i] || a->dims[i] == DIM_UNKNOWN) return false;
  }
  return true;
}

bool npuc_shape_is_static(const shape *s) {
  if (s->rank < 0) return false;
  for (int32_t i = 0; i < s->rank; i++) {
    if (!dim_is_number(s->dims[i])) return false;
  }
  return true;
}

bool npuc_shape_elements(const shape *s, int64_t *out_count) {
  if (!npuc_shape_is_static(s)) return false;
  /* An empty tensor has no elements however large its other dims are. */
  for (int32_t i = 0; i < s->rank; i++) {
    if (s->dims[i] == 0) {
      *out_count = 0;
      return true;
    }
  }
  int64_t count = 1;
  for (int32_t i = 0; i < s->rank; i++) {
    if (count > INT64_MAX / s->dims[i]) return false;
    count *= s->dims[i];
  }
  *out_count = count;
  return true;
}

/* One axis: 1 stretches; a number above 1 decides; a symbol meets only itself or 1; anything else is unknown. A number 0 stays 0
 * against 1 and against symbols (which must then be 0 or 1). */
static bool broadcast_dim(dim a, dim b, dim *out) {
  if (a == b) {
    *out = a;
  } else if (a == 1) {
    *out = b;
  } else if (b == 1) {
    *out = a;
  } else if (dim_is_number(a) && dim_is_number(b)) {
    return false;
  } else if (dim_is_number(a)) {
    *out = a;
  } else if (dim_is_number(b)) {
    *out = b;
  } else {
    *out = DIM_UNKNOWN;
  }
  return true;
}

bool npuc_shape_broadcast(const shape *a, const shape *b, shape *out) {
  if (a->rank < 0 || b->rank < 0) {
    *out = SHAPE_UNKNOWN;
    return true;
  }
  shape result = {.rank = a->rank > b->rank ? a->rank : b->rank};
  for (int32_t i = 0; i < result.rank; i++) {
    int32_t ia = i - (result.rank - a->rank), ib = i - (result.rank - b->rank);
    dim da = ia < 0 ? 1 : a->dims[ia], db = ib < 0 ? 1 : b->dims[ib];
    if (!broadcast_dim(da, db, &result.dims[i])) return false;
  }
  *out = result;
  return true;
}

bool npuc_axis_normalize(int64_t axis, int32_t rank, int32_t *out_axis) {
  if (rank < 0 || axis < -(int64_t)rank || axis >= rank) return false;
  *out_axis = (int32_t)(axis < 0 ? axis + rank : axis);
  return true;
}

void npuc_shape_strides(const shape *s, int64_t out_strides[MAX_RANK]) {
  assert(npuc_shape_is_static(s));
  int64_t stride = 1;
  for (int32_t i = s->rank - 1; i >= 0; i--) {
    out_strides[i] = stride;
    /* An empty tensor has no addressable element: its strides only have to be defined. */
    if (__builtin_mul_overflow(stride, s->dims[i] ? s->dims[i] : 1, &stride)) stride = 0;
  }
}
