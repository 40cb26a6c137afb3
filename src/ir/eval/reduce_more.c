/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions without kernels of their own. Floats are gathered in double, ascending in row-major order of the reduced axes, and rounded once;
 * integers in int64, whose low bits are kept. Without elements: 0, 1 for a product, the type's smallest or largest for a maximum or minimum, log 0. */
#include <math.h>

#include "ir/eval/eval.h"
#include "kernels/convert.h"

typedef struct reduction {
  op_id id;
  const tensor *x;
  tensor *y;
  int64_t kept_dims[MAX_RANK], kept_strides[MAX_RANK], reduced_dims[MAX_RANK], reduced_strides[MAX_RANK];
  int32_t n_kept, n_reduced;
  int64_t count;
} reduction;

static int64_t offset_of(int32_t n, const int64_t *dims, const int64_t *strides, int64_t index) {
  int64_t offset = 0;
  for (int32_t i = n - 1; i >= 0; i--) {
    offset += index % dims[i] * strides[i];
    index /= dims[i];
  }
  return offset;
}

static int64_t element_offset(const reduction *r, int64_t base, int64_t k) {
  return base + offset_of(r->n_reduced, r->reduced_dims, r->reduced_strides, k);
}

/* -- floats -- */

static double start_f64(op_id id) {
  return id == OP_REDUCEPROD ? 1.0 : id == OP_REDUCEMAX ? -(double)INFINITY : id == OP_REDUCEMIN ? (double)INFINITY : 0.0;
}

static double step_f64(op_id id, double sum, double x) {
  switch (id) {
    case OP_REDUCEMAX:
      return x > sum || x != x ? x : sum;
    case OP_REDUCEMIN:
      return x < sum || x != x ? x : sum;
    case OP_REDUCEPROD:
      return sum * x;
    case OP_REDUCEL1:
      return sum + fabs(x);
    case OP_REDUCEL2:
    case OP_REDUCESUMSQUARE:
      return sum + x * x;
    default: /* ReduceLogSum */
      return sum + x;
  }
}

static double log_sum_exp(const reduction *r, int64_t base) {
  double most = -(double)INFINITY, sum = 0.0;
  for (int64_t k = 0; k < r->count; k++) {
    double x = npuc_tensor_get(r->x, element_offset(r, base, k));
    most = x > most || x != x ? x : most;
  }
  if (isinf(most)) return most; /* also without elements */
  for (int64_t k = 0; k < r->count; k++) sum += exp(npuc_tensor_get(r->x, element_offset(r, base, k)) - most);
  return most + log(sum);
}

static double reduce_f64(const reduction *r, int64_t base) {
  if (r->id == OP_REDUCELOGSUMEXP) return log_sum_exp(r, base);
  double sum = start_f64(r->id);
  for (int64_t k = 0; k < r->count; k++) sum = step_f64(r->id, sum, npuc_tensor_get(r->x, element_offset(r, base, k)));
  return r->id == OP_REDUCEL2 ? sqrt(sum) : r->id == OP_REDUCELOGSUM ? log(sum) : sum;
}

/* -- integers -- */

static int64_t start_i64(op_id id, dtype t) {
  int64_t lo = INT64_MIN, hi = INT64_MAX;
  if (t == DTYPE_BOOL) {
    lo = 0;
    hi = 1;
  } else if (t == DTYPE_U64) {
    lo = 0;
    hi = -1;
  } else {
    (void)npuc_dtype_range(t, &lo, &hi);
  }
  return id == OP_REDUCEPROD ? 1 : id == OP_REDUCEMAX ? lo : id == OP_REDUCEMIN ? hi : 0;
}

static bool below(int64_t a, int64_t b, dtype t) { return t == DTYPE_U64 ? (uint64_t)a < (uint64_t)b : a < b; }

