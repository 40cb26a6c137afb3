/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/safetensors.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8, HEADER_MAX = 100 << 20 };

struct safetensors {
  arena *arena;
  const char *path;
  blob *owner;
  safetensor *tensors;
  size_t n;
};

static const struct {
  const char *name;
  dtype type;
} types[] = {{"F64", DTYPE_F64},        {"F32", DTYPE_F32}, {"F16", DTYPE_F16},   {"BF16", DTYPE_BF16},        {"I64", DTYPE_I64},
             {"I32", DTYPE_I32},        {"I16", DTYPE_I16}, {"I8", DTYPE_I8},     {"U64", DTYPE_U64},          {"U32", DTYPE_U32},
             {"U16", DTYPE_U16},        {"U8", DTYPE_U8},   {"BOOL", DTYPE_BOOL}, {"F8_E4M3", DTYPE_F8E4M3FN}, {"F8_E5M2", DTYPE_F8E5M2},
             {"F8_E8M0", DTYPE_F8E8M0}, {"C64", DTYPE_C64}};

static uint64_t header_length(const uint8_t *p) {
  uint64_t n = 0;
  for (int i = LENGTH_BYTES; i-- > 0;) n = n << 8 | p[i];
  return n;
}

bool npuc_safetensors_is(const void *bytes, size_t n, size_t size) {
  const uint8_t *p = bytes;
  return n > LENGTH_BYTES && p[LENGTH_BYTES] == '{' && header_length(p) >= 2 && header_length(p) <= size - LENGTH_BYTES;
}

static npuc_status malformed(diag *d, const safetensors *f, const char *name, const char *reason) {
  return npuc_fail(d, NPUC_DIAG_E0216, &(diag_place){.file = f->path, .node = name}, "%s", reason);
}

static npuc_status read_type(diag *d, const safetensors *f, const char *name, const json_t *v, dtype *out_type) {
  const char *text = json_string_value(v);
  if (!text) return malformed(d, f, name, "a tensor has no dtype");
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    if (strcmp(types[i].name, text) != 0) continue;
    *out_type = types[i].type;
    return NPUC_OK;
  }
  return npuc_fail(d, NPUC_DIAG_E0217, &(diag_place){.file = f->path, .node = name}, "the element type '%s' is not read", text);
}

static npuc_status read_shape(diag *d, const safetensors *f, const char *name, const json_t *v, shape *out_shape) {
  if (!json_is_array(v)) return malformed(d, f, name, "a tensor has no shape");
  if (json_array_size(v) > MAX_RANK)
    return npuc_fail(d, NPUC_DIAG_E0217, &(diag_place){.file = f->path, .node = name}, "it has %zu axes, more than %d", json_array_size(v),
                     MAX_RANK);
  *out_shape = (shape){.rank = (int32_t)json_array_size(v)};
  for (int32_t k = 0; k < out_shape->rank; k++) {
    const json_t *length = json_array_get(v, (size_t)k);
    if (!json_is_integer(length) || json_integer_value(length) < 0) return malformed(d, f, name, "a dim is no whole number from 0 on");
    out_shape->dims[k] = json_integer_value(length);
  }
  return NPUC_OK;
}

/* Offsets from the begin of the data, whose size is `room`. */
static npuc_status read_tensor(diag *d, safetensors *f, const char *name, const json_t *v, const uint8_t *data, size_t room) {
  safetensor *t = &f->tensors[f->n];
  const json_t *offsets = json_object_get(v, "data_offsets"), *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
  int64_t elements;
  NPUC_TRY(read_type(d, f, name, json_object_get(v, "dtype"), &t->value.type));
  NPUC_TRY(read_shape(d, f, name, json_object_get(v, "shape"), &t->value.shape));
  if (!json_is_integer(begin) || !json_is_integer(end) || json_array_size(offsets) != 2)
    return malformed(d, f, name, "data_offsets are not two numbers");
  json_int_t from = json_integer_value(begin), to = json_integer_value(end);
  if (from < 0 || to < from || (uint64_t)to > room) return malformed(d, f, name, "its data lies outside the file");
  if (!npuc_shape_elements(&t->value.shape, &elements) || !npuc_dtype_bytes(t->value.type, elements, &t->value.bytes) ||
      t->value.bytes != (uint64_t)(to - from))
    return malformed(d, f, name, "its data is not as long as its shape and dtype say");
  t->name = npuc_arena_str(f->arena, name);
  t->value.data = t->value.bytes ? (void *)(uintptr_t)(data + from) : NULL;
  t->value.owner = f->owner;
  f->n++;
  return NPUC_OK;
}

