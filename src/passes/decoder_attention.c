/* SPDX-License-Identifier: Apache-2.0 */
/* Attention (ONNX 23 and later) over a growing cache: with the cache as its operands past_key and past_value, or with keys and values that hold it already. Both become Attention over the whole
 * buffer, causal, with position + C keys; mask, window and soft cap stay as they are. */
#include "ir/ops/support.h"
#include "passes/decoder.h"

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, NONPAD };

static npuc_status refuse(decoder *x, const node *n, const char *reason) {
  return npuc_op_fail(x->c->d, n, NPUC_DIAG_E0530, NULL, "%s", reason);
}

static value *operand(const node *n, int32_t i) { return i < n->n_inputs ? n->inputs[i] : NULL; }
static bool wants(const node *n, int32_t i) {
  return i < n->n_outputs && n->outputs[i] && (n->outputs[i]->n_uses || n->outputs[i]->is_output);
}

/* [1, heads, rows, size]: axis 2 is checked to be `at0` + P long. */
static bool rows_are(const decoder *x, const value *v, int64_t at0, int64_t step) {
  line l;
  return v && npuc_decoder_rank(x, v) == 4 && npuc_decoder_axis(x, v, 2, &l) && l.at0 == at0 && l.step == step;
}

static value *extend(decoder *x, node *n, int32_t past, int32_t fresh, int32_t present) {
  value *y = npuc_decoder_write(x, n, npuc_decoder_now(x, n->inputs[past]), npuc_decoder_now(x, n->inputs[fresh]), 2, 0, 1);
  if (present < n->n_outputs && n->outputs[present]) {
    value *out = n->outputs[present];
    x->now[out->id] = y;
    x->origin[out->id] = x->origin[n->inputs[past]->id];
    x->extended[out->id] = true;
  }
  return y;
}

static npuc_status check(decoder *x, const node *n) {
  bool past = operand(n, PAST_KEY) != NULL;
  int64_t at0 = past ? 0 : x->chunk;
  const value *keys = operand(n, past ? PAST_KEY : K), *values = operand(n, past ? PAST_VALUE : V), *mask = operand(n, MASK);
  if (!rows_are(x, keys, at0, 1) || !rows_are(x, values, at0, 1) || !rows_are(x, n->inputs[Q], x->chunk, 0))
    return refuse(x, n, "operands [batch, heads, rows, size] with the cache's rows, or those and the new ones, are wanted");
  if (past && (!rows_are(x, n->inputs[K], x->chunk, 0) || !rows_are(x, n->inputs[V], x->chunk, 0)))
    return refuse(x, n, "behind its past stands something else than one row a token");
  if (operand(n, NONPAD)) return refuse(x, n, "its cache has a fixed length already");
  if (!past && NPUC_ATTRS(attention_attributes, n)->is_causal)
    return refuse(x, n, "causal without a past: its first row sees the first key only, whatever the cache holds");
  if (!past && (NPUC_ATTRS(attention_attributes, n)->left_window_size >= 0 || NPUC_ATTRS(attention_attributes, n)->right_window_size >= 0))
    return refuse(x, n, "a window without a past: it is counted from the first key, whatever the cache holds");
  if (wants(n, 3)) return refuse(x, n, "its scores are read");
  line keys_of_mask;
  int32_t rank = mask ? npuc_decoder_rank(x, mask) : 0;
  if (rank && (!npuc_decoder_axis(x, mask, rank - 1, &keys_of_mask) || (keys_of_mask.step && keys_of_mask.at0 != x->chunk)))
    return refuse(x, n, "its mask's keys are not the cache and the new tokens");
  return NPUC_OK;
}

npuc_status npuc_decoder_attention(decoder *x, node *n) {
  NPUC_TRY(check(x, n));
  bool past = operand(n, PAST_KEY) != NULL;
  value *in[NONPAD + 1] = {npuc_decoder_now(x, n->inputs[Q])};
  in[K] = past ? extend(x, n, PAST_KEY, K, 1) : npuc_decoder_now(x, n->inputs[K]);
  in[V] = past ? extend(x, n, PAST_VALUE, V, 2) : npuc_decoder_now(x, n->inputs[V]);
  in[MASK] = npuc_decoder_now(x, operand(n, MASK));
  in[NONPAD] = x->filled;
  value *y = npuc_decoder_emit(x, n, n->name, OP_ATTENTION, in, NONPAD + 1);
  attention_attributes *a = NPUC_ATTRS(attention_attributes, y->producer);
  *a = *NPUC_ATTRS(attention_attributes, n);
  a->is_causal = 1;
  x->now[n->outputs[0]->id] = y;
  return NPUC_OK;
}
