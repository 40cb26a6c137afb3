/* SPDX-License-Identifier: Apache-2.0 */
/* One rule an operator: how it keeps the relation between the growing and the fixed value (decoder.h), or why it cannot. An operator without a rule is refused where an axis grows. */
#include <string.h>

#include "ir/ops/support.h"
#include "passes/decoder.h"

static npuc_status refuse(decoder *x, const node *n, const char *reason) {
  return npuc_op_fail(x->c->d, n, NPUC_DIAG_E0530, NULL, "%s", reason);
}

/* -- what the graph says of an operand -- */

static bool grows_at(const decoder *x, const value *v, int32_t axis) {
  line l;
  return axis >= 0 && npuc_decoder_axis(x, v, axis, &l) && l.step != 0;
}

static bool tail_is_zero(const decoder *x, const value *v) {
  return v->id < x->n_values && (x->zero_tail[v->id] || npuc_is_exactly(v, 0.0));
}

static bool is_number(const decoder *x, const value *v) {
  line_content c;
  return npuc_decoder_content(x, v, &c);
}

/* -- rules -- */

static npuc_status keep(decoder *x, node *n) {
  npuc_decoder_keep(x, n);
  return NPUC_OK;
}

/* 0 behind P + a survives where an operator gives 0 for 0. */
static bool keeps_zero(const decoder *x, const node *n) {
  bool first = tail_is_zero(x, n->inputs[0]), second = n->n_inputs > 1 && n->inputs[1] && tail_is_zero(x, n->inputs[1]);
  switch (n->op->id) {
    case OP_MUL:
    case OP_AND:
      return first || second;
    case OP_ADD:
    case OP_SUB:
      return first && second;
    case OP_WHERE:
      return second && tail_is_zero(x, n->inputs[2]);
    case OP_DIV:
    case OP_CAST:
    case OP_NEG:
    case OP_ABS:
    case OP_RELU:
    case OP_IDENTITY:
    case OP_DROPOUT:
      return first;
    default:
      return (n->op->traits & TRAIT_MOVES_DATA) && first;
  }
}

static npuc_status elementwise(decoder *x, node *n) {
  x->zero_tail[n->outputs[0]->id] = keeps_zero(x, n);
  return keep(x, n);
}

static npuc_status moves(decoder *x, node *n) {
  for (int32_t i = 0; i < n->n_outputs; i++)
    if (n->outputs[i]) x->zero_tail[n->outputs[i]->id] = keeps_zero(x, n);
  return keep(x, n);
}

static npuc_status split(decoder *x, node *n) {
  int32_t axis;
  if (npuc_axis_normalize(NPUC_ATTRS(split_attributes, n)->axis, npuc_decoder_rank(x, n->inputs[0]), &axis) &&
      grows_at(x, n->inputs[0], axis))
    return refuse(x, n, "it cuts the cache's rows into parts");
  return moves(x, n);
}

/* Sums over keys are those of the growing model where the tail is 0. */
static npuc_status matmul(decoder *x, node *n) {
  const value *a = n->inputs[0], *b = n->inputs[1];
  int32_t rank = npuc_decoder_rank(x, b), last = npuc_decoder_rank(x, a) - 1, inner = rank > 1 ? rank - 2 : 0;
  bool sums_keys = grows_at(x, a, last) || grows_at(x, b, inner);
  if (sums_keys && !tail_is_zero(x, a) && !tail_is_zero(x, b))
    return refuse(x, n, "it sums over the cache's rows, and no softmax has made those behind the last token 0");
  return keep(x, n);
}

/* Scores behind a row's own place are hidden, whatever mask the model adds: rows of the buffer that no token has written yet lie there, and the padding of this chunk. */
npuc_status npuc_decoder_softmax(decoder *x, node *n) {
  value *scores = n->inputs[0];
  int32_t axis, rank = npuc_decoder_rank(x, scores);
  line keys;
  if (!npuc_axis_normalize(NPUC_ATTRS(axis_attributes, n)->axis, rank, &axis)) return refuse(x, n, "its axis is none of its operand's");
  if (!grows_at(x, scores, axis)) return keep(x, n);
  if (n->op->id != OP_SOFTMAX) return refuse(x, n, "a logarithm of it is minus infinity behind the last token");
  if (axis != rank - 1 || rank < 2) return refuse(x, n, "keys are wanted along the last axis");
  if (!npuc_decoder_axis(x, scores, axis, &keys) || keys.at0 != x->chunk)
    return refuse(x, n, "its keys are not the cache and the new tokens");
  if (x->chunk > 1 && !npuc_decoder_is_row_axis(x, scores, axis - 1))
    return refuse(x, n, "the axis before the keys is not that of the new tokens");
  value *hidden = npuc_decoder_lowest(x, n, scores->type);
  if (!hidden) return NPUC_UNSUPPORTED;
  npuc_decoder_keep(x, n);
  npuc_node_set_input(n, 0, npuc_decoder_emit(x, n, "decoder_scores", OP_WHERE, (value *[]){x->seen, n->inputs[0], hidden}, 3));
  x->zero_tail[n->outputs[0]->id] = true;
  return NPUC_OK;
}

