/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that take elements from here to there: Concat, Split, Slice, Pad, Gather, Transpose, Expand (reshaping: reshape.c). */
#include <stddef.h>
#include <string.h>

#include "ir/ops/support.h"

/* -- Concat -- */
static const op_port concat_inputs[] = {{.name = "inputs", .variadic = true, .doc = "one type; equal dims but for axis"}};
static const op_port concat_outputs[] = {{.name = "concat_result", .doc = "dim of axis: the sum"}};
static const attr_field concat_fields[] = {
    {.name = "axis", .kind = ATTR_INT, .offset = offsetof(axis_attributes, axis), .required = true, .doc = "where the inputs are joined"}};

/* Joins `next` to `sum` along axis: other dims must agree. */
static npuc_status join(infer_context *c, shape *sum, const shape *next, int32_t axis, int32_t input, bool *free_axis) {
  if (next->rank != sum->rank) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "inputs", "input %d has rank %d, input 0 rank %d", input, next->rank, sum->rank);
  }
  for (int32_t i = 0; i < sum->rank; i++) {
    dim a = sum->dims[i], b = next->dims[i];
    if (i == axis) {
      if (*free_axis) continue;
      if (b == 0) continue;
      if (a == 0) {
        sum->dims[i] = b;
      } else if (dim_is_number(a) && dim_is_number(b)) {
        if (__builtin_add_overflow(a, b, &sum->dims[i])) *free_axis = true;
      } else {
        *free_axis = true;
      }
    } else if (!npuc_dim_merge(a, b, &sum->dims[i])) {
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "inputs", "axis %d: input %d has %lld, the inputs before it %lld", i, input,
                          (long long)b, (long long)a);
    }
  }
  return NPUC_OK;
}

static void concat_elements(infer_context *c) {
  elements all = {.rank = 1}, next;
  for (int32_t i = 0; i < c->node->n_inputs; i++) {
    if (!npuc_elements_read(npuc_fact_input(c, i), &next) || all.count + next.count > MAX_CONTENT) return;
    memcpy(&all.at[all.count], next.at, (size_t)next.count * sizeof *next.at);
    all.count += next.count;
  }
  npuc_elements_write(c, 0, &all);
}

static npuc_status concat_infer(infer_context *c) {
  NPUC_TRY(npuc_infer_same_type(c, 0, c->node->n_inputs - 1));
  for (int32_t i = 0; i < c->node->n_inputs && c->outputs[0].type == DTYPE_NONE; i++) c->outputs[0].type = npuc_fact_type(c, i);
  const fact *first = npuc_fact_input(c, 0);
  if (!first || first->shape.rank < 0) return NPUC_OK;
  int32_t axis;
  NPUC_TRY(npuc_require_axis(c, NPUC_ATTRS(axis_attributes, c->node)->axis, first->shape.rank, &axis));
  shape sum = first->shape;
  bool free_axis = false;
  for (int32_t i = 1; i < c->node->n_inputs; i++) {
    const fact *f = npuc_fact_input(c, i);
    if (!f || f->shape.rank < 0) return NPUC_OK;
    NPUC_TRY(join(c, &sum, &f->shape, axis, i, &free_axis));
  }
  if (free_axis || sum.dims[axis] == DIM_UNKNOWN) sum.dims[axis] = npuc_infer_free_dim(c, 0, axis);
  c->outputs[0].shape = sum;
  if (sum.rank == 1) concat_elements(c);
  return NPUC_OK;
}

/* -- Split -- */
static const op_port split_inputs[] = {
    {.name = "input", .doc = "any shape of rank 1 or more"},
    {.name = "split", .optional = true, .doc = "int64 vector: the length of each output along axis"},
};
static const op_port split_outputs[] = {{.name = "outputs", .variadic = true, .doc = "one or more"}};
static const attr_field split_fields[] = {
    FIELD_INT(split_attributes, axis, 0, "where the input is cut"),
    FIELD_INT(split_attributes, num_outputs, 0, "number of outputs when no split is given: equal parts, rounded up, the last one smaller"),
};

