/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizations by statistics of the input: LayerNormalization, RMSNormalization, GroupNormalization, InstanceNormalization, LpNormalization,
 * MeanVarianceNormalization, LRN. Sums are double, ascending in row-major order, in LayerNormalization and RMSNormalization `lanes16` (float64:
 * ascending too); each output is rounded once. */
#include <math.h>

#include "ir/eval/eval.h"
#include "kernels/convert.h"

static npuc_status check_float(const eval_context *c, const tensor *t) {
  return npuc_dtype_kind(t->type) == KIND_FLOAT ? NPUC_OK : npuc_eval_unsupported(c, t->type);
}

static npuc_status axis_from(const eval_context *c, int64_t given, int32_t rank, int32_t *out) {
  if (npuc_axis_normalize(given, rank, out)) return NPUC_OK;
  diag_place place = npuc_eval_place(c);
  return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "axis %lld is outside of the input's rank %d", (long long)given, (int)rank);
}

/* Element of `t` that broadcasting puts at element `i` of the last axes, whose sizes are dims[first..]. */
static int64_t trailing_offset(const tensor *t, const shape *s, int64_t i) {
  int64_t offset = 0, stride = 1;
  for (int32_t k = t->shape.rank - 1, axis = s->rank - 1; k >= 0; k--, axis--) {
    int64_t at = i % s->dims[axis];
    i /= s->dims[axis];
    if (t->shape.dims[k] != 1) offset += at * stride;
    stride *= t->shape.dims[k];
  }
  return offset;
}

typedef struct moments {
  double mean, variance;
} moments;

/* Of n elements from `first`. */
static moments moments_of(const tensor *x, int64_t first, int64_t n) {
  moments m = {0.0, 0.0};
  for (int64_t i = 0; i < n; i++) m.mean += npuc_tensor_get(x, first + i);
  m.mean /= (double)n;
  for (int64_t i = 0; i < n; i++) {
    double d = npuc_tensor_get(x, first + i) - m.mean;
    m.variance += d * d;
  }
  m.variance /= (double)n;
  return m;
}

/* -- LayerNormalization, RMSNormalization: rows of the axes from `axis` on -- */

typedef struct row_job {
  const tensor *x, *scale, *bias; /* bias may be NULL */
  tensor *y, *mean, *inverse;     /* the last two may be NULL */
  norm_f32_kernel *kernel;        /* for all types but float64; NULL: in double */
  norm_f32 g;
  float *rows; /* [workers, n]: 16-bit floats as float32 */
} row_job;

static moments row_in_double(const row_job *j, int64_t r) {
  int64_t n = (int64_t)j->g.n;
  moments m = {0.0, 0.0};
  if (j->g.centered) {
    m = moments_of(j->x, r * n, n);
  } else {
    for (int64_t i = 0; i < n; i++) {
      double v = npuc_tensor_get(j->x, r * n + i);
      m.variance += v * v;
    }
    m.variance /= (double)n;
  }
  double inverse = 1.0 / sqrt(m.variance + j->g.epsilon);
  for (int64_t i = 0; i < n; i++) {
    double v = (npuc_tensor_get(j->x, r * n + i) - m.mean) * inverse;
    v *= npuc_tensor_get(j->scale, trailing_offset(j->scale, &j->x->shape, i));
    if (j->bias) v += npuc_tensor_get(j->bias, trailing_offset(j->bias, &j->x->shape, i));
    npuc_convert_from_f64(&v, 1, j->y, r * n + i);
  }
  return (moments){m.mean, inverse};
}

static moments row_by_kernel(const row_job *j, int64_t r, float *copy) {
  int64_t n = (int64_t)j->g.n;
  moments m;
  if (j->x->type == DTYPE_F32 && j->y->type == DTYPE_F32) {
    j->kernel(&j->g, (const float *)j->x->data + r * n, (float *)j->y->data + r * n, &m.mean, &m.variance);
    return m;
  }
  npuc_convert_to_f32(j->x, r * n, n, copy);
  j->kernel(&j->g, copy, copy, &m.mean, &m.variance);
  npuc_convert_from_f32(copy, n, j->y, r * n);
  return m;
}

static void row_body(void *context, size_t begin, size_t end, size_t worker) {
  const row_job *j = context;
  for (int64_t r = (int64_t)begin; r < (int64_t)end; r++) {
    moments m = j->kernel ? row_by_kernel(j, r, j->rows + worker * j->g.n) : row_in_double(j, r); /* the second: 1 / deviation */
    if (j->mean) npuc_tensor_set(j->mean, r, m.mean);
    if (j->inverse) npuc_tensor_set(j->inverse, r, m.variance);
  }
}

/* What broadcasting puts at each element of a row, as floats: in place where it lies so. */
static const float *row_floats(const row_job *j, const tensor *t, float *copy) {
  int64_t n = (int64_t)j->g.n;
  if (!t || (t->type == DTYPE_F32 && npuc_tensor_elements(t) == n)) return t ? t->data : NULL;
  for (int64_t i = 0; i < n; i++) npuc_convert_to_f32(t, trailing_offset(t, &j->x->shape, i), 1, copy + i);
  return copy;
}

