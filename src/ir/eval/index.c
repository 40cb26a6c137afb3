/* SPDX-License-Identifier: Apache-2.0 */
/* Elements picked and placed by index: GatherElements, GatherND, ScatterElements, ScatterND, TensorScatter, OneHot, Compress, NonZero. Any dtype of whole bytes is
 * moved; what is reduced on the way (ScatterElements' and ScatterND's `reduction`) is computed in double or int64. */
#include <math.h>
#include <string.h>

#include "ir/eval/eval.h"
#include "kernels/convert.h"

static size_t width_of(const tensor *t) { return npuc_dtype_width(t->type); }

static void move(tensor *to, int64_t i, const tensor *from, int64_t k) {
  size_t w = width_of(to);
  memcpy((char *)to->data + (size_t)i * w, (const char *)from->data + (size_t)k * w, w);
}

static npuc_status check_bytes(const eval_context *c, const tensor *t) { return width_of(t) ? NPUC_OK : npuc_eval_unsupported(c, t->type); }

static npuc_status bad_index(const eval_context *c, int64_t index, int32_t axis, int64_t size) {
  diag_place place = npuc_eval_place(c);
  return npuc_fail(c->d, NPUC_DIAG_E0603, &place, "index %lld on axis %d of %lld elements", (long long)index, (int)axis, (long long)size);
}

/* Index of an axis, negative ones from the end. */
static npuc_status index_on(const eval_context *c, int64_t given, int32_t axis, int64_t size, int64_t *out) {
  *out = given < 0 ? given + size : given;
  return *out >= 0 && *out < size ? NPUC_OK : bad_index(c, given, axis, size);
}

static int32_t axis_of(int64_t axis, int32_t rank) { return (int32_t)(axis < 0 ? axis + rank : axis); }

/* -- reductions of scattered elements -- */

typedef enum scatter_rule { SCATTER_SET, SCATTER_ADD, SCATTER_MUL, SCATTER_MAX, SCATTER_MIN } scatter_rule;

static scatter_rule rule_of(const char *name) {
  static const char *const names[] = {"none", "add", "mul", "max", "min"};
  for (int i = 0; name && i < 5; i++) {
    if (strcmp(name, names[i]) == 0) return (scatter_rule)i;
  }
  return SCATTER_SET;
}

static int64_t join_i64(scatter_rule rule, int64_t a, int64_t b, bool is_u64) {
  bool less = is_u64 ? (uint64_t)a < (uint64_t)b : a < b;
  switch (rule) {
    case SCATTER_ADD:
      return (int64_t)((uint64_t)a + (uint64_t)b);
    case SCATTER_MUL:
      return (int64_t)((uint64_t)a * (uint64_t)b);
    case SCATTER_MAX:
      return less ? b : a;
    default:
      return less ? a : b;
  }
}

static double join_f64(scatter_rule rule, double a, double b) {
  switch (rule) {
    case SCATTER_ADD:
      return a + b;
    case SCATTER_MUL:
      return a * b;
    case SCATTER_MAX:
      return a > b || a != a ? a : b;
    default:
      return a < b || a != a ? a : b;
  }
}

static void scatter(tensor *y, int64_t i, const tensor *updates, int64_t k, scatter_rule rule) {
  if (rule == SCATTER_SET) {
    move(y, i, updates, k);
  } else if (npuc_dtype_kind(y->type) == KIND_FLOAT) {
    double v = join_f64(rule, npuc_tensor_get(y, i), npuc_tensor_get(updates, k));
    npuc_convert_from_f64(&v, 1, y, i);
  } else {
    int64_t v = join_i64(rule, npuc_tensor_get_int(y, i), npuc_tensor_get_int(updates, k), y->type == DTYPE_U64);
    npuc_convert_from_i64(&v, 1, y, i);
  }
}

/* -- GatherElements, ScatterElements -- */

/* Offset in `s` of element `at` of a tensor of shape `over`, with the index of `axis` replaced. */
static int64_t offset_with(const shape *s, const shape *over, int64_t at, int32_t axis, int64_t index) {
  int64_t offset = 0, stride = 1;
  for (int32_t i = over->rank - 1; i >= 0; i--) {
    offset += (i == axis ? index : at % over->dims[i]) * stride;
    at /= over->dims[i];
    stride *= s->dims[i];
  }
  return offset;
}

