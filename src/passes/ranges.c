/* SPDX-License-Identifier: Apache-2.0 */
/* Interval arithmetic in the order of the nodes. An operation that could pass int64's end, and an operator that is not listed, give an unknown range: what follows is proved or it is not said.
 * An index of Gather that is outside of its axis is an error of the model, so a value that is one lies inside. */
#include "passes/ranges.h"

#include <inttypes.h>
#include <string.h>

#include "ir/attributes.h"
#include "passes/internal.h"

static const interval unknown = {false, 0, 0};
static const interval boolean = {true, 0, 1};

static interval between(int64_t lo, int64_t hi) { return lo <= hi ? (interval){true, lo, hi} : unknown; }

static interval joined(interval a, interval b) {
  return a.known && b.known ? between(a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi) : unknown;
}

static interval of_constant(const tensor *t) {
  int64_t n = npuc_tensor_elements(t);
  interval r = unknown;
  if (npuc_dtype_kind(t->type) != KIND_INT && npuc_dtype_kind(t->type) != KIND_BOOL && npuc_dtype_kind(t->type) != KIND_UINT)
    return unknown;
  for (int64_t i = 0; i < n; i++) {
    int64_t v = npuc_tensor_get_int(t, i);
    r = i ? joined(r, between(v, v)) : between(v, v);
  }
  return n ? r : between(0, 0);
}

static interval of_type(dtype type) {
  int64_t lo, hi;
  if (npuc_dtype_kind(type) == KIND_BOOL) return boolean;
  return npuc_dtype_range(type, &lo, &hi) ? between(lo, hi) : unknown;
}

/* The largest dim that is a number; -1 where one is not. */
static int64_t largest_dim(const shape *s) {
  int64_t most = 0;
  if (s->rank < 0) return -1;
  for (int32_t i = 0; i < s->rank; i++) {
    if (!dim_is_number(s->dims[i])) return -1;
    if (s->dims[i] > most) most = s->dims[i];
  }
  return most;
}

static interval up_to(int64_t most) { return most >= 0 ? between(0, most) : unknown; }

static interval dim_of_axis(const value *v, int64_t axis) {
  int32_t at;
  if (!v || v->shape.rank < 0 || !npuc_axis_normalize(axis, v->shape.rank, &at) || !dim_is_number(v->shape.dims[at])) return unknown;
  return between(0, v->shape.dims[at] > 0 ? v->shape.dims[at] - 1 : 0);
}

/* -- two operands -- */

static interval sum(interval a, interval b) {
  interval r = {true, 0, 0};
  if (!a.known || !b.known || __builtin_add_overflow(a.lo, b.lo, &r.lo) || __builtin_add_overflow(a.hi, b.hi, &r.hi)) return unknown;
  return r;
}

static interval negative(interval a) { return a.known && a.lo != INT64_MIN ? between(-a.hi, -a.lo) : unknown; }

static interval product(interval a, interval b) {
  int64_t p[4], lo, hi;
  if (!a.known || !b.known || __builtin_mul_overflow(a.lo, b.lo, &p[0]) || __builtin_mul_overflow(a.lo, b.hi, &p[1]) ||
      __builtin_mul_overflow(a.hi, b.lo, &p[2]) || __builtin_mul_overflow(a.hi, b.hi, &p[3]))
    return unknown;
  lo = hi = p[0];
  for (int i = 1; i < 4; i++) {
    lo = p[i] < lo ? p[i] : lo;
    hi = p[i] > hi ? p[i] : hi;
  }
  return between(lo, hi);
}

/* A quotient is no larger than what is divided. */
static interval quotient(interval a, interval b) {
  if (!a.known || !b.known || (b.lo <= 0 && b.hi >= 0) || a.lo == INT64_MIN) return unknown;
  int64_t most = a.hi > -a.lo ? a.hi : -a.lo;
  return a.lo >= 0 && b.lo > 0 ? between(a.lo / b.hi, a.hi / b.lo) : between(-most, most);
}

/* The sign of the divisor (Python) or of what is divided (fmod): less than the divisor in size either way. */
static interval remainder_of(interval a, interval b) {
  if (!b.known || b.lo == INT64_MIN || (b.lo <= 0 && b.hi >= 0)) return unknown;
  int64_t most = (b.hi > -b.lo ? b.hi : -b.lo) - 1;
  return a.known && a.lo >= 0 && b.lo > 0 ? between(0, most < a.hi ? most : a.hi) : between(-most, most);
}

