/* SPDX-License-Identifier: Apache-2.0 */
/* Two graphs side by side, node by node. A table says which value of b stands for each value of a; each use must agree with it. Constants that are the same range of
 * the same file are equal without a look at their bytes, so that a model of gigabytes is compared by its nodes. */
#include "ir/same.h"

#include <stdlib.h>
#include <string.h>

#include "ir/op.h"

static bool same_range(const tensor *a, const tensor *b) {
  const mapped_file *x, *y;
  size_t at, other;
  if (!npuc_blob_locate(a->owner, a->data, &x, &at) || !npuc_blob_locate(b->owner, b->data, &y, &other)) return false;
  return at == other && npuc_path_same(npuc_file_path(x), npuc_file_path(y));
}

static bool same_constant(const tensor *a, const tensor *b) {
  if (a->type != b->type || !npuc_shape_equal(&a->shape, &b->shape) || a->bytes != b->bytes) return false;
  return a->bytes == 0 || a->data == b->data || same_range(a, b) || memcmp(a->data, b->data, a->bytes) == 0;
}

/* Numbers, or symbols of one name: the two modules number their symbols by themselves. */
static bool same_dim(const graph *a, dim x, const graph *b, dim y) {
  if (dim_is_number(x) || dim_is_number(y)) return x == y;
  if (!dim_is_symbol(x) || !dim_is_symbol(y)) return false;
  const char *p = npuc_module_symbol_name(a->module, x), *q = npuc_module_symbol_name(b->module, y);
  return p && q && strcmp(p, q) == 0;
}

static bool same_port(const value *a, const value *b) {
  if (a->type != b->type || a->shape.rank != b->shape.rank) return false;
  for (int32_t i = 0; i < a->shape.rank; i++)
    if (!same_dim(a->owner, a->shape.dims[i], b->owner, b->shape.dims[i])) return false;
  return true;
}

/* twins: by a's value id. */
static bool same_value(const value **twins, const value *a, const value *b) {
  if (!a || !b) return a == b;
  if (twins[a->id]) return twins[a->id] == b;
  if (!a->constant || !b->constant || a->is_input || b->is_input || a->quant || b->quant) return false;
  if (!same_constant(a->constant, b->constant)) return false;
  twins[a->id] = b;
  return true;
}

static bool same_node(const value **twins, const node *a, const node *b) {
  if (a->op != b->op || a->n_inputs != b->n_inputs || a->n_outputs != b->n_outputs) return false;
  if (npuc_node_body(a, 0) || npuc_node_body(b, 0) || !npuc_attributes_equal(a->op, a->attributes, b->attributes)) return false;
  for (int32_t i = 0; i < a->n_inputs; i++)
    if (!same_value(twins, a->inputs[i], b->inputs[i])) return false;
  for (int32_t i = 0; i < a->n_outputs; i++) {
    const value *x = a->outputs[i], *y = b->outputs[i];
    if (!x != !y || (x && (x->quant || y->quant))) return false;
    if (x) twins[x->id] = y;
  }
  return true;
}

static bool same_graphs(const value **twins, const graph *a, const graph *b) {
  if (a->n_inputs != b->n_inputs || a->n_outputs != b->n_outputs || a->n_nodes != b->n_nodes) return false;
  for (size_t i = 0; i < a->n_inputs; i++) {
    const value *x = a->inputs[i], *y = b->inputs[i];
    if (!same_port(x, y) || x->quant || y->quant || !x->constant != !y->constant) return false;
    if (x->constant && !same_constant(x->constant, y->constant)) return false;
    twins[x->id] = y;
  }
  for (const node *x = a->first, *y = b->first; x && y; x = x->next, y = y->next)
    if (!same_node(twins, x, y)) return false;
  for (size_t i = 0; i < a->n_outputs; i++)
    if (!same_value(twins, a->outputs[i], b->outputs[i])) return false;
  return true;
}

bool npuc_graph_same(const graph *a, const graph *b) {
  const value **twins = npuc_xcalloc((size_t)a->next_value_id + 1, sizeof *twins);
  bool same = same_graphs(twins, a, b);
  free(twins);
  return same;
}
