/* SPDX-License-Identifier: Apache-2.0 */
/* Elements chosen by tensors of indices. Negative indices count from the end, in torch as in ONNX. */
#include <string.h>

#include "import/pt2/aten.h"

static npuc_status gather(pt2_node *n, const char *op, value *x, value *indices, int64_t axis, value **out) {
  if (indices->type != DTYPE_I32) NPUC_TRY(npuc_pt2_cast(n, indices, DTYPE_I64, &indices));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, op, (value *[]){x, indices}, 2, 1, &made));
  npuc_pt2_set_int(made, "axis", axis);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  *out = made->outputs[0];
  return NPUC_OK;
}

npuc_status npuc_aten_embedding(pt2_node *n) {
  value *weight, *indices, *y;
  static const char *const training[] = {"padding_idx", "scale_grad_by_freq", "sparse"};
  NPUC_TRY(npuc_pt2_tensor(n, "weight", &weight));
  NPUC_TRY(npuc_pt2_tensor(n, "indices", &indices));
  for (size_t i = 0; i < 3; i++) npuc_pt2_ignore(n, training[i]);
  NPUC_TRY(gather(n, "Gather", weight, indices, 0, &y));
  return npuc_pt2_result(n, y);
}

static npuc_status along_axis(pt2_node *n, const char *op) {
  value *x, *indices, *y;
  int64_t axis;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_tensor(n, "index", &indices));
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", 0, &axis));
  npuc_pt2_ignore(n, "sparse_grad");
  NPUC_TRY(npuc_pt2_axis(n, "dim", axis, x->shape.rank, &axis));
  NPUC_TRY(gather(n, op, x, indices, axis, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_index_select(pt2_node *n) { return along_axis(n, "Gather"); }
npuc_status npuc_aten_gather(pt2_node *n) { return along_axis(n, "GatherElements"); }

/* x[i, :, j]: which axes are indexed; index tensors broadcast together. */
typedef struct advanced {
  value *x, *list[MAX_RANK];
  int64_t axes[MAX_RANK], perm[MAX_RANK];
  size_t n, first;
  bool adjacent; /* the indexed axes are neighbours: the result's index axes stand where they were, else in front */
  bool masks;
} advanced;

static npuc_status read_indices(pt2_node *n, advanced *out) {
  value **given;
  size_t count;
  *out = (advanced){.adjacent = true};
  NPUC_TRY(npuc_pt2_tensor(n, "self", &out->x));
  NPUC_TRY(npuc_pt2_tensors(n, "indices", &given, &count));
  if ((int32_t)count > out->x->shape.rank)
    return npuc_pt2_fail(n, NPUC_DIAG_E0335, "indices", "%zu indices for %d axes", count, out->x->shape.rank);
  for (size_t i = 0; i < count; i++) {
    if (!given[i]) continue;
    if (out->n && out->axes[out->n - 1] != (int64_t)i - 1) out->adjacent = false;
    if (out->n == 0) out->first = i;
    if (given[i]->type == DTYPE_BOOL)
      out->masks = true;
    else
      NPUC_TRY(npuc_pt2_cast(n, given[i], DTYPE_I64, &given[i]));
    out->axes[out->n] = (int64_t)i;
    out->list[out->n++] = given[i];
  }
  if (out->n == 0) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "indices", "no index");
  /* indexed axes first, the others behind them in their order */
  size_t at = 0;
  for (size_t i = 0; i < out->n; i++) out->perm[at++] = out->axes[i];
  for (int64_t i = 0; i < out->x->shape.rank; i++) {
    bool indexed = false;
    for (size_t k = 0; k < out->n; k++) indexed = indexed || out->axes[k] == i;
    if (!indexed) out->perm[at++] = i;
  }
  return NPUC_OK;
}

/* The index tensors side by side: [broadcast shape, n]. */
static npuc_status join_indices(pt2_node *n, const advanced *a, value **out, int32_t *out_rank) {
  shape common = a->list[0]->shape;
  value *widest = a->list[0], *parts[MAX_RANK] = {NULL};
  for (size_t i = 1; i < a->n; i++) {
    shape joined;
    if (!npuc_shape_broadcast(&common, &a->list[i]->shape, &joined))
      return npuc_pt2_fail(n, NPUC_DIAG_E0335, "indices", "their shapes do not broadcast");
    common = joined;
  }
  /* A value that has the common shape, by adding zeros of all. */
  for (size_t i = 1; i < a->n; i++) {
    if (npuc_shape_equal(&widest->shape, &common)) break;
    if (npuc_shape_equal(&a->list[i]->shape, &common)) widest = a->list[i];
  }
  if (!npuc_shape_equal(&widest->shape, &common)) {
    value *zero = npuc_pt2_constant_int(n, DTYPE_I64, 0);
    for (size_t i = 0; i < a->n; i++) {
      value *zeros;
      NPUC_TRY(npuc_pt2_binary(n, "Mul", a->list[i], zero, &zeros));
      if (i == 0)
        widest = zeros;
      else
        NPUC_TRY(npuc_pt2_binary(n, "Add", widest, zeros, &widest));
    }
  }
  int64_t last = common.rank;
  for (size_t i = 0; i < a->n; i++) {
    NPUC_TRY(npuc_pt2_expand_like(n, a->list[i], widest, &parts[i]));
    NPUC_TRY(npuc_pt2_unsqueeze(n, parts[i], &last, 1, &parts[i]));
  }
  *out_rank = common.rank;
  *out = parts[0];
  if (a->n == 1) return NPUC_OK;
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Concat", parts, a->n, 1, &made));
  npuc_pt2_set_int(made, "axis", last);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  *out = made->outputs[0];
  return NPUC_OK;
}

static npuc_status refuse_masks(pt2_node *n) {
  npuc_status status = npuc_pt2_fail(n, NPUC_DIAG_E0336, "indices", "a mask beside other indices, or behind other axes");
  npuc_fix(n->s->d, "use torch.where, which keeps the shape");
  return status;
}

npuc_status npuc_aten_index(pt2_node *n) {
  advanced a;
  value *joined, *y;
  int32_t index_rank;
  NPUC_TRY(read_indices(n, &a));
  if (a.masks) {
    if (a.n > 1 || a.axes[0] != 0) return refuse_masks(n);
    NPUC_TRY(npuc_pt2_choose(n, a.x, a.list[0], &y));
    return npuc_pt2_result(n, y);
  }
  if (a.n == 1) {
    NPUC_TRY(gather(n, "Gather", a.x, a.list[0], a.axes[0], &y));
    return npuc_pt2_result(n, y);
  }
  NPUC_TRY(join_indices(n, &a, &joined, &index_rank));
  NPUC_TRY(npuc_pt2_transpose(n, a.x, a.perm, (size_t)a.x->shape.rank, &y));
  NPUC_TRY(npuc_pt2_binary(n, "GatherND", y, joined, &y));
  if (a.adjacent && a.first > 0) { /* [index axes, leading, trailing] -> [leading, index axes, trailing] */
    int64_t perm[MAX_RANK] = {0};
    int32_t at = 0, rank = y->shape.rank, leading = (int32_t)a.first;
    for (int32_t i = 0; i < leading; i++) perm[at++] = index_rank + i;
    for (int32_t i = 0; i < index_rank; i++) perm[at++] = i;
    for (int32_t i = index_rank + leading; i < rank; i++) perm[at++] = i;
    NPUC_TRY(npuc_pt2_transpose(n, y, perm, (size_t)rank, &y));
  }
  return npuc_pt2_result(n, y);
}

/* x with x[indices] = values (or +=): ScatterND on the indexed axes brought to the front. */
npuc_status npuc_aten_index_put(pt2_node *n) {
  advanced a;
  value *values, *joined, *base, *part, *y;
  int32_t index_rank;
  bool accumulate;
  int64_t back[MAX_RANK] = {0};
  NPUC_TRY(read_indices(n, &a));
  NPUC_TRY(npuc_pt2_tensor(n, "values", &values));
  NPUC_TRY(npuc_pt2_bool_arg(n, "accumulate", false, &accumulate));
  NPUC_TRY(npuc_pt2_cast(n, values, a.x->type, &values));
  if (a.masks) {
    bool whole = a.n == 1 && a.axes[0] == 0 && values->shape.rank == 0 && !accumulate;
    if (!whole) return refuse_masks(n);
    value *mask = a.list[0];
    int64_t axes[MAX_RANK];
    size_t more = 0;
    for (int32_t i = mask->shape.rank; i < a.x->shape.rank; i++) axes[more++] = i;
    NPUC_TRY(npuc_pt2_unsqueeze(n, mask, axes, more, &mask));
    NPUC_TRY(npuc_pt2_ternary(n, "Where", mask, values, a.x, &y));
    return npuc_pt2_result(n, y);
  }
  if (a.first > 0 && !a.adjacent)
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, "indices", "a write through indices of axes that are not neighbours");
  NPUC_TRY(join_indices(n, &a, &joined, &index_rank));
  NPUC_TRY(npuc_pt2_transpose(n, a.x, a.perm, (size_t)a.x->shape.rank, &base));
  NPUC_TRY(npuc_pt2_binary(n, "GatherND", base, joined, &part)); /* for its shape */
  if (a.first > 0) {                                             /* values come as [leading, index axes, trailing] */
    int64_t forth[MAX_RANK] = {0}, perm[MAX_RANK] = {0};
    int32_t at = 0, leading = (int32_t)a.first;
    for (int32_t i = 0; i < leading; i++) forth[at++] = index_rank + i;
    for (int32_t i = 0; i < index_rank; i++) forth[at++] = i;
    for (int32_t i = index_rank + leading; i < part->shape.rank; i++) forth[at++] = i;
    NPUC_TRY(npuc_pt2_transpose(n, part, forth, (size_t)at, &part));
    NPUC_TRY(npuc_pt2_expand_like(n, values, part, &values));
    for (int32_t i = 0; i < at; i++) perm[forth[i]] = i;
    NPUC_TRY(npuc_pt2_transpose(n, values, perm, (size_t)at, &values));
  } else {
    NPUC_TRY(npuc_pt2_expand_like(n, values, part, &values));
  }
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "ScatterND", (value *[]){base, joined, values}, 3, 1, &made));
  if (accumulate) npuc_pt2_set_string(made, "reduction", "add");
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  for (int32_t i = 0; i < a.x->shape.rank; i++) back[a.perm[i]] = i;
  NPUC_TRY(npuc_pt2_transpose(n, made->outputs[0], back, (size_t)a.x->shape.rank, &y));
  return npuc_pt2_result(n, y);
}

