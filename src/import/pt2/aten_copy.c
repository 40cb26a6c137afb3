/* SPDX-License-Identifier: Apache-2.0 */
/* Data moved into new tensors. */
#include <string.h>

#include "import/pt2/aten.h"

static npuc_status concat(pt2_node *n, value **parts, size_t count, int64_t axis) {
  if (count == 1) return npuc_pt2_result(n, parts[0]);
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Concat", parts, count, 1, &made));
  npuc_pt2_set_int(made, "axis", axis);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  return npuc_pt2_result(n, made->outputs[0]);
}

/* torch lets tensors of shape [0] stand in the list whatever the others' rank is. */
npuc_status npuc_aten_cat(pt2_node *n) {
  value **parts;
  size_t count, kept = 0;
  int64_t axis;
  NPUC_TRY(npuc_pt2_tensors(n, "tensors", &parts, &count));
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", 0, &axis));
  if (count == 0) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "tensors", "the list is empty");
  dtype type = npuc_pt2_promote(parts, count, NULL);
  for (size_t i = 0; i < count; i++) {
    bool empty = parts[i]->shape.rank == 1 && parts[i]->shape.dims[0] == 0;
    if (empty && !(kept == 0 && i + 1 == count)) continue;
    NPUC_TRY(npuc_pt2_cast(n, parts[i], type, &parts[kept]));
    kept++;
  }
  NPUC_TRY(npuc_pt2_axis(n, "dim", axis, parts[0]->shape.rank, &axis));
  return concat(n, parts, kept, axis);
}

npuc_status npuc_aten_stack(pt2_node *n) {
  value **parts;
  size_t count;
  int64_t axis;
  NPUC_TRY(npuc_pt2_tensors(n, "tensors", &parts, &count));
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", 0, &axis));
  if (count == 0) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "tensors", "the list is empty");
  NPUC_TRY(npuc_pt2_axis(n, "dim", axis, parts[0]->shape.rank + 1, &axis));
  dtype type = npuc_pt2_promote(parts, count, NULL);
  for (size_t i = 0; i < count; i++) {
    NPUC_TRY(npuc_pt2_cast(n, parts[i], type, &parts[i]));
    NPUC_TRY(npuc_pt2_unsqueeze(n, parts[i], &axis, 1, &parts[i]));
  }
  return concat(n, parts, count, axis);
}

/* Leading axes are added first. tile takes fewer numbers than axes; those in front are 1. */
npuc_status npuc_aten_repeat(pt2_node *n) {
  value *x, *times, *y;
  pt2_int *given, repeats[2 * MAX_RANK];
  size_t count, missing = 0;
  int64_t axes[MAX_RANK];
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_symints(n, n->onnx ? "dims" : "repeats", &given, &count));
  if (n->onnx && (int32_t)count < x->shape.rank) missing = (size_t)x->shape.rank - count;
  for (size_t i = 0; i < missing; i++) repeats[i] = pt2_number(1);
  for (size_t i = 0; i < count && missing + i < MAX_RANK; i++) repeats[missing + i] = given[i];
  count += missing;
  if ((int32_t)count < x->shape.rank || count > MAX_RANK)
    return npuc_pt2_fail(n, NPUC_DIAG_E0335, "repeats", "%zu for %d axes", count, x->shape.rank);
  size_t added = count - (size_t)x->shape.rank;
  for (size_t i = 0; i < added; i++) axes[i] = (int64_t)i;
  NPUC_TRY(npuc_pt2_unsqueeze(n, x, axes, added, &x));
  if (count == 0) return npuc_pt2_result(n, x);
  NPUC_TRY(npuc_pt2_shape_value(n, repeats, count, &times));
  NPUC_TRY(npuc_pt2_binary(n, "Tile", x, times, &y));
  return npuc_pt2_result(n, y);
}

