/* SPDX-License-Identifier: Apache-2.0 */
/* Sums, products, other scales, tables, softmax. */
#include <math.h>

#include "quant/lower.h"
#include "quant/multiplier.h"
#include "quant/tables.h"

/* An operand: the integer value of an activation, or a constant quantized to its own range. */
static value *operand(lowering *l, const plan_node *pn, int32_t i, qparams *out_q) {
  const value *v = pn->node->inputs[i];
  if (!v->constant) {
    *out_q = *plan_params(l->p, v);
    return lower_of(l, v);
  }
  int64_t n = npuc_tensor_elements(v->constant);
  quant_range range = {0, 0};
  for (int64_t k = 0; k < n; k++) {
    double x = npuc_tensor_get(v->constant, k);
    range.lo = fmin(range.lo, x);
    range.hi = fmax(range.hi, x);
  }
  bool constant;
  *out_q = npuc_range_qparams(range, l->p->options->activations, &constant);
  tensor bytes = {.type = out_q->type, .shape = v->constant->shape, .bytes = (size_t)n};
  bytes.data = npuc_arena_alloc(l->p->arena, (size_t)n + 1);
  for (int64_t k = 0; k < n; k++) npuc_tensor_set_int(&bytes, k, npuc_qparams_quantize(out_q, npuc_tensor_get(v->constant, k)));
  value *c = npuc_lower_bytes(l, pn->node, i ? "b" : "a", out_q->type, &bytes.shape, bytes.data);
  npuc_lower_annotate(l, c, -1, &out_q->scale, &out_q->zero_point, 1, out_q->type);
  return c;
}

static void set_binary(lowering *l, const plan_node *pn, node *n, const qparams *a, const qparams *b) {
  qbinary_attributes *to = NPUC_ATTRS(qbinary_attributes, n);
  to->a_zero_point = a->zero_point;
  to->b_zero_point = b->zero_point;
  rule_fields r = npuc_lower_rule(plan_params(l->p, pn->out), pn);
  LOWER_SET_RULE(to, r);
}

static npuc_status lower_add(lowering *l, const plan_node *pn) {
  qparams a, b;
  value *inputs[5] = {operand(l, pn, 0, &a), operand(l, pn, 1, &b)};
  double y = (double)plan_params(l->p, pn->out)->scale, sign = node_is(pn->node, OP_SUB) ? -1 : 1;
  double ra = (double)a.scale / y, rb = sign * (double)b.scale / y;
  int32_t ma, mb, s;
  multiplier_fit fit = npuc_multiplier_pair(ra, rb, l->p->options->multiplier_bits, &ma, &mb, &s);
  diag_place place = npuc_plan_place(pn->node, NULL);
  if (fit == MULTIPLIER_TOO_LARGE) return npuc_fail(l->p->d, NPUC_DIAG_E0709, &place, "factors %g and %g", ra, rb);
  if (fit == MULTIPLIER_VANISHES) npuc_warn(l->p->d, NPUC_DIAG_E0708, &place, "factors %g and %g", ra, rb);
  inputs[2] = npuc_lower_i32(l, pn->node, "Ma", &ma, 1);
  inputs[3] = npuc_lower_i32(l, pn->node, "Mb", &mb, 1);
  inputs[4] = npuc_lower_i32(l, pn->node, "s", &s, 1);
  node *n = npuc_lower_node(l, pn, OP_QADD, NULL, inputs, 5, npuc_lower_output(l, pn));
  set_binary(l, pn, n, &a, &b);
  return NPUC_OK;
}

static npuc_status lower_mul(lowering *l, const plan_node *pn) {
  qparams a, b;
  value *inputs[4] = {operand(l, pn, 0, &a), operand(l, pn, 1, &b)};
  double r = (double)a.scale * (double)b.scale / (double)plan_params(l->p, pn->out)->scale;
  NPUC_TRY(npuc_lower_multiplier(l, pn, NULL, r, &inputs[2], &inputs[3]));
  node *n = npuc_lower_node(l, pn, OP_QMUL, NULL, inputs, 4, npuc_lower_output(l, pn));
  set_binary(l, pn, n, &a, &b);
  return NPUC_OK;
}

