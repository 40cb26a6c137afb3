/* SPDX-License-Identifier: Apache-2.0 */
/* IR nodes by their ONNX names. Each new node is inferred at once, so that the translators that follow know types and ranks. */
#include <assert.h>
#include <string.h>

#include "import/pt2/source.h"

npuc_status npuc_pt2_emit(pt2_node *n, const char *op, value *const *inputs, size_t n_inputs, int32_t n_outputs, node **out_node) {
  const op_def *def = npuc_op_find("", op);
  if (!def)
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, NULL, "its translation needs the operator %s, which this build of npuc does not have", op);
  while (n_inputs && !inputs[n_inputs - 1]) n_inputs--;
  *out_node = npuc_graph_insert_node(n->s->g, NULL, def, npuc_graph_unique_name(n->s->g, n->name), inputs, (int32_t)n_inputs, n_outputs,
                                     n->location);
  return NPUC_OK;
}

/* The attributes are set: types and shapes of the outputs. */
static npuc_status finish(pt2_node *n, node *made, value **out) {
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  *out = made->outputs[0];
  return NPUC_OK;
}

static npuc_status simple(pt2_node *n, const char *op, value *const *inputs, size_t count, value **out) {
  node *made = NULL;
  NPUC_TRY(npuc_pt2_emit(n, op, inputs, count, 1, &made));
  return finish(n, made, out);
}

npuc_status npuc_pt2_unary(pt2_node *n, const char *op, value *x, value **out) { return simple(n, op, &x, 1, out); }
npuc_status npuc_pt2_binary(pt2_node *n, const char *op, value *a, value *b, value **out) {
  return simple(n, op, (value *[]){a, b}, 2, out);
}
npuc_status npuc_pt2_ternary(pt2_node *n, const char *op, value *a, value *b, value *c, value **out) {
  return simple(n, op, (value *[]){a, b, c}, 3, out);
}

/* -- attributes -- */
static void *field_of(node *n, const char *attribute, attr_kind kind) {
  const attr_field *field = npuc_op_attribute(n->op, attribute);
  assert(field && field->kind == kind); /* a translator's slip */
  (void)kind;
  return (char *)n->attributes + field->offset;
}

void npuc_pt2_set_int(node *n, const char *attribute, int64_t v) { *(int64_t *)field_of(n, attribute, ATTR_INT) = v; }
void npuc_pt2_set_float(node *n, const char *attribute, double v) { *(float *)field_of(n, attribute, ATTR_FLOAT) = (float)v; }
void npuc_pt2_set_string(node *n, const char *attribute, const char *v) {
  *(const char **)field_of(n, attribute, ATTR_STRING) = npuc_intern(n->owner->module->names, v);
}
void npuc_pt2_set_ints(node *n, const char *attribute, const int64_t *v, size_t count) {
  int_list *list = field_of(n, attribute, ATTR_INTS);
  list->values = npuc_arena_copy(n->owner->module->arena, v, count * sizeof *v);
  list->count = (int32_t)count;
}

void npuc_pt2_set_strings(node *n, const char *attribute, const char *const *v, size_t count) {
  string_list *list = field_of(n, attribute, ATTR_STRINGS);
  list->values = (const char **)npuc_arena_array(n->owner->module->arena, count, sizeof *v);
  for (size_t i = 0; i < count; i++) list->values[i] = npuc_intern(n->owner->module->names, v[i]);
  list->count = (int32_t)count;
}

/* -- constants -- */
static value *add_constant(pt2_node *n, tensor *t) {
  value *v = npuc_graph_add_constant(n->s->g, npuc_graph_unique_name(n->s->g, npuc_arena_printf(n->s->scratch, "%s_c", n->name)), t);
  npuc_tensor_release(t);
  return v;
}

value *npuc_pt2_constant(pt2_node *n, dtype type, double v) {
  tensor t;
  shape scalar = SHAPE_SCALAR;
  npuc_status status = npuc_tensor_create(n->s->d, type, &scalar, &t);
  assert(status == NPUC_OK); /* eight bytes at most; a process without them has ended */
  (void)status;
  npuc_tensor_set(&t, 0, v);
  return add_constant(n, &t);
}

value *npuc_pt2_constant_int(pt2_node *n, dtype type, int64_t v) {
  tensor t;
  shape scalar = SHAPE_SCALAR;
  npuc_status status = npuc_tensor_create(n->s->d, type, &scalar, &t);
  assert(status == NPUC_OK);
  (void)status;
  if (npuc_dtype_is_integer(type) || type == DTYPE_BOOL)
    npuc_tensor_set_int(&t, 0, v);
  else
    npuc_tensor_set(&t, 0, (double)v);
  return add_constant(n, &t);
}

