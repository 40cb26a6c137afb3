/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences and optionals whose length data gives (those of known length are gone when a file has been read: import/onnx/sequence.c). A sequence is a vector of
 * references to tensors (tensor/reference.h), so Identity, If and Loop move it as any other value; its shape says its length, and nothing of what it holds. An optional
 * is such a vector of at most one. */
#include <stddef.h>

#include "ir/ops/support.h"

static const op_port position_port = {
    .name = "position", .optional = true, .doc = "int32 or int64 of one element; negative: counted from the end"};
static const op_port construct_inputs[] = {{.name = "inputs", .variadic = true, .doc = "tensors of one type, of any shapes"}};
static const op_port sequence_outputs[] = {{.name = "output_sequence", .doc = "a sequence"}};
static const op_port insert_inputs[] = {
    {.name = "input_sequence", .doc = "of n tensors"},
    {.name = "tensor", .doc = "of the sequence's type"},
    {.name = "position", .optional = true, .doc = "int32 or int64 of one element, -n to n; n when absent"}};
static const op_port erase_inputs[] = {
    {.name = "input_sequence", .doc = "of n tensors"},
    {.name = "position", .optional = true, .doc = "int32 or int64 of one element, -n to n - 1; the last when absent"}};
static const op_port at_inputs[] = {{.name = "input_sequence", .doc = "of n tensors"},
                                    {.name = "position", .doc = "int32 or int64 of one element, -n to n - 1"}};
static const op_port at_outputs[] = {{.name = "tensor", .doc = "the one there"}};
static const op_port length_inputs[] = {{.name = "input_sequence", .doc = "of n tensors"}};
static const op_port length_outputs[] = {{.name = "length", .doc = "int64 scalar: n"}};
static const op_port split_inputs[] = {
    {.name = "input", .doc = "a tensor"},
    {.name = "split",
     .optional = true,
     .doc = "int32 or int64; a vector: the parts' sizes, a scalar: the size of each, the last may be smaller; 1 when absent"}};
static const op_port concat_outputs[] = {{.name = "concat_result", .doc = "the tensors, joined"}};
static const op_port map_inputs[] = {
    {.name = "input_sequence", .doc = "of n tensors"},
    {.name = "additional_inputs",
     .optional = true,
     .variadic = true,
     .doc = "sequences of n tensors, or tensors that every run is given; behind them the outer values that the body reads"}};
static const op_port map_outputs[] = {{.name = "out_sequence", .variadic = true, .optional = true, .doc = "sequences of n tensors"}};
static const op_port optional_inputs[] = {{.name = "input", .optional = true, .doc = "a tensor or a sequence"}};
static const op_port optional_outputs[] = {{.name = "output", .doc = "the optional that holds it, or nothing"}};
static const op_port element_inputs[] = {{.name = "input", .doc = "an optional, or what one would hold"}};
static const op_port element_outputs[] = {{.name = "output", .doc = "what it holds"}};
static const op_port has_inputs[] = {{.name = "input", .optional = true, .doc = "an optional, or what one would hold"}};
static const op_port has_outputs[] = {{.name = "output", .doc = "bool scalar"}};

static const attr_field empty_fields[] = {
    FIELD_INT(sequenceempty_attributes, dtype, DTYPE_F32, "TensorProto.DataType of the tensors that it would hold")};
static const attr_field split_fields[] = {
    FIELD_INT(splittosequence_attributes, axis, 0, "along which the tensor is cut"),
    FIELD_INT(splittosequence_attributes, keepdims, 1, "0 without `split`: the parts of size 1 lose the axis")};
static const attr_field concat_fields[] = {{.name = "axis",
                                            .kind = ATTR_INT,
                                            .offset = offsetof(concatfromsequence_attributes, axis),
                                            .required = true,
                                            .doc = "along which they are joined"},
                                           FIELD_INT(concatfromsequence_attributes, new_axis, 0, "1: a new axis is made for it")};
static const attr_field map_fields[] = {FIELD_GRAPH(sequencemap_attributes, body, "runs once for each element")};
static const attr_field optional_fields[] = {{.name = "type",
                                              .kind = ATTR_TYPE,
                                              .offset = offsetof(optional_attributes, type),
                                              .doc = "without an input: the type of what it would hold"}};

static void no_cost(const node *n, op_cost *out_cost) {
  (void)n;
  *out_cost = (op_cost){0};
}

/* Output i is a sequence of `item`s of so many elements. */
static void sequence_out(infer_context *c, int32_t i, dtype item, dim length) {
  c->outputs[i].type = npuc_dtype_sequence(item);
  c->outputs[i].shape = (shape){.rank = 1, .dims = {length == DIM_UNKNOWN ? npuc_infer_free_dim(c, i, 0) : length}};
}

