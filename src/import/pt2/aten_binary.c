/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of two tensors, or of a tensor and a number, with torch's type promotion. */
#include <string.h>

#include "import/pt2/aten.h"

static npuc_status side(pt2_node *n, const char *name, value **out_value, pt2_scalar *out_scalar) {
  *out_value = NULL;
  if (npuc_pt2_is_tensor(n, name)) return npuc_pt2_tensor(n, name, out_value);
  return npuc_pt2_scalar_arg(n, name, (pt2_scalar){0}, out_scalar);
}

npuc_status npuc_pt2_read_pair(pt2_node *n, const char *first, const char *second, bool to_float, npuc_pt2_pair *out) {
  pt2_scalar sa = {0}, sb = {0};
  NPUC_TRY(side(n, first, &out->a, &sa));
  NPUC_TRY(side(n, second, &out->b, &sb));
  out->type = npuc_pt2_promote((value *[]){out->a, out->b}, 2, !out->a ? &sa : !out->b ? &sb : NULL);
  if (to_float && !pt2_is_float(out->type)) out->type = DTYPE_F32;
  NPUC_TRY(out->a ? npuc_pt2_cast(n, out->a, out->type, &out->a) : npuc_pt2_scalar_value(n, &sa, out->type, &out->a));
  return out->b ? npuc_pt2_cast(n, out->b, out->type, &out->b) : npuc_pt2_scalar_value(n, &sb, out->type, &out->b);
}

static npuc_status scale_by(pt2_node *n, const char *factor, value *x, value **out) {
  pt2_scalar v;
  NPUC_TRY(npuc_pt2_scalar_arg(n, factor, (pt2_scalar){.integer = 1, .real = 1.0}, &v));
  *out = x;
  if (!v.value && v.real == 1.0) return NPUC_OK;
  value *c;
  NPUC_TRY(npuc_pt2_scalar_value(n, &v, x->type, &c));
  return npuc_pt2_binary(n, "Mul", x, c, out);
}

npuc_status npuc_aten_binary(pt2_node *n) {
  npuc_pt2_pair p;
  value *y;
  NPUC_TRY(npuc_pt2_read_pair(n, "self", "other", false, &p));
  if (p.type == DTYPE_BOOL)
    NPUC_TRY(npuc_pt2_binary(n, strcmp(n->onnx, "Max") == 0 ? "Or" : "And", p.a, p.b, &y));
  else
    NPUC_TRY(npuc_pt2_binary(n, n->onnx, p.a, p.b, &y));
  return npuc_pt2_result(n, y);
}

