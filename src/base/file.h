/* SPDX-License-Identifier: Apache-2.0 */
/* Files. Reading is mapping: a `mapped_file` is counted, its bytes are views. Writing is beside and rename: a `file_writer` makes
 * PATH.npuc-tmp.PID beside the target and `commit` renames it, after fsync; `abandon` removes it. */
#ifndef NPUC_BASE_FILE_H
#define NPUC_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/diag.h"

typedef struct mapped_file mapped_file;

/* Read-only private mapping; an empty file maps to a NULL span of 0 bytes. */
npuc_status npuc_file_map(diag *d, const char *path, mapped_file **out_file) NPUC_MUST_USE;
mapped_file *npuc_file_retain(mapped_file *file);
void npuc_file_release(mapped_file *file);
const uint8_t *npuc_file_bytes(const mapped_file *file);
size_t npuc_file_size(const mapped_file *file);
const char *npuc_file_path(const mapped_file *file);
/* Tells the system that [offset, offset+bytes) will not be needed again soon (keeps O(layer) memory). */
void npuc_file_drop(const mapped_file *file, size_t offset, size_t bytes);

/* E0008 where errno says that a path to be read leads nowhere, else E0003. */
diag_code npuc_open_code(int error);

typedef struct file_writer file_writer;
npuc_status npuc_writer_create(diag *d, const char *path, file_writer **out_writer) NPUC_MUST_USE;
/* Buffered; a failure is sticky and reported by commit too. */
npuc_status npuc_writer_write(file_writer *w, const void *bytes, size_t n) NPUC_MUST_USE;
npuc_status npuc_writer_printf(file_writer *w, const char *format, ...) NPUC_PRINTF(2, 3) NPUC_MUST_USE;
uint64_t npuc_writer_offset(const file_writer *w);
/* Flush, fsync, rename. Destroys the writer whatever happens; on failure nothing has the final name. */
npuc_status npuc_writer_commit(file_writer *w) NPUC_MUST_USE;
void npuc_writer_abandon(file_writer *w);

/* Whole small file in one call (same atomicity). */
npuc_status npuc_file_write_all(diag *d, const char *path, const void *bytes, size_t n) NPUC_MUST_USE;

bool npuc_path_exists(const char *path);
bool npuc_path_is_dir(const char *path);
bool npuc_path_same(const char *a, const char *b);                    /* both exist and are one file, whatever the paths' spelling */
npuc_status npuc_dir_create(diag *d, const char *path) NPUC_MUST_USE; /* one level; existing is fine */
/* Names in a folder, sorted by bytes, without . and .. ; strings in the arena. */
npuc_status npuc_dir_list(diag *d, arena *a, const char *path, char ***out_names, size_t *out_count) NPUC_MUST_USE;
/* Removes a file, or a folder and what is in it; symbolic links are removed, never followed. What is not there is fine. */
npuc_status npuc_path_remove(diag *d, const char *path) NPUC_MUST_USE;
char *npuc_path_join(arena *a, const char *dir, const char *name);
char *npuc_path_dirname(arena *a, const char *path);
const char *npuc_path_basename(const char *path);

#endif
