/* SPDX-License-Identifier: Apache-2.0 */
/* The integer module from the plan: inputs, nodes in the float graph's order, outputs. */
#include "quant/lower.h"

#include <math.h>
#include <string.h>

#include "quant/multiplier.h"

/* -- constants -- */
value *npuc_lower_ints(lowering *l, const char *name, dtype type, const int64_t *values, int64_t n) {
  return npuc_graph_constant_ints(l->g, npuc_graph_unique_name(l->g, name), type, values, n);
}

static const char *suffixed(lowering *l, const node *n, const char *suffix) {
  return npuc_graph_unique_name(l->g, npuc_arena_printf(l->p->arena, "%s.%s", n->name, suffix));
}

value *npuc_lower_i32(lowering *l, const node *n, const char *suffix, const int32_t *values, int64_t count) {
  shape s = {.rank = 1, .dims = {count}};
  return npuc_lower_bytes(l, n, suffix, DTYPE_I32, &s, values);
}

value *npuc_lower_bytes(lowering *l, const node *n, const char *suffix, dtype type, const shape *s, const void *bytes) {
  tensor t = {.type = type, .shape = *s};
  int64_t elements = 1;
  for (int32_t i = 0; i < s->rank; i++) elements *= s->dims[i];
  (void)npuc_dtype_bytes(type, elements, &t.bytes);
  t.data = npuc_arena_copy(l->m->arena, bytes, t.bytes);
  return npuc_graph_add_constant(l->g, suffixed(l, n, suffix), &t);
}

value *npuc_lower_copy(lowering *l, const value *constant) {
  if (!l->of[constant->id]) {
    tensor t = *constant->constant;
    t.data = npuc_arena_copy(l->m->arena, t.data, t.bytes);
    t.owner = NULL;
    l->of[constant->id] = npuc_graph_add_constant(l->g, npuc_graph_unique_name(l->g, constant->name), &t);
  }
  return l->of[constant->id];
}

/* -- annotation -- */
static tensor arena_tensor(arena *a, dtype type, int64_t n, int32_t rank) {
  tensor t = {.type = type, .shape = {.rank = rank, .dims = {n}}};
  (void)npuc_dtype_bytes(type, n, &t.bytes);
  t.data = npuc_arena_alloc(a, t.bytes);
  return t;
}

void npuc_lower_annotate(lowering *l, value *v, int32_t axis, const float *scales, const int32_t *zero_points, int64_t n, dtype zero_type) {
  quant *q = NPUC_NEW(l->m->arena, quant);
  int32_t rank = axis < 0 ? 0 : 1;
  q->axis = axis;
  q->scale = arena_tensor(l->m->arena, DTYPE_F32, n, rank);
  q->zero_point = arena_tensor(l->m->arena, zero_type, n, rank);
  for (int64_t i = 0; i < n; i++) {
    npuc_tensor_set(&q->scale, i, (double)scales[i]);
    npuc_tensor_set_int(&q->zero_point, i, zero_points ? zero_points[i] : 0);
  }
  v->quant = q;
}

/* -- values and nodes -- */
value *npuc_lower_value(lowering *l, const char *name, const shape *s, const qparams *p) {
  value *v = npuc_graph_add_value(l->g, name, p->type, s); /* a suffix only where a value has the name: nodes have names of their own */
  npuc_lower_annotate(l, v, -1, &p->scale, &p->zero_point, 1, p->type);
  return v;
}

value *npuc_lower_output(lowering *l, const plan_node *pn) {
  value *v = npuc_lower_value(l, pn->out->name, &pn->out->shape, plan_params(l->p, pn->out));
  l->of[pn->out->id] = v;
  return v;
}

static const location *copy_location(arena *a, const plan_node *pn) {
  const location *from = pn->node->location;
  const node *n = pn->node;
  location *to = NPUC_NEW(a, location);
  to->name = npuc_arena_str(a, from && from->name ? from->name : n->name);
  size_t more = from ? from->n_derived : 0;
  bool merged = pn->last != n;
  const char **derived = NPUC_NEW_ARRAY(a, more + 1, const char *);
  for (size_t i = 0; i < more; i++) derived[i] = npuc_arena_str(a, from->derived[i]);
  if (merged) derived[more] = npuc_arena_str(a, pn->last->location && pn->last->location->name ? pn->last->location->name : pn->last->name);
  to->derived = derived;
  to->n_derived = more + merged;
  return to;
}

