/* SPDX-License-Identifier: Apache-2.0 */
/* If, Loop, Scan: operators that run graphs. A body's inputs are those that the operator gives, then the captures (ir/graph.h), which are the node's last
 * inputs. What a loop carries may change its shape from one turn to the next: its shape is what all turns have in common, found by widening until nothing changes. */
#include <stddef.h>
#include <string.h>

#include "ir/ops/support.h"

#define CAPTURES_DOC "; behind them the outer values that bodies read (a file's bodies name them, and the node does not list them)"

static npuc_status fail_body(diag *d, const node *n, const char *attribute, const char *what, size_t given, size_t wanted) {
  return npuc_op_fail(d, n, NPUC_DIAG_E0444, attribute, "the body has %zu %s; the node wants %zu", given, what, wanted);
}

static npuc_status check_body(diag *d, const node *n, const char *attribute, const graph *body, int64_t n_inputs, size_t n_outputs) {
  if (!body || body->n_captures != npuc_node_captures(n))
    return npuc_op_fail(d, n, NPUC_DIAG_E0410, attribute, "the bodies' captures differ");
  size_t own = body->n_inputs - (size_t)body->n_captures;
  if (n_inputs < 0 || own != (size_t)n_inputs) return fail_body(d, n, attribute, "inputs", own, n_inputs < 0 ? 0 : (size_t)n_inputs);
  if (body->n_outputs != n_outputs) return fail_body(d, n, attribute, "outputs", body->n_outputs, n_outputs);
  return NPUC_OK;
}

/* What the captures are, behind the first `own` of `facts`. */
static void capture_facts(const infer_context *c, fact *facts, int32_t own) {
  int32_t captures = npuc_node_captures(c->node), first = c->node->n_inputs - captures;
  for (int32_t i = 0; i < captures; i++) {
    facts[own + i] = c->inputs[first + i] ? *c->inputs[first + i] : (fact){.shape = SHAPE_UNKNOWN};
  }
}

/* The shape that both have. */
static void widen(shape *s, const shape *other, bool *out_changed) {
  if (s->rank < 0) return;
  if (s->rank != other->rank) {
    s->rank = -1;
    *out_changed = true;
    return;
  }
  for (int32_t i = 0; i < s->rank; i++) {
    if (s->dims[i] == other->dims[i] || s->dims[i] == DIM_UNKNOWN) continue;
    s->dims[i] = DIM_UNKNOWN;
    *out_changed = true;
  }
}

static void free_dims(infer_context *c, int32_t output) {
  shape *s = &c->outputs[output].shape;
  for (int32_t i = 0; i < s->rank; i++) {
    if (s->dims[i] == DIM_UNKNOWN) s->dims[i] = npuc_infer_free_dim(c, output, i);
  }
}

static npuc_status same_type(infer_context *c, const char *port, int32_t index, dtype *type, dtype other) {
  if (*type == DTYPE_NONE) *type = other;
  if (other == DTYPE_NONE || *type == other) return NPUC_OK;
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0413, port, "number %d is %s and becomes %s", (int)index, npuc_dtype_name(*type),
                      npuc_dtype_name(other));
}

static void no_cost(const node *n, op_cost *out_cost) {
  (void)n;
  *out_cost = (op_cost){0};
}

/* -- If -- */
static const op_port if_inputs[] = {
    {.name = "cond", .doc = "bool of one element"},
    {.name = "captures",
     .optional = true,
     .variadic = true,
     .doc = "the outer values that the branches read (a file's branches name them, and the node does not list them)"}};
static const op_port if_outputs[] = {{.name = "outputs", .optional = true, .variadic = true, .doc = "those of the branch that ran"}};
static const attr_field if_fields[] = {FIELD_GRAPH(if_attributes, then_branch, "runs when cond is true; no inputs"),
                                       FIELD_GRAPH(if_attributes, else_branch, "runs when cond is false; no inputs")};

static npuc_status if_verify(diag *d, const node *n) {
  const if_attributes *a = NPUC_ATTRS(if_attributes, n);
  NPUC_TRY(check_body(d, n, "then_branch", a->then_branch, 0, (size_t)n->n_outputs));
  return check_body(d, n, "else_branch", a->else_branch, 0, (size_t)n->n_outputs);
}

