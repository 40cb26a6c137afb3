/* SPDX-License-Identifier: Apache-2.0 */
/* legalize, windows: two spatial axes, one form for each global pool, softmax along the last axis. */
#include <string.h>

#include "passes/internal.h"

enum { Y, X, W, B, AXES };

/* -- global pools -- */

/* Exactly the axes 2 .. rank-1. */
static bool reduces_spatial(const match *m) {
  int64_t axes[MAX_RANK];
  int32_t n, rank = m->values[X]->shape.rank;
  if (rank < 3 || !npuc_is_float(m->values[X]) || !npuc_constant_ints(m->values[AXES], axes, MAX_RANK, &n) || n != rank - 2) return false;
  unsigned seen = 0;
  for (int32_t i = 0; i < n; i++) {
    int32_t axis;
    if (!npuc_axis_normalize(axes[i], rank, &axis) || axis < 2) return false;
    seen |= 1u << axis;
  }
  return seen == ((1u << rank) - 1) - 3u && npuc_shape_is_static(&m->root->outputs[0]->shape);
}

static void mean_to_global(rewriter *r, const match *m) {
  node *pool = npuc_rewrite_node(r, OP_GLOBALAVERAGEPOOL, (value *[]){m->values[X]}, 1, 1);
  value *y = pool->outputs[0];
  if (!NPUC_ATTRS(reduce_attributes, m->root)->keepdims) y = npuc_weight_reshape(r, y, &m->root->outputs[0]->shape);
  npuc_rewrite_replace(r, m->root->outputs[0], y);
}

static const pattern reduce_mean = {
    .name = "reduce-mean-to-global-average-pool",
    .doc = "ReduceMean(x; spatial axes) -> GlobalAveragePool(x), reshaped without keepdims",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_REDUCEMEAN, Y, ANY(X), CONST(AXES)),
    .where = reduces_spatial,
    .rewrite = mean_to_global,
};

static bool pools_all(const match *m) {
  const pool_attributes *a = NPUC_ATTRS(pool_attributes, m->root);
  const shape *x = &m->values[X]->shape, *y = &m->root->outputs[0]->shape;
  if (a->kernel_shape.count != x->rank - 2) return false;
  for (int32_t i = 0; i < a->pads.count; i++) {
    if (a->pads.values[i]) return false;
  }
  for (int32_t i = 2; i < x->rank; i++) {
    if (a->kernel_shape.values[i - 2] != x->dims[i] || y->dims[i] != 1) return false;
    if (a->dilations.count && a->dilations.values[i - 2] != 1) return false;
  }
  return true;
}

static void average_to_global(rewriter *r, const match *m) {
  node *pool = npuc_rewrite_node(r, OP_GLOBALAVERAGEPOOL, (value *[]){m->values[X]}, 1, 1);
  npuc_rewrite_replace(r, m->root->outputs[0], pool->outputs[0]);
}

static const pattern average_global = {
    .name = "average-pool-to-global",
    .doc = "AveragePool(x) -> GlobalAveragePool(x) where the window is the whole image",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_AVERAGEPOOL, Y, ANY(X)),
    .where = pools_all,
    .rewrite = average_to_global,
};

static int_list list_of(graph *g, int32_t n, int64_t each) {
  int_list l = {NPUC_NEW_ARRAY(g->module->arena, (size_t)n, int64_t), n};
  for (int32_t i = 0; i < n; i++) l.values[i] = each;
  return l;
}

static bool has_static_input(const match *m) { return npuc_shape_is_static(&m->values[X]->shape) && m->values[X]->shape.rank >= 3; }

static void global_to_max(rewriter *r, const match *m) {
  const shape *x = &m->values[X]->shape;
  node *pool = npuc_rewrite_node(r, OP_MAXPOOL, (value *[]){m->values[X]}, 1, 1);
  pool_attributes *a = NPUC_ATTRS(pool_attributes, pool);
  a->kernel_shape = list_of(r->graph, x->rank - 2, 1);
  for (int32_t i = 2; i < x->rank; i++) a->kernel_shape.values[i - 2] = x->dims[i];
  npuc_rewrite_replace(r, m->root->outputs[0], pool->outputs[0]);
}

