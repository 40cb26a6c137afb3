/* SPDX-License-Identifier: Apache-2.0 */
/* legalize, other resolutions: ConvTranspose is Conv, Resize is Gather or a matrix.
 *
 * ConvTranspose with stride s writes x[q - t] * w[k] to place s*q + r, where k*dilation = s*t + r. So the places of one remainder r are an ordinary
 * convolution of stride 1 over x, with the taps of that remainder in reverse order. There are s remainders along an axis; their results lie
 * side by side as channels (one Conv, or with groups one for each remainder) and are interleaved as DepthToSpace does. What pads cut off is
 * left out of the convolution where whole steps are cut, and sliced off where parts of one are.
 *
 * Resize is linear along each axis: y = A x. To the nearest, a row of A has a single 1: Gather. Else it is MatMul with the transposed A, with the axis
 * brought to the end: any factor, linear or cubic, antialiased or not. */
#include <string.h>

#include "ir/ops/resample.h"
#include "passes/internal.h"

enum { Y, X, W, B, ROI, SCALES, SIZES };
enum { LARGEST_MATRIX = 1 << 22 };

/* -- ConvTranspose -- */

/* One axis: the convolution that computes each remainder's places, and what is cut from the interleaved result. */
typedef struct phase_axis {
  int64_t stride, input, output; /* places of x and of y */
  int64_t taps, step, dilation;  /* of each phase's kernel; tap k of w is at k * step */
  int64_t begin, end;            /* pads of the convolution */
  int64_t places;                /* of each phase; s * places in all */
  int64_t cut;                   /* from the beginning of those */
} phase_axis;

static phase_axis phase_axis_of(const transposed_axis *t, int64_t input, int64_t kernel) {
  phase_axis p = {.stride = t->stride, .input = input, .output = t->output, .taps = kernel, .step = 1, .dilation = t->dilation};
  if (t->stride > 1) { /* the taps of a remainder are not evenly spaced in general: zeros stand where there is none */
    p.taps = (t->dilation * (kernel - 1)) / t->stride + 1;
    p.step = t->dilation;
    p.dilation = 1;
  }
  int64_t reach = p.dilation * (p.taps - 1), whole = t->begin / t->stride, skipped = whole < reach ? whole : reach;
  p.begin = reach - skipped;
  p.cut = t->begin - skipped * t->stride;
  int64_t wanted = (p.cut + p.output + t->stride - 1) / t->stride, without = input + p.begin - reach;
  p.end = wanted > without ? wanted - without : 0;
  p.places = without + p.end;
  return p;
}

/* w [C, Co/group, kernel...] as the weights of phases [first, first + n): [n * Co, C/group, taps...], phase outermost. 2 axes. */
static value *phase_weights(rewriter *r, const match *m, const phase_axis axes[2], int64_t group, int64_t first, int64_t n) {
  const tensor *w = m->values[W]->constant;
  int64_t in = w->shape.dims[0] / group, out = w->shape.dims[1], kernel_h = w->shape.rank > 3 ? w->shape.dims[2] : 1,
          kernel_w = w->shape.dims[w->shape.rank - 1];
  shape s = {.rank = 4, .dims = {n * out * group, in, axes[0].taps, axes[1].taps}};
  tensor to;
  npuc_status status = npuc_tensor_create(r->d, DTYPE_F32, &s, &to);
  if (status != NPUC_OK) {
    r->status = status;
    return NULL;
  }
  memset(to.data, 0, to.bytes);
  for (int64_t i = 0; i < kernel_h * kernel_w; i++) {
    int64_t at_h = i / kernel_w * axes[0].step, at_w = i % kernel_w * axes[1].step;
    int64_t phase = at_h % axes[0].stride * axes[1].stride + at_w % axes[1].stride;
    if (phase < first || phase >= first + n) continue;
    int64_t tap = (axes[0].taps - 1 - at_h / axes[0].stride) * axes[1].taps + axes[1].taps - 1 - at_w / axes[1].stride;
    for (int64_t c = 0; c < in * group * out; c++) { /* input channel c / out, output channel c % out of its group */
      int64_t row = (phase - first) * out * group + c / out / in * out + c % out;
      float *place = (float *)to.data + (row * in + c / out % in) * axes[0].taps * axes[1].taps + tap;
      *place = (float)npuc_weight_at(w, c * kernel_h * kernel_w + i);
    }
  }
  return npuc_weight_constant(r, m->values[W]->name, &to);
}

