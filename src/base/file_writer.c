/* SPDX-License-Identifier: Apache-2.0 */
/* Writing: beside the target, then one rename, so that at every moment the final name is the old file, the new file, or
 * nothing. A target that exists and is not a regular file (/dev/null, a pipe) is written straight: it cannot be renamed over. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define BUFFER_BYTES ((size_t)64 << 10)

struct file_writer {
  diag *d;
  char *path;
  char *temporary; /* NULL: written straight */
  int fd;
  npuc_status status; /* sticky */
  uint64_t offset;    /* bytes taken, buffered ones too */
  size_t buffered;
  uint8_t buffer[BUFFER_BYTES];
};

static npuc_status fail_writer(file_writer *w, const char *what, int error) {
  diag_place place = {.file = w->path};
  if (w->status != NPUC_OK) return w->status;
  w->status = npuc_fail(w->d, NPUC_DIAG_E0004, &place, "%s: %s", what, strerror(error));
  if (error == ENOSPC || error == EDQUOT) npuc_fix(w->d, "df -h '%s'", w->path);
  return w->status;
}

static void destroy_writer(file_writer *w) {
  if (w->fd >= 0) (void)close(w->fd);
  free(w->temporary);
  free(w->path);
  free(w);
}

static char *copy_text(const char *text) {
  size_t bytes = strlen(text) + 1;
  return memcpy(npuc_xmalloc(bytes), text, bytes);
}

/* Opens the temporary file, or the target itself where it is a device; -1 with errno. */
static int open_target(file_writer *w) {
  struct stat info;
  if (stat(w->path, &info) == 0 && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) {
      errno = EISDIR;
      return -1;
    }
    return open(w->path, O_WRONLY | O_CLOEXEC);
  }
  size_t bytes = strlen(w->path) + 64;
  w->temporary = npuc_xmalloc(bytes);
  (void)snprintf(w->temporary, bytes, "%s.npuc-tmp.%ld", w->path, (long)getpid());
  (void)unlink(w->temporary); /* of an earlier process with our number */
  int fd = open(w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) { /* not ours to remove */
    free(w->temporary);
    w->temporary = NULL;
  }
  return fd;
}

npuc_status npuc_writer_create(diag *d, const char *path, file_writer **out_writer) {
  *out_writer = NULL;
  file_writer *w = npuc_xmalloc(sizeof *w);
  w->d = d;
  w->path = copy_text(path);
  w->temporary = NULL;
  w->status = NPUC_OK;
  w->offset = 0;
  w->buffered = 0;
  w->fd = open_target(w);
  if (w->fd < 0) {
    npuc_status status = fail_writer(w, "cannot create it", errno);
    destroy_writer(w);
    return status;
  }
  *out_writer = w;
  return NPUC_OK;
}

static npuc_status write_out(file_writer *w, const uint8_t *p, size_t n) {
  while (n > 0) {
    ssize_t done = write(w->fd, p, n < (size_t)1 << 30 ? n : (size_t)1 << 30);
    if (done < 0) {
      if (errno == EINTR) continue;
      return fail_writer(w, "cannot write", errno);
    }
    p += done;
    n -= (size_t)done;
  }
  return NPUC_OK;
}

static npuc_status flush_buffer(file_writer *w) {
  size_t n = w->buffered;
  w->buffered = 0;
  return write_out(w, w->buffer, n);
}

npuc_status npuc_writer_write(file_writer *w, const void *bytes, size_t n) {
  NPUC_TRY(w->status);
  w->offset += n;
  if (n > BUFFER_BYTES - w->buffered) NPUC_TRY(flush_buffer(w));
  if (n >= BUFFER_BYTES) return write_out(w, bytes, n);
  if (n) memcpy(w->buffer + w->buffered, bytes, n);
  w->buffered += n;
  return NPUC_OK;
}

npuc_status npuc_writer_printf(file_writer *w, const char *format, ...) {
  char small[512];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(small, sizeof small, format, args);
  va_end(args);
  if (n < 0) return fail_writer(w, "cannot format", errno);
  if ((size_t)n < sizeof small) return npuc_writer_write(w, small, (size_t)n);
  char *large = npuc_xmalloc((size_t)n + 1);
  va_start(args, format);
  (void)vsnprintf(large, (size_t)n + 1, format, args);
  va_end(args);
  npuc_status status = npuc_writer_write(w, large, (size_t)n);
  free(large);
  return status;
}

uint64_t npuc_writer_offset(const file_writer *w) { return w->offset; }

/* The new name itself must reach the disk too. Some file systems refuse to sync a folder; the file is whole all the same. */
static void sync_folder(const char *path) {
  char *copy = copy_text(path);
  char *slash = strrchr(copy, '/');
  if (slash) slash[slash == copy] = '\0';
  int fd = open(slash ? copy : ".", O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (fd >= 0) {
    (void)fsync(fd);
    (void)close(fd);
  }
  free(copy);
}

npuc_status npuc_writer_commit(file_writer *w) {
  if (w->status == NPUC_OK) (void)flush_buffer(w);
  if (w->status == NPUC_OK && w->temporary && fsync(w->fd) != 0) (void)fail_writer(w, "cannot flush it to the disk", errno);
  int closed = close(w->fd);
  w->fd = -1;
  if (w->status == NPUC_OK && closed != 0) (void)fail_writer(w, "cannot close it", errno);
  if (w->status == NPUC_OK && w->temporary) {
    if (rename(w->temporary, w->path) == 0) {
      sync_folder(w->path);
    } else {
      (void)fail_writer(w, "cannot give it its name", errno);
    }
  }
  npuc_status status = w->status;
  if (status != NPUC_OK && w->temporary) (void)unlink(w->temporary);
  destroy_writer(w);
  return status;
}

void npuc_writer_abandon(file_writer *w) {
  if (!w) return;
  if (w->temporary) (void)unlink(w->temporary);
  destroy_writer(w);
}

npuc_status npuc_file_write_all(diag *d, const char *path, const void *bytes, size_t n) {
  file_writer *w;
  NPUC_TRY(npuc_writer_create(d, path, &w));
  npuc_status status = npuc_writer_write(w, bytes, n);
  npuc_status committed = npuc_writer_commit(w);
  return status != NPUC_OK ? status : committed;
}
