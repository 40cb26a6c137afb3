/* SPDX-License-Identifier: Apache-2.0 */
/* If, Loop, Scan: the executor runs the bodies (eval_context.run_body); here is what happens between the runs. What a body gives lies in memory that its next run uses
 * again, so what is carried is copied: two buffers a value, which grow and are otherwise kept over the turns. */
#include <stdlib.h>
#include <string.h>

#include "base/limit.h"
#include "ir/eval/eval.h"
#include "tensor/reference.h"

static npuc_status out_of_memory(const eval_context *c, size_t bytes) {
  diag_place place = npuc_eval_place(c);
  return npuc_fail_memory(c->d, &place, bytes, "what a body hands on");
}

static npuc_status give(const eval_context *c, tensor *const *outputs, int32_t i, const tensor *t) {
  if (i >= c->node->n_outputs || !outputs[i]) return NPUC_OK;
  NPUC_TRY(npuc_eval_allocate(c, outputs, i, &t->shape));
  npuc_eval_copy(t, outputs[i]);
  return NPUC_OK;
}

static void put_captures(const eval_context *c, const tensor *const *inputs, tensor *args, size_t own) {
  int32_t captures = npuc_node_captures(c->node), first = c->node->n_inputs - captures;
  for (int32_t i = 0; i < captures; i++) args[own + (size_t)i] = *inputs[first + i];
}

static npuc_status read_one(const eval_context *c, const char *port, const tensor *t, int64_t *out_number) {
  diag_place place = npuc_eval_place(c);
  place.attribute = port;
  if (npuc_tensor_elements(t) != 1)
    return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "%lld elements; one wanted", (long long)npuc_tensor_elements(t));
  *out_number = npuc_tensor_get_int(t, 0);
  return NPUC_OK;
}

npuc_status npuc_eval_if(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  int64_t cond = 0;
  NPUC_TRY(read_one(c, "cond", inputs[0], &cond));
  int32_t chosen = cond ? 0 : 1;
  const graph *body = npuc_node_body(c->node, chosen);
  tensor *args = npuc_xcalloc(body->n_inputs + 1, sizeof *args), *results = npuc_xcalloc(body->n_outputs + 1, sizeof *results);
  put_captures(c, inputs, args, 0);
  npuc_status status = npuc_eval_run_body(c, chosen, args, results);
  for (int32_t i = 0; status == NPUC_OK && i < c->node->n_outputs; i++) status = give(c, outputs, i, &results[i]);
  free(args);
  free(results);
  return status;
}

/* -- turns -- */

/* A copy that is kept. */
typedef struct kept {
  tensor t;
  size_t capacity;
} kept;

typedef struct turns {
  const eval_context *c;
  const graph *body;
  tensor *args, *results; /* of one run */
  kept *carried;          /* [n_carried] */
  int32_t n_carried;
  kept *stacks; /* [n_stacked]: turn after turn, each element whole */
  int32_t n_stacked;
  int64_t n;
} turns;

/* Elements of less than a byte do not lie apart. */
static npuc_status check_whole_bytes(const turns *t, const tensor *x) {
  return npuc_dtype_width(x->type) == 0 ? npuc_eval_unsupported(t->c, x->type) : NPUC_OK;
}

static npuc_status grow(const turns *t, kept *k, size_t bytes) {
  if (k->capacity >= bytes) return NPUC_OK;
  size_t capacity = bytes > SIZE_MAX / 2 ? bytes : bytes + k->capacity;
  void *memory = npuc_buffer_create(capacity);
  if (!memory) return out_of_memory(t->c, capacity);
  if (k->t.bytes) memcpy(memory, k->t.data, k->t.bytes);
  npuc_buffer_destroy(k->t.data);
  k->t.data = memory;
  k->capacity = capacity;
  return NPUC_OK;
}

static npuc_status keep(const turns *t, kept *k, const tensor *from) {
  k->t.bytes = 0; /* nothing there is wanted any more */
  NPUC_TRY(grow(t, k, from->bytes));
  k->t.type = from->type;
  k->t.shape = from->shape;
  k->t.bytes = from->bytes;
  if (from->bytes) memcpy(k->t.data, from->data, from->bytes);
  return NPUC_OK;
}

