/* SPDX-License-Identifier: Apache-2.0 */
/* A list of buffers that are bumped one after the other; a request that fits in none gets a new one. */
#include "exec/heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/limit.h"
#include "tensor/reference.h"

enum { LEAST_BUFFER = 64 << 10 };

typedef struct heap_buffer {
  char *memory;
  size_t bytes, used;
} heap_buffer;

struct run_heap {
  heap_buffer *buffers;
  size_t n, capacity, now; /* those before `now` are full */
};

run_heap *npuc_run_heap_create(void) { return npuc_xcalloc(1, sizeof(run_heap)); }

void npuc_run_heap_destroy(run_heap *h) {
  if (!h) return;
  for (size_t i = 0; i < h->n; i++) npuc_buffer_destroy(h->buffers[i].memory);
  free(h->buffers);
  free(h);
}

void npuc_run_heap_reset(run_heap *h) {
  for (size_t i = 0; i < h->n; i++) h->buffers[i].used = 0;
  h->now = 0;
}

static heap_buffer *add_buffer(run_heap *h, size_t bytes) {
  size_t size = h->n ? 2 * h->buffers[0].bytes << (h->n < 6 ? h->n - 1 : 5) : LEAST_BUFFER, most = (size_t)LEAST_BUFFER << 6;
  if (size > most) size = most;
  if (size < bytes) size = bytes;
  char *memory = npuc_buffer_create(size);
  if (!memory) memory = npuc_buffer_create(size = bytes); /* the last that there is */
  if (!memory) return NULL;
  if (h->n == h->capacity) {
    h->capacity = h->capacity ? 2 * h->capacity : 8;
    h->buffers = npuc_xrealloc(h->buffers, h->capacity * sizeof *h->buffers);
  }
  h->buffers[h->n] = (heap_buffer){.memory = memory, .bytes = size};
  return &h->buffers[h->n++];
}

void *npuc_run_heap_take(void *heap, size_t bytes) {
  run_heap *h = heap;
  if (bytes > SIZE_MAX - 64) return NULL;
  bytes = (bytes + 63) & ~(size_t)63;
  while (h->now < h->n && h->buffers[h->now].bytes - h->buffers[h->now].used < bytes) h->now++;
  heap_buffer *b = h->now < h->n ? &h->buffers[h->now] : add_buffer(h, bytes);
  if (!b) return NULL;
  void *memory = b->memory + b->used;
  b->used += bytes;
  return memset(memory, 0, bytes);
}

static void *take(diag *d, run_heap *h, size_t bytes, npuc_status *out_status) {
  void *memory = npuc_run_heap_take(h, bytes);
  *out_status = memory ? NPUC_OK : npuc_fail_memory(d, NULL, bytes, "strings and sequences");
  return memory;
}

static npuc_status copy_text(diag *d, run_heap *h, text_span text, tensor *to, int64_t at) {
  npuc_status status = NPUC_OK;
  void *memory = text.n ? take(d, h, npuc_text_bytes(text.n), &status) : NULL;
  if (memory) npuc_reference_set(to, at, npuc_text_place(memory, text));
  return status;
}

static npuc_status copy_item(diag *d, run_heap *h, const tensor *item, tensor *to, int64_t at) {
  npuc_status status;
  tensor *kept = take(d, h, sizeof *kept, &status);
  if (!kept) return status;
  npuc_reference_set(to, at, kept);
  return npuc_run_heap_copy(d, h, item, kept);
}

npuc_status npuc_run_heap_copy(diag *d, run_heap *h, const tensor *t, tensor *out_tensor) {
  npuc_status status = NPUC_OK;
  tensor copy = *t;
  copy.owner = NULL;
  copy.data = NULL;
  if (t->bytes && !(copy.data = take(d, h, t->bytes, &status))) return status;
  if (npuc_dtype_is_reference(t->type)) {
    int64_t n = npuc_tensor_elements(t);
    for (int64_t i = 0; i < n && status == NPUC_OK; i++)
      status =
          t->type == DTYPE_STRING ? copy_text(d, h, npuc_tensor_text(t, i), &copy, i) : copy_item(d, h, npuc_tensor_item(t, i), &copy, i);
  } else if (t->bytes) {
    memcpy(copy.data, t->data, t->bytes);
  }
  *out_tensor = copy;
  return status;
}
