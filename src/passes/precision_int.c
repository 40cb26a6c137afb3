/* SPDX-License-Identifier: Apache-2.0 */
/* int64 to int32, int16 or int8. What only says how something is shaped (the target of a Reshape, the begin of a Slice, and what those are computed from) stays int64, as ONNX wants it; every other
 * int64 value becomes narrow, for which its range must be proved (ranges.h). Bodies keep their integers, with Casts at their ports. */
#include <inttypes.h>
#include <string.h>

#include "ir/attributes.h"
#include "passes/precision_internal.h"
#include "passes/ranges.h"

typedef struct int_graph {
  conversion *c;
  graph *g;
  const interval *ranges;
  bool *shaping;   /* by value id: stays int64 and needs no proof */
  bool *converted; /* was int64 and is narrow now */
  size_t n_values;
  map *narrow, *wide;
} int_graph;

static bool is_one_of(const int_graph *f, const bool *set, const value *v) { return v->id < f->n_values && set[v->id]; }

/* By the table, by the user, or because a body has the port's other end. */
static const char *port_kept(conversion *c, const node *n, int32_t port, bool is_output) {
  if (npuc_node_body(n, 0)) return "values inside bodies stay as they are";
  if (npuc_node_kept(c, n)) return "--keep";
  return npuc_port_kept(c, n, port, is_output);
}

/* -- what only shapes -- */

static bool all_outputs_shape(const int_graph *f, const node *n) {
  bool any = false;
  for (int32_t i = 0; i < n->n_outputs; i++) {
    const value *v = n->outputs[i];
    if (!v) continue;
    if (v->type != DTYPE_I64 || !f->shaping[v->id]) return false;
    any = true;
  }
  return any;
}

static bool only_shapes(const int_graph *f, const value *v) {
  if (v->is_output || (v->is_input && v->n_uses == 0)) return false;
  for (size_t i = 0; i < v->n_uses; i++) {
    const node *n = v->uses[i].user;
    if (!port_kept(f->c, n, (int32_t)v->uses[i].index, false) && !all_outputs_shape(f, n)) return false;
  }
  return v->n_uses > 0;
}

/* Readers come later, so nodes are walked from the end. */
static void find_shaping(int_graph *f) {
  for (const node *n = f->g->last; n; n = n->prev) {
    for (int32_t i = 0; i < n->n_outputs; i++) {
      const value *v = n->outputs[i];
      if (v && v->type == DTYPE_I64) f->shaping[v->id] = only_shapes(f, v);
    }
  }
  size_t cursor = 0;
  void *item;
  while (npuc_map_next(f->g->values, &cursor, NULL, &item)) {
    const value *v = item;
    if (!v->producer && v->type == DTYPE_I64) f->shaping[v->id] = only_shapes(f, v);
  }
}

/* -- proofs -- */

static npuc_status proved(int_graph *f, const value *v) {
  dtype to = f->c->request->to;
  interval r = v->id < f->n_values ? f->ranges[v->id] : (interval){false, 0, 0};
  int64_t lo, hi;
  (void)npuc_dtype_range(to, &lo, &hi);
  if (r.known && r.lo >= lo && r.hi <= hi) return NPUC_OK;
  const node *n = v->producer;
  diag_place place = {.part = f->g->name, .node = v->name, .op = n ? n->op->type : NULL};
  npuc_status status =
      r.known ? npuc_fail(f->c->d, NPUC_DIAG_E0513, &place, "it lies in [%" PRId64 ", %" PRId64 "], which %s does not hold", r.lo, r.hi,
                          npuc_dtype_name(to))
              : npuc_fail(f->c->d, NPUC_DIAG_E0513, &place, "its range is not known, so it may not become %s", npuc_dtype_name(to));
  if (!r.known) npuc_fix(f->c->d, "--range %s=LO:HI", v->name);
  if (n) npuc_fix(f->c->d, "--keep %s", n->name);
  return status;
}

/* -- nodes -- */

static npuc_status narrow_constant(int_graph *f, value *v, value **out) {
  *out = npuc_map_get(f->narrow, v->name);
  if (*out) return NPUC_OK;
  NPUC_TRY(proved(f, v));
  tensor t;
  NPUC_TRY(npuc_tensor_cast(f->c->d, v->constant, f->c->request->to, &t));
  *out = npuc_graph_add_constant(f->g, npuc_conversion_name(f->c, v, f->c->request->to), &t);
  npuc_tensor_release(&t);
  (void)npuc_map_put(f->narrow, v->name, *out);
  f->c->report->constants++;
  return NPUC_OK;
}

static npuc_status set_operand(int_graph *f, node *n, int32_t i, bool stays) {
  value *v = n->inputs[i], *other = v;
  if (stays && is_one_of(f, f->converted, v)) other = npuc_conversion_cast(f->c, f->g, f->wide, v, DTYPE_I64);
  if (!stays && v->type == DTYPE_I64) {
    if (v->constant && !v->is_input) {
      NPUC_TRY(narrow_constant(f, v, &other));
    } else {
      NPUC_TRY(proved(f, v));
      other = npuc_conversion_cast(f->c, f->g, f->narrow, v, f->c->request->to);
    }
  }
  if (other != v) npuc_node_set_input(n, i, other);
  return NPUC_OK;
}