/* What index_fill writes: one number for all that the index chooses. */
static npuc_status fill_source(pt2_node *n, value *x, value *index, int64_t axis, value **out) {
  value *part;
  if (npuc_pt2_is_tensor(n, "value")) {
    NPUC_TRY(npuc_pt2_tensor(n, "value", out));
    NPUC_TRY(npuc_pt2_cast(n, *out, x->type, out));
  } else {
    pt2_scalar v = {0};
    NPUC_TRY(npuc_pt2_scalar_arg(n, "value", v, &v));
    NPUC_TRY(npuc_pt2_scalar_value(n, &v, x->type, out));
  }
  NPUC_TRY(gather(n, "Gather", x, index, axis, &part)); /* for its shape */
  return npuc_pt2_expand_like(n, *out, part, out);
}

/* self[..., index, ...] = source (or +=) along one axis: ScatterND with that axis in front. */
npuc_status npuc_aten_index_copy(pt2_node *n) {
  value *x, *index, *source, *y;
  int64_t axis, perm[MAX_RANK], one = 1;
  bool fills = n->onnx && strcmp(n->onnx, "fill") == 0, adds = n->onnx && !fills;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_tensor(n, "index", &index));
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", 0, &axis));
  NPUC_TRY(npuc_pt2_axis(n, "dim", axis, x->shape.rank, &axis));
  if (x->shape.rank == 0) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "self", "a tensor without axes");
  NPUC_TRY(npuc_pt2_cast(n, index, DTYPE_I64, &index));
  if (index->shape.rank == 0) NPUC_TRY(npuc_pt2_unsqueeze(n, index, (int64_t[]){0}, 1, &index));
  NPUC_TRY(fills ? fill_source(n, x, index, axis, &source) : npuc_pt2_tensor(n, "source", &source));
  NPUC_TRY(npuc_pt2_cast(n, source, x->type, &source));
  if (adds && npuc_pt2_has(n, "alpha")) {
    pt2_scalar alpha = {.integer = 1, .real = 1.0};
    value *factor;
    NPUC_TRY(npuc_pt2_scalar_arg(n, "alpha", alpha, &alpha));
    NPUC_TRY(npuc_pt2_scalar_value(n, &alpha, x->type, &factor));
    NPUC_TRY(npuc_pt2_binary(n, "Mul", source, factor, &source));
  }
  for (int32_t i = 0; i < x->shape.rank; i++) perm[i] = i;
  perm[0] = axis;
  perm[axis] = 0;
  NPUC_TRY(npuc_pt2_unsqueeze(n, index, &one, 1, &index));
  NPUC_TRY(npuc_pt2_transpose(n, x, perm, (size_t)x->shape.rank, &y));
  NPUC_TRY(npuc_pt2_transpose(n, source, perm, (size_t)x->shape.rank, &source));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "ScatterND", (value *[]){y, index, source}, 3, 1, &made));
  if (adds) npuc_pt2_set_string(made, "reduction", "add");
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  NPUC_TRY(npuc_pt2_transpose(n, made->outputs[0], perm, (size_t)x->shape.rank, &y)); /* an exchange of two axes is its own inverse */
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_scatter(pt2_node *n) {
  value *x, *index, *source;
  int64_t axis;
  const char *reduce;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_tensor(n, "index", &index));
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", 0, &axis));
  NPUC_TRY(npuc_pt2_axis(n, "dim", axis, x->shape.rank, &axis));
  NPUC_TRY(npuc_pt2_string(n, "reduce", n->onnx, &reduce));
  static const char *const reductions[][2] = {{"add", "add"},  {"sum", "add"},  {"multiply", "mul"},
                                              {"prod", "mul"}, {"amax", "max"}, {"amin", "min"}};
  size_t kind = 0;
  while (reduce && kind < 6 && strcmp(reduce, reductions[kind][0]) != 0) kind++;
  if (kind == 6) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "reduce", "the reduction '%s'", reduce);
  bool with_self;
  NPUC_TRY(npuc_pt2_bool_arg(n, "include_self", true, &with_self));
  if (!with_self) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "include_self", "a reduction that leaves out what was there");
  if (npuc_pt2_has(n, "src")) {
    NPUC_TRY(npuc_pt2_tensor(n, "src", &source));
    for (int32_t i = 0; i < index->shape.rank; i++) { /* torch reads only the part of src that index covers */
      if (source->shape.dims[i] == index->shape.dims[i]) continue;
      pt2_int length;
      NPUC_TRY(npuc_pt2_size(n, index, i, &length));
      NPUC_TRY(npuc_pt2_slice(n, source, i, pt2_number(0), length, 1, &source));
    }
  } else {
    pt2_scalar v = {0};
    NPUC_TRY(npuc_pt2_scalar_arg(n, "value", v, &v));
    NPUC_TRY(npuc_pt2_scalar_value(n, &v, x->type, &source));
    NPUC_TRY(npuc_pt2_expand_like(n, source, index, &source));
  }
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "ScatterElements", (value *[]){x, index, source}, 3, 1, &made));
  npuc_pt2_set_int(made, "axis", axis);
  if (reduce) npuc_pt2_set_string(made, "reduction", reductions[kind][1]);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  return npuc_pt2_result(n, made->outputs[0]);
}

