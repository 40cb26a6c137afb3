/* SPDX-License-Identifier: Apache-2.0 */
/* Edits of shapes: movement that moves nothing, and broadcasting made explicit or left to the operators. */
#include <string.h>

#include "passes/edits/build.h"

enum { Y, X, A, INNER, UNARY, AXES, INDEX };

static bool is_elementwise(const node *n) { return (n->op->traits & TRAIT_ELEMENTWISE) != 0; }

/* -- eliminate-expand: readers that broadcast by themselves. A Transpose moves in front of the Expand, which its reader may then do without -- */

static bool readers_are_named(const value *v, const void *parameters) {
  for (size_t i = 0; i < v->n_uses; i++) {
    if (!npuc_edit_names(parameters, "ops", v->uses[i].user->op->type)) return false;
  }
  return !v->is_output;
}

/* The shape that the node's result has when input `index` has shape `s`; false where it is not computed here. */
static bool result_with(const node *n, int32_t index, const shape *s, shape *out) {
  if (is_elementwise(n)) {
    *out = (shape){.rank = 0};
    for (int32_t i = 0; i < n->n_inputs; i++) {
      if (n->inputs[i] && !npuc_shape_broadcast(out, i == index ? s : &n->inputs[i]->shape, out)) return false;
    }
    return true;
  }
  if (!node_is(n, OP_MATMUL)) return false;
  const shape *before = &n->inputs[index]->shape, *other = &n->inputs[1 - index]->shape;
  shape mine = *s, theirs = *other;
  if (s->rank != before->rank || s->rank < 2 || other->rank < 2) return false;
  if (s->dims[s->rank - 1] != before->dims[s->rank - 1] || s->dims[s->rank - 2] != before->dims[s->rank - 2]) return false;
  mine.rank -= 2;
  theirs.rank -= 2;
  if (!npuc_shape_broadcast(&mine, &theirs, out)) return false;
  out->rank += 2;
  memcpy(&out->dims[out->rank - 2], &n->outputs[0]->shape.dims[out->rank - 2], 2 * sizeof(dim));
  return true;
}

/* The input that an Expand makes and that the node can do without; -1 for none. */
static int32_t spare_expand(const match *m) {
  const node *n = m->root;
  shape s;
  if (n->n_outputs != 1 || !npuc_edit_is_static(n->outputs[0])) return -1;
  for (int32_t i = 0; i < n->n_inputs; i++) {
    const value *v = n->inputs[i];
    if (!v || !node_is(v->producer, OP_EXPAND) || !readers_are_named(v, m->parameters)) continue;
    if (result_with(n, i, &v->producer->inputs[0]->shape, &s) && npuc_shape_equal(&s, &n->outputs[0]->shape)) return i;
  }
  return -1;
}

static bool has_spare_expand(const match *m) { return spare_expand(m) >= 0; }

static void bypass(rewriter *r, const match *m) {
  value *inputs[MAX_PATTERN_INPUTS];
  int32_t at = spare_expand(m);
  for (int32_t i = 0; i < m->root->n_inputs; i++) inputs[i] = i == at ? m->root->inputs[i]->producer->inputs[0] : m->root->inputs[i];
  npuc_edit_done(r, m, npuc_edit_copy(r, m->root, inputs, m->root->n_inputs)->outputs[0]);
}

static bool few_inputs_and_spare(const match *m) { return m->root->n_inputs <= MAX_PATTERN_INPUTS && has_spare_expand(m); }

static bool transposes_expanded(const match *m) {
  const value *x = m->values[X], *y = m->root->outputs[0];
  return npuc_edit_names(m->parameters, "ops", "Transpose") && readers_are_named(m->nodes[INNER]->outputs[0], m->parameters) &&
         npuc_edit_is_static(y) && npuc_edit_is_static(x) && x->shape.rank == y->shape.rank &&
         NPUC_ATTRS(transpose_attributes, m->root)->perm.count == y->shape.rank;
}

static void transpose_first(rewriter *r, const match *m) {
  const int_list *perm = &NPUC_ATTRS(transpose_attributes, m->root)->perm;
  npuc_edit_done(r, m, npuc_edit_expand(r, npuc_edit_transpose(r, m->values[X], perm->values, perm->count), &m->root->outputs[0]->shape));
}

