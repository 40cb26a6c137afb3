/* SPDX-License-Identifier: Apache-2.0 */
/* legalize, activations and constants: one operator for each function, however the exporter spelled it. */
#include <math.h>

#include "passes/internal.h"

enum { Y, X, INNER, C, LO, HI, THREE, SIXTH, OUTER };

static bool is_f32(const value *v) { return v->type == DTYPE_F32; }

/* The number of a constant of one element, or `absent` for no value at all. */
static double scalar(const value *v, double absent) { return v ? npuc_weight_at(v->constant, 0) : absent; }

static bool near(const value *v, double number) {
  return npuc_is_scalar(v) && fabs(npuc_weight_at(v->constant, 0) - number) <= 1e-6 * fabs(number);
}

static bool keeps_shape(const match *m) { return npuc_same_shape(m->values[X], m->root->outputs[0]); }

/* -- clips -- */

/* Clip(x, lo, hi); a bound that is infinite is left out, and [0, inf) is Relu. */
static void make_clip(rewriter *r, const match *m, double lo, double hi) {
  value *low = NULL, *high = NULL;
  if (lo == 0.0 && isinf(hi) && hi > 0) {
    node *relu = npuc_rewrite_node(r, OP_RELU, (value *[]){m->values[X]}, 1, 1);
    npuc_rewrite_replace(r, m->root->outputs[0], relu->outputs[0]);
    return;
  }
  float bounds[2] = {(float)lo, (float)hi};
  if (!(isinf(lo) && lo < 0))
    low = npuc_graph_constant_floats(r->graph, npuc_arena_printf(r->scratch, "%s_min", m->root->name), &bounds[0], -1);
  if (!(isinf(hi) && hi > 0))
    high = npuc_graph_constant_floats(r->graph, npuc_arena_printf(r->scratch, "%s_max", m->root->name), &bounds[1], -1);
  node *clip = npuc_rewrite_node(r, OP_CLIP, (value *[]){m->values[X], low, high}, high ? 3 : low ? 2 : 1, 1);
  npuc_rewrite_replace(r, m->root->outputs[0], clip->outputs[0]);
}

static bool scalar_bound(const match *m) { return is_f32(m->values[X]) && npuc_is_scalar(m->values[C]) && keeps_shape(m); }
static void max_to_clip(rewriter *r, const match *m) { make_clip(r, m, scalar(m->values[C], 0), INFINITY); }
static void min_to_clip(rewriter *r, const match *m) { make_clip(r, m, -INFINITY, scalar(m->values[C], 0)); }

static bool is_relu_clip(const match *m) {
  return is_f32(m->values[X]) && m->values[LO] && scalar(m->values[LO], 1) == 0.0 && (!m->values[HI] || scalar(m->values[HI], 0) >= 3.4e38);
}
static void clip_to_relu(rewriter *r, const match *m) { make_clip(r, m, 0.0, INFINITY); }

static bool has_float_input(const match *m) { return is_f32(m->values[X]); }

/* min(max(max(x, 0), lo), hi) = min(max(x, max(0, lo)), hi) */
static void clip_of_relu(rewriter *r, const match *m) {
  make_clip(r, m, fmax(0.0, scalar(m->values[LO], -INFINITY)), scalar(m->values[HI], INFINITY));
}
/* max(min(max(x, lo), hi), 0) = min(max(x, max(0, lo)), max(0, hi)) */
static void relu_of_clip(rewriter *r, const match *m) {
  make_clip(r, m, fmax(0.0, scalar(m->values[LO], -INFINITY)), fmax(0.0, scalar(m->values[HI], INFINITY)));
}
static void relu_of_relu(rewriter *r, const match *m) { make_clip(r, m, 0.0, INFINITY); }

/* Clip(Clip(x, lo, hi), c, d) = Clip(x, min(max(lo, c), d), min(max(hi, c), d)) */
static void clip_of_clip(rewriter *r, const match *m) {
  double lo = scalar(m->values[LO], -INFINITY), hi = scalar(m->values[HI], INFINITY);
  double c = scalar(m->values[THREE], -INFINITY), d = scalar(m->values[SIXTH], INFINITY);
  make_clip(r, m, fmin(fmax(lo, c), d), fmin(fmax(hi, c), d));
}

