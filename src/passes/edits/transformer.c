/* SPDX-License-Identifier: Apache-2.0 */
/* Edits of transformers: heads that are repeated by one Expand, keys that are turned once instead of twice, one buffer for keys and values. The edits of the cache itself are those of stage static. */
#include <stdlib.h>
#include <string.h>

#include "passes/edits/build.h"

enum { Y, X, EXPANDED, TALL, AXES, FULL, TARGET };

/* -- collapse-gqa-broadcast: x [B, 1, S, D] -> [B, 1, 1, S, D] -> [B, 1, R, S, D] -> [B, R, S, D] -- */

/* The axis that was put in, where the tall value is x with one more axis of 1 behind an axis of 1, and the Expand widens that axis alone; -1 else. */
static int32_t repeated_axis(const match *m) {
  const shape *x = &m->values[X]->shape, *tall = &m->values[TALL]->shape, *wide = &m->values[EXPANDED]->shape,
              *y = &m->root->outputs[0]->shape;
  if (!npuc_shape_is_static(x) || !npuc_shape_is_static(wide) || !npuc_shape_is_static(y) || tall->rank != x->rank + 1 ||
      wide->rank != tall->rank || y->rank != x->rank)
    return -1;
  for (int32_t axis = 1; axis <= x->rank; axis++) {
    bool good = x->dims[axis - 1] == 1 && tall->dims[axis] == 1 && y->dims[axis - 1] == wide->dims[axis];
    for (int32_t i = 0; i < x->rank && good; i++) {
      int32_t at = i + (i >= axis);
      good = tall->dims[at] == x->dims[i] && wide->dims[at] == x->dims[i] && (i == axis - 1 || y->dims[i] == x->dims[i]);
    }
    if (good) return axis;
  }
  return -1;
}

static bool repeats_heads(const match *m) { return repeated_axis(m) >= 0; }

static void expand_once(rewriter *r, const match *m) {
  npuc_edit_done(r, m, npuc_edit_expand(r, m->values[X], &m->root->outputs[0]->shape));
}

#define REPEATED(op) NODE(OP_RESHAPE, Y, ONE_USE(OP_EXPAND, EXPANDED, ONE_USE(op, TALL, ANY(X), ANY(AXES)), ANY(FULL)), ANY(TARGET))
static const pattern repeat_unsqueeze = {
    .name = "unsqueeze-expand-reshape",
    .doc = "Reshape(Expand(Unsqueeze(x))) -> Expand(x), where an axis of 1 is repeated",
    .parity = PARITY_EXACT,
    .root = REPEATED(OP_UNSQUEEZE),
    .where = repeats_heads,
    .rewrite = expand_once,
};
static const pattern repeat_reshape = {
    .name = "reshape-expand-reshape",
    .doc = "Reshape(Expand(Reshape(x))) -> Expand(x), where an axis of 1 is repeated",
    .parity = PARITY_EXACT,
    .root = REPEATED(OP_RESHAPE),
    .where = repeats_heads,
    .rewrite = expand_once,
};
static const pattern *const gqa_patterns[] = {&repeat_unsqueeze, &repeat_reshape};
PATTERN_SET(npuc_edit_collapse_gqa_broadcast_patterns, gqa_patterns);

/* -- retarget-cross-attn-key-layout: keys leave the encoder, and enter the decoder, as [B, H, D, L] -- */

static bool ends_with(const char *name, const char *suffix) {
  size_t n = strlen(name), k = strlen(suffix);
  return n >= k && strcmp(name + n - k, suffix) == 0;
}

static bool turns(const node *n, const int64_t *perm, int32_t rank) {
  if (!node_is(n, OP_TRANSPOSE)) return false;
  const int_list *p = &NPUC_ATTRS(transpose_attributes, n)->perm;
  return p->count == rank && memcmp(p->values, perm, (size_t)rank * sizeof *perm) == 0;
}

static void swap_last(shape *s) {
  dim last = s->dims[s->rank - 1];
  s->dims[s->rank - 1] = s->dims[s->rank - 2];
  s->dims[s->rank - 2] = last;
}

static bool retarget_output(pass_context *c, value *v) {
  node *n = v->producer;
  if (!turns(n, (int64_t[]){0, 2, 1, 3}, 4) || v->n_uses || !npuc_edit_is_static(v)) return false;
  if (!npuc_pass_allow(c, "key-leaves-turned", PARITY_EXACT, n)) return false;
  int_list *perm = &NPUC_ATTRS(transpose_attributes, n)->perm;
  *perm = (int_list){npuc_arena_copy(v->owner->module->arena, (int64_t[]){0, 2, 3, 1}, 4 * sizeof(int64_t)), 4};
  swap_last(&v->shape);
  return true;
}

static bool retarget_input(pass_context *c, value *v) {
  node *n = v->n_uses == 1 ? v->uses[0].user : NULL;
  if (!n || v->is_output || !turns(n, (int64_t[]){0, 1, 3, 2}, 4) || n->outputs[0]->is_output || !npuc_edit_is_static(v)) return false;
  if (!npuc_pass_allow(c, "key-enters-turned", PARITY_EXACT, n)) return false;
  swap_last(&v->shape);
  npuc_value_replace(n->outputs[0], v);
  npuc_graph_remove_node(v->owner, n);
  return true;
}

