/* SPDX-License-Identifier: Apache-2.0 */
/* static-decoder: a decoder whose cache grows becomes the one with a fixed buffer and a position (docs/static-decoder.md; the relation that every node keeps is in decoder.h).
 *
 * The new inputs take the place of everything that the caller computed from the past's length (position ids, masks); past and present become state pairs; what the model says of each token is
 * given for the last real one. With --max-length only; breaks shapes, which are inferred anew. */
#include <string.h>

#include "ir/decoder_form.h"
#include "ir/ops/support.h"
#include "passes/decoder.h"
#include "passes/names.h"

/* -- inputs -- */

static void prepare(decoder *x) {
  size_t n = x->n_values;
  x->now = (value **)npuc_arena_array(x->c->scratch, n + 1, sizeof(value *));
  x->zero_tail = NPUC_NEW_ARRAY(x->c->scratch, n + 1, bool);
  x->extended = NPUC_NEW_ARRAY(x->c->scratch, n + 1, bool);
  x->origin = NPUC_NEW_ARRAY(x->c->scratch, n + 1, int32_t);
  size_t cursor = 0;
  void *item;
  while (npuc_map_next(x->g->values, &cursor, NULL, &item)) x->now[((value *)item)->id] = item;
  for (size_t i = 0; i < n; i++) x->origin[i] = -1;
  for (size_t i = 0; i < x->n_past; i++) x->origin[x->past[i]->id] = (int32_t)i;
}

static value *lifted(decoder *x, value *v, int32_t axes) {
  int64_t numbers[2] = {0, 1};
  return npuc_decoder_emit(x, x->anchor, v->name, OP_UNSQUEEZE, (value *[]){v, npuc_decoder_ints(x, "decoder_axes", numbers, axes)}, 2);
}

/* Every cached and new token is seen: the padding mask of a sequence that has none. What lies behind is hidden at the softmax. */
static npuc_status all_ones(decoder *x, const value *mask, value **out) {
  tensor t;
  NPUC_TRY(npuc_tensor_create(x->c->d, mask->type, &(shape){.rank = 2, .dims = {1, x->rows}}, &t));
  for (int64_t i = 0; i < x->rows; i++) npuc_tensor_set(&t, i, 1.0);
  *out = npuc_graph_add_constant(x->g, "decoder_ones", &t);
  npuc_tensor_release(&t);
  return NPUC_OK;
}

/* [1, 1, C, P + C], true where seen, or added to the scores. */
static npuc_status causal_mask(decoder *x, const value *mask, value **out) {
  tensor t;
  *out = lifted(x, x->seen, 2);
  if (mask->type == DTYPE_BOOL) return NPUC_OK;
  value *hidden = npuc_decoder_lowest(x, x->anchor, mask->type);
  if (!hidden) return NPUC_UNSUPPORTED;
  NPUC_TRY(npuc_tensor_create(x->c->d, mask->type, &SHAPE_SCALAR, &t));
  value *zero = npuc_graph_add_constant(x->g, "decoder_zero", &t);
  npuc_tensor_release(&t);
  *out = npuc_decoder_emit(x, x->anchor, mask->name, OP_WHERE, (value *[]){*out, zero, hidden}, 3);
  return NPUC_OK;
}

static npuc_status replace_input(decoder *x, value *v, bool *out_replaced) {
  value *now = NULL;
  if (npuc_decoder_role(x->g, v) == DECODER_PLACES && v->shape.rank <= 2) {
    now = npuc_decoder_cast(x, x->anchor, v->shape.rank == 2 ? lifted(x, x->places, 1) : x->places, DTYPE_I64, v->type);
  } else if (npuc_decoder_role(x->g, v) == DECODER_MASK) {
    NPUC_TRY(v->shape.rank == 2 ? all_ones(x, v, &now) : causal_mask(x, v, &now));
  }
  *out_replaced = now != NULL;
  if (now) x->now[v->id] = now;
  return NPUC_OK;
}

