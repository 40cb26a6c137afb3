/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and matrix products with constant weights. */
#include "quant/lower.h"

/* w, bias, M, s as constants; inputs[0] is the caller's. */
static void weight_inputs(lowering *l, const plan_node *pn, const shape *w_shape, value *inputs[5]) {
  const quant_weights *q = pn->weights;
  const qparams *x = plan_params(l->p, plan_x(pn->node));
  inputs[1] = npuc_lower_bytes(l, pn->node, "w", DTYPE_I8, w_shape, q->w);
  inputs[2] = npuc_lower_i32(l, pn->node, "bias", q->bias, q->outputs);
  inputs[3] = npuc_lower_i32(l, pn->node, "M", q->m, q->outputs);
  inputs[4] = npuc_lower_i32(l, pn->node, "s", q->s, q->outputs);
  npuc_lower_annotate(l, inputs[1], 0, q->w_scale, NULL, q->outputs, DTYPE_I8);
  float *bias_scale = NPUC_NEW_ARRAY(l->p->arena, (size_t)q->outputs, float);
  for (int64_t o = 0; o < q->outputs; o++) bias_scale[o] = x->scale * q->w_scale[o];
  npuc_lower_annotate(l, inputs[2], 0, bias_scale, NULL, q->outputs, DTYPE_I32);
}

static int_list copy_list(lowering *l, const int_list *from, int32_t n, int64_t otherwise) {
  int_list to = {.values = NPUC_NEW_ARRAY(l->m->arena, (size_t)n, int64_t), .count = n};
  for (int32_t i = 0; i < n; i++) to.values[i] = from && i < from->count ? from->values[i] : otherwise;
  return to;
}

static npuc_status lower_conv(lowering *l, const plan_node *pn) {
  const value *x = plan_x(pn->node);
  const conv_attributes *from = pn->role == ROLE_CONV ? NPUC_ATTRS(conv_attributes, pn->node) : NULL;
  int32_t spatial = x->shape.rank - 2;
  shape w = {.rank = x->shape.rank, .dims = {pn->weights->outputs, 1}};
  for (int32_t i = 0; i < spatial; i++) w.dims[2 + i] = 1;
  if (from) w = plan_constant(pn->node, 1)->shape;
  value *inputs[5] = {lower_of(l, x)};
  weight_inputs(l, pn, &w, inputs);
  node *n = npuc_lower_node(l, pn, OP_QCONV, NULL, inputs, 5, npuc_lower_output(l, pn));
  qconv_attributes *a = NPUC_ATTRS(qconv_attributes, n);
  int_list kernel = {.values = w.dims + 2, .count = spatial};
  a->kernel_shape = copy_list(l, &kernel, spatial, 1);
  a->strides = copy_list(l, from ? &from->strides : NULL, spatial, 1);
  a->pads = copy_list(l, from ? &from->pads : NULL, 2 * spatial, 0);
  a->dilations = copy_list(l, from ? &from->dilations : NULL, spatial, 1);
  a->group = pn->weights->group;
  a->x_zero_point = plan_params(l->p, x)->zero_point;
  rule_fields r = npuc_lower_rule(plan_params(l->p, pn->out), pn);
  LOWER_SET_RULE(a, r);
  return NPUC_OK;
}

/* Reshape on integers: same scale. */
static value *reshape(lowering *l, const plan_node *pn, const char *suffix, value *x, const shape *to, const qparams *q, value *out) {
  value *dims = npuc_lower_ints(l, npuc_arena_printf(l->p->arena, "%s.%s_shape", pn->node->name, suffix), DTYPE_I64, to->dims, to->rank);
  if (!out) out = npuc_lower_value(l, npuc_arena_printf(l->p->arena, "%s.%s", pn->node->name, suffix), to, q);
  npuc_lower_node(l, pn, OP_RESHAPE, suffix, (value *[]){x, dims}, 2, out);
  return out;
}

static npuc_status lower_matrix(lowering *l, const plan_node *pn) {
  const value *x = plan_x(pn->node);
  const quant_weights *q = pn->weights;
  const qparams *qx = plan_params(l->p, x), *qy = plan_params(l->p, pn->out);
  value *in = lower_of(l, x), *y = NULL;
  bool flat = x->shape.rank == 2;
  int64_t rows = 1;
  for (int32_t i = 0; i < x->shape.rank - 1; i++) rows *= x->shape.dims[i];
  shape two = {.rank = 2, .dims = {rows, q->depth}}, w = {.rank = 2, .dims = {q->outputs, q->depth}},
        result = {.rank = 2, .dims = {rows, q->outputs}};
  if (flat) {
    y = npuc_lower_output(l, pn);
  } else {
    in = reshape(l, pn, "rows", in, &two, qx, NULL);
    y = npuc_lower_value(l, npuc_arena_printf(l->p->arena, "%s.product", pn->node->name), &result, qy);
  }
  value *inputs[5] = {in};
  weight_inputs(l, pn, &w, inputs);
  node *n = npuc_lower_node(l, pn, OP_QGEMM, NULL, inputs, 5, y);
  qgemm_attributes *a = NPUC_ATTRS(qgemm_attributes, n);
  a->x_zero_point = qx->zero_point;
  rule_fields r = npuc_lower_rule(qy, pn);
  LOWER_SET_RULE(a, r);
  if (!flat) (void)reshape(l, pn, "back", y, &pn->out->shape, qy, npuc_lower_output(l, pn));
  return NPUC_OK;
}

npuc_status npuc_lower_weights(lowering *l, const plan_node *pn) {
  return pn->role == ROLE_CONV || pn->role == ROLE_CHANNEL ? lower_conv(l, pn) : lower_matrix(l, pn);
}
