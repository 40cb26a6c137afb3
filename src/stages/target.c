/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/target.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "base/os.h"
#include "formats/json.h"

#ifndef NPUC_INSTALLED_SHARE
#define NPUC_INSTALLED_SHARE "/usr/local/share/npuc"
#endif

/* PREFIX/bin/npuc, PREFIX/lib/libnpuc.so, build/npuc, build/tests/npuc_test: share/npuc is one to three levels up. */
static const char *beside(arena *a, const char *path) {
  const char *folder = npuc_path_dirname(a, path);
  for (int up = 0; up < 3; up++) {
    folder = npuc_path_dirname(a, folder);
    const char *share = npuc_path_join(a, folder, "share/npuc");
    if (npuc_path_is_dir(npuc_path_join(a, share, "targets"))) return share;
  }
  return NULL;
}

static npuc_status targets_folder(diag *d, arena *a, const char **out_path) {
  const char *share = getenv("NPUC_SHARE");
  char own[4096];
  if (!share && npuc_os_own_path(own, sizeof own)) share = beside(a, own);
  if (!share) share = NPUC_INSTALLED_SHARE;
  *out_path = npuc_path_join(a, share, "targets");
  if (npuc_path_is_dir(*out_path)) return NPUC_OK;
  npuc_status status = npuc_fail(d, NPUC_DIAG_E0003, &(diag_place){.file = *out_path}, "the folder of target descriptions is missing");
  npuc_fix(d, "set NPUC_SHARE to the folder that holds `targets`");
  return status;
}

npuc_status npuc_target_list(diag *d, arena *a, char ***out_names, size_t *out_count) {
  const char *folder;
  NPUC_TRY(targets_folder(d, a, &folder));
  char **files;
  size_t n_files, n = 0;
  NPUC_TRY(npuc_dir_list(d, a, folder, &files, &n_files));
  for (size_t i = 0; i < n_files; i++) {
    size_t length = strlen(files[i]);
    if (length > 5 && strcmp(files[i] + length - 5, ".json") == 0) files[n++] = npuc_arena_strn(a, files[i], length - 5);
  }
  *out_names = files;
  *out_count = n;
  return NPUC_OK;
}

npuc_status npuc_target_open(diag *d, arena *a, const char *name, target_file *out_target) {
  char **names;
  size_t n;
  NPUC_TRY(npuc_target_list(d, a, &names, &n));
  bool known = false;
  for (size_t i = 0; i < n; i++) known |= strcmp(names[i], name) == 0;
  if (!known) {
    npuc_status status = npuc_fail(d, NPUC_DIAG_E0907, &(diag_place){.attribute = "--target"}, "there is no target '%s'", name);
    const char *near = npuc_nearest(name, (const char *const *)names, n);
    if (near) npuc_fix(d, "-t %s", near);
    npuc_fix(d, "npuc targets");
    return status;
  }
  const char *folder;
  NPUC_TRY(targets_folder(d, a, &folder));
  out_target->name = npuc_arena_str(a, name);
  out_target->path = npuc_arena_printf(a, "%s/%s.json", folder, name);
  return npuc_json_read(d, out_target->path, NPUC_DIAG_E0904, &out_target->description);
}

void npuc_target_close(target_file *t) {
  json_decref(t->description);
  t->description = NULL;
}
