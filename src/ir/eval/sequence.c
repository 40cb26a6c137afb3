/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences and optionals: vectors of references. A tensor that enters one is copied once, to where it lives as long as the run (npuc_eval_keep); from then on references
 * to it are moved. */
#include <stdlib.h>
#include <string.h>

#include "base/limit.h"
#include "ir/eval/eval.h"
#include "tensor/reference.h"

static npuc_status allocate_list(const eval_context *c, tensor *const *outputs, int32_t i, int64_t length) {
  return npuc_eval_allocate(c, outputs, i, &(shape){.rank = 1, .dims = {length}});
}

static npuc_status keep_into(const eval_context *c, const tensor *from, tensor *list, int64_t at) {
  tensor *kept;
  NPUC_TRY(npuc_eval_keep_tensor(c, from->type, &from->shape, &kept));
  npuc_eval_copy(from, kept);
  npuc_reference_set(list, at, kept);
  return NPUC_OK;
}

static void copy_references(tensor *to, int64_t at, const tensor *from, int64_t first, int64_t n) {
  for (int64_t i = 0; i < n; i++) npuc_reference_set(to, at + i, npuc_reference_get(from, first + i));
}

/* The position in `input`, which may be left out, among `places`. */
static npuc_status position(const eval_context *c, const tensor *input, int64_t length, int64_t places, int64_t otherwise,
                            int64_t *out_at) {
  diag_place place = npuc_eval_place(c);
  if (input && npuc_tensor_elements(input) != 1)
    return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "the position has %lld elements; one wanted", (long long)npuc_tensor_elements(input));
  int64_t given = input ? npuc_tensor_get_int(input, 0) : otherwise;
  *out_at = given < 0 ? given + length : given;
  if (*out_at >= 0 && *out_at < places) return NPUC_OK;
  return npuc_fail(c->d, NPUC_DIAG_E0603, &place, "position %lld of a sequence of %lld", (long long)given, (long long)length);
}

/* The tensor as the output, whose shape nobody knew before. */
static npuc_status give(const eval_context *c, const tensor *t, tensor *const *outputs) {
  NPUC_TRY(npuc_eval_allocate(c, outputs, 0, &t->shape));
  npuc_eval_copy(t, outputs[0]);
  return NPUC_OK;
}

npuc_status npuc_eval_sequenceconstruct(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  NPUC_TRY(allocate_list(c, outputs, 0, c->node->n_inputs));
  for (int32_t i = 0; i < c->node->n_inputs; i++) NPUC_TRY(keep_into(c, inputs[i], outputs[0], i));
  return NPUC_OK;
}

npuc_status npuc_eval_sequenceempty(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  (void)inputs;
  return allocate_list(c, outputs, 0, 0);
}

npuc_status npuc_eval_sequenceinsert(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *s = inputs[0];
  int64_t n = npuc_tensor_elements(s), at = 0;
  NPUC_TRY(position(c, eval_input(c, inputs, 2), n, n + 1, n, &at));
  NPUC_TRY(allocate_list(c, outputs, 0, n + 1));
  copy_references(outputs[0], 0, s, 0, at);
  copy_references(outputs[0], at + 1, s, at, n - at);
  return keep_into(c, inputs[1], outputs[0], at);
}

npuc_status npuc_eval_sequenceerase(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *s = inputs[0];
  int64_t n = npuc_tensor_elements(s), at = 0;
  NPUC_TRY(position(c, eval_input(c, inputs, 1), n, n, -1, &at));
  NPUC_TRY(allocate_list(c, outputs, 0, n - 1));
  copy_references(outputs[0], 0, s, 0, at);
  copy_references(outputs[0], at, s, at + 1, n - 1 - at);
  return NPUC_OK;
}

npuc_status npuc_eval_sequenceat(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  int64_t n = npuc_tensor_elements(inputs[0]), at = 0;
  NPUC_TRY(position(c, inputs[1], n, n, 0, &at));
  return give(c, npuc_tensor_item(inputs[0], at), outputs);
}

npuc_status npuc_eval_sequencelength(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  NPUC_TRY(npuc_eval_allocate(c, outputs, 0, &SHAPE_SCALAR));
  npuc_tensor_set_int(outputs[0], 0, npuc_tensor_elements(inputs[0]));
  return NPUC_OK;
}

/* -- SplitToSequence -- */

typedef struct split_plan {
  axis_split whole;
  const tensor *sizes; /* a vector, or NULL: parts of `each` */
  int64_t each, count;
  int32_t axis;
  bool drops_axis;
} split_plan;

