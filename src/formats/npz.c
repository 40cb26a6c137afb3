/* SPDX-License-Identifier: Apache-2.0 */
/* An archive says how large each member becomes; deflate cannot expand more than about 1032 times, so a member that promises more lies, and is refused before memory
 * is asked for. */
#include "formats/npz.h"

#include <minizip/unzip.h>
#include <stdlib.h>
#include <string.h>

#include "formats/npy.h"

enum { MAX_EXPANSION = 1032, MAX_MEMBERS = 65536, NAME_BYTES = 512 };

static npuc_status fail_npz(diag *d, const char *path, const char *member, const char *reason) {
  diag_place place = {.file = path, .node = member};
  return npuc_fail(d, NPUC_DIAG_E0212, &place, "%s", reason);
}

static npuc_status read_bytes(diag *d, const char *path, const char *member, unzFile zip, uint64_t bytes, blob **out) {
  blob *b = npuc_blob_create(bytes ? (size_t)bytes : 1);
  if (!b) return npuc_fail(d, NPUC_DIAG_E0002, NULL, "%llu bytes for %s of %s", (unsigned long long)bytes, member, path);
  uint8_t *to = npuc_blob_data(b);
  uint64_t done = 0;
  while (done < bytes) {
    uint64_t left = bytes - done;
    int got = unzReadCurrentFile(zip, to + done, (unsigned)(left < 1u << 30 ? left : 1u << 30));
    if (got <= 0) break;
    done += (unsigned)got;
  }
  if (done == bytes) {
    *out = b;
    return NPUC_OK;
  }
  npuc_blob_release(b);
  return fail_npz(d, path, member, "the member's compressed data is damaged or cut off");
}

static npuc_status read_member(diag *d, const char *path, unzFile zip, uint64_t archive_bytes, npz_entry *out) {
  char name[NAME_BYTES];
  unz_file_info64 info;
  if (unzGetCurrentFileInfo64(zip, &info, name, sizeof name, NULL, 0, NULL, 0) != UNZ_OK)
    return fail_npz(d, path, NULL, "its directory is damaged");
  name[sizeof name - 1] = '\0';
  size_t n = strlen(name);
  if (n < 5 || strcmp(name + n - 4, ".npy") != 0) return fail_npz(d, path, name, "a member is no .npy array");
  if (info.compressed_size > archive_bytes || info.uncompressed_size / MAX_EXPANSION > info.compressed_size) {
    return fail_npz(d, path, name, "the member claims more bytes than its compressed data can hold");
  }
  if (unzOpenCurrentFile(zip) != UNZ_OK)
    return fail_npz(d, path, name, "the member cannot be opened (damaged, encrypted, or compressed by another method than deflate)");
  blob *b = NULL;
  npuc_status status = read_bytes(d, path, name, zip, info.uncompressed_size, &b);
  int closed = unzCloseCurrentFile(zip);
  if (status == NPUC_OK && closed == UNZ_CRCERROR) status = fail_npz(d, path, name, "the member's checksum is wrong");
  if (status == NPUC_OK) status = npuc_npy_parse(d, path, b, &out->array);
  npuc_blob_release(b);
  if (status != NPUC_OK) return status;
  char *kept = npuc_xcalloc(1, n - 3);
  memcpy(kept, name, n - 4);
  out->name = kept;
  return NPUC_OK;
}

static npuc_status read_members(diag *d, const char *path, unzFile zip, uint64_t archive_bytes, npz *out) {
  unz_global_info64 global;
  if (unzGetGlobalInfo64(zip, &global) != UNZ_OK || global.number_entry > MAX_MEMBERS || global.number_entry > archive_bytes / 46) {
    return fail_npz(d, path, NULL, "its directory is damaged");
  }
  size_t capacity = (size_t)global.number_entry;
  out->entries = npuc_xcalloc(capacity ? capacity : 1, sizeof *out->entries);
  for (int at = capacity ? unzGoToFirstFile(zip) : UNZ_END_OF_LIST_OF_FILE; at != UNZ_END_OF_LIST_OF_FILE; at = unzGoToNextFile(zip)) {
    if (at != UNZ_OK || out->n == capacity) return fail_npz(d, path, NULL, "its directory is damaged");
    NPUC_TRY(read_member(d, path, zip, archive_bytes, &out->entries[out->n]));
    out->n++;
  }
  return NPUC_OK;
}

npuc_status npuc_npz_read(diag *d, const char *path, npz *out_npz) {
  *out_npz = (npz){0};
  mapped_file *file; /* for its size, and for the system's own reason when it is not there */
  NPUC_TRY(npuc_file_map(d, path, &file));
  uint64_t bytes = npuc_file_size(file);
  npuc_file_release(file);
  unzFile zip = unzOpen64(path);
  if (!zip) return fail_npz(d, path, NULL, "it is no zip archive, or it is cut off");
  npuc_status status = read_members(d, path, zip, bytes, out_npz);
  (void)unzClose(zip);
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
