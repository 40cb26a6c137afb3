/* SPDX-License-Identifier: Apache-2.0 */
/* Scale and zero point of every value. */
#include <math.h>

#include "quant/plan.h"

/* Outputs of the graph and its inputs keep their extremes: a clipped logit is a lost decision, and an input's range is what the user feeds. */
static quant_observer kind_for(const plan *p, const value *v) {
  return v->is_input || v->is_output ? OBSERVER_MINMAX : p->options->observer;
}

/* A value that reaches a graph output through operators that only move data is an output too. */
static bool reaches_output(const plan *p, const value *v, int depth) {
  if (v->is_output) return true;
  if (depth > 32) return false;
  for (size_t i = 0; i < v->n_uses; i++) {
    const node *user = v->uses[i].user;
    for (int32_t k = 0; k < user->n_outputs; k++) {
      const value *out = user->outputs[k];
      if (out && p->values[out->id].quantized && p->values[out->id].same_as == p->values[v->id].same_as &&
          reaches_output(p, out, depth + 1))
        return true;
    }
    if (node_is(user, OP_SOFTMAX) || node_is(user, OP_LOGSOFTMAX) || node_is(user, OP_ARGMAX)) return true;
  }
  return false;
}

static void choose_observed(plan *p, const value *v) {
  plan_value *pv = &p->values[v->id];
  quant_observer kind = reaches_output(p, v, 0) ? OBSERVER_MINMAX : kind_for(p, v);
  pv->range = npuc_range_choose(pv->seen, kind, p->options->percentile, p->options->activations);
  bool constant;
  pv->params = npuc_range_qparams(pv->range, p->options->activations, &constant);
  pv->has_params = true;
  if (constant) {
    diag_place place = {.part = p->g->name, .node = v->name, .op = v->producer ? v->producer->op->type : NULL};
    npuc_warn(p->d, NPUC_DIAG_E0705, &place, "always 0 over %llu samples", (unsigned long long)p->samples);
  }
}

/* What the graph said of the value, or of one that has its scale. */
static void choose_given(plan_value *pv, qparams given) {
  double scale = (double)given.scale;
  pv->params = given;
  pv->range = (quant_range){scale * (given.lo - given.zero_point), scale * (given.hi - given.zero_point)};
  pv->has_params = true;
}

static const qparams *find_given(const plan *p, uint32_t id) {
  if (!p->given) return NULL;
  if (p->given[id].scale > 0) return &p->given[id];
  for (uint32_t i = 0; i < p->g->next_value_id; i++) {
    if (p->values[i].value && p->values[i].quantized && p->values[i].same_as == id && p->given[i].scale > 0) return &p->given[i];
  }
  return NULL;
}

/* Probabilities: (0, 1) at the width of the output. */
static void choose_softmax(plan *p, const value *v) {
  plan_value *pv = &p->values[v->id];
  int64_t lo = 0, hi = 255;
  (void)npuc_dtype_range(p->options->activations.type, &lo, &hi);
  pv->params = (qparams){.type = p->options->activations.type,
                         .scale = ldexpf(1, -(int)npuc_dtype_bits(p->options->activations.type)),
                         .zero_point = (int32_t)lo,
                         .lo = (int32_t)lo,
                         .hi = (int32_t)hi};
  pv->range = (quant_range){0, 1};
  pv->has_params = pv->fixed = true;
}

/* What can write in another scale than its own: it ends in the rule. */
static bool is_computed(const plan *p, const value *v) {
  if (p->values[v->id].same_as != v->id || p->values[v->id].fixed || v->is_input) return false;
  const node *n = v->producer;
  return n && !node_is(n, OP_CONCAT) && !node_is(n, OP_SOFTMAX);
}

/* An input of Concat that nobody else reads is written in Concat's scale at once, unless its range starts at 0 and the group's does not: a ReLU's
 * output keeps its zero point and is requantized instead. */
static void join_concat(plan *p, const plan_node *pn) {
  const plan_value *group = &p->values[pn->out->id];
  for (int32_t i = 0; i < pn->node->n_inputs; i++) {
    const value *v = pn->node->inputs[i];
    if (!plan_is_activation(p, v) || v->n_uses != 1 || v->is_output || !is_computed(p, v)) continue;
    if (p->values[v->id].range.lo >= 0 && group->range.lo < 0) continue;
    p->values[v->id].params = group->params;
  }
}

npuc_status npuc_plan_choose_params(plan *p) {
  for (uint32_t i = 0; i < p->g->next_value_id; i++) {
    plan_value *pv = &p->values[i];
    if (!pv->value || !pv->quantized || pv->same_as != i) continue;
    const qparams *given = find_given(p, i);
    if (node_is(pv->value->producer, OP_SOFTMAX)) {
      choose_softmax(p, pv->value);
    } else if (given) {
      choose_given(pv, *given);
    } else if (pv->seen) {
      choose_observed(p, pv->value);
    }
  }
  for (size_t i = p->n_nodes; i-- > 0;) {
    if (p->nodes[i].role == ROLE_CONCAT) join_concat(p, &p->nodes[i]);
  }
  return NPUC_OK;
}