/* A branch that never runs need not fit the shapes that the other one is chosen for: exporters write one branch for each rank. */
static void forget_shapes(fact *facts, int32_t n) {
  for (int32_t i = 0; i < n; i++) facts[i] = (fact){.type = facts[i].type, .shape = SHAPE_UNKNOWN};
}

static npuc_status if_infer(infer_context *c) {
  const if_attributes *a = NPUC_ATTRS(if_attributes, c->node);
  NPUC_TRY(if_verify(c->d, c->node));
  size_t n = (size_t)c->node->n_outputs;
  fact *facts = NPUC_NEW_ARRAY(c->scratch, (size_t)npuc_node_captures(c->node) + 1, fact);
  fact *results[2] = {NPUC_NEW_ARRAY(c->scratch, n + 1, fact), NPUC_NEW_ARRAY(c->scratch, n + 1, fact)};
  const fact *cond = npuc_fact_input(c, 0);
  bool known = cond && cond->constant && npuc_tensor_elements(cond->constant) == 1;
  int chosen = known ? !npuc_tensor_get_int(cond->constant, 0) : 0;
  graph *const branches[2] = {a->then_branch, a->else_branch};
  for (int i = 0; i < 2; i++) {
    capture_facts(c, facts, 0);
    if (known && i != chosen) forget_shapes(facts, npuc_node_captures(c->node));
    NPUC_TRY(npuc_infer_body(c, branches[i], facts, results[i]));
  }
  for (int32_t i = 0; i < c->node->n_outputs; i++) {
    fact *out = &c->outputs[i];
    *out = (fact){.type = results[chosen][i].type, .shape = results[chosen][i].shape};
    NPUC_TRY(same_type(c, "else_branch", i, &out->type, results[1][i].type));
    bool changed = false;
    if (!known) widen(&out->shape, &results[1][i].shape, &changed);
    free_dims(c, i);
  }
  return NPUC_OK;
}

const op_def npuc_op_if = {
    ONNX_OP(if, OP_IF, "If", 25, 1),
    .traits = TRAIT_DATA_SHAPE | TRAIT_TAKES_TEXT | TRAIT_TAKES_LISTS,
    .summary = "Runs one of two graphs.",
    .formula = "outputs = cond ? then_branch() : else_branch()",
    PORTS_IN(if_inputs, 1),
    PORTS_OUT(if_outputs, 0),
    ATTRIBUTES(if_fields, if_attributes),
    .infer = if_infer,
    .verify = if_verify,
    .cost = no_cost,
};

/* -- what Loop and Scan carry -- */

/* What is carried keeps its type, but that an optional may become what it would hold: the body is given that as an optional again. */
static npuc_status carried_type(infer_context *c, int32_t index, dtype *type, dtype result) {
  if (npuc_dtype_is_optional(*type) && npuc_dtype_item(*type) == result) return NPUC_OK;
  return same_type(c, "body", index, type, result);
}

/* The facts of body inputs first .. first + n, from one turn to the next: results[i] is what number i becomes. */
static npuc_status settle_carried(infer_context *c, graph *body, fact *facts, int32_t first, int32_t n, fact *results,
                                  int32_t first_result) {
  enum { ROUNDS = 12 };
  infer_context quiet = *c;
  quiet.module = NULL; /* the body learns what is true of all turns, not of the first */
  for (int32_t i = 0; i < n; i++) facts[first + i].constant = NULL, facts[first + i].content = NULL, facts[first + i].n_content = 0;
  for (int round = 0; round < ROUNDS; round++) {
    bool changed = false;
    NPUC_TRY(npuc_infer_body(&quiet, body, facts, results));
    for (int32_t i = 0; i < n; i++) {
      fact *carried = &facts[first + i];
      NPUC_TRY(carried_type(c, i, &carried->type, results[first_result + i].type));
      if (round + 1 == ROUNDS) carried->shape = SHAPE_UNKNOWN;
      widen(&carried->shape, &results[first_result + i].shape, &changed);
    }
    if (!changed) break;
  }
  return npuc_infer_body(c, body, facts, results);
}

