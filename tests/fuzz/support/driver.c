/* SPDX-License-Identifier: Apache-2.0 */
/* The driver where there is no libFuzzer (GCC builds, `make test`): replays files and folders, then tries changes of them.
 *   fuzz_TARGET [--mutate N] [--seed S] [--max-len BYTES] FILE|FOLDER...
 * What was being tried when the process dies is written to crash-TARGET, and a try of more than 20 seconds is a hang. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/support/target.h"
#include "support/random.h"

#pragma weak LLVMFuzzerCustomMutator
#pragma weak LLVMFuzzerInitialize

enum { MOST_INPUTS = 65536, SLOWEST_SECONDS = 20 };

typedef struct input {
  uint8_t *bytes;
  size_t n;
} input;

static input inputs[MOST_INPUTS];
static size_t n_inputs;
static uint64_t state = 1;

/* For the signal handler. */
static const uint8_t *tried;
static size_t tried_bytes;
static char crash_name[256];

static void on_death(int number) {
  static const char hang[] = "fuzz: hang\n";
  if (number == SIGALRM && write(2, hang, sizeof hang - 1) < 0) _exit(1);
  int fd = open(crash_name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (fd >= 0 && write(fd, tried, tried_bytes) == (ssize_t)tried_bytes) (void)close(fd);
  signal(number, SIG_DFL);
  raise(number);
}

static void watch(const char *program) {
  static const int deadly[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM};
  const char *slash = strrchr(program, '/');
  (void)snprintf(crash_name, sizeof crash_name, "crash-%s", slash ? slash + 1 : program);
  for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) signal(deadly[i], on_death);
}

/* From a block of exactly this length, so that a sanitizer sees what reads beyond. */
static void try_bytes(const uint8_t *bytes, size_t n) {
  uint8_t *exact = malloc(n ? n : 1);
  if (!exact) abort();
  if (n) memcpy(exact, bytes, n);
  tried = bytes;
  tried_bytes = n;
  alarm(SLOWEST_SECONDS);
  (void)LLVMFuzzerTestOneInput(exact, n);
  free(exact);
}

static void add_file(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f || n_inputs == MOST_INPUTS) {
    fprintf(stderr, "fuzz: cannot read %s\n", path);
    exit(2);
  }
  input *in = &inputs[n_inputs++];
  size_t room = 4096;
  in->bytes = malloc(room);
  for (size_t got; in->bytes && (got = fread(in->bytes + in->n, 1, room - in->n, f)) > 0;) {
    in->n += got;
    if (in->n < room) continue;
    uint8_t *larger = realloc(in->bytes, room *= 2);
    if (!larger) abort();
    in->bytes = larger;
  }
  if (!in->bytes) abort();
  fclose(f);
}

static int visible(const struct dirent *e) { return e->d_name[0] != '.'; }

static void add(const char *path) {
  struct stat info;
  if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
    add_file(path);
    return;
  }
  struct dirent **names;
  int n = scandir(path, &names, visible, alphasort); /* sorted: the same sequence everywhere */
  for (int i = 0; i < n; i++) {
    char whole[4096];
    (void)snprintf(whole, sizeof whole, "%s/%s", path, names[i]->d_name);
    add(whole);
    free(names[i]);
  }
  if (n >= 0) free((void *)names);
}

/* -- changes -- */
static size_t below(size_t n) { return n ? (size_t)(random_next(&state) % n) : 0; }

static uint64_t interesting(void) {
  static const uint64_t values[] = {0,          1,          2,          7,          8,         16,         64,        127,
                                    128,        255,        256,        4096,       0x7fff,    0x8000,     0xffff,    0x10000,
                                    0x7fffffff, 0x80000000, 0xffffffff, UINT64_MAX, INT64_MAX, 1ull << 63, 1ull << 40};
  return values[below(sizeof values / sizeof *values)];
}

static size_t insert(uint8_t *bytes, size_t n, size_t most, const uint8_t *from, size_t count) {
  if (count > most - n) count = most - n;
  size_t at = below(n + 1);
  memmove(bytes + at + count, bytes + at, n - at);
  if (count) memcpy(bytes + at, from, count);
  return n + count;
}

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t n, size_t most) {
  uint8_t chunk[64];
  size_t at = below(n), count;
  switch (n ? below(8) : 7) {
    case 0:
      bytes[at] ^= (uint8_t)(1u << below(8));
      return n;
    case 1:
      bytes[at] = (uint8_t)random_next(&state);
      return n;
    case 2: { /* a number of 1, 2, 4 or 8 bytes */
      uint64_t v = interesting();
      size_t width = (size_t)1 << below(4);
      if (at + width <= n) memcpy(bytes + at, &v, width);
      return n;
    }
    case 3:
      bytes[at] = (uint8_t)(bytes[at] + 1 - 2 * below(2));
      return n;
    case 4: /* cut out */
      count = 1 + below(n - at < 64 ? n - at : 64);
      if (count > n - at) count = n - at;
      memmove(bytes + at, bytes + at + count, n - at - count);
      return n - count;
    case 5: /* twice */
      count = 1 + below(sizeof chunk);
      if (count > n - at) count = n - at;
      memcpy(chunk, bytes + at, count);
      return insert(bytes, n, most, chunk, count);
    case 6: { /* from elsewhere */
      if (n_inputs == 0) return n;
      const input *other = &inputs[below(n_inputs)];
      size_t from = below(other->n);
      count = other->n - from < sizeof chunk ? other->n - from : sizeof chunk;
      return insert(bytes, n, most, other->bytes + from, count);
    }
    default:
      count = 1 + below(8);
      random_bytes(&state, chunk, count);
      return insert(bytes, n, most, chunk, count);
  }
}

static void mutate(size_t times, size_t most) {
  uint8_t *bytes = malloc(most);
  if (!bytes) abort();
  for (size_t i = 0; i < times; i++) {
    const input *from = n_inputs ? &inputs[below(n_inputs)] : NULL;
    size_t n = from ? from->n < most ? from->n : most : 0;
    if (n) memcpy(bytes, from->bytes, n);
    for (size_t k = 1 + below(4); k > 0; k--)
      n = LLVMFuzzerCustomMutator ? LLVMFuzzerCustomMutator(bytes, n, most, (unsigned)random_next(&state))
                                  : LLVMFuzzerMutate(bytes, n, most);
    try_bytes(bytes, n);
  }
  free(bytes);
}

int main(int argc, char **argv) {
  size_t times = 0, most = 1 << 16;
  watch(argv[0]);
  if (LLVMFuzzerInitialize && LLVMFuzzerInitialize(&argc, &argv) != 0) return 2;
  for (int i = 1; i < argc; i++) {
    bool more = i + 1 < argc;
    if (more && strcmp(argv[i], "--mutate") == 0)
      times = strtoul(argv[++i], NULL, 10);
    else if (more && strcmp(argv[i], "--seed") == 0)
      state = strtoull(argv[++i], NULL, 10);
    else if (more && strcmp(argv[i], "--max-len") == 0)
      most = strtoul(argv[++i], NULL, 10);
    else
      add(argv[i]);
  }
  for (size_t i = 0; i < n_inputs; i++) try_bytes(inputs[i].bytes, inputs[i].n);
  mutate(times, most ? most : 1);
  printf("%zu files, %zu changes of them\n", n_inputs, times);
  for (size_t i = 0; i < n_inputs; i++) free(inputs[i].bytes);
  return n_inputs + times == 0; /* a run that tried nothing is no test */
}
