/* SPDX-License-Identifier: Apache-2.0 */
/* Roles of nodes, clamps merged into producers, and which values share a scale. */
#include "quant/plan.h"

#include <math.h>
#include <string.h>

#include "quant/unary.h"

diag_place npuc_plan_place(const node *n, const char *attribute) {
  return (diag_place){
      .part = n->owner->name,
      .node = n->location && n->location->name ? n->location->name : n->name,
      .op = n->op->type,
      .attribute = attribute,
  };
}

static npuc_status refuse(diag *d, const node *n, const char *attribute, const char *reason) {
  diag_place place = npuc_plan_place(n, attribute);
  return npuc_fail(d, NPUC_DIAG_E0704, &place, "%s", reason);
}

bool npuc_plan_scalar(const node *n, int32_t input, double *out_value) {
  const tensor *t = plan_constant(n, input);
  if (!t || npuc_tensor_elements(t) != 1) return false;
  *out_value = npuc_tensor_get(t, 0);
  return true;
}

bool npuc_plan_per_channel(const tensor *constant, int64_t channels, int32_t rank) {
  if (rank < 3) return false;
  const shape *s = &constant->shape;
  if (npuc_tensor_elements(constant) == 1) return true;
  if (s->rank > rank) return false;
  for (int32_t i = 0; i < s->rank; i++) {
    int32_t axis = rank - s->rank + i;
    if (s->dims[i] != (axis == 1 ? channels : 1)) return false;
  }
  return npuc_tensor_elements(constant) == channels;
}

static bool is_float(const value *v) { return v && npuc_dtype_kind(v->type) == KIND_FLOAT; }
static bool is_activation(const value *v) { return is_float(v) && !v->constant; }
static const value *input(const node *n, int32_t i) { return i < n->n_inputs ? n->inputs[i] : NULL; }

/* -- clamps -- */
/* Relu, Clip, Max or Min with one number: narrows [lo, hi]; *out_x is the clamped value. */
static bool clamp_of(const node *n, double *lo, double *hi, const value **out_x) {
  double v;
  *out_x = input(n, 0);
  if (node_is(n, OP_RELU)) {
    *lo = fmax(*lo, 0);
    *hi = fmax(*hi, 0);
    return true;
  }
  if (node_is(n, OP_CLIP)) {
    double low = -INFINITY, high = INFINITY;
    if (input(n, 1) && !npuc_plan_scalar(n, 1, &low)) return false;
    if (input(n, 2) && !npuc_plan_scalar(n, 2, &high)) return false;
    *lo = fmin(fmax(*lo, low), high);
    *hi = fmin(fmax(*hi, low), high);
    return true;
  }
  if ((node_is(n, OP_MAX) || node_is(n, OP_MIN)) && n->n_inputs == 2) {
    int32_t at = npuc_plan_scalar(n, 1, &v) ? 1 : npuc_plan_scalar(n, 0, &v) ? 0 : -1;
    if (at < 0 || !is_activation(input(n, 1 - at)) || !npuc_shape_equal(&input(n, 1 - at)->shape, &n->outputs[0]->shape)) return false;
    *out_x = input(n, 1 - at);
    bool is_max = node_is(n, OP_MAX);
    *lo = is_max ? fmax(*lo, v) : fmin(*lo, v);
    *hi = is_max ? fmax(*hi, v) : fmin(*hi, v);
    return true;
  }
  return false;
}

static bool takes_clamp(role r) {
  return r == ROLE_CONV || r == ROLE_CHANNEL || r == ROLE_GEMM || r == ROLE_MATMUL || r == ROLE_ADD || r == ROLE_MUL || r == ROLE_SCALE ||
         r == ROLE_AVERAGE || r == ROLE_GLOBAL || r == ROLE_CLAMP || r == ROLE_NORMALIZE;
}

static bool sole_user(const value *v, const node **out_user) {
  if (v->n_uses != 1 || v->is_output) return false;
  *out_user = v->uses[0].user;
  return true;
}

