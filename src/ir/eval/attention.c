/* SPDX-License-Identifier: Apache-2.0 */
/* Attention, RotaryEmbedding, LinearAttention, CausalConvWithState, SwiGLU: the definitions, in double, rounded once at the output. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "ir/eval/eval.h"
#include "kernels/convert.h"

static npuc_status check_float(const eval_context *c, const tensor *t) {
  return npuc_dtype_kind(t->type) == KIND_FLOAT ? NPUC_OK : npuc_eval_unsupported(c, t->type);
}

/* Heads of a tensor: [B, H, S, D], or [B, S, H*D]. */
typedef struct heads {
  const tensor *t;
  int64_t batch, count, length, size;
  int64_t batch_step, head_step, row_step;
} heads;

static heads heads_of(const tensor *t, int64_t count) {
  const int64_t *d = t->shape.dims;
  if (t->shape.rank == 4) return (heads){t, d[0], d[1], d[2], d[3], d[1] * d[2] * d[3], d[2] * d[3], d[3]};
  int64_t size = count ? d[2] / count : 0;
  return (heads){t, d[0], count, d[1], size, d[1] * d[2], size, d[2]};
}

static int64_t row_at(const heads *h, int64_t b, int64_t head, int64_t row) {
  return b * h->batch_step + head * h->head_step + row * h->row_step;
}

/* -- Attention -- */

typedef struct attention {
  const attention_attributes *a;
  heads q, k, v, past_k, past_v; /* past: t NULL when absent */
  const tensor *mask, *valid;
  tensor *y, *logits; /* logits may be NULL */
  heads out;
  int64_t total; /* keys */
  double scale;
  double *rows; /* [workers, total] */
} attention;

static int64_t past_length(const attention *j) { return j->past_k.t ? j->past_k.length : 0; }

/* Row `key` of the keys or values with the past before them. */
static const tensor *joined_row(const heads *past, const heads *now, int64_t b, int64_t head, int64_t key, int64_t *out_first) {
  int64_t n = past->t ? past->length : 0;
  const heads *h = key < n ? past : now;
  *out_first = row_at(h, b, head, key < n ? key : key - n);
  return h->t;
}

/* What the mask adds at (b, head, row, key); a mask that is too short is -infinity there. */
static double mask_at(const attention *j, int64_t b, int64_t head, int64_t row, int64_t key) {
  const shape *s = &j->mask->shape;
  int64_t at[4] = {b, head, row, key}, offset = 0;
  if (s->rank > 0 && s->dims[s->rank - 1] != 1 && key >= s->dims[s->rank - 1]) return -(double)INFINITY;
  for (int32_t i = 0; i < s->rank; i++) offset = offset * s->dims[i] + (s->dims[i] == 1 ? 0 : at[4 - s->rank + i]);
  if (j->mask->type == DTYPE_BOOL) return npuc_tensor_get_int(j->mask, offset) ? 0.0 : -(double)INFINITY;
  return npuc_tensor_get(j->mask, offset);
}

static bool is_seen(const attention *j, int64_t b, int64_t row, int64_t key) {
  int64_t valid = j->valid ? npuc_tensor_get_int(j->valid, b) : j->total;
  int64_t place = row + (j->past_k.t ? past_length(j) : j->valid ? valid - j->q.length : 0);
  if (j->valid && key >= valid) return false;
  if (j->a->is_causal && key > place) return false;
  if (j->a->left_window_size >= 0 && key < place - j->a->left_window_size) return false;
  return j->a->right_window_size < 0 || key <= place + j->a->right_window_size;
}

static void softmax(double *row, int64_t n) {
  double most = -(double)INFINITY, sum = 0.0;
  for (int64_t i = 0; i < n; i++) most = row[i] > most || row[i] != row[i] ? row[i] : most;
  if (most == -(double)INFINITY) { /* a row that sees nothing is 0 */
    for (int64_t i = 0; i < n; i++) row[i] = 0.0;
    return;
  }
  for (int64_t i = 0; i < n; i++) sum += row[i] = exp(row[i] - most);
  for (int64_t i = 0; i < n; i++) row[i] /= sum;
}

static void keep(const attention *j, const double *row, int64_t index, int64_t mode) {
  if (j->logits && j->a->qk_matmul_output_mode == mode) npuc_convert_from_f64(row, j->total, j->logits, index * j->total);
}