/* Each element so many times in a row: [.., d, ..] -> [.., d, 1, ..] -> [.., d, r, ..] -> [.., d r, ..]. */
npuc_status npuc_aten_repeat_interleave(pt2_node *n) {
  value *x, *times, *y;
  int64_t axis = 0, repeats;
  pt2_int dims[MAX_RANK], tiles[MAX_RANK + 1];
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  if (npuc_pt2_is_tensor(n, "repeats"))
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, "repeats", "a number of repeats for each element, so the shape depends on the data");
  NPUC_TRY(npuc_pt2_int_arg(n, "repeats", 1, &repeats));
  npuc_pt2_ignore(n, "output_size");
  if (npuc_pt2_has(n, "dim")) {
    NPUC_TRY(npuc_pt2_int_arg(n, "dim", 0, &axis));
    NPUC_TRY(npuc_pt2_axis(n, "dim", axis, x->shape.rank, &axis));
  } else {
    npuc_pt2_ignore(n, "dim");
    NPUC_TRY(npuc_pt2_reshape(n, x, (pt2_int[]){pt2_number(-1)}, 1, &x));
  }
  int32_t rank = x->shape.rank;
  if (repeats < 1 || rank < 1 || rank >= MAX_RANK)
    return npuc_pt2_fail(n, NPUC_DIAG_E0335, "repeats", "%lld repeats of a tensor with %d axes", (long long)repeats, rank);
  for (int32_t i = 0; i < rank; i++) {
    if (i == axis)
      dims[i] = pt2_number(dim_is_number(x->shape.dims[i]) ? x->shape.dims[i] * repeats : -1);
    else
      NPUC_TRY(npuc_pt2_size(n, x, i, &dims[i]));
  }
  for (int32_t i = 0; i <= rank; i++) tiles[i] = pt2_number(i == axis + 1 ? repeats : 1);
  NPUC_TRY(npuc_pt2_unsqueeze(n, x, (int64_t[]){axis + 1}, 1, &y));
  NPUC_TRY(npuc_pt2_shape_value(n, tiles, (size_t)rank + 1, &times));
  NPUC_TRY(npuc_pt2_binary(n, "Tile", y, times, &y));
  NPUC_TRY(npuc_pt2_reshape(n, y, dims, (size_t)rank, &y));
  return npuc_pt2_result(n, y);
}

/* Each vector along its own axis, the same along the others; "xy" exchanges the first two. */
npuc_status npuc_aten_meshgrid(pt2_node *n) {
  value **parts;
  size_t count;
  const char *indexing;
  pt2_int lengths[MAX_RANK];
  NPUC_TRY(npuc_pt2_tensors(n, "tensors", &parts, &count));
  NPUC_TRY(npuc_pt2_string(n, "indexing", "ij", &indexing));
  if (count == 0 || count > MAX_RANK) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "tensors", "%zu tensors", count);
  bool swapped = strcmp(indexing, "xy") == 0 && count > 1;
  pt2_tensor **list = NPUC_NEW_ARRAY(n->s->scratch, count, pt2_tensor *);
  for (size_t i = 0; i < count; i++) {
    size_t axis = swapped && i < 2 ? 1 - i : i;
    if (parts[i]->shape.rank == 0) NPUC_TRY(npuc_pt2_unsqueeze(n, parts[i], (int64_t[]){0}, 1, &parts[i]));
    NPUC_TRY(npuc_pt2_size(n, parts[i], 0, &lengths[axis]));
  }
  for (size_t i = 0; i < count; i++) {
    size_t axis = swapped && i < 2 ? 1 - i : i, more = 0;
    int64_t axes[MAX_RANK];
    value *y;
    for (size_t k = 0; k < count; k++) {
      if (k != axis) axes[more++] = (int64_t)k;
    }
    NPUC_TRY(npuc_pt2_unsqueeze(n, parts[i], axes, more, &y));
    NPUC_TRY(npuc_pt2_expand(n, y, lengths, count, &y));
    list[i] = npuc_pt2_own(n->s, y);
  }
  return npuc_pt2_result_list(n, list, count);
}

