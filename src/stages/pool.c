/* SPDX-License-Identifier: Apache-2.0 */
/* The weight pool: OUT/weights/HASH.bin holds each constant once, named by the XXH3-128 of its bytes, so that ten stages of a model share one
 * copy and an unchanged tensor keeps its entry. Constants under 1 KiB stay inside the model file.
 *
 * Constants that lie in a source file above 256 MiB stay there: a build's models refer to them (import/onnx/reference.h), and nothing reads their bytes. `npuc materialize`
 * writes the models again without references. */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "import/onnx/reference.h"
#include "stages/build.h"

enum { POOL_MIN_BYTES = 1024 };

typedef struct pool {
  arena *arena;
  const char *folder; /* that holds weights/ */
  size_t reference_above;
  const char **paths, **texts; /* of the files that the model being written refers to */
  size_t n, paths_capacity, texts_capacity;
} pool;

static const char *const *references(void *user, size_t *out_count) {
  const pool *p = user;
  *out_count = p->n;
  return p->texts;
}

static npuc_status reference_to(pool *p, diag *d, const mapped_file *file, const char **out_location) {
  size_t k = 0;
  while (k < p->n && strcmp(p->paths[k], npuc_file_path(file)) != 0) k++;
  if (k == p->n) {
    p->paths = npuc_arena_grow(p->arena, p->paths, k, k + 1, sizeof *p->paths, &p->paths_capacity);
    p->texts = npuc_arena_grow(p->arena, p->texts, k, k + 1, sizeof *p->texts, &p->texts_capacity);
    p->paths[k] = npuc_arena_str(p->arena, npuc_file_path(file));
    NPUC_TRY(npuc_onnx_reference_text(d, p->arena, file, &p->texts[k]));
    p->n++;
  }
  *out_location = npuc_arena_printf(p->arena, ONNX_REFERENCE "%zu", k);
  return NPUC_OK;
}

/* The source file that keeps the constant, or NULL: it goes into the pool. */
static const mapped_file *source_of(const pool *p, const tensor *t, size_t *out_offset) {
  const mapped_file *file;
  if (t->bytes == 0 || !npuc_blob_locate(t->owner, t->data, &file, out_offset) || npuc_file_size(file) <= p->reference_above) return NULL;
  const char *folder = npuc_path_dirname(p->arena, npuc_file_path(file));
  return npuc_path_same(folder, npuc_path_join(p->arena, p->folder, "weights")) ? NULL : file;
}

bool npuc_build_stays_in_source(const build *b, const tensor *t) {
  size_t offset;
  return source_of(&(pool){.arena = b->arena, .folder = b->path, .reference_above = b->reference_above}, t, &offset) != NULL;
}

static npuc_status place_in_pool(void *user, diag *d, const tensor *t, const char **out_location, uint64_t *out_offset) {
  pool *b = user;
  const mapped_file *source = source_of(b, t, out_offset);
  if (source) return reference_to(b, d, source, out_location);
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

static npuc_status write_model(diag *d, pool *p, const module *m, const char *path) {
  NPUC_TRY(npuc_dir_create(d, npuc_path_join(p->arena, p->folder, "weights")));
  onnx_weights weights = {.min_bytes = POOL_MIN_BYTES, .place = place_in_pool, .references = references, .user = p};
  return npuc_onnx_write(d, m, path, &weights);
}

npuc_status npuc_pool_write_model(diag *d, arena *a, const char *folder, const module *m, const char *path) {
  return write_model(d, &(pool){.arena = a, .folder = folder, .reference_above = SIZE_MAX}, m, path);
}

npuc_status npuc_build_write_model(build *b, const module *m, const char *path) {
  return write_model(b->diag, &(pool){.arena = b->arena, .folder = b->path, .reference_above = b->reference_above}, m, path);
}
