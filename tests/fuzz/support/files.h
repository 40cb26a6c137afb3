/* SPDX-License-Identifier: Apache-2.0 */
/* Files that exist in memory only. The linker puts this file's functions in place of base/file.h's (and of realpath:
 * cmake/NpucFuzz.cmake), so a parser that takes a path reads from memory: no system call in an execution, and each file is a heap block of exactly its
 * length, so that a sanitizer sees the first byte read behind its end, which a page of a real mapping hides. */
#ifndef NPUC_TESTS_FUZZ_FILES_H
#define NPUC_TESTS_FUZZ_FILES_H

#include <stddef.h>
#include <stdint.h>

/* A file of these bytes (copied); the folders above it exist too. Writing a name again replaces it. */
void fuzz_files_put(const char *path, const void *bytes, size_t n);
/* What a writer of the code under test left under this name, or NULL. */
const uint8_t *fuzz_files_get(const char *path, size_t *out_n);
void fuzz_files_clear(void);

#endif