static const pattern max_scalar = {.name = "max-to-clip",
                                   .doc = "Max(x, c) -> Clip(x, c, inf); Relu(x) for c = 0",
                                   .parity = PARITY_EXACT,
                                   .root = NODE(OP_MAX, Y, ANY(X), CONST(C)),
                                   .where = scalar_bound,
                                   .rewrite = max_to_clip};
static const pattern min_scalar = {.name = "min-to-clip",
                                   .doc = "Min(x, c) -> Clip(x, -inf, c)",
                                   .parity = PARITY_EXACT,
                                   .root = NODE(OP_MIN, Y, ANY(X), CONST(C)),
                                   .where = scalar_bound,
                                   .rewrite = min_to_clip};
static const pattern clip_relu = {.name = "clip-to-relu",
                                  .doc = "Clip(x, 0, inf) -> Relu(x)",
                                  .parity = PARITY_EXACT,
                                  .root = NODE(OP_CLIP, Y, ANY(X), OPTIONAL_CONST(LO), OPTIONAL_CONST(HI)),
                                  .where = is_relu_clip,
                                  .rewrite = clip_to_relu};
static const pattern relu_then_clip = {.name = "clip-of-relu",
                                       .doc = "Clip(Relu(x), lo, hi) -> Clip(x, max(0, lo), hi)",
                                       .parity = PARITY_EXACT,
                                       .root = NODE(OP_CLIP, Y, ONE_USE(OP_RELU, INNER, ANY(X)), OPTIONAL_CONST(LO), OPTIONAL_CONST(HI)),
                                       .where = has_float_input,
                                       .rewrite = clip_of_relu};
static const pattern clip_then_relu = {.name = "relu-of-clip",
                                       .doc = "Relu(Clip(x, lo, hi)) -> Clip(x, max(0, lo), max(0, hi))",
                                       .parity = PARITY_EXACT,
                                       .root = NODE(OP_RELU, Y, ONE_USE(OP_CLIP, INNER, ANY(X), OPTIONAL_CONST(LO), OPTIONAL_CONST(HI))),
                                       .where = has_float_input,
                                       .rewrite = relu_of_clip};
static const pattern relu_then_relu = {.name = "relu-of-relu",
                                       .doc = "Relu(Relu(x)) -> Relu(x)",
                                       .parity = PARITY_EXACT,
                                       .root = NODE(OP_RELU, Y, ONE_USE(OP_RELU, INNER, ANY(X))),
                                       .where = has_float_input,
                                       .rewrite = relu_of_relu};
static const pattern clip_then_clip = {.name = "clip-of-clip",
                                       .doc = "Clip(Clip(x, a, b), c, d) -> Clip(x, a in [c, d], b in [c, d])",
                                       .parity = PARITY_EXACT,
                                       .root = NODE(OP_CLIP, Y, ONE_USE(OP_CLIP, INNER, ANY(X), OPTIONAL_CONST(LO), OPTIONAL_CONST(HI)),
                                                    OPTIONAL_CONST(THREE), OPTIONAL_CONST(SIXTH)),
                                       .where = has_float_input,
                                       .rewrite = clip_of_clip};

/* -- hard swish -- */

static void to_hardswish(rewriter *r, const match *m) {
  node *swish = npuc_rewrite_node(r, OP_HARDSWISH, (value *[]){m->values[X]}, 1, 1);
  npuc_rewrite_replace(r, m->root->outputs[0], swish->outputs[0]);
}

static bool is_swish_gate(const match *m) {
  const hardsigmoid_attributes *a = NPUC_ATTRS(hardsigmoid_attributes, m->nodes[INNER]);
  return fabs((double)a->alpha - 1.0 / 6.0) < 1e-6 && a->beta == 0.5f && keeps_shape(m);
}

static bool is_relu6_swish(const match *m) {
  return is_f32(m->values[X]) && near(m->values[THREE], 3.0) && m->values[LO] && scalar(m->values[LO], 1) == 0.0 && m->values[HI] &&
         near(m->values[HI], 6.0) && near(m->values[SIXTH], 1.0 / 6.0) && keeps_shape(m);
}

