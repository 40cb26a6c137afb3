/* SPDX-License-Identifier: Apache-2.0 */
/* A compile of the demo network in which one call fails, for call after call (preload.c says which calls and how). Each time:
 *
 *   1. exit status 5 (environment), or 0 when the failure could be lived with, and never a crash
 *   2. what `npuc status` calls finished is finished: the artifact has the bytes of an undisturbed compile
 *   3. the same compile again, undisturbed, succeeds, and every file of OUT has those bytes; nothing more lies there
 *
 * usage: inject_demo NPUC PRELOAD DEMO_FOLDER SCRATCH STRIDE [CLASS:HOW...]
 *
 * Every STRIDE-th call, beginning with 1. Where the program left through its out-of-memory handler, 3 is done for one call in eight: it leaves a folder as a kill before
 * the next call of io does, and there 3 is done for all. */
#define _XOPEN_SOURCE 700 /* nftw */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "npuc/status.h"

enum { PATH = 4096, SAMPLES = 4, MOST_FAILURES = 20 };
static const char preprocess[] = "scale=1/255,mean=0.5:0.5:0.5,std=0.25:0.25:0.25";

typedef struct campaign {
  const char *npuc, *preload, *demo, *scratch;
  char whole[PATH], out[PATH], calib[PATH], count[PATH], text[PATH];
  unsigned long runs, lived, failed, killed, wrong;
} campaign;

_Noreturn static void die(const char *what) {
  fprintf(stderr, "inject: %s: %s\n", what, strerror(errno));
  exit(2);
}

/* -- files -- */
static char *read_file(const char *path, size_t *out_n) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  size_t n = 0, room = 1 << 20;
  char *bytes = malloc(room + 1);
  if (!bytes) die("memory");
  for (size_t got; (got = fread(bytes + n, 1, room - n, f)) > 0;) {
    n += got;
    if (n == room && !(bytes = realloc(bytes, (room *= 2) + 1))) die("memory");
  }
  fclose(f);
  bytes[n] = '\0';
  *out_n = n;
  return bytes;
}

static void write_file(const char *path, const char *bytes, size_t n) {
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0) die(path);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *level) {
  (void)info, (void)kind, (void)level;
  return remove(path);
}

static void remove_tree(const char *path) {
  if (access(path, F_OK) == 0 && nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0) die(path);
}

/* The demo's calibration pictures, a few of them: the count in the header's shape is made smaller at the same length. */
static void write_calibration(const campaign *c) {
  char path[PATH];
  size_t n;
  (void)snprintf(path, sizeof path, "%s/calib.npy", c->demo);
  char *bytes = read_file(path, &n);
  char *shape = bytes ? strstr(bytes + 10, "(100,") : NULL;
  if (!shape) die("the demo's calib.npy is not the expected one");
  memcpy(shape, "(  4,", 5);
  size_t data = 10 + (unsigned char)bytes[8] + 256u * (unsigned char)bytes[9];
  write_file(c->calib, bytes, data + (n - data) / 100 * SAMPLES);
  free(bytes);
}