static int by_place(const void *a, const void *b) {
  const safetensor *x = *(const safetensor *const *)a, *y = *(const safetensor *const *)b;
  return x->value.data < y->value.data ? -1 : x->value.data > y->value.data;
}

static npuc_status check_cover(diag *d, const safetensors *f, const uint8_t *data, size_t room) {
  const safetensor **order = npuc_xcalloc(f->n + 1, sizeof *order);
  size_t n = 0, at = 0;
  for (size_t i = 0; i < f->n; i++)
    if (f->tensors[i].value.bytes) order[n++] = &f->tensors[i];
  qsort((void *)order, n, sizeof *order, by_place);
  npuc_status status = NPUC_OK;
  for (size_t i = 0; i < n && status == NPUC_OK; i++) {
    if ((const uint8_t *)order[i]->value.data != data + at)
      status = malformed(d, f, order[i]->name, "between its data and the data before it is a gap or an overlap");
    at += order[i]->value.bytes;
  }
  if (status == NPUC_OK && at != room) status = malformed(d, f, NULL, "bytes at the end belong to no tensor");
  free((void *)order);
  return status;
}

static npuc_status read_header(diag *d, safetensors *f, const json_t *header, const uint8_t *data, size_t room) {
  const char *name;
  json_t *v;
  if (!json_is_object(header)) return malformed(d, f, NULL, "the header is no JSON object");
  f->tensors = NPUC_NEW_ARRAY(f->arena, json_object_size(header) + 1, safetensor);
  json_object_foreach((json_t *)(uintptr_t)header, name, v) {
    if (strcmp(name, "__metadata__") != 0) NPUC_TRY(read_tensor(d, f, name, v, data, room));
  }
  return check_cover(d, f, data, room);
}

static npuc_status read_file(diag *d, safetensors *f) {
  const uint8_t *bytes = npuc_blob_data(f->owner);
  size_t size = npuc_blob_size(f->owner);
  uint64_t n = size >= LENGTH_BYTES ? header_length(bytes) : 0;
  json_error_t error;
  if (n < 2 || n > HEADER_MAX || n > size - LENGTH_BYTES) return malformed(d, f, NULL, "the header's length is not possible");
  json_t *header = json_loadb((const char *)bytes + LENGTH_BYTES, (size_t)n, JSON_REJECT_DUPLICATES, &error);
  if (!header) return malformed(d, f, NULL, npuc_arena_printf(f->arena, "the header is no JSON: %s", error.text));
  npuc_status status = read_header(d, f, header, bytes + LENGTH_BYTES + n, size - LENGTH_BYTES - (size_t)n);
  json_decref(header);
  return status;
}

npuc_status npuc_safetensors_open(diag *d, const char *path, safetensors **out_file) {
  mapped_file *file;
  *out_file = NULL;
  NPUC_TRY(npuc_file_map(d, path, &file));
  safetensors *f = npuc_xcalloc(1, sizeof *f);
  f->arena = npuc_arena_create();
  f->path = npuc_arena_str(f->arena, path);
  f->owner = npuc_blob_from_file(file);
  npuc_file_release(file);
  npuc_status status = read_file(d, f);
  if (status != NPUC_OK) {
    npuc_safetensors_close(f);
    return status;
  }
  *out_file = f;
  return NPUC_OK;
}

void npuc_safetensors_close(safetensors *f) {
  if (!f) return;
  npuc_blob_release(f->owner);
  npuc_arena_destroy(f->arena);
  free(f);
}

size_t npuc_safetensors_count(const safetensors *f) { return f->n; }
const safetensor *npuc_safetensors_at(const safetensors *f, size_t index) { return &f->tensors[index]; }
