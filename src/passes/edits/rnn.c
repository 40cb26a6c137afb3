/* SPDX-License-Identifier: Apache-2.0 */
/* decompose-bidirectional-rnn: GRU, LSTM and RNN in both directions become two that run forward, the second on the sequence turned round; and a forward one that is longer than max_chunk_len becomes
 * a chain of short ones, each taking on the state of the one before. X [T, B, I], Y [T, D, B, H], Y_h and Y_c [D, B, H], D directions. */
#include <string.h>

#include "passes/edits/build.h"

enum { Y, SEQUENCE = 4, H0 = 5, MAX_STEPS = 1 << 20 };

static bool is_recurrent(const node *n) { return node_is(n, OP_RNN) || node_is(n, OP_GRU) || node_is(n, OP_LSTM); }

static bool is_float_sequence(const match *m) {
  const node *n = m->root;
  const value *x = n->n_inputs > 0 ? n->inputs[0] : NULL;
  return is_recurrent(n) && NPUC_ATTRS(recurrent_attributes, n)->layout == 0 && npuc_has_rank(x, 3) && dim_is_number(x->shape.dims[0]);
}

static value *input_at(const node *n, int32_t i) { return i < n->n_inputs ? n->inputs[i] : NULL; }

/* With sequence_lens the turned sequence would begin with padding: such nodes stay. */
static bool is_bidirectional(const match *m) {
  return is_float_sequence(m) && strcmp(NPUC_ATTRS(recurrent_attributes, m->root)->direction, "bidirectional") == 0 &&
         !input_at(m->root, SEQUENCE);
}

static value *turned(rewriter *r, value *x, int64_t steps) {
  tensor t;
  r->status = npuc_tensor_create(r->d, DTYPE_I64, &(shape){.rank = 1, .dims = {steps}}, &t);
  if (r->status != NPUC_OK) return NULL;
  for (int64_t i = 0; i < steps; i++) npuc_tensor_set_int(&t, i, steps - 1 - i);
  return MAKE(r, OP_GATHER, x, npuc_edit_tensor(r, "turned", &t)); /* axis 0 */
}

/* The activations of one direction: half of the list, or what of it there is. */
static void split_activations(recurrent_attributes *a, int direction, int32_t functions) {
  if (a->activations.count == 2 * functions) {
    a->activations.values += direction * functions;
    a->activations.count = functions;
  }
  float_list *lists[] = {&a->activation_alpha, &a->activation_beta};
  for (int i = 0; i < 2; i++) {
    int32_t half = lists[i]->count / 2;
    if (lists[i]->count == 0 || lists[i]->count % 2) continue;
    lists[i]->values += direction * half;
    lists[i]->count = half;
  }
}

static node *one_direction(rewriter *r, const node *n, int direction, value *x) {
  value *inputs[8] = {x};
  for (int32_t i = 1; i < n->n_inputs; i++) {
    if (n->inputs[i]) inputs[i] = npuc_edit_slice(r, n->inputs[i], 0, direction, direction + 1, 1);
  }
  node *one = npuc_rewrite_node(r, n->op->id, inputs, n->n_inputs, n->op->id == OP_LSTM ? 3 : 2);
  recurrent_attributes *a = one->attributes = npuc_attributes_clone(r->graph->module, n->op, n->attributes);
  a->direction = "forward";
  split_activations(a, direction, node_is(n, OP_LSTM) ? 3 : node_is(n, OP_GRU) ? 2 : 1);
  return one;
}

static void join_output(rewriter *r, const node *n, int32_t index, value *forward, value *backward, int64_t axis) {
  if (index >= n->n_outputs || !n->outputs[index]) return;
  value *both = npuc_edit_concat(r, (value *[]){forward, backward}, 2, axis);
  if (both) npuc_rewrite_replace(r, n->outputs[index], both);
}

