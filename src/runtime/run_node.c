/* SPDX-License-Identifier: Apache-2.0 */
/* One node of the integer graph by plain kernels: docs/refnpu.md section 7, operator by operator. The graph has been verified, so shapes and attributes are sound. */
#include <string.h>

#include "kernels/conv_i8.h"
#include "kernels/movement.h"
#include "kernels/pool.h"
#include "kernels/ref/integer.h"
#include "runtime/session.h"

typedef struct task {
  diag *d;
  const qgraph *g;
  const qnode *n;
  void *const *tensors;
  const int32_t *packed;
  void *scratch;
  const kernel_set *kernels;
} task;

static const qtensor *in(const task *t, int32_t i) { return &t->g->tensors[t->n->inputs[i]]; }
static const qtensor *out(const task *t, int32_t i) { return &t->g->tensors[t->n->outputs[i]]; }
static const void *in_data(const task *t, int32_t i) { return t->tensors[t->n->inputs[i]]; }
static void *out_data(const task *t, int32_t i) { return t->tensors[t->n->outputs[i]]; }
static int32_t attribute(const task *t, qattr_key key, int64_t missing) { return (int32_t)npuc_qnode_int(t->n, key, missing); }
static int64_t elements(const qtensor *t) { return npuc_qtensor_elements(t); }

static q8_input input8(const task *t, int32_t i, qattr_key zero_point) {
  return (q8_input){in_data(t, i), in(t, i)->type == DTYPE_I8, attribute(t, zero_point, 0)};
}
static q8_output output8(const task *t) {
  return (q8_output){out_data(t, 0), out(t, 0)->type == DTYPE_I8, attribute(t, QATTR_y_zero_point, 0), attribute(t, QATTR_lo, 0),
                     attribute(t, QATTR_hi, 0)};
}

static int64_t list_at(const qnode *n, qattr_key key, uint32_t i, int64_t missing) {
  uint32_t count;
  const int64_t *values = npuc_qnode_list(n, key, &count);
  return i < count ? values[i] : missing;
}

/* Two spatial axes: the first of the three is of size 1. `w` gives the kernel of convolutions. */
static kernel_window window_of(const qgraph *g, const qnode *n, const qtensor *w) {
  const qtensor *x = &g->tensors[n->inputs[0]], *y = &g->tensors[n->outputs[0]];
  kernel_window k = {.batch = x->dims[0], .channels = x->dims[1], .out_channels = y->dims[1], .group = npuc_qnode_int(n, QATTR_group, 1)};
  for (int a = 0; a < WINDOW_AXES; a++) k.in[a] = k.out[a] = k.kernel[a] = k.stride[a] = k.dilation[a] = 1;
  for (uint32_t i = 0; i < 2; i++) {
    uint32_t a = i + 1;
    k.in[a] = x->dims[2 + i];
    k.out[a] = y->dims[2 + i];
    k.kernel[a] = w ? w->dims[2 + i] : list_at(n, QATTR_kernel_shape, i, 1);
    k.stride[a] = list_at(n, QATTR_strides, i, 1);
    k.dilation[a] = list_at(n, QATTR_dilations, i, 1);
    k.begin[a] = list_at(n, QATTR_pads, i, 0);
    k.end[a] = list_at(n, QATTR_pads, i + 2, 0);
  }
  return k;
}

/* Shifts are bytes in the file and int32 in the kernels: widened into the front of the scratch. */
static q8_scale scale_of(const task *t, int32_t bias, int32_t m, int32_t s, int32_t *widened) {
  const uint8_t *bytes = in_data(t, s);
  for (int64_t i = 0, n = elements(in(t, s)); i < n; i++) widened[i] = bytes[i];
  return (q8_scale){bias >= 0 ? in_data(t, bias) : NULL, in_data(t, m), widened};
}

static size_t rounded(size_t n) { return (n + 63) / 64 * 64; }
static size_t shift_bytes(const qgraph *g, const qnode *n, int32_t s) {
  return rounded((size_t)elements(&g->tensors[n->inputs[s]]) * sizeof(int32_t));
}

/* Index of the shift input; -1 for operators without. */
static int32_t shift_input(qop op) {
  switch (op) {
    case QOP_QConv:
    case QOP_QGemm:
    case QOP_QAdd:
      return 4;
    case QOP_QMul:
    case QOP_QNormalize:
      return 3;
    case QOP_QLogSoftmax:
      return 4;
    case QOP_Requantize:
    case QOP_QAveragePool:
    case QOP_QGlobalAveragePool:
      return 2;
    default:
      return -1;
  }
}