value *npuc_pt2_constant_ints(pt2_node *n, const int64_t *v, size_t count) {
  return npuc_graph_constant_ints(n->s->g, npuc_arena_printf(n->s->scratch, "%s_c", n->name), DTYPE_I64, v, (int64_t)count);
}

npuc_status npuc_pt2_scalar_value(pt2_node *n, const pt2_scalar *v, dtype type, value **out) {
  if (!v->value) {
    *out = v->is_float ? npuc_pt2_constant(n, type, v->real) : npuc_pt2_constant_int(n, type, v->integer);
    return NPUC_OK;
  }
  value *scalar;
  NPUC_TRY(npuc_pt2_squeeze(n, v->value, (int64_t[]){0}, 1, &scalar));
  return npuc_pt2_cast(n, scalar, type, out);
}

/* -- moving -- */
npuc_status npuc_pt2_cast(pt2_node *n, value *x, dtype type, value **out) {
  *out = x;
  if (x->type == type) return NPUC_OK;
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Cast", &x, 1, 1, &made));
  npuc_pt2_set_int(made, "to", (int64_t)type);
  return finish(n, made, out);
}

npuc_status npuc_pt2_shape_value(pt2_node *n, const pt2_int *dims, size_t count, value **out) {
  value **parts = NPUC_NEW_ARRAY(n->s->scratch, count + 1, value *);
  int64_t *numbers = NPUC_NEW_ARRAY(n->s->scratch, count + 1, int64_t);
  bool known = true;
  for (size_t i = 0; i < count; i++) {
    numbers[i] = dims[i].number;
    known = known && !dims[i].value;
  }
  if (known) {
    *out = npuc_pt2_constant_ints(n, numbers, count);
    return NPUC_OK;
  }
  for (size_t i = 0; i < count; i++) parts[i] = dims[i].value ? dims[i].value : npuc_pt2_constant_ints(n, &numbers[i], 1);
  *out = parts[0];
  if (count == 1) return NPUC_OK;
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Concat", parts, count, 1, &made));
  npuc_pt2_set_int(made, "axis", 0);
  return finish(n, made, out);
}

/* One length that is known at run time only becomes -1, "what is left", so that no shape is computed at run time; not beside a zero. */
npuc_status npuc_pt2_reshape(pt2_node *n, value *x, const pt2_int *dims, size_t count, value **out) {
  pt2_int *plain = NPUC_NEW_ARRAY(n->s->scratch, count + 1, pt2_int);
  size_t n_dynamic = 0, which = 0, n_open = 0, n_zero = 0;
  for (size_t i = 0; i < count; i++) {
    plain[i] = dims[i];
    n_zero += !dims[i].value && dims[i].number == 0;
    if (dims[i].value) {
      n_dynamic++;
      which = i;
    } else {
      n_open += dims[i].number == -1;
    }
  }
  if (n_dynamic == 1 && n_open == 0 && n_zero == 0) plain[which] = pt2_number(-1);
  value *target;
  NPUC_TRY(npuc_pt2_shape_value(n, plain, count, &target));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Reshape", (value *[]){x, target}, 2, 1, &made));
  if (n_zero) npuc_pt2_set_int(made, "allowzero", 1);
  return finish(n, made, out);
}

npuc_status npuc_pt2_transpose(pt2_node *n, value *x, const int64_t *perm, size_t rank, value **out) {
  bool moves = false;
  for (size_t i = 0; i < rank; i++) moves = moves || perm[i] != (int64_t)i;
  *out = x;
  if (!moves) return NPUC_OK;
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Transpose", &x, 1, 1, &made));
  npuc_pt2_set_ints(made, "perm", perm, rank);
  return finish(n, made, out);
}

static npuc_status with_axes(pt2_node *n, const char *op, value *x, const int64_t *axes, size_t count, value **out) {
  *out = x;
  return count ? npuc_pt2_binary(n, op, x, npuc_pt2_constant_ints(n, axes, count), out) : NPUC_OK;
}

npuc_status npuc_pt2_squeeze(pt2_node *n, value *x, const int64_t *axes, size_t count, value **out) {
  return with_axes(n, "Squeeze", x, axes, count, out);
}

npuc_status npuc_pt2_unsqueeze(pt2_node *n, value *x, const int64_t *axes, size_t count, value **out) {
  return with_axes(n, "Unsqueeze", x, axes, count, out);
}

npuc_status npuc_pt2_slice(pt2_node *n, value *x, int64_t axis, pt2_int start, pt2_int end, int64_t step, value **out) {
  value *inputs[5] = {x, NULL, NULL, npuc_pt2_constant_ints(n, &axis, 1), npuc_pt2_constant_ints(n, &step, 1)};
  NPUC_TRY(npuc_pt2_shape_value(n, &start, 1, &inputs[1]));
  NPUC_TRY(npuc_pt2_shape_value(n, &end, 1, &inputs[2]));
  return simple(n, "Slice", inputs, 5, out);
}