static const pattern global_max = {
    .name = "global-max-pool-to-max-pool",
    .doc = "GlobalMaxPool(x) -> MaxPool(x) with a window of the whole image",
    .parity = PARITY_EXACT,
    .root = NODE(OP_GLOBALMAXPOOL, Y, ANY(X)),
    .where = has_static_input,
    .rewrite = global_to_max,
};

/* -- one spatial axis becomes two: [N, C, L] is [N, C, 1, L] -- */

static bool is_line(const match *m) {
  return m->values[X]->shape.rank == 3 && npuc_shape_is_static(&m->values[X]->shape) && npuc_shape_is_static(&m->root->outputs[0]->shape);
}

static shape with_height(const shape *s) { return (shape){.rank = 4, .dims = {s->dims[0], s->dims[1], 1, s->dims[2]}}; }

static int_list with_leading(graph *g, const int_list *l, int64_t first) {
  if (!l->count) return *l;
  int_list two = list_of(g, 2, first);
  two.values[1] = l->values[0];
  return two;
}

static int_list pads_with_height(graph *g, const int_list *pads) {
  if (!pads->count) return *pads;
  int_list four = list_of(g, 4, 0);
  four.values[1] = pads->values[0];
  four.values[3] = pads->values[1];
  return four;
}

static bool conv_is_line(const match *m) {
  const char *auto_pad = NPUC_ATTRS(conv_attributes, m->root)->auto_pad;
  return is_line(m) && m->values[W]->constant && (!auto_pad || strcmp(auto_pad, "NOTSET") == 0);
}

static void widen_conv(rewriter *r, const match *m) {
  graph *g = r->graph;
  shape x = with_height(&m->values[X]->shape);
  tensor t = *m->values[W]->constant;
  t.shape = with_height(&t.shape);
  if (t.owner) (void)npuc_blob_retain(t.owner); /* weight_constant gives one reference back */
  value *w = npuc_weight_constant(r, m->values[W]->name, &t), *b = m->values[B];
  node *conv = npuc_rewrite_node(r, OP_CONV, (value *[]){npuc_weight_reshape(r, m->values[X], &x), w, b}, b ? 3 : 2, 1);
  const conv_attributes *old = NPUC_ATTRS(conv_attributes, m->root);
  conv_attributes *a = NPUC_ATTRS(conv_attributes, conv);
  a->group = old->group;
  a->kernel_shape = with_leading(g, &old->kernel_shape, 1);
  a->strides = with_leading(g, &old->strides, 1);
  a->dilations = with_leading(g, &old->dilations, 1);
  a->pads = pads_with_height(g, &old->pads);
  npuc_rewrite_replace(r, m->root->outputs[0], npuc_weight_reshape(r, conv->outputs[0], &m->root->outputs[0]->shape));
}

static bool pool_is_line(const match *m) {
  const char *auto_pad = NPUC_ATTRS(pool_attributes, m->root)->auto_pad;
  return is_line(m) && m->root->n_outputs == 1 && (!auto_pad || strcmp(auto_pad, "NOTSET") == 0);
}

static void widen_pool(rewriter *r, const match *m) {
  graph *g = r->graph;
  shape x = with_height(&m->values[X]->shape);
  node *pool = npuc_rewrite_node(r, m->root->op->id, (value *[]){npuc_weight_reshape(r, m->values[X], &x)}, 1, 1);
  const pool_attributes *old = NPUC_ATTRS(pool_attributes, m->root);
  pool_attributes *a = NPUC_ATTRS(pool_attributes, pool);
  a->ceil_mode = old->ceil_mode;
  a->count_include_pad = old->count_include_pad;
  a->kernel_shape = with_leading(g, &old->kernel_shape, 1);
  a->strides = with_leading(g, &old->strides, 1);
  a->dilations = with_leading(g, &old->dilations, 1);
  a->pads = pads_with_height(g, &old->pads);
  npuc_rewrite_replace(r, m->root->outputs[0], npuc_weight_reshape(r, pool->outputs[0], &m->root->outputs[0]->shape));
}

