/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizations: gamma becomes the rule's factor, beta / gamma the bias before it, epsilon a number beside the integer variance. */
#include <math.h>

#include "quant/lower.h"
#include "quant/multiplier.h"

/* Units of the normalized value and the largest bias that is used (docs/numerics.md). */
static const double UNIT = 4096, MOST_BIAS = 1 << 29, MOST_EPSILON = 1152921504606846976.0;

static double parameter(const node *n, int32_t input, int64_t i, double otherwise) {
  const tensor *t = plan_constant(n, input);
  if (!t) return otherwise;
  return npuc_tensor_get(t, npuc_tensor_elements(t) == 1 ? 0 : i);
}

static npuc_status make_parameters(lowering *l, const plan_node *pn, int64_t count, value *inputs[4]) {
  double y_scale = (double)plan_params(l->p, pn->out)->scale;
  int32_t *bias = NPUC_NEW_ARRAY(l->p->arena, (size_t)count, int32_t), *m = NPUC_NEW_ARRAY(l->p->arena, (size_t)count, int32_t),
          *s = NPUC_NEW_ARRAY(l->p->arena, (size_t)count, int32_t);
  diag_place place = npuc_plan_place(pn->node, NULL);
  int64_t vanished = 0;
  for (int64_t i = 0; i < count; i++) {
    double gamma = parameter(pn->node, 1, i, 1), beta = parameter(pn->node, 2, i, 0), least = fabs(beta) * UNIT / MOST_BIAS;
    if (fabs(gamma) < least) gamma = copysign(least, gamma);
    if (gamma == 0) continue; /* beta is 0 too: y is 0 */
    bias[i] = (int32_t)rint(beta * UNIT / gamma);
    double factor = gamma / (UNIT * y_scale);
    multiplier_fit fit = npuc_multiplier(factor, l->p->options->multiplier_bits, &m[i], &s[i]);
    if (fit == MULTIPLIER_TOO_LARGE) return npuc_fail(l->p->d, NPUC_DIAG_E0709, &place, "factor %g of element %lld", factor, (long long)i);
    vanished += fit == MULTIPLIER_VANISHES;
  }
  if (vanished) npuc_warn(l->p->d, NPUC_DIAG_E0708, &place, "%lld of %lld factors", (long long)vanished, (long long)count);
  inputs[1] = npuc_lower_i32(l, pn->node, "bias", bias, count);
  inputs[2] = npuc_lower_i32(l, pn->node, "M", m, count);
  inputs[3] = npuc_lower_i32(l, pn->node, "s", s, count);
  return NPUC_OK;
}

npuc_status npuc_lower_normalize(lowering *l, const plan_node *pn) {
  const value *x = plan_x(pn->node);
  const qparams *qx = plan_params(l->p, x);
  normal_shape normal = {0};
  const char *reason = NULL;
  diag_place place = npuc_plan_place(pn->node, NULL);
  if (!npuc_plan_normal_shape(pn->node, &normal, &reason)) return npuc_fail(l->p->d, NPUC_DIAG_E0704, &place, "%s", reason);
  double step = (double)normal.count / (double)qx->scale, epsilon = rint(normal.epsilon * step * step);
  if (!(epsilon >= 0 && epsilon <= MOST_EPSILON))
    return npuc_fail(l->p->d, NPUC_DIAG_E0709, &place, "epsilon %g is too large beside the input's step %g", normal.epsilon,
                     (double)qx->scale);
  value *inputs[4] = {lower_of(l, x)};
  NPUC_TRY(make_parameters(l, pn, normal.parameters, inputs));
  node *made = npuc_lower_node(l, pn, OP_QNORMALIZE, NULL, inputs, 4, npuc_lower_output(l, pn));
  qnormalize_attributes *a = NPUC_ATTRS(qnormalize_attributes, made);
  a->count = normal.count;
  a->inner = 1;
  a->repeat = normal.repeat;
  a->centre = normal.centre;
  a->epsilon = (int64_t)epsilon;
  a->x_zero_point = qx->zero_point;
  rule_fields r = npuc_lower_rule(plan_params(l->p, pn->out), pn);
  LOWER_SET_RULE(a, r);
  return NPUC_OK;
}
