/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms. The IR has real numbers only: a complex tensor of the program is a tensor with one more axis, (real part, imaginary part), bound by a kind of its
 * own, so that an operator which does not know of it says so. What makes and takes such tensors stands here:
 *
 *   fft.fft2(x).real     [.., H, W] -> [.., H, W, 1] -> DFT over W -> DFT over H: [.., H, W, 2] -> part 0
 *
 * DFT's inverse divides by the length, and its forward transform does not; torch's norms are factors beside that. */
#include <math.h>
#include <string.h>

#include "import/pt2/aten.h"

static npuc_status result(pt2_node *n, value *v) {
  json_t *output = json_array_get(json_object_get(n->json, "outputs"), 0);
  const char *name = json_string_value(json_object_get(json_object_get(output, "as_tensor"), "name"));
  if (!name) return npuc_pt2_fail(n, NPUC_DIAG_E0332, NULL, "the program's node has no tensor as its output");
  npuc_pt2_bind(n->s, name, (pt2_binding){.kind = PT2_COMPLEX, .tensor = npuc_pt2_own(n->s, v)});
  return NPUC_OK;
}

static const pt2_binding *argument(pt2_node *n, const char *name) {
  const char *given = json_string_value(json_object_get(npuc_pt2_raw(n, name), "name"));
  return given ? npuc_map_get(n->s->bindings, given) : NULL;
}

/* A complex tensor as it is, a real one with a last axis of length 1, as DFT takes it. */
static npuc_status operand(pt2_node *n, value **out, bool *out_complex) {
  const pt2_binding *b = argument(n, "self");
  *out_complex = b && b->kind == PT2_COMPLEX;
  if (*out_complex) return npuc_pt2_read_tensor(n, b->tensor, out);
  NPUC_TRY(npuc_pt2_tensor(n, "self", out));
  if (!pt2_is_float((*out)->type)) NPUC_TRY(npuc_pt2_cast(n, *out, DTYPE_F32, out));
  int64_t last = (*out)->shape.rank;
  if (last == MAX_RANK) return npuc_pt2_fail(n, NPUC_DIAG_E0336, "self", "a transform of %d axes", (int)MAX_RANK);
  return npuc_pt2_unsqueeze(n, *out, &last, 1, out);
}

typedef struct transform {
  int64_t axes[MAX_RANK];
  size_t n;
  bool inverse, onesided;
  double scale;
} transform;

/* Axes by any of their names; without any the last one, the last two, or all. */
static npuc_status read_axes(pt2_node *n, const value *x, transform *t) {
  int32_t rank = x->shape.rank - 1;
  int64_t *given;
  size_t count = 0;
  NPUC_TRY(npuc_pt2_ints(n, "dim", &given, &count));
  bool two = strstr(n->target, "fft2") != NULL, all = strstr(n->target, "fftn") != NULL;
  t->n = count ? count : all ? (size_t)rank : two ? 2 : 1;
  if (t->n > (size_t)rank || rank == 0) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "dim", "%zu axes of %d", t->n, rank);
  for (size_t i = 0; i < t->n; i++)
    NPUC_TRY(npuc_pt2_axis(n, "dim", count ? given[i] : rank - (int64_t)t->n + (int64_t)i, rank, &t->axes[i]));
  if (npuc_pt2_has(n, "n") || npuc_pt2_has(n, "s"))
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, "n", "a transform of another length than the tensor's");
  return NPUC_OK;
}

/* fft_*: norm is a word. _fft_r2c and _fft_c2c: `normalization` is 0 none, 1 by the root, 2 by the length, and the transform has a direction. */
static npuc_status read_scale(pt2_node *n, const value *x, transform *t) {
  double length = 1.0;
  const char *norm;
  int64_t mode;
  for (size_t i = 0; i < t->n; i++) {
    dim d = x->shape.dims[t->axes[i]];
    if (!dim_is_number(d)) length = NAN;
    length *= (double)d;
  }
  t->inverse = strstr(n->target, "fft_ifft") != NULL;
  NPUC_TRY(npuc_pt2_string(n, "norm", "backward", &norm));
  NPUC_TRY(npuc_pt2_int_arg(n, "normalization", 0, &mode));
  if (npuc_pt2_has(n, "forward")) {
    bool forward;
    NPUC_TRY(npuc_pt2_bool_arg(n, "forward", true, &forward));
    t->inverse = !forward;
  }
  bool core = strstr(n->target, "._fft_") != NULL, ortho = core ? mode == 1 : strcmp(norm, "ortho") == 0;
  bool divides = core ? mode == 2 : strcmp(norm, t->inverse ? "backward" : "forward") == 0;
  /* DFT's inverse divides already */
  t->scale = ortho ? (t->inverse ? sqrt(length) : 1.0 / sqrt(length)) : divides == t->inverse ? 1.0 : t->inverse ? length : 1.0 / length;
  if (isnan(t->scale)) return npuc_pt2_fail(n, NPUC_DIAG_E0336, "norm", "a factor of a length that is known at run time only");
  return NPUC_OK;
}

static npuc_status dft(pt2_node *n, value *x, int64_t axis, bool inverse, bool onesided, value **out) {
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "DFT", (value *[]){x, NULL, npuc_pt2_constant_int(n, DTYPE_I64, axis)}, 3, 1, &made));
  npuc_pt2_set_int(made, "inverse", inverse);
  npuc_pt2_set_int(made, "onesided", onesided);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  *out = made->outputs[0];
  return NPUC_OK;
}

