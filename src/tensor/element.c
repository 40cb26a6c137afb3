/* SPDX-License-Identifier: Apache-2.0 */
/* One element of a tensor, of any type and at any alignment, as a double or an int64. Packed types: element i of b bits lies at bit
 * (i mod 8/b) * b of byte i / (8/b), element 0 in the low bits. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "tensor/minifloat.h"
#include "tensor/tensor.h"

static const uint8_t *element_at(const tensor *t, int64_t index, unsigned bits) {
  assert(index >= 0 && ((uint64_t)index * bits + bits + 7) / 8 <= t->bytes);
  return (const uint8_t *)t->data + (uint64_t)index * bits / 8;
}

/* Raw bits of an element of up to 64 bits (complex numbers: the real part), little-endian as memory is. */
static uint64_t load_bits(const tensor *t, int64_t index) {
  unsigned bits = npuc_dtype_bits(t->type);
  const uint8_t *p = element_at(t, index, bits);
  uint64_t raw = 0;
  if (bits < 8) return (uint64_t)(*p >> ((uint64_t)index * bits % 8)) & ((1u << bits) - 1);
  if (npuc_dtype_kind(t->type) == KIND_COMPLEX) bits /= 2;
  memcpy(&raw, p, bits / 8);
  return raw;
}

static void store_bits(tensor *t, int64_t index, uint64_t raw) {
  unsigned bits = npuc_dtype_bits(t->type);
  uint8_t *p = (uint8_t *)(uintptr_t)element_at(t, index, bits);
  if (bits < 8) {
    unsigned shift = (unsigned)((uint64_t)index * bits % 8), mask = (1u << bits) - 1;
    *p = (uint8_t)((*p & ~(mask << shift)) | (((unsigned)raw & mask) << shift));
    return;
  }
  if (npuc_dtype_kind(t->type) == KIND_COMPLEX) {
    bits /= 2;
    memset(p + bits / 8, 0, bits / 8);
  }
  memcpy(p, &raw, bits / 8);
}

static int64_t sign_extend(uint64_t raw, unsigned bits) {
  uint64_t sign = (uint64_t)1 << (bits - 1);
  return (int64_t)((raw ^ sign) - sign);
}

static double float_of_bits(dtype type, uint64_t raw) {
  if (type == DTYPE_F32 || type == DTYPE_C64) {
    float f;
    uint32_t low = (uint32_t)raw;
    memcpy(&f, &low, sizeof f);
    return (double)f;
  }
  if (type == DTYPE_F64 || type == DTYPE_C128) {
    double f;
    memcpy(&f, &raw, sizeof f);
    return f;
  }
  return npuc_minifloat_decode(type, (uint32_t)raw);
}

double npuc_tensor_get(const tensor *t, int64_t index) {
  if (t->type == DTYPE_F32) { /* by far the most frequent */
    float f;
    memcpy(&f, element_at(t, index, 32), sizeof f);
    return (double)f;
  }
  if (npuc_dtype_is_reference(t->type)) return 0.0;
  uint64_t raw = load_bits(t, index);
  switch (npuc_dtype_kind(t->type)) {
    case KIND_INT:
      return (double)sign_extend(raw, npuc_dtype_bits(t->type));
    case KIND_UINT:
      return (double)raw;
    case KIND_BOOL:
      return raw ? 1.0 : 0.0;
    default:
      return float_of_bits(t->type, raw);
  }
}

/* Truncates toward zero and saturates; NaN gives 0. 2^63 is a double, INT64_MAX is not. */
static int64_t int_of_double(double x) {
  if (isnan(x)) return 0;
  if (x >= 9223372036854775808.0) return INT64_MAX;
  if (x <= -9223372036854775808.0) return INT64_MIN;
  return (int64_t)x;
}

int64_t npuc_tensor_get_int(const tensor *t, int64_t index) {
  if (npuc_dtype_is_reference(t->type)) return 0;
  uint64_t raw = load_bits(t, index);
  switch (npuc_dtype_kind(t->type)) {
    case KIND_INT:
      return sign_extend(raw, npuc_dtype_bits(t->type));
    case KIND_UINT:
      return (int64_t)raw;
    case KIND_BOOL:
      return raw != 0;
    default:
      return int_of_double(float_of_bits(t->type, raw));
  }
}

static void store_float(tensor *t, int64_t index, double value) {
  if (t->type == DTYPE_F32 || t->type == DTYPE_C64) {
    float f = (float)value;
    uint32_t raw;
    memcpy(&raw, &f, sizeof raw);
    store_bits(t, index, raw);
  } else if (t->type == DTYPE_F64 || t->type == DTYPE_C128) {
    uint64_t raw;
    memcpy(&raw, &value, sizeof raw);
    store_bits(t, index, raw);
  } else {
    store_bits(t, index, npuc_minifloat_encode(t->type, value));
  }
}