/* [N, g c, ..] -> [N, g, c, ..] -> [N, c, g, ..] -> [N, c g, ..] */
npuc_status npuc_aten_channel_shuffle(pt2_node *n) {
  value *x;
  int64_t groups, perm[MAX_RANK];
  pt2_int split[MAX_RANK], dims[MAX_RANK];
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_int_arg(n, "groups", 1, &groups));
  int32_t rank = x->shape.rank;
  bool known = rank >= 2 && rank < MAX_RANK && dim_is_number(x->shape.dims[1]);
  if (!known || groups < 1 || x->shape.dims[1] % groups)
    return npuc_pt2_fail(n, NPUC_DIAG_E0335, "groups", "%lld groups of this tensor's channels", (long long)groups);
  for (int32_t i = 0; i < rank; i++) NPUC_TRY(npuc_pt2_size(n, x, i, &dims[i]));
  for (int32_t i = 0; i <= rank; i++) {
    split[i] = dims[i < 2 ? i : i - 1];
    perm[i] = i == 1 ? 2 : i == 2 ? 1 : i;
  }
  split[1] = pt2_number(groups);
  split[2] = pt2_number(x->shape.dims[1] / groups);
  NPUC_TRY(npuc_pt2_reshape(n, x, split, (size_t)rank + 1, &x));
  NPUC_TRY(npuc_pt2_transpose(n, x, perm, (size_t)rank + 1, &x));
  NPUC_TRY(npuc_pt2_reshape(n, x, dims, (size_t)rank, &x));
  return npuc_pt2_result(n, x);
}

npuc_status npuc_aten_flip(pt2_node *n) {
  value *x;
  int64_t *dims;
  size_t count;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_ints(n, "dims", &dims, &count));
  for (size_t i = 0; i < count; i++) {
    int64_t axis;
    NPUC_TRY(npuc_pt2_axis(n, "dims", dims[i], x->shape.rank, &axis));
    NPUC_TRY(npuc_pt2_slice(n, x, axis, pt2_number(-1), pt2_number(INT64_MIN + 1), -1, &x));
  }
  return npuc_pt2_result(n, x);
}

/* x[..., -k:] before x[..., :-k] */
static npuc_status roll_axis(pt2_node *n, value *x, int64_t axis, int64_t shift, value **out) {
  dim length = x->shape.dims[axis];
  if (dim_is_number(length) && length > 0) shift = ((shift % length) + length) % length;
  *out = x;
  if (shift == 0) return NPUC_OK;
  value *parts[2];
  NPUC_TRY(npuc_pt2_slice(n, x, axis, pt2_number(-shift), pt2_number(INT64_MAX), 1, &parts[0]));
  NPUC_TRY(npuc_pt2_slice(n, x, axis, pt2_number(0), pt2_number(-shift), 1, &parts[1]));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Concat", parts, 2, 1, &made));
  npuc_pt2_set_int(made, "axis", axis);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  *out = made->outputs[0];
  return NPUC_OK;
}

npuc_status npuc_aten_roll(pt2_node *n) {
  value *x;
  int64_t *shifts, *dims;
  size_t n_shifts, n_dims;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_ints(n, "shifts", &shifts, &n_shifts));
  NPUC_TRY(npuc_pt2_ints(n, "dims", &dims, &n_dims));
  if (n_dims == 0 && n_shifts == 1) { /* the elements in their order, whatever the shape */
    value *flat, *y;
    pt2_int lengths[MAX_RANK];
    for (int32_t i = 0; i < x->shape.rank; i++) NPUC_TRY(npuc_pt2_size(n, x, i, &lengths[i]));
    NPUC_TRY(npuc_pt2_reshape(n, x, (pt2_int[]){pt2_number(-1)}, 1, &flat));
    NPUC_TRY(roll_axis(n, flat, 0, shifts[0], &flat));
    NPUC_TRY(npuc_pt2_reshape(n, flat, lengths, (size_t)x->shape.rank, &y));
    return npuc_pt2_result(n, y);
  }
  if (n_shifts != n_dims) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "dims", "%zu shifts for %zu axes", n_shifts, n_dims);
  for (size_t i = 0; i < n_dims; i++) {
    int64_t axis;
    NPUC_TRY(npuc_pt2_axis(n, "dims", dims[i], x->shape.rank, &axis));
    NPUC_TRY(roll_axis(n, x, axis, shifts[i], &x));
  }
  return npuc_pt2_result(n, x);
}

