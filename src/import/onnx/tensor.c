/* SPDX-License-Identifier: Apache-2.0 */
/* TensorProto. Its data stands in one of three places: raw_data (little-endian bytes: a view), a list of the type's own field (float_data and so on: converted once), or
 * another file. Every size is compared with the shape's before anything is taken. */
#include <string.h>

#include "base/limit.h"
#include "import/onnx/reference.h"
#include "import/onnx/source.h"

typedef struct tensor_record {
  const char *name;
  int64_t data_type;
  shape shape;
  bool has_raw, external, segment;
  pb_span raw;
  size_t n_dims, n_float, n_int32, n_int64, n_double, n_uint64, n_strings;
  external_range range;
} tensor_record;

static void read_dims(pb_reader *r, const pb_field *f, tensor_record *t) {
  int64_t few[MAX_RANK];
  size_t n = npuc_pb_count_varints(r, f), at = 0;
  if (n <= MAX_RANK - (t->n_dims < MAX_RANK ? t->n_dims : MAX_RANK)) {
    npuc_pb_read_varints(r, f, few, &at);
    for (size_t i = 0; i < at; i++) t->shape.dims[t->n_dims + i] = few[i];
  }
  t->n_dims += n;
}

static bool parse_size(const char *text, uint64_t *out) {
  uint64_t v = 0;
  if (!*text) return false;
  for (; *text; text++) {
    if (*text < '0' || *text > '9') return false;
    unsigned digit = (unsigned)(*text - '0');
    if (v > (UINT64_MAX - digit) / 10) return false;
    v = v * 10 + digit;
  }
  *out = v;
  return true;
}

static npuc_status read_external_entry(onnx_source *s, pb_reader *r, const pb_field *f, tensor_record *t) {
  const char *key, *text;
  npuc_onnx_entry(s, r, f, &key, &text);
  uint64_t v = 0;
  if (strcmp(key, "location") == 0) {
    t->range.location = text;
  } else if (strcmp(key, "offset") == 0 || strcmp(key, "length") == 0) {
    diag_place place = {.node = t->name, .attribute = key};
    if (!parse_size(text, &v))
      return npuc_fail(s->d, NPUC_DIAG_E0307, &place, "external data: %s '%s' is not a number of bytes", key, text);
    if (key[0] == 'o') {
      t->range.offset = v;
    } else {
      t->range.length = v;
      t->range.has_length = true;
    }
  }
  return NPUC_OK;
}

static npuc_status read_tensor_field(onnx_source *s, pb_reader *r, const pb_field *f, tensor_record *t) {
  const char *key, *text;
  switch (f->number) {
    case TENSOR_DIMS:
      read_dims(r, f, t);
      break;
    case TENSOR_DATA_TYPE:
      t->data_type = npuc_pb_int(r, f);
      break;
    case TENSOR_SEGMENT:
      t->segment = true;
      break;
    case TENSOR_FLOAT_DATA:
      t->n_float += npuc_pb_count_fixed(r, f, 4);
      break;
    case TENSOR_INT32_DATA:
      t->n_int32 += npuc_pb_count_varints(r, f);
      break;
    case TENSOR_STRING_DATA:
      t->n_strings++;
      break;
    case TENSOR_INT64_DATA:
      t->n_int64 += npuc_pb_count_varints(r, f);
      break;
    case TENSOR_DOUBLE_DATA:
      t->n_double += npuc_pb_count_fixed(r, f, 8);
      break;
    case TENSOR_UINT64_DATA:
      t->n_uint64 += npuc_pb_count_varints(r, f);
      break;
    case TENSOR_NAME:
      t->name = npuc_onnx_text(s, r, f);
      break;
    case TENSOR_RAW_DATA:
      t->raw = npuc_pb_span(r, f);
      t->has_raw = true;
      break;
    case TENSOR_EXTERNAL_DATA:
      return read_external_entry(s, r, f, t);
    case TENSOR_DATA_LOCATION:
      t->external = npuc_pb_int(r, f) == 1;
      break;
    case TENSOR_METADATA:
      npuc_onnx_entry(s, r, f, &key, &text);
      if (t->name && strcmp(key, META_QUANT_AXIS) == 0) {
        uint64_t axis;
        if (!parse_size(text, &axis) || axis >= MAX_RANK) break;
        quant_axis *kept = NPUC_NEW(s->scratch, quant_axis);
        kept->axis = (int32_t)axis;
        npuc_map_put(s->quant_axes, t->name, kept);
      }
      break;
    default:
      break;
  }
  return NPUC_OK;
}

static npuc_status fail_data(onnx_source *s, const tensor_record *t, size_t have, size_t want) {
  diag_place place = {.node = t->name};
  return npuc_fail(s->d, NPUC_DIAG_E0304, &place, "the tensor's data has %zu bytes, its type %s and shape need %zu", have,
                   npuc_dtype_name((dtype)t->data_type), want);
}

