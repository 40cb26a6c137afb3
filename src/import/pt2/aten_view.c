/* SPDX-License-Identifier: Apache-2.0 */
/* Views: results that share their operand's bytes in torch. Each says how it is made from its parent and how a write into it changes the
 * parent (alias.c). */
#include <string.h>

#include "import/pt2/aten.h"

enum { MOST_PLACES = 1 << 24 }; /* elements that a view names one by one */

static npuc_status parent_of(pt2_node *n, pt2_tensor **out_tensor, value **out_value) {
  NPUC_TRY(npuc_pt2_window(n, "self", out_tensor));
  return npuc_pt2_read_tensor(n, *out_tensor, out_value);
}

static npuc_status finish(pt2_node *n, pt2_tensor *parent, const pt2_view *view) {
  pt2_tensor *t;
  NPUC_TRY(npuc_pt2_view_make(n, parent, view, &t));
  return npuc_pt2_result_tensor(n, t);
}

/* -- the same elements under another shape -- */
static npuc_status apply_reshape(pt2_node *n, const pt2_view *v, value *parent, value **out) {
  return npuc_pt2_reshape(n, parent, v->dims, v->n_dims, out);
}

static npuc_status write_reshape(pt2_node *n, const pt2_view *v, value *parent, value *content, value **out) {
  pt2_int dims[MAX_RANK];
  (void)v;
  for (int32_t i = 0; i < parent->shape.rank; i++) NPUC_TRY(npuc_pt2_size(n, parent, i, &dims[i]));
  return npuc_pt2_reshape(n, content, dims, (size_t)parent->shape.rank, out);
}

/* As the program records it: row-major strides. An axis of length 1 may have any stride; a symbolic length leaves the axes before it unknown. */
typedef enum layout { LAYOUT_ROWS, LAYOUT_OTHER, LAYOUT_UNKNOWN } layout;
static layout layout_of(pt2_node *n, const char *argument) {
  json_t *raw = npuc_pt2_raw(n, argument);
  const char *name = json_string_value(json_object_get(raw, "name"));
  json_t *meta = name ? json_object_get(n->s->metas, name) : NULL;
  json_t *sizes = json_object_get(meta, "sizes"), *strides = json_object_get(meta, "strides");
  int64_t wanted = 1;
  if (!json_is_array(strides) || json_array_size(strides) != json_array_size(sizes)) return LAYOUT_UNKNOWN;
  for (size_t i = json_array_size(sizes); i-- > 0;) {
    json_t *size = json_object_get(json_array_get(sizes, i), "as_int"), *stride = json_object_get(json_array_get(strides, i), "as_int");
    if (json_is_integer(size) && json_integer_value(size) == 1) continue;
    if (wanted < 0 || !json_is_integer(stride)) return LAYOUT_UNKNOWN;
    if (json_integer_value(stride) != wanted) return LAYOUT_OTHER;
    if (!json_is_integer(size) || __builtin_mul_overflow(wanted, (int64_t)json_integer_value(size), &wanted)) wanted = -1;
  }
  return LAYOUT_ROWS;
}

static npuc_status reshape_to(pt2_node *n, pt2_tensor *parent, const pt2_int *dims, size_t count) {
  /* reshape and flatten copy where no view is possible: only a row-major operand is surely seen through a write */
  bool may_copy = (strstr(n->target, "reshape") || strstr(n->target, "flatten")) && layout_of(n, "self") != LAYOUT_ROWS;
  pt2_view view = {.apply = apply_reshape, .write = may_copy ? NULL : write_reshape, .n_dims = count};
  if (count > MAX_RANK) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "size", "%zu axes; at most %d", count, MAX_RANK);
  if (count) memcpy(view.dims, dims, count * sizeof *dims);
  return finish(n, parent, &view);
}

npuc_status npuc_aten_view(pt2_node *n) {
  pt2_tensor *x;
  pt2_int *dims;
  size_t count;
  dtype type;
  NPUC_TRY(npuc_pt2_window(n, "self", &x));
  NPUC_TRY(npuc_pt2_dtype_arg(n, "dtype", &type));
  if (type != DTYPE_NONE) return npuc_pt2_fail(n, NPUC_DIAG_E0336, "dtype", "a view of the bytes as another type");
  NPUC_TRY(npuc_pt2_symints(n, npuc_pt2_has(n, "shape") ? "shape" : "size", &dims, &count));
  npuc_pt2_ignore(n, "shape");
  npuc_pt2_ignore(n, "size");
  npuc_pt2_ignore(n, "stride");
  return reshape_to(n, x, dims, count);
}

npuc_status npuc_aten_like_view(pt2_node *n) {
  pt2_tensor *x;
  value *other;
  pt2_int dims[MAX_RANK];
  NPUC_TRY(npuc_pt2_window(n, "self", &x));
  NPUC_TRY(npuc_pt2_tensor(n, "other", &other));
  for (int32_t i = 0; i < other->shape.rank; i++) NPUC_TRY(npuc_pt2_size(n, other, i, &dims[i]));
  return reshape_to(n, x, dims, (size_t)other->shape.rank);
}

