/* SPDX-License-Identifier: Apache-2.0 */
/* Verifier of integer graphs: what docs/refnpu.md section 7 says of each operator, so that everything behind it may trust indices, shapes and attributes. */
#include <inttypes.h>
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

static npuc_status needs_elements(const check *c, int32_t input, dtype type, int64_t count, const char *name) {
  const qtensor *t = in(c, input);
  if (t->type != type || npuc_qtensor_elements(t) != count)
    REFUSE(c, "%s must be %s with %" PRId64 " elements, and is %s with %" PRId64, name, npuc_dtype_name(type), count,
           npuc_dtype_name(t->type), npuc_qtensor_elements(t));
  return NPUC_OK;
}

static npuc_status needs_shifts(const check *c, int32_t input) {
  const qtensor *t = in(c, input);
  for (int64_t i = 0; t->data && i < npuc_qtensor_elements(t); i++) {
    if (npuc_qtensor_value(t, i) > 62) REFUSE(c, "a shift is above 62");
  }
  return NPUC_OK;
}

static npuc_status needs_clamp(const check *c) {
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

static npuc_status check_conv(const check *c) {
  NPUC_TRY(needs_inputs(c, 5));
  const qtensor *x = in(c, 0), *w = in(c, 1);
  int64_t group = npuc_qnode_int(c->n, QATTR_group, 0);
  if (w->type != DTYPE_I8 || w->rank != 4 || x->rank != 4 || group < 1 || w->dims[1] * group != x->dims[1] || w->dims[0] % group != 0)
    REFUSE(c, "weights must be int8 [Co, C/group, kh, kw]");
  NPUC_TRY(needs_elements(c, 2, DTYPE_I32, w->dims[0], "bias"));
  NPUC_TRY(needs_elements(c, 3, DTYPE_I32, w->dims[0], "M"));
  NPUC_TRY(needs_elements(c, 4, DTYPE_U8, w->dims[0], "s"));
  NPUC_TRY(needs_shifts(c, 4));
  NPUC_TRY(needs_zero_point(c, QATTR_x_zero_point, "x_zero_point", 0));
  NPUC_TRY(needs_clamp(c));
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
  return needs_dims(c, out(c, 0), 4, (int64_t[]){x->dims[0], x->dims[1], 1, 1});
}

static npuc_status check_pool(const check *c) {
  bool average = c->n->op == QOP_QAveragePool;
  NPUC_TRY(needs_inputs(c, average ? 4 : 1));
  NPUC_TRY(needs_list(c, QATTR_kernel_shape, "kernel_shape", 2));
  NPUC_TRY(needs_list(c, QATTR_ceil_mode, "ceil_mode", 1));
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
  uint32_t n;
  return check_window(c, npuc_qnode_list(c->n, QATTR_kernel_shape, &n), npuc_qnode_int(c->n, QATTR_ceil_mode, 0) != 0,
                      in(c, 0)->rank == 4 ? in(c, 0)->dims[1] : 0);
}

static npuc_status check_table(const check *c) {
  bool lookup = c->n->op == QOP_Lookup;
  NPUC_TRY(needs_inputs(c, lookup ? 2 : c->n->op == QOP_QSoftmax ? 3 : 5));
  NPUC_TRY(needs_elements(c, 1, lookup ? out(c, 0)->type : DTYPE_U16, 256, "the table"));
  if (!lookup) {
    NPUC_TRY(needs_list(c, QATTR_axis, "axis", 1));
    NPUC_TRY(needs_clamp(c));
  }
  if (c->n->op == QOP_QSoftmax) {
    NPUC_TRY(needs_elements(c, 2, DTYPE_I32, 1, "scale"));
    int64_t scale = in(c, 2)->data ? npuc_qtensor_value(in(c, 2), 0) : 8;
    if (scale < 0 || scale > 16) REFUSE(c, "scale must be 0 to 16");
  }
  return needs_dims(c, out(c, 0), in(c, 0)->rank, in(c, 0)->dims);
}

/* Operators that only move or rename: element counts, and the lists that say where from. */
static npuc_status check_moved(const check *c) {
  const qtensor *x = in(c, 0), *y = out(c, 0);
  if (x->type != y->type && c->n->op != QOP_ArgMax) REFUSE(c, "the dtype must stay");
  switch (c->n->op) {
    case QOP_Reshape:
    case QOP_Flatten:
    case QOP_Squeeze:
    case QOP_Unsqueeze:
    case QOP_Identity:
      NPUC_TRY(needs_inputs(c, 1));
      if (npuc_qtensor_elements(x) != npuc_qtensor_elements(y)) REFUSE(c, "the number of elements must stay");
      return NPUC_OK;
    case QOP_Transpose:
      return needs_list(c, QATTR_perm, "perm", x->rank);
    case QOP_Pad: {
      NPUC_TRY(needs_inputs(c, 1));
      NPUC_TRY(needs_list(c, QATTR_pads, "pads", 2 * (int64_t)x->rank));
      NPUC_TRY(needs_list(c, QATTR_value, "value", 1));
      uint32_t n;
      const int64_t *pads = npuc_qnode_list(c->n, QATTR_pads, &n);
      int64_t dims[8];
      for (int32_t i = 0; i < x->rank; i++) {
        if (pads[i] < 0 || pads[x->rank + i] < 0) REFUSE(c, "a pad is negative");
        dims[i] = x->dims[i] + pads[i] + pads[x->rank + i];
      }
      return needs_dims(c, y, x->rank, dims);
    }
    default:
      return NPUC_OK;
  }
}

static npuc_status check_slice(const check *c) {
  NPUC_TRY(needs_inputs(c, 1));
  uint32_t n, m;
  const int64_t *axes = npuc_qnode_list(c->n, QATTR_axes, &n), *starts = npuc_qnode_list(c->n, QATTR_starts, &m);
  NPUC_TRY(needs_list(c, QATTR_starts, "starts", n));
  NPUC_TRY(needs_list(c, QATTR_ends, "ends", n));
  NPUC_TRY(needs_list(c, QATTR_steps, "steps", n));
  const int64_t *steps = npuc_qnode_list(c->n, QATTR_steps, &m);
  const qtensor *x = in(c, 0), *y = out(c, 0);
  if (x->rank != y->rank || x->type != y->type) REFUSE(c, "rank and dtype must stay");
  for (uint32_t i = 0; i < n; i++) {
    if (axes[i] < 0 || axes[i] >= x->rank || steps[i] == 0) REFUSE(c, "an axis or step is out of range");
    int64_t size = x->dims[axes[i]], last = starts[i] + (y->dims[axes[i]] - 1) * steps[i];
    if (starts[i] < 0 || starts[i] >= size || last < 0 || last >= size) REFUSE(c, "the slice leaves its axis");
  }
  return NPUC_OK;
}

static npuc_status check_joined(const check *c) {
  bool concat = c->n->op == QOP_Concat;
  const qtensor *one = concat ? out(c, 0) : in(c, 0);
  int64_t axis = npuc_qnode_int(c->n, QATTR_axis, INT64_MAX), sum = 0;
  if (axis < 0) axis += one->rank;
  if (axis < 0 || axis >= one->rank) REFUSE(c, "the axis is out of range");
  for (int32_t k = 0; k < (concat ? c->n->n_inputs : c->n->n_outputs); k++) {
    const qtensor *part = concat ? in(c, k) : out(c, k);
    if (part->rank != one->rank || part->type != one->type) REFUSE(c, "parts must have the whole's rank and dtype");
    for (int32_t i = 0; i < one->rank; i++) {
      if (i != axis && part->dims[i] != one->dims[i]) REFUSE(c, "parts differ in another axis");
    }
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
    case QOP_Concat:
    case QOP_Split:
      return check_joined(c);
    case QOP_Slice:
      return check_slice(c);
    default:
      return check_moved(c);
  }
}

static npuc_status check_tensors(diag *d, const qgraph *g) {
  for (size_t i = 0; i < g->n_tensors; i++) {
    const qtensor *t = &g->tensors[i];
    const diag_place place = {.node = t->name};
    int64_t elements = 1;
    if (t->rank < 0 || t->rank > 8) return npuc_fail(d, NPUC_DIAG_E0802, &place, "rank %" PRId32, t->rank);
    for (int32_t k = 0; k < t->rank; k++) {
      if (t->dims[k] < 1 || elements > ((int64_t)1 << 40) / t->dims[k])
        return npuc_fail(d, NPUC_DIAG_E0802, &place, "dims are not positive, or their product is too large");
      elements *= t->dims[k];
    }
    size_t bytes;
    if (!npuc_dtype_bytes(t->type, elements, &bytes) || bytes != t->bytes)
      return npuc_fail(d, NPUC_DIAG_E0802, &place, "its bytes are not those of dims and dtype");
  }
  return NPUC_OK;
}

npuc_status npuc_qgraph_verify(diag *d, const qgraph *g) {
  NPUC_TRY(check_tensors(d, g));
  for (size_t i = 0; i < g->n_nodes; i++) {
    const check c = {.d = d, .g = g, .n = &g->nodes[i]};
    if (!npuc_qop_name(c.n->op)) REFUSE(&c, "there is no operator %d", (int)c.n->op);
    if (c.n->n_inputs < 1 || c.n->n_outputs < 1) REFUSE(&c, "a node has an input and an output");
    for (int32_t k = 0; k < c.n->n_inputs; k++) {
      if (c.n->inputs[k] < -1 || c.n->inputs[k] >= (int64_t)g->n_tensors || (k == 0 && c.n->inputs[k] < 0))
        REFUSE(&c, "input %" PRId32 " is no tensor", k);
    }
    for (int32_t k = 0; k < c.n->n_outputs; k++) {
      if (c.n->outputs[k] < 0 || c.n->outputs[k] >= (int64_t)g->n_tensors) REFUSE(&c, "output %" PRId32 " is no tensor", k);
    }
    NPUC_TRY(check_operator(&c));
  }
  return NPUC_OK;
}
