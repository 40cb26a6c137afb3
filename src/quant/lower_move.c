/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that are the same on integers: they move bytes, or compare them. */
#include "quant/lower.h"

/* Operators whose outputs and inputs are renamed only. Identity and Dropout vanish, unless a port's name is at stake. */
static bool vanishes(lowering *l, const plan_node *pn) {
  if (!node_is(pn->node, OP_IDENTITY) && !node_is(pn->node, OP_DROPOUT)) return false;
  if (pn->out->is_output) return false;
  l->of[pn->out->id] = lower_of(l, pn->node->inputs[0]);
  return true;
}

static value *moved_input(lowering *l, const value *v) {
  if (!v) return NULL;
  return v->constant ? npuc_lower_copy(l, v) : lower_of(l, v);
}

/* Output k of a copied node: an activation in its shared scale, or what it was. */
static value *moved_output(lowering *l, const value *v) {
  if (!v) return NULL;
  value *made;
  if (plan_is_activation(l->p, v)) {
    made = npuc_lower_value(l, v->name, &v->shape, plan_params(l->p, v));
  } else {
    made = npuc_graph_add_value(l->g, v->name, v->type, &v->shape);
  }
  l->of[v->id] = made;
  return made;
}

static npuc_status copy_node(lowering *l, const plan_node *pn, value *const *inputs, int32_t n_inputs) {
  const node *from = pn->node;
  bool dropout = node_is(from, OP_DROPOUT);
  value **outputs = NPUC_NEW_ARRAY(l->p->arena, (size_t)from->n_outputs, value *);
  int32_t n_outputs = dropout ? 1 : from->n_outputs;
  for (int32_t i = 0; i < n_outputs; i++) outputs[i] = moved_output(l, from->outputs[i]);
  const op_def *op = dropout ? npuc_op(OP_IDENTITY) : from->op;
  node *n = npuc_lower_node(l, pn, dropout ? OP_IDENTITY : op->id, NULL, inputs, dropout ? 1 : n_inputs, outputs[0]);
  if (n_outputs > 1) { /* the helper makes one output: make the node again with all */
    const char *place = n->place, *reason = n->place_reason;
    const location *loc = n->location;
    npuc_graph_remove_node(l->g, n);
    l->of[from->outputs[0]->id] = NULL;
    outputs[0] = moved_output(l, from->outputs[0]);
    n = npuc_graph_insert_node_with_outputs(l->g, NULL, op, from->name, inputs, n_inputs, outputs, n_outputs, loc);
    n->place = place;
    n->place_reason = reason;
  }
  if (!dropout && op->attributes_bytes) n->attributes = npuc_attributes_clone(l->m, op, from->attributes);
  return NPUC_OK;
}

static npuc_status lower_concat(lowering *l, const plan_node *pn) {
  const node *from = pn->node;
  const qparams *y = plan_params(l->p, pn->out);
  value **inputs = NPUC_NEW_ARRAY(l->p->arena, (size_t)from->n_inputs, value *);
  for (int32_t i = 0; i < from->n_inputs; i++) {
    const value *v = from->inputs[i];
    if (!plan_is_activation(l->p, v)) {
      diag_place place = npuc_plan_place(from, NULL);
      return npuc_fail(l->p->d, NPUC_DIAG_E0704, &place, "input %d is a float constant", i);
    }
    const char *name = npuc_arena_printf(l->p->arena, "%d", i);
    NPUC_TRY(npuc_lower_requantize(l, pn, name, lower_of(l, v), plan_params(l->p, v), y, &inputs[i]));
  }
  return copy_node(l, pn, inputs, from->n_inputs);
}

static npuc_status lower_pad(lowering *l, const plan_node *pn) {
  const node *from = pn->node;
  const qparams *q = plan_params(l->p, pn->out);
  double padding = 0;
  (void)npuc_plan_scalar(from, 2, &padding);
  int64_t byte = npuc_qparams_quantize(q, padding);
  value *inputs[4] = {lower_of(l, from->inputs[0]), moved_input(l, from->inputs[1])};
  inputs[2] = npuc_lower_ints(l, npuc_arena_printf(l->p->arena, "%s.value", from->name), q->type, &byte, -1);
  if (from->n_inputs > 3) inputs[3] = moved_input(l, from->inputs[3]);
  return copy_node(l, pn, inputs, from->n_inputs > 3 ? 4 : 3);
}

npuc_status npuc_lower_move(lowering *l, const plan_node *pn) {
  if (pn->role == ROLE_CONCAT) return lower_concat(l, pn);
  if (pn->role == ROLE_PAD) return lower_pad(l, pn);
  if (pn->role == ROLE_MOVE && vanishes(l, pn)) return NPUC_OK;
  const node *from = pn->node;
  value **inputs = NPUC_NEW_ARRAY(l->p->arena, (size_t)from->n_inputs, value *);
  for (int32_t i = 0; i < from->n_inputs; i++) inputs[i] = moved_input(l, from->inputs[i]);
  return copy_node(l, pn, inputs, from->n_inputs);
}