/* The element of this turn behind those before it. */
static npuc_status append(const turns *t, int32_t i, const tensor *from) {
  kept *k = &t->stacks[i];
  diag_place place = npuc_eval_place(t->c);
  NPUC_TRY(check_whole_bytes(t, from));
  if (t->n > 0 && !npuc_shape_equal(&k->t.shape, &from->shape))
    return npuc_fail(t->c->d, NPUC_DIAG_E0605, &place, "scan output %d changes its shape at turn %lld", (int)i, (long long)t->n);
  if (__builtin_add_overflow(k->t.bytes, from->bytes, &(size_t){0})) return out_of_memory(t->c, SIZE_MAX);
  NPUC_TRY(grow(t, k, k->t.bytes + from->bytes));
  k->t.type = from->type;
  k->t.shape = from->shape;
  if (from->bytes) memcpy((char *)k->t.data + k->t.bytes, from->data, from->bytes);
  k->t.bytes += from->bytes;
  return NPUC_OK;
}

static turns turns_create(const eval_context *c, int32_t n_carried, int32_t n_stacked) {
  const graph *body = npuc_node_body(c->node, 0);
  return (turns){.c = c,
                 .body = body,
                 .args = npuc_xcalloc(body->n_inputs + 1, sizeof(tensor)),
                 .results = npuc_xcalloc(body->n_outputs + 1, sizeof(tensor)),
                 .carried = npuc_xcalloc((size_t)n_carried + 1, sizeof(kept)),
                 .n_carried = n_carried,
                 .stacks = npuc_xcalloc((size_t)n_stacked + 1, sizeof(kept)),
                 .n_stacked = n_stacked};
}

static void turns_destroy(turns *t) {
  for (int32_t i = 0; i < t->n_carried; i++) npuc_buffer_destroy(t->carried[i].t.data);
  for (int32_t i = 0; i < t->n_stacked; i++) npuc_buffer_destroy(t->stacks[i].t.data);
  free(t->args);
  free(t->results);
  free(t->carried);
  free(t->stacks);
}

/* A body that wants an optional may be given what one holds. */
static npuc_status wrap(const turns *t, const value *formal, tensor *arg) {
  if (!npuc_dtype_is_optional(formal->type) || npuc_dtype_is_optional(arg->type)) return NPUC_OK;
  tensor *held, *list;
  NPUC_TRY(npuc_eval_keep_tensor(t->c, arg->type, &arg->shape, &held));
  npuc_eval_copy(arg, held);
  NPUC_TRY(npuc_eval_keep_tensor(t->c, formal->type, &(shape){.rank = 1, .dims = {1}}, &list));
  npuc_reference_set(list, 0, held);
  *arg = *list;
  return NPUC_OK;
}

/* An optional that went through no turn, where what it holds is wanted. */
static npuc_status unwrap(const turns *t, int32_t output, tensor *io_tensor) {
  const value *wanted = output < t->c->node->n_outputs ? t->c->node->outputs[output] : NULL;
  if (!wanted || !npuc_dtype_is_optional(io_tensor->type) || npuc_dtype_is_optional(wanted->type)) return NPUC_OK;
  diag_place place = npuc_eval_place(t->c);
  if (npuc_tensor_elements(io_tensor) == 0)
    return npuc_fail(t->c->d, NPUC_DIAG_E0605, &place, "output %d would be an optional without an element: there was no turn", (int)output);
  *io_tensor = *npuc_tensor_item(io_tensor, 0);
  return NPUC_OK;
}

/* One run: args are set but for what is carried. */
static npuc_status turn(turns *t, int32_t first_arg, int32_t first_result) {
  for (int32_t i = 0; i < t->n_carried; i++) {
    t->args[first_arg + i] = t->carried[i].t;
    NPUC_TRY(wrap(t, t->body->inputs[first_arg + i], &t->args[first_arg + i]));
  }
  NPUC_TRY(npuc_eval_run_body(t->c, 0, t->args, t->results));
  for (int32_t i = 0; i < t->n_carried; i++) NPUC_TRY(keep(t, &t->carried[i], &t->results[first_result + i]));
  for (int32_t i = 0; i < t->n_stacked; i++) NPUC_TRY(append(t, i, &t->results[first_result + t->n_carried + i]));
  t->n++;
  return NPUC_OK;
}

