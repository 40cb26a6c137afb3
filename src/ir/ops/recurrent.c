/* SPDX-License-Identifier: Apache-2.0 */
/* RNN, GRU, LSTM: a cell that goes over a sequence, in one direction or both. T steps, B sequences, I features, H hidden units, D directions. */
#include "ir/ops/recurrent.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* -- activations -- */
static const struct {
  const char *name;
  gate_activation usual;
  bool has_alpha, has_beta;
} functions[] = {
    {"Relu", {GATE_RELU, 0.0f, 0.0f}, false, false},
    {"Tanh", {GATE_TANH, 0.0f, 0.0f}, false, false},
    {"Sigmoid", {GATE_SIGMOID, 0.0f, 0.0f}, false, false},
    {"Affine", {GATE_AFFINE, 1.0f, 0.0f}, true, true},
    {"LeakyRelu", {GATE_LEAKYRELU, 0.01f, 0.0f}, true, false},
    {"ThresholdedRelu", {GATE_THRESHOLDEDRELU, 1.0f, 0.0f}, true, false},
    {"ScaledTanh", {GATE_SCALEDTANH, 1.0f, 1.0f}, true, true},
    {"HardSigmoid", {GATE_HARDSIGMOID, 0.2f, 0.5f}, true, true},
    {"Elu", {GATE_ELU, 1.0f, 0.0f}, true, false},
    {"Softsign", {GATE_SOFTSIGN, 0.0f, 0.0f}, false, false},
    {"Softplus", {GATE_SOFTPLUS, 0.0f, 0.0f}, false, false},
};

int32_t npuc_recurrent_gates(const node *n) { return node_is(n, OP_RNN) ? 1 : node_is(n, OP_GRU) ? 3 : 4; }
int32_t npuc_recurrent_functions(const node *n) { return node_is(n, OP_RNN) ? 1 : node_is(n, OP_GRU) ? 2 : 3; }
int32_t npuc_recurrent_directions(const node *n) {
  return strcmp(NPUC_ATTRS(recurrent_attributes, n)->direction, "bidirectional") == 0 ? 2 : 1;
}

/* Names are compared without case, as ONNX Runtime does: files have "tanh" too. */
static int32_t function_of(const char *name) {
  for (int32_t i = 0; i < COUNT_OF(functions); i++) {
    if (strcasecmp(functions[i].name, name) == 0) return i;
  }
  return -1;
}

npuc_status npuc_recurrent_activations(diag *d, const node *n, gate_activation out[MOST_GATE_ACTIVATIONS]) {
  const recurrent_attributes *a = NPUC_ATTRS(recurrent_attributes, n);
  int32_t each = npuc_recurrent_functions(n), count = each * npuc_recurrent_directions(n), alphas = 0, betas = 0;
  static const char *const lstm[] = {"Sigmoid", "Tanh", "Tanh"}, *const rnn[] = {"Tanh"};
  if (a->activations.count != 0 && a->activations.count != count)
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "activations", "%d given; %d wanted", (int)a->activations.count, (int)count);
  for (int32_t i = 0; i < count; i++) {
    const char *name = a->activations.count ? a->activations.values[i] : each == 1 ? rnn[0] : lstm[i % each];
    int32_t f = function_of(name);
    if (f < 0) return npuc_op_fail(d, n, NPUC_DIAG_E0440, "activations", "\"%s\" is not one of the operator's activations", name);
    out[i] = functions[f].usual;
    if (functions[f].has_alpha && alphas < a->activation_alpha.count) out[i].alpha = a->activation_alpha.values[alphas++];
    if (functions[f].has_beta && betas < a->activation_beta.count) out[i].beta = a->activation_beta.values[betas++];
  }
  return NPUC_OK;
}

