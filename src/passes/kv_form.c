/* SPDX-License-Identifier: Apache-2.0 */
/* kv-form: how the write into a cache is spelled for targets without TensorScatter (--kv-form). S rows in the cache, C new ones, p the first row that is written:
 *
 *   where    Where(0 <= s - p < C, new[s - p], cache) for each row s; for C = 1: Where(s == p, new, cache)
 *   matmul   the same, with the rows placed by a product: (s == p + c)[S, C] x new[C, D]
 *
 * Both give the bits of TensorScatter: a product with one 1 and finite rows adds zeros only (a -0 becomes 0). A write past the end is no
 * error here, rows beyond the end are lost: whoever runs the model must check position and valid first, as npuc does. */
#include <string.h>

#include "ir/ops/support.h"
#include "passes/internal.h"

typedef struct write {
  pass_context *c;
  graph *g;
  node *n;
  int32_t rank, axis;
  int64_t rows, fresh; /* S, C */
} write;

static value *emit(const write *w, op_id op, value *const *inputs, int32_t n) {
  return npuc_graph_insert_node(w->g, w->n, npuc_op(op), w->n->name, inputs, n, 1, w->n->location)->outputs[0];
}

static value *ints(const write *w, const char *name, const int64_t *numbers, int64_t n) {
  return npuc_graph_constant_ints(w->g, name, DTYPE_I64, numbers, n);
}

static value *counted(const write *w, const char *name, int64_t n, int32_t axis, int32_t rank) {
  tensor t;
  shape s = {.rank = rank};
  for (int32_t i = 0; i < rank; i++) s.dims[i] = i == axis ? n : 1;
  if (npuc_tensor_create(w->c->d, DTYPE_I64, &s, &t) != NPUC_OK) return NULL;
  for (int64_t i = 0; i < n; i++) npuc_tensor_set_int(&t, i, i);
  value *v = npuc_graph_add_constant(w->g, name, &t);
  npuc_tensor_release(&t);
  return v;
}

/* write_indices [B] along the first of `rank` axes: [B, 1, ..]. */
static value *spread(const write *w, int32_t rank) {
  int64_t axes[MAX_RANK];
  for (int32_t i = 1; i < rank; i++) axes[i - 1] = i;
  return emit(w, OP_UNSQUEEZE, (value *[]){w->n->inputs[2], ints(w, "write_axes", axes, rank - 1)}, 2);
}

static value *both(const write *w, value *a, value *b) { return emit(w, OP_AND, (value *[]){a, b}, 2); }

/* bool [B, 1, .., S, .., 1]: rows that are written. */
static value *written(const write *w, value *rows, value *at) {
  if (w->fresh == 1) return emit(w, OP_EQUAL, (value *[]){rows, at}, 2);
  value *count = ints(w, "write_count", &w->fresh, 1);
  value *end = emit(w, OP_ADD, (value *[]){at, count}, 2);
  return both(w, emit(w, OP_GREATEROREQUAL, (value *[]){rows, at}, 2), emit(w, OP_LESS, (value *[]){rows, end}, 2));
}

/* new[s - p], clamped into [0, C): [.., S, ..]. Of a batch of one: Gather; rows move alike for all that stands beside them. */
static value *placed_by_gather(const write *w) {
  int64_t zero = 0, last = w->fresh - 1;
  value *keys = counted(w, "write_keys", w->rows, 0, 1);
  if (!keys) return NULL;
  value *first =
      emit(w, OP_SLICE, (value *[]){w->n->inputs[2], ints(w, "write_first", &zero, 1), ints(w, "write_end", &(int64_t){1}, 1)}, 3);
  value *from = emit(w, OP_SUB, (value *[]){keys, first}, 2);
  from = emit(w, OP_MAX, (value *[]){from, ints(w, "write_zero", &zero, 1)}, 2);
  from = emit(w, OP_MIN, (value *[]){from, ints(w, "write_last", &last, 1)}, 2);
  value *y = emit(w, OP_GATHER, (value *[]){w->n->inputs[1], from}, 2);
  NPUC_ATTRS(axis_attributes, y->producer)->axis = w->axis;
  return y;
}

