/* SPDX-License-Identifier: Apache-2.0 */
/* Elements go through small buffers in the working type, see elementwise.h. */
#include "ir/eval/elementwise.h"

#include "ir/eval/broadcast.h"
#include "kernels/convert.h"

enum { PIECE = 512 };

static bool is_whole(dtype t) { return npuc_dtype_is_integer(t) || t == DTYPE_BOOL; }

/* Packed types share bytes between elements: one thread. */
static thread_pool *pool_for(const eval_context *c, const tensor *y) { return npuc_dtype_bits(y->type) < 8 ? NULL : c->pool; }

/* Booleans are 0 or 1, not low bits. */
static void store_i64(int64_t *v, int64_t n, tensor *y, int64_t first) {
  if (npuc_dtype_kind(y->type) != KIND_FLOAT) {
    npuc_convert_from_i64(v, n, y, first);
    return;
  }
  for (int64_t i = 0; i < n; i++) npuc_tensor_set_int(y, first + i, v[i]);
}

/* Integers take what a double gives as C does: toward 0, saturated. */
static void store_f64(double *v, int64_t n, tensor *y, int64_t first) {
  if (!npuc_dtype_is_integer(y->type)) {
    npuc_convert_from_f64(v, n, y, first);
    return;
  }
  for (int64_t i = 0; i < n; i++)
    npuc_tensor_set(y, first + i, v[i] != v[i] ? 0.0 : (v[i] < 0.0 ? -1.0 : 1.0) * (double)(uint64_t)(v[i] < 0.0 ? -v[i] : v[i]));
}

/* -- one operand -- */

typedef struct map_job {
  const map_functions *f;
  const tensor *x;
  tensor *y;
} map_job;

/* n elements by the float32 kernel. */
static void map_f32(const map_job *j, size_t first, size_t n) {
  const double *p = j->f->parameters;
  const float a = p ? (float)p[0] : 0.0f, b = p ? (float)p[1] : 0.0f;
  if (j->x->type == DTYPE_F32) {
    j->f->kernel((const float *)j->x->data + first, (float *)j->y->data + first, n, a, b);
    return;
  }
  float v[PIECE];
  npuc_convert_to_f32(j->x, (int64_t)first, (int64_t)n, v);
  j->f->kernel(v, v, n, a, b);
  npuc_convert_from_f32(v, (int64_t)n, j->y, (int64_t)first);
}

static bool is_by_kernel(const map_job *j) {
  dtype t = j->x->type;
  return j->f->kernel && (t == DTYPE_F32 || t == DTYPE_F16 || t == DTYPE_BF16) && j->y->type == t;
}

static void map_body(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const map_job *j = context;
  if (is_by_kernel(j) && j->x->type == DTYPE_F32) {
    map_f32(j, begin, end - begin);
    return;
  }
  for (size_t at = begin; at < end; at += PIECE) {
    int64_t n = (int64_t)(end - at < PIECE ? end - at : PIECE), first = (int64_t)at;
    if (is_by_kernel(j)) {
      map_f32(j, at, (size_t)n);
    } else if (is_whole(j->x->type)) {
      int64_t v[PIECE];
      npuc_convert_to_i64(j->x, first, n, v);
      for (int64_t i = 0; i < n; i++) v[i] = j->f->integers(v[i], j->x->type);
      store_i64(v, n, j->y, first);
    } else {
      double v[PIECE];
      npuc_convert_to_f64(j->x, first, n, v);
      for (int64_t i = 0; i < n; i++) v[i] = j->f->floats(v[i], j->f->parameters);
      store_f64(v, n, j->y, first);
    }
  }
}

npuc_status npuc_eval_map(const eval_context *c, const map_functions *f, const tensor *x, tensor *y) {
  bool taken = is_whole(x->type) ? f->integers != NULL : npuc_dtype_kind(x->type) == KIND_FLOAT && f->floats;
  if (!taken) return npuc_eval_unsupported(c, x->type);
  map_job job = {f, x, y};
  npuc_parallel_for(pool_for(c, y), (size_t)npuc_tensor_elements(x), f->kernel ? 16384 : 4096, map_body, &job);
  return NPUC_OK;
}

/* -- two operands -- */

typedef struct zip_job {
  const zip_functions *f;
  broadcast plan;
  const tensor *a, *b;
  tensor *y;
  int64_t pieces; /* of a row */
} zip_job;

/* n operand elements from `first`, or one repeated. */
#define LOAD(convert, t, first, step, n, v)                           \
  do {                                                                \
    convert((t), (first), (step) ? (n) : 1, (v));                     \
    for (int64_t k_ = 1; !(step) && k_ < (n); k_++) (v)[k_] = (v)[0]; \
  } while (0)

static void zip_piece(const zip_job *j, int64_t a, int64_t b, int64_t y, int64_t n) {
  if (is_whole(j->a->type) && is_whole(j->b->type)) {
    int64_t p[PIECE], q[PIECE];
    LOAD(npuc_convert_to_i64, j->a, a, j->plan.a_step, n, p);
    LOAD(npuc_convert_to_i64, j->b, b, j->plan.b_step, n, q);
    for (int64_t i = 0; i < n; i++) p[i] = j->f->integers(p[i], q[i], j->a->type);
    store_i64(p, n, j->y, y);
  } else {
    double p[PIECE], q[PIECE];
    LOAD(npuc_convert_to_f64, j->a, a, j->plan.a_step, n, p);
    LOAD(npuc_convert_to_f64, j->b, b, j->plan.b_step, n, q);
    for (int64_t i = 0; i < n; i++) p[i] = j->f->floats(p[i], q[i], j->f->parameters);
    store_f64(p, n, j->y, y);
  }
}

static void zip_body(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const zip_job *j = context;
  for (int64_t u = (int64_t)begin; u < (int64_t)end; u++) {
    int64_t row = u / j->pieces, first = u % j->pieces * PIECE, left = j->plan.inner - first, a, b;
    npuc_broadcast_row(&j->plan, row, &a, &b);
    zip_piece(j, a + first * j->plan.a_step, b + first * j->plan.b_step, row * j->plan.inner + first, left < PIECE ? left : PIECE);
  }
}

static bool is_number(dtype t) { return is_whole(t) || npuc_dtype_kind(t) == KIND_FLOAT; }

npuc_status npuc_eval_zip(const eval_context *c, const zip_functions *f, const tensor *a, const tensor *b, tensor *y) {
  bool whole = is_whole(a->type) && is_whole(b->type);
  if (!is_number(a->type) || !is_number(b->type) || !(whole ? f->integers != NULL : f->floats != NULL)) {
    return npuc_eval_unsupported(c, is_number(a->type) && !is_number(b->type) ? b->type : a->type);
  }
  if (y->bytes == 0) return NPUC_OK;
  zip_job job = {f, npuc_broadcast_plan(&a->shape, &b->shape, &y->shape), a, b, y, 0};
  job.pieces = (job.plan.inner + PIECE - 1) / PIECE;
  size_t grain = job.plan.inner < PIECE ? (size_t)(4096 / job.plan.inner + 1) : 8;
  npuc_parallel_for(pool_for(c, y), (size_t)(job.plan.rows * job.pieces), grain, zip_body, &job);
  return NPUC_OK;
}
