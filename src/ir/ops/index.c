/* SPDX-License-Identifier: Apache-2.0 */
/* Elements picked and placed by index: GatherElements, GatherND, ScatterElements, ScatterND, TensorScatter, OneHot, Compress, NonZero. */
#include <stddef.h>
#include <string.h>

#include "ir/ops/support.h"

static npuc_status check_indices(diag *d, const node *n, int32_t port) {
  dtype type = n->inputs[port]->type;
  if (type == DTYPE_NONE || type == DTYPE_I64 || type == DTYPE_I32) return NPUC_OK;
  return npuc_op_fail(d, n, NPUC_DIAG_E0442, n->op->inputs[port].name, "%s given; int32 or int64 wanted", npuc_dtype_name(type));
}

static npuc_status indices_verify(diag *d, const node *n) { return check_indices(d, n, 1); }

static npuc_status check_reduction(diag *d, const node *n, const char *name) {
  static const char *const names[] = {"none", "add", "mul", "max", "min"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (name && strcmp(name, names[i]) == 0) return NPUC_OK;
  }
  return npuc_op_fail(d, n, NPUC_DIAG_E0440, "reduction", "\"%s\" is not one of none, add, mul, max, min", name ? name : "");
}

/* -- GatherElements, ScatterElements -- */
static const op_port elements_inputs[] = {{.name = "data", .doc = "any shape of rank 1 or more"},
                                          {.name = "indices", .doc = "int32 or int64 of data's rank; negative ones count from the end"}};
static const op_port elements_outputs[] = {{.name = "output", .doc = "as indices"}};
static const attr_field elements_fields[] = {FIELD_INT(axis_attributes, axis, 0, "the axis that is indexed")};
static const op_port scatter_inputs[] = {{.name = "data", .doc = "any shape of rank 1 or more"},
                                         {.name = "indices", .doc = "int32 or int64; negative ones count from the end"},
                                         {.name = "updates", .doc = "what is placed"}};
static const op_port scatter_outputs[] = {{.name = "output", .doc = "as data"}};
static const attr_field scatter_fields[] = {
    FIELD_INT(scatter_attributes, axis, 0, "the axis that is indexed"),
    FIELD_STRING(scatter_attributes, reduction, "none", "none (the last one stays), add, mul, max or min with what is there"),
};
static const attr_field scatternd_fields[] = {
    FIELD_STRING(scatter_attributes, reduction, "none", "none (the last one stays), add, mul, max or min with what is there"),
};

/* Dims of indices, but for axis, may not exceed data's. */
static npuc_status check_ranks(infer_context *c, int64_t given_axis) {
  const fact *x = npuc_fact_input(c, 0), *indices = npuc_fact_input(c, 1);
  if (!x || !indices || x->shape.rank < 0 || indices->shape.rank < 0) return NPUC_OK;
  int32_t axis;
  if (x->shape.rank != indices->shape.rank) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "indices", "rank %d given; data's rank %d wanted", indices->shape.rank,
                        x->shape.rank);
  }
  NPUC_TRY(npuc_require_axis(c, given_axis, x->shape.rank, &axis));
  for (int32_t i = 0; i < x->shape.rank; i++) {
    dim a = x->shape.dims[i], b = indices->shape.dims[i];
    if (i != axis && dim_is_number(a) && dim_is_number(b) && b > a) {
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "indices", "axis %d has %lld elements, data's %lld", i, (long long)b,
                          (long long)a);
    }
  }
  return NPUC_OK;
}

static npuc_status gatherelements_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0), *indices = npuc_fact_input(c, 1);
  if (!x || !indices) return NPUC_OK;
  c->outputs[0].type = x->type;
  c->outputs[0].shape = indices->shape;
  return check_ranks(c, NPUC_ATTRS(axis_attributes, c->node)->axis);
}

/* updates has the given shape wherever both are known. */
static npuc_status check_updates(infer_context *c, const shape *wanted) {
  const fact *updates = npuc_fact_input(c, 2);
  if (!updates || updates->shape.rank < 0 || wanted->rank < 0) return NPUC_OK;
  bool fits = updates->shape.rank == wanted->rank;
  for (int32_t i = 0; fits && i < wanted->rank; i++) {
    dim merged;
    fits = npuc_dim_merge(updates->shape.dims[i], wanted->dims[i], &merged);
  }
  if (fits) return NPUC_OK;
  char a[SHAPE_TEXT], b[SHAPE_TEXT];
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "updates", "%s given; %s wanted", npuc_shape_text(c->module, &updates->shape, a),
                      npuc_shape_text(c->module, wanted, b));
}

