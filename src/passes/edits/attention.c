/* SPDX-License-Identifier: Apache-2.0 */
/* replace-group-query-attention: Attention (GroupQueryAttention and MultiHeadAttention before import) in primitives, the past in front of keys and values by Concat along the sequence, fewer heads
 * of keys repeated by Unsqueeze, Expand, Reshape. What the node does beyond that (lengths as an input, windows, boolean masks, inner results) stays as it is. */
#include <math.h>
#include <string.h>

#include "passes/edits/build.h"

enum { Y, MASK = 3, PAST_KEY = 4, PAST_VALUE = 5 };

typedef struct heads {
  int64_t batch, count, length, size;
} heads;

static const value *operand(const node *n, int32_t i) { return i < n->n_inputs ? n->inputs[i] : NULL; }

/* Of [B, H, S, D], or [B, S, H D] with the attribute's H. */
static bool heads_of(const value *v, int64_t count, heads *out) {
  const dim *d = v->shape.dims;
  if (!npuc_edit_is_static(v) || (v->shape.rank != 4 && v->shape.rank != 3)) return false;
  if (v->shape.rank == 4) *out = (heads){d[0], d[1], d[2], d[3]};
  if (v->shape.rank == 3) *out = (heads){d[0], count, d[1], count > 0 ? d[2] / count : 0};
  return out->count > 0 && out->size > 0;
}

static bool sizes(const node *n, heads *q, heads *k, heads *v) {
  const attention_attributes *a = NPUC_ATTRS(attention_attributes, n);
  return heads_of(n->inputs[0], a->q_num_heads, q) && heads_of(n->inputs[1], a->kv_num_heads, k) &&
         heads_of(n->inputs[2], a->kv_num_heads, v) && q->count % k->count == 0;
}

static bool is_asked(const void *parameters, const char *name, int64_t number) {
  int64_t wanted = npuc_edit_int(parameters, name);
  return wanted == 0 || wanted == number;
}

static bool is_plain_attention(const match *m) {
  const node *n = m->root;
  const attention_attributes *a = NPUC_ATTRS(attention_attributes, n);
  heads q, k, v;
  if (!n->outputs[0] || !npuc_is_wide_float(n->inputs[0]) || !sizes(n, &q, &k, &v)) return false;
  if (a->left_window_size >= 0 || a->right_window_size >= 0 || operand(n, 6) || (n->n_outputs > 3 && n->outputs[3])) return false;
  const value *mask = operand(n, MASK), *past = operand(n, PAST_KEY);
  if (mask && (mask->type != n->inputs[0]->type || !npuc_edit_is_static(mask))) return false;
  if (!past != !operand(n, PAST_VALUE) || (past && !npuc_edit_is_static(past))) return false;
  if (mask && mask->shape.dims[mask->shape.rank - 1] != k.length + (past ? past->shape.dims[2] : 0)) return false;
  return is_asked(m->parameters, "num_heads", q.count) && is_asked(m->parameters, "kv_heads", k.count) &&
         is_asked(m->parameters, "head_dim", q.size);
}

static value *apart(rewriter *r, value *v, const heads *h) {
  if (v->shape.rank == 4) return v;
  return npuc_edit_transpose(r, npuc_edit_reshape(r, v, (int64_t[]){h->batch, h->length, h->count, h->size}, 4), (int64_t[]){0, 2, 1, 3},
                             4);
}

/* The past in front; the node's output for it, where there is one, is the result. */
static value *joined(rewriter *r, const match *m, value *now, int32_t past, int32_t output, int64_t *length) {
  value *before = past < m->root->n_inputs ? m->root->inputs[past] : NULL;
  if (before) {
    now = npuc_edit_concat(r, (value *[]){before, now}, 2, -2);
    *length += before->shape.dims[2];
  }
  if (output < m->root->n_outputs && m->root->outputs[output]) npuc_rewrite_replace(r, m->root->outputs[output], now);
  return now;
}

