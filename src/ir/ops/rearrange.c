/* SPDX-License-Identifier: Apache-2.0 */
/* Elements moved by rule: Tile, DepthToSpace, SpaceToDepth, ReverseSequence, Trilu, CenterCropPad, and tensors made of numbers alone: EyeLike, Range. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "ir/ops/support.h"

static const op_port output_port[] = {{.name = "output", .doc = "as input"}};

/* -- Tile -- */
static const op_port tile_inputs[] = {{.name = "input", .doc = "any shape"},
                                      {.name = "repeats", .doc = "int64 vector: how often along each axis"}};
static const op_port tile_outputs[] = {{.name = "output", .doc = "dim i is input's times repeats[i]"}};

static npuc_status tile_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0);
  if (!x) return NPUC_OK;
  c->outputs[0].type = x->type;
  elements e;
  if (x->shape.rank < 0) return NPUC_OK;
  if (!npuc_elements_read(npuc_fact_input(c, 1), &e)) {
    npuc_infer_free_shape(c, x->shape.rank);
    return NPUC_OK;
  }
  if (e.count != x->shape.rank)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "repeats", "%d values for a tensor of rank %d", e.count, x->shape.rank);
  shape y = {.rank = e.count};
  for (int32_t i = 0; i < e.count; i++) {
    if (e.at[i].is_number && e.at[i].number < 0)
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "repeats", "value %d is %lld; 0 or more wanted", i, (long long)e.at[i].number);
    dim pair[2] = {x->shape.dims[i], npuc_element_dim(&e.at[i])};
    y.dims[i] = npuc_dim_product(pair, 2, DIM_UNKNOWN);
    if (y.dims[i] == DIM_UNKNOWN) y.dims[i] = npuc_infer_free_dim(c, 0, i);
  }
  c->outputs[0].shape = y;
  return NPUC_OK;
}

/* -- DepthToSpace, SpaceToDepth -- */
static const op_port blocks_inputs[] = {{.name = "input", .doc = "[N, C, H, W]"}};
static const op_port deep_outputs[] = {{.name = "output", .doc = "[N, C*b*b, H/b, W/b]"}};
static const op_port wide_outputs[] = {{.name = "output", .doc = "[N, C/(b*b), H*b, W*b]"}};
#define BLOCKSIZE_FIELD                                                                                           \
  {                                                                                                               \
    .name = "blocksize", .kind = ATTR_INT, .offset = offsetof(blocksize_attributes, blocksize), .required = true, \
    .doc = "side of a block, b"                                                                                   \
  }
static const attr_field wide_fields[] = {
    BLOCKSIZE_FIELD,
    FIELD_STRING(blocksize_attributes, mode, "DCR", "which comes first in the channels: DCR the cell of the block, CRD the channel")};
static const attr_field deep_fields[] = {BLOCKSIZE_FIELD,
                                         {.name = "mode",
                                          .kind = ATTR_STRING,
                                          .offset = offsetof(blocksize_attributes, mode),
                                          .default_string = "DCR",
                                          .since_version = 28,
                                          .doc = "which comes first in the channels: DCR the cell of the block, CRD the channel"}};

static npuc_status blocks_verify(diag *d, const node *n) {
  const blocksize_attributes *a = NPUC_ATTRS(blocksize_attributes, n);
  if (a->blocksize < 1 || a->blocksize > 1 << 15)
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "blocksize", "%lld given; 1 to 32768 wanted", (long long)a->blocksize);
  if (!a->mode || (strcmp(a->mode, "DCR") != 0 && strcmp(a->mode, "CRD") != 0))
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "mode", "\"%s\" is not one of DCR, CRD", a->mode ? a->mode : "");
  return NPUC_OK;
}

static npuc_status blocks_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0);
  bool to_depth = c->node->op->id == OP_SPACETODEPTH;
  int64_t b = NPUC_ATTRS(blocksize_attributes, c->node)->blocksize;
  NPUC_TRY(blocks_verify(c->d, c->node));
  if (!x) return NPUC_OK;
  c->outputs[0].type = x->type;
  if (x->shape.rank < 0) return NPUC_OK;
  if (x->shape.rank != 4) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "input", "rank %d given; 4 wanted", x->shape.rank);
  shape y = x->shape;
  for (int32_t i = 1; i < 4; i++) {
    int64_t factor = i == 1 ? b * b : b, result;
    bool divides = (i == 1) != to_depth;
    if (!dim_is_number(y.dims[i])) {
      if (b != 1) y.dims[i] = npuc_infer_free_dim(c, 0, i);
    } else if (divides) {
      if (y.dims[i] % factor)
        return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "input", "axis %d has %lld elements, which %lld does not divide", i,
                            (long long)y.dims[i], (long long)factor);
      y.dims[i] /= factor;
    } else if (__builtin_mul_overflow(y.dims[i], factor, &result)) {
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "input", "axis %d would have too many elements", i);
    } else {
      y.dims[i] = result;
    }
  }
  c->outputs[0].shape = y;
  return NPUC_OK;
}

