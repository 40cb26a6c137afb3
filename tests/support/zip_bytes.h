/* SPDX-License-Identifier: Apache-2.0 */
/* A zip archive of stored members, in memory: for tests that make archives which no tool writes. */
#ifndef NPUC_TESTS_SUPPORT_ZIP_BYTES_H
#define NPUC_TESTS_SUPPORT_ZIP_BYTES_H

#include <stddef.h>
#include <stdint.h>

typedef struct zip_bytes {
  uint8_t *bytes, *directory;
  size_t n, n_directory, members;
} zip_bytes;

/* A name may be given twice. */
void zip_bytes_add(zip_bytes *z, const char *name, const void *data, size_t n);
/* The whole archive: z->bytes, z->n. */
void zip_bytes_end(zip_bytes *z);
void zip_bytes_free(zip_bytes *z);

#endif