static npuc_status split_by_list(infer_context *c, dim whole, const elements *list, int32_t axis) {
  if (list->count != c->node->n_outputs) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "split", "%d lengths given for %d outputs", list->count, c->node->n_outputs);
  }
  int64_t sum = 0;
  bool numbers = true;
  for (int32_t i = 0; i < list->count; i++) {
    const element *e = &list->at[i];
    if (e->is_number && e->number < 0) {
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "split", "length %d is %lld; 0 or more wanted", i, (long long)e->number);
    }
    dim length = npuc_element_dim(e);
    c->outputs[i].shape.dims[axis] = length == DIM_UNKNOWN ? npuc_infer_free_dim(c, i, axis) : length;
    numbers = numbers && e->is_number && !__builtin_add_overflow(sum, e->number, &sum);
  }
  if (numbers && dim_is_number(whole) && sum != whole) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "split", "the lengths add up to %lld, and axis %d has %lld", (long long)sum, axis,
                        (long long)whole);
  }
  return NPUC_OK;
}

/* chunk = ceil(whole / n); the last output takes what is left. */
static npuc_status split_evenly(infer_context *c, dim whole, int32_t axis) {
  int32_t n = c->node->n_outputs;
  if (!dim_is_number(whole)) {
    for (int32_t i = 0; i < n; i++) c->outputs[i].shape.dims[axis] = n == 1 ? whole : npuc_infer_free_dim(c, i, axis);
    return NPUC_OK;
  }
  int64_t chunk = (whole + n - 1) / n, last = whole - chunk * (n - 1);
  if (last < 0) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "num_outputs", "%d outputs of %lld elements do not fit into axis %d with %lld", n,
                        (long long)chunk, axis, (long long)whole);
  }
  for (int32_t i = 0; i < n; i++) c->outputs[i].shape.dims[axis] = i == n - 1 ? last : chunk;
  return NPUC_OK;
}

static npuc_status split_infer(infer_context *c) {
  const split_attributes *a = NPUC_ATTRS(split_attributes, c->node);
  const fact *x = npuc_fact_input(c, 0), *split = npuc_fact_input(c, 1);
  if (!x) return NPUC_OK;
  for (int32_t i = 0; i < c->node->n_outputs; i++) c->outputs[i].type = x->type;
  if (x->shape.rank < 0) return NPUC_OK;
  int32_t axis;
  NPUC_TRY(npuc_require_axis(c, a->axis, x->shape.rank, &axis));
  for (int32_t i = 0; i < c->node->n_outputs; i++) c->outputs[i].shape = x->shape;
  elements list;
  if (!split) return split_evenly(c, x->shape.dims[axis], axis);
  if (npuc_elements_read(split, &list)) return split_by_list(c, x->shape.dims[axis], &list, axis);
  for (int32_t i = 0; i < c->node->n_outputs; i++) c->outputs[i].shape.dims[axis] = npuc_infer_free_dim(c, i, axis);
  return NPUC_OK;
}

static npuc_status split_verify(diag *d, const node *n) {
  const split_attributes *a = NPUC_ATTRS(split_attributes, n);
  bool has_list = n->n_inputs > 1 && n->inputs[1];
  if (has_list && a->num_outputs != 0)
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "num_outputs", "given together with the input split; one of the two wanted");
  if (!has_list && a->num_outputs != n->n_outputs) {
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "num_outputs", "%lld given, and the node has %d outputs", (long long)a->num_outputs,
                        n->n_outputs);
  }
  return NPUC_OK;
}

/* -- Slice -- */
static const op_port slice_inputs[] = {
    {.name = "data", .doc = "any shape of rank 1 or more"},
    {.name = "starts", .doc = "integer vector; negative ones count from the end"},
    {.name = "ends", .doc = "as starts; exclusive; clamped, so that INT64_MAX means the end"},
    {.name = "axes", .optional = true, .doc = "the axes that are cut; the first ones when absent"},
    {.name = "steps", .optional = true, .doc = "never 0; negative ones go backward; 1 when absent"},
};
static const op_port slice_outputs[] = {{.name = "output", .doc = "the cut"}};

