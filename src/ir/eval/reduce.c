/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceSum, ReduceMean, GlobalAveragePool, GlobalMaxPool, ArgMax and ArgMin (other reductions: reduce_more.c).
 *
 * A float sum takes its elements in row-major order of the reduced axes, in the order `lanes16`; a mean divides by the count. Reduced axes that
 * lie side by side are one axis of the kernel; otherwise the elements of each output are gathered first. float64 sums ascend
 * plainly; integer sums are exact and wrap, integer means truncate. */
#include "ir/eval/eval.h"
#include "kernels/convert.h"

#include <math.h>

typedef struct reduce_job {
  const tensor *x;
  tensor *y;
  sum_f32_kernel *sum;
  bool mean;
  int32_t n_kept, n_reduced;
  int64_t kept_dims[MAX_RANK], kept_strides[MAX_RANK];
  int64_t reduced_dims[MAX_RANK], reduced_strides[MAX_RANK];
  int64_t count;  /* elements in one sum */
  float *columns; /* [workers, count] */
} reduce_job;

static int64_t offset_of(int32_t n, const int64_t *dims, const int64_t *strides, int64_t index) {
  int64_t offset = 0;
  for (int32_t i = n - 1; i >= 0; i--) {
    offset += index % dims[i] * strides[i];
    index /= dims[i];
  }
  return offset;
}

static void sum_f64(const reduce_job *j, int64_t base, int64_t i) {
  double sum = 0.0;
  for (int64_t k = 0; k < j->count; k++)
    sum += npuc_tensor_get(j->x, base + offset_of(j->n_reduced, j->reduced_dims, j->reduced_strides, k));
  npuc_tensor_set(j->y, i, j->mean ? sum / (double)j->count : sum);
}

static void sum_i64(const reduce_job *j, int64_t base, int64_t i) {
  uint64_t sum = 0;
  for (int64_t k = 0; k < j->count; k++) {
    sum += (uint64_t)npuc_tensor_get_int(j->x, base + offset_of(j->n_reduced, j->reduced_dims, j->reduced_strides, k));
  }
  int64_t v = (int64_t)sum;
  if (j->mean) v = j->count ? v / j->count : 0;
  npuc_convert_from_i64(&v, 1, j->y, i);
}

static void reduce_generic(void *context, size_t begin, size_t end, size_t worker) {
  const reduce_job *j = context;
  float *column = j->columns + (size_t)j->count * worker;
  for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
    int64_t base = offset_of(j->n_kept, j->kept_dims, j->kept_strides, i);
    if (j->x->type == DTYPE_F64) {
      sum_f64(j, base, i);
    } else if (npuc_dtype_is_integer(j->x->type)) {
      sum_i64(j, base, i);
    } else {
      for (int64_t k = 0; k < j->count; k++) {
        npuc_convert_to_f32(j->x, base + offset_of(j->n_reduced, j->reduced_dims, j->reduced_strides, k), 1, column + k);
      }
      float sum;
      j->sum(column, (size_t)j->count, 1, 1, &sum);
      if (j->mean) sum = sum / (float)j->count;
      npuc_convert_from_f32(&sum, 1, j->y, i);
    }
  }
}

/* One reduced run of axes: [outer, count, inner]. */
typedef struct plain_job {
  const float *x;
  float *y;
  sum_f32_kernel *sum;
  int64_t count, inner;
  bool mean;
} plain_job;

static void reduce_plain(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const plain_job *j = context;
  for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
    float *y = j->y + i * j->inner;
    j->sum(j->x + i * j->count * j->inner, (size_t)j->count, (size_t)j->inner, (size_t)j->inner, y);
    for (int64_t k = 0; j->mean && k < j->inner; k++) y[k] = y[k] / (float)j->count;
  }
}

static void split_axes(reduce_job *job, const bool *reduced) {
  const shape *s = &job->x->shape;
  int64_t strides[MAX_RANK];
  npuc_shape_strides(s, strides);
  job->count = 1;
  for (int32_t i = 0; i < s->rank; i++) {
    if (reduced[i]) {
      job->reduced_dims[job->n_reduced] = s->dims[i];
      job->reduced_strides[job->n_reduced++] = strides[i];
      job->count *= s->dims[i];
    } else {
      job->kept_dims[job->n_kept] = s->dims[i];
      job->kept_strides[job->n_kept++] = strides[i];
    }
  }
}

static bool is_one_run(const shape *s, const bool *reduced, int64_t *out_outer, int64_t *out_inner) {
  int32_t first = 0, last = s->rank - 1;
  *out_outer = *out_inner = 1;
  while (first < s->rank && !reduced[first]) *out_outer *= s->dims[first++];
  while (last >= first && !reduced[last]) *out_inner *= s->dims[last--];
  for (int32_t i = first; i <= last; i++) {
    if (!reduced[i]) return false;
  }
  return first <= last;
}

static npuc_status reduce(const eval_context *c, const tensor *x, tensor *y, const bool *reduced, bool mean) {
  if (npuc_dtype_kind(x->type) != KIND_FLOAT && !npuc_dtype_is_integer(x->type)) return npuc_eval_unsupported(c, x->type);
  if (y->bytes == 0) return NPUC_OK;
  int64_t outer, inner;
  reduce_job job = {.x = x, .y = y, .sum = npuc_eval_kernels(c)->sum_f32, .mean = mean};
  split_axes(&job, reduced);
  if (x->type == DTYPE_F32 && is_one_run(&x->shape, reduced, &outer, &inner)) {
    plain_job plain = {x->data, y->data, job.sum, job.count, inner, mean};
    npuc_parallel_for(c->pool, (size_t)outer, 0, reduce_plain, &plain);
    return NPUC_OK;
  }
  void *columns;
  NPUC_TRY(npuc_eval_scratch(c, (size_t)job.count * npuc_pool_threads(c->pool) * sizeof(float), &columns));
  job.columns = columns;
  npuc_parallel_for(c->pool, (size_t)npuc_tensor_elements(y), 0, reduce_generic, &job);
  return NPUC_OK;
}