static void attend(const attention *j, double *row, int64_t b, int64_t head, int64_t query) {
  int64_t group = j->q.count / j->k.count, kv = head / group, index = (b * j->q.count + head) * j->q.length + query;
  int64_t q = row_at(&j->q, b, head, query), first;
  for (int64_t key = 0; key < j->total; key++) {
    const tensor *k = joined_row(&j->past_k, &j->k, b, kv, key, &first);
    double sum = 0.0;
    for (int64_t i = 0; i < j->q.size; i++) sum += npuc_tensor_get(j->q.t, q + i) * npuc_tensor_get(k, first + i);
    row[key] = sum * j->scale;
  }
  keep(j, row, index, 0);
  double cap = (double)j->a->softcap;
  for (int64_t key = 0; cap > 0.0 && key < j->total; key++) row[key] = cap * tanh(row[key] / cap);
  keep(j, row, index, 1);
  for (int64_t key = 0; key < j->total; key++) {
    if (j->mask) row[key] += mask_at(j, b, head, query, key);
    if (!is_seen(j, b, query, key)) row[key] = -(double)INFINITY;
  }
  keep(j, row, index, 2);
  softmax(row, j->total);
  keep(j, row, index, 3);
  int64_t to = row_at(&j->out, b, head, query);
  for (int64_t i = 0; i < j->v.size; i++) {
    double sum = 0.0;
    for (int64_t key = 0; key < j->total; key++) {
      if (row[key] == 0.0) continue; /* what is not seen may hold anything */
      const tensor *v = joined_row(&j->past_v, &j->v, b, kv, key, &first);
      sum += row[key] * npuc_tensor_get(v, first + i);
    }
    npuc_convert_from_f64(&sum, 1, j->y, to + i);
  }
}

static void attention_body(void *context, size_t begin, size_t end, size_t worker) {
  const attention *j = context;
  for (int64_t u = (int64_t)begin; u < (int64_t)end; u++) {
    int64_t query = u % j->q.length, head = u / j->q.length % j->q.count;
    attend(j, j->rows + (int64_t)worker * j->total, u / j->q.length / j->q.count, head, query);
  }
}

/* present = past and now, [B, H, total, D]. */
static void join_cache(const heads *past, const heads *now, tensor *out) {
  int64_t total = out->shape.dims[2], first, at = 0;
  size_t bytes = (size_t)now->size * npuc_dtype_bits(out->type) / 8;
  for (int64_t row = 0; bytes && row < now->batch * now->count * total; row++, at++) {
    const tensor *t = joined_row(past, now, row / total / now->count, row / total % now->count, row % total, &first);
    memcpy((char *)out->data + (size_t)at * bytes, (const char *)t->data + (size_t)first * npuc_dtype_bits(t->type) / 8, bytes);
  }
}

npuc_status npuc_eval_attention(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const attention_attributes *a = NPUC_ATTRS(attention_attributes, c->node);
  const tensor *past_k = eval_input(c, inputs, 4), *past_v = eval_input(c, inputs, 5);
  attention j = {.a = a, .mask = eval_input(c, inputs, 3), .valid = eval_input(c, inputs, 6), .y = outputs[0]};
  for (int32_t i = 0; i < 3; i++) NPUC_TRY(check_float(c, inputs[i]));
  j.q = heads_of(inputs[0], a->q_num_heads);
  j.k = heads_of(inputs[1], a->kv_num_heads);
  j.v = heads_of(inputs[2], a->kv_num_heads);
  if (past_k) j.past_k = heads_of(past_k, 0);
  if (past_v) j.past_v = heads_of(past_v, 0);
  j.out = heads_of(outputs[0], j.q.count);
  j.total = past_length(&j) + j.k.length;
  j.scale = a->scale == ABSENT_FLOAT ? 1.0 / sqrt((double)j.q.size) : (double)a->scale;
  j.logits = eval_wants(c, outputs, 3) ? outputs[3] : NULL;
  void *memory;
  NPUC_TRY(npuc_eval_scratch(c, (size_t)j.total * npuc_pool_threads(c->pool) * sizeof(double) + 64, &memory));
  j.rows = memory;
  npuc_parallel_for(c->pool, (size_t)(j.q.batch * j.q.count * j.q.length), 1, attention_body, &j);
  if (eval_wants(c, outputs, 1)) join_cache(&j.past_k, &j.k, outputs[1]);
  if (eval_wants(c, outputs, 2)) join_cache(&j.past_v, &j.v, outputs[2]);
  return NPUC_OK;
}

