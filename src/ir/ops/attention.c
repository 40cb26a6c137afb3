/* SPDX-License-Identifier: Apache-2.0 */
/* Attention, RotaryEmbedding, LinearAttention, CausalConvWithState, SwiGLU. */
#include <stddef.h>
#include <string.h>

#include "ir/ops/support.h"

static const op_port attention_inputs[] = {
    {.name = "Q", .doc = "[B, Hq, S, D], or [B, S, Hq*D]"},
    {.name = "K", .doc = "[B, Hkv, T, D], or [B, T, Hkv*D]"},
    {.name = "V", .doc = "[B, Hkv, T, Dv], or [B, T, Hkv*Dv]"},
    {.name = "attn_mask",
     .optional = true,
     .doc = "broadcasts to [B, Hq, S, P + T]: bool (true is seen), or added; missing keys are not seen"},
    {.name = "past_key", .optional = true, .doc = "[B, Hkv, P, D]"},
    {.name = "past_value", .optional = true, .doc = "[B, Hkv, P, Dv]"},
    {.name = "nonpad_kv_seqlen", .optional = true, .doc = "int64 [B]: keys that are valid"},
};
static const op_port attention_outputs[] = {
    {.name = "Y", .doc = "as Q, with Dv"},
    {.name = "present_key", .optional = true, .doc = "[B, Hkv, P + T, D]"},
    {.name = "present_value", .optional = true, .doc = "[B, Hkv, P + T, Dv]"},
    {.name = "qk_matmul_output", .optional = true, .doc = "[B, Hq, S, P + T]"},
};
#define LATER_INT(type, field, since, value, text) \
  { .name = #field, .kind = ATTR_INT, .offset = offsetof(type, field), .default_int = (value), .since_version = (since), .doc = (text) }
static const attr_field attention_fields[] = {
    FIELD_INT(attention_attributes, is_causal, 0, "1: a query sees no later key"),
    FIELD_INT(attention_attributes, q_num_heads, 0, "Hq, of inputs with three axes"),
    FIELD_INT(attention_attributes, kv_num_heads, 0, "Hkv, of inputs with three axes"),
    FIELD_FLOAT(attention_attributes, scale, ABSENT_FLOAT, "factor of the products; 1 / sqrt(D) when absent"),
    FIELD_FLOAT(attention_attributes, softcap, 0.0f, "c > 0: products become c * tanh(products / c)"),
    FIELD_INT(attention_attributes, softmax_precision, 0, "the softmax is wider here whatever it says"),
    FIELD_INT(attention_attributes, qk_matmul_output_mode, 0, "what the fourth output is: 0 products, 1 capped, 2 masked, 3 probabilities"),
    LATER_INT(attention_attributes, left_window_size, 25, -1, "keys to the left that are seen; -1: all"),
    LATER_INT(attention_attributes, right_window_size, 25, -1, "keys to the right that are seen; -1: all"),
};

/* [B, H, S, D] of an operand, symbols where they are. */
static bool split_heads(const fact *f, int64_t heads, dim out[4]) {
  if (!f || (f->shape.rank != 3 && f->shape.rank != 4)) return false;
  const dim *d = f->shape.dims;
  if (f->shape.rank == 4) {
    memcpy(out, d, 4 * sizeof *d);
    return true;
  }
  out[0] = d[0];
  out[1] = heads;
  out[2] = d[1];
  out[3] = dim_is_number(d[2]) && heads > 0 ? d[2] / heads : DIM_UNKNOWN;
  return true;
}

static npuc_status check_heads(infer_context *c, int32_t input, int64_t heads, const char *attribute) {
  const fact *f = npuc_fact_input(c, input);
  if (!f || f->shape.rank < 0 || f->shape.rank == 4) return NPUC_OK;
  const char *port = c->node->op->inputs[input].name;
  if (f->shape.rank != 3) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, port, "rank %d given; 3 or 4 wanted", f->shape.rank);
  if (heads < 1) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, attribute, "an operand with three axes needs the number of its heads");
  dim width = f->shape.dims[2];
  if (dim_is_number(width) && width % heads)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, port, "%lld elements are not divisible by %lld heads", (long long)width,
                        (long long)heads);
  return NPUC_OK;
}

