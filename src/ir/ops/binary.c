/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of two elements with numpy's broadcasting: comparisons, logic, bits, Pow, Mod, PRelu; Sum and Mean of many, Where of three. */
#include <stddef.h>
#include <string.h>

#include "ir/ops/support.h"

static const op_port binary_inputs[] = {{.name = "A", .doc = "any shape"}, {.name = "B", .doc = "broadcasts with A"}};
static const op_port binary_outputs[] = {{.name = "C", .doc = "the broadcast shape"}};

static npuc_status boolean_infer(infer_context *c) {
  NPUC_TRY(npuc_infer_broadcast(c));
  c->outputs[0].type = DTYPE_BOOL;
  return NPUC_OK;
}

/* The type of the first, whatever the second's. */
static npuc_status first_type_infer(infer_context *c) {
  const fact *a = npuc_fact_input(c, 0), *b = npuc_fact_input(c, 1);
  if (!a || !b) return NPUC_OK;
  fact same = *b, *outputs = c->outputs;
  same.type = a->type;
  const fact *inputs[] = {a, &same};
  infer_context of_one_type = *c;
  of_one_type.inputs = inputs;
  of_one_type.outputs = outputs;
  return npuc_infer_broadcast(&of_one_type);
}

/* The slope may not make the result larger. */
static npuc_status prelu_infer(infer_context *c) {
  NPUC_TRY(npuc_infer_broadcast(c));
  const fact *x = npuc_fact_input(c, 0);
  if (!x || x->shape.rank < 0) return NPUC_OK;
  for (int32_t i = 0; i < c->outputs[0].shape.rank; i++) {
    dim y = c->outputs[0].shape.dims[i];
    bool fits =
        c->outputs[0].shape.rank == x->shape.rank && (!dim_is_number(y) || !dim_is_number(x->shape.dims[i]) || y == x->shape.dims[i]);
    if (!fits) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "slope", "its shape does not broadcast to X's");
  }
  return NPUC_OK;
}

static npuc_status check_kind(diag *d, const node *n, bool fits, const char *wanted) {
  dtype t = n->inputs[0]->type;
  if (t == DTYPE_NONE || fits) return NPUC_OK;
  return npuc_op_fail(d, n, NPUC_DIAG_E0442, n->op->inputs[0].name, "%s given; %s wanted", npuc_dtype_name(t), wanted);
}
static npuc_status boolean_verify(diag *d, const node *n) { return check_kind(d, n, n->inputs[0]->type == DTYPE_BOOL, "bool"); }
static npuc_status integer_verify(diag *d, const node *n) {
  return check_kind(d, n, npuc_dtype_is_integer(n->inputs[0]->type), "an integer type");
}
static npuc_status number_verify(diag *d, const node *n) {
  dtype t = n->inputs[0]->type;
  return check_kind(d, n, npuc_dtype_is_integer(t) || npuc_dtype_kind(t) == KIND_FLOAT, "a number type");
}
static npuc_status any_verify(diag *d, const node *n) {
  dtype t = n->inputs[0]->type;
  return check_kind(d, n, npuc_dtype_is_integer(t) || npuc_dtype_kind(t) == KIND_FLOAT || t == DTYPE_BOOL || t == DTYPE_STRING,
                    "a number type, bool or string");
}

#define BINARY(op_symbol, op_enum, name, since, oldest, flags, inference, check, text, rule) \
  const op_def npuc_op_##op_symbol = {                                                       \
      .id = op_enum,                                                                         \
      .domain = "",                                                                          \
      .type = name,                                                                          \
      .since_version = since,                                                                \
      .oldest_version = oldest,                                                              \
      .traits = TRAIT_ELEMENTWISE | (flags),                                                 \
      .summary = text,                                                                       \
      .formula = rule,                                                                       \
      .source = "ONNX " name "-" #since "; broadcasting as numpy",                           \
      PORTS_IN(binary_inputs, 2),                                                            \
      PORTS_OUT(binary_outputs, 1),                                                          \
      .infer = inference,                                                                    \
      .verify = check,                                                                       \
      .eval = npuc_eval_##op_symbol,                                                         \
  }

BINARY(equal, OP_EQUAL, "Equal", 19, 7, TRAIT_COMMUTATIVE | TRAIT_TAKES_TEXT, boolean_infer, any_verify, "Whether two values are equal.",
       "C = A == B");
BINARY(less, OP_LESS, "Less", 13, 7, 0, boolean_infer, number_verify, "Whether the first is smaller.", "C = A < B");
BINARY(greater, OP_GREATER, "Greater", 13, 7, 0, boolean_infer, number_verify, "Whether the first is larger.", "C = A > B");
BINARY(lessorequal, OP_LESSOREQUAL, "LessOrEqual", 16, 12, 0, boolean_infer, number_verify, "Whether the first is not larger.",
       "C = A <= B");
