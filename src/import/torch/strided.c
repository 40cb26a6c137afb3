/* SPDX-License-Identifier: Apache-2.0 */
/* Strides: element (i0, i1, ...) of a tensor lies at offset + sum of i * stride in its storage. */
#include <string.h>

#include "import/torch/torch.h"

static npuc_status fail_window(diag *d, const char *name, const char *reason) {
  diag_place place = {.node = name};
  return npuc_fail(d, NPUC_DIAG_E0330, &place, "%s", reason);
}

static bool is_row_major(const strided *s) {
  int64_t expected = 1;
  for (int32_t i = s->rank; i-- > 0;) {
    if (s->sizes[i] != 1 && s->strides[i] != expected) return false;
    expected *= s->sizes[i];
  }
  return true;
}

/* First and last element that the window touches; false on overflow. */
static bool reach(const strided *s, int64_t *out_last) {
  int64_t last = s->offset;
  for (int32_t i = 0; i < s->rank; i++) {
    int64_t step;
    if (__builtin_mul_overflow(s->sizes[i] - 1, s->strides[i], &step) || __builtin_add_overflow(last, step, &last)) return false;
  }
  *out_last = last;
  return true;
}

static void gather(const strided *s, size_t width, uint8_t *to) {
  int64_t index[MAX_RANK] = {0};
  int64_t inner = s->sizes[s->rank - 1], inner_stride = s->strides[s->rank - 1];
  for (;;) {
    int64_t at = s->offset;
    for (int32_t i = 0; i + 1 < s->rank; i++) at += index[i] * s->strides[i];
    for (int64_t k = 0; k < inner; k++, to += width) memcpy(to, s->data + (size_t)(at + k * inner_stride) * width, width);
    int32_t axis = s->rank - 2;
    while (axis >= 0 && ++index[axis] == s->sizes[axis]) index[axis--] = 0;
    if (axis < 0) return;
  }
}

npuc_status npuc_strided_tensor(diag *d, const char *name, const strided *s, tensor *out_tensor) {
  *out_tensor = (tensor){0};
  shape window = {.rank = s->rank};
  for (int32_t i = 0; i < s->rank; i++) {
    if (s->sizes[i] < 0 || s->strides[i] < 0) return fail_window(d, name, "a size or stride of the tensor is negative");
    window.dims[i] = s->sizes[i];
  }
  int64_t elements, last = 0;
  size_t bytes, width = npuc_dtype_bits(s->type) / 8, held = width ? s->bytes / width : 0;
  if (!npuc_shape_elements(&window, &elements) || !npuc_dtype_bytes(s->type, elements, &bytes) || s->offset < 0) {
    return fail_window(d, name, "the tensor's shape, offset or type has no size");
  }
  if (elements && (!reach(s, &last) || (uint64_t)last >= held)) {
    diag_place place = {.node = name};
    return npuc_fail(d, NPUC_DIAG_E0330, &place, "the tensor needs element %lld of a storage that holds %zu", (long long)last, held);
  }
  if (elements == 0 || is_row_major(s)) {
    *out_tensor = (tensor){.type = s->type,
                           .shape = window,
                           .data = elements ? (void *)(uintptr_t)(s->data + (size_t)s->offset * width) : NULL,
                           .bytes = bytes,
                           .owner = npuc_blob_retain(s->storage)};
    return NPUC_OK;
  }
  NPUC_TRY(npuc_tensor_create(d, s->type, &window, out_tensor));
  gather(s, width, out_tensor->data);
  return NPUC_OK;
}
