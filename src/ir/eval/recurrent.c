/* SPDX-License-Identifier: Apache-2.0 */
/* RNN, GRU, LSTM: X is multiplied by W for a run of steps at a time, so that W is read once for many rows; the states go step by step. A sequence
 * that is over keeps its state, and its outputs are 0. In reverse a sequence starts at its own last element. */
#include "ir/eval/recurrent.h"

#include <string.h>

#include "kernels/convert.h"

enum { RUN_ROWS = 64, COLUMNS = 32 };

/* -- products -- */

typedef struct product_job {
  dot_f32_kernel *kernel;
  const float *a, *b;
  float *y;
  size_t m, k, n, y_stride;
} product_job;

static void product_body(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const product_job *j = context;
  size_t first = begin * COLUMNS, last = end * COLUMNS < j->n ? end * COLUMNS : j->n;
  j->kernel(j->a, j->k, j->b + first * j->k, j->k, j->k, j->y + first, j->y_stride, j->m, last - first);
}

void npuc_recurrent_product(const recurrence *r, const float *a, const float *b, int64_t m, int64_t k, int64_t n, float *y,
                            int64_t y_stride) {
  product_job job = {r->kernels->dot_f32, a, b, y, (size_t)m, (size_t)k, (size_t)n, (size_t)y_stride};
  size_t work = job.m * job.k * COLUMNS + 1, grain = 262144 / work + 1; /* some 10 us of work: less is not worth another thread */
  npuc_parallel_for(r->context->pool, (job.n + COLUMNS - 1) / COLUMNS, grain, product_body, &job);
}

/* -- memory -- */

typedef struct walk {
  recurrence r;
  const tensor *x, *w, *recurrent, *bias, *initial_h, *initial_c, *peephole;
  tensor *y, *y_h, *y_c;
  int64_t directions, run; /* steps per run */
  int64_t *lengths;
  float *rows, *wx; /* [run * batch, input], [run * batch, gates * hidden] */
  float *w_copy, *r_copy, *p_copy, *bias_sum, *inner;
  cell_step *step;
} walk;

typedef struct layout {
  char *at; /* NULL: only counted */
  size_t bytes;
  bool fits;
} layout;

static void *piece(layout *l, int64_t a, int64_t b, size_t each) {
  size_t n, bytes, total;
  l->fits = l->fits && !__builtin_mul_overflow((size_t)a, (size_t)b, &n) && !__builtin_mul_overflow(n, each, &bytes) &&
            !__builtin_add_overflow(bytes, (size_t)63, &bytes) && !__builtin_add_overflow(l->bytes, bytes / 64 * 64, &total);
  if (!l->fits) return NULL;
  void *p = l->at ? l->at + l->bytes : NULL;
  l->bytes = total;
  return p;
}

static void lay_out(walk *k, layout *l) {
  recurrence *r = &k->r;
  int64_t wide = r->gates * r->hidden, rows = k->run * r->batch;
  bool copies = k->w->type != DTYPE_F32;
  k->lengths = piece(l, r->batch, 1, sizeof(int64_t));
  k->rows = piece(l, rows, r->input, sizeof(float));
  k->wx = piece(l, rows, wide, sizeof(float));
  k->w_copy = piece(l, copies ? wide : 0, r->input, sizeof(float));
  k->r_copy = piece(l, copies ? wide : 0, r->hidden, sizeof(float));
  k->p_copy = piece(l, copies ? 3 : 0, r->hidden, sizeof(float));
  k->bias_sum = piece(l, wide, 1, sizeof(float));
  k->inner = piece(l, r->hidden, 1, sizeof(float));
  r->h = piece(l, r->batch, r->hidden, sizeof(float));
  r->cell = piece(l, r->batch, r->hidden, sizeof(float));
  r->recurrent = piece(l, r->batch, wide, sizeof(float));
  r->gate = piece(l, r->batch, wide, sizeof(float));
  r->spare = piece(l, r->batch, r->hidden, sizeof(float));
}

static npuc_status allocate(walk *k) {
  const eval_context *c = k->r.context;
  layout l = {.fits = true};
  lay_out(k, &l);
  if (!l.fits) {
    diag_place place = npuc_eval_place(c);
    return npuc_fail(c->d, NPUC_DIAG_E0602, &place, "the gates of one step are beyond 2^63 bytes");
  }
  void *memory;
  NPUC_TRY(npuc_eval_scratch(c, l.bytes + 64, &memory));
  l = (layout){.at = memory, .fits = true};
  lay_out(k, &l);
  return NPUC_OK;
}

