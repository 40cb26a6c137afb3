/* SPDX-License-Identifier: Apache-2.0 */
/* A reference is only as good as the file it names: size, time of change and 64 blocks of 4 KiB, spread evenly from the first byte to the last, must be what they were. A
 * change that keeps the size, sets the time back to the nanosecond and misses every block is not seen; `npuc materialize` ends the dependence.
 *
 * It is also what makes an absolute path in an untrusted file harmless: only who has read a file can describe it, so that a model from elsewhere cannot point at a file of
 * the reader's. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "import/onnx/reference.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

typedef struct identity {
  uint64_t bytes, time, sample;
} identity;

static uint64_t sample_of(const mapped_file *file) {
  enum { BLOCKS = 64, BLOCK = 4096 };
  const uint8_t *p = npuc_file_bytes(file);
  size_t n = npuc_file_size(file);
  if (n <= (size_t)BLOCKS * BLOCK) return n ? XXH3_64bits(p, n) : 0;
  XXH64_hash_t hashes[BLOCKS];
  for (size_t i = 0; i < BLOCKS; i++) hashes[i] = XXH3_64bits(p + (n - BLOCK) / (BLOCKS - 1) * i, BLOCK);
  hashes[BLOCKS - 1] = XXH3_64bits(p + n - BLOCK, BLOCK);
  return XXH3_64bits(hashes, sizeof hashes);
}

static bool identify(const char *path, const mapped_file *file, identity *out) {
  struct stat info;
  if (stat(path, &info) != 0) return false;
  *out = (identity){npuc_file_size(file), (uint64_t)info.st_mtim.tv_sec * UINT64_C(1000000000) + (uint64_t)info.st_mtim.tv_nsec,
                    sample_of(file)};
  return true;
}

npuc_status npuc_onnx_reference_text(diag *d, arena *a, const mapped_file *file, const char **out_text) {
  identity is;
  char *path = realpath(npuc_file_path(file), NULL);
  bool found = path && identify(path, file, &is);
  if (found) *out_text = npuc_arena_printf(a, "%" PRIu64 " %" PRIu64 " %016" PRIx64 " %s", is.bytes, is.time, is.sample, path);
  free(path);
  return found ? NPUC_OK
               : npuc_fail(d, NPUC_DIAG_E0343, &(diag_place){.file = npuc_file_path(file)}, "the file went away while it was read");
}

/* One number and the space behind it. */
static bool take(const char **at, int base, uint64_t *out) {
  char *end;
  if (**at == '-' || **at == '+' || **at == ' ') return false;
  *out = strtoull(*at, &end, base);
  if (end == *at || *end != ' ') return false;
  *at = end + 1;
  return true;
}

npuc_status npuc_onnx_reference_map(diag *d, const diag_place *place, const char *text, mapped_file **out_file) {
  identity was, is;
  const char *path = text;
  if (!take(&path, 10, &was.bytes) || !take(&path, 10, &was.time) || !take(&path, 16, &was.sample) || path[0] != '/')
    return npuc_fail(d, NPUC_DIAG_E0343, place, "'%s' says no file", text);
  const char *problem = NULL;
  if (npuc_file_map(NULL, path, out_file) != NPUC_OK) {
    problem = "is not there, or cannot be read";
  } else {
    problem = !identify(path, *out_file, &is) ? "went away while it was read"
              : is.bytes != was.bytes         ? "has another size than at import"
              : is.time != was.time           ? "was written since the import"
              : is.sample != was.sample       ? "holds other bytes than at import"
                                              : NULL;
    if (problem) npuc_file_release(*out_file);
  }
  if (!problem) return NPUC_OK;
  *out_file = NULL;
  npuc_status status = npuc_fail(d, NPUC_DIAG_E0343, place, "the weights stand in '%s', which %s", path, problem);
  npuc_fix(d, "put the file back as it was, or import the model again: npuc import MODEL -o OUT");
  return status;
}