npuc_status npuc_pt2_size(pt2_node *n, value *x, int32_t axis, pt2_int *out) {
  *out = pt2_number(x->shape.dims[axis]);
  if (dim_is_number(x->shape.dims[axis])) return NPUC_OK;
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Shape", &x, 1, 1, &made));
  npuc_pt2_set_int(made, "start", axis);
  npuc_pt2_set_int(made, "end", axis + 1);
  out->number = 0;
  return finish(n, made, &out->value);
}

npuc_status npuc_pt2_expand(pt2_node *n, value *x, const pt2_int *dims, size_t count, value **out) {
  bool same = (int32_t)count == x->shape.rank;
  pt2_int *lengths = NPUC_NEW_ARRAY(n->s->scratch, count + 1, pt2_int);
  for (size_t i = 0; i < count; i++) {
    lengths[i] = dims[i];
    bool keeps = !dims[i].value && dims[i].number == -1;
    if (keeps) lengths[i].number = 1; /* Expand broadcasts: a length of 1 keeps the operand's */
    int32_t own = (int32_t)i - ((int32_t)count - x->shape.rank);
    same = same && (keeps || (!dims[i].value && own >= 0 && x->shape.dims[own] == dims[i].number));
  }
  *out = x;
  if (same) return NPUC_OK;
  value *target;
  NPUC_TRY(npuc_pt2_shape_value(n, lengths, count, &target));
  return npuc_pt2_binary(n, "Expand", x, target, out);
}

npuc_status npuc_pt2_expand_like(pt2_node *n, value *x, value *like, value **out) {
  *out = x;
  if (npuc_shape_equal(&x->shape, &like->shape)) return NPUC_OK;
  pt2_int dims[MAX_RANK];
  for (int32_t i = 0; i < like->shape.rank; i++) NPUC_TRY(npuc_pt2_size(n, like, i, &dims[i]));
  return npuc_pt2_expand(n, x, dims, (size_t)like->shape.rank, out);
}

npuc_status npuc_pt2_axis(pt2_node *n, const char *argument, int64_t axis, int32_t rank, int64_t *out) {
  int32_t known = rank ? rank : 1;
  *out = axis < 0 ? axis + known : axis;
  if (*out >= 0 && *out < known) return NPUC_OK;
  return npuc_pt2_fail(n, NPUC_DIAG_E0335, argument, "axis %lld of a tensor with %d axes", (long long)axis, rank);
}

/* -- types -- */
/* torch.result_type: categories bool < integer < float; within the highest one, tensors with axes decide over those without, and both over
 * plain numbers (https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc). */
static int category(dtype t) { return t == DTYPE_BOOL ? 0 : pt2_is_float(t) ? 2 : 1; }

static dtype wider(dtype a, dtype b) {
  if (a == DTYPE_NONE || a == b) return b;
  if (b == DTYPE_NONE) return a;
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (category(a) == 2) {
    if ((a == DTYPE_F16 && b == DTYPE_BF16) || (a == DTYPE_BF16 && b == DTYPE_F16)) return DTYPE_F32;
    return npuc_dtype_bits(a) >= npuc_dtype_bits(b) ? a : b;
  }
  bool a_unsigned = npuc_dtype_kind(a) == KIND_UINT, b_unsigned = npuc_dtype_kind(b) == KIND_UINT;
  if (a_unsigned == b_unsigned) return npuc_dtype_bits(a) >= npuc_dtype_bits(b) ? a : b;
  dtype u = a_unsigned ? a : b, i = a_unsigned ? b : a;
  if (npuc_dtype_bits(i) > npuc_dtype_bits(u)) return i;
  return npuc_dtype_bits(u) == 8 ? DTYPE_I16 : npuc_dtype_bits(u) == 16 ? DTYPE_I32 : DTYPE_I64;
}

dtype npuc_pt2_promote(value *const *values, size_t count, const pt2_scalar *scalar) {
  dtype dimensioned = DTYPE_NONE, zero_dim = DTYPE_NONE, plain = DTYPE_NONE;
  for (size_t i = 0; i < count; i++) {
    if (!values[i]) continue;
    dtype *to = values[i]->shape.rank == 0 ? &zero_dim : &dimensioned;
    *to = wider(*to, values[i]->type);
  }
  if (scalar) plain = scalar->is_float ? DTYPE_F32 : scalar->is_bool ? DTYPE_BOOL : DTYPE_I64;
  dtype result = dimensioned;
  if (zero_dim != DTYPE_NONE && (result == DTYPE_NONE || category(zero_dim) > category(result))) result = zero_dim;
  if (plain != DTYPE_NONE && (result == DTYPE_NONE || category(plain) > category(result))) result = plain;
  return result;
}
