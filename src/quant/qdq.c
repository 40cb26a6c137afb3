/* SPDX-License-Identifier: Apache-2.0 */
/* The same scales as standard ONNX: the float graph with QuantizeLinear and DequantizeLinear behind every activation that the integer graph holds, and int8
 * weights and int32 biases behind DequantizeLinear. */
#include <string.h>

#include "quant/plan.h"

typedef struct qdq {
  plan *p;
  module *m;
  graph *g;
} qdq;

static value *constant(qdq *q, const char *name, dtype type, const shape *s, const void *bytes) {
  tensor t = {.type = type, .shape = *s};
  int64_t n = 1;
  for (int32_t i = 0; i < s->rank; i++) n *= s->dims[i];
  (void)npuc_dtype_bytes(type, n, &t.bytes);
  t.data = npuc_arena_copy(q->m->arena, bytes, t.bytes);
  return npuc_graph_add_constant(q->g, npuc_graph_unique_name(q->g, name), &t);
}

static value *zero_point(qdq *q, const char *name, const qparams *p) {
  unsigned char byte = (unsigned char)p->zero_point;
  return constant(q, name, p->type, &SHAPE_SCALAR, &byte);
}

/* v -> QuantizeLinear -> DequantizeLinear -> v's users. */
static void wrap(qdq *q, value *v, const qparams *p) {
  arena *a = q->p->arena;
  const char *base = v->name;
  node *before = v->producer ? v->producer->next : q->g->first;
  value *scale = constant(q, npuc_arena_printf(a, "%s_scale", base), DTYPE_F32, &SHAPE_SCALAR, &p->scale);
  value *zero = zero_point(q, npuc_arena_printf(a, "%s_zero_point", base), p);
  const location *loc = v->producer ? v->producer->location : NULL;
  value *quantized =
      npuc_graph_add_value(q->g, npuc_graph_unique_name(q->g, npuc_arena_printf(a, "%s_quantized", base)), p->type, &v->shape);
  value *back = npuc_graph_add_value(q->g, npuc_graph_unique_name(q->g, npuc_arena_printf(a, "%s_dequantized", base)), v->type, &v->shape);
  node *to = npuc_graph_insert_node_with_outputs(q->g, before, npuc_op(OP_QUANTIZELINEAR), npuc_arena_printf(a, "%s_QuantizeLinear", base),
                                                 (value *[]){v, scale, zero}, 3, &quantized, 1, loc);
  (void)npuc_graph_insert_node_with_outputs(q->g, before, npuc_op(OP_DEQUANTIZELINEAR), npuc_arena_printf(a, "%s_DequantizeLinear", base),
                                            (value *[]){quantized, scale, zero}, 3, &back, 1, loc);
  npuc_value_replace(v, back);
  npuc_node_set_input(to, 0, v);
}

/* DequantizeLinear of a constant along `axis`, before `user`. Weights have explicit zero points, because ONNX Runtime's session.x64quantprecision adds a
 * scalar one where there is none, and then refuses it beside scales per channel. */
static value *dequantized(qdq *q, node *user, const char *suffix, value *integers, const float *scales, int64_t n, int64_t axis) {
  arena *a = q->p->arena;
  shape s = {.rank = 1, .dims = {n}}, result = integers->shape;
  value *scale = constant(q, npuc_arena_printf(a, "%s_%s_scale", user->name, suffix), DTYPE_F32, &s, scales);
  value *y =
      npuc_graph_add_value(q->g, npuc_graph_unique_name(q->g, npuc_arena_printf(a, "%s_%s", user->name, suffix)), DTYPE_F32, &result);
  value *inputs[3] = {integers, scale};
  int32_t n_inputs = 2;
  if (integers->type == DTYPE_I8) {
    inputs[n_inputs++] =
        constant(q, npuc_arena_printf(a, "%s_%s_zero_point", user->name, suffix), DTYPE_I8, &s, npuc_arena_alloc(a, (size_t)n));
  }
  node *made = npuc_graph_insert_node_with_outputs(q->g, user, npuc_op(OP_DEQUANTIZELINEAR),
                                                   npuc_arena_printf(a, "%s_%s_DequantizeLinear", user->name, suffix), inputs, n_inputs, &y,
                                                   1, user->location);
  NPUC_ATTRS(quantize_attributes, made)->axis = axis;
  return y;
}

