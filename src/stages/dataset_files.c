/* SPDX-License-Identifier: Apache-2.0 */
/* Data of fixed-size records in one file, and seeded random data. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/idx.h"
#include "formats/npy.h"
#include "formats/npz.h"
#include "stages/dataset_internal.h"

static char *without_end(arena *a, const char *path, const char *end) {
  size_t n = strlen(path), m = strlen(end);
  return npuc_arena_strn(a, path, n >= m && strcmp(path + n - m, end) == 0 ? n - m : n);
}

npuc_status npuc_dataset_open_npy(diag *d, dataset *s, const char *path) {
  NPUC_TRY(npuc_dataset_expect_one_port(d, s, "npy"));
  NPUC_TRY(npuc_npy_read(d, path, &s->arrays[0]));
  NPUC_TRY(npuc_dataset_use_arrays(d, s));
  return npuc_dataset_read_labels(d, s, npuc_arena_printf(s->arena, "%s.labels.npy", without_end(s->arena, path, ".npy")));
}

/* -- npz: inputs by name; x for the only one; labels in y -- */
static npuc_status fail_input(diag *d, const dataset *s, const npz *z, const char *name) {
  const char *have = "";
  for (size_t i = 0; i < z->n; i++) have = npuc_arena_printf(s->arena, "%s%s%s", have, i ? ", " : "", z->entries[i].name);
  return npuc_dataset_fail(d, s, NPUC_DIAG_E1108, "it has no array '%s'; it has %s", name, z->n ? have : "none");
}

static npuc_status take_arrays(diag *d, dataset *s, const npz *z) {
  for (size_t k = 0; k < s->n_ports; k++) {
    const char *name = s->ports[k].port.name;
    const tensor *t = npuc_npz_get(z, name);
    if (!t && s->n_ports == 1) t = npuc_npz_get(z, "x");
    if (!t && s->n_ports == 1 && z->n == 1) t = &z->entries[0].array;
    if (!t) return fail_input(d, s, z, name);
    s->arrays[k] = *t;
    npuc_blob_retain(t->owner);
  }
  NPUC_TRY(npuc_dataset_use_arrays(d, s));
  const tensor *y = npuc_npz_get(z, "y");
  if (!y) y = npuc_npz_get(z, "labels");
  bool is_input = false;
  for (size_t k = 0; y && k < s->n_ports; k++) is_input |= y->data == s->arrays[k].data;
  if (!y || is_input || !npuc_dtype_is_integer(y->type)) return NPUC_OK;
  if ((uint64_t)npuc_tensor_elements(y) != s->count) {
    return npuc_dataset_fail(d, s, NPUC_DIAG_E1106, "it has %" PRId64 " labels for %zu samples", npuc_tensor_elements(y), s->count);
  }
  s->labels = *y;
  npuc_blob_retain(y->owner);
  s->has_labels = true;
  return NPUC_OK;
}

npuc_status npuc_dataset_open_npz(diag *d, dataset *s, const char *path) {
  npz z;
  NPUC_TRY(npuc_npz_read(d, path, &z));
  npuc_status status = take_arrays(d, s, &z);
  npuc_npz_release(&z);
  return status;
}

/* -- records without a header -- */
static npuc_status map_records(diag *d, dataset *s, const char *path, dtype type, shape record, size_t header) {
  mapped_file *file;
  NPUC_TRY(npuc_file_map(d, path, &file));
  size_t size = npuc_file_size(file), bytes = 0;
  blob *b = npuc_blob_from_file(file);
  npuc_file_release(file);
  s->arrays[0].owner = b;
  int64_t elements;
  if (!npuc_shape_elements(&record, &elements) || !npuc_dtype_bytes(type, elements, &bytes) || bytes == 0) {
    return npuc_dataset_fail(d, s, NPUC_DIAG_E1102, "a record has no bytes");
  }
  if (size == 0) return npuc_dataset_fail(d, s, NPUC_DIAG_E1103, "the file is empty");
  if (size % (bytes + header)) {
    return npuc_dataset_fail(d, s, NPUC_DIAG_E1106, "%s has %zu bytes, no whole number of records of %zu", path, size, bytes + header);
  }
  tensor *t = &s->arrays[0];
  t->type = type;
  t->shape = (shape){.rank = record.rank + 1, .dims = {(dim)(size / (bytes + header))}};
  memcpy(t->shape.dims + 1, record.dims, (size_t)record.rank * sizeof(dim));
  t->data = npuc_blob_data(b);
  t->bytes = bytes * (size / (bytes + header)); /* of the records alone: bytes / count is a record's */
  s->record_stride = bytes + header;
  s->record_offset = header;
  return npuc_dataset_use_arrays(d, s);
}

/* DTYPE:DIMS:PATH, DIMS as 3x32x32 */
static bool parse_dims(const char *text, size_t n, shape *out) {
  out->rank = 0;
  const char *at = text, *end = text + n;
  while (at < end) {
    int64_t v = 0;
    const char *first = at;
    for (; at < end && *at >= '0' && *at <= '9' && v < INT32_MAX; at++) v = v * 10 + (*at - '0');
    if (at == first || v < 1 || v >= INT32_MAX || out->rank == MAX_RANK - 1) return false;
    out->dims[out->rank++] = v;
    if (at < end && *at++ != 'x') return false;
  }
  return out->rank > 0 && end[-1] != 'x';
}

