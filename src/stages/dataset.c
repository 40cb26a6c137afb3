/* SPDX-License-Identifier: Apache-2.0 */
/* DATA: the kind is found, its opener (dataset_files.c, dataset_dir.c) says what a record is, and each record goes the same way into a port:
 *
 *   the port's own type, no preprocessing   copied
 *   the port is float32                     converted to float32, preprocessed (media/preprocess.h)
 *   the port is of another float type       the same, then rounded once
 *   the port is of another type             converted element by element (integers saturate)
 *
 * With several ports, preprocessing is for the pictures among them: floats with three axes behind the batch.
 *
 * A model of a fixed batch B takes B records of an array at a time; where their number is no multiple of B, the last record fills the last batch up and is not counted again. */
#include "stages/dataset.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "formats/npy.h"
#include "kernels/convert.h"
#include "stages/dataset_internal.h"

npuc_status npuc_dataset_fail(diag *d, const dataset *s, diag_code code, const char *format, ...) {
  diag_place place = {.file = s->text};
  arena *a = npuc_arena_create();
  va_list args;
  va_start(args, format);
  npuc_status status = npuc_fail(d, code, &place, "%s", npuc_arena_vprintf(a, format, args));
  va_end(args);
  npuc_arena_destroy(a);
  return status;
}

npuc_status npuc_dataset_expect_one_port(diag *d, const dataset *s, const char *kind) {
  if (s->n_ports == 1) return NPUC_OK;
  return npuc_dataset_fail(d, s, NPUC_DIAG_E1108, "%s data serves one input, the model has %zu", kind, s->n_ports);
}

/* -- from record to port -- */
static const preprocess *preprocess_of(const dataset *s, size_t port) {
  const port_state *p = &s->ports[port];
  if (npuc_dtype_kind(p->port.type) != KIND_FLOAT) return NULL;
  return s->n_ports == 1 || p->wanted.rank == 3 ? s->preprocess : NULL;
}

static shape without_first(const shape *s) {
  shape rest = {.rank = s->rank ? s->rank - 1 : 0};
  memcpy(rest.dims, s->dims + (s->rank ? 1 : 0), (size_t)rest.rank * sizeof(dim));
  return rest;
}

npuc_status npuc_dataset_plan(diag *d, const dataset *s, size_t port, dtype type, const shape *record, preprocess_plan *out_plan) {
  diag_place place = {.file = s->text, .attribute = s->ports[port].port.name};
  if (npuc_dtype_bits(type) < 8) return npuc_fail(d, NPUC_DIAG_E1106, &place, "records of type %s are not read", npuc_dtype_name(type));
  bool has_batch =
      record->rank == s->ports[port].wanted.rank + 1 && record->dims[0] == 1; /* of 1, which the model's input does not count */
  shape bare = has_batch ? without_first(record) : *record;
  const char *outer = npuc_diag_set_file(d, s->text);
  npuc_status status = npuc_preprocess_plan(d, preprocess_of(s, port), type, &bare, &s->ports[port].wanted, out_plan);
  npuc_diag_set_file(d, outer);
  return status;
}

/* Other floats are preprocessed in float32, then rounded once. */
static npuc_status convert_through_f32(diag *d, const tensor *record, const preprocess_plan *plan, tensor *out_input) {
  tensor t;
  NPUC_TRY(npuc_tensor_create(d, DTYPE_F32, &out_input->shape, &t));
  npuc_status status = npuc_preprocess_apply(d, plan, record->data, t.data);
  if (status == NPUC_OK) npuc_convert_from_f32(t.data, npuc_tensor_elements(&t), out_input, 0);
  npuc_tensor_release(&t);
  return status;
}

npuc_status npuc_dataset_convert(const dataset *s, diag *d, size_t port, const tensor *record, const preprocess_plan *plan,
                                 tensor *out_input) {
  if (out_input->type == DTYPE_F32) return npuc_preprocess_apply(d, plan, record->data, out_input->data);
  if (preprocess_of(s, port)) return convert_through_f32(d, record, plan, out_input);
  if (record->type == out_input->type) {
    assert(record->data || record->bytes == 0);
    if (record->bytes) memcpy(out_input->data, record->data, record->bytes);
    return NPUC_OK;
  }
  int64_t n = npuc_tensor_elements(out_input);
  bool whole = npuc_dtype_is_integer(record->type) && npuc_dtype_is_integer(out_input->type);
  for (int64_t i = 0; i < n; i++) {
    if (whole)
      npuc_tensor_set_int(out_input, i, npuc_tensor_get_int(record, i));
    else
      npuc_tensor_set(out_input, i, npuc_tensor_get(record, i));
  }
  return NPUC_OK;
}