static npuc_status recurrent_verify(diag *d, const node *n) {
  const recurrent_attributes *a = NPUC_ATTRS(recurrent_attributes, n);
  gate_activation activations[MOST_GATE_ACTIVATIONS];
  const char *way = a->direction ? a->direction : "";
  if (strcmp(way, "forward") != 0 && strcmp(way, "reverse") != 0 && strcmp(way, "bidirectional") != 0)
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "direction", "\"%s\" given; forward, reverse or bidirectional wanted", way);
  if (a->hidden_size < 0) return npuc_op_fail(d, n, NPUC_DIAG_E0440, "hidden_size", "%lld is negative", (long long)a->hidden_size);
  if (a->clip != ABSENT_FLOAT && !(a->clip >= 0.0f))
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "clip", "%g given; 0 or more wanted", (double)a->clip);
  NPUC_TRY(npuc_verify_flag(d, n, "layout", a->layout));
  NPUC_TRY(npuc_verify_flag(d, n, "linear_before_reset", a->linear_before_reset));
  NPUC_TRY(npuc_verify_flag(d, n, "input_forget", a->input_forget));
  return npuc_recurrent_activations(d, n, activations);
}

/* -- shapes -- */

/* Input `index` is [count] dims, each known one equal to the wanted one; a wanted one that is open takes the given one. */
static npuc_status match_dims(infer_context *c, int32_t index, dim *const *wanted, const int64_t *factor, int32_t count) {
  const fact *f = npuc_fact_input(c, index);
  if (!f || f->shape.rank < 0) return NPUC_OK;
  char text[SHAPE_TEXT];
  const char *port = c->node->op->inputs[index].name;
  if (f->shape.rank != count) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, port, "%s given; rank %d wanted", npuc_shape_text(c->module, &f->shape, text),
                        (int)count);
  }
  for (int32_t i = 0; i < count; i++) {
    dim given = f->shape.dims[i], whole = *wanted[i];
    if (dim_is_number(given) && given % factor[i] != 0) whole = 0; /* no multiple: told below */
    bool fits = true;
    if (dim_is_number(given) && dim_is_number(whole)) {
      fits = whole * factor[i] == given;
    } else if (factor[i] == 1 || dim_is_number(given)) {
      dim part = dim_is_number(given) ? given / factor[i] : given;
      fits = npuc_dim_merge(whole, part, wanted[i]);
    }
    if (!fits) {
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, port, "%s given; axis %d does not fit the other inputs",
                          npuc_shape_text(c->module, &f->shape, text), (int)i);
    }
  }
  return NPUC_OK;
}

typedef struct sizes {
  dim steps, batch, input, hidden, directions, one;
} sizes;

static npuc_status match_inputs(infer_context *c, sizes *s) {
  int64_t gates = npuc_recurrent_gates(c->node);
  bool batch_first = NPUC_ATTRS(recurrent_attributes, c->node)->layout != 0;
  dim *x_dims[] = {&s->steps, &s->batch, &s->input}, *x_first[] = {&s->batch, &s->steps, &s->input};
  dim *w_dims[] = {&s->directions, &s->hidden, &s->input}, *r_dims[] = {&s->directions, &s->hidden, &s->hidden};
  dim *row_dims[] = {&s->directions, &s->hidden}, *length_dims[] = {&s->batch};
  dim *h_dims[] = {&s->directions, &s->batch, &s->hidden}, *h_first[] = {&s->batch, &s->directions, &s->hidden};
  const int64_t plain[] = {1, 1, 1}, gated[] = {1, gates, 1}, biased[] = {1, 2 * gates}, peep[] = {1, 3};
  NPUC_TRY(match_dims(c, 0, batch_first ? x_first : x_dims, plain, 3));
  NPUC_TRY(match_dims(c, 2, r_dims, gated, 3));
  NPUC_TRY(match_dims(c, 1, w_dims, gated, 3));
  NPUC_TRY(match_dims(c, 3, row_dims, biased, 2));
  NPUC_TRY(match_dims(c, 4, length_dims, plain, 1));
  NPUC_TRY(match_dims(c, 5, batch_first ? h_first : h_dims, plain, 3));
  if (!node_is(c->node, OP_LSTM)) return NPUC_OK;
  NPUC_TRY(match_dims(c, 6, batch_first ? h_first : h_dims, plain, 3));
  return match_dims(c, 7, row_dims, peep, 2);
}