static value *phase_bias(rewriter *r, const match *m, int64_t channels, int64_t n) {
  double *all = NPUC_NEW_ARRAY(r->scratch, (size_t)(channels * n), double);
  for (int64_t i = 0; i < channels * n; i++) all[i] = npuc_weight_at(m->values[B]->constant, i % channels);
  return npuc_weight_vector(r, m->values[B]->name, DTYPE_F32, all, channels * n);
}

static int_list pair(rewriter *r, int64_t a, int64_t b) {
  int64_t both[] = {a, b};
  return (int_list){npuc_arena_copy(r->graph->module->arena, both, sizeof both), 2};
}

/* Phases [first, first + n) side by side: [batch, n * Co, places, places]. */
static value *convolve(rewriter *r, const match *m, value *x, const phase_axis axes[2], int64_t first, int64_t n) {
  int64_t group = NPUC_ATTRS(convtranspose_attributes, m->root)->group, channels = m->values[W]->shape.dims[1] * group;
  value *w = phase_weights(r, m, axes, group, first, n), *b = m->values[B] ? phase_bias(r, m, channels, n) : NULL;
  if (!w || (!b && m->values[B])) return NULL;
  node *conv = npuc_rewrite_node(r, OP_CONV, (value *[]){x, w, b}, b ? 3 : 2, 1);
  conv_attributes *a = NPUC_ATTRS(conv_attributes, conv);
  int64_t pads[] = {axes[0].begin, axes[1].begin, axes[0].end, axes[1].end};
  a->auto_pad = "NOTSET";
  a->group = group;
  a->kernel_shape = pair(r, axes[0].taps, axes[1].taps);
  a->strides = pair(r, 1, 1);
  a->dilations = pair(r, axes[0].dilation, axes[1].dilation);
  a->pads = (int_list){npuc_arena_copy(r->graph->module->arena, pads, sizeof pads), 4};
  return conv->outputs[0];
}

static value *all_phases(rewriter *r, const match *m, value *x, const phase_axis axes[2]) {
  int64_t phases = axes[0].stride * axes[1].stride;
  if (NPUC_ATTRS(convtranspose_attributes, m->root)->group == 1) return convolve(r, m, x, axes, 0, phases);
  value **each = NPUC_NEW_ARRAY(r->scratch, (size_t)phases, value *);
  for (int64_t i = 0; i < phases; i++) {
    each[i] = convolve(r, m, x, axes, i, 1);
    if (!each[i]) return NULL;
  }
  if (phases == 1) return each[0];
  node *all = npuc_rewrite_node(r, OP_CONCAT, each, (int32_t)phases, 1);
  NPUC_ATTRS(axis_attributes, all)->axis = 1;
  return all->outputs[0];
}

static value *cut_out(rewriter *r, const match *m, value *x, const phase_axis axes[2]) {
  int64_t starts[2], ends[2], which[2], n = 0;
  for (int i = 0; i < 2; i++) {
    if (!axes[i].cut && axes[i].stride * axes[i].places == axes[i].output) continue;
    starts[n] = axes[i].cut;
    ends[n] = axes[i].cut + axes[i].output;
    which[n++] = 2 + i;
  }
  if (!n) return x;
  const char *base = m->root->name;
  value *inputs[4] = {x, npuc_graph_constant_ints(r->graph, npuc_arena_printf(r->scratch, "%s_starts", base), DTYPE_I64, starts, n),
                      npuc_graph_constant_ints(r->graph, npuc_arena_printf(r->scratch, "%s_ends", base), DTYPE_I64, ends, n),
                      npuc_graph_constant_ints(r->graph, npuc_arena_printf(r->scratch, "%s_axes", base), DTYPE_I64, which, n)};
  return npuc_rewrite_node(r, OP_SLICE, inputs, 4, 1)->outputs[0];
}