/* Requantize with a real factor: Mul and Div by a number, and clamps (factor 1). */
static npuc_status lower_scale(lowering *l, const plan_node *pn) {
  const node *n = pn->node;
  const value *x = plan_x(n);
  double factor = 1;
  if (pn->role == ROLE_SCALE) {
    (void)npuc_plan_scalar(n, n->inputs[0]->constant ? 0 : 1, &factor);
    if (node_is(n, OP_DIV)) factor = 1 / factor;
  }
  const qparams *qx = plan_params(l->p, x), *qy = plan_params(l->p, pn->out);
  value *inputs[3] = {lower_of(l, x)};
  NPUC_TRY(npuc_lower_multiplier(l, pn, NULL, (double)qx->scale * factor / (double)qy->scale, &inputs[1], &inputs[2]));
  node *made = npuc_lower_node(l, pn, OP_REQUANTIZE, NULL, inputs, 3, npuc_lower_output(l, pn));
  qunary_attributes *a = NPUC_ATTRS(qunary_attributes, made);
  a->x_zero_point = qx->zero_point;
  rule_fields r = npuc_lower_rule(qy, pn);
  LOWER_SET_RULE(a, r);
  l->report->requantizes++;
  return NPUC_OK;
}

static npuc_status lower_lookup(lowering *l, const plan_node *pn) {
  const value *x = plan_x(pn->node);
  const qparams *qy = plan_params(l->p, pn->out);
  int32_t table[256];
  diag_place place = npuc_plan_place(pn->node, NULL);
  if (!npuc_table_unary(pn->node, plan_params(l->p, x), qy, table))
    return npuc_fail(l->p->d, NPUC_DIAG_E0704, &place, "no table for this operator");
  unsigned char bytes[256];
  for (int i = 0; i < 256; i++) bytes[i] = (unsigned char)table[i]; /* two's complement for int8 */
  shape s = {.rank = 1, .dims = {256}};
  value *inputs[2] = {lower_of(l, x), npuc_lower_bytes(l, pn->node, "table", qy->type, &s, bytes)};
  npuc_lower_node(l, pn, OP_LOOKUP, NULL, inputs, 2, npuc_lower_output(l, pn));
  l->report->lookups++;
  return NPUC_OK;
}

static npuc_status lower_softmax(lowering *l, const plan_node *pn) {
  const value *x = plan_x(pn->node);
  const qparams *qx = plan_params(l->p, x), *qy = plan_params(l->p, pn->out);
  shape s = {.rank = 1, .dims = {256}};
  uint16_t exponentials[256];
  npuc_table_softmax(qx->scale, exponentials);
  value *inputs[5] = {lower_of(l, x), npuc_lower_bytes(l, pn->node, "T", DTYPE_U16, &s, exponentials)};
  bool log = pn->role == ROLE_LOGSOFTMAX;
  if (log) {
    log_tables t;
    diag_place place = npuc_plan_place(pn->node, NULL);
    if (!npuc_table_logsoftmax(qx->scale, qy->scale, l->p->options->multiplier_bits, &t)) {
      return npuc_fail(l->p->d, NPUC_DIAG_E0709, &place, "the output's step %g is too small", (double)qy->scale);
    }
    inputs[2] = npuc_lower_i32(l, pn->node, "L", t.logs, 256);
    inputs[3] = npuc_lower_i32(l, pn->node, "M", t.m, 2);
    inputs[4] = npuc_lower_i32(l, pn->node, "s", &t.s, 1);
  } else {
    int32_t bits = (int32_t)npuc_dtype_bits(qy->type);
    inputs[2] = npuc_lower_i32(l, pn->node, "scale", &bits, 1);
  }
  node *n = npuc_lower_node(l, pn, log ? OP_QLOGSOFTMAX : OP_QSOFTMAX, NULL, inputs, log ? 5 : 3, npuc_lower_output(l, pn));
  qsoftmax_attributes *a = NPUC_ATTRS(qsoftmax_attributes, n);
  a->axis = NPUC_ATTRS(axis_attributes, pn->node)->axis;
  rule_fields r = npuc_lower_rule(qy, pn);
  LOWER_SET_RULE(a, r);
  return NPUC_OK;
}

npuc_status npuc_lower_elements(lowering *l, const plan_node *pn) {
  switch (pn->role) {
    case ROLE_ADD:
      return lower_add(l, pn);
    case ROLE_MUL:
      return lower_mul(l, pn);
    case ROLE_LOOKUP:
      return lower_lookup(l, pn);
    case ROLE_SOFTMAX:
    case ROLE_LOGSOFTMAX:
      return lower_softmax(l, pn);
    default:
      return lower_scale(l, pn);
  }
}