static dim length_of(const fact *f) { return f && f->shape.rank == 1 ? f->shape.dims[0] : DIM_UNKNOWN; }

/* What the sequence at input i holds; NONE where its type is not known. */
static npuc_status want_sequence(infer_context *c, int32_t i, dtype *out_item) {
  dtype type = npuc_fact_type(c, i);
  *out_item = DTYPE_NONE;
  if (type == DTYPE_NONE) return NPUC_OK;
  if (!npuc_dtype_is_list(type) || npuc_dtype_is_optional(type))
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0442, c->node->op->inputs[i].name, "%s given; a sequence wanted", npuc_dtype_name(type));
  *out_item = npuc_dtype_item(type);
  return NPUC_OK;
}

static npuc_status want_tensor(infer_context *c, int32_t i, dtype wanted) {
  dtype type = npuc_fact_type(c, i);
  if (type == DTYPE_NONE || (!npuc_dtype_is_list(type) && (wanted == DTYPE_NONE || wanted == type))) return NPUC_OK;
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0442, "input", "input %d is %s; %s wanted", (int)i, npuc_dtype_name(type),
                      wanted == DTYPE_NONE ? "a tensor" : npuc_dtype_name(wanted));
}

static npuc_status want_position(infer_context *c, int32_t i) {
  dtype type = npuc_fact_type(c, i);
  if (type == DTYPE_NONE || type == DTYPE_I32 || type == DTYPE_I64) return NPUC_OK;
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0442, position_port.name, "%s given; int32 or int64 wanted", npuc_dtype_name(type));
}

static npuc_status construct_infer(infer_context *c) {
  NPUC_TRY(npuc_infer_same_type(c, 0, c->node->n_inputs - 1));
  dtype item = DTYPE_NONE;
  for (int32_t i = 0; i < c->node->n_inputs; i++) {
    NPUC_TRY(want_tensor(c, i, DTYPE_NONE));
    if (item == DTYPE_NONE) item = npuc_fact_type(c, i);
  }
  sequence_out(c, 0, item, c->node->n_inputs);
  return NPUC_OK;
}

static npuc_status empty_verify(diag *d, const node *n) {
  int64_t type = NPUC_ATTRS(sequenceempty_attributes, n)->dtype;
  if (type > DTYPE_NONE && type < DTYPE_END) return NPUC_OK;
  return npuc_op_fail(d, n, NPUC_DIAG_E0440, "dtype", "%lld is not an element type", (long long)type);
}

static npuc_status empty_infer(infer_context *c) {
  NPUC_TRY(empty_verify(c->d, c->node));
  sequence_out(c, 0, (dtype)NPUC_ATTRS(sequenceempty_attributes, c->node)->dtype, 0);
  return NPUC_OK;
}

static npuc_status insert_infer(infer_context *c) {
  dtype item;
  NPUC_TRY(want_sequence(c, 0, &item));
  NPUC_TRY(want_tensor(c, 1, item));
  NPUC_TRY(want_position(c, 2));
  dim before = length_of(npuc_fact_input(c, 0));
  sequence_out(c, 0, item != DTYPE_NONE ? item : npuc_fact_type(c, 1), dim_is_number(before) ? before + 1 : DIM_UNKNOWN);
  return NPUC_OK;
}

static npuc_status erase_infer(infer_context *c) {
  dtype item;
  NPUC_TRY(want_sequence(c, 0, &item));
  NPUC_TRY(want_position(c, 1));
  dim before = length_of(npuc_fact_input(c, 0));
  sequence_out(c, 0, item, dim_is_number(before) && before > 0 ? before - 1 : DIM_UNKNOWN);
  return NPUC_OK;
}

static npuc_status at_infer(infer_context *c) {
  NPUC_TRY(want_sequence(c, 0, &c->outputs[0].type));
  return want_position(c, 1);
}

static npuc_status length_infer(infer_context *c) {
  dtype item;
  NPUC_TRY(want_sequence(c, 0, &item));
  c->outputs[0].type = DTYPE_I64;
  c->outputs[0].shape = SHAPE_SCALAR;
  elements e = {.rank = 0, .count = 1};
  e.at[0] = npuc_element_of_dim(length_of(npuc_fact_input(c, 0)));
  npuc_elements_write(c, 0, &e);
  return NPUC_OK;
}