/* QConv, or QGemm as the convolution that it is: geometry and layout. */
static conv_i8 conv_of(const qgraph *g, const qnode *n) {
  const qtensor *x = &g->tensors[n->inputs[0]], *w = &g->tensors[n->inputs[1]];
  if (n->op == QOP_QConv) return (conv_i8){.g = window_of(g, n, w)};
  return (conv_i8){.g = npuc_gemm_i8_window(x->dims[0], w->dims[1], w->dims[0]), .x_last = true, .y_last = true};
}

static bool is_product(const qnode *n) { return n->op == QOP_QConv || n->op == QOP_QGemm; }

size_t npuc_node_scratch(const kernel_set *kernels, const qgraph *g, const qnode *n) {
  size_t bytes = shift_input(n->op) >= 0 ? shift_bytes(g, n, shift_input(n->op)) : 0, more = 0;
  if (is_product(n)) {
    conv_i8 conv = conv_of(g, n);
    if (!npuc_conv_i8_scratch(kernels, &conv, 1, &more)) return SIZE_MAX;
  }
  return bytes + more;
}

size_t npuc_node_packed_elements(const kernel_set *kernels, const qgraph *g, const qnode *n) {
  if (!is_product(n) || !g->tensors[n->inputs[1]].data) return 0;
  conv_i8 conv = conv_of(g, n);
  return npuc_conv_i8_packed_elements(kernels, &conv.g);
}

void npuc_node_pack(const kernel_set *kernels, const qgraph *g, const qnode *n, int32_t *out_packed) {
  conv_i8 conv = conv_of(g, n);
  npuc_conv_i8_pack(kernels, &conv.g, g->tensors[n->inputs[1]].data, out_packed);
}

/* -- arithmetic -- */

static void run_product(const task *t) {
  conv_i8 conv = conv_of(t->g, t->n);
  conv.x = input8(t, 0, QATTR_x_zero_point);
  conv.y = output8(t);
  conv.packed = t->packed;
  conv.scale = scale_of(t, 2, 3, 4, t->scratch);
  if (t->packed) {
    npuc_conv_i8(t->kernels, NULL, &conv, (char *)t->scratch + shift_bytes(t->g, t->n, 4));
  } else if (t->n->op == QOP_QConv) { /* weights that are computed */
    npuc_ref_qconv(&conv.g, &conv.x, in_data(t, 1), &conv.scale, &conv.y);
  } else {
    npuc_ref_qgemm(conv.g.in[1], conv.g.channels, conv.g.out_channels, &conv.x, in_data(t, 1), &conv.scale, &conv.y);
  }
}

/* Strides of an operand under numpy broadcasting. */
static void broadcast_strides(const qtensor *x, const qtensor *y, int64_t *strides) {
  int64_t step = 1;
  for (int32_t i = 0; i < y->rank; i++) {
    int32_t ky = y->rank - 1 - i, kx = x->rank - 1 - i;
    int64_t extent = kx >= 0 ? x->dims[kx] : 1;
    strides[ky] = extent == 1 ? 0 : step;
    step *= extent;
  }
}

static q8_broadcast broadcast_of(const task *t) {
  const qtensor *y = out(t, 0);
  q8_broadcast b = {.rank = y->rank};
  memcpy(b.dims, y->dims, sizeof b.dims);
  broadcast_strides(in(t, 0), y, b.a_stride);
  broadcast_strides(in(t, 1), y, b.b_stride);
  return b;
}

static int32_t first_int(const task *t, int32_t i) {
  return (int32_t)npuc_qtensor_value(&(qtensor){.type = in(t, i)->type, .data = in_data(t, i)}, 0);
}

