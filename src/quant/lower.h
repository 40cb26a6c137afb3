/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the integer graph: what the emitters of single operators share. */
#ifndef NPUC_QUANT_LOWER_H
#define NPUC_QUANT_LOWER_H

#include "quant/plan.h"

typedef struct lowering {
  plan *p;
  module *m;
  graph *g;
  value **of; /* integer value by float value's id */
  quant_report *report;
} lowering;

/* -- constants -- */
value *npuc_lower_ints(lowering *l, const char *name, dtype type, const int64_t *values, int64_t n); /* n < 0: a scalar */
value *npuc_lower_i32(lowering *l, const node *n, const char *suffix, const int32_t *values, int64_t count);
value *npuc_lower_bytes(lowering *l, const node *n, const char *suffix, dtype type, const shape *s, const void *bytes);
/* A constant of the float graph that is integer already (axes, shapes). */
value *npuc_lower_copy(lowering *l, const value *constant);

/* -- values and nodes -- */
/* The integer value of a float activation. */
static inline value *lower_of(const lowering *l, const value *v) { return l->of[v->id]; }
/* A value with params' dtype and annotation, under `name` or a free name near it. */
value *npuc_lower_value(lowering *l, const char *name, const shape *s, const qparams *p);
/* A node at the end with one output; place and location are pn's. The node is named after pn's node, with `suffix` (may be NULL). */
node *npuc_lower_node(lowering *l, const plan_node *pn, op_id op, const char *suffix, value *const *inputs, int32_t n_inputs,
                      value *output);
/* The integer value for pn->out, remembered. */
value *npuc_lower_output(lowering *l, const plan_node *pn);
void npuc_lower_annotate(lowering *l, value *v, int32_t axis, const float *scales, const int32_t *zero_points, int64_t n, dtype zero_type);

/* y_zero_point, lo, hi, y_dtype of a node from params and the plan's clamp (pn may be NULL: the whole grid). */
typedef struct rule_fields {
  int64_t zero_point, lo, hi, dtype;
} rule_fields;
rule_fields npuc_lower_rule(const qparams *y, const plan_node *pn);
#define LOWER_SET_RULE(a, r)            \
  do {                                  \
    (a)->y_zero_point = (r).zero_point; \
    (a)->lo = (r).lo;                   \
    (a)->hi = (r).hi;                   \
    (a)->y_dtype = (r).dtype;           \
  } while (0)

/* One factor as M [1] and s [1]; E0709, or the warning E0708, name pn's node. */
npuc_status npuc_lower_multiplier(lowering *l, const plan_node *pn, const char *suffix, double r, value **out_m, value **out_s);
/* x in another scale. Returns x itself when the scales are equal. */
npuc_status npuc_lower_requantize(lowering *l, const plan_node *pn, const char *name, value *x, const qparams *from, const qparams *to,
                                  value **out_y);

/* -- emitters, by role -- */
npuc_status npuc_lower_weights(lowering *l, const plan_node *pn);  /* QConv, QGemm */
npuc_status npuc_lower_elements(lowering *l, const plan_node *pn); /* QAdd, QMul, Requantize, Lookup, softmax */
npuc_status npuc_lower_pool(lowering *l, const plan_node *pn);
npuc_status npuc_lower_normalize(lowering *l, const plan_node *pn);
npuc_status npuc_lower_move(lowering *l, const plan_node *pn);

#endif
