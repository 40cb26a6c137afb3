/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700 /* realpath */
#include "fuzz/support/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum { MOST_FILES = 64 };

typedef struct memory_file {
  char *path;
  uint8_t *bytes; /* exactly n, at a multiple of 64 as sections of a mapping are; NULL when empty */
  size_t n;
} memory_file;

static memory_file files[MOST_FILES];
static size_t n_files;

/* The struct behind base/file.h's pointer; ours alone, since every function that looks inside is replaced. */
struct mapped_file {
  size_t users;
  uint8_t *bytes;
  size_t size;
  char path[];
};

static char *copy_text(const char *text) {
  size_t n = strlen(text) + 1;
  return memcpy(npuc_xmalloc(n), text, n);
}

static uint8_t *copy_bytes(const void *bytes, size_t n) {
  void *copy = NULL;
  if (n == 0) return NULL;
  if (posix_memalign(&copy, 64, n) != 0) abort();
  return memcpy(copy, bytes, n);
}

static memory_file *find(const char *path) {
  for (size_t i = 0; i < n_files; i++)
    if (strcmp(files[i].path, path) == 0) return &files[i];
  return NULL;
}

void fuzz_files_put(const char *path, const void *bytes, size_t n) {
  memory_file *f = find(path);
  if (!f) {
    if (n_files == MOST_FILES) abort();
    f = &files[n_files++];
    f->path = copy_text(path);
  } else {
    free(f->bytes);
  }
  f->bytes = copy_bytes(bytes, n);
  f->n = n;
}

const uint8_t *fuzz_files_get(const char *path, size_t *out_n) {
  const memory_file *f = find(path);
  *out_n = f ? f->n : 0;
  return f ? f->bytes : NULL;
}

void fuzz_files_clear(void) {
  for (size_t i = 0; i < n_files; i++) {
    free(files[i].path);
    free(files[i].bytes);
  }
  n_files = 0;
}

static bool is_folder(const char *path) {
  size_t n = strlen(path);
  for (size_t i = 0; i < n_files; i++)
    if (strncmp(files[i].path, path, n) == 0 && files[i].path[n] == '/') return true;
  return false;
}

/* -- base/file.h -- */
npuc_status __wrap_npuc_file_map(diag *d, const char *path, mapped_file **out_file);
mapped_file *__wrap_npuc_file_retain(mapped_file *file);
void __wrap_npuc_file_release(mapped_file *file);
const uint8_t *__wrap_npuc_file_bytes(const mapped_file *file);
size_t __wrap_npuc_file_size(const mapped_file *file);
const char *__wrap_npuc_file_path(const mapped_file *file);
void __wrap_npuc_file_drop(const mapped_file *file, size_t offset, size_t bytes);
bool __wrap_npuc_path_exists(const char *path);
bool __wrap_npuc_path_is_dir(const char *path);
npuc_status __wrap_npuc_dir_list(diag *d, arena *a, const char *path, char ***out_names, size_t *out_count);

npuc_status __wrap_npuc_file_map(diag *d, const char *path, mapped_file **out_file) {
  *out_file = NULL;
  const memory_file *f = find(path);
  if (!f) return npuc_fail(d, NPUC_DIAG_E0003, &(diag_place){.file = path}, "%s", is_folder(path) ? "it is a folder" : strerror(ENOENT));
  size_t n = strlen(path) + 1;
  mapped_file *m = npuc_xcalloc(1, sizeof *m + n);
  memcpy(m->path, path, n);
  m->users = 1;
  m->size = f->n;
  m->bytes = copy_bytes(f->bytes, f->n); /* of its own: what is used after its release is seen */
  *out_file = m;
  return NPUC_OK;
}

mapped_file *__wrap_npuc_file_retain(mapped_file *file) {
  if (file) file->users++;
  return file;
}

void __wrap_npuc_file_release(mapped_file *file) {
  if (!file || --file->users > 0) return;
  free(file->bytes);
  free(file);
}

const uint8_t *__wrap_npuc_file_bytes(const mapped_file *file) { return file->bytes; }
size_t __wrap_npuc_file_size(const mapped_file *file) { return file->size; }
const char *__wrap_npuc_file_path(const mapped_file *file) { return file->path; }
void __wrap_npuc_file_drop(const mapped_file *file, size_t offset, size_t bytes) { (void)file, (void)offset, (void)bytes; }
bool __wrap_npuc_path_exists(const char *path) { return find(path) || is_folder(path); }
bool __wrap_npuc_path_is_dir(const char *path) { return !find(path) && is_folder(path); }

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