static interval least(interval a, interval b) {
  return a.known && b.known ? between(a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi) : unknown;
}
static interval most(interval a, interval b) {
  return a.known && b.known ? between(a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi) : unknown;
}

/* -- nodes -- */

typedef struct ranges {
  interval *of;
} ranges;

static interval input(const ranges *r, const node *n, int32_t i) {
  return i < n->n_inputs && n->inputs[i] ? r->of[n->inputs[i]->id] : unknown;
}

static interval fold(const ranges *r, const node *n, interval (*two)(interval a, interval b)) {
  interval all = input(r, n, 0);
  for (int32_t i = 1; i < n->n_inputs; i++) all = two(all, input(r, n, i));
  return all;
}

/* As many as the input's elements are added up, at most. */
static interval summed(const ranges *r, const node *n) {
  int64_t count;
  if (!n->inputs[0] || !npuc_shape_elements(&n->inputs[0]->shape, &count)) return unknown;
  return joined(product(input(r, n, 0), between(0, count)), between(0, 0));
}

static interval clipped(const ranges *r, const node *n) {
  interval x = input(r, n, 0), lo = input(r, n, 1), hi = input(r, n, 2);
  if (!x.known && lo.known && hi.known) return between(lo.lo, lo.hi > hi.hi ? lo.hi : hi.hi);
  if (n->n_inputs > 1 && n->inputs[1]) x = most(x, lo);
  return n->n_inputs > 2 && n->inputs[2] ? least(x, hi) : x;
}

/* from, from + step, ..: inside [from, limit]. */
static interval range_of(const ranges *r, const node *n) { return joined(input(r, n, 0), input(r, n, 1)); }

static interval absolute(interval x) {
  interval minus = negative(x);
  return x.known && minus.known ? between(x.lo >= 0 ? x.lo : x.hi <= 0 ? minus.lo : 0, x.hi > minus.hi ? x.hi : minus.hi) : unknown;
}

static interval cast(const ranges *r, const node *n) {
  const value *x = n->inputs[0];
  if (npuc_dtype_kind(x->type) == KIND_FLOAT) return unknown;
  return x->type == DTYPE_I64 || x->type == DTYPE_U64 ? input(r, n, 0) : input(r, n, 0).known ? input(r, n, 0) : of_type(x->type);
}

static interval index_output(const node *n, int32_t i) {
  switch (n->op->id) {
    case OP_ARGMAX:
    case OP_ARGMIN:
      return dim_of_axis(n->inputs[0], NPUC_ATTRS(argmax_attributes, n)->axis);
    case OP_TOPK:
      return i == 1 ? dim_of_axis(n->inputs[0], NPUC_ATTRS(topk_attributes, n)->axis) : unknown;
    case OP_NONZERO:
      return up_to(largest_dim(&n->inputs[0]->shape));
    case OP_SHAPE:
      return up_to(largest_dim(&n->inputs[0]->shape));
    default:
      return unknown;
  }
}

static interval elements(const node *n) {
  int64_t count;
  return npuc_shape_elements(&n->inputs[0]->shape, &count) ? between(count, count) : unknown;
}

