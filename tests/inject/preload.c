/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded before libc (LD_PRELOAD): counts the calls of one class that a process makes, and lets one of them fail.
 *
 *   NPUC_INJECT=CLASS:K:HOW    CLASS memory or io (below); K counts from 1, 0: none fails; HOW
 *     fail    no memory; for io what the call's own trouble is: EIO, ENOSPC for what writes, EMFILE for open
 *     short   read and write do half of what was asked, once
 *     eintr   read and write are interrupted, once
 *     before, after   the process gets SIGKILL before or after the call
 *   NPUC_INJECT_COUNT=FILE     at exit: how many calls there were, and the name of the one that was chosen
 *
 * fsync does nothing here: thousands of runs need no disk. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum call_class { NOTHING, MEMORY, IO } call_class;
typedef enum manner { FAIL, SHORT, EINTR_ONCE, BEFORE, AFTER } manner;

static call_class wanted;
static manner how;
static unsigned long chosen;
static atomic_ulong calls;
static const char *chosen_name = "none";

/* -- the real functions -- */
static void *real(const char *name, void **kept) {
  if (!*kept) *kept = dlsym(RTLD_NEXT, name);
  return *kept;
}
/* dlsym gives a void pointer, POSIX says that it holds a function: the union says so to the compiler. */
#define REAL(name, result, ...)  \
  static union {                 \
    void *pointer;               \
    result (*call)(__VA_ARGS__); \
  } name##_real;                 \
  (void)real(#name, &name##_real.pointer)

/* -- what was asked for -- */
__attribute__((constructor)) static void read_request(void) {
  static const char *const manners[] = {"fail", "short", "eintr", "before", "after"};
  const char *text = getenv("NPUC_INJECT"), *colon = text ? strchr(text, ':') : NULL;
  if (!colon) return;
  char *end;
  chosen = strtoul(colon + 1, &end, 10);
  for (int i = 0; i < 5; i++)
    if (*end == ':' && strcmp(end + 1, manners[i]) == 0) how = (manner)i;
  atomic_store(&calls, 0);
  wanted = text[0] == 'm' ? MEMORY : IO;
}

__attribute__((destructor)) static void report(void) {
  const char *path = getenv("NPUC_INJECT_COUNT");
  wanted = NOTHING;
  FILE *f = path ? fopen(path, "w") : NULL;
  if (!f) return;
  fprintf(f, "%lu %s\n", atomic_load(&calls), chosen_name);
  fclose(f);
}

/* Whether this call is the one. */
static bool is_chosen(call_class c, const char *name) {
  if (wanted != c || atomic_fetch_add(&calls, 1) + 1 != chosen) return false;
  chosen_name = name;
  if (how == BEFORE) kill(getpid(), SIGKILL);
  return true;
}

static void after(bool it_was) {
  if (it_was && how == AFTER) kill(getpid(), SIGKILL);
}

/* -- memory; glibc's own names, since dlsym itself may allocate -- */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t n);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);

static bool no_memory(const char *name) {
  if (!is_chosen(MEMORY, name)) return false;
  errno = ENOMEM;
  return true;
}

void *malloc(size_t n) { return no_memory("malloc") ? NULL : __libc_malloc(n); }
void *calloc(size_t count, size_t n) { return no_memory("calloc") ? NULL : __libc_calloc(count, n); }
void *realloc(void *p, size_t n) { return no_memory("realloc") ? NULL : __libc_realloc(p, n); }
void *aligned_alloc(size_t alignment, size_t n) { return no_memory("aligned_alloc") ? NULL : __libc_memalign(alignment, n); }

int posix_memalign(void **out, size_t alignment, size_t n) {
  if (no_memory("posix_memalign")) return ENOMEM;
  *out = __libc_memalign(alignment, n);
  return *out ? 0 : ENOMEM;
}

/* -- files -- */
static bool fails(const char *name, int error, bool *it_is) {
  *it_is = is_chosen(IO, name);
  if (!*it_is || how != FAIL) return false;
  errno = error;
  return true;
}

