/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes, constants and types: Shape, Size, Constant, ConstantOfShape, Cast, CastLike, BitCast. */
#include <stddef.h>
#include <string.h>

#include "ir/ops/support.h"

/* -- Shape -- */
static const op_port shape_inputs[] = {{.name = "data", .doc = "any shape"}};
static const op_port shape_outputs[] = {{.name = "shape", .doc = "int64 vector"}};
static const attr_field shape_fields[] = {
    FIELD_INT(shape_attributes, start, 0, "first axis; negative ones count from the end; clamped"),
    FIELD_INT(shape_attributes, end, INT64_MAX,
              "axis after the last; negative ones count from the end; clamped; to the last axis when absent"),
};

static int32_t clamp_axis(int64_t axis, int32_t rank) {
  if (axis < 0) axis += rank;
  return axis < 0 ? 0 : axis > rank ? rank : (int32_t)axis;
}

static npuc_status shape_infer(infer_context *c) {
  const shape_attributes *a = NPUC_ATTRS(shape_attributes, c->node);
  const fact *x = npuc_fact_input(c, 0);
  c->outputs[0].type = DTYPE_I64;
  c->outputs[0].shape.rank = 1;
  if (!x || x->shape.rank < 0) {
    c->outputs[0].shape.dims[0] = npuc_infer_free_dim(c, 0, 0);
    return NPUC_OK;
  }
  int32_t start = clamp_axis(a->start, x->shape.rank), end = clamp_axis(a->end, x->shape.rank);
  elements e = {.rank = 1};
  for (int32_t i = start; i < end; i++) e.at[e.count++] = npuc_element_of_dim(x->shape.dims[i]);
  c->outputs[0].shape.dims[0] = e.count;
  npuc_elements_write(c, 0, &e);
  return NPUC_OK;
}

static void no_cost(const node *n, op_cost *out_cost) {
  (void)n;
  *out_cost = (op_cost){0};
}

/* -- Constant -- */
static const op_port constant_outputs[] = {{.name = "output", .doc = "the tensor"}};
static const attr_field constant_fields[] = {
    {.name = "value",
     .kind = ATTR_TENSOR,
     .offset = offsetof(constant_attributes, value),
     .required = true,
     .doc = "the tensor; every other spelling (value_int, value_floats, ...) becomes it on import"}};

static npuc_status constant_infer(infer_context *c) {
  const tensor *t = NPUC_ATTRS(constant_attributes, c->node)->value;
  if (!t) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "value", "missing");
  c->outputs[0].type = t->type;
  c->outputs[0].shape = t->shape;
  c->outputs[0].constant = t;
  return NPUC_OK;
}

/* -- ConstantOfShape -- */
static const op_port filled_inputs[] = {{.name = "input", .doc = "int64 vector: the dims; empty gives a scalar"}};
static const op_port filled_outputs[] = {{.name = "output", .doc = "filled with value"}};
static const attr_field filled_fields[] = {
    FIELD_TENSOR(constantofshape_attributes, value, "one element, which gives type and value; float32 0 when absent")};

static npuc_status filled_infer(infer_context *c) {
  const tensor *t = NPUC_ATTRS(constantofshape_attributes, c->node)->value;
  c->outputs[0].type = t ? t->type : DTYPE_F32;
  if (t && npuc_tensor_elements(t) != 1) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "value", "%lld elements given; one wanted", (long long)npuc_tensor_elements(t));
  }
  elements e;
  if (!npuc_elements_read(npuc_fact_input(c, 0), &e)) {
    npuc_infer_free_target(c, npuc_fact_input(c, 0));
    return NPUC_OK;
  }
  if (e.count > MAX_RANK)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0443, "input", "%d dims given; at most %d are supported", e.count, MAX_RANK);
  shape y = {.rank = e.count};
  for (int32_t i = 0; i < e.count; i++) {
    if (e.at[i].is_number && e.at[i].number < 0) {
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "input", "dim %d is %lld; 0 or more wanted", i, (long long)e.at[i].number);
    }
    dim d = npuc_element_dim(&e.at[i]);
    y.dims[i] = d == DIM_UNKNOWN ? npuc_infer_free_dim(c, 0, i) : d;
  }
  c->outputs[0].shape = y;
  if (!t || y.rank > 1 || !npuc_shape_is_static(&y) || (y.rank == 1 && y.dims[0] > MAX_CONTENT)) return NPUC_OK;
  elements filled = {.rank = y.rank, .count = y.rank ? (int32_t)y.dims[0] : 1};
  for (int32_t i = 0; i < filled.count; i++) filled.at[i] = element_of_number(npuc_tensor_get_int(t, 0));
  npuc_elements_write(c, 0, &filled);
  return NPUC_OK;
}