BINARY(greaterorequal, OP_GREATEROREQUAL, "GreaterOrEqual", 16, 12, 0, boolean_infer, number_verify, "Whether the first is not smaller.",
       "C = A >= B");
BINARY(and, OP_AND, "And", 7, 7, TRAIT_COMMUTATIVE, boolean_infer, boolean_verify, "Logical and.", "C = A && B");
BINARY(or, OP_OR, "Or", 7, 7, TRAIT_COMMUTATIVE, boolean_infer, boolean_verify, "Logical or.", "C = A || B");
BINARY(xor, OP_XOR, "Xor", 7, 7, TRAIT_COMMUTATIVE, boolean_infer, boolean_verify, "Logical exclusive or.", "C = A != B");
BINARY(bitwiseand, OP_BITWISEAND, "BitwiseAnd", 18, 18, TRAIT_COMMUTATIVE, npuc_infer_broadcast, integer_verify, "And, bit by bit.",
       "C = A & B");
BINARY(bitwiseor, OP_BITWISEOR, "BitwiseOr", 18, 18, TRAIT_COMMUTATIVE, npuc_infer_broadcast, integer_verify, "Or, bit by bit.",
       "C = A | B");
BINARY(bitwisexor, OP_BITWISEXOR, "BitwiseXor", 18, 18, TRAIT_COMMUTATIVE, npuc_infer_broadcast, integer_verify,
       "Exclusive or, bit by bit.", "C = A ^ B");
BINARY(pow, OP_POW, "Pow", 15, 12, 0, first_type_infer, number_verify, "A power; the result has the base's type.", "C = A^B");

/* -- with attributes or names of their own -- */
static const attr_field bitshift_fields[] = {{.name = "direction",
                                              .kind = ATTR_STRING,
                                              .offset = offsetof(bitshift_attributes, direction),
                                              .required = true,
                                              .doc = "LEFT or RIGHT"}};
static const attr_field mod_fields[] = {
    FIELD_INT(mod_attributes, fmod, 0, "0: the remainder has B's sign (Python's %); 1: A's sign (C's fmod)")};
static const op_port shift_inputs[] = {{.name = "X", .doc = "unsigned"}, {.name = "Y", .doc = "how far; broadcasts with X"}};
static const op_port shift_outputs[] = {{.name = "Z", .doc = "the broadcast shape"}};
static const op_port prelu_inputs[] = {{.name = "X", .doc = "any shape"}, {.name = "slope", .doc = "broadcasts to X"}};
static const op_port prelu_outputs[] = {{.name = "Y", .doc = "as X"}};
static const op_port many_inputs[] = {{.name = "data_0", .variadic = true, .doc = "any number of tensors that broadcast together"}};
static const op_port sum_outputs[] = {{.name = "sum", .doc = "the broadcast shape"}};
static const op_port mean_outputs[] = {{.name = "mean", .doc = "the broadcast shape"}};
static const op_port where_inputs[] = {
    {.name = "condition", .doc = "bool"}, {.name = "X", .doc = "broadcasts with the others"}, {.name = "Y", .doc = "of X's type"}};
static const op_port where_outputs[] = {{.name = "output", .doc = "the broadcast shape"}};

static npuc_status bitshift_verify(diag *d, const node *n) {
  const char *to = NPUC_ATTRS(bitshift_attributes, n)->direction;
  if (strcmp(to, "LEFT") != 0 && strcmp(to, "RIGHT") != 0) {
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "direction", "\"%s\" is not one of LEFT, RIGHT", to);
  }
  return integer_verify(d, n);
}

static npuc_status mod_verify(diag *d, const node *n) {
  int64_t by_fmod = NPUC_ATTRS(mod_attributes, n)->fmod;
  NPUC_TRY(npuc_verify_flag(d, n, "fmod", by_fmod));
  return number_verify(d, n);
}

static element pick(const element *condition, const element *x, const element *y) {
  if (condition->is_number) return condition->number ? *x : *y;
  return (element){.is_number = false, .symbol = DIM_UNKNOWN};
}

/* Exporters choose dims with Where: contents are carried. */
static void where_elements(infer_context *c) {
  elements e[3], y = {.rank = c->outputs[0].shape.rank};
  if (c->outputs[0].shape.rank < 0 || c->outputs[0].shape.rank > 1 || !npuc_dtype_is_integer(c->outputs[0].type)) return;
  for (int32_t i = 0; i < 3; i++) {
    if (!npuc_elements_read(npuc_fact_input(c, i), &e[i])) return;
    if (e[i].count > y.count) y.count = e[i].count;
  }
  for (int32_t i = 0; i < 3; i++) {
    if (e[i].count != 1 && e[i].count != y.count) return;
  }
  for (int32_t i = 0; i < y.count; i++)
    y.at[i] = pick(&e[0].at[e[0].count == 1 ? 0 : i], &e[1].at[e[1].count == 1 ? 0 : i], &e[2].at[e[2].count == 1 ? 0 : i]);
  npuc_elements_write(c, 0, &y);
}

