/* SPDX-License-Identifier: Apache-2.0 */
/* Placement of IR nodes. A float graph is judged by the integer operators that quantization will make of it: the same predicates, asked of a picture of the graph with 8-bit
 * tensors and stand-ins for the constants, whose values quantization does not know yet either. */
#include <stdlib.h>

#include "ir/attributes.h"
#include "npu/from_ir.h"
#include "quant/plan.h"
#include "quant/unary.h"

struct npu_placer {
  npu_arch arch;
  arena *a;
  const graph *g;
  uint32_t next_node_id; /* of the graph when the picture was taken */
  size_t n_nodes;
  qgraph *picture;
  int32_t *node_of; /* by IR node id; -1: no integer form */
};

static const int32_t stand_in_words[64] = {16384};

npu_placer *npuc_npu_placer_create(const npu_arch *arch) {
  npu_placer *p = npuc_xcalloc(1, sizeof *p);
  p->arch = *arch;
  return p;
}

void npuc_npu_placer_destroy(npu_placer *p) {
  if (!p) return;
  if (p->a) npuc_arena_destroy(p->a);
  free(p);
}

/* -- the picture -- */

typedef struct painter {
  arena *a;
  const graph *g;
  qgraph *q;
  int32_t *tensor_of; /* by value id */
} painter;

static bool has_numbers(const value *v) { return v && npuc_shape_is_static(&v->shape) && v->shape.rank <= 8; }

/* The value as an 8-bit feature tensor. Unknown shapes get rank 8: no layout, hence the host. */
static int32_t feature(painter *p, const value *v) {
  int32_t *known = &p->tensor_of[v->id];
  if (*known >= 0) return *known;
  qtensor t = {.name = v->name,
               .type = npuc_dtype_kind(v->type) == KIND_FLOAT || v->type == DTYPE_NONE ? DTYPE_U8 : v->type,
               .rank = 8,
               .dims = {1, 1, 1, 1, 1, 1, 1, 1},
               .bytes = 1};
  if (has_numbers(v)) {
    t.rank = v->shape.rank;
    for (int32_t i = 0; i < t.rank; i++) t.dims[i] = v->shape.dims[i] > 0 ? v->shape.dims[i] : 1;
  }
  if (v->constant) t.data = stand_in_words;
  return *known = npuc_qgraph_add_tensor(p->q, &t);
}

/* A constant of one or `count` numbers whose values stand for any. */
static int32_t stand_in(painter *p, dtype type, int32_t rank, const int64_t *dims) {
  qtensor t = {.name = "stand-in", .type = type, .rank = rank, .data = stand_in_words, .bytes = 1};
  for (int32_t i = 0; i < rank; i++) t.dims[i] = dims[i];
  return npuc_qgraph_add_tensor(p->q, &t);
}

static int32_t stand_in_scalar(painter *p, dtype type) { return stand_in(p, type, 1, (const int64_t[]){1}); }

typedef struct sketch {
  qop op;
  int32_t features;   /* inputs that are feature tensors */
  int32_t parameters; /* stand-ins behind them */
} sketch;

/* A mean or sum over height and width of [N, C, H, W], spelled as a reduction. */
static bool is_spatial(const node *n) {
  const tensor *axes = n->n_inputs > 1 && n->inputs[1] ? n->inputs[1]->constant : NULL;
  if (!axes || n->inputs[0]->shape.rank != 4 || npuc_tensor_elements(axes) != 2) return false;
  int64_t a = npuc_tensor_get_int(axes, 0), b = npuc_tensor_get_int(axes, 1);
  a = a < 0 ? a + 4 : a, b = b < 0 ? b + 4 : b;
  return a + b == 5 && (a == 2 || a == 3);
}

