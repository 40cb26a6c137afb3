/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul and Gemm. The order of a sum follows from operator and weight layout alone: MatMul, and Gemm whose B is [K, N], are `chain`; Gemm with
 * transB, whose weights lie along K, is `lanes16`.
 *
 *   Gemm: Y = alpha * (A B) + beta * C    s = sum; alpha 1: s + beta * C; else fma(alpha, s, beta * C); beta * C is rounded, exact for beta 1 */
#include <math.h>

#include "ir/eval/broadcast.h"
#include "ir/eval/eval.h"
#include "kernels/conv.h"
#include "kernels/convert.h"

static size_t floats(int64_t n) { return ((size_t)n * sizeof(float) + 63) / 64 * 64; }

static bool by_f32(dtype t) { return t == DTYPE_F32 || t == DTYPE_F16 || t == DTYPE_BF16; }

static void *take(char **memory, int64_t n) {
  void *piece = *memory;
  *memory += floats(n);
  return piece;
}

/* t as floats, [rows, columns] transposed to [columns, rows] when asked. */
static const float *as_f32(const tensor *t, int64_t first, int64_t rows, int64_t columns, bool transposed, char **memory) {
  if (t->type == DTYPE_F32 && !transposed) return (const float *)t->data + first;
  float *copy = take(memory, rows * columns);
  if (!transposed) {
    npuc_convert_to_f32(t, first, rows * columns, copy);
    return copy;
  }
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < columns; j++) npuc_convert_to_f32(t, first + i * columns + j, 1, copy + j * rows + i);
  }
  return copy;
}

static npuc_status too_large(const eval_context *c) {
  diag_place place = npuc_eval_place(c);
  return npuc_fail(c->d, NPUC_DIAG_E0602, &place, "a matrix is beyond 2^31 elements");
}

/* -- MatMul -- */

typedef struct matmul_dims {
  int64_t m, k, n;
  shape batch, a_batch, b_batch; /* leading axes */
} matmul_dims;

static shape leading(const shape *s) {
  shape batch = {.rank = s->rank > 2 ? s->rank - 2 : 0};
  for (int32_t i = 0; i < batch.rank; i++) batch.dims[i] = s->dims[i];
  return batch;
}

/* Vectors are matrices of one row (a) or one column (b). */
static bool matmul_shape(const shape *a, const shape *b, matmul_dims *out_dims) {
  matmul_dims d = {.a_batch = leading(a), .b_batch = leading(b)};
  d.m = a->rank > 1 ? a->dims[a->rank - 2] : 1;
  d.k = a->dims[a->rank - 1];
  d.n = b->rank > 1 ? b->dims[b->rank - 1] : 1;
  *out_dims = d;
  return npuc_shape_broadcast(&d.a_batch, &d.b_batch, &out_dims->batch);
}

/* Integers and float64: exact, or ascending plainly. */
static void matmul_slow(const tensor *a, const tensor *b, tensor *y, int64_t ai, int64_t bi, int64_t yi, const matmul_dims *d) {
  bool is_float = npuc_dtype_kind(y->type) == KIND_FLOAT;
  for (int64_t i = 0; i < d->m; i++) {
    for (int64_t j = 0; j < d->n; j++) {
      double sum = 0.0;
      uint64_t total = 0;
      for (int64_t k = 0; k < d->k; k++) {
        int64_t p = ai + i * d->k + k, q = bi + k * d->n + j;
        if (is_float) {
          sum = fma(npuc_tensor_get(a, p), npuc_tensor_get(b, q), sum);
        } else {
          total += (uint64_t)npuc_tensor_get_int(a, p) * (uint64_t)npuc_tensor_get_int(b, q);
        }
      }
      int64_t whole = (int64_t)total;
      if (is_float) {
        npuc_tensor_set(y, yi + i * d->n + j, sum);
      } else {
        npuc_convert_from_i64(&whole, 1, y, yi + i * d->n + j);
      }
    }
  }
}