/* Width of one list element's value in the tensor, and how many the list must have. Elements narrower than a byte come packed, a byte each. */
static npuc_status check_list(onnx_source *s, const tensor_record *t, size_t have, size_t width, size_t bytes) {
  if (have > SIZE_MAX / width || have * width != bytes) return fail_data(s, t, have > SIZE_MAX / width ? SIZE_MAX : have * width, bytes);
  return NPUC_OK;
}

/* Keeps the low `width` bytes of each integer, as the types narrower than their list's are defined. */
static void read_integers(pb_reader *r, const pb_field *f, size_t width, uint8_t *to, size_t *io_n, arena *scratch) {
  size_t n = 0;
  int64_t *wide = NPUC_NEW_ARRAY(scratch, npuc_pb_count_varints(r, f), int64_t);
  npuc_pb_read_varints(r, f, wide, &n);
  for (size_t i = 0; i < n; i++) {
    for (size_t b = 0; b < width; b++) to[(*io_n + i) * width + b] = (uint8_t)((uint64_t)wide[i] >> (8 * b));
  }
  *io_n += n;
}

typedef struct list_form { /* which list a type's data stands in */
  uint32_t field;
  size_t width; /* bytes of one list element in the tensor */
  bool fixed;   /* 4- or 8-byte wire, else varints */
} list_form;

static list_form list_of(dtype type) {
  switch (type) {
    case DTYPE_F32:
    case DTYPE_C64:
      return (list_form){TENSOR_FLOAT_DATA, 4, true};
    case DTYPE_F64:
    case DTYPE_C128:
      return (list_form){TENSOR_DOUBLE_DATA, 8, true};
    case DTYPE_I64:
      return (list_form){TENSOR_INT64_DATA, 8, false};
    case DTYPE_U64:
      return (list_form){TENSOR_UINT64_DATA, 8, false};
    case DTYPE_U32:
      return (list_form){TENSOR_UINT64_DATA, 4, false};
    default:
      return (list_form){TENSOR_INT32_DATA, npuc_dtype_bits(type) < 8 ? 1 : npuc_dtype_bits(type) / 8, false};
  }
}

static size_t list_count(const tensor_record *t, uint32_t field) {
  switch (field) {
    case TENSOR_FLOAT_DATA:
      return t->n_float;
    case TENSOR_DOUBLE_DATA:
      return t->n_double;
    case TENSOR_INT64_DATA:
      return t->n_int64;
    case TENSOR_UINT64_DATA:
      return t->n_uint64;
    default:
      return t->n_int32;
  }
}

static npuc_status take_list(onnx_source *s, pb_reader message, const tensor_record *t, tensor *out) {
  list_form form = list_of(out->type);
  NPUC_TRY(check_list(s, t, list_count(t, form.field), form.width, out->bytes));
  if (out->bytes == 0) return NPUC_OK;
  blob *b = npuc_blob_create(out->bytes);
  if (!b) return npuc_fail_memory(s->d, &(diag_place){.node = t->name}, out->bytes, "the tensor");
  npuc_module_keep_blob(s->m, b);
  npuc_blob_release(b);
  out->owner = b;
  out->data = npuc_blob_data(b);
  arena *wide = npuc_arena_create();
  pb_field f;
  size_t at = 0;
  while (npuc_pb_next(&message, &f)) {
    if (f.number != form.field) continue;
    if (form.fixed) {
      npuc_pb_read_fixed(&message, &f, form.width, out->data, &at);
    } else {
      read_integers(&message, &f, form.width, out->data, &at, wide);
      npuc_arena_reset(wide);
    }
  }
  npuc_arena_destroy(wide);
  return npuc_pb_finish(&message, s->d, "TensorProto");
}

const void *npuc_onnx_text_element(onnx_source *s, text_span text) {
  return text.n ? npuc_text_place(npuc_arena_alloc(s->m->arena, npuc_text_bytes(text.n)), text) : NULL;
}

/* The file has two bytes or more for each text, so what is taken is bounded by its length. */
static npuc_status take_texts(onnx_source *s, pb_reader message, const tensor_record *t, tensor *out) {
  diag_place place = {.node = t->name};
  int64_t n = npuc_tensor_elements(out), at = 0;
  if (t->has_raw || t->external || t->n_strings != (size_t)n)
    return npuc_fail(s->d, NPUC_DIAG_E0304, &place, "the tensor has %zu strings, its shape needs %lld", t->n_strings, (long long)n);
  pb_field f;
  if (n) out->data = npuc_arena_alloc(s->m->arena, out->bytes);
  while (npuc_pb_next(&message, &f)) {
    if (f.number != TENSOR_STRING_DATA || at == n) continue;
    pb_span text = npuc_pb_span(&message, &f);
    npuc_reference_set(out, at++, npuc_onnx_text_element(s, (text_span){(const char *)text.bytes, text.n}));
  }
  return npuc_pb_finish(&message, s->d, "TensorProto");
}