/* Tokens, position, valid, what else there is, caches. Inputs that are computed now go at the end, when nothing reads them. */
static npuc_status take_inputs(decoder *x, value **out_gone, size_t *out_n_gone) {
  graph *g = x->g;
  shape one = {.rank = 1, .dims = {1}};
  size_t n = g->n_inputs;
  if (npuc_graph_value(g, "position") || npuc_graph_value(g, "valid"))
    return npuc_fail(x->c->d, NPUC_DIAG_E0530, &(diag_place){.part = g->name}, "it has a value called \"position\" or \"valid\" already");
  x->position = npuc_graph_add_input(g, "position", DTYPE_I64, &one);
  x->valid = npuc_graph_add_input(g, "valid", DTYPE_I64, &one);
  npuc_decoder_share(x);
  value **order = (value **)npuc_arena_array(x->c->scratch, n + 2, sizeof(value *));
  size_t at = 0;
  order[at++] = x->ids;
  order[at++] = x->position;
  order[at++] = x->valid;
  *out_n_gone = 0;
  for (int caches = 0; caches < 2; caches++) {
    for (size_t i = 0; i < n; i++) {
      value *v = g->inputs[i];
      bool replaced = false, is_cache = x->origin[v->id] >= 0;
      if (v == x->ids || is_cache != (caches != 0)) continue;
      if (!is_cache) NPUC_TRY(replace_input(x, v, &replaced));
      if (replaced)
        out_gone[(*out_n_gone)++] = v;
      else
        order[at++] = v;
    }
  }
  memcpy(g->inputs, order, at * sizeof *order);
  g->n_inputs = at;
  return NPUC_OK;
}

/* -- outputs -- */

static void set_output(decoder *x, size_t index, value *v) {
  graph *g = x->g;
  value *old = g->outputs[index];
  const char *name = old->name;
  if (v == old) return;
  if (v->is_input || v->is_output || v->constant)
    v = npuc_graph_insert_node(g, NULL, npuc_op(OP_IDENTITY), name, &v, 1, 1, NULL)->outputs[0];
  npuc_graph_set_output(g, index, v);
  npuc_value_rename(old, npuc_graph_unique_name(g, npuc_arena_printf(x->c->scratch, "%s.grown", name)));
  npuc_value_rename(v, name);
}

static npuc_status refuse_output(decoder *x, const value *v, const char *reason) {
  return npuc_fail(x->c->d, NPUC_DIAG_E0530, &(diag_place){.part = x->g->name, .node = v->name}, "%s", reason);
}

/* One and the same layout in both: what one call gives, the next one takes. */
static bool same_layout(const decoder *x, const value *past, const value *present) {
  int32_t rank = npuc_decoder_rank(x, past);
  bool same = rank == npuc_decoder_rank(x, present) && past->type == present->type;
  for (int32_t i = 0; same && i < rank; i++) {
    line a, b;
    same =
        npuc_decoder_axis(x, past, i, &a) && npuc_decoder_axis(x, present, i, &b) && a.step == b.step && b.at0 == a.at0 + a.step * x->chunk;
  }
  return same;
}

static npuc_status take_present(decoder *x, size_t index, value **presents) {
  value *v = x->g->outputs[index];
  int32_t origin = x->origin[v->id];
  if (origin < 0 || !x->extended[v->id])
    return refuse_output(x, v, "this output grows with the cache, and is no cache with the new rows behind it");
  if (presents[origin]) return refuse_output(x, v, "two outputs continue the same cache");
  if (!same_layout(x, x->past[origin], v)) return refuse_output(x, v, "its axes are not those of the cache that it continues");
  set_output(x, index, x->now[v->id]);
  presents[origin] = x->g->outputs[index];
  return NPUC_OK;
}

/* What there is for each token is given for the last real one. */
static void take_row(decoder *x, size_t index, value **at) {
  value *v = x->g->outputs[index];
  int64_t minus = -1;
  int32_t axis = 0, rank = npuc_decoder_rank(x, v);
  value *now = npuc_decoder_now(x, v);
  while (axis < rank && !npuc_decoder_is_row_axis(x, v, axis)) axis++;
  if (x->chunk > 1 && axis < rank) {
    graph *g = x->g;
    if (!*at) {
      value *in[2] = {x->valid, npuc_decoder_ints(x, "decoder_minus", &minus, 1)};
      *at = npuc_graph_insert_node(g, NULL, npuc_op(OP_ADD), "decoder_last_row", in, 2, 1, NULL)->outputs[0];
    }
    node *row = npuc_graph_insert_node(g, NULL, npuc_op(OP_GATHER), v->name, (value *[]){now, *at}, 2, 1,
                                       now->producer ? now->producer->location : NULL);
    NPUC_ATTRS(axis_attributes, row)->axis = axis;
    now = row->outputs[0];
  }
  set_output(x, index, now);
}