/* -- fixed-size records -- */
/* How many records of the arrays make a sample: the first axis B that all ports have, when no port takes a whole record. */
static size_t records_for_sample(const dataset *s) {
  dim batch = 0;
  for (size_t k = 0; k < s->n_ports; k++) {
    const shape *port = &s->ports[k].port.shape;
    shape record = without_first(&s->arrays[k].shape);
    if (port->rank == record.rank && record.rank > 0 && record.dims[0] == 1) record = without_first(&record);
    int64_t have = 0, want = 0;
    bool counted = npuc_shape_elements(&record, &have) && npuc_shape_elements(port, &want);
    if (!counted || have == want || record.rank >= port->rank || (k > 0 && port->dims[0] != batch)) return 1;
    batch = port->dims[0];
  }
  return batch > 1 ? (size_t)batch : 1;
}

static npuc_status sample_arrays(const dataset *s, diag *d, size_t index, tensor *out_inputs) {
  for (size_t k = 0; k < s->n_ports; k++) {
    const tensor *array = &s->arrays[k];
    size_t bytes = array->bytes / s->count, stride = s->record_stride ? s->record_stride : bytes;
    tensor record = {.type = array->type, .shape = without_first(&array->shape), .bytes = bytes};
    record.data = array->data ? (uint8_t *)array->data + s->record_offset + index * stride : NULL;
    NPUC_TRY(npuc_dataset_convert(s, d, k, &record, &s->ports[k].plan, &out_inputs[k]));
  }
  return NPUC_OK;
}

npuc_status npuc_dataset_use_arrays(diag *d, dataset *s) {
  s->sample = sample_arrays;
  for (size_t k = 0; k < s->n_ports; k++) {
    const tensor *array = &s->arrays[k];
    if (array->shape.rank < 1)
      return npuc_dataset_fail(d, s, NPUC_DIAG_E1106, "the array for '%s' is a scalar; its first axis should be the samples",
                               s->ports[k].port.name);
    size_t n = (size_t)array->shape.dims[0];
    if (k == 0) s->count = n;
    if (n != s->count) {
      return npuc_dataset_fail(d, s, NPUC_DIAG_E1106, "the array for '%s' has %zu samples, the one for '%s' %zu", s->ports[k].port.name, n,
                               s->ports[0].port.name, s->count);
    }
    if (n == 0) return npuc_dataset_fail(d, s, NPUC_DIAG_E1103, "it has no samples");
  }
  s->rows = records_for_sample(s);
  for (size_t k = 0; k < s->n_ports; k++) {
    if (s->rows > 1) s->ports[k].wanted = without_first(&s->ports[k].port.shape);
    shape record = without_first(&s->arrays[k].shape);
    NPUC_TRY(npuc_dataset_plan(d, s, k, s->arrays[k].type, &record, &s->ports[k].plan));
  }
  return NPUC_OK;
}

/* -- labels -- */
npuc_status npuc_dataset_read_labels(diag *d, dataset *s, const char *path) {
  if (!npuc_path_exists(path)) return NPUC_OK;
  NPUC_TRY(npuc_npy_read(d, path, &s->labels));
  int64_t n = npuc_tensor_elements(&s->labels);
  if (!npuc_dtype_is_integer(s->labels.type))
    return npuc_dataset_fail(d, s, NPUC_DIAG_E1106, "the labels in %s are %s, not integers", path, npuc_dtype_name(s->labels.type));
  if ((uint64_t)n != s->count)
    return npuc_dataset_fail(d, s, NPUC_DIAG_E1106, "%s has %lld labels for %zu samples", path, (long long)n, s->count);
  s->has_labels = true;
  return NPUC_OK;
}

/* -- kinds -- */
static const struct {
  const char *name;
  dataset_opener *open;
} kinds[] = {{"npy", npuc_dataset_open_npy},
             {"npz", npuc_dataset_open_npz},
             {"raw", npuc_dataset_open_raw},
             {"dir", npuc_dataset_open_dir},
             {"cifar10", npuc_dataset_open_cifar10},
             {"mnist", npuc_dataset_open_mnist},
             {"random", npuc_dataset_open_random},
             {"images", NULL},
             {"audio", NULL},
             {"text", NULL},
             {"jsonl", NULL}};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static int find_kind(const char *name, size_t n) {
  for (int i = 0; i < N_KINDS; i++) {
    if (strlen(kinds[i].name) == n && memcmp(kinds[i].name, name, n) == 0) return i;
  }
  return -1;
}

