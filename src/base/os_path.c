/* SPDX-License-Identifier: Apache-2.0 */
/* Where this code lies: data that comes with it is found from there, wherever it was moved to. */
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"

/* A program that is linked statically has its own name in dladdr's answer, as it was typed: /proc says it better. */
static bool shared_library(const char *file) {
  const char *slash = strrchr(file, '/');
  return strstr(slash ? slash : file, ".so") != NULL;
}

bool npuc_os_own_path(char *out_path, size_t bytes) {
  Dl_info info;
  char path[PATH_MAX];
  bool library = dladdr((const void *)(uintptr_t)npuc_os_own_path, &info) != 0 && info.dli_fname && shared_library(info.dli_fname);
  if (!library || !realpath(info.dli_fname, path)) {
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0) return false;
    path[n] = '\0';
  }
  size_t n = strlen(path);
  if (n >= bytes) return false;
  memcpy(out_path, path, n + 1);
  return true;
}
