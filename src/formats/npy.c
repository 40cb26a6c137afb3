/* SPDX-License-Identifier: Apache-2.0 */
/* The header is a Python literal, but of one form only: a dict of three known keys whose values are a quoted text, True or False, and a tuple of integers. So the
 * parser below is a scanner with a few expectations, and refuses everything else. */
#include "formats/npy.h"

#include <stdio.h>
#include <string.h>

typedef struct header {
  const char *at, *end; /* what is left */
  char descr[8];
  bool has_descr, has_order, has_shape, fortran;
  shape shape;
  const char *problem;
} header;

static bool fail_header(header *h, const char *problem) {
  if (!h->problem) h->problem = problem;
  return false;
}

static void skip_blanks(header *h) {
  while (h->at < h->end && (*h->at == ' ' || *h->at == '\n' || *h->at == '\t')) h->at++;
}

static bool take(header *h, char c) {
  skip_blanks(h);
  if (h->at == h->end || *h->at != c) return false;
  h->at++;
  return true;
}

static bool take_word(header *h, const char *word) {
  skip_blanks(h);
  size_t n = strlen(word);
  if ((size_t)(h->end - h->at) < n || memcmp(h->at, word, n) != 0) return false;
  h->at += n;
  return true;
}

/* 'text' or "text" into out[n], cut where it is longer (no text of ours is). */
static bool take_quoted(header *h, char *out, size_t n) {
  skip_blanks(h);
  if (h->at == h->end || (*h->at != '\'' && *h->at != '"')) return false;
  char quote = *h->at++;
  size_t length = 0;
  while (h->at < h->end && *h->at != quote) {
    if (length + 1 < n) out[length++] = *h->at;
    h->at++;
  }
  out[length] = '\0';
  return take(h, quote);
}

static bool take_shape(header *h) {
  if (!take(h, '(')) return fail_header(h, "the shape is no tuple");
  h->shape.rank = 0;
  while (!take(h, ')')) {
    int64_t v = 0;
    skip_blanks(h);
    const char *first = h->at;
    for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++) {
      if (v > (INT64_MAX - 9) / 10) return fail_header(h, "a dim does not fit 64 bits");
      v = v * 10 + (*h->at - '0');
    }
    if (h->at == first) return fail_header(h, "the shape holds something that is no number");
    if (h->shape.rank == MAX_RANK) return fail_header(h, "the array has more than 8 axes");
    h->shape.dims[h->shape.rank++] = v;
    if (!take(h, ',')) {
      if (!take(h, ')')) return fail_header(h, "the shape is not closed");
      break;
    }
  }
  h->has_shape = true;
  return true;
}

static bool take_entry(header *h) {
  char key[16];
  if (!take_quoted(h, key, sizeof key) || !take(h, ':')) return fail_header(h, "a key is missing");
  if (strcmp(key, "descr") == 0) {
    h->has_descr = take_quoted(h, h->descr, sizeof h->descr);
    return h->has_descr || fail_header(h, "structured arrays are not supported");
  }
  if (strcmp(key, "fortran_order") == 0) {
    h->fortran = take_word(h, "True");
    h->has_order = h->fortran || take_word(h, "False");
    return h->has_order || fail_header(h, "fortran_order is neither True nor False");
  }
  if (strcmp(key, "shape") == 0) return take_shape(h);
  return fail_header(h, "it has an unknown key");
}

static bool parse_header(header *h) {
  if (!take(h, '{')) return fail_header(h, "it is no dict");
  while (!take(h, '}')) {
    if (!take_entry(h)) return false;
    if (!take(h, ',')) {
      if (!take(h, '}')) return fail_header(h, "the dict is not closed");
      break;
    }
  }
  return (h->has_descr && h->has_order && h->has_shape) || fail_header(h, "descr, fortran_order or shape is missing");
}

/* -- types -- */
static const struct {
  const char *code;
  dtype type;
} codes[] = {{"f4", DTYPE_F32}, {"f8", DTYPE_F64},  {"f2", DTYPE_F16}, {"u1", DTYPE_U8},   {"i1", DTYPE_I8},
             {"u2", DTYPE_U16}, {"i2", DTYPE_I16},  {"u4", DTYPE_U32}, {"i4", DTYPE_I32},  {"u8", DTYPE_U64},
             {"i8", DTYPE_I64}, {"b1", DTYPE_BOOL}, {"c8", DTYPE_C64}, {"c16", DTYPE_C128}};

static bool type_of(const char *descr, dtype *out) {
  if (descr[0] != '<' && descr[0] != '|' && descr[0] != '=') return false;
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    if (strcmp(descr + 1, codes[i].code) == 0) {
      *out = codes[i].type;
      return true;
    }
  }
  return false;
}

static const char *code_of(dtype type) {
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    if (codes[i].type == type) return codes[i].code;
  }
  return NULL;
}

/* -- reading -- */
static npuc_status to_c_order(diag *d, const tensor *t, tensor *out) {
  NPUC_TRY(npuc_tensor_create(d, t->type, &t->shape, out));
  size_t width = npuc_dtype_bits(t->type) / 8;
  int64_t index[MAX_RANK] = {0};
  uint8_t *to = out->data;
  for (size_t done = 0; done < t->bytes; done += width) {
    size_t from = 0; /* Fortran order: the first axis is the fastest */
    for (int32_t axis = t->shape.rank - 1; axis >= 0; axis--) from = from * (size_t)t->shape.dims[axis] + (size_t)index[axis];
    memcpy(to + done, (const uint8_t *)t->data + from * width, width);
    for (int32_t axis = t->shape.rank - 1; axis >= 0 && ++index[axis] == t->shape.dims[axis]; axis--) index[axis] = 0;
  }
  return NPUC_OK;
}

