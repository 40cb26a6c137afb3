/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/recorded.h"

#include <stdio.h>
#include <sys/stat.h>

#include "import/onnx/source.h"

enum { SEQUENCE_TENSORS = 3, OPTIONAL_TENSOR = 3, OPTIONAL_SEQUENCE = 5 };

/* What the message holds, as a value of type `type`: itself, or a vector of references to what is in its fields `field`. */
static npuc_status read_message(onnx_source *s, pb_reader r, dtype type, tensor *out_tensor);

static npuc_status read_list(onnx_source *s, pb_reader message, uint32_t field, dtype type, tensor *out_tensor) {
  pb_field f;
  pb_reader r = message;
  int64_t n = 0, at = 0;
  while (npuc_pb_next(&r, &f)) n += f.number == field;
  size_t bytes = 0;
  if (!npuc_dtype_memory(type, n, &bytes)) return NPUC_BAD_INPUT;
  *out_tensor = (tensor){.type = type, .shape = {.rank = 1, .dims = {n}}, .bytes = bytes};
  if (bytes) out_tensor->data = npuc_arena_alloc(s->m->arena, bytes);
  r = message;
  while (npuc_pb_next(&r, &f)) {
    if (f.number != field) continue;
    tensor *item = NPUC_NEW(s->m->arena, tensor);
    NPUC_TRY(read_message(s, npuc_pb_message(&r, &f), npuc_dtype_item(type), item));
    npuc_reference_set(out_tensor, at++, item);
  }
  return npuc_pb_finish(&r, s->d, "recorded");
}

static npuc_status read_message(onnx_source *s, pb_reader r, dtype type, tensor *out_tensor) {
  if (!npuc_dtype_is_list(type)) return npuc_onnx_tensor(s, r, "recorded", out_tensor, NULL);
  bool of_sequence = npuc_dtype_is_list(npuc_dtype_item(type));
  uint32_t field = !npuc_dtype_is_optional(type) ? SEQUENCE_TENSORS : of_sequence ? OPTIONAL_SEQUENCE : OPTIONAL_TENSOR;
  return read_list(s, r, field, type, out_tensor);
}

/* One file into the module that owns the set; *out_found is false when there is no such file. */
static npuc_status read_file(diag *d, module *m, const char *path, dtype type, tensor *out_tensor, bool *out_found) {
  struct stat s;
  *out_found = stat(path, &s) == 0;
  if (!*out_found) return NPUC_OK;
  mapped_file *file;
  NPUC_TRY(npuc_file_map(d, path, &file));
  onnx_source source = {.d = d, .m = m, .scratch = npuc_arena_create(), .file = npuc_blob_from_file(file)};
  npuc_file_release(file);
  npuc_module_keep_blob(m, source.file);
  npuc_blob_release(source.file);
  pb_reader r = npuc_pb_open(npuc_blob_data(source.file), npuc_blob_size(source.file));
  npuc_status status = read_message(&source, r, type, out_tensor);
  npuc_arena_destroy(source.scratch);
  return status;
}

static npuc_status read_port(diag *d, module *m, const char *folder, const char *port, value *const *values, size_t n, tensor *out_tensors,
                             size_t *out_count) {
  for (size_t i = 0; i < MOST_RECORDED; i++) {
    bool found;
    dtype type = i < n ? values[i]->type : DTYPE_NONE;
    NPUC_TRY(read_file(d, m, npuc_arena_printf(m->arena, "%s/%s_%zu.pb", folder, port, i), type, &out_tensors[i], &found));
    if (!found) return NPUC_OK;
    ++*out_count;
  }
  return NPUC_OK;
}

npuc_status npuc_recorded_read(diag *d, const char *folder, const graph *g, size_t index, recorded_set *out_set) {
  *out_set = (recorded_set){0};
  module *m = npuc_module_create();
  out_set->owner = m;
  const char *set = npuc_arena_printf(m->arena, "%s/test_data_set_%zu", folder, index);
  NPUC_TRY(read_port(d, m, set, "input", g->inputs, g->n_inputs, out_set->inputs, &out_set->n_inputs));
  return read_port(d, m, set, "output", g->outputs, g->n_outputs, out_set->outputs, &out_set->n_outputs);
}

void npuc_recorded_release(recorded_set *set) { npuc_module_destroy(set->owner); }

tolerance npuc_recorded_tolerance(const char *folder) {
  tolerance t = {1e-3, 1e-7};
  char path[1024];
  (void)snprintf(path, sizeof path, "%s/tolerance", folder);
  FILE *f = fopen(path, "r");
  if (!f) return t;
  tolerance own;
  if (fscanf(f, "%lf %lf", &own.rtol, &own.atol) == 2) t = own;
  fclose(f);
  return t;
}

const char *npuc_recorded_shape(const shape *s, char *out, size_t bytes) {
  size_t at = (size_t)snprintf(out, bytes, "[");
  for (int32_t i = 0; i < s->rank && at + 24 < bytes; i++)
    at += (size_t)snprintf(out + at, bytes - at, "%s%lld", i ? "," : "", (long long)s->dims[i]);
  (void)snprintf(out + at, bytes - at, "]");
  return out;
}