static npuc_status same_types(infer_context *c) {
  dtype a = npuc_fact_type(c, 0), b = npuc_fact_type(c, 2);
  if (a == DTYPE_NONE || b == DTYPE_NONE || a == b) return NPUC_OK;
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0442, "updates", "%s given; data's %s wanted", npuc_dtype_name(b), npuc_dtype_name(a));
}

static npuc_status scatterelements_infer(infer_context *c) {
  const fact *indices = npuc_fact_input(c, 1);
  NPUC_TRY(npuc_infer_unary(c));
  NPUC_TRY(same_types(c));
  NPUC_TRY(check_ranks(c, NPUC_ATTRS(scatter_attributes, c->node)->axis));
  return indices ? check_updates(c, &indices->shape) : NPUC_OK;
}

static npuc_status scatter_verify(diag *d, const node *n) {
  NPUC_TRY(check_indices(d, n, 1));
  return check_reduction(d, n, NPUC_ATTRS(scatter_attributes, n)->reduction);
}

/* -- GatherND, ScatterND -- */
static const op_port gathernd_inputs[] = {{.name = "data", .doc = "any shape of rank 1 or more"},
                                          {.name = "indices", .doc = "int64 [b..., i..., k]: k indices name a slice of data"}};
static const op_port gathernd_outputs[] = {{.name = "output", .doc = "indices' axes but the last, then the slice's"}};
static const attr_field gathernd_fields[] = {FIELD_INT(gathernd_attributes, batch_dims, 0, "leading axes that data and indices share")};

/* Shape of the slices that tuples name: `out` gets indices' axes but the last, then data's behind the indexed ones. */
static npuc_status nd_shape(infer_context *c, int64_t batch_dims, bool *out_known, shape *out) {
  const fact *x = npuc_fact_input(c, 0), *indices = npuc_fact_input(c, 1);
  *out_known = false;
  if (!x || !indices || x->shape.rank < 0 || indices->shape.rank < 0) return NPUC_OK;
  const shape *s = &indices->shape;
  if (s->rank < 1 || x->shape.rank < 1)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, s->rank < 1 ? "indices" : "data", "a scalar given; rank 1 or more wanted");
  if (batch_dims < 0 || batch_dims >= s->rank || batch_dims >= x->shape.rank) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "batch_dims", "%lld given; data has rank %d, indices %d", (long long)batch_dims,
                        x->shape.rank, s->rank);
  }
  dim k = s->dims[s->rank - 1];
  if (!dim_is_number(k)) return NPUC_OK;
  if (k > x->shape.rank - batch_dims) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "indices", "%lld indices for the %d axes of data behind batch_dims", (long long)k,
                        x->shape.rank - (int32_t)batch_dims);
  }
  int32_t rest = x->shape.rank - (int32_t)batch_dims - (int32_t)k;
  if (s->rank - 1 + rest > MAX_RANK) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0443, "indices", "the result would have rank %d; at most %d is supported",
                        s->rank - 1 + rest, MAX_RANK);
  }
  *out = *s;
  out->rank = s->rank - 1;
  for (int32_t i = x->shape.rank - rest; i < x->shape.rank; i++) out->dims[out->rank++] = x->shape.dims[i];
  *out_known = true;
  return NPUC_OK;
}

static npuc_status gathernd_infer(infer_context *c) {
  bool known;
  shape y;
  c->outputs[0].type = npuc_fact_type(c, 0);
  NPUC_TRY(nd_shape(c, NPUC_ATTRS(gathernd_attributes, c->node)->batch_dims, &known, &y));
  if (known) c->outputs[0].shape = y;
  return NPUC_OK;
}

static npuc_status scatternd_infer(infer_context *c) {
  bool known;
  shape updates;
  NPUC_TRY(npuc_infer_unary(c));
  NPUC_TRY(same_types(c));
  NPUC_TRY(nd_shape(c, 0, &known, &updates));
  return known ? check_updates(c, &updates) : NPUC_OK;
}

/* -- TensorScatter -- */
static const op_port cache_inputs[] = {
    {.name = "past_cache", .doc = "[B, ..., S, ...]"},
    {.name = "update", .doc = "the same with at most S on the axis"},
    {.name = "write_indices", .optional = true, .doc = "int64 [B]: first row that is written; 0 when absent"}};
static const op_port cache_outputs[] = {{.name = "present_cache", .doc = "as past_cache"}};
static const attr_field cache_fields[] = {
    FIELD_INT(tensorscatter_attributes, axis, -2, "the sequence axis; never the first"),
    FIELD_STRING(tensorscatter_attributes, mode, "linear", "linear, or circular: rows beyond the end go on from the start"),
};