typedef struct slice_range {
  int64_t start, count, step;
} slice_range;

static int64_t clamp(int64_t x, int64_t lo, int64_t hi) { return x < lo ? lo : x > hi ? hi : x; }

/* Python's slice: start, end counted from the end when negative, clamped to what the direction can reach. */
static slice_range range_of(int64_t size, int64_t start, int64_t end, int64_t step) {
  if (start < 0) start += size;
  if (end < 0) end += size;
  slice_range r = {.step = step};
  if (step > 0) {
    r.start = clamp(start, 0, size);
    end = clamp(end, 0, size);
    if (end > r.start) r.count = (end - r.start - 1) / step + 1;
  } else {
    r.start = clamp(start, size > 0 ? 0 : -1, size - 1); /* nothing to start at where the axis is empty */
    end = clamp(end, -1, size - 1);
    int64_t back = step == INT64_MIN ? INT64_MAX : -step;
    if (r.start > end) r.count = (r.start - end - 1) / back + 1;
  }
  return r;
}

/* The whole axis, whatever its size. */
static bool takes_all(int64_t start, int64_t end, int64_t step) { return step == 1 && start == 0 && end >= INT32_MAX; }

static void slice_elements(infer_context *c, int64_t start, int64_t end, int64_t step) {
  elements all, cut = {.rank = 1};
  if (!npuc_elements_read(npuc_fact_input(c, 0), &all)) return;
  slice_range r = range_of(all.count, start, end, step);
  for (int64_t i = 0; i < r.count; i++) cut.at[cut.count++] = all.at[r.start + i * r.step];
  npuc_elements_write(c, 0, &cut);
}

/* starts and ends may be partly unknown; then the axis is free. */
static npuc_status slice_axes(infer_context *c, const shape *x, const axes_list *axes, const elements *starts, const elements *ends,
                              const elements *steps) {
  shape *y = &c->outputs[0].shape;
  for (int32_t i = 0; i < starts->count; i++) {
    int32_t axis = axes->count < 0 ? i : axes->axes[i];
    int64_t step = steps ? steps->at[i].number : 1;
    if (step == 0) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "steps", "step %d is 0", i);
    bool known = starts->at[i].is_number && ends->at[i].is_number;
    int64_t start = starts->at[i].number, end = ends->at[i].number;
    if (known && dim_is_number(x->dims[axis])) {
      y->dims[axis] = range_of(x->dims[axis], start, end, step).count;
    } else if (!known || !takes_all(start, end, step)) {
      y->dims[axis] = npuc_infer_free_dim(c, 0, axis);
    }
    if (known && x->rank == 1) slice_elements(c, start, end, step);
  }
  return NPUC_OK;
}

static npuc_status slice_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0);
  if (!x) return NPUC_OK;
  c->outputs[0].type = x->type;
  if (x->shape.rank < 0) return NPUC_OK;
  if (x->shape.rank == 0) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "data", "a scalar given; rank 1 or more wanted");
  elements starts, ends, steps;
  bool axes_known;
  axes_list axes;
  NPUC_TRY(npuc_infer_axes(c, 3, x->shape.rank, &axes_known, &axes));
  const fact *given_steps = npuc_fact_input(c, 4);
  bool steps_known = !given_steps || npuc_elements_numbers(given_steps, &steps);
  if (!axes_known || !steps_known || !npuc_elements_read(npuc_fact_input(c, 1), &starts) ||
      !npuc_elements_read(npuc_fact_input(c, 2), &ends)) {
    npuc_infer_free_shape(c, x->shape.rank);
    return NPUC_OK;
  }
  int32_t wanted = axes.count < 0 ? starts.count : axes.count;
  if (starts.count != wanted || ends.count != wanted || (given_steps && steps.count != wanted) || wanted > x->shape.rank) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "starts", "%d starts, %d ends, %d steps for %d axes of a tensor of rank %d",
                        starts.count, ends.count, given_steps ? steps.count : wanted, wanted, x->shape.rank);
  }
  c->outputs[0].shape = x->shape;
  return slice_axes(c, &x->shape, &axes, &starts, &ends, given_steps ? &steps : NULL);
}