static const pattern spare = {
    .name = "expand-into-reader",
    .doc = "f(Expand(x), y) -> f(x, y), where f broadcasts to the same shape and every reader of the Expand is of `ops`",
    .parity = PARITY_EXACT,
    .root = {.kind = PATTERN_NODE, .op = ANY_OP, .capture = Y, .inputs = (const pattern_node[]){REST}},
    .where = few_inputs_and_spare,
    .rewrite = bypass,
};
static const pattern expand_transpose = {
    .name = "transpose-before-expand",
    .doc = "Transpose(Expand(x)) -> Expand(Transpose(x))",
    .parity = PARITY_EXACT,
    .root = NODE(OP_TRANSPOSE, Y, NODE(OP_EXPAND, INNER, ANY(X), ANY(A))),
    .where = transposes_expanded,
    .rewrite = transpose_first,
};
static const pattern *const expand_patterns[] = {&spare, &expand_transpose};
PATTERN_SET(npuc_edit_eliminate_expand_patterns, expand_patterns);

/* -- eliminate-transpose: elements lie as before exactly when the axes longer than 1 keep their order -- */

static bool keeps_order(const match *m) {
  const shape *x = &m->values[X]->shape;
  const int_list *perm = &NPUC_ATTRS(transpose_attributes, m->root)->perm;
  int64_t last = -1;
  if (!npuc_edit_is_static(m->values[X]) || perm->count != x->rank) return false;
  for (int32_t i = 0; i < x->rank; i++) {
    if (x->dims[perm->values[i]] == 1) continue;
    if (perm->values[i] < last) return false;
    last = perm->values[i];
  }
  return npuc_edit_elements(m->values[X]) > 0; /* a 0 in a Reshape's target means something else */
}

static void reshape_to_root(rewriter *r, const match *m) {
  const shape *y = &m->root->outputs[0]->shape;
  npuc_edit_done(r, m, npuc_edit_reshape(r, m->values[X], y->dims, y->rank));
}

static const pattern idle_transpose = {
    .name = "transpose-to-reshape",
    .doc = "Transpose(x, p) -> Reshape(x), where axes longer than 1 keep their order",
    .parity = PARITY_EXACT,
    .root = NODE(OP_TRANSPOSE, Y, ANY(X)),
    .where = keeps_order,
    .rewrite = reshape_to_root,
};
static const pattern *const transpose_patterns[] = {&idle_transpose};
PATTERN_SET(npuc_edit_eliminate_transpose_patterns, transpose_patterns);

/* -- eliminate-rank0-gather: what is taken out and unsqueezed was there as a slice of one -- */

static bool is_scalar_gather(const match *m) {
  const value *y = m->root->outputs[0];
  return npuc_has_rank(m->values[X], 1) && npuc_has_rank(m->values[INDEX], 0) && y->shape.rank == 1 && y->shape.dims[0] == 1;
}

static void gather_one(rewriter *r, const match *m) {
  value *index = m->values[INDEX];
  if (index->constant) {
    tensor t = *index->constant;
    t.shape = (shape){.rank = 1, .dims = {1}};
    index = npuc_graph_add_constant(r->graph, index->name, &t);
  } else {
    index = npuc_edit_reshape(r, index, (int64_t[]){1}, 1);
  }
  npuc_edit_done(r, m, MAKE(r, OP_GATHER, m->values[X], index));
}

#define SCALAR_GATHER NODE(OP_GATHER, INNER, ANY(X), ANY(INDEX))
static const pattern gather_unsqueeze = {
    .name = "gather-unsqueeze-to-gather",
    .doc = "Unsqueeze(Gather(x [N], i []), 0) -> Gather(x, [i])",
    .parity = PARITY_EXACT,
    .root = NODE(OP_UNSQUEEZE, Y, SCALAR_GATHER, ANY(AXES)),
    .where = is_scalar_gather,
    .rewrite = gather_one,
};
static const pattern gather_reshape = {
    .name = "gather-reshape-to-gather",
    .doc = "Reshape(Gather(x [N], i []), [1]) -> Gather(x, [i])",
    .parity = PARITY_EXACT,
    .root = NODE(OP_RESHAPE, Y, SCALAR_GATHER, ANY(AXES)),
    .where = is_scalar_gather,
    .rewrite = gather_one,
};
static const pattern *const rank0_patterns[] = {&gather_unsqueeze, &gather_reshape};
PATTERN_SET(npuc_edit_eliminate_rank0_gather_patterns, rank0_patterns);

/* -- eliminate-singleton-gather-unsqueeze: an axis of 1 that is taken away for one function of an element and put back -- */