static int64_t part_size(const split_plan *p, int64_t i) {
  if (p->sizes) return npuc_tensor_get_int(p->sizes, i);
  int64_t left = p->whole.axis - i * p->each;
  return left < p->each ? left : p->each;
}

static npuc_status plan_split(const eval_context *c, const tensor *x, const tensor *split, split_plan *out_plan) {
  const splittosequence_attributes *a = NPUC_ATTRS(splittosequence_attributes, c->node);
  diag_place place = npuc_eval_place(c);
  split_plan p = {.each = 1, .drops_axis = !split && a->keepdims == 0};
  if (!npuc_axis_normalize(a->axis, x->shape.rank, &p.axis))
    return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "axis %lld is outside of the input's rank %d", (long long)a->axis, (int)x->shape.rank);
  p.whole = npuc_eval_split_at(&x->shape, p.axis);
  if (split && split->shape.rank == 1) p.sizes = split;
  if (split && !p.sizes) p.each = npuc_tensor_get_int(split, 0);
  if (p.each < 1) return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "parts of %lld", (long long)p.each);
  p.count = p.sizes ? npuc_tensor_elements(split) : p.whole.axis / p.each + (p.whole.axis % p.each != 0);
  int64_t left = p.whole.axis;
  for (int64_t i = 0; i < p.count; i++) {
    int64_t size = part_size(&p, i);
    if (size < 0 || size > left)
      return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "part %lld of size %lld does not fit the axis of %lld", (long long)i, (long long)size,
                       (long long)p.whole.axis);
    left -= size;
  }
  if (left)
    return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "the parts leave %lld of the axis of %lld", (long long)left, (long long)p.whole.axis);
  *out_plan = p;
  return NPUC_OK;
}

static shape part_shape(const split_plan *p, const shape *s, int64_t size) {
  shape part = *s;
  part.dims[p->axis] = size;
  if (!p->drops_axis) return part;
  part.rank--;
  for (int32_t i = p->axis; i < part.rank; i++) part.dims[i] = s->dims[i + 1];
  return part;
}

npuc_status npuc_eval_splittosequence(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0];
  split_plan p = {0};
  if (npuc_dtype_width(x->type) == 0) return npuc_eval_unsupported(c, x->type);
  NPUC_TRY(plan_split(c, x, eval_input(c, inputs, 1), &p));
  NPUC_TRY(allocate_list(c, outputs, 0, p.count));
  size_t row = (size_t)p.whole.inner * npuc_dtype_width(x->type), first = 0;
  for (int64_t i = 0; i < p.count; i++) {
    tensor *part;
    shape s = part_shape(&p, &x->shape, part_size(&p, i));
    size_t bytes = (size_t)part_size(&p, i) * row;
    NPUC_TRY(npuc_eval_keep_tensor(c, x->type, &s, &part));
    for (int64_t o = 0; bytes && o < p.whole.outer; o++)
      memcpy((char *)part->data + (size_t)o * bytes, (const char *)x->data + (size_t)(o * p.whole.axis) * row + first, bytes);
    npuc_reference_set(outputs[0], i, part);
    first += bytes;
  }
  return NPUC_OK;
}

/* -- ConcatFromSequence -- */

static npuc_status joined_shape(const eval_context *c, const tensor *s, int32_t *out_axis, shape *out_shape) {
  const concatfromsequence_attributes *a = NPUC_ATTRS(concatfromsequence_attributes, c->node);
  int64_t n = npuc_tensor_elements(s);
  diag_place place = npuc_eval_place(c);
  if (n == 0) return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "the sequence is empty: nothing says what to join");
  const shape *first = &npuc_tensor_item(s, 0)->shape;
  shape y = *first;
  y.rank += a->new_axis != 0;
  if (y.rank > MAX_RANK || !npuc_axis_normalize(a->axis, y.rank, out_axis))
    return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "axis %lld is outside of rank %d", (long long)a->axis, (int)y.rank);
  for (int32_t i = y.rank - 1; a->new_axis && i > *out_axis; i--) y.dims[i] = y.dims[i - 1];
  y.dims[*out_axis] = a->new_axis ? n : 0;
  for (int64_t i = 0; i < n; i++) {
    const shape *one = &npuc_tensor_item(s, i)->shape;
    bool fits = one->rank == first->rank;
    for (int32_t k = 0; fits && k < one->rank; k++) fits = one->dims[k] == first->dims[k] || (!a->new_axis && k == *out_axis);
    if (!fits)
      return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "element %lld of the sequence has dims that do not fit element 0", (long long)i);
    if (!a->new_axis && __builtin_add_overflow(y.dims[*out_axis], one->dims[*out_axis], &y.dims[*out_axis]))
      return npuc_fail_memory(c->d, &place, SIZE_MAX, "the joined sequence");
  }
  *out_shape = y;
  return NPUC_OK;
}