/* [turns][outer][inner] becomes [outer][turns][inner]; `backward`: the last turn first. */
static void unstack(const kept *k, int64_t n, size_t outer, bool backward, char *to) {
  size_t chunk = n && outer ? k->t.bytes / (size_t)n / outer : 0;
  for (size_t o = 0; o < outer && chunk; o++) {
    for (int64_t i = 0; i < n; i++) {
      size_t from = (size_t)(backward ? n - 1 - i : i);
      memcpy(to, (const char *)k->t.data + (from * outer + o) * chunk, chunk);
      to += chunk;
    }
  }
}

/* Without a turn, an element's shape is what the body says, unknown dims 0. */
static shape element_shape(const turns *t, int32_t i, int32_t first_result) {
  if (t->n > 0) return t->stacks[i].t.shape;
  shape s = t->body->outputs[first_result + t->n_carried + i]->shape;
  if (s.rank < 0) s.rank = 0;
  for (int32_t k = 0; k < s.rank; k++) s.dims[k] = dim_is_number(s.dims[k]) ? s.dims[k] : 0;
  return s;
}

static npuc_status give_stack(const turns *t, tensor *const *outputs, int32_t i, int32_t first_result, int64_t given_axis, bool backward) {
  int32_t output = t->n_carried + i, axis;
  if (output >= t->c->node->n_outputs || !outputs[output]) return NPUC_OK;
  shape element = element_shape(t, i, first_result), whole = {.rank = element.rank + 1};
  if (element.rank == MAX_RANK || !npuc_axis_normalize(given_axis, whole.rank, &axis)) {
    diag_place place = npuc_eval_place(t->c);
    return npuc_fail(t->c->d, NPUC_DIAG_E0605, &place, "scan output %d cannot be stacked along axis %lld", (int)i, (long long)given_axis);
  }
  size_t outer = 1;
  for (int32_t k = 0; k < axis; k++) outer *= (size_t)element.dims[k];
  for (int32_t k = 0; k < whole.rank; k++) whole.dims[k] = k < axis ? element.dims[k] : k > axis ? element.dims[k - 1] : t->n;
  NPUC_TRY(npuc_eval_allocate(t->c, outputs, output, &whole));
  if (outputs[output]->bytes) unstack(&t->stacks[i], t->n, outer, backward, outputs[output]->data);
  return NPUC_OK;
}

/* -- Loop -- */

static void put_scalar(tensor *arg, const value *formal, dtype type, void *memory, size_t bytes) {
  *arg = (tensor){.type = type, .shape = {.rank = formal->shape.rank == 1, .dims = {1}}, .data = memory, .bytes = bytes};
}

static npuc_status loop(turns *t, const tensor *const *inputs, tensor *const *outputs) {
  const eval_context *c = t->c;
  int64_t most = INT64_MAX, going = 1, number = 0;
  uint8_t cond = 1;
  if (inputs[0]) NPUC_TRY(read_one(c, "M", inputs[0], &most));
  if (inputs[1]) NPUC_TRY(read_one(c, "cond", inputs[1], &going));
  for (int32_t i = 0; i < t->n_carried; i++) NPUC_TRY(keep(t, &t->carried[i], inputs[2 + i]));
  put_captures(c, inputs, t->args, (size_t)(2 + t->n_carried));
  put_scalar(&t->args[0], t->body->inputs[0], DTYPE_I64, &number, sizeof number);
  put_scalar(&t->args[1], t->body->inputs[1], DTYPE_BOOL, &cond, sizeof cond);
  for (; number < most && going; number++) {
    NPUC_TRY(turn(t, 2, 1));
    NPUC_TRY(read_one(c, "cond", &t->results[0], &going));
  }
  for (int32_t i = 0; i < t->n_carried; i++) {
    tensor last = t->carried[i].t;
    NPUC_TRY(unwrap(t, i, &last));
    NPUC_TRY(give(c, outputs, i, &last));
  }
  for (int32_t i = 0; i < t->n_stacked; i++) NPUC_TRY(give_stack(t, outputs, i, 1, 0, false));
  return NPUC_OK;
}

npuc_status npuc_eval_loop(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  int32_t carried = c->node->n_inputs - 2 - npuc_node_captures(c->node);
  turns t = turns_create(c, carried, (int32_t)npuc_node_body(c->node, 0)->n_outputs - 1 - carried);
  npuc_status status = loop(&t, inputs, outputs);
  turns_destroy(&t);
  return status;
}