/* -- roles -- */
static role role_of_binary(const node *n, const char **reason) {
  const value *a = input(n, 0), *b = input(n, 1);
  const tensor *ca = plan_constant(n, 0), *cb = plan_constant(n, 1);
  bool mul = node_is(n, OP_MUL), div = node_is(n, OP_DIV), sub = node_is(n, OP_SUB);
  const value *x = is_activation(a) ? a : b;
  const tensor *c = is_activation(a) ? cb : ca;
  if (div && (!cb || !is_activation(a))) {
    *reason = "division by a value that is not constant";
    return ROLE_NONE;
  }
  if (!c) return mul ? ROLE_MUL : ROLE_ADD;
  int64_t channels = x->shape.rank > 1 ? x->shape.dims[1] : 0;
  bool keeps_shape = npuc_shape_equal(&x->shape, &n->outputs[0]->shape); /* one number may have more axes than x: [1, 1, 1] */
  if ((mul || div) && keeps_shape && npuc_tensor_elements(c) == 1) return ROLE_SCALE;
  if (keeps_shape && !(sub && !is_activation(a)) && npuc_plan_per_channel(c, channels, x->shape.rank)) return ROLE_CHANNEL;
  if (div) {
    *reason = "division by a constant that is neither one number nor one for each channel, or that adds axes";
    return ROLE_NONE;
  }
  return mul ? ROLE_MUL : ROLE_ADD;
}

/* [N] or [1, N]. [N, 1] has as many numbers, one for each row. */
static bool is_one_for_each_column(const tensor *c, int64_t columns) {
  return npuc_tensor_elements(c) == columns && c->shape.rank > 0 && c->shape.dims[c->shape.rank - 1] == columns;
}

static role role_of_gemm(const node *n, const char **reason) {
  const gemm_attributes *a = NPUC_ATTRS(gemm_attributes, n);
  const tensor *c = plan_constant(n, 2);
  *reason = !plan_constant(n, 1) ? "B is not a constant: weights must be known"
            : a->transA          ? "transA: the activation is transposed"
            : input(n, 2) && !c  ? "C is not a constant"
            : c && npuc_tensor_elements(c) != 1 && !is_one_for_each_column(c, n->outputs[0]->shape.dims[1])
                ? "C is not one value for each output"
                : NULL;
  return *reason ? ROLE_NONE : ROLE_GEMM;
}

static role role_of_reduce(const node *n, const char **reason) {
  const value *x = input(n, 0);
  const tensor *axes = plan_constant(n, 1);
  int32_t rank = x->shape.rank;
  unsigned set = 0;
  for (int64_t i = 0; axes && i < npuc_tensor_elements(axes); i++) {
    int32_t axis;
    if (npuc_axis_normalize(npuc_tensor_get_int(axes, i), rank, &axis)) set |= 1u << axis;
  }
  unsigned spatial = rank > 2 ? (1u << rank) - 4u : 0;
  if (rank > 2 && set == spatial) return ROLE_GLOBAL;
  *reason = "only the mean or sum over all spatial axes has an integer form";
  return ROLE_NONE;
}

static role role_of_batchnorm(const node *n, const char **reason) {
  if (NPUC_ATTRS(batchnorm_attributes, n)->training_mode) *reason = "its statistics are the batch's own";
  for (int32_t i = 1; i < 5; i++) {
    if (!plan_constant(n, i)) *reason = "its parameters are not constants";
  }
  if (input(n, 0)->shape.rank < 3) *reason = "its input has no spatial axes; fold it into the layer before (normalize)";
  return *reason ? ROLE_NONE : ROLE_CHANNEL;
}

/* Elements from `axis` on. */
static int64_t elements_from(const shape *s, int32_t axis) {
  int64_t n = 1;
  for (int32_t i = axis; i < s->rank; i++) n *= s->dims[i];
  return n;
}