/* -- one direction -- */

/* `count` floats of t from `first`: in place, or as a copy. */
static const float *floats(const tensor *t, int64_t first, int64_t count, float *copy) {
  if (t->type == DTYPE_F32) return (const float *)t->data + first;
  npuc_convert_to_f32(t, first, count, copy);
  return copy;
}

/* The state of direction d, sequence b: [D, B, H], or [B, D, H]. */
static int64_t state_at(const walk *k, int64_t d, int64_t b) {
  return (k->r.batch_first ? b * k->directions + d : d * k->r.batch + b) * k->r.hidden;
}

static void load_state(const walk *k, const tensor *from, int64_t d, float *to) {
  int64_t n = k->r.hidden;
  for (int64_t b = 0; b < k->r.batch; b++) {
    if (from) {
      npuc_convert_to_f32(from, state_at(k, d, b), n, to + b * n);
    } else {
      memset(to + b * n, 0, (size_t)n * sizeof *to);
    }
  }
}

static void store_state(const walk *k, const float *from, int64_t d, tensor *to) {
  for (int64_t b = 0; to && b < k->r.batch; b++) npuc_convert_from_f32(from + b * k->r.hidden, k->r.hidden, to, state_at(k, d, b));
}

/* Wb + Rb, but for GRU's inner product of h with linear_before_reset, whose Rb comes before the gate. */
static void load_bias(walk *k, int64_t d) {
  recurrence *r = &k->r;
  int64_t wide = r->gates * r->hidden, first = d * 2 * wide;
  memset(k->bias_sum, 0, (size_t)wide * sizeof(float));
  memset(k->inner, 0, (size_t)r->hidden * sizeof(float));
  for (int64_t i = 0; k->bias && i < wide; i++) {
    float of_w, of_r;
    npuc_convert_to_f32(k->bias, first + i, 1, &of_w);
    npuc_convert_to_f32(k->bias, first + wide + i, 1, &of_r);
    bool inner = node_is(r->context->node, OP_GRU) && r->a->linear_before_reset && i >= 2 * r->hidden;
    if (inner) k->inner[i - 2 * r->hidden] = of_r;
    k->bias_sum[i] = inner ? of_w : of_w + of_r;
  }
  r->bias = k->bias_sum;
  r->inner_bias = k->inner;
}

/* Element of sequence b that is read in this step. */
static int64_t time_of(const walk *k, int64_t b, int64_t step, bool reverse) { return reverse ? k->lengths[b] - 1 - step : step; }

/* The rows of X of `count` steps from `first`; those of sequences that are over are 0. */
static void gather_rows(const walk *k, int64_t first, int64_t count, bool reverse) {
  const recurrence *r = &k->r;
  for (int64_t s = 0; s < count; s++) {
    for (int64_t b = 0; b < r->batch; b++) {
      float *row = k->rows + (s * r->batch + b) * r->input;
      if (first + s >= k->lengths[b]) {
        memset(row, 0, (size_t)r->input * sizeof *row);
        continue;
      }
      int64_t t = time_of(k, b, first + s, reverse);
      npuc_convert_to_f32(k->x, (r->batch_first ? b * r->steps + t : t * r->batch + b) * r->input, r->input, row);
    }
  }
}

/* Y of one step; where a sequence is over it is 0 at the step's own place. */
static void store_step(const walk *k, int64_t d, bool reverse) {
  const recurrence *r = &k->r;
  for (int64_t b = 0; k->y && b < r->batch; b++) {
    int64_t t = runs(r, b) ? time_of(k, b, r->step, reverse) : r->step;
    int64_t row = r->batch_first ? (b * r->steps + t) * k->directions + d : (t * k->directions + d) * r->batch + b;
    if (!runs(r, b)) memset(r->spare, 0, (size_t)r->hidden * sizeof(float));
    npuc_convert_from_f32(runs(r, b) ? r->h + b * r->hidden : r->spare, r->hidden, k->y, row * r->hidden);
  }
}

