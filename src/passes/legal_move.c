/* SPDX-License-Identifier: Apache-2.0 */
/* legalize, movement: what only copies elements, in the few forms that have a place in an integer graph.
 *
 *   each element of an axis comes from one place of it:  Gather(x, places; axis)             Pad in its modes, Expand, Tile, Resize to the nearest
 *   cells of a block are channels, or the reverse:       Reshape(Transpose(Reshape(x)))      DepthToSpace, SpaceToDepth
 *
 * All exact, for every element type. */
#include <string.h>

#include "ir/ops/resample.h"
#include "passes/internal.h"

enum { Y, X, PADS, FILL, AXES };

static bool is_static(const match *m) {
  return npuc_shape_is_static(&m->values[X]->shape) && npuc_shape_is_static(&m->root->outputs[0]->shape);
}

static bool is_empty(const value *v) {
  int64_t n;
  return !npuc_shape_elements(&v->shape, &n) || n == 0;
}

value *npuc_move_gather(rewriter *r, value *x, int32_t axis, const int64_t *places, int64_t n) {
  const char *name = npuc_arena_printf(r->scratch, "%s_places", x->name);
  value *index = npuc_graph_constant_ints(r->graph, npuc_graph_unique_name(r->graph, name), DTYPE_I64, places, n);
  node *gather = npuc_rewrite_node(r, OP_GATHER, (value *[]){x, index}, 2, 1);
  NPUC_ATTRS(axis_attributes, gather)->axis = axis;
  return gather->outputs[0];
}

value *npuc_move_transpose(rewriter *r, value *x, const int64_t *permutation, int32_t rank) {
  node *turned = npuc_rewrite_node(r, OP_TRANSPOSE, (value *[]){x}, 1, 1);
  NPUC_ATTRS(transpose_attributes, turned)->perm =
      (int_list){npuc_arena_copy(r->graph->module->arena, permutation, (size_t)rank * sizeof *permutation), rank};
  return turned->outputs[0];
}

/* -- places of an axis -- */

/* Where element i of the padded axis comes from: the axis has n places, i = 0 is the first of them. */
static int64_t place_of(const char *mode, int64_t i, int64_t n) {
  if (strcmp(mode, "edge") == 0) return i < 0 ? 0 : i >= n ? n - 1 : i;
  int64_t period = strcmp(mode, "wrap") == 0 || n == 1 ? n : 2 * (n - 1), at = i % period;
  if (at < 0) at += period;
  return at < n ? at : period - at;
}

/* pads[axis], pads[rank + axis] for every axis. */
static bool all_pads(const match *m, int64_t out[2 * MAX_RANK]) {
  int64_t pads[2 * MAX_RANK], axes[MAX_RANK];
  int32_t n, n_axes = m->values[X]->shape.rank, rank = n_axes;
  for (int32_t i = 0; i < rank; i++) axes[i] = i;
  if (m->values[AXES] && !npuc_constant_ints(m->values[AXES], axes, rank, &n_axes)) return false;
  if (!npuc_constant_ints(m->values[PADS], pads, 2 * MAX_RANK, &n) || n != 2 * n_axes) return false;
  memset(out, 0, 2 * MAX_RANK * sizeof *out);
  for (int32_t i = 0; i < n_axes; i++) {
    int32_t axis;
    if (!npuc_axis_normalize(axes[i], rank, &axis)) return false;
    out[axis] = pads[i];
    out[rank + axis] = pads[n_axes + i];
  }
  return true;
}

static bool pads_by_copying(const match *m) {
  int64_t pads[2 * MAX_RANK];
  const char *mode = NPUC_ATTRS(pad_attributes, m->root)->mode;
  return mode && strcmp(mode, "constant") != 0 && is_static(m) && !is_empty(m->values[X]) && all_pads(m, pads);
}

static void pad_to_gather(rewriter *r, const match *m) {
  int64_t pads[2 * MAX_RANK];
  if (!all_pads(m, pads)) return;
  const shape *x = &m->values[X]->shape, *y = &m->root->outputs[0]->shape;
  value *v = m->values[X];
  for (int32_t axis = 0; axis < x->rank; axis++) {
    if (!pads[axis] && !pads[x->rank + axis]) continue;
    int64_t *places = NPUC_NEW_ARRAY(r->scratch, (size_t)y->dims[axis], int64_t);
    for (int64_t i = 0; i < y->dims[axis]; i++)
      places[i] = place_of(NPUC_ATTRS(pad_attributes, m->root)->mode, i - pads[axis], x->dims[axis]);
    v = npuc_move_gather(r, v, axis, places, y->dims[axis]);
  }
  npuc_rewrite_replace(r, m->root->outputs[0], v);
}

static const pattern pad_gather = {
    .name = "pad-by-copies-to-gather",
    .doc = "Pad(x; edge, reflect, wrap) -> Gather(x) along each padded axis",
    .parity = PARITY_EXACT,
    .root = NODE(OP_PAD, Y, ANY(X), CONST(PADS), OPTIONAL_INPUT(FILL), OPTIONAL_CONST(AXES)),
    .where = pads_by_copying,
    .rewrite = pad_to_gather,
};