static int64_t step_i64(op_id id, int64_t sum, int64_t x, dtype t) {
  uint64_t s = (uint64_t)sum, v = (uint64_t)x;
  switch (id) {
    case OP_REDUCEMAX:
      return below(sum, x, t) ? x : sum;
    case OP_REDUCEMIN:
      return below(x, sum, t) ? x : sum;
    case OP_REDUCEPROD:
      return (int64_t)(s * v);
    case OP_REDUCEL1:
      return (int64_t)(s + (t != DTYPE_U64 && x < 0 ? 0 - v : v));
    case OP_REDUCEL2:
    case OP_REDUCESUMSQUARE:
      return (int64_t)(s + v * v);
    default:
      return (int64_t)(s + v);
  }
}

/* Roots and logarithms of whole numbers are truncated. */
static int64_t reduce_i64(const reduction *r, int64_t base) {
  if (r->id == OP_REDUCELOGSUMEXP) return (int64_t)log_sum_exp(r, base);
  int64_t sum = start_i64(r->id, r->x->type);
  for (int64_t k = 0; k < r->count; k++) sum = step_i64(r->id, sum, npuc_tensor_get_int(r->x, element_offset(r, base, k)), r->x->type);
  return r->id == OP_REDUCEL2 ? (int64_t)sqrt((double)sum) : r->id == OP_REDUCELOGSUM ? (int64_t)log((double)sum) : sum;
}

static void body(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const reduction *r = context;
  for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
    int64_t base = offset_of(r->n_kept, r->kept_dims, r->kept_strides, i);
    if (npuc_dtype_kind(r->x->type) == KIND_FLOAT) {
      double v = reduce_f64(r, base);
      npuc_convert_from_f64(&v, 1, r->y, i);
    } else {
      int64_t v = reduce_i64(r, base);
      npuc_convert_from_i64(&v, 1, r->y, i);
    }
  }
}

static npuc_status read_axes(const eval_context *c, const tensor *axes, int32_t rank, bool reduced[MAX_RANK]) {
  for (int64_t i = 0; axes && i < npuc_tensor_elements(axes); i++) {
    int32_t axis;
    int64_t given = npuc_tensor_get_int(axes, i);
    if (!npuc_axis_normalize(given, rank, &axis)) {
      diag_place place = npuc_eval_place(c);
      return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "axis %lld is outside of the input's rank %d", (long long)given, (int)rank);
    }
    reduced[axis] = true;
  }
  return NPUC_OK;
}

static npuc_status reduce(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0], *axes = eval_input(c, inputs, 1);
  reduction r = {.id = c->node->op->id, .x = x, .y = outputs[0], .count = 1};
  bool reduced[MAX_RANK] = {false};
  bool none = !axes || npuc_tensor_elements(axes) == 0, noop = none && NPUC_ATTRS(reduce_attributes, c->node)->noop_with_empty_axes;
  dtype_kind kind = npuc_dtype_kind(x->type);
  if (kind != KIND_FLOAT && kind != KIND_BOOL && !npuc_dtype_is_integer(x->type)) return npuc_eval_unsupported(c, x->type);
  NPUC_TRY(read_axes(c, axes, x->shape.rank, reduced));
  int64_t strides[MAX_RANK];
  npuc_shape_strides(&x->shape, strides);
  for (int32_t i = 0; i < x->shape.rank; i++) {
    if (reduced[i] || (none && !noop)) {
      r.reduced_dims[r.n_reduced] = x->shape.dims[i];
      r.reduced_strides[r.n_reduced++] = strides[i];
      r.count *= x->shape.dims[i];
    } else {
      r.kept_dims[r.n_kept] = x->shape.dims[i];
      r.kept_strides[r.n_kept++] = strides[i];
    }
  }
  npuc_parallel_for(npuc_dtype_bits(x->type) < 8 ? NULL : c->pool, (size_t)npuc_tensor_elements(outputs[0]), 0, body, &r);
  return NPUC_OK;
}

#define EVAL(name)                                                                                           \
  npuc_status npuc_eval_##name(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) { \
    return reduce(c, inputs, outputs);                                                                       \
  }
EVAL(reducemax)
EVAL(reducemin)
EVAL(reduceprod)
EVAL(reducel1)
EVAL(reducel2)
EVAL(reducesumsquare)
EVAL(reducelogsum)
EVAL(reducelogsumexp)