/* -- RotaryEmbedding -- */

npuc_status npuc_eval_rotaryembedding(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const rotary_attributes *a = NPUC_ATTRS(rotary_attributes, c->node);
  const tensor *cosines = inputs[1], *sines = inputs[2], *positions = eval_input(c, inputs, 3);
  NPUC_TRY(check_float(c, inputs[0]));
  heads x = heads_of(inputs[0], a->num_heads);
  int64_t turned = a->rotary_embedding_dim ? a->rotary_embedding_dim : x.size, half = turned / 2,
          width = cosines->shape.dims[cosines->shape.rank - 1];
  npuc_eval_copy(inputs[0], outputs[0]);
  for (int64_t u = 0; u < x.batch * x.count * x.length; u++) {
    int64_t row = u % x.length, b = u / x.length / x.count, first = row_at(&x, b, u / x.length % x.count, row);
    int64_t place = positions ? npuc_tensor_get_int(positions, b * x.length + row) : b * x.length + row;
    if (place < 0 || (place + 1) * width > npuc_tensor_elements(cosines)) {
      diag_place at = npuc_eval_place(c);
      return npuc_fail(c->d, NPUC_DIAG_E0603, &at, "position %lld is outside of the caches", (long long)place);
    }
    for (int64_t i = 0; i < half; i++) {
      int64_t p = first + (a->interleaved ? 2 * i : i), q = first + (a->interleaved ? 2 * i + 1 : i + half);
      double cosine = npuc_tensor_get(cosines, place * width + i), sine = npuc_tensor_get(sines, place * width + i);
      double u0 = npuc_tensor_get(inputs[0], p), u1 = npuc_tensor_get(inputs[0], q);
      npuc_tensor_set(outputs[0], p, u0 * cosine - u1 * sine);
      npuc_tensor_set(outputs[0], q, u0 * sine + u1 * cosine);
    }
  }
  return NPUC_OK;
}

/* -- LinearAttention: a state [d_k, d_v] per head, decayed, corrected, written and read at each step -- */

typedef struct linear {
  heads q, k, v;
  const tensor *decay, *beta;
  double scale;
  double *state, *value; /* [d_k, d_v], [d_v] */
} linear;

/* Broadcast over heads, and over the key's elements. */
static double gate_at(const tensor *t, const linear *l, int64_t b, int64_t step, int64_t head, int64_t i) {
  int64_t width = t->shape.dims[2], first = (b * l->k.length + step) * width;
  return npuc_tensor_get(t, first + (width == 1 ? 0 : width == l->k.count ? head : head * l->k.size + i));
}

static void linear_step(const linear *l, int64_t b, int64_t head, int64_t step) {
  int64_t k = row_at(&l->k, b, head, step), v = row_at(&l->v, b, head, step), n = l->v.size;
  for (int64_t i = 0; l->decay && i < l->k.size; i++) {
    double factor = exp(gate_at(l->decay, l, b, step, head, i));
    for (int64_t m = 0; m < n; m++) l->state[i * n + m] *= factor;
  }
  for (int64_t m = 0; m < n; m++) {
    double fresh = npuc_tensor_get(l->v.t, v + m), known = 0.0;
    for (int64_t i = 0; l->beta && i < l->k.size; i++) known += l->state[i * n + m] * npuc_tensor_get(l->k.t, k + i);
    l->value[m] = l->beta ? gate_at(l->beta, l, b, step, head, 0) * (fresh - known) : fresh;
  }
  for (int64_t i = 0; i < l->k.size; i++) {
    double key = npuc_tensor_get(l->k.t, k + i);
    for (int64_t m = 0; m < n; m++) l->state[i * n + m] += key * l->value[m];
  }
}