/* By content: what the file begins with, and for CIFAR-10, which has no magic, its record's size. NULL: none of them. */
static npuc_status guess_kind(diag *d, const char *path, const char **out_kind) {
  *out_kind = "dir";
  if (npuc_path_is_dir(path)) return NPUC_OK;
  mapped_file *file;
  NPUC_TRY(npuc_file_map(d, path, &file)); /* names the system's reason where there is no such file */
  const uint8_t *p = npuc_file_bytes(file);
  size_t n = npuc_file_size(file);
  const char *kind = NULL;
  if (n >= 6 && memcmp(p, "\x93NUMPY", 6) == 0)
    kind = "npy";
  else if (n >= 4 && (memcmp(p, "PK\3\4", 4) == 0 || memcmp(p, "PK\5\6", 4) == 0))
    kind = "npz";
  else if (n >= 4 && p[0] == 0 && p[1] == 0 && p[2] >= 8 && p[2] <= 14 && p[3] >= 1 && p[3] <= 4)
    kind = "mnist";
  else if (n >= 2 && p[0] == 0x1f && p[1] == 0x8b)
    kind = "mnist";
  else if (n > 0 && n % 3073 == 0)
    kind = "cifar10";
  npuc_file_release(file);
  *out_kind = kind;
  return NPUC_OK;
}

static npuc_status fail_kind(diag *d, const dataset *s, const char *prefix) {
  const char *names[N_KINDS];
  for (int i = 0; i < N_KINDS; i++) names[i] = kinds[i].name;
  const char *near = prefix ? npuc_nearest(prefix, names, N_KINDS) : NULL;
  npuc_status status;
  if (prefix)
    status = npuc_dataset_fail(d, s, NPUC_DIAG_E1102, "'%s' is no kind of data%s%s%s", prefix, near ? "; did you mean '" : "",
                               near ? near : "", near ? "'?" : "");
  else
    status = npuc_dataset_fail(d, s, NPUC_DIAG_E1102,
                               "the file's content is none of the kinds that are recognised (npy, npz, mnist, cifar10, a folder)");
  if (near) npuc_fix(d, "%s%s", near, strchr(s->text, ':'));
  if (!prefix) npuc_fix(d, "raw:uint8:3x32x32:%s", s->text);
  return status;
}

static npuc_status open_text(diag *d, dataset *s) {
  const char *colon = strchr(s->text, ':'), *path = s->text;
  int kind = -1;
  if (colon && !npuc_path_exists(s->text)) {
    kind = find_kind(s->text, (size_t)(colon - s->text));
    if (kind < 0 && !memchr(s->text, '/', (size_t)(colon - s->text)))
      return fail_kind(d, s, npuc_arena_strn(s->arena, s->text, (size_t)(colon - s->text)));
    path = colon + 1;
  }
  if (kind < 0) {
    path = s->text;
    const char *guessed;
    NPUC_TRY(guess_kind(d, path, &guessed));
    if (!guessed) return fail_kind(d, s, NULL);
    kind = find_kind(guessed, strlen(guessed));
  }
  if (!kinds[kind].open) {
    npuc_status status = npuc_dataset_fail(d, s, NPUC_DIAG_E1107, "data of kind '%s' is not read yet", kinds[kind].name);
    npuc_fix(d, "python3 -c \"import numpy; numpy.save('data.npy', ...)\"");
    return status;
  }
  return kinds[kind].open(d, s, path);
}

static npuc_status set_ports(diag *d, dataset *s, const sample_port *ports, size_t n_ports) {
  s->ports = NPUC_NEW_ARRAY(s->arena, n_ports, port_state);
  s->arrays = NPUC_NEW_ARRAY(s->arena, n_ports, tensor);
  s->n_ports = n_ports;
  for (size_t k = 0; k < n_ports; k++) {
    port_state *p = &s->ports[k];
    p->port = ports[k];
    p->port.name = npuc_arena_str(s->arena, ports[k].name);
    if (!npuc_shape_is_static(&ports[k].shape)) {
      npuc_status status = npuc_dataset_fail(d, s, NPUC_DIAG_E1101, "the model's input '%s' still has a symbolic dim", ports[k].name);
      npuc_fix(d, "--dim SYMBOL=N");
      return status;
    }
    bool is_batch = ports[k].shape.rank == 0 || ports[k].shape.dims[0] == 1; /* of one sample; else the whole input is taken for one */
    p->wanted = is_batch ? without_first(&ports[k].shape) : ports[k].shape;
  }
  return NPUC_OK;
}

