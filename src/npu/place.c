/* SPDX-License-Identifier: Apache-2.0 */
/* Placement by named predicates. A predicate says what must hold for the NPU; its sentence says why the node is on the host where it does not. */
#include "npu/place.h"

#include <string.h>

/* -- layouts -- */

static bool natural_layout(const npu_arch *arch, const qtensor *t, layout *out_layout) {
  int64_t c, h = 1, w = 1;
  layout_order order = LAYOUT_CHANNELS_LAST;
  switch (t->rank) {
    case 1:
      c = t->dims[0];
      break;
    case 2:
      c = t->dims[1], w = t->dims[0];
      break;
    case 3:
      if (t->dims[0] != 1) return false;
      c = t->dims[2], w = t->dims[1];
      break;
    case 4:
      if (t->dims[0] != 1) return false;
      c = t->dims[1], h = t->dims[2], w = t->dims[3], order = LAYOUT_CHANNELS_FIRST;
      break;
    default:
      return false;
  }
  const int64_t limit = 1 << 20;
  if (c < 1 || h < 1 || w < 1 || c > limit || h > 2047 || w > 2047) return false;
  *out_layout = npuc_layout_make(arch->n, (uint32_t)c, (uint32_t)h, (uint32_t)w, order);
  return true;
}

static const qnode *producer_of(const qgraph *g, int32_t tensor, size_t *out_index) {
  for (size_t i = 0; i < g->n_nodes; i++) {
    for (int32_t k = 0; k < g->nodes[i].n_outputs; k++) {
      if (g->nodes[i].outputs[k] == tensor) {
        *out_index = i;
        return &g->nodes[i];
      }
    }
  }
  return NULL;
}

static bool only_gemms_read(const qgraph *g, int32_t tensor) {
  for (size_t i = 0; i < g->n_nodes; i++) {
    const qnode *n = &g->nodes[i];
    for (int32_t k = 0; k < n->n_inputs; k++) {
      if (n->inputs[k] == tensor && (n->op != QOP_QGemm || k != 0)) return false;
    }
  }
  return true;
}

static bool renames(qop op) {
  return op == QOP_Reshape || op == QOP_Flatten || op == QOP_Squeeze || op == QOP_Unsqueeze || op == QOP_Identity;
}

/* The dense form lists elements in the same order in both. */
static bool same_order(const layout *a, const layout *b) { return a->order == b->order || a->c == 1 || a->h * a->w == 1; }

/* The same bytes in the scratchpad: how the pixels are cut into rows does not matter. */
static bool same_bytes(const layout *a, const layout *b) { return a->c == b->c && (uint64_t)a->h * a->w == (uint64_t)b->h * b->w; }

/* The layout `in` for y, whose dense form has this order: y's natural one where that is the same bytes, else in itself. */
static layout reordered(const npu_arch *arch, const qtensor *y, layout in, layout_order order) {
  layout natural;
  in.order = order;
  return natural_layout(arch, y, &natural) && same_bytes(&in, &natural) && natural.order == order ? natural : in;
}

/* Axis 1 goes behind all others ([0, 2, .., 1]), or the last one to axis 1 ([0, r-1, 1, ..]). */
static bool moves_axis(const qnode *n, int32_t rank, bool to_end) {
  uint32_t count;
  const int64_t *perm = npuc_qnode_list(n, QATTR_perm, &count);
  if (rank < 3 || count != (uint32_t)rank || perm[0] != 0) return false;
  for (int32_t i = 1; i < rank; i++) {
    int64_t wanted = to_end ? (i == rank - 1 ? 1 : i + 1) : (i == 1 ? rank - 1 : i - 1);
    if (perm[i] != wanted) return false;
  }
  return true;
}

/* Channels lie beside each other in memory, whatever the dense form: bringing them to the end, or back, moves nothing. */
static bool transposed_layout(const qgraph *g, const npu_arch *arch, const qnode *n, const layout *in, layout *out_layout) {
  const qtensor *x = &g->tensors[n->inputs[0]], *y = &g->tensors[n->outputs[0]];
  bool first = in->order == LAYOUT_CHANNELS_FIRST;
  if (!moves_axis(n, x->rank, first) || x->dims[0] != 1 || x->dims[first ? 1 : x->rank - 1] != in->c) return false;
  *out_layout = reordered(arch, y, *in, first ? LAYOUT_CHANNELS_LAST : LAYOUT_CHANNELS_FIRST);
  return true;
}