static npuc_status along_last_axes(decoder *x, node *n) {
  int32_t axis, rank = npuc_decoder_rank(x, n->inputs[0]);
  if (!npuc_axis_normalize(NPUC_ATTRS(layernorm_attributes, n)->axis, rank, &axis))
    return refuse(x, n, "its axis is none of its operand's");
  for (; axis < rank; axis++)
    if (grows_at(x, n->inputs[0], axis)) return refuse(x, n, "it normalizes over the cache's rows");
  return keep(x, n);
}

static npuc_status reduce(decoder *x, node *n) {
  line_content axes = {.count = 0};
  const value *v = n->inputs[0], *list = n->n_inputs > 1 ? n->inputs[1] : NULL;
  int32_t rank = npuc_decoder_rank(x, v);
  if (list && !npuc_decoder_content(x, list, &axes)) return refuse(x, n, "its axes depend on data");
  bool all = axes.count == 0 && !NPUC_ATTRS(reduce_attributes, n)->noop_with_empty_axes;
  bool over_keys = false;
  for (int32_t i = 0; i < rank; i++) {
    bool hit = all;
    for (int32_t k = 0; k < axes.count; k++) {
      int32_t axis;
      hit = hit || (npuc_axis_normalize(axes.at[k].at0, rank, &axis) && axis == i);
    }
    over_keys = over_keys || (hit && grows_at(x, v, i));
  }
  bool sum = n->op->id == OP_REDUCESUM || n->op->id == OP_REDUCESUMSQUARE || n->op->id == OP_REDUCEL1 || n->op->id == OP_REDUCEL2;
  if (over_keys && !(sum && tail_is_zero(x, v)))
    return refuse(x, n, "it reduces over the cache's rows, also over those behind the last token");
  return keep(x, n);
}

static npuc_status cumsum(decoder *x, node *n) {
  line_content axis;
  int32_t at;
  if (!npuc_decoder_content(x, n->inputs[1], &axis)) return refuse(x, n, "its axis depends on data");
  if (!npuc_axis_normalize(axis.at[0].at0, npuc_decoder_rank(x, n->inputs[0]), &at))
    return refuse(x, n, "its axis is none of its operand's");
  if (NPUC_ATTRS(cumulative_attributes, n)->reverse && grows_at(x, n->inputs[0], at)) return refuse(x, n, "it sums from the cache's end");
  return keep(x, n);
}

static const struct {
  op_id op;
  decoder_rule *rule;
} rules[] = {
    {OP_RESHAPE, npuc_decoder_reshape},
    {OP_EXPAND, npuc_decoder_expand},
    {OP_CONSTANTOFSHAPE, npuc_decoder_constant_of_shape},
    {OP_RANGE, npuc_decoder_range_rule},
    {OP_SLICE, npuc_decoder_slice},
    {OP_GATHER, npuc_decoder_gather},
    {OP_GATHERND, npuc_decoder_gather_nd},
    {OP_CONCAT, npuc_decoder_concat},
    {OP_TRILU, npuc_decoder_trilu},
    {OP_ATTENTION, npuc_decoder_attention},
    {OP_SOFTMAX, npuc_decoder_softmax},
    {OP_LOGSOFTMAX, npuc_decoder_softmax},
    {OP_MATMUL, matmul},
    {OP_TRANSPOSE, moves},
    {OP_UNSQUEEZE, moves},
    {OP_SQUEEZE, moves},
    {OP_SPLIT, split},
    {OP_LAYERNORMALIZATION, along_last_axes},
    {OP_RMSNORMALIZATION, along_last_axes},
    {OP_REDUCEMEAN, reduce},
    {OP_REDUCESUM, reduce},
    {OP_REDUCEMAX, reduce},
    {OP_REDUCEMIN, reduce},
    {OP_REDUCEL1, reduce},
    {OP_REDUCEL2, reduce},
    {OP_REDUCESUMSQUARE, reduce},
    {OP_CUMSUM, cumsum},
    {OP_WHERE, elementwise},
};

static decoder_rule *rule_of(const node *n) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    if (rules[i].op == n->op->id) return rules[i].rule;
  }
  return n->op->traits & TRAIT_ELEMENTWISE ? elementwise : NULL;
}

/* -- one node -- */

/* Nothing but lengths: whoever reads one takes its number, or computes it from `position`. */
static bool is_arithmetic(const decoder *x, const node *n) {
  for (int32_t i = 0; i < n->n_outputs; i++)
    if (n->outputs[i] && !is_number(x, n->outputs[i])) return false;
  return n->n_outputs > 0;
}

typedef enum growth { STAYS, GROWS, UNKNOWN } growth;

static growth growth_of(const decoder *x, const value *v) {
  uint32_t axes;
  line_content c;
  if (!v) return STAYS;
  if (!npuc_decoder_growing(x, v, &axes)) return UNKNOWN;
  if (axes) return GROWS;
  if (!npuc_decoder_content(x, v, &c)) return STAYS;
  for (int32_t i = 0; i < c.count; i++)
    if (c.at[i].step) return GROWS;
  return STAYS;
}

