/* SPDX-License-Identifier: Apache-2.0 */
/* QAdd, QMul, Requantize and Lookup: rows of a broadcast to the elementwise kernels, in parallel. */
#include "ir/eval/broadcast.h"

#include <assert.h>
#include "ir/eval/integer.h"

enum { CHUNK = 32768 };

typedef struct element_job {
  binary_i8_kernel *kernel;
  binary_i8 parameters;
  broadcast plan;
  const uint8_t *a, *b;
  uint8_t *y;
  int64_t chunks; /* of a row */
} element_job;

static void body(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const element_job *j = context;
  for (int64_t u = (int64_t)begin; u < (int64_t)end; u++) {
    int64_t row = u / j->chunks, first = u % j->chunks * CHUNK, a, b;
    int64_t n = j->plan.inner - first < CHUNK ? j->plan.inner - first : CHUNK;
    npuc_broadcast_row(&j->plan, row, &a, &b);
    j->kernel(&j->parameters, j->a + a + first * j->plan.a_step, (size_t)j->plan.a_step, j->b + b + first * j->plan.b_step,
              (size_t)j->plan.b_step, j->y + row * j->plan.inner + first, (size_t)n);
  }
}

/* Operands of another rank are single numbers where y is channels-last. */
static shape seen_from(const tensor *t, const tensor *y) {
  return npuc_eval_bytes_shape(&t->shape, y->channels_last && t->shape.rank == y->shape.rank);
}

static void run(const eval_context *c, element_job job, const tensor *a, const tensor *b, const tensor *y) {
  if (y->bytes == 0) return;
  const shape of_a = seen_from(a, y), of_b = seen_from(b, y), of_y = seen_from(y, y);
  job.plan = npuc_broadcast_plan(&of_a, &of_b, &of_y);
  assert(job.plan.inner > 0); /* y has elements */
  job.chunks = (job.plan.inner + CHUNK - 1) / CHUNK;
  job.y = y->data;
  size_t grain = job.plan.inner < CHUNK ? (size_t)(CHUNK / job.plan.inner) : 1;
  npuc_parallel_for(c->pool, (size_t)(job.plan.rows * job.chunks), grain, body, &job);
}

static binary_i8 parameters_of(const qbinary_attributes *t, const tensor *a, const tensor *b, int32_t ma, int32_t mb, int32_t s) {
  return (binary_i8){.a_signed = a->type == DTYPE_I8,
                     .b_signed = b->type == DTYPE_I8,
                     .a_zero_point = (int32_t)t->a_zero_point,
                     .b_zero_point = (int32_t)t->b_zero_point,
                     .a_multiplier = ma,
                     .b_multiplier = mb,
                     .shift = s,
                     .zero_point = (int32_t)t->y_zero_point,
                     .lo = (int32_t)t->lo,
                     .hi = (int32_t)t->hi};
}

npuc_status npuc_eval_qadd(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *a = inputs[0], *b = inputs[1];
  element_job job = {.kernel = npuc_eval_kernels(c)->add_i8, .a = a->data, .b = b->data};
  job.parameters =
      parameters_of(NPUC_ATTRS(qbinary_attributes, c->node), a, b, int_at(inputs[2], 0), int_at(inputs[3], 0), int_at(inputs[4], 0));
  run(c, job, a, b, outputs[0]);
  return NPUC_OK;
}

npuc_status npuc_eval_qmul(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *a = inputs[0], *b = inputs[1];
  element_job job = {.kernel = npuc_eval_kernels(c)->mul_i8, .a = a->data, .b = b->data};
  job.parameters = parameters_of(NPUC_ATTRS(qbinary_attributes, c->node), a, b, int_at(inputs[2], 0), 0, int_at(inputs[3], 0));
  run(c, job, a, b, outputs[0]);
  return NPUC_OK;
}

/* A product with the number 1. */
npuc_status npuc_eval_requantize(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  static const uint8_t one = 1;
  const qunary_attributes *t = NPUC_ATTRS(qunary_attributes, c->node);
  const tensor *x = inputs[0];
  const tensor scalar = {.shape = SHAPE_SCALAR};
  element_job job = {.kernel = npuc_eval_kernels(c)->mul_i8, .a = x->data, .b = &one};
  job.parameters = (binary_i8){.a_signed = x->type == DTYPE_I8,
                               .a_zero_point = (int32_t)t->x_zero_point,
                               .a_multiplier = int_at(inputs[1], 0),
                               .shift = int_at(inputs[2], 0),
                               .zero_point = (int32_t)t->y_zero_point,
                               .lo = (int32_t)t->lo,
                               .hi = (int32_t)t->hi};
  run(c, job, x, &scalar, outputs[0]);
  return NPUC_OK;
}

npuc_status npuc_eval_lookup(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  (void)c;
  q8_input x = input_of(inputs[0], 0);
  npuc_ref_lookup(count_of(inputs[0]), &x, inputs[1]->data, outputs[0]->data);
  return NPUC_OK;
}