/* -- Scan -- */

static int64_t entry(const int_list *l, int32_t i) { return l->count ? l->values[i] : 0; }

/* Slice `at` of x along an axis, into `k`. */
static npuc_status cut(const turns *t, kept *k, const tensor *x, int32_t axis, int64_t at) {
  axis_split s = npuc_eval_split_at(&x->shape, axis);
  NPUC_TRY(check_whole_bytes(t, x));
  size_t bytes = s.axis ? x->bytes / (size_t)s.axis : 0, chunk = s.outer ? bytes / (size_t)s.outer : 0;
  k->t.bytes = 0;
  NPUC_TRY(grow(t, k, bytes));
  k->t.type = x->type;
  k->t.bytes = bytes;
  k->t.shape.rank = x->shape.rank - 1;
  for (int32_t i = 0; i < k->t.shape.rank; i++) k->t.shape.dims[i] = x->shape.dims[i < axis ? i : i + 1];
  for (int64_t o = 0; o < s.outer && chunk; o++)
    memcpy((char *)k->t.data + (size_t)o * chunk, (const char *)x->data + (size_t)(o * s.axis + at) * chunk, chunk);
  return NPUC_OK;
}

static npuc_status scan(turns *t, const tensor *const *inputs, tensor *const *outputs, kept *slices) {
  const scan_attributes *a = NPUC_ATTRS(scan_attributes, t->c->node);
  int32_t axes[64];
  int64_t length = -1;
  diag_place place = npuc_eval_place(t->c);
  if (a->num_scan_inputs > 64) return npuc_fail(t->c->d, NPUC_DIAG_E0605, &place, "more than 64 scan inputs");
  for (int32_t i = 0; i < a->num_scan_inputs; i++) {
    const tensor *x = inputs[t->n_carried + i];
    if (!npuc_axis_normalize(entry(&a->scan_input_axes, i), x->shape.rank, &axes[i]))
      return npuc_fail(t->c->d, NPUC_DIAG_E0605, &place, "scan input %d has no axis %lld", (int)i,
                       (long long)entry(&a->scan_input_axes, i));
    if (length >= 0 && x->shape.dims[axes[i]] != length)
      return npuc_fail(t->c->d, NPUC_DIAG_E0605, &place, "scan input %d has %lld slices, those before it %lld", (int)i,
                       (long long)x->shape.dims[axes[i]], (long long)length);
    length = x->shape.dims[axes[i]];
  }
  for (int32_t i = 0; i < t->n_carried; i++) NPUC_TRY(keep(t, &t->carried[i], inputs[i]));
  put_captures(t->c, inputs, t->args, (size_t)(t->n_carried + (int32_t)a->num_scan_inputs));
  for (int64_t at = 0; at < length; at++) {
    for (int32_t i = 0; i < a->num_scan_inputs; i++) {
      NPUC_TRY(cut(t, &slices[i], inputs[t->n_carried + i], axes[i], entry(&a->scan_input_directions, i) ? length - 1 - at : at));
      t->args[t->n_carried + i] = slices[i].t;
    }
    NPUC_TRY(turn(t, 0, 0));
  }
  for (int32_t i = 0; i < t->n_carried; i++) NPUC_TRY(give(t->c, outputs, i, &t->carried[i].t));
  for (int32_t i = 0; i < t->n_stacked; i++)
    NPUC_TRY(give_stack(t, outputs, i, 0, entry(&a->scan_output_axes, i), entry(&a->scan_output_directions, i) == 1));
  return NPUC_OK;
}

npuc_status npuc_eval_scan(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const scan_attributes *a = NPUC_ATTRS(scan_attributes, c->node);
  int32_t states = c->node->n_inputs - npuc_node_captures(c->node) - (int32_t)a->num_scan_inputs;
  turns t = turns_create(c, states, (int32_t)a->body->n_outputs - states);
  kept *slices = npuc_xcalloc((size_t)a->num_scan_inputs + 1, sizeof *slices);
  npuc_status status = scan(&t, inputs, outputs, slices);
  for (int32_t i = 0; i < a->num_scan_inputs; i++) npuc_buffer_destroy(slices[i].t.data);
  free(slices);
  turns_destroy(&t);
  return status;
}