static interval of_output(const ranges *r, const node *n, int32_t i) {
  switch (n->op->id) {
    case OP_ADD:
      return sum(input(r, n, 0), input(r, n, 1));
    case OP_SUB:
      return sum(input(r, n, 0), negative(input(r, n, 1)));
    case OP_MUL:
      return product(input(r, n, 0), input(r, n, 1));
    case OP_DIV:
      return quotient(input(r, n, 0), input(r, n, 1));
    case OP_MOD:
      return remainder_of(input(r, n, 0), input(r, n, 1));
    case OP_NEG:
      return negative(input(r, n, 0));
    case OP_ABS:
      return absolute(input(r, n, 0));
    case OP_SIGN:
      return between(-1, 1);
    case OP_MIN:
      return fold(r, n, least);
    case OP_MAX:
      return fold(r, n, most);
    case OP_CONCAT:
      return fold(r, n, joined);
    case OP_CLIP:
      return clipped(r, n);
    case OP_WHERE:
      return joined(input(r, n, 1), input(r, n, 2));
    case OP_CAST:
      return cast(r, n);
    case OP_RANGE:
      return range_of(r, n);
    case OP_REDUCESUM:
    case OP_CUMSUM:
      return summed(r, n);
    case OP_SIZE:
      return elements(n);
    case OP_IDENTITY:
    case OP_RESHAPE:
    case OP_FLATTEN:
    case OP_SQUEEZE:
    case OP_UNSQUEEZE:
    case OP_TRANSPOSE:
    case OP_EXPAND:
    case OP_TILE:
    case OP_SLICE:
    case OP_SPLIT:
    case OP_GATHER:
    case OP_GATHERELEMENTS:
    case OP_GATHERND:
    case OP_REDUCEMAX:
    case OP_REDUCEMIN:
    case OP_UNIQUE:
    case OP_COMPRESS:
    case OP_DEPTHTOSPACE:
    case OP_SPACETODEPTH:
    case OP_REVERSESEQUENCE:
      return i == 0 ? input(r, n, 0) : unknown;
    case OP_TRILU: /* the rest is 0 */
      return joined(input(r, n, 0), between(0, 0));
    case OP_PAD:
      return joined(input(r, n, 0), n->n_inputs > 2 && n->inputs[2] ? input(r, n, 2) : between(0, 0));
    case OP_SCATTERND:
    case OP_SCATTERELEMENTS: {
      const char *reduction = NPUC_ATTRS(scatter_attributes, n)->reduction;
      return !reduction || strcmp(reduction, "none") == 0 ? joined(input(r, n, 0), input(r, n, 2)) : unknown;
    }
    case OP_CONSTANTOFSHAPE: {
      const tensor *fill = NPUC_ATTRS(constantofshape_attributes, n)->value;
      return fill ? of_constant(fill) : unknown;
    }
    default:
      return index_output(n, i);
  }
}

/* An input that is used as an index of Gather names a place of the axis. */
static interval as_index(const value *v) {
  for (size_t i = 0; i < v->n_uses; i++) {
    const node *n = v->uses[i].user;
    if (v->uses[i].index != 1 || !(node_is(n, OP_GATHER) || node_is(n, OP_GATHERELEMENTS))) continue;
    interval place = dim_of_axis(n->inputs[0], NPUC_ATTRS(axis_attributes, n)->axis);
    if (place.known) return between(-place.hi - 1, place.hi);
  }
  return unknown;
}

static interval known_before(const value *v, bool (*given)(void *user, const value *v, interval *out), void *user) {
  interval r;
  if (given && given(user, v, &r)) return r;
  if (v->constant && !v->is_input) return of_constant(v->constant);
  r = as_index(v);
  return r.known ? r : v->type == DTYPE_I64 ? unknown : of_type(v->type);
}

/* What was known before and what follows from the operands; a narrow type that could overflow may hold anything that it can. */
static interval narrowed(dtype type, interval before, interval found) {
  interval all = of_type(type);
  if (!found.known || (all.known && (found.lo < all.lo || found.hi > all.hi))) return before;
  if (!before.known) return found;
  return between(before.lo > found.lo ? before.lo : found.lo, before.hi < found.hi ? before.hi : found.hi);
}

interval *npuc_graph_ranges(arena *a, const graph *g, bool (*given)(void *user, const value *v, interval *out), void *user) {
  ranges r = {.of = NPUC_NEW_ARRAY(a, g->next_value_id + 1, interval)};
  size_t cursor = 0;
  void *item;
  while (npuc_map_next(g->values, &cursor, NULL, &item)) {
    const value *v = item;
    if (npuc_dtype_is_integer(v->type) || v->type == DTYPE_BOOL) r.of[v->id] = known_before(v, given, user);
  }
  NPUC_EACH_NODE(g, n) {
    for (int32_t i = 0; i < n->n_outputs; i++) {
      const value *v = n->outputs[i];
      if (!v || !npuc_dtype_is_integer(v->type)) continue;
      r.of[v->id] = narrowed(v->type, r.of[v->id], of_output(&r, n, i));
    }
  }
  return r.of;
}