static npuc_status split_infer(infer_context *c) {
  NPUC_TRY(want_tensor(c, 0, DTYPE_NONE));
  NPUC_TRY(want_position(c, 1));
  const fact *sizes = npuc_fact_input(c, 1);
  sequence_out(c, 0, npuc_fact_type(c, 0), length_of(sizes));
  return NPUC_OK;
}

static npuc_status split_verify(diag *d, const node *n) {
  return npuc_verify_flag(d, n, "keepdims", NPUC_ATTRS(splittosequence_attributes, n)->keepdims);
}

static npuc_status concat_infer(infer_context *c) { return want_sequence(c, 0, &c->outputs[0].type); }

static npuc_status concat_verify(diag *d, const node *n) {
  return npuc_verify_flag(d, n, "new_axis", NPUC_ATTRS(concatfromsequence_attributes, n)->new_axis);
}

static npuc_status map_verify(diag *d, const node *n) {
  const graph *body = NPUC_ATTRS(sequencemap_attributes, n)->body;
  if (!body || body->n_captures != npuc_node_captures(n)) return npuc_op_fail(d, n, NPUC_DIAG_E0410, "body", "the body's captures differ");
  if (body->n_inputs != (size_t)n->n_inputs || body->n_outputs != (size_t)n->n_outputs)
    return npuc_op_fail(d, n, NPUC_DIAG_E0444, "body", "the body has %zu inputs and %zu outputs; the node has %d and %d",
                        body->n_inputs - (size_t)body->n_captures, body->n_outputs, (int)(n->n_inputs - npuc_node_captures(n)),
                        (int)n->n_outputs);
  return NPUC_OK;
}

static npuc_status map_infer(infer_context *c) {
  graph *body = NPUC_ATTRS(sequencemap_attributes, c->node)->body;
  NPUC_TRY(map_verify(c->d, c->node));
  dtype item;
  NPUC_TRY(want_sequence(c, 0, &item));
  int32_t own = c->node->n_inputs - npuc_node_captures(c->node);
  fact *facts = NPUC_NEW_ARRAY(c->scratch, body->n_inputs, fact), *results = NPUC_NEW_ARRAY(c->scratch, body->n_outputs + 1, fact);
  for (int32_t i = 0; i < c->node->n_inputs; i++) {
    facts[i] = c->inputs[i] ? *c->inputs[i] : (fact){.shape = SHAPE_UNKNOWN};
    if (i < own && npuc_dtype_is_list(facts[i].type)) facts[i] = (fact){.type = npuc_dtype_item(facts[i].type), .shape = SHAPE_UNKNOWN};
  }
  NPUC_TRY(npuc_infer_body(c, body, facts, results));
  for (int32_t i = 0; i < c->node->n_outputs; i++) sequence_out(c, i, results[i].type, length_of(npuc_fact_input(c, 0)));
  return NPUC_OK;
}

static npuc_status optional_infer(infer_context *c) {
  dtype held = npuc_fact_input(c, 0) ? npuc_fact_type(c, 0) : NPUC_ATTRS(optional_attributes, c->node)->type;
  if (npuc_dtype_is_optional(held))
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0442, "input", "%s given; a tensor or a sequence wanted", npuc_dtype_name(held));
  c->outputs[0].type = npuc_dtype_optional(held);
  c->outputs[0].shape = (shape){.rank = 1, .dims = {npuc_fact_input(c, 0) != NULL}};
  return NPUC_OK;
}

static npuc_status optional_verify(diag *d, const node *n) {
  bool typed = NPUC_ATTRS(optional_attributes, n)->type != DTYPE_NONE, full = n->n_inputs > 0 && n->inputs[0];
  if (typed || full) return NPUC_OK;
  return npuc_op_fail(d, n, NPUC_DIAG_E0440, "type", "an optional without an element says what it would hold");
}

static npuc_status element_infer(infer_context *c) {
  NPUC_TRY(npuc_infer_unary(c));
  if (!npuc_dtype_is_optional(c->outputs[0].type)) return NPUC_OK;
  c->outputs[0].type = npuc_dtype_item(c->outputs[0].type);
  c->outputs[0].shape = npuc_dtype_is_list(c->outputs[0].type) ? (shape){.rank = 1, .dims = {npuc_infer_free_dim(c, 0, 0)}} : SHAPE_UNKNOWN;
  return NPUC_OK;
}

static npuc_status has_infer(infer_context *c) {
  c->outputs[0].type = DTYPE_BOOL;
  c->outputs[0].shape = SHAPE_SCALAR;
  return NPUC_OK;
}

