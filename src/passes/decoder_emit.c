/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of the fixed decoder: what every layer needs of `position` is made once, in front of the graph; what nobody reads is dropped at the end of the pass. */
#include <math.h>
#include <string.h>

#include "ir/ops/support.h"
#include "passes/decoder.h"

value *npuc_decoder_emit(decoder *x, node *before, const char *name, op_id op, value *const *inputs, int32_t n) {
  return npuc_graph_insert_node(x->g, before, npuc_op(op), name, inputs, n, 1, before->location)->outputs[0];
}

value *npuc_decoder_ints(decoder *x, const char *name, const int64_t *numbers, int64_t n) {
  return npuc_graph_constant_ints(x->g, name, DTYPE_I64, numbers, n);
}

value *npuc_decoder_range(decoder *x, const char *name, int64_t first, int64_t n) {
  int64_t *numbers = NPUC_NEW_ARRAY(x->c->scratch, (size_t)n, int64_t);
  for (int64_t i = 0; i < n; i++) numbers[i] = first + i;
  return npuc_decoder_ints(x, name, numbers, n);
}

value *npuc_decoder_cast(decoder *x, node *before, value *v, dtype from, dtype to) {
  if (from == to) return v;
  value *y = npuc_decoder_emit(x, before, v->name, OP_CAST, &v, 1);
  NPUC_ATTRS(cast_attributes, y->producer)->to = (int64_t)to;
  return y;
}

static value *lifted(decoder *x, const char *name, value *v, int64_t axis) {
  value *axes = npuc_decoder_ints(x, "decoder_axis", &axis, 1);
  return npuc_decoder_emit(x, x->anchor, name, OP_UNSQUEEZE, (value *[]){v, axes}, 2);
}

static value *shifted(decoder *x, const char *name, value *v, int64_t by) {
  if (by == 0) return v;
  value *c = npuc_decoder_ints(x, "decoder_shift", &by, 1);
  return npuc_decoder_emit(x, x->anchor, name, OP_ADD, (value *[]){v, c}, 2);
}

void npuc_decoder_share(decoder *x) {
  int64_t last = x->max_length - 1;
  x->row_places = x->position;
  if (x->chunk > 1)
    x->row_places = npuc_decoder_emit(x, x->anchor, "decoder_rows", OP_ADD,
                                      (value *[]){x->position, npuc_decoder_range(x, "decoder_row", 0, x->chunk)}, 2);
  x->places = x->row_places;
  if (x->chunk > 1)
    x->places = npuc_decoder_emit(x, x->anchor, "decoder_places", OP_MIN,
                                  (value *[]){x->row_places, npuc_decoder_ints(x, "decoder_last", &last, 1)}, 2);
  value *keys = npuc_decoder_range(x, "decoder_keys", 0, x->rows), *column = lifted(x, "decoder_column", x->row_places, 1);
  x->seen = npuc_decoder_emit(x, x->anchor, "decoder_seen", OP_LESSOREQUAL, (value *[]){keys, column}, 2);
  x->filled = shifted(x, "decoder_filled", x->position, x->chunk);
}

value *npuc_decoder_lowest(decoder *x, const node *n, dtype type) {
  tensor t;
  if (npuc_dtype_kind(type) != KIND_FLOAT || npuc_dtype_bits(type) < 16) {
    (void)npuc_op_fail(x->c->d, n, NPUC_DIAG_E0530, NULL, "scores of type %s have no lowest number to hide keys with",
                       npuc_dtype_name(type));
    return NULL;
  }
  if (npuc_tensor_create(x->c->d, type, &SHAPE_SCALAR, &t) != NPUC_OK) return NULL;
  npuc_tensor_set(&t, 0, type == DTYPE_F16 ? -65504.0 : type == DTYPE_BF16 ? -0x1.FEp127 : -0x1.FFFFFEp127);
  value *v = npuc_graph_add_constant(x->g, "decoder_hidden", &t);
  npuc_tensor_release(&t);
  return v;
}

/* -- numbers of P as tensors -- */

static bool is_row_places(const decoder *x, const line_content *c) {
  bool rows = c->rank == 1 && c->count == x->chunk;
  for (int32_t i = 0; rows && i < c->count; i++) rows = c->at[i].step == 1 && c->at[i].at0 == c->at[0].at0 + i;
  return rows;
}

