/* SPDX-License-Identifier: Apache-2.0 */
/* MatMulInteger, QLinearMatMul, DynamicQuantizeLinear: ONNX's own integer operators. Products are exact; a quantized result is rounded once, from double. */
#include <math.h>

#include "ir/eval/broadcast.h"
#include "ir/eval/eval.h"
#include "kernels/convert.h"

typedef struct product {
  const tensor *a, *b, *a_zero, *b_zero; /* zero points may be NULL */
  int64_t m, k, n;
} product;

/* A parameter's element: one for all, one per row or column, or one per row of each matrix. */
static int64_t parameter_index(const tensor *t, int64_t line, int64_t lines, int64_t batch) {
  int64_t count = npuc_tensor_elements(t);
  return count == 1 ? 0 : count == lines ? line : batch * lines + line;
}

static int64_t zero_of(const tensor *t, int64_t line, int64_t lines, int64_t batch) {
  return t ? npuc_tensor_get_int(t, parameter_index(t, line, lines, batch)) : 0;
}

/* Row i of matrix `ai` by column j of matrix `bi`; modulo 2^64. */
static int64_t dot(const product *p, int64_t ai, int64_t bi, int64_t i, int64_t j) {
  int64_t za = zero_of(p->a_zero, i, p->m, ai), zb = zero_of(p->b_zero, j, p->n, bi);
  uint64_t sum = 0;
  for (int64_t k = 0; k < p->k; k++) {
    int64_t a = npuc_tensor_get_int(p->a, (ai * p->m + i) * p->k + k) - za, b = npuc_tensor_get_int(p->b, (bi * p->k + k) * p->n + j) - zb;
    sum += (uint64_t)(a * b);
  }
  return (int64_t)sum;
}

typedef void store_function(const void *context, int64_t sum, int64_t ai, int64_t bi, int64_t i, int64_t j, int64_t to);

static shape leading(const shape *s) {
  shape batch = *s;
  batch.rank = s->rank > 2 ? s->rank - 2 : 0;
  return batch;
}

static npuc_status multiply(const eval_context *c, product p, store_function *store, const void *context) {
  shape a = leading(&p.a->shape), b = leading(&p.b->shape), y;
  diag_place place = npuc_eval_place(c);
  if (!npuc_shape_broadcast(&a, &b, &y)) return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "the leading dims do not broadcast");
  p.m = p.a->shape.rank > 1 ? p.a->shape.dims[p.a->shape.rank - 2] : 1;
  p.k = p.a->shape.dims[p.a->shape.rank - 1];
  p.n = p.b->shape.rank > 1 ? p.b->shape.dims[p.b->shape.rank - 1] : 1;
  broadcast plan = npuc_broadcast_plan(&a, &b, &y);
  for (int64_t u = 0; u < plan.rows * plan.inner; u++) {
    int64_t ai, bi;
    npuc_broadcast_row(&plan, u / plan.inner, &ai, &bi);
    ai += u % plan.inner * plan.a_step;
    bi += u % plan.inner * plan.b_step;
    for (int64_t i = 0; i < p.m * p.n; i++) store(context, dot(&p, ai, bi, i / p.n, i % p.n), ai, bi, i / p.n, i % p.n, u * p.m * p.n + i);
  }
  return NPUC_OK;
}

/* Parameters are one number, or one per row or column. */
static npuc_status check_parameter(const eval_context *c, const tensor *t, int64_t lines, int64_t all) {
  int64_t count = t ? npuc_tensor_elements(t) : 1;
  if (count == 1 || count == lines || count == all) return NPUC_OK;
  diag_place place = npuc_eval_place(c);
  return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "a scale or zero point has %lld elements for %lld rows or columns", (long long)count,
                   (long long)lines);
}

static npuc_status check_operand(const eval_context *c, const tensor *t, const tensor *zero, const tensor *scale, bool rows) {
  int32_t rank = t->shape.rank;
  int64_t n = npuc_tensor_elements(t), lines = rank > 1 ? t->shape.dims[rows ? rank - 2 : rank - 1] : 1;
  int64_t other = rank ? t->shape.dims[rows || rank < 2 ? rank - 1 : rank - 2] : 1;
  if (!npuc_dtype_is_integer(t->type)) return npuc_eval_unsupported(c, t->type);
  NPUC_TRY(check_parameter(c, zero, lines, other ? n / other : 0));
  return check_parameter(c, scale, lines, other ? n / other : 0);
}