/* -- running -- */
/* Exit status, or 128 + signal. inject NULL: undisturbed. */
static int run(const campaign *c, const char *inject, const char *const *words) {
  fflush(stdout);
  pid_t pid = fork();
  if (pid < 0) die("fork");
  if (pid == 0) {
    int fd = open(c->text, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0 || chdir(c->scratch) != 0) _exit(99);
    if (inject) {
      (void)setenv("LD_PRELOAD", c->preload, 1);
      (void)setenv("NPUC_INJECT", inject, 1);
      (void)setenv("NPUC_INJECT_COUNT", c->count, 1);
    }
    execv(c->npuc, (char *const *)(const void *)words);
    _exit(99);
  }
  int state;
  if (waitpid(pid, &state, 0) != pid) die("waitpid");
  return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

static int compile(const campaign *c, const char *inject) {
  char model[PATH];
  (void)snprintf(model, sizeof model, "%s/model.onnx", c->demo);
  const char *words[] = {"npuc",      "compile",      model,      "-t",        "refnpu-n16", "-o",      "out", "--calib",
                         "calib.npy", "--preprocess", preprocess, "--threads", "1",          "--quiet", NULL};
  return run(c, inject, words);
}

/* -- comparing -- */
static const campaign *compared;
static unsigned long differences;
static bool quiet;

/* The lines that tell times and memory go, and in the manifest the hash and length of the report, which tells them too. */
static void drop_measures(char *text) {
  char *to = text;
  int of_report = 0; /* lines left of the report's entry */
  for (char *line = text; *line;) {
    char *end = strchr(line, '\n');
    size_t n = end ? (size_t)(end - line) + 1 : strlen(line);
    const char *found = memchr(line, '"', n);
    bool drop = of_report-- > 0 || (found && (strncmp(found, "\"seconds\"", 9) == 0 || strncmp(found, "\"peak_rss_bytes\"", 16) == 0));
    if (found && strncmp(found, "\"file\": \"7-verify", 17) == 0) of_report = 2;
    char *next = line + n;
    if (!drop) {
      memmove(to, line, n);
      to += n;
    }
    line = next;
  }
  *to = '\0';
}

static bool same_file(const char *a, const char *b, bool is_manifest) {
  size_t n, m;
  char *x = read_file(a, &n), *y = read_file(b, &m);
  if (x && y && is_manifest) {
    drop_measures(x), drop_measures(y);
    n = strlen(x), m = strlen(y);
  }
  bool same = x && y && n == m && memcmp(x, y, n) == 0;
  free(x);
  free(y);
  return same;
}

static int compare_one(const char *path, const struct stat *info, int kind, struct FTW *level) {
  (void)info, (void)level;
  char twin[PATH];
  if (kind != FTW_F) return 0;
  size_t n = strlen(compared->whole);
  (void)snprintf(twin, sizeof twin, "%s%s", compared->out, path + n);
  bool measured = strstr(path, "manifest.json") || strstr(path, "report.json");
  if (strstr(path, "report.html") ? access(twin, F_OK) == 0 : same_file(path, twin, measured)) return 0; /* the page shows the report */
  if (!quiet) printf("  %s differs from the undisturbed build, or is missing\n", twin);
  differences++;
  return 0;
}

static int absent_one(const char *path, const struct stat *info, int kind, struct FTW *level) {
  (void)info, (void)level;
  char twin[PATH];
  if (kind != FTW_F) return 0;
  (void)snprintf(twin, sizeof twin, "%s%s", compared->whole, path + strlen(compared->out));
  if (access(twin, F_OK) == 0) return 0;
  printf("  %s is left over\n", path);
  differences++;
  return 0;
}

static bool same_builds(const campaign *c) {
  compared = c;
  differences = 0;
  if (nftw(c->whole, compare_one, 16, FTW_PHYS) != 0 || nftw(c->out, absent_one, 16, FTW_PHYS) != 0) return false;
  return differences == 0;
}

static bool looks_finished(const campaign *c) {
  size_t n;
  const char *words[] = {"npuc", "status", c->out, NULL};
  if (run(c, NULL, words) != NPUC_OK) return false;
  char *text = read_file(c->text, &n);
  bool finished = text && strstr(text, "next: npuc simulate");
  free(text);
  return finished;
}

static bool same_artifact(const campaign *c) {
  char a[PATH + 64], b[PATH + 64];
  (void)snprintf(a, sizeof a, "%s/6-build.refnpu-n16/model.npu", c->whole);
  (void)snprintf(b, sizeof b, "%s/6-build.refnpu-n16/model.npu", c->out);
  return same_file(a, b, false);
}

/* -- one failure -- */
static void complain(campaign *c, const char *inject, int status, const char *what) {
  size_t n;
  c->wrong++;
  char *count = read_file(c->count, &n), *text = read_file(c->text, &n);
  printf("%s (%.*s): status %d: %s\n%.*s\n", inject, count ? (int)strcspn(count, "\n") : 0, count ? count : "", status, what,
         text ? 600 : 0, text ? text : "");
  free(count);
  free(text);
}

/* Nothing but the line of the handler (src/cli/main.c). */
static bool left_at_once(const campaign *c) {
  static const char line[] = "error[NPUC-E0002]: out of memory\n";
  size_t n;
  char *text = read_file(c->text, &n);
  bool same = text && n == sizeof line - 1 && memcmp(text, line, n) == 0;
  free(text);
  return same;
}

static void disturb(campaign *c, const char *inject, bool kills, bool must_live) {
  remove_tree(c->out);
  (void)remove(c->count);
  int status = compile(c, inject);
  bool right = kills ? status == 128 + 9 || status == NPUC_OK : status == NPUC_OK || (status == NPUC_ENVIRONMENT && !must_live);
  c->runs++;
  c->lived += status == NPUC_OK;
  c->failed += status == NPUC_ENVIRONMENT;
  c->killed += status == 128 + 9;
  if (!right) {
    complain(c, inject, status, "wrong exit status");
    return;
  }
  if (status == NPUC_OK && !same_builds(c)) complain(c, inject, status, "it says that it succeeded, and its files differ");
  bool short_cut = status == NPUC_ENVIRONMENT && c->runs % 8 && left_at_once(c);
  if (status != NPUC_OK && looks_finished(c) && !same_artifact(c)) complain(c, inject, status, "the build looks finished and is not");
  if (status == NPUC_OK || short_cut) return;
  int again = compile(c, NULL);
  if (again != NPUC_OK)
    complain(c, inject, again, "the compile after it fails");
  else if (!same_builds(c))
    complain(c, inject, again, "the compile after it gives other files");
}

static unsigned long count_calls(campaign *c, const char *class) {
  char inject[64];
  size_t n;
  (void)snprintf(inject, sizeof inject, "%s:0:fail", class);
  remove_tree(c->out);
  if (compile(c, inject) != NPUC_OK) die("the compile under the counter fails");
  char *text = read_file(c->count, &n);
  unsigned long calls = text ? strtoul(text, NULL, 10) : 0;
  free(text);
  return calls;
}

static void go_through(campaign *c, const char *class, const char *how, unsigned long stride) {
  unsigned long calls = count_calls(c, class), before = c->runs, wrong = c->wrong;
  bool kills = strcmp(how, "before") == 0 || strcmp(how, "after") == 0, must_live = strcmp(how, "short") == 0 || strcmp(how, "eintr") == 0;
  if (calls == 0) {
    c->wrong++;
    printf("%s: no call was counted\n", class);
  }
  c->lived = c->failed = c->killed = 0;
  for (unsigned long k = 1; k <= calls && c->wrong < MOST_FAILURES; k += stride) {
    char inject[64];
    (void)snprintf(inject, sizeof inject, "%s:%lu:%s", class, k, how);
    disturb(c, inject, kills, must_live);
  }
  printf("%s %s: %lu calls, %lu runs: %lu lived with it, %lu failed, %lu killed; %lu wrong\n", class, how, calls, c->runs - before,
         c->lived, c->failed, c->killed, c->wrong - wrong);
  if (must_live || c->failed + c->killed > 0) return;
  c->wrong++;
  printf("%s %s: nothing failed: the preload does not reach the program\n", class, how);
}

int main(int argc, char **argv) {
  static const char *const all[] = {"memory:fail", "io:fail", "io:short", "io:eintr", "io:before", "io:after"};
  if (argc < 6) {
    fprintf(stderr, "usage: inject_demo NPUC PRELOAD DEMO_FOLDER SCRATCH STRIDE [CLASS:HOW...]\n");
    return 2;
  }
  campaign c = {.npuc = argv[1], .preload = argv[2], .demo = argv[3], .scratch = argv[4]};
  unsigned long stride = strtoul(argv[5], NULL, 10);
  remove_tree(c.scratch);
  if (mkdir(c.scratch, 0777) != 0 || stride == 0) die(c.scratch);
  (void)snprintf(c.whole, sizeof c.whole, "%s/whole", c.scratch);
  (void)snprintf(c.out, sizeof c.out, "%s/out", c.scratch);
  (void)snprintf(c.calib, sizeof c.calib, "%s/calib.npy", c.scratch);
  (void)snprintf(c.count, sizeof c.count, "%s/count", c.scratch);
  (void)snprintf(c.text, sizeof c.text, "%s/text", c.scratch);
  write_calibration(&c);
  if (compile(&c, NULL) != NPUC_OK || rename(c.out, c.whole) != 0) die("the undisturbed compile fails");
  quiet = true; /* negative control of the comparison */
  if (same_builds(&c)) die("a missing build counts as the same");
  quiet = false;
  for (int i = 6; i < argc || (argc == 6 && i - 6 < (int)(sizeof all / sizeof *all)); i++) {
    char class[16] = "";
    const char *one = argc == 6 ? all[i - 6] : argv[i], *colon = strchr(one, ':');
    if (!colon) die(one);
    (void)snprintf(class, sizeof class, "%.*s", (int)(colon - one), one);
    go_through(&c, class, colon + 1, stride);
  }
  if (c.wrong == 0) remove_tree(c.scratch);
  return c.wrong != 0;
}
