/* SPDX-License-Identifier: Apache-2.0 */
/* A .npy file is: 93 'NUMPY', version (2 bytes), header length (u16; u32 from version 2), a Python dictionary as text, padded with
 * spaces to a multiple of 64 and ended by a newline, then the elements. */
#include "npy.h"

#include "fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint8_t *decoder_read_file(const char *path, size_t *out_bytes) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) decoder_fail(EXIT_ENVIRONMENT, "%s: cannot be opened", path);
  size_t room = 1 << 16;
  size_t used = 0;
  uint8_t *data = decoder_alloc(room, 1);
  size_t got;
  while ((got = fread(data + used, 1, room - used, file)) > 0) {
    used += got;
    if (used == room) {
      uint8_t *larger = realloc(data, room * 2);
      if (larger == NULL) decoder_fail(EXIT_ENVIRONMENT, "%s: no memory", path);
      data = larger;
      room *= 2;
    }
  }
  if (ferror(file)) decoder_fail(EXIT_ENVIRONMENT, "%s: cannot be read", path);
  fclose(file);
  *out_bytes = used;
  return data;
}

/* What follows `'key':` in the header's dictionary. */
static const char *entry(const char *path, const char *header, const char *key) {
  const char *at = strstr(header, key);
  if (at == NULL) decoder_fail(EXIT_FILE, "%s: its header has no %s", path, key);
  at += strlen(key);
  while (*at == ':' || *at == ' ') at++;
  return at;
}

static void read_header(const char *path, const char *header, npy_array *out) {
  const char *descr = entry(path, header, "'descr'");
  size_t length = *descr == '\'' ? strcspn(descr + 1, "'") : 0;
  if (length != 3 || descr[1] == '>') decoder_fail(EXIT_FILE, "%s: an element type other than little-endian numbers", path);
  memcpy(out->descr, descr + 1, length);
  if (strncmp(entry(path, header, "'fortran_order'"), "False", 5) != 0) decoder_fail(EXIT_FILE, "%s: Fortran order", path);

  const char *at = entry(path, header, "'shape'") + 1; /* behind "(" */
  size_t size = (size_t)(out->descr[2] - '0');
  out->bytes = size;
  while (*at >= '0' && *at <= '9') {
    if (out->rank == NPY_MAX_RANK) decoder_fail(EXIT_FILE, "%s: more than %d axes", path, NPY_MAX_RANK);
    char *end;
    long long dim = strtoll(at, &end, 10);
    if (dim < 0 || dim > INT32_MAX || (dim > 0 && out->bytes > (SIZE_MAX >> 1) / (size_t)dim))
      decoder_fail(EXIT_FILE, "%s: too large", path);
    out->dims[out->rank++] = dim;
    out->bytes *= (size_t)dim;
    at = end + strspn(end, ", ");
  }
}

void decoder_npy_read(const char *path, npy_array *out) {
  memset(out, 0, sizeof *out);
  size_t bytes;
  uint8_t *file = decoder_read_file(path, &bytes);
  if (bytes < 12 || memcmp(file, "\x93NUMPY", 6) != 0) decoder_fail(EXIT_FILE, "%s: not a .npy file", path);
  size_t start = file[6] == 1 ? 10 : 12;
  size_t length = (size_t)file[8] | (size_t)file[9] << 8;
  if (file[6] != 1) length |= (size_t)file[10] << 16 | (size_t)file[11] << 24;
  if (length > bytes - start) decoder_fail(EXIT_FILE, "%s: cut off", path);
  char *header = decoder_alloc(length + 1, 1);
  memcpy(header, file + start, length);
  read_header(path, header, out);
  free(header);
  if (bytes - start - length != out->bytes)
    decoder_fail(EXIT_FILE, "%s: %zu bytes of elements, its shape needs %zu", path, bytes - start - length, out->bytes);
  out->data = decoder_alloc(out->bytes, 1);
  memcpy(out->data, file + start + length, out->bytes);
  free(file);
}

void decoder_npy_write(const char *path, const npy_array *array) {
  char header[512];
  int used = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (", array->descr);
  for (unsigned i = 0; i < array->rank; i++)
    used += snprintf(header + used, sizeof header - (size_t)used, i + 1 < array->rank ? "%lld, " : "%lld", (long long)array->dims[i]);
  used += snprintf(header + used, sizeof header - (size_t)used, array->rank == 1 ? ",), }" : "), }");
  while ((10 + used + 1) % 64 != 0) header[used++] = ' ';
  header[used++] = '\n';
  uint8_t start[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)(used & 255), (uint8_t)(used >> 8)};

  FILE *file = fopen(path, "wb");
  if (file == NULL) decoder_fail(EXIT_ENVIRONMENT, "%s: cannot be written", path);
  size_t done = fwrite(start, 1, sizeof start, file) + fwrite(header, 1, (size_t)used, file) + fwrite(array->data, 1, array->bytes, file);
  if (done != sizeof start + (size_t)used + array->bytes || fclose(file) != 0)
    decoder_fail(EXIT_ENVIRONMENT, "%s: cannot be written", path);
}
