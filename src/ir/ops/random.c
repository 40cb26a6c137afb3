/* SPDX-License-Identifier: Apache-2.0 */
/* RandomNormal, RandomUniform and their Like forms, Bernoulli, Multinomial: seeded, so that a network gives the same every time. */
#include <math.h>
#include <stddef.h>

#include "ir/ops/support.h"

#define SEED_FIELD FIELD_FLOAT(random_attributes, seed, ABSENT_FLOAT, "seed of the generator; 0 when absent")
#define SHAPE_FIELD \
  { .name = "shape", .kind = ATTR_INTS, .offset = offsetof(random_attributes, shape), .required = true, .doc = "shape of the output" }
#define LIKE_FIELD FIELD_INT(random_attributes, dtype, 0, "TensorProto.DataType of the output; 0: the input's")
#define NORMAL_FIELDS \
  FIELD_FLOAT(random_attributes, mean, 0.0f, "mean"), FIELD_FLOAT(random_attributes, scale, 1.0f, "standard deviation"), SEED_FIELD
#define UNIFORM_FIELDS                                                                                                              \
  FIELD_FLOAT(random_attributes, low, 0.0f, "least value"), FIELD_FLOAT(random_attributes, high, 1.0f, "bound above the greatest"), \
      SEED_FIELD

static const attr_field normal_fields[] = {SHAPE_FIELD, FIELD_INT(random_attributes, dtype, 1, "TensorProto.DataType of the output"),
                                           NORMAL_FIELDS};
static const attr_field normallike_fields[] = {LIKE_FIELD, NORMAL_FIELDS};
static const attr_field uniform_fields[] = {SHAPE_FIELD, FIELD_INT(random_attributes, dtype, 1, "TensorProto.DataType of the output"),
                                            UNIFORM_FIELDS};
static const attr_field uniformlike_fields[] = {LIKE_FIELD, UNIFORM_FIELDS};
static const attr_field bernoulli_fields[] = {LIKE_FIELD, SEED_FIELD};
static const attr_field multinomial_fields[] = {FIELD_INT(random_attributes, dtype, 6, "int32 (6) or int64 (7)"),
                                                FIELD_INT(random_attributes, sample_size, 1, "samples per row"), SEED_FIELD};

static const op_port like_inputs[] = {{.name = "input", .doc = "gives the shape, and the type when dtype is absent"}};
static const op_port bernoulli_inputs[] = {{.name = "input", .doc = "probabilities, 0 to 1"}};
static const op_port multinomial_inputs[] = {{.name = "input", .doc = "[B, C]: logarithms of weights, of any sum"}};
static const op_port random_outputs[] = {{.name = "output", .doc = "random numbers"}};
static const op_port sample_outputs[] = {{.name = "output", .doc = "[B, sample_size]: classes"}};

static npuc_status random_type(infer_context *c, bool floats) {
  int64_t given = NPUC_ATTRS(random_attributes, c->node)->dtype;
  dtype type = given == 0 ? npuc_fact_type(c, 0) : given > 0 && given < DTYPE_END ? (dtype)given : DTYPE_NONE;
  bool good = type != DTYPE_NONE && npuc_dtype_bits(type) >= 8 && (!floats || npuc_dtype_kind(type) == KIND_FLOAT);
  c->outputs[0].type = type;
  if (good || (given == 0 && npuc_fact_type(c, 0) == DTYPE_NONE)) return NPUC_OK;
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "dtype", "%lld is not a type of the operator's output",
                      (long long)(given ? given : (int64_t)type));
}

static npuc_status shaped_infer(infer_context *c) {
  const int_list *l = &NPUC_ATTRS(random_attributes, c->node)->shape;
  NPUC_TRY(random_type(c, true));
  if (l->count > MAX_RANK)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0443, "shape", "%d dims given; at most %d are supported", l->count, MAX_RANK);
  c->outputs[0].shape.rank = l->count;
  for (int32_t i = 0; i < l->count; i++) {
    if (l->values[i] < 0)
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "shape", "dim %d is %lld; 0 or more wanted", i, (long long)l->values[i]);
    c->outputs[0].shape.dims[i] = l->values[i];
  }
  return NPUC_OK;
}