npuc_status npuc_eval_gatherelements(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0], *indices = inputs[1];
  int32_t axis = axis_of(NPUC_ATTRS(axis_attributes, c->node)->axis, x->shape.rank);
  NPUC_TRY(check_bytes(c, x));
  for (int64_t i = 0; i < npuc_tensor_elements(indices); i++) {
    int64_t k;
    NPUC_TRY(index_on(c, npuc_tensor_get_int(indices, i), axis, x->shape.dims[axis], &k));
    move(outputs[0], i, x, offset_with(&x->shape, &indices->shape, i, axis, k));
  }
  return NPUC_OK;
}

npuc_status npuc_eval_scatterelements(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const scatter_attributes *a = NPUC_ATTRS(scatter_attributes, c->node);
  const tensor *x = inputs[0], *indices = inputs[1];
  int32_t axis = axis_of(a->axis, x->shape.rank);
  NPUC_TRY(check_bytes(c, x));
  npuc_eval_copy(x, outputs[0]);
  for (int64_t i = 0; i < npuc_tensor_elements(indices); i++) {
    int64_t k;
    NPUC_TRY(index_on(c, npuc_tensor_get_int(indices, i), axis, x->shape.dims[axis], &k));
    scatter(outputs[0], offset_with(&x->shape, &indices->shape, i, axis, k), inputs[2], i, rule_of(a->reduction));
  }
  return NPUC_OK;
}

/* -- GatherND, ScatterND: rows of the last axis of indices name a place in x's axes from `batch` on -- */

typedef struct nd_place {
  int64_t tuples; /* rows of indices, per batch */
  int32_t length; /* of a row */
  int64_t batches, batch_stride, slice;
} nd_place;

static nd_place nd_of(const tensor *x, const tensor *indices, int32_t batch_dims) {
  nd_place p = {.length = (int32_t)indices->shape.dims[indices->shape.rank - 1], .batches = 1, .tuples = 1, .batch_stride = 1, .slice = 1};
  for (int32_t i = 0; i < indices->shape.rank - 1; i++) *(i < batch_dims ? &p.batches : &p.tuples) *= indices->shape.dims[i];
  for (int32_t i = batch_dims; i < x->shape.rank; i++) p.batch_stride *= x->shape.dims[i];
  for (int32_t i = batch_dims + p.length; i < x->shape.rank; i++) p.slice *= x->shape.dims[i];
  return p;
}

/* First element of the slice that tuple `t` names. */
static npuc_status nd_offset(const eval_context *c, const tensor *x, const tensor *indices, const nd_place *p, int32_t batch_dims,
                             int64_t t, int64_t *out) {
  int64_t offset = 0;
  for (int32_t k = 0; k < p->length; k++) {
    int64_t index, size = x->shape.dims[batch_dims + k];
    NPUC_TRY(index_on(c, npuc_tensor_get_int(indices, t * p->length + k), batch_dims + k, size, &index));
    offset = offset * size + index;
  }
  *out = (p->tuples ? t / p->tuples : 0) * p->batch_stride + offset * p->slice;
  return NPUC_OK;
}

npuc_status npuc_eval_gathernd(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0], *indices = inputs[1];
  int32_t batch_dims = (int32_t)NPUC_ATTRS(gathernd_attributes, c->node)->batch_dims;
  nd_place p = nd_of(x, indices, batch_dims);
  NPUC_TRY(check_bytes(c, x));
  for (int64_t t = 0; t < p.batches * p.tuples; t++) {
    int64_t from;
    NPUC_TRY(nd_offset(c, x, indices, &p, batch_dims, t, &from));
    for (int64_t i = 0; i < p.slice; i++) move(outputs[0], t * p.slice + i, x, from + i);
  }
  return NPUC_OK;
}

npuc_status npuc_eval_scatternd(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0], *indices = inputs[1];
  scatter_rule rule = rule_of(NPUC_ATTRS(scatter_attributes, c->node)->reduction);
  nd_place p = nd_of(x, indices, 0);
  NPUC_TRY(check_bytes(c, x));
  npuc_eval_copy(x, outputs[0]);
  for (int64_t t = 0; t < p.tuples; t++) {
    int64_t to;
    NPUC_TRY(nd_offset(c, x, indices, &p, 0, t, &to));
    for (int64_t i = 0; i < p.slice; i++) scatter(outputs[0], to + i, inputs[2], t * p.slice + i, rule);
  }
  return NPUC_OK;
}

/* -- TensorScatter: update[b, ..., s, ...] goes to row write_indices[b] + s of the cache's axis -- */

