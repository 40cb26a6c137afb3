/* SPDX-License-Identifier: Apache-2.0 */
/* lstm, gru, rnn: torch's one call for several layers and both directions becomes one ONNX node a layer. T steps, B sequences, I features, H hidden units,
 * D directions, L layers. Two things differ: the order of the gates in the weights, and that ONNX keeps directions apart in its output:
 *
 *   torch  weight_ih_l0 [gates*H, I], one tensor a layer and direction      ONNX  W [D, gates*H, I]
 *   torch  output [T, B, D*H]                                               ONNX  Y [T, D, B, H] */
#include <string.h>

#include "import/pt2/aten.h"
#include "ir/attributes.h"

enum { MOST_GATES = 4, MOST_WEIGHTS = 4 };

typedef struct cell {
  const char *op;
  int32_t gates;
  int64_t order[MOST_GATES]; /* ONNX's gate g is torch's gate order[g] */
  int32_t states;
} cell;

static const cell cells[] = {
    {"LSTM", 4, {0, 3, 1, 2}, 2}, /* torch i f g o; ONNX i o f c */
    {"GRU", 3, {1, 0, 2}, 1},     /* torch r z n; ONNX z r h */
    {"RNN", 1, {0}, 1},
};

typedef struct stack {
  pt2_node *n;
  const cell *cell;
  value **weights; /* a layer's directions in turn; each W, R and with biases Wb, Rb */
  size_t per_direction;
  int64_t layers, directions, hidden;
  value *initial[2]; /* [L*D, B, H]; the second one LSTM's cells */
} stack;

static npuc_status read_states(stack *s) {
  pt2_node *n = s->n;
  value **list;
  size_t count = 1;
  if (s->cell->states == 1) return npuc_pt2_tensor(n, "hx", &s->initial[0]);
  NPUC_TRY(npuc_pt2_tensors(n, "hx", &list, &count));
  if (count != 2 || !list[0] || !list[1])
    return npuc_pt2_fail(n, NPUC_DIAG_E0335, "hx", "%zu tensors; the state and the cells wanted", count);
  s->initial[0] = list[0];
  s->initial[1] = list[1];
  return NPUC_OK;
}

static npuc_status read_stack(stack *s) {
  pt2_node *n = s->n;
  bool biases, train, both;
  double dropout;
  size_t count;
  NPUC_TRY(read_states(s));
  NPUC_TRY(npuc_pt2_tensors(n, "params", &s->weights, &count));
  NPUC_TRY(npuc_pt2_bool_arg(n, "has_biases", true, &biases));
  NPUC_TRY(npuc_pt2_int_arg(n, "num_layers", 1, &s->layers));
  NPUC_TRY(npuc_pt2_float_arg(n, "dropout", 0.0, &dropout));
  NPUC_TRY(npuc_pt2_bool_arg(n, "train", false, &train));
  NPUC_TRY(npuc_pt2_bool_arg(n, "bidirectional", false, &both));
  if (train && dropout != 0.0) return npuc_pt2_fail(n, NPUC_DIAG_E0336, "dropout", "a network that drops between layers, as in training");
  s->directions = both ? 2 : 1;
  s->per_direction = biases ? 4 : 2;
  if (s->layers < 1 || s->layers > (int64_t)count)
    return npuc_pt2_fail(n, NPUC_DIAG_E0335, "num_layers", "%lld layers", (long long)s->layers);
  size_t cells_count = (size_t)(s->layers * s->directions);
  if (count == cells_count * (s->per_direction + 1))
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, "params", "a projection of the hidden state (proj_size), which ONNX's LSTM does not have");
  if (count != cells_count * s->per_direction) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "params", "%zu tensors", count);
  for (size_t i = 0; i < count; i++) {
    size_t kind = i % s->per_direction;
    if (!s->weights[i] || s->weights[i]->shape.rank != (kind < 2 ? 2 : 1) || s->weights[i]->shape.dims[0] != s->weights[0]->shape.dims[0])
      return npuc_pt2_fail(n, NPUC_DIAG_E0335, "params", "tensor %zu has another shape than a layer's weights and biases", i);
  }
  int64_t rows = s->weights[0]->shape.dims[0];
  if (rows <= 0 || rows > 1 << 24 || rows % s->cell->gates)
    return npuc_pt2_fail(n, NPUC_DIAG_E0335, "params", "%lld rows for %d gates", (long long)rows, s->cell->gates);
  s->hidden = rows / s->cell->gates;
  return NPUC_OK;
}

/* Rows by gate, in ONNX's order. */
static npuc_status reorder(const stack *s, value *x, value **out) {
  *out = x;
  if (s->cell->gates == 1) return NPUC_OK;
  int64_t *rows = NPUC_NEW_ARRAY(s->n->s->scratch, (size_t)(s->cell->gates * s->hidden), int64_t);
  for (int32_t g = 0; g < s->cell->gates; g++)
    for (int64_t i = 0; i < s->hidden; i++) rows[g * s->hidden + i] = s->cell->order[g] * s->hidden + i;
  return npuc_pt2_binary(s->n, "Gather", x, npuc_pt2_constant_ints(s->n, rows, (size_t)(s->cell->gates * s->hidden)), out);
}

