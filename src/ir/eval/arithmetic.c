/* SPDX-License-Identifier: Apache-2.0 */
/* Add, Sub, Mul, Div, Max, Min with numpy broadcasting. float32 by kernels; 16-bit floats in pieces through float32; float64 and
 * integers by their own formulas: integers wrap, and division truncates (by zero: 0, where ONNX defines nothing). */
#include "ir/eval/broadcast.h"
#include "ir/eval/eval.h"
#include "kernels/convert.h"

enum { PIECE = 512 };

typedef struct binary_op {
  op_id id;
  binary_f32_kernel *kernel;
} binary_op;

typedef struct binary_job {
  binary_op op;
  broadcast plan;
  const tensor *a, *b;
  tensor *y;
  int64_t chunk, chunks; /* of a row */
} binary_job;

static double in_f64(op_id id, double a, double b) {
  switch (id) {
    case OP_ADD:
      return a + b;
    case OP_SUB:
      return a - b;
    case OP_MUL:
      return a * b;
    case OP_DIV:
      return a / b;
    case OP_MAX:
      return a > b || a != a ? a : b;
    default:
      return a < b || a != a ? a : b;
  }
}

static int64_t in_i64(op_id id, bool is_u64, int64_t a, int64_t b) {
  uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
  switch (id) {
    case OP_ADD:
      return (int64_t)(ua + ub);
    case OP_SUB:
      return (int64_t)(ua - ub);
    case OP_MUL:
      return (int64_t)(ua * ub);
    case OP_DIV:
      if (b == 0) return 0;
      if (is_u64) return (int64_t)(ua / ub);
      return b == -1 ? (int64_t)(0 - ua) : a / b;
    case OP_MAX:
      return is_u64 ? (ua > ub ? a : b) : (a > b ? a : b);
    default:
      return is_u64 ? (ua < ub ? a : b) : (a < b ? a : b);
  }
}

/* n operand elements from `first`, or one repeated. */
#define LOAD(convert, t, first, step, n, v)                           \
  do {                                                                \
    convert((t), (first), (step) ? (n) : 1, (v));                     \
    for (int64_t k_ = 1; !(step) && k_ < (n); k_++) (v)[k_] = (v)[0]; \
  } while (0)

static void converted(const binary_job *j, int64_t a, int64_t b, int64_t y, int64_t n) {
  if (j->y->type == DTYPE_F64) {
    double p[PIECE], q[PIECE];
    LOAD(npuc_convert_to_f64, j->a, a, j->plan.a_step, n, p);
    LOAD(npuc_convert_to_f64, j->b, b, j->plan.b_step, n, q);
    for (int64_t i = 0; i < n; i++) p[i] = in_f64(j->op.id, p[i], q[i]);
    npuc_convert_from_f64(p, n, j->y, y);
  } else if (npuc_dtype_kind(j->y->type) == KIND_FLOAT) {
    float p[PIECE], q[PIECE];
    LOAD(npuc_convert_to_f32, j->a, a, j->plan.a_step, n, p);
    LOAD(npuc_convert_to_f32, j->b, b, j->plan.b_step, n, q);
    j->op.kernel(p, 1, q, 1, p, (size_t)n);
    npuc_convert_from_f32(p, n, j->y, y);
  } else {
    int64_t p[PIECE], q[PIECE];
    LOAD(npuc_convert_to_i64, j->a, a, j->plan.a_step, n, p);
    LOAD(npuc_convert_to_i64, j->b, b, j->plan.b_step, n, q);
    for (int64_t i = 0; i < n; i++) p[i] = in_i64(j->op.id, j->y->type == DTYPE_U64, p[i], q[i]);
    npuc_convert_from_i64(p, n, j->y, y);
  }
}

