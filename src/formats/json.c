/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/json.h"

#include <stdlib.h>

#include "base/file.h"

/* A tree takes some twenty times its text, and no manifest, specification or table that is ours comes near this. */
enum { LARGEST_JSON = 64 << 20 };

npuc_status npuc_json_read(diag *d, const char *path, diag_code broken, json_t **out_json) {
  *out_json = NULL;
  mapped_file *file;
  NPUC_TRY(npuc_file_map(d, path, &file));
  json_error_t error;
  size_t n = npuc_file_size(file);
  if (n > LARGEST_JSON) {
    npuc_file_release(file);
    return npuc_fail(d, broken, &(diag_place){.file = path}, "%zu bytes; at most %d are read", n, LARGEST_JSON);
  }
  *out_json = json_loadb(n ? (const char *)npuc_file_bytes(file) : "", n, JSON_REJECT_DUPLICATES, &error);
  npuc_file_release(file);
  if (*out_json) return NPUC_OK;
  return npuc_fail(d, broken, &(diag_place){.file = path}, "line %d: %s", error.line, error.text);
}

void npuc_json_prepare(void) {
  json_malloc_t take;
  json_free_t give;
  json_get_alloc_funcs(&take, &give);
  if (take == malloc) json_set_alloc_funcs(npuc_xmalloc, free);
}
