/* SPDX-License-Identifier: Apache-2.0 */
/* BatchNormalization: y = x * a[c] + b[c] in one fused step, with a = scale / sqrt(var + epsilon) and b = bias - mean * a computed in double and
 * rounded once. In training mean and var are the batch's own, sums in double over samples, then positions. */
#include <math.h>

#include "ir/eval/eval.h"
#include "kernels/convert.h"

enum { PIECE = 1024 };

typedef struct batchnorm_job {
  const tensor *x;
  tensor *y;
  unary_f32_kernel *affine;
  const float *a, *b; /* [channels] */
  int64_t channels, plane;
} batchnorm_job;

static void body(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const batchnorm_job *j = context;
  for (size_t p = begin; p < end; p++) {
    size_t c = p % (size_t)j->channels;
    int64_t first = (int64_t)p * j->plane;
    if (j->x->type == DTYPE_F32) {
      j->affine((const float *)j->x->data + first, (float *)j->y->data + first, (size_t)j->plane, j->a[c], j->b[c]);
      continue;
    }
    for (int64_t i = 0; i < j->plane; i += PIECE) {
      float v[PIECE];
      int64_t n = j->plane - i < PIECE ? j->plane - i : PIECE;
      npuc_convert_to_f32(j->x, first + i, n, v);
      j->affine(v, v, (size_t)n, j->a[c], j->b[c]);
      npuc_convert_from_f32(v, n, j->y, first + i);
    }
  }
}

/* Mean and variance of X[:, channel, :], and the running ones that follow from them. */
static void batch_statistics(const eval_context *c, const tensor *const *inputs, tensor *const *outputs, int64_t channel, int64_t channels,
                             int64_t outer, int64_t plane, double *out_mean, double *out_variance) {
  double momentum = (double)NPUC_ATTRS(batchnorm_attributes, c->node)->momentum, count = (double)(outer * plane), mean = 0.0,
         variance = 0.0;
  for (int pass = 0; pass < 2; pass++) {
    for (int64_t i = 0; i < outer * plane; i++) {
      double v = npuc_tensor_get(inputs[0], (i / plane * channels + channel) * plane + i % plane);
      if (pass == 0) mean += v / count;
      if (pass == 1) variance += (v - mean) * (v - mean) / count;
    }
  }
  const double of_batch[] = {mean, variance};
  for (int32_t i = 1; i < 3; i++) {
    if (!eval_wants(c, outputs, i)) continue;
    npuc_tensor_set(outputs[i], channel, npuc_tensor_get(inputs[2 + i], channel) * momentum + of_batch[i - 1] * (1.0 - momentum));
  }
  *out_mean = mean;
  *out_variance = variance;
}

npuc_status npuc_eval_batchnorm(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const batchnorm_attributes *a = NPUC_ATTRS(batchnorm_attributes, c->node);
  const tensor *x = inputs[0];
  if (npuc_dtype_kind(x->type) != KIND_FLOAT || x->type == DTYPE_F64) return npuc_eval_unsupported(c, x->type);
  int64_t channels = x->shape.rank > 1 ? x->shape.dims[1] : 1, total = npuc_tensor_elements(x);
  if (total == 0) return NPUC_OK;
  void *memory;
  NPUC_TRY(npuc_eval_scratch(c, (size_t)channels * 2 * sizeof(float), &memory));
  float *scale = memory, *offset = scale + channels;
  int64_t outer = x->shape.rank > 1 ? x->shape.dims[0] : total, plane = total / (outer * channels);
  for (int64_t i = 0; i < channels; i++) {
    double mean = npuc_tensor_get(inputs[3], i), variance = npuc_tensor_get(inputs[4], i);
    if (a->training_mode) batch_statistics(c, inputs, outputs, i, channels, outer, plane, &mean, &variance);
    double m = npuc_tensor_get(inputs[1], i) / sqrt(variance + (double)a->epsilon);
    scale[i] = (float)m;
    offset[i] = (float)(npuc_tensor_get(inputs[2], i) - mean * m);
  }
  batchnorm_job job = {x, outputs[0], npuc_eval_kernels(c)->affine_f32, scale, offset, channels, plane};
  npuc_parallel_for(c->pool, (size_t)(outer * channels), (size_t)(8192 / plane + 1), body, &job);
  return NPUC_OK;
}
