/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: a mapping with a count of its users, so that a constant in a graph is a view into the file it came from. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"

struct mapped_file {
  atomic_size_t users;
  const uint8_t *bytes;
  size_t size;
  char path[];
};

static npuc_status fail_path(diag *d, diag_code code, const char *path, const char *reason) {
  diag_place place = {.file = path};
  return npuc_fail(d, code, &place, "%s", reason);
}

/* A path that leads nowhere is the caller's slip; the rest is the machine's. */
diag_code npuc_open_code(int error) {
  return error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG || error == ELOOP ? NPUC_DIAG_E0008 : NPUC_DIAG_E0003;
}

/* Maps an open file; on failure returns why (errno's text or ours), else NULL. */
static const char *map_descriptor(int fd, diag_code *code, mapped_file *file) {
  struct stat info;
  *code = NPUC_DIAG_E0006;
  if (fstat(fd, &info) != 0) return strerror(errno);
  if (!S_ISREG(info.st_mode)) {
    *code = NPUC_DIAG_E0008;
    return S_ISDIR(info.st_mode) ? "it is a folder" : "it is not a regular file";
  }
  if ((uintmax_t)info.st_size > SIZE_MAX) return "it is larger than the address space";
  file->size = (size_t)info.st_size;
  if (file->size == 0) return NULL;
  void *bytes = mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (bytes == MAP_FAILED) return strerror(errno);
  file->bytes = bytes;
  return NULL;
}

npuc_status npuc_file_map(diag *d, const char *path, mapped_file **out_file) {
  *out_file = NULL;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer must not hang us */
  if (fd < 0) return fail_path(d, npuc_open_code(errno), path, strerror(errno));
  size_t path_bytes = strlen(path) + 1;
  mapped_file *file = npuc_xcalloc(1, sizeof *file + path_bytes);
  memcpy(file->path, path, path_bytes);
  atomic_init(&file->users, 1);
  diag_code code;
  const char *problem = map_descriptor(fd, &code, file);
  npuc_status status = problem ? fail_path(d, code, path, problem) : NPUC_OK;
  (void)close(fd);
  if (status != NPUC_OK) {
    free(file);
    return status;
  }
  *out_file = file;
  return NPUC_OK;
}

mapped_file *npuc_file_retain(mapped_file *file) {
  if (file) atomic_fetch_add(&file->users, 1);
  return file;
}

void npuc_file_release(mapped_file *file) {
  if (!file || atomic_fetch_sub(&file->users, 1) != 1) return;
  if (file->bytes) (void)munmap((void *)(uintptr_t)file->bytes, file->size);
  free(file);
}

const uint8_t *npuc_file_bytes(const mapped_file *file) { return file->bytes; }

size_t npuc_file_size(const mapped_file *file) { return file->size; }

const char *npuc_file_path(const mapped_file *file) { return file->path; }

void npuc_file_drop(const mapped_file *file, size_t offset, size_t bytes) {
  if (!file->bytes || offset >= file->size) return;
  if (bytes > file->size - offset) bytes = file->size - offset;
  long page = sysconf(_SC_PAGESIZE);
  size_t mask = page > 0 ? (size_t)page - 1 : 4095;
  /* Whole pages inside the range only: a page shared with a neighbour may still be in use. The mapping begins at a page. */
  size_t begin = (offset + mask) & ~mask, end = (offset + bytes) & ~mask;
  if (offset + bytes == file->size) end = file->size;
  if (begin < end) npuc_os_drop_pages(file->bytes + begin, end - begin);
}
