/* SPDX-License-Identifier: Apache-2.0 */
/* IR to qgraph: one row of `rules` for each operator says what it is called there and how its attributes are gathered. Constant inputs of standard operators (axes, pads,
 * starts ...) become attributes; of npuc operators they stay tensors. */
#include "npu/from_ir.h"

#include <inttypes.h>
#include <string.h>

#include "ir/attributes.h"

typedef struct converter {
  diag *d;
  arena *a;
  const graph *g;
  qgraph *q;
  int32_t *tensor_of; /* by value id; -1 */
} converter;

enum { MAX_ATTRIBUTES = 16 };

typedef struct attribute_list {
  qattr items[MAX_ATTRIBUTES];
  int32_t count;
} attribute_list;

static void put(converter *c, attribute_list *list, qattr_key key, const int64_t *values, int32_t count) {
  list->items[list->count++] =
      (qattr){.key = key, .values = npuc_arena_copy(c->a, values, (size_t)count * sizeof *values), .count = (uint32_t)count};
}

static void put_one(converter *c, attribute_list *list, qattr_key key, int64_t number) { put(c, list, key, &number, 1); }
static void put_list(converter *c, attribute_list *list, qattr_key key, int_list values) { put(c, list, key, values.values, values.count); }

static npuc_status refuse(const converter *c, const node *n, const char *reason) {
  return npuc_fail(c->d, NPUC_DIAG_E0805,
                   &(diag_place){.part = c->g->name, .node = n->location ? n->location->name : n->name, .op = n->op->type}, "%s", reason);
}

static int64_t normal_axis(int64_t axis, int32_t rank) { return axis < 0 ? axis + rank : axis; }

/* -- attributes of npuc operators -- */

#define PUT_CLAMP(c, list, at)                                \
  do {                                                        \
    put_one(c, list, QATTR_y_zero_point, (at)->y_zero_point); \
    put_one(c, list, QATTR_lo, (at)->lo);                     \
    put_one(c, list, QATTR_hi, (at)->hi);                     \
  } while (0)

static npuc_status conv_attributes_of(converter *c, const node *n, attribute_list *list) {
  const qconv_attributes *a = NPUC_ATTRS(qconv_attributes, n);
  if (n->inputs[0]->shape.rank != 4) return refuse(c, n, "only two-dimensional convolutions have a place in a .npu file");
  put_list(c, list, QATTR_strides, a->strides);
  put_list(c, list, QATTR_pads, a->pads);
  put_list(c, list, QATTR_dilations, a->dilations);
  put_one(c, list, QATTR_group, a->group);
  put_one(c, list, QATTR_x_zero_point, a->x_zero_point);
  PUT_CLAMP(c, list, a);
  return NPUC_OK;
}

static npuc_status gemm_attributes_of(converter *c, const node *n, attribute_list *list) {
  const qgemm_attributes *a = NPUC_ATTRS(qgemm_attributes, n);
  put_one(c, list, QATTR_x_zero_point, a->x_zero_point);
  PUT_CLAMP(c, list, a);
  return NPUC_OK;
}

static npuc_status binary_attributes_of(converter *c, const node *n, attribute_list *list) {
  const qbinary_attributes *a = NPUC_ATTRS(qbinary_attributes, n);
  put_one(c, list, QATTR_a_zero_point, a->a_zero_point);
  put_one(c, list, QATTR_b_zero_point, a->b_zero_point);
  PUT_CLAMP(c, list, a);
  return NPUC_OK;
}

static npuc_status unary_attributes_of(converter *c, const node *n, attribute_list *list) {
  const qunary_attributes *a = NPUC_ATTRS(qunary_attributes, n);
  if (n->op->id == OP_QGLOBALAVERAGEPOOL && n->inputs[0]->shape.rank != 4)
    return refuse(c, n, "only two-dimensional pools have a place in a .npu file");
  put_one(c, list, QATTR_x_zero_point, a->x_zero_point);
  PUT_CLAMP(c, list, a);
  return NPUC_OK;
}