#define LIST_OP(symbol, op_enum, name, since, oldest, ins, least, outs, infers, sentence, meaning)                                         \
  ONNX_OP(symbol, op_enum, name, since, oldest), .traits = TRAIT_DATA_SHAPE | TRAIT_TAKES_LISTS | TRAIT_TAKES_TEXT, .summary = (sentence), \
                                                 .formula = (meaning), PORTS_IN(ins, least), PORTS_OUT(outs, 1), .infer = (infers),        \
                                                 .cost = no_cost

const op_def npuc_op_sequenceconstruct = {LIST_OP(sequenceconstruct, OP_SEQUENCECONSTRUCT, "SequenceConstruct", 11, 11, construct_inputs, 1,
                                                  sequence_outputs, construct_infer, "The tensors as a sequence.", "output = (inputs...)")};
const op_def npuc_op_sequenceempty = {
    ONNX_OP(sequenceempty, OP_SEQUENCEEMPTY, "SequenceEmpty", 11, 11),
    .traits = TRAIT_DATA_SHAPE,
    .summary = "A sequence without elements.",
    .formula = "output = ()",
    PORTS_OUT(sequence_outputs, 1),
    ATTRIBUTES(empty_fields, sequenceempty_attributes),
    .infer = empty_infer,
    .verify = empty_verify,
    .cost = no_cost,
};
const op_def npuc_op_sequenceinsert = {LIST_OP(sequenceinsert, OP_SEQUENCEINSERT, "SequenceInsert", 11, 11, insert_inputs, 2,
                                               sequence_outputs, insert_infer, "The sequence with one tensor more.",
                                               "output = (s[0], ..., s[position - 1], tensor, s[position], ...)")};
const op_def npuc_op_sequenceerase = {LIST_OP(sequenceerase, OP_SEQUENCEERASE, "SequenceErase", 11, 11, erase_inputs, 1, sequence_outputs,
                                              erase_infer, "The sequence without one of its tensors.",
                                              "output = (s[0], ..., s[position - 1], s[position + 1], ...)")};
const op_def npuc_op_sequenceat = {LIST_OP(sequenceat, OP_SEQUENCEAT, "SequenceAt", 11, 11, at_inputs, 2, at_outputs, at_infer,
                                           "One tensor of a sequence.", "tensor = s[position]")};
const op_def npuc_op_sequencelength = {LIST_OP(sequencelength, OP_SEQUENCELENGTH, "SequenceLength", 11, 11, length_inputs, 1,
                                               length_outputs, length_infer, "How many tensors a sequence has.", "length = n")};
const op_def npuc_op_splittosequence = {
    LIST_OP(splittosequence, OP_SPLITTOSEQUENCE, "SplitToSequence", 24, 11, split_inputs, 1, sequence_outputs, split_infer,
            "Cuts a tensor into a sequence.", "output = (input[.., 0 : split[0], ..], input[.., split[0] : split[0] + split[1], ..], ...)"),
    ATTRIBUTES(split_fields, splittosequence_attributes), .verify = split_verify};
const op_def npuc_op_concatfromsequence = {
    LIST_OP(concatfromsequence, OP_CONCATFROMSEQUENCE, "ConcatFromSequence", 11, 11, length_inputs, 1, concat_outputs, concat_infer,
            "Joins the tensors of a sequence.", "concat_result = Concat(s[0], s[1], ...)"),
    ATTRIBUTES(concat_fields, concatfromsequence_attributes), .verify = concat_verify};
const op_def npuc_op_sequencemap = {
    LIST_OP(sequencemap, OP_SEQUENCEMAP, "SequenceMap", 17, 17, map_inputs, 1, map_outputs, map_infer,
            "Runs a graph on each tensor of a sequence.", "out[i] = body(s[i], additional[i] or additional)"),
    ATTRIBUTES(map_fields, sequencemap_attributes), .verify = map_verify};
const op_def npuc_op_optional = {LIST_OP(optional, OP_OPTIONAL, "Optional", 15, 15, optional_inputs, 0, optional_outputs, optional_infer,
                                         "An optional that holds its input, or nothing.", "output = (input) or ()"),
                                 ATTRIBUTES(optional_fields, optional_attributes), .verify = optional_verify};
const op_def npuc_op_optionalgetelement = {LIST_OP(optionalgetelement, OP_OPTIONALGETELEMENT, "OptionalGetElement", 18, 18, element_inputs,
                                                   1, element_outputs, element_infer, "What an optional holds.", "output = input[0]")};
const op_def npuc_op_optionalhaselement = {LIST_OP(optionalhaselement, OP_OPTIONALHASELEMENT, "OptionalHasElement", 18, 18, has_inputs, 0,
                                                   has_outputs, has_infer, "Whether an optional holds something.",
                                                   "output = input is there and has an element")};
