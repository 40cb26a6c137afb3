/* SPDX-License-Identifier: Apache-2.0 */
/* A batch that was bound to a number is in three places: the inputs' shapes, what was inferred from them, and constant targets of Reshape. */
#include "passes/batch.h"

#include <inttypes.h>

#include "ir/op.h"

static npuc_status built_in(diag *d, const char *name, const char *reason) {
  npuc_status status = npuc_fail(d, NPUC_DIAG_E0929, &(diag_place){.node = name}, "%s", reason);
  npuc_fix(d, "export the model with a symbolic first axis, and name it: --dim SYMBOL=N");
  return status;
}

/* The number that is dim 0 of every port; n where the axis is still symbolic. */
static npuc_status old_batch(diag *d, const graph *g, int64_t n, int64_t *out_batch) {
  *out_batch = -1;
  for (size_t i = 0; i < g->n_inputs + g->n_outputs; i++) {
    const value *v = i < g->n_inputs ? g->inputs[i] : g->outputs[i - g->n_inputs];
    if (v->shape.rank < 1) return built_in(d, v->name, "an input or output without a first axis: there is no batch to change");
    int64_t first = dim_is_number(v->shape.dims[0]) ? v->shape.dims[0] : n;
    if (*out_batch >= 0 && first != *out_batch)
      return built_in(d, v->name, "the first axes of inputs and outputs differ: none is the batch");
    *out_batch = first;
  }
  return NPUC_OK;
}

/* Reshape to a constant that begins with the old batch, of data that does so too. */
static void follow(graph *g, node *r, int64_t before, int64_t n) {
  const value *x = r->inputs[0], *target = r->n_inputs > 1 ? r->inputs[1] : NULL;
  if (!x || x->shape.rank < 1 || x->shape.dims[0] != before || !target || !target->constant || target->constant->type != DTYPE_I64) return;
  int64_t count = npuc_tensor_elements(target->constant), dims[MAX_RANK];
  if (count < 1 || count > MAX_RANK || npuc_tensor_get_int(target->constant, 0) != before) return;
  for (int64_t i = 0; i < count; i++) dims[i] = npuc_tensor_get_int(target->constant, i);
  dims[0] = n;
  npuc_node_set_input(r, 1, npuc_graph_constant_ints(g, target->name, DTYPE_I64, dims, count));
}

npuc_status npuc_graph_set_batch(diag *d, graph *g, int64_t n) {
  int64_t before;
  NPUC_TRY(old_batch(d, g, n, &before));
  if (before != n) {
    NPUC_EACH_NODE(g, r) {
      if (node_is(r, OP_RESHAPE)) follow(g, r, before, n);
    }
  }
  for (size_t i = 0; i < g->n_inputs; i++) g->inputs[i]->shape.dims[0] = n;
  npuc_graph_forget_shapes(g);
  NPUC_TRY(npuc_graph_infer(d, g));
  for (size_t i = 0; i < g->n_outputs; i++) {
    const shape *s = &g->outputs[i]->shape;
    if (s->rank < 1 || s->dims[0] != n) return built_in(d, g->outputs[i]->name, "an output that does not follow the inputs' first axis");
  }
  npuc_graph_remove_dead(g);
  return NPUC_OK;
}