/* The axes of y [N, C, H, W]; of [N, C, L] as [N, C, 1, L]. */
static bool phases_of(const match *m, phase_axis out[2]) {
  const convtranspose_attributes *a = NPUC_ATTRS(convtranspose_attributes, m->root);
  const shape *x = &m->values[X]->shape, *w = &m->values[W]->shape;
  int32_t spatial = x->rank - 2;
  out[0] = (phase_axis){.stride = 1, .input = 1, .output = 1, .taps = 1, .step = 1, .dilation = 1, .places = 1};
  for (int32_t i = 0; i < spatial; i++) {
    transposed_axis t;
    if (!npuc_transposed_axis(a, i, spatial, x->dims[2 + i], w->dims[2 + i], &t) || t.output < 1) return false;
    out[2 - spatial + i] = phase_axis_of(&t, x->dims[2 + i], w->dims[2 + i]);
  }
  return true;
}

static bool is_transposed(const match *m) {
  const shape *x = &m->values[X]->shape;
  phase_axis axes[2];
  int64_t count;
  if (m->values[X]->type != DTYPE_F32 || m->values[W]->type != DTYPE_F32 || (x->rank != 3 && x->rank != 4)) return false;
  if (!npuc_shape_is_static(x) || !npuc_shape_is_static(&m->root->outputs[0]->shape)) return false;
  return npuc_shape_elements(x, &count) && count > 0 && phases_of(m, axes);
}

static void transposed_to_conv(rewriter *r, const match *m) {
  const shape *from = &m->values[X]->shape;
  phase_axis axes[2];
  if (!phases_of(m, axes)) return;
  shape image = {.rank = 4, .dims = {from->dims[0], from->dims[1], axes[0].input, axes[1].input}};
  value *x = from->rank == 4 ? m->values[X] : npuc_weight_reshape(r, m->values[X], &image);
  value *y = all_phases(r, m, x, axes);
  if (!y) return;
  int64_t channels = m->values[W]->shape.dims[1] * NPUC_ATTRS(convtranspose_attributes, m->root)->group;
  cell_block b = {from->dims[0], channels, axes[0].stride, axes[1].stride, axes[0].places, axes[1].places};
  if (b.high * b.wide > 1) y = npuc_move_depth_to_space(r, y, &b, false);
  y = cut_out(r, m, y, axes);
  if (from->rank == 3) y = npuc_weight_reshape(r, y, &m->root->outputs[0]->shape);
  npuc_rewrite_replace(r, m->root->outputs[0], y);
}

static const pattern conv_transpose = {
    .name = "conv-transpose-to-conv",
    .doc = "ConvTranspose(x, w, b) -> DepthToSpace(Conv(x, w by remainder, b)), cut",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_CONVTRANSPOSE, Y, ANY(X), CONST(W), OPTIONAL_CONST(B)),
    .where = is_transposed,
    .rewrite = transposed_to_conv,
};

/* -- Resize -- */

static bool resize_of(const match *m, resize_axis axes[MAX_RANK]) {
  const resize_attributes *a = NPUC_ATTRS(resize_attributes, m->root);
  const char *reason;
  const tensor *scales = m->values[SCALES] ? m->values[SCALES]->constant : NULL,
               *sizes = m->values[SIZES] ? m->values[SIZES]->constant : NULL;
  int64_t count;
  if (!npuc_shape_is_static(&m->values[X]->shape) || !npuc_shape_is_static(&m->root->outputs[0]->shape)) return false;
  if (!npuc_shape_elements(&m->root->outputs[0]->shape, &count) || count == 0) return false;
  if (strcmp(a->coordinate_transformation_mode, "tf_crop_and_resize") == 0) return false;
  return npuc_resize_axes(a, &m->values[X]->shape, scales, sizes, axes, &reason);
}