/* Indices along one axis that broadcast over the others; without an axis, into the elements in their order. */
npuc_status npuc_aten_take_along_dim(pt2_node *n) {
  value *x, *indices, *y;
  int64_t axis;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_tensor(n, "indices", &indices));
  if (!npuc_pt2_has(n, "dim")) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "dim", "none: into the elements in their order");
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", 0, &axis));
  NPUC_TRY(npuc_pt2_axis(n, "dim", axis, x->shape.rank, &axis));
  for (int32_t i = 0; i < x->shape.rank && x->shape.rank == indices->shape.rank; i++) {
    if (i != axis && x->shape.dims[i] != indices->shape.dims[i])
      return npuc_pt2_fail(n, NPUC_DIAG_E0335, "indices", "indices that broadcast with the tensor");
  }
  NPUC_TRY(gather(n, "GatherElements", x, indices, axis, &y));
  return npuc_pt2_result(n, y);
}

/* index == [0, 1, ..]: int64 in torch. */
npuc_status npuc_aten_one_hot(pt2_node *n) {
  value *x, *y;
  int64_t classes;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_int_arg(n, "num_classes", -1, &classes));
  if (classes < 1 || classes > 1 << 20)
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, "num_classes",
                         "the number of classes is not given, so the shape depends on the data, or is over a million");
  int64_t *numbers = NPUC_NEW_ARRAY(n->s->scratch, (size_t)classes, int64_t), last = x->shape.rank;
  for (int64_t i = 0; i < classes; i++) numbers[i] = i;
  NPUC_TRY(npuc_pt2_cast(n, x, DTYPE_I64, &x));
  NPUC_TRY(npuc_pt2_unsqueeze(n, x, &last, 1, &x));
  NPUC_TRY(npuc_pt2_binary(n, "Equal", x, npuc_pt2_constant_ints(n, numbers, (size_t)classes), &y));
  NPUC_TRY(npuc_pt2_cast(n, y, DTYPE_I64, &y));
  return npuc_pt2_result(n, y);
}

