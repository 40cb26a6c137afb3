/* SPDX-License-Identifier: Apache-2.0 */
/* legalize, reductions: over any axes they are one over the spatial axes of [1, kept, 1, reduced], the form that pools have. The elements of a sum stay
 * in their order, so that sums are the same to the bit. */
#include "passes/internal.h"

enum { Y, X, AXES };

/* Bit i: axis i is reduced. */
static bool reduced_axes(const match *m, unsigned *out_set) {
  int64_t axes[MAX_RANK];
  int32_t n = 0, rank = m->values[X]->shape.rank;
  if (m->values[AXES] && !npuc_constant_ints(m->values[AXES], axes, MAX_RANK, &n)) return false;
  *out_set = n ? 0 : (1u << rank) - 1;
  for (int32_t i = 0; i < n; i++) {
    int32_t axis;
    if (!npuc_axis_normalize(axes[i], rank, &axis)) return false;
    *out_set |= 1u << axis;
  }
  return n || !NPUC_ATTRS(reduce_attributes, m->root)->noop_with_empty_axes;
}

static bool is_not_spatial(const match *m) {
  const shape *x = &m->values[X]->shape;
  unsigned set;
  int64_t elements;
  if (m->values[X]->type != DTYPE_F32 || x->rank < 1 || !npuc_shape_is_static(x) || !reduced_axes(m, &set)) return false;
  if (!npuc_shape_elements(x, &elements) || elements == 0) return false;
  return !(x->rank > 2 && set == (1u << x->rank) - 4u);
}

/* x with the reduced axes last, as [1, kept, 1, reduced]. */
static value *as_image(rewriter *r, const match *m, unsigned set) {
  const shape *x = &m->values[X]->shape;
  int64_t permutation[MAX_RANK];
  shape image = {.rank = 4, .dims = {1, 1, 1, 1}};
  int32_t at = 0;
  bool moves = false;
  for (int last = 0; last < 2; last++) {
    for (int32_t i = 0; i < x->rank; i++) {
      if ((int)(set >> i & 1) != last) continue;
      moves = moves || at != i;
      permutation[at++] = i;
      image.dims[last ? 3 : 1] *= x->dims[i];
    }
  }
  value *v = moves ? npuc_move_transpose(r, m->values[X], permutation, x->rank) : m->values[X];
  return npuc_weight_reshape(r, v, &image);
}

static void reduce_image(rewriter *r, const match *m) {
  static const int64_t spatial[] = {2, 3};
  unsigned set;
  if (!reduced_axes(m, &set)) return;
  value *image = as_image(r, m, set), *y;
  if (node_is(m->root, OP_REDUCEMAX)) {
    y = npuc_rewrite_node(r, OP_GLOBALMAXPOOL, (value *[]){image}, 1, 1)->outputs[0];
  } else {
    value *axes = npuc_graph_constant_ints(r->graph, npuc_arena_printf(r->scratch, "%s_axes", m->root->name), DTYPE_I64, spatial, 2);
    y = npuc_rewrite_node(r, m->root->op->id, (value *[]){image, axes}, 2, 1)->outputs[0];
  }
  npuc_rewrite_replace(r, m->root->outputs[0], npuc_weight_reshape(r, y, &m->root->outputs[0]->shape));
}

#define REDUCTION(symbol, text, algebra, op_id)                                        \
  static const pattern symbol = {.name = text,                                         \
                                 .doc = algebra,                                       \
                                 .parity = PARITY_EXACT,                               \
                                 .root = NODE(op_id, Y, ANY(X), OPTIONAL_CONST(AXES)), \
                                 .where = is_not_spatial,                              \
                                 .rewrite = reduce_image}

REDUCTION(mean, "reduce-mean-over-space", "ReduceMean(x; axes) -> Reshape(ReduceMean(x as [1, kept, 1, reduced]; spatial axes))",
          OP_REDUCEMEAN);
REDUCTION(sum, "reduce-sum-over-space", "ReduceSum(x; axes) -> Reshape(ReduceSum(x as [1, kept, 1, reduced]; spatial axes))", OP_REDUCESUM);
REDUCTION(most, "reduce-max-over-space", "ReduceMax(x; axes) -> Reshape(GlobalMaxPool(x as [1, kept, 1, reduced]))", OP_REDUCEMAX);

static const pattern *const patterns[] = {&mean, &sum, &most};
PATTERN_SET(npuc_reduce_patterns, patterns);
