/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one tensor, element by element. Integers become the default float (float32) where torch says so. */
#include <math.h>
#include <string.h>

#include "import/pt2/aten.h"

static npuc_status operand(pt2_node *n, value **out) { return npuc_pt2_tensor(n, npuc_pt2_has(n, "self") ? "self" : "input", out); }

static npuc_status float_operand(pt2_node *n, value **out) {
  NPUC_TRY(operand(n, out));
  return pt2_is_float((*out)->type) ? NPUC_OK : npuc_pt2_cast(n, *out, DTYPE_F32, out);
}

static value *number(pt2_node *n, const value *like, double v) { return npuc_pt2_constant(n, like->type, v); }

npuc_status npuc_aten_unary(pt2_node *n) {
  value *x, *y;
  if (strcmp(n->onnx, "Abs") == 0 && npuc_pt2_is_complex(n, "self")) return npuc_pt2_complex_abs(n);
  NPUC_TRY(operand(n, &x));
  NPUC_TRY(npuc_pt2_unary(n, n->onnx, x, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_float_unary(pt2_node *n) {
  value *x, *y;
  NPUC_TRY(float_operand(n, &x));
  NPUC_TRY(npuc_pt2_unary(n, n->onnx, x, &y));
  return npuc_pt2_result(n, y);
}

/* Of integers: themselves. Round is half to even in both; torch's decimals are not ONNX's. */
npuc_status npuc_aten_rounding(pt2_node *n) {
  value *x, *y;
  int64_t decimals;
  NPUC_TRY(operand(n, &x));
  NPUC_TRY(npuc_pt2_int_arg(n, "decimals", 0, &decimals));
  if (decimals) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "decimals", "rounding to %lld decimals", (long long)decimals);
  if (!pt2_is_float(x->type)) return npuc_aten_identity(n);
  NPUC_TRY(npuc_pt2_unary(n, n->onnx, x, &y));
  return npuc_pt2_result(n, y);
}

/* sign(x) floor(|x|) */
npuc_status npuc_aten_trunc(pt2_node *n) {
  value *x, *y, *sign;
  NPUC_TRY(operand(n, &x));
  if (!pt2_is_float(x->type)) return npuc_aten_identity(n);
  NPUC_TRY(npuc_pt2_unary(n, "Abs", x, &y));
  NPUC_TRY(npuc_pt2_unary(n, "Floor", y, &y));
  NPUC_TRY(npuc_pt2_unary(n, "Sign", x, &sign));
  NPUC_TRY(npuc_pt2_binary(n, "Mul", y, sign, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_logical_not(pt2_node *n) {
  value *x, *y;
  NPUC_TRY(operand(n, &x));
  NPUC_TRY(npuc_pt2_cast(n, x, DTYPE_BOOL, &x));
  NPUC_TRY(npuc_pt2_unary(n, "Not", x, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_bitwise_not(pt2_node *n) {
  value *x, *y;
  NPUC_TRY(operand(n, &x));
  NPUC_TRY(npuc_pt2_unary(n, x->type == DTYPE_BOOL ? "Not" : "BitwiseNot", x, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_float_test(pt2_node *n) {
  value *x, *y;
  NPUC_TRY(float_operand(n, &x));
  NPUC_TRY(npuc_pt2_unary(n, n->onnx, x, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_rsqrt(pt2_node *n) {
  value *x, *y;
  NPUC_TRY(float_operand(n, &x));
  NPUC_TRY(npuc_pt2_unary(n, "Sqrt", x, &y));
  NPUC_TRY(npuc_pt2_unary(n, "Reciprocal", y, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_square(pt2_node *n) {
  value *x, *y;
  NPUC_TRY(operand(n, &x));
  NPUC_TRY(npuc_pt2_binary(n, "Mul", x, x, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_log_base(pt2_node *n) {
  static const double inverse[] = {1.4426950408889634, 0.4342944819032518}; /* 1/ln 2, 1/ln 10 */
  value *x, *y;
  NPUC_TRY(float_operand(n, &x));
  NPUC_TRY(npuc_pt2_unary(n, "Log", x, &y));
  NPUC_TRY(npuc_pt2_binary(n, "Mul", y, number(n, x, inverse[strcmp(n->onnx, "10") == 0]), &y));
  return npuc_pt2_result(n, y);
}

/* Near 0, log(1 + x) in one rounding of 1 + x loses x: Kahan's x * log(u) / (u - 1) with u = 1 + x, x itself where u is 1. */
npuc_status npuc_aten_log1p(pt2_node *n) {
  value *x, *u, *minus, *is_one, *safe, *y;
  NPUC_TRY(float_operand(n, &x));
  value *one = number(n, x, 1.0);
  NPUC_TRY(npuc_pt2_binary(n, "Add", x, one, &u));
  NPUC_TRY(npuc_pt2_binary(n, "Sub", u, one, &minus));
  NPUC_TRY(npuc_pt2_binary(n, "Equal", u, one, &is_one));
  NPUC_TRY(npuc_pt2_ternary(n, "Where", is_one, one, minus, &safe));
  NPUC_TRY(npuc_pt2_unary(n, "Log", u, &y));
  NPUC_TRY(npuc_pt2_binary(n, "Div", x, safe, &safe));
  NPUC_TRY(npuc_pt2_binary(n, "Mul", y, safe, &y));
  NPUC_TRY(npuc_pt2_ternary(n, "Where", is_one, x, y, &y));
  return npuc_pt2_result(n, y);
}

/* Elu is exp(x) - 1 for negative x only; both sides: 2 sinh(x/2) exp(x/2). */
npuc_status npuc_aten_expm1(pt2_node *n) {
  value *x, *half, *e, *s;
  NPUC_TRY(float_operand(n, &x));
  NPUC_TRY(npuc_pt2_binary(n, "Mul", x, number(n, x, 0.5), &half));
  NPUC_TRY(npuc_pt2_unary(n, "Exp", half, &e));
  NPUC_TRY(npuc_pt2_unary(n, "Sinh", half, &s));
  NPUC_TRY(npuc_pt2_binary(n, "Mul", s, e, &s));
  NPUC_TRY(npuc_pt2_binary(n, "Mul", s, number(n, x, 2.0), &s));
  return npuc_pt2_result(n, s);
}

npuc_status npuc_aten_exp2(pt2_node *n) {
  value *x, *y;
  NPUC_TRY(float_operand(n, &x));
  NPUC_TRY(npuc_pt2_binary(n, "Pow", number(n, x, 2.0), x, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_silu(pt2_node *n) {
  value *x, *y;
  NPUC_TRY(operand(n, &x));
  NPUC_TRY(npuc_pt2_unary(n, "Sigmoid", x, &y));
  NPUC_TRY(npuc_pt2_binary(n, "Mul", x, y, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_gelu(pt2_node *n) {
  value *x;
  const char *approximate;
  NPUC_TRY(operand(n, &x));
  NPUC_TRY(npuc_pt2_string(n, "approximate", "none", &approximate));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Gelu", &x, 1, 1, &made));
  npuc_pt2_set_string(made, "approximate", approximate);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  return npuc_pt2_result(n, made->outputs[0]);
}

static npuc_status clip(pt2_node *n, value *x, double lo, double hi) {
  value *y;
  NPUC_TRY(npuc_pt2_ternary(n, "Clip", x, number(n, x, lo), number(n, x, hi), &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_relu6(pt2_node *n) {
  value *x;
  NPUC_TRY(operand(n, &x));
  return clip(n, x, 0.0, 6.0);
}

npuc_status npuc_aten_hardtanh(pt2_node *n) {
  value *x;
  double lo, hi;
  NPUC_TRY(operand(n, &x));
  NPUC_TRY(npuc_pt2_float_arg(n, "min_val", -1.0, &lo));
  NPUC_TRY(npuc_pt2_float_arg(n, "max_val", 1.0, &hi));
  return clip(n, x, lo, hi);
}

static npuc_status with_alpha(pt2_node *n, const char *op, value *x, const char *attribute, double v, value **out) {
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, op, &x, 1, 1, &made));
  npuc_pt2_set_float(made, attribute, v);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  *out = made->outputs[0];
  return NPUC_OK;
}

/* torch: relu6(x + 3) / 6; ONNX's default slope is 0.2. */
npuc_status npuc_aten_hardsigmoid(pt2_node *n) {
  value *x, *y;
  NPUC_TRY(operand(n, &x));
  NPUC_TRY(with_alpha(n, "HardSigmoid", x, "alpha", 1.0 / 6.0, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_leaky_relu(pt2_node *n) {
  value *x, *y;
  double slope;
  NPUC_TRY(operand(n, &x));
  NPUC_TRY(npuc_pt2_float_arg(n, "negative_slope", 0.01, &slope));
  NPUC_TRY(with_alpha(n, "LeakyRelu", x, "alpha", slope, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_elu(pt2_node *n) {
  value *x, *y;
  double alpha, scale, input_scale;
  NPUC_TRY(operand(n, &x));
  NPUC_TRY(npuc_pt2_float_arg(n, "alpha", 1.0, &alpha));
  NPUC_TRY(npuc_pt2_float_arg(n, "scale", 1.0, &scale));
  NPUC_TRY(npuc_pt2_float_arg(n, "input_scale", 1.0, &input_scale));
  if (scale != 1.0 || input_scale != 1.0) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "scale", "an Elu with scales other than 1");
  NPUC_TRY(with_alpha(n, "Elu", x, "alpha", alpha, &y));
  return npuc_pt2_result(n, y);
}

/* log(1 + exp(beta x)) / beta; x itself above the threshold, where float has no difference. */
npuc_status npuc_aten_softplus(pt2_node *n) {
  value *x, *y, *scaled, *above;
  double beta, threshold;
  NPUC_TRY(operand(n, &x));
  NPUC_TRY(npuc_pt2_float_arg(n, "beta", 1.0, &beta));
  NPUC_TRY(npuc_pt2_float_arg(n, "threshold", 20.0, &threshold));
  scaled = x;
  if (beta != 1.0) NPUC_TRY(npuc_pt2_binary(n, "Mul", x, number(n, x, beta), &scaled));
  NPUC_TRY(npuc_pt2_unary(n, "Softplus", scaled, &y));
  if (beta != 1.0) NPUC_TRY(npuc_pt2_binary(n, "Div", y, number(n, x, beta), &y));
  NPUC_TRY(npuc_pt2_binary(n, "Greater", scaled, number(n, x, threshold), &above));
  NPUC_TRY(npuc_pt2_ternary(n, "Where", above, x, y, &y));
  return npuc_pt2_result(n, y);
}

/* -softplus(-x) */
npuc_status npuc_aten_log_sigmoid(pt2_node *n) {
  value *x, *y;
  NPUC_TRY(operand(n, &x));
  NPUC_TRY(npuc_pt2_unary(n, "Neg", x, &y));
  NPUC_TRY(npuc_pt2_unary(n, "Softplus", y, &y));
  NPUC_TRY(npuc_pt2_unary(n, "Neg", y, &y));
  return npuc_pt2_result(n, y);
}

/* One slope, or one for each channel (axis 1), which ONNX broadcasts from the right. */
npuc_status npuc_aten_prelu(pt2_node *n) {
  value *x, *weight, *y;
  NPUC_TRY(operand(n, &x));
  NPUC_TRY(npuc_pt2_tensor(n, "weight", &weight));
  if (weight->shape.rank == 1 && weight->shape.dims[0] != 1 && x->shape.rank > 2) {
    pt2_int dims[MAX_RANK] = {pt2_number(weight->shape.dims[0])};
    for (int32_t i = 1; i < x->shape.rank - 1; i++) dims[i] = pt2_number(1);
    NPUC_TRY(npuc_pt2_reshape(n, weight, dims, (size_t)x->shape.rank - 1, &weight));
  }
  NPUC_TRY(npuc_pt2_binary(n, "PRelu", x, weight, &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_glu(pt2_node *n) {
  value *x, *gate;
  int64_t axis;
  NPUC_TRY(operand(n, &x));
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", -1, &axis));
  NPUC_TRY(npuc_pt2_axis(n, "dim", axis, x->shape.rank, &axis));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Split", &x, 1, 2, &made));
  npuc_pt2_set_int(made, "axis", axis);
  npuc_pt2_set_int(made, "num_outputs", 2);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  NPUC_TRY(npuc_pt2_unary(n, "Sigmoid", made->outputs[1], &gate));
  NPUC_TRY(npuc_pt2_binary(n, "Mul", made->outputs[0], gate, &gate));
  return npuc_pt2_result(n, gate);
}

/* |x| < inf; NaN compares with nothing. */
npuc_status npuc_aten_isfinite(pt2_node *n) {
  value *x, *y;
  NPUC_TRY(float_operand(n, &x));
  NPUC_TRY(npuc_pt2_unary(n, "Abs", x, &y));
  NPUC_TRY(npuc_pt2_binary(n, "Less", y, number(n, x, (double)INFINITY), &y));
  return npuc_pt2_result(n, y);
}

npuc_status npuc_aten_celu(pt2_node *n) {
  value *x, *y;
  double alpha;
  NPUC_TRY(operand(n, &x));
  NPUC_TRY(npuc_pt2_float_arg(n, "alpha", 1.0, &alpha));
  NPUC_TRY(with_alpha(n, "Celu", x, "alpha", alpha, &y));
  return npuc_pt2_result(n, y);
}

/* 0 within [-lambd, lambd]; softshrink moves the rest towards 0 by lambd. */
npuc_status npuc_aten_shrink(pt2_node *n) {
  value *x;
  double lambda;
  NPUC_TRY(operand(n, &x));
  NPUC_TRY(npuc_pt2_float_arg(n, "lambd", 0.5, &lambda));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Shrink", &x, 1, 1, &made));
  npuc_pt2_set_float(made, "lambd", lambda);
  npuc_pt2_set_float(made, "bias", n->onnx ? lambda : 0.0);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  return npuc_pt2_result(n, made->outputs[0]);
}

/* x above the threshold, else the value. */
npuc_status npuc_aten_threshold(pt2_node *n) {
  value *x, *above, *y;
  pt2_scalar limit = {0}, other = {0};
  NPUC_TRY(operand(n, &x));
  NPUC_TRY(npuc_pt2_scalar_arg(n, "threshold", limit, &limit));
  NPUC_TRY(npuc_pt2_scalar_arg(n, "value", other, &other));
  NPUC_TRY(npuc_pt2_binary(n, "Greater", x, number(n, x, limit.real), &above));
  NPUC_TRY(npuc_pt2_ternary(n, "Where", above, x, number(n, x, other.real), &y));
  return npuc_pt2_result(n, y);
}

/* x - trunc(x): C's fmod by 1. */
npuc_status npuc_aten_frac(pt2_node *n) {
  value *x;
  NPUC_TRY(operand(n, &x));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Mod", (value *[]){x, number(n, x, 1.0)}, 2, 1, &made));
  npuc_pt2_set_int(made, "fmod", 1);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  return npuc_pt2_result(n, made->outputs[0]);
}

npuc_status npuc_aten_logit(pt2_node *n) {
  value *x, *rest, *y;
  NPUC_TRY(float_operand(n, &x));
  if (npuc_pt2_has(n, "eps")) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "eps", "a bound on the operand");
  NPUC_TRY(npuc_pt2_binary(n, "Sub", number(n, x, 1.0), x, &rest));
  NPUC_TRY(npuc_pt2_binary(n, "Div", x, rest, &y));
  NPUC_TRY(npuc_pt2_unary(n, "Log", y, &y));
  return npuc_pt2_result(n, y);
}

/* Copies, and what does nothing in inference. */
static npuc_status dropped(pt2_node *n, value **out) {
  bool training = false;
  NPUC_TRY(operand(n, out));
  npuc_pt2_ignore(n, "p");
  npuc_pt2_ignore(n, "memory_format");
  NPUC_TRY(npuc_pt2_bool_arg(n, "train", false, &training));
  if (training) {
    npuc_status status = npuc_pt2_fail(n, NPUC_DIAG_E0336, "train", "a dropout that drops, as in training");
    npuc_fix(n->s->d, "export the model in evaluation mode: torch.export.export(model.eval(), args)");
    return status;
  }
  return NPUC_OK;
}

npuc_status npuc_aten_identity(pt2_node *n) {
  value *x;
  NPUC_TRY(dropped(n, &x));
  return npuc_pt2_result(n, x);
}

/* And a mask of what was kept: all. */
npuc_status npuc_aten_native_dropout(pt2_node *n) {
  value *results[2];
  NPUC_TRY(dropped(n, &results[0]));
  NPUC_TRY(npuc_pt2_expand_like(n, npuc_pt2_constant_int(n, DTYPE_BOOL, 1), results[0], &results[1]));
  return npuc_pt2_results(n, results, 2);
}