/* -- Pad -- */
static const op_port pad_inputs[] = {
    {.name = "data", .doc = "any shape"},
    {.name = "pads", .doc = "int64 vector: cells before each axis, then after each; negative ones cut"},
    {.name = "constant_value", .optional = true, .doc = "scalar of mode constant; 0 when absent"},
    {.name = "axes", .optional = true, .doc = "the axes that pads speaks of; all when absent"},
};
static const op_port pad_outputs[] = {{.name = "output", .doc = "each dim larger by its two pads"}};
static const attr_field pad_fields[] = {FIELD_STRING(pad_attributes, mode, "constant", "constant, edge, reflect or wrap")};

static npuc_status pad_axis(infer_context *c, const char *mode, dim input, int32_t axis, int64_t begin, int64_t end, dim *out) {
  if (!dim_is_number(input)) {
    *out = begin == 0 && end == 0 && input != DIM_UNKNOWN ? input : npuc_infer_free_dim(c, 0, axis);
    return NPUC_OK;
  }
  int64_t result;
  if (__builtin_add_overflow(input, begin, &result) || __builtin_add_overflow(result, end, &result) || result < 0) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "pads", "axis %d has %lld cells; %lld before and %lld after leave no valid size",
                        axis, (long long)input, (long long)begin, (long long)end);
  }
  if (strcmp(mode, "reflect") == 0 && (begin >= input || end >= input) && (begin > 0 || end > 0)) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "pads", "axis %d has %lld cells; reflecting %lld and %lld needs more", axis,
                        (long long)input, (long long)begin, (long long)end);
  }
  if (strcmp(mode, "constant") != 0 && input == 0 && result > 0) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "data", "axis %d is empty: mode %s has nothing to repeat", axis, mode);
  }
  *out = result;
  return NPUC_OK;
}

static npuc_status pad_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0);
  if (!x) return NPUC_OK;
  c->outputs[0].type = x->type;
  if (x->shape.rank < 0) return NPUC_OK;
  elements pads;
  bool axes_known;
  axes_list axes;
  NPUC_TRY(npuc_infer_axes(c, 3, x->shape.rank, &axes_known, &axes));
  if (!axes_known || !npuc_elements_read(npuc_fact_input(c, 1), &pads)) {
    npuc_infer_free_shape(c, x->shape.rank);
    return NPUC_OK;
  }
  int32_t n = axes.count < 0 ? x->shape.rank : axes.count;
  if (pads.count != 2 * n)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "pads", "%d values given; %d wanted for %d axes", pads.count, 2 * n, n);
  const char *mode = NPUC_ATTRS(pad_attributes, c->node)->mode;
  shape result = x->shape;
  for (int32_t i = 0; i < n; i++) {
    int32_t axis = axes.count < 0 ? i : axes.axes[i];
    const element *begin = &pads.at[i], *end = &pads.at[i + n];
    if (!begin->is_number || !end->is_number) {
      result.dims[axis] = npuc_infer_free_dim(c, 0, axis);
      continue;
    }
    NPUC_TRY(pad_axis(c, mode ? mode : "constant", x->shape.dims[axis], axis, begin->number, end->number, &result.dims[axis]));
  }
  c->outputs[0].shape = result;
  return NPUC_OK;
}

static npuc_status pad_verify(diag *d, const node *n) {
  const char *mode = NPUC_ATTRS(pad_attributes, n)->mode;
  static const char *const modes[] = {"constant", "edge", "reflect", "wrap"};
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    if (!mode || strcmp(mode, modes[i]) == 0) return NPUC_OK;
  }
  return npuc_op_fail(d, n, NPUC_DIAG_E0440, "mode", "\"%s\" is not one of constant, edge, reflect, wrap", mode);
}

