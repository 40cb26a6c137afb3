/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over axes: sums, norms, extremes, and the index of the largest or smallest. */
#include <stddef.h>

#include "ir/ops/support.h"

static const op_port reduce_inputs[] = {
    {.name = "data", .doc = "any shape"},
    {.name = "axes", .optional = true, .doc = "int64 vector; absent or empty: all axes, or none with noop_with_empty_axes"},
};
static const op_port argmax_inputs[] = {{.name = "data", .doc = "any shape of rank 1 or more"}};
static const op_port reduced_output[] = {{.name = "reduced", .doc = "the reduced axes have size 1, or are gone with keepdims = 0"}};
static const attr_field reduce_fields[] = {
    FIELD_INT(reduce_attributes, keepdims, 1, "1: reduced axes stay with size 1"),
    FIELD_INT(reduce_attributes, noop_with_empty_axes, 0, "1: without axes the input itself"),
};
static const attr_field argmax_fields[] = {
    FIELD_INT(argmax_attributes, axis, 0, "the axis that is searched"),
    FIELD_INT(argmax_attributes, keepdims, 1, "1: the axis stays with size 1"),
    FIELD_INT(argmax_attributes, select_last_index, 0, "1: of equal values the last, else the first"),
};

/* Removes the axes whose bit is set in `reduced`, or makes them 1. */
static shape reduced_shape(const shape *x, unsigned reduced, bool keepdims) {
  shape y = {.rank = 0};
  for (int32_t i = 0; i < x->rank; i++) {
    bool gone = reduced >> i & 1u;
    if (gone && !keepdims) continue;
    y.dims[y.rank++] = gone ? 1 : x->dims[i];
  }
  return y;
}

static npuc_status reduce_infer(infer_context *c) {
  const reduce_attributes *a = NPUC_ATTRS(reduce_attributes, c->node);
  const fact *x = npuc_fact_input(c, 0);
  if (!x) return NPUC_OK;
  c->outputs[0].type = x->type;
  if (x->shape.rank < 0) return NPUC_OK;
  bool known;
  axes_list axes;
  NPUC_TRY(npuc_infer_axes(c, 1, x->shape.rank, &known, &axes));
  if (!known) { /* the axes come at run time: with keepdims the rank at least is known */
    if (a->keepdims) npuc_infer_free_shape(c, x->shape.rank);
    return NPUC_OK;
  }
  unsigned reduced = 0;
  for (int32_t i = 0; i < axes.count; i++) reduced |= 1u << axes.axes[i];
  if (axes.count <= 0) reduced = a->noop_with_empty_axes ? 0 : (1u << x->shape.rank) - 1;
  c->outputs[0].shape = reduced_shape(&x->shape, reduced, a->keepdims != 0);
  return NPUC_OK;
}

static npuc_status reduce_verify(diag *d, const node *n) {
  const reduce_attributes *a = NPUC_ATTRS(reduce_attributes, n);
  NPUC_TRY(npuc_verify_flag(d, n, "keepdims", a->keepdims));
  return npuc_verify_flag(d, n, "noop_with_empty_axes", a->noop_with_empty_axes);
}

static void reduce_cost(const node *n, op_cost *out_cost) { out_cost->operations = npuc_value_elements(n->inputs[0]); }

static npuc_status argmax_infer(infer_context *c) {
  const argmax_attributes *a = NPUC_ATTRS(argmax_attributes, c->node);
  const fact *x = npuc_fact_input(c, 0);
  c->outputs[0].type = DTYPE_I64;
  if (!x || x->shape.rank < 0) return NPUC_OK;
  int32_t axis;
  if (!npuc_axis_normalize(a->axis, x->shape.rank, &axis)) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "axis", "%lld is out of range for rank %d", (long long)a->axis, x->shape.rank);
  }
  if (x->shape.dims[axis] == 0) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "data", "axis %d has no elements to choose from", axis);
  c->outputs[0].shape = reduced_shape(&x->shape, 1u << axis, a->keepdims != 0);
  return NPUC_OK;
}

static npuc_status argmax_verify(diag *d, const node *n) {
  const argmax_attributes *a = NPUC_ATTRS(argmax_attributes, n);
  NPUC_TRY(npuc_verify_flag(d, n, "keepdims", a->keepdims));
  return npuc_verify_flag(d, n, "select_last_index", a->select_last_index);
}

const op_def npuc_op_reducemean = {
    .id = OP_REDUCEMEAN,
    .domain = "",
    .type = "ReduceMean",
    .since_version = 18,
    .oldest_version = 18,
    .summary = "Mean over axes.",
    .formula = "reduced = (sum of data over axes) / (number of elements of axes)",
    .source = "ONNX ReduceMean-18",
    PORTS_IN(reduce_inputs, 1),
    PORTS_OUT(reduced_output, 1),
    ATTRIBUTES(reduce_fields, reduce_attributes),
    .infer = reduce_infer,
    .verify = reduce_verify,
    .cost = reduce_cost,
    .eval = npuc_eval_reducemean,
};