/* False where the node's output has not the bytes of its input; else the output's layout. */
static bool alias_layout(const qgraph *g, const npu_arch *arch, size_t node, layout *out_layout) {
  const qnode *n = &g->nodes[node];
  const qtensor *y = &g->tensors[n->outputs[0]];
  layout in;
  if ((!renames(n->op) && n->op != QOP_Transpose) || !npuc_npu_layout_of(g, arch, n->inputs[0], &in)) return false;
  if (n->op == QOP_Transpose) return transposed_layout(g, arch, n, &in, out_layout);
  if (natural_layout(arch, y, out_layout) && same_bytes(&in, out_layout) && same_order(&in, out_layout)) return true;
  *out_layout = in;
  /* Other axes than a feature map has, but the channels stay where they are: first, or last. */
  if (in.order == LAYOUT_CHANNELS_FIRST ? y->rank >= 2 && y->dims[0] == 1 && y->dims[1] == in.c
                                        : y->rank >= 1 && y->dims[y->rank - 1] == in.c)
    return true;
  /* Flatten before a Gemm: the Gemm reads the feature map as a convolution with a kernel of its size. */
  bool one_row = y->rank == 2 && y->dims[0] == 1;
  return one_row && (in.order == LAYOUT_CHANNELS_FIRST || in.h * in.w == 1) && only_gemms_read(g, n->outputs[0]);
}

bool npuc_npu_is_alias(const qgraph *g, const npu_arch *arch, size_t node) {
  layout ignored;
  return alias_layout(g, arch, node, &ignored);
}

/* Requantize and Lookup go from byte to byte: quantization may put one anywhere, and must not change what its readers see. */
bool npuc_npu_layout_of(const qgraph *g, const npu_arch *arch, int32_t tensor, layout *out_layout) {
  size_t node;
  const qnode *n = producer_of(g, tensor, &node);
  if (n && (n->op == QOP_Requantize || n->op == QOP_Lookup)) return npuc_npu_layout_of(g, arch, n->inputs[0], out_layout);
  if (n && alias_layout(g, arch, node, out_layout)) return true;
  return natural_layout(arch, &g->tensors[tensor], out_layout);
}

/* -- predicates -- */

typedef struct question {
  const qgraph *g;
  const qnode *n;
  size_t index;
  const npu_arch *arch;
} question;

static const qtensor *input(const question *q, int32_t i) { return &q->g->tensors[q->n->inputs[i]]; }

static bool is_8bit(const qtensor *t) { return t->type == DTYPE_U8 || t->type == DTYPE_I8; }

/* Inputs that are feature tensors, by operator: the rest are parameters. */
static int32_t feature_inputs(const qnode *n) {
  switch (n->op) {
    case QOP_QAdd:
    case QOP_QMul:
      return 2;
    case QOP_Concat:
      return n->n_inputs;
    default:
      return 1;
  }
}

static bool has_8bit_features(const question *q) {
  for (int32_t i = 0; i < feature_inputs(q->n); i++) {
    if (!is_8bit(input(q, i))) return false;
  }
  for (int32_t i = 0; i < q->n->n_outputs; i++) {
    if (!is_8bit(&q->g->tensors[q->n->outputs[i]])) return false;
  }
  return true;
}

static bool has_layouts(const question *q) {
  layout l;
  for (int32_t i = 0; i < feature_inputs(q->n); i++) {
    if (!npuc_npu_layout_of(q->g, q->arch, q->n->inputs[i], &l)) return false;
  }
  for (int32_t i = 0; i < q->n->n_outputs; i++) {
    if (!npuc_npu_layout_of(q->g, q->arch, q->n->outputs[i], &l)) return false;
  }
  return true;
}

static bool has_constant_parameters(const question *q) {
  for (int32_t i = feature_inputs(q->n); i < q->n->n_inputs; i++) {
    if (q->n->inputs[i] >= 0 && !input(q, i)->data) return false;
  }
  return true;
}