static npuc_status check_types(infer_context *c) {
  dtype x = npuc_fact_type(c, 0), lengths = npuc_fact_type(c, 4);
  for (int32_t i = 1; i < c->node->n_inputs; i++) {
    dtype t = npuc_fact_type(c, i);
    if (i == 4 || t == DTYPE_NONE || x == DTYPE_NONE || t == x) continue;
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0442, c->node->op->inputs[i].name, "%s given; X is %s", npuc_dtype_name(t),
                        npuc_dtype_name(x));
  }
  if (x != DTYPE_NONE && npuc_dtype_kind(x) != KIND_FLOAT)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0442, "X", "%s given; floats wanted", npuc_dtype_name(x));
  if (lengths != DTYPE_NONE && lengths != DTYPE_I32)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0442, "sequence_lens", "%s given; int32 wanted", npuc_dtype_name(lengths));
  return NPUC_OK;
}

static npuc_status recurrent_infer(infer_context *c) {
  const recurrent_attributes *a = NPUC_ATTRS(recurrent_attributes, c->node);
  sizes s = {DIM_UNKNOWN, DIM_UNKNOWN, DIM_UNKNOWN, a->hidden_size ? a->hidden_size : DIM_UNKNOWN, npuc_recurrent_directions(c->node), 1};
  NPUC_TRY(check_types(c));
  NPUC_TRY(match_inputs(c, &s));
  for (int32_t i = 0; i < c->node->n_outputs; i++) {
    const dim all[] = {s.steps, s.directions, s.batch, s.hidden}, all_first[] = {s.batch, s.steps, s.directions, s.hidden};
    const dim last[] = {s.directions, s.batch, s.hidden}, last_first[] = {s.batch, s.directions, s.hidden};
    const dim *dims = i == 0 ? (a->layout ? all_first : all) : a->layout ? last_first : last;
    fact *y = &c->outputs[i];
    y->type = npuc_fact_type(c, 0);
    y->shape.rank = i == 0 ? 4 : 3;
    for (int32_t k = 0; k < y->shape.rank; k++) y->shape.dims[k] = dims[k] == DIM_UNKNOWN ? npuc_infer_free_dim(c, i, k) : dims[k];
  }
  return NPUC_OK;
}

/* ONNX Runtime wants hidden_size to be there. */
static npuc_status recurrent_complete(diag *d, node *n) {
  (void)d;
  recurrent_attributes *a = NPUC_ATTRS(recurrent_attributes, n);
  const shape *r = n->n_inputs > 2 && n->inputs[2] ? &n->inputs[2]->shape : NULL;
  if (a->hidden_size == 0 && r && r->rank == 3 && dim_is_number(r->dims[2])) a->hidden_size = r->dims[2];
  return NPUC_OK;
}

/* Every step multiplies a row of X by W and the state by R. */
static void recurrent_cost(const node *n, op_cost *out_cost) {
  const shape *x = &n->inputs[0]->shape;
  double rows = 1;
  for (int32_t i = 0; i < 2 && x->rank == 3; i++) rows *= dim_is_number(x->dims[i]) ? (double)x->dims[i] : 1.0;
  out_cost->macs = rows * (npuc_value_elements(n->inputs[1]) + npuc_value_elements(n->inputs[2]));
  out_cost->operations = n->n_outputs ? 10 * npuc_value_elements(n->outputs[0]) : 0;
}

/* -- definitions -- */
#define SHARED_INPUTS(g)                                                                                                               \
  {.name = "X", .doc = "[T, B, I]; [B, T, I] with layout 1"}, {.name = "W", .doc = "[D, " g "H, I], gates in order"},                  \
      {.name = "R", .doc = "[D, " g "H, H]"}, {.name = "B", .optional = true, .doc = "[D, 2*" g "H]: of W, then of R; 0 when absent"}, \
      {.name = "sequence_lens", .optional = true, .doc = "[B], int32; T when absent"}, {                                               \
    .name = "initial_h", .optional = true, .doc = "[D, B, H]; [B, D, H] with layout 1; 0 when absent"                                  \
  }