static npuc_status like_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0);
  if (x) c->outputs[0].shape = x->shape;
  return random_type(c, !node_is(c->node, OP_BERNOULLI));
}

static npuc_status multinomial_infer(infer_context *c) {
  const random_attributes *a = NPUC_ATTRS(random_attributes, c->node);
  const fact *x = npuc_fact_input(c, 0);
  if (a->dtype != DTYPE_I32 && a->dtype != DTYPE_I64)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "dtype", "%lld given; int32 (6) or int64 (7) wanted", (long long)a->dtype);
  if (a->sample_size < 0) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "sample_size", "%lld is negative", (long long)a->sample_size);
  if (x && x->shape.rank >= 0 && x->shape.rank != 2)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "input", "rank %d given; 2 wanted", (int)x->shape.rank);
  c->outputs[0].type = (dtype)a->dtype;
  npuc_infer_free_shape(c, 2);
  if (x && x->shape.rank == 2) c->outputs[0].shape.dims[0] = x->shape.dims[0];
  c->outputs[0].shape.dims[1] = a->sample_size;
  return NPUC_OK;
}

static npuc_status random_verify(diag *d, const node *n) {
  const random_attributes *a = NPUC_ATTRS(random_attributes, n);
  if (a->seed != ABSENT_FLOAT && !(a->seed >= 0.0f && a->seed < 4294967296.0f))
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "seed", "%g given; 0 to 4294967295 wanted", (double)a->seed);
  if (!isfinite(a->low) || !isfinite(a->high) || !isfinite(a->mean) || !isfinite(a->scale))
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, NULL, "a parameter of the distribution is not finite");
  return NPUC_OK;
}

#define RANDOM(op_symbol, op_enum, name, oldest, text, rule, fields, outs, infers, ...)                                        \
  const op_def npuc_op_##op_symbol = {                                                                                         \
      ONNX_OP(op_symbol, op_enum, name, 22, oldest), .summary = text, .formula = rule,         __VA_ARGS__ PORTS_OUT(outs, 1), \
      ATTRIBUTES(fields, random_attributes),         .infer = infers, .verify = random_verify,                                 \
  }

RANDOM(randomnormal, OP_RANDOMNORMAL, "RandomNormal", 1, "Numbers of a normal distribution.", "output = mean + scale * normal",
       normal_fields, random_outputs, shaped_infer, );
RANDOM(randomnormallike, OP_RANDOMNORMALLIKE, "RandomNormalLike", 1, "Numbers of a normal distribution, in the input's shape.",
       "output = mean + scale * normal", normallike_fields, random_outputs, like_infer, PORTS_IN(like_inputs, 1), );
RANDOM(randomuniform, OP_RANDOMUNIFORM, "RandomUniform", 1, "Numbers of a uniform distribution.",
       "output = low + (high - low) * u, u in [0, 1)", uniform_fields, random_outputs, shaped_infer, );
RANDOM(randomuniformlike, OP_RANDOMUNIFORMLIKE, "RandomUniformLike", 1, "Numbers of a uniform distribution, in the input's shape.",
       "output = low + (high - low) * u, u in [0, 1)", uniformlike_fields, random_outputs, like_infer, PORTS_IN(like_inputs, 1), );
RANDOM(bernoulli, OP_BERNOULLI, "Bernoulli", 15, "1 with the input's probability, else 0.", "P(output = 1) = input", bernoulli_fields,
       random_outputs, like_infer, PORTS_IN(bernoulli_inputs, 1), );
RANDOM(multinomial, OP_MULTINOMIAL, "Multinomial", 7, "Samples of classes.", "P(output = k) = exp(input[k]) / sum exp(input)",
       multinomial_fields, sample_outputs, multinomial_infer, PORTS_IN(multinomial_inputs, 1), );