static bool features_are_computed(const question *q) {
  for (int32_t i = 0; i < feature_inputs(q->n); i++) {
    if (input(q, i)->data) return false;
  }
  return true;
}

/* Multipliers are the int32 parameters M, Ma, Mb by operator. */
static bool has_16bit_multipliers(const question *q) {
  int32_t first, count = 1;
  switch (q->n->op) {
    case QOP_QConv:
    case QOP_QGemm:
      first = 3;
      break;
    case QOP_QAdd:
      first = 2, count = 2;
      break;
    case QOP_QMul:
    case QOP_QNormalize:
      first = 2;
      break;
    default:
      first = 1;
      break;
  }
  for (int32_t i = first; i < first + count; i++) {
    const qtensor *m = input(q, i);
    for (int64_t k = 0; k < npuc_qtensor_elements(m); k++) {
      int64_t v = npuc_qtensor_value(m, k);
      if (v < INT16_MIN || v > INT16_MAX) return false;
    }
  }
  return true;
}

static bool fits_scratchpad(const question *q) {
  uint64_t bytes = 4096; /* parameters and tables of one block and more: see lower */
  layout l;
  for (int32_t i = 0; i < feature_inputs(q->n); i++) {
    if (npuc_npu_layout_of(q->g, q->arch, q->n->inputs[i], &l)) bytes += npuc_layout_bytes(&l) + 64;
  }
  for (int32_t i = 0; i < q->n->n_outputs; i++) {
    if (!npuc_npu_layout_of(q->g, q->arch, q->n->outputs[i], &l)) continue;
    bytes += npuc_layout_bytes(&l) + 64 + (uint64_t)8 * q->arch->n * npuc_layout_blocks(&l);
    if (q->n->op == QOP_QConv) {
      const qtensor *w = input(q, 1);
      if (w->dims[1] == 1 && w->rank == 4) bytes += (uint64_t)(w->dims[2] * w->dims[3]) * q->arch->n * npuc_layout_blocks(&l);
    }
    if (q->n->op == QOP_QSoftmax) bytes += 2 * npuc_layout_bytes(&l) + 640;
  }
  return bytes <= q->arch->scratchpad_bytes;
}

static bool is_2d(const question *q) { return input(q, 0)->rank == 4; }

static bool is_whole_or_depthwise(const question *q) {
  int64_t group = npuc_qnode_int(q->n, QATTR_group, 1), channels = input(q, 0)->dims[1], outputs = input(q, 1)->dims[0];
  return group == 1 || (group == channels && outputs == channels);
}

static bool list_below(const qnode *n, qattr_key key, int64_t limit) {
  uint32_t count;
  const int64_t *values = npuc_qnode_list(n, key, &count);
  for (uint32_t i = 0; i < count; i++) {
    if (values[i] < 0 || values[i] >= limit) return false;
  }
  return true;
}

static bool has_small_strides(const question *q) { return list_below(q->n, QATTR_strides, 64); }

/* Tap coordinates must fit the signed 12 bits of x0 and y0. */
static bool has_reachable_taps(const question *q) {
  const qtensor *x = input(q, 0);
  uint32_t kn, dn;
  const int64_t *kernel = q->n->op == QOP_QConv ? &input(q, 1)->dims[2] : npuc_qnode_list(q->n, QATTR_kernel_shape, &kn);
  const int64_t *dilations = npuc_qnode_list(q->n, QATTR_dilations, &dn);
  if (!kernel || !dilations || !list_below(q->n, QATTR_pads, 2048)) return false;
  for (int i = 0; i < 2; i++) {
    if (kernel[i] > 2047 || dilations[i] > 2047 || x->dims[2 + i] + (kernel[i] - 1) * dilations[i] > 2047) return false;
  }
  return true;
}

static bool has_equal_shapes(const question *q) {
  layout a, b, y;
  return npuc_npu_layout_of(q->g, q->arch, q->n->inputs[0], &a) && npuc_npu_layout_of(q->g, q->arch, q->n->inputs[1], &b) &&
         npuc_npu_layout_of(q->g, q->arch, q->n->outputs[0], &y) && npuc_layout_same(&a, &y) && npuc_layout_same(&b, &y) &&
         same_order(&a, &y) && same_order(&b, &y);
}