npuc_status npuc_aten_flatten(pt2_node *n) {
  pt2_tensor *t;
  value *x;
  int64_t begin, end;
  pt2_int dims[MAX_RANK + 1];
  size_t count = 0;
  NPUC_TRY(parent_of(n, &t, &x));
  NPUC_TRY(npuc_pt2_int_arg(n, "start_dim", 0, &begin));
  NPUC_TRY(npuc_pt2_int_arg(n, "end_dim", -1, &end));
  NPUC_TRY(npuc_pt2_axis(n, "start_dim", begin, x->shape.rank, &begin));
  NPUC_TRY(npuc_pt2_axis(n, "end_dim", end, x->shape.rank, &end));
  int64_t joined = 1;
  for (int64_t i = begin; i <= end && i < x->shape.rank; i++) {
    bool known = joined >= 0 && dim_is_number(x->shape.dims[i]);
    if (!known || __builtin_mul_overflow(joined, x->shape.dims[i], &joined)) joined = -1;
  }
  for (int32_t i = 0; i < x->shape.rank; i++) {
    if (i > begin && i <= end) continue;
    if (i == begin && end > begin)
      dims[count++] = pt2_number(joined);
    else
      NPUC_TRY(npuc_pt2_size(n, x, i, &dims[count++]));
  }
  if (x->shape.rank == 0) dims[count++] = pt2_number(1);
  return reshape_to(n, t, dims, count);
}

npuc_status npuc_aten_unflatten(pt2_node *n) {
  pt2_tensor *t;
  value *x;
  int64_t axis;
  pt2_int *sizes, dims[2 * MAX_RANK];
  size_t n_sizes, count = 0;
  NPUC_TRY(parent_of(n, &t, &x));
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", 0, &axis));
  NPUC_TRY(npuc_pt2_symints(n, "sizes", &sizes, &n_sizes));
  NPUC_TRY(npuc_pt2_axis(n, "dim", axis, x->shape.rank, &axis));
  for (int32_t i = 0; i < x->shape.rank; i++) {
    if (i != axis) NPUC_TRY(npuc_pt2_size(n, x, i, &dims[count++]));
    for (size_t k = 0; i == axis && k < n_sizes && count < MAX_RANK; k++) dims[count++] = sizes[k];
  }
  return reshape_to(n, t, dims, count);
}

static npuc_status apply_squeeze(pt2_node *n, const pt2_view *v, value *parent, value **out) {
  return npuc_pt2_squeeze(n, parent, v->perm, v->n_dims, out);
}

static npuc_status apply_unsqueeze(pt2_node *n, const pt2_view *v, value *parent, value **out) {
  return npuc_pt2_unsqueeze(n, parent, v->perm, v->n_dims, out);
}

/* Axes named, or all of length 1; one named that is longer stays. */
npuc_status npuc_aten_squeeze(pt2_node *n) {
  pt2_tensor *t;
  value *x;
  int64_t *given;
  size_t count;
  pt2_view view = {.apply = apply_squeeze, .write = write_reshape};
  bool named = npuc_pt2_has(n, "dim");
  NPUC_TRY(parent_of(n, &t, &x));
  NPUC_TRY(npuc_pt2_ints(n, "dim", &given, &count));
  for (int32_t i = 0; i < x->shape.rank; i++) {
    bool wanted = !named;
    for (size_t k = 0; k < count; k++) {
      int64_t axis;
      NPUC_TRY(npuc_pt2_axis(n, "dim", given[k], x->shape.rank, &axis));
      wanted = wanted || axis == i;
    }
    if (wanted && x->shape.dims[i] == 1) view.perm[view.n_dims++] = i;
  }
  return finish(n, t, &view);
}

npuc_status npuc_aten_unsqueeze(pt2_node *n) {
  pt2_tensor *t;
  value *x;
  int64_t axis;
  NPUC_TRY(parent_of(n, &t, &x));
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", 0, &axis));
  NPUC_TRY(npuc_pt2_axis(n, "dim", axis, x->shape.rank + 1, &axis));
  pt2_view view = {.apply = apply_unsqueeze, .write = write_reshape, .perm = {axis}, .n_dims = 1};
  return finish(n, t, &view);
}

/* -- another order of axes -- */
static npuc_status apply_permute(pt2_node *n, const pt2_view *v, value *parent, value **out) {
  return npuc_pt2_transpose(n, parent, v->perm, v->n_dims, out);
}

static npuc_status write_permute(pt2_node *n, const pt2_view *v, value *parent, value *content, value **out) {
  int64_t back[MAX_RANK];
  (void)parent;
  for (size_t i = 0; i < v->n_dims; i++) back[v->perm[i]] = (int64_t)i;
  return npuc_pt2_transpose(n, content, back, v->n_dims, out);
}