static npuc_status take_outputs(decoder *x, value **presents) {
  value *last_row = NULL;
  for (size_t i = 0; i < x->g->n_outputs; i++) {
    value *v = x->g->outputs[i];
    uint32_t axes;
    if (!npuc_decoder_growing(x, v, &axes)) return refuse_output(x, v, "the shape of this output depends on data");
    if (axes)
      NPUC_TRY(take_present(x, i, presents));
    else
      take_row(x, i, &last_row);
  }
  for (size_t i = 0; i < x->n_past; i++)
    if (!presents[i]) return refuse_output(x, x->past[i], "no output continues this cache");
  return NPUC_OK;
}

/* -- states -- */

static void rename_port(decoder *x, value *v, const char *name) {
  if (strcmp(v->name, name) == 0 || npuc_graph_value(x->g, name)) return;
  npuc_name_record(x->g, name, v->name);
  npuc_value_rename(v, name);
}

/* past_key_values.0.key and present.0.key (or what the source calls it) become past.0.key and present.0.key. */
static void name_states(decoder *x, value **presents) {
  graph *g = x->g;
  for (size_t i = 0; i < x->n_past; i++) {
    static const char prefix[] = "past_key_values.";
    const char *name = x->past[i]->name;
    if (strncmp(name, prefix, sizeof prefix - 1) == 0) {
      const char *rest = npuc_arena_str(x->c->scratch, name + sizeof prefix - 1);
      rename_port(x, x->past[i], npuc_arena_printf(x->c->scratch, "past.%s", rest));
      rename_port(x, presents[i], npuc_arena_printf(x->c->scratch, "present.%s", rest));
    }
    npuc_module_set_state(g->module, i, presents[i]->name, x->past[i]->name);
  }
}

static npuc_status fix_inputs(decoder *x) {
  for (size_t i = 0; i < x->g->n_inputs; i++)
    NPUC_TRY(npuc_decoder_input_shape(x, x->g->inputs[i], x->rows, x->chunk, &x->g->inputs[i]->shape));
  return NPUC_OK;
}

static void drop_inputs(graph *g, value *const *gone, size_t n) {
  for (size_t i = 0; i < n; i++) {
    gone[i]->is_input = false;
    if (!gone[i]->n_uses && !gone[i]->is_output) npuc_graph_remove_value(g, gone[i]);
  }
}

static npuc_status convert(decoder *x) {
  graph *g = x->g;
  size_t n = g->n_nodes, n_gone = 0;
  node **nodes = (node **)npuc_arena_array(x->c->scratch, n + 1, sizeof(node *));
  value **gone = (value **)npuc_arena_array(x->c->scratch, g->n_inputs + 1, sizeof(value *));
  value **presents = (value **)npuc_arena_array(x->c->scratch, x->n_past + 1, sizeof(value *));
  n = 0;
  NPUC_EACH_NODE(g, one) nodes[n++] = one;
  if (!n) return npuc_fail(x->c->d, NPUC_DIAG_E0530, &(diag_place){.part = g->name}, "it has no nodes");
  x->anchor = nodes[0];
  prepare(x);
  NPUC_TRY(take_inputs(x, gone, &n_gone));
  for (size_t i = 0; i < n; i++) NPUC_TRY(npuc_decoder_rule(x, nodes[i]));
  NPUC_TRY(take_outputs(x, presents));
  NPUC_TRY(fix_inputs(x));
  npuc_graph_forget_shapes(g);
  (void)npuc_graph_remove_dead(g);
  drop_inputs(g, gone, n_gone);
  name_states(x, presents);
  npuc_decoder_form_set(g->module, x->max_length, x->chunk);
  return npuc_graph_infer(x->c->d, g);
}

npuc_status npuc_pass_static_decoder(pass_context *c, graph *g, bool *out_changed) {
  const pass_options *o = c->options;
  if (!o->max_length || g != g->module->graphs[0]) return NPUC_OK;
  if (!npuc_decoder_grows(g))
    return npuc_fail(c->d, NPUC_DIAG_E0531, &(diag_place){.part = g->name, .attribute = "--max-length"},
                     "the model has no cache that grows: no input called past* with a symbolic length");
  decoder x = {.c = c, .g = g, .max_length = o->max_length, .chunk = o->chunk};
  NPUC_TRY(npuc_decoder_ports(&x));
  NPUC_TRY(npuc_decoder_sample(&x));
  if (!npuc_pass_allow(c, "fixed-cache", PARITY_REASSOCIATING, g->first)) return NPUC_OK;
  *out_changed = true;
  return convert(&x);
}
