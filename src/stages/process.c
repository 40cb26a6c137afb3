/* SPDX-License-Identifier: Apache-2.0 */
/* Words reach the program as they are: there is no shell in between. Its output goes to stderr, since stdout is the command's document. */
#include "stages/process.h"

#include <errno.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

const char *npuc_program_find(arena *a, const char *name) {
  const char *path = getenv("PATH");
  if (strchr(name, '/')) return access(name, X_OK) == 0 ? npuc_arena_str(a, name) : NULL;
  for (const char *p = path ? path : ""; *p;) {
    size_t n = strcspn(p, ":");
    const char *file = npuc_arena_printf(a, "%.*s/%s", (int)n, p, name);
    if (n && access(file, X_OK) == 0) return file;
    p += n + (p[n] == ':');
  }
  return NULL;
}

npuc_status npuc_program_run(diag *d, const char *const *argv) {
  posix_spawn_file_actions_t actions;
  diag_place place = {.file = argv[0]};
  if (posix_spawn_file_actions_init(&actions) != 0) return npuc_fail(d, NPUC_DIAG_E0002, NULL, "memory to start a program");
  int error = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  if (error == 0) error = posix_spawnp(&child, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
  (void)posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return npuc_fail(d, NPUC_DIAG_E0932, &place, "it cannot be started: %s", strerror(error));
  int ended = 0;
  while (waitpid(child, &ended, 0) < 0) {
    if (errno != EINTR) return npuc_fail(d, NPUC_DIAG_E0932, &place, "it was lost: %s", strerror(errno));
  }
  if (WIFEXITED(ended) && WEXITSTATUS(ended) == 0) return NPUC_OK;
  if (WIFEXITED(ended))
    return npuc_fail(d, NPUC_DIAG_E0932, &place, "it ended with status %d; its own messages stand above", WEXITSTATUS(ended));
  return npuc_fail(d, NPUC_DIAG_E0932, &place, "it was ended by signal %d", WIFSIGNALED(ended) ? WTERMSIG(ended) : 0);
}