static pt2_view permutation(int32_t rank) {
  pt2_view view = {.apply = apply_permute, .write = write_permute, .n_dims = (size_t)rank};
  for (int32_t i = 0; i < rank; i++) view.perm[i] = i;
  return view;
}

npuc_status npuc_aten_transpose(pt2_node *n) {
  pt2_tensor *t;
  value *x;
  int64_t a, b;
  NPUC_TRY(parent_of(n, &t, &x));
  bool axes = npuc_pt2_has(n, "axis0"); /* of swapaxes */
  NPUC_TRY(npuc_pt2_int_arg(n, axes ? "axis0" : "dim0", 0, &a));
  NPUC_TRY(npuc_pt2_int_arg(n, axes ? "axis1" : "dim1", 1, &b));
  NPUC_TRY(npuc_pt2_axis(n, "dim0", a, x->shape.rank, &a));
  NPUC_TRY(npuc_pt2_axis(n, "dim1", b, x->shape.rank, &b));
  pt2_view view = permutation(x->shape.rank);
  view.perm[a] = b;
  view.perm[b] = a;
  return finish(n, t, &view);
}

npuc_status npuc_aten_t(pt2_node *n) {
  pt2_tensor *t;
  value *x;
  NPUC_TRY(parent_of(n, &t, &x));
  pt2_view view = permutation(x->shape.rank);
  for (int32_t i = 0; i < x->shape.rank; i++) view.perm[i] = x->shape.rank - 1 - i;
  return finish(n, t, &view);
}

/* The last two axes exchanged. */
npuc_status npuc_aten_matrix_t(pt2_node *n) {
  pt2_tensor *t;
  value *x;
  NPUC_TRY(parent_of(n, &t, &x));
  if (x->shape.rank < 2) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "self", "%d axes; at least 2 wanted", x->shape.rank);
  pt2_view view = permutation(x->shape.rank);
  view.perm[x->shape.rank - 1] = x->shape.rank - 2;
  view.perm[x->shape.rank - 2] = x->shape.rank - 1;
  return finish(n, t, &view);
}

npuc_status npuc_aten_permute(pt2_node *n) {
  pt2_tensor *t;
  value *x;
  int64_t *dims;
  size_t count;
  NPUC_TRY(parent_of(n, &t, &x));
  NPUC_TRY(npuc_pt2_ints(n, "dims", &dims, &count));
  if ((int32_t)count != x->shape.rank) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "dims", "%zu axes of %d", count, x->shape.rank);
  pt2_view view = permutation(x->shape.rank);
  for (size_t i = 0; i < count; i++) NPUC_TRY(npuc_pt2_axis(n, "dims", dims[i], x->shape.rank, &view.perm[i]));
  return finish(n, t, &view);
}

npuc_status npuc_aten_movedim(pt2_node *n) {
  pt2_tensor *t;
  value *x;
  int64_t *from, *to, taken[MAX_RANK], source[MAX_RANK];
  size_t n_from, n_to;
  NPUC_TRY(parent_of(n, &t, &x));
  NPUC_TRY(npuc_pt2_ints(n, "source", &from, &n_from));
  NPUC_TRY(npuc_pt2_ints(n, "destination", &to, &n_to));
  if (n_from != n_to || n_from > MAX_RANK) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "destination", "%zu axes to %zu", n_from, n_to);
  pt2_view view = permutation(x->shape.rank);
  for (int32_t i = 0; i < x->shape.rank; i++) view.perm[i] = taken[i] = -1;
  for (size_t i = 0; i < n_from; i++) {
    int64_t place;
    NPUC_TRY(npuc_pt2_axis(n, "source", from[i], x->shape.rank, &source[i]));
    NPUC_TRY(npuc_pt2_axis(n, "destination", to[i], x->shape.rank, &place));
    view.perm[place] = source[i];
    taken[source[i]] = place;
  }
  int32_t next = 0;
  for (int32_t i = 0; i < x->shape.rank; i++) {
    if (taken[i] >= 0) continue;
    while (view.perm[next] >= 0) next++;
    view.perm[next] = i;
  }
  return finish(n, t, &view);
}

/* -- one element in several places -- */
static npuc_status apply_expand(pt2_node *n, const pt2_view *v, value *parent, value **out) {
  return npuc_pt2_expand(n, parent, v->dims, v->n_dims, out);
}

static npuc_status expand_to(pt2_node *n, pt2_tensor *t, const pt2_int *dims, size_t count) {
  pt2_view view = {.apply = apply_expand, .n_dims = count};
  if (count > MAX_RANK) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "size", "%zu axes; at most %d", count, MAX_RANK);
  if (count) memcpy(view.dims, dims, count * sizeof *dims);
  return finish(n, t, &view);
}

npuc_status npuc_aten_expand(pt2_node *n) {
  pt2_tensor *t;
  pt2_int *dims;
  size_t count;
  NPUC_TRY(npuc_pt2_window(n, "self", &t));
  NPUC_TRY(npuc_pt2_symints(n, "size", &dims, &count));
  npuc_pt2_ignore(n, "implicit");
  return expand_to(n, t, dims, count);
}