static void run_piece(const binary_job *j, int64_t row, int64_t first, int64_t n) {
  int64_t a, b, y = row * j->plan.inner + first;
  npuc_broadcast_row(&j->plan, row, &a, &b);
  a += first * j->plan.a_step;
  b += first * j->plan.b_step;
  if (j->y->type == DTYPE_F32) {
    j->op.kernel((const float *)j->a->data + a, (size_t)j->plan.a_step, (const float *)j->b->data + b, (size_t)j->plan.b_step,
                 (float *)j->y->data + y, (size_t)n);
    return;
  }
  for (int64_t i = 0; i < n; i += PIECE) {
    converted(j, a + i * j->plan.a_step, b + i * j->plan.b_step, y + i, n - i < PIECE ? n - i : PIECE);
  }
}

static void body(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const binary_job *j = context;
  for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
    int64_t row = i / j->chunks, first = i % j->chunks * j->chunk, left = j->plan.inner - first;
    run_piece(j, row, first, left < j->chunk ? left : j->chunk);
  }
}

/* y = op(a, b); y may be a or b where that one is not repeated. */
static void run_binary(const eval_context *c, binary_op op, const tensor *a, const tensor *b, tensor *y) {
  if (y->bytes == 0) return;
  binary_job job = {op, npuc_broadcast_plan(&a->shape, &b->shape, &y->shape), a, b, y, 16384, 0};
  job.chunks = (job.plan.inner + job.chunk - 1) / job.chunk;
  int64_t units = job.plan.rows * job.chunks;
  size_t grain = job.plan.inner < 4096 ? (size_t)(16384 / job.plan.inner + 1) : 1;
  npuc_parallel_for(c->pool, (size_t)units, grain, body, &job);
}

static npuc_status run_two(const eval_context *c, binary_op op, const tensor *const *inputs, tensor *const *outputs) {
  dtype_kind kind = npuc_dtype_kind(inputs[0]->type);
  if (kind != KIND_FLOAT && !npuc_dtype_is_integer(inputs[0]->type)) return npuc_eval_unsupported(c, inputs[0]->type);
  run_binary(c, op, inputs[0], inputs[1], outputs[0]);
  return NPUC_OK;
}

npuc_status npuc_eval_add(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return run_two(c, (binary_op){OP_ADD, npuc_eval_kernels(c)->add_f32}, inputs, outputs);
}
npuc_status npuc_eval_sub(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return run_two(c, (binary_op){OP_SUB, npuc_eval_kernels(c)->sub_f32}, inputs, outputs);
}
npuc_status npuc_eval_mul(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return run_two(c, (binary_op){OP_MUL, npuc_eval_kernels(c)->mul_f32}, inputs, outputs);
}
npuc_status npuc_eval_div(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return run_two(c, (binary_op){OP_DIV, npuc_eval_kernels(c)->div_f32}, inputs, outputs);
}

/* Max and Min of any number of operands: the output is the running result. One operand broadcast alone has the output's shape. */
static npuc_status run_variadic(const eval_context *c, binary_op op, const tensor *const *inputs, tensor *const *outputs) {
  dtype_kind kind = npuc_dtype_kind(inputs[0]->type);
  if (kind != KIND_FLOAT && !npuc_dtype_is_integer(inputs[0]->type)) return npuc_eval_unsupported(c, inputs[0]->type);
  if (c->node->n_inputs == 1) {
    npuc_eval_copy(inputs[0], outputs[0]);
    return NPUC_OK;
  }
  run_binary(c, op, inputs[0], inputs[1], outputs[0]);
  for (int32_t i = 2; i < c->node->n_inputs; i++) run_binary(c, op, outputs[0], inputs[i], outputs[0]);
  return NPUC_OK;
}

npuc_status npuc_eval_max(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return run_variadic(c, (binary_op){OP_MAX, npuc_eval_kernels(c)->max_f32}, inputs, outputs);
}
npuc_status npuc_eval_min(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return run_variadic(c, (binary_op){OP_MIN, npuc_eval_kernels(c)->min_f32}, inputs, outputs);
}
