/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation of the integer pools, softmaxes and normalizations, channels-last ones by vectors, others by the reference kernels. */
#include "ir/eval/integer.h"
#include "kernels/pool_i8.h"

/* Fills the last `spatial` of the three axes; the others are of size 1. */
q8_window npuc_q8_window_of(const shape *x, const shape *y, const int_list *kernel, const int_list *strides, const int_list *pads,
                            const int_list *dilations) {
  q8_window g = {.batch = x->dims[0], .channels = x->dims[1], .out_channels = y->dims[1], .group = 1};
  int32_t spatial = x->rank - 2;
  for (int32_t i = 0; i < Q8_SPATIAL; i++) {
    int32_t a = i - (Q8_SPATIAL - spatial);
    bool real = a >= 0;
    g.in[i] = real ? x->dims[2 + a] : 1;
    g.out[i] = real ? y->dims[2 + a] : 1;
    g.kernel[i] = real ? kernel->values[a] : 1;
    g.stride[i] = real && a < strides->count ? strides->values[a] : 1;
    g.begin[i] = real && a < pads->count ? pads->values[a] : 0;
    g.end[i] = real && a + spatial < pads->count ? pads->values[a + spatial] : 0;
    g.dilation[i] = real && a < dilations->count ? dilations->values[a] : 1;
  }
  return g;
}

typedef struct global_job {
  const kernel_set *kernels;
  int64_t pixels, channels;
  q8_input x;
  q8_output y;
  q8_scale scale;
  int32_t *sums; /* [workers, channels + 64] */
} global_job;

static void global_samples(void *context, size_t begin, size_t end, size_t worker) {
  const global_job *j = context;
  for (size_t n = begin; n < end; n++) {
    q8_input x = j->x;
    q8_output y = j->y;
    x.data = (const uint8_t *)j->x.data + (int64_t)n * j->pixels * j->channels;
    y.data = (uint8_t *)j->y.data + (int64_t)n * j->channels;
    npuc_globalaveragepool_last(j->kernels, j->pixels, j->channels, &x, &j->scale, &y, j->sums + (int64_t)worker * (j->channels + 64));
  }
}

npuc_status npuc_eval_qglobalaveragepool(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const qunary_attributes *a = NPUC_ATTRS(qunary_attributes, c->node);
  int32_t m = int_at(inputs[1], 0), s = int_at(inputs[2], 0);
  int64_t maps = count_of(outputs[0]), samples = outputs[0]->shape.dims[0];
  global_job job = {.kernels = npuc_eval_kernels(c), .x = input_of(inputs[0], a->x_zero_point), .y = OUTPUT_OF(outputs[0], a)};
  job.scale = (q8_scale){.m = &m, .s = &s};
  if (maps == 0) return NPUC_OK;
  job.pixels = count_of(inputs[0]) / maps;
  job.channels = maps / samples;
  if (!inputs[0]->channels_last) {
    npuc_ref_qglobalaveragepool(maps, job.pixels, &job.x, &job.scale, &job.y);
    return NPUC_OK;
  }
  void *memory;
  NPUC_TRY(npuc_eval_scratch(c, (size_t)(job.channels + 64) * sizeof(int32_t) * npuc_pool_threads(c->pool), &memory));
  job.sums = memory;
  npuc_parallel_for(c->pool, (size_t)samples, 0, global_samples, &job);
  return NPUC_OK;
}

typedef struct average_job {
  const kernel_set *kernels;
  averagepool_i8 pool;
  int64_t row;   /* elements of scratch for a row */
  int32_t *sums; /* [workers, row] */
  bool *bad;     /* [workers] */
} average_job;

static void average_rows(void *context, size_t begin, size_t end, size_t worker) {
  const average_job *j = context;
  int32_t *sums = j->sums + (int64_t)worker * j->row;
  if (!npuc_averagepool_last(j->kernels, &j->pool, sums, (int64_t)begin, (int64_t)end)) j->bad[worker] = true;
}

static bool average_last(const eval_context *c, average_job *job, pieces *memory) {
  const kernel_window *g = &job->pool.g;
  size_t threads = npuc_pool_threads(c->pool);
  job->sums = take(memory, threads * (size_t)job->row * sizeof *job->sums);
  job->bad = take(memory, threads);
  memset(job->bad, 0, threads);
  npuc_parallel_for(c->pool, (size_t)(g->batch * g->out[0] * g->out[1]), 0, average_rows, job);
  bool good = true;
  for (size_t i = 0; i < threads; i++) good = good && !job->bad[i];
  return good;
}