/* self + alpha other */
npuc_status npuc_aten_add(pt2_node *n) {
  npuc_pt2_pair p;
  value *y;
  NPUC_TRY(npuc_pt2_read_pair(n, "self", "other", false, &p));
  NPUC_TRY(scale_by(n, "alpha", p.b, &p.b));
  if (p.type == DTYPE_BOOL)
    NPUC_TRY(npuc_pt2_binary(n, "Or", p.a, p.b, &y));
  else
    NPUC_TRY(npuc_pt2_binary(n, n->onnx, p.a, p.b, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_rsub(pt2_node *n) {
  npuc_pt2_pair p;
  value *y;
  NPUC_TRY(npuc_pt2_read_pair(n, "self", "other", false, &p));
  NPUC_TRY(scale_by(n, "alpha", p.a, &p.a));
  NPUC_TRY(npuc_pt2_binary(n, "Sub", p.b, p.a, &y));
  return npuc_pt2_result(n, y);
}

/* floor(a / b). Integers: ONNX's Div truncates, so what Mod (sign of the divisor) leaves is taken off first and the quotient is exact. */
static npuc_status floor_quotient(pt2_node *n, const npuc_pt2_pair *p, value **out) {
  if (pt2_is_float(p->type)) {
    NPUC_TRY(npuc_pt2_binary(n, "Div", p->a, p->b, out));
    return npuc_pt2_unary(n, "Floor", *out, out);
  }
  value *rest, *even;
  NPUC_TRY(npuc_pt2_binary(n, "Mod", p->a, p->b, &rest));
  NPUC_TRY(npuc_pt2_binary(n, "Sub", p->a, rest, &even));
  return npuc_pt2_binary(n, "Div", even, p->b, out);
}

static npuc_status truncated(pt2_node *n, value *x, value **out) {
  value *sign;
  NPUC_TRY(npuc_pt2_unary(n, "Sign", x, &sign));
  NPUC_TRY(npuc_pt2_unary(n, "Abs", x, &x));
  NPUC_TRY(npuc_pt2_unary(n, "Floor", x, &x));
  return npuc_pt2_binary(n, "Mul", x, sign, out);
}

npuc_status npuc_aten_div(pt2_node *n) {
  npuc_pt2_pair p;
  value *y;
  const char *rounding;
  NPUC_TRY(npuc_pt2_string(n, "rounding_mode", NULL, &rounding));
  NPUC_TRY(npuc_pt2_read_pair(n, "self", "other", !rounding, &p));
  if (rounding && strcmp(rounding, "floor") == 0) {
    NPUC_TRY(floor_quotient(n, &p, &y));
    return npuc_pt2_result(n, y);
  }
  NPUC_TRY(npuc_pt2_binary(n, "Div", p.a, p.b, &y));
  if (rounding && pt2_is_float(p.type)) NPUC_TRY(truncated(n, y, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_floor_divide(pt2_node *n) {
  npuc_pt2_pair p;
  value *y;
  NPUC_TRY(npuc_pt2_read_pair(n, "self", "other", false, &p));
  NPUC_TRY(floor_quotient(n, &p, &y));
  return npuc_pt2_result(n, y);
}

/* remainder has the divisor's sign, fmod the dividend's. Of floats: ONNX's Mod with fmod, put right where the signs differ. */
npuc_status npuc_aten_remainder(pt2_node *n) {
  npuc_pt2_pair p;
  NPUC_TRY(npuc_pt2_read_pair(n, "self", "other", false, &p));
  bool c_sign = strcmp(n->onnx, "c") == 0;
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Mod", (value *[]){p.a, p.b}, 2, 1, &made));
  npuc_pt2_set_int(made, "fmod", c_sign || pt2_is_float(p.type));
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  value *y = made->outputs[0];
  if (!c_sign && pt2_is_float(p.type)) {
    value *zero = npuc_pt2_constant(n, p.type, 0.0), *product, *differ, *fixed;
    NPUC_TRY(npuc_pt2_unary(n, "Sign", y, &product));
    value *sign_b;
    NPUC_TRY(npuc_pt2_unary(n, "Sign", p.b, &sign_b));
    NPUC_TRY(npuc_pt2_binary(n, "Mul", product, sign_b, &product));
    NPUC_TRY(npuc_pt2_binary(n, "Less", product, zero, &differ));
    NPUC_TRY(npuc_pt2_binary(n, "Add", y, p.b, &fixed));
    NPUC_TRY(npuc_pt2_ternary(n, "Where", differ, fixed, y, &y));
  }
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_pow(pt2_node *n) {
  npuc_pt2_pair p;
  value *y;
  NPUC_TRY(npuc_pt2_read_pair(n, "self", "exponent", false, &p));
  const tensor *e = p.b->constant;
  bool is_square = e && npuc_tensor_elements(e) == 1 && e->shape.rank == 0 && npuc_tensor_get(e, 0) == 2.0;
  if (is_square)
    NPUC_TRY(npuc_pt2_binary(n, "Mul", p.a, p.a, &y)); /* exact, and what NPUs have */
  else
    NPUC_TRY(npuc_pt2_binary(n, "Pow", p.a, p.b, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_compare(pt2_node *n) {
  npuc_pt2_pair p;
  value *y;
  NPUC_TRY(npuc_pt2_read_pair(n, "self", "other", false, &p));
  bool different = strcmp(n->onnx, "NotEqual") == 0;
  bool ordered = !different && strcmp(n->onnx, "Equal") != 0;
  if (p.type == DTYPE_BOOL && ordered) { /* ONNX orders numbers only */
    NPUC_TRY(npuc_pt2_cast(n, p.a, DTYPE_I32, &p.a));
    NPUC_TRY(npuc_pt2_cast(n, p.b, DTYPE_I32, &p.b));
  }
  NPUC_TRY(npuc_pt2_binary(n, different ? "Equal" : n->onnx, p.a, p.b, &y));
  if (different) NPUC_TRY(npuc_pt2_unary(n, "Not", y, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_logical(pt2_node *n) {
  value *a, *b, *y;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &a));
  NPUC_TRY(npuc_pt2_tensor(n, "other", &b));
  NPUC_TRY(npuc_pt2_cast(n, a, DTYPE_BOOL, &a));
  NPUC_TRY(npuc_pt2_cast(n, b, DTYPE_BOOL, &b));
  NPUC_TRY(npuc_pt2_binary(n, n->onnx, a, b, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_bitwise(pt2_node *n) {
  npuc_pt2_pair p;
  value *y;
  NPUC_TRY(npuc_pt2_read_pair(n, "self", "other", false, &p));
  const char *op = p.type == DTYPE_BOOL ? n->onnx : npuc_arena_printf(n->s->scratch, "Bitwise%s", n->onnx);
  NPUC_TRY(npuc_pt2_binary(n, op, p.a, p.b, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_where(pt2_node *n) {
  value *condition, *y;
  npuc_pt2_pair p;
  NPUC_TRY(npuc_pt2_tensor(n, "condition", &condition));
  NPUC_TRY(npuc_pt2_cast(n, condition, DTYPE_BOOL, &condition));
  NPUC_TRY(npuc_pt2_read_pair(n, "self", "other", false, &p));
  NPUC_TRY(npuc_pt2_ternary(n, "Where", condition, p.a, p.b, &y));
  return npuc_pt2_result(n, y);
}

/* Bounds are numbers or tensors; a tensor broadcasts, which ONNX's Clip does not. */
static npuc_status bound(pt2_node *n, const char *name, const char *op, value *x, value **out) {
  *out = x;
  if (!npuc_pt2_has(n, name)) return NPUC_OK;
  value *limit;
  pt2_scalar v = {0};
  NPUC_TRY(side(n, name, &limit, &v));
  NPUC_TRY(limit ? npuc_pt2_cast(n, limit, x->type, &limit) : npuc_pt2_scalar_value(n, &v, x->type, &limit));
  return npuc_pt2_binary(n, op, x, limit, out);
}

npuc_status npuc_aten_clamp(pt2_node *n) {
  value *x;
  pt2_scalar lo = {0}, hi = {0};
  pt2_meta meta;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  if (!n->in_place) {
    NPUC_TRY(npuc_pt2_output_meta(n, 0, &meta));
    NPUC_TRY(npuc_pt2_cast(n, x, meta.type, &x));
  }
  bool has_lo = npuc_pt2_has(n, "min"), has_hi = npuc_pt2_has(n, "max");
  bool numbers = !npuc_pt2_is_tensor(n, "min") && !npuc_pt2_is_tensor(n, "max");
  if (numbers && pt2_is_float(x->type)) {
    value *a = NULL, *b = NULL, *y;
    NPUC_TRY(npuc_pt2_scalar_arg(n, "min", lo, &lo));
    NPUC_TRY(npuc_pt2_scalar_arg(n, "max", hi, &hi));
    if (has_lo) NPUC_TRY(npuc_pt2_scalar_value(n, &lo, x->type, &a));
    if (has_hi) NPUC_TRY(npuc_pt2_scalar_value(n, &hi, x->type, &b));
    NPUC_TRY(npuc_pt2_ternary(n, "Clip", x, a, b, &y));
    return npuc_pt2_result(n, y);
  }
  NPUC_TRY(bound(n, "min", "Max", x, &x));
  NPUC_TRY(bound(n, "max", "Min", x, &x));
  return npuc_pt2_result(n, x);
}

npuc_status npuc_aten_masked_fill(pt2_node *n) {
  value *x, *mask, *fill, *y;
  pt2_scalar v = {0};
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_tensor(n, "mask", &mask));
  NPUC_TRY(side(n, "value", &fill, &v));
  NPUC_TRY(fill ? npuc_pt2_cast(n, fill, x->type, &fill) : npuc_pt2_scalar_value(n, &v, x->type, &fill));
  NPUC_TRY(npuc_pt2_ternary(n, "Where", mask, fill, x, &y));
  return npuc_pt2_result(n, y);
}

/* self + value * (a op b) */
npuc_status npuc_aten_addc(pt2_node *n) {
  value *x, *a, *b, *y;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_tensor(n, "tensor1", &a));
  NPUC_TRY(npuc_pt2_tensor(n, "tensor2", &b));
  NPUC_TRY(npuc_pt2_binary(n, n->onnx, a, b, &y));
  NPUC_TRY(scale_by(n, "value", y, &y));
  NPUC_TRY(npuc_pt2_binary(n, "Add", x, y, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_lerp(pt2_node *n) {
  value *x, *end, *weight, *y;
  pt2_scalar v = {0};
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_tensor(n, "end", &end));
  NPUC_TRY(side(n, "weight", &weight, &v));
  if (!weight) NPUC_TRY(npuc_pt2_scalar_value(n, &v, x->type, &weight));
  NPUC_TRY(npuc_pt2_binary(n, "Sub", end, x, &y));
  NPUC_TRY(npuc_pt2_binary(n, "Mul", y, weight, &y));
  NPUC_TRY(npuc_pt2_binary(n, "Add", x, y, &y));
  return npuc_pt2_result(n, y);
}