npuc_status npuc_aten_expand_as(pt2_node *n) {
  pt2_tensor *t;
  value *other;
  pt2_int dims[MAX_RANK];
  NPUC_TRY(npuc_pt2_window(n, "self", &t));
  NPUC_TRY(npuc_pt2_tensor(n, "other", &other));
  for (int32_t i = 0; i < other->shape.rank; i++) NPUC_TRY(npuc_pt2_size(n, other, i, &dims[i]));
  return expand_to(n, t, dims, (size_t)other->shape.rank);
}

/* -- parts -- */
static npuc_status apply_slice(pt2_node *n, const pt2_view *v, value *parent, value **out) {
  return npuc_pt2_slice(n, parent, v->axis, v->start, v->end, v->step, out);
}

/* Every step-th element from begin: ScatterND with the axis in front. */
static npuc_status write_strided(pt2_node *n, const pt2_view *v, int64_t begin, int64_t end, value *parent, value *content, value **out) {
  int64_t count = end > begin ? (end - begin - 1) / v->step + 1 : 0, perm[MAX_RANK], one = 1;
  size_t rank = (size_t)parent->shape.rank;
  if (v->step < 1 || count > MOST_PLACES)
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, "step", "a write in place into %lld parts", (long long)count);
  int64_t *places = NPUC_NEW_ARRAY(n->s->scratch, (size_t)count + 1, int64_t);
  for (int64_t i = 0; i < count; i++) places[i] = begin + i * v->step;
  for (size_t i = 0; i < rank; i++) perm[i] = (int64_t)i;
  perm[0] = v->axis;
  perm[v->axis] = 0;
  value *indices = npuc_pt2_constant_ints(n, places, (size_t)count);
  NPUC_TRY(npuc_pt2_unsqueeze(n, indices, &one, 1, &indices));
  NPUC_TRY(npuc_pt2_transpose(n, parent, perm, rank, &parent));
  NPUC_TRY(npuc_pt2_transpose(n, content, perm, rank, &content));
  NPUC_TRY(npuc_pt2_ternary(n, "ScatterND", parent, indices, content, out));
  return npuc_pt2_transpose(n, *out, perm, rank, out); /* an exchange of two axes is its own inverse */
}

/* With a step of 1 what lies before and behind stays around the new part; other steps scatter by index. */
static npuc_status write_slice(pt2_node *n, const pt2_view *v, value *parent, value *content, value **out) {
  dim length = parent->shape.dims[v->axis];
  int64_t begin = v->start.number, end = v->end.number;
  if (v->start.value || v->end.value || !dim_is_number(length))
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, "start", "a write in place into a part whose place or base is known at run time only");
  if (begin < 0) begin = begin + length < 0 ? 0 : begin + length;
  if (end < 0) end += length;
  if (end > length) end = length;
  if (begin > length) begin = length;
  if (end < begin) end = begin;
  if (v->step != 1) return write_strided(n, v, begin, end, parent, content, out);
  value *parts[3] = {content};
  size_t count = 0;
  if (begin > 0) NPUC_TRY(npuc_pt2_slice(n, parent, v->axis, pt2_number(0), pt2_number(begin), 1, &parts[count++]));
  if (end > begin) parts[count++] = content;
  if (end < length) NPUC_TRY(npuc_pt2_slice(n, parent, v->axis, pt2_number(end), pt2_number(INT64_MAX), 1, &parts[count++]));
  *out = parts[0];
  if (count == 1) return NPUC_OK;
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Concat", parts, count, 1, &made));
  npuc_pt2_set_int(made, "axis", v->axis);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  *out = made->outputs[0];
  return NPUC_OK;
}

pt2_view npuc_pt2_slice_view(int64_t axis, pt2_int start, pt2_int end, int64_t step) {
  return (pt2_view){.apply = apply_slice, .write = write_slice, .axis = axis, .start = start, .end = end, .step = step};
}

npuc_status npuc_pt2_slice_args(pt2_node *n, const value *x, pt2_view *out) {
  int64_t axis, step;
  pt2_int start, end;
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", 0, &axis));
  NPUC_TRY(npuc_pt2_axis(n, "dim", axis, x->shape.rank, &axis));
  NPUC_TRY(npuc_pt2_symint(n, "start", 0, &start));
  NPUC_TRY(npuc_pt2_symint(n, "end", INT64_MAX, &end));
  NPUC_TRY(npuc_pt2_int_arg(n, "step", 1, &step));
  *out = npuc_pt2_slice_view(axis, start, end, step);
  return NPUC_OK;
}

npuc_status npuc_aten_slice(pt2_node *n) {
  pt2_tensor *t;
  value *x;
  pt2_view view;
  NPUC_TRY(parent_of(n, &t, &x));
  NPUC_TRY(npuc_pt2_slice_args(n, x, &view));
  bool whole = !view.start.value && view.start.number == 0 && !view.end.value && view.step == 1 &&
               (view.end.number == INT64_MAX || view.end.number == x->shape.dims[view.axis]);
  if (whole) return npuc_pt2_result_tensor(n, t);
  return finish(n, t, &view);
}