static npuc_status where_infer(infer_context *c) {
  const fact *condition = npuc_fact_input(c, 0), *x = npuc_fact_input(c, 1), *y = npuc_fact_input(c, 2);
  if (!condition || !x || !y) return NPUC_OK;
  NPUC_TRY(npuc_infer_same_type(c, 1, 2));
  if (condition->type != DTYPE_NONE && condition->type != DTYPE_BOOL) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0442, "condition", "%s given; bool wanted", npuc_dtype_name(condition->type));
  }
  fact as_x = *condition;
  as_x.type = x->type != DTYPE_NONE ? x->type : y->type;
  const fact *inputs[] = {&as_x, x, y};
  infer_context of_one_type = *c;
  of_one_type.inputs = inputs;
  NPUC_TRY(npuc_infer_broadcast(&of_one_type));
  where_elements(c);
  return NPUC_OK;
}

const op_def npuc_op_bitshift = {
    .id = OP_BITSHIFT,
    .domain = "",
    .type = "BitShift",
    .since_version = 28,
    .oldest_version = 11,
    .traits = TRAIT_ELEMENTWISE,
    .summary = "Shifts the bits of an integer; zeros come in.",
    .formula = "LEFT: Z = X << Y; RIGHT: Z = X >> Y; 0 where Y is the width or more",
    .source = "ONNX BitShift-28",
    PORTS_IN(shift_inputs, 2),
    PORTS_OUT(shift_outputs, 1),
    ATTRIBUTES(bitshift_fields, bitshift_attributes),
    .infer = npuc_infer_broadcast,
    .verify = bitshift_verify,
    .eval = npuc_eval_bitshift,
};

const op_def npuc_op_mod = {
    .id = OP_MOD,
    .domain = "",
    .type = "Mod",
    .since_version = 28,
    .oldest_version = 10,
    .traits = TRAIT_ELEMENTWISE,
    .summary = "Remainder of a division.",
    .formula = "C = A - B * q; q = floor(A / B), or trunc(A / B) with fmod",
    .source = "ONNX Mod-28",
    PORTS_IN(binary_inputs, 2),
    PORTS_OUT(binary_outputs, 1),
    ATTRIBUTES(mod_fields, mod_attributes),
    .infer = npuc_infer_broadcast,
    .verify = mod_verify,
    .eval = npuc_eval_mod,
};

const op_def npuc_op_prelu = {
    .id = OP_PRELU,
    .domain = "",
    .type = "PRelu",
    .since_version = 16,
    .oldest_version = 9,
    .traits = TRAIT_ELEMENTWISE,
    .summary = "Negative values are multiplied by a slope of their own.",
    .formula = "Y = X < 0 ? slope * X : X",
    .source = "ONNX PRelu-16",
    PORTS_IN(prelu_inputs, 2),
    PORTS_OUT(prelu_outputs, 1),
    .infer = prelu_infer,
    .verify = number_verify,
    .eval = npuc_eval_prelu,
};

const op_def npuc_op_sum = {
    .id = OP_SUM,
    .domain = "",
    .type = "Sum",
    .since_version = 13,
    .oldest_version = 8,
    .traits = TRAIT_ELEMENTWISE | TRAIT_COMMUTATIVE,
    .summary = "Sum of any number of tensors, element by element.",
    .formula = "sum = data_0 + data_1 + ...",
    .source = "ONNX Sum-13",
    PORTS_IN(many_inputs, 1),
    PORTS_OUT(sum_outputs, 1),
    .infer = npuc_infer_broadcast,
    .verify = number_verify,
    .eval = npuc_eval_sum,
};

const op_def npuc_op_mean = {
    .id = OP_MEAN,
    .domain = "",
    .type = "Mean",
    .since_version = 13,
    .oldest_version = 8,
    .traits = TRAIT_ELEMENTWISE | TRAIT_COMMUTATIVE,
    .summary = "Mean of any number of tensors, element by element.",
    .formula = "mean = (data_0 + data_1 + ...) / count",
    .source = "ONNX Mean-13",
    PORTS_IN(many_inputs, 1),
    PORTS_OUT(mean_outputs, 1),
    .infer = npuc_infer_broadcast,
    .verify = number_verify,
    .eval = npuc_eval_mean,
};

const op_def npuc_op_where = {
    .id = OP_WHERE,
    .domain = "",
    .type = "Where",
    .since_version = 16,
    .oldest_version = 9,
    .traits = TRAIT_TAKES_TEXT,
    .summary = "Elements of one tensor where a condition holds, of another elsewhere.",
    .formula = "output = condition ? X : Y",
    .source = "ONNX Where-16; broadcasting as numpy",
    PORTS_IN(where_inputs, 3),
    PORTS_OUT(where_outputs, 1),
    .infer = where_infer,
    .eval = npuc_eval_where,
};