static npuc_status cache_infer(infer_context *c) {
  NPUC_TRY(npuc_infer_same_type(c, 0, 1));
  NPUC_TRY(npuc_infer_unary(c));
  const fact *x = npuc_fact_input(c, 0), *update = npuc_fact_input(c, 1);
  if (!x || !update || x->shape.rank < 0 || update->shape.rank < 0) return NPUC_OK;
  int32_t axis;
  NPUC_TRY(npuc_require_axis(c, NPUC_ATTRS(tensorscatter_attributes, c->node)->axis, x->shape.rank, &axis));
  if (axis == 0) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "axis", "the first axis is the batch");
  bool fits = update->shape.rank == x->shape.rank;
  for (int32_t i = 0; fits && i < x->shape.rank; i++) {
    dim a = x->shape.dims[i], b = update->shape.dims[i];
    fits = !dim_is_number(a) || !dim_is_number(b) || (i == axis ? b <= a : a == b);
  }
  if (fits) return NPUC_OK;
  char a[SHAPE_TEXT], b[SHAPE_TEXT];
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "update", "%s does not fit into %s along axis %d",
                      npuc_shape_text(c->module, &update->shape, a), npuc_shape_text(c->module, &x->shape, b), axis);
}

static npuc_status cache_verify(diag *d, const node *n) {
  const char *mode = NPUC_ATTRS(tensorscatter_attributes, n)->mode;
  if (mode && (strcmp(mode, "linear") == 0 || strcmp(mode, "circular") == 0)) return NPUC_OK;
  return npuc_op_fail(d, n, NPUC_DIAG_E0440, "mode", "\"%s\" is not one of linear, circular", mode ? mode : "");
}

/* -- OneHot -- */
static const op_port onehot_inputs[] = {{.name = "indices", .doc = "any shape; negative ones count from the end, those beyond give no 1"},
                                        {.name = "depth", .doc = "one number: the length of the new axis"},
                                        {.name = "values", .doc = "[off, on]"}};
static const op_port onehot_outputs[] = {{.name = "output", .doc = "indices' axes and the new one, of values' type"}};
static const attr_field onehot_fields[] = {FIELD_INT(axis_attributes, axis, -1, "the place of the new axis in the output")};

static npuc_status onehot_infer(infer_context *c) {
  const fact *indices = npuc_fact_input(c, 0), *depth = npuc_fact_input(c, 1);
  c->outputs[0].type = npuc_fact_type(c, 2);
  if (!indices || indices->shape.rank < 0) return NPUC_OK;
  int32_t rank = indices->shape.rank + 1, axis;
  if (rank > MAX_RANK)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0443, "indices", "the result would have rank %d; at most %d is supported", rank,
                        MAX_RANK);
  NPUC_TRY(npuc_require_axis(c, NPUC_ATTRS(axis_attributes, c->node)->axis, rank, &axis));
  dim length = DIM_UNKNOWN;
  if (depth && depth->constant && npuc_tensor_elements(depth->constant) == 1) {
    length = npuc_tensor_get_int(depth->constant, 0);
    if (length < 0) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "depth", "%lld given; 0 or more wanted", (long long)length);
  }
  shape y = {.rank = rank};
  for (int32_t i = 0, from = 0; i < rank; i++)
    y.dims[i] = i != axis ? indices->shape.dims[from++] : length == DIM_UNKNOWN ? npuc_infer_free_dim(c, 0, i) : length;
  c->outputs[0].shape = y;
  return NPUC_OK;
}

static npuc_status onehot_verify(diag *d, const node *n) {
  const shape *s = &n->inputs[2]->shape;
  if (s->rank < 0 || (s->rank == 1 && (!dim_is_number(s->dims[0]) || s->dims[0] == 2))) return NPUC_OK;
  char text[SHAPE_TEXT];
  return npuc_op_fail(d, n, NPUC_DIAG_E0441, "values", "%s given; [2] wanted", npuc_shape_text(NULL, s, text));
}

/* -- Compress, NonZero -- */
static const op_port compress_inputs[] = {{.name = "input", .doc = "any shape of rank 1 or more"},
                                          {.name = "condition", .doc = "bool vector; what it does not reach is left out"}};
static const op_port compress_outputs[] = {{.name = "output", .doc = "the slices whose condition holds"}};
static const attr_field compress_fields[] = {
    FIELD_INT(compress_attributes, axis, COMPRESS_FLAT, "the axis of the slices; absent: the elements of the flattened input")};
static const op_port nonzero_inputs[] = {{.name = "X", .doc = "any shape"}};
static const op_port nonzero_outputs[] = {{.name = "Y", .doc = "int64 [rank of X, count]: a column of indices for each element"}};

static npuc_status compress_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0);
  int64_t given = NPUC_ATTRS(compress_attributes, c->node)->axis;
  if (!x) return NPUC_OK;
  c->outputs[0].type = x->type;
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