/* The elements at [i, i + offset] of two axes, behind the others: a chain of views that can be written, as each of its links can.
 * [.., H, W] -> [.., L, L] -> [.., L*L] -> every (L + 1)-th */
static npuc_status diagonal_of(pt2_node *n, pt2_tensor *t, value *x, pt2_tensor **out_tensor) {
  int64_t offset, a, b;
  NPUC_TRY(npuc_pt2_int_arg(n, "offset", 0, &offset));
  NPUC_TRY(npuc_pt2_int_arg(n, "dim1", 0, &a));
  NPUC_TRY(npuc_pt2_int_arg(n, "dim2", 1, &b));
  NPUC_TRY(npuc_pt2_axis(n, "dim1", a, x->shape.rank, &a));
  NPUC_TRY(npuc_pt2_axis(n, "dim2", b, x->shape.rank, &b));
  int32_t rank = x->shape.rank, at = 0;
  if (rank < 2 || a == b) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "dim1", "the diagonal of fewer than two axes");
  dim height = x->shape.dims[a], width = x->shape.dims[b];
  if (!dim_is_number(height) || !dim_is_number(width))
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, "self", "the diagonal of axes whose lengths are known at run time only");
  pt2_view order = permutation(rank), flat = {.apply = apply_reshape, .write = write_reshape, .n_dims = (size_t)rank - 1};
  for (int32_t i = 0; i < rank; i++) {
    if (i != a && i != b) order.perm[at++] = i;
  }
  order.perm[rank - 2] = a;
  order.perm[rank - 1] = b;
  int64_t down = offset < 0 ? -offset : 0, right = offset > 0 ? offset : 0;
  int64_t length = height - down < width - right ? height - down : width - right;
  if (length < 1) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "offset", "a diagonal without elements");
  pt2_view rows = npuc_pt2_slice_view(rank - 2, pt2_number(down), pt2_number(down + length), 1),
           columns = npuc_pt2_slice_view(rank - 1, pt2_number(right), pt2_number(right + length), 1);
  for (int32_t i = 0; i < rank - 2; i++) NPUC_TRY(npuc_pt2_size(n, x, (int32_t)order.perm[i], &flat.dims[i]));
  flat.dims[rank - 2] = pt2_number(length * length);
  NPUC_TRY(npuc_pt2_view_make(n, t, &order, &t));
  NPUC_TRY(npuc_pt2_view_make(n, t, &rows, &t));
  NPUC_TRY(npuc_pt2_view_make(n, t, &columns, &t));
  NPUC_TRY(npuc_pt2_view_make(n, t, &flat, &t));
  pt2_view every = npuc_pt2_slice_view(rank - 2, pt2_number(0), pt2_number(length * length), length + 1);
  return npuc_pt2_view_make(n, t, &every, out_tensor);
}

npuc_status npuc_aten_diagonal(pt2_node *n) {
  pt2_tensor *t;
  value *x;
  NPUC_TRY(parent_of(n, &t, &x));
  NPUC_TRY(diagonal_of(n, t, x, &t));
  return npuc_pt2_result_tensor(n, t);
}

/* A copy of self whose diagonal is src. */
npuc_status npuc_aten_diagonal_scatter(pt2_node *n) {
  pt2_tensor *copy, *line;
  value *x, *source;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_tensor(n, "src", &source));
  copy = npuc_pt2_own(n->s, x);
  NPUC_TRY(diagonal_of(n, copy, x, &line));
  NPUC_TRY(npuc_pt2_write_tensor(n, line, source));
  NPUC_TRY(npuc_pt2_read_tensor(n, copy, &x));
  return npuc_pt2_result(n, x);
}

/* Windows of `end` elements, `step` apart, along an axis; the window is a new last axis. One element stands in several places: no writing. */
static npuc_status apply_unfold(pt2_node *n, const pt2_view *v, value *parent, value **out) {
  int64_t length = parent->shape.dims[v->axis], size = v->end.number, count = (length - size) / v->step + 1;
  int64_t *places = NPUC_NEW_ARRAY(n->s->scratch, (size_t)(count * size), int64_t), perm[MAX_RANK];
  for (int64_t i = 0; i < count * size; i++) places[i] = i / size * v->step + i % size;
  value *index = npuc_pt2_constant_ints(n, places, (size_t)(count * size));
  NPUC_TRY(npuc_pt2_reshape(n, index, (pt2_int[]){pt2_number(count), pt2_number(size)}, 2, &index));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Gather", (value *[]){parent, index}, 2, 1, &made));
  npuc_pt2_set_int(made, "axis", v->axis);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  int32_t rank = parent->shape.rank + 1;
  for (int32_t i = 0; i < rank - 1; i++) perm[i] = i <= v->axis ? i : i + 1;
  perm[rank - 1] = v->axis + 1;
  return npuc_pt2_transpose(n, made->outputs[0], perm, (size_t)rank, out);
}