/* `value` is a whole number or NaN. */
static void store_saturated(tensor *t, int64_t index, double value) {
  int64_t lo, hi;
  if (t->type == DTYPE_U64) {
    uint64_t raw = value >= 18446744073709551616.0 ? UINT64_MAX : value > 0.0 ? (uint64_t)value : 0;
    store_bits(t, index, raw);
  } else if (npuc_dtype_range(t->type, &lo, &hi)) {
    int64_t v = int_of_double(value);
    store_bits(t, index, (uint64_t)(v < lo ? lo : v > hi ? hi : v));
  } else {
    store_bits(t, index, (uint64_t)int_of_double(value)); /* int64 */
  }
}

void npuc_tensor_set(tensor *t, int64_t index, double value) {
  if (npuc_dtype_is_reference(t->type)) return;
  switch (npuc_dtype_kind(t->type)) {
    case KIND_INT:
    case KIND_UINT:
      store_saturated(t, index, rint(value));
      break;
    case KIND_BOOL:
      store_bits(t, index, value != 0.0);
      break;
    default:
      store_float(t, index, value);
      break;
  }
}

void npuc_tensor_set_int(tensor *t, int64_t index, int64_t value) {
  if (npuc_dtype_is_reference(t->type)) return;
  int64_t lo, hi;
  switch (npuc_dtype_kind(t->type)) {
    case KIND_INT:
    case KIND_UINT:
      if (npuc_dtype_range(t->type, &lo, &hi))
        value = value < lo ? lo : value > hi ? hi : value;
      else if (t->type == DTYPE_U64 && value < 0)
        value = 0;
      store_bits(t, index, (uint64_t)value);
      break;
    case KIND_BOOL:
      store_bits(t, index, value != 0);
      break;
    default:
      if (t->type == DTYPE_F32) {
        float f = (float)value; /* straight from the integer: one rounding */
        uint32_t raw;
        memcpy(&raw, &f, sizeof raw);
        store_bits(t, index, raw);
      } else {
        store_float(t, index, (double)value);
      }
  }
}

/* Cast of one element. Between integers the low bits are kept, as in C and numpy; unsigned 64-bit sources keep their value. */
static void cast_element(const tensor *from, int64_t index, tensor *to) {
  dtype_kind source = npuc_dtype_kind(from->type), target = npuc_dtype_kind(to->type);
  bool whole = source == KIND_INT || source == KIND_UINT || source == KIND_BOOL;
  if (target == KIND_BOOL) {
    store_bits(to, index, whole ? npuc_tensor_get_int(from, index) != 0 : npuc_tensor_get(from, index) != 0.0);
  } else if (target == KIND_INT || target == KIND_UINT) {
    if (!whole && npuc_dtype_bits(to->type) < 8) /* beyond the type ONNX defines nothing; its recorded cases keep the low bits */
      store_bits(to, index, (uint64_t)int_of_double(npuc_tensor_get(from, index)));
    else if (whole)
      store_bits(to, index, (uint64_t)npuc_tensor_get_int(from, index));
    else
      store_saturated(to, index, trunc(npuc_tensor_get(from, index)));
  } else if (whole && from->type != DTYPE_U64) {
    npuc_tensor_set_int(to, index, npuc_tensor_get_int(from, index));
  } else if (whole && to->type == DTYPE_F32) {
    float f = (float)load_bits(from, index);
    uint32_t raw;
    memcpy(&raw, &f, sizeof raw);
    store_bits(to, index, raw);
  } else {
    store_float(to, index, npuc_tensor_get(from, index));
  }
}

npuc_status npuc_tensor_cast(diag *d, const tensor *t, dtype type, tensor *out_tensor) {
  if (npuc_dtype_bits(t->type) == 0 || npuc_dtype_bits(type) == 0) {
    return npuc_fail(d, NPUC_DIAG_E0402, NULL, "%s does not convert to %s", npuc_dtype_name(t->type), npuc_dtype_name(type));
  }
  tensor result;
  NPUC_TRY(npuc_tensor_create(d, type, &t->shape, &result));
  if (type == t->type) {
    if (t->bytes) memcpy(result.data, t->data, t->bytes);
  } else {
    int64_t n = npuc_tensor_elements(t);
    for (int64_t i = 0; i < n; i++) cast_element(t, i, &result);
  }
  *out_tensor = result;
  return NPUC_OK;
}