bool npuc_plan_normal_shape(const node *n, normal_shape *out, const char **out_reason) {
  const shape *x = &input(n, 0)->shape;
  int64_t groups = 0;
  switch (n->op->id) {
    case OP_LAYERNORMALIZATION:
    case OP_RMSNORMALIZATION: {
      const layernorm_attributes *a = NPUC_ATTRS(layernorm_attributes, n);
      int32_t axis = 0;
      (void)npuc_axis_normalize(a->axis, x->rank, &axis);
      int64_t count = elements_from(x, axis);
      *out = (normal_shape){count, 1, count, node_is(n, OP_LAYERNORMALIZATION), (double)a->epsilon};
      break;
    }
    case OP_GROUPNORMALIZATION:
      groups = NPUC_ATTRS(groupnorm_attributes, n)->num_groups;
      out->epsilon = (double)NPUC_ATTRS(groupnorm_attributes, n)->epsilon;
      break;
    default:
      groups = x->dims[1];
      out->epsilon = (double)NPUC_ATTRS(epsilon_attributes, n)->epsilon;
      break;
  }
  if (groups) *out = (normal_shape){elements_from(x, 1) / groups, elements_from(x, 2), x->dims[1], true, out->epsilon};
  if (out->count > 1 << 22) *out_reason = "more than 2^22 elements are normalized together";
  for (int32_t i = 1; i < 3; i++) {
    const tensor *t = plan_constant(n, i);
    if (input(n, i) && !t) *out_reason = "its parameters are not constants";
    if (t && npuc_tensor_elements(t) != 1 && npuc_tensor_elements(t) != out->parameters)
      *out_reason = "its parameters are not one number for each normalized element, or each channel";
  }
  for (int32_t i = 1; i < n->n_outputs; i++) {
    if (n->outputs[i] && (n->outputs[i]->n_uses || n->outputs[i]->is_output)) *out_reason = "its mean or deviation is asked for";
  }
  return !*out_reason;
}

static role role_of_normalization(const node *n, const char **reason) {
  normal_shape s = {0};
  return npuc_plan_normal_shape(n, &s, reason) ? ROLE_NORMALIZE : ROLE_NONE;
}

static role role_of_pad(const node *n, const char **reason) {
  const pad_attributes *a = NPUC_ATTRS(pad_attributes, n);
  const tensor *pads = plan_constant(n, 1);
  if (strcmp(a->mode, "constant") != 0) return ROLE_MOVE;
  double v;
  if (!pads) *reason = "pads are not constant";
  if (input(n, 2) && !npuc_plan_scalar(n, 2, &v)) *reason = "the padding value is not constant";
  return *reason ? ROLE_NONE : ROLE_PAD;
}

/* Roles that need no look at the arguments. */
static role role_by_table(op_id id) {
  switch (id) {
    case OP_RESHAPE:
    case OP_FLATTEN:
    case OP_SQUEEZE:
    case OP_UNSQUEEZE:
    case OP_TRANSPOSE:
    case OP_SLICE:
    case OP_SPLIT:
    case OP_GATHER:
    case OP_EXPAND:
    case OP_IDENTITY:
      return ROLE_MOVE;
    case OP_GLOBALMAXPOOL:
      return ROLE_MAXPOOL;
    case OP_AVERAGEPOOL:
      return ROLE_AVERAGE;
    case OP_GLOBALAVERAGEPOOL:
      return ROLE_GLOBAL;
    case OP_CONCAT:
      return ROLE_CONCAT;
    case OP_SOFTMAX:
      return ROLE_SOFTMAX;
    case OP_LOGSOFTMAX:
      return ROLE_LOGSOFTMAX;
    case OP_ARGMAX:
      return ROLE_ARGMAX;
    default:
      return ROLE_NONE;
  }
}

static bool touches_float(const node *n) {
  for (int32_t i = 0; i < n->n_inputs; i++) {
    if (is_float(n->inputs[i])) return true;
  }
  for (int32_t i = 0; i < n->n_outputs; i++) {
    if (is_float(n->outputs[i])) return true;
  }
  return false;
}

/* Observers read float32 alone: another float type would be left without a range. */
static bool is_other_float(const value *v) { return is_float(v) && v->type != DTYPE_F32; }
static bool touches_other_float(const node *n) {
  for (int32_t i = 0; i < n->n_inputs; i++) {
    if (is_other_float(n->inputs[i])) return true;
  }
  for (int32_t i = 0; i < n->n_outputs; i++) {
    if (is_other_float(n->outputs[i])) return true;
  }
  return false;
}