static dim sum_of(infer_context *c, int32_t output, int32_t axis, dim a, dim b) {
  int64_t sum;
  if (dim_is_number(a) && dim_is_number(b) && !__builtin_add_overflow(a, b, &sum)) return sum;
  return a == 0 ? b : npuc_infer_free_dim(c, output, axis);
}

static npuc_status check_operands(infer_context *c, const dim q[4], const dim k[4], const dim v[4]) {
  dim merged;
  bool fits = npuc_dim_merge(q[0], k[0], &merged) && npuc_dim_merge(k[0], v[0], &merged) && npuc_dim_merge(q[3], k[3], &merged) &&
              npuc_dim_merge(k[2], v[2], &merged) && npuc_dim_merge(k[1], v[1], &merged);
  if (!fits) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "K", "Q, K and V do not fit together: batch, head size or length differ");
  if (dim_is_number(q[1]) && dim_is_number(k[1]) && (k[1] == 0 || q[1] % k[1]))
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "K", "%lld heads of Q are not divisible by %lld of K", (long long)q[1],
                        (long long)k[1]);
  return NPUC_OK;
}

/* Every operand that has axes of its own is as the others say. */
static npuc_status check_shape(infer_context *c, int32_t input, const dim *wanted, int32_t rank) {
  const fact *f = npuc_fact_input(c, input);
  if (!f || f->shape.rank < 0) return NPUC_OK;
  bool fits = f->shape.rank == rank;
  for (int32_t i = 0; fits && i < rank; i++) {
    dim merged;
    fits = npuc_dim_merge(f->shape.dims[i], wanted[i], &merged);
  }
  if (fits) return NPUC_OK;
  shape s = {.rank = rank};
  memcpy(s.dims, wanted, (size_t)rank * sizeof *wanted);
  char a[SHAPE_TEXT], b[SHAPE_TEXT];
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, c->node->op->inputs[input].name, "%s given; %s wanted",
                      npuc_shape_text(c->module, &f->shape, a), npuc_shape_text(c->module, &s, b));
}

static npuc_status check_mask(infer_context *c, const dim q[4], dim total) {
  const fact *mask = npuc_fact_input(c, 3);
  if (!mask || mask->shape.rank < 0) return NPUC_OK;
  const dim wanted[4] = {q[0], q[1], q[2], total};
  bool fits = mask->shape.rank <= 4;
  for (int32_t i = 0; fits && i < mask->shape.rank; i++) {
    dim have = mask->shape.dims[i], want = wanted[4 - mask->shape.rank + i];
    bool keys = i == mask->shape.rank - 1;
    if (dim_is_number(have) && dim_is_number(want) && have != 1) fits = keys ? have <= want : have == want;
  }
  if (fits) return NPUC_OK;
  char text[SHAPE_TEXT];
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "attn_mask", "%s does not broadcast to [B, Hq, S, keys]",
                      npuc_shape_text(c->module, &mask->shape, text));
}

static void attention_shapes(infer_context *c, const dim q[4], const dim k[4], const dim v[4], dim total) {
  const fact *x = npuc_fact_input(c, 0);
  shape y = x->shape;
  if (y.rank == 4) {
    y.dims[3] = v[3];
  } else {
    dim pair[2] = {q[1], v[3]};
    y.dims[2] = npuc_dim_product(pair, 2, DIM_UNKNOWN);
  }
  if (y.dims[y.rank - 1] == DIM_UNKNOWN) y.dims[y.rank - 1] = npuc_infer_free_dim(c, 0, y.rank - 1);
  c->outputs[0].shape = y;
  for (int32_t i = 1; i < c->node->n_outputs; i++) {
    const dim *from = i == 1 ? k : v;
    c->outputs[i].shape =
        i == 3 ? (shape){.rank = 4, .dims = {q[0], q[1], q[2], total}} : (shape){.rank = 4, .dims = {from[0], from[1], total, from[3]}};
    for (int32_t axis = 0; axis < 4; axis++) {
      dim *d = &c->outputs[i].shape.dims[axis];
      if (*d == DIM_UNKNOWN) *d = npuc_infer_free_dim(c, i, axis);
    }
  }
}