static bool is_singleton(const match *m) {
  const node *gather = m->nodes[INNER], *unary = m->nodes[UNARY];
  const shape *x = &m->values[X]->shape;
  int32_t axis, n_axes;
  int64_t axes[MAX_RANK], at[1];
  int32_t n_at;
  if (!is_elementwise(unary) || unary->n_inputs != 1 || unary->n_outputs != 1 || !npuc_has_one_use(unary->outputs[0])) return false;
  if (!npuc_axis_normalize(NPUC_ATTRS(axis_attributes, gather)->axis, x->rank, &axis) || x->dims[axis] != 1) return false;
  if (!npuc_constant_ints(m->values[INDEX], at, 1, &n_at) || n_at != 1 || m->values[INDEX]->shape.rank != 0) return false;
  if (at[0] != 0 && at[0] != -1) return false;
  if (node_is(m->root, OP_RESHAPE)) return npuc_edit_is_static(m->values[X]) && npuc_same_shape(m->values[X], m->root->outputs[0]);
  return npuc_constant_ints(m->values[AXES], axes, MAX_RANK, &n_axes) && n_axes == 1 && npuc_axis_normalize(axes[0], x->rank, &n_axes) &&
         n_axes == axis;
}

static void apply_directly(rewriter *r, const match *m) {
  npuc_edit_done(r, m, npuc_edit_copy(r, m->nodes[UNARY], &(value *){m->values[X]}, 1)->outputs[0]);
}

#define UNARY_OF_GATHER                                                                      \
  {                                                                                          \
    .kind = PATTERN_NODE, .op = ANY_OP, .capture = UNARY, .inputs = (const pattern_node[]) { \
      NODE(OP_GATHER, INNER, ANY(X), CONST(INDEX)), { .kind = PATTERN_END }                  \
    }                                                                                        \
  }
static const pattern singleton_unsqueeze = {
    .name = "singleton-gather-unsqueeze",
    .doc = "Unsqueeze(f(Gather(x, 0; axis k of 1)), k) -> f(x), f of one element",
    .parity = PARITY_EXACT,
    .root = NODE(OP_UNSQUEEZE, Y, UNARY_OF_GATHER, CONST(AXES)),
    .where = is_singleton,
    .rewrite = apply_directly,
};
static const pattern singleton_reshape = {
    .name = "singleton-gather-reshape",
    .doc = "Reshape(f(Gather(x, 0; axis k of 1)), dims of x) -> f(x), f of one element",
    .parity = PARITY_EXACT,
    .root = NODE(OP_RESHAPE, Y, UNARY_OF_GATHER, ANY(AXES)),
    .where = is_singleton,
    .rewrite = apply_directly,
};
static const pattern *const singleton_patterns[] = {&singleton_unsqueeze, &singleton_reshape};
PATTERN_SET(npuc_edit_eliminate_singleton_gather_unsqueeze_patterns, singleton_patterns);

/* -- eliminate-identity-gather-nd -- */

/* The indices are 0, 1, 2, ... in the order of the elements that they name. */
static bool gathers_in_order(const match *m) {
  const tensor *at = m->values[INDEX]->constant;
  const shape *x = &m->values[X]->shape;
  int32_t depth = at->shape.rank ? (int32_t)at->shape.dims[at->shape.rank - 1] : 0;
  if (NPUC_ATTRS(gathernd_attributes, m->root)->batch_dims || depth < 1 || depth > x->rank || !npuc_edit_is_static(m->values[X]))
    return false;
  if (!npuc_same_shape(m->values[X], m->root->outputs[0]) || (m->root->outputs[0]->is_output && m->values[X]->is_input)) return false;
  int64_t rows = npuc_tensor_elements(at) / depth;
  for (int64_t i = 0; i < rows; i++) {
    int64_t offset = 0;
    for (int32_t k = 0; k < depth; k++) {
      int64_t index = npuc_tensor_get_int(at, i * depth + k);
      offset = offset * x->dims[k] + (index < 0 ? index + x->dims[k] : index);
    }
    if (offset != i) return false;
  }
  return true;
}

static void pass_on(rewriter *r, const match *m) { npuc_edit_done(r, m, m->values[X]); }

static const pattern identity_gather = {
    .name = "identity-gather-nd",
    .doc = "GatherND(x, all places in order) -> x",
    .parity = PARITY_EXACT,
    .root = NODE(OP_GATHERND, Y, ANY(X), CONST(INDEX)),
    .where = gathers_in_order,
    .rewrite = pass_on,
};
static const pattern *const gather_nd_patterns[] = {&identity_gather};
PATTERN_SET(npuc_edit_eliminate_identity_gather_nd_patterns, gather_nd_patterns);