/* one-hot [B, 1, .., S, C] x new [.., C, D]; the rows are the last axis but one. */
static value *placed_by_product(const write *w) {
  value *rows = counted(w, "write_rows", w->rows, w->rank - 2, w->rank),
        *columns = counted(w, "write_columns", w->fresh, w->rank - 1, w->rank);
  if (!rows || !columns) return NULL;
  value *to = emit(w, OP_ADD, (value *[]){columns, spread(w, w->rank)}, 2);
  value *hot = emit(w, OP_EQUAL, (value *[]){rows, to}, 2), *cast = emit(w, OP_CAST, &hot, 1);
  NPUC_ATTRS(cast_attributes, cast->producer)->to = (int64_t)w->n->inputs[0]->type;
  return emit(w, OP_MATMUL, (value *[]){cast, w->n->inputs[1]}, 2);
}

static bool all_alike(const write *w) {
  const value *at = w->n->inputs[2];
  return w->n->inputs[0]->shape.dims[0] == 1 || (at->producer && node_is(at->producer, OP_EXPAND));
}

static npuc_status spell(const write *w, bool product) {
  value *placed = w->n->inputs[1], *rows = counted(w, "write_rows", w->rows, w->axis, w->rank);
  if (!rows) return NPUC_ENVIRONMENT;
  if (product) {
    if (w->axis != w->rank - 2 || !npuc_is_float(w->n->inputs[0]))
      return npuc_op_fail(w->c->d, w->n, NPUC_DIAG_E0532, "--kv-form",
                          "a product places float rows of the last axis but one; --kv-form where does the others");
    placed = placed_by_product(w);
  } else if (w->fresh > 1) {
    if (!all_alike(w))
      return npuc_op_fail(w->c->d, w->n, NPUC_DIAG_E0532, "--kv-form",
                          "rows of a batch go to different places; --kv-form matmul does that");
    placed = placed_by_gather(w);
  }
  if (!placed) return NPUC_ENVIRONMENT;
  value *mask = written(w, rows, spread(w, w->rank));
  npuc_value_replace(w->n->outputs[0], emit(w, OP_WHERE, (value *[]){mask, placed, w->n->inputs[0]}, 3));
  return NPUC_OK;
}

static npuc_status spell_one(pass_context *c, graph *g, node *n, bool product) {
  const shape *past = &n->inputs[0]->shape, *fresh = &n->inputs[1]->shape;
  write w = {.c = c, .g = g, .n = n, .rank = past->rank};
  const tensorscatter_attributes *a = NPUC_ATTRS(tensorscatter_attributes, n);
  if (!npuc_shape_is_static(past) || !npuc_shape_is_static(fresh) || n->n_inputs < 3 || !n->inputs[2] || strcmp(a->mode, "linear") != 0)
    return npuc_op_fail(c->d, n, NPUC_DIAG_E0532, "--kv-form", "a linear write of known size at a given row is wanted");
  if (!npuc_axis_normalize(a->axis, w.rank, &w.axis))
    return npuc_op_fail(c->d, n, NPUC_DIAG_E0532, "--kv-form", "its axis is none of its operand's");
  w.rows = past->dims[w.axis];
  w.fresh = fresh->dims[w.axis];
  return spell(&w, product);
}

npuc_status npuc_pass_kv_form(pass_context *c, graph *g, bool *out_changed) {
  kv_form form = c->options->kv_form;
  if (form == KV_FORM_SCATTER) return NPUC_OK;
  bool changed = false;
  NPUC_EACH_NODE(g, n) {
    if (!node_is(n, OP_TENSORSCATTER)) continue;
    if (!npuc_pass_allow(c, form == KV_FORM_MATMUL ? "write-by-product" : "write-by-where", PARITY_EXACT, n)) break;
    NPUC_TRY(spell_one(c, g, n, form == KV_FORM_MATMUL));
    changed = true;
  }
  if (!changed) return NPUC_OK;
  *out_changed = true;
  (void)npuc_graph_remove_dead(g);
  return npuc_graph_infer(c->d, g);
}
