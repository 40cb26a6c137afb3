/* SPDX-License-Identifier: Apache-2.0 */
/* What quantize_pt2e (quantized_decomposed.*) and torchao (torchao.*_affine) leave in a program: QuantizeLinear and DequantizeLinear with one scale,
 * one for each index of an axis, or one for each block of an axis.
 *
 *   q = clamp(round_half_even(x * (1 / scale)) + zero_point, quant_min, quant_max)         x = (q - zero_point) * scale
 *
 * QuantizeLinear divides by the scale; the two differ, by one step, only where x / scale is within float32's rounding of a half. */
#include <math.h>

#include "import/pt2/aten.h"

typedef struct affine {
  bool quantize;
  value *x, *scale, *zero; /* zero NULL: 0 */
  dtype type;              /* of the integers */
  int64_t low, high;       /* quant_min, quant_max */
  int64_t axis, block;     /* axis -1: one scale; block 0: a scale for each index of the axis */
} affine;

/* -- scales, zero points and bounds: numbers, or tensors that are constants -- */
static npuc_status check_scale(pt2_node *n, const affine *a, const char *name, double v) {
  float narrow = (float)v;
  if (isfinite(narrow) && (narrow != 0.0f || !a->quantize)) return NPUC_OK;
  return npuc_pt2_fail(n, NPUC_DIAG_E0335, name, "a scale of %g", v);
}

static npuc_status check_zero(pt2_node *n, const affine *a, const char *name, double v) {
  int64_t low, high;
  if (!npuc_dtype_range(a->type, &low, &high) || v != rint(v) || v < (double)low || v > (double)high)
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, name, "a zero point of %g, which is no %s", v, npuc_dtype_name(a->type));
  if (a->type == DTYPE_I32 && v != 0.0)
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, name, "a zero point of %g for int32, whose zero point is 0 in ONNX", v);
  return NPUC_OK;
}

typedef npuc_status check_function(pt2_node *n, const affine *a, const char *name, double v);

/* The argument as a value of `type`, NULL when the program leaves it out. */
static npuc_status parameter(pt2_node *n, const affine *a, const char *name, dtype type, check_function *check, value **out) {
  *out = NULL;
  if (!npuc_pt2_has(n, name)) return NPUC_OK;
  if (!npuc_pt2_is_tensor(n, name)) {
    double v;
    NPUC_TRY(npuc_pt2_float_arg(n, name, 0.0, &v));
    NPUC_TRY(check(n, a, name, v));
    *out = npuc_pt2_constant(n, type, v);
    return NPUC_OK;
  }
  NPUC_TRY(npuc_pt2_tensor(n, name, out));
  const tensor *t = (*out)->constant;
  if (!t) return npuc_pt2_fail(n, NPUC_DIAG_E0336, name, "a scale or zero point that is known at run time only (dynamic quantization)");
  for (int64_t i = 0; i < npuc_tensor_elements(t); i++) NPUC_TRY(check(n, a, name, npuc_tensor_get(t, i)));
  return npuc_pt2_cast(n, *out, type, out);
}

/* quant_min or quant_max: a number, or with the overload tensor2 a tensor. */
static npuc_status bound(pt2_node *n, const char *name, int64_t fallback, int64_t *out) {
  *out = fallback;
  if (!npuc_pt2_is_tensor(n, name)) {
    double v;
    NPUC_TRY(npuc_pt2_float_arg(n, name, (double)fallback, &v));
    if (v != rint(v) || fabs(v) > 4294967296.0) return npuc_pt2_fail(n, NPUC_DIAG_E0335, name, "a bound of %g", v);
    *out = (int64_t)v;
    return NPUC_OK;
  }
  value *v;
  NPUC_TRY(npuc_pt2_tensor(n, name, &v));
  if (!v->constant || npuc_tensor_elements(v->constant) != 1 || !npuc_dtype_is_integer(v->type))
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, name, "a bound that is known at run time only, or is not one integer");
  *out = npuc_tensor_get_int(v->constant, 0);
  return NPUC_OK;
}

