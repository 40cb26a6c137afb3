/* SPDX-License-Identifier: Apache-2.0 */
/* Walks along an axis: CumSum, CumProd, Hardmax, TopK; and Unique, whose slices are sorted, and Det. Floats are gathered in double. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/eval/eval.h"
#include "kernels/convert.h"

static bool is_float(const tensor *t) { return npuc_dtype_kind(t->type) == KIND_FLOAT; }

static npuc_status check_number(const eval_context *c, const tensor *t) {
  return is_float(t) || npuc_dtype_is_integer(t->type) ? NPUC_OK : npuc_eval_unsupported(c, t->type);
}

static npuc_status axis_from(const eval_context *c, int64_t given, int32_t rank, int32_t *out) {
  if (npuc_axis_normalize(given, rank, out)) return NPUC_OK;
  diag_place place = npuc_eval_place(c);
  return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "axis %lld is outside of the input's rank %d", (long long)given, (int)rank);
}

static void move(tensor *to, int64_t i, const tensor *from, int64_t k) {
  size_t w = npuc_dtype_width(to->type);
  memcpy((char *)to->data + (size_t)i * w, (const char *)from->data + (size_t)k * w, w);
}

/* -- CumSum, CumProd -- */

typedef struct running {
  double real;
  uint64_t whole;
} running;

static void accumulate(running *r, const tensor *x, int64_t i, bool product) {
  if (is_float(x)) {
    double v = npuc_tensor_get(x, i);
    r->real = product ? r->real * v : r->real + v;
  } else {
    uint64_t v = (uint64_t)npuc_tensor_get_int(x, i);
    r->whole = product ? r->whole * v : r->whole + v;
  }
}

static void store(const running *r, tensor *y, int64_t i) {
  if (is_float(y)) {
    npuc_convert_from_f64(&r->real, 1, y, i);
  } else {
    int64_t v = (int64_t)r->whole;
    npuc_convert_from_i64(&v, 1, y, i);
  }
}

static npuc_status cumulate(const eval_context *c, const tensor *const *inputs, tensor *y, bool product) {
  const cumulative_attributes *a = NPUC_ATTRS(cumulative_attributes, c->node);
  const tensor *x = inputs[0];
  int32_t axis;
  NPUC_TRY(check_number(c, x));
  NPUC_TRY(axis_from(c, npuc_tensor_get_int(inputs[1], 0), x->shape.rank, &axis));
  axis_split s = npuc_eval_split_at(&x->shape, axis);
  for (int64_t row = 0; row < s.outer * s.inner; row++) {
    running r = {product ? 1.0 : 0.0, product};
    for (int64_t k = 0; k < s.axis; k++) {
      int64_t at = (row / s.inner * s.axis + (a->reverse ? s.axis - 1 - k : k)) * s.inner + row % s.inner;
      if (a->exclusive) store(&r, y, at);
      accumulate(&r, x, at, product);
      if (!a->exclusive) store(&r, y, at);
    }
  }
  return NPUC_OK;
}

npuc_status npuc_eval_cumsum(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return cumulate(c, inputs, outputs[0], false);
}
npuc_status npuc_eval_cumprod(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return cumulate(c, inputs, outputs[0], true);
}

/* -- comparing elements -- */

/* Below 0: a before b in ascending order. NaN comes after every number. */
static int compare_at(const tensor *x, int64_t a, int64_t b) {
  if (is_float(x)) {
    double p = npuc_tensor_get(x, a), q = npuc_tensor_get(x, b);
    if (isnan(p) || isnan(q)) return isnan(p) - isnan(q);
    return (p > q) - (p < q);
  }
  int64_t p = npuc_tensor_get_int(x, a), q = npuc_tensor_get_int(x, b);
  if (x->type == DTYPE_U64) return ((uint64_t)p > (uint64_t)q) - ((uint64_t)p < (uint64_t)q);
  return (p > q) - (p < q);
}

/* -- Hardmax -- */

npuc_status npuc_eval_hardmax(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0];
  int32_t axis;
  NPUC_TRY(axis_from(c, NPUC_ATTRS(axis_attributes, c->node)->axis, x->shape.rank, &axis));
  axis_split s = npuc_eval_split_at(&x->shape, axis);
  if (outputs[0]->bytes) memset(outputs[0]->data, 0, outputs[0]->bytes);
  for (int64_t row = 0; s.axis && row < s.outer * s.inner; row++) {
    int64_t first = row / s.inner * s.axis * s.inner + row % s.inner, best = 0;
    for (int64_t k = 1; k < s.axis; k++) {
      if (compare_at(x, first + k * s.inner, first + best * s.inner) > 0) best = k;
    }
    npuc_tensor_set_int(outputs[0], first + best * s.inner, 1);
  }
  return NPUC_OK;
}