/* The last axis comes first: of a real tensor it is the one whose other half may be left out. */
npuc_status npuc_aten_fft(pt2_node *n) {
  transform t = {0};
  value *x;
  bool is_complex;
  NPUC_TRY(operand(n, &x, &is_complex));
  NPUC_TRY(read_axes(n, x, &t));
  NPUC_TRY(read_scale(n, x, &t));
  NPUC_TRY(npuc_pt2_bool_arg(n, "onesided", n->onnx != NULL, &t.onesided));
  if (t.onesided && is_complex) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "self", "half a transform of a complex tensor");
  for (size_t i = t.n; i-- > 0;) NPUC_TRY(dft(n, x, t.axes[i], t.inverse, t.onesided && i + 1 == t.n, &x));
  if (t.scale != 1.0) NPUC_TRY(npuc_pt2_binary(n, "Mul", x, npuc_pt2_constant(n, x->type, t.scale), &x));
  return result(n, x);
}

static npuc_status part(pt2_node *n, value *x, int64_t which, value **out) {
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Gather", (value *[]){x, npuc_pt2_constant_int(n, DTYPE_I64, which)}, 2, 1, &made));
  npuc_pt2_set_int(made, "axis", -1);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  *out = made->outputs[0];
  return NPUC_OK;
}

/* real, imag: a part of a complex tensor. */
npuc_status npuc_aten_complex_part(pt2_node *n) {
  const pt2_binding *b = argument(n, "self");
  value *x;
  if (!b || b->kind != PT2_COMPLEX) { /* torch.real of a real tensor is that tensor */
    pt2_tensor *t;
    NPUC_TRY(npuc_pt2_window(n, "self", &t));
    return npuc_pt2_result_tensor(n, t);
  }
  NPUC_TRY(npuc_pt2_read_tensor(n, b->tensor, &x));
  NPUC_TRY(part(n, x, strcmp(n->onnx, "imag") == 0, &x));
  return npuc_pt2_result(n, x);
}

npuc_status npuc_aten_view_as_real(pt2_node *n) {
  const pt2_binding *b = argument(n, "self");
  value *x;
  if (!b || b->kind != PT2_COMPLEX) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "self", "the tensor is not complex");
  NPUC_TRY(npuc_pt2_read_tensor(n, b->tensor, &x));
  return npuc_pt2_result(n, x);
}

/* [.., 2] as a complex tensor. */
npuc_status npuc_aten_view_as_complex(pt2_node *n) {
  value *x;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  return result(n, x);
}

static npuc_status join(pt2_node *n, value *re, value *im) {
  value *parts[2] = {re, im};
  node *made;
  if (!npuc_shape_equal(&re->shape, &im->shape) || re->type != im->type || re->shape.rank == MAX_RANK)
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, "imag", "parts of different shapes or types, or of %d axes", (int)MAX_RANK);
  int64_t last = re->shape.rank;
  for (size_t i = 0; i < 2; i++) NPUC_TRY(npuc_pt2_unsqueeze(n, parts[i], &last, 1, &parts[i]));
  NPUC_TRY(npuc_pt2_emit(n, "Concat", parts, 2, 1, &made));
  npuc_pt2_set_int(made, "axis", last);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  return result(n, made->outputs[0]);
}

npuc_status npuc_aten_complex(pt2_node *n) {
  value *re, *im;
  NPUC_TRY(npuc_pt2_tensor(n, "real", &re));
  NPUC_TRY(npuc_pt2_tensor(n, "imag", &im));
  return join(n, re, im);
}

bool npuc_pt2_becomes_complex(pt2_node *n) {
  enum { COMPLEX64 = 10 }; /* ScalarType */
  json_t *type = npuc_pt2_raw(n, "dtype");
  return json_is_integer(type) && json_integer_value(type) == COMPLEX64 && !npuc_pt2_is_complex(n, "self");
}

npuc_status npuc_pt2_to_complex(pt2_node *n) {
  value *x, *zeros;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  npuc_pt2_ignore(n, "memory_format");
  npuc_pt2_ignore(n, "non_blocking");
  npuc_pt2_ignore(n, "copy");
  NPUC_TRY(npuc_pt2_cast(n, x, DTYPE_F32, &x));
  NPUC_TRY(npuc_pt2_expand_like(n, npuc_pt2_constant(n, DTYPE_F32, 0.0), x, &zeros));
  return join(n, x, zeros);
}

bool npuc_pt2_is_complex(pt2_node *n, const char *name) {
  const pt2_binding *b = argument(n, name);
  return b && b->kind == PT2_COMPLEX;
}

/* |z| */
npuc_status npuc_pt2_complex_abs(pt2_node *n) {
  const pt2_binding *b = argument(n, "self");
  value *x;
  int64_t last = -1;
  node *made;
  NPUC_TRY(npuc_pt2_read_tensor(n, b->tensor, &x));
  NPUC_TRY(npuc_pt2_emit(n, "ReduceL2", (value *[]){x, npuc_pt2_constant_ints(n, &last, 1)}, 2, 1, &made));
  npuc_pt2_set_int(made, "keepdims", 0);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  return npuc_pt2_result(n, made->outputs[0]);
}