/* How many boundaries lie below each value (right: below or at): a comparison with each of them, and a sum. */
npuc_status npuc_aten_bucketize(pt2_node *n) {
  value *x, *boundaries, *y;
  bool narrow, right;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_tensor(n, "boundaries", &boundaries));
  NPUC_TRY(npuc_pt2_bool_arg(n, "out_int32", false, &narrow));
  NPUC_TRY(npuc_pt2_bool_arg(n, "right", false, &right));
  dtype type = npuc_pt2_promote((value *[]){x, boundaries}, 2, NULL), wanted = narrow ? DTYPE_I32 : DTYPE_I64;
  int64_t last = x->shape.rank;
  NPUC_TRY(npuc_pt2_cast(n, x, type, &x));
  NPUC_TRY(npuc_pt2_cast(n, boundaries, type, &boundaries));
  NPUC_TRY(npuc_pt2_unsqueeze(n, x, &last, 1, &x));
  NPUC_TRY(npuc_pt2_binary(n, right ? "LessOrEqual" : "Less", boundaries, x, &y));
  NPUC_TRY(npuc_pt2_cast(n, y, wanted, &y));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "ReduceSum", (value *[]){y, npuc_pt2_constant_ints(n, &last, 1)}, 2, 1, &made));
  npuc_pt2_set_int(made, "keepdims", 0);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  return npuc_pt2_result(n, made->outputs[0]);
}