static const pattern hardsigmoid_mul = {.name = "hardsigmoid-mul-to-hardswish",
                                        .doc = "Mul(x, HardSigmoid(x; 1/6, 1/2)) -> HardSwish(x)",
                                        .parity = PARITY_REASSOCIATING,
                                        .root = NODE(OP_MUL, Y, ANY(X), ONE_USE(OP_HARDSIGMOID, INNER, ANY(X))),
                                        .where = is_swish_gate,
                                        .rewrite = to_hardswish};

#define RELU6_OF_X ONE_USE(OP_CLIP, INNER, ONE_USE(OP_ADD, C, ANY(X), CONST(THREE)), OPTIONAL_CONST(LO), OPTIONAL_CONST(HI))

static const pattern relu6_swish = {.name = "relu6-to-hardswish",
                                    .doc = "Mul(Mul(x, Clip(Add(x, 3), 0, 6)), 1/6) -> HardSwish(x)",
                                    .parity = PARITY_REASSOCIATING,
                                    .root = NODE(OP_MUL, Y, ONE_USE(OP_MUL, OUTER, ANY(X), RELU6_OF_X), CONST(SIXTH)),
                                    .where = is_relu6_swish,
                                    .rewrite = to_hardswish};
static const pattern relu6_gate_swish = {.name = "relu6-gate-to-hardswish",
                                         .doc = "Mul(x, Mul(Clip(Add(x, 3), 0, 6), 1/6)) -> HardSwish(x)",
                                         .parity = PARITY_REASSOCIATING,
                                         .root = NODE(OP_MUL, Y, ANY(X), ONE_USE(OP_MUL, OUTER, RELU6_OF_X, CONST(SIXTH))),
                                         .where = is_relu6_swish,
                                         .rewrite = to_hardswish};

/* -- Gelu, as exporters that know no Gelu write it: x * (1 + erf(x / sqrt 2)) / 2, in any order of the factors -- */

static bool is_erf_gelu(const match *m) {
  return is_f32(m->values[X]) && near(m->values[C], 0.70710678118654752) && near(m->values[LO], 1.0) && near(m->values[SIXTH], 0.5) &&
         keeps_shape(m);
}

static void to_gelu(rewriter *r, const match *m) {
  node *gelu = npuc_rewrite_node(r, OP_GELU, (value *[]){m->values[X]}, 1, 1);
  npuc_rewrite_replace(r, m->root->outputs[0], gelu->outputs[0]);
}

#define ONE_AND_ERF_OF_X ONE_USE(OP_ADD, HI, ONE_USE(OP_ERF, INNER, ONE_USE(OP_MUL, THREE, ANY(X), CONST(C))), CONST(LO))

static const pattern erf_gelu = {.name = "erf-to-gelu",
                                 .doc = "Mul(Mul(x, Add(Erf(Mul(x, 1/sqrt 2)), 1)), 1/2) -> Gelu(x)",
                                 .parity = PARITY_REASSOCIATING,
                                 .root = NODE(OP_MUL, Y, ONE_USE(OP_MUL, OUTER, ANY(X), ONE_AND_ERF_OF_X), CONST(SIXTH)),
                                 .where = is_erf_gelu,
                                 .rewrite = to_gelu};
static const pattern erf_of_half_gelu = {.name = "erf-of-half-to-gelu",
                                         .doc = "Mul(Mul(x, 1/2), Add(Erf(Mul(x, 1/sqrt 2)), 1)) -> Gelu(x)",
                                         .parity = PARITY_REASSOCIATING,
                                         .root = NODE(OP_MUL, Y, ONE_USE(OP_MUL, OUTER, ANY(X), CONST(SIXTH)), ONE_AND_ERF_OF_X),
                                         .where = is_erf_gelu,
                                         .rewrite = to_gelu};
static const pattern half_erf_gelu = {.name = "half-erf-to-gelu",
                                      .doc = "Mul(x, Mul(Add(Erf(Mul(x, 1/sqrt 2)), 1), 1/2)) -> Gelu(x)",
                                      .parity = PARITY_REASSOCIATING,
                                      .root = NODE(OP_MUL, Y, ANY(X), ONE_USE(OP_MUL, OUTER, ONE_AND_ERF_OF_X, CONST(SIXTH))),
                                      .where = is_erf_gelu,
                                      .rewrite = to_gelu};