static npuc_status concat(const stack *s, value **parts, size_t count, int64_t axis, value **out) {
  *out = parts[0];
  if (count == 1) return NPUC_OK;
  node *made;
  NPUC_TRY(npuc_pt2_emit(s->n, "Concat", parts, count, 1, &made));
  npuc_pt2_set_int(made, "axis", axis);
  NPUC_TRY(npuc_node_infer(s->n->s->d, made));
  *out = made->outputs[0];
  return NPUC_OK;
}

/* Weight `kind` of a layer's directions: [D, gates*H, ...]; both biases: [D, 2*gates*H]. */
static npuc_status layer_weight(const stack *s, int64_t layer, size_t kind, value **out) {
  value *parts[2] = {NULL, NULL};
  int64_t zero = 0;
  for (int64_t k = 0; k < s->directions; k++) {
    value *const *of = s->weights + (size_t)(layer * s->directions + k) * s->per_direction;
    NPUC_TRY(reorder(s, of[kind], &parts[k]));
    if (kind == 2) {
      value *pair[2] = {parts[k], NULL};
      NPUC_TRY(reorder(s, of[3], &pair[1]));
      NPUC_TRY(concat(s, pair, 2, 0, &parts[k]));
    }
    NPUC_TRY(npuc_pt2_unsqueeze(s->n, parts[k], &zero, 1, &parts[k]));
  }
  return concat(s, parts, (size_t)s->directions, 0, out);
}

/* x [T, B, I] -> y [T, B, D*H], states [D, B, H] */
static npuc_status one_layer(const stack *s, int64_t layer, value *x, value **out_y, value **out_states) {
  value *inputs[7] = {x}, *turned;
  for (size_t kind = 0; kind < (s->per_direction == 4 ? 3u : 2u); kind++) NPUC_TRY(layer_weight(s, layer, kind, &inputs[1 + kind]));
  for (int32_t k = 0; k < s->cell->states; k++)
    NPUC_TRY(npuc_pt2_slice(s->n, s->initial[k], 0, pt2_number(layer * s->directions), pt2_number((layer + 1) * s->directions), 1,
                            &inputs[5 + k]));
  node *made;
  NPUC_TRY(npuc_pt2_emit(s->n, s->cell->op, inputs, (size_t)(5 + s->cell->states), 1 + s->cell->states, &made));
  npuc_pt2_set_int(made, "hidden_size", s->hidden);
  if (s->directions == 2) npuc_pt2_set_string(made, "direction", "bidirectional");
  if (s->cell->gates == 3) npuc_pt2_set_int(made, "linear_before_reset", 1);
  if (strstr(s->n->target, "rnn_relu"))
    npuc_pt2_set_strings(made, "activations", (const char *const[]){"Relu", "Relu"}, (size_t)s->directions);
  NPUC_TRY(npuc_node_infer(s->n->s->d, made));
  for (int32_t k = 0; k < s->cell->states; k++) out_states[k] = made->outputs[1 + k];
  int64_t axis = 1;
  if (s->directions == 1) return npuc_pt2_squeeze(s->n, made->outputs[0], &axis, 1, out_y);
  pt2_int dims[3] = {pt2_number(0), pt2_number(0), pt2_number(2 * s->hidden)};
  NPUC_TRY(npuc_pt2_transpose(s->n, made->outputs[0], (int64_t[]){0, 2, 1, 3}, 4, &turned));
  NPUC_TRY(npuc_pt2_size(s->n, turned, 0, &dims[0]));
  NPUC_TRY(npuc_pt2_size(s->n, turned, 1, &dims[1]));
  return npuc_pt2_reshape(s->n, turned, dims, 3, out_y);
}

npuc_status npuc_aten_recurrent(pt2_node *n) {
  stack s = {.n = n};
  for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
    if (strcmp(cells[i].op, n->onnx) == 0) s.cell = &cells[i];
  if (!s.cell || npuc_pt2_has(n, "batch_sizes"))
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, NULL, "sequences of several lengths packed into one tensor (PackedSequence)");
  value *x, *results[3], *last[2];
  bool batch_first;
  static const int64_t swap[] = {1, 0, 2};
  NPUC_TRY(npuc_pt2_tensor(n, "input", &x));
  NPUC_TRY(npuc_pt2_bool_arg(n, "batch_first", false, &batch_first));
  NPUC_TRY(read_stack(&s));
  if (x->shape.rank != 3) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "input", "%d axes; 3 wanted", x->shape.rank);
  if (batch_first) NPUC_TRY(npuc_pt2_transpose(n, x, swap, 3, &x));
  value **states = NPUC_NEW_ARRAY(n->s->scratch, (size_t)(2 * s.layers), value *);
  for (int64_t layer = 0; layer < s.layers; layer++) {
    NPUC_TRY(one_layer(&s, layer, x, &x, last));
    for (int32_t k = 0; k < s.cell->states; k++) states[k * s.layers + layer] = last[k];
  }
  if (batch_first) NPUC_TRY(npuc_pt2_transpose(n, x, swap, 3, &x));
  results[0] = x;
  for (int32_t k = 0; k < s.cell->states; k++) NPUC_TRY(concat(&s, states + k * s.layers, (size_t)s.layers, 0, &results[1 + k]));
  return npuc_pt2_results(n, results, (size_t)(1 + s.cell->states));
}
