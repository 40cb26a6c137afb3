/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/precision_internal.h"

#include <string.h>

#include "ir/attributes.h"

enum { BF16_IN, BF16_OUT, F16_IN, F16_OUT, I32_IN, I32_OUT, I16_IN, I16_OUT, I8_IN, I8_OUT, MASKS };

static const uint8_t table[OP_COUNT][MASKS] = {
#define KEEP(op, bi, bo, hi, ho, ii, io, si, so, ci, co) [OP_##op] = {bi, bo, hi, ho, ii, io, si, so, ci, co},
#include "passes/precision.def"
#undef KEEP
};

static int column(dtype to) {
  switch (to) {
    case DTYPE_BF16:
      return BF16_IN;
    case DTYPE_F16:
      return F16_IN;
    case DTYPE_I32:
      return I32_IN;
    case DTYPE_I16:
      return I16_IN;
    default:
      return I8_IN;
  }
}

const char *npuc_port_kept(const conversion *c, const node *n, int32_t port, bool is_output) {
  int at = column(c->request->to) + is_output;
  if (port < 8 && (table[n->op->id][at] >> port & 1)) return "the operator does not take the narrower type there";
  if (c->from != DTYPE_F32) {
    bool places = !is_output && port > 0 && (node_is(n, OP_SLICE) || (node_is(n, OP_PAD) && port == 3));
    return places ? "places and axes are no data" : NULL;
  }
  if (node_is(n, OP_QUANTIZELINEAR) || node_is(n, OP_DEQUANTIZELINEAR)) return "the scale of a quantization keeps its precision";
  if (is_output && port > 0 && (node_is(n, OP_LAYERNORMALIZATION) || node_is(n, OP_RMSNORMALIZATION)))
    return "mean and deviation have the type of the computation (stash_type)";
  return NULL;
}

bool npuc_node_kept(conversion *c, const node *n) {
  const char *source = n->location && n->location->name ? n->location->name : n->name;
  bool found = false;
  for (size_t i = 0; i < c->request->n_keep; i++) {
    const char *name = c->request->keep[i];
    if (strcmp(name, n->name) != 0 && strcmp(name, source) != 0 && strcmp(name, n->op->type) != 0) continue;
    c->keep_found[i] = found = true;
  }
  return found;
}

void npuc_conversion_note(conversion *c, const node *n, const char *why) {
  precision_report *r = c->report;
  if (r->n_kept && r->kept[r->n_kept - 1].node == n->name) return;
  if (r->n_kept == c->kept_capacity) {
    c->kept_capacity = 2 * c->kept_capacity + 16;
    kept_node *more = NPUC_NEW_ARRAY(c->arena, c->kept_capacity, kept_node);
    if (r->n_kept) memcpy(more, r->kept, r->n_kept * sizeof *more);
    r->kept = more;
  }
  r->kept[r->n_kept++] = (kept_node){n->name, n->op->type, why};
}

conversion npuc_conversion_begin(diag *d, arena *a, const precision_request *r, dtype from, precision_report *report) {
  *report = (precision_report){.values = 0};
  return (conversion){
      .d = d, .arena = a, .request = r, .report = report, .from = from, .keep_found = NPUC_NEW_ARRAY(a, r->n_keep + 1, bool)};
}

npuc_status npuc_conversion_end(conversion *c) {
  for (size_t i = 0; i < c->request->n_keep; i++) {
    if (c->keep_found[i]) continue;
    npuc_status status = npuc_fail(c->d, NPUC_DIAG_E0514, &(diag_place){.attribute = "--keep"},
                                   "no node and no operator of the model is called \"%s\"", c->request->keep[i]);
    npuc_fix(c->d, "npuc inspect MODEL --nodes");
    return status;
  }
  return NPUC_OK;
}

const char *npuc_precision_suffix(dtype to) {
  return to == DTYPE_BF16 ? "bf16" : to == DTYPE_F16 ? "fp16" : to == DTYPE_F32 ? "fp32" : npuc_dtype_name(to);
}

const char *npuc_conversion_name(conversion *c, const value *v, dtype to) {
  return npuc_arena_printf(c->arena, "%s_%s", v->name, npuc_precision_suffix(to));
}

static value *cast_at(conversion *c, graph *g, node *before, value *v, dtype to) {
  const location *from = v->producer ? v->producer->location : NULL;
  node *cast = npuc_graph_insert_node(g, before, npuc_op(OP_CAST), npuc_conversion_name(c, v, to), &v, 1, 1, from);
  NPUC_ATTRS(cast_attributes, cast)->to = to;
  cast->outputs[0]->type = to;
  cast->outputs[0]->shape = v->shape;
  c->report->casts++;
  return cast->outputs[0];
}

value *npuc_conversion_cast(conversion *c, graph *g, map *made, value *v, dtype to) {
  value *known = npuc_map_get(made, v->name);
  if (known) return known;
  value *y = cast_at(c, g, v->producer ? v->producer->next : g->first, v, to);
  (void)npuc_map_put(made, v->name, y);
  return y;
}

void npuc_conversion_port_out(conversion *c, graph *g, size_t index, dtype to) {
  value *v = g->outputs[index];
  const char *name = v->name;
  value *y = cast_at(c, g, NULL, v, to);
  npuc_graph_set_output(g, index, y);
  npuc_value_rename(v, npuc_graph_unique_name(g, npuc_conversion_name(c, v, v->type)));
  npuc_value_rename(y, name);
}