/* -- constants: x - c and x / c -- */

static bool float_constant(const match *m) { return is_f32(m->values[X]) && is_f32(m->values[C]); }

/* Every element a power of two whose reciprocal is normal: then x / c and x * (1/c) are the same float. */
static bool exact_reciprocals(const match *m) {
  if (!float_constant(m)) return false;
  const tensor *t = m->values[C]->constant;
  int64_t n = npuc_tensor_elements(t);
  for (int64_t i = 0; i < n; i++) {
    int exponent;
    double number = npuc_weight_at(t, i);
    if (!isfinite(number) || fabs(frexp(number, &exponent)) != 0.5 || exponent < -124 || exponent > 126) return false;
  }
  return n > 0;
}

static bool has_reciprocals(const match *m) {
  if (!float_constant(m)) return false;
  const tensor *t = m->values[C]->constant;
  int64_t n = npuc_tensor_elements(t);
  for (int64_t i = 0; i < n; i++) {
    if (!isnormal((float)(1.0 / npuc_weight_at(t, i)))) return false;
  }
  return true;
}

static value *mapped(rewriter *r, const value *v, double (*map_element)(double)) {
  tensor t;
  npuc_status status = npuc_tensor_create(r->d, DTYPE_F32, &v->constant->shape, &t);
  if (status != NPUC_OK) {
    r->status = status;
    return NULL;
  }
  int64_t n = npuc_tensor_elements(&t);
  for (int64_t i = 0; i < n; i++) ((float *)t.data)[i] = (float)map_element(npuc_weight_at(v->constant, i));
  return npuc_weight_constant(r, v->name, &t);
}

static double negative(double x) { return -x; }
static double reciprocal(double x) { return 1.0 / x; }

static void sub_to_add(rewriter *r, const match *m) {
  value *c = mapped(r, m->values[C], negative);
  if (!c) return;
  node *add = npuc_rewrite_node(r, OP_ADD, (value *[]){m->values[X], c}, 2, 1);
  npuc_rewrite_replace(r, m->root->outputs[0], add->outputs[0]);
}

static void div_to_mul(rewriter *r, const match *m) {
  value *c = mapped(r, m->values[C], reciprocal);
  if (!c) return;
  node *mul = npuc_rewrite_node(r, OP_MUL, (value *[]){m->values[X], c}, 2, 1);
  npuc_rewrite_replace(r, m->root->outputs[0], mul->outputs[0]);
}

static const pattern sub_constant = {.name = "sub-constant-to-add",
                                     .doc = "Sub(x, c) -> Add(x, -c)",
                                     .parity = PARITY_EXACT,
                                     .root = NODE(OP_SUB, Y, ANY(X), CONST(C)),
                                     .where = float_constant,
                                     .rewrite = sub_to_add};
static const pattern div_power = {.name = "div-power-of-two-to-mul",
                                  .doc = "Div(x, 2^k) -> Mul(x, 2^-k)",
                                  .parity = PARITY_EXACT,
                                  .root = NODE(OP_DIV, Y, ANY(X), CONST(C)),
                                  .where = exact_reciprocals,
                                  .rewrite = div_to_mul};
static const pattern div_constant = {.name = "div-constant-to-mul",
                                     .doc = "Div(x, c) -> Mul(x, 1/c)",
                                     .parity = PARITY_REASSOCIATING,
                                     .root = NODE(OP_DIV, Y, ANY(X), CONST(C)),
                                     .where = has_reciprocals,
                                     .rewrite = div_to_mul};

static const pattern *const patterns[] = {
    &clip_relu,   &relu_then_relu,   &relu_then_clip, &clip_then_relu,   &clip_then_clip, &max_scalar,   &min_scalar, &hardsigmoid_mul,
    &relu6_swish, &relu6_gate_swish, &erf_gelu,       &erf_of_half_gelu, &half_erf_gelu,  &sub_constant, &div_power,  &div_constant};
PATTERN_SET(npuc_activation_patterns, patterns);