node *npuc_lower_node(lowering *l, const plan_node *pn, op_id op, const char *suffix, value *const *inputs, int32_t n_inputs,
                      value *output) {
  const char *name = suffix ? npuc_arena_printf(l->p->arena, "%s.%s", pn->node->name, suffix) : pn->node->name;
  node *n = npuc_graph_insert_node_with_outputs(l->g, NULL, npuc_op(op), name, inputs, n_inputs, (value *[]){output}, 1,
                                                copy_location(l->m->arena, pn));
  if (pn->node->place) n->place = npuc_arena_str(l->m->arena, pn->node->place);
  if (pn->node->place_reason) n->place_reason = npuc_arena_str(l->m->arena, pn->node->place_reason);
  return n;
}

/* -- the rule's parameters -- */
static int64_t clamp_to(double real, const qparams *y, int32_t otherwise) {
  return isinf(real) ? otherwise : npuc_qparams_quantize(y, real);
}

rule_fields npuc_lower_rule(const qparams *y, const plan_node *pn) {
  rule_fields r = {.zero_point = y->zero_point, .lo = y->lo, .hi = y->hi, .dtype = y->type};
  if (!pn) return r;
  r.lo = clamp_to(pn->lo, y, y->lo);
  r.hi = clamp_to(pn->hi, y, y->hi);
  return r;
}

npuc_status npuc_lower_multiplier(lowering *l, const plan_node *pn, const char *suffix, double r, value **out_m, value **out_s) {
  int32_t m, s;
  multiplier_fit fit = npuc_multiplier(r, l->p->options->multiplier_bits, &m, &s);
  diag_place place = npuc_plan_place(pn->node, NULL);
  if (fit == MULTIPLIER_TOO_LARGE) return npuc_fail(l->p->d, NPUC_DIAG_E0709, &place, "factor %g", r);
  if (fit == MULTIPLIER_VANISHES) npuc_warn(l->p->d, NPUC_DIAG_E0708, &place, "factor %g", r);
  *out_m = npuc_lower_i32(l, pn->node, npuc_arena_printf(l->p->arena, "M%s", suffix ? suffix : ""), &m, 1);
  *out_s = npuc_lower_i32(l, pn->node, npuc_arena_printf(l->p->arena, "s%s", suffix ? suffix : ""), &s, 1);
  return NPUC_OK;
}

npuc_status npuc_lower_requantize(lowering *l, const plan_node *pn, const char *name, value *x, const qparams *from, const qparams *to,
                                  value **out_y) {
  *out_y = x;
  if (from->type == to->type && from->scale == to->scale && from->zero_point == to->zero_point) return NPUC_OK;
  value *inputs[3] = {x};
  NPUC_TRY(npuc_lower_multiplier(l, pn, npuc_arena_printf(l->p->arena, "_%s", name), (double)from->scale / (double)to->scale, &inputs[1],
                                 &inputs[2]));
  value *y = npuc_lower_value(l, npuc_arena_printf(l->p->arena, "%s.requantized", x->name), &x->shape, to);
  node *n = npuc_lower_node(l, pn, OP_REQUANTIZE, npuc_arena_printf(l->p->arena, "requantize_%s", name), inputs, 3, y);
  qunary_attributes *a = NPUC_ATTRS(qunary_attributes, n);
  a->x_zero_point = from->zero_point;
  rule_fields r = npuc_lower_rule(to, NULL);
  LOWER_SET_RULE(a, r);
  l->report->requantizes++;
  *out_y = y;
  return NPUC_OK;
}

/* -- report -- */
static void report_layer(lowering *l, const plan_node *pn) {
  const plan_value *pv = &l->p->values[pn->out->id];
  if (!pv->quantized || pv->same_as != pn->out->id) return;
  quant_report *r = l->report;
  r->layers = npuc_arena_grow(r->arena, r->layers, r->n_layers, r->n_layers + 1, sizeof *r->layers, &r->layers_capacity);
  quant_layer *q = &r->layers[r->n_layers++];
  *q = (quant_layer){
      .weight_sqnr_db = NAN, .lo = pv->range.lo, .hi = pv->range.hi, .scale = pv->params.scale, .zero_point = pv->params.zero_point};
  q->node = npuc_arena_str(r->arena, npuc_plan_place(pn->node, NULL).node);
  q->op = npuc_arena_str(r->arena, pn->node->op->type);
  q->output = npuc_arena_str(r->arena, pn->out->name);
  if (pv->seen && pv->seen->count) {
    q->min = (double)pv->seen->min;
    q->max = (double)pv->seen->max;
  }
  if (pn->weights) {
    q->weight_sqnr_db = pn->weights->sqnr_db;
    q->bias_correction = pn->weights->correction;
    q->raised_channels = pn->weights->raised;
    q->vanished_channels = pn->weights->vanished;
  }
}

