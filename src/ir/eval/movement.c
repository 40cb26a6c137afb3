/* SPDX-License-Identifier: Apache-2.0 */
/* Transpose, Slice, Concat, Split, Expand, Gather: each one or more strided copies, of any dtype of whole bytes. */
#include <string.h>

#include "ir/eval/eval.h"
#include "kernels/movement.h"

static size_t element_bytes(const tensor *t) { return npuc_dtype_width(t->type); }

static npuc_status check_bytes(const eval_context *c, const tensor *t) {
  return element_bytes(t) ? NPUC_OK : npuc_eval_unsupported(c, t->type);
}

/* A copy onto the whole of `to`, whose strides are its own. */
static strided_copy onto(const tensor *to) {
  strided_copy copy = {.rank = to->shape.rank, .element_bytes = element_bytes(to), .to = to->data};
  memcpy(copy.dims, to->shape.dims, sizeof copy.dims);
  npuc_shape_strides(&to->shape, copy.to_strides);
  return copy;
}

static const void *at(const tensor *t, int64_t element) { return (const char *)t->data + (size_t)element * element_bytes(t); }

/* -- Transpose -- */

typedef struct copy_job {
  strided_copy copy;
} copy_job;

static void copy_body(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  strided_copy part = ((const copy_job *)context)->copy;
  part.from = (const char *)part.from + (int64_t)begin * part.from_strides[0] * (int64_t)part.element_bytes;
  part.to = (char *)part.to + (int64_t)begin * part.to_strides[0] * (int64_t)part.element_bytes;
  part.dims[0] = (int64_t)(end - begin);
  npuc_strided_copy(&part);
}

static void run_copy(const eval_context *c, const strided_copy *copy) {
  copy_job job = {*copy};
  if (copy->rank == 0) {
    npuc_strided_copy(copy);
  } else {
    npuc_parallel_for(c->pool, (size_t)copy->dims[0], 0, copy_body, &job);
  }
}

npuc_status npuc_eval_transpose(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const transpose_attributes *a = NPUC_ATTRS(transpose_attributes, c->node);
  const tensor *x = inputs[0];
  NPUC_TRY(check_bytes(c, x));
  if (outputs[0]->bytes == 0) return NPUC_OK;
  strided_copy copy = onto(outputs[0]);
  int64_t strides[MAX_RANK];
  npuc_shape_strides(&x->shape, strides);
  for (int32_t i = 0; i < copy.rank; i++) {
    int64_t from = a->perm.count ? a->perm.values[i] : copy.rank - 1 - i;
    copy.from_strides[i] = strides[from < 0 ? from + copy.rank : from];
  }
  copy.from = x->data;
  run_copy(c, &copy);
  return NPUC_OK;
}

/* -- Expand -- */

npuc_status npuc_eval_expand(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0];
  NPUC_TRY(check_bytes(c, x));
  if (outputs[0]->bytes == 0) return NPUC_OK;
  strided_copy copy = onto(outputs[0]);
  int64_t strides[MAX_RANK];
  npuc_shape_strides(&x->shape, strides);
  for (int32_t i = 0; i < copy.rank; i++) {
    int32_t j = i - (copy.rank - x->shape.rank);
    copy.from_strides[i] = j < 0 || x->shape.dims[j] == 1 ? 0 : strides[j];
  }
  copy.from = x->data;
  run_copy(c, &copy);
  return NPUC_OK;
}

/* -- Slice -- */

static npuc_status bad_axis(const eval_context *c, int64_t axis, int32_t rank) {
  diag_place place = npuc_eval_place(c);
  place.attribute = "axis";
  return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "axis %lld is outside of the input's rank %d", (long long)axis, (int)rank);
}

/* Start of a slice, clamped as ONNX says: [0, n] going up, [0, n - 1] going down. The end is in the output's dims. */
static int64_t clamp_start(int64_t start, int64_t n, int64_t step) {
  if (start < 0) start = start < -n ? -1 : start + n;
  int64_t least = 0, most = step < 0 ? n - 1 : n;
  return start < least ? least : start > most ? most : start;
}