/* -- Cast -- */
static const op_port cast_inputs[] = {{.name = "input", .doc = "any shape"}};
static const op_port cast_outputs[] = {{.name = "output", .doc = "as input, of type to"}};
static const attr_field cast_fields[] = {
    {.name = "to",
     .kind = ATTR_INT,
     .offset = offsetof(cast_attributes, to),
     .required = true,
     .doc = "TensorProto.DataType of the output"},
    FIELD_INT(cast_attributes, saturate, 1, "to 8-bit floats: 1 clamps out-of-range values, 0 makes them infinite or NaN"),
    {.name = "round_mode",
     .kind = ATTR_STRING,
     .offset = offsetof(cast_attributes, round_mode),
     .default_string = "up",
     .since_version = 24,
     .doc = "to float8e8m0: up, down or nearest"},
};

static bool holds(dtype type, int64_t number) {
  int64_t lo, hi;
  return type == DTYPE_I64 || (npuc_dtype_range(type, &lo, &hi) && number >= lo && number <= hi);
}

/* Symbols survive a cast to 64 or 32 bits; numbers only where the type holds them. */
static void cast_elements(infer_context *c, dtype to) {
  elements e;
  if ((to != DTYPE_I64 && to != DTYPE_I32) || !npuc_elements_read(npuc_fact_input(c, 0), &e)) return;
  for (int32_t i = 0; i < e.count; i++) {
    if (e.at[i].is_number && !holds(to, e.at[i].number)) return;
  }
  npuc_elements_write(c, 0, &e);
}

static npuc_status cast_infer(infer_context *c) {
  NPUC_TRY(npuc_infer_unary(c));
  dtype to = (dtype)NPUC_ATTRS(cast_attributes, c->node)->to;
  c->outputs[0].type = to;
  cast_elements(c, to);
  return NPUC_OK;
}

static npuc_status check_round_mode(diag *d, const node *n, const char *mode) {
  if (mode && strcmp(mode, "up") != 0 && strcmp(mode, "down") != 0 && strcmp(mode, "nearest") != 0) {
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "round_mode", "\"%s\" is not one of up, down, nearest", mode);
  }
  return NPUC_OK;
}

static npuc_status cast_verify(diag *d, const node *n) {
  const cast_attributes *a = NPUC_ATTRS(cast_attributes, n);
  if (a->to <= DTYPE_NONE || a->to >= DTYPE_END)
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "to", "%lld is not an element type", (long long)a->to);
  NPUC_TRY(npuc_verify_flag(d, n, "saturate", a->saturate));
  return check_round_mode(d, n, a->round_mode);
}

const op_def npuc_op_shape = {
    .id = OP_SHAPE,
    .domain = "",
    .type = "Shape",
    .since_version = 25,
    .oldest_version = 15,
    .traits = TRAIT_TAKES_TEXT,
    .summary = "The dims of a tensor.",
    .formula = "shape = data.shape[start : end]",
    .source = "ONNX Shape-25",
    PORTS_IN(shape_inputs, 1),
    PORTS_OUT(shape_outputs, 1),
    ATTRIBUTES(shape_fields, shape_attributes),
    .infer = shape_infer,
    .cost = no_cost,
    .eval = npuc_eval_shape,
};

const op_def npuc_op_cast = {
    .id = OP_CAST,
    .domain = "",
    .type = "Cast",
    .since_version = 28,
    .oldest_version = 19,
    .traits = TRAIT_ELEMENTWISE | TRAIT_TAKES_TEXT,
    .summary = "The same values in another type.",
    .formula = "output = (to) input; float to integer truncates toward 0",
    .source = "ONNX Cast-28",
    PORTS_IN(cast_inputs, 1),
    PORTS_OUT(cast_outputs, 1),
    ATTRIBUTES(cast_fields, cast_attributes),
    .infer = cast_infer,
    .verify = cast_verify,
    .eval = npuc_eval_cast,
};

const op_def npuc_op_constant = {
    .id = OP_CONSTANT,
    .domain = "",
    .type = "Constant",
    .since_version = 25,
    .oldest_version = 13,
    .summary = "A tensor that is part of the model.",
    .formula = "output = value",
    .source = "ONNX Constant-25",
    .inputs = NULL,
    .n_inputs = 0,
    .min_inputs = 0,
    PORTS_OUT(constant_outputs, 1),
    ATTRIBUTES(constant_fields, constant_attributes),
    .infer = constant_infer,
    .cost = no_cost,
    .eval = npuc_eval_constant,
};