static value *numbers_of(decoder *x, const line_content *c, bool steps) {
  int64_t numbers[DECODER_CONTENT];
  for (int32_t i = 0; i < c->count; i++) numbers[i] = steps ? c->at[i].step : c->at[i].at0;
  return npuc_decoder_ints(x, "decoder_number", numbers, c->count);
}

static value *computed(decoder *x, const line_content *c) {
  if (is_row_places(x, c)) return shifted(x, "decoder_place", x->places, c->at[0].at0);
  bool ones = true;
  for (int32_t i = 0; i < c->count; i++) ones = ones && c->at[i].step == 1;
  value *v = x->position;
  if (!ones) v = npuc_decoder_emit(x, x->anchor, "decoder_length", OP_MUL, (value *[]){v, numbers_of(x, c, true)}, 2);
  v = npuc_decoder_emit(x, x->anchor, "decoder_length", OP_ADD, (value *[]){v, numbers_of(x, c, false)}, 2);
  if (c->rank == 1) return v;
  int64_t first = 0;
  return npuc_decoder_emit(x, x->anchor, "decoder_length", OP_SQUEEZE, (value *[]){v, npuc_decoder_ints(x, "decoder_axis", &first, 1)}, 2);
}

value *npuc_decoder_numbers(decoder *x, const line_content *c, dtype type) {
  bool moves = false;
  int64_t numbers[DECODER_CONTENT];
  for (int32_t i = 0; i < c->count; i++) {
    moves = moves || c->at[i].step != 0;
    numbers[i] = c->at[i].at0;
  }
  if (moves) return npuc_decoder_cast(x, x->anchor, computed(x, c), DTYPE_I64, type);
  return npuc_graph_constant_ints(x->g, "decoder_number", type, numbers, c->rank ? c->count : -1);
}

value *npuc_decoder_now(decoder *x, value *v) {
  if (!v || v->id >= x->n_values) return v;
  line_content c;
  if (x->now[v->id] == v && !v->constant && !v->is_input && npuc_decoder_content(x, v, &c))
    x->now[v->id] = npuc_decoder_numbers(x, &c, v->type);
  return x->now[v->id];
}

void npuc_decoder_keep(decoder *x, node *n) {
  for (int32_t i = 0; i < n->n_inputs; i++) {
    value *now = npuc_decoder_now(x, n->inputs[i]);
    if (now != n->inputs[i]) npuc_node_set_input(n, i, now);
  }
}

/* -- rows of the cache -- */

value *npuc_decoder_window(decoder *x, node *before, value *data, int32_t axis, int64_t first, int64_t n, int64_t length) {
  value *base = n == x->chunk ? x->places : x->position, *at = base;
  if (n != x->chunk && n != 1)
    at = npuc_decoder_emit(x, before, "decoder_window", OP_ADD, (value *[]){base, npuc_decoder_range(x, "decoder_row", 0, n)}, 2);
  if (first)
    at = npuc_decoder_emit(x, before, "decoder_window", OP_ADD, (value *[]){at, npuc_decoder_ints(x, "decoder_shift", &first, 1)}, 2);
  if (x->max_length - 1 + first + n > length) { /* only padding can lie beyond */
    int64_t last = length - 1;
    at = npuc_decoder_emit(x, before, "decoder_window", OP_MIN, (value *[]){at, npuc_decoder_ints(x, "decoder_last", &last, 1)}, 2);
  }
  value *y = npuc_decoder_emit(x, before, data->name, OP_GATHER, (value *[]){data, at}, 2);
  NPUC_ATTRS(axis_attributes, y->producer)->axis = axis;
  return y;
}

value *npuc_decoder_write(decoder *x, node *before, value *past, value *fresh, int32_t axis, int64_t offset, int64_t batch) {
  value *at = x->position;
  if (offset)
    at = npuc_decoder_emit(x, before, "decoder_write_at", OP_ADD, (value *[]){at, npuc_decoder_ints(x, "decoder_shift", &offset, 1)}, 2);
  if (batch != 1) /* the first axis is not the batch: every entry of it has the one position */
    at = npuc_decoder_emit(x, before, "decoder_write_at", OP_EXPAND, (value *[]){at, npuc_decoder_ints(x, "decoder_heads", &batch, 1)}, 2);
  value *y = npuc_decoder_emit(x, before, before->name, OP_TENSORSCATTER, (value *[]){past, fresh, at}, 3);
  NPUC_ATTRS(tensorscatter_attributes, y->producer)->axis = axis;
  return y;
}