/* Axes come as input 1; none given means all, or none with noop_with_empty_axes. */
static npuc_status reduce_by_axes(const eval_context *c, const tensor *const *inputs, tensor *y, bool mean) {
  const tensor *x = inputs[0], *axes = eval_input(c, inputs, 1);
  bool reduced[MAX_RANK] = {false};
  int64_t n = axes ? npuc_tensor_elements(axes) : 0;
  if (n == 0 && NPUC_ATTRS(reduce_attributes, c->node)->noop_with_empty_axes) {
    npuc_eval_copy(x, y);
    return NPUC_OK;
  }
  for (int32_t i = 0; n == 0 && i < x->shape.rank; i++) reduced[i] = true;
  for (int64_t i = 0; i < n; i++) {
    int32_t axis;
    if (!npuc_axis_normalize(npuc_tensor_get_int(axes, i), x->shape.rank, &axis)) {
      diag_place place = npuc_eval_place(c);
      return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "axis %lld is outside of the input's rank %d",
                       (long long)npuc_tensor_get_int(axes, i), (int)x->shape.rank);
    }
    reduced[axis] = true;
  }
  return reduce(c, x, y, reduced, mean);
}

npuc_status npuc_eval_reducesum(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return reduce_by_axes(c, inputs, outputs[0], false);
}

npuc_status npuc_eval_reducemean(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return reduce_by_axes(c, inputs, outputs[0], true);
}

npuc_status npuc_eval_globalaveragepool(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  bool reduced[MAX_RANK];
  for (int32_t i = 0; i < MAX_RANK; i++) reduced[i] = i >= 2;
  return reduce(c, inputs[0], outputs[0], reduced, true);
}

npuc_status npuc_eval_globalmaxpool(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0];
  int64_t planes = npuc_tensor_elements(outputs[0]), n = planes ? npuc_tensor_elements(x) / planes : 0;
  if (npuc_dtype_kind(x->type) != KIND_FLOAT && !npuc_dtype_is_integer(x->type)) return npuc_eval_unsupported(c, x->type);
  for (int64_t p = 0; p < planes; p++) {
    int64_t best = p * n; /* index of the first largest; NaN wins */
    for (int64_t k = best + 1; k < (p + 1) * n; k++) {
      double v = npuc_tensor_get(x, k), most = npuc_tensor_get(x, best);
      if (v > most || (isnan(v) && !isnan(most))) best = k;
    }
    unsigned bytes = npuc_dtype_bits(x->type) / 8;
    tensor from = {.data = (char *)x->data + (size_t)best * bytes, .bytes = bytes};
    tensor to = {.data = (char *)outputs[0]->data + (size_t)p * bytes, .bytes = bytes};
    npuc_eval_copy(&from, &to);
  }
  return NPUC_OK;
}

static bool is_better(const tensor *x, int64_t i, int64_t best, bool last, bool smallest) {
  if (npuc_dtype_is_integer(x->type)) {
    int64_t v = npuc_tensor_get_int(x, i), most = npuc_tensor_get_int(x, best);
    bool above = x->type == DTYPE_U64 ? (uint64_t)v > (uint64_t)most : v > most;
    return v == most ? last : above != smallest;
  }
  double v = npuc_tensor_get(x, i), most = npuc_tensor_get(x, best);
  return (smallest ? v < most : v > most) || (last && v == most) || (isnan(v) && !isnan(most));
}

static npuc_status find_extreme(const eval_context *c, const tensor *const *inputs, tensor *const *outputs, bool smallest) {
  const argmax_attributes *a = NPUC_ATTRS(argmax_attributes, c->node);
  const tensor *x = inputs[0];
  int32_t axis = 0;
  if (npuc_dtype_kind(x->type) != KIND_FLOAT && !npuc_dtype_is_integer(x->type)) return npuc_eval_unsupported(c, x->type);
  if (x->shape.rank > 0 && !npuc_axis_normalize(a->axis, x->shape.rank, &axis)) {
    diag_place place = npuc_eval_place(c);
    return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "axis %lld is outside of the input's rank %d", (long long)a->axis, (int)x->shape.rank);
  }
  axis_split s = x->shape.rank ? npuc_eval_split_at(&x->shape, axis) : (axis_split){1, 1, 1};
  for (int64_t i = 0; i < s.outer * s.inner; i++) {
    int64_t first = i / s.inner * s.axis * s.inner + i % s.inner, best = 0;
    for (int64_t k = 1; k < s.axis; k++) {
      if (is_better(x, first + k * s.inner, first + best * s.inner, a->select_last_index != 0, smallest)) best = k;
    }
    npuc_tensor_set_int(outputs[0], i, best);
  }
  return NPUC_OK;
}

npuc_status npuc_eval_argmax(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return find_extreme(c, inputs, outputs, false);
}

npuc_status npuc_eval_argmin(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return find_extreme(c, inputs, outputs, true);
}
