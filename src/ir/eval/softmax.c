/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and LogSoftmax over one axis. Rows along another axis than the last are gathered into a small row first; float64 has formulas of its own. */
#include <math.h>

#include "ir/eval/eval.h"
#include "kernels/convert.h"

typedef struct softmax_job {
  const tensor *x;
  tensor *y;
  row_f32_kernel *kernel;
  axis_split split;
  void *rows; /* [workers, axis], float64 for float64, else float32 */
  bool is_log;
} softmax_job;

/* y = e^(x - max) / sum, or its logarithm, in place. */
static void softmax_f64(double *row, int64_t n, bool is_log) {
  double most = row[0], sum = 0.0;
  for (int64_t k = 1; k < n; k++) most = row[k] > most || row[k] != row[k] ? row[k] : most;
  for (int64_t k = 0; k < n; k++) sum += exp(row[k] - most);
  double log_sum = log(sum);
  for (int64_t k = 0; k < n; k++) row[k] = is_log ? row[k] - most - log_sum : exp(row[k] - most) / sum;
}

static void body_f64(void *context, size_t begin, size_t end, size_t worker) {
  const softmax_job *job = context;
  int64_t n = job->split.axis, inner = job->split.inner;
  double *row = (double *)job->rows + (size_t)n * worker;
  for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
    int64_t first = i / inner * n * inner + i % inner;
    for (int64_t k = 0; k < n; k++) npuc_convert_to_f64(job->x, first + k * inner, 1, row + k);
    softmax_f64(row, n, job->is_log);
    for (int64_t k = 0; k < n; k++) npuc_convert_from_f64(row + k, 1, job->y, first + k * inner);
  }
}

static void body(void *context, size_t begin, size_t end, size_t worker) {
  const softmax_job *job = context;
  int64_t n = job->split.axis, inner = job->split.inner;
  float *row = (float *)job->rows + (size_t)n * worker;
  for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
    int64_t first = i / inner * n * inner + i % inner;
    if (job->x->type == DTYPE_F32 && inner == 1) {
      job->kernel((const float *)job->x->data + first, (float *)job->y->data + first, (size_t)n);
      continue;
    }
    if (inner == 1) npuc_convert_to_f32(job->x, first, n, row);
    for (int64_t k = 0; inner > 1 && k < n; k++) npuc_convert_to_f32(job->x, first + k * inner, 1, row + k);
    job->kernel(row, row, (size_t)n);
    for (int64_t k = 0; k < n; k++) npuc_convert_from_f32(row + k, 1, job->y, first + k * inner);
  }
}

static npuc_status run(const eval_context *c, const tensor *x, tensor *y, row_f32_kernel *kernel, bool is_log) {
  if (npuc_dtype_kind(x->type) != KIND_FLOAT) return npuc_eval_unsupported(c, x->type);
  int32_t axis;
  if (x->shape.rank == 0 || y->bytes == 0) {
    if (y->bytes) npuc_tensor_set(y, 0, is_log ? 0.0 : 1.0);
    return NPUC_OK;
  }
  if (!npuc_axis_normalize(NPUC_ATTRS(axis_attributes, c->node)->axis, x->shape.rank, &axis)) {
    diag_place place = npuc_eval_place(c);
    return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "axis is outside of the input's rank %d", (int)x->shape.rank);
  }
  softmax_job job = {x, y, kernel, npuc_eval_split_at(&x->shape, axis), NULL, is_log};
  bool is_wide = x->type == DTYPE_F64;
  size_t row_bytes = (size_t)job.split.axis * (is_wide ? sizeof(double) : sizeof(float));
  NPUC_TRY(npuc_eval_scratch(c, row_bytes * npuc_pool_threads(c->pool), &job.rows));
  npuc_parallel_for(c->pool, (size_t)(job.split.outer * job.split.inner), (size_t)(4096 / job.split.axis + 1), is_wide ? body_f64 : body,
                    &job);
  return NPUC_OK;
}

npuc_status npuc_eval_softmax(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return run(c, inputs[0], outputs[0], npuc_eval_kernels(c)->softmax_f32, false);
}

npuc_status npuc_eval_logsoftmax(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return run(c, inputs[0], outputs[0], npuc_eval_kernels(c)->logsoftmax_f32, true);
}