/* -- ReverseSequence -- */
static const op_port reverse_inputs[] = {{.name = "input", .doc = "[time, batch, ...] or [batch, time, ...]"},
                                         {.name = "sequence_lens", .doc = "int64 [batch]"}};
static const op_port reverse_outputs[] = {{.name = "Y", .doc = "as input"}};
static const attr_field reverse_fields[] = {FIELD_INT(reversesequence_attributes, batch_axis, 1, "0 or 1"),
                                            FIELD_INT(reversesequence_attributes, time_axis, 0, "the other one")};

static npuc_status reverse_verify(diag *d, const node *n) {
  const reversesequence_attributes *a = NPUC_ATTRS(reversesequence_attributes, n);
  bool fits = (a->batch_axis == 0 && a->time_axis == 1) || (a->batch_axis == 1 && a->time_axis == 0);
  if (fits) return NPUC_OK;
  return npuc_op_fail(d, n, NPUC_DIAG_E0440, "time_axis", "%lld given with batch_axis %lld; 0 and 1, or 1 and 0 wanted",
                      (long long)a->time_axis, (long long)a->batch_axis);
}

static npuc_status reverse_infer(infer_context *c) {
  NPUC_TRY(reverse_verify(c->d, c->node));
  NPUC_TRY(npuc_infer_unary(c));
  const fact *x = npuc_fact_input(c, 0), *lengths = npuc_fact_input(c, 1);
  if (!x || !lengths || x->shape.rank < 0 || lengths->shape.rank < 0) return NPUC_OK;
  if (x->shape.rank < 2) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "input", "rank %d given; at least 2 wanted", x->shape.rank);
  dim merged;
  if (lengths->shape.rank == 1 &&
      npuc_dim_merge(lengths->shape.dims[0], x->shape.dims[NPUC_ATTRS(reversesequence_attributes, c->node)->batch_axis], &merged))
    return NPUC_OK;
  char text[SHAPE_TEXT];
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "sequence_lens", "%s given; one length per sample wanted",
                      npuc_shape_text(c->module, &lengths->shape, text));
}

/* -- Trilu -- */
static const op_port trilu_inputs[] = {{.name = "input", .doc = "[..., M, N]"},
                                       {.name = "k", .optional = true, .doc = "int64 scalar: diagonals above the main one; 0 when absent"}};
static const attr_field trilu_fields[] = {
    FIELD_INT(trilu_attributes, upper, 1, "1 keeps what lies on the diagonal and above, 0 on it and below")};

static npuc_status trilu_infer(infer_context *c) {
  NPUC_TRY(npuc_infer_unary(c));
  int32_t rank = c->outputs[0].shape.rank;
  if (rank < 0 || rank >= 2) return NPUC_OK;
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "input", "rank %d given; at least 2 wanted", rank);
}
static npuc_status trilu_verify(diag *d, const node *n) { return npuc_verify_flag(d, n, "upper", NPUC_ATTRS(trilu_attributes, n)->upper); }

/* -- CenterCropPad -- */
static const op_port crop_inputs[] = {{.name = "input_data", .doc = "any shape"},
                                      {.name = "shape", .doc = "int64 vector: the new dims of axes"}};
static const op_port crop_outputs[] = {{.name = "output_data", .doc = "cut or padded with zeros on both sides"}};
static const attr_field crop_fields[] = {FIELD_INTS(axes_attributes, axes, "the axes that shape speaks of; all when absent")};

