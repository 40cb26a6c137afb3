/* SPDX-License-Identifier: Apache-2.0 */
/* Zip archives, read in place: minizip reads the directory, and a stored member is a view into the archive's bytes, so that weights
 * in a `.pt2` or an `.npz` are never copied. A deflated member is inflated into a blob of its own. An archive may lie inside another
 * one's member (torch.save's files inside a `.pt2`): it is opened on bytes, not on a path. */
#ifndef NPUC_FORMATS_ZIP_H
#define NPUC_FORMATS_ZIP_H

#include "tensor/tensor.h"

typedef struct zip_archive zip_archive;

typedef struct zip_member {
  const char *name; /* the archive's arena */
  uint64_t bytes;   /* when read */
  uint64_t packed;  /* in the archive */
  bool stored;
  uint64_t position, number; /* minizip's place of the directory entry */
} zip_member;

/* `data` lies in `owner` (retained) and has `bytes` bytes; `path` is for messages. The directory is read and checked: names are unique,
 * without zero bytes, members are stored or deflated and not encrypted, no member is larger than what its packed bytes can make. */
npuc_status npuc_zip_open(diag *d, const char *path, blob *owner, const void *data, size_t bytes, zip_archive **out_archive) NPUC_MUST_USE;
void npuc_zip_close(zip_archive *z); /* NULL is fine; views stay valid as long as their blobs */

size_t npuc_zip_count(const zip_archive *z);
const zip_member *npuc_zip_at(const zip_archive *z, size_t index);       /* in the directory's order */
const zip_member *npuc_zip_find(const zip_archive *z, const char *name); /* NULL when there is none */

/* The member's bytes: *out_owner is a reference for the caller to release. A stored member's checksum is compared when `check` is set
 * (all its bytes are read for that); a deflated one's always. */
npuc_status npuc_zip_read(diag *d, const zip_archive *z, const zip_member *m, bool check, blob **out_owner,
                          const uint8_t **out_data) NPUC_MUST_USE;

#endif
