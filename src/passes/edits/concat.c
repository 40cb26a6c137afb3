/* SPDX-License-Identifier: Apache-2.0 */
/* collapse-unrolled-concat: a tensor cut into slices of one and put together again, as loops that an exporter has unrolled leave it, is the tensor, or one slice of it. */
#include "passes/edits/build.h"

enum { Y };

typedef struct piece {
  value *source;
  int64_t at; /* along the Concat's axis */
} piece;

/* Through what changes no element and ends in the shape that it began with. */
static const value *behind_reshapes(const value *v) {
  const node *n = v->producer;
  while (n && (node_is(n, OP_SQUEEZE) || node_is(n, OP_UNSQUEEZE) || node_is(n, OP_IDENTITY) || node_is(n, OP_RESHAPE))) {
    v = n->inputs[0];
    n = v->producer;
  }
  return v;
}

static bool slice_step_is_one(const node *n) {
  int64_t step[1];
  int32_t count;
  return n->n_inputs < 5 || !n->inputs[4] || (npuc_constant_ints(n->inputs[4], step, 1, &count) && count == 1 && step[0] == 1);
}

/* `v` is x[.., at : at + 1, ..] along `axis`. */
static bool is_piece(const value *v, int32_t axis, piece *out) {
  const value *cut = behind_reshapes(v);
  const node *n = cut->producer;
  int64_t from[1], axes[1] = {0};
  int32_t count, own = 0;
  if (!node_is(n, OP_SLICE) || !npuc_same_shape(cut, v) || !npuc_edit_is_static(n->inputs[0]) || !slice_step_is_one(n)) return false;
  if (!npuc_constant_ints(n->inputs[1], from, 1, &count) || count != 1) return false;
  if (n->n_inputs > 3 && n->inputs[3] && (!npuc_constant_ints(n->inputs[3], axes, 1, &count) || count != 1)) return false;
  if (!npuc_axis_normalize(axes[0], cut->shape.rank, &own) || own != axis || cut->shape.dims[axis] != 1) return false;
  int64_t length = n->inputs[0]->shape.dims[axis];
  *out = (piece){n->inputs[0], from[0] < 0 ? from[0] + length : from[0]};
  return out->at >= 0 && out->at < length;
}

static int32_t concat_axis(const node *n) {
  int32_t axis = -1;
  int32_t rank = n->outputs[0]->shape.rank;
  return rank > 0 && npuc_axis_normalize(NPUC_ATTRS(axis_attributes, n)->axis, rank, &axis) ? axis : -1;
}

static bool joins_slices(const match *m) {
  const node *n = m->root;
  int32_t axis = concat_axis(n);
  piece first, next;
  if (axis < 0 || n->n_inputs < npuc_edit_int(m->parameters, "min_fanin") || !is_piece(n->inputs[0], axis, &first)) return false;
  for (int32_t i = 1; i < n->n_inputs; i++) {
    if (!is_piece(n->inputs[i], axis, &next) || next.source != first.source || next.at != first.at + i) return false;
  }
  return !(n->outputs[0]->is_output && first.source->is_input && n->n_inputs == first.source->shape.dims[axis]);
}

static void one_slice(rewriter *r, const match *m) {
  int32_t axis = concat_axis(m->root);
  piece first;
  if (!is_piece(m->root->inputs[0], axis, &first)) return;
  bool whole = m->root->n_inputs == first.source->shape.dims[axis];
  npuc_edit_done(r, m, whole ? first.source : npuc_edit_slice(r, first.source, axis, first.at, first.at + m->root->n_inputs, 1));
}

static const pattern unrolled = {
    .name = "concat-of-slices",
    .doc = "Concat(x[i], x[i+1], .. x[i+n-1]) -> x[i : i+n]",
    .parity = PARITY_EXACT,
    .root = NODE(OP_CONCAT, Y, REST),
    .where = joins_slices,
    .rewrite = one_slice,
};
static const pattern *const patterns[] = {&unrolled};
PATTERN_SET(npuc_edit_collapse_unrolled_concat_patterns, patterns);