static value *bias_of(qdq *q, const plan_node *pn, node *user) {
  const quant_weights *w = pn->weights;
  const qparams *x = plan_params(q->p, plan_x(pn->node));
  shape s = {.rank = 1, .dims = {w->outputs}};
  float *scales = NPUC_NEW_ARRAY(q->p->arena, (size_t)w->outputs, float);
  for (int64_t o = 0; o < w->outputs; o++) scales[o] = x->scale * w->w_scale[o];
  value *integers = constant(q, npuc_arena_printf(q->p->arena, "%s_bias_quantized", user->name), DTYPE_I32, &s, w->bias);
  return dequantized(q, user, "bias", integers, scales, w->outputs, 0);
}

static value *weights_of(qdq *q, const plan_node *pn, node *user, const shape *s, const int8_t *bytes, int64_t axis) {
  value *integers = constant(q, npuc_arena_printf(q->p->arena, "%s_weight_quantized", user->name), DTYPE_I8, s, bytes);
  return dequantized(q, user, "weight", integers, pn->weights->w_scale, pn->weights->outputs, axis);
}

static void layer(qdq *q, const plan_node *pn) {
  const quant_weights *w = pn->weights;
  node *n = npuc_graph_node(q->g, pn->node->name);
  if (pn->role == ROLE_CONV) {
    npuc_node_set_input(n, 1, weights_of(q, pn, n, &plan_constant(pn->node, 1)->shape, w->w, 0));
    npuc_node_set_input(n, 2, bias_of(q, pn, n));
  } else if (pn->role == ROLE_GEMM) {
    shape s = {.rank = 2, .dims = {w->outputs, w->depth}};
    gemm_attributes *a = NPUC_ATTRS(gemm_attributes, n);
    a->alpha = a->beta = 1;
    a->transB = 1;
    npuc_node_set_input(n, 1, weights_of(q, pn, n, &s, w->w, 0));
    npuc_node_set_input(n, 2, bias_of(q, pn, n));
  } else {
    shape s = {.rank = 2, .dims = {w->depth, w->outputs}};
    int8_t *turned = npuc_arena_alloc(q->p->arena, (size_t)(w->outputs * w->depth));
    for (int64_t o = 0; o < w->outputs; o++) {
      for (int64_t k = 0; k < w->depth; k++) turned[k * w->outputs + o] = w->w[o * w->depth + k];
    }
    npuc_node_set_input(n, 1, weights_of(q, pn, n, &s, turned, 1));
    if (pn->bias_add) {
      node *add = npuc_graph_node(q->g, pn->bias_add->name);
      npuc_node_set_input(add, pn->bias_add->inputs[0]->constant ? 0 : 1, bias_of(q, pn, add));
    }
  }
}

static npuc_status write(qdq *q) {
  const plan *p = q->p;
  for (size_t i = 0; i < p->n_nodes; i++) {
    const plan_node *pn = &p->nodes[i];
    if (pn->weights && pn->role != ROLE_CHANNEL) layer(q, pn);
  }
  for (uint32_t i = 0; i < p->g->next_value_id; i++) {
    const plan_value *pv = &p->values[i];
    if (!pv->value || !pv->quantized || !p->values[pv->same_as].has_params) continue;
    value *v = npuc_graph_value(q->g, pv->value->name);
    if (v) wrap(q, v, plan_params(p, pv->value));
  }
  (void)npuc_graph_remove_dead(q->g);
  NPUC_TRY(npuc_graph_infer(p->d, q->g));
  return npuc_graph_verify(p->d, q->g, "quantize (QDQ)");
}

npuc_status npuc_plan_qdq(plan *p, const module *source, module **out_module) {
  module *m = npuc_module_clone(source);
  qdq q = {.p = p, .m = m, .g = m->graphs[0]};
  npuc_status status = write(&q);
  if (status != NPUC_OK) {
    npuc_module_destroy(m);
    return status;
  }
  *out_module = m;
  return NPUC_OK;
}