/* torch lists pads from the last axis: [last begin, last end, previous begin, ...]; negative ones cut. */
npuc_status npuc_aten_pad(pt2_node *n) {
  value *x;
  int64_t *given, pads[2 * MAX_RANK] = {0};
  size_t count;
  const char *mode;
  pt2_scalar fill = {0};
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_ints(n, npuc_pt2_has(n, "padding") ? "padding" : "pad", &given, &count));
  NPUC_TRY(npuc_pt2_string(n, "mode", n->onnx ? n->onnx : "constant", &mode));
  NPUC_TRY(npuc_pt2_scalar_arg(n, "value", fill, &fill));
  size_t rank = (size_t)x->shape.rank, kind;
  static const char *const modes[][2] = {
      {"constant", "constant"}, {"reflect", "reflect"}, {"replicate", "edge"}, {"edge", "edge"}, {"circular", "wrap"}};
  for (kind = 0; kind < 5 && strcmp(mode, modes[kind][0]) != 0; kind++) continue;
  if (kind == 5) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "mode", "the mode '%s'", mode);
  if (count % 2 || count > 2 * rank) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "pad", "%zu numbers for %zu axes", count, rank);
  bool any = false;
  for (size_t i = 0; i < count / 2; i++) {
    pads[rank - 1 - i] = given[2 * i];
    pads[2 * rank - 1 - i] = given[2 * i + 1];
    any = any || given[2 * i] || given[2 * i + 1];
  }
  if (!any) return npuc_pt2_result(n, x);
  value *constant = NULL;
  if (kind == 0) NPUC_TRY(npuc_pt2_scalar_value(n, &fill, x->type, &constant));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Pad", (value *[]){x, npuc_pt2_constant_ints(n, pads, 2 * rank), constant}, 3, 1, &made));
  npuc_pt2_set_string(made, "mode", modes[kind][1]);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  return npuc_pt2_result(n, made->outputs[0]);
}

/* [N, C r^2, H, W] -> [N, C, H r, W r] with the channel index slowest: ONNX's mode CRD; other ranks have their leading axes joined. */
npuc_status npuc_aten_pixel_shuffle(pt2_node *n) {
  value *x, *y;
  int64_t factor;
  bool up = strcmp(n->onnx, "DepthToSpace") == 0;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_int_arg(n, up ? "upscale_factor" : "downscale_factor", 1, &factor));
  if (x->shape.rank != 4) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "self", "%d axes; 4 wanted", x->shape.rank);
  if (up) {
    node *made;
    NPUC_TRY(npuc_pt2_emit(n, "DepthToSpace", &x, 1, 1, &made));
    npuc_pt2_set_int(made, "blocksize", factor);
    npuc_pt2_set_string(made, "mode", "CRD");
    NPUC_TRY(npuc_node_infer(n->s->d, made));
    return npuc_pt2_result(n, made->outputs[0]);
  }
  /* ONNX's SpaceToDepth puts the block before the channel; torch behind it: reshape, transpose, reshape. */
  const dim *d = x->shape.dims;
  if (!dim_is_number(d[1]) || !dim_is_number(d[2]) || !dim_is_number(d[3]) || factor < 1 || d[2] % factor || d[3] % factor)
    return npuc_pt2_fail(n, NPUC_DIAG_E0335, "downscale_factor", "%lld for an image of this size", (long long)factor);
  pt2_int batch;
  NPUC_TRY(npuc_pt2_size(n, x, 0, &batch));
  const pt2_int split[] = {
      batch, pt2_number(d[1]), pt2_number(d[2] / factor), pt2_number(factor), pt2_number(d[3] / factor), pt2_number(factor)};
  const pt2_int joined[] = {batch, pt2_number(d[1] * factor * factor), pt2_number(d[2] / factor), pt2_number(d[3] / factor)};
  NPUC_TRY(npuc_pt2_reshape(n, x, split, 6, &y));
  NPUC_TRY(npuc_pt2_transpose(n, y, (int64_t[]){0, 1, 3, 5, 2, 4}, 6, &y));
  NPUC_TRY(npuc_pt2_reshape(n, y, joined, 4, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_triangle(pt2_node *n) {
  value *x;
  int64_t diagonal;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_int_arg(n, "diagonal", 0, &diagonal));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Trilu", (value *[]){x, npuc_pt2_constant_int(n, DTYPE_I64, diagonal)}, 2, 1, &made));
  npuc_pt2_set_int(made, "upper", strcmp(n->onnx, "upper") == 0);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  return npuc_pt2_result(n, made->outputs[0]);
}

/* The source in self's type and shape. */
npuc_status npuc_aten_copy(pt2_node *n) {
  value *self, *source;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &self));
  NPUC_TRY(npuc_pt2_tensor(n, "src", &source));
  npuc_pt2_ignore(n, "non_blocking");
  NPUC_TRY(npuc_pt2_cast(n, source, self->type, &source));
  NPUC_TRY(npuc_pt2_expand_like(n, source, self, &source));
  return npuc_pt2_result(n, source);
}