/* One product of [m, k] by [k, n] at the given first elements. */
static void matmul_chain(const eval_context *c, const tensor *a, bool a_transposed, int64_t ai, const tensor *b, int64_t bi,
                         const matmul_dims *d, float *y, char *memory) {
  matmul_f32 job = {.m = d->m, .k = d->k, .n = d->n, .y = y};
  job.a = a_transposed ? as_f32(a, ai, d->k, d->m, true, &memory) : as_f32(a, ai, d->m, d->k, false, &memory);
  job.b = as_f32(b, bi, d->k, d->n, false, &memory);
  job.b_transposed = c->weight_transposed;
  npuc_matmul_f32(npuc_eval_kernels(c), c->pool, &job, memory);
}

static bool chain_bytes(const eval_context *c, const matmul_dims *d, bool copies, size_t *out_bytes) {
  size_t rest;
  if (!npuc_matmul_f32_scratch(d->m, d->k, d->n, npuc_pool_threads(c->pool), &rest)) return false;
  *out_bytes = rest + floats(d->m * d->k) + (copies ? floats(d->k * d->n) + floats(d->m * d->n) : 0);
  return true;
}

typedef struct matmul_job {
  const eval_context *c; /* its pool splits each product; NULL: the products are split among threads */
  const tensor *a, *b;
  tensor *y;
  matmul_dims d;
  broadcast plan; /* of the leading axes */
  char *memory;   /* [workers, bytes] */
  size_t bytes;
} matmul_job;

/* Units: products. */
static void products(void *context, size_t begin, size_t end, size_t worker) {
  const matmul_job *j = context;
  const matmul_dims *d = &j->d;
  for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
    int64_t ai, bi;
    npuc_broadcast_row(&j->plan, i / j->plan.inner, &ai, &bi);
    ai = (ai + i % j->plan.inner * j->plan.a_step) * d->m * d->k;
    bi = (bi + i % j->plan.inner * j->plan.b_step) * d->k * d->n;
    if (!by_f32(j->y->type)) {
      matmul_slow(j->a, j->b, j->y, ai, bi, i * d->m * d->n, d);
      continue;
    }
    char *rest = j->memory + worker * j->bytes;
    float *to = j->y->type == DTYPE_F32 ? (float *)j->y->data + i * d->m * d->n : take(&rest, d->m * d->n);
    matmul_chain(j->c, j->a, false, ai, j->b, bi, d, to, rest);
    if (j->y->type != DTYPE_F32) npuc_convert_from_f32(to, d->m * d->n, j->y, i * d->m * d->n);
  }
}

/* Many products are shared whole, as heads of an attention are; few are split each. */
static npuc_status run_products(const eval_context *c, matmul_job *j) {
  const matmul_dims *d = &j->d;
  size_t count = (size_t)(j->plan.rows * j->plan.inner), threads = npuc_pool_threads(c->pool);
  eval_context alone = *c;
  alone.pool = NULL;
  bool whole = threads > 1 && count >= 2 * threads;
  if (!whole) threads = 1;
  j->c = whole ? &alone : c;
  if (by_f32(j->y->type) && !chain_bytes(j->c, d, j->y->type != DTYPE_F32, &j->bytes)) return too_large(c);
  j->bytes = (j->bytes + 127) / 64 * 64;
  void *memory = NULL;
  NPUC_TRY(npuc_eval_scratch(c, threads * j->bytes, &memory));
  j->memory = memory;
  double work = (double)d->m * (double)d->k * (double)d->n;
  size_t grain = work < 262144.0 ? (size_t)(262144.0 / (work + 1.0)) + 1 : 1; /* some 10 us: less is not worth another thread */
  npuc_parallel_for(whole ? c->pool : NULL, count, grain, products, j);
  return NPUC_OK;
}

