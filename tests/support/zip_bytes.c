/* SPDX-License-Identifier: Apache-2.0 */
/* APPNOTE.TXT 4.3: local headers with their data, the central directory, its end. */
#include "support/zip_bytes.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { LOCAL = 30, ENTRY = 46, END = 22 };

static uint8_t *grow(uint8_t **bytes, size_t *n, size_t more) {
  uint8_t *larger = realloc(*bytes, *n + more + 1);
  if (!larger) abort();
  *bytes = larger;
  *n += more;
  return larger + *n - more;
}

static void put(uint8_t *at, uint64_t v, size_t width) {
  for (size_t i = 0; i < width; i++) at[i] = (uint8_t)(v >> (8 * i));
}

void zip_bytes_add(zip_bytes *z, const char *name, const void *data, size_t n) {
  size_t length = strlen(name), offset = z->n;
  uint32_t crc = (uint32_t)crc32(0, data, (uInt)n);
  uint8_t *local = grow(&z->bytes, &z->n, LOCAL + length + n), *entry = grow(&z->directory, &z->n_directory, ENTRY + length);
  memset(local, 0, LOCAL);
  put(local, 0x04034b50, 4);
  put(local + 14, crc, 4);
  put(local + 18, n, 4);
  put(local + 22, n, 4);
  put(local + 26, length, 2);
  memcpy(local + LOCAL, name, length);
  if (n) memcpy(local + LOCAL + length, data, n);
  memset(entry, 0, ENTRY);
  put(entry, 0x02014b50, 4);
  memcpy(entry + 16, local + 14, 14); /* checksum, sizes, length of the name */
  put(entry + 42, offset, 4);
  memcpy(entry + ENTRY, name, length);
  z->members++;
}

void zip_bytes_end(zip_bytes *z) {
  size_t start = z->n;
  uint8_t *at = grow(&z->bytes, &z->n, z->n_directory + END);
  if (z->n_directory) memcpy(at, z->directory, z->n_directory);
  at += z->n_directory;
  memset(at, 0, END);
  put(at, 0x06054b50, 4);
  put(at + 8, z->members, 2);
  put(at + 10, z->members, 2);
  put(at + 12, z->n_directory, 4);
  put(at + 16, start, 4);
}

void zip_bytes_free(zip_bytes *z) {
  free(z->bytes);
  free(z->directory);
  *z = (zip_bytes){0};
}
