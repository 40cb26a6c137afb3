/* SPDX-License-Identifier: Apache-2.0 */
/* The frequent dtypes have loops; the rest goes element by element through npuc_tensor_get and npuc_tensor_set. */
#include "kernels/convert.h"

#include <string.h>

#include "base/half.h"

#define READ(type, expression)                                                    \
  for (int64_t i = 0; i < n; i++) {                                               \
    type v;                                                                       \
    memcpy(&v, (const char *)t->data + (size_t)(first + i) * sizeof v, sizeof v); \
    out[i] = (expression);                                                        \
  }                                                                               \
  return

#define WRITE(type, expression)                                             \
  for (int64_t i = 0; i < n; i++) {                                         \
    type v = (expression);                                                  \
    memcpy((char *)t->data + (size_t)(first + i) * sizeof v, &v, sizeof v); \
  }                                                                         \
  return

void npuc_convert_to_f32(const tensor *t, int64_t first, int64_t n, float *out) {
  switch (t->type) {
    case DTYPE_F32:
      if (n) memcpy(out, (const float *)t->data + first, (size_t)n * sizeof(float));
      return;
    case DTYPE_F16:
      READ(uint16_t, npuc_f16_to_f32(v));
    case DTYPE_BF16:
      READ(uint16_t, npuc_bf16_to_f32(v));
    case DTYPE_F64:
      READ(double, (float)v);
    case DTYPE_U8:
      READ(uint8_t, (float)v);
    case DTYPE_I8:
      READ(int8_t, (float)v);
    case DTYPE_I32:
      READ(int32_t, (float)v);
    default:
      for (int64_t i = 0; i < n; i++) out[i] = (float)npuc_tensor_get(t, first + i);
  }
}

void npuc_convert_from_f32(const float *in, int64_t n, tensor *t, int64_t first) {
  switch (t->type) {
    case DTYPE_F32:
      if (n) memcpy((float *)t->data + first, in, (size_t)n * sizeof(float));
      return;
    case DTYPE_F16:
      WRITE(uint16_t, npuc_f32_to_f16(in[i]));
    case DTYPE_BF16:
      WRITE(uint16_t, npuc_f32_to_bf16(in[i]));
    case DTYPE_F64:
      WRITE(double, (double)in[i]);
    default:
      for (int64_t i = 0; i < n; i++) npuc_tensor_set(t, first + i, (double)in[i]);
  }
}

void npuc_convert_to_f64(const tensor *t, int64_t first, int64_t n, double *out) {
  switch (t->type) {
    case DTYPE_F32:
      READ(float, (double)v);
    case DTYPE_F64:
      READ(double, v);
    default:
      for (int64_t i = 0; i < n; i++) out[i] = npuc_tensor_get(t, first + i);
  }
}

void npuc_convert_from_f64(const double *in, int64_t n, tensor *t, int64_t first) {
  switch (t->type) {
    case DTYPE_F32:
      WRITE(float, (float)in[i]);
    case DTYPE_F64:
      WRITE(double, in[i]);
    default:
      for (int64_t i = 0; i < n; i++) npuc_tensor_set(t, first + i, in[i]);
  }
}

void npuc_convert_to_i64(const tensor *t, int64_t first, int64_t n, int64_t *out) {
  switch (t->type) {
    case DTYPE_U8:
      READ(uint8_t, (int64_t)v);
    case DTYPE_I8:
      READ(int8_t, (int64_t)v);
    case DTYPE_I32:
      READ(int32_t, (int64_t)v);
    case DTYPE_I64:
      READ(int64_t, v);
    default:
      for (int64_t i = 0; i < n; i++) out[i] = npuc_tensor_get_int(t, first + i);
  }
}

/* The low bits of two's complement are the same for every width and sign. */
void npuc_convert_from_i64(const int64_t *in, int64_t n, tensor *t, int64_t first) {
  switch (npuc_dtype_bits(t->type)) {
    case 8:
      if (t->type == DTYPE_BOOL) {
        WRITE(uint8_t, in[i] != 0);
      }
      WRITE(uint8_t, (uint8_t)(uint64_t)in[i]);
    case 16:
      WRITE(uint16_t, (uint16_t)(uint64_t)in[i]);
    case 32:
      WRITE(uint32_t, (uint32_t)(uint64_t)in[i]);
    case 64:
      WRITE(int64_t, in[i]);
    default: { /* packed: keep the low bits, sign-extended where the type is signed */
      unsigned bits = npuc_dtype_bits(t->type);
      uint64_t mask = ((uint64_t)1 << bits) - 1, sign = npuc_dtype_kind(t->type) == KIND_INT ? (uint64_t)1 << (bits - 1) : 0;
      for (int64_t i = 0; i < n; i++) {
        npuc_tensor_set_int(t, first + i, (int64_t)((((uint64_t)in[i] & mask) ^ sign) - sign));
      }
    }
  }
}

/* Clamped first, which is the same because the bounds are whole numbers; then adding and taking away 1.5 * 2^23 rounds to half even, in any number of lanes. */
#define QUANTIZE(type, lo, hi)                                        \
  const float low = (float)((lo)-zero), high = (float)((hi)-zero);    \
  for (int64_t i = 0; i < n; i++) {                                   \
    float v = x[i] / scale;                                           \
    v = v == v ? v : 0.0f;                                            \
    v = v > low ? v : low;                                            \
    v = v < high ? v : high;                                          \
    y[i] = (type)((int32_t)((v + 12582912.0f) - 12582912.0f) + zero); \
  }

void npuc_convert_quantize_u8(const float *x, int64_t n, float scale, int32_t zero, uint8_t *y) { QUANTIZE(uint8_t, 0, 255) }

void npuc_convert_quantize_i8(const float *x, int64_t n, float scale, int32_t zero, int8_t *y) { QUANTIZE(int8_t, -128, 127) }