static npuc_status average_attributes_of(converter *c, const node *n, attribute_list *list) {
  const qpool_attributes *a = NPUC_ATTRS(qpool_attributes, n);
  if (n->inputs[0]->shape.rank != 4) return refuse(c, n, "only two-dimensional pools have a place in a .npu file");
  put_list(c, list, QATTR_kernel_shape, a->kernel_shape);
  put_list(c, list, QATTR_strides, a->strides);
  put_list(c, list, QATTR_pads, a->pads);
  put_list(c, list, QATTR_dilations, a->dilations);
  put_one(c, list, QATTR_ceil_mode, a->ceil_mode);
  put_one(c, list, QATTR_count_include_pad, a->count_include_pad);
  put_one(c, list, QATTR_x_zero_point, a->x_zero_point);
  PUT_CLAMP(c, list, a);
  return NPUC_OK;
}

static npuc_status softmax_attributes_of(converter *c, const node *n, attribute_list *list) {
  const qsoftmax_attributes *a = NPUC_ATTRS(qsoftmax_attributes, n);
  put_one(c, list, QATTR_axis, normal_axis(a->axis, n->inputs[0]->shape.rank));
  PUT_CLAMP(c, list, a);
  return NPUC_OK;
}

static npuc_status normalize_attributes_of(converter *c, const node *n, attribute_list *list) {
  const qnormalize_attributes *a = NPUC_ATTRS(qnormalize_attributes, n);
  put_one(c, list, QATTR_count, a->count);
  put_one(c, list, QATTR_inner, a->inner);
  put_one(c, list, QATTR_repeat, a->repeat);
  put_one(c, list, QATTR_centre, a->centre);
  put_one(c, list, QATTR_epsilon, a->epsilon);
  put_one(c, list, QATTR_x_zero_point, a->x_zero_point);
  PUT_CLAMP(c, list, a);
  return NPUC_OK;
}

static npuc_status no_attributes(converter *c, const node *n, attribute_list *list) {
  (void)c, (void)n, (void)list;
  return NPUC_OK;
}

/* -- attributes of standard operators -- */

static npuc_status max_attributes_of(converter *c, const node *n, attribute_list *list) {
  const pool_attributes *a = NPUC_ATTRS(pool_attributes, n);
  if (n->inputs[0]->shape.rank != 4) return refuse(c, n, "only two-dimensional pools have a place in a .npu file");
  if (n->n_outputs > 1 && n->outputs[1]) return refuse(c, n, "the indices output has no place in a .npu file");
  put_list(c, list, QATTR_kernel_shape, a->kernel_shape);
  put_list(c, list, QATTR_strides, a->strides);
  put_list(c, list, QATTR_pads, a->pads);
  put_list(c, list, QATTR_dilations, a->dilations);
  put_one(c, list, QATTR_ceil_mode, a->ceil_mode);
  return NPUC_OK;
}

static npuc_status axis_attributes_of(converter *c, const node *n, attribute_list *list) {
  int64_t axis = NPUC_ATTRS(axis_attributes, n)->axis;
  int32_t rank = n->inputs[0]->shape.rank;
  put_one(c, list, QATTR_axis, normal_axis(axis, rank));
  return NPUC_OK;
}

static npuc_status shape_attributes_of(converter *c, const node *n, attribute_list *list) {
  put(c, list, QATTR_shape, n->outputs[0]->shape.dims, n->outputs[0]->shape.rank);
  return NPUC_OK;
}

/* Input `index` as integers; count -1 when it is omitted, -2 when it is not constant. */
static const int64_t *constant_ints(converter *c, const node *n, int32_t index, int32_t *out_count) {
  *out_count = -1;
  if (index >= n->n_inputs || !n->inputs[index]) return NULL;
  const tensor *t = n->inputs[index]->constant;
  *out_count = -2;
  if (!t) return NULL;
  *out_count = (int32_t)npuc_tensor_elements(t);
  int64_t *values = NPUC_NEW_ARRAY(c->a, (size_t)*out_count, int64_t);
  for (int32_t i = 0; i < *out_count; i++) values[i] = npuc_tensor_get_int(t, i);
  return values;
}

static npuc_status axes_attributes_of(converter *c, const node *n, attribute_list *list) {
  int32_t count;
  const int64_t *axes = constant_ints(c, n, 1, &count);
  if (count == -2) return refuse(c, n, "axes are computed at run time");
  /* Squeeze without axes: all dims of size 1. The output's shape says everything; the attribute is for readers. */
  put(c, list, QATTR_axes, axes, count < 0 ? 0 : count);
  return NPUC_OK;
}