npuc_status npuc_eval_slice(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0], *starts = inputs[1], *axes = eval_input(c, inputs, 3), *steps = eval_input(c, inputs, 4);
  NPUC_TRY(check_bytes(c, x));
  if (outputs[0]->bytes == 0) return NPUC_OK;
  const bool last = x->channels_last || outputs[0]->channels_last;
  const shape from = npuc_eval_bytes_shape(&x->shape, last);
  tensor y = *outputs[0];
  y.shape = npuc_eval_bytes_shape(&y.shape, last);
  strided_copy copy = onto(&y);
  npuc_shape_strides(&from, copy.from_strides);
  int64_t first = 0;
  for (int64_t i = 0; i < npuc_tensor_elements(starts); i++) {
    int64_t wanted = axes ? npuc_tensor_get_int(axes, i) : i, step = steps ? npuc_tensor_get_int(steps, i) : 1;
    int32_t axis;
    if (!npuc_axis_normalize(wanted, x->shape.rank, &axis)) return bad_axis(c, wanted, x->shape.rank);
    axis = npuc_eval_bytes_axis(axis, x->shape.rank, last);
    first += clamp_start(npuc_tensor_get_int(starts, i), from.dims[axis], step) * copy.from_strides[axis];
    /* A step beyond the axis takes one element: its product need not fit. */
    copy.from_strides[axis] = copy.dims[axis] <= 1 ? 0 : copy.from_strides[axis] * step;
  }
  copy.from = at(x, first);
  run_copy(c, &copy);
  return NPUC_OK;
}

/* -- Concat and Split: rows of `axis * inner` elements -- */

npuc_status npuc_eval_concat(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  tensor *y = outputs[0];
  int32_t axis;
  NPUC_TRY(check_bytes(c, y));
  if (!npuc_axis_normalize(NPUC_ATTRS(axis_attributes, c->node)->axis, y->shape.rank, &axis)) {
    return bad_axis(c, NPUC_ATTRS(axis_attributes, c->node)->axis, y->shape.rank);
  }
  axis_split whole = npuc_eval_split_at(&y->shape, axis);
  if (y->channels_last) whole = (axis_split){.outer = whole.outer * whole.inner, .axis = whole.axis, .inner = 1}; /* of channels */
  size_t pitch = (size_t)(whole.axis * whole.inner) * element_bytes(y), done = 0;
  for (int32_t i = 0; i < c->node->n_inputs; i++) {
    size_t bytes = (size_t)(inputs[i]->shape.dims[axis] * whole.inner) * element_bytes(y);
    for (int64_t o = 0; bytes && o < whole.outer; o++) {
      memcpy((char *)y->data + (size_t)o * pitch + done, (const char *)inputs[i]->data + (size_t)o * bytes, bytes);
    }
    done += bytes;
  }
  return NPUC_OK;
}

npuc_status npuc_eval_split(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0];
  int32_t axis;
  NPUC_TRY(check_bytes(c, x));
  if (!npuc_axis_normalize(NPUC_ATTRS(split_attributes, c->node)->axis, x->shape.rank, &axis)) {
    return bad_axis(c, NPUC_ATTRS(split_attributes, c->node)->axis, x->shape.rank);
  }
  axis_split whole = npuc_eval_split_at(&x->shape, axis);
  size_t pitch = (size_t)(whole.axis * whole.inner) * element_bytes(x), done = 0;
  for (int32_t i = 0; i < c->node->n_outputs; i++) {
    if (!outputs[i]) continue;
    size_t bytes = (size_t)(outputs[i]->shape.dims[axis] * whole.inner) * element_bytes(x);
    for (int64_t o = 0; bytes && outputs[i]->data && o < whole.outer; o++) {
      memcpy((char *)outputs[i]->data + (size_t)o * bytes, (const char *)x->data + (size_t)o * pitch + done, bytes);
    }
    done += bytes;
  }
  return NPUC_OK;
}

/* -- Gather: y[outer, i.., inner] = x[outer, indices[i..], inner] -- */

npuc_status npuc_eval_gather(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0], *indices = inputs[1];
  int32_t axis;
  NPUC_TRY(check_bytes(c, x));
  if (!npuc_axis_normalize(NPUC_ATTRS(axis_attributes, c->node)->axis, x->shape.rank, &axis)) {
    return bad_axis(c, NPUC_ATTRS(axis_attributes, c->node)->axis, x->shape.rank);
  }
  axis_split s = npuc_eval_split_at(&x->shape, axis);
  int64_t n = npuc_tensor_elements(indices);
  size_t row = (size_t)s.inner * element_bytes(x);
  for (int64_t i = 0; i < n; i++) {
    int64_t index = npuc_tensor_get_int(indices, i), k = index < 0 ? index + s.axis : index;
    if (k < 0 || k >= s.axis) {
      diag_place place = npuc_eval_place(c);
      return npuc_fail(c->d, NPUC_DIAG_E0603, &place, "index %lld on axis %d of %lld elements", (long long)index, (int)axis,
                       (long long)s.axis);
    }
    for (int64_t o = 0; row && o < s.outer; o++) {
      memcpy((char *)outputs[0]->data + (size_t)(o * n + i) * row, (const char *)x->data + (size_t)(o * s.axis + k) * row, row);
    }
  }
  return NPUC_OK;
}
