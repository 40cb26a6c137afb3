/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operators: ops.def turned into pointers to the definitions, and how to find one. */
#include <assert.h>
#include <string.h>

#include "ir/ops/definitions.h"

static const op_def *const table[OP_COUNT] = {
#define OP(id, domain, type, symbol) [OP_##id] = &npuc_op_##symbol,
#include "ir/ops.def"
#undef OP
};

const op_def *npuc_op(op_id id) {
  assert((int)id >= 0 && id < OP_COUNT);
  return table[id];
}

/* "ai.onnx" is the written-out name of the default domain. */
static const char *normal_domain(const char *domain) { return !domain || strcmp(domain, "ai.onnx") == 0 ? "" : domain; }

const op_def *npuc_op_find(const char *domain, const char *type) {
  domain = normal_domain(domain);
  for (int i = 0; i < (int)OP_COUNT; i++) {
    const op_def *op = table[i];
    if (strcmp(op->type, type) == 0 && strcmp(op->domain, domain) == 0) return op;
  }
  return NULL;
}

static const char *nearest_in(const char *domain, const char *type) {
  const char *names[OP_COUNT];
  size_t n = 0;
  for (int i = 0; i < (int)OP_COUNT; i++) {
    const op_def *op = table[i];
    if (!domain || strcmp(op->domain, domain) == 0) names[n++] = op->type;
  }
  return npuc_nearest(type, names, n);
}

const char *npuc_op_nearest(const char *domain, const char *type) {
  const char *near = nearest_in(normal_domain(domain), type);
  return near ? near : nearest_in(NULL, type);
}

op_cost npuc_node_cost(const node *n) {
  op_cost cost = {0};
  if (n->op->cost) {
    n->op->cost(n, &cost);
    return cost;
  }
  for (int32_t i = 0; i < n->n_outputs; i++) {
    int64_t elements;
    if (n->outputs[i] && npuc_shape_elements(&n->outputs[i]->shape, &elements)) cost.operations += (double)elements;
  }
  return cost;
}