static value *repeated(rewriter *r, value *x, const heads *h, int64_t length, int64_t times) {
  if (times == 1) return x;
  shape wide = {.rank = 5, .dims = {h->batch, h->count, times, length, h->size}};
  value *tall = npuc_edit_unsqueeze(r, x, 2);
  return npuc_edit_reshape(r, npuc_edit_expand(r, tall, &wide), (int64_t[]){h->batch, h->count * times, length, h->size}, 4);
}

/* 0 where key <= query + past, else -infinity: [S, L]. */
static value *causal_mask(rewriter *r, dtype type, int64_t rows, int64_t keys, int64_t past) {
  tensor t;
  r->status = npuc_tensor_create(r->d, type, &(shape){.rank = 2, .dims = {rows, keys}}, &t);
  if (r->status != NPUC_OK) return NULL;
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t k = i + past + 1; k < keys; k++) npuc_tensor_set(&t, i * keys + k, -(double)INFINITY);
  }
  return npuc_edit_tensor(r, "causal", &t);
}

static value *scores(rewriter *r, const match *m, value *q, value *k, const heads *h, int64_t keys, int64_t past) {
  const attention_attributes *a = NPUC_ATTRS(attention_attributes, m->root);
  dtype type = m->root->inputs[0]->type;
  double scale = a->scale != ABSENT_FLOAT ? (double)a->scale : 1.0 / sqrt((double)h->size);
  value *s = MAKE(r, OP_MATMUL, MAKE(r, OP_MUL, q, npuc_edit_scalar(r, "scale", type, scale)),
                  npuc_edit_transpose(r, k, (int64_t[]){0, 1, 3, 2}, 4));
  if (a->softcap > 0.0f) {
    value *cap = npuc_edit_scalar(r, "softcap", type, (double)a->softcap);
    s = MAKE(r, OP_MUL, MAKE(r, OP_TANH, MAKE(r, OP_DIV, s, cap)), cap);
  }
  if (operand(m->root, MASK)) s = MAKE(r, OP_ADD, s, m->root->inputs[MASK]);
  return a->is_causal ? MAKE(r, OP_ADD, s, causal_mask(r, type, h->length, keys, past)) : s;
}

static void attention_apart(rewriter *r, const match *m) {
  const node *n = m->root;
  heads q, k, v;
  if (!sizes(n, &q, &k, &v)) return;
  int64_t key_length = k.length, value_length = v.length;
  value *query = apart(r, n->inputs[0], &q);
  value *key = joined(r, m, apart(r, n->inputs[1], &k), PAST_KEY, 1, &key_length);
  value *val = joined(r, m, apart(r, n->inputs[2], &v), PAST_VALUE, 2, &value_length);
  key = repeated(r, key, &k, key_length, q.count / k.count);
  val = repeated(r, val, &v, value_length, q.count / v.count);
  value *p = MAKE(r, OP_SOFTMAX, scores(r, m, query, key, &q, key_length, key_length - k.length));
  if (!p) return;
  npuc_node_rename(p->producer, npuc_graph_unique_name(r->graph, npuc_arena_printf(r->scratch, "%s/self_attn/Softmax", n->name)));
  value *y = MAKE(r, OP_MATMUL, p, val);
  if (n->inputs[0]->shape.rank == 3)
    y = npuc_edit_reshape(r, npuc_edit_transpose(r, y, (int64_t[]){0, 2, 1, 3}, 4), (int64_t[]){q.batch, q.length, q.count * v.size}, 3);
  npuc_edit_done(r, m, y);
}

static const pattern attention = {
    .name = "attention-apart",
    .doc = "Attention(q, k, v) -> MatMul(Softmax(MatMul(q * scale, k^T) + mask), v), heads of k and v repeated, the past in front of them",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_ATTENTION, Y, REST),
    .where = is_plain_attention,
    .rewrite = attention_apart,
};
static const pattern *const patterns[] = {&attention};
PATTERN_SET(npuc_edit_replace_group_query_attention_patterns, patterns);