npuc_status npuc_eval_concatfromsequence(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *s = inputs[0];
  int32_t axis;
  shape joined;
  if (npuc_dtype_width(npuc_dtype_item(s->type)) == 0) return npuc_eval_unsupported(c, npuc_dtype_item(s->type));
  NPUC_TRY(joined_shape(c, s, &axis, &joined));
  NPUC_TRY(npuc_eval_allocate(c, outputs, 0, &joined));
  tensor *y = outputs[0];
  axis_split whole = npuc_eval_split_at(&joined, axis);
  size_t pitch = whole.outer ? y->bytes / (size_t)whole.outer : 0, done = 0;
  for (int64_t i = 0; i < npuc_tensor_elements(s); i++) {
    const tensor *x = npuc_tensor_item(s, i);
    size_t bytes = whole.outer ? x->bytes / (size_t)whole.outer : 0;
    for (int64_t o = 0; bytes && o < whole.outer; o++)
      memcpy((char *)y->data + (size_t)o * pitch + done, (const char *)x->data + (size_t)o * bytes, bytes);
    done += bytes;
  }
  return NPUC_OK;
}

/* -- SequenceMap -- */

static npuc_status run_on(const eval_context *c, const tensor *const *inputs, int64_t at, tensor *args, tensor *results) {
  int32_t own = c->node->n_inputs - npuc_node_captures(c->node);
  for (int32_t i = 0; i < c->node->n_inputs; i++) {
    bool each = i < own && npuc_dtype_is_list(inputs[i]->type);
    if (each && npuc_tensor_elements(inputs[i]) != npuc_tensor_elements(inputs[0])) {
      diag_place place = npuc_eval_place(c);
      return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "input %d has %lld elements, input 0 has %lld", (int)i,
                       (long long)npuc_tensor_elements(inputs[i]), (long long)npuc_tensor_elements(inputs[0]));
    }
    args[i] = each ? *npuc_tensor_item(inputs[i], at) : *inputs[i];
  }
  return npuc_eval_run_body(c, 0, args, results);
}

npuc_status npuc_eval_sequencemap(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  int64_t n = npuc_tensor_elements(inputs[0]);
  tensor *args = npuc_xcalloc((size_t)c->node->n_inputs + 1, sizeof *args);
  tensor *results = npuc_xcalloc((size_t)c->node->n_outputs + 1, sizeof *results);
  npuc_status status = NPUC_OK;
  for (int32_t i = 0; i < c->node->n_outputs && status == NPUC_OK; i++) status = allocate_list(c, outputs, i, n);
  for (int64_t at = 0; at < n && status == NPUC_OK; at++) {
    status = run_on(c, inputs, at, args, results);
    for (int32_t i = 0; i < c->node->n_outputs && status == NPUC_OK; i++) {
      if (outputs[i]) status = keep_into(c, &results[i], outputs[i], at);
    }
  }
  free(args);
  free(results);
  return status;
}

/* -- optionals -- */

npuc_status npuc_eval_optional(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = eval_input(c, inputs, 0);
  NPUC_TRY(allocate_list(c, outputs, 0, x != NULL));
  return x ? keep_into(c, x, outputs[0], 0) : NPUC_OK;
}

npuc_status npuc_eval_optionalgetelement(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0];
  if (!npuc_dtype_is_optional(x->type)) return give(c, x, outputs);
  if (npuc_tensor_elements(x) == 1) return give(c, npuc_tensor_item(x, 0), outputs);
  diag_place place = npuc_eval_place(c);
  return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "the optional has no element");
}

npuc_status npuc_eval_optionalhaselement(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = eval_input(c, inputs, 0);
  NPUC_TRY(npuc_eval_allocate(c, outputs, 0, &SHAPE_SCALAR));
  npuc_tensor_set_int(outputs[0], 0, x && !(npuc_dtype_is_optional(x->type) && npuc_tensor_elements(x) == 0));
  return NPUC_OK;
}
