/* SPDX-License-Identifier: Apache-2.0 */
/* The folder OUT and its manifest. See build.h for the idea; everything here keeps one promise: what the manifest calls done is on disk, whole. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/map.h"
#include "formats/json.h"
#include "import/onnx/onnx.h"
#include "import/onnx/reference.h"
#include "npuc/library.h"
#include "stages/build.h"

static const struct {
  const char *name, *file;
  bool per_target;
} stages[] = {
#define STAGE(id, name, number, per_target, file) [STAGE_##id] = {name, file, per_target},
#include "stages/stage.def"
#undef STAGE
};

const char *npuc_stage_name(stage_id s) { return stages[s].name; }
bool npuc_stage_per_target(stage_id s) { return stages[s].per_target; }

bool npuc_stage_find(const char *name, stage_id *out_stage) {
  for (int s = 0; s < STAGE_COUNT; s++) {
    if (strcmp(stages[s].name, name) == 0) {
      *out_stage = (stage_id)s;
      return true;
    }
  }
  return false;
}

const char *npuc_hash_text(arena *a, const char *text) {
  return npuc_arena_printf(a, "%016" PRIx64, (uint64_t)XXH3_64bits(text, strlen(text)));
}

npuc_status npuc_hash_file(diag *d, arena *a, const char *path, const char **out_hex) {
  mapped_file *file;
  NPUC_TRY(npuc_file_map(d, path, &file));
  size_t n = npuc_file_size(file);
  *out_hex = npuc_arena_printf(a, "%016" PRIx64, (uint64_t)XXH3_64bits(n ? npuc_file_bytes(file) : (const uint8_t *)"", n));
  npuc_file_release(file);
  return NPUC_OK;
}

/* -- opening -- */

static bool is_ours(const json_t *manifest) {
  const char *schema = json_string_value(json_object_get(manifest, "schema"));
  return schema && strncmp(schema, "npuc.manifest/", 14) == 0;
}

bool npuc_build_is(const char *path) {
  arena *a = npuc_arena_create();
  json_t *manifest;
  bool ours = npuc_json_read(NULL, npuc_path_join(a, path, "manifest.json"), NPUC_DIAG_E0904, &manifest) == NPUC_OK && is_ours(manifest);
  json_decref(manifest);
  npuc_arena_destroy(a);
  return ours;
}

static json_t *fresh_manifest(void) {
  json_t *m = json_object();
  json_object_set_new(m, "schema", json_string("npuc.manifest/1"));
  json_object_set_new(m, "npuc", json_string(npuc_version()));
  json_object_set_new(m, "options", json_object());
  json_object_set_new(m, "stages", json_object());
  return m;
}

/* An interrupted first run leaves an OUT with only our own marks; that folder is ours too. */
static bool only_our_marks(char **names, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(names[i], ".lock") != 0 && strncmp(names[i], "manifest.json.npuc-tmp", 22) != 0) return false;
  return true;
}

static npuc_status claim_folder(build *b, bool create) {
  diag *d = b->diag;
  if (!npuc_path_exists(b->path)) {
    if (!create) {
      npuc_status status = npuc_fail(d, NPUC_DIAG_E0903, &(diag_place){.file = b->path}, "there is no such build");
      npuc_fix(d, "npuc compile MODEL -t refnpu-n16 -o %s", b->path);
      return status;
    }
    return npuc_dir_create(d, b->path);
  }
  if (!npuc_path_is_dir(b->path)) return npuc_fail(d, NPUC_DIAG_E0901, &(diag_place){.file = b->path}, "it exists and is not a folder");
  if (npuc_path_exists(npuc_path_join(b->arena, b->path, "manifest.json"))) return NPUC_OK;
  char **names;
  size_t n;
  NPUC_TRY(npuc_dir_list(d, b->arena, b->path, &names, &n));
  if (create && only_our_marks(names, n)) return NPUC_OK;
  npuc_status status =
      npuc_fail(d, NPUC_DIAG_E0901, &(diag_place){.file = b->path},
                n ? "the folder exists and is not a build of npuc; nothing was written" : "the folder is empty: nothing was built in it");
  npuc_fix(d, "choose another folder: -o %s.build", b->path);
  return status;
}