static npuc_status attention_infer(infer_context *c) {
  const attention_attributes *a = NPUC_ATTRS(attention_attributes, c->node);
  const fact *past = npuc_fact_input(c, 4);
  c->outputs[0].type = npuc_fact_type(c, 0);
  for (int32_t i = 1; i < c->node->n_outputs; i++) c->outputs[i].type = npuc_fact_type(c, i == 1 ? 1 : i == 2 ? 2 : 0);
  NPUC_TRY(check_heads(c, 0, a->q_num_heads, "q_num_heads"));
  NPUC_TRY(check_heads(c, 1, a->kv_num_heads, "kv_num_heads"));
  NPUC_TRY(check_heads(c, 2, a->kv_num_heads, "kv_num_heads"));
  dim q[4], k[4], v[4];
  if (!split_heads(npuc_fact_input(c, 0), a->q_num_heads, q) || !split_heads(npuc_fact_input(c, 1), a->kv_num_heads, k) ||
      !split_heads(npuc_fact_input(c, 2), a->kv_num_heads, v))
    return NPUC_OK;
  NPUC_TRY(check_operands(c, q, k, v));
  dim before = past ? (past->shape.rank == 4 ? past->shape.dims[2] : DIM_UNKNOWN) : 0;
  dim past_key[4] = {k[0], k[1], before, k[3]}, past_value[4] = {v[0], v[1], before, v[3]};
  NPUC_TRY(check_shape(c, 4, past_key, 4));
  NPUC_TRY(check_shape(c, 5, past_value, 4));
  NPUC_TRY(check_shape(c, 6, q, 1));
  dim total = sum_of(c, c->node->n_outputs > 1 ? 1 : 0, 2, before, k[2]);
  NPUC_TRY(check_mask(c, q, total));
  attention_shapes(c, q, k, v, total);
  return NPUC_OK;
}

static bool has_input(const node *n, int32_t i) { return i < n->n_inputs && n->inputs[i]; }

static npuc_status attention_verify(diag *d, const node *n) {
  const attention_attributes *a = NPUC_ATTRS(attention_attributes, n);
  NPUC_TRY(npuc_verify_flag(d, n, "is_causal", a->is_causal));
  if (a->qk_matmul_output_mode < 0 || a->qk_matmul_output_mode > 3)
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "qk_matmul_output_mode", "%lld given; 0 to 3 wanted", (long long)a->qk_matmul_output_mode);
  if (a->left_window_size < -1 || a->right_window_size < -1)
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "left_window_size", "windows of -1 or more wanted");
  if (has_input(n, 4) != has_input(n, 5)) return npuc_op_fail(d, n, NPUC_DIAG_E0440, "past_key", "past_key and past_value come together");
  if (has_input(n, 4) && has_input(n, 6))
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "nonpad_kv_seqlen", "given together with past_key; one of the two wanted");
  return NPUC_OK;
}

/* Two products per query, key and element of a head. */
static void attention_cost(const node *n, op_cost *out_cost) {
  const shape *k = &n->inputs[1]->shape;
  double keys = k->rank >= 3 && dim_is_number(k->dims[k->rank - 2]) ? (double)k->dims[k->rank == 4 ? 2 : 1] : 1.0;
  out_cost->macs = 2.0 * npuc_value_elements(n->inputs[0]) * keys;
}

/* -- RotaryEmbedding -- */
static const op_port rotary_inputs[] = {
    {.name = "X", .doc = "[B, H, S, D], or [B, S, H*D]"},
    {.name = "cos_cache", .doc = "[positions, D/2] with position_ids, else [B, S, D/2]"},
    {.name = "sin_cache", .doc = "as cos_cache"},
    {.name = "position_ids", .optional = true, .doc = "int64 [B, S]"},
};
static const op_port rotary_outputs[] = {{.name = "Y", .doc = "as X"}};
static const attr_field rotary_fields[] = {
    FIELD_INT(rotary_attributes, interleaved, 0, "1: pairs are neighbours; 0: element i and i + D/2"),
    FIELD_INT(rotary_attributes, num_heads, 0, "H, of an input with three axes"),
    FIELD_INT(rotary_attributes, rotary_embedding_dim, 0, "only so many elements of a head are turned; 0: all"),
};