static const op_port rnn_inputs[] = {SHARED_INPUTS("")};
static const op_port gru_inputs[] = {SHARED_INPUTS("3*")};
static const op_port lstm_inputs[] = {
    SHARED_INPUTS("4*"),
    {.name = "initial_c", .optional = true, .doc = "as initial_h"},
    {.name = "P", .optional = true, .doc = "[D, 3*H]: peepholes of i, o, f; 0 when absent"},
};
#define SHARED_OUTPUTS                                                                                                             \
  {.name = "Y", .optional = true, .doc = "[T, D, B, H]; [B, T, D, H] with layout 1: the state after each step, 0 past the end"}, { \
    .name = "Y_h", .optional = true, .doc = "as initial_h: the state at the end"                                                   \
  }
static const op_port recurrent_outputs[] = {SHARED_OUTPUTS};
static const op_port lstm_outputs[] = {SHARED_OUTPUTS, {.name = "Y_c", .optional = true, .doc = "as initial_c: the cells at the end"}};

#define SHARED_FIELDS                                                                                                              \
  FIELD_STRING(recurrent_attributes, direction, "forward", "forward, reverse, bidirectional (forward, then reverse)"),             \
      FIELD_INT(recurrent_attributes, hidden_size, 0, "H; from R when absent"),                                                    \
      FIELD_STRINGS(recurrent_attributes, activations,                                                                             \
                    "of each direction; Relu, Tanh, Sigmoid, Affine, LeakyRelu, ThresholdedRelu, ScaledTanh, HardSigmoid, Elu, "   \
                    "Softsign or Softplus"),                                                                                       \
      FIELD_FLOATS(recurrent_attributes, activation_alpha, "of those activations that have one, in order"),                        \
      FIELD_FLOATS(recurrent_attributes, activation_beta, "of those activations that have one, in order"),                         \
      FIELD_FLOAT(recurrent_attributes, clip, ABSENT_FLOAT, "bound of what goes into activations; none when absent"), {            \
    .name = "layout", .kind = ATTR_INT, .offset = offsetof(recurrent_attributes, layout), .doc = "1: the batch is the first axis", \
    .since_version = 14                                                                                                            \
  }
static const attr_field rnn_fields[] = {SHARED_FIELDS};
static const attr_field gru_fields[] = {
    SHARED_FIELDS, FIELD_INT(recurrent_attributes, linear_before_reset, 0, "1: the reset gate is applied after R, not before")};
static const attr_field lstm_fields[] = {SHARED_FIELDS,
                                         FIELD_INT(recurrent_attributes, input_forget, 0, "1: the forget gate is 1 - the input gate")};

#define RECURRENT(op_symbol, op_enum, name, text, rule, ins, outs, fields) \
  const op_def npuc_op_##op_symbol = {                                     \
      ONNX_OP(op_symbol, op_enum, name, 22, 7),                            \
      .summary = text,                                                     \
      .formula = rule,                                                     \
      PORTS_IN(ins, 3),                                                    \
      PORTS_OUT(outs, 0),                                                  \
      ATTRIBUTES(fields, recurrent_attributes),                            \
      .infer = recurrent_infer,                                            \
      .verify = recurrent_verify,                                          \
      .complete = recurrent_complete,                                      \
      .cost = recurrent_cost,                                              \
  }

RECURRENT(rnn, OP_RNN, "RNN", "One layer of a plain recurrent network.", "H' = f(W x + R H + Wb + Rb); f: Tanh", rnn_inputs,
          recurrent_outputs, rnn_fields);
RECURRENT(gru, OP_GRU, "GRU", "One layer of gated recurrent units; gates z (update), r (reset), h.",
          "z, r = f(W x + R H + Wb + Rb); h = g(W x + Wb + R (r * H) + Rb), with linear_before_reset g(W x + Wb + r * (R H + Rb)); "
          "H' = (1 - z) * h + z * H; f: Sigmoid, g: Tanh",
          gru_inputs, recurrent_outputs, gru_fields);
RECURRENT(lstm, OP_LSTM, "LSTM", "One layer of long short-term memory; gates i (input), o (output), f (forget), c (cell).",
          "i, f = f(W x + R H + P * C + Wb + Rb); c = g(W x + R H + Wb + Rb); C' = f * C + i * c; o = f(W x + R H + P * C' + Wb + Rb); "
          "H' = o * h(C'); f: Sigmoid, g, h: Tanh",
          lstm_inputs, lstm_outputs, lstm_fields);
