/* SPDX-License-Identifier: Apache-2.0 */
/* DFT and STFT: lines of a tensor are gathered as complex numbers, transformed in double and rounded once. */
#include "ir/eval/eval.h"
#include "ir/eval/fourier.h"

/* One line: elements at first + i * stride, each of `parts` (1: real, 2: complex) adjacent numbers. */
typedef struct line {
  int64_t first, stride, count;
} line;

typedef struct transform_job {
  const tensor *x, *window; /* window may be NULL */
  tensor *y;
  fourier f;
  int64_t x_parts, y_parts;
  bool inverse, symmetric; /* symmetric: x is one-sided, its other half its conjugate */
  char *memory;            /* per worker: line, work */
  size_t per_worker;
  /* line u: of x and of y */
  int64_t frames, step;          /* STFT; frames 0: DFT */
  int64_t x_axis, y_axis, inner; /* DFT: [outer, axis, inner] */
} transform_job;

static line x_line(const transform_job *j, int64_t u) {
  if (j->frames) return (line){u / j->frames * j->x_axis + u % j->frames * j->step, 1, j->f.n};
  int64_t count = j->symmetric ? j->f.n / 2 + 1 : j->f.n;
  return (line){u / j->inner * j->x_axis * j->inner + u % j->inner, j->inner, count < j->x_axis ? count : j->x_axis};
}

static line y_line(const transform_job *j, int64_t u) {
  return (line){u / j->inner * j->y_axis * j->inner + u % j->inner, j->inner, j->y_axis};
}

static void load(const transform_job *j, line l, complex64 *v) {
  for (int64_t i = 0; i < j->f.n; i++) {
    v[i] = (complex64){0.0, 0.0};
    if (i >= l.count) continue;
    int64_t at = (l.first + i * l.stride) * j->x_parts;
    double w = j->window ? npuc_tensor_get(j->window, i) : 1.0;
    v[i].re = npuc_tensor_get(j->x, at) * w;
    if (j->x_parts == 2) v[i].im = npuc_tensor_get(j->x, at + 1) * w;
  }
  if (!j->symmetric) return;
  v[0].im = 0.0;
  if (j->f.n % 2 == 0) v[j->f.n / 2].im = 0.0;
  for (int64_t i = j->f.n / 2 + 1; i < j->f.n; i++) v[i] = (complex64){v[j->f.n - i].re, -v[j->f.n - i].im};
}

static void body(void *context, size_t begin, size_t end, size_t worker) {
  const transform_job *j = context;
  complex64 *v = (complex64 *)(void *)(j->memory + worker * j->per_worker);
  double scale = j->inverse ? 1.0 / (double)j->f.n : 1.0;
  for (int64_t u = (int64_t)begin; u < (int64_t)end; u++) {
    load(j, x_line(j, u), v);
    npuc_fourier_run(&j->f, j->inverse, v, v + j->f.n);
    line l = y_line(j, u);
    for (int64_t i = 0; i < l.count; i++) {
      int64_t at = (l.first + i * l.stride) * j->y_parts;
      npuc_tensor_set(j->y, at, v[i].re * scale);
      if (j->y_parts == 2) npuc_tensor_set(j->y, at + 1, v[i].im * scale);
    }
  }
}

static npuc_status run(const eval_context *c, transform_job *j, int64_t n, int64_t lines) {
  size_t plan, work, bytes;
  diag_place place = npuc_eval_place(c);
  if (npuc_dtype_kind(j->x->type) != KIND_FLOAT) return npuc_eval_unsupported(c, j->x->type);
  if (j->y->bytes == 0) return NPUC_OK;
  if (!npuc_fourier_sizes(n, &plan, &work)) return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "a transform of %lld elements", (long long)n);
  j->per_worker = (size_t)n * sizeof(complex64) + work;
  if (__builtin_mul_overflow(j->per_worker, npuc_pool_threads(c->pool), &bytes) || __builtin_add_overflow(bytes, plan, &bytes))
    return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "a transform of %lld elements", (long long)n);
  void *memory;
  NPUC_TRY(npuc_eval_scratch(c, bytes, &memory));
  npuc_fourier_plan(n, memory, &j->f);
  j->memory = (char *)memory + plan;
  npuc_parallel_for(c->pool, (size_t)lines, 0, body, j);
  return NPUC_OK;
}

npuc_status npuc_eval_dft(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const dft_attributes *a = NPUC_ATTRS(dft_attributes, c->node);
  const tensor *x = inputs[0], *length = eval_input(c, inputs, 1), *given = eval_input(c, inputs, 2);
  int32_t rank = x->shape.rank, axis;
  diag_place place = npuc_eval_place(c);
  if (!npuc_axis_normalize(given ? npuc_tensor_get_int(given, 0) : -2, rank, &axis) || axis == rank - 1)
    return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "the axis is not one of the signal's");
  shape signal = x->shape; /* without the parts */
  signal.rank--;
  axis_split s = npuc_eval_split_at(&signal, axis);
  transform_job j = {.x = x, .y = outputs[0], .x_parts = x->shape.dims[rank - 1], .inverse = a->inverse != 0};
  j.symmetric = a->inverse && a->onesided;
  j.y_parts = outputs[0]->shape.dims[rank - 1];
  j.x_axis = s.axis;
  j.y_axis = outputs[0]->shape.dims[axis];
  j.inner = s.inner;
  int64_t n = length ? npuc_tensor_get_int(length, 0) : j.symmetric ? 2 * (s.axis - 1) : s.axis;
  return run(c, &j, n, s.outer * s.inner);
}

npuc_status npuc_eval_stft(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0], *window = eval_input(c, inputs, 2), *length = eval_input(c, inputs, 3);
  const shape *y = &outputs[0]->shape;
  transform_job j = {.x = x, .window = window, .y = outputs[0], .x_parts = x->shape.dims[2], .y_parts = 2};
  int64_t n = length ? npuc_tensor_get_int(length, 0) : window ? npuc_tensor_elements(window) : x->shape.dims[1];
  j.step = npuc_tensor_get_int(inputs[1], 0);
  j.frames = y->dims[1];
  j.x_axis = x->shape.dims[1];
  j.y_axis = y->dims[2];
  j.inner = 1;
  diag_place place = npuc_eval_place(c);
  if (j.step < 1 || (j.frames - 1) * j.step + n > j.x_axis || (window && npuc_tensor_elements(window) != n))
    return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "frames of %lld samples at steps of %lld do not fit", (long long)n, (long long)j.step);
  return run(c, &j, n, y->dims[0] * j.frames);
}