static npuc_status check_record(onnx_source *s, tensor_record *t, tensor *out) {
  diag_place place = {.node = t->name};
  if (t->data_type <= DTYPE_NONE || t->data_type >= DTYPE_END)
    return npuc_fail(s->d, NPUC_DIAG_E0305, &place, "the tensor's element type %lld is unknown", (long long)t->data_type);
  if (t->segment) return npuc_fail(s->d, NPUC_DIAG_E0305, &place, "the tensor is stored in segments");
  if (t->n_dims > MAX_RANK)
    return npuc_fail(s->d, NPUC_DIAG_E0305, &place, "the tensor has %zu axes, at most %d are supported", t->n_dims, MAX_RANK);
  t->shape.rank = (int32_t)t->n_dims;
  int64_t elements;
  for (int32_t i = 0; i < t->shape.rank; i++) {
    if (t->shape.dims[i] < 0)
      return npuc_fail(s->d, NPUC_DIAG_E0304, &place, "the tensor's dim %d is %lld", i, (long long)t->shape.dims[i]);
  }
  if (!npuc_shape_elements(&t->shape, &elements) || !npuc_dtype_memory((dtype)t->data_type, elements, &out->bytes)) {
    return npuc_fail(s->d, NPUC_DIAG_E0304, &place, "the tensor's shape has more elements than fit any memory");
  }
  out->type = (dtype)t->data_type;
  out->shape = t->shape;
  return NPUC_OK;
}

npuc_status npuc_onnx_tensor(onnx_source *s, pb_reader message, const char *owner_name, tensor *out_tensor, const char **out_name) {
  *out_tensor = (tensor){0};
  tensor_record t = {.name = owner_name};
  pb_reader r = message;
  pb_field f;
  while (npuc_pb_next(&r, &f)) NPUC_TRY(read_tensor_field(s, &r, &f, &t));
  NPUC_TRY(npuc_pb_finish(&r, s->d, "TensorProto"));
  if (!t.name) t.name = "";
  if (out_name) *out_name = t.name;
  NPUC_TRY(check_record(s, &t, out_tensor));
  if (out_tensor->type == DTYPE_STRING) return take_texts(s, message, &t, out_tensor);
  if (t.external) return npuc_onnx_external(s, t.name, &t.range, out_tensor->bytes, out_tensor);
  if (!t.has_raw) return take_list(s, message, &t, out_tensor);
  if (t.raw.n != out_tensor->bytes) return fail_data(s, &t, t.raw.n, out_tensor->bytes);
  out_tensor->data = t.raw.n ? (void *)(uintptr_t)t.raw.bytes : NULL;
  out_tensor->owner = s->file;
  return NPUC_OK;
}

/* All exponent bits set: infinity or NaN. */
static bool has_non_finite(const tensor *t) {
  const uint8_t *p = t->data;
  size_t width = npuc_dtype_bits(t->type) / 8;
  uint64_t mask = t->type == DTYPE_F32    ? 0x7f800000u
                  : t->type == DTYPE_F16  ? 0x7c00u
                  : t->type == DTYPE_BF16 ? 0x7f80u
                                          : UINT64_C(0x7ff) << 52;
  bool found = false;
  for (size_t i = 0; i < t->bytes; i += width) {
    uint64_t v = 0;
    memcpy(&v, p + i, width);
    found |= (v & mask) == mask;
  }
  return found;
}

void npuc_onnx_check_finite(onnx_source *s, const char *name, const tensor *t) {
  if (t->type != DTYPE_F32 && t->type != DTYPE_F16 && t->type != DTYPE_BF16 && t->type != DTYPE_F64) return;
  const mapped_file *file;
  size_t offset;
  bool located = t->owner && npuc_blob_locate(t->owner, t->data, &file, &offset);
  if (located && npuc_file_size(file) > ONNX_LARGE_BYTES) return; /* said by stage import (E0935) */
  if (npuc_tensor_elements(t) > 1 && has_non_finite(t)) {         /* a lone infinity is a bound or a mask's filler */
    diag_place place = {.node = name};
    npuc_warn(s->d, NPUC_DIAG_E0308, &place, "the weights of '%s' hold NaN or infinity", name);
  }
  /* Large weights were only looked through: their pages need not stay. */
  if (located && t->bytes >= (size_t)1 << 20) npuc_file_drop(file, offset, t->bytes);
}