static bool is_resized(const resize_axis *a) { return a->scale != 1.0 || a->input != a->output; }
static bool is_nearest(const match *m) { return strcmp(NPUC_ATTRS(resize_attributes, m->root)->mode, "nearest") == 0; }

static bool resizes(const match *m) {
  resize_axis axes[MAX_RANK];
  if (!resize_of(m, axes) || (!is_nearest(m) && m->values[X]->type != DTYPE_F32)) return false;
  for (int32_t i = 0; i < m->values[X]->shape.rank; i++) {
    if (is_resized(&axes[i]) && (axes[i].input < 1 || axes[i].output > LARGEST_MATRIX / axes[i].input)) return false;
  }
  return true;
}

/* Row o has a single 1. */
static value *nearest_along(rewriter *r, value *x, int32_t axis, const resize_axis *a, const double *matrix) {
  int64_t *places = NPUC_NEW_ARRAY(r->scratch, (size_t)a->output, int64_t);
  for (int64_t o = 0; o < a->output; o++) {
    while (places[o] < a->input - 1 && matrix[o * a->input + places[o]] == 0.0) places[o]++;
  }
  return npuc_move_gather(r, x, axis, places, a->output);
}

static value *linear_along(rewriter *r, value *x, int32_t axis, int32_t rank, const resize_axis *a, const double *matrix) {
  shape s = {.rank = 2, .dims = {a->input, a->output}};
  tensor t;
  npuc_status status = npuc_tensor_create(r->d, DTYPE_F32, &s, &t);
  if (status != NPUC_OK) {
    r->status = status;
    return NULL;
  }
  for (int64_t i = 0; i < a->input; i++) {
    for (int64_t o = 0; o < a->output; o++) ((float *)t.data)[i * a->output + o] = (float)matrix[o * a->input + i];
  }
  value *w = npuc_weight_constant(r, npuc_arena_printf(r->scratch, "%s_resize", x->name), &t);
  int64_t exchange[MAX_RANK];
  for (int32_t i = 0; i < rank; i++) exchange[i] = i == axis ? rank - 1 : i == rank - 1 ? axis : i;
  if (axis != rank - 1) x = npuc_move_transpose(r, x, exchange, rank);
  value *y = npuc_rewrite_node(r, OP_MATMUL, (value *[]){x, w}, 2, 1)->outputs[0];
  return axis != rank - 1 ? npuc_move_transpose(r, y, exchange, rank) : y;
}

static void resize_to_maps(rewriter *r, const match *m) {
  resize_axis axes[MAX_RANK];
  if (!resize_of(m, axes)) return;
  value *y = m->values[X];
  int32_t rank = y->shape.rank;
  for (int32_t i = rank - 1; i >= 0; i--) {
    if (!is_resized(&axes[i])) continue;
    const double *matrix = npuc_resize_matrix(r->scratch, NPUC_ATTRS(resize_attributes, m->root), &axes[i]);
    y = is_nearest(m) ? nearest_along(r, y, i, &axes[i], matrix) : linear_along(r, y, i, rank, &axes[i], matrix);
    if (!y) return;
  }
  npuc_rewrite_replace(r, m->root->outputs[0], y);
}

static const pattern resize = {
    .name = "resize-to-gather-or-matmul",
    .doc = "Resize(x) -> Gather(x), to the nearest, or MatMul(x, weights) along each axis",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_RESIZE, Y, ANY(X), OPTIONAL_INPUT(ROI), OPTIONAL_CONST(SCALES), OPTIONAL_CONST(SIZES)),
    .where = resizes,
    .rewrite = resize_to_maps,
};

static const pattern *const patterns[] = {&conv_transpose, &resize};
PATTERN_SET(npuc_resample_patterns, patterns);
