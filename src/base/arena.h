/* SPDX-License-Identifier: Apache-2.0 */
/* Arena: memory with one owner and one end. A module owns one for its graph objects, a pass gets a scratch one; nothing in
 * between is freed singly. Pointers are stable until destroy or reset.
 *
 * Small growth that fails calls the out-of-memory handler (npuc_set_oom_handler), which does not return: an arena never returns
 * NULL, so that code that builds graphs is not half error paths. No size read from a file reaches an arena before it was
 * checked against the file's length; tensors and other large memory come from npuc_buffer_create, which can fail. */
#ifndef NPUC_BASE_ARENA_H
#define NPUC_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "base/status.h"
#include "npuc/library.h"

/* For the compiler and the analyzer: these functions do not return NULL. */
#if defined(__GNUC__)
#define NPUC_NEVER_NULL __attribute__((returns_nonnull))
#else
#define NPUC_NEVER_NULL
#endif

typedef struct arena arena;

arena *npuc_arena_create(void) NPUC_NEVER_NULL;
void npuc_arena_destroy(arena *a);
/* Forgets everything, keeps the first block. */
void npuc_arena_reset(arena *a);
/* Zeroed, aligned to 16. bytes may be 0 (a valid unique pointer). */
void *npuc_arena_alloc(arena *a, size_t bytes) NPUC_NEVER_NULL;
/* count * bytes with overflow checked (overflow goes to the out-of-memory handler). */
void *npuc_arena_array(arena *a, size_t count, size_t bytes) NPUC_NEVER_NULL;
void *npuc_arena_copy(arena *a, const void *bytes, size_t n) NPUC_NEVER_NULL;
char *npuc_arena_str(arena *a, const char *text) NPUC_NEVER_NULL;
char *npuc_arena_strn(arena *a, const char *text, size_t n) NPUC_NEVER_NULL;
char *npuc_arena_printf(arena *a, const char *format, ...) NPUC_PRINTF(2, 3) NPUC_NEVER_NULL;
char *npuc_arena_vprintf(arena *a, const char *format, va_list args) NPUC_NEVER_NULL;
/* Grows an array that lives in the arena: returns room for at least `need` elements, the first `count` copied. *capacity is updated. */
void *npuc_arena_grow(arena *a, void *array, size_t count, size_t need, size_t element_bytes, size_t *capacity);
size_t npuc_arena_used(const arena *a);

#define NPUC_NEW(a, type) ((type *)npuc_arena_alloc((a), sizeof(type)))
#define NPUC_NEW_ARRAY(a, count, type) ((type *)npuc_arena_array((a), (count), sizeof(type)))

/* Large memory: 64-byte aligned, zeroed, size checked, within npuc_memory_limit. NULL is the caller's to report (npuc_fail_memory). */
void *npuc_buffer_create(size_t bytes);
void npuc_buffer_destroy(void *buffer);

/* malloc family for growing host structures: call the out-of-memory handler instead of returning NULL. Free with free(). */
void *npuc_xmalloc(size_t bytes) NPUC_NEVER_NULL;
void *npuc_xcalloc(size_t count, size_t bytes) NPUC_NEVER_NULL;
void *npuc_xrealloc(void *old, size_t bytes) NPUC_NEVER_NULL;

#endif