static bool has_equal_shapes_or_channel_vector(const question *q) {
  if (has_equal_shapes(q)) return true;
  layout a, b, y;
  if (!npuc_npu_layout_of(q->g, q->arch, q->n->inputs[0], &a) || !npuc_npu_layout_of(q->g, q->arch, q->n->inputs[1], &b) ||
      !npuc_npu_layout_of(q->g, q->arch, q->n->outputs[0], &y))
    return false;
  if (input(q, 0)->rank != 4 || input(q, 1)->rank != 4 || a.c != y.c || b.c != y.c) return false;
  return (npuc_layout_same(&a, &y) && b.h * b.w == 1) || (npuc_layout_same(&b, &y) && a.h * a.w == 1);
}

static bool keeps_layout(const question *q) { return npuc_npu_is_alias(q->g, q->arch, q->index); }

/* Axis of the dense tensor that holds the channels. */
static int64_t channel_axis(const qtensor *t) { return t->rank == 4 ? 1 : t->rank - 1; }

static bool is_along_channels(const question *q) {
  const qtensor *x = input(q, 0);
  int64_t axis = npuc_qnode_int(q->n, QATTR_axis, -1);
  return (axis < 0 ? axis + x->rank : axis) == channel_axis(x);
}

bool npuc_npu_normalizes_pixels(const qnode *n, const layout *x) {
  int64_t pixels = (int64_t)x->h * x->w, apart = x->order == LAYOUT_CHANNELS_FIRST ? pixels : 1;
  return npuc_qnode_int(n, QATTR_count, 0) == x->c && npuc_qnode_int(n, QATTR_inner, 0) == apart &&
         npuc_qnode_int(n, QATTR_repeat, 0) == apart;
}

/* Parameters for each channel, and rows that are the channels of pixels or whole channels. */
static bool normalizes_channels(const question *q) {
  layout x;
  if (!npuc_npu_layout_of(q->g, q->arch, q->n->inputs[0], &x) || npuc_qtensor_elements(input(q, 1)) != x.c) return false;
  if (npuc_npu_normalizes_pixels(q->n, &x)) return true;
  int64_t count = npuc_qnode_int(q->n, QATTR_count, 0), pixels = (int64_t)x.h * x.w, channels = count / pixels;
  return x.order == LAYOUT_CHANNELS_FIRST && npuc_qnode_int(q->n, QATTR_inner, 0) == 1 && npuc_qnode_int(q->n, QATTR_repeat, 0) == pixels &&
         channels > 0 && channels * pixels == count && x.c % channels == 0;
}

/* What VROW's fields hold, epsilon in at most 256 additions. */
static bool has_short_rows(const question *q) {
  int64_t count = npuc_qnode_int(q->n, QATTR_count, 1);
  return count <= UINT16_MAX && npuc_qnode_int(q->n, QATTR_epsilon, 0) / count < INT64_C(1) << 40;
}

static bool has_few_rows(const question *q) {
  layout l;
  return npuc_npu_layout_of(q->g, q->arch, q->n->inputs[0], &l) && (uint64_t)l.h * l.w <= NPU_ROW_ENTRIES;
}

static bool has_natural_layouts(const question *q) {
  for (int32_t i = 0; i < feature_inputs(q->n) + q->n->n_outputs; i++) {
    int32_t t = i < feature_inputs(q->n) ? q->n->inputs[i] : q->n->outputs[i - feature_inputs(q->n)];
    layout is, would_be;
    if (!npuc_npu_layout_of(q->g, q->arch, t, &is) || !natural_layout(q->arch, &q->g->tensors[t], &would_be) ||
        !npuc_layout_same(&is, &would_be) || !same_order(&is, &would_be))
      return false;
  }
  return true;
}

static bool has_positive_steps(const question *q) {
  uint32_t count;
  const int64_t *steps = npuc_qnode_list(q->n, QATTR_steps, &count);
  for (uint32_t i = 0; i < count; i++) {
    if (steps[i] < 1 || steps[i] > 2047) return false;
  }
  return true;
}

static bool has_hardware(const question *q) {
  (void)q;
  return false;
}

/* -- the table -- */

