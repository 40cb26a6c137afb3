/* SPDX-License-Identifier: Apache-2.0 */
/* Process 1 of the machine that tests/extra/avx512.sh emulates: runs each program of /list, says how it ended, and turns the machine off
 * through Bochs's own port, which takes a word. */
#include <stdio.h>
#include <string.h>
#include <sys/io.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static int run(const char *program) {
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    execl(program, program, (char *)NULL);
    _exit(127);
  }
  if (child < 0 || waitpid(child, &status, 0) != child) return 126;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(void) {
  char line[256];
  FILE *list = fopen("/list", "r");
  while (list && fgets(line, sizeof line, list)) {
    line[strcspn(line, "\n")] = '\0';
    int status = run(line);
    printf("ended %s %d\n", line, status);
    fflush(stdout);
  }
  tcdrain(STDOUT_FILENO);
  if (iopl(3) == 0) {
    for (const char *c = "Shutdown"; *c; c++) outb((unsigned char)*c, 0x8900);
  }
  for (;;) pause();
}