npuc_status npuc_aten_unfold(pt2_node *n) {
  pt2_tensor *t;
  value *x;
  int64_t axis, size, step;
  NPUC_TRY(parent_of(n, &t, &x));
  NPUC_TRY(npuc_pt2_int_arg(n, "dimension", 0, &axis));
  NPUC_TRY(npuc_pt2_axis(n, "dimension", axis, x->shape.rank, &axis));
  NPUC_TRY(npuc_pt2_int_arg(n, "size", 1, &size));
  NPUC_TRY(npuc_pt2_int_arg(n, "step", 1, &step));
  if (x->shape.rank == 0 || x->shape.rank == MAX_RANK) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "self", "%d axes", x->shape.rank);
  if (!dim_is_number(x->shape.dims[axis]))
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, "dimension", "windows along an axis whose length is known at run time only");
  if (size < 1 || step < 1 || size > x->shape.dims[axis])
    return npuc_pt2_fail(n, NPUC_DIAG_E0335, "size", "windows of %lld elements, %lld apart", (long long)size, (long long)step);
  if (x->shape.dims[axis] / step > MOST_PLACES / size) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "size", "too many elements in the windows");
  return finish(n, t, &(pt2_view){.apply = apply_unfold, .axis = axis, .step = step, .end = pt2_number(size)});
}

/* Any strides over bytes in rows: elements of the flattened tensor by their places. */
static npuc_status apply_strided(pt2_node *n, const pt2_view *v, value *parent, value **out) {
  int64_t count = 1, places = 0;
  (void)npuc_shape_elements(&parent->shape, &places);
  for (size_t i = 0; i < v->n_dims; i++) count *= v->dims[i].number;
  int64_t *at = NPUC_NEW_ARRAY(n->s->scratch, (size_t)count + 1, int64_t);
  for (int64_t i = 0; i < count; i++) {
    int64_t rest = i;
    at[i] = v->start.number;
    for (size_t k = v->n_dims; k-- > 0; rest /= v->dims[k].number) at[i] += rest % v->dims[k].number * v->perm[k];
    if (at[i] < 0 || at[i] >= places) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "stride", "an element outside of the tensor");
  }
  value *index = npuc_pt2_constant_ints(n, at, (size_t)count), *flat;
  NPUC_TRY(npuc_pt2_reshape(n, parent, (pt2_int[]){pt2_number(-1)}, 1, &flat));
  NPUC_TRY(npuc_pt2_reshape(n, index, v->dims, v->n_dims, &index));
  return npuc_pt2_binary(n, "Gather", flat, index, out);
}

npuc_status npuc_aten_as_strided(pt2_node *n) {
  pt2_tensor *t;
  value *x;
  int64_t *sizes, *strides, count = 1;
  size_t n_sizes, n_strides;
  pt2_view view = {.apply = apply_strided};
  NPUC_TRY(parent_of(n, &t, &x));
  NPUC_TRY(npuc_pt2_ints(n, "size", &sizes, &n_sizes));
  NPUC_TRY(npuc_pt2_ints(n, "stride", &strides, &n_strides));
  NPUC_TRY(npuc_pt2_int_arg(n, "storage_offset", 0, &view.start.number));
  if (n_sizes != n_strides || n_sizes > MAX_RANK)
    return npuc_pt2_fail(n, NPUC_DIAG_E0335, "stride", "%zu sizes, %zu strides", n_sizes, n_strides);
  if (!npuc_pt2_is_whole(t) || layout_of(n, "self") != LAYOUT_ROWS || !npuc_shape_is_static(&x->shape))
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, "self", "strides over a tensor that is a view itself, or not in rows, or of unknown size");
  for (size_t i = 0; i < n_sizes; i++) {
    if (sizes[i] < 1 || count > MOST_PLACES / sizes[i])
      return npuc_pt2_fail(n, NPUC_DIAG_E0335, "size", "no element, or more than %d", MOST_PLACES);
    count *= sizes[i];
    view.dims[i] = pt2_number(sizes[i]);
    view.perm[i] = strides[i];
  }
  view.n_dims = n_sizes;
  return finish(n, t, &view);
}

static npuc_status end_of(pt2_node *n, pt2_int start, int64_t length, pt2_int *out) {
  *out = pt2_number(start.number + length);
  if (!start.value) {
    if (start.number < 0 && out->number == 0) out->number = INT64_MAX;
    return NPUC_OK;
  }
  return npuc_pt2_binary(n, "Add", start.value, npuc_pt2_constant_ints(n, &length, 1), &out->value);
}

