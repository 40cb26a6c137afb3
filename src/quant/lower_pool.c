/* SPDX-License-Identifier: Apache-2.0 */
/* Pools and means. */
#include "quant/lower.h"
#include "quant/multiplier.h"

enum { MOST_COUNTS = 512 };

static int_list copy_list(lowering *l, const int_list *from, int32_t n, int64_t otherwise) {
  int_list to = {.values = NPUC_NEW_ARRAY(l->m->arena, (size_t)n, int64_t), .count = n};
  for (int32_t i = 0; i < n; i++) to.values[i] = i < from->count ? from->values[i] : otherwise;
  return to;
}

/* Sorted insertion without repetition; false when the array is full. */
static bool add_count(int64_t *counts, int32_t *n, int64_t count) {
  int32_t at = 0;
  while (at < *n && counts[at] < count) at++;
  if (at < *n && counts[at] == count) return true;
  if (*n == MOST_COUNTS) return false;
  for (int32_t i = (*n)++; i > at; i--) counts[i] = counts[i - 1];
  counts[at] = count;
  return true;
}

/* Cells that count along one axis, for window o. */
static int64_t cells(const qpool_attributes *a, int32_t axis, int64_t size, int64_t o) {
  int64_t begin = a->pads.values[axis], end = a->pads.values[axis + a->kernel_shape.count], n = 0;
  for (int64_t k = 0; k < a->kernel_shape.values[axis]; k++) {
    int64_t q = o * a->strides.values[axis] - begin + k * a->dilations.values[axis];
    n += a->count_include_pad ? q >= -begin && q < size + end : q >= 0 && q < size;
  }
  return n;
}

/* The distinct numbers of cells: products over the axes of what each axis has. */
static bool window_counts(const qpool_attributes *a, const shape *x, const shape *y, int64_t counts[MOST_COUNTS], int32_t *out_n) {
  int32_t n = 1;
  counts[0] = 1;
  for (int32_t axis = 0; axis < a->kernel_shape.count; axis++) {
    int64_t own[MOST_COUNTS], before[MOST_COUNTS];
    int32_t n_own = 0, n_before = n;
    for (int64_t o = 0; o < y->dims[2 + axis]; o++) {
      if (!add_count(own, &n_own, cells(a, axis, x->dims[2 + axis], o))) return false;
    }
    for (int32_t i = 0; i < n; i++) before[i] = counts[i];
    n = 0;
    for (int32_t i = 0; i < n_before; i++) {
      for (int32_t k = 0; k < n_own; k++) {
        if (!add_count(counts, &n, before[i] * own[k])) return false;
      }
    }
  }
  *out_n = n;
  return n > 0 && counts[0] > 0;
}

static npuc_status lower_average(lowering *l, const plan_node *pn) {
  const pool_attributes *from = NPUC_ATTRS(pool_attributes, pn->node);
  const value *x = plan_x(pn->node);
  int32_t spatial = x->shape.rank - 2;
  const qparams *qx = plan_params(l->p, x), *qy = plan_params(l->p, pn->out);
  qpool_attributes fields = {.ceil_mode = from->ceil_mode, .count_include_pad = from->count_include_pad, .x_zero_point = qx->zero_point};
  fields.kernel_shape = copy_list(l, &from->kernel_shape, spatial, 1);
  fields.strides = copy_list(l, &from->strides, spatial, 1);
  fields.pads = copy_list(l, &from->pads, 2 * spatial, 0);
  fields.dilations = copy_list(l, &from->dilations, spatial, 1);
  rule_fields r = npuc_lower_rule(qy, pn);
  LOWER_SET_RULE(&fields, r);
  int64_t counts[MOST_COUNTS];
  int32_t n_counts, m[MOST_COUNTS], s[MOST_COUNTS], narrow[MOST_COUNTS];
  diag_place place = npuc_plan_place(pn->node, NULL);
  if (!window_counts(&fields, &x->shape, &pn->node->outputs[0]->shape, counts, &n_counts)) {
    return npuc_fail(l->p->d, NPUC_DIAG_E0704, &place,
                     "a window lies wholly in the padding, or there are more than %d different window sizes", MOST_COUNTS);
  }
  for (int32_t i = 0; i < n_counts; i++) {
    double factor = (double)qx->scale / ((double)qy->scale * (double)counts[i]);
    if (npuc_multiplier(factor, l->p->options->multiplier_bits, &m[i], &s[i]) == MULTIPLIER_TOO_LARGE) {
      return npuc_fail(l->p->d, NPUC_DIAG_E0709, &place, "factor %g", factor);
    }
    narrow[i] = (int32_t)counts[i];
  }
  value *inputs[4] = {lower_of(l, x), npuc_lower_i32(l, pn->node, "M", m, n_counts), npuc_lower_i32(l, pn->node, "s", s, n_counts),
                      npuc_lower_i32(l, pn->node, "counts", narrow, n_counts)};
  node *n = npuc_lower_node(l, pn, OP_QAVERAGEPOOL, NULL, inputs, 4, npuc_lower_output(l, pn));
  *NPUC_ATTRS(qpool_attributes, n) = fields;
  return NPUC_OK;
}