static void carried_outputs(infer_context *c, const fact *facts, int32_t n, const fact *results) {
  for (int32_t i = 0; i < n; i++) {
    c->outputs[i] = (fact){.type = facts[i].type, .shape = facts[i].shape};
    if (npuc_dtype_is_optional(facts[i].type)) c->outputs[i].type = results[i].type;
    if (npuc_dtype_is_list(c->outputs[i].type)) c->outputs[i].shape = (shape){.rank = 1, .dims = {DIM_UNKNOWN}};
    free_dims(c, i);
  }
}

/* Output `output` is one slice for each turn, along `axis`. */
static npuc_status stacked_output(infer_context *c, int32_t output, const fact *slice, int64_t given_axis, dim turns) {
  fact *out = &c->outputs[output];
  out->type = slice->type;
  if (slice->shape.rank < 0) return NPUC_OK;
  if (slice->shape.rank == MAX_RANK)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "outputs", "stacked, output %d has more than %d axes", (int)output, (int)MAX_RANK);
  int32_t axis;
  NPUC_TRY(npuc_require_axis(c, given_axis, slice->shape.rank + 1, &axis));
  out->shape.rank = slice->shape.rank + 1;
  for (int32_t i = 0; i < out->shape.rank; i++) {
    out->shape.dims[i] = i < axis ? slice->shape.dims[i] : i > axis ? slice->shape.dims[i - 1] : turns;
  }
  free_dims(c, output);
  return NPUC_OK;
}

/* -- Loop -- */
static const op_port loop_inputs[] = {
    {.name = "M", .optional = true, .doc = "most turns, int64 of one element; no bound when absent"},
    {.name = "cond", .optional = true, .doc = "bool of one element: whether there is a first turn; true when absent"},
    {.name = "v_initial", .optional = true, .variadic = true, .doc = "what the first turn is given" CAPTURES_DOC}};
static const op_port loop_outputs[] = {{.name = "v_final_and_scan_outputs",
                                        .optional = true,
                                        .variadic = true,
                                        .doc = "what the last turn left, then each scan output, stacked over the turns"}};
static const attr_field loop_fields[] = {
    FIELD_GRAPH(loop_attributes, body, "(number of the turn, cond, what is carried) to (cond, what is carried, scan outputs)")};

static int32_t loop_carried(const node *n) { return n->n_inputs - 2 - npuc_node_captures(n); }

static npuc_status loop_verify(diag *d, const node *n) {
  const graph *body = NPUC_ATTRS(loop_attributes, n)->body;
  return check_body(d, n, "body", body, loop_carried(n) < 0 ? -1 : loop_carried(n) + 2, (size_t)n->n_outputs + 1);
}

static bool is_true(const fact *f) {
  return f && f->constant && npuc_tensor_elements(f->constant) == 1 && npuc_tensor_get_int(f->constant, 0);
}

/* Inside, cond is true: otherwise there is no turn. */
static fact scalar_fact(const value *formal, dtype type, bool is_cond) {
  static uint8_t yes[1] = {1};
  static const tensor truth[2] = {{.type = DTYPE_BOOL, .shape = {.rank = 0}, .data = yes, .bytes = 1},
                                  {.type = DTYPE_BOOL, .shape = {.rank = 1, .dims = {1}}, .data = yes, .bytes = 1}};
  const tensor *t = &truth[formal->shape.rank == 1];
  return (fact){.type = type, .shape = t->shape, .constant = is_cond ? t : NULL};
}