/* -- Gather -- */
static const op_port gather_inputs[] = {
    {.name = "data", .doc = "any shape of rank 1 or more"},
    {.name = "indices", .doc = "int32 or int64, any shape; negative ones count from the end"},
};
static const op_port gather_outputs[] = {{.name = "output", .doc = "the axis of data is replaced by the axes of indices"}};
static const attr_field gather_fields[] = {FIELD_INT(axis_attributes, axis, 0, "the axis that is indexed")};

static npuc_status gather_elements(infer_context *c, dim size, int32_t axis) {
  elements indices, data, picked;
  if (!npuc_elements_numbers(npuc_fact_input(c, 1), &indices)) return NPUC_OK;
  bool known = npuc_elements_read(npuc_fact_input(c, 0), &data) && data.rank == 1;
  picked = indices;
  for (int32_t i = 0; i < indices.count; i++) {
    int64_t index = indices.at[i].number;
    if (!dim_is_number(size)) continue;
    if (index < -size || index >= size) {
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "indices", "index %lld is out of range for axis %d with %lld elements",
                          (long long)index, axis, (long long)size);
    }
    if (known) picked.at[i] = data.at[index < 0 ? index + size : index];
  }
  if (known && dim_is_number(size) && data.count == size) npuc_elements_write(c, 0, &picked);
  return NPUC_OK;
}

static npuc_status gather_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0), *indices = npuc_fact_input(c, 1);
  if (!x || !indices) return NPUC_OK;
  c->outputs[0].type = x->type;
  if (x->shape.rank < 0 || indices->shape.rank < 0) return NPUC_OK;
  int32_t axis;
  NPUC_TRY(npuc_require_axis(c, NPUC_ATTRS(axis_attributes, c->node)->axis, x->shape.rank, &axis));
  int32_t rank = x->shape.rank - 1 + indices->shape.rank;
  if (rank > MAX_RANK)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0443, "indices", "the result would have rank %d; at most %d is supported", rank,
                        MAX_RANK);
  shape y = {.rank = rank};
  int32_t at = 0;
  for (int32_t i = 0; i < axis; i++) y.dims[at++] = x->shape.dims[i];
  for (int32_t i = 0; i < indices->shape.rank; i++) y.dims[at++] = indices->shape.dims[i];
  for (int32_t i = axis + 1; i < x->shape.rank; i++) y.dims[at++] = x->shape.dims[i];
  c->outputs[0].shape = y;
  return gather_elements(c, x->shape.dims[axis], axis);
}

static npuc_status gather_verify(diag *d, const node *n) {
  dtype type = n->inputs[1]->type;
  if (type == DTYPE_NONE || type == DTYPE_I64 || type == DTYPE_I32) return NPUC_OK;
  return npuc_op_fail(d, n, NPUC_DIAG_E0442, "indices", "%s given; int32 or int64 wanted", npuc_dtype_name(type));
}

/* -- Transpose -- */
static const op_port transpose_inputs[] = {{.name = "data", .doc = "any shape"}};
static const op_port transpose_outputs[] = {{.name = "transposed", .doc = "dim i is dim perm[i] of data"}};
static const attr_field transpose_fields[] = {FIELD_INTS(transpose_attributes, perm, "a permutation of the axes; reversed when absent")};

static npuc_status check_permutation(diag *d, const node *n, const int_list *perm, int32_t rank) {
  if (perm->count != rank) return npuc_op_fail(d, n, NPUC_DIAG_E0440, "perm", "%d axes given for a tensor of rank %d", perm->count, rank);
  unsigned seen = 0;
  for (int32_t i = 0; i < rank; i++) {
    int64_t axis = perm->values[i];
    if (axis < 0 || axis >= rank || (seen >> axis & 1u)) {
      return npuc_op_fail(d, n, NPUC_DIAG_E0440, "perm", "axis %lld at place %d: each of 0 to %d wanted once", (long long)axis, i,
                          rank - 1);
    }
    seen |= 1u << axis;
  }
  return NPUC_OK;
}