/* -- driving -- */
static npuc_status lower_node(lowering *l, const plan_node *pn) {
  switch (pn->role) {
    case ROLE_FUSED:
      l->report->fused_clamps++;
      return NPUC_OK;
    case ROLE_CONV:
    case ROLE_CHANNEL:
    case ROLE_GEMM:
    case ROLE_MATMUL:
      return npuc_lower_weights(l, pn);
    case ROLE_AVERAGE:
    case ROLE_GLOBAL:
    case ROLE_MAXPOOL:
      return npuc_lower_pool(l, pn);
    case ROLE_MOVE:
    case ROLE_PAD:
    case ROLE_CONCAT:
    case ROLE_ARGMAX:
    case ROLE_INTEGER:
      return npuc_lower_move(l, pn);
    case ROLE_ADD:
    case ROLE_MUL:
    case ROLE_SCALE:
    case ROLE_CLAMP:
    case ROLE_LOOKUP:
    case ROLE_SOFTMAX:
    case ROLE_LOGSOFTMAX:
      return npuc_lower_elements(l, pn);
    case ROLE_NORMALIZE:
      return npuc_lower_normalize(l, pn);
    case ROLE_NONE:
      break;
  }
  diag_place place = npuc_plan_place(pn->node, NULL);
  return npuc_fail(l->p->d, NPUC_DIAG_E0001, &place, "a node without a role");
}

static void lower_input(lowering *l, const value *v) {
  if (!l->p->values[v->id].quantized) {
    l->of[v->id] = npuc_graph_add_input(l->g, v->name, v->type, &v->shape);
    return;
  }
  const qparams *q = plan_params(l->p, v);
  value *in = npuc_graph_add_input(l->g, v->name, q->type, &v->shape);
  npuc_lower_annotate(l, in, -1, &q->scale, &q->zero_point, 1, q->type);
  l->of[v->id] = in;
}

static void copy_metadata(module *to, const module *from) {
  const char *key;
  void *text;
  for (size_t at = 0; from->metadata && npuc_map_next(from->metadata, &at, &key, &text);)
    npuc_map_put(to->metadata, key, npuc_arena_str(to->arena, text));
  if (from->producer) to->producer = npuc_arena_str(to->arena, from->producer);
  if (from->source_path) to->source_path = npuc_arena_str(to->arena, from->source_path);
}

/* A port keeps the name that it has in the float graph, whatever took it in between. */
static void name_output(lowering *l, value *v, const char *name) {
  value *taken = npuc_graph_value(l->g, name);
  if (taken == v || v->is_input || (taken && (taken->is_input || taken->is_output))) return;
  if (taken) npuc_value_rename(taken, npuc_graph_unique_name(l->g, name));
  npuc_value_rename(v, name);
}

static npuc_status lower_graph(lowering *l) {
  const graph *from = l->p->g;
  /* Ports first: their names are the interface. */
  for (size_t i = 0; i < from->n_inputs; i++) lower_input(l, from->inputs[i]);
  for (size_t i = 0; i < l->p->n_nodes; i++) {
    NPUC_TRY(lower_node(l, &l->p->nodes[i]));
    if (l->p->nodes[i].role != ROLE_FUSED) report_layer(l, &l->p->nodes[i]);
  }
  for (size_t i = 0; i < from->n_outputs; i++) {
    value *out = l->of[from->outputs[i]->id];
    if (!out) {
      diag_place place = {.part = from->name, .node = from->outputs[i]->name};
      return npuc_fail(l->p->d, NPUC_DIAG_E0704, &place,
                       "this output of the model is a constant: no sample changes it, and nothing computes it");
    }
    name_output(l, out, from->outputs[i]->name);
    npuc_graph_add_output(l->g, out);
  }
  NPUC_TRY(npuc_graph_infer(l->p->d, l->g));
  NPUC_TRY(npuc_graph_verify(l->p->d, l->g, "quantize"));
  return npuc_quant_check_integer_only(l->p->d, l->g);
}

npuc_status npuc_plan_lower(plan *p, const module *source, quant_report *report, module **out_module) {
  module *m = npuc_module_create();
  copy_metadata(m, source);
  lowering l = {.p = p, .m = m, .g = npuc_graph_create(m, p->g->name), .report = report};
  l.of = NPUC_NEW_ARRAY(p->arena, p->g->next_value_id, value *);
  npuc_status status = lower_graph(&l);
  if (status != NPUC_OK) {
    npuc_module_destroy(m);
    return status;
  }
  *out_module = m;
  return NPUC_OK;
}