typedef struct predicate {
  const char *name;
  bool (*holds)(const question *q);
  const char *sentence;
} predicate;

#define DTYPES \
  { "has_8bit_features", has_8bit_features, "the vector unit and the array take 8-bit tensors only" }
#define LAYOUTS \
  { "has_layouts", has_layouts, "a tensor has no layout on the machine (batch 1, rank 1 to 4, height and width up to 2047)" }
#define NATURAL \
  { "has_natural_layouts", has_natural_layouts, "a reshaped tensor would have to be moved into another layout" }
#define COMPUTED \
  { "features_are_computed", features_are_computed, "an operand is a constant tensor" }
#define CONSTANTS \
  { "has_constant_parameters", has_constant_parameters, "a weight, bias, multiplier or table is computed at run time" }
#define MULTIPLIERS \
  { "has_16bit_multipliers", has_16bit_multipliers, "a multiplier needs more than the vector unit's 16 bits" }
#define FITS \
  { "fits_scratchpad", fits_scratchpad, "input, output and parameters together are larger than the scratchpad" }
#define END \
  { NULL, NULL, NULL }

static const predicate conv_rules[] = {
    DTYPES,
    LAYOUTS,
    COMPUTED,
    CONSTANTS,
    {"is_2d", is_2d, "only two-dimensional convolutions are supported"},
    NATURAL,
    MULTIPLIERS,
    {"is_whole_or_depthwise", is_whole_or_depthwise, "a grouped convolution that is not depthwise fills only a part of each weight tile"},
    {"has_small_strides", has_small_strides, "a stride is above 63"},
    {"has_reachable_taps", has_reachable_taps, "kernel, dilation or padding leaves the 12-bit coordinates of a pass"},
    FITS,
    END};
static const predicate gemm_rules[] = {DTYPES, LAYOUTS, COMPUTED, CONSTANTS, MULTIPLIERS, FITS, END};
static const predicate binary_rules[] = {
    DTYPES,
    LAYOUTS,
    COMPUTED,
    CONSTANTS,
    NATURAL,
    MULTIPLIERS,
    {"has_equal_shapes_or_channel_vector", has_equal_shapes_or_channel_vector, "broadcasting other than one value a channel"},
    FITS,
    END};
static const predicate unary_rules[] = {DTYPES, LAYOUTS, COMPUTED, CONSTANTS, MULTIPLIERS, FITS, END};
static const predicate lookup_rules[] = {DTYPES, LAYOUTS, COMPUTED, CONSTANTS, FITS, END};
static const predicate average_rules[] = {
    DTYPES,
    LAYOUTS,
    COMPUTED,
    CONSTANTS,
    {"is_2d", is_2d, "only two-dimensional pooling is supported"},
    NATURAL,
    MULTIPLIERS,
    {"has_small_strides", has_small_strides, "a stride is above 63"},
    {"has_reachable_taps", has_reachable_taps, "kernel, dilation or padding leaves the 12-bit coordinates of a pass"},
    FITS,
    END};
static const predicate global_rules[] = {
    DTYPES, LAYOUTS, COMPUTED, CONSTANTS, {"is_2d", is_2d, "only two-dimensional pooling is supported"}, NATURAL, MULTIPLIERS, FITS, END};
static const predicate max_rules[] = {
    DTYPES,
    LAYOUTS,
    COMPUTED,
    {"is_2d", is_2d, "only two-dimensional pooling is supported"},
    NATURAL,
    {"has_small_strides", has_small_strides, "a stride is above 63"},
    {"has_reachable_taps", has_reachable_taps, "kernel, dilation or padding leaves the 12-bit coordinates of a pass"},
    FITS,
    END};
static const predicate move_rules[] = {DTYPES, LAYOUTS, COMPUTED, NATURAL, FITS, END};
static const predicate slice_rules[] = {
    DTYPES, LAYOUTS, COMPUTED, NATURAL, {"has_positive_steps", has_positive_steps, "a step is negative or above 2047"}, FITS, END};
static const predicate alias_rules[] = {
    DTYPES, LAYOUTS, COMPUTED, {"keeps_layout", keeps_layout, "the elements would have to be moved into another layout"}, END};