static void widen_global(rewriter *r, const match *m) {
  shape x = with_height(&m->values[X]->shape);
  node *pool = npuc_rewrite_node(r, m->root->op->id, (value *[]){npuc_weight_reshape(r, m->values[X], &x)}, 1, 1);
  npuc_rewrite_replace(r, m->root->outputs[0], npuc_weight_reshape(r, pool->outputs[0], &m->root->outputs[0]->shape));
}

static const pattern conv_line = {.name = "conv-1d-to-2d",
                                  .doc = "Conv(x[N,C,L]) -> Conv(x[N,C,1,L])",
                                  .parity = PARITY_EXACT,
                                  .root = NODE(OP_CONV, Y, ANY(X), ANY(W), OPTIONAL_INPUT(B)),
                                  .where = conv_is_line,
                                  .rewrite = widen_conv};
static const pattern max_pool_line = {.name = "max-pool-1d-to-2d",
                                      .doc = "MaxPool(x[N,C,L]) -> MaxPool(x[N,C,1,L])",
                                      .parity = PARITY_EXACT,
                                      .root = NODE(OP_MAXPOOL, Y, ANY(X)),
                                      .where = pool_is_line,
                                      .rewrite = widen_pool};
static const pattern average_pool_line = {.name = "average-pool-1d-to-2d",
                                          .doc = "AveragePool(x[N,C,L]) -> AveragePool(x[N,C,1,L])",
                                          .parity = PARITY_EXACT,
                                          .root = NODE(OP_AVERAGEPOOL, Y, ANY(X)),
                                          .where = pool_is_line,
                                          .rewrite = widen_pool};
static const pattern global_pool_line = {.name = "global-average-pool-1d-to-2d",
                                         .doc = "GlobalAveragePool(x[N,C,L]) -> GlobalAveragePool(x[N,C,1,L])",
                                         .parity = PARITY_EXACT,
                                         .root = NODE(OP_GLOBALAVERAGEPOOL, Y, ANY(X)),
                                         .where = is_line,
                                         .rewrite = widen_global};

/* -- a Reshape under a unary operator goes behind it, so that the two reshapes of neighbouring windows meet -- */

static bool reshape_is_static(const match *m) { return npuc_shape_is_static(&m->root->outputs[0]->shape) && npuc_is_float(m->values[X]); }

static void sink_reshape(rewriter *r, const match *m) {
  const node *root = m->root;
  value **inputs = NPUC_NEW_ARRAY(r->scratch, (size_t)root->n_inputs, value *);
  inputs[0] = m->values[X];
  for (int32_t i = 1; i < root->n_inputs; i++) inputs[i] = root->inputs[i];
  node *first = npuc_rewrite_node(r, root->op->id, inputs, root->n_inputs, 1);
  if (root->attributes) first->attributes = npuc_attributes_clone(r->graph->module, root->op, root->attributes);
  npuc_rewrite_replace(r, root->outputs[0], npuc_weight_reshape(r, first->outputs[0], &root->outputs[0]->shape));
}

#define SINK(symbol, text, algebra, op_id)                                                       \
  static const pattern symbol = {.name = text,                                                   \
                                 .doc = algebra,                                                 \
                                 .parity = PARITY_EXACT,                                         \
                                 .root = NODE(op_id, Y, ONE_USE(OP_RESHAPE, B, ANY(X), ANY(W))), \
                                 .where = reshape_is_static,                                     \
                                 .rewrite = sink_reshape}