/* Which integer operator a node becomes. */
static const struct {
  op_id from;
  sketch to; /* features -1: all inputs */
} sketches[] = {
    {OP_CONV, {QOP_QConv, 1, 0}},
    {OP_GEMM, {QOP_QGemm, 1, 0}},
    {OP_MATMUL, {QOP_QGemm, 1, 0}},
    {OP_ADD, {QOP_QAdd, 2, 3}},
    {OP_SUB, {QOP_QAdd, 2, 3}},
    {OP_MUL, {QOP_QMul, 2, 2}},
    {OP_RELU, {QOP_Requantize, 1, 2}},
    {OP_CLIP, {QOP_Requantize, 1, 2}},
    {OP_AVERAGEPOOL, {QOP_QAveragePool, 1, 3}},
    {OP_GLOBALAVERAGEPOOL, {QOP_QGlobalAveragePool, 1, 2}},
    {OP_REDUCEMEAN, {QOP_QGlobalAveragePool, 1, 2}},
    {OP_REDUCESUM, {QOP_QGlobalAveragePool, 1, 2}},
    {OP_SOFTMAX, {QOP_QSoftmax, 1, 2}},
    {OP_LOGSOFTMAX, {QOP_QLogSoftmax, 1, 4}},
    {OP_LAYERNORMALIZATION, {QOP_QNormalize, 1, 2}},
    {OP_RMSNORMALIZATION, {QOP_QNormalize, 1, 2}},
    {OP_GROUPNORMALIZATION, {QOP_QNormalize, 1, 2}},
    {OP_INSTANCENORMALIZATION, {QOP_QNormalize, 1, 2}},
    {OP_MAXPOOL, {QOP_MaxPool, 1, 0}},
    {OP_CONCAT, {QOP_Concat, -1, 0}},
    {OP_PAD, {QOP_Pad, 1, 0}},
    {OP_RESHAPE, {QOP_Reshape, 1, 0}},
    {OP_FLATTEN, {QOP_Flatten, 1, 0}},
    {OP_SQUEEZE, {QOP_Squeeze, 1, 0}},
    {OP_UNSQUEEZE, {QOP_Unsqueeze, 1, 0}},
    {OP_IDENTITY, {QOP_Identity, 1, 0}},
    {OP_DROPOUT, {QOP_Identity, 1, 0}},
    {OP_TRANSPOSE, {QOP_Transpose, 1, 0}},
    {OP_SLICE, {QOP_Slice, 1, 0}},
    {OP_SPLIT, {QOP_Split, 1, 0}},
    {OP_GATHER, {QOP_Gather, 1, 0}},
    {OP_ARGMAX, {QOP_ArgMax, 1, 0}},
};

/* The input that a multiplication or division by one number scales; -1: it is another one. */
static int32_t scaled_input(const node *n) {
  if (!node_is(n, OP_MUL) && !node_is(n, OP_DIV)) return -1;
  for (int32_t i = 0; i < (node_is(n, OP_DIV) ? 1 : 2); i++) {
    const value *x = n->inputs[i], *factor = n->inputs[1 - i];
    if (!x->constant && factor->constant && npuc_tensor_elements(factor->constant) == 1 &&
        npuc_shape_equal(&x->shape, &n->outputs[0]->shape))
      return i;
  }
  return -1;
}

static bool sketch_of(const node *n, sketch *out) {
  if (scaled_input(n) >= 0) {
    *out = (sketch){QOP_Requantize, 1, 2};
    return true;
  }
  for (size_t i = 0; i < sizeof sketches / sizeof sketches[0]; i++) {
    if (n->op->id != sketches[i].from) continue;
    *out = sketches[i].to;
    if (out->features < 0) out->features = n->n_inputs;
    return (n->op->id != OP_REDUCEMEAN && n->op->id != OP_REDUCESUM) || is_spatial(n);
  }
  *out = (sketch){QOP_Lookup, 1, 1};
  return npuc_unary_known(n);
}

static void add_window(painter *p, const node *n, qattr *list, int32_t *count) {
  int_list kernel, strides, pads, dilations;
  if (n->op->id == OP_CONV) {
    const conv_attributes *a = NPUC_ATTRS(conv_attributes, n);
    kernel = a->kernel_shape, strides = a->strides, pads = a->pads, dilations = a->dilations;
    int64_t *group = npuc_arena_copy(p->a, &a->group, sizeof a->group);
    list[(*count)++] = (qattr){QATTR_group, group, 1};
  } else {
    const pool_attributes *a = NPUC_ATTRS(pool_attributes, n);
    kernel = a->kernel_shape, strides = a->strides, pads = a->pads, dilations = a->dilations;
  }
  list[(*count)++] = (qattr){QATTR_kernel_shape, kernel.values, (uint32_t)kernel.count};
  list[(*count)++] = (qattr){QATTR_strides, strides.values, (uint32_t)strides.count};
  list[(*count)++] = (qattr){QATTR_pads, pads.values, (uint32_t)pads.count};
  list[(*count)++] = (qattr){QATTR_dilations, dilations.values, (uint32_t)dilations.count};
}