npuc_status npuc_eval_matmul(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  matmul_job j = {.a = inputs[0], .b = inputs[1], .y = outputs[0]};
  if (npuc_dtype_kind(j.y->type) != KIND_FLOAT && !npuc_dtype_is_integer(j.y->type)) return npuc_eval_unsupported(c, j.y->type);
  if (j.y->bytes == 0) return NPUC_OK;
  shape bs = j.b->shape;
  if (c->weight_transposed) {
    bs.dims[bs.rank - 1] = j.b->shape.dims[bs.rank - 2];
    bs.dims[bs.rank - 2] = j.b->shape.dims[bs.rank - 1];
  }
  if (!matmul_shape(&j.a->shape, &bs, &j.d)) {
    diag_place place = npuc_eval_place(c);
    return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "the leading dims do not broadcast");
  }
  j.plan = npuc_broadcast_plan(&j.d.a_batch, &j.d.b_batch, &j.d.batch);
  return run_products(c, &j);
}

/* -- Gemm -- */

typedef struct dot_job {
  dot_f32_kernel *kernel;
  const float *a, *b;
  float *y;
  size_t m, k, n;
} dot_job;

enum { DOT_COLUMNS = 32 };

/* Units: runs of columns; every row of a against them. */
static void dot_body(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const dot_job *j = context;
  size_t first = begin * DOT_COLUMNS, last = end * DOT_COLUMNS < j->n ? end * DOT_COLUMNS : j->n;
  j->kernel(j->a, j->k, j->b + first * j->k, j->k, j->k, j->y + first, j->n, j->m, last - first);
}

/* y = alpha * y + beta * C, C broadcast to [m, n]. */
static void finish(const gemm_attributes *g, const tensor *bias, float *y, const shape *ys) {
  int64_t total = ys->dims[0] * ys->dims[1];
  if (!bias) {
    for (int64_t i = 0; g->alpha != 1.0f && i < total; i++) y[i] = g->alpha * y[i];
    return;
  }
  broadcast plan = npuc_broadcast_plan(ys, &bias->shape, ys);
  for (int64_t row = 0; row < plan.rows; row++) {
    int64_t first, from;
    npuc_broadcast_row(&plan, row, &first, &from);
    for (int64_t i = 0; i < plan.inner; i++) {
      float add;
      npuc_convert_to_f32(bias, from + i * plan.b_step, 1, &add);
      add = g->beta * add;
      float *at = y + first + i;
      *at = g->alpha == 1.0f ? *at + add : fmaf(g->alpha, *at, add);
    }
  }
}

npuc_status npuc_eval_gemm(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const gemm_attributes *g = NPUC_ATTRS(gemm_attributes, c->node);
  const tensor *a = inputs[0], *b = inputs[1], *bias = eval_input(c, inputs, 2);
  tensor *y = outputs[0];
  if (!by_f32(y->type)) return npuc_eval_unsupported(c, y->type);
  if (y->bytes == 0) return NPUC_OK;
  matmul_dims d = {.m = y->shape.dims[0], .n = y->shape.dims[1], .k = a->shape.dims[g->transA ? 0 : 1]};
  size_t bytes;
  if (!chain_bytes(c, &d, true, &bytes)) return too_large(c);
  void *base;
  NPUC_TRY(npuc_eval_scratch(c, bytes, &base));
  char *memory = base;
  float *to = y->type == DTYPE_F32 ? y->data : take(&memory, d.m * d.n);
  if (g->transB) {
    const float *rows = g->transA ? as_f32(a, 0, d.k, d.m, true, &memory) : as_f32(a, 0, d.m, d.k, false, &memory);
    dot_job job = {npuc_eval_kernels(c)->dot_f32, rows, as_f32(b, 0, d.n, d.k, false, &memory), to, (size_t)d.m, (size_t)d.k, (size_t)d.n};
    npuc_parallel_for(c->pool, (job.n + DOT_COLUMNS - 1) / DOT_COLUMNS, 1, dot_body, &job);
  } else {
    matmul_chain(c, a, g->transA != 0, 0, b, 0, &d, to, memory);
  }
  finish(g, bias, to, &y->shape);
  if (y->type != DTYPE_F32) npuc_convert_from_f32(to, d.m * d.n, y, 0);
  return NPUC_OK;
}
