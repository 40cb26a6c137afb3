/* SPDX-License-Identifier: Apache-2.0 */
/* broadcast-op-inputs: every operand of an element-wise node gets the result's shape, for targets whose kernels do not broadcast. A constant is written out in full (policy materialize), left as it
 * is (skip), or expanded at run time as any other value (defer-runtime). */
#include <string.h>

#include "passes/edits/build.h"

enum { Y };

/* Whether input i is one that the edit is asked to look at, and has another shape than the result. */
static bool wants_shape(const match *m, int32_t i) {
  const value *v = m->root->inputs[i], *y = m->root->outputs[0];
  int64_t asked[MAX_PATTERN_INPUTS];
  int32_t n = npuc_edit_ints(m->parameters, "inp_idx", asked, MAX_PATTERN_INPUTS);
  bool named = n == 0;
  for (int32_t k = 0; k < n && k < MAX_PATTERN_INPUTS; k++) named = named || asked[k] == i;
  if (!named || !v || !npuc_edit_is_static(v) || npuc_same_shape(v, y)) return false;
  return !v->constant || strcmp(npuc_edit_text(m->parameters, "policy"), "skip") != 0;
}

static bool broadcasts(const match *m) {
  const node *n = m->root;
  if (!(n->op->traits & TRAIT_ELEMENTWISE) || n->n_inputs > MAX_PATTERN_INPUTS || n->n_outputs != 1 || !npuc_edit_is_static(n->outputs[0]))
    return false;
  if (!npuc_edit_names(m->parameters, "ops", n->op->type)) return false;
  for (int32_t i = 0; i < n->n_inputs; i++) {
    if (wants_shape(m, i)) return true;
  }
  return false;
}

/* Element by element, the broadcasting strides being 0 where the constant has 1. */
static value *written_out(rewriter *r, const tensor *from, const shape *to) {
  tensor t;
  int64_t strides[MAX_RANK], at[MAX_RANK] = {0}, n;
  r->status = npuc_tensor_create(r->d, from->type, to, &t);
  if (r->status != NPUC_OK) return NULL;
  npuc_shape_strides(&from->shape, strides);
  n = npuc_tensor_elements(&t);
  for (int64_t i = 0; i < n; i++) {
    int64_t offset = 0;
    for (int32_t k = 0; k < from->shape.rank; k++) {
      int32_t axis = to->rank - from->shape.rank + k;
      if (from->shape.dims[k] != 1) offset += at[axis] * strides[k];
    }
    if (npuc_dtype_kind(t.type) == KIND_FLOAT) {
      npuc_tensor_set(&t, i, npuc_tensor_get(from, offset));
    } else {
      npuc_tensor_set_int(&t, i, npuc_tensor_get_int(from, offset));
    }
    for (int32_t k = to->rank - 1; k >= 0 && ++at[k] == to->dims[k]; k--) at[k] = 0;
  }
  return npuc_edit_tensor(r, "full", &t);
}

static void expand_operands(rewriter *r, const match *m) {
  value *inputs[MAX_PATTERN_INPUTS];
  const shape *full = &m->root->outputs[0]->shape;
  const char *policy = npuc_edit_text(m->parameters, "policy");
  bool now = strcmp(policy, "materialize") == 0;
  if (!now && strcmp(policy, "skip") != 0 && strcmp(policy, "defer-runtime") != 0) {
    npuc_edit_refuse(r, "policies are skip, defer-runtime and materialize, not \"%s\"", policy);
    return;
  }
  for (int32_t i = 0; i < m->root->n_inputs; i++) {
    value *v = inputs[i] = m->root->inputs[i];
    if (wants_shape(m, i)) inputs[i] = v->constant && now ? written_out(r, v->constant, full) : npuc_edit_expand(r, v, full);
  }
  if (r->status == NPUC_OK) npuc_edit_done(r, m, npuc_edit_copy(r, m->root, inputs, m->root->n_inputs)->outputs[0]);
}

static const pattern explicit_broadcast = {
    .name = "explicit-broadcast",
    .doc = "f(x, y) -> f(Expand(x), Expand(y)), f element-wise and of `ops`",
    .parity = PARITY_EXACT,
    .root = {.kind = PATTERN_NODE, .op = ANY_OP, .capture = Y, .inputs = (const pattern_node[]){REST}},
    .where = broadcasts,
    .rewrite = expand_operands,
};
static const pattern *const patterns[] = {&explicit_broadcast};
PATTERN_SET(npuc_edit_broadcast_op_inputs_patterns, patterns);
