/* SPDX-License-Identifier: Apache-2.0 */
/* Constant folding: a node whose outputs are known becomes constants.
 *
 * Known by inference (a Shape of numbers and what is computed from it, see ir/infer.c), or by evaluating a node of constant inputs.
 * What a fold may add is bounded: ConstantOfShape and Expand make gigabytes from a few numbers. Quantized constants stay behind their
 * DequantizeLinear, for they say how the weight was quantized. A graph output keeps its node: an output has a producer. */
#include <stdint.h>

#include "passes/internal.h"
#include "ir/eval/eval.h"

enum { MAX_GROWTH_BYTES = 16 << 20 };

static bool may_fold(const node *n) {
  if (node_is(n, OP_QUANTIZELINEAR) || node_is(n, OP_DEQUANTIZELINEAR)) return false;
  for (int32_t i = 0; i < n->n_outputs; i++) {
    if (n->outputs[i] && n->outputs[i]->is_output) return false;
  }
  return true;
}

static bool inputs_are_constant(const node *n, size_t *out_bytes) {
  *out_bytes = 0;
  for (int32_t i = 0; i < n->n_inputs; i++) {
    if (!n->inputs[i]) continue;
    if (!n->inputs[i]->constant) return false;
    *out_bytes += n->inputs[i]->constant->bytes;
  }
  return true;
}

static bool outputs_are_bounded(const node *n, size_t input_bytes) {
  size_t total = 0;
  for (int32_t i = 0; i < n->n_outputs; i++) {
    int64_t elements;
    size_t bytes;
    if (!n->outputs[i]) continue;
    if (!npuc_shape_elements(&n->outputs[i]->shape, &elements) || !npuc_dtype_memory(n->outputs[i]->type, elements, &bytes)) return false;
    if (__builtin_add_overflow(total, bytes, &total)) return false;
  }
  return total <= MAX_GROWTH_BYTES || total - MAX_GROWTH_BYTES <= input_bytes;
}

/* Evaluates into `out`, n_outputs owned tensors (empty where omitted). A node that fails to evaluate is simply not folded. */
static bool evaluate(pass_context *c, const node *n, tensor *out) {
  const tensor **in = NPUC_NEW_ARRAY(c->scratch, (size_t)n->n_inputs, const tensor *);
  tensor **results = NPUC_NEW_ARRAY(c->scratch, (size_t)n->n_outputs, tensor *);
  for (int32_t i = 0; i < n->n_inputs; i++) in[i] = n->inputs[i] ? n->inputs[i]->constant : NULL;
  for (int32_t i = 0; i < n->n_outputs; i++) {
    results[i] = &out[i];
    if (n->outputs[i] && npuc_tensor_create(NULL, n->outputs[i]->type, &n->outputs[i]->shape, &out[i]) != NPUC_OK) return false;
  }
  eval_context e = {.node = n};
  return npuc_eval_node(&e, in, results) == NPUC_OK;
}

/* The constant takes the old value's name: the node that made it is about to go. */
static void replace_by_constant(graph *g, value *old, const tensor *t) {
  const char *name = old->name;
  npuc_value_rename(old, npuc_graph_unique_name(g, name));
  value *v = npuc_graph_add_constant(g, name, t);
  npuc_value_replace(old, v);
}

/* Every output that is in use becomes a constant; `known` gives the tensor or NULL. */
static bool all_known(const node *n, const fact *facts) {
  bool used = false;
  for (int32_t i = 0; i < n->n_outputs; i++) {
    const value *v = n->outputs[i];
    if (!v || v->n_uses == 0) continue;
    used = true;
    if (!facts[v->id].constant) return false;
  }
  return used;
}

static bool fold_known(pass_context *c, graph *g, node *n, const fact *facts) {
  if (!all_known(n, facts) || !npuc_pass_allow(c, "fold-constants", PARITY_EXACT, n)) return false;
  for (int32_t i = 0; i < n->n_outputs; i++) {
    value *v = n->outputs[i];
    if (!v || v->n_uses == 0) continue;
    tensor t = *facts[v->id].constant; /* in scratch memory, or a Constant's attribute */
    if (!t.owner) t.data = npuc_arena_copy(g->module->arena, t.data, t.bytes);
    replace_by_constant(g, v, &t);
  }
  return true;
}

static bool fold_evaluated(pass_context *c, graph *g, node *n) {
  size_t bytes;
  if (!n->op->eval || n->n_inputs == 0 || !inputs_are_constant(n, &bytes) || !outputs_are_bounded(n, bytes)) return false;
  tensor *out = NPUC_NEW_ARRAY(c->scratch, (size_t)n->n_outputs, tensor);
  bool good = evaluate(c, n, out) && npuc_pass_allow(c, "fold-constants", PARITY_EXACT, n);
  for (int32_t i = 0; i < n->n_outputs; i++) {
    if (good && n->outputs[i]) replace_by_constant(g, n->outputs[i], &out[i]);
    npuc_tensor_release(&out[i]);
  }
  return good;
}

npuc_status npuc_fold_constants(pass_context *c, graph *g, bool *out_changed) {
  fact *inputs = NPUC_NEW_ARRAY(c->scratch, g->n_inputs, fact), *facts;
  for (size_t i = 0; i < g->n_inputs; i++) inputs[i] = (fact){.type = g->inputs[i]->type, .shape = g->inputs[i]->shape};
  NPUC_TRY(npuc_graph_infer_facts(c->d, g, inputs, c->scratch, &facts));
  bool changed = false;
  NPUC_EACH_NODE_SAFE(g, n, after) {
    if (may_fold(n) && (fold_known(c, g, n, facts) || fold_evaluated(c, g, n))) {
      npuc_graph_remove_node(g, n);
      changed = true;
    }
  }
  if (!changed) return NPUC_OK;
  *out_changed = true;
  return npuc_graph_infer(c->d, g); /* a shape that became constant says more about its readers */
}