const op_def npuc_op_reducesum = {
    .id = OP_REDUCESUM,
    .domain = "",
    .type = "ReduceSum",
    .since_version = 13,
    .oldest_version = 13,
    .summary = "Sum over axes.",
    .formula = "reduced = sum of data over axes",
    .source = "ONNX ReduceSum-13",
    PORTS_IN(reduce_inputs, 1),
    PORTS_OUT(reduced_output, 1),
    ATTRIBUTES(reduce_fields, reduce_attributes),
    .infer = reduce_infer,
    .verify = reduce_verify,
    .cost = reduce_cost,
    .eval = npuc_eval_reducesum,
};

/* The others, with no kernel of their own. */
#define REDUCE(op_symbol, op_enum, name, since, oldest, text, rule) \
  const op_def npuc_op_##op_symbol = {                              \
      .id = op_enum,                                                \
      .domain = "",                                                 \
      .type = name,                                                 \
      .since_version = since,                                       \
      .oldest_version = oldest,                                     \
      .summary = text,                                              \
      .formula = rule,                                              \
      .source = "ONNX " name "-" #since,                            \
      PORTS_IN(reduce_inputs, 1),                                   \
      PORTS_OUT(reduced_output, 1),                                 \
      ATTRIBUTES(reduce_fields, reduce_attributes),                 \
      .infer = reduce_infer,                                        \
      .verify = reduce_verify,                                      \
      .cost = reduce_cost,                                          \
      .eval = npuc_eval_##op_symbol,                                \
  }

REDUCE(reducemax, OP_REDUCEMAX, "ReduceMax", 20, 18, "Largest value over axes; NaN wins.", "reduced = max of data over axes");
REDUCE(reducemin, OP_REDUCEMIN, "ReduceMin", 20, 18, "Smallest value over axes; NaN wins.", "reduced = min of data over axes");
REDUCE(reduceprod, OP_REDUCEPROD, "ReduceProd", 18, 18, "Product over axes.", "reduced = product of data over axes");
REDUCE(reducel1, OP_REDUCEL1, "ReduceL1", 18, 18, "Sum of absolute values over axes.", "reduced = sum of |data| over axes");
REDUCE(reducel2, OP_REDUCEL2, "ReduceL2", 18, 18, "Euclidean norm over axes.", "reduced = sqrt(sum of data^2 over axes)");
REDUCE(reducesumsquare, OP_REDUCESUMSQUARE, "ReduceSumSquare", 18, 18, "Sum of squares over axes.", "reduced = sum of data^2 over axes");
REDUCE(reducelogsum, OP_REDUCELOGSUM, "ReduceLogSum", 28, 18, "Logarithm of the sum over axes.", "reduced = log(sum of data over axes)");
REDUCE(reducelogsumexp, OP_REDUCELOGSUMEXP, "ReduceLogSumExp", 28, 18, "Logarithm of the sum of exponentials over axes.",
       "reduced = m + log(sum of e^(data - m) over axes), m the largest");

const op_def npuc_op_argmin = {
    .id = OP_ARGMIN,
    .domain = "",
    .type = "ArgMin",
    .since_version = 13,
    .oldest_version = 12,
    .summary = "Index of the smallest element along an axis.",
    .formula = "reduced = the first (last with select_last_index) i where data[..., i, ...] is smallest",
    .source = "ONNX ArgMin-13",
    PORTS_IN(argmax_inputs, 1),
    PORTS_OUT(reduced_output, 1),
    ATTRIBUTES(argmax_fields, argmax_attributes),
    .infer = argmax_infer,
    .verify = argmax_verify,
    .cost = reduce_cost,
    .eval = npuc_eval_argmin,
};

const op_def npuc_op_argmax = {
    .id = OP_ARGMAX,
    .domain = "",
    .type = "ArgMax",
    .since_version = 13,
    .oldest_version = 12,
    .summary = "Index of the largest element along an axis.",
    .formula = "reduced = the first (last with select_last_index) i where data[..., i, ...] is largest",
    .source = "ONNX ArgMax-13",
    PORTS_IN(argmax_inputs, 1),
    PORTS_OUT(reduced_output, 1),
    ATTRIBUTES(argmax_fields, argmax_attributes),
    .infer = argmax_infer,
    .verify = argmax_verify,
    .cost = reduce_cost,
    .eval = npuc_eval_argmax,
};
