/* SPDX-License-Identifier: Apache-2.0 */
/* Where: elements of whole bytes are moved, by rows in which each of the three operands steps by one or stays. */
#include <string.h>

#include "ir/eval/broadcast.h"
#include "ir/eval/eval.h"

enum { CHUNK = 4096 };

typedef struct where_job {
  const tensor *condition, *x, *y;
  tensor *out;
  size_t bytes;   /* of an element */
  broadcast plan; /* of x, y, condition */
  int64_t chunks; /* of a row */
} where_job;

typedef struct two_doubles { /* complex128 */
  double real, imaginary;
} two_doubles;

typedef struct where_row {
  const uint8_t *condition;
  int64_t condition_step;
  const char *x, *y;
  int64_t x_step, y_step; /* elements */
  char *out;
  int64_t n;
} where_row;

#define SELECT(type)                                                  \
  do {                                                                \
    for (int64_t i = 0; i < r->n; i++) {                              \
      type a, b;                                                      \
      memcpy(&a, r->x + i * r->x_step * (int64_t)sizeof a, sizeof a); \
      memcpy(&b, r->y + i * r->y_step * (int64_t)sizeof b, sizeof b); \
      a = r->condition[i * r->condition_step] ? a : b;                \
      memcpy(r->out + i * (int64_t)sizeof a, &a, sizeof a);           \
    }                                                                 \
  } while (0)

static void select_row(const where_row *given, size_t bytes) {
  const where_row copy = *given, *r = &copy; /* what is written cannot be the steps */
  if (bytes == 1) {
    SELECT(uint8_t);
  } else if (bytes == 2) {
    SELECT(uint16_t);
  } else if (bytes == 4) {
    SELECT(uint32_t);
  } else if (bytes == 8) {
    SELECT(uint64_t);
  } else {
    SELECT(two_doubles);
  }
}

static void where_body(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const where_job *j = context;
  const broadcast *p = &j->plan;
  for (int64_t u = (int64_t)begin; u < (int64_t)end; u++) {
    int64_t row = u / j->chunks, first = u % j->chunks * CHUNK, left = p->inner - first, x, y, size = (int64_t)j->bytes;
    npuc_broadcast_row(p, row, &x, &y);
    const where_row r = {.condition = (const uint8_t *)j->condition->data + npuc_broadcast_row_third(p, row) + first * p->c_step,
                         .condition_step = p->c_step,
                         .x = (const char *)j->x->data + (x + first * p->a_step) * size,
                         .y = (const char *)j->y->data + (y + first * p->b_step) * size,
                         .x_step = p->a_step,
                         .y_step = p->b_step,
                         .out = (char *)j->out->data + (row * p->inner + first) * size,
                         .n = left < CHUNK ? left : CHUNK};
    select_row(&r, j->bytes);
  }
}

npuc_status npuc_eval_where(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  where_job job = {inputs[0], inputs[1], inputs[2], outputs[0], npuc_dtype_width(inputs[1]->type), {0}, 0};
  if (job.bytes == 0) return npuc_eval_unsupported(c, inputs[1]->type);
  if (job.out->bytes == 0) return NPUC_OK;
  job.plan = npuc_broadcast_plan_three(&job.x->shape, &job.y->shape, &job.condition->shape, &job.out->shape);
  job.chunks = (job.plan.inner + CHUNK - 1) / CHUNK;
  size_t grain = job.plan.inner < CHUNK ? (size_t)(16384 / job.plan.inner + 1) : 4;
  npuc_parallel_for(c->pool, (size_t)(job.plan.rows * job.chunks), grain, where_body, &job);
  return NPUC_OK;
}