static npuc_status transpose_infer(infer_context *c) {
  const int_list *perm = &NPUC_ATTRS(transpose_attributes, c->node)->perm;
  const fact *x = npuc_fact_input(c, 0);
  if (!x) return NPUC_OK;
  c->outputs[0].type = x->type;
  int32_t rank = x->shape.rank;
  if (rank < 0) return NPUC_OK;
  shape y = {.rank = rank};
  if (perm->count) NPUC_TRY(check_permutation(c->d, c->node, perm, rank));
  for (int32_t i = 0; i < rank; i++) y.dims[i] = x->shape.dims[perm->count ? perm->values[i] : rank - 1 - i];
  c->outputs[0].shape = y;
  return NPUC_OK;
}

static npuc_status transpose_verify(diag *d, const node *n) {
  const int_list *perm = &NPUC_ATTRS(transpose_attributes, n)->perm;
  int32_t rank = n->inputs[0]->shape.rank;
  return perm->count && rank >= 0 ? check_permutation(d, n, perm, rank) : NPUC_OK;
}

static npuc_status transpose_complete(diag *d, node *n) {
  (void)d;
  int_list *perm = &NPUC_ATTRS(transpose_attributes, n)->perm;
  int32_t rank = n->inputs[0]->shape.rank;
  if (perm->count || rank <= 0) return NPUC_OK;
  perm->values = NPUC_NEW_ARRAY(n->owner->module->arena, (size_t)rank, int64_t);
  perm->count = rank;
  for (int32_t i = 0; i < rank; i++) perm->values[i] = rank - 1 - i;
  return NPUC_OK;
}

/* -- Expand -- */
static const op_port expand_inputs[] = {
    {.name = "input", .doc = "any shape"},
    {.name = "shape", .doc = "int64 vector; broadcasts with the input's shape in both directions"},
};
static const op_port expand_outputs[] = {{.name = "output", .doc = "the broadcast shape"}};

static npuc_status expand_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0), *wanted = npuc_fact_input(c, 1);
  if (!x || !wanted) return NPUC_OK;
  c->outputs[0].type = x->type;
  elements e;
  if (x->shape.rank < 0 || !npuc_elements_read(wanted, &e)) return NPUC_OK;
  if (e.count > MAX_RANK)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0443, "shape", "%d dims given; at most %d are supported", e.count, MAX_RANK);
  shape target = {.rank = e.count}, y;
  for (int32_t i = 0; i < e.count; i++) {
    if (e.at[i].is_number && e.at[i].number < 0) {
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "shape", "dim %d is %lld; 0 or more wanted", i, (long long)e.at[i].number);
    }
    target.dims[i] = npuc_element_dim(&e.at[i]);
  }
  if (!npuc_shape_broadcast(&x->shape, &target, &y)) {
    char a[SHAPE_TEXT], b[SHAPE_TEXT];
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "shape", "%s does not broadcast to %s", npuc_shape_text(c->module, &x->shape, a),
                        npuc_shape_text(c->module, &target, b));
  }
  for (int32_t i = 0; i < y.rank; i++) {
    if (y.dims[i] == DIM_UNKNOWN) y.dims[i] = npuc_infer_free_dim(c, 0, i);
  }
  c->outputs[0].shape = y;
  return NPUC_OK;
}

const op_def npuc_op_concat = {
    .id = OP_CONCAT,
    .domain = "",
    .type = "Concat",
    .since_version = 13,
    .oldest_version = 11,
    .traits = TRAIT_MOVES_DATA,
    .summary = "Joins tensors along an axis.",
    .formula = "concat_result[..., i, ...]: the inputs' elements one input after the other along axis",
    .source = "ONNX Concat-13",
    PORTS_IN(concat_inputs, 1),
    PORTS_OUT(concat_outputs, 1),
    ATTRIBUTES(concat_fields, axis_attributes),
    .infer = concat_infer,
    .eval = npuc_eval_concat,
};