npuc_status npuc_dataset_open(diag *d, const char *text, const preprocess *p, const sample_port *ports, size_t n_ports, uint64_t seed,
                              dataset **out_dataset) {
  *out_dataset = NULL;
  dataset *s = npuc_xcalloc(1, sizeof *s);
  s->arena = npuc_arena_create();
  s->text = npuc_arena_str(s->arena, text);
  if (p) s->preprocess = npuc_arena_copy(s->arena, p, sizeof *p);
  s->seed = seed;
  s->rows = 1;
  npuc_status status = set_ports(d, s, ports, n_ports);
  if (status == NPUC_OK) status = open_text(d, s);
  if (status == NPUC_OK && s->count == 0) status = npuc_dataset_fail(d, s, NPUC_DIAG_E1103, "it has no samples");
  if (status != NPUC_OK) {
    npuc_dataset_destroy(s);
    return status;
  }
  *out_dataset = s;
  return NPUC_OK;
}

void npuc_dataset_destroy(dataset *s) {
  if (!s) return;
  for (size_t k = 0; s->arrays && k < s->n_ports; k++) npuc_tensor_release(&s->arrays[k]);
  npuc_tensor_release(&s->labels);
  npuc_arena_destroy(s->arena);
  free(s);
}

size_t npuc_dataset_count(const dataset *s) { return s->count / s->rows + (s->count % s->rows != 0); }

size_t npuc_dataset_rows(const dataset *s) { return s->rows; }

size_t npuc_dataset_records(const dataset *s) { return s->count; }

bool npuc_dataset_has_labels(const dataset *s) { return s->has_labels; }

int64_t npuc_dataset_label(const dataset *s, size_t record) { return npuc_tensor_get_int(&s->labels, (int64_t)record); }

static npuc_status sample_rows(const dataset *s, diag *d, size_t index, const tensor *inputs, tensor *views) {
  for (size_t row = 0; row < s->rows; row++) {
    for (size_t k = 0; k < s->n_ports; k++) {
      views[k] = (tensor){.type = inputs[k].type, .shape = s->ports[k].wanted, .bytes = inputs[k].bytes / s->rows};
      views[k].data = (uint8_t *)inputs[k].data + row * views[k].bytes;
    }
    size_t record = index * s->rows + row;
    NPUC_TRY(s->sample(s, d, record < s->count ? record : s->count - 1, views));
  }
  return NPUC_OK;
}

npuc_status npuc_dataset_sample(const dataset *s, diag *d, size_t index, tensor *out_inputs) {
  assert(index < npuc_dataset_count(s));
  if (s->rows == 1) return s->sample(s, d, index, out_inputs);
  tensor *views = calloc(s->n_ports, sizeof *views);
  if (!views) return npuc_fail(d, NPUC_DIAG_E0002, NULL, "one sample of the data");
  npuc_status status = sample_rows(s, d, index, out_inputs, views);
  free(views);
  return status;
}

/* -- checking -- */
static bool is_finite(const tensor *t) {
  const float *p = t->data;
  for (size_t i = 0; t->type == DTYPE_F32 && i < t->bytes / sizeof *p; i++) {
    if (!isfinite(p[i])) return false;
  }
  return true;
}

static npuc_status check_samples(const dataset *s, diag *d, size_t n, tensor *inputs) {
  uint64_t first = 0;
  bool differs = n < 2; /* one sample is no repetition */
  for (size_t i = 0; i < n; i++) {
    NPUC_TRY(npuc_dataset_sample(s, d, i, inputs));
    uint64_t hash = 0;
    for (size_t k = 0; k < s->n_ports; k++) {
      if (!is_finite(&inputs[k])) {
        diag_place place = {.file = s->text, .attribute = s->ports[k].port.name};
        return npuc_fail(d, NPUC_DIAG_E1105, &place, "sample %zu holds NaN or infinity for the input '%s'", i, s->ports[k].port.name);
      }
      hash = hash * 31 + npuc_hash_bytes(inputs[k].data, inputs[k].bytes);
    }
    if (i == 0) first = hash;
    differs |= hash != first;
  }
  return differs ? NPUC_OK : npuc_dataset_fail(d, s, NPUC_DIAG_E1104, "its %zu samples are all the same", n);
}

npuc_status npuc_dataset_check(const dataset *s, diag *d, size_t limit) {
  if (s->count == 0) return npuc_dataset_fail(d, s, NPUC_DIAG_E1103, "it has no samples");
  tensor *inputs = npuc_xcalloc(s->n_ports ? s->n_ports : 1, sizeof *inputs);
  npuc_status status = NPUC_OK;
  for (size_t k = 0; k < s->n_ports && status == NPUC_OK; k++)
    status = npuc_tensor_create(d, s->ports[k].port.type, &s->ports[k].port.shape, &inputs[k]);
  size_t n = npuc_dataset_count(s);
  if (status == NPUC_OK) status = check_samples(s, d, limit && limit < n ? limit : n, inputs);
  for (size_t k = 0; k < s->n_ports; k++) npuc_tensor_release(&inputs[k]);
  free(inputs);
  return status;
}