static npuc_status lower_global(lowering *l, const plan_node *pn) {
  const node *from = pn->node;
  const value *x = plan_x(from);
  const qparams *qx = plan_params(l->p, x), *qy = plan_params(l->p, pn->out);
  double pixels = 1;
  shape pooled = x->shape;
  for (int32_t i = 2; i < x->shape.rank; i++) {
    pixels *= (double)x->shape.dims[i];
    pooled.dims[i] = 1;
  }
  double factor = node_is(from, OP_REDUCESUM) ? (double)qx->scale / (double)qy->scale : (double)qx->scale / ((double)qy->scale * pixels);
  value *inputs[3] = {lower_of(l, x)};
  NPUC_TRY(npuc_lower_multiplier(l, pn, NULL, factor, &inputs[1], &inputs[2]));
  bool squeeze = !npuc_shape_equal(&pooled, &pn->out->shape);
  value *y = squeeze ? npuc_lower_value(l, npuc_arena_printf(l->p->arena, "%s.pooled", from->name), &pooled, qy) : npuc_lower_output(l, pn);
  node *n = npuc_lower_node(l, pn, OP_QGLOBALAVERAGEPOOL, NULL, inputs, 3, y);
  qunary_attributes *a = NPUC_ATTRS(qunary_attributes, n);
  a->x_zero_point = qx->zero_point;
  rule_fields r = npuc_lower_rule(qy, pn);
  LOWER_SET_RULE(a, r);
  if (!squeeze) return NPUC_OK;
  int64_t axes[MAX_RANK];
  for (int32_t i = 2; i < x->shape.rank; i++) axes[i - 2] = i;
  value *list = npuc_lower_ints(l, npuc_arena_printf(l->p->arena, "%s.axes", from->name), DTYPE_I64, axes, x->shape.rank - 2);
  npuc_lower_node(l, pn, OP_SQUEEZE, "squeeze", (value *[]){y, list}, 2, npuc_lower_output(l, pn));
  return NPUC_OK;
}

static npuc_status lower_maxpool(lowering *l, const plan_node *pn) {
  const value *x = plan_x(pn->node);
  value *in = lower_of(l, x);
  node *n = npuc_lower_node(l, pn, OP_MAXPOOL, NULL, &in, 1, npuc_lower_output(l, pn));
  if (node_is(pn->node, OP_MAXPOOL)) {
    n->attributes = npuc_attributes_clone(l->m, n->op, pn->node->attributes);
    return NPUC_OK;
  }
  pool_attributes *a = NPUC_ATTRS(pool_attributes, n);
  int32_t spatial = x->shape.rank - 2;
  int_list image = {.values = (int64_t *)x->shape.dims + 2, .count = spatial}, none = {.count = 0};
  a->auto_pad = "NOTSET";
  a->kernel_shape = copy_list(l, &image, spatial, 1);
  a->strides = copy_list(l, &none, spatial, 1);
  a->dilations = copy_list(l, &none, spatial, 1);
  a->pads = copy_list(l, &none, 2 * spatial, 0);
  return NPUC_OK;
}

npuc_status npuc_lower_pool(lowering *l, const plan_node *pn) {
  if (pn->role == ROLE_AVERAGE) return lower_average(l, pn);
  return pn->role == ROLE_GLOBAL ? lower_global(l, pn) : lower_maxpool(l, pn);
}
