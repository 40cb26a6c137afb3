/* SPDX-License-Identifier: Apache-2.0 */
/* Scales from the graph instead of from calibration. */
#include "quant/given.h"
#include "ir/eval/eval.h"

#include <stdint.h>
#include <string.h>

#include "ir/op.h"

bool npuc_quant_has_given(const graph *g) {
  NPUC_EACH_NODE(g, n) {
    if (node_is(n, OP_QUANTIZELINEAR) || node_is(n, OP_DEQUANTIZELINEAR)) return true;
  }
  return false;
}

/* -- weights -- */
static bool reads_constants(const node *n) {
  for (int32_t i = 0; i < n->n_inputs; i++) {
    if (n->inputs[i] && !n->inputs[i]->constant) return false;
  }
  return true;
}

static npuc_status dequantize_constant(diag *d, graph *g, node *n) {
  const tensor *inputs[3] = {0};
  for (int32_t i = 0; i < n->n_inputs && i < 3; i++) inputs[i] = n->inputs[i] ? n->inputs[i]->constant : NULL;
  value *y = n->outputs[0];
  tensor real;
  NPUC_TRY(npuc_tensor_create(d, y->type, &y->shape, &real));
  eval_context context = {.d = d, .node = n};
  npuc_status status = npuc_eval_node(&context, inputs, (tensor *[]){&real});
  if (status == NPUC_OK) {
    npuc_value_replace(y, npuc_graph_add_constant(g, npuc_graph_unique_name(g, y->name), &real));
    npuc_graph_remove_node(g, n);
  }
  npuc_tensor_release(&real);
  return status;
}

/* -- activations -- */
static const tensor *constant_input(const node *n, int32_t i) { return i < n->n_inputs && n->inputs[i] ? n->inputs[i]->constant : NULL; }

/* One scale and zero point for the whole tensor, both known, on 8 bits. */
static bool grid_of(const node *n, dtype type, qparams *out) {
  const tensor *scale = constant_input(n, 1), *zero = constant_input(n, 2);
  int64_t lo, hi;
  if (type != DTYPE_U8 && type != DTYPE_I8) return false;
  if (!scale || npuc_tensor_elements(scale) != 1 || (n->n_inputs > 2 && n->inputs[2] && (!zero || npuc_tensor_elements(zero) != 1)))
    return false;
  (void)npuc_dtype_range(type, &lo, &hi);
  *out = (qparams){.type = type,
                   .scale = (float)npuc_tensor_get(scale, 0),
                   .zero_point = zero ? (int32_t)npuc_tensor_get_int(zero, 0) : 0,
                   .lo = (int32_t)lo,
                   .hi = (int32_t)hi};
  return out->scale > 0;
}

static bool same_grid(const qparams *a, const qparams *b) {
  return a->type == b->type && a->scale == b->scale && a->zero_point == b->zero_point;
}

/* Every reader gives the real numbers back, on the same grid. */
static bool is_pair(const node *n, const qparams *grid) {
  const value *q = n->outputs[0];
  if (q->is_output || n->inputs[0]->constant || n->inputs[0]->type != DTYPE_F32) return false;
  for (size_t i = 0; i < q->n_uses; i++) {
    const node *user = q->uses[i].user;
    qparams back;
    if (!node_is(user, OP_DEQUANTIZELINEAR) || q->uses[i].index != 0 || user->outputs[0]->type != DTYPE_F32) return false;
    if (!grid_of(user, q->type, &back) || !same_grid(grid, &back)) return false;
  }
  return q->n_uses > 0;
}

/* The same real numbers in the type in which this target stores activations. */
static bool convert(qparams *p, quant_grid activations) {
  if (activations.symmetric && (p->type != DTYPE_I8 || p->zero_point != 0)) return false;
  int32_t shift = p->type == activations.type ? 0 : activations.type == DTYPE_U8 ? 128 : -128;
  p->type = activations.type;
  p->zero_point += shift;
  p->lo = activations.symmetric ? -127 : p->lo + shift;
  p->hi += shift;
  return true;
}

static void take_pair(graph *g, node *n) {
  value *q = n->outputs[0], *x = n->inputs[0];
  while (q->n_uses) {
    node *back = q->uses[0].user;
    npuc_value_replace(back->outputs[0], x);
    npuc_graph_remove_node(g, back);
  }
  npuc_graph_remove_node(g, n);
}

npuc_status npuc_quant_take_given(diag *d, arena *a, graph *g, quant_grid activations, const qparams **out_given) {
  NPUC_EACH_NODE_SAFE(g, n, after) {
    if (node_is(n, OP_DEQUANTIZELINEAR) && reads_constants(n)) NPUC_TRY(dequantize_constant(d, g, n));
  }
  size_t known_ids = g->next_value_id;
  qparams *given = NPUC_NEW_ARRAY(a, known_ids + 1, qparams), grid;
  node *next;
  for (node *n = g->first; n; n = next) {
    next = n->next;
    if (!node_is(n, OP_QUANTIZELINEAR) || !grid_of(n, n->outputs[0]->type, &grid) || !is_pair(n, &grid) || !convert(&grid, activations))
      continue;
    qparams *known = &given[n->inputs[0]->id];
    if (known->scale > 0 && !same_grid(known, &grid)) continue; /* another grid for another reader */
    *known = grid;
    while (next && node_is(next, OP_DEQUANTIZELINEAR) && next->inputs[0] == n->outputs[0]) next = next->next; /* goes with the pair */
    take_pair(g, n);
  }
  qparams *all = NPUC_NEW_ARRAY(a, g->next_value_id + 1, qparams); /* an output that is an input too got a value of its own */
  memcpy(all, given, known_ids * sizeof *all);
  *out_given = all;
  return NPUC_OK;
}