static npuc_status crop_infer(infer_context *c) {
  const int_list *axes = &NPUC_ATTRS(axes_attributes, c->node)->axes;
  const fact *x = npuc_fact_input(c, 0);
  if (!x) return NPUC_OK;
  c->outputs[0].type = x->type;
  if (x->shape.rank < 0) return NPUC_OK;
  shape y = x->shape;
  elements e;
  int32_t n = axes->count ? axes->count : x->shape.rank;
  bool known = npuc_elements_read(npuc_fact_input(c, 1), &e);
  if (known && e.count != n) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "shape", "%d dims for %d axes", e.count, n);
  for (int32_t i = 0; i < n; i++) {
    int32_t axis;
    NPUC_TRY(npuc_require_axis(c, axes->count ? axes->values[i] : i, x->shape.rank, &axis));
    if (known && e.at[i].is_number && e.at[i].number < 0)
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "shape", "dim %d is %lld; 0 or more wanted", i, (long long)e.at[i].number);
    y.dims[axis] = known ? npuc_element_dim(&e.at[i]) : DIM_UNKNOWN;
    if (y.dims[axis] == DIM_UNKNOWN) y.dims[axis] = npuc_infer_free_dim(c, 0, axis);
  }
  c->outputs[0].shape = y;
  return NPUC_OK;
}

/* -- EyeLike -- */
static const op_port eye_inputs[] = {{.name = "input", .doc = "[M, N]; its elements mean nothing"}};
static const attr_field eye_fields[] = {FIELD_INT(eyelike_attributes, dtype, 0, "TensorProto.DataType of the output; 0: the input's"),
                                        FIELD_INT(eyelike_attributes, k, 0, "diagonals above the main one")};

static npuc_status eye_infer(infer_context *c) {
  NPUC_TRY(npuc_infer_unary(c));
  int64_t type = NPUC_ATTRS(eyelike_attributes, c->node)->dtype;
  if (type < 0 || type >= DTYPE_END)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "dtype", "%lld is not an element type", (long long)type);
  if (type) c->outputs[0].type = (dtype)type;
  int32_t rank = c->outputs[0].shape.rank;
  if (rank < 0 || rank == 2) return NPUC_OK;
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "input", "rank %d given; a matrix wanted", rank);
}

/* -- Range -- */
static const op_port range_inputs[] = {{.name = "start", .doc = "scalar"},
                                       {.name = "limit", .doc = "scalar of the same type; exclusive"},
                                       {.name = "delta", .doc = "scalar, never 0"}};
static const op_port range_outputs[] = {{.name = "output", .doc = "vector"}};
static const attr_field range_fields[] = {{.name = "stash_type",
                                           .kind = ATTR_INT,
                                           .offset = offsetof(stash_attributes, stash_type),
                                           .default_int = 1,
                                           .since_version = 27,
                                           .doc = "type of the steps for 16-bit floats; they are wider here whatever it says"}};

static const tensor *scalar_of(const fact *f) { return f && f->constant && npuc_tensor_elements(f->constant) == 1 ? f->constant : NULL; }

/* max(ceil((limit - start) / delta), 0); -1 where that has no value. */
static int64_t range_count(const tensor *start, const tensor *limit, const tensor *delta) {
  if (npuc_dtype_is_integer(start->type)) {
    int64_t a = npuc_tensor_get_int(start, 0), b = npuc_tensor_get_int(limit, 0), step = npuc_tensor_get_int(delta, 0), length;
    if (step == 0 || step == INT64_MIN || __builtin_sub_overflow(b, a, &length)) return -1;
    if ((step > 0) != (length > 0) || length == 0) return 0;
    return length / step + (length % step != 0);
  }
  double n = ceil((npuc_tensor_get(limit, 0) - npuc_tensor_get(start, 0)) / npuc_tensor_get(delta, 0));
  return !(n == n) || n > 9e15 ? -1 : n < 0.0 ? 0 : (int64_t)n;
}

static npuc_status range_infer(infer_context *c) {
  NPUC_TRY(npuc_infer_same_type(c, 0, 2));
  for (int32_t i = 0; i < 3 && c->outputs[0].type == DTYPE_NONE; i++) c->outputs[0].type = npuc_fact_type(c, i);
  const tensor *start = scalar_of(npuc_fact_input(c, 0)), *limit = scalar_of(npuc_fact_input(c, 1)),
               *delta = scalar_of(npuc_fact_input(c, 2));
  npuc_infer_free_shape(c, 1);
  if (!start || !limit || !delta) return NPUC_OK;
  int64_t count = range_count(start, limit, delta);
  if (count < 0) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "delta", "start, limit and delta give no number of elements");
  c->outputs[0].shape.dims[0] = count;
  return NPUC_OK;
}

