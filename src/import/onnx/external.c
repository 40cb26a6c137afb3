/* SPDX-License-Identifier: Apache-2.0 */
/* External data: a location relative to the model's folder. A model file is untrusted, so a location may only name a file in or below that folder, also after
 * symbolic links are resolved: what ONNX's checker and ONNX Runtime demand too. The one other form is a reference of our own (reference.h). */
#define _XOPEN_SOURCE 700 /* realpath */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import/onnx/reference.h"
#include "import/onnx/source.h"

static const char *problem_of(const char *where) {
  if (!*where) return "it has no location";
  if (where[0] == '/') return "its location is absolute";
  for (const char *at = where; at;) {
    const char *slash = strchr(at, '/');
    size_t n = slash ? (size_t)(slash - at) : strlen(at);
    if (n == 2 && at[0] == '.' && at[1] == '.') return "its location goes up with '..'";
    at = slash ? slash + 1 : NULL;
  }
  return NULL;
}

static npuc_status check_inside(onnx_source *s, const diag_place *place, const char *where, const char *path) {
  if (!s->real_folder) s->real_folder = realpath(s->folder, NULL);
  char *real = s->real_folder ? realpath(path, NULL) : NULL; /* not after a failure: even a success changes errno */
  if (!real) {
    int error = errno;
    if (error == ENOMEM) return npuc_fail(s->d, NPUC_DIAG_E0002, place, "the name of external data file '%s' cannot be resolved", where);
    npuc_status status = npuc_fail(s->d, NPUC_DIAG_E0306, place, "external data file '%s': %s", where, strerror(error));
    npuc_fix(s->d, "copy '%s' into '%s' (it was written beside the model by its exporter)", where, s->folder);
    return status;
  }
  size_t n = strlen(s->real_folder);
  bool inside = strncmp(real, s->real_folder, n) == 0 && (real[n] == '/' || n == 1);
  free(real);
  if (inside) return NPUC_OK;
  npuc_status status =
      npuc_fail(s->d, NPUC_DIAG_E0307, place, "external data: '%s' is a symbolic link that leaves the model's folder", where);
  npuc_fix(s->d, "cp -L '%s' '%s.copy' && mv '%s.copy' '%s'", path, path, path, path);
  return status;
}

static npuc_status map_location(onnx_source *s, const diag_place *place, const char *where, mapped_file **out_file) {
  const char *reference = strncmp(where, ONNX_REFERENCE, sizeof ONNX_REFERENCE - 1) == 0 ? npuc_map_get(s->m->metadata, where) : NULL;
  if (reference) return npuc_onnx_reference_map(s->d, place, reference, out_file);
  const char *problem = problem_of(where);
  if (problem) return npuc_fail(s->d, NPUC_DIAG_E0307, place, "external data '%s': %s", where, problem);
  char *path = npuc_path_join(s->scratch, s->folder, where);
  NPUC_TRY(check_inside(s, place, where, path));
  return npuc_file_map(s->d, path, out_file);
}

static npuc_status open_location(onnx_source *s, const diag_place *place, const char *where, blob **out_blob) {
  *out_blob = npuc_map_get(s->external, where);
  if (*out_blob) return NPUC_OK;
  mapped_file *file;
  NPUC_TRY(map_location(s, place, where, &file));
  blob *b = npuc_blob_from_file(file);
  npuc_file_release(file);
  npuc_module_keep_blob(s->m, b);
  npuc_blob_release(b);
  npuc_map_put(s->external, where, b);
  *out_blob = b;
  return NPUC_OK;
}

npuc_status npuc_onnx_external(onnx_source *s, const char *tensor_name, const external_range *range, size_t bytes, tensor *io_tensor) {
  diag_place place = {.node = tensor_name};
  blob *b;
  NPUC_TRY(open_location(s, &place, range->location ? range->location : "", &b));
  size_t size = npuc_blob_size(b);
  if (range->has_length && range->length != bytes) {
    return npuc_fail(s->d, NPUC_DIAG_E0304, &place, "external data: length %llu, the tensor's type and shape need %zu bytes",
                     (unsigned long long)range->length, bytes);
  }
  if (range->offset > size || bytes > size - range->offset) {
    return npuc_fail(s->d, NPUC_DIAG_E0306, &place,
                     "external data file '%s' has %zu bytes; the tensor's %zu bytes at offset %llu lie beyond its end", range->location,
                     size, bytes, (unsigned long long)range->offset);
  }
  io_tensor->data = bytes ? (uint8_t *)npuc_blob_data(b) + range->offset : NULL;
  io_tensor->owner = b;
  return NPUC_OK;
}