npuc_status npuc_eval_tensorscatter(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensorscatter_attributes *a = NPUC_ATTRS(tensorscatter_attributes, c->node);
  const tensor *x = inputs[0], *update = inputs[1], *starts = eval_input(c, inputs, 2);
  int32_t axis = axis_of(a->axis, x->shape.rank);
  bool circular = strcmp(a->mode, "circular") == 0;
  axis_split cache = npuc_eval_split_at(&x->shape, axis), fresh = npuc_eval_split_at(&update->shape, axis);
  size_t row = (size_t)cache.inner * width_of(x);
  NPUC_TRY(check_bytes(c, x));
  npuc_eval_copy(x, outputs[0]);
  if (update->bytes == 0) return NPUC_OK;
  int64_t per_batch = cache.outer / x->shape.dims[0];
  for (int64_t o = 0; o < fresh.outer; o++) {
    int64_t start = starts ? npuc_tensor_get_int(starts, o / per_batch) : 0;
    if (start < 0) return bad_index(c, start, axis, cache.axis);
    for (int64_t s = 0; s < fresh.axis; s++) {
      int64_t to = circular ? (start + s) % cache.axis : start + s;
      if (to >= cache.axis) return bad_index(c, to, axis, cache.axis);
      memcpy((char *)outputs[0]->data + (size_t)(o * cache.axis + to) * row,
             (const char *)update->data + (size_t)(o * fresh.axis + s) * row, row);
    }
  }
  return NPUC_OK;
}

/* -- OneHot -- */

npuc_status npuc_eval_onehot(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *indices = inputs[0], *values = inputs[2];
  tensor *y = outputs[0];
  int32_t axis = axis_of(NPUC_ATTRS(axis_attributes, c->node)->axis, y->shape.rank);
  NPUC_TRY(check_bytes(c, values));
  axis_split s = npuc_eval_split_at(&y->shape, axis);
  for (int64_t i = 0; i < s.outer * s.inner; i++) {
    double given = npuc_tensor_get(indices, i), k = trunc(given < 0.0 ? given + (double)s.axis : given);
    for (int64_t d = 0; d < s.axis; d++) move(y, (i / s.inner * s.axis + d) * s.inner + i % s.inner, values, (double)d == k ? 1 : 0);
  }
  return NPUC_OK;
}

/* -- Compress, NonZero: as many elements as the data says -- */

npuc_status npuc_eval_compress(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const compress_attributes *a = NPUC_ATTRS(compress_attributes, c->node);
  const tensor *x = inputs[0], *condition = inputs[1];
  NPUC_TRY(check_bytes(c, x));
  axis_split s = {1, npuc_tensor_elements(x), 1};
  shape y = {.rank = 1};
  int32_t axis = 0;
  if (a->axis != COMPRESS_FLAT) {
    axis = axis_of(a->axis, x->shape.rank);
    s = npuc_eval_split_at(&x->shape, axis);
    y = x->shape;
  }
  int64_t n = npuc_tensor_elements(condition), kept = 0, to = 0;
  if (n > s.axis) return bad_index(c, n - 1, axis, s.axis);
  for (int64_t i = 0; i < n; i++) kept += npuc_tensor_get_int(condition, i) != 0;
  y.dims[axis] = kept;
  NPUC_TRY(npuc_eval_allocate(c, outputs, 0, &y));
  for (int64_t o = 0; o < s.outer; o++) {
    for (int64_t k = 0; k < n; k++) {
      if (!npuc_tensor_get_int(condition, k)) continue;
      for (int64_t i = 0; i < s.inner; i++) move(outputs[0], to++, x, (o * s.axis + k) * s.inner + i);
    }
  }
  return NPUC_OK;
}

npuc_status npuc_eval_nonzero(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0];
  int64_t n = npuc_tensor_elements(x), found = 0, at = 0;
  for (int64_t i = 0; i < n; i++) found += npuc_tensor_get(x, i) != 0.0;
  shape y = {.rank = 2, .dims = {x->shape.rank, found}};
  NPUC_TRY(npuc_eval_allocate(c, outputs, 0, &y));
  for (int64_t i = 0; i < n; i++) {
    if (npuc_tensor_get(x, i) == 0.0) continue;
    int64_t rest = i;
    for (int32_t axis = x->shape.rank - 1; axis >= 0; axis--) {
      npuc_tensor_set_int(outputs[0], axis * found + at, rest % x->shape.dims[axis]);
      rest /= x->shape.dims[axis];
    }
    at++;
  }
  return NPUC_OK;
}
