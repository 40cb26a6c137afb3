/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/tools.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "stages/peer.h"
#include "stages/process.h"

static const tool_info tools[] = {
#define PACKAGE(name, title, distribution, steps, allows) {name, title, distribution, steps, allows, true},
#define PROGRAM(name, title, program, package, allows) {name, title, program, package, allows, false},
#include "stages/tools.def"
#undef PACKAGE
#undef PROGRAM
};

const tool_info *npuc_tool_table(size_t *out_count) {
  *out_count = sizeof tools / sizeof *tools;
  return tools;
}

const tool_info *npuc_tool_find(const char *name) {
  for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
    if (strcmp(tools[i].name, name) == 0) return &tools[i];
  return NULL;
}

/* The version in the name of NAME-VERSION.dist-info below an environment. */
static tool_state look_in(arena *a, const tool_info *t, const char *environment) {
  glob_t found;
  tool_state state = {0};
  if (glob(npuc_arena_printf(a, "%s/lib/python3*/site-packages/%s-*.dist-info", environment, t->needs), 0, NULL, &found) != 0) return state;
  if (found.gl_pathc) {
    const char *version = npuc_path_basename(found.gl_pathv[0]) + strlen(t->needs) + 1;
    state = (tool_state){npuc_arena_str(a, environment), npuc_arena_strn(a, version, strlen(version) - strlen(".dist-info"))};
  }
  globfree(&found);
  return state;
}

tool_state npuc_tool_look(arena *a, const tool_info *t, const char *python) {
  if (!t->is_package) return (tool_state){npuc_program_find(a, t->needs), ""};
  const char *active = getenv("VIRTUAL_ENV");
  const char *environments[] = {npuc_tool_folder(a, t->name), npuc_peer_environment(a, python), active};
  tool_state state = {0};
  for (size_t i = 0; i < sizeof environments / sizeof *environments && !state.place; i++)
    if (environments[i] && *environments[i]) state = look_in(a, t, environments[i]);
  return state;
}

/* -- installing -- */

static const char *const *words(arena *a, const char *first, const char *second, const char *third, const char *text) {
  size_t n = 0, capacity = 4;
  for (const char *p = text; *p; p++) capacity += *p == ' ';
  const char **list = (const char **)npuc_arena_array(a, capacity + 2, sizeof(char *));
  list[n++] = first, list[n++] = second, list[n++] = third;
  for (size_t length; *text; text += length + strspn(text + length, " ")) {
    length = strcspn(text, " ");
    list[n++] = npuc_arena_strn(a, text, length);
  }
  return list;
}

size_t npuc_tool_steps(arena *a, const tool_info *t, const char *const ***out_steps) {
  const char *folder = npuc_tool_folder(a, t->name), *python = npuc_arena_printf(a, "%s/bin/python", folder);
  size_t n = 0, capacity = 2;
  for (const char *p = t->source; *p; p++) capacity += *p == ';';
  *out_steps = (const char *const **)npuc_arena_array(a, capacity + 1, sizeof(char **));
  (*out_steps)[n++] = words(a, "python3", "-m", "venv", folder);
  for (const char *p = t->source; *p;) {
    size_t length = strcspn(p, ";");
    (*out_steps)[n++] = words(a, python, "-m", "pip", npuc_arena_printf(a, "install --disable-pip-version-check %.*s", (int)length, p));
    p += length + (p[length] == ';');
  }
  return n;
}

/* Makes the folders above an environment. */
static npuc_status make_parents(diag *d, arena *a, const char *path) {
  const char *parent = npuc_path_dirname(a, path);
  if (npuc_path_is_dir(parent) || strcmp(parent, path) == 0) return NPUC_OK;
  NPUC_TRY(make_parents(d, a, parent));
  return npuc_dir_create(d, parent);
}

npuc_status npuc_tool_install(diag *d, arena *a, const tool_info *t) {
  if (!t->is_package) {
    npuc_status status = npuc_fail(d, NPUC_DIAG_E0930, NULL, "%s comes from the system's packages", t->title);
    npuc_fix(d, "apt-get install %s", t->source);
    return status;
  }
  const char *const **steps, *folder = npuc_tool_folder(a, t->name);
  size_t n = npuc_tool_steps(a, t, &steps);
  NPUC_TRY(npuc_path_remove(d, folder)); /* what an install that was killed left */
  NPUC_TRY(make_parents(d, a, folder));
  npuc_status status = NPUC_OK;
  for (size_t i = 0; i < n && status == NPUC_OK; i++) {
    status = npuc_program_run(d, steps[i]);
    if (status != NPUC_OK && i == 0) npuc_fix(d, "apt-get install python3-venv");
  }
  if (status == NPUC_OK && !npuc_tool_look(a, t, NULL).place)
    status = npuc_fail(d, NPUC_DIAG_E0932, &(diag_place){.file = folder}, "pip ended well, and %s is not there", t->needs);
  if (status == NPUC_OK) return NPUC_OK;
  npuc_status removed = npuc_path_remove(d, folder);
  (void)removed; /* the first failure is the one to tell */
  return status;
}
