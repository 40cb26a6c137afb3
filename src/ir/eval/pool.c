/* SPDX-License-Identifier: Apache-2.0 */
/* MaxPool and AveragePool, planes in parallel. 16-bit floats go through float32, plane by plane. */
#include "kernels/pool.h"

#include "ir/eval/window.h"
#include "kernels/convert.h"
#include "kernels/pool_i8.h"

typedef struct pool_job {
  const kernel_set *kernels;
  kernel_window g;
  const tensor *x;
  tensor *y, *indices; /* indices of MaxPool or NULL */
  bool average, include_pad, column_major;
  float *planes; /* [workers, in + out], for dtypes that are converted */
} pool_job;

static void f32_planes(const pool_job *j, const float *x, float *y, int64_t first, int64_t last) {
  if (j->average) {
    npuc_averagepool_f32(&j->g, j->include_pad, x, y, first, last);
  } else {
    npuc_maxpool_f32(&j->g, x, y, first, last);
  }
}

static void converted_planes(const pool_job *j, int64_t first, int64_t last, size_t worker) {
  int64_t in = window_volume(j->g.in), out = window_volume(j->g.out);
  float *x = j->planes + (size_t)(in + out) * worker, *y = x + in;
  for (int64_t p = first; p < last; p++) {
    npuc_convert_to_f32(j->x, p * in, in, x);
    f32_planes(j, x, y, 0, 1);
    npuc_convert_from_f32(y, out, j->y, p * out);
    if (!j->indices) continue;
    int64_t *indices = (int64_t *)j->indices->data + p * out;
    npuc_maxpool_indices(&j->g, x, j->column_major, indices, 0, 1);
    for (int64_t i = 0; i < out; i++) indices[i] += p * in;
  }
}

static void body(void *context, size_t begin, size_t end, size_t worker) {
  const pool_job *j = context;
  int64_t first = (int64_t)begin, last = (int64_t)end;
  if (j->planes) {
    converted_planes(j, first, last, worker);
    return;
  }
  if (j->x->type == DTYPE_U8) {
    npuc_maxpool_u8(&j->g, j->x->data, j->y->data, first, last);
  } else if (j->x->type == DTYPE_I8) {
    npuc_maxpool_i8(&j->g, j->x->data, j->y->data, first, last);
  } else {
    f32_planes(j, j->x->data, j->y->data, first, last);
    if (j->indices) npuc_maxpool_indices(&j->g, j->x->data, j->column_major, j->indices->data, first, last);
  }
}

/* 8-bit images, channels last: rows of outputs in parallel. */
static void last_rows(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const pool_job *j = context;
  npuc_maxpool_last(j->kernels, &j->g, j->x->type == DTYPE_I8, j->x->data, j->y->data, (int64_t)begin, (int64_t)end);
}

static npuc_status run(const eval_context *c, pool_job job) {
  pool_attributes *a = NPUC_ATTRS(pool_attributes, c->node);
  window_fields fields = window_of_pool(a);
  dtype type = job.x->type;
  bool bytes = (type == DTYPE_U8 || type == DTYPE_I8) && !job.average;
  if (!bytes && type != DTYPE_F32 && type != DTYPE_F16 && type != DTYPE_BF16) return npuc_eval_unsupported(c, type);
  NPUC_TRY(npuc_eval_window(c, &fields, job.x, job.y, a->kernel_shape.values, 1, &job.g));
  if (job.y->bytes == 0) return NPUC_OK;
  job.kernels = npuc_eval_kernels(c);
  if (job.x->channels_last) {
    npuc_parallel_for(c->pool, (size_t)(job.g.batch * job.g.out[0] * job.g.out[1]), 0, last_rows, &job);
    return NPUC_OK;
  }
  if (type != DTYPE_F32 && (!bytes || job.indices)) {
    size_t values = (size_t)(window_volume(job.g.in) + window_volume(job.g.out)) * npuc_pool_threads(c->pool);
    void *memory;
    NPUC_TRY(npuc_eval_scratch(c, values * sizeof(float), &memory));
    job.planes = memory;
  }
  npuc_parallel_for(c->pool, (size_t)(job.g.batch * job.g.channels), 0, body, &job);
  return NPUC_OK;
}

npuc_status npuc_eval_maxpool(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return run(c, (pool_job){.x = inputs[0],
                           .y = outputs[0],
                           .indices = eval_wants(c, outputs, 1) ? outputs[1] : NULL,
                           .column_major = NPUC_ATTRS(pool_attributes, c->node)->storage_order != 0});
}

npuc_status npuc_eval_averagepool(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return run(
      c,
      (pool_job){
          .x = inputs[0], .y = outputs[0], .average = true, .include_pad = NPUC_ATTRS(pool_attributes, c->node)->count_include_pad != 0});
}