static void store_i32(const void *context, int64_t sum, int64_t ai, int64_t bi, int64_t i, int64_t j, int64_t to) {
  (void)ai, (void)bi, (void)i, (void)j;
  npuc_convert_from_i64(&sum, 1, *(tensor *const *)context, to);
}

npuc_status npuc_eval_matmulinteger(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  product p = {.a = inputs[0], .b = inputs[1], .a_zero = eval_input(c, inputs, 2), .b_zero = eval_input(c, inputs, 3)};
  NPUC_TRY(check_operand(c, p.a, p.a_zero, NULL, true));
  NPUC_TRY(check_operand(c, p.b, p.b_zero, NULL, false));
  return multiply(c, p, store_i32, &outputs[0]);
}

typedef struct requantized {
  const tensor *const *inputs;
  tensor *y;
  int64_t m, n, lo, hi;
} requantized;

static double scale_of(const tensor *t, int64_t line, int64_t lines, int64_t batch) {
  return npuc_tensor_get(t, parameter_index(t, line, lines, batch));
}

static void store_quantized(const void *context, int64_t sum, int64_t ai, int64_t bi, int64_t i, int64_t j, int64_t to) {
  const requantized *q = context;
  double scale = scale_of(q->inputs[1], i, q->m, ai) * scale_of(q->inputs[4], j, q->n, bi) / scale_of(q->inputs[6], i, q->m, ai);
  double v = rint((double)sum * scale) + (double)zero_of(q->inputs[7], i, q->m, ai);
  npuc_tensor_set(q->y, to, v < (double)q->lo ? (double)q->lo : v > (double)q->hi ? (double)q->hi : v);
}

npuc_status npuc_eval_qlinearmatmul(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  product p = {.a = inputs[0], .b = inputs[3], .a_zero = inputs[2], .b_zero = inputs[5]};
  requantized q = {.inputs = inputs, .y = outputs[0]};
  if (!npuc_dtype_range(outputs[0]->type, &q.lo, &q.hi)) return npuc_eval_unsupported(c, outputs[0]->type);
  NPUC_TRY(check_operand(c, p.a, p.a_zero, inputs[1], true));
  NPUC_TRY(check_operand(c, p.b, p.b_zero, inputs[4], false));
  NPUC_TRY(check_operand(c, p.a, inputs[7], inputs[6], true)); /* y has a's rows */
  q.m = p.a->shape.rank > 1 ? p.a->shape.dims[p.a->shape.rank - 2] : 1;
  q.n = p.b->shape.rank > 1 ? p.b->shape.dims[p.b->shape.rank - 1] : 1;
  return multiply(c, p, store_quantized, &q);
}

/* -- DynamicQuantizeLinear: in float32, as ONNX's formula stands; a tensor of zeros has scale 1 -- */

npuc_status npuc_eval_dynamicquantizelinear(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0];
  int64_t n = npuc_tensor_elements(x);
  float lo = 0.0f, hi = 0.0f;
  if (x->type != DTYPE_F32) return npuc_eval_unsupported(c, x->type);
  for (int64_t i = 0; i < n; i++) {
    float v = (float)npuc_tensor_get(x, i);
    lo = v < lo ? v : lo;
    hi = v > hi ? v : hi;
  }
  float scale = hi > lo ? (hi - lo) / 255.0f : 1.0f, zero = rintf(-lo / scale);
  zero = zero < 0.0f ? 0.0f : zero > 255.0f ? 255.0f : zero;
  if (eval_wants(c, outputs, 1)) npuc_tensor_set(outputs[1], 0, (double)scale);
  if (eval_wants(c, outputs, 2)) npuc_tensor_set(outputs[2], 0, (double)zero);
  for (int64_t i = 0; i < n; i++) {
    float q = rintf((float)npuc_tensor_get(x, i) / scale) + zero;
    npuc_tensor_set(outputs[0], i, q != q ? 0.0 : (double)q); /* saturates */
  }
  return NPUC_OK;
}
