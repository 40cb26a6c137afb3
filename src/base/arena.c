/* SPDX-License-Identifier: Apache-2.0 */
/* An arena is a list of blocks; the newest is bumped, and a request that does not fit opens the next one, larger each time up to
 * a limit. A request larger than a block gets a block of its own, put behind the current one, so that the room left in the
 * current block is not lost. */
#include "base/arena.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limit.h"
#include "base/os.h"

#define ALIGNMENT ((size_t)16)
#define FIRST_BLOCK ((size_t)16 << 10)
#define LARGE_PAGE ((size_t)2 << 20)
#define LARGEST_BLOCK (2 * LARGE_PAGE - sizeof(block))

typedef struct block {
  struct block *next; /* older */
  size_t used, capacity;
  _Alignas(16) unsigned char bytes[];
} block;

struct arena {
  block *newest;
  block *first;      /* kept by reset */
  size_t next_block; /* capacity of the next ordinary block */
  size_t used;
};

/* The one process-wide setting: documented as set once, before any other call; atomic so that a late set is not a data race. */
static _Atomic(void (*)(size_t)) oom_handler;

void npuc_set_oom_handler(void (*handler)(size_t bytes)) { atomic_store(&oom_handler, handler); }

_Noreturn static void out_of_memory(size_t bytes) {
  void (*handler)(size_t) = atomic_load(&oom_handler);
  if (handler) handler(bytes);
  abort();
}

void *npuc_xmalloc(size_t bytes) {
  void *p = malloc(bytes ? bytes : 1);
  if (!p) out_of_memory(bytes);
  return p;
}

void *npuc_xcalloc(size_t count, size_t bytes) {
  void *p = calloc(count ? count : 1, bytes ? bytes : 1);
  if (!p) out_of_memory(count > SIZE_MAX / (bytes ? bytes : 1) ? SIZE_MAX : count * bytes);
  return p;
}

void *npuc_xrealloc(void *old, size_t bytes) {
  void *p = realloc(old, bytes ? bytes : 1);
  if (!p) out_of_memory(bytes);
  return p;
}

static bool is_large(size_t capacity) { return capacity >= LARGE_PAGE - sizeof(block); }

/* Blocks for large modules lie on large pages: a graph of 100,000 nodes would fault more than it works. They count against --max-memory, so that a file
 * cannot take the machine by the number of its nodes or names either. */