static npuc_status rotary_infer(infer_context *c) {
  const rotary_attributes *a = NPUC_ATTRS(rotary_attributes, c->node);
  NPUC_TRY(npuc_infer_unary(c));
  NPUC_TRY(check_heads(c, 0, a->num_heads, "num_heads"));
  dim x[4];
  if (!split_heads(npuc_fact_input(c, 0), a->num_heads, x) || !dim_is_number(x[3])) return NPUC_OK;
  int64_t turned = a->rotary_embedding_dim ? a->rotary_embedding_dim : x[3];
  if (turned < 2 || turned % 2 || turned > x[3])
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "rotary_embedding_dim",
                        "%lld elements are turned of %lld; an even number up to it wanted", (long long)turned, (long long)x[3]);
  bool has_positions = npuc_fact_input(c, 3) != NULL;
  dim flat[2] = {DIM_UNKNOWN, turned / 2}, each[3] = {x[0], x[2], turned / 2}, ids[2] = {x[0], x[2]};
  for (int32_t i = 1; i < 3; i++) NPUC_TRY(check_shape(c, i, has_positions ? flat : each, has_positions ? 2 : 3));
  return check_shape(c, 3, ids, 2);
}

static npuc_status rotary_verify(diag *d, const node *n) {
  return npuc_verify_flag(d, n, "interleaved", NPUC_ATTRS(rotary_attributes, n)->interleaved);
}

/* -- LinearAttention -- */
static const op_port linear_inputs[] = {
    {.name = "query", .doc = "[B, T, Hq*Dk]"},
    {.name = "key", .doc = "[B, T, Hkv*Dk]"},
    {.name = "value", .doc = "[B, T, Hkv*Dv]"},
    {.name = "past_state", .optional = true, .doc = "[B, Hkv, Dk, Dv]; 0 when absent"},
    {.name = "decay", .optional = true, .doc = "[B, T, Hkv] or [B, T, Hkv*Dk], logarithms; of the gated rules"},
    {.name = "beta", .optional = true, .doc = "[B, T, Hkv] or [B, T, 1]; of the delta rules"},
};
static const op_port linear_outputs[] = {{.name = "output", .doc = "[B, T, Hq*Dv]"}, {.name = "present_state", .doc = "[B, Hkv, Dk, Dv]"}};
static const attr_field linear_fields[] = {
    {.name = "q_num_heads", .kind = ATTR_INT, .offset = offsetof(linearattention_attributes, q_num_heads), .required = true, .doc = "Hq"},
    {.name = "kv_num_heads",
     .kind = ATTR_INT,
     .offset = offsetof(linearattention_attributes, kv_num_heads),
     .required = true,
     .doc = "Hkv"},
    FIELD_STRING(linearattention_attributes, update_rule, "gated_delta", "linear, gated, delta or gated_delta"),
    FIELD_FLOAT(linearattention_attributes, scale, 0.0f, "factor of the output; 0: 1 / sqrt(Dk)"),
    FIELD_INT(linearattention_attributes, chunk_size, 64, "a hint without effect on the result"),
};