static npuc_status transpose_attributes_of(converter *c, const node *n, attribute_list *list) {
  put_list(c, list, QATTR_perm, NPUC_ATTRS(transpose_attributes, n)->perm);
  return NPUC_OK;
}

static int64_t clamp_to(int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }

static npuc_status slice_attributes_of(converter *c, const node *n, attribute_list *list) {
  int32_t count, n_axes, n_steps, rank = n->inputs[0]->shape.rank;
  const int64_t *starts = constant_ints(c, n, 1, &count), *ends = constant_ints(c, n, 2, &count);
  const int64_t *axes = constant_ints(c, n, 3, &n_axes), *steps = constant_ints(c, n, 4, &n_steps);
  if (!starts || !ends || n_axes == -2 || n_steps == -2 || count > 8)
    return refuse(c, n, "starts, ends, axes or steps are computed at run time");
  int64_t from[8], to[8], along[8], by[8];
  for (int32_t i = 0; i < count; i++) {
    along[i] = normal_axis(axes ? axes[i] : i, rank);
    by[i] = steps ? steps[i] : 1;
    int64_t size = n->inputs[0]->shape.dims[along[i]];
    /* As ONNX: negative counts from the end, then clamped to the axis; ends before the first for negative steps are -1. */
    int64_t start = starts[i] < 0 ? starts[i] + size : starts[i], end = ends[i] < 0 ? (ends[i] < -size ? -1 : ends[i] + size) : ends[i];
    from[i] = by[i] > 0 ? clamp_to(start, 0, size) : clamp_to(start, 0, size - 1);
    to[i] = by[i] > 0 ? clamp_to(end, 0, size) : clamp_to(end, -1, size - 1);
  }
  put(c, list, QATTR_starts, from, count);
  put(c, list, QATTR_ends, to, count);
  put(c, list, QATTR_axes, along, count);
  put(c, list, QATTR_steps, by, count);
  return NPUC_OK;
}

static npuc_status pad_attributes_of(converter *c, const node *n, attribute_list *list) {
  int32_t count, n_axes, n_value, rank = n->inputs[0]->shape.rank;
  const int64_t *pads = constant_ints(c, n, 1, &count), *fill = constant_ints(c, n, 2, &n_value), *axes = constant_ints(c, n, 3, &n_axes);
  if (!pads || n_axes == -2 || n_value == -2) return refuse(c, n, "pads or value are computed at run time");
  const char *mode = NPUC_ATTRS(pad_attributes, n)->mode;
  if (mode && strcmp(mode, "constant") != 0) return refuse(c, n, "only constant padding has an integer form");
  int64_t all[16] = {0};
  int32_t half = count / 2;
  for (int32_t i = 0; i < half; i++) {
    int64_t axis = normal_axis(axes ? axes[i] : i, rank);
    all[axis] = pads[i];
    all[rank + axis] = pads[half + i];
    if (pads[i] < 0 || pads[half + i] < 0) return refuse(c, n, "negative padding has no integer form; it is a Slice");
  }
  put(c, list, QATTR_pads, all, 2 * rank);
  put_one(c, list, QATTR_value, fill ? fill[0] : 0);
  return NPUC_OK;
}

static npuc_status split_attributes_of(converter *c, const node *n, attribute_list *list) {
  int64_t axis = normal_axis(NPUC_ATTRS(split_attributes, n)->axis, n->inputs[0]->shape.rank), sizes[64];
  if (n->n_outputs > 64) return refuse(c, n, "more than 64 outputs");
  for (int32_t i = 0; i < n->n_outputs; i++) sizes[i] = n->outputs[i]->shape.dims[axis];
  put_one(c, list, QATTR_axis, axis);
  put(c, list, QATTR_split, sizes, n->n_outputs);
  return NPUC_OK;
}

static npuc_status argmax_attributes_of(converter *c, const node *n, attribute_list *list) {
  const argmax_attributes *a = NPUC_ATTRS(argmax_attributes, n);
  put_one(c, list, QATTR_axis, normal_axis(a->axis, n->inputs[0]->shape.rank));
  put_one(c, list, QATTR_keepdims, a->keepdims);
  put_one(c, list, QATTR_select_last_index, a->select_last_index);
  return NPUC_OK;
}