static growth growth_of_node(const decoder *x, const node *n) {
  growth most = STAYS;
  for (int32_t i = 0; i < n->n_inputs + n->n_outputs; i++) {
    growth g = growth_of(x, i < n->n_inputs ? n->inputs[i] : n->outputs[i - n->n_inputs]);
    if (g > most) most = g;
  }
  return most;
}

/* A value that is made of one cache's rows only, moved about, is still that cache. */
static void follow_origin(decoder *x, const node *n) {
  int32_t origin = -1;
  bool extended = true;
  if (!(n->op->traits & TRAIT_MOVES_DATA) && n->op->id != OP_CAST && n->op->id != OP_IDENTITY) return;
  for (int32_t i = 0; i < n->n_inputs; i++) {
    if (growth_of(x, n->inputs[i]) != GROWS || is_number(x, n->inputs[i])) continue;
    int32_t one = x->origin[n->inputs[i]->id];
    if (one < 0 || (origin >= 0 && one != origin)) return;
    origin = one;
    extended = extended && x->extended[n->inputs[i]->id];
  }
  for (int32_t i = 0; i < n->n_outputs && origin >= 0; i++) {
    if (!n->outputs[i]) continue;
    x->origin[n->outputs[i]->id] = origin;
    x->extended[n->outputs[i]->id] = extended;
  }
}

/* The last token's row, which in a padded chunk is row valid - 1: x[:, -1:] and x[:, -1]. */
static bool last_row_axis(const decoder *x, const node *n, int32_t *out_axis) {
  const value *v = n->inputs[0], *at = n->inputs[1];
  if (x->chunk == 1 || !v || !at || at->id >= x->n_values) return false;
  const tensor *t = x->facts[0][at->id].constant, *more = x->longer ? x->longer[at->id].constant : t;
  if (!t || !more || npuc_tensor_elements(t) != 1 || !npuc_dtype_is_integer(t->type)) return false;
  int64_t axis = 0, here = npuc_tensor_get_int(t, 0), there = npuc_tensor_get_int(more, 0);
  line_content axes;
  if (n->op->id == OP_GATHER) {
    axis = NPUC_ATTRS(axis_attributes, n)->axis;
  } else if (n->n_inputs > 3 && n->inputs[3]) {
    if (!npuc_decoder_content(x, n->inputs[3], &axes) || axes.count != 1) return false;
    axis = axes.at[0].at0;
  }
  if (!npuc_axis_normalize(axis, npuc_decoder_rank(x, v), out_axis) || !npuc_decoder_is_row_axis(x, v, *out_axis)) return false;
  line out;
  if (n->op->id == OP_SLICE && (!npuc_decoder_axis(x, n->outputs[0], *out_axis, &out) || out.step || out.at0 != 1)) return false;
  return here == -1 || (here == x->chunk - 1 && (!x->longer || there == x->chunk));
}

static bool take_last_row(decoder *x, node *n) {
  int32_t axis;
  int64_t minus = -1, zero = 0;
  if ((n->op->id != OP_SLICE && n->op->id != OP_GATHER) || !last_row_axis(x, n, &axis)) return false;
  value *at =
      npuc_decoder_emit(x, n, "decoder_last_row", OP_ADD, (value *[]){x->valid, npuc_decoder_ints(x, "decoder_minus", &minus, 1)}, 2);
  if (n->op->id == OP_GATHER && npuc_decoder_rank(x, n->inputs[1]) == 0)
    at = npuc_decoder_emit(x, n, "decoder_last_row", OP_SQUEEZE, (value *[]){at, npuc_decoder_ints(x, "decoder_axis", &zero, 1)}, 2);
  value *y = npuc_decoder_emit(x, n, n->name, OP_GATHER, (value *[]){npuc_decoder_now(x, n->inputs[0]), at}, 2);
  NPUC_ATTRS(axis_attributes, y->producer)->axis = axis;
  x->now[n->outputs[0]->id] = y;
  return true;
}

static const char *why_unknown(const node *n) {
  switch (n->op->id) {
    case OP_SLICE:
      return "where it cuts is not the rows in the cache and a constant: a window that slides is not a fixed buffer";
    case OP_RESHAPE:
      return "it merges the axis of the cache's rows with another one, or its result's shape depends on data";
    default:
      return "an axis depends on data, or on the rows in the cache in another way than by their number and a constant";
  }
}

npuc_status npuc_decoder_rule(decoder *x, node *n) {
  if (is_arithmetic(x, n)) return NPUC_OK;
  growth g = growth_of_node(x, n);
  if (g == UNKNOWN) return refuse(x, n, why_unknown(n));
  if (g == STAYS) {
    if (!take_last_row(x, n)) npuc_decoder_keep(x, n);
    return NPUC_OK;
  }
  decoder_rule *rule = rule_of(n);
  if (!rule) return refuse(x, n, "an axis with the cache's rows runs through it, and there is no rule for it");
  follow_origin(x, n);
  return rule(x, n);
}