const op_def npuc_op_tile = {
    ONNX_OP(tile, OP_TILE, "Tile", 13, 6),
    .traits = TRAIT_MOVES_DATA,
    .summary = "Repeats a tensor along its axes.",
    .formula = "output[i..] = input[i mod dims..]",
    PORTS_IN(tile_inputs, 2),
    PORTS_OUT(tile_outputs, 1),
    .infer = tile_infer,
};

const op_def npuc_op_depthtospace = {
    ONNX_OP(depthtospace, OP_DEPTHTOSPACE, "DepthToSpace", 28, 11),
    .traits = TRAIT_MOVES_DATA,
    .summary = "Channels become blocks of pixels.",
    .formula = "output[n, c, h*b + i, w*b + j] = input[n, DCR: (i*b + j)*C' + c, CRD: c*b*b + i*b + j, h, w], C' = C/(b*b)",
    PORTS_IN(blocks_inputs, 1),
    PORTS_OUT(wide_outputs, 1),
    ATTRIBUTES(wide_fields, blocksize_attributes),
    .infer = blocks_infer,
    .verify = blocks_verify,
};

const op_def npuc_op_spacetodepth = {
    ONNX_OP(spacetodepth, OP_SPACETODEPTH, "SpaceToDepth", 28, 1),
    .traits = TRAIT_MOVES_DATA,
    .summary = "Blocks of pixels become channels.",
    .formula = "output[n, DCR: (i*b + j)*C + c, CRD: c*b*b + i*b + j, h, w] = input[n, c, h*b + i, w*b + j]",
    PORTS_IN(blocks_inputs, 1),
    PORTS_OUT(deep_outputs, 1),
    ATTRIBUTES(deep_fields, blocksize_attributes),
    .infer = blocks_infer,
    .verify = blocks_verify,
};

const op_def npuc_op_reversesequence = {
    ONNX_OP(reversesequence, OP_REVERSESEQUENCE, "ReverseSequence", 28, 10),
    .traits = TRAIT_MOVES_DATA,
    .summary = "Turns each sample's sequence around, up to its length.",
    .formula = "Y[t, b] = input[t < len[b] ? len[b] - 1 - t : t, b]",
    PORTS_IN(reverse_inputs, 2),
    PORTS_OUT(reverse_outputs, 1),
    ATTRIBUTES(reverse_fields, reversesequence_attributes),
    .infer = reverse_infer,
    .verify = reverse_verify,
};

const op_def npuc_op_trilu = {
    ONNX_OP(trilu, OP_TRILU, "Trilu", 14, 14),
    .summary = "Keeps one triangle of matrices, zeros elsewhere.",
    .formula = "upper: output[.., i, j] = j - i >= k ? input : 0; lower: j - i <= k",
    PORTS_IN(trilu_inputs, 1),
    PORTS_OUT(output_port, 1),
    ATTRIBUTES(trilu_fields, trilu_attributes),
    .infer = trilu_infer,
    .verify = trilu_verify,
};

const op_def npuc_op_centercroppad = {
    ONNX_OP(centercroppad, OP_CENTERCROPPAD, "CenterCropPad", 18, 18),
    .summary = "Cuts or pads around the center.",
    .formula = "cut: begins at floor((have - want) / 2); padded: floor((want - have) / 2) zeros before",
    PORTS_IN(crop_inputs, 2),
    PORTS_OUT(crop_outputs, 1),
    ATTRIBUTES(crop_fields, axes_attributes),
    .infer = crop_infer,
};

const op_def npuc_op_eyelike = {
    ONNX_OP(eyelike, OP_EYELIKE, "EyeLike", 22, 9),
    .summary = "A matrix with ones on a diagonal.",
    .formula = "output[i, j] = j == i + k",
    PORTS_IN(eye_inputs, 1),
    PORTS_OUT(output_port, 1),
    ATTRIBUTES(eye_fields, eyelike_attributes),
    .infer = eye_infer,
};

const op_def npuc_op_range = {
    ONNX_OP(range, OP_RANGE, "Range", 27, 11),
    .summary = "Numbers in equal steps.",
    .formula = "output[i] = start + i * delta, i < max(ceil((limit - start) / delta), 0)",
    PORTS_IN(range_inputs, 3),
    PORTS_OUT(range_outputs, 1),
    ATTRIBUTES(range_fields, stash_attributes),
    .infer = range_infer,
};