static void add_axis(painter *p, const node *n, qattr *list, int32_t *count) {
  int64_t axis = n->op->id == OP_SPLIT ? NPUC_ATTRS(split_attributes, n)->axis : NPUC_ATTRS(axis_attributes, n)->axis;
  list[(*count)++] = (qattr){QATTR_axis, npuc_arena_copy(p->a, &axis, sizeof axis), 1};
}

static void add_steps(painter *p, const node *n, qattr *list, int32_t *count) {
  const tensor *t = n->n_inputs > 4 && n->inputs[4] ? n->inputs[4]->constant : NULL;
  int64_t steps = t ? npuc_tensor_elements(t) : 0, *values = NPUC_NEW_ARRAY(p->a, (size_t)steps + 1, int64_t);
  for (int64_t i = 0; i < steps; i++) values[i] = npuc_tensor_get_int(t, i);
  list[(*count)++] = (qattr){QATTR_steps, values, (uint32_t)steps};
}

/* Without perm the axes are reversed. */
static void add_perm(painter *p, const node *n, qattr *list, int32_t *count) {
  const int_list *perm = &NPUC_ATTRS(transpose_attributes, n)->perm;
  int32_t rank = n->inputs[0]->shape.rank > 0 ? n->inputs[0]->shape.rank : 0;
  int64_t *values = NPUC_NEW_ARRAY(p->a, (size_t)rank + 1, int64_t);
  for (int32_t i = 0; i < rank; i++) values[i] = perm->count == rank ? perm->values[i] : rank - 1 - i;
  list[(*count)++] = (qattr){QATTR_perm, values, (uint32_t)rank};
}

/* Integers behind DequantizeLinear are numbers that are known, too. */
static bool is_known(const value *w) {
  const node *n = w->producer;
  return w->constant || (n && node_is(n, OP_DEQUANTIZELINEAR) && n->inputs[0]->constant);
}

/* Weights' dims as the integer operator has them: [Co, C/group, kh, kw] or [O, K]. */
static int32_t weights_of(painter *p, const node *n) {
  const value *w = n->n_inputs > 1 ? n->inputs[1] : NULL;
  if (!w || !has_numbers(w) || !is_known(w)) {
    /* Computed weights: a constant is what the predicate misses. */
    qtensor t = {.name = "computed", .type = DTYPE_I8, .rank = 4, .dims = {1, 1, 1, 1}, .bytes = 1};
    return npuc_qgraph_add_tensor(p->q, &t);
  }
  if (n->op->id == OP_CONV) return stand_in(p, DTYPE_I8, w->shape.rank, w->shape.dims);
  bool transposed = n->op->id == OP_GEMM && NPUC_ATTRS(gemm_attributes, n)->transB;
  int64_t last = w->shape.rank ? w->shape.dims[w->shape.rank - 1] : 1, before = w->shape.rank > 1 ? w->shape.dims[w->shape.rank - 2] : 1;
  return stand_in(p, DTYPE_I8, 2, (const int64_t[]){transposed ? before : last, transposed ? last : before});
}

/* What quantization will write; epsilon is not known before the scales are. */
static void add_normal(painter *p, const normal_shape *s, qattr *list, int32_t *count) {
  const int64_t numbers[] = {s->count, 1, s->repeat, s->centre};
  for (int i = 0; i < 4; i++)
    list[(*count)++] = (qattr){(qattr_key)(QATTR_count + i), npuc_arena_copy(p->a, &numbers[i], sizeof numbers[i]), 1};
}