static npuc_status loop_infer(infer_context *c) {
  graph *body = NPUC_ATTRS(loop_attributes, c->node)->body;
  NPUC_TRY(loop_verify(c->d, c->node));
  int32_t n = loop_carried(c->node);
  fact *facts = NPUC_NEW_ARRAY(c->scratch, body->n_inputs, fact), *results = NPUC_NEW_ARRAY(c->scratch, body->n_outputs, fact);
  facts[0] = scalar_fact(body->inputs[0], DTYPE_I64, false);
  facts[1] = scalar_fact(body->inputs[1], DTYPE_BOOL, true);
  for (int32_t i = 0; i < n; i++) facts[2 + i] = c->inputs[2 + i] ? *c->inputs[2 + i] : (fact){.shape = SHAPE_UNKNOWN};
  capture_facts(c, facts, 2 + n);
  NPUC_TRY(settle_carried(c, body, facts, 2, n, results, 1));
  carried_outputs(c, facts + 2, n, results + 1);
  const fact *most = npuc_fact_input(c, 0), *cond = npuc_fact_input(c, 1);
  elements count;
  bool always = (!cond || is_true(cond)) && is_true(&results[0]);
  dim turns = DIM_UNKNOWN;
  if (always && most && npuc_elements_read(most, &count) && count.count == 1)
    turns = count.at[0].is_number && count.at[0].number < 0 ? 0 : npuc_element_dim(&count.at[0]);
  for (int32_t i = n; i < c->node->n_outputs; i++) NPUC_TRY(stacked_output(c, i, &results[1 + i], 0, turns));
  return NPUC_OK;
}

const op_def npuc_op_loop = {
    ONNX_OP(loop, OP_LOOP, "Loop", 25, 1),
    .traits = TRAIT_DATA_SHAPE | TRAIT_TAKES_TEXT | TRAIT_TAKES_LISTS,
    .summary = "Runs a graph again and again, each time on what the time before left.",
    .formula = "for (i = 0; i < M && cond; i++) cond, v, scan[i] = body(i, cond, v)",
    PORTS_IN(loop_inputs, 2),
    PORTS_OUT(loop_outputs, 0),
    ATTRIBUTES(loop_fields, loop_attributes),
    .infer = loop_infer,
    .verify = loop_verify,
    .cost = no_cost,
};

/* -- Scan -- */
static const op_port scan_inputs[] = {{.name = "initial_state_and_scan_inputs",
                                       .optional = true,
                                       .variadic = true,
                                       .doc = "states, then the tensors that are cut" CAPTURES_DOC}};
static const op_port scan_outputs[] = {{.name = "final_state_and_scan_outputs",
                                        .optional = true,
                                        .variadic = true,
                                        .doc = "states after the last turn, then each scan output, stacked over the turns"}};
static const attr_field scan_fields[] = {
    FIELD_GRAPH(scan_attributes, body, "(states, a slice of each scan input) to (states, a slice of each scan output)"),
    {.name = "num_scan_inputs",
     .kind = ATTR_INT,
     .offset = offsetof(scan_attributes, num_scan_inputs),
     .required = true,
     .doc = "how many of the inputs are cut"},
    FIELD_INTS(scan_attributes, scan_input_axes, "along which each is cut; 0 when absent"),
    FIELD_INTS(scan_attributes, scan_input_directions, "0 forward, 1 backward; forward when absent"),
    FIELD_INTS(scan_attributes, scan_output_axes, "along which each is stacked; 0 when absent"),
    FIELD_INTS(scan_attributes, scan_output_directions, "0 appends, 1 puts in front; 0 when absent"),
};

static npuc_status check_list(diag *d, const node *n, const char *attribute, const int_list *l, int64_t wanted, bool is_flag) {
  if (l->count && l->count != wanted)
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, attribute, "%d entries for %lld ports", (int)l->count, (long long)wanted);
  for (int32_t i = 0; is_flag && i < l->count; i++) {
    if (l->values[i] != 0 && l->values[i] != 1)
      return npuc_op_fail(d, n, NPUC_DIAG_E0440, attribute, "entry %d is neither 0 nor 1", (int)i);
  }
  return NPUC_OK;
}