npuc_status npuc_aten_fill(pt2_node *n) {
  value *self, *fill;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &self));
  if (npuc_pt2_is_tensor(n, "value")) {
    NPUC_TRY(npuc_pt2_tensor(n, "value", &fill));
    NPUC_TRY(npuc_pt2_cast(n, fill, self->type, &fill));
  } else {
    pt2_scalar v = {0};
    NPUC_TRY(npuc_pt2_scalar_arg(n, "value", v, &v));
    NPUC_TRY(npuc_pt2_scalar_value(n, &v, self->type, &fill));
  }
  NPUC_TRY(npuc_pt2_expand_like(n, fill, self, &fill));
  return npuc_pt2_result(n, fill);
}

static npuc_status scatter_through(pt2_node *n, const pt2_view *view, value *self) {
  value *source, *part, *y;
  NPUC_TRY(npuc_pt2_tensor(n, "src", &source));
  NPUC_TRY(view->apply(n, view, self, &part));
  NPUC_TRY(npuc_pt2_cast(n, source, self->type, &source));
  NPUC_TRY(npuc_pt2_expand_like(n, source, part, &source));
  NPUC_TRY(view->write(n, view, self, source, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_slice_scatter(pt2_node *n) {
  value *self;
  pt2_view view;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &self));
  NPUC_TRY(npuc_pt2_slice_args(n, self, &view));
  return scatter_through(n, &view, self);
}

npuc_status npuc_aten_select_scatter(pt2_node *n) {
  value *self;
  int64_t axis;
  pt2_int index;
  pt2_view view;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &self));
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", 0, &axis));
  NPUC_TRY(npuc_pt2_axis(n, "dim", axis, self->shape.rank, &axis));
  NPUC_TRY(npuc_pt2_symint(n, "index", 0, &index));
  NPUC_TRY(npuc_pt2_select_view(n, axis, index, &view));
  return scatter_through(n, &view, self);
}

/* x[1:] - x[:-1] along an axis, `n` times; what is prepended and appended stands on both sides first. */
npuc_status npuc_aten_diff(pt2_node *n) {
  value *x, *parts[3], *head, *tail;
  int64_t times, axis;
  size_t count = 0;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_int_arg(n, "n", 1, &times));
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", -1, &axis));
  NPUC_TRY(npuc_pt2_axis(n, "dim", axis, x->shape.rank, &axis));
  NPUC_TRY(npuc_pt2_optional_tensor(n, "prepend", &head));
  NPUC_TRY(npuc_pt2_optional_tensor(n, "append", &tail));
  if (times < 0 || times > 64) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "n", "%lld differences", (long long)times);
  if (head) parts[count++] = head;
  parts[count++] = x;
  if (tail) parts[count++] = tail;
  if (count > 1) {
    node *joined;
    NPUC_TRY(npuc_pt2_emit(n, "Concat", parts, count, 1, &joined));
    npuc_pt2_set_int(joined, "axis", axis);
    NPUC_TRY(npuc_node_infer(n->s->d, joined));
    x = joined->outputs[0];
  }
  for (int64_t i = 0; i < times; i++) {
    value *after, *before;
    NPUC_TRY(npuc_pt2_slice(n, x, axis, pt2_number(1), pt2_number(INT64_MAX), 1, &after));
    NPUC_TRY(npuc_pt2_slice(n, x, axis, pt2_number(0), pt2_number(-1), 1, &before));
    NPUC_TRY(npuc_pt2_binary(n, x->type == DTYPE_BOOL ? "Xor" : "Sub", after, before, &x));
  }
  return npuc_pt2_result(n, x);
}