static role role_of(const node *n, const char **reason) {
  double lo = -INFINITY, hi = INFINITY;
  const value *x;
  if (!touches_float(n)) return ROLE_INTEGER;
  if (touches_other_float(n)) {
    *reason = "only float32 has an integer form, and one of its values is of another float type";
    return ROLE_NONE;
  }
  if (!is_activation(input(n, 0)) && !is_activation(input(n, 1))) {
    *reason = "it computes a float from constants or integers alone: constant folding (normalize) has not removed it";
    return ROLE_NONE;
  }
  if (clamp_of(n, &lo, &hi, &x)) return ROLE_CLAMP;
  switch (n->op->domain[0] ? OP_COUNT : n->op->id) {
    case OP_CONV:
      *reason = !plan_constant(n, 1)                  ? "W is not a constant: weights must be known"
                : input(n, 2) && !plan_constant(n, 2) ? "B is not a constant"
                                                      : NULL;
      return *reason ? ROLE_NONE : ROLE_CONV;
    case OP_GEMM:
      return role_of_gemm(n, reason);
    case OP_MATMUL: {
      const tensor *b = plan_constant(n, 1);
      *reason = !b || b->shape.rank != 2 || input(n, 0)->shape.rank < 2
                    ? "only a product with a constant matrix on the right has an integer form"
                    : NULL;
      return *reason ? ROLE_NONE : ROLE_MATMUL;
    }
    case OP_BATCHNORM:
      return role_of_batchnorm(n, reason);
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
      return role_of_binary(n, reason);
    case OP_MAXPOOL:
      if (n->n_outputs > 1 && n->outputs[1]) *reason = "the indices of the maxima are asked for";
      return *reason ? ROLE_NONE : ROLE_MAXPOOL;
    case OP_DROPOUT:
      if (n->n_outputs > 1 && n->outputs[1] && (n->outputs[1]->n_uses || n->outputs[1]->is_output)) *reason = "its mask is asked for";
      if (input(n, 2) && (!plan_constant(n, 2) || npuc_tensor_get_int(plan_constant(n, 2), 0))) *reason = "it may be in training mode";
      return *reason ? ROLE_NONE : ROLE_MOVE;
    case OP_REDUCEMEAN:
    case OP_REDUCESUM:
      return role_of_reduce(n, reason);
    case OP_PAD:
      return role_of_pad(n, reason);
    case OP_LAYERNORMALIZATION:
    case OP_RMSNORMALIZATION:
    case OP_GROUPNORMALIZATION:
    case OP_INSTANCENORMALIZATION:
      return role_of_normalization(n, reason);
    default:
      break;
  }
  role r = n->op->domain[0] ? ROLE_NONE : npuc_unary_known(n) ? ROLE_LOOKUP : role_by_table(n->op->id);
  if (r == ROLE_NONE) *reason = "this operator has no integer form";
  return r;
}

/* -- merging -- */
/* MatMul followed by Add of one value for each output. */
static void merge_bias(plan *p, plan_node *pn, plan_node *const *by_node) {
  const node *user;
  if (pn->role != ROLE_MATMUL || !sole_user(pn->out, &user) || !node_is(user, OP_ADD)) return;
  const tensor *c = plan_constant(user, user->inputs[0] == pn->out ? 1 : 0);
  int64_t outputs = pn->out->shape.dims[pn->out->shape.rank - 1];
  if (!c || c->shape.rank < 1 || npuc_tensor_elements(c) != outputs || c->shape.dims[c->shape.rank - 1] != outputs) return;
  if (!npuc_shape_equal(&pn->out->shape, &user->outputs[0]->shape)) return;
  (void)p;
  pn->bias_add = pn->last = user;
  pn->out = user->outputs[0];
  by_node[user->id]->role = ROLE_FUSED;
}

static void merge_clamps(plan_node *pn, plan_node *const *by_node) {
  const node *user;
  while (takes_clamp(pn->role) && sole_user(pn->out, &user)) {
    const value *x;
    double lo = pn->lo, hi = pn->hi;
    if (user->op->domain[0] || !clamp_of(user, &lo, &hi, &x) || x != pn->out) return;
    pn->lo = lo;
    pn->hi = hi;
    pn->last = user;
    pn->out = user->outputs[0];
    by_node[user->id]->role = ROLE_FUSED;
  }
}

/* -- scales shared -- */
static void own_scale(plan *p, const value *v) {
  p->values[v->id].quantized = true;
  p->values[v->id].same_as = v->id;
}
static void share_scale(plan *p, const value *v, const value *with) {
  p->values[v->id].quantized = true;
  p->values[v->id].same_as = p->values[with->id].same_as;
}

static void assign_scales(plan *p) {
  for (size_t i = 0; i < p->g->n_inputs; i++) {
    if (is_activation(p->g->inputs[i])) own_scale(p, p->g->inputs[i]);
  }
  for (size_t i = 0; i < p->n_nodes; i++) {
    const plan_node *pn = &p->nodes[i];
    if (pn->role == ROLE_FUSED || pn->role == ROLE_NONE) continue;
    bool shares = pn->role == ROLE_MOVE || pn->role == ROLE_MAXPOOL || pn->role == ROLE_PAD;
    for (int32_t k = 0; k < pn->node->n_outputs; k++) {
      const value *out = k == 0 ? pn->out : pn->node->outputs[k];
      if (!is_activation(out)) continue;
      if (shares) {
        share_scale(p, out, pn->node->inputs[0]);
      } else {
        own_scale(p, out);
      }
    }
  }
}