/* -- the table -- */

typedef struct conversion {
  op_id from;
  qop to;
  npuc_status (*attributes)(converter *c, const node *n, attribute_list *list);
  int32_t inputs;      /* tensors that stay inputs; -1: all */
  int32_t shift_input; /* the input that becomes u8; -1: none */
} conversion;

static const conversion conversions[] = {
    {OP_QCONV, QOP_QConv, conv_attributes_of, -1, 4},
    {OP_QGEMM, QOP_QGemm, gemm_attributes_of, -1, 4},
    {OP_QADD, QOP_QAdd, binary_attributes_of, -1, 4},
    {OP_QMUL, QOP_QMul, binary_attributes_of, -1, 3},
    {OP_REQUANTIZE, QOP_Requantize, unary_attributes_of, -1, 2},
    {OP_QGLOBALAVERAGEPOOL, QOP_QGlobalAveragePool, unary_attributes_of, -1, 2},
    {OP_QAVERAGEPOOL, QOP_QAveragePool, average_attributes_of, -1, 2},
    {OP_LOOKUP, QOP_Lookup, no_attributes, -1, -1},
    {OP_QSOFTMAX, QOP_QSoftmax, softmax_attributes_of, -1, -1},
    {OP_QLOGSOFTMAX, QOP_QLogSoftmax, softmax_attributes_of, -1, 4},
    {OP_QNORMALIZE, QOP_QNormalize, normalize_attributes_of, -1, 3},
    {OP_MAXPOOL, QOP_MaxPool, max_attributes_of, 1, -1},
    {OP_CONCAT, QOP_Concat, axis_attributes_of, -1, -1},
    {OP_PAD, QOP_Pad, pad_attributes_of, 1, -1},
    {OP_RESHAPE, QOP_Reshape, shape_attributes_of, 1, -1},
    {OP_FLATTEN, QOP_Flatten, axis_attributes_of, 1, -1},
    {OP_SQUEEZE, QOP_Squeeze, axes_attributes_of, 1, -1},
    {OP_UNSQUEEZE, QOP_Unsqueeze, axes_attributes_of, 1, -1},
    {OP_TRANSPOSE, QOP_Transpose, transpose_attributes_of, 1, -1},
    {OP_SLICE, QOP_Slice, slice_attributes_of, 1, -1},
    {OP_SPLIT, QOP_Split, split_attributes_of, 1, -1},
    {OP_GATHER, QOP_Gather, axis_attributes_of, 2, -1},
    {OP_ARGMAX, QOP_ArgMax, argmax_attributes_of, 1, -1},
    {OP_IDENTITY, QOP_Identity, no_attributes, 1, -1},
};

static const conversion *find_conversion(const node *n) {
  for (size_t i = 0; i < sizeof conversions / sizeof conversions[0]; i++) {
    if (n->op->id == conversions[i].from) return &conversions[i];
  }
  return NULL;
}

/* -- tensors -- */

static void describe(const converter *c, const value *v, qtensor *out) {
  *out = (qtensor){.name = v->name, .type = v->type, .rank = v->shape.rank};
  memcpy(out->dims, v->shape.dims, (size_t)v->shape.rank * sizeof out->dims[0]);
  if (v->producer && v->producer->location) out->source = v->producer->location->name;
  out->role = v->constant ? QROLE_CONSTANT : v->is_input ? QROLE_INPUT : v->is_output ? QROLE_OUTPUT : QROLE_ACTIVATION;
  if (v->quant && v->quant->axis < 0) {
    out->has_quant = true;
    out->scale = npuc_tensor_get(&v->quant->scale, 0);
    out->zero_point = v->quant->zero_point.data ? npuc_tensor_get_int(&v->quant->zero_point, 0) : 0;
  }
  (void)c;
}

static npuc_status tensor_of(converter *c, const node *n, const value *v, int32_t *out_index) {
  int32_t *known = &c->tensor_of[v->id];
  if (*known < 0) {
    if (!npuc_shape_is_static(&v->shape)) return refuse(c, n, "a tensor's shape is not static");
    qtensor t;
    describe(c, v, &t);
    if (v->constant) {
      t.data = v->constant->data;
      t.bytes = v->constant->bytes;
    }
    *known = npuc_qgraph_add_tensor(c->q, &t);
  }
  *out_index = *known;
  return NPUC_OK;
}

