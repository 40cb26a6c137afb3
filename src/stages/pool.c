/* SPDX-License-Identifier: Apache-2.0 */
/* The weight pool: OUT/weights/HASH.bin holds each constant once, named by the XXH3-128 of its bytes, so that ten stages of a model share one
 * copy and an unchanged tensor keeps its entry. Constants under 1 KiB stay inside the model file. */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "stages/build.h"

enum { POOL_MIN_BYTES = 1024 };

typedef struct pool {
  arena *arena;
  const char *folder; /* that holds weights/ */
} pool;

static npuc_status place_in_pool(void *user, diag *d, const tensor *t, const char **out_location, uint64_t *out_offset) {
  const pool *b = user;
  XXH128_hash_t h = XXH3_128bits(t->data, t->bytes);
  *out_location = npuc_arena_printf(b->arena, "weights/%016" PRIx64 "%016" PRIx64 ".bin", (uint64_t)h.high64, (uint64_t)h.low64);
  *out_offset = 0;
  const char *path = npuc_path_join(b->arena, b->folder, *out_location);
  struct stat info;
  if (stat(path, &info) == 0 && (size_t)info.st_size == t->bytes) return NPUC_OK;
  return npuc_file_write_all(d, path, t->data, t->bytes);
}

/* A file of the pool says in its name what it holds; others are not ours to judge. */
static npuc_status entry_is_damaged(diag *d, arena *a, const char *path, const char *name, bool *out_damaged) {
  enum { NAME = 32 + 4 };
  mapped_file *file;
  *out_damaged = false;
  if (strlen(name) != NAME || strcmp(name + 32, ".bin") != 0) return NPUC_OK;
  NPUC_TRY(npuc_file_map(d, path, &file));
  size_t n = npuc_file_size(file);
  XXH128_hash_t h = XXH3_128bits(n ? npuc_file_bytes(file) : (const uint8_t *)"", n);
  npuc_file_release(file);
  *out_damaged = memcmp(name, npuc_arena_printf(a, "%016" PRIx64 "%016" PRIx64, (uint64_t)h.high64, (uint64_t)h.low64), 32) != 0;
  return NPUC_OK;
}

npuc_status npuc_build_check_pool(build *b) {
  const char *folder = npuc_path_join(b->arena, b->path, "weights");
  char **names;
  size_t n, n_damaged = 0;
  if (!npuc_path_is_dir(folder)) return NPUC_OK;
  NPUC_TRY(npuc_dir_list(b->diag, b->arena, folder, &names, &n));
  for (size_t i = 0; i < n; i++) {
    const char *path = npuc_path_join(b->arena, folder, names[i]);
    bool damaged;
    NPUC_TRY(entry_is_damaged(b->diag, b->arena, path, names[i], &damaged));
    if (!damaged) continue;
    NPUC_TRY(npuc_path_remove(b->diag, path));
    n_damaged++;
  }
  if (n_damaged == 0) return NPUC_OK;
  npuc_warn(b->diag, NPUC_DIAG_E0927, &(diag_place){.file = folder}, "%zu of its files did not hold what their names say: removed",
            n_damaged);
  return npuc_build_strike(b, STAGE_IMPORT, NULL);
}

npuc_status npuc_pool_verify(diag *d, arena *a, const char *out) {
  const char *folder = npuc_path_join(a, out, "weights");
  char **names;
  size_t n;
  if (!npuc_path_is_dir(folder)) return NPUC_OK;
  NPUC_TRY(npuc_dir_list(d, a, folder, &names, &n));
  for (size_t i = 0; i < n; i++) {
    const char *path = npuc_path_join(a, folder, names[i]);
    bool damaged;
    NPUC_TRY(entry_is_damaged(d, a, path, names[i], &damaged));
    if (!damaged) continue;
    npuc_status status = npuc_fail(d, NPUC_DIAG_E0927, &(diag_place){.file = path}, "the file does not hold what its name says");
    npuc_fix(d, "npuc compile %s", out);
    return status;
  }
  return NPUC_OK;
}

npuc_status npuc_pool_write_model(diag *d, arena *a, const char *folder, const module *m, const char *path) {
  pool p = {a, folder};
  NPUC_TRY(npuc_dir_create(d, npuc_path_join(a, folder, "weights")));
  onnx_weights weights = {.min_bytes = POOL_MIN_BYTES, .place = place_in_pool, .user = &p};
  return npuc_onnx_write(d, m, path, &weights);
}

npuc_status npuc_build_write_model(build *b, const module *m, const char *path) {
  return npuc_pool_write_model(b->diag, b->arena, b->path, m, path);
}
