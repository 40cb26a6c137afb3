/* SPDX-License-Identifier: Apache-2.0 */
/* Elements moved by rule: Tile, DepthToSpace, SpaceToDepth, ReverseSequence, Trilu, CenterCropPad, and tensors made of numbers alone: EyeLike, Range. */
#include <math.h>
#include <string.h>

#include "ir/eval/eval.h"
#include "kernels/convert.h"
#include "kernels/movement.h"

static size_t width_of(const tensor *t) { return npuc_dtype_width(t->type); }

static npuc_status check_bytes(const eval_context *c, const tensor *t) { return width_of(t) ? NPUC_OK : npuc_eval_unsupported(c, t->type); }

/* -- Tile: axis i of the output is [repeats_i, dims_i]; the copy goes over both -- */

static void tile_axis(const tensor *x, tensor *y, int32_t axis, int64_t base_from, int64_t base_to, const int64_t *from_strides,
                      const int64_t *to_strides) {
  size_t w = width_of(x);
  if (axis == x->shape.rank) {
    memcpy((char *)y->data + (size_t)base_to * w, (const char *)x->data + (size_t)base_from * w, w);
    return;
  }
  int64_t n = x->shape.dims[axis];
  if (axis == x->shape.rank - 1) {
    for (int64_t k = 0; n && k < y->shape.dims[axis]; k += n)
      memcpy((char *)y->data + (size_t)(base_to + k) * w, (const char *)x->data + (size_t)base_from * w, (size_t)n * w);
    return;
  }
  for (int64_t k = 0; k < y->shape.dims[axis]; k++)
    tile_axis(x, y, axis + 1, base_from + k % n * from_strides[axis], base_to + k * to_strides[axis], from_strides, to_strides);
}

npuc_status npuc_eval_tile(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  int64_t from[MAX_RANK], to[MAX_RANK];
  NPUC_TRY(check_bytes(c, inputs[0]));
  if (outputs[0]->bytes == 0) return NPUC_OK;
  npuc_shape_strides(&inputs[0]->shape, from);
  npuc_shape_strides(&outputs[0]->shape, to);
  tile_axis(inputs[0], outputs[0], 0, 0, 0, from, to);
  return NPUC_OK;
}

/* -- DepthToSpace, SpaceToDepth: a transposition of [N, b, b, C, H, W] (DCR) or [N, C, b, b, H, W] (CRD) and [N, C, H, b, W, b] -- */

static npuc_status blocks(const eval_context *c, const tensor *deep, const tensor *x, tensor *y, bool to_depth) {
  const blocksize_attributes *a = NPUC_ATTRS(blocksize_attributes, c->node);
  int64_t b = a->blocksize, channels = deep->shape.dims[1] / (b * b), h = deep->shape.dims[2], w = deep->shape.dims[3];
  bool depth_first = strcmp(a->mode, "DCR") == 0;
  NPUC_TRY(check_bytes(c, x));
  if (y->bytes == 0) return NPUC_OK;
  /* n, c, h, i, w, j of the wide tensor [N, C, H*b, W*b]; strides of the same in the deep one. */
  int64_t dims[6] = {deep->shape.dims[0], channels, h, b, w, b}, plane = h * w;
  int64_t wide[6] = {channels * h * b * w * b, h * b * w * b, b * w * b, w * b, b, 1};
  int64_t i_step = depth_first ? b * channels * plane : b * plane, j_step = depth_first ? channels * plane : plane;
  int64_t thin[6] = {b * b * channels * plane, depth_first ? plane : b * b * plane, w, i_step, 1, j_step};
  strided_copy copy = {.rank = 6, .element_bytes = width_of(x), .from = x->data, .to = y->data};
  memcpy(copy.dims, dims, sizeof dims);
  memcpy(copy.from_strides, to_depth ? wide : thin, sizeof wide);
  memcpy(copy.to_strides, to_depth ? thin : wide, sizeof wide);
  npuc_strided_copy(&copy);
  return NPUC_OK;
}

npuc_status npuc_eval_depthtospace(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return blocks(c, inputs[0], inputs[0], outputs[0], false);
}
npuc_status npuc_eval_spacetodepth(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return blocks(c, outputs[0], inputs[0], outputs[0], true);
}

/* -- ReverseSequence -- */