static bool by_f32(const tensor *t) { return !t || t->type == DTYPE_F32 || t->type == DTYPE_F16 || t->type == DTYPE_BF16; }

static npuc_status take_kernel(const eval_context *c, row_job *j) {
  if (!by_f32(j->x) || !by_f32(j->y) || !by_f32(j->scale) || !by_f32(j->bias)) return NPUC_OK;
  void *memory;
  NPUC_TRY(npuc_eval_scratch(c, (npuc_pool_threads(c->pool) + 2) * j->g.n * sizeof(float), &memory));
  float *constants = memory;
  j->g.scale = row_floats(j, j->scale, constants);
  j->g.bias = row_floats(j, j->bias, constants + j->g.n);
  j->rows = constants + 2 * j->g.n;
  j->kernel = npuc_eval_kernels(c)->norm_f32;
  return NPUC_OK;
}

static npuc_status normalize_rows(const eval_context *c, const tensor *const *inputs, tensor *const *outputs, bool centered) {
  const layernorm_attributes *a = NPUC_ATTRS(layernorm_attributes, c->node);
  row_job j = {.x = inputs[0], .scale = inputs[1], .y = outputs[0], .g = {.n = 1, .epsilon = (double)a->epsilon, .centered = centered}};
  int32_t axis;
  NPUC_TRY(check_float(c, j.x));
  NPUC_TRY(axis_from(c, a->axis, j.x->shape.rank, &axis));
  for (int32_t i = axis; i < j.x->shape.rank; i++) j.g.n *= (size_t)j.x->shape.dims[i];
  if (j.g.n == 0) return NPUC_OK;
  if (centered) {
    j.bias = eval_input(c, inputs, 2);
    j.mean = eval_wants(c, outputs, 1) ? outputs[1] : NULL;
    j.inverse = eval_wants(c, outputs, 2) ? outputs[2] : NULL;
  }
  NPUC_TRY(take_kernel(c, &j));
  npuc_parallel_for(c->pool, (size_t)npuc_tensor_elements(j.x) / j.g.n, 8192 / j.g.n + 1, row_body, &j);
  return NPUC_OK;
}

npuc_status npuc_eval_layernormalization(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return normalize_rows(c, inputs, outputs, true);
}
npuc_status npuc_eval_rmsnormalization(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return normalize_rows(c, inputs, outputs, false);
}

/* -- GroupNormalization, InstanceNormalization: groups of channels of a sample -- */

typedef struct group_job {
  const tensor *x, *scale, *bias;
  tensor *y;
  int64_t channels, per_group, plane;
  double epsilon;
} group_job;

static void group_body(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const group_job *j = context;
  int64_t n = j->per_group * j->plane, groups = j->channels / j->per_group;
  for (int64_t g = (int64_t)begin; g < (int64_t)end; g++) {
    moments m = moments_of(j->x, g * n, n);
    double inverse = 1.0 / sqrt(m.variance + j->epsilon);
    for (int64_t i = 0; i < n; i++) {
      int64_t channel = g % groups * j->per_group + i / j->plane;
      double v = (npuc_tensor_get(j->x, g * n + i) - m.mean) * inverse;
      v = v * npuc_tensor_get(j->scale, channel) + npuc_tensor_get(j->bias, channel);
      npuc_convert_from_f64(&v, 1, j->y, g * n + i);
    }
  }
}

static npuc_status normalize_groups(const eval_context *c, const tensor *const *inputs, tensor *y, int64_t groups, double epsilon) {
  const tensor *x = inputs[0];
  group_job j = {x, inputs[1], inputs[2], y, x->shape.dims[1], 0, 1, epsilon};
  NPUC_TRY(check_float(c, x));
  if (x->bytes == 0) return NPUC_OK;
  j.per_group = j.channels / (groups ? groups : j.channels);
  for (int32_t i = 2; i < x->shape.rank; i++) j.plane *= x->shape.dims[i];
  npuc_parallel_for(c->pool, (size_t)(x->shape.dims[0] * (j.channels / j.per_group)), 0, group_body, &j);
  return NPUC_OK;
}

npuc_status npuc_eval_groupnormalization(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const groupnorm_attributes *a = NPUC_ATTRS(groupnorm_attributes, c->node);
  return normalize_groups(c, inputs, outputs[0], a->num_groups, (double)a->epsilon);
}
npuc_status npuc_eval_instancenormalization(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return normalize_groups(c, inputs, outputs[0], 0, (double)NPUC_ATTRS(epsilon_attributes, c->node)->epsilon);
}

/* -- LpNormalization: columns of an axis; a column of norm 0 stays 0 -- */