/* -- sorting: a merge sort of indices, stable, with room for as many again -- */

typedef int order_function(const void *context, int64_t a, int64_t b);

static void merge_sort(int64_t *items, int64_t *room, int64_t n, order_function *order, const void *context) {
  for (int64_t width = 1; width < n; width *= 2) {
    for (int64_t start = 0; start < n; start += 2 * width) {
      int64_t middle = start + width < n ? start + width : n, end = start + 2 * width < n ? start + 2 * width : n, a = start, b = middle;
      for (int64_t k = start; k < end; k++)
        room[k] = a < middle && (b >= end || order(context, items[a], items[b]) <= 0) ? items[a++] : items[b++];
    }
    memcpy(items, room, (size_t)n * sizeof *items);
  }
}

/* -- TopK: equal elements in order of their index -- */

typedef struct column {
  const tensor *x;
  int64_t first, step;
  bool largest;
} column;

static int column_order(const void *context, int64_t a, int64_t b) {
  const column *k = context;
  int order = compare_at(k->x, k->first + a * k->step, k->first + b * k->step);
  return k->largest ? -order : order;
}

npuc_status npuc_eval_topk(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const topk_attributes *a = NPUC_ATTRS(topk_attributes, c->node);
  const tensor *x = inputs[0];
  int32_t axis;
  NPUC_TRY(check_number(c, x));
  NPUC_TRY(axis_from(c, a->axis, x->shape.rank, &axis));
  axis_split s = npuc_eval_split_at(&x->shape, axis);
  int64_t k = npuc_tensor_get_int(inputs[1], 0);
  if (k < 0 || k > s.axis) {
    diag_place place = npuc_eval_place(c);
    return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "K is %lld, and axis %d has %lld elements", (long long)k, (int)axis, (long long)s.axis);
  }
  void *memory;
  NPUC_TRY(npuc_eval_scratch(c, 2 * (size_t)s.axis * sizeof(int64_t) + 64, &memory));
  int64_t *order = memory;
  for (int64_t row = 0; row < s.outer * s.inner; row++) {
    column col = {x, row / s.inner * s.axis * s.inner + row % s.inner, s.inner, a->largest != 0};
    for (int64_t i = 0; i < s.axis; i++) order[i] = i;
    merge_sort(order, order + s.axis, s.axis, column_order, &col);
    for (int64_t i = 0; i < k; i++) {
      int64_t to = (row / s.inner * k + i) * s.inner + row % s.inner;
      if (outputs[0] && outputs[0]->data) move(outputs[0], to, x, col.first + order[i] * s.inner);
      if (eval_wants(c, outputs, 1)) npuc_tensor_set_int(outputs[1], to, order[i]);
    }
  }
  return NPUC_OK;
}

/* -- Unique -- */

typedef struct slices {
  const tensor *x;
  axis_split s;
} slices;

static int slice_order(const void *context, int64_t a, int64_t b) {
  const slices *v = context;
  for (int64_t o = 0; o < v->s.outer; o++) {
    for (int64_t i = 0; i < v->s.inner; i++) {
      int order = compare_at(v->x, (o * v->s.axis + a) * v->s.inner + i, (o * v->s.axis + b) * v->s.inner + i);
      if (order) return order;
    }
  }
  return 0;
}

static int number_order(const void *context, int64_t a, int64_t b) {
  const int64_t *first = context;
  return (first[a] > first[b]) - (first[a] < first[b]);
}

/* The groups of equal slices: group_of each slice, the first slice of each group; returns their number. */
static int64_t group(const slices *v, int64_t *order, int64_t *room, int64_t *group_of, int64_t *first) {
  int64_t n = 0;
  for (int64_t i = 0; i < v->s.axis; i++) order[i] = i;
  merge_sort(order, room, v->s.axis, slice_order, v);
  for (int64_t i = 0; i < v->s.axis; i++) {
    if (i == 0 || slice_order(v, order[i - 1], order[i]) != 0) first[n++] = order[i];
    group_of[order[i]] = n - 1;
  }
  return n;
}