npuc_status __wrap_npuc_dir_list(diag *d, arena *a, const char *path, char ***out_names, size_t *out_count) {
  char *names[MOST_FILES];
  size_t n = 0, length = strlen(path);
  *out_names = NULL;
  *out_count = 0;
  if (!is_folder(path)) return npuc_fail(d, NPUC_DIAG_E0003, &(diag_place){.file = path}, "%s", strerror(ENOENT));
  for (size_t i = 0; i < n_files; i++) {
    if (strncmp(files[i].path, path, length) != 0 || files[i].path[length] != '/') continue;
    const char *name = files[i].path + length + 1;
    size_t size = strcspn(name, "/");
    bool seen = false;
    for (size_t k = 0; k < n; k++) seen |= strlen(names[k]) == size && strncmp(names[k], name, size) == 0;
    if (!seen) names[n++] = npuc_arena_strn(a, name, size);
  }
  qsort(names, n, sizeof *names, compare_names);
  *out_names = npuc_arena_copy(a, names, n * sizeof *names);
  *out_count = n;
  return NPUC_OK;
}

/* -- writing: into memory, with its name at commit -- */
struct file_writer {
  char *path;
  uint8_t *bytes;
  size_t n, capacity;
};

npuc_status __wrap_npuc_writer_create(diag *d, const char *path, file_writer **out_writer);
npuc_status __wrap_npuc_writer_write(file_writer *w, const void *bytes, size_t n);
npuc_status __wrap_npuc_writer_printf(file_writer *w, const char *format, ...) NPUC_PRINTF(2, 3);
uint64_t __wrap_npuc_writer_offset(const file_writer *w);
npuc_status __wrap_npuc_writer_commit(file_writer *w);
void __wrap_npuc_writer_abandon(file_writer *w);

npuc_status __wrap_npuc_writer_create(diag *d, const char *path, file_writer **out_writer) {
  (void)d;
  *out_writer = npuc_xcalloc(1, sizeof **out_writer);
  (*out_writer)->path = copy_text(path);
  return NPUC_OK;
}

npuc_status __wrap_npuc_writer_write(file_writer *w, const void *bytes, size_t n) {
  if (n > w->capacity - w->n) {
    w->capacity = 2 * w->capacity + n;
    w->bytes = npuc_xrealloc(w->bytes, w->capacity);
  }
  if (n) memcpy(w->bytes + w->n, bytes, n);
  w->n += n;
  return NPUC_OK;
}

npuc_status __wrap_npuc_writer_printf(file_writer *w, const char *format, ...) {
  arena *a = npuc_arena_create();
  va_list args;
  va_start(args, format);
  const char *text = npuc_arena_vprintf(a, format, args);
  va_end(args);
  npuc_status status = __wrap_npuc_writer_write(w, text, strlen(text));
  npuc_arena_destroy(a);
  return status;
}

uint64_t __wrap_npuc_writer_offset(const file_writer *w) { return w->n; }

void __wrap_npuc_writer_abandon(file_writer *w) {
  if (!w) return;
  free(w->path);
  free(w->bytes);
  free(w);
}

npuc_status __wrap_npuc_writer_commit(file_writer *w) {
  fuzz_files_put(w->path, w->bytes, w->n);
  __wrap_npuc_writer_abandon(w);
  return NPUC_OK;
}

npuc_status __wrap_npuc_file_write_all(diag *d, const char *path, const void *bytes, size_t n);
npuc_status __wrap_npuc_file_write_all(diag *d, const char *path, const void *bytes, size_t n) {
  (void)d;
  fuzz_files_put(path, bytes, n);
  return NPUC_OK;
}

/* -- others that ask for names -- */
char *__wrap_realpath(const char *path, char *resolved);

/* There are no symbolic links here. */
char *__wrap_realpath(const char *path, char *resolved) {
  (void)resolved;
  if (strcmp(path, ".") == 0) return copy_text("/here");
  if (!find(path) && !is_folder(path)) {
    errno = ENOENT;
    return NULL;
  }
  size_t n = strlen(path);
  char *real = npuc_xmalloc(n + 7);
  memcpy(real, path[0] == '/' ? "" : "/here/", path[0] == '/' ? 0 : 6);
  memcpy(real + (path[0] == '/' ? 0 : 6), path, n + 1);
  return real;
}