SINK(sink_relu, "relu-before-reshape", "Relu(Reshape(x)) -> Reshape(Relu(x))", OP_RELU);
SINK(sink_leakyrelu, "leakyrelu-before-reshape", "LeakyRelu(Reshape(x)) -> Reshape(LeakyRelu(x))", OP_LEAKYRELU);
SINK(sink_sigmoid, "sigmoid-before-reshape", "Sigmoid(Reshape(x)) -> Reshape(Sigmoid(x))", OP_SIGMOID);
SINK(sink_tanh, "tanh-before-reshape", "Tanh(Reshape(x)) -> Reshape(Tanh(x))", OP_TANH);
SINK(sink_hardswish, "hardswish-before-reshape", "HardSwish(Reshape(x)) -> Reshape(HardSwish(x))", OP_HARDSWISH);
SINK(sink_gelu, "gelu-before-reshape", "Gelu(Reshape(x)) -> Reshape(Gelu(x))", OP_GELU);
SINK(sink_swish, "swish-before-reshape", "Swish(Reshape(x)) -> Reshape(Swish(x))", OP_SWISH);
SINK(sink_elu, "elu-before-reshape", "Elu(Reshape(x)) -> Reshape(Elu(x))", OP_ELU);
SINK(sink_softplus, "softplus-before-reshape", "Softplus(Reshape(x)) -> Reshape(Softplus(x))", OP_SOFTPLUS);
SINK(sink_mish, "mish-before-reshape", "Mish(Reshape(x)) -> Reshape(Mish(x))", OP_MISH);

static const pattern sink_clip = {
    .name = "clip-before-reshape",
    .doc = "Clip(Reshape(x)) -> Reshape(Clip(x))",
    .parity = PARITY_EXACT,
    .root = NODE(OP_CLIP, Y, ONE_USE(OP_RESHAPE, B, ANY(X), ANY(W)), OPTIONAL_CONST(AXES), OPTIONAL_CONST(Y + 5)),
    .where = reshape_is_static,
    .rewrite = sink_reshape};

/* -- softmax -- */

static int32_t softmax_axis(const match *m) {
  int32_t axis = -1;
  return npuc_axis_normalize(NPUC_ATTRS(axis_attributes, m->root)->axis, m->values[X]->shape.rank, &axis) ? axis : -1;
}

/* Axes of size 1 behind the softmax's: [N, C, 1, 1] along C is [N, C] along the last. */
static bool has_ones_behind(const match *m) {
  const shape *x = &m->values[X]->shape;
  int32_t axis = softmax_axis(m);
  if (axis < 0 || axis == x->rank - 1 || !npuc_shape_is_static(x)) return false;
  for (int32_t i = axis + 1; i < x->rank; i++) {
    if (x->dims[i] != 1) return false;
  }
  return true;
}

static void drop_ones(rewriter *r, const match *m) {
  shape s = m->values[X]->shape;
  s.rank = softmax_axis(m) + 1;
  node *soft = npuc_rewrite_node(r, m->root->op->id, (value *[]){npuc_weight_reshape(r, m->values[X], &s)}, 1, 1);
  NPUC_ATTRS(axis_attributes, soft)->axis = -1;
  npuc_rewrite_replace(r, m->root->outputs[0], npuc_weight_reshape(r, soft->outputs[0], &m->root->outputs[0]->shape));
}

static const pattern softmax_last = {.name = "softmax-to-last-axis",
                                     .doc = "Softmax(x[..., C, 1, 1]; C) -> Reshape(Softmax(Reshape(x)))",
                                     .parity = PARITY_EXACT,
                                     .root = NODE(OP_SOFTMAX, Y, ANY(X)),
                                     .where = has_ones_behind,
                                     .rewrite = drop_ones};
static const pattern logsoftmax_last = {.name = "logsoftmax-to-last-axis",
                                        .doc = "LogSoftmax(x[..., C, 1, 1]; C) -> Reshape(LogSoftmax(Reshape(x)))",
                                        .parity = PARITY_EXACT,
                                        .root = NODE(OP_LOGSOFTMAX, Y, ANY(X)),
                                        .where = has_ones_behind,
                                        .rewrite = drop_ones};

static const pattern *const patterns[] = {&reduce_mean,       &average_global,   &global_max, &conv_line,      &max_pool_line,
                                          &average_pool_line, &global_pool_line, &sink_relu,  &sink_leakyrelu, &sink_sigmoid,
                                          &sink_tanh,         &sink_hardswish,   &sink_gelu,  &sink_swish,     &sink_elu,
                                          &sink_softplus,     &sink_mish,        &sink_clip,  &softmax_last,   &logsoftmax_last};
PATTERN_SET(npuc_window_patterns, patterns);
