/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/peer.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

static const peer_info peers[] = {
#define PEER(symbol, name, title, variable, package, library) {name, title, variable, package, library, &npuc_peer_##symbol},
#include "stages/peers.def"
#undef PEER
};

const peer_info *npuc_peer_table(size_t *out_count) {
  *out_count = sizeof peers / sizeof *peers;
  return peers;
}

const peer_info *npuc_peer_find(const char *name) {
  for (size_t i = 0; i < sizeof peers / sizeof *peers; i++)
    if (strcmp(peers[i].name, name) == 0) return &peers[i];
  return NULL;
}

/* -- where it is -- */

/* The first file that the pattern names, or NULL. */
static const char *first_match(arena *a, const char *pattern) {
  glob_t found;
  const char *file = NULL;
  if (glob(pattern, 0, NULL, &found) == 0) {
    if (found.gl_pathc && !npuc_path_is_dir(found.gl_pathv[0])) file = npuc_arena_str(a, found.gl_pathv[0]);
    globfree(&found);
  }
  return file;
}

/* Below a folder that is site-packages itself, or an environment that has one, or where the library lies. */
static const char *below(arena *a, const peer_info *p, const char *folder) {
  const char *name = npuc_path_basename(p->library);
  const char *patterns[] = {npuc_path_join(a, folder, p->library),
                            npuc_arena_printf(a, "%s/lib/python3*/site-packages/%s", folder, p->library), npuc_path_join(a, folder, name),
                            npuc_arena_printf(a, "%s/lib/%s", folder, name)};
  const char *file = NULL;
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns && !file; i++) file = first_match(a, patterns[i]);
  return file;
}

/* An interpreter stands for the environment that its bin/ is in. */
const char *npuc_peer_environment(arena *a, const char *python) {
  if (!python) return NULL;
  return npuc_path_is_dir(python) ? python : npuc_path_dirname(a, npuc_path_dirname(a, python));
}

const char *npuc_tool_folder(arena *a, const char *package) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (cache && cache[0] == '/') return npuc_arena_printf(a, "%s/npuc/tools/%s", cache, package);
  return npuc_arena_printf(a, "%s/.cache/npuc/tools/%s", home ? home : "", package);
}

static npuc_status missing(diag *d, const peer_info *p, const char *place) {
  npuc_status status =
      npuc_fail(d, NPUC_DIAG_E0930, &(diag_place){.file = place}, "%s is not %s", p->title, place ? "in that place" : "installed");
  npuc_fix(d, "npuc doctor --install %s", p->name);
  npuc_fix(d, "python3 -m venv ENV && ENV/bin/pip install %s, then --python ENV", p->package);
  npuc_fix(d, "%s=FILE names the library %s", p->variable, npuc_path_basename(p->library));
  return status;
}

npuc_status npuc_peer_library(diag *d, arena *a, const peer_info *p, const char *python, const char **out_file) {
  const char *named = getenv(p->variable), *active = getenv("VIRTUAL_ENV");
  if (named && *named) {
    *out_file = npuc_path_is_dir(named) ? below(a, p, named) : npuc_path_exists(named) ? named : NULL;
    return *out_file ? NPUC_OK : missing(d, p, named);
  }
  if (python) {
    *out_file = below(a, p, npuc_peer_environment(a, python));
    return *out_file ? NPUC_OK : missing(d, p, python);
  }
  const char *folders[] = {active ? active : "", npuc_tool_folder(a, p->package), "/usr/local", "/usr"};
  *out_file = NULL;
  for (size_t i = 0; i < sizeof folders / sizeof *folders && !*out_file; i++)
    if (*folders[i]) *out_file = below(a, p, folders[i]);
  return *out_file ? NPUC_OK : missing(d, p, NULL);
}

/* -- what the peers' files share -- */

npuc_status npuc_peer_fail(diag *d, const char *title, const char *doing, const char *message) {
  return npuc_fail(d, NPUC_DIAG_E0931, NULL, "%s, %s: %s", title, doing, message && *message ? message : "it failed and said nothing");
}

npuc_status npuc_peer_load(diag *d, const char *file, void **out_library) {
  *out_library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (*out_library) return NPUC_OK;
  const char *why = dlerror();
  return npuc_fail(d, NPUC_DIAG_E0930, &(diag_place){.file = file}, "the library cannot be loaded: %s", why ? why : "");
}

npuc_status npuc_peer_symbol(diag *d, void *library, const char *name, void *out_function) {
  void *address = dlsym(library, name);
  if (!address) return npuc_fail(d, NPUC_DIAG_E0930, NULL, "the library has no function %s: another version is needed", name);
  memcpy(out_function, &address,
         sizeof address); /* ISO C has no cast from an object's pointer to a function's; POSIX gives them one form */
  return NPUC_OK;
}

size_t npuc_peer_input(const peer_request *r, size_t index, const char *name) {
  for (size_t i = 0; name && i < r->n_inputs; i++)
    if (strcmp(r->input_names[i], name) == 0 || (r->source_names[i] && strcmp(r->source_names[i], name) == 0)) return i;
  return index;
}
