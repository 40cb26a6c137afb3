/* SPDX-License-Identifier: Apache-2.0 */
/* Shape, Constant, ConstantOfShape, Cast. */
#include <math.h>
#include <string.h>

#include "ir/eval/eval.h"
#include "ir/eval/text.h"
#include "kernels/convert.h"
#include "tensor/minifloat.h"

static int64_t clamp_index(int64_t i, int64_t rank) {
  if (i < 0) i += rank;
  return i < 0 ? 0 : i > rank ? rank : i;
}

npuc_status npuc_eval_shape(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const shape_attributes *a = NPUC_ATTRS(shape_attributes, c->node);
  const shape *s = &inputs[0]->shape;
  int64_t start = clamp_index(a->start, s->rank), end = clamp_index(a->end, s->rank);
  for (int64_t i = start; i < end; i++) npuc_tensor_set_int(outputs[0], i - start, s->dims[i]);
  return NPUC_OK;
}

npuc_status npuc_eval_constant(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  (void)inputs;
  npuc_eval_copy(NPUC_ATTRS(constant_attributes, c->node)->value, outputs[0]);
  return NPUC_OK;
}

npuc_status npuc_eval_constantofshape(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  (void)inputs;
  const tensor *fill = NPUC_ATTRS(constantofshape_attributes, c->node)->value;
  tensor *y = outputs[0];
  if (!fill) {
    if (y->bytes) memset(y->data, 0, y->bytes);
    return NPUC_OK;
  }
  size_t bytes = npuc_dtype_width(fill->type);
  if (bytes == 0) return npuc_eval_unsupported(c, fill->type);
  for (size_t i = 0; i + bytes <= y->bytes; i += bytes) memcpy((char *)y->data + i, fill->data, bytes);
  return NPUC_OK;
}

/* -- Cast: float to integer truncates and saturates, integer to integer keeps the low bits, to bool is x != 0 -- */

enum { PIECE = 512 };

static bool is_integral(dtype t) { return npuc_dtype_is_integer(t) || t == DTYPE_BOOL; }

static void cast_piece(const tensor *x, tensor *y, int64_t first, int64_t n) {
  double v[PIECE];
  int64_t k[PIECE];
  if (is_integral(x->type) && is_integral(y->type)) {
    npuc_convert_to_i64(x, first, n, k);
    npuc_convert_from_i64(k, n, y, first);
    return;
  }
  if (x->type == DTYPE_I64 && y->type == DTYPE_F32) { /* one rounding, not two through double */
    float f[PIECE];
    npuc_convert_to_i64(x, first, n, k);
    for (int64_t i = 0; i < n; i++) f[i] = (float)k[i];
    npuc_convert_from_f32(f, n, y, first);
    return;
  }
  npuc_convert_to_f64(x, first, n, v);
  if (npuc_dtype_is_integer(y->type) &&
      npuc_dtype_bits(y->type) < 8) { /* beyond the type ONNX defines nothing; its cases keep the low bits */
    for (int64_t i = 0; i < n; i++) k[i] = npuc_tensor_get_int(x, first + i);
    npuc_convert_from_i64(k, n, y, first);
    return;
  }
  for (int64_t i = 0; npuc_dtype_is_integer(y->type) && i < n; i++) v[i] = trunc(v[i]);
  npuc_convert_from_f64(v, n, y, first);
}

/* 8-bit floats other than clamped and rounded up. */
static void cast_by_mode(const tensor *x, tensor *y, minifloat_mode mode) {
  for (int64_t i = 0; i < npuc_tensor_elements(x); i++)
    ((uint8_t *)y->data)[i] = (uint8_t)npuc_minifloat_encode_by(y->type, npuc_tensor_get(x, i), mode);
}

static minifloat_mode mode_of(const cast_attributes *a) {
  const char *by = a->round_mode ? a->round_mode : "up";
  return (minifloat_mode){!a->saturate, strcmp(by, "up") == 0 ? ROUND_UP : strcmp(by, "down") == 0 ? ROUND_DOWN : ROUND_NEAREST};
}

static void cast_body(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  tensor *const *pair = context;
  for (size_t i = begin; i < end; i += PIECE) cast_piece(pair[0], pair[1], (int64_t)i, (int64_t)(end - i < PIECE ? end - i : PIECE));
}

static npuc_status cast(const eval_context *c, const tensor *const *inputs, tensor *const *outputs, minifloat_mode mode) {
  dtype_kind from = npuc_dtype_kind(inputs[0]->type), to = npuc_dtype_kind(outputs[0]->type);
  if (inputs[0]->type == outputs[0]->type && from != KIND_COMPLEX && from != KIND_NONE) {
    npuc_eval_copy(inputs[0], outputs[0]);
    return NPUC_OK;
  }
  if (from == KIND_STRING || to == KIND_STRING) return npuc_eval_cast_text(c, inputs[0], outputs[0]);
  if (from == KIND_COMPLEX || from == KIND_NONE) return npuc_eval_unsupported(c, inputs[0]->type);
  if (to == KIND_COMPLEX || to == KIND_NONE) return npuc_eval_unsupported(c, outputs[0]->type);
  bool by_mode = mode.overflows || mode.rounding != ROUND_UP;
  if (by_mode && to == KIND_FLOAT && npuc_dtype_bits(outputs[0]->type) == 8) {
    cast_by_mode(inputs[0], outputs[0], mode);
    return NPUC_OK;
  }
  tensor x = *inputs[0];
  tensor *pair[2] = {&x, outputs[0]};
  npuc_parallel_for(c->pool, (size_t)npuc_tensor_elements(&x), 16384, cast_body, pair); /* grain even: packed bytes have one writer */
  return NPUC_OK;
}

npuc_status npuc_eval_cast(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return cast(c, inputs, outputs, mode_of(NPUC_ATTRS(cast_attributes, c->node)));
}

npuc_status npuc_eval_castlike(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return cast(c, inputs, outputs, mode_of(NPUC_ATTRS(cast_attributes, c->node)));
}

/* -- Size, BitCast -- */

npuc_status npuc_eval_size(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  (void)c;
  npuc_tensor_set_int(outputs[0], 0, npuc_tensor_elements(inputs[0]));
  return NPUC_OK;
}

npuc_status npuc_eval_bitcast(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  (void)c;
  npuc_eval_copy(inputs[0], outputs[0]);
  return NPUC_OK;
}