/* What all forms share: the operand, the integers' type and their bounds. torch uses the bounds of a dequantize for nothing. */
static npuc_status begin(pt2_node *n, const char *type_argument, affine *a) {
  int64_t low, high;
  NPUC_TRY(npuc_pt2_tensor(n, "input", &a->x));
  NPUC_TRY(npuc_pt2_dtype_arg(n, type_argument, &a->type));
  bool narrow = a->type == DTYPE_I8 || a->type == DTYPE_U8 || a->type == DTYPE_I16 || a->type == DTYPE_U16;
  if (!narrow && (a->quantize || a->type != DTYPE_I32))
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, type_argument, "%s; integers of 8 and 16 bits are read, and int32 where it becomes real",
                         a->type == DTYPE_NONE ? "no type" : npuc_dtype_name(a->type));
  (void)npuc_dtype_range(a->type, &low, &high);
  NPUC_TRY(bound(n, "quant_min", low, &a->low));
  NPUC_TRY(bound(n, "quant_max", high, &a->high));
  if (a->quantize && (a->low > a->high || a->low < low || a->high > high))
    return npuc_pt2_fail(n, NPUC_DIAG_E0335, "quant_min", "%lld to %lld in %s", (long long)a->low, (long long)a->high,
                         npuc_dtype_name(a->type));
  if (!a->quantize && a->x->type != a->type)
    return npuc_pt2_fail(n, NPUC_DIAG_E0335, type_argument, "%s, and the operand is %s", npuc_dtype_name(a->type),
                         npuc_dtype_name(a->x->type));
  return a->quantize ? npuc_pt2_cast(n, a->x, DTYPE_F32, &a->x) : NPUC_OK;
}

static npuc_status parameters(pt2_node *n, const char *scale, const char *zero, affine *a) {
  NPUC_TRY(parameter(n, a, scale, DTYPE_F32, check_scale, &a->scale));
  NPUC_TRY(parameter(n, a, zero, a->type, check_zero, &a->zero));
  if (!a->scale) return npuc_pt2_fail(n, NPUC_DIAG_E0335, scale, "the argument is missing");
  if (a->zero && a->zero->shape.rank > 0 && npuc_shape_equal(&a->zero->shape, &(shape){.rank = 1, .dims = {0}}))
    a->zero = NULL; /* torchao's "none" */
  return NPUC_OK;
}

/* float32 is what torch gives when nothing is said; others are computed in their own type there. */
static npuc_status real_type(pt2_node *n, const char *argument) {
  dtype type;
  NPUC_TRY(npuc_pt2_dtype_arg(n, argument, &type));
  if (type == DTYPE_NONE || type == DTYPE_F32) return NPUC_OK;
  return npuc_pt2_fail(n, NPUC_DIAG_E0336, argument, "%s; float32 is read", npuc_dtype_name(type));
}

/* -- shapes of scales and zero points -- */
/* One element, or [length of the axis], or the shape of x with the axis counted in blocks. */
static npuc_status fit(pt2_node *n, const affine *a, const char *name, value **io) {
  pt2_int dims[MAX_RANK];
  shape wanted = {.rank = 1, .dims = {1}};
  int64_t count, given;
  if (a->axis >= 0 && a->block == 0) wanted.dims[0] = a->x->shape.dims[a->axis];
  if (a->block > 0) wanted = a->x->shape;
  if (a->block > 0) wanted.dims[a->axis] /= a->block;
  if (!*io) return NPUC_OK;
  if (!npuc_shape_elements(&wanted, &count) || !npuc_shape_elements(&(*io)->shape, &given) || count != given)
    return npuc_pt2_fail(n, NPUC_DIAG_E0335, name, "its length is not that of the axis or the number of blocks");
  if (a->axis < 0 || npuc_shape_equal(&wanted, &(*io)->shape)) return NPUC_OK;
  for (int32_t i = 0; i < wanted.rank; i++) dims[i] = pt2_number(wanted.dims[i]);
  return npuc_pt2_reshape(n, *io, dims, (size_t)wanted.rank, io);
}

