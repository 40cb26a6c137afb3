/* SPDX-License-Identifier: Apache-2.0 */
/* Counted bytes: a mapped file or a buffer of ours. The count is atomic because executors in several threads share weights. */
#include <stdatomic.h>
#include <stdlib.h>

#include "tensor/tensor.h"

struct blob {
  atomic_size_t references;
  mapped_file *file; /* NULL: `data` is a buffer of ours */
  void *data;
  size_t bytes;
};

static blob *new_blob(void) {
  blob *b = npuc_xcalloc(1, sizeof *b);
  atomic_init(&b->references, 1);
  return b;
}

blob *npuc_blob_from_file(mapped_file *file) {
  blob *b = new_blob();
  b->file = npuc_file_retain(file);
  b->data = (void *)(uintptr_t)npuc_file_bytes(file); /* read-only memory; documented */
  b->bytes = npuc_file_size(file);
  return b;
}

blob *npuc_blob_create(size_t bytes) {
  void *data = npuc_buffer_create(bytes);
  if (!data) return NULL;
  blob *b = new_blob();
  b->data = data;
  b->bytes = bytes;
  return b;
}

blob *npuc_blob_retain(blob *b) {
  if (b) atomic_fetch_add_explicit(&b->references, 1, memory_order_relaxed);
  return b;
}

void npuc_blob_release(blob *b) {
  if (!b || atomic_fetch_sub_explicit(&b->references, 1, memory_order_acq_rel) != 1) return;
  if (b->file)
    npuc_file_release(b->file);
  else
    npuc_buffer_destroy(b->data);
  free(b);
}

void *npuc_blob_data(const blob *b) { return b->data; }

size_t npuc_blob_size(const blob *b) { return b->bytes; }

bool npuc_blob_locate(const blob *b, const void *data, const mapped_file **out_file, size_t *out_offset) {
  if (!b || !b->file) return false;
  uintptr_t begin = (uintptr_t)b->data, at = (uintptr_t)data;
  if (at < begin || at - begin > b->bytes) return false;
  *out_file = b->file;
  *out_offset = at - begin;
  return true;
}
