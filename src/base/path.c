/* SPDX-License-Identifier: Apache-2.0 */
/* Folders and names. Nothing here follows a symbolic link when it removes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define DEEPEST 128

static npuc_status fail_path(diag *d, diag_code code, const char *path, int error) {
  diag_place place = {.file = path};
  return npuc_fail(d, code, &place, "%s", strerror(error));
}

bool npuc_path_exists(const char *path) {
  struct stat info;
  return stat(path, &info) == 0;
}

bool npuc_path_is_dir(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool npuc_path_same(const char *a, const char *b) {
  struct stat one, other;
  return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

npuc_status npuc_dir_create(diag *d, const char *path) {
  if (mkdir(path, 0777) == 0) return NPUC_OK;
  int error = errno;
  if (error == EEXIST && npuc_path_is_dir(path)) return NPUC_OK;
  return fail_path(d, NPUC_DIAG_E0004, path, error);
}

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

npuc_status npuc_dir_list(diag *d, arena *a, const char *path, char ***out_names, size_t *out_count) {
  *out_names = NULL;
  *out_count = 0;
  DIR *dir = opendir(path);
  if (!dir) return fail_path(d, npuc_open_code(errno), path, errno);
  char **names = NULL;
  size_t count = 0, capacity = 0;
  int error = 0;
  for (;;) {
    errno = 0;
    const struct dirent *item = readdir(dir);
    if (!item) {
      error = errno;
      break;
    }
    if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0) continue;
    names = npuc_arena_grow(a, names, count, count + 1, sizeof *names, &capacity);
    names[count++] = npuc_arena_str(a, item->d_name);
  }
  (void)closedir(dir);
  if (error) return fail_path(d, NPUC_DIAG_E0006, path, error);
  if (count) qsort(names, count, sizeof *names, compare_names);
  *out_names = names;
  *out_count = count;
  return NPUC_OK;
}

static int remove_at(int parent, const char *name, int depth);

/* Empties the folder behind fd, which it closes; 0 or an errno. */
static int remove_contents(int fd, int depth) {
  DIR *dir = fdopendir(fd);
  if (!dir) {
    int error = errno;
    (void)close(fd);
    return error;
  }
  int error = 0;
  while (!error) {
    errno = 0;
    const struct dirent *item = readdir(dir);
    if (!item) {
      error = errno;
      break;
    }
    if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0) continue;
    error = remove_at(dirfd(dir), item->d_name, depth + 1);
  }
  (void)closedir(dir);
  return error;
}

static int remove_at(int parent, const char *name, int depth) {
  struct stat info;
  if (fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  if (!S_ISDIR(info.st_mode)) return unlinkat(parent, name, 0) == 0 ? 0 : errno;
  if (depth > DEEPEST) return ELOOP;
  /* O_NOFOLLOW: were the folder replaced by a link since the question above, this fails instead of leaving the tree. */
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return errno;
  int error = remove_contents(fd, depth);
  if (error) return error;
  return unlinkat(parent, name, AT_REMOVEDIR) == 0 ? 0 : errno;
}

npuc_status npuc_path_remove(diag *d, const char *path) {
  int error = remove_at(AT_FDCWD, path, 0);
  if (error == 0 || error == ENOENT) return NPUC_OK;
  return fail_path(d, NPUC_DIAG_E0004, path, error);
}

char *npuc_path_join(arena *a, const char *dir, const char *name) {
  size_t n = strlen(dir);
  if (n == 0 || name[0] == '/') return npuc_arena_str(a, name);
  return npuc_arena_printf(a, "%s%s%s", dir, dir[n - 1] == '/' ? "" : "/", name);
}

char *npuc_path_dirname(arena *a, const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash) return npuc_arena_str(a, ".");
  size_t n = (size_t)(slash - path);
  return n == 0 ? npuc_arena_str(a, "/") : npuc_arena_strn(a, path, n);
}

const char *npuc_path_basename(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}
