/* SPDX-License-Identifier: Apache-2.0 */
/* Inflating goes through zlib's inflate on the mapped bytes: header first (its dims say how much must follow), then the rest straight into the tensor's memory. */
#include "formats/idx.h"

#include <string.h>
#include <zlib.h>

enum { MAX_EXPANSION = 1032 }; /* of deflate */

static npuc_status fail_idx(diag *d, const char *path, const char *reason) {
  diag_place place = {.file = path};
  return npuc_fail(d, NPUC_DIAG_E0213, &place, "%s", reason);
}

static bool type_of(uint8_t code, dtype *out) {
  switch (code) {
    case 0x08:
      *out = DTYPE_U8;
      return true;
    case 0x09:
      *out = DTYPE_I8;
      return true;
    case 0x0b:
      *out = DTYPE_I16;
      return true;
    case 0x0c:
      *out = DTYPE_I32;
      return true;
    case 0x0d:
      *out = DTYPE_F32;
      return true;
    case 0x0e:
      *out = DTYPE_F64;
      return true;
    default:
      return false;
  }
}

/* Bytes, plain or through inflate, taken from the front. */
typedef struct source {
  const uint8_t *at;
  size_t left;
  bool zipped;
  z_stream z;
} source;

static bool take(source *s, uint8_t *to, size_t n) {
  if (!s->zipped) {
    if (s->left < n) return false;
    if (n) memcpy(to, s->at, n);
    s->at += n;
    s->left -= n;
    return true;
  }
  while (n > 0) {
    uInt out = n < (size_t)1 << 30 ? (uInt)n : (uInt)1 << 30, in = s->left < (size_t)1 << 30 ? (uInt)s->left : (uInt)1 << 30;
    s->z.next_in = (Bytef *)(uintptr_t)s->at; /* zlib's pointer is not const, its use is */
    s->z.avail_in = in;
    s->z.next_out = to;
    s->z.avail_out = out;
    int result = inflate(&s->z, Z_NO_FLUSH);
    size_t got = out - s->z.avail_out, used = in - s->z.avail_in;
    s->at += used;
    s->left -= used;
    to += got;
    n -= got;
    if ((result != Z_OK && result != Z_STREAM_END) || (n > 0 && (result == Z_STREAM_END || (got == 0 && used == 0)))) return false;
  }
  return true;
}

static npuc_status read_header(diag *d, const char *path, source *s, tensor *t) {
  uint8_t magic[4] = {0}, dims[4 * MAX_RANK] = {0};
  if (!take(s, magic, 4) || magic[0] || magic[1] || !type_of(magic[2], &t->type))
    return fail_idx(d, path, "it is no IDX file (MNIST's format)");
  if (magic[3] > MAX_RANK) return fail_idx(d, path, "it has more than 8 axes");
  t->shape.rank = magic[3];
  if (!take(s, dims, 4 * (size_t)magic[3])) return fail_idx(d, path, "it is cut off inside its header");
  for (int32_t i = 0; i < t->shape.rank; i++) {
    const uint8_t *p = dims + 4 * i;
    t->shape.dims[i] = (int64_t)((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]);
  }
  int64_t elements;
  size_t limit = s->zipped ? (s->left > SIZE_MAX / MAX_EXPANSION - 4096 ? SIZE_MAX : (s->left + 4096) * MAX_EXPANSION) : s->left;
  if (!npuc_shape_elements(&t->shape, &elements) || !npuc_dtype_bytes(t->type, elements, &t->bytes) || t->bytes > limit) {
    return fail_idx(d, path, "its header promises more data than the file can hold");
  }
  return NPUC_OK;
}

static void swap_bytes(uint8_t *p, size_t bytes, size_t width) {
  for (size_t i = 0; i < bytes; i += width) {
    for (size_t k = 0; k < width / 2; k++) {
      uint8_t v = p[i + k];
      p[i + k] = p[i + width - 1 - k];
      p[i + width - 1 - k] = v;
    }
  }
}

static npuc_status read_data(diag *d, const char *path, source *s, blob *file, tensor *t) {
  size_t width = npuc_dtype_bits(t->type) / 8;
  if (!s->zipped && s->left != t->bytes) return fail_idx(d, path, "its header promises less data than the file holds");
  if (!s->zipped && width == 1) {
    t->data = t->bytes ? (void *)(uintptr_t)s->at : NULL;
    t->owner = npuc_blob_retain(file);
    return NPUC_OK;
  }
  shape dims = t->shape;
  NPUC_TRY(npuc_tensor_create(d, t->type, &dims, t));
  if (!take(s, t->data, t->bytes)) {
    npuc_tensor_release(t);
    return fail_idx(d, path, "its compressed data is damaged or cut off");
  }
  swap_bytes(t->data, t->bytes, width);
  return NPUC_OK;
}

static npuc_status read_blob(diag *d, const char *path, blob *file, tensor *out) {
  source s = {.at = npuc_blob_data(file), .left = npuc_blob_size(file)};
  s.zipped = s.left >= 2 && s.at[0] == 0x1f && s.at[1] == 0x8b;
  if (s.zipped && inflateInit2(&s.z, 15 + 16) != Z_OK) return npuc_fail(d, NPUC_DIAG_E0002, NULL, "zlib's state");
  npuc_status status = read_header(d, path, &s, out);
  if (status == NPUC_OK) status = read_data(d, path, &s, file, out);
  if (s.zipped) (void)inflateEnd(&s.z);
  return status;
}

npuc_status npuc_idx_read(diag *d, const char *path, tensor *out_tensor) {
  *out_tensor = (tensor){0};
  mapped_file *file;
  NPUC_TRY(npuc_file_map(d, path, &file));
  blob *b = npuc_blob_from_file(file);
  npuc_file_release(file);
  npuc_status status = read_blob(d, path, b, out_tensor);
  npuc_blob_release(b);
  if (status != NPUC_OK) *out_tensor = (tensor){0};
  return status;
}