npuc_status npuc_eval_lpnormalization(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const lpnorm_attributes *a = NPUC_ATTRS(lpnorm_attributes, c->node);
  const tensor *x = inputs[0];
  int32_t axis;
  NPUC_TRY(check_float(c, x));
  NPUC_TRY(axis_from(c, a->axis, x->shape.rank, &axis));
  axis_split s = npuc_eval_split_at(&x->shape, axis);
  for (int64_t row = 0; row < s.outer * s.inner; row++) {
    int64_t first = row / s.inner * s.axis * s.inner + row % s.inner;
    double sum = 0.0;
    for (int64_t k = 0; k < s.axis; k++) {
      double v = npuc_tensor_get(x, first + k * s.inner);
      sum += a->p == 1 ? fabs(v) : v * v;
    }
    double norm = a->p == 1 ? sum : sqrt(sum);
    for (int64_t k = 0; k < s.axis; k++) {
      double v = npuc_tensor_get(x, first + k * s.inner);
      npuc_tensor_set(outputs[0], first + k * s.inner, norm == 0.0 ? 0.0 : v / norm);
    }
  }
  return NPUC_OK;
}

/* -- MeanVarianceNormalization: (x - mean) / (sqrt(variance) + 1e-9) over axes -- */

typedef struct kept_axes {
  int64_t kept[MAX_RANK], reduced[MAX_RANK], kept_strides[MAX_RANK], reduced_strides[MAX_RANK];
  int32_t n_kept, n_reduced;
  int64_t outer, count;
} kept_axes;

static int64_t offset_of(int32_t n, const int64_t *dims, const int64_t *strides, int64_t index) {
  int64_t offset = 0;
  for (int32_t i = n - 1; i >= 0; i--) {
    offset += index % dims[i] * strides[i];
    index /= dims[i];
  }
  return offset;
}

static npuc_status split_axes(const eval_context *c, const shape *s, const int_list *axes, kept_axes *out) {
  static const int64_t usual[] = {0, 2, 3};
  bool reduced[MAX_RANK] = {false};
  int64_t strides[MAX_RANK];
  for (int32_t i = 0; i < (axes->count ? axes->count : 3); i++) {
    int32_t axis;
    NPUC_TRY(axis_from(c, axes->count ? axes->values[i] : usual[i], s->rank, &axis));
    reduced[axis] = true;
  }
  npuc_shape_strides(s, strides);
  *out = (kept_axes){.outer = 1, .count = 1};
  for (int32_t i = 0; i < s->rank; i++) {
    if (reduced[i]) {
      out->reduced[out->n_reduced] = s->dims[i];
      out->reduced_strides[out->n_reduced++] = strides[i];
      out->count *= s->dims[i];
    } else {
      out->kept[out->n_kept] = s->dims[i];
      out->kept_strides[out->n_kept++] = strides[i];
      out->outer *= s->dims[i];
    }
  }
  return NPUC_OK;
}

npuc_status npuc_eval_meanvariancenormalization(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0];
  kept_axes k;
  NPUC_TRY(check_float(c, x));
  NPUC_TRY(split_axes(c, &x->shape, &NPUC_ATTRS(axes_attributes, c->node)->axes, &k));
  for (int64_t o = 0; o < k.outer; o++) {
    int64_t base = offset_of(k.n_kept, k.kept, k.kept_strides, o);
    double mean = 0.0, variance = 0.0;
    for (int64_t i = 0; i < k.count; i++) mean += npuc_tensor_get(x, base + offset_of(k.n_reduced, k.reduced, k.reduced_strides, i));
    mean /= (double)k.count;
    for (int64_t i = 0; i < k.count; i++) {
      double d = npuc_tensor_get(x, base + offset_of(k.n_reduced, k.reduced, k.reduced_strides, i)) - mean;
      variance += d * d;
    }
    double deviation = sqrt(variance / (double)k.count) + 1e-9;
    for (int64_t i = 0; i < k.count; i++) {
      int64_t at = base + offset_of(k.n_reduced, k.reduced, k.reduced_strides, i);
      npuc_tensor_set(outputs[0], at, (npuc_tensor_get(x, at) - mean) / deviation);
    }
  }
  return NPUC_OK;
}

/* -- LRN: over neighbouring channels -- */

npuc_status npuc_eval_lrn(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const lrn_attributes *a = NPUC_ATTRS(lrn_attributes, c->node);
  const tensor *x = inputs[0];
  NPUC_TRY(check_float(c, x));
  axis_split s = npuc_eval_split_at(&x->shape, 1);
  for (int64_t i = 0; i < npuc_tensor_elements(x); i++) {
    int64_t channel = i / s.inner % s.axis, from = channel - (a->size - 1) / 2, to = channel + a->size / 2;
    double sum = 0.0;
    for (int64_t k = from < 0 ? 0 : from; k <= to && k < s.axis; k++) {
      double v = npuc_tensor_get(x, i + (k - channel) * s.inner);
      sum += v * v;
    }
    double divisor = pow((double)a->bias + (double)a->alpha / (double)a->size * sum, (double)a->beta);
    npuc_tensor_set(outputs[0], i, npuc_tensor_get(x, i) / divisor);
  }
  return NPUC_OK;
}
