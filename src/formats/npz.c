/* SPDX-License-Identifier: Apache-2.0 */
/* Every member of the archive is one array; anything else in it is refused, so that a slip in a name is not a missing array. */
#include "formats/npz.h"

#include <stdlib.h>
#include <string.h>

#include "formats/npy.h"
#include "formats/zip.h"

static npuc_status read_member(diag *d, const char *path, const zip_archive *z, const zip_member *m, npz_entry *out) {
  size_t n = strlen(m->name);
  if (n < 5 || strcmp(m->name + n - 4, ".npy") != 0) {
    diag_place place = {.file = path, .node = m->name};
    return npuc_fail(d, NPUC_DIAG_E0212, &place, "a member is no .npy array");
  }
  blob *owner;
  const uint8_t *data;
  NPUC_TRY(npuc_zip_read(d, z, m, true, &owner, &data));
  npuc_status status = npuc_npy_parse(d, path, owner, data, (size_t)m->bytes, &out->array);
  npuc_blob_release(owner);
  if (status != NPUC_OK) return status;
  char *kept = npuc_xcalloc(1, n - 3);
  memcpy(kept, m->name, n - 4);
  out->name = kept;
  return NPUC_OK;
}

static npuc_status read_members(diag *d, const char *path, const zip_archive *z, npz *out) {
  size_t n = npuc_zip_count(z);
  out->entries = npuc_xcalloc(n ? n : 1, sizeof *out->entries);
  for (; out->n < n; out->n++) NPUC_TRY(read_member(d, path, z, npuc_zip_at(z, out->n), &out->entries[out->n]));
  return NPUC_OK;
}

npuc_status npuc_npz_read(diag *d, const char *path, npz *out_npz) {
  *out_npz = (npz){0};
  mapped_file *file;
  NPUC_TRY(npuc_file_map(d, path, &file));
  blob *b = npuc_blob_from_file(file);
  npuc_file_release(file);
  zip_archive *z;
  npuc_status status = npuc_zip_open(d, path, b, npuc_blob_data(b), npuc_blob_size(b), &z);
  npuc_blob_release(b);
  if (status != NPUC_OK) return status;
  status = read_members(d, path, z, out_npz);
  npuc_zip_close(z);
  if (status != NPUC_OK) npuc_npz_release(out_npz);
  return status;
}

void npuc_npz_release(npz *z) {
  for (size_t i = 0; i < z->n; i++) {
    free((void *)(uintptr_t)z->entries[i].name);
    npuc_tensor_release(&z->entries[i].array);
  }
  free(z->entries);
  *z = (npz){0};
}

const tensor *npuc_npz_get(const npz *z, const char *name) {
  for (size_t i = 0; i < z->n; i++) {
    if (strcmp(z->entries[i].name, name) == 0) return &z->entries[i].array;
  }
  return NULL;
}
