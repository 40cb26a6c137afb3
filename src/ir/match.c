/* SPDX-License-Identifier: Apache-2.0 */
/* Does a tree of a pattern lie over the graph at this node? Matching reads only.
 *
 * A commutative operator may take its first two inputs in either order. Each such node of the pattern owns one bit of `choice`, in the
 * order of the walk; trying all choices is complete even where a capture that occurs twice ties two of them together. */
#include <string.h>

#include "ir/internal.h"
#include "ir/rewrite.h"

typedef struct matcher {
  match m;
  bool bound[MAX_CAPTURES];
  unsigned choice; /* one bit for each commutative node met */
  unsigned met;
} matcher;

static bool is_operand(const pattern_node *p) { return p->kind != PATTERN_END && p->kind != PATTERN_REST; }

static bool is_commutative(const pattern_node *p) {
  return p->op != ANY_OP && (npuc_op((op_id)p->op)->traits & TRAIT_COMMUTATIVE) && p->inputs && is_operand(&p->inputs[0]) &&
         is_operand(&p->inputs[1]);
}

static unsigned count_commutative(const pattern_node *p) {
  if (p->kind != PATTERN_NODE) return 0;
  unsigned n = is_commutative(p);
  for (const pattern_node *i = p->inputs; i && is_operand(i); i++) n += count_commutative(i);
  return n;
}

static bool bind(matcher *s, int capture, value *v) {
  if (s->bound[capture]) return s->m.values[capture] == v;
  s->bound[capture] = true;
  s->m.values[capture] = v;
  return true;
}

static bool match_node(matcher *s, const pattern_node *p, node *n);

static bool match_value(matcher *s, const pattern_node *p, value *v) {
  switch (p->kind) {
    case PATTERN_ANY:
      return v && bind(s, p->capture, v);
    case PATTERN_CONST:
      return v && v->constant && bind(s, p->capture, v);
    case PATTERN_OPTIONAL_CONST:
      return (!v || v->constant) && bind(s, p->capture, v);
    case PATTERN_OPTIONAL:
      return bind(s, p->capture, v);
    case PATTERN_NODE:
      return v && v->producer && v->output_index == 0 && match_node(s, p, v->producer);
    case PATTERN_END:
    case PATTERN_REST:
      break;
  }
  return false;
}

static bool match_node(matcher *s, const pattern_node *p, node *n) {
  if ((p->op != ANY_OP && n->op != npuc_op((op_id)p->op)) || !n->n_outputs) return false;
  if (!n->outputs[0] && p->op != ANY_OP) return false;
  if (p->one_use && !npuc_has_one_use(n->outputs[0])) return false;
  if (!bind(s, p->capture, n->outputs[0])) return false;
  s->m.nodes[p->capture] = n;
  bool exchanged = is_commutative(p) && (s->choice >> s->met++ & 1);
  int32_t count = 0;
  for (; p->inputs && p->inputs[count].kind != PATTERN_END; count++) {
    if (p->inputs[count].kind == PATTERN_REST) return true;
    int32_t from = exchanged && count < 2 ? 1 - count : count;
    if (!match_value(s, &p->inputs[count], from < n->n_inputs ? n->inputs[from] : NULL)) return false;
  }
  for (; count < n->n_inputs; count++) {
    if (n->inputs[count]) return false;
  }
  return true;
}

bool npuc_match_pattern(const pattern *p, node *root, const void *parameters, match *out_match) {
  unsigned choices = 1u << count_commutative(&p->root);
  for (unsigned choice = 0; choice < choices; choice++) {
    matcher s = {.choice = choice, .m.parameters = parameters};
    if (!match_node(&s, &p->root, root)) continue;
    s.m.root = root;
    if (p->where && !p->where(&s.m)) continue;
    *out_match = s.m;
    return true;
  }
  return false;
}

/* -- predicates -- */

bool npuc_is_scalar(const value *v) { return v && v->constant && npuc_tensor_elements(v->constant) == 1; }

bool npuc_has_rank(const value *v, int32_t rank) { return v && v->shape.rank == rank; }

bool npuc_has_one_use(const value *v) { return v && v->n_uses == 1 && !v->is_output; }

/* Aligned at the last axis: in rank r the channel axis 1 is r-2 places before it; every other dim is 1. */
bool npuc_is_per_channel(const value *constant, int64_t channels, int32_t rank) {
  if (!constant || !constant->constant) return false;
  if (npuc_is_scalar(constant)) return constant->constant->shape.rank <= rank;
  const shape *s = &constant->constant->shape;
  int32_t axis = s->rank - (rank - 1);
  if (rank < 2 || s->rank > rank || axis < 0) return false;
  for (int32_t i = 0; i < s->rank; i++) {
    if (s->dims[i] != (i == axis ? channels : 1)) return false;
  }
  return true;
}