static npuc_status linear_infer(infer_context *c) {
  const linearattention_attributes *a = NPUC_ATTRS(linearattention_attributes, c->node);
  const fact *past = npuc_fact_input(c, 3);
  dtype type = npuc_fact_type(c, 0);
  c->outputs[0].type = type;
  if (c->node->n_outputs > 1) c->outputs[1].type = past && past->type != DTYPE_NONE ? past->type : type;
  for (int32_t i = 0; i < 3; i++) {
    const fact *f = npuc_fact_input(c, i);
    if (f && f->shape.rank >= 0 && f->shape.rank != 3)
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, c->node->op->inputs[i].name, "rank %d given; 3 wanted", f->shape.rank);
    NPUC_TRY(check_heads(c, i, i ? a->kv_num_heads : a->q_num_heads, i ? "kv_num_heads" : "q_num_heads"));
  }
  dim q[4], k[4], v[4];
  if (!split_heads(npuc_fact_input(c, 0), a->q_num_heads, q) || !split_heads(npuc_fact_input(c, 1), a->kv_num_heads, k) ||
      !split_heads(npuc_fact_input(c, 2), a->kv_num_heads, v))
    return NPUC_OK;
  NPUC_TRY(check_operands(c, q, k, v));
  dim merged, pair[2] = {q[1], v[3]};
  if (!npuc_dim_merge(q[2], k[2], &merged)) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "key", "another length than query's");
  c->outputs[0].shape = (shape){.rank = 3, .dims = {q[0], q[2], npuc_dim_product(pair, 2, DIM_UNKNOWN)}};
  if (c->outputs[0].shape.dims[2] == DIM_UNKNOWN) c->outputs[0].shape.dims[2] = npuc_infer_free_dim(c, 0, 2);
  dim state[4] = {k[0], k[1], k[3], v[3]};
  if (c->node->n_outputs > 1) c->outputs[1].shape = (shape){.rank = 4, .dims = {state[0], state[1], state[2], state[3]}};
  NPUC_TRY(check_shape(c, 3, state, 4));
  for (int32_t i = 4; i < 6; i++) {
    const fact *f = npuc_fact_input(c, i);
    if (!f || f->shape.rank < 0) continue;
    dim width = f->shape.rank == 3 ? f->shape.dims[2] : -1, all[2] = {k[1], k[3]};
    bool fits =
        f->shape.rank == 3 && (!dim_is_number(width) || width == k[1] || (i == 5 ? width == 1 : width == npuc_dim_product(all, 2, width)));
    if (!fits)
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, c->node->op->inputs[i].name, "one value per step and head (or element) wanted");
  }
  return NPUC_OK;
}

static npuc_status linear_verify(diag *d, const node *n) {
  const linearattention_attributes *a = NPUC_ATTRS(linearattention_attributes, n);
  const char *rule = a->update_rule ? a->update_rule : "";
  bool gated = strncmp(rule, "gated", 5) == 0, delta = strcmp(rule, "delta") == 0 || strcmp(rule, "gated_delta") == 0;
  if (!delta && strcmp(rule, "linear") != 0 && strcmp(rule, "gated") != 0)
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "update_rule", "\"%s\" is not one of linear, gated, delta, gated_delta", rule);
  if (has_input(n, 4) != gated)
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "decay", "the input belongs to the gated rules, and only to them");
  if (has_input(n, 5) != delta)
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "beta", "the input belongs to the delta rules, and only to them");
  return NPUC_OK;
}

/* -- CausalConvWithState, SwiGLU -- */
static const op_port causal_inputs[] = {
    {.name = "input", .doc = "[B, C, L]"},
    {.name = "weight", .doc = "[C, 1, K]"},
    {.name = "bias", .optional = true, .doc = "[C]"},
    {.name = "past_state", .optional = true, .doc = "[B, C, K-1]: what came before; 0 when absent"},
};
static const op_port causal_outputs[] = {{.name = "output", .doc = "[B, C, L]"}, {.name = "present_state", .doc = "[B, C, K-1]"}};
static const attr_field causal_fields[] = {FIELD_STRING(activation_attributes, activation, "none", "none, silu or swish (the same)")};

static npuc_status causal_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0), *w = npuc_fact_input(c, 1);
  NPUC_TRY(npuc_infer_unary(c));
  if (c->node->n_outputs > 1) c->outputs[1].type = c->outputs[0].type;
  if (!x || !w || x->shape.rank < 0 || w->shape.rank < 0) return NPUC_OK;
  if (x->shape.rank != 3) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "input", "rank %d given; 3 wanted", x->shape.rank);
  dim weight[3] = {x->shape.dims[1], 1, DIM_UNKNOWN}, bias[1] = {x->shape.dims[1]};
  NPUC_TRY(check_shape(c, 1, weight, 3));
  NPUC_TRY(check_shape(c, 2, bias, 1));
  dim k = w->shape.dims[2], state[3] = {x->shape.dims[0], x->shape.dims[1], DIM_UNKNOWN};
  if (k == 0) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "weight", "no taps");
  if (dim_is_number(k)) state[2] = k - 1;
  NPUC_TRY(check_shape(c, 3, state, 3));
  if (c->node->n_outputs > 1) {
    if (state[2] == DIM_UNKNOWN) state[2] = npuc_infer_free_dim(c, 1, 2);
    c->outputs[1].shape = (shape){.rank = 3, .dims = {state[0], state[1], state[2]}};
  }
  return NPUC_OK;
}