/* The one element of an integer tensor, as a number of the program. */
npuc_status npuc_aten_item(pt2_node *n) {
  value *x;
  pt2_int number = {0};
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  if (pt2_is_float(x->type) || x->type == DTYPE_BOOL)
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, "self", "a float or bool taken out of a tensor as a number of Python");
  NPUC_TRY(npuc_pt2_cast(n, x, DTYPE_I64, &x));
  NPUC_TRY(npuc_pt2_reshape(n, x, (pt2_int[]){pt2_number(1)}, 1, &number.value));
  return npuc_pt2_result_int(n, number);
}

/* Unfold: [N, C, H, W] -> [N, C * kh * kw, L], the windows as columns; a Gather over the pixels of the padded map. */
npuc_status npuc_aten_im2col(pt2_node *n) {
  value *x, *y;
  int64_t kernel[2], dilation[2], pad[2], stride[2], size[2], places[2];
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_window_ints(n, "kernel_size", 1, kernel, 2));
  NPUC_TRY(npuc_pt2_window_ints(n, "dilation", 1, dilation, 2));
  NPUC_TRY(npuc_pt2_window_ints(n, "padding", 0, pad, 2));
  NPUC_TRY(npuc_pt2_window_ints(n, "stride", 1, stride, 2));
  if (x->shape.rank != 4)
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, "self", "%d axes; [batch, channels, height, width] wanted", x->shape.rank);
  for (int i = 0; i < 2; i++) {
    int64_t length = x->shape.dims[2 + i];
    if (length < 0 || length > INT32_MAX)
      return npuc_pt2_fail(n, NPUC_DIAG_E0336, "self", "a height or width that is known at run time only");
    size[i] = length + 2 * pad[i];
    places[i] = stride[i] > 0 ? (size[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1 : 0;
    if (kernel[i] < 1 || dilation[i] < 1 || pad[i] < 0 || places[i] < 1)
      return npuc_pt2_fail(n, NPUC_DIAG_E0335, "kernel_size", "no window fits");
  }
  int64_t taps = kernel[0] * kernel[1], columns = places[0] * places[1];
  if (taps * columns > INT32_MAX) return npuc_pt2_fail(n, NPUC_DIAG_E0336, "self", "more than 2^31 pixels of windows");
  int64_t *index = NPUC_NEW_ARRAY(n->s->scratch, (size_t)(taps * columns), int64_t);
  for (int64_t t = 0; t < taps; t++) {
    for (int64_t c = 0; c < columns; c++)
      index[t * columns + c] =
          (c / places[1] * stride[0] + t / kernel[1] * dilation[0]) * size[1] + c % places[1] * stride[1] + t % kernel[1] * dilation[1];
  }
  NPUC_TRY(npuc_pt2_binary(n, "Pad", x, npuc_pt2_constant_ints(n, (int64_t[]){0, 0, pad[0], pad[1], 0, 0, pad[0], pad[1]}, 8), &y));
  pt2_int dims[3];
  NPUC_TRY(npuc_pt2_size(n, x, 0, &dims[0]));
  NPUC_TRY(npuc_pt2_size(n, x, 1, &dims[1]));
  dims[2] = pt2_number(size[0] * size[1]);
  NPUC_TRY(npuc_pt2_reshape(n, y, dims, 3, &y));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Gather", (value *[]){y, npuc_pt2_constant_ints(n, index, (size_t)(taps * columns))}, 2, 1, &made));
  npuc_pt2_set_int(made, "axis", 2);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  if (dims[1].value) return npuc_pt2_fail(n, NPUC_DIAG_E0336, "self", "a number of channels that is known at run time only");
  dims[1].number *= taps;
  dims[2] = pt2_number(columns);
  NPUC_TRY(npuc_pt2_reshape(n, made->outputs[0], dims, 3, &y));
  return npuc_pt2_result(n, y);
}
