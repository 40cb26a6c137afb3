/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes as numbers of the program, their arithmetic and comparisons, and the checks that the exporter left behind. */
#include <string.h>

#include "import/pt2/aten.h"

npuc_status npuc_aten_sym_size(pt2_node *n) {
  value *x;
  int64_t axis;
  pt2_int length;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", 0, &axis));
  NPUC_TRY(npuc_pt2_axis(n, "dim", axis, x->shape.rank, &axis));
  NPUC_TRY(npuc_pt2_size(n, x, (int32_t)axis, &length));
  return npuc_pt2_result_int(n, length);
}

npuc_status npuc_aten_sym_numel(pt2_node *n) {
  value *x;
  pt2_int product = pt2_number(1), length;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  if (npuc_shape_elements(&x->shape, &product.number)) return npuc_pt2_result_int(n, product);
  product.number = 1;
  for (int32_t i = 0; i < x->shape.rank; i++) {
    value *sides[2];
    NPUC_TRY(npuc_pt2_size(n, x, i, &length));
    sides[0] = product.value ? product.value : npuc_pt2_constant_ints(n, &product.number, 1);
    sides[1] = length.value ? length.value : npuc_pt2_constant_ints(n, &length.number, 1);
    NPUC_TRY(npuc_pt2_binary(n, "Mul", sides[0], sides[1], &product.value));
  }
  return npuc_pt2_result_int(n, product);
}

/* Python's operators name their arguments a and b; older exporters left the names empty. */
static npuc_status operands(pt2_node *n, pt2_int *out, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const char *name = json_string_value(json_object_get(json_array_get(n->arguments, i), "name"));
    if (!name) return npuc_pt2_fail(n, NPUC_DIAG_E0332, NULL, "an operand has no name");
    json_t *entry = json_array_get(n->arguments, i);
    if (!name[0]) {
      name = i ? "b" : "a";
      json_object_set_new(entry, "name", json_string(name));
    }
    NPUC_TRY(npuc_pt2_symint(n, name, 0, &out[i]));
  }
  return NPUC_OK;
}

static int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

static bool compute(const char *op, int64_t a, int64_t b, int64_t *out) {
  if (strcmp(op, "Add") == 0) return !__builtin_add_overflow(a, b, out);
  if (strcmp(op, "Sub") == 0) return !__builtin_sub_overflow(a, b, out);
  if (strcmp(op, "Mul") == 0) return !__builtin_mul_overflow(a, b, out);
  if (strcmp(op, "Max") == 0 || strcmp(op, "Min") == 0) {
    *out = (a > b) == (op[1] == 'a') ? a : b;
    return true;
  }
  if (b == 0 || (a == INT64_MIN && b == -1)) return false;
  *out = strcmp(op, "Mod") == 0 ? a - floor_divide(a, b) * b : floor_divide(a, b);
  return true;
}

npuc_status npuc_aten_sym_binary(pt2_node *n) {
  pt2_int v[2], y = {0};
  value *sides[2];
  NPUC_TRY(operands(n, v, 2));
  if (!v[0].value && !v[1].value) {
    if (!compute(n->onnx, v[0].number, v[1].number, &y.number)) return npuc_pt2_fail(n, NPUC_DIAG_E0335, NULL, "the size has no value");
    return npuc_pt2_result_int(n, y);
  }
  for (size_t i = 0; i < 2; i++) sides[i] = v[i].value ? v[i].value : npuc_pt2_constant_ints(n, &v[i].number, 1);
  if (strcmp(n->onnx, "FloorDiv") == 0) { /* Div truncates; what Mod leaves is taken off first */
    value *rest;
    NPUC_TRY(npuc_pt2_binary(n, "Mod", sides[0], sides[1], &rest));
    NPUC_TRY(npuc_pt2_binary(n, "Sub", sides[0], rest, &sides[0]));
    NPUC_TRY(npuc_pt2_binary(n, "Div", sides[0], sides[1], &y.value));
  } else {
    NPUC_TRY(npuc_pt2_binary(n, n->onnx, sides[0], sides[1], &y.value));
  }
  return npuc_pt2_result_int(n, y);
}

npuc_status npuc_aten_sym_neg(pt2_node *n) {
  pt2_int v, y = {0};
  NPUC_TRY(operands(n, &v, 1));
  y.number = -v.number;
  if (v.value) NPUC_TRY(npuc_pt2_unary(n, "Neg", v.value, &y.value));
  return npuc_pt2_result_int(n, y);
}

/* A condition on a tensor or on sizes that the exporter assumes; the static stage fixes the sizes, within the ranges that the program states. */
npuc_status npuc_aten_check(pt2_node *n) {
  n->used = ~(uint64_t)0;
  return NPUC_OK;
}

/* -- conditions on sizes: most are read by checks only, and then the nodes go; some choose a branch (cond) -- */
static bool is_integer(pt2_node *n, size_t i) {
  static const char *const kinds[] = {"as_int", "as_sym_int", "as_bool", "as_sym_bool"};
  json_t *arg = json_object_get(json_array_get(n->arguments, i), "arg");
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    if (json_object_get(arg, kinds[k])) return true;
  }
  return false;
}

static bool holds(const char *op, int64_t a, int64_t b) {
  static const char *const ops[] = {"Equal", "NotEqual", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or"};
  const bool results[] = {a == b, a != b, a<b, a <= b, a> b, a >= b, a && b, a || b};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    if (strcmp(op, ops[i]) == 0) return results[i];
  }
  return false;
}

static npuc_status condition_value(pt2_node *n, const pt2_int *v, value **out_sides) {
  bool logical = strcmp(n->onnx, "And") == 0 || strcmp(n->onnx, "Or") == 0;
  for (size_t i = 0; i < 2; i++) {
    out_sides[i] = v[i].value ? v[i].value : npuc_pt2_constant_ints(n, &v[i].number, 1);
    NPUC_TRY(npuc_pt2_cast(n, out_sides[i], logical ? DTYPE_BOOL : DTYPE_I64, &out_sides[i]));
  }
  return NPUC_OK;
}

npuc_status npuc_aten_sym_compare(pt2_node *n) {
  pt2_int v[2], y = {0};
  value *sides[2];
  if (!is_integer(n, 0) || !is_integer(n, 1))
    return npuc_aten_check(n); /* of numbers with a point: nothing that is computed here reads it */
  NPUC_TRY(operands(n, v, 2));
  if (!v[0].value && !v[1].value) return npuc_pt2_result_int(n, pt2_number(holds(n->onnx, v[0].number, v[1].number)));
  NPUC_TRY(condition_value(n, v, sides));
  bool negated = strcmp(n->onnx, "NotEqual") == 0;
  NPUC_TRY(npuc_pt2_binary(n, negated ? "Equal" : n->onnx, sides[0], sides[1], &y.value));
  if (negated) NPUC_TRY(npuc_pt2_unary(n, "Not", y.value, &y.value));
  return npuc_pt2_result_int(n, y);
}

npuc_status npuc_aten_sym_not(pt2_node *n) {
  pt2_int v, y = {0};
  if (!is_integer(n, 0)) return npuc_aten_check(n);
  NPUC_TRY(operands(n, &v, 1));
  if (!v.value) return npuc_pt2_result_int(n, pt2_number(!v.number));
  NPUC_TRY(npuc_pt2_cast(n, v.value, DTYPE_BOOL, &y.value));
  NPUC_TRY(npuc_pt2_unary(n, "Not", y.value, &y.value));
  return npuc_pt2_result_int(n, y);
}