npuc_status npuc_eval_qaveragepool(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const qpool_attributes *a = NPUC_ATTRS(qpool_attributes, c->node);
  average_job job = {.kernels = npuc_eval_kernels(c)};
  averagepool_i8 *p = &job.pool;
  p->g = npuc_q8_window_of(&inputs[0]->shape, &outputs[0]->shape, &a->kernel_shape, &a->strides, &a->pads, &a->dilations);
  p->count_include_pad = a->count_include_pad != 0;
  p->x = input_of(inputs[0], a->x_zero_point);
  p->y = OUTPUT_OF(outputs[0], a);
  p->n_counts = count_of(inputs[3]);
  job.row = npuc_averagepool_last_scratch(&p->g);
  size_t bytes = npuc_pool_threads(c->pool) * ((size_t)job.row * sizeof(int32_t) + 1) + 128;
  for (int i = 1; i < 4; i++) bytes += piece_bytes(inputs[i]->bytes);
  pieces rest;
  NPUC_TRY(start_pieces(c, bytes, &rest));
  p->scale = (q8_scale){.m = take_copy(&rest, inputs[1]), .s = take_copy(&rest, inputs[2])};
  p->counts = take_copy(&rest, inputs[3]);
  bool good = inputs[0]->channels_last
                  ? average_last(c, &job, &rest)
                  : npuc_ref_qaveragepool(&p->g, p->count_include_pad, &p->x, p->counts, p->n_counts, &p->scale, &p->y);
  if (good) return NPUC_OK;
  return npuc_fail(c->d, NPUC_DIAG_E0714, &(diag_place){.node = c->node->name, .op = c->node->op->type, .attribute = "counts"},
                   "a window's number of cells is not in counts");
}

static q8_axis axis_of(const tensor *x, int64_t axis) {
  q8_axis g = {.outer = 1, .n = 1, .inner = 1};
  int32_t normal = 0;
  if (!npuc_axis_normalize(axis, x->shape.rank, &normal)) return g;
  g.n = x->shape.dims[normal];
  for (int32_t i = 0; i < normal; i++) g.outer *= x->shape.dims[i];
  for (int32_t i = normal + 1; i < x->shape.rank; i++) g.inner *= x->shape.dims[i];
  return g;
}

npuc_status npuc_eval_qsoftmax(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const qsoftmax_attributes *a = NPUC_ATTRS(qsoftmax_attributes, c->node);
  q8_axis g = axis_of(inputs[0], a->axis);
  q8_input x = input_of(inputs[0], 0);
  q8_output y = OUTPUT_OF(outputs[0], a);
  pieces rest;
  NPUC_TRY(start_pieces(c, piece_bytes(inputs[1]->bytes), &rest));
  if (count_of(inputs[0])) npuc_ref_qsoftmax(&g, &x, take_copy(&rest, inputs[1]), int_at(inputs[2], 0), &y);
  return NPUC_OK;
}

npuc_status npuc_eval_qlogsoftmax(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const qsoftmax_attributes *a = NPUC_ATTRS(qsoftmax_attributes, c->node);
  q8_axis g = axis_of(inputs[0], a->axis);
  q8_input x = input_of(inputs[0], 0);
  q8_output y = OUTPUT_OF(outputs[0], a);
  pieces rest;
  NPUC_TRY(start_pieces(c, piece_bytes(inputs[1]->bytes) + piece_bytes(inputs[2]->bytes) + piece_bytes(inputs[3]->bytes), &rest));
  const uint16_t *exponentials = take_copy(&rest, inputs[1]);
  const int32_t *logarithms = take_copy(&rest, inputs[2]), *m = take_copy(&rest, inputs[3]);
  if (count_of(inputs[0])) npuc_ref_qlogsoftmax(&g, &x, exponentials, logarithms, m, int_at(inputs[4], 0), &y);
  return NPUC_OK;
}

npuc_status npuc_eval_qnormalize(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const qnormalize_attributes *a = NPUC_ATTRS(qnormalize_attributes, c->node);
  q8_normal g = {.count = a->count,
                 .inner = a->inner,
                 .repeat = a->repeat,
                 .n_parameters = count_of(inputs[1]),
                 .epsilon = a->epsilon,
                 .centre = a->centre != 0};
  q8_input x = input_of(inputs[0], a->x_zero_point);
  q8_output y = OUTPUT_OF(outputs[0], a);
  g.rows = count_of(inputs[0]) / (a->count * a->inner);
  size_t bytes = 0;
  for (int i = 1; i < 4; i++) bytes += piece_bytes(inputs[i]->bytes);
  pieces rest;
  NPUC_TRY(start_pieces(c, bytes, &rest));
  q8_scale scale = {.bias = take_copy(&rest, inputs[1]), .m = take_copy(&rest, inputs[2]), .s = take_copy(&rest, inputs[3])};
  npuc_ref_qnormalize(&g, &x, &scale, &y);
  return NPUC_OK;
}