static npuc_status narrow_fill(int_graph *f, node *n) {
  const tensor **fill = &NPUC_ATTRS(constantofshape_attributes, n)->value;
  tensor t;
  arena *a = f->g->module->arena;
  NPUC_TRY(npuc_tensor_cast(f->c->d, *fill, f->c->request->to, &t));
  tensor *kept = NPUC_NEW(a, tensor);
  *kept = t;
  kept->data = npuc_arena_copy(a, t.data, t.bytes);
  kept->owner = NULL;
  npuc_tensor_release(&t);
  *fill = kept;
  return NPUC_OK;
}

static npuc_status convert_output(int_graph *f, node *n, int32_t i) {
  value *v = n->outputs[i];
  NPUC_TRY(proved(f, v));
  v->type = f->c->request->to;
  f->converted[v->id] = true;
  f->c->report->values++;
  if (node_is(n, OP_CAST)) NPUC_ATTRS(cast_attributes, n)->to = v->type;
  if (node_is(n, OP_EYELIKE)) NPUC_ATTRS(eyelike_attributes, n)->dtype = v->type;
  return node_is(n, OP_CONSTANTOFSHAPE) ? narrow_fill(f, n) : NPUC_OK;
}

static npuc_status convert_node(int_graph *f, node *n) {
  bool shaping = all_outputs_shape(f, n);
  const char *why = NULL;
  for (int32_t i = 0; i < n->n_inputs; i++) {
    value *v = n->inputs[i];
    if (!v || (v->type != DTYPE_I64 && !is_one_of(f, f->converted, v))) continue;
    const char *reason = shaping ? "it computes a shape" : port_kept(f->c, n, i, false);
    NPUC_TRY(set_operand(f, n, i, reason != NULL));
    if (reason && !is_one_of(f, f->shaping, v)) why = reason;
  }
  for (int32_t i = 0; i < n->n_outputs && !shaping; i++) {
    if (!n->outputs[i] || n->outputs[i]->type != DTYPE_I64) continue;
    const char *reason = port_kept(f->c, n, i, true);
    if (reason) why = reason;
    if (!reason) NPUC_TRY(convert_output(f, n, i));
  }
  if (why) npuc_conversion_note(f->c, n, why);
  return NPUC_OK;
}

/* -- ports -- */

static void convert_ports_in(int_graph *f) {
  for (size_t i = 0; i < f->g->n_inputs; i++) {
    value *v = f->g->inputs[i];
    if (v->type != DTYPE_I64 || v->constant || !f->c->request->convert_ports) continue;
    v->type = f->c->request->to;
    f->converted[v->id] = true;
    f->c->report->values++;
  }
}

static npuc_status convert_ports_out(int_graph *f) {
  for (size_t i = 0; i < f->g->n_outputs; i++) {
    value *v = f->g->outputs[i];
    if (!f->c->request->convert_ports && is_one_of(f, f->converted, v)) npuc_conversion_port_out(f->c, f->g, i, DTYPE_I64);
    if (!f->c->request->convert_ports || v->type != DTYPE_I64) continue;
    NPUC_TRY(proved(f, v));
    npuc_conversion_port_out(f->c, f->g, i, f->c->request->to);
  }
  return NPUC_OK;
}

/* An input that is narrow at the port cannot hold more than its type does. */
static bool given(void *user, const value *v, interval *out) {
  const conversion *c = user;
  for (size_t i = 0; i < c->request->n_ranges; i++) {
    const value_range *r = &c->request->ranges[i];
    if (strcmp(r->name, v->name) != 0) continue;
    *out = (interval){true, r->lo, r->hi};
    return true;
  }
  if (!v->is_input || !c->request->convert_ports || v->constant) return false;
  out->known = npuc_dtype_range(c->request->to, &out->lo, &out->hi);
  return true;
}

static npuc_status check_ranges(const conversion *c, const graph *g) {
  for (size_t i = 0; i < c->request->n_ranges; i++) {
    if (npuc_graph_value(g, c->request->ranges[i].name)) continue;
    return npuc_fail(c->d, NPUC_DIAG_E0514, &(diag_place){.attribute = "--range"}, "no value of the model is called \"%s\"",
                     c->request->ranges[i].name);
  }
  return NPUC_OK;
}

npuc_status npuc_narrow_integers(diag *d, arena *a, module *m, const precision_request *r, precision_report *out_report) {
  conversion c = npuc_conversion_begin(d, a, r, DTYPE_I64, out_report);
  graph *g = m->graphs[0];
  NPUC_TRY(check_ranges(&c, g));
  int_graph f = {.c = &c, .g = g, .n_values = g->next_value_id, .narrow = npuc_map_create(a), .wide = npuc_map_create(a)};
  f.ranges = npuc_graph_ranges(a, g, given, &c);
  f.shaping = NPUC_NEW_ARRAY(a, f.n_values + 1, bool);
  f.converted = NPUC_NEW_ARRAY(a, f.n_values + 1, bool);
  find_shaping(&f);
  size_t n = 0;
  node **nodes = NPUC_NEW_ARRAY(a, g->n_nodes + 1, node *);
  NPUC_EACH_NODE(g, each) nodes[n++] = each;
  convert_ports_in(&f);
  for (size_t i = 0; i < n; i++) NPUC_TRY(convert_node(&f, nodes[i]));
  NPUC_TRY(convert_ports_out(&f));
  (void)npuc_graph_remove_dead(g);
  NPUC_TRY(npuc_graph_infer(d, g));
  NPUC_TRY(npuc_graph_verify(d, g, "convert-dtype"));
  return npuc_conversion_end(&c);
}