static npuc_status nonzero_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0);
  c->outputs[0].type = DTYPE_I64;
  npuc_infer_free_shape(c, 2);
  if (x && x->shape.rank >= 0) c->outputs[0].shape.dims[0] = x->shape.rank;
  return NPUC_OK;
}

const op_def npuc_op_gatherelements = {
    ONNX_OP(gatherelements, OP_GATHERELEMENTS, "GatherElements", 13, 11),
    .traits = TRAIT_MOVES_DATA,
    .summary = "Picks elements by their index on one axis.",
    .formula = "output[.., i, ..] = data[.., indices[.., i, ..], ..]",
    PORTS_IN(elements_inputs, 2),
    PORTS_OUT(elements_outputs, 1),
    ATTRIBUTES(elements_fields, axis_attributes),
    .infer = gatherelements_infer,
    .verify = indices_verify,
};

const op_def npuc_op_scatterelements = {
    ONNX_OP(scatterelements, OP_SCATTERELEMENTS, "ScatterElements", 18, 18),
    .summary = "Places elements by their index on one axis.",
    .formula = "output = data, then output[.., indices[.., i, ..], ..] = updates[.., i, ..] for every i in row-major order",
    PORTS_IN(scatter_inputs, 3),
    PORTS_OUT(scatter_outputs, 1),
    ATTRIBUTES(scatter_fields, scatter_attributes),
    .infer = scatterelements_infer,
    .verify = scatter_verify,
};

const op_def npuc_op_gathernd = {
    ONNX_OP(gathernd, OP_GATHERND, "GatherND", 13, 12),
    .traits = TRAIT_MOVES_DATA,
    .summary = "Picks slices by tuples of indices.",
    .formula = "output[b.., i.., s..] = data[b.., indices[b.., i.., 0], ..., indices[b.., i.., k-1], s..]",
    PORTS_IN(gathernd_inputs, 2),
    PORTS_OUT(gathernd_outputs, 1),
    ATTRIBUTES(gathernd_fields, gathernd_attributes),
    .infer = gathernd_infer,
    .verify = indices_verify,
};

const op_def npuc_op_scatternd = {
    ONNX_OP(scatternd, OP_SCATTERND, "ScatterND", 18, 18),
    .summary = "Places slices by tuples of indices.",
    .formula =
        "output = data, then output[indices[i.., 0], ..., indices[i.., k-1], s..] = updates[i.., s..] for every i in row-major order",
    PORTS_IN(scatter_inputs, 3),
    PORTS_OUT(scatter_outputs, 1),
    ATTRIBUTES(scatternd_fields, scatter_attributes),
    .infer = scatternd_infer,
    .verify = scatter_verify,
};

const op_def npuc_op_tensorscatter = {
    ONNX_OP(tensorscatter, OP_TENSORSCATTER, "TensorScatter", 24, 24),
    .summary = "Writes rows into a cache, each sample from a place of its own.",
    .formula = "present_cache = past_cache, then present_cache[b, .., write_indices[b] + s, ..] = update[b, .., s, ..]",
    PORTS_IN(cache_inputs, 2),
    PORTS_OUT(cache_outputs, 1),
    ATTRIBUTES(cache_fields, tensorscatter_attributes),
    .infer = cache_infer,
    .verify = cache_verify,
};

const op_def npuc_op_onehot = {
    ONNX_OP(onehot, OP_ONEHOT, "OneHot", 28, 11),
    .summary = "A new axis that is `on` at the index and `off` elsewhere.",
    .formula = "output[.., d, ..] = d == indices[..] ? values[1] : values[0]",
    PORTS_IN(onehot_inputs, 3),
    PORTS_OUT(onehot_outputs, 1),
    ATTRIBUTES(onehot_fields, axis_attributes),
    .infer = onehot_infer,
    .verify = onehot_verify,
};

const op_def npuc_op_compress = {
    ONNX_OP(compress, OP_COMPRESS, "Compress", 28, 11),
    .traits = TRAIT_DATA_SHAPE,
    .summary = "Keeps the slices whose condition holds.",
    .formula = "output = input's slices k of axis with condition[k]",
    PORTS_IN(compress_inputs, 2),
    PORTS_OUT(compress_outputs, 1),
    ATTRIBUTES(compress_fields, compress_attributes),
    .infer = compress_infer,
};

const op_def npuc_op_nonzero = {
    ONNX_OP(nonzero, OP_NONZERO, "NonZero", 13, 9),
    .traits = TRAIT_DATA_SHAPE,
    .summary = "Indices of the elements that are not 0.",
    .formula = "Y[:, j] = index of the j-th such element in row-major order",
    PORTS_IN(nonzero_inputs, 1),
    PORTS_OUT(nonzero_outputs, 1),
    .infer = nonzero_infer,
};
