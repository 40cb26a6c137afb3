/* SPDX-License-Identifier: Apache-2.0 */
/* Walks along an axis: CumSum, CumProd, Hardmax, TopK; and Unique, Det. */
#include <stddef.h>

#include "ir/ops/support.h"

/* -- CumSum, CumProd -- */
static const op_port cumulative_inputs[] = {{.name = "x", .doc = "any shape of rank 1 or more"}, {.name = "axis", .doc = "one number"}};
static const op_port cumulative_outputs[] = {{.name = "y", .doc = "as x"}};
static const attr_field cumulative_fields[] = {
    FIELD_INT(cumulative_attributes, exclusive, 0, "1: an element takes no part in its own result"),
    FIELD_INT(cumulative_attributes, reverse, 0, "1: from the end of the axis"),
};

static npuc_status cumulative_verify(diag *d, const node *n) {
  NPUC_TRY(npuc_verify_flag(d, n, "exclusive", NPUC_ATTRS(cumulative_attributes, n)->exclusive));
  return npuc_verify_flag(d, n, "reverse", NPUC_ATTRS(cumulative_attributes, n)->reverse);
}

/* -- Hardmax -- */
static const op_port hardmax_inputs[] = {{.name = "input", .doc = "any shape of rank 1 or more"}};
static const op_port hardmax_outputs[] = {{.name = "output", .doc = "as input"}};
static const attr_field hardmax_fields[] = {FIELD_INT(axis_attributes, axis, -1, "the axis along which one element is 1")};

static npuc_status hardmax_infer(infer_context *c) {
  int32_t axis;
  NPUC_TRY(npuc_infer_unary(c));
  if (c->outputs[0].shape.rank < 0) return NPUC_OK;
  return npuc_require_axis(c, NPUC_ATTRS(axis_attributes, c->node)->axis, c->outputs[0].shape.rank, &axis);
}

/* -- TopK -- */
static const op_port topk_inputs[] = {{.name = "X", .doc = "any shape of rank 1 or more"}, {.name = "K", .doc = "int64 [1]: how many"}};
static const op_port topk_outputs[] = {{.name = "Values", .doc = "as X, with K on axis"},
                                       {.name = "Indices", .doc = "int64, their places on axis"}};
static const attr_field topk_fields[] = {
    FIELD_INT(topk_attributes, axis, -1, "the axis that is searched"),
    FIELD_INT(topk_attributes, largest, 1, "1: the largest, 0: the smallest"),
    FIELD_INT(topk_attributes, sorted, 1, "1: in order; with 0 any order is allowed, and they are in order too"),
};

static npuc_status topk_infer(infer_context *c) {
  const topk_attributes *a = NPUC_ATTRS(topk_attributes, c->node);
  const fact *x = npuc_fact_input(c, 0);
  if (c->node->n_outputs > 1) c->outputs[1].type = DTYPE_I64;
  if (!x) return NPUC_OK;
  c->outputs[0].type = x->type;
  if (x->shape.rank < 0) return NPUC_OK;
  int32_t axis;
  NPUC_TRY(npuc_require_axis(c, a->axis, x->shape.rank, &axis));
  shape y = x->shape;
  elements k;
  bool known = npuc_elements_read(npuc_fact_input(c, 1), &k) && k.count == 1;
  if (known && k.at[0].is_number && (k.at[0].number < 0 || (dim_is_number(y.dims[axis]) && k.at[0].number > y.dims[axis]))) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "K", "%lld given, and axis %d has %lld elements", (long long)k.at[0].number, axis,
                        (long long)y.dims[axis]);
  }
  y.dims[axis] = known ? npuc_element_dim(&k.at[0]) : DIM_UNKNOWN;
  if (y.dims[axis] == DIM_UNKNOWN) y.dims[axis] = npuc_infer_free_dim(c, 0, axis);
  for (int32_t i = 0; i < c->node->n_outputs; i++) c->outputs[i].shape = y;
  return NPUC_OK;
}

static npuc_status topk_verify(diag *d, const node *n) {
  NPUC_TRY(npuc_verify_flag(d, n, "largest", NPUC_ATTRS(topk_attributes, n)->largest));
  return npuc_verify_flag(d, n, "sorted", NPUC_ATTRS(topk_attributes, n)->sorted);
}

/* -- Unique -- */
static const op_port unique_inputs[] = {{.name = "X", .doc = "any shape"}};
static const op_port unique_outputs[] = {
    {.name = "Y", .doc = "the different slices"},
    {.name = "indices", .optional = true, .doc = "int64: where each comes first"},
    {.name = "inverse_indices", .optional = true, .doc = "int64: for each slice of X its place in Y"},
    {.name = "counts", .optional = true, .doc = "int64: how often each comes"},
};
static const attr_field unique_fields[] = {
    FIELD_INT(unique_attributes, axis, COMPRESS_FLAT, "the axis of the slices; absent: the elements of the flattened input"),
    FIELD_INT(unique_attributes, sorted, 1, "1: ascending, 0: in order of first occurrence"),
};