npuc_status npuc_pass_retarget_cross_attn_key_layout(pass_context *c, graph *g, bool *out_changed) {
  const char *suffix = npuc_edit_text(c->arguments, "suffix");
  for (size_t i = 0; i < g->n_outputs; i++) {
    if (ends_with(g->outputs[i]->name, suffix) && retarget_output(c, g->outputs[i])) *out_changed = true;
  }
  for (size_t i = 0; i < g->n_inputs; i++) {
    if (ends_with(g->inputs[i]->name, suffix) && retarget_input(c, g->inputs[i])) *out_changed = true;
  }
  return NPUC_OK;
}

/* -- combine-kv-io-tensors: PREFIX.L.key and PREFIX.L.value [B, H, S, D] become PREFIX.L.key_value [B, 2H, S, D] -- */

/* The port's partner and the combined name, where its name is PREFIX.NUMBER.key; NULL else. */
static const char *combined_name(arena *a, const char *name, const char *prefix) {
  size_t n = strlen(prefix);
  if (strncmp(name, prefix, n) != 0 || name[n] != '.') return NULL;
  size_t digits = strspn(name + n + 1, "0123456789");
  return digits && strcmp(name + n + 1 + digits, ".key") == 0 ? npuc_arena_printf(a, "%s_value", name) : NULL;
}

static value *partner_of(const graph *g, arena *a, const value *key) {
  return npuc_graph_value(g, npuc_arena_printf(a, "%.*s.value", (int)(strlen(key->name) - strlen(".key")), key->name));
}

static npuc_status refuse_pair(pass_context *c, const value *key, const char *why) {
  return npuc_fail(c->d, NPUC_DIAG_E0510, &(diag_place){.node = key->name}, "%s", why);
}

static npuc_status check_pair(pass_context *c, const value *key, const value *v, bool is_input) {
  if (!v || (is_input ? !v->is_input : !v->is_output)) return refuse_pair(c, key, "the value of this layer is missing beside its key");
  if (key->type != v->type || !npuc_same_shape(key, v) || key->shape.rank != 4 || !npuc_edit_is_static(key))
    return refuse_pair(c, key, "key and value must have one type and one static shape [B, H, S, D]");
  if (is_input ? key->is_output || v->is_output : key->is_input || v->is_input)
    return refuse_pair(c, key, "it is an input and an output too");
  return NPUC_OK;
}

static value *half(graph *g, value *both, const char *name, int64_t from, int64_t to) {
  int64_t axis = 1;
  value *inputs[] = {both, npuc_graph_constant_ints(g, "kv_begin", DTYPE_I64, &from, 1),
                     npuc_graph_constant_ints(g, "kv_end", DTYPE_I64, &to, 1), npuc_graph_constant_ints(g, "kv_axis", DTYPE_I64, &axis, 1)};
  value *y = npuc_graph_insert_node(g, g->first, npuc_op(OP_SLICE), name, inputs, 4, 1, NULL)->outputs[0];
  y->type = both->type;
  return y;
}

static void combine_input(graph *g, value *key, value *v, const char *name, size_t place) {
  shape s = key->shape;
  int64_t heads = s.dims[1];
  s.dims[1] = 2 * heads;
  value *both = npuc_graph_add_input(g, name, key->type, &s);
  npuc_edit_move_input(g, both, place);
  value *parts[] = {half(g, both, npuc_arena_printf(g->module->arena, "%s_key", name), 0, heads),
                    half(g, both, npuc_arena_printf(g->module->arena, "%s_half", name), heads, 2 * heads)};
  parts[0]->shape = key->shape;
  parts[1]->shape = v->shape;
  npuc_value_replace(key, parts[0]);
  npuc_value_replace(v, parts[1]);
  npuc_edit_drop_input(g, key);
  npuc_edit_drop_input(g, v);
}

static void combine_output(graph *g, size_t place, value *v, const char *name) {
  value *key = g->outputs[place];
  node *n = npuc_graph_insert_node(g, NULL, npuc_op(OP_CONCAT), name, (value *[]){key, v}, 2, 1, NULL);
  NPUC_ATTRS(axis_attributes, n)->axis = 1;
  value *both = n->outputs[0];
  both->type = key->type;
  both->shape = key->shape;
  both->shape.dims[1] *= 2;
  npuc_graph_set_output(g, place, both);
  for (size_t i = 0; i < g->n_outputs; i++) {
    if (g->outputs[i] == v) npuc_edit_drop_output(g, i);
  }
}

npuc_status npuc_pass_combine_kv_io_tensors(pass_context *c, graph *g, bool *out_changed) {
  const char *past = npuc_edit_text(c->arguments, "past"), *present = npuc_edit_text(c->arguments, "present"), *name;
  for (size_t i = 0; i < g->n_inputs; i++) {
    value *key = g->inputs[i];
    if (!(name = combined_name(c->scratch, key->name, past))) continue;
    value *v = partner_of(g, c->scratch, key);
    NPUC_TRY(check_pair(c, key, v, true));
    if (npuc_graph_value(g, name)) return refuse_pair(c, key, "the combined name is taken");
    if (!npuc_pass_allow(c, "kv-inputs-in-one", PARITY_EXACT, NULL)) return NPUC_OK;
    combine_input(g, key, v, name, i);
    *out_changed = true;
  }
  for (size_t i = 0; i < g->n_outputs; i++) {
    value *key = g->outputs[i];
    if (!(name = combined_name(c->scratch, key->name, present))) continue;
    value *v = partner_of(g, c->scratch, key);
    NPUC_TRY(check_pair(c, key, v, false));
    if (npuc_graph_value(g, name)) return refuse_pair(c, key, "the combined name is taken");
    if (!npuc_pass_allow(c, "kv-outputs-in-one", PARITY_EXACT, NULL)) return NPUC_OK;
    combine_output(g, i, v, name);
    *out_changed = true;
  }
  return NPUC_OK;
}
