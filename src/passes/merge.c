/* SPDX-License-Identifier: Apache-2.0 */
/* Equal nodes are computed once, equal small constants kept once. One table from hash to the first of its kind, nodes in order: linear. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "passes/internal.h"

/* Larger constants are not read for this: equal weights are rare, and reading them all would page in the model. */
enum { MAX_COMPARED_BYTES = 4096 };

typedef struct entry {
  uint64_t hash;
  void *item;
} entry;

/* Open addressing, power of two, never more than half full. */
typedef struct table {
  entry *entries;
  size_t mask;
} table;

static table table_for(arena *a, size_t items) {
  size_t capacity = 16;
  while (capacity < 2 * items) capacity *= 2;
  return (table){NPUC_NEW_ARRAY(a, capacity, entry), capacity - 1};
}

/* The earlier item that equals this one, or NULL after putting this one in. */
static void *find_or_add(table *t, uint64_t hash, void *item, bool (*equal)(const void *a, const void *b)) {
  size_t at = (size_t)hash & t->mask;
  while (t->entries[at].item) {
    if (t->entries[at].hash == hash && equal(t->entries[at].item, item)) return t->entries[at].item;
    at = (at + 1) & t->mask;
  }
  t->entries[at] = (entry){hash, item};
  return NULL;
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t n) {
  uint64_t next = npuc_hash_bytes(bytes, n);
  hash ^= next + UINT64_C(0x9e3779b97f4a7c15) + (hash << 6) + (hash >> 2);
  hash *= UINT64_C(0xff51afd7ed558ccd);
  return hash ^ hash >> 33;
}

static uint64_t hash_tensor(uint64_t hash, const tensor *t) {
  if (!t) return hash;
  hash = mix(hash, &t->type, sizeof t->type);
  hash = mix(hash, t->shape.dims, (size_t)t->shape.rank * sizeof(dim));
  if (npuc_dtype_is_reference(t->type)) return hash; /* addresses mean nothing */
  return t->bytes <= MAX_COMPARED_BYTES ? mix(hash, t->data, t->bytes) : hash;
}

static uint64_t hash_attribute(uint64_t hash, const attr_field *f, const void *at) {
  switch (f->kind) {
    case ATTR_INT:
      return mix(hash, at, sizeof(int64_t));
    case ATTR_FLOAT:
      return mix(hash, at, sizeof(float));
    case ATTR_STRING: {
      const char *text = *(const char *const *)at;
      return text ? mix(hash, text, strlen(text)) : hash;
    }
    case ATTR_INTS:
      return mix(hash, ((const int_list *)at)->values, (size_t)((const int_list *)at)->count * sizeof(int64_t));
    case ATTR_FLOATS:
      return mix(hash, ((const float_list *)at)->values, (size_t)((const float_list *)at)->count * sizeof(float));
    case ATTR_TENSOR:
      return hash_tensor(hash, *(const tensor *const *)at);
    case ATTR_GRAPH:
      return hash;
    case ATTR_TYPE:
      return mix(hash, at, sizeof(dtype));
    case ATTR_STRINGS: {
      const string_list *l = at;
      for (int32_t i = 0; i < l->count; i++) hash = mix(hash, l->values[i], strlen(l->values[i]) + 1);
      return hash;
    }
  }
  return hash;
}

static uint64_t hash_node(const node *n) {
  uint64_t hash = mix((uint64_t)n->op->id + 1, &n->n_outputs, sizeof n->n_outputs);
  for (int32_t i = 0; i < n->n_inputs; i++) {
    uint32_t id = n->inputs[i] ? n->inputs[i]->id : UINT32_MAX;
    hash = mix(hash, &id, sizeof id);
  }
  for (int32_t i = 0; i < n->op->n_attributes; i++) {
    hash = hash_attribute(hash, &n->op->attributes[i], (const char *)n->attributes + n->op->attributes[i].offset);
  }
  return hash;
}

static bool equal_nodes(const void *x, const void *y) {
  const node *a = x, *b = y;
  if (a->op != b->op || a->n_inputs != b->n_inputs || a->n_outputs != b->n_outputs) return false;
  for (int32_t i = 0; i < a->n_inputs; i++) {
    if (a->inputs[i] != b->inputs[i]) return false;
  }
  for (int32_t i = 0; i < a->n_outputs; i++) {
    if (!a->outputs[i] != !b->outputs[i]) return false;
    if (a->outputs[i] && (a->outputs[i]->quant || b->outputs[i]->quant)) return false;
  }
  return npuc_attributes_equal(a->op, a->attributes, b->attributes);
}

static bool equal_constants(const void *x, const void *y) {
  const value *a = x, *b = y;
  return npuc_tensor_equal(a->constant, b->constant);
}

static bool has_output(const node *n) {
  for (int32_t i = 0; i < n->n_outputs; i++) {
    if (n->outputs[i] && n->outputs[i]->is_output) return true;
  }
  return false;
}

static bool merge_constants(pass_context *c, graph *g) {
  size_t n = 0, cursor = 0;
  void *item;
  value **constants = NPUC_NEW_ARRAY(c->scratch, npuc_map_count(g->values), value *);
  while (npuc_map_next(g->values, &cursor, NULL, &item)) {
    value *v = item;
    if (v->constant && v->constant->bytes <= MAX_COMPARED_BYTES && v->n_uses && !v->is_input && !v->is_output && !v->quant)
      constants[n++] = v;
  }
  table t = table_for(c->scratch, n);
  bool changed = false;
  for (size_t i = 0; i < n; i++) {
    value *first = find_or_add(&t, hash_tensor(1, constants[i]->constant), constants[i], equal_constants);
    if (!first || !npuc_pass_allow(c, "merge-equal-constants", PARITY_EXACT, constants[i]->uses[0].user)) continue;
    npuc_value_replace(constants[i], first);
    npuc_graph_remove_value(g, constants[i]);
    changed = true;
  }
  return changed;
}

/* Two nodes that both make graph outputs stay two: each output keeps its own producer. */
static bool merge_nodes(pass_context *c, graph *g) {
  table t = table_for(c->scratch, g->n_nodes);
  bool changed = false;
  NPUC_EACH_NODE_SAFE(g, n, after) {
    node *first = find_or_add(&t, hash_node(n), n, equal_nodes);
    if (!first || (has_output(first) && has_output(n)) || !npuc_pass_allow(c, "merge-equal-nodes", PARITY_EXACT, n)) continue;
    for (int32_t i = 0; i < n->n_outputs; i++) {
      if (n->outputs[i]) npuc_value_replace(n->outputs[i], first->outputs[i]);
    }
    npuc_graph_remove_node(g, n);
    changed = true;
  }
  return changed;
}

npuc_status npuc_merge_equal(pass_context *c, graph *g, bool *out_changed) {
  bool constants = merge_constants(c, g), nodes = merge_nodes(c, g);
  *out_changed = *out_changed || constants || nodes;
  return NPUC_OK;
}
