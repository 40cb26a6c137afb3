/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/model_folder.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "stages/build.h"

static npuc_status write_record(const model_folder *f, diag *d, const json_t *record) {
  char *text = json_dumps(record, JSON_INDENT(2) | JSON_ENSURE_ASCII);
  if (!text) return npuc_fail(d, NPUC_DIAG_E0002, &(diag_place){.file = f->path}, "no memory for npuc.json");
  npuc_status status = npuc_file_write_all(d, npuc_path_join(f->arena, f->path, "npuc.json"), text, strlen(text));
  free(text);
  return status;
}

npuc_status npuc_model_folder_open(diag *d, arena *a, const char *path, model_folder *out_folder) {
  *out_folder = (model_folder){path, a};
  if (npuc_path_exists(path) && !npuc_path_is_dir(path))
    return npuc_fail(d, NPUC_DIAG_E0901, &(diag_place){.file = path}, "it exists and is not a folder");
  if (npuc_path_is_dir(path) && !npuc_path_exists(npuc_path_join(a, path, "npuc.json"))) {
    char **names;
    size_t n;
    NPUC_TRY(npuc_dir_list(d, a, path, &names, &n));
    if (n) {
      npuc_status status =
          npuc_fail(d, NPUC_DIAG_E0901, &(diag_place){.file = path}, "the folder exists and is not one of npuc; nothing was written");
      npuc_fix(d, "choose another folder: -o %s.npuc", path);
      return status;
    }
  }
  NPUC_TRY(npuc_dir_create(d, path));
  NPUC_TRY(npuc_path_remove(d, npuc_path_join(a, path, "intermediates")));
  json_t *record = json_pack("{s:b}", "done", 0);
  npuc_status status = write_record(out_folder, d, record);
  json_decref(record);
  return status;
}

npuc_status npuc_model_folder_write(const model_folder *f, diag *d, const char *name, const module *m, const char **out_path) {
  const char *path = npuc_arena_printf(f->arena, "%s/%s.onnx", f->path, name);
  if (strchr(name, '/')) NPUC_TRY(npuc_dir_create(d, npuc_path_dirname(f->arena, path)));
  if (out_path) *out_path = path;
  return npuc_pool_write_model(d, f->arena, npuc_path_dirname(f->arena, path), m, path);
}

npuc_status npuc_model_folder_finish(const model_folder *f, diag *d, json_t *record) {
  json_object_set_new(record, "done", json_true());
  return write_record(f, d, record);
}

const char *npuc_model_stem(arena *a, const char *path) {
  char *stem = npuc_arena_str(a, npuc_path_basename(path));
  char *dot = strrchr(stem, '.');
  if (dot && dot != stem) *dot = '\0';
  for (char *p = stem; *p; p++) {
    if (!isalnum((unsigned char)*p) && !strchr("-_.", *p)) *p = '_';
  }
  return *stem ? stem : "model";
}