static void run_direction(walk *k, int64_t d, bool reverse) {
  recurrence *r = &k->r;
  int64_t wide = r->gates * r->hidden;
  r->w = floats(k->w, d * wide * r->input, wide * r->input, k->w_copy);
  r->r = floats(k->recurrent, d * wide * r->hidden, wide * r->hidden, k->r_copy);
  r->peephole = k->peephole ? floats(k->peephole, d * 3 * r->hidden, 3 * r->hidden, k->p_copy) : NULL;
  load_bias(k, d);
  load_state(k, k->initial_h, d, r->h);
  load_state(k, k->initial_c, d, r->cell);
  for (int64_t first = 0; first < r->steps; first += k->run) {
    int64_t count = r->steps - first < k->run ? r->steps - first : k->run;
    gather_rows(k, first, count, reverse);
    npuc_recurrent_product(r, k->rows, r->w, count * r->batch, r->input, wide, k->wx, wide);
    for (int64_t s = 0; s < count; s++) {
      r->step = first + s;
      k->step(r, k->wx + s * r->batch * wide);
      store_step(k, d, reverse);
    }
  }
  store_state(k, r->h, d, k->y_h);
  store_state(k, r->cell, d, k->y_c);
}

static npuc_status read_lengths(walk *k, const tensor *given) {
  const recurrence *r = &k->r;
  for (int64_t b = 0; b < r->batch; b++) {
    k->lengths[b] = given ? npuc_tensor_get_int(given, b) : r->steps;
    if (k->lengths[b] >= 0 && k->lengths[b] <= r->steps) continue;
    diag_place place = npuc_eval_place(r->context);
    place.attribute = "sequence_lens";
    return npuc_fail(r->context->d, NPUC_DIAG_E0603, &place, "sequence %lld has length %lld; 0 to %lld steps are given", (long long)b,
                     (long long)k->lengths[b], (long long)r->steps);
  }
  return NPUC_OK;
}

static npuc_status run(const eval_context *c, const tensor *const *inputs, tensor *const *outputs, cell_step *step) {
  const recurrent_attributes *a = NPUC_ATTRS(recurrent_attributes, c->node);
  gate_activation activations[MOST_GATE_ACTIVATIONS];
  const tensor *x = inputs[0];
  walk k = {
      .r = {.context = c, .kernels = npuc_eval_kernels(c), .a = a, .gates = npuc_recurrent_gates(c->node), .batch_first = a->layout != 0},
      .x = x,
      .w = inputs[1],
      .recurrent = inputs[2],
      .bias = eval_input(c, inputs, 3),
      .initial_h = eval_input(c, inputs, 5),
      .initial_c = eval_input(c, inputs, 6),
      .peephole = eval_input(c, inputs, 7),
      .y = eval_wants(c, outputs, 0) ? outputs[0] : NULL,
      .y_h = eval_wants(c, outputs, 1) ? outputs[1] : NULL,
      .y_c = eval_wants(c, outputs, 2) ? outputs[2] : NULL,
      .directions = npuc_recurrent_directions(c->node),
      .step = step};
  if (x->type != DTYPE_F32 && x->type != DTYPE_F16 && x->type != DTYPE_BF16) return npuc_eval_unsupported(c, x->type);
  recurrence *r = &k.r;
  r->steps = x->shape.dims[r->batch_first ? 1 : 0];
  r->batch = x->shape.dims[r->batch_first ? 0 : 1];
  r->input = x->shape.dims[2];
  r->hidden = k.recurrent->shape.dims[2];
  if (r->batch == 0 || r->hidden == 0) return NPUC_OK;
  k.run = RUN_ROWS / r->batch > 1 ? RUN_ROWS / r->batch : 1;
  if (k.run > r->steps) k.run = r->steps;
  NPUC_TRY(npuc_recurrent_activations(c->d, c->node, activations));
  NPUC_TRY(allocate(&k));
  NPUC_TRY(read_lengths(&k, eval_input(c, inputs, 4)));
  r->lengths = k.lengths;
  for (int64_t d = 0; d < k.directions; d++) {
    r->activations = activations + d * npuc_recurrent_functions(c->node);
    run_direction(&k, d, d == 1 || strcmp(a->direction, "reverse") == 0);
  }
  return NPUC_OK;
}

npuc_status npuc_eval_rnn(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return run(c, inputs, outputs, npuc_rnn_step);
}
npuc_status npuc_eval_gru(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return run(c, inputs, outputs, npuc_gru_step);
}
npuc_status npuc_eval_lstm(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return run(c, inputs, outputs, npuc_lstm_step);
}
