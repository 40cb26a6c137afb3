/* SPDX-License-Identifier: Apache-2.0 */
/* Edits of convolutions: strided ones over one axis as a matrix product, narrow depthwise ones made wider. */
#include <string.h>

#include "passes/edits/build.h"

enum { Y, X, W, B };

static bool is_plain(const conv_attributes *a, int32_t spatial) {
  return (!a->auto_pad || strcmp(a->auto_pad, "NOTSET") == 0) && a->kernel_shape.count == spatial && a->strides.count == spatial &&
         a->pads.count == 2 * spatial && a->dilations.count == spatial;
}

/* -- decompose-strided-conv1d. x [B, C, L], w [O, C, K], stride s, dilation d, n = (L - d(K-1) - 1) / s + 1:
 *   x_k = x[:, :, k d : k d + n s : s]  [B, C, n], stacked [B, C, n, K], as rows [B, n, C K]; times w as [C K, O] -- */

static bool is_strided_1d(const match *m) {
  const conv_attributes *a = NPUC_ATTRS(conv_attributes, m->root);
  const value *x = m->values[X], *w = m->values[W];
  return npuc_has_rank(x, 3) && npuc_edit_is_static(x) && w->constant && is_plain(a, 1) && a->group == 1 && a->strides.values[0] > 1 &&
         a->pads.values[0] == 0 && a->pads.values[1] == 0 && npuc_edit_elements(m->root->outputs[0]) > 0;
}

/* w [O, C, K] as [C K, O]. */
static value *as_matrix(rewriter *r, const tensor *w) {
  int64_t outputs = w->shape.dims[0], rows = w->shape.dims[1] * w->shape.dims[2];
  tensor t;
  r->status = npuc_tensor_create(r->d, w->type, &(shape){.rank = 2, .dims = {rows, outputs}}, &t);
  if (r->status != NPUC_OK) return NULL;
  for (int64_t o = 0; o < outputs; o++) {
    for (int64_t i = 0; i < rows; i++) npuc_tensor_set(&t, i * outputs + o, npuc_tensor_get(w, o * rows + i));
  }
  return npuc_edit_tensor(r, "weight", &t);
}

static void conv_to_matmul(rewriter *r, const match *m) {
  const conv_attributes *a = NPUC_ATTRS(conv_attributes, m->root);
  const shape *x = &m->values[X]->shape, *w = &m->values[W]->shape;
  int64_t taps = w->dims[2], n = m->root->outputs[0]->shape.dims[2], stride = a->strides.values[0], dilation = a->dilations.values[0];
  value **parts = NPUC_NEW_ARRAY(r->scratch, (size_t)taps, value *);
  for (int64_t k = 0; k < taps; k++) {
    int64_t from = k * dilation;
    parts[k] = npuc_edit_unsqueeze(r, npuc_edit_slice(r, m->values[X], 2, from, from + (n - 1) * stride + 1, stride), 3);
  }
  value *stacked = npuc_edit_concat(r, parts, (int32_t)taps, 3);
  value *by_place = npuc_edit_transpose(r, stacked, (int64_t[]){0, 2, 1, 3}, 4);
  value *rows = npuc_edit_reshape(r, by_place, (int64_t[]){x->dims[0], n, x->dims[1] * taps}, 3);
  value *y = MAKE(r, OP_MATMUL, rows, as_matrix(r, m->values[W]->constant));
  if (m->values[B]) y = MAKE(r, OP_ADD, y, m->values[B]);
  npuc_edit_done(r, m, npuc_edit_transpose(r, y, (int64_t[]){0, 2, 1}, 3));
}

static const pattern strided_conv = {
    .name = "strided-conv1d-to-matmul",
    .doc = "Conv(x [B,C,L], w, b; stride s > 1) -> Transpose(MatMul(windows of x as rows, w^T) + b)",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_CONV, Y, ANY(X), CONST(W), OPTIONAL_INPUT(B)),
    .where = is_strided_1d,
    .rewrite = conv_to_matmul,
};
static const pattern *const strided_patterns[] = {&strided_conv};
PATTERN_SET(npuc_edit_decompose_strided_conv1d_patterns, strided_patterns);

/* -- widen-strided-depthwise-conv: outputs of `narrow` columns and fewer hang one NPU's gather; pads to the right make one column more than that, which a Slice cuts off -- */

static int64_t narrow(const match *m) {
  int64_t bytes = npuc_dtype_bits(m->values[X]->type) / 8, groups = npuc_edit_int(m->parameters, "sg_groups_max");
  if (npuc_edit_int(m->parameters, "element_bytes") > 0) bytes = npuc_edit_int(m->parameters, "element_bytes");
  return bytes > 0 && groups > 0 ? npuc_edit_int(m->parameters, "bus_width_bytes") / bytes / groups : 0;
}

static bool is_narrow_depthwise(const match *m) {
  const conv_attributes *a = NPUC_ATTRS(conv_attributes, m->root);
  const value *x = m->values[X], *w = m->values[W], *y = m->root->outputs[0];
  int32_t rank = x->shape.rank;
  if (rank < 3 || !npuc_edit_is_static(y) || !npuc_edit_is_static(x) || !is_plain(a, rank - 2)) return false;
  return a->group == x->shape.dims[1] && w->shape.rank == rank && w->shape.dims[1] == 1 && a->strides.values[rank - 3] > 1 &&
         y->shape.dims[rank - 1] <= narrow(m);
}

static void widen(rewriter *r, const match *m) {
  int32_t last = m->values[X]->shape.rank - 3;
  int64_t out = m->root->outputs[0]->shape.dims[last + 2], stride = NPUC_ATTRS(conv_attributes, m->root)->strides.values[last];
  node *wide = npuc_edit_copy(r, m->root, m->root->inputs, m->root->n_inputs);
  int_list *pads = &NPUC_ATTRS(conv_attributes, wide)->pads;
  pads->values[pads->count - 1] += (narrow(m) + 1 - out) * stride;
  npuc_edit_done(r, m, npuc_edit_slice(r, wide->outputs[0], last + 2, 0, out, 1));
}

static const pattern narrow_depthwise = {
    .name = "narrow-depthwise-to-wide",
    .doc = "Conv(x; depthwise, stride > 1, few columns) -> Slice(Conv(x) with more pads to the right)",
    .parity = PARITY_EXACT,
    .root = NODE(OP_CONV, Y, ANY(X), ANY(W), OPTIONAL_INPUT(B)),
    .where = is_narrow_depthwise,
    .rewrite = widen,
};
static const pattern *const narrow_patterns[] = {&narrow_depthwise};
PATTERN_SET(npuc_edit_widen_strided_depthwise_conv_patterns, narrow_patterns);