const op_def npuc_op_split = {
    .id = OP_SPLIT,
    .domain = "",
    .type = "Split",
    .since_version = 18,
    .oldest_version = 18,
    .traits = TRAIT_MOVES_DATA,
    .summary = "Cuts a tensor into parts along an axis.",
    .formula = "outputs[k] = input[..., start_k : start_k + split[k], ...]",
    .source = "ONNX Split-18",
    PORTS_IN(split_inputs, 1),
    PORTS_OUT(split_outputs, 1),
    ATTRIBUTES(split_fields, split_attributes),
    .infer = split_infer,
    .verify = split_verify,
    .eval = npuc_eval_split,
};

const op_def npuc_op_slice = {
    .id = OP_SLICE,
    .domain = "",
    .type = "Slice",
    .since_version = 13,
    .oldest_version = 10,
    .traits = TRAIT_MOVES_DATA,
    .summary = "Takes a range, with a step, along some axes.",
    .formula = "output = data[start : end : step] per axis, as Python's slices",
    .source = "ONNX Slice-13",
    PORTS_IN(slice_inputs, 3),
    PORTS_OUT(slice_outputs, 1),
    .infer = slice_infer,
    .eval = npuc_eval_slice,
};

const op_def npuc_op_pad = {
    .id = OP_PAD,
    .domain = "",
    .type = "Pad",
    .since_version = 25,
    .oldest_version = 19,
    .summary = "Adds cells around a tensor, or cuts them off.",
    .formula =
        "output[i] = data[i - begin], outside it constant_value (constant), the border (edge), the mirror image without the border "
        "(reflect) or the "
        "other end (wrap)",
    .source = "ONNX Pad-25",
    PORTS_IN(pad_inputs, 2),
    PORTS_OUT(pad_outputs, 1),
    ATTRIBUTES(pad_fields, pad_attributes),
    .infer = pad_infer,
    .verify = pad_verify,
    .eval = npuc_eval_pad,
};

const op_def npuc_op_gather = {
    .id = OP_GATHER,
    .domain = "",
    .type = "Gather",
    .since_version = 13,
    .oldest_version = 11,
    .traits = TRAIT_MOVES_DATA,
    .summary = "Picks slices of an axis by index.",
    .formula = "output[a..., i..., b...] = data[a..., indices[i...], b...]",
    .source = "ONNX Gather-13",
    PORTS_IN(gather_inputs, 2),
    PORTS_OUT(gather_outputs, 1),
    ATTRIBUTES(gather_fields, axis_attributes),
    .infer = gather_infer,
    .verify = gather_verify,
    .eval = npuc_eval_gather,
};

const op_def npuc_op_transpose = {
    .id = OP_TRANSPOSE,
    .domain = "",
    .type = "Transpose",
    .since_version = 25,
    .oldest_version = 1,
    .traits = TRAIT_MOVES_DATA,
    .summary = "Permutes the axes.",
    .formula = "transposed.shape[i] = data.shape[perm[i]]",
    .source = "ONNX Transpose-25",
    PORTS_IN(transpose_inputs, 1),
    PORTS_OUT(transpose_outputs, 1),
    ATTRIBUTES(transpose_fields, transpose_attributes),
    .infer = transpose_infer,
    .verify = transpose_verify,
    .complete = transpose_complete,
    .eval = npuc_eval_transpose,
};

const op_def npuc_op_expand = {
    .id = OP_EXPAND,
    .domain = "",
    .type = "Expand",
    .since_version = 13,
    .oldest_version = 8,
    .traits = TRAIT_MOVES_DATA,
    .summary = "Repeats a tensor along axes of size 1.",
    .formula = "output = input broadcast with shape (a dim of 1 in shape keeps the input's)",
    .source = "ONNX Expand-13",
    PORTS_IN(expand_inputs, 2),
    PORTS_OUT(expand_outputs, 1),
    .infer = expand_infer,
    .eval = npuc_eval_expand,
};