npuc_status npuc_eval_reversesequence(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const reversesequence_attributes *a = NPUC_ATTRS(reversesequence_attributes, c->node);
  const tensor *x = inputs[0];
  int64_t first = x->shape.dims[0], second = x->shape.dims[1], inner = 1;
  NPUC_TRY(check_bytes(c, x));
  for (int32_t i = 2; i < x->shape.rank; i++) inner *= x->shape.dims[i];
  size_t row = (size_t)inner * width_of(x);
  for (int64_t i = 0; i < first; i++) {
    for (int64_t k = 0; k < second; k++) {
      int64_t time = a->time_axis == 0 ? i : k, batch = a->time_axis == 0 ? k : i, length = npuc_tensor_get_int(inputs[1], batch);
      if (length < 0 || length > x->shape.dims[a->time_axis]) {
        diag_place place = npuc_eval_place(c);
        return npuc_fail(c->d, NPUC_DIAG_E0603, &place, "sequence %lld has length %lld of %lld", (long long)batch, (long long)length,
                         (long long)x->shape.dims[a->time_axis]);
      }
      int64_t from = time < length ? length - 1 - time : time;
      int64_t source = a->time_axis == 0 ? from * second + batch : batch * second + from;
      if (row) memcpy((char *)outputs[0]->data + (size_t)(i * second + k) * row, (const char *)x->data + (size_t)source * row, row);
    }
  }
  return NPUC_OK;
}

/* -- Trilu, CenterCropPad -- */

npuc_status npuc_eval_trilu(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0], *k = eval_input(c, inputs, 1);
  bool upper = NPUC_ATTRS(trilu_attributes, c->node)->upper != 0;
  NPUC_TRY(check_bytes(c, x));
  if (x->bytes == 0) return NPUC_OK;
  int64_t rows = x->shape.dims[x->shape.rank - 2], columns = x->shape.dims[x->shape.rank - 1], diagonal = k ? npuc_tensor_get_int(k, 0) : 0;
  size_t w = width_of(x);
  npuc_eval_copy(x, outputs[0]);
  diagonal = diagonal > columns ? columns : diagonal < -rows ? -rows : diagonal;
  for (int64_t i = 0; i < npuc_tensor_elements(x) / columns; i++) {
    int64_t edge = i % rows + diagonal, from = upper ? 0 : edge + 1, to = upper ? edge : columns;
    from = from < 0 ? 0 : from;
    to = to > columns ? columns : to;
    if (to > from) memset((char *)outputs[0]->data + (size_t)(i * columns + from) * w, 0, (size_t)(to - from) * w);
  }
  return NPUC_OK;
}

npuc_status npuc_eval_centercroppad(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0];
  tensor *y = outputs[0];
  NPUC_TRY(check_bytes(c, x));
  if (y->bytes) memset(y->data, 0, y->bytes);
  strided_copy copy = {.rank = x->shape.rank, .element_bytes = width_of(x)};
  int64_t from = 0, to = 0;
  npuc_shape_strides(&x->shape, copy.from_strides);
  npuc_shape_strides(&y->shape, copy.to_strides);
  for (int32_t i = 0; i < x->shape.rank; i++) {
    int64_t have = x->shape.dims[i], want = y->shape.dims[i];
    copy.dims[i] = have < want ? have : want;
    if (copy.dims[i] == 0) return NPUC_OK;
    if (have > want) from += (have - want) / 2 * copy.from_strides[i];
    if (want > have) to += (want - have) / 2 * copy.to_strides[i];
  }
  copy.from = (const char *)x->data + (size_t)from * copy.element_bytes;
  copy.to = (char *)y->data + (size_t)to * copy.element_bytes;
  npuc_strided_copy(&copy);
  return NPUC_OK;
}

/* -- EyeLike, Range -- */

npuc_status npuc_eval_eyelike(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  (void)inputs;
  tensor *y = outputs[0];
  int64_t k = NPUC_ATTRS(eyelike_attributes, c->node)->k, columns = y->shape.dims[1];
  if (y->bytes) memset(y->data, 0, y->bytes);
  for (int64_t i = 0; i < y->shape.dims[0]; i++) {
    if (i + k >= 0 && i + k < columns) npuc_tensor_set_int(y, i * columns + i + k, 1);
  }
  return NPUC_OK;
}

/* element i = start + i * delta: whole numbers modulo 2^64; floats in double, rounded once. */
npuc_status npuc_eval_range(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  (void)c;
  tensor *y = outputs[0];
  if (npuc_dtype_kind(y->type) == KIND_FLOAT) {
    double start = npuc_tensor_get(inputs[0], 0), delta = npuc_tensor_get(inputs[2], 0);
    for (int64_t i = 0; i < npuc_tensor_elements(y); i++) npuc_tensor_set(y, i, start + (double)i * delta);
    return NPUC_OK;
  }
  uint64_t start = (uint64_t)npuc_tensor_get_int(inputs[0], 0), delta = (uint64_t)npuc_tensor_get_int(inputs[2], 0);
  for (int64_t i = 0; i < npuc_tensor_elements(y); i++) {
    int64_t v = (int64_t)(start + (uint64_t)i * delta);
    npuc_convert_from_i64(&v, 1, y, i);
  }
  return NPUC_OK;
}
