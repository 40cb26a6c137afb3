/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: the arena that everything of a model lives in, the symbols of its dims, and the counted bytes behind its constants. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/internal.h"
#include "tensor/reference.h"

module *npuc_module_create(void) {
  arena *a = npuc_arena_create();
  module *m = NPUC_NEW(a, module);
  m->arena = a;
  m->names = npuc_interner_create(a);
  m->symbol_dims = npuc_map_create(a);
  m->metadata = npuc_map_create(a);
  return m;
}

void npuc_module_destroy(module *m) {
  if (!m) return;
  for (size_t i = 0; i < m->n_blobs; i++) npuc_blob_release(m->blobs[i]);
  npuc_arena_destroy(m->arena);
}

/* One file's blob backs many constants in a row, so looking at the latest few finds nearly every repetition; an unnoticed one only
 * costs a reference. */
void npuc_module_keep_blob(module *m, blob *b) {
  enum { RECENT = 8 };
  if (!b) return;
  for (size_t i = m->n_blobs; i > 0 && i + RECENT > m->n_blobs; i--) {
    if (m->blobs[i - 1] == b) return;
  }
  m->blobs = npuc_arena_grow(m->arena, m->blobs, m->n_blobs, m->n_blobs + 1, sizeof *m->blobs, &m->blobs_capacity);
  m->blobs[m->n_blobs++] = npuc_blob_retain(b);
}

const tensor *npuc_module_tensor(module *m, const tensor *t, bool copy) {
  tensor *kept = NPUC_NEW(m->arena, tensor);
  *kept = *t;
  if (npuc_dtype_is_reference(t->type) && t->bytes) { /* counted bytes do not keep what they refer to */
    if (copy || t->owner) kept->data = npuc_references_copy(m->arena, t);
    kept->owner = NULL;
  } else if (t->owner)
    npuc_module_keep_blob(m, t->owner);
  else if (copy && t->bytes)
    kept->data = npuc_arena_copy(m->arena, t->data, t->bytes);
  return kept;
}

dim npuc_module_symbol(module *m, const char *name) {
  const dim *known = npuc_map_get(m->symbol_dims, name);
  if (known) return *known;
  assert(m->n_symbols < INT32_MAX);
  dim *made = NPUC_NEW(m->arena, dim);
  *made = dim_of_symbol((int32_t)m->n_symbols);
  m->symbols = npuc_arena_grow(m->arena, m->symbols, m->n_symbols, m->n_symbols + 1, sizeof *m->symbols, &m->symbols_capacity);
  m->symbols[m->n_symbols++] = npuc_intern(m->names, name);
  npuc_map_put(m->symbol_dims, name, made);
  return *made;
}

const char *npuc_module_symbol_name(const module *m, dim d) {
  if (!dim_is_symbol(d)) return NULL;
  size_t id = (size_t)dim_symbol_id(d);
  return id < m->n_symbols ? m->symbols[id] : NULL;
}

dim npuc_module_fresh_symbol(module *m) {
  for (;;) {
    char name[40];
    snprintf(name, sizeof name, "unk__%zu", m->next_fresh_symbol++);
    if (!npuc_map_get(m->symbol_dims, name)) return npuc_module_symbol(m, name);
  }
}
