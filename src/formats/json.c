/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/json.h"

#include <stdlib.h>

#include "base/file.h"

npuc_status npuc_json_read(diag *d, const char *path, diag_code broken, json_t **out_json) {
  *out_json = NULL;
  mapped_file *file;
  NPUC_TRY(npuc_file_map(d, path, &file));
  json_error_t error;
  size_t n = npuc_file_size(file);
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