static npuc_status check_static(plan *p) {
  NPUC_EACH_NODE(p->g, n) {
    for (int32_t i = 0; i < n->n_outputs; i++) {
      if (!n->outputs[i] || npuc_shape_is_static(&n->outputs[i]->shape)) continue;
      diag_place place = npuc_plan_place(n, NULL);
      return npuc_fail(p->d, NPUC_DIAG_E0713, &place, "the shape of its output %s is not known as numbers", n->outputs[i]->name);
    }
  }
  return NPUC_OK;
}

/* Nothing computes a constant output, so nothing would make its integers. */
static npuc_status check_outputs(const plan *p) {
  for (size_t i = 0; i < p->g->n_outputs; i++) {
    const value *v = p->g->outputs[i];
    if (!v->constant) continue;
    diag_place place = {.part = p->g->name, .node = v->name};
    return npuc_fail(p->d, NPUC_DIAG_E0704, &place, "this output of the graph is a constant");
  }
  return NPUC_OK;
}

/* Before any sample runs, so that the layer is named and not the first value that it spoils. Clamps and paddings may be infinite. */
static npuc_status check_constants(const plan *p, const plan_node *pn) {
  if (!takes_clamp(pn->role) || pn->role == ROLE_CLAMP) return NPUC_OK;
  for (int32_t i = 0; i < pn->node->n_inputs; i++) {
    const tensor *t = plan_constant(pn->node, i);
    if (!t || npuc_dtype_kind(t->type) != KIND_FLOAT) continue;
    for (int64_t k = 0; k < npuc_tensor_elements(t); k++) {
      if (isfinite(npuc_tensor_get(t, k))) continue;
      diag_place place = npuc_plan_place(pn->node, pn->node->inputs[i]->name);
      return npuc_fail(p->d, NPUC_DIAG_E0711, &place, "element %lld is NaN or infinite", (long long)k);
    }
  }
  return NPUC_OK;
}

npuc_status npuc_plan_create(diag *d, arena *a, const graph *g, const quant_options *options, plan **out_plan) {
  plan *p = NPUC_NEW(a, plan);
  *p = (plan){.g = g, .d = d, .arena = a, .options = options};
  p->nodes = NPUC_NEW_ARRAY(a, g->n_nodes, plan_node);
  p->values = NPUC_NEW_ARRAY(a, g->next_value_id, plan_value);
  plan_node **by_node = NPUC_NEW_ARRAY(a, g->next_node_id, plan_node *);
  NPUC_TRY(check_static(p));
  NPUC_TRY(check_outputs(p));
  npuc_status status = NPUC_OK;
  NPUC_EACH_NODE(g, n) {
    const char *reason = NULL;
    plan_node *pn = &p->nodes[p->n_nodes++];
    *pn = (plan_node){.role = role_of(n, &reason), .node = n, .last = n, .out = n->outputs[0], .lo = -INFINITY, .hi = INFINITY};
    by_node[n->id] = pn;
    const value *x;
    if (pn->role == ROLE_CLAMP) (void)clamp_of(n, &pn->lo, &pn->hi, &x);
    if (pn->role == ROLE_NONE) status = refuse(d, n, NULL, reason);
    npuc_status finite = check_constants(p, pn);
    if (finite != NPUC_OK) status = finite;
    for (int32_t i = 0; i < n->n_inputs; i++) {
      if (n->inputs[i]) p->values[n->inputs[i]->id].value = n->inputs[i];
    }
    for (int32_t i = 0; i < n->n_outputs; i++) {
      if (n->outputs[i]) p->values[n->outputs[i]->id].value = n->outputs[i];
    }
  }
  if (status != NPUC_OK) return status;
  for (size_t i = 0; i < g->n_inputs; i++) p->values[g->inputs[i]->id].value = g->inputs[i];
  for (size_t i = 0; i < p->n_nodes; i++) {
    merge_bias(p, &p->nodes[i], by_node);
    merge_clamps(&p->nodes[i], by_node);
  }
  assign_scales(p);
  *out_plan = p;
  return NPUC_OK;
}
