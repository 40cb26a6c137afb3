/* SPDX-License-Identifier: Apache-2.0 */
/* The integer graph: building, reading, checking. */
#include "npu/qgraph.h"

#include <string.h>

qgraph *npuc_qgraph_create(arena *a) {
  qgraph *g = NPUC_NEW(a, qgraph);
  g->arena = a;
  return g;
}

static const char *copy_name(arena *a, const char *name) { return npuc_arena_str(a, name ? name : ""); }

int32_t npuc_qgraph_add_tensor(qgraph *g, const qtensor *t) {
  g->tensors = npuc_arena_grow(g->arena, g->tensors, g->n_tensors, g->n_tensors + 1, sizeof *g->tensors, &g->tensors_capacity);
  qtensor *copy = &g->tensors[g->n_tensors];
  *copy = *t;
  copy->name = copy_name(g->arena, t->name);
  copy->source = copy_name(g->arena, t->source);
  if (copy->bytes == 0) copy->bytes = (size_t)npuc_qtensor_elements(t) * npuc_dtype_bits(t->type) / 8;
  return (int32_t)g->n_tensors++;
}

static const int32_t *copy_indices(arena *a, const int32_t *indices, int32_t n) {
  return npuc_arena_copy(a, indices, (size_t)n * sizeof *indices);
}

static void add_index(qgraph *g, int32_t **array, size_t *count, size_t *capacity, int32_t value) {
  *array = npuc_arena_grow(g->arena, *array, *count, *count + 1, sizeof **array, capacity);
  (*array)[(*count)++] = value;
}

qnode *npuc_qgraph_add_node(qgraph *g, const qnode *n) {
  g->nodes = npuc_arena_grow(g->arena, g->nodes, g->n_nodes, g->n_nodes + 1, sizeof *g->nodes, &g->nodes_capacity);
  qnode *copy = &g->nodes[g->n_nodes++];
  *copy = *n;
  copy->name = copy_name(g->arena, n->name);
  copy->source = copy_name(g->arena, n->source);
  copy->place_reason = copy_name(g->arena, n->place_reason);
  copy->inputs = copy_indices(g->arena, n->inputs, n->n_inputs);
  copy->outputs = copy_indices(g->arena, n->outputs, n->n_outputs);
  qattr *attributes = npuc_arena_copy(g->arena, n->attributes, (size_t)n->n_attributes * sizeof *attributes);
  for (int32_t i = 0; i < n->n_attributes; i++)
    attributes[i].values = npuc_arena_copy(g->arena, attributes[i].values, attributes[i].count * sizeof(int64_t));
  copy->attributes = attributes;
  return copy;
}

void npuc_qgraph_add_input(qgraph *g, int32_t tensor) { add_index(g, &g->inputs, &g->n_inputs, &g->inputs_capacity, tensor); }

void npuc_qgraph_add_output(qgraph *g, int32_t tensor) { add_index(g, &g->outputs, &g->n_outputs, &g->outputs_capacity, tensor); }

const char *npuc_qop_name(qop op) {
  switch (op) {
#define QOP(name, code) \
  case QOP_##name:      \
    return #name;
#include "npu/qops.def"
#undef QOP
  }
  return NULL;
}

const int64_t *npuc_qnode_list(const qnode *n, qattr_key key, uint32_t *out_count) {
  for (int32_t i = 0; i < n->n_attributes; i++) {
    if (n->attributes[i].key == key) {
      *out_count = n->attributes[i].count;
      return n->attributes[i].values;
    }
  }
  *out_count = 0;
  return NULL;
}

int64_t npuc_qnode_int(const qnode *n, qattr_key key, int64_t missing) {
  uint32_t count;
  const int64_t *values = npuc_qnode_list(n, key, &count);
  return count > 0 ? values[0] : missing;
}

int64_t npuc_qtensor_elements(const qtensor *t) {
  int64_t count = 1;
  for (int32_t i = 0; i < t->rank; i++) count *= t->dims[i];
  return count;
}

int64_t npuc_qtensor_value(const qtensor *t, int64_t index) {
  const unsigned char *at = (const unsigned char *)t->data + (size_t)index * (npuc_dtype_bits(t->type) / 8);
  switch (t->type) {
    case DTYPE_U8:
      return *at;
    case DTYPE_I8:
      return *(const int8_t *)at;
    case DTYPE_U16: {
      uint16_t v;
      memcpy(&v, at, sizeof v);
      return v;
    }
    case DTYPE_I16: {
      int16_t v;
      memcpy(&v, at, sizeof v);
      return v;
    }
    case DTYPE_I32: {
      int32_t v;
      memcpy(&v, at, sizeof v);
      return v;
    }
    case DTYPE_I64: {
      int64_t v;
      memcpy(&v, at, sizeof v);
      return v;
    }
    default:
      return 0;
  }
}

uint64_t npuc_qnode_macs(const qgraph *g, const qnode *n) {
  if (n->op != QOP_QConv && n->op != QOP_QGemm) return 0;
  const qtensor *w = &g->tensors[n->inputs[1]], *y = &g->tensors[n->outputs[0]];
  /* Each output element takes one product for each weight of its output channel. */
  return (uint64_t)npuc_qtensor_elements(y) * (uint64_t)(npuc_qtensor_elements(w) / w->dims[0]);
}
