/* SPDX-License-Identifier: Apache-2.0 */
/* QConv and QGlobalAveragePool read and write either layout. Elementwise operators, pools, Slice, Pad and Concat of channels need one layout for all
 * their images: those are joined into sets. Every other reader or writer wants channels-first, which then holds for the whole set. An
 * image of one pixel or one channel has the same bytes in both layouts, and binds nobody. */
#include "exec/channels_last.h"

#include <stddef.h>

#include "ir/attributes.h"

typedef struct sets {
  const fact *facts;
  size_t *parent; /* by value id */
  bool *first;    /* by set's root: channels-first is wanted */
} sets;

static bool is_image(const fact *f) {
  return (f->type == DTYPE_U8 || f->type == DTYPE_I8) && f->shape.rank >= 3 && f->shape.rank <= 5 && npuc_shape_is_static(&f->shape);
}

/* The two layouts of an image differ. */
static bool binds(const sets *s, const value *v) {
  const shape *x = &s->facts[v->id].shape;
  int64_t pixels = 1;
  if (!is_image(&s->facts[v->id])) return false;
  for (int32_t i = 2; i < x->rank; i++) pixels *= x->dims[i];
  return pixels != 1 && x->dims[1] != 1;
}

static size_t find(const sets *s, size_t v) {
  while (s->parent[v] != v) {
    s->parent[v] = s->parent[s->parent[v]];
    v = s->parent[v];
  }
  return v;
}

static void want_first(const sets *s, const value *v) {
  if (v) s->first[find(s, v->id)] = true;
}

static void join(const sets *s, const value *a, const value *b) {
  size_t i = find(s, a->id), j = find(s, b->id);
  if (i == j) return;
  s->first[j] = s->first[j] || s->first[i];
  s->parent[i] = j;
}

/* One number, or an image of y's rank, whose axes move as y's do. */
static bool follows(const sets *s, const value *x, const value *y) {
  const shape *a = &s->facts[x->id].shape, *b = &s->facts[y->id].shape;
  int64_t n;
  return a->rank == b->rank || (npuc_shape_elements(a, &n) && n == 1);
}

static bool joins_channels(const node *n, const shape *y) {
  int32_t axis;
  return npuc_axis_normalize(NPUC_ATTRS(axis_attributes, n)->axis, y->rank, &axis) && axis == 1;
}

/* Inputs of the node that must lie as its output does; -1: the node is not one of these. */
static int32_t alike_inputs(const sets *s, const node *n) {
  switch (n->op->id) {
    case OP_REQUANTIZE:
    case OP_LOOKUP:
    case OP_QAVERAGEPOOL:
    case OP_SLICE:
    case OP_PAD:
      return 1;
    case OP_MAXPOOL:
      return n->n_outputs == 1 || !n->outputs[1] ? 1 : -1;
    case OP_QADD:
    case OP_QMUL:
      return follows(s, n->inputs[0], n->outputs[0]) && follows(s, n->inputs[1], n->outputs[0]) ? 2 : -1;
    case OP_CONCAT:
      return joins_channels(n, &s->facts[n->outputs[0]->id].shape) ? n->n_inputs : -1;
    default:
      return -1;
  }
}

static void read_node(const sets *s, const node *n) {
  if (n->op->id == OP_QCONV || n->op->id == OP_QGLOBALAVERAGEPOOL) return;
  const value *y = n->n_outputs ? n->outputs[0] : NULL; /* NULL: nobody wants it */
  int32_t alike = y && is_image(&s->facts[y->id]) ? alike_inputs(s, n) : -1;
  for (int32_t i = 0; i < n->n_inputs; i++) {
    const value *x = n->inputs[i];
    if (!x) continue;
    if (i >= alike) {
      want_first(s, x);
    } else if (binds(s, x)) {
      join(s, x, y);
    }
  }
  for (int32_t i = 0; i < n->n_outputs && alike < 0; i++) want_first(s, n->outputs[i]);
}

static void read_constants(const sets *s, const node *n) {
  for (int32_t i = 0; i < n->n_inputs; i++) {
    if (n->inputs[i] && (n->inputs[i]->constant || s->facts[n->inputs[i]->id].constant)) want_first(s, n->inputs[i]);
  }
  for (int32_t i = 0; i < n->n_outputs; i++) {
    if (n->outputs[i] && s->facts[n->outputs[i]->id].constant) want_first(s, n->outputs[i]);
  }
}

const bool *npuc_exec_channels_last(arena *scratch, const graph *g, const fact *facts) {
  sets s = {.facts = facts,
            .parent = NPUC_NEW_ARRAY(scratch, g->next_value_id + 1, size_t),
            .first = NPUC_NEW_ARRAY(scratch, g->next_value_id + 1, bool)};
  bool *last = NPUC_NEW_ARRAY(scratch, g->next_value_id + 1, bool);
  for (size_t i = 0; i < g->next_value_id; i++) s.parent[i] = i;
  for (size_t i = 0; i < g->n_inputs; i++) want_first(&s, g->inputs[i]);
  for (size_t i = 0; i < g->n_outputs; i++) want_first(&s, g->outputs[i]);
  NPUC_EACH_NODE(g, n) {
    if (n->n_outputs == 0 || !n->outputs[0]) continue;
    read_node(&s, n);
    read_constants(&s, n);
  }
  NPUC_EACH_NODE(g, n) {
    for (int32_t i = 0; i < n->n_outputs; i++) {
      const value *v = n->outputs[i];
      if (v && is_image(&facts[v->id])) last[v->id] = !s.first[find(&s, v->id)];
    }
  }
  return last;
}