static npuc_status causal_verify(diag *d, const node *n) {
  const char *by = NPUC_ATTRS(activation_attributes, n)->activation;
  if (by && (strcmp(by, "none") == 0 || strcmp(by, "silu") == 0 || strcmp(by, "swish") == 0)) return NPUC_OK;
  return npuc_op_fail(d, n, NPUC_DIAG_E0440, "activation", "\"%s\" is not one of none, silu, swish", by ? by : "");
}

static const op_port swiglu_inputs[] = {{.name = "A", .doc = "the gate, any shape"}, {.name = "B", .doc = "as A"}};
static const op_port swiglu_outputs[] = {{.name = "Y", .doc = "as A"}};
static const attr_field swiglu_fields[] = {FIELD_FLOAT(alpha_attributes, alpha, 1.0f, "factor inside the sigmoid")};

static npuc_status swiglu_infer(infer_context *c) {
  const fact *a = npuc_fact_input(c, 0);
  NPUC_TRY(npuc_infer_same_type(c, 0, 1));
  NPUC_TRY(npuc_infer_unary(c));
  return a && a->shape.rank >= 0 ? check_shape(c, 1, a->shape.dims, a->shape.rank) : NPUC_OK;
}

const op_def npuc_op_attention = {
    ONNX_OP(attention, OP_ATTENTION, "Attention", 25, 24),
    .summary = "Scaled dot product attention, with caches, masks, groups of heads.",
    .formula = "Y = softmax(cap(scale * Q K') + mask) V over all keys that are seen; a row that sees none is 0",
    PORTS_IN(attention_inputs, 3),
    PORTS_OUT(attention_outputs, 1),
    ATTRIBUTES(attention_fields, attention_attributes),
    .infer = attention_infer,
    .verify = attention_verify,
    .cost = attention_cost,
};

const op_def npuc_op_rotaryembedding = {
    ONNX_OP(rotaryembedding, OP_ROTARYEMBEDDING, "RotaryEmbedding", 23, 23),
    .summary = "Turns pairs of elements of a head by an angle that grows with the position.",
    .formula = "(y0, y1) = (x0 * cos - x1 * sin, x0 * sin + x1 * cos)",
    PORTS_IN(rotary_inputs, 3),
    PORTS_OUT(rotary_outputs, 1),
    ATTRIBUTES(rotary_fields, rotary_attributes),
    .infer = rotary_infer,
    .verify = rotary_verify,
};

const op_def npuc_op_linearattention = {
    ONNX_OP(linearattention, OP_LINEARATTENTION, "LinearAttention", 27, 27),
    .summary = "Attention through a state of fixed size, step by step.",
    .formula = "S = e^decay * S (gated); v = beta * (v - S' k) (delta); S = S + k v'; output = scale * S' q",
    PORTS_IN(linear_inputs, 3),
    PORTS_OUT(linear_outputs, 1),
    ATTRIBUTES(linear_fields, linearattention_attributes),
    .infer = linear_infer,
    .verify = linear_verify,
};

const op_def npuc_op_causalconvwithstate = {
    ONNX_OP(causalconvwithstate, OP_CAUSALCONVWITHSTATE, "CausalConvWithState", 27, 27),
    .summary = "Depthwise convolution over what came before, with the last inputs as state.",
    .formula = "output[b, c, t] = act(bias[c] + sum over i of weight[c, 0, i] * (past_state, input)[b, c, t + i])",
    PORTS_IN(causal_inputs, 2),
    PORTS_OUT(causal_outputs, 1),
    ATTRIBUTES(causal_fields, activation_attributes),
    .infer = causal_infer,
    .verify = causal_verify,
};

const op_def npuc_op_swiglu = {
    ONNX_OP(swiglu, OP_SWIGLU, "SwiGLU", 28, 28),
    .summary = "A value times the Swish of a gate.",
    .formula = "Y = A / (1 + e^(-alpha * A)) * B",
    PORTS_IN(swiglu_inputs, 2),
    PORTS_OUT(swiglu_outputs, 1),
    ATTRIBUTES(swiglu_fields, alpha_attributes),
    .infer = swiglu_infer,
};
