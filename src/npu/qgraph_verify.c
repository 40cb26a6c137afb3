/* SPDX-License-Identifier: Apache-2.0 */
/* Verifier of integer graphs: what docs/refnpu.md section 7 says of each operator, so that everything behind it may trust indices, shapes and attributes. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "npu/qgraph.h"

typedef struct check {
  diag *d;
  const qgraph *g;
  const qnode *n;
} check;

#define REFUSE(c, ...) \
  return npuc_fail((c)->d, NPUC_DIAG_E0802, &(diag_place){.node = (c)->n->name, .op = npuc_qop_name((c)->n->op)}, __VA_ARGS__)

static const qtensor *in(const check *c, int32_t i) { return &c->g->tensors[c->n->inputs[i]]; }
static const qtensor *out(const check *c, int32_t i) { return &c->g->tensors[c->n->outputs[i]]; }

static npuc_status needs_inputs(const check *c, int32_t count) {
  if (c->n->n_inputs != count) REFUSE(c, "%" PRId32 " inputs where the operator has %" PRId32, c->n->n_inputs, count);
  for (int32_t i = 0; i < count; i++) {
    if (c->n->inputs[i] < 0) REFUSE(c, "input %" PRId32 " is omitted", i);
  }
  return NPUC_OK;
}

static npuc_status needs_list(const check *c, qattr_key key, const char *name, int64_t count) {
  uint32_t have;
  (void)npuc_qnode_list(c->n, key, &have);
  if (count >= 0 ? have != count : have == 0) REFUSE(c, "attribute %s has %" PRIu32 " values", name, have);
  return NPUC_OK;
}

/* A parameter: a constant, so that what it says can be checked here. */
static npuc_status needs_elements(const check *c, int32_t input, dtype type, int64_t count, const char *name) {
  const qtensor *t = in(c, input);
  if (!t->data) REFUSE(c, "%s must be a constant", name);
  if (t->type != type || npuc_qtensor_elements(t) != count)
    REFUSE(c, "%s must be %s with %" PRId64 " elements, and is %s with %" PRId64, name, npuc_dtype_name(type), count,
           npuc_dtype_name(t->type), npuc_qtensor_elements(t));
  return NPUC_OK;
}

static bool is_byte(const qtensor *t) { return t->type == DTYPE_U8 || t->type == DTYPE_I8; }

static npuc_status needs_bytes(const check *c, const qtensor *t) {
  if (!is_byte(t)) REFUSE(c, "tensor %s must be uint8 or int8, and is %s", t->name, npuc_dtype_name(t->type));
  return NPUC_OK;
}

static npuc_status needs_shifts(const check *c, int32_t input) {
  const qtensor *t = in(c, input);
  for (int64_t i = 0; i < npuc_qtensor_elements(t); i++) {
    if (npuc_qtensor_value(t, i) > 62) REFUSE(c, "a shift is above 62");
  }
  return NPUC_OK;
}

static npuc_status needs_clamp(const check *c) {
  NPUC_TRY(needs_bytes(c, out(c, 0)));
  NPUC_TRY(needs_list(c, QATTR_y_zero_point, "y_zero_point", 1));
  NPUC_TRY(needs_list(c, QATTR_lo, "lo", 1));
  NPUC_TRY(needs_list(c, QATTR_hi, "hi", 1));
  int64_t lo, hi, least, most, zp = npuc_qnode_int(c->n, QATTR_y_zero_point, 0);
  lo = npuc_qnode_int(c->n, QATTR_lo, 0), hi = npuc_qnode_int(c->n, QATTR_hi, 0);
  if (!npuc_dtype_range(out(c, 0)->type, &least, &most) || lo < least || hi > most || lo > hi || zp < least || zp > most)
    REFUSE(c, "y_zero_point, lo or hi is outside the output's dtype");
  return NPUC_OK;
}

static npuc_status needs_zero_point(const check *c, qattr_key key, const char *name, int32_t input) {
  NPUC_TRY(needs_bytes(c, in(c, input)));
  NPUC_TRY(needs_list(c, key, name, 1));
  int64_t least, most, zp = npuc_qnode_int(c->n, key, 0);
  if (!npuc_dtype_range(in(c, input)->type, &least, &most) || zp < least || zp > most) REFUSE(c, "%s is outside its tensor's dtype", name);
  return NPUC_OK;
}