npuc_status npuc_aten_narrow(pt2_node *n) {
  pt2_tensor *t;
  value *x;
  int64_t axis, length;
  pt2_int start, end;
  NPUC_TRY(parent_of(n, &t, &x));
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", 0, &axis));
  NPUC_TRY(npuc_pt2_axis(n, "dim", axis, x->shape.rank, &axis));
  NPUC_TRY(npuc_pt2_symint(n, "start", 0, &start));
  NPUC_TRY(npuc_pt2_int_arg(n, "length", 0, &length));
  NPUC_TRY(end_of(n, start, length, &end));
  pt2_view view = npuc_pt2_slice_view(axis, start, end, 1);
  return finish(n, t, &view);
}

/* A part of length 1 without its axis. */
static npuc_status apply_select(pt2_node *n, const pt2_view *v, value *parent, value **out) {
  value *part;
  NPUC_TRY(apply_slice(n, v, parent, &part));
  return npuc_pt2_squeeze(n, part, &v->axis, 1, out);
}

static npuc_status write_select(pt2_node *n, const pt2_view *v, value *parent, value *content, value **out) {
  NPUC_TRY(npuc_pt2_unsqueeze(n, content, &v->axis, 1, &content));
  return write_slice(n, v, parent, content, out);
}

npuc_status npuc_pt2_select_view(pt2_node *n, int64_t axis, pt2_int index, pt2_view *out) {
  pt2_int end;
  NPUC_TRY(end_of(n, index, 1, &end));
  *out = (pt2_view){.apply = apply_select, .write = write_select, .axis = axis, .start = index, .end = end, .step = 1};
  return NPUC_OK;
}

npuc_status npuc_aten_select(pt2_node *n) {
  pt2_tensor *t;
  value *x;
  int64_t axis;
  pt2_int index;
  pt2_view view;
  NPUC_TRY(parent_of(n, &t, &x));
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", 0, &axis));
  NPUC_TRY(npuc_pt2_axis(n, "dim", axis, x->shape.rank, &axis));
  NPUC_TRY(npuc_pt2_symint(n, "index", 0, &index));
  NPUC_TRY(npuc_pt2_select_view(n, axis, index, &view));
  return finish(n, t, &view);
}

enum { MOST_PARTS = 65536 };

/* Parts of given lengths one after another. */
static npuc_status parts(pt2_node *n, pt2_tensor *t, int64_t axis, const int64_t *lengths, size_t count) {
  pt2_tensor **list = NPUC_NEW_ARRAY(n->s->scratch, count + 1, pt2_tensor *);
  int64_t at = 0;
  for (size_t i = 0; i < count; i++, at += lengths[i - 1]) {
    pt2_view view = npuc_pt2_slice_view(axis, pt2_number(at), pt2_number(at + lengths[i]), 1);
    NPUC_TRY(npuc_pt2_view_make(n, t, &view, &list[i]));
  }
  return npuc_pt2_result_list(n, list, count);
}

static npuc_status equal_parts(pt2_node *n, pt2_tensor *t, int64_t axis, int64_t length, int64_t each) {
  if (each <= 0 || length / each >= MOST_PARTS)
    return npuc_pt2_fail(n, NPUC_DIAG_E0335, "split_size", "%lld elements in parts of %lld", (long long)length, (long long)each);
  size_t count = (size_t)(length / each + (length % each != 0));
  if (count == 0) count = 1;
  int64_t *lengths = NPUC_NEW_ARRAY(n->s->scratch, count, int64_t);
  for (size_t i = 0; i < count; i++) lengths[i] = i + 1 < count ? each : length - each * (int64_t)(count - 1);
  return parts(n, t, axis, lengths, count);
}

static npuc_status split_axis(pt2_node *n, const value *x, int64_t *out_axis) {
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", 0, out_axis));
  NPUC_TRY(npuc_pt2_axis(n, "dim", *out_axis, x->shape.rank, out_axis));
  if (dim_is_number(x->shape.dims[*out_axis])) return NPUC_OK;
  return npuc_pt2_fail(n, NPUC_DIAG_E0335, "dim", "the axis to be split has a length that is known at run time only");
}

npuc_status npuc_aten_split(pt2_node *n) {
  pt2_tensor *t;
  value *x;
  int64_t axis, *sizes;
  size_t count;
  const char *name = npuc_pt2_has(n, "split_sizes") ? "split_sizes" : "split_size";
  NPUC_TRY(parent_of(n, &t, &x));
  NPUC_TRY(split_axis(n, x, &axis));
  json_t *raw = npuc_pt2_raw(n, name);
  NPUC_TRY(npuc_pt2_ints(n, name, &sizes, &count));
  if (!json_is_array(raw) && count == 1) return equal_parts(n, t, axis, x->shape.dims[axis], sizes[0]);
  return parts(n, t, axis, sizes, count);
}

npuc_status npuc_aten_chunk(pt2_node *n) {
  pt2_tensor *t;
  value *x;
  int64_t axis, chunks;
  NPUC_TRY(parent_of(n, &t, &x));
  NPUC_TRY(split_axis(n, x, &axis));
  NPUC_TRY(npuc_pt2_int_arg(n, "chunks", 1, &chunks));
  if (chunks < 1) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "chunks", "%lld parts", (long long)chunks);
  int64_t length = x->shape.dims[axis], each = length / chunks + (length % chunks != 0);
  return equal_parts(n, t, axis, length, each ? each : 1);
}