static bool same_dims(const qtensor *a, const qtensor *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

/* Operands of one shape are one row for the kernels. */
static void run_row(const task *t, const q8_input *x, const q8_input *z, const q8_output *y) {
  bool add = t->n->op == QOP_QAdd;
  binary_i8 p = {.a_signed = x->is_signed,
                 .b_signed = z->is_signed,
                 .a_zero_point = x->zero_point,
                 .b_zero_point = z->zero_point,
                 .a_multiplier = first_int(t, 2),
                 .b_multiplier = add ? first_int(t, 3) : 0,
                 .shift = first_int(t, add ? 4 : 3),
                 .zero_point = y->zero_point,
                 .lo = y->lo,
                 .hi = y->hi};
  (add ? t->kernels->add_i8 : t->kernels->mul_i8)(&p, x->data, 1, z->data, 1, y->data, (size_t)elements(out(t, 0)));
}

static void run_binary(const task *t) {
  q8_broadcast b = broadcast_of(t);
  q8_input x = input8(t, 0, QATTR_a_zero_point), z = input8(t, 1, QATTR_b_zero_point);
  q8_output y = output8(t);
  if (same_dims(in(t, 0), out(t, 0)) && same_dims(in(t, 1), out(t, 0)))
    run_row(t, &x, &z, &y);
  else if (t->n->op == QOP_QAdd)
    npuc_ref_qadd(&b, &x, &z, first_int(t, 2), first_int(t, 3), first_int(t, 4), &y);
  else
    npuc_ref_qmul(&b, &x, &z, first_int(t, 2), first_int(t, 3), &y);
}

/* A product with the number 1. */
static void run_requantize(const task *t) {
  static const uint8_t one = 1;
  q8_input x = input8(t, 0, QATTR_x_zero_point);
  q8_output y = output8(t);
  binary_i8 p = {.a_signed = x.is_signed,
                 .a_zero_point = x.zero_point,
                 .a_multiplier = first_int(t, 1),
                 .shift = first_int(t, 2),
                 .zero_point = y.zero_point,
                 .lo = y.lo,
                 .hi = y.hi};
  t->kernels->mul_i8(&p, x.data, 1, &one, 0, y.data, (size_t)elements(in(t, 0)));
}

static npuc_status run_average(const task *t) {
  kernel_window w = window_of(t->g, t->n, NULL);
  q8_input x = input8(t, 0, QATTR_x_zero_point);
  q8_output y = output8(t);
  q8_scale scale = scale_of(t, -1, 1, 2, t->scratch);
  if (npuc_ref_qaveragepool(&w, attribute(t, QATTR_count_include_pad, 0) != 0, &x, in_data(t, 3), elements(in(t, 3)), &scale, &y))
    return NPUC_OK;
  return npuc_fail(t->d, NPUC_DIAG_E1004, &(diag_place){.node = t->n->name, .op = "QAveragePool"},
                   "a window's count is not among `counts`");
}

static void run_global_average(const task *t) {
  const qtensor *x = in(t, 0);
  q8_input a = input8(t, 0, QATTR_x_zero_point);
  q8_output y = output8(t);
  q8_scale scale = scale_of(t, -1, 1, 2, t->scratch);
  int64_t maps = x->dims[0] * x->dims[1];
  npuc_ref_qglobalaveragepool(maps, elements(x) / maps, &a, &scale, &y);
}

static q8_axis axis_of(const task *t) {
  const qtensor *x = in(t, 0);
  int32_t axis = attribute(t, QATTR_axis, -1);
  if (axis < 0) axis += x->rank;
  q8_axis a = {1, x->dims[axis], 1};
  for (int32_t i = 0; i < axis; i++) a.outer *= x->dims[i];
  for (int32_t i = axis + 1; i < x->rank; i++) a.inner *= x->dims[i];
  return a;
}

static void run_softmax(const task *t) {
  q8_axis a = axis_of(t);
  q8_input x = input8(t, 0, QATTR_x_zero_point);
  q8_output y = output8(t);
  if (t->n->op == QOP_QSoftmax)
    npuc_ref_qsoftmax(&a, &x, in_data(t, 1), first_int(t, 2), &y);
  else
    npuc_ref_qlogsoftmax(&a, &x, in_data(t, 1), in_data(t, 2), in_data(t, 3), first_int(t, 4), &y);
}

static void run_normalize(const task *t) {
  q8_normal g = {.count = npuc_qnode_int(t->n, QATTR_count, 1),
                 .inner = npuc_qnode_int(t->n, QATTR_inner, 1),
                 .repeat = npuc_qnode_int(t->n, QATTR_repeat, 1),
                 .n_parameters = elements(in(t, 1)),
                 .epsilon = npuc_qnode_int(t->n, QATTR_epsilon, 0),
                 .centre = npuc_qnode_int(t->n, QATTR_centre, 1) != 0};
  g.rows = elements(in(t, 0)) / (g.count * g.inner);
  q8_input x = input8(t, 0, QATTR_x_zero_point);
  q8_output y = output8(t);
  q8_scale scale = scale_of(t, 1, 2, 3, t->scratch);
  npuc_ref_qnormalize(&g, &x, &scale, &y);
}

static void run_maxpool(const task *t) {
  kernel_window w = window_of(t->g, t->n, NULL);
  if (in(t, 0)->type == DTYPE_I8)
    npuc_maxpool_i8(&w, in_data(t, 0), out_data(t, 0), 0, w.batch * w.channels);
  else
    npuc_maxpool_u8(&w, in_data(t, 0), out_data(t, 0), 0, w.batch * w.channels);
}

/* -- moving -- */

static size_t element_bytes(const qtensor *t) { return npuc_dtype_bits(t->type) / 8; }

static void dense_strides(const qtensor *t, int64_t *strides) {
  int64_t step = 1;
  for (int32_t i = t->rank - 1; i >= 0; i--) strides[i] = step, step *= t->dims[i];
}

static strided_copy copy_shape(const qtensor *like) {
  strided_copy c = {.rank = like->rank, .element_bytes = element_bytes(like)};
  memcpy(c.dims, like->dims, sizeof c.dims);
  return c;
}

static int32_t positive_axis(int64_t axis, int32_t rank) { return (int32_t)(axis < 0 ? axis + rank : axis); }

static void run_concat(const task *t) {
  const qtensor *y = out(t, 0);
  int32_t axis = positive_axis(attribute(t, QATTR_axis, 0), y->rank);
  int64_t strides[MAX_RANK], at = 0;
  dense_strides(y, strides);
  for (int32_t i = 0; i < t->n->n_inputs; i++) {
    strided_copy c = copy_shape(in(t, i));
    dense_strides(in(t, i), c.from_strides);
    memcpy(c.to_strides, strides, sizeof c.to_strides);
    c.from = in_data(t, i);
    c.to = (char *)out_data(t, 0) + (size_t)(at * strides[axis]) * c.element_bytes;
    npuc_strided_copy(&c);
    at += in(t, i)->dims[axis];
  }
}

static void run_split(const task *t) {
  const qtensor *x = in(t, 0);
  int32_t axis = positive_axis(attribute(t, QATTR_axis, 0), x->rank);
  int64_t strides[MAX_RANK], at = 0;
  dense_strides(x, strides);
  for (int32_t i = 0; i < t->n->n_outputs; i++) {
    strided_copy c = copy_shape(out(t, i));
    memcpy(c.from_strides, strides, sizeof c.from_strides);
    dense_strides(out(t, i), c.to_strides);
    c.from = (const char *)in_data(t, 0) + (size_t)(at * strides[axis]) * c.element_bytes;
    c.to = out_data(t, i);
    npuc_strided_copy(&c);
    at += out(t, i)->dims[axis];
  }
}

static void run_pad(const task *t) {
  const qtensor *x = in(t, 0), *y = out(t, 0);
  strided_copy c = copy_shape(x);
  int64_t offset = 0, value = npuc_qnode_int(t->n, QATTR_value, 0);
  dense_strides(x, c.from_strides);
  dense_strides(y, c.to_strides);
  for (int32_t i = 0; i < x->rank; i++) offset += list_at(t->n, QATTR_pads, (uint32_t)i, 0) * c.to_strides[i];
  memset(out_data(t, 0), (int)(value & 0xff), y->bytes); /* 8-bit: the verifier */
  c.from = in_data(t, 0);
  c.to = (char *)out_data(t, 0) + offset;
  npuc_strided_copy(&c);
}

static void run_slice(const task *t) {
  const qtensor *x = in(t, 0);
  strided_copy c = copy_shape(out(t, 0));
  int64_t offset = 0;
  uint32_t count;
  const int64_t *axes = npuc_qnode_list(t->n, QATTR_axes, &count);
  dense_strides(x, c.from_strides);
  dense_strides(out(t, 0), c.to_strides);
  for (uint32_t i = 0; i < count; i++) {
    int32_t axis = positive_axis(axes[i], x->rank);
    offset += list_at(t->n, QATTR_starts, i, 0) * c.from_strides[axis];
    c.from_strides[axis] *= list_at(t->n, QATTR_steps, i, 1);
  }
  c.from = (const char *)in_data(t, 0) + offset * (int64_t)c.element_bytes;
  c.to = out_data(t, 0);
  npuc_strided_copy(&c);
}

static void run_transpose(const task *t) {
  const qtensor *x = in(t, 0);
  strided_copy c = copy_shape(out(t, 0));
  int64_t strides[MAX_RANK];
  dense_strides(x, strides);
  for (int32_t i = 0; i < x->rank; i++) c.from_strides[i] = strides[list_at(t->n, QATTR_perm, (uint32_t)i, i)];
  dense_strides(out(t, 0), c.to_strides);
  c.from = in_data(t, 0);
  c.to = out_data(t, 0);
  npuc_strided_copy(&c);
}

static npuc_status run_gather(const task *t) {
  const qtensor *x = in(t, 0), *indices = in(t, 1);
  int32_t axis = positive_axis(attribute(t, QATTR_axis, 0), x->rank);
  size_t inner = element_bytes(x), outer = 1, n = (size_t)elements(indices), extent = (size_t)x->dims[axis];
  for (int32_t i = 0; i < axis; i++) outer *= (size_t)x->dims[i];
  for (int32_t i = axis + 1; i < x->rank; i++) inner *= (size_t)x->dims[i];
  const qtensor view = {.type = indices->type, .data = in_data(t, 1)};
  for (size_t k = 0; k < n; k++) {
    int64_t at = npuc_qtensor_value(&view, (int64_t)k);
    if (at < 0) at += (int64_t)extent;
    if (at < 0 || at >= (int64_t)extent)
      return npuc_fail(t->d, NPUC_DIAG_E1005, &(diag_place){.node = t->n->name, .op = "Gather"}, "an index is outside its axis");
    for (size_t o = 0; o < outer; o++)
      memcpy((char *)out_data(t, 0) + (o * n + k) * inner, (const char *)in_data(t, 0) + (o * extent + (size_t)at) * inner, inner);
  }
  return NPUC_OK;
}

static void run_argmax(const task *t) {
  q8_axis a = axis_of(t);
  q8_input x = input8(t, 0, QATTR_x_zero_point);
  bool last = attribute(t, QATTR_select_last_index, 0) != 0;
  int64_t *y = out_data(t, 0);
  for (int64_t o = 0; o < a.outer; o++) {
    for (int64_t i = 0; i < a.inner; i++) {
      int64_t best = 0, base = o * a.n * a.inner + i;
      for (int64_t k = 1; k < a.n; k++) {
        int32_t v = npuc_q8_get(&x, base + k * a.inner), b = npuc_q8_get(&x, base + best * a.inner);
        if (v > b || (last && v == b)) best = k;
      }
      y[o * a.inner + i] = best;
    }
  }
}

npuc_status npuc_node_run(diag *d, const kernel_set *kernels, const qgraph *g, const qnode *n, void *const *tensors, const int32_t *packed,
                          void *scratch) {
  task t = {d, g, n, tensors, packed, scratch, kernels};
  q8_input x;
  switch (n->op) {
    case QOP_QConv:
    case QOP_QGemm:
      run_product(&t);
      break;
    case QOP_QAdd:
    case QOP_QMul:
      run_binary(&t);
      break;
    case QOP_Requantize:
      run_requantize(&t);
      break;
    case QOP_QAveragePool:
      return run_average(&t);
    case QOP_QGlobalAveragePool:
      run_global_average(&t);
      break;
    case QOP_Lookup:
      x = input8(&t, 0, QATTR_x_zero_point);
      npuc_ref_lookup(elements(in(&t, 0)), &x, in_data(&t, 1), out_data(&t, 0));
      break;
    case QOP_QSoftmax:
    case QOP_QLogSoftmax:
      run_softmax(&t);
      break;
    case QOP_QNormalize:
      run_normalize(&t);
      break;
    case QOP_MaxPool:
      run_maxpool(&t);
      break;
    case QOP_Concat:
      run_concat(&t);
      break;
    case QOP_Pad:
      run_pad(&t);
      break;
    case QOP_Slice:
      run_slice(&t);
      break;
    case QOP_Split:
      run_split(&t);
      break;
    case QOP_Transpose:
      run_transpose(&t);
      break;
    case QOP_Gather:
      return run_gather(&t);
    case QOP_ArgMax:
      run_argmax(&t);
      break;
    case QOP_Reshape:
    case QOP_Flatten:
    case QOP_Squeeze:
    case QOP_Unsqueeze:
    case QOP_Identity:
      memcpy(out_data(&t, 0), in_data(&t, 0), out(&t, 0)->bytes);
      break;
  }
  return NPUC_OK;
}