static int32_t paint(painter *p, const node *n) {
  sketch s;
  if (!sketch_of(n, &s) || n->n_inputs < s.features) return -1;
  int32_t *inputs = NPUC_NEW_ARRAY(p->a, (size_t)s.features + 8, int32_t), *outputs = NPUC_NEW_ARRAY(p->a, (size_t)n->n_outputs, int32_t),
          count = 0, n_outputs = 0, n_attributes = 0;
  qattr list[8];
  for (int32_t i = 0; i < s.features; i++) {
    if (!n->inputs[i]) return -1;
    inputs[count++] = feature(p, n->inputs[scaled_input(n) == 1 ? 1 : i]);
  }
  bool multiplies = s.op == QOP_QConv || s.op == QOP_QGemm;
  if (multiplies) {
    inputs[count++] = weights_of(p, n);
    for (int i = 0; i < 3; i++) inputs[count++] = stand_in_scalar(p, i == 2 ? DTYPE_U8 : DTYPE_I32);
  }
  if (s.op == QOP_QNormalize) {
    normal_shape normal = {0};
    const char *reason = NULL;
    if (!npuc_shape_is_static(&n->inputs[0]->shape) || !npuc_plan_normal_shape(n, &normal, &reason)) return -1;
    add_normal(p, &normal, list, &n_attributes);
    inputs[count++] = stand_in(p, DTYPE_I32, 1, &normal.parameters);
  }
  for (int32_t i = 0; i < s.parameters; i++) inputs[count++] = stand_in_scalar(p, DTYPE_I32);
  for (int32_t i = 0; i < n->n_outputs; i++) {
    if (n->outputs[i]) outputs[n_outputs++] = feature(p, n->outputs[i]);
  }
  if (s.op == QOP_QConv || s.op == QOP_QAveragePool || s.op == QOP_MaxPool) add_window(p, n, list, &n_attributes);
  if (s.op == QOP_QSoftmax || s.op == QOP_Concat || s.op == QOP_Split || s.op == QOP_Flatten) add_axis(p, n, list, &n_attributes);
  if (s.op == QOP_Transpose) add_perm(p, n, list, &n_attributes);
  if (s.op == QOP_Slice) add_steps(p, n, list, &n_attributes);
  const qnode out = {.op = s.op,
                     .name = n->name,
                     .inputs = inputs,
                     .n_inputs = count,
                     .outputs = outputs,
                     .n_outputs = n_outputs,
                     .attributes = list,
                     .n_attributes = n_attributes};
  npuc_qgraph_add_node(p->q, &out);
  return (int32_t)p->q->n_nodes - 1;
}

static bool is_integer(const graph *g) {
  for (size_t i = 0; i < g->n_inputs; i++) {
    if (npuc_dtype_kind(g->inputs[i]->type) == KIND_FLOAT) return false;
  }
  return true;
}

/* An integer graph converts as it is; a float one is painted, also where all its operators exist on integers too (moves). */
static void take_picture(npu_placer *p, const graph *g) {
  if (p->a) npuc_arena_destroy(p->a);
  p->a = npuc_arena_create();
  p->g = g;
  p->next_node_id = g->next_node_id;
  p->n_nodes = g->n_nodes;
  p->node_of = NPUC_NEW_ARRAY(p->a, g->next_node_id, int32_t);
  int32_t index = 0;
  if (is_integer(g) && npuc_npu_from_ir(NULL, p->a, g, &p->picture) == NPUC_OK) {
    NPUC_EACH_NODE(g, n) p->node_of[n->id] = index++;
    return;
  }
  painter paints = {.a = p->a, .g = g, .q = npuc_qgraph_create(p->a), .tensor_of = NPUC_NEW_ARRAY(p->a, g->next_value_id, int32_t)};
  for (uint32_t i = 0; i < g->next_value_id; i++) paints.tensor_of[i] = -1;
  NPUC_EACH_NODE(g, n) p->node_of[n->id] = paint(&paints, n);
  p->picture = paints.q;
}

bool npuc_npu_placer_place(void *placer, const node *n, const char **out_reason) {
  npu_placer *p = placer;
  if (p->g != n->owner || p->next_node_id != n->owner->next_node_id || p->n_nodes != n->owner->n_nodes) take_picture(p, n->owner);
  int32_t index = p->node_of[n->id];
  if (index >= 0) return npuc_npu_place(p->picture, (size_t)index, &p->arch, out_reason);
  *out_reason = "the operator has no integer form";
  return false;
}

void npuc_npu_place_graph(const npu_arch *arch, graph *g) {
  npu_placer *p = npuc_npu_placer_create(arch);
  NPUC_EACH_NODE(g, n) n->place = npuc_npu_placer_place(p, n, &n->place_reason) ? "npu" : "host";
  npuc_npu_placer_destroy(p);
}