const op_def npuc_op_constantofshape = {
    .id = OP_CONSTANTOFSHAPE,
    .domain = "",
    .type = "ConstantOfShape",
    .since_version = 25,
    .oldest_version = 9,
    .summary = "A tensor filled with one value.",
    .formula = "output[...] = value",
    .source = "ONNX ConstantOfShape-25",
    PORTS_IN(filled_inputs, 1),
    PORTS_OUT(filled_outputs, 1),
    ATTRIBUTES(filled_fields, constantofshape_attributes),
    .infer = filled_infer,
    .eval = npuc_eval_constantofshape,
};

/* -- CastLike, BitCast, Size -- */
static const op_port castlike_inputs[] = {{.name = "input", .doc = "any shape"},
                                          {.name = "target_type", .doc = "gives the type; its elements mean nothing"}};
static const op_port castlike_outputs[] = {{.name = "output", .doc = "as input, of the other's type"}};
static const attr_field castlike_fields[] = {
    FIELD_INT(cast_attributes, saturate, 1, "to 8-bit floats: 1 clamps out-of-range values, 0 makes them infinite or NaN"),
    {.name = "round_mode",
     .kind = ATTR_STRING,
     .offset = offsetof(cast_attributes, round_mode),
     .default_string = "up",
     .since_version = 24,
     .doc = "to float8e8m0: up, down or nearest"},
};
static const attr_field bitcast_fields[] = {{.name = "to",
                                             .kind = ATTR_INT,
                                             .offset = offsetof(cast_attributes, to),
                                             .required = true,
                                             .doc = "TensorProto.DataType of the output, as wide as the input's"}};
static const op_port size_outputs[] = {{.name = "size", .doc = "int64 scalar"}};

static npuc_status castlike_infer(infer_context *c) {
  NPUC_TRY(npuc_infer_unary(c));
  c->outputs[0].type = npuc_fact_type(c, 1);
  cast_elements(c, c->outputs[0].type);
  return NPUC_OK;
}

static npuc_status castlike_verify(diag *d, const node *n) {
  cast_attributes a = *NPUC_ATTRS(cast_attributes, n);
  NPUC_TRY(npuc_verify_flag(d, n, "saturate", a.saturate));
  return check_round_mode(d, n, a.round_mode);
}

static npuc_status bitcast_infer(infer_context *c) {
  NPUC_TRY(npuc_infer_unary(c));
  dtype from = c->outputs[0].type, to = (dtype)NPUC_ATTRS(cast_attributes, c->node)->to;
  if (to <= DTYPE_NONE || to >= DTYPE_END || npuc_dtype_bits(to) == 0)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "to", "%lld is not an element type with bits", (long long)to);
  if (from != DTYPE_NONE && npuc_dtype_bits(from) != npuc_dtype_bits(to)) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "to", "%s has %u bits, and the input's %s has %u", npuc_dtype_name(to),
                        npuc_dtype_bits(to), npuc_dtype_name(from), npuc_dtype_bits(from));
  }
  c->outputs[0].type = to;
  return NPUC_OK;
}

static npuc_status size_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0);
  c->outputs[0].type = DTYPE_I64;
  c->outputs[0].shape = SHAPE_SCALAR;
  if (!x || x->shape.rank < 0) return NPUC_OK;
  elements e = {.rank = 0, .count = 1};
  e.at[0] = npuc_element_of_dim(npuc_dim_product(x->shape.dims, x->shape.rank, DIM_UNKNOWN));
  npuc_elements_write(c, 0, &e);
  return NPUC_OK;
}

const op_def npuc_op_castlike = {
    ONNX_OP(castlike, OP_CASTLIKE, "CastLike", 25, 19),
    .traits = TRAIT_TAKES_TEXT,
    .summary = "The same values in another tensor's type.",
    .formula = "output = (type of target_type) input",
    PORTS_IN(castlike_inputs, 2),
    PORTS_OUT(castlike_outputs, 1),
    ATTRIBUTES(castlike_fields, cast_attributes),
    .infer = castlike_infer,
    .verify = castlike_verify,
};

const op_def npuc_op_bitcast = {
    ONNX_OP(bitcast, OP_BITCAST, "BitCast", 26, 26),
    .traits = TRAIT_ELEMENTWISE,
    .summary = "The same bits under another type of the same width.",
    .formula = "output's bits = input's bits",
    PORTS_IN(cast_inputs, 1),
    PORTS_OUT(cast_outputs, 1),
    ATTRIBUTES(bitcast_fields, cast_attributes),
    .infer = bitcast_infer,
};

const op_def npuc_op_size = {
    ONNX_OP(size, OP_SIZE, "Size", 25, 1),
    .traits = TRAIT_TAKES_TEXT,
    .summary = "Number of elements of a tensor.",
    .formula = "size = product of data.shape",
    PORTS_IN(shape_inputs, 1),
    PORTS_OUT(size_outputs, 1),
    .infer = size_infer,
    .cost = no_cost,
};
