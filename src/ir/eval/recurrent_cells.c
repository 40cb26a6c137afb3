/* SPDX-License-Identifier: Apache-2.0 */
/* The cells: gates and states of one step. */
#include <math.h>

#include "ir/eval/recurrent.h"
#include "kernels/math_f32.h"

static float softplus(float x) { return (x > 0.0f ? x : 0.0f) + npuc_log_f32(1.0f + npuc_exp_f32(-fabsf(x))); }

/* The activations that have no kernel. */
static void plain(const gate_activation *f, float *v, size_t n) {
  for (size_t i = 0; i < n; i++) {
    float x = v[i];
    switch (f->function) {
      case GATE_THRESHOLDEDRELU:
        v[i] = x > f->alpha ? x : 0.0f;
        break;
      case GATE_SCALEDTANH:
        v[i] = f->alpha * npuc_tanh_f32(f->beta * x);
        break;
      case GATE_ELU:
        v[i] = x >= 0.0f ? x : f->alpha * (npuc_exp_f32(x) - 1.0f);
        break;
      case GATE_SOFTSIGN:
        v[i] = x / (1.0f + fabsf(x));
        break;
      default:
        v[i] = softplus(x);
        break;
    }
  }
}

static void activate(const recurrence *r, int which, float *v, size_t n) {
  const gate_activation *f = &r->activations[which];
  const kernel_set *k = r->kernels;
  if (r->a->clip != ABSENT_FLOAT) k->clip_f32(v, v, n, -r->a->clip, r->a->clip);
  switch (f->function) {
    case GATE_RELU:
      k->relu_f32(v, v, n, 0.0f, 0.0f);
      break;
    case GATE_TANH:
      k->tanh_f32(v, v, n, 0.0f, 0.0f);
      break;
    case GATE_SIGMOID:
      k->sigmoid_f32(v, v, n, 0.0f, 0.0f);
      break;
    case GATE_AFFINE:
      k->affine_f32(v, v, n, f->alpha, f->beta);
      break;
    case GATE_LEAKYRELU:
      k->leakyrelu_f32(v, v, n, f->alpha, 0.0f);
      break;
    case GATE_HARDSIGMOID:
      k->hardsigmoid_f32(v, v, n, f->alpha, f->beta);
      break;
    default:
      plain(f, v, n);
      break;
  }
}

static void add(const recurrence *r, const float *a, const float *b, float *y, size_t n) { r->kernels->add_f32(a, 1, b, 1, y, n); }
static void mul(const recurrence *r, const float *a, const float *b, float *y, size_t n) { r->kernels->mul_f32(a, 1, b, 1, y, n); }

/* v += p * c */
static void peep(const recurrence *r, const float *p, const float *c, float *v, size_t n) {
  mul(r, p, c, r->spare, n);
  add(r, v, r->spare, v, n);
}

/* Row b of the gates: W x + R h + bias over n of its elements from `first`. */
static float *sum_gates(const recurrence *r, const float *wx, int64_t b, size_t first, size_t n) {
  size_t at = (size_t)(b * r->gates * r->hidden) + first;
  float *g = r->gate + at;
  add(r, wx + at, r->recurrent + at, g, n);
  add(r, g, r->bias + first, g, n);
  return g;
}

void npuc_rnn_step(recurrence *r, const float *wx) {
  size_t n = (size_t)r->hidden;
  npuc_recurrent_product(r, r->h, r->r, r->batch, r->hidden, r->hidden, r->recurrent, r->hidden);
  for (int64_t b = 0; b < r->batch; b++) {
    if (!runs(r, b)) continue;
    float *g = sum_gates(r, wx, b, 0, n), *h = r->h + b * r->hidden;
    activate(r, 0, g, n);
    for (size_t i = 0; i < n; i++) h[i] = g[i];
  }
}

void npuc_lstm_step(recurrence *r, const float *wx) {
  size_t n = (size_t)r->hidden;
  const float one = 1.0f;
  npuc_recurrent_product(r, r->h, r->r, r->batch, r->hidden, 4 * r->hidden, r->recurrent, 4 * r->hidden);
  for (int64_t b = 0; b < r->batch; b++) {
    if (!runs(r, b)) continue;
    float *in = sum_gates(r, wx, b, 0, 4 * n), *out = in + n, *forget = out + n, *fresh = forget + n;
    float *h = r->h + b * r->hidden, *cell = r->cell + b * r->hidden;
    if (r->peephole) peep(r, r->peephole, cell, in, n);
    activate(r, 0, in, n);
    if (r->a->input_forget) {
      r->kernels->sub_f32(&one, 0, in, 1, forget, n);
    } else {
      if (r->peephole) peep(r, r->peephole + 2 * n, cell, forget, n);
      activate(r, 0, forget, n);
    }
    activate(r, 1, fresh, n);
    mul(r, forget, cell, cell, n);
    mul(r, in, fresh, fresh, n);
    add(r, cell, fresh, cell, n);
    if (r->peephole) peep(r, r->peephole + n, cell, out, n);
    activate(r, 0, out, n);
    for (size_t i = 0; i < n; i++) fresh[i] = cell[i];
    activate(r, 2, fresh, n);
    mul(r, out, fresh, h, n);
  }
}

/* h of gate row b is W x + R (r * H), or W x + r * (R H + Rb). */
static void gru_candidate(recurrence *r, const float *wx, int64_t b, size_t n) {
  float *g = r->gate + b * 3 * r->hidden, *fresh = g + 2 * n, *product = r->recurrent + b * 3 * r->hidden + 2 * (int64_t)n;
  const float *from_x = wx + b * 3 * r->hidden + 2 * (int64_t)n;
  if (r->a->linear_before_reset) {
    add(r, product, r->inner_bias, product, n);
    mul(r, g + n, product, product, n);
  }
  add(r, from_x, product, fresh, n);
  add(r, fresh, r->bias + 2 * n, fresh, n);
  activate(r, 1, fresh, n);
}

void npuc_gru_step(recurrence *r, const float *wx) {
  size_t n = (size_t)r->hidden;
  const float one = 1.0f;
  int64_t before = r->a->linear_before_reset ? 3 : 2;
  npuc_recurrent_product(r, r->h, r->r, r->batch, r->hidden, before * r->hidden, r->recurrent, 3 * r->hidden);
  for (int64_t b = 0; b < r->batch; b++) {
    float *g = sum_gates(r, wx, b, 0, 2 * n);
    activate(r, 0, g, 2 * n);
    if (!r->a->linear_before_reset) mul(r, g + n, r->h + b * r->hidden, r->spare + b * r->hidden, n);
  }
  if (!r->a->linear_before_reset) {
    npuc_recurrent_product(r, r->spare, r->r + 2 * r->hidden * r->hidden, r->batch, r->hidden, r->hidden, r->recurrent + 2 * r->hidden,
                           3 * r->hidden);
  }
  for (int64_t b = 0; b < r->batch; b++) {
    if (!runs(r, b)) continue;
    float *update = r->gate + b * 3 * r->hidden, *fresh = update + 2 * n, *h = r->h + b * r->hidden;
    gru_candidate(r, wx, b, n);
    mul(r, update, h, h, n);
    r->kernels->sub_f32(&one, 0, update, 1, update, n);
    mul(r, update, fresh, fresh, n);
    add(r, fresh, h, h, n);
  }
}
