/* SPDX-License-Identifier: Apache-2.0 */
/* The weight pool: OUT/weights/HASH.bin holds each constant once, named by the XXH3-128 of its bytes, so that ten stages of a model share one
 * copy and an unchanged tensor keeps its entry. Constants under 1 KiB stay inside the model file. */
#include <inttypes.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "stages/build.h"

enum { POOL_MIN_BYTES = 1024 };

static npuc_status place_in_pool(void *user, diag *d, const tensor *t, const char **out_location, uint64_t *out_offset) {
  build *b = user;
  XXH128_hash_t h = XXH3_128bits(t->data, t->bytes);
  *out_location = npuc_arena_printf(b->arena, "weights/%016" PRIx64 "%016" PRIx64 ".bin", (uint64_t)h.high64, (uint64_t)h.low64);
  *out_offset = 0;
  const char *path = npuc_path_join(b->arena, b->path, *out_location);
  struct stat info;
  if (stat(path, &info) == 0 && (size_t)info.st_size == t->bytes) return NPUC_OK;
  return npuc_file_write_all(d, path, t->data, t->bytes);
}

npuc_status npuc_build_write_model(build *b, const module *m, const char *path) {
  NPUC_TRY(npuc_dir_create(b->diag, npuc_path_join(b->arena, b->path, "weights")));
  onnx_weights weights = {.min_bytes = POOL_MIN_BYTES, .place = place_in_pool, .user = b};
  return npuc_onnx_write(b->diag, m, path, &weights);
}