static void two_directions(rewriter *r, const match *m) {
  const node *n = m->root;
  int64_t steps = n->inputs[0]->shape.dims[0];
  value *back = turned(r, n->inputs[0], steps);
  if (!back) return;
  node *forward = one_direction(r, n, 0, n->inputs[0]), *backward = one_direction(r, n, 1, back);
  if (n->outputs[0]) join_output(r, n, 0, forward->outputs[0], turned(r, backward->outputs[0], steps), 1);
  for (int32_t i = 1; i < n->n_outputs; i++) join_output(r, n, i, forward->outputs[i], backward->outputs[i], 0);
}

/* The root of a pattern needs an output 0 to be found; a node that gives its last state alone has none. */
static const pattern bidirectional = {
    .name = "bidirectional-to-two",
    .doc = "RNN(x; both ways) -> Concat(RNN(x), turned RNN(turned x)); GRU and LSTM likewise",
    .parity = PARITY_EXACT,
    .root = {.kind = PATTERN_NODE, .op = ANY_OP, .capture = Y, .inputs = (const pattern_node[]){REST}},
    .where = is_bidirectional,
    .rewrite = two_directions,
};

/* -- chunks -- */

static bool is_long(const match *m) {
  int64_t most = npuc_edit_int(m->parameters, "max_chunk_len");
  return most > 0 && is_float_sequence(m) && strcmp(NPUC_ATTRS(recurrent_attributes, m->root)->direction, "forward") == 0 &&
         !input_at(m->root, SEQUENCE) && m->root->inputs[0]->shape.dims[0] > most && m->root->inputs[0]->shape.dims[0] <= MAX_STEPS;
}

static void in_chunks(rewriter *r, const match *m) {
  const node *n = m->root;
  int64_t steps = n->inputs[0]->shape.dims[0], most = npuc_edit_int(m->parameters, "max_chunk_len"), count = (steps + most - 1) / most;
  int32_t n_states = node_is(n, OP_LSTM) ? 2 : 1, n_inputs = n->n_inputs > H0 + n_states ? n->n_inputs : H0 + n_states;
  value *inputs[8] = {NULL}, **parts = NPUC_NEW_ARRAY(r->scratch, (size_t)count, value *);
  for (int32_t i = 1; i < n->n_inputs; i++) inputs[i] = n->inputs[i];
  node *chunk = NULL;
  for (int64_t k = 0; k < count; k++) {
    int64_t end = (k + 1) * most < steps ? (k + 1) * most : steps;
    inputs[0] = npuc_edit_slice(r, n->inputs[0], 0, k * most, end, 1);
    chunk = npuc_rewrite_node(r, n->op->id, inputs, n_inputs, 1 + n_states);
    chunk->attributes = npuc_attributes_clone(r->graph->module, n->op, n->attributes);
    parts[k] = chunk->outputs[0];
    for (int32_t i = 0; i < n_states; i++) inputs[H0 + i] = chunk->outputs[1 + i];
  }
  if (n->outputs[0]) npuc_rewrite_replace(r, n->outputs[0], npuc_edit_concat(r, parts, (int32_t)count, 0));
  for (int32_t i = 1; i < n->n_outputs; i++) {
    if (n->outputs[i]) npuc_rewrite_replace(r, n->outputs[i], chunk->outputs[i]);
  }
}

static const pattern chunks = {
    .name = "recurrent-in-chunks",
    .doc = "RNN(x) -> Concat(RNN(x[0:k]), RNN(x[k:2k]; state of the one before), ..); GRU and LSTM likewise",
    .parity = PARITY_EXACT,
    .root = {.kind = PATTERN_NODE, .op = ANY_OP, .capture = Y, .inputs = (const pattern_node[]){REST}},
    .where = is_long,
    .rewrite = in_chunks,
};

static const pattern *const patterns[] = {&bidirectional, &chunks};
PATTERN_SET(npuc_edit_decompose_bidirectional_rnn_patterns, patterns);