/* Into so many parts, the first ones longer by one; or between given places. */
npuc_status npuc_aten_tensor_split(pt2_node *n) {
  pt2_tensor *t;
  value *x;
  int64_t axis, sections, *places;
  size_t n_places;
  NPUC_TRY(parent_of(n, &t, &x));
  NPUC_TRY(split_axis(n, x, &axis));
  NPUC_TRY(npuc_pt2_int_arg(n, "sections", 0, &sections));
  NPUC_TRY(npuc_pt2_ints(n, "indices", &places, &n_places));
  int64_t length = x->shape.dims[axis];
  if (sections < 0 || sections > MOST_PARTS) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "sections", "%lld parts", (long long)sections);
  size_t count = sections ? (size_t)sections : n_places + 1;
  int64_t *lengths = NPUC_NEW_ARRAY(n->s->scratch, count, int64_t), at = 0;
  for (size_t i = 0; i < count; i++) {
    int64_t end = i + 1 == count ? length : sections ? 0 : places[i];
    if (sections) end = at + length / sections + ((int64_t)i < length % sections);
    if (end < 0) end += length;
    end = end > length ? length : end;
    if (end < at) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "indices", "places that do not ascend");
    lengths[i] = end - at;
    at = end;
  }
  return parts(n, t, axis, lengths, count);
}

npuc_status npuc_aten_unbind(pt2_node *n) {
  pt2_tensor *t;
  value *x;
  int64_t axis;
  NPUC_TRY(parent_of(n, &t, &x));
  NPUC_TRY(split_axis(n, x, &axis));
  size_t count = (size_t)x->shape.dims[axis];
  if (count > MOST_PARTS) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "dim", "%zu parts", count);
  pt2_tensor **list = NPUC_NEW_ARRAY(n->s->scratch, count + 1, pt2_tensor *);
  for (size_t i = 0; i < count; i++) {
    pt2_view view;
    NPUC_TRY(npuc_pt2_select_view(n, axis, pt2_number((int64_t)i), &view));
    NPUC_TRY(npuc_pt2_view_make(n, t, &view, &list[i]));
  }
  return npuc_pt2_result_list(n, list, count);
}

/* -- the same tensor, or a converted copy -- */
npuc_status npuc_aten_alias(pt2_node *n) {
  pt2_tensor *t;
  NPUC_TRY(npuc_pt2_window(n, "self", &t));
  npuc_pt2_ignore(n, "memory_format");
  return npuc_pt2_result_tensor(n, t);
}

static npuc_status apply_same(pt2_node *n, const pt2_view *v, value *parent, value **out) {
  (void)n;
  (void)v;
  *out = parent;
  return NPUC_OK;
}

/* The tensor itself where its strides are row-major, else a copy, whose writes it does not see. Where that is not known: neither is written. */
npuc_status npuc_aten_contiguous(pt2_node *n) {
  pt2_tensor *t;
  value *x;
  layout was = layout_of(n, "self");
  NPUC_TRY(parent_of(n, &t, &x));
  npuc_pt2_ignore(n, "memory_format");
  if (was == LAYOUT_ROWS) return npuc_pt2_result_tensor(n, t);
  if (was == LAYOUT_OTHER) return npuc_pt2_result(n, x);
  pt2_view view = {.apply = apply_same};
  return finish(n, t, &view);
}

static npuc_status convert(pt2_node *n, dtype type, bool copy) {
  pt2_tensor *t;
  value *x;
  NPUC_TRY(parent_of(n, &t, &x));
  if ((type == DTYPE_NONE || type == x->type) && !copy) return npuc_pt2_result_tensor(n, t);
  if (type != DTYPE_NONE) NPUC_TRY(npuc_pt2_cast(n, x, type, &x));
  return npuc_pt2_result(n, x);
}

npuc_status npuc_aten_to(pt2_node *n) {
  if (npuc_pt2_becomes_complex(n)) return npuc_pt2_to_complex(n);
  dtype type;
  bool copy;
  NPUC_TRY(npuc_pt2_dtype_arg(n, "dtype", &type));
  NPUC_TRY(npuc_pt2_bool_arg(n, "copy", strstr(n->target, "_to_copy") != NULL, &copy));
  if (npuc_pt2_is_tensor(n, "other")) {
    value *other;
    NPUC_TRY(npuc_pt2_tensor(n, "other", &other));
    type = other->type;
  }
  static const char *const places[] = {"device", "layout", "pin_memory", "non_blocking", "memory_format"};
  for (size_t i = 0; i < 5; i++) npuc_pt2_ignore(n, places[i]);
  return convert(n, type, copy);
}

npuc_status npuc_aten_type_as(pt2_node *n) {
  value *other;
  NPUC_TRY(npuc_pt2_tensor(n, "other", &other));
  return convert(n, other->type, false);
}