npuc_status npuc_dataset_open_raw(diag *d, dataset *s, const char *path) {
  NPUC_TRY(npuc_dataset_expect_one_port(d, s, "raw"));
  const char *colon = strchr(path, ':'), *second = colon ? strchr(colon + 1, ':') : NULL;
  dtype type = DTYPE_NONE;
  shape record;
  if (!second || !npuc_dtype_parse(npuc_arena_strn(s->arena, path, (size_t)(colon - path)), &type) || npuc_dtype_bits(type) < 8 ||
      !parse_dims(colon + 1, (size_t)(second - colon - 1), &record)) {
    npuc_status status = npuc_dataset_fail(d, s, NPUC_DIAG_E1102, "raw data is raw:DTYPE:DIMS:PATH");
    npuc_fix(d, "raw:float32:1x49x10:FILE");
    return status;
  }
  NPUC_TRY(map_records(d, s, second + 1, type, record, 0));
  return npuc_dataset_read_labels(d, s, npuc_arena_printf(s->arena, "%s.labels.npy", second + 1));
}

/* -- CIFAR-10's binary form: 1 byte label, 3 x 32 x 32 bytes picture -- */
npuc_status npuc_dataset_open_cifar10(diag *d, dataset *s, const char *path) {
  NPUC_TRY(npuc_dataset_expect_one_port(d, s, "cifar10"));
  NPUC_TRY(map_records(d, s, path, DTYPE_U8, (shape){.rank = 3, .dims = {3, 32, 32}}, 1));
  shape n = {.rank = 1, .dims = {(dim)s->count}};
  NPUC_TRY(npuc_tensor_create(d, DTYPE_U8, &n, &s->labels));
  for (size_t i = 0; i < s->count; i++) ((uint8_t *)s->labels.data)[i] = ((const uint8_t *)s->arrays[0].data)[i * s->record_stride];
  s->has_labels = true;
  return NPUC_OK;
}

/* -- MNIST: NAME-images-idx3-ubyte[.gz], labels in NAME-labels-idx1-ubyte[.gz] -- */
static char *labels_path(arena *a, const char *path) {
  const char *name = npuc_path_basename(path), *images = strstr(name, "images"), *idx3 = images ? strstr(images, "idx3") : NULL;
  if (!images) return NULL;
  if (!idx3) return npuc_arena_printf(a, "%.*slabels%s", (int)(images - path), path, images + 6);
  return npuc_arena_printf(a, "%.*slabels%.*sidx1%s", (int)(images - path), path, (int)(idx3 - images - 6), images + 6, idx3 + 4);
}

npuc_status npuc_dataset_open_mnist(diag *d, dataset *s, const char *path) {
  NPUC_TRY(npuc_dataset_expect_one_port(d, s, "mnist"));
  NPUC_TRY(npuc_idx_read(d, path, &s->arrays[0]));
  NPUC_TRY(npuc_dataset_use_arrays(d, s));
  const char *labels = labels_path(s->arena, path);
  if (!labels || !npuc_path_exists(labels)) return NPUC_OK;
  NPUC_TRY(npuc_idx_read(d, labels, &s->labels));
  if (!npuc_dtype_is_integer(s->labels.type) || (uint64_t)npuc_tensor_elements(&s->labels) != s->count) {
    return npuc_dataset_fail(d, s, NPUC_DIAG_E1106, "%s has %" PRId64 " labels for %zu samples", labels, npuc_tensor_elements(&s->labels),
                             s->count);
  }
  s->has_labels = true;
  return NPUC_OK;
}

/* -- random:N -- */
/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* Floats are k * 2^-23 - 1 with k of 24 bits: uniform in [-1, 1), exact in float32. Bytes take all their values; wider integers and bool are 0 or 1, which every
 * index input takes. */
static npuc_status sample_random(const dataset *s, diag *d, size_t index, tensor *out_inputs) {
  (void)d;
  for (size_t k = 0; k < s->n_ports; k++) {
    uint64_t state = s->seed, stream = next_random(&state) ^ ((uint64_t)index << 16) ^ k;
    state = stream;
    tensor *t = &out_inputs[k];
    int64_t n = npuc_tensor_elements(t);
    for (int64_t i = 0; i < n; i++) {
      uint64_t r = next_random(&state);
      if (npuc_dtype_kind(t->type) == KIND_FLOAT)
        npuc_tensor_set(t, i, (double)(r >> 40) * 0x1p-23 - 1);
      else if (t->type == DTYPE_U8)
        npuc_tensor_set_int(t, i, (int64_t)(r >> 56));
      else if (t->type == DTYPE_I8)
        npuc_tensor_set_int(t, i, (int64_t)(r >> 56) - 128);
      else
        npuc_tensor_set_int(t, i, (int64_t)(r >> 63));
    }
  }
  return NPUC_OK;
}

npuc_status npuc_dataset_open_random(diag *d, dataset *s, const char *path) {
  char *end;
  unsigned long long n = *path >= '0' && *path <= '9' ? strtoull(path, &end, 10) : 0;
  if (n == 0 || *end || n > UINT32_MAX) return npuc_dataset_fail(d, s, NPUC_DIAG_E1102, "random data is random:N with N of 1 and more");
  s->count = (size_t)n;
  s->sample = sample_random;
  return NPUC_OK;
}