static block *new_block(size_t capacity) {
  if (capacity > SIZE_MAX - sizeof(block) - LARGE_PAGE) out_of_memory(SIZE_MAX);
  size_t bytes = sizeof(block) + capacity;
  block *b;
  if (is_large(capacity)) {
    bytes = (bytes + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
    if (!npuc_memory_claim(bytes)) out_of_memory(bytes);
    b = aligned_alloc(LARGE_PAGE, bytes);
    if (!b) {
      npuc_memory_give_back(bytes);
      out_of_memory(bytes);
    }
    npuc_os_large_pages(b, bytes);
  } else {
    b = npuc_xmalloc(bytes);
  }
  b->next = NULL;
  b->used = 0;
  b->capacity = bytes - sizeof(block);
  return b;
}

arena *npuc_arena_create(void) {
  arena *a = npuc_xmalloc(sizeof *a);
  a->first = a->newest = new_block(FIRST_BLOCK);
  a->next_block = 2 * FIRST_BLOCK;
  a->used = 0;
  return a;
}

static void free_blocks(block *b, const block *kept) {
  while (b) {
    block *next = b->next;
    if (b != kept) {
      if (is_large(b->capacity)) npuc_memory_give_back(sizeof(block) + b->capacity);
      free(b);
    }
    b = next;
  }
}

void npuc_arena_destroy(arena *a) {
  if (!a) return;
  free_blocks(a->newest, NULL);
  free(a);
}

void npuc_arena_reset(arena *a) {
  free_blocks(a->newest, a->first);
  a->first->next = NULL;
  a->first->used = 0;
  a->newest = a->first;
  a->next_block = 2 * FIRST_BLOCK;
  a->used = 0;
}

void *npuc_arena_alloc(arena *a, size_t bytes) {
  if (bytes > SIZE_MAX / 2) out_of_memory(bytes);
  /* At least one unit, so that even empty requests have addresses of their own. */
  size_t rounded = bytes ? (bytes + ALIGNMENT - 1) & ~(ALIGNMENT - 1) : ALIGNMENT;
  block *b = a->newest;
  if (rounded > b->capacity - b->used) {
    if (rounded > a->next_block / 4) {
      block *own = new_block(rounded);
      own->next = b->next;
      b->next = own;
      b = own;
    } else {
      block *fresh = new_block(a->next_block);
      fresh->next = b;
      a->newest = b = fresh;
      a->next_block = a->next_block < LARGEST_BLOCK / 2 ? a->next_block * 2 : LARGEST_BLOCK;
    }
  }
  void *p = b->bytes + b->used;
  b->used += rounded;
  a->used += rounded;
  return memset(p, 0, rounded);
}

void *npuc_arena_array(arena *a, size_t count, size_t bytes) {
  if (bytes && count > SIZE_MAX / bytes) out_of_memory(SIZE_MAX);
  return npuc_arena_alloc(a, count * bytes);
}

void *npuc_arena_copy(arena *a, const void *bytes, size_t n) {
  void *p = npuc_arena_alloc(a, n);
  if (n) memcpy(p, bytes, n);
  return p;
}

char *npuc_arena_strn(arena *a, const char *text, size_t n) {
  if (n == SIZE_MAX) out_of_memory(n);
  char *p = npuc_arena_alloc(a, n + 1);
  if (n) memcpy(p, text, n);
  return p;
}

char *npuc_arena_str(arena *a, const char *text) { return npuc_arena_strn(a, text, strlen(text)); }

char *npuc_arena_vprintf(arena *a, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  char *p = npuc_arena_alloc(a, n > 0 ? (size_t)n + 1 : 1); /* zeroed: an encoding error gives "" */
  if (n > 0) (void)vsnprintf(p, (size_t)n + 1, format, again);
  va_end(again);
  return p;
}

char *npuc_arena_printf(arena *a, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *p = npuc_arena_vprintf(a, format, args);
  va_end(args);
  return p;
}

void *npuc_arena_grow(arena *a, void *array, size_t count, size_t need, size_t element_bytes, size_t *capacity) {
  if (need <= *capacity) return array;
  size_t larger = *capacity > SIZE_MAX / 2 ? need : *capacity * 2;
  if (larger < need) larger = need;
  if (larger < 8) larger = 8;
  void *fresh = npuc_arena_array(a, larger, element_bytes);
  if (count) memcpy(fresh, array, count * element_bytes);
  *capacity = larger;
  return fresh;
}

size_t npuc_arena_used(const arena *a) { return a->used; }

/* Stands before the aligned bytes. */
typedef struct buffer_head {
  uintptr_t whole; /* address of the block */
  size_t bytes;
} buffer_head;

/* calloc's pages are zeroed by the system when they are first touched: a large claim costs nothing until it is used. */
void *npuc_buffer_create(size_t bytes) {
  enum { ALIGN = 64 };
  buffer_head head = {.bytes = bytes};
  if (bytes > SIZE_MAX / 2 || !npuc_memory_claim(bytes)) return NULL;
  head.whole = (uintptr_t)calloc(1, bytes + ALIGN + sizeof head);
  if (!head.whole) {
    npuc_memory_give_back(bytes);
    return NULL;
  }
  uintptr_t aligned = (head.whole + sizeof head + ALIGN - 1) / ALIGN * ALIGN;
  memcpy((void *)(aligned - sizeof head), &head, sizeof head);
  return (void *)aligned;
}

void npuc_buffer_destroy(void *buffer) {
  if (!buffer) return;
  buffer_head head;
  memcpy(&head, (char *)buffer - sizeof head, sizeof head);
  npuc_memory_give_back(head.bytes);
  free((void *)head.whole);
}