static npuc_status put_groups(const eval_context *c, const slices *v, const shape *y_shape, int32_t axis, const int64_t *order, int64_t n,
                              const int64_t *group_of, const int64_t *first, int64_t *place_of, tensor *const *outputs) {
  shape y = *y_shape, vector = {.rank = 1, .dims = {n}}, all = {.rank = 1, .dims = {v->s.axis}};
  y.dims[axis] = n;
  NPUC_TRY(npuc_eval_allocate(c, outputs, 0, &y));
  NPUC_TRY(npuc_eval_allocate(c, outputs, 1, &vector));
  NPUC_TRY(npuc_eval_allocate(c, outputs, 2, &all));
  NPUC_TRY(npuc_eval_allocate(c, outputs, 3, &vector));
  for (int64_t k = 0; k < n; k++) {
    place_of[order[k]] = k;
    if (eval_wants(c, outputs, 1)) npuc_tensor_set_int(outputs[1], k, first[order[k]]);
    if (eval_wants(c, outputs, 3)) npuc_tensor_set_int(outputs[3], k, 0);
    for (int64_t i = 0; eval_wants(c, outputs, 0) && i < v->s.outer * v->s.inner; i++)
      move(outputs[0], (i / v->s.inner * n + k) * v->s.inner + i % v->s.inner, v->x,
           (i / v->s.inner * v->s.axis + first[order[k]]) * v->s.inner + i % v->s.inner);
  }
  for (int64_t i = 0; i < v->s.axis; i++) {
    int64_t k = place_of[group_of[i]];
    if (eval_wants(c, outputs, 2)) npuc_tensor_set_int(outputs[2], i, k);
    if (eval_wants(c, outputs, 3)) npuc_tensor_set_int(outputs[3], k, npuc_tensor_get_int(outputs[3], k) + 1);
  }
  return NPUC_OK;
}

npuc_status npuc_eval_unique(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const unique_attributes *a = NPUC_ATTRS(unique_attributes, c->node);
  slices v = {inputs[0], {1, npuc_tensor_elements(inputs[0]), 1}};
  shape y = {.rank = 1};
  int32_t axis = 0;
  NPUC_TRY(check_number(c, v.x));
  if (a->axis != COMPRESS_FLAT) {
    NPUC_TRY(axis_from(c, a->axis, v.x->shape.rank, &axis));
    v.s = npuc_eval_split_at(&v.x->shape, axis);
    y = v.x->shape;
  }
  void *memory;
  NPUC_TRY(npuc_eval_scratch(c, 5 * (size_t)v.s.axis * sizeof(int64_t) + 64, &memory));
  int64_t *order = memory, *room = order + v.s.axis, *group_of = room + v.s.axis, *first = group_of + v.s.axis,
          *place_of = first + v.s.axis;
  int64_t n = group(&v, order, room, group_of, first);
  for (int64_t i = 0; i < n; i++) order[i] = i;
  if (!a->sorted) merge_sort(order, room, n, number_order, first); /* in order of first occurrence */
  return put_groups(c, &v, &y, axis, order, n, group_of, first, place_of, outputs);
}

/* -- Det: Gaussian elimination with row exchanges, in double -- */

static double determinant(double *m, int64_t n) {
  double det = 1.0;
  for (int64_t k = 0; k < n; k++) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; i++) {
      if (fabs(m[i * n + k]) > fabs(m[pivot * n + k])) pivot = i;
    }
    if (m[pivot * n + k] == 0.0) return 0.0;
    if (pivot != k) det = -det;
    for (int64_t j = 0; pivot != k && j < n; j++) {
      double held = m[k * n + j];
      m[k * n + j] = m[pivot * n + j];
      m[pivot * n + j] = held;
    }
    det *= m[k * n + k];
    for (int64_t i = k + 1; i < n; i++) {
      double factor = m[i * n + k] / m[k * n + k];
      for (int64_t j = k; j < n; j++) m[i * n + j] -= factor * m[k * n + j];
    }
  }
  return det;
}

npuc_status npuc_eval_det(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0];
  int64_t n = x->shape.dims[x->shape.rank - 1];
  void *memory;
  if (!is_float(x)) return npuc_eval_unsupported(c, x->type);
  NPUC_TRY(npuc_eval_scratch(c, (size_t)(n * n) * sizeof(double) + 64, &memory));
  for (int64_t i = 0; i < npuc_tensor_elements(outputs[0]); i++) {
    npuc_convert_to_f64(x, i * n * n, n * n, memory);
    npuc_tensor_set(outputs[0], i, determinant(memory, n));
  }
  return NPUC_OK;
}