static npuc_status take_lock(build *b) {
  b->lock = open(npuc_path_join(b->arena, b->path, ".lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (b->lock < 0)
    return npuc_fail(b->diag, NPUC_DIAG_E0004, &(diag_place){.file = b->path}, "the folder cannot be written: %s", strerror(errno));
  if (flock(b->lock, LOCK_EX | LOCK_NB) != 0)
    return npuc_fail(b->diag, NPUC_DIAG_E0902, &(diag_place){.file = b->path}, "another npuc is working in this folder");
  return NPUC_OK;
}

/* What a killed run left half-written; nobody else writes here now. */
static npuc_status sweep(build *b, const char *folder, int depth) {
  char **names;
  size_t n;
  NPUC_TRY(npuc_dir_list(b->diag, b->arena, folder, &names, &n));
  for (size_t i = 0; i < n; i++) {
    const char *path = npuc_path_join(b->arena, folder, names[i]);
    if (strstr(names[i], ".npuc-tmp."))
      NPUC_TRY(npuc_path_remove(b->diag, path));
    else if (depth > 0 && npuc_path_is_dir(path))
      NPUC_TRY(sweep(b, path, depth - 1));
  }
  return NPUC_OK;
}

static npuc_status load_manifest(build *b) {
  const char *path = npuc_path_join(b->arena, b->path, "manifest.json");
  if (!npuc_path_exists(path)) {
    b->manifest = fresh_manifest();
    return npuc_build_save(b); /* the folder is ours from the first moment */
  }
  NPUC_TRY(npuc_json_read(b->diag, path, NPUC_DIAG_E0904, &b->manifest));
  if (!is_ours(b->manifest) || !json_is_object(json_object_get(b->manifest, "stages")) ||
      !json_is_object(json_object_get(b->manifest, "options")))
    return npuc_fail(b->diag, NPUC_DIAG_E0901, &(diag_place){.file = b->path}, "its manifest.json is not one of npuc; nothing was written");
  return NPUC_OK;
}

npuc_status npuc_build_open(diag *d, arena *a, const char *path, bool create, build **out_build) {
  build *b = NPUC_NEW(a, build);
  size_t n = strlen(path);
  while (n > 1 && path[n - 1] == '/') n--;
  *b = (build){.path = npuc_arena_strn(a, path, n),
               .arena = a,
               .diag = d,
               .lock = -1,
               .reference_above = ONNX_LARGE_BYTES,
               .controls = {.limit = -1}};
  npuc_status status = claim_folder(b, create);
  if (status == NPUC_OK) status = take_lock(b);
  if (status == NPUC_OK) status = load_manifest(b);
  if (status == NPUC_OK) status = sweep(b, b->path, 2);
  if (status != NPUC_OK) {
    npuc_build_close(b);
    b = NULL;
  }
  *out_build = b;
  return status;
}

npuc_status npuc_build_look(diag *d, arena *a, const char *path, build **out_build) {
  build *b = NPUC_NEW(a, build);
  *b = (build){
      .path = npuc_arena_str(a, path), .arena = a, .diag = d, .lock = -1, .reference_above = ONNX_LARGE_BYTES, .controls = {.limit = -1}};
  *out_build = NULL;
  if (!npuc_path_exists(npuc_path_join(a, path, "manifest.json"))) {
    bool file = npuc_path_exists(path) && !npuc_path_is_dir(path);
    npuc_status status = npuc_fail(d, NPUC_DIAG_E0903, &(diag_place){.file = path},
                                   file ? "it is a file, not the folder of a build" : "there is no build in that place");
    if (file)
      npuc_fix(d, "npuc inspect %s", path);
    else
      npuc_fix(d, "npuc compile MODEL -t refnpu-n16 -o %s", path);
    return status;
  }
  npuc_status status = load_manifest(b);
  if (status != NPUC_OK) {
    npuc_build_close(b);
    return status;
  }
  *out_build = b;
  return NPUC_OK;
}

void npuc_build_close(build *b) {
  if (!b) return;
  json_decref(b->manifest);
  b->manifest = NULL;
  if (b->lock >= 0) close(b->lock);
  b->lock = -1;
}

npuc_status npuc_build_save(build *b) {
  char *text = json_dumps(b->manifest, JSON_INDENT(1) | JSON_ENSURE_ASCII);
  if (!text) return npuc_fail(b->diag, NPUC_DIAG_E0002, NULL, "manifest.json cannot be built");
  npuc_status status = npuc_file_write_all(b->diag, npuc_path_join(b->arena, b->path, "manifest.json"), text, strlen(text));
  free(text);
  return status;
}

/* -- stages -- */

static const char *record_name(const build *b, stage_id s, const char *target) {
  return stages[s].per_target ? npuc_arena_printf(b->arena, "%s.%s", stages[s].name, target) : stages[s].name;
}

const char *npuc_build_path(const build *b, stage_id s, const char *target) {
  const char *file = stages[s].file;
  const char *percent = strstr(file, "%s");
  if (percent) file = npuc_arena_printf(b->arena, "%.*s%s%s", (int)(percent - file), file, target, percent + 2);
  return npuc_path_join(b->arena, b->path, file);
}

json_t *npuc_build_record(const build *b, stage_id s, const char *target) {
  return json_object_get(json_object_get(b->manifest, "stages"), record_name(b, s, target));
}

/* Removes the files that a stage's record names, then (for the folders) what is left of them. */
static npuc_status remove_outputs(build *b, json_t *record) {
  json_t *outputs = json_object_get(record, "outputs"), *entry;
  size_t i;
  json_array_foreach(outputs, i, entry) {
    const char *file = json_string_value(json_object_get(entry, "file"));
    if (!file || strstr(file, "..") || file[0] == '/') continue; /* a manifest that was tampered with removes nothing outside */
    NPUC_TRY(npuc_path_remove(b->diag, npuc_path_join(b->arena, b->path, file)));
  }
  return NPUC_OK;
}

static bool is_struck(const char *name, stage_id from, const char *target) {
  size_t n = strcspn(name, ".");
  for (int s = 0; s < STAGE_COUNT; s++) {
    if (strlen(stages[s].name) != n || memcmp(stages[s].name, name, n) != 0) continue;
    if (s < (int)from) return false;
    return !target || name[n] == '\0' || strcmp(name + n + 1, target) == 0 || !stages[from].per_target;
  }
  return false;
}

npuc_status npuc_build_strike(build *b, stage_id s, const char *target) {
  json_t *all = json_object_get(b->manifest, "stages"), *record;
  const char *name;
  json_t *struck = json_object();
  void *tmp;
  bool any = false;
  json_object_foreach_safe(all, tmp, name, record) {
    if (!is_struck(name, s, target)) continue;
    json_object_set(struck, name, record);
    json_object_del(all, npuc_arena_str(b->arena, name));
    any = true;
  }
  npuc_status status = any ? npuc_build_save(b) : NPUC_OK; /* struck first, removed second: a kill between leaves orphans, never lies */
  json_object_foreach(struck, name, record) {
    if (status == NPUC_OK) status = remove_outputs(b, record);
  }
  json_decref(struck);
  return status;
}

npuc_status npuc_build_done(build *b, stage_id s, const char *target, json_t *record, const char *const *outputs, size_t n_outputs) {
  json_t *list = json_array();
  for (size_t i = 0; i < n_outputs; i++) {
    const char *path = npuc_path_join(b->arena, b->path, outputs[i]);
    const char *hash;
    npuc_status status = npuc_hash_file(b->diag, b->arena, path, &hash);
    struct stat info;
    if (status != NPUC_OK || stat(path, &info) != 0) {
      json_decref(list);
      json_decref(record);
      return status != NPUC_OK ? status : npuc_fail(b->diag, NPUC_DIAG_E0006, &(diag_place){.file = path}, "%s", strerror(errno));
    }
    json_array_append_new(list, json_pack("{s:s, s:s, s:I}", "file", outputs[i], "xxh3", hash, "bytes", (json_int_t)info.st_size));
  }
  json_object_set_new(record, "outputs", list);
  json_object_set_new(json_object_get(b->manifest, "stages"), record_name(b, s, target), record);
  return npuc_build_save(b);
}

/* Whether the pool's files that a stage's model refers to are there; what they hold is npuc_build_check_pool's to judge. */
static bool has_weights(const build *b, const char *path) {
  mapped_file *file;
  size_t n = strlen(path), at = 0;
  const char *where;
  void *item;
  if (n < 5 || strcmp(path + n - 5, ".onnx") != 0) return true;
  if (npuc_file_map(NULL, path, &file) != NPUC_OK) return false;
  map *locations = npuc_map_create(b->arena);
  npuc_onnx_locations(b->arena, npuc_file_bytes(file), npuc_file_size(file), locations);
  npuc_file_release(file);
  while (npuc_map_next(locations, &at, &where, &item)) {
    if (strncmp(where, ONNX_REFERENCE, sizeof ONNX_REFERENCE - 1) == 0)
      continue; /* a part of the stage's key, and checked when it is read */
    if (!npuc_path_exists(npuc_path_join(b->arena, b->path, where))) return false;
  }
  return true;
}

bool npuc_build_holds(build *b, stage_id s, const char *target, const char *key) {
  json_t *record = npuc_build_record(b, s, target);
  const char *recorded = json_string_value(json_object_get(record, "key"));
  if (!recorded || strcmp(recorded, key) != 0) return false;
  json_t *outputs = json_object_get(record, "outputs"), *entry;
  size_t i;
  json_array_foreach(outputs, i, entry) {
    const char *file = json_string_value(json_object_get(entry, "file"));
    const char *want = json_string_value(json_object_get(entry, "xxh3"));
    const char *path = file ? npuc_path_join(b->arena, b->path, file) : NULL;
    const char *have;
    if (!path || !want || !npuc_path_exists(path)) return false;
    if (npuc_hash_file(NULL, b->arena, path, &have) != NPUC_OK || strcmp(have, want) != 0) return false;
    if (!has_weights(b, path)) return false;
  }
  return true;
}