static npuc_status needs_dims(const check *c, const qtensor *t, int32_t rank, const int64_t *dims) {
  if (t->rank != rank || memcmp(t->dims, dims, (size_t)rank * sizeof *dims) != 0)
    REFUSE(c, "tensor %s has not the shape that its node gives it", t->name);
  return NPUC_OK;
}

/* floor or ceil((size + pads - dilation*(k-1) - 1) / stride) + 1, as section 7 has it; -1 when there is none. */
static int64_t window_output(int64_t size, int64_t before, int64_t after, int64_t k, int64_t dilation, int64_t stride, bool ceil_mode) {
  int64_t span = size + before + after - dilation * (k - 1) - 1;
  if (span < 0) return -1;
  int64_t count = (span + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  if (ceil_mode && (count - 1) * stride >= size + before) count--;
  return count;
}

static npuc_status check_window(const check *c, const int64_t *kernel, bool ceil_mode, int64_t channels) {
  NPUC_TRY(needs_list(c, QATTR_strides, "strides", 2));
  NPUC_TRY(needs_list(c, QATTR_pads, "pads", 4));
  NPUC_TRY(needs_list(c, QATTR_dilations, "dilations", 2));
  const qtensor *x = in(c, 0);
  if (x->rank != 4) REFUSE(c, "the input must have 4 dims");
  uint32_t n;
  const int64_t *strides = npuc_qnode_list(c->n, QATTR_strides, &n), *pads = npuc_qnode_list(c->n, QATTR_pads, &n),
                *dilations = npuc_qnode_list(c->n, QATTR_dilations, &n);
  const int64_t limit = 1 << 20;
  int64_t dims[4] = {x->dims[0], channels};
  for (int i = 0; i < 2; i++) {
    if (strides[i] < 1 || dilations[i] < 1 || kernel[i] < 1 || pads[i] < 0 || pads[2 + i] < 0)
      REFUSE(c, "a stride, dilation, kernel or pad is out of range");
    if (strides[i] > limit || dilations[i] > limit || kernel[i] > limit || pads[i] > limit || pads[2 + i] > limit)
      REFUSE(c, "a stride, dilation, kernel or pad is absurdly large");
    dims[2 + i] = window_output(x->dims[2 + i], pads[i], pads[2 + i], kernel[i], dilations[i], strides[i], ceil_mode);
  }
  return needs_dims(c, out(c, 0), 4, dims);
}

/* Accumulators have 32 bits: no channel's |bias| + 255 * sum |w| may leave them (docs/numerics.md section 5). */
static npuc_status needs_narrow_sums(const check *c) {
  const qtensor *w = in(c, 1), *bias = in(c, 2);
  int64_t depth = npuc_qtensor_elements(w) / w->dims[0];
  const int8_t *weights = w->data;
  for (int64_t o = 0; o < w->dims[0]; o++) {
    int64_t sum = weights ? 0 : 128 * depth, b = npuc_qtensor_value(bias, o);
    for (int64_t k = 0; weights && k < depth; k++) sum += weights[o * depth + k] < 0 ? -weights[o * depth + k] : weights[o * depth + k];
    if ((b < 0 ? -b : b) + 255 * sum > INT32_MAX) REFUSE(c, "channel %" PRId64 " can leave its 32-bit accumulator", o);
  }
  return NPUC_OK;
}

static npuc_status check_conv(const check *c) {
  NPUC_TRY(needs_inputs(c, 5));
  const qtensor *x = in(c, 0), *w = in(c, 1);
  int64_t group = npuc_qnode_int(c->n, QATTR_group, 0);
  if (w->type != DTYPE_I8 || w->rank != 4 || x->rank != 4 || group < 1 || group > x->dims[1] || x->dims[1] % group != 0 ||
      w->dims[1] != x->dims[1] / group || w->dims[0] % group != 0)
    REFUSE(c, "weights must be int8 [Co, C/group, kh, kw]");
  NPUC_TRY(needs_elements(c, 2, DTYPE_I32, w->dims[0], "bias"));
  NPUC_TRY(needs_elements(c, 3, DTYPE_I32, w->dims[0], "M"));
  NPUC_TRY(needs_elements(c, 4, DTYPE_U8, w->dims[0], "s"));
  NPUC_TRY(needs_shifts(c, 4));
  NPUC_TRY(needs_zero_point(c, QATTR_x_zero_point, "x_zero_point", 0));
  NPUC_TRY(needs_clamp(c));
  NPUC_TRY(needs_narrow_sums(c));
  return check_window(c, &w->dims[2], false, w->dims[0]);
}

static npuc_status check_gemm(const check *c) {
  NPUC_TRY(needs_inputs(c, 5));
  const qtensor *x = in(c, 0), *w = in(c, 1);
  if (w->type != DTYPE_I8 || w->rank != 2 || x->rank != 2 || w->dims[1] != x->dims[1])
    REFUSE(c, "weights must be int8 [O, K], the input [R, K]");
  NPUC_TRY(needs_elements(c, 2, DTYPE_I32, w->dims[0], "bias"));
  NPUC_TRY(needs_elements(c, 3, DTYPE_I32, w->dims[0], "M"));
  NPUC_TRY(needs_elements(c, 4, DTYPE_U8, w->dims[0], "s"));
  NPUC_TRY(needs_shifts(c, 4));
  NPUC_TRY(needs_zero_point(c, QATTR_x_zero_point, "x_zero_point", 0));
  NPUC_TRY(needs_clamp(c));
  NPUC_TRY(needs_narrow_sums(c));
  return needs_dims(c, out(c, 0), 2, (int64_t[]){x->dims[0], w->dims[0]});
}

static npuc_status check_binary(const check *c) {
  bool add = c->n->op == QOP_QAdd;
  NPUC_TRY(needs_inputs(c, add ? 5 : 4));
  for (int32_t i = 2; i < (add ? 4 : 3); i++) NPUC_TRY(needs_elements(c, i, DTYPE_I32, 1, "a multiplier"));
  NPUC_TRY(needs_elements(c, add ? 4 : 3, DTYPE_U8, 1, "s"));
  NPUC_TRY(needs_shifts(c, add ? 4 : 3));
  NPUC_TRY(needs_zero_point(c, QATTR_a_zero_point, "a_zero_point", 0));
  NPUC_TRY(needs_zero_point(c, QATTR_b_zero_point, "b_zero_point", 1));
  const qtensor *y = out(c, 0);
  for (int side = 0; side < 2; side++) {
    const qtensor *x = in(c, side);
    if (x->rank > y->rank) REFUSE(c, "an operand has more dims than the result");
    for (int32_t i = 0; i < x->rank; i++) {
      int64_t have = x->dims[x->rank - 1 - i], want = y->dims[y->rank - 1 - i];
      if (have != 1 && have != want) REFUSE(c, "operands do not broadcast to the result's shape");
    }
  }
  return needs_clamp(c);
}

static npuc_status check_unary(const check *c) {
  NPUC_TRY(needs_inputs(c, 3));
  NPUC_TRY(needs_elements(c, 1, DTYPE_I32, 1, "M"));
  NPUC_TRY(needs_elements(c, 2, DTYPE_U8, 1, "s"));
  NPUC_TRY(needs_shifts(c, 2));
  NPUC_TRY(needs_zero_point(c, QATTR_x_zero_point, "x_zero_point", 0));
  NPUC_TRY(needs_clamp(c));
  const qtensor *x = in(c, 0);
  if (c->n->op == QOP_Requantize) return needs_dims(c, out(c, 0), x->rank, x->dims);
  if (x->rank != 4) REFUSE(c, "the input must have 4 dims");
  if (x->dims[2] * x->dims[3] > INT32_MAX / 255) REFUSE(c, "the image has too many pixels for a 32-bit sum");
  return needs_dims(c, out(c, 0), 4, (int64_t[]){x->dims[0], x->dims[1], 1, 1});
}

static npuc_status check_pool(const check *c) {
  bool average = c->n->op == QOP_QAveragePool;
  NPUC_TRY(needs_inputs(c, average ? 4 : 1));
  NPUC_TRY(needs_list(c, QATTR_kernel_shape, "kernel_shape", 2));
  NPUC_TRY(needs_list(c, QATTR_ceil_mode, "ceil_mode", 1));
  NPUC_TRY(needs_bytes(c, in(c, 0)));
  uint32_t n;
  const int64_t *kernel = npuc_qnode_list(c->n, QATTR_kernel_shape, &n);
  if (kernel[0] < 1 || kernel[1] < 1 || kernel[0] > INT32_MAX / 255 || kernel[1] > INT32_MAX / 255 / kernel[0])
    REFUSE(c, "the window has no cells, or too many for a 32-bit sum");
  if (average) {
    int64_t k = npuc_qtensor_elements(in(c, 3));
    NPUC_TRY(needs_elements(c, 1, DTYPE_I32, k, "M"));
    NPUC_TRY(needs_elements(c, 2, DTYPE_U8, k, "s"));
    NPUC_TRY(needs_elements(c, 3, DTYPE_I32, k, "counts"));
    NPUC_TRY(needs_shifts(c, 2));
    NPUC_TRY(needs_list(c, QATTR_count_include_pad, "count_include_pad", 1));
    NPUC_TRY(needs_zero_point(c, QATTR_x_zero_point, "x_zero_point", 0));
    NPUC_TRY(needs_clamp(c));
  } else if (in(c, 0)->type != out(c, 0)->type) {
    REFUSE(c, "MaxPool keeps the dtype");
  }
  return check_window(c, kernel, npuc_qnode_int(c->n, QATTR_ceil_mode, 0) != 0, in(c, 0)->rank == 4 ? in(c, 0)->dims[1] : 0);
}

/* The axis' index, or -1 when the attribute is absent or names none. */
static int32_t axis_of(const check *c, const qtensor *t) {
  int64_t axis = npuc_qnode_int(c->n, QATTR_axis, INT64_MAX);
  if (axis < 0) axis += t->rank;
  return axis >= 0 && axis < t->rank ? (int32_t)axis : -1;
}

static npuc_status check_softmax(const check *c) {
  int32_t axis = axis_of(c, in(c, 0));
  if (axis < 0) REFUSE(c, "the axis is out of range");
  if (in(c, 0)->dims[axis] >= 1 << 30) REFUSE(c, "the axis is too long");
  if (npuc_qtensor_value(in(c, 1), 0) != 65535) REFUSE(c, "the table's first entry must be 65535"); /* so the sum is never 0 */
  return needs_clamp(c);
}

static npuc_status check_table(const check *c) {
  bool lookup = c->n->op == QOP_Lookup;
  NPUC_TRY(needs_inputs(c, lookup ? 2 : c->n->op == QOP_QSoftmax ? 3 : 5));
  NPUC_TRY(needs_bytes(c, in(c, 0)));
  NPUC_TRY(needs_bytes(c, out(c, 0)));
  NPUC_TRY(needs_elements(c, 1, lookup ? out(c, 0)->type : DTYPE_U16, 256, "the table"));
  if (!lookup) NPUC_TRY(check_softmax(c));
  if (c->n->op == QOP_QSoftmax) {
    NPUC_TRY(needs_elements(c, 2, DTYPE_I32, 1, "scale"));
    int64_t scale = npuc_qtensor_value(in(c, 2), 0);
    if (scale < 0 || scale > 16) REFUSE(c, "scale must be 0 to 16");
  } else if (!lookup) {
    NPUC_TRY(needs_elements(c, 2, DTYPE_I32, 256, "L"));
    NPUC_TRY(needs_elements(c, 3, DTYPE_I32, 2, "M"));
    NPUC_TRY(needs_elements(c, 4, DTYPE_U8, 1, "s"));
    NPUC_TRY(needs_shifts(c, 4));
  }
  return needs_dims(c, out(c, 0), in(c, 0)->rank, in(c, 0)->dims);
}

/* Whole rows of count * inner elements, whole rounds of the parameters, and numbers that keep every sum in 64 bits (docs/numerics.md). */
static npuc_status check_normalize(const check *c) {
  NPUC_TRY(needs_inputs(c, 4));
  NPUC_TRY(needs_zero_point(c, QATTR_x_zero_point, "x_zero_point", 0));
  NPUC_TRY(needs_clamp(c));
  static const struct {
    qattr_key key;
    const char *name;
    int64_t lo, hi;
  } numbers[] = {{QATTR_count, "count", 1, 1 << 22},
                 {QATTR_inner, "inner", 1, INT64_C(1) << 40},
                 {QATTR_repeat, "repeat", 1, INT64_C(1) << 40},
                 {QATTR_centre, "centre", 0, 1},
                 {QATTR_epsilon, "epsilon", 0, INT64_C(1) << 60}};
  int64_t v[5];
  for (int i = 0; i < 5; i++) {
    NPUC_TRY(needs_list(c, numbers[i].key, numbers[i].name, 1));
    v[i] = npuc_qnode_int(c->n, numbers[i].key, 0);
    if (v[i] < numbers[i].lo || v[i] > numbers[i].hi) REFUSE(c, "%s is out of range", numbers[i].name);
  }
  int64_t elements = npuc_qtensor_elements(in(c, 0)), parameters = npuc_qtensor_elements(in(c, 1)), row, round;
  if (__builtin_mul_overflow(v[0], v[1], &row) || elements % row) REFUSE(c, "the input is no whole number of rows");
  if (__builtin_mul_overflow(parameters, v[2], &round) || elements % round)
    REFUSE(c, "the input is no whole number of rounds of the parameters");
  NPUC_TRY(needs_elements(c, 1, DTYPE_I32, parameters, "bias"));
  NPUC_TRY(needs_elements(c, 2, DTYPE_I32, parameters, "M"));
  NPUC_TRY(needs_elements(c, 3, DTYPE_U8, parameters, "s"));
  NPUC_TRY(needs_shifts(c, 3));
  for (int64_t i = 0; i < parameters; i++) {
    int64_t bias = npuc_qtensor_value(in(c, 1), i);
    if (bias < -(1 << 30) || bias > 1 << 30) REFUSE(c, "a bias is beyond 2^30");
  }
  return needs_dims(c, out(c, 0), in(c, 0)->rank, in(c, 0)->dims);
}

static npuc_status check_renamed(const check *c) {
  NPUC_TRY(needs_inputs(c, 1));
  const qtensor *x = in(c, 0), *y = out(c, 0);
  if (x->type != y->type) REFUSE(c, "the dtype must stay");
  if (npuc_qtensor_elements(x) != npuc_qtensor_elements(y)) REFUSE(c, "the number of elements must stay");
  return NPUC_OK;
}

static npuc_status check_transpose(const check *c) {
  NPUC_TRY(needs_inputs(c, 1));
  const qtensor *x = in(c, 0), *y = out(c, 0);
  NPUC_TRY(needs_list(c, QATTR_perm, "perm", x->rank));
  uint32_t n, seen = 0;
  const int64_t *perm = npuc_qnode_list(c->n, QATTR_perm, &n);
  int64_t dims[8];
  for (int32_t i = 0; i < x->rank; i++) {
    if (perm[i] < 0 || perm[i] >= x->rank || (seen >> perm[i] & 1)) REFUSE(c, "perm is no permutation of the axes");
    seen |= 1u << perm[i];
    dims[i] = x->dims[perm[i]];
  }
  if (x->type != y->type) REFUSE(c, "the dtype must stay");
  return needs_dims(c, y, x->rank, dims);
}

static npuc_status check_pad(const check *c) {
  NPUC_TRY(needs_inputs(c, 1));
  const qtensor *x = in(c, 0), *y = out(c, 0);
  NPUC_TRY(needs_list(c, QATTR_pads, "pads", 2 * (int64_t)x->rank));
  NPUC_TRY(needs_list(c, QATTR_value, "value", 1));
  NPUC_TRY(needs_bytes(c, x));
  uint32_t n;
  const int64_t *pads = npuc_qnode_list(c->n, QATTR_pads, &n), most = (int64_t)1 << 40;
  int64_t dims[8];
  for (int32_t i = 0; i < x->rank; i++) {
    int64_t before = pads[i], after = pads[x->rank + i];
    if (before < 0 || after < 0 || before > most || after > most) REFUSE(c, "a pad is negative or absurdly large");
    dims[i] = x->dims[i] + before + after;
  }
  if (x->type != y->type) REFUSE(c, "the dtype must stay");
  return needs_dims(c, y, x->rank, dims);
}

/* The output is the input with its axis replaced by the indices' dims. What the indices are is seen when they are read. */
static npuc_status check_gather(const check *c) {
  NPUC_TRY(needs_inputs(c, 2));
  const qtensor *x = in(c, 0), *indices = in(c, 1), *y = out(c, 0);
  int32_t axis = axis_of(c, x), rank = 0;
  if (axis < 0) REFUSE(c, "the axis is out of range");
  if (indices->type != DTYPE_I64 && indices->type != DTYPE_I32) REFUSE(c, "indices are int64 or int32");
  if (x->type != y->type) REFUSE(c, "the dtype must stay");
  int64_t dims[16];
  for (int32_t i = 0; i < axis; i++) dims[rank++] = x->dims[i];
  for (int32_t i = 0; i < indices->rank; i++) dims[rank++] = indices->dims[i];
  for (int32_t i = axis + 1; i < x->rank; i++) dims[rank++] = x->dims[i];
  return needs_dims(c, y, rank, dims);
}

static npuc_status check_argmax(const check *c) {
  NPUC_TRY(needs_inputs(c, 1));
  const qtensor *x = in(c, 0), *y = out(c, 0);
  int32_t axis = axis_of(c, x), rank = 0;
  if (axis < 0) REFUSE(c, "the axis is out of range");
  NPUC_TRY(needs_bytes(c, x));
  if (y->type != DTYPE_I64) REFUSE(c, "the result is int64");
  NPUC_TRY(needs_list(c, QATTR_keepdims, "keepdims", 1));
  NPUC_TRY(needs_list(c, QATTR_select_last_index, "select_last_index", 1));
  bool keep = npuc_qnode_int(c->n, QATTR_keepdims, 1) != 0;
  int64_t dims[8];
  for (int32_t i = 0; i < x->rank; i++) {
    if (i != axis)
      dims[rank++] = x->dims[i];
    else if (keep)
      dims[rank++] = 1;
  }
  return needs_dims(c, y, rank, dims);
}

static npuc_status check_slice(const check *c) {
  NPUC_TRY(needs_inputs(c, 1));
  uint32_t n, m;
  const int64_t *axes = npuc_qnode_list(c->n, QATTR_axes, &n), *starts = npuc_qnode_list(c->n, QATTR_starts, &m);
  NPUC_TRY(needs_list(c, QATTR_starts, "starts", n));
  NPUC_TRY(needs_list(c, QATTR_ends, "ends", n));
  NPUC_TRY(needs_list(c, QATTR_steps, "steps", n));
  const int64_t *steps = npuc_qnode_list(c->n, QATTR_steps, &m), *ends = npuc_qnode_list(c->n, QATTR_ends, &m);
  const qtensor *x = in(c, 0), *y = out(c, 0);
  if (x->rank != y->rank || x->type != y->type) REFUSE(c, "rank and dtype must stay");
  uint32_t seen = 0;
  for (uint32_t i = 0; i < n; i++) {
    const int64_t most = (int64_t)1 << 40;
    if (axes[i] < 0 || axes[i] >= x->rank || (seen >> axes[i] & 1)) REFUSE(c, "an axis is out of range, or there twice");
    if (steps[i] == 0 || steps[i] > most || steps[i] < -most) REFUSE(c, "a step is 0 or absurdly large");
    seen |= 1u << axes[i];
    int64_t size = x->dims[axes[i]], count = y->dims[axes[i]];
    /* start + (count - 1) * step must be an element; the step's bound says so without the product. */
    if (starts[i] < 0 || starts[i] >= size || count > size ||
        (count > 1 && (steps[i] > 0 ? steps[i] > (size - 1 - starts[i]) / (count - 1) : -steps[i] > starts[i] / (count - 1))))
      REFUSE(c, "the slice leaves its axis");
    int64_t last = starts[i] + (count - 1) * steps[i];
    if (steps[i] > 0 ? last >= ends[i] : last <= ends[i]) REFUSE(c, "the output is larger than the slice");
  }
  for (int32_t k = 0; k < x->rank; k++) {
    if (!(seen >> k & 1) && x->dims[k] != y->dims[k]) REFUSE(c, "an axis that is not sliced has another size");
  }
  return NPUC_OK;
}

static npuc_status check_joined(const check *c) {
  bool concat = c->n->op == QOP_Concat;
  const qtensor *one = concat ? out(c, 0) : in(c, 0);
  int64_t axis = npuc_qnode_int(c->n, QATTR_axis, INT64_MAX), sum = 0;
  if (axis < 0) axis += one->rank;
  if (axis < 0 || axis >= one->rank) REFUSE(c, "the axis is out of range");
  NPUC_TRY(needs_inputs(c, concat ? c->n->n_inputs : 1));
  uint32_t n;
  const int64_t *sizes = npuc_qnode_list(c->n, QATTR_split, &n);
  if (!concat) NPUC_TRY(needs_list(c, QATTR_split, "split", c->n->n_outputs));
  for (int32_t k = 0; k < (concat ? c->n->n_inputs : c->n->n_outputs); k++) {
    const qtensor *part = concat ? in(c, k) : out(c, k);
    if (part->rank != one->rank || part->type != one->type) REFUSE(c, "parts must have the whole's rank and dtype");
    for (int32_t i = 0; i < one->rank; i++) {
      if (i != axis && part->dims[i] != one->dims[i]) REFUSE(c, "parts differ in another axis");
    }
    if (!concat && sizes[k] != part->dims[axis]) REFUSE(c, "a part has another size than split says");
    sum += part->dims[axis];
  }
  if (sum != one->dims[axis]) REFUSE(c, "the parts do not add up to the whole");
  return NPUC_OK;
}

static npuc_status check_operator(const check *c) {
  switch (c->n->op) {
    case QOP_QConv:
      return check_conv(c);
    case QOP_QGemm:
      return check_gemm(c);
    case QOP_QAdd:
    case QOP_QMul:
      return check_binary(c);
    case QOP_Requantize:
    case QOP_QGlobalAveragePool:
      return check_unary(c);
    case QOP_QAveragePool:
    case QOP_MaxPool:
      return check_pool(c);
    case QOP_Lookup:
    case QOP_QSoftmax:
    case QOP_QLogSoftmax:
      return check_table(c);
    case QOP_QNormalize:
      return check_normalize(c);
    case QOP_Concat:
    case QOP_Split:
      return check_joined(c);
    case QOP_Slice:
      return check_slice(c);
    case QOP_Transpose:
      return check_transpose(c);
    case QOP_Pad:
      return check_pad(c);
    case QOP_Gather:
      return check_gather(c);
    case QOP_ArgMax:
      return check_argmax(c);
    case QOP_Reshape:
    case QOP_Flatten:
    case QOP_Squeeze:
    case QOP_Unsqueeze:
    case QOP_Identity:
      return check_renamed(c);
  }
  return NPUC_OK; /* a number that is no operator was refused before */
}

/* What docs/refnpu.md section 6.3 lists. */
static bool is_stored(dtype type) { return type == DTYPE_F32 || (type >= DTYPE_U8 && type <= DTYPE_I64); }

static npuc_status check_quant(diag *d, const qtensor *t) {
  int64_t least, most;
  const diag_place place = {.node = t->name};
  if (!npuc_dtype_range(t->type, &least, &most)) return npuc_fail(d, NPUC_DIAG_E0802, &place, "a scale on %s", npuc_dtype_name(t->type));
  if (!((float)t->scale > 0.0f) || isinf((float)t->scale))
    return npuc_fail(d, NPUC_DIAG_E0802, &place, "its scale is not a positive number");
  if (t->zero_point < least || t->zero_point > most) return npuc_fail(d, NPUC_DIAG_E0802, &place, "its zero point is outside its dtype");
  return NPUC_OK;
}

/* Sizes stay far below what 64 bits hold, each by itself and in sum: nothing behind this file needs to fear an overflow. */
static npuc_status check_tensors(diag *d, const qgraph *g) {
  const size_t limit = (size_t)1 << 40;
  size_t sum = 0;
  for (size_t i = 0; i < g->n_tensors; i++) {
    const qtensor *t = &g->tensors[i];
    const diag_place place = {.node = t->name};
    int64_t elements = 1;
    if (t->rank < 0 || t->rank > 8) return npuc_fail(d, NPUC_DIAG_E0802, &place, "rank %" PRId32, t->rank);
    if (!is_stored(t->type)) return npuc_fail(d, NPUC_DIAG_E0802, &place, "dtype %d has no place in an integer graph", (int)t->type);
    for (int32_t k = 0; k < t->rank; k++) {
      if (t->dims[k] < 1 || elements > (int64_t)limit / t->dims[k])
        return npuc_fail(d, NPUC_DIAG_E0802, &place, "dims are not positive, or their product is too large");
      elements *= t->dims[k];
    }
    size_t bytes;
    if (!npuc_dtype_bytes(t->type, elements, &bytes) || bytes != t->bytes)
      return npuc_fail(d, NPUC_DIAG_E0802, &place, "its bytes are not those of dims and dtype");
    if (bytes > limit - sum) return npuc_fail(d, NPUC_DIAG_E0802, &place, "the graph's tensors are too large together");
    sum += bytes;
    if ((t->role == QROLE_CONSTANT) != (t->data != NULL))
      return npuc_fail(d, NPUC_DIAG_E0802, &place, "constants have bytes, and only they");
    if (t->has_quant) NPUC_TRY(check_quant(d, t));
  }
  return NPUC_OK;
}

/* -- who writes what, and when -- */

/* known[t]: tensor t has its value when the node that is looked at runs. */
static npuc_status check_uses(const check *c, bool *known) {
  for (int32_t k = 0; k < c->n->n_inputs; k++) {
    int32_t t = c->n->inputs[k];
    if (t < -1 || t >= (int64_t)c->g->n_tensors || (k == 0 && t < 0)) REFUSE(c, "input %" PRId32 " is no tensor", k);
    if (t >= 0 && !known[t]) REFUSE(c, "input %" PRId32 " (%s) has no value yet", k, c->g->tensors[t].name);
  }
  if (c->n->n_outputs > 1 && c->n->op != QOP_Split) REFUSE(c, "the operator has one output");
  for (int32_t k = 0; k < c->n->n_outputs; k++) {
    int32_t t = c->n->outputs[k];
    if (t < 0 || t >= (int64_t)c->g->n_tensors) REFUSE(c, "output %" PRId32 " is no tensor", k);
    if (known[t]) REFUSE(c, "output %" PRId32 " (%s) is written twice, or is a constant or an input", k, c->g->tensors[t].name);
    known[t] = true;
  }
  return NPUC_OK;
}

static npuc_status check_ports(diag *d, const qgraph *g, bool *known) {
  for (size_t i = 0; i < g->n_tensors; i++) known[i] = g->tensors[i].role == QROLE_CONSTANT;
  for (size_t i = 0; i < g->n_inputs; i++) {
    const qtensor *t = &g->tensors[g->inputs[i]];
    if (t->role != QROLE_INPUT || known[g->inputs[i]])
      return npuc_fail(d, NPUC_DIAG_E0802, &(diag_place){.node = t->name}, "an input of the graph has another role, or is one twice");
    known[g->inputs[i]] = true;
  }
  return NPUC_OK;
}

static npuc_status check_nodes(diag *d, const qgraph *g, bool *known) {
  NPUC_TRY(check_ports(d, g, known));
  for (size_t i = 0; i < g->n_nodes; i++) {
    const check c = {.d = d, .g = g, .n = &g->nodes[i]};
    if (!npuc_qop_name(c.n->op)) REFUSE(&c, "there is no operator %d", (int)c.n->op);
    if (c.n->n_inputs < 1 || c.n->n_outputs < 1) REFUSE(&c, "a node has an input and an output");
    NPUC_TRY(check_uses(&c, known));
    NPUC_TRY(check_operator(&c));
  }
  for (size_t i = 0; i < g->n_outputs; i++) {
    const qtensor *t = &g->tensors[g->outputs[i]];
    if (!known[g->outputs[i]] || t->role == QROLE_ACTIVATION)
      return npuc_fail(d, NPUC_DIAG_E0802, &(diag_place){.node = t->name}, "an output of the graph is never computed, or has another role");
  }
  return NPUC_OK;
}

npuc_status npuc_qgraph_verify(diag *d, const qgraph *g) {
  NPUC_TRY(check_tensors(d, g));
  bool *known = npuc_xcalloc(g->n_tensors + 1, sizeof *known);
  npuc_status status = check_nodes(d, g, known);
  free(known);
  return status;
}
