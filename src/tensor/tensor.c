/* SPDX-License-Identifier: Apache-2.0 */
/* Making, sharing and comparing tensors. A tensor is a small value that callers hold; what is counted is the blob behind it. */
#include "tensor/tensor.h"

#include <assert.h>
#include <string.h>

#include "base/limit.h"
#include "tensor/reference.h"

npuc_status npuc_tensor_create(diag *d, dtype type, const shape *s, tensor *out_tensor) {
  int64_t n;
  size_t bytes;
  if (!npuc_shape_elements(s, &n) || !npuc_dtype_memory(type, n, &bytes)) {
    return npuc_fail(d, NPUC_DIAG_E0401, NULL, "a %s tensor of rank %d has no size that can be addressed", npuc_dtype_name(type),
                     (int)s->rank);
  }
  blob *b = npuc_blob_create(bytes);
  if (!b) return npuc_fail_memory(d, NULL, bytes, "a tensor");
  *out_tensor = (tensor){.type = type, .shape = *s, .data = npuc_blob_data(b), .bytes = bytes, .owner = b};
  return NPUC_OK;
}

void npuc_tensor_release(tensor *t) {
  if (!t) return;
  npuc_blob_release(t->owner);
  *t = (tensor){0};
}

int64_t npuc_tensor_elements(const tensor *t) {
  int64_t n = 0;
  bool known = npuc_shape_elements(&t->shape, &n);
  assert(known);
  (void)known;
  return n;
}

npuc_status npuc_tensor_align(diag *d, const tensor *t, tensor *out_tensor) {
  if ((uintptr_t)t->data % 64 == 0) {
    *out_tensor = *t;
    npuc_blob_retain(t->owner);
    return NPUC_OK;
  }
  tensor copy;
  NPUC_TRY(npuc_tensor_create(d, t->type, &t->shape, &copy));
  memcpy(copy.data, t->data, t->bytes);
  *out_tensor = copy;
  return NPUC_OK;
}

/* The unused high bits of the last byte of a packed tensor are not content. */
static bool equal_packed(const tensor *a, const tensor *b) {
  int64_t n = npuc_tensor_elements(a);
  for (int64_t i = 0; i < n; i++) {
    if (npuc_tensor_get(a, i) != npuc_tensor_get(b, i)) return false;
  }
  return true;
}

bool npuc_tensor_equal(const tensor *a, const tensor *b) {
  if (a->type != b->type || a->shape.rank != b->shape.rank) return false;
  for (int32_t i = 0; i < a->shape.rank; i++) {
    if (a->shape.dims[i] != b->shape.dims[i]) return false;
  }
  if (a->data == b->data) return a->bytes == b->bytes;
  if (npuc_dtype_is_reference(a->type)) return npuc_references_equal(a, b);
  if (npuc_dtype_bits(a->type) < 8) return equal_packed(a, b);
  return a->bytes == b->bytes && (a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0);
}

static shape vector_shape(int64_t n) { return n < 0 ? SHAPE_SCALAR : (shape){.rank = 1, .dims = {n}}; }

npuc_status npuc_tensor_of_ints(diag *d, dtype type, const int64_t *values, int64_t n, tensor *out_tensor) {
  shape s = vector_shape(n);
  NPUC_TRY(npuc_tensor_create(d, type, &s, out_tensor));
  for (int64_t i = 0; i < (n < 0 ? 1 : n); i++) npuc_tensor_set_int(out_tensor, i, values[i]);
  return NPUC_OK;
}

npuc_status npuc_tensor_of_floats(diag *d, dtype type, const double *values, int64_t n, tensor *out_tensor) {
  shape s = vector_shape(n);
  NPUC_TRY(npuc_tensor_create(d, type, &s, out_tensor));
  for (int64_t i = 0; i < (n < 0 ? 1 : n); i++) npuc_tensor_set(out_tensor, i, values[i]);
  return NPUC_OK;
}