static int open_any(const char *name, int (*call)(const char *, int, ...), const char *path, int flags, mode_t mode) {
  bool it;
  if (fails(name, flags & O_CREAT ? ENOSPC : EMFILE, &it)) return -1;
  int fd = call(path, flags, mode);
  after(it);
  return fd;
}

int open(const char *path, int flags, ...) {
  REAL(open, int, const char *, int, ...);
  va_list args;
  va_start(args, flags);
  mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
  va_end(args);
  return open_any("open", open_real.call, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  REAL(open64, int, const char *, int, ...);
  va_list args;
  va_start(args, flags);
  mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
  va_end(args);
  return open_any("open64", open64_real.call, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
  REAL(openat, int, int, const char *, int, ...);
  bool it;
  if (fails("openat", EMFILE, &it)) return -1;
  int fd = openat_real.call(folder, path, flags);
  after(it);
  return fd;
}

FILE *fopen(const char *path, const char *mode) {
  REAL(fopen, FILE *, const char *, const char *);
  bool it;
  if (fails("fopen", EMFILE, &it)) return NULL;
  FILE *f = fopen_real.call(path, mode);
  after(it);
  return f;
}

FILE *fopen64(const char *path, const char *mode) {
  REAL(fopen64, FILE *, const char *, const char *);
  bool it;
  if (fails("fopen64", EMFILE, &it)) return NULL;
  FILE *f = fopen64_real.call(path, mode);
  after(it);
  return f;
}

DIR *opendir(const char *path) {
  REAL(opendir, DIR *, const char *);
  bool it;
  if (fails("opendir", EMFILE, &it)) return NULL;
  DIR *d = opendir_real.call(path);
  after(it);
  return d;
}

ssize_t read(int fd, void *to, size_t n) {
  REAL(read, ssize_t, int, void *, size_t);
  bool it;
  if (fails("read", EIO, &it)) return -1;
  if (it && how == EINTR_ONCE) {
    errno = EINTR;
    return -1;
  }
  ssize_t done = read_real.call(fd, to, it && how == SHORT ? (n + 1) / 2 : n);
  after(it);
  return done;
}

ssize_t write(int fd, const void *from, size_t n) {
  REAL(write, ssize_t, int, const void *, size_t);
  bool it;
  if (fails("write", ENOSPC, &it)) return -1;
  if (it && how == EINTR_ONCE) {
    errno = EINTR;
    return -1;
  }
  /* A disk that is full takes a part first: a kill after the call finds half of it. */
  ssize_t done = write_real.call(fd, from, it && (how == SHORT || how == AFTER) ? (n + 1) / 2 : n);
  after(it);
  return done;
}

int fsync(int fd) {
  bool it;
  (void)fd;
  if (fails("fsync", EIO, &it)) return -1;
  after(it);
  return 0;
}

int close(int fd) {
  REAL(close, int, int);
  bool it, failed = fails("close", EIO, &it);
  int result = close_real.call(fd);
  if (failed) errno = EIO;
  after(it);
  return failed ? -1 : result;
}

int rename(const char *from, const char *to) {
  REAL(rename, int, const char *, const char *);
  bool it;
  if (fails("rename", ENOSPC, &it)) return -1;
  int result = rename_real.call(from, to);
  after(it);
  return result;
}

int unlink(const char *path) {
  REAL(unlink, int, const char *);
  bool it;
  if (fails("unlink", EIO, &it)) return -1;
  int result = unlink_real.call(path);
  after(it);
  return result;
}

int unlinkat(int folder, const char *path, int flags) {
  REAL(unlinkat, int, int, const char *, int);
  bool it;
  if (fails("unlinkat", EIO, &it)) return -1;
  int result = unlinkat_real.call(folder, path, flags);
  after(it);
  return result;
}

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir, int, const char *, mode_t);
  bool it;
  if (fails("mkdir", ENOSPC, &it)) return -1;
  int result = mkdir_real.call(path, mode);
  after(it);
  return result;
}

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset) {
  REAL(mmap, void *, void *, size_t, int, int, int, off_t);
  bool it = false;
  if (fd >= 0 && fails("mmap", ENOMEM, &it)) return MAP_FAILED;
  void *p = mmap_real.call(at, n, protection, flags, fd, offset);
  after(it);
  return p;
}