static npuc_status fail_npy(diag *d, const char *name, const char *reason) {
  diag_place place = {.file = name};
  return npuc_fail(d, NPUC_DIAG_E0210, &place, "%s", reason);
}

/* Where the header's text and the data begin; false when the file is too short or no .npy file. */
static bool find_header(const uint8_t *p, size_t n, size_t *out_begin, size_t *out_data) {
  if (n < 10 || memcmp(p, "\x93NUMPY", 6) != 0 || p[6] < 1 || p[6] > 3) return false;
  size_t begin = p[6] == 1 ? 10 : 12;
  if (n < begin) return false;
  size_t length = (size_t)p[8] | (size_t)p[9] << 8;
  if (p[6] > 1) length |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
  if (length > n - begin) return false;
  *out_begin = begin;
  *out_data = begin + length;
  return true;
}

npuc_status npuc_npy_parse(diag *d, const char *name, blob *owner, const void *bytes, size_t n, tensor *out_tensor) {
  *out_tensor = (tensor){0};
  diag_place place = {.file = name};
  const uint8_t *p = bytes;
  size_t begin, data;
  if (!p || !find_header(p, n, &begin, &data))
    return fail_npy(d, name, "it is no .npy file of version 1 to 3, or it is cut off inside its header");
  header h = {.at = (const char *)p + begin, .end = (const char *)p + data};
  if (!parse_header(&h)) return npuc_fail(d, NPUC_DIAG_E0210, &place, "its header cannot be read: %s", h.problem);
  tensor t = {.shape = h.shape, .owner = owner};
  if (!type_of(h.descr, &t.type)) {
    npuc_status status = npuc_fail(d, NPUC_DIAG_E0211, &place, "its element type '%s' is not supported", h.descr);
    npuc_fix(d, "python3 -c \"import numpy as n; n.save('%s', n.load('%s').astype('<f4'))\"", name, name);
    return status;
  }
  int64_t elements;
  if (!npuc_shape_elements(&t.shape, &elements) || !npuc_dtype_bytes(t.type, elements, &t.bytes) || t.bytes > n - data) {
    return npuc_fail(d, NPUC_DIAG_E0210, &place, "it has %zu bytes of data, its header promises more", n - data);
  }
  if (t.bytes < n - data)
    return npuc_fail(d, NPUC_DIAG_E0210, &place, "it has %zu bytes of data, its header promises %zu", n - data, t.bytes);
  t.data = t.bytes ? (void *)(uintptr_t)(p + data) : NULL;
  if (h.fortran && t.shape.rank > 1) return to_c_order(d, &t, out_tensor);
  npuc_blob_retain(owner);
  *out_tensor = t;
  return NPUC_OK;
}

npuc_status npuc_npy_read(diag *d, const char *path, tensor *out_tensor) {
  *out_tensor = (tensor){0};
  mapped_file *file;
  NPUC_TRY(npuc_file_map(d, path, &file));
  blob *b = npuc_blob_from_file(file);
  npuc_file_release(file);
  npuc_status status = npuc_npy_parse(d, path, b, npuc_blob_data(b), npuc_blob_size(b), out_tensor);
  npuc_blob_release(b);
  return status;
}

/* -- writing -- */
static dtype written_type(dtype type) {
  if (code_of(type)) return type;
  switch (npuc_dtype_kind(type)) {
    case KIND_FLOAT:
      return DTYPE_F32;
    case KIND_INT:
      return DTYPE_I8;
    case KIND_UINT:
      return DTYPE_U8;
    default:
      return DTYPE_NONE;
  }
}

static size_t format_header(const tensor *t, char *out, size_t n) {
  char dims[MAX_RANK * 22 + 4] = "";
  size_t at = 0;
  for (int32_t i = 0; i < t->shape.rank; i++) {
    at += (size_t)snprintf(dims + at, sizeof dims - at, "%s%lld", i ? ", " : "", (long long)t->shape.dims[i]);
  }
  const char *code = code_of(t->type);
  char order = npuc_dtype_bits(t->type) == 8 ? '|' : '<';
  return (size_t)snprintf(out, n, "{'descr': '%c%s', 'fortran_order': False, 'shape': (%s%s), }", order, code, dims,
                          t->shape.rank == 1 ? "," : "");
}

static npuc_status write_array(diag *d, const char *path, const tensor *t) {
  char text[320];
  size_t length = format_header(t, text, sizeof text);
  size_t total = (10 + length + 1 + 63) / 64 * 64; /* a newline ends the padding */
  memset(text + length, ' ', total - 10 - length);
  text[total - 11] = '\n';
  const uint8_t prefix[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)(total - 10), (uint8_t)((total - 10) >> 8)};
  file_writer *w;
  NPUC_TRY(npuc_writer_create(d, path, &w));
  npuc_status status = npuc_writer_write(w, prefix, sizeof prefix);
  if (status == NPUC_OK) status = npuc_writer_write(w, text, total - 10);
  if (status == NPUC_OK && t->bytes) status = npuc_writer_write(w, t->data, t->bytes);
  if (status == NPUC_OK) return npuc_writer_commit(w);
  npuc_writer_abandon(w);
  return status;
}

npuc_status npuc_npy_write(diag *d, const char *path, const tensor *t) {
  dtype type = written_type(t->type);
  if (type == DTYPE_NONE) {
    diag_place place = {.file = path};
    return npuc_fail(d, NPUC_DIAG_E0211, &place, "element type %s has no .npy form", npuc_dtype_name(t->type));
  }
  if (type == t->type) return write_array(d, path, t);
  tensor wide;
  NPUC_TRY(npuc_tensor_cast(d, t, type, &wide));
  npuc_status status = write_array(d, path, &wide);
  npuc_tensor_release(&wide);
  return status;
}