static npuc_status scan_verify(diag *d, const node *n) {
  const scan_attributes *a = NPUC_ATTRS(scan_attributes, n);
  int64_t given = n->n_inputs - npuc_node_captures(n), states = given - a->num_scan_inputs;
  if (a->num_scan_inputs < 1 || states < 0 || states > n->n_outputs)
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "num_scan_inputs", "%lld given, and the node has %lld inputs and %d outputs",
                        (long long)a->num_scan_inputs, (long long)given, (int)n->n_outputs);
  for (int32_t i = 0; i < (int32_t)given; i++) {
    if (!n->inputs[i])
      return npuc_op_fail(d, n, NPUC_DIAG_E0440, "num_scan_inputs", "input %d is omitted: each state and each tensor that is cut is needed",
                          (int)i);
  }
  NPUC_TRY(check_body(d, n, "body", a->body, given, (size_t)n->n_outputs));
  NPUC_TRY(check_list(d, n, "scan_input_axes", &a->scan_input_axes, a->num_scan_inputs, false));
  NPUC_TRY(check_list(d, n, "scan_input_directions", &a->scan_input_directions, a->num_scan_inputs, true));
  NPUC_TRY(check_list(d, n, "scan_output_axes", &a->scan_output_axes, n->n_outputs - states, false));
  return check_list(d, n, "scan_output_directions", &a->scan_output_directions, n->n_outputs - states, true);
}

/* A slice of the scan input; the length of its axis goes into *io_turns. */
static npuc_status slice_fact(infer_context *c, int32_t input, int64_t given_axis, dim *io_turns, fact *out_slice) {
  const fact *x = c->inputs[input];
  *out_slice = (fact){.type = x ? x->type : DTYPE_NONE, .shape = SHAPE_UNKNOWN};
  if (!x || x->shape.rank < 0) return NPUC_OK;
  int32_t axis;
  if (x->shape.rank == 0)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "scan_inputs", "input %d is a scalar: there is nothing to cut", (int)input);
  NPUC_TRY(npuc_require_axis(c, given_axis, x->shape.rank, &axis));
  dim length = x->shape.dims[axis], merged;
  if (!npuc_dim_merge(*io_turns, length, &merged))
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "scan_inputs", "input %d has %lld slices, another %lld", (int)input,
                        (long long)length, (long long)*io_turns);
  *io_turns = merged;
  out_slice->shape.rank = x->shape.rank - 1;
  for (int32_t i = 0; i < out_slice->shape.rank; i++) out_slice->shape.dims[i] = x->shape.dims[i < axis ? i : i + 1];
  return NPUC_OK;
}

static npuc_status scan_infer(infer_context *c) {
  const scan_attributes *a = NPUC_ATTRS(scan_attributes, c->node);
  NPUC_TRY(scan_verify(c->d, c->node));
  int32_t given = c->node->n_inputs - npuc_node_captures(c->node), states = given - (int32_t)a->num_scan_inputs;
  fact *facts = NPUC_NEW_ARRAY(c->scratch, a->body->n_inputs, fact), *results = NPUC_NEW_ARRAY(c->scratch, a->body->n_outputs + 1, fact);
  dim turns = DIM_UNKNOWN;
  for (int32_t i = 0; i < states; i++) facts[i] = c->inputs[i] ? *c->inputs[i] : (fact){.shape = SHAPE_UNKNOWN};
  for (int32_t i = states; i < given; i++)
    NPUC_TRY(slice_fact(c, i, a->scan_input_axes.count ? a->scan_input_axes.values[i - states] : 0, &turns, &facts[i]));
  capture_facts(c, facts, given);
  NPUC_TRY(settle_carried(c, a->body, facts, 0, states, results, 0));
  carried_outputs(c, facts, states, results);
  for (int32_t i = states; i < c->node->n_outputs; i++)
    NPUC_TRY(stacked_output(c, i, &results[i], a->scan_output_axes.count ? a->scan_output_axes.values[i - states] : 0, turns));
  return NPUC_OK;
}

const op_def npuc_op_scan = {
    ONNX_OP(scan, OP_SCAN, "Scan", 25, 9),
    .traits = TRAIT_DATA_SHAPE | TRAIT_TAKES_TEXT | TRAIT_TAKES_LISTS,
    .summary = "Runs a graph on each slice of its inputs, with states handed from one slice to the next.",
    .formula = "for (i = 0; i < length; i++) state, y[i] = body(state, x[i])",
    PORTS_IN(scan_inputs, 1),
    PORTS_OUT(scan_outputs, 0),
    ATTRIBUTES(scan_fields, scan_attributes),
    .infer = scan_infer,
    .verify = scan_verify,
    .cost = no_cost,
};