static npuc_status unique_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0);
  int64_t given = NPUC_ATTRS(unique_attributes, c->node)->axis;
  if (!x) return NPUC_OK;
  c->outputs[0].type = x->type;
  for (int32_t i = 1; i < c->node->n_outputs; i++) {
    c->outputs[i].type = DTYPE_I64;
    c->outputs[i].shape = (shape){.rank = 1, .dims = {npuc_infer_free_dim(c, i, 0)}};
  }
  if (given == COMPRESS_FLAT) {
    npuc_infer_free_shape(c, 1);
    return NPUC_OK;
  }
  int32_t axis;
  if (x->shape.rank < 0) return NPUC_OK;
  NPUC_TRY(npuc_require_axis(c, given, x->shape.rank, &axis));
  c->outputs[0].shape = x->shape;
  c->outputs[0].shape.dims[axis] = npuc_infer_free_dim(c, 0, axis);
  return NPUC_OK;
}

static npuc_status unique_verify(diag *d, const node *n) {
  return npuc_verify_flag(d, n, "sorted", NPUC_ATTRS(unique_attributes, n)->sorted);
}

/* -- Det -- */
static const op_port det_inputs[] = {{.name = "X", .doc = "[..., M, M]"}};
static const op_port det_outputs[] = {{.name = "Y", .doc = "[...]"}};

static npuc_status det_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0);
  if (!x) return NPUC_OK;
  c->outputs[0].type = x->type;
  int32_t rank = x->shape.rank;
  dim merged;
  if (rank < 0) return NPUC_OK;
  if (rank < 2 || !npuc_dim_merge(x->shape.dims[rank - 1], x->shape.dims[rank - 2], &merged)) {
    char text[SHAPE_TEXT];
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "X", "%s given; square matrices wanted",
                        npuc_shape_text(c->module, &x->shape, text));
  }
  c->outputs[0].shape = x->shape;
  c->outputs[0].shape.rank = rank - 2;
  return NPUC_OK;
}

const op_def npuc_op_cumsum = {
    ONNX_OP(cumsum, OP_CUMSUM, "CumSum", 14, 11),
    .summary = "Running sum along an axis.",
    .formula = "y[.., i, ..] = sum over k <= i of x[.., k, ..]",
    PORTS_IN(cumulative_inputs, 2),
    PORTS_OUT(cumulative_outputs, 1),
    ATTRIBUTES(cumulative_fields, cumulative_attributes),
    .infer = npuc_infer_unary,
    .verify = cumulative_verify,
};

const op_def npuc_op_cumprod = {
    ONNX_OP(cumprod, OP_CUMPROD, "CumProd", 26, 26),
    .summary = "Running product along an axis.",
    .formula = "y[.., i, ..] = product over k <= i of x[.., k, ..]",
    PORTS_IN(cumulative_inputs, 2),
    PORTS_OUT(cumulative_outputs, 1),
    ATTRIBUTES(cumulative_fields, cumulative_attributes),
    .infer = npuc_infer_unary,
    .verify = cumulative_verify,
};

const op_def npuc_op_hardmax = {
    ONNX_OP(hardmax, OP_HARDMAX, "Hardmax", 13, 13),
    .summary = "1 at the first largest element along an axis, 0 elsewhere.",
    .formula = "output[.., i, ..] = i == the first k where input[.., k, ..] is largest",
    PORTS_IN(hardmax_inputs, 1),
    PORTS_OUT(hardmax_outputs, 1),
    ATTRIBUTES(hardmax_fields, axis_attributes),
    .infer = hardmax_infer,
};

const op_def npuc_op_topk = {
    ONNX_OP(topk, OP_TOPK, "TopK", 24, 11),
    .summary = "The K largest or smallest elements along an axis, and their places; of equal ones the first.",
    .formula = "Values = X's K first along axis when sorted descending (ascending with largest = 0)",
    PORTS_IN(topk_inputs, 2),
    PORTS_OUT(topk_outputs, 1),
    ATTRIBUTES(topk_fields, topk_attributes),
    .infer = topk_infer,
    .verify = topk_verify,
};

const op_def npuc_op_unique = {
    ONNX_OP(unique, OP_UNIQUE, "Unique", 28, 11),
    .traits = TRAIT_DATA_SHAPE,
    .summary = "The different elements, or slices of an axis.",
    .formula = "X = Y[inverse_indices], Y = X[indices]",
    PORTS_IN(unique_inputs, 1),
    PORTS_OUT(unique_outputs, 1),
    ATTRIBUTES(unique_fields, unique_attributes),
    .infer = unique_infer,
    .verify = unique_verify,
};

const op_def npuc_op_det = {
    ONNX_OP(det, OP_DET, "Det", 22, 11),
    .summary = "Determinant of square matrices.",
    .formula = "Y[...] = det(X[..., :, :])",
    PORTS_IN(det_inputs, 1),
    PORTS_OUT(det_outputs, 1),
    .infer = det_infer,
};