/* Shifts are int32 in ONNX (no operator of it shifts bytes) and one byte in a .npu file. */
static npuc_status shift_tensor(converter *c, const node *n, const value *v, int32_t *out_index) {
  if (!v->constant) return refuse(c, n, "shifts are computed at run time");
  qtensor t;
  describe(c, v, &t);
  int64_t count = npuc_tensor_elements(v->constant);
  uint8_t *bytes = npuc_arena_alloc(c->a, (size_t)count);
  for (int64_t i = 0; i < count; i++) {
    int64_t s = npuc_tensor_get_int(v->constant, i);
    if (s < 0 || s > 62) return refuse(c, n, "a shift is outside 0..62");
    bytes[i] = (uint8_t)s;
  }
  t.name = npuc_arena_printf(c->a, "%s.%s.u8", n->name, v->name);
  t.type = DTYPE_U8;
  t.data = bytes;
  t.bytes = (size_t)count;
  *out_index = npuc_qgraph_add_tensor(c->q, &t);
  return NPUC_OK;
}

/* -- nodes -- */

static npuc_status convert_node(converter *c, const node *n) {
  const conversion *rule = find_conversion(n);
  if (!rule) return refuse(c, n, "the operator has no integer form");
  attribute_list list = {.count = 0};
  NPUC_TRY(rule->attributes(c, n, &list));
  int32_t n_inputs = rule->inputs < 0 || rule->inputs > n->n_inputs ? n->n_inputs : rule->inputs;
  int32_t *inputs = NPUC_NEW_ARRAY(c->a, (size_t)n_inputs, int32_t), *outputs = NPUC_NEW_ARRAY(c->a, (size_t)n->n_outputs, int32_t),
          n_outputs = 0;
  for (int32_t i = 0; i < n_inputs; i++) {
    inputs[i] = -1;
    if (n->inputs[i])
      NPUC_TRY(i == rule->shift_input ? shift_tensor(c, n, n->inputs[i], &inputs[i]) : tensor_of(c, n, n->inputs[i], &inputs[i]));
  }
  for (int32_t i = 0; i < n->n_outputs; i++) {
    if (n->outputs[i]) NPUC_TRY(tensor_of(c, n, n->outputs[i], &outputs[n_outputs++]));
  }
  const qnode out = {.op = rule->to,
                     .name = n->name,
                     .source = n->location ? n->location->name : n->name,
                     .inputs = inputs,
                     .n_inputs = n_inputs,
                     .outputs = outputs,
                     .n_outputs = n_outputs,
                     .attributes = list.items,
                     .n_attributes = list.count};
  npuc_qgraph_add_node(c->q, &out);
  return NPUC_OK;
}

npuc_status npuc_npu_from_ir(diag *d, arena *a, const graph *g, qgraph **out_graph) {
  converter c = {.d = d, .a = a, .g = g, .q = npuc_qgraph_create(a), .tensor_of = NPUC_NEW_ARRAY(a, g->next_value_id, int32_t)};
  for (uint32_t i = 0; i < g->next_value_id; i++) c.tensor_of[i] = -1;
  const node *first = g->first;
  for (size_t i = 0; i < g->n_inputs; i++) {
    int32_t index = -1;
    if (!npuc_shape_is_static(&g->inputs[i]->shape))
      return npuc_fail(d, NPUC_DIAG_E0805, &(diag_place){.part = g->name, .node = g->inputs[i]->name}, "the input's shape is not static");
    NPUC_TRY(tensor_of(&c, first, g->inputs[i], &index));
    npuc_qgraph_add_input(c.q, index);
  }
  NPUC_EACH_NODE(g, n) { NPUC_TRY(convert_node(&c, n)); }
  for (size_t i = 0; i < g->n_outputs; i++) {
    int32_t index = c.tensor_of[g->outputs[i]->id];
    if (index < 0)
      return npuc_fail(d, NPUC_DIAG_E0805, &(diag_place){.part = g->name, .node = g->outputs[i]->name},
                       "the output is a constant or no node makes it");
    npuc_qgraph_add_output(c.q, index);
  }
  *out_graph = c.q;
  return npuc_qgraph_verify(d, c.q);
}
