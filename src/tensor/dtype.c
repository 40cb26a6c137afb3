/* SPDX-License-Identifier: Apache-2.0 */
/* The table of dtype.def behind an index by the ONNX number, and the short names that people type. */
#include "tensor/dtype.h"

#include <string.h>

typedef struct dtype_info {
  const char *name;
  unsigned bits;
  dtype_kind kind;
} dtype_info;

static const dtype_info table[DTYPE_END] = {
#define DTYPE(id, text, onnx, bits, kind) [onnx] = {text, bits, KIND_##kind},
#include "tensor/dtype.def"
#undef DTYPE
};

static const char *const list_names[][DTYPE_END] = {
#define DTYPE(id, text, onnx, bits, kind) [onnx] = "seq(" text ")",
    {
#include "tensor/dtype.def"
    },
#undef DTYPE
#define DTYPE(id, text, onnx, bits, kind) [onnx] = "optional(" text ")",
    {
#include "tensor/dtype.def"
    },
#undef DTYPE
#define DTYPE(id, text, onnx, bits, kind) [onnx] = "optional(seq(" text "))",
    {
#include "tensor/dtype.def"
    },
#undef DTYPE
};

/* Spellings beside the table's own: ONNX text ("float", "double"), numpy-like short names, GGUF's and PyTorch's. */
static const struct {
  const char *text;
  dtype type;
} aliases[] = {
    {"float", DTYPE_F32},       {"double", DTYPE_F64},    {"half", DTYPE_F16}, {"f64", DTYPE_F64},  {"f32", DTYPE_F32}, {"f16", DTYPE_F16},
    {"bf16", DTYPE_BF16},       {"i64", DTYPE_I64},       {"i32", DTYPE_I32},  {"i16", DTYPE_I16},  {"i8", DTYPE_I8},   {"i4", DTYPE_I4},
    {"i2", DTYPE_I2},           {"u64", DTYPE_U64},       {"u32", DTYPE_U32},  {"u16", DTYPE_U16},  {"u8", DTYPE_U8},   {"u4", DTYPE_U4},
    {"u2", DTYPE_U2},           {"s64", DTYPE_I64},       {"s32", DTYPE_I32},  {"s16", DTYPE_I16},  {"s8", DTYPE_I8},   {"s4", DTYPE_I4},
    {"f8e4m3", DTYPE_F8E4M3FN}, {"f8e5m2", DTYPE_F8E5M2}, {"fp32", DTYPE_F32}, {"fp16", DTYPE_F16},
};

static const dtype_info *info(dtype type) {
  static const dtype_info none = {"unknown", 0, KIND_NONE}, list = {"list", 0, KIND_LIST};
  if (npuc_dtype_is_list(type)) return info(npuc_dtype_element(type))->kind == KIND_NONE ? &none : &list;
  return (int)type > 0 && (int)type < (int)DTYPE_END && table[type].name ? &table[type] : &none;
}

const char *npuc_dtype_name(dtype type) {
  const dtype_info *t = info(type);
  if (t->kind != KIND_LIST) return t->name;
  int form = !npuc_dtype_is_optional(type) ? 0 : npuc_dtype_is_list(npuc_dtype_item(type)) ? 2 : 1;
  return list_names[form][npuc_dtype_element(type)];
}

bool npuc_dtype_parse(const char *text, dtype *out_type) {
  for (int t = 1; t < (int)DTYPE_END; t++) {
    if (table[t].name && strcmp(table[t].name, text) == 0) {
      *out_type = (dtype)t;
      return true;
    }
  }
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
    if (strcmp(aliases[i].text, text) == 0) {
      *out_type = aliases[i].type;
      return true;
    }
  }
  return false;
}

unsigned npuc_dtype_bits(dtype type) { return info(type)->bits; }

dtype_kind npuc_dtype_kind(dtype type) { return info(type)->kind; }

bool npuc_dtype_range(dtype type, int64_t *out_lo, int64_t *out_hi) {
  const dtype_info *t = info(type);
  if (t->bits == 0 || t->bits > 32) return false;
  if (t->kind == KIND_INT) {
    *out_lo = -((int64_t)1 << (t->bits - 1));
    *out_hi = ((int64_t)1 << (t->bits - 1)) - 1;
    return true;
  }
  if (t->kind == KIND_UINT) {
    *out_lo = 0;
    *out_hi = ((int64_t)1 << t->bits) - 1;
    return true;
  }
  return false;
}

bool npuc_dtype_bytes(dtype type, int64_t n, size_t *out_bytes) {
  const dtype_info *t = info(type);
  if (t->bits == 0 || n < 0) return false;
  uint64_t count = (uint64_t)n;
  uint64_t bytes;
  if (t->bits < 8) {
    unsigned per_byte = 8 / t->bits;
    bytes = count / per_byte + (count % per_byte != 0);
  } else {
    uint64_t width = t->bits / 8;
    if (count > (uint64_t)INT64_MAX / width) return false;
    bytes = count * width;
  }
  if (bytes > (uint64_t)SIZE_MAX / 2) return false;
  *out_bytes = (size_t)bytes;
  return true;
}

enum { REFERENCE_BYTES = 8 };

bool npuc_dtype_memory(dtype type, int64_t n, size_t *out_bytes) {
  if (!npuc_dtype_is_reference(type) || info(type)->kind == KIND_NONE) return npuc_dtype_bytes(type, n, out_bytes);
  if (n < 0 || (uint64_t)n > SIZE_MAX / 2 / REFERENCE_BYTES) return false;
  *out_bytes = (size_t)n * REFERENCE_BYTES;
  return true;
}

size_t npuc_dtype_width(dtype type) { return npuc_dtype_is_reference(type) ? REFERENCE_BYTES : npuc_dtype_bits(type) / 8; }