/* Expand and Tile: along each axis that grows, its places again and again. */
static bool repeats(const match *m) {
  return is_static(m) && !is_empty(m->values[X]) && !is_empty(m->root->outputs[0]) && !npuc_same_shape(m->values[X], m->root->outputs[0]);
}

static void repeat_to_gather(rewriter *r, const match *m) {
  const shape *y = &m->root->outputs[0]->shape;
  shape x = {.rank = y->rank};
  int32_t more = y->rank - m->values[X]->shape.rank;
  for (int32_t i = 0; i < y->rank; i++) x.dims[i] = i < more ? 1 : m->values[X]->shape.dims[i - more];
  value *v = more ? npuc_weight_reshape(r, m->values[X], &x) : m->values[X];
  for (int32_t axis = 0; axis < y->rank; axis++) {
    if (x.dims[axis] == y->dims[axis]) continue;
    int64_t *places = NPUC_NEW_ARRAY(r->scratch, (size_t)y->dims[axis], int64_t);
    for (int64_t i = 0; i < y->dims[axis]; i++) places[i] = i % x.dims[axis];
    v = npuc_move_gather(r, v, axis, places, y->dims[axis]);
  }
  npuc_rewrite_replace(r, m->root->outputs[0], v);
}

static const pattern expand_gather = {
    .name = "expand-to-gather",
    .doc = "Expand(x) -> Gather(Reshape(x)) along each axis that grows",
    .parity = PARITY_EXACT,
    .root = NODE(OP_EXPAND, Y, ANY(X), ANY(PADS)),
    .where = repeats,
    .rewrite = repeat_to_gather,
};
static const pattern tile_gather = {
    .name = "tile-to-gather",
    .doc = "Tile(x) -> Gather(x) along each axis that grows",
    .parity = PARITY_EXACT,
    .root = NODE(OP_TILE, Y, ANY(X), ANY(PADS)),
    .where = repeats,
    .rewrite = repeat_to_gather,
};

/* -- blocks -- */

/* depth is [batch, block height, block width, channels] in the first form, [batch, channels, block height, block width] with channels_first. */
value *npuc_move_depth_to_space(rewriter *r, value *x, const cell_block *b, bool channels_first) {
  static const int64_t from_last[] = {0, 3, 4, 1, 5, 2}, from_first[] = {0, 1, 4, 2, 5, 3};
  shape apart = {.rank = 6, .dims = {b->batch, b->high, b->wide, b->channels, b->rows, b->columns}};
  if (channels_first) apart = (shape){.rank = 6, .dims = {b->batch, b->channels, b->high, b->wide, b->rows, b->columns}};
  shape joined = {.rank = 4, .dims = {b->batch, b->channels, b->rows * b->high, b->columns * b->wide}};
  value *cells = npuc_move_transpose(r, npuc_weight_reshape(r, x, &apart), channels_first ? from_first : from_last, 6);
  return npuc_weight_reshape(r, cells, &joined);
}

static bool is_image(const match *m) { return is_static(m) && m->values[X]->shape.rank == 4 && !is_empty(m->values[X]); }

static void spread_depth(rewriter *r, const match *m) {
  const blocksize_attributes *a = NPUC_ATTRS(blocksize_attributes, m->root);
  const shape *x = &m->values[X]->shape;
  int64_t size = a->blocksize;
  cell_block b = {x->dims[0], x->dims[1] / (size * size), size, size, x->dims[2], x->dims[3]};
  value *y = npuc_move_depth_to_space(r, m->values[X], &b, a->mode && strcmp(a->mode, "CRD") == 0);
  npuc_rewrite_replace(r, m->root->outputs[0], y);
}

static void gather_depth(rewriter *r, const match *m) {
  static const int64_t permutation[] = {0, 3, 5, 1, 2, 4};
  const shape *x = &m->values[X]->shape;
  int64_t size = NPUC_ATTRS(blocksize_attributes, m->root)->blocksize;
  shape apart = {.rank = 6, .dims = {x->dims[0], x->dims[1], x->dims[2] / size, size, x->dims[3] / size, size}};
  value *cells = npuc_move_transpose(r, npuc_weight_reshape(r, m->values[X], &apart), permutation, 6);
  npuc_rewrite_replace(r, m->root->outputs[0], npuc_weight_reshape(r, cells, &m->root->outputs[0]->shape));
}

static const pattern depth_to_space = {
    .name = "depth-to-space-to-transpose",
    .doc = "DepthToSpace(x) -> Reshape(Transpose(Reshape(x)))",
    .parity = PARITY_EXACT,
    .root = NODE(OP_DEPTHTOSPACE, Y, ANY(X)),
    .where = is_image,
    .rewrite = spread_depth,
};
static const pattern space_to_depth = {
    .name = "space-to-depth-to-transpose",
    .doc = "SpaceToDepth(x) -> Reshape(Transpose(Reshape(x)))",
    .parity = PARITY_EXACT,
    .root = NODE(OP_SPACETODEPTH, Y, ANY(X)),
    .where = is_image,
    .rewrite = gather_depth,
};

static const pattern *const patterns[] = {&pad_gather, &expand_gather, &tile_gather, &depth_to_space, &space_to_depth};
PATTERN_SET(npuc_move_patterns, patterns);