static void linear_read(const linear *l, int64_t b, int64_t head, int64_t step, tensor *y) {
  int64_t q = row_at(&l->q, b, head, step), n = l->v.size, to = ((b * l->q.length + step) * l->q.count + head) * n;
  for (int64_t m = 0; m < n; m++) {
    double sum = 0.0;
    for (int64_t i = 0; i < l->k.size; i++) sum += npuc_tensor_get(l->q.t, q + i) * l->state[i * n + m];
    npuc_tensor_set(y, to + m, l->scale * sum);
  }
}

npuc_status npuc_eval_linearattention(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const linearattention_attributes *a = NPUC_ATTRS(linearattention_attributes, c->node);
  const tensor *past = eval_input(c, inputs, 3);
  linear l = {heads_of(inputs[0], a->q_num_heads),
              heads_of(inputs[1], a->kv_num_heads),
              heads_of(inputs[2], a->kv_num_heads),
              eval_input(c, inputs, 4),
              eval_input(c, inputs, 5),
              (double)a->scale,
              NULL,
              NULL};
  for (int32_t i = 0; i < 3; i++) NPUC_TRY(check_float(c, inputs[i]));
  if (l.scale == 0.0) l.scale = 1.0 / sqrt((double)l.k.size);
  assert(l.k.count > 0); /* the verifier */
  int64_t n = l.k.size * l.v.size, group = l.q.count / l.k.count;
  void *memory;
  NPUC_TRY(npuc_eval_scratch(c, (size_t)(n + l.v.size) * sizeof(double) + 64, &memory));
  l.state = memory;
  l.value = l.state + n;
  for (int64_t u = 0; u < l.k.batch * l.k.count; u++) {
    int64_t b = u / l.k.count, head = u % l.k.count;
    for (int64_t i = 0; i < n; i++) l.state[i] = past ? npuc_tensor_get(past, u * n + i) : 0.0;
    for (int64_t step = 0; step < l.k.length; step++) {
      linear_step(&l, b, head, step);
      for (int64_t g = 0; g < group; g++) linear_read(&l, b, head * group + g, step, outputs[0]);
    }
    if (eval_wants(c, outputs, 1)) npuc_convert_from_f64(l.state, n, outputs[1], u * n);
  }
  return NPUC_OK;
}

/* -- CausalConvWithState -- */

/* Element t of the input with the k - 1 of the state before it. */
static double padded_at(const tensor *x, const tensor *past, int64_t row, int64_t k, int64_t t) {
  if (t >= k - 1) return npuc_tensor_get(x, row * x->shape.dims[2] + t - (k - 1));
  return past ? npuc_tensor_get(past, row * (k - 1) + t) : 0.0;
}

npuc_status npuc_eval_causalconvwithstate(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0], *w = inputs[1], *bias = eval_input(c, inputs, 2), *past = eval_input(c, inputs, 3);
  bool gated = strcmp(NPUC_ATTRS(activation_attributes, c->node)->activation, "none") != 0;
  int64_t channels = x->shape.dims[1], length = x->shape.dims[2], k = w->shape.dims[2];
  NPUC_TRY(check_float(c, x));
  for (int64_t row = 0; row < x->shape.dims[0] * channels; row++) {
    for (int64_t t = 0; t < length; t++) {
      double sum = bias ? npuc_tensor_get(bias, row % channels) : 0.0;
      for (int64_t i = 0; i < k; i++) sum += padded_at(x, past, row, k, t + i) * npuc_tensor_get(w, row % channels * k + i);
      npuc_tensor_set(outputs[0], row * length + t, gated ? sum / (1.0 + exp(-sum)) : sum);
    }
    for (int64_t i = 0; eval_wants(c, outputs, 1) && i < k - 1; i++)
      npuc_tensor_set(outputs[1], row * (k - 1) + i, padded_at(x, past, row, k, length + i));
  }
  return NPUC_OK;
}

/* -- SwiGLU -- */

npuc_status npuc_eval_swiglu(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  double alpha = (double)NPUC_ATTRS(alpha_attributes, c->node)->alpha;
  NPUC_TRY(check_float(c, inputs[0]));
  for (int64_t i = 0; i < npuc_tensor_elements(outputs[0]); i++) {
    double x = npuc_tensor_get(inputs[0], i), v = x / (1.0 + exp(-alpha * x)) * npuc_tensor_get(inputs[1], i);
    npuc_convert_from_f64(&v, 1, outputs[0], i);
  }
  return NPUC_OK;
}