static npuc_status finish(pt2_node *n, affine *a) {
  node *made;
  NPUC_TRY(fit(n, a, "scale", &a->scale));
  NPUC_TRY(fit(n, a, "zero_point", &a->zero));
  if (a->type == DTYPE_I32) a->zero = NULL; /* all 0 */
  NPUC_TRY(npuc_pt2_emit(n, a->quantize ? "QuantizeLinear" : "DequantizeLinear", (value *[]){a->x, a->scale, a->zero}, 3, 1, &made));
  if (a->axis >= 0) npuc_pt2_set_int(made, "axis", a->axis);
  npuc_pt2_set_int(made, "block_size", a->block);
  if (a->quantize && !a->zero) npuc_pt2_set_int(made, "output_dtype", (int64_t)a->type);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  value *y = made->outputs[0];
  int64_t low, high;
  if (a->quantize && npuc_dtype_range(a->type, &low, &high) && (a->low > low || a->high < high)) {
    value *least = npuc_pt2_constant_int(n, a->type, a->low), *most = npuc_pt2_constant_int(n, a->type, a->high);
    NPUC_TRY(npuc_pt2_ternary(n, "Clip", y, least, most, &y));
  }
  return npuc_pt2_result(n, y);
}

/* -- quantized_decomposed -- */
static npuc_status decomposed(pt2_node *n, const char *scale, const char *zero, bool quantize, bool per_channel) {
  affine a = {.quantize = quantize, .axis = -1};
  NPUC_TRY(begin(n, "dtype", &a));
  NPUC_TRY(parameters(n, scale, zero, &a));
  if (!quantize) NPUC_TRY(real_type(n, "out_dtype"));
  if (per_channel) {
    NPUC_TRY(npuc_pt2_int_arg(n, "axis", 0, &a.axis));
    NPUC_TRY(npuc_pt2_axis(n, "axis", a.axis, a.x->shape.rank, &a.axis));
  }
  return finish(n, &a);
}

npuc_status npuc_aten_quantize_per_tensor(pt2_node *n) { return decomposed(n, "scale", "zero_point", true, false); }
npuc_status npuc_aten_dequantize_per_tensor(pt2_node *n) { return decomposed(n, "scale", "zero_point", false, false); }
npuc_status npuc_aten_quantize_per_channel(pt2_node *n) { return decomposed(n, "scales", "zero_points", true, true); }
npuc_status npuc_aten_dequantize_per_channel(pt2_node *n) { return decomposed(n, "scales", "zero_points", false, true); }

/* -- torchao -- */
/* block_size has a number for each axis: the elements that share a scale. All whole: one scale. All whole but one, which is 1: that axis.
 * All 1 but one: blocks of that one. */
static npuc_status read_blocks(pt2_node *n, affine *a) {
  pt2_int *sizes;
  size_t count;
  NPUC_TRY(npuc_pt2_symints(n, "block_size", &sizes, &count));
  if ((int32_t)count != a->x->shape.rank)
    return npuc_pt2_fail(n, NPUC_DIAG_E0335, "block_size", "%zu numbers for %d axes", count, a->x->shape.rank);
  int64_t split = -1, n_split = 0, blocked = -1, n_blocked = 0;
  for (size_t i = 0; i < count; i++) {
    dim length = a->x->shape.dims[i];
    bool whole = sizes[i].value || sizes[i].number == length; /* a symbolic block is the symbolic axis */
    if (!whole && (!dim_is_number(length) || sizes[i].number < 1 || length % sizes[i].number))
      return npuc_pt2_fail(n, NPUC_DIAG_E0336, "block_size", "blocks of %lld on axis %zu, which they do not divide",
                           (long long)sizes[i].number, i);
    if (!whole) split = (int64_t)i, n_split++;
    if (sizes[i].value || sizes[i].number != 1) blocked = (int64_t)i, n_blocked++;
  }
  if (n_split == 0) return NPUC_OK;
  bool per_axis = n_split == 1 && sizes[split].number == 1;
  if (!per_axis && (n_blocked != 1 || sizes[blocked].value))
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, "block_size", "blocks over several axes");
  a->axis = per_axis ? split : blocked;
  a->block = per_axis ? 0 : sizes[blocked].number;
  return NPUC_OK;
}

static npuc_status torchao(pt2_node *n, bool quantize) {
  affine a = {.quantize = quantize, .axis = -1};
  NPUC_TRY(begin(n, quantize ? "output_dtype" : "input_dtype", &a));
  NPUC_TRY(parameters(n, "scale", "zero_point", &a));
  if (!quantize) NPUC_TRY(real_type(n, "output_dtype"));
  NPUC_TRY(read_blocks(n, &a));
  return finish(n, &a);
}

npuc_status npuc_aten_quantize_affine(pt2_node *n) { return torchao(n, true); }
npuc_status npuc_aten_dequantize_affine(pt2_node *n) { return torchao(n, false); }