static const predicate softmax_rules[] = {DTYPES,
                                          LAYOUTS,
                                          COMPUTED,
                                          CONSTANTS,
                                          NATURAL,
                                          {"is_along_channels", is_along_channels, "the axis is not the channels"},
                                          {"has_few_rows", has_few_rows, "more rows than the row file has entries"},
                                          FITS,
                                          END};
static const predicate logsoftmax_rules[] = {{"has_hardware", has_hardware, "the vector unit has no logarithm"}, END};
static const predicate normalize_rules[] = {
    DTYPES,
    LAYOUTS,
    COMPUTED,
    CONSTANTS,
    NATURAL,
    MULTIPLIERS,
    {"normalizes_channels", normalizes_channels, "rows other than the channels of a pixel or whole channels"},
    {"has_short_rows", has_short_rows, "a row has more than 65535 elements, or epsilon is very large beside the input's step"},
    FITS,
    END};
static const predicate transpose_rules[] = {
    DTYPES,
    LAYOUTS,
    COMPUTED,
    {"keeps_layout", keeps_layout, "there is no transposing path for activations, but for channels that go last or come back"},
    END};
static const predicate gather_rules[] = {{"has_hardware", has_hardware, "there is no indexed access"}, END};
static const predicate argmax_rules[] = {{"has_hardware", has_hardware, "there is no reduction to an index"}, END};
static const predicate unknown_rules[] = {{"has_hardware", has_hardware, "the operator is not one of the machine's"}, END};

static const predicate *rules_of(qop op) {
  switch (op) {
    case QOP_QConv:
      return conv_rules;
    case QOP_QGemm:
      return gemm_rules;
    case QOP_QAdd:
    case QOP_QMul:
      return binary_rules;
    case QOP_Requantize:
      return unary_rules;
    case QOP_QAveragePool:
      return average_rules;
    case QOP_QGlobalAveragePool:
      return global_rules;
    case QOP_Lookup:
      return lookup_rules;
    case QOP_QSoftmax:
      return softmax_rules;
    case QOP_QLogSoftmax:
      return logsoftmax_rules;
    case QOP_QNormalize:
      return normalize_rules;
    case QOP_MaxPool:
      return max_rules;
    case QOP_Concat:
    case QOP_Pad:
    case QOP_Split:
      return move_rules;
    case QOP_Slice:
      return slice_rules;
    case QOP_Reshape:
    case QOP_Flatten:
    case QOP_Squeeze:
    case QOP_Unsqueeze:
    case QOP_Identity:
      return alias_rules;
    case QOP_Transpose:
      return transpose_rules;
    case QOP_Gather:
      return gather_rules;
    case QOP_ArgMax:
      return argmax_rules;
  }
  return unknown_rules;
}

static const char *npu_reason(qop op) {
  switch (op) {
    case QOP_QConv:
    case QOP_QGemm:
      return "multiplied by the array (depthwise: by the vector unit)";
    case QOP_Reshape:
    case QOP_Flatten:
    case QOP_Squeeze:
    case QOP_Unsqueeze:
    case QOP_Identity:
    case QOP_Transpose:
      return "the same bytes under another shape";
    default:
      return "computed by the vector unit";
  }
}

bool npuc_npu_place(const qgraph *g, size_t node, const npu_arch *arch, const char **out_reason) {
  const question q = {.g = g, .n = &g->nodes[node], .index = node, .arch = arch};
  for (const predicate *p = rules_of(q.n->op); p->name; p++) {
    if (!p->holds(&q)) {
      *out_reason = p->sentence;
      return false;
    }
  }
  *out_reason = npu_reason(q.n->op);
  return true;
}

void npuc_npu_place_all(qgraph *g, const npu_arch *arch) {
  for (size_t i = 0; i < g->n_nodes; i++) g->nodes[i].on_npu = npuc_npu_place(g, i, arch, &g->nodes[i].place_reason);
}

const char *npuc_npu_place_rule(qop op, size_t i, const char **out_sentence) {
  const predicate *rules = rules_of(op);
  for (size_t k = 0; rules[k].name; k++) {
    if (k != i) continue;
    *out_sentence = rules[k].sentence;
    return rules[k].name;
  }
  return NULL;
}
