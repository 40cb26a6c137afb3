/* SPDX-License-Identifier: Apache-2.0 */
/* Memory plan: each activation lives from the node that makes it to the last that reads it; first fit by offset, larger tensors first. Model inputs and outputs live throughout. */
#include <stdlib.h>

#include "runtime/session.h"

typedef struct life {
  size_t tensor, first, last, bytes;
} life;

enum { ALIGN = 64 };

static size_t aligned(size_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

static int larger_first(const void *a, const void *b) {
  const life *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

static size_t find_lives(const qgraph *g, bool share, life *lives) {
  size_t n = 0, forever = g->n_nodes + 1;
  size_t *index = npuc_xcalloc(g->n_tensors + 1, sizeof *index);
  for (size_t t = 0; t < g->n_tensors; t++) {
    if (g->tensors[t].role == QROLE_CONSTANT) continue;
    bool pinned = !share || g->tensors[t].role != QROLE_ACTIVATION;
    index[t] = n + 1;
    lives[n++] = (life){t, pinned ? 0 : forever, pinned ? forever : 0, aligned(g->tensors[t].bytes)};
  }
  for (size_t i = 0; i < g->n_nodes; i++) {
    const qnode *node = &g->nodes[i];
    for (int32_t k = 0; k < node->n_inputs + node->n_outputs; k++) {
      int32_t t = k < node->n_inputs ? node->inputs[k] : node->outputs[k - node->n_inputs];
      if (t < 0 || !index[t]) continue;
      life *l = &lives[index[t] - 1];
      if (i + 1 < l->first) l->first = i + 1;
      if (i + 1 > l->last) l->last = i + 1;
    }
  }
  free(index);
  return n;
}

static bool together(const life *a, const life *b) { return a->first <= b->last && b->first <= a->last; }

/* Lowest offset at which `l` overlaps none of the placed ones that live together with it. */
static size_t first_fit(const life *lives, const size_t *offsets, size_t placed, const life *l) {
  size_t offset = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t i = 0; i < placed; i++) {
      size_t at = offsets[lives[i].tensor];
      if (!together(&lives[i], l) || at >= offset + l->bytes || offset >= at + lives[i].bytes) continue;
      offset = at + lives[i].bytes;
      moved = true;
    }
  }
  return offset;
}

void npuc_plan_activations(arena *a, const qgraph *g, bool share, size_t **out_offsets, size_t *out_bytes) {
  life *lives = npuc_xcalloc(g->n_tensors + 1, sizeof *lives);
  size_t n = find_lives(g, share, lives);
  size_t *offsets = NPUC_NEW_ARRAY(a, g->n_tensors + 1, size_t);
  qsort(lives, n, sizeof *lives, larger_first);
  *out_bytes = 0;
  for (size_t i = 0; i < n; i++) {
    size_t at = first_fit(lives, offsets, i, &lives[i]);
    offsets[lives[i].tensor] = at;
    if (at + lives[i].bytes > *out_bytes) *out_bytes = at + lives[i].bytes;
  }
  free(lives);
  *out_offsets = offsets;
}
