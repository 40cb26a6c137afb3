/* SPDX-License-Identifier: Apache-2.0 */
/* The operators whose operands are lengths: Reshape, Expand, Slice, Range and the like. A length P + a becomes S, a place P + a is taken from `position`. */
#include <string.h>

#include "ir/ops/support.h"
#include "passes/decoder.h"

static npuc_status refuse(decoder *x, const node *n, const char *reason) {
  return npuc_op_fail(x->c->d, n, NPUC_DIAG_E0530, NULL, "%s", reason);
}

/* The fixed dims of a value. */
static npuc_status fixed_dims(decoder *x, const node *n, const value *v, int64_t dims[MAX_RANK]) {
  int32_t rank = npuc_decoder_rank(x, v);
  for (int32_t i = 0; i < rank; i++) {
    line l;
    if (!npuc_decoder_axis(x, v, i, &l) || l.step > 1 || l.step < 0)
      return npuc_op_fail(x->c->d, n, NPUC_DIAG_E0530, NULL, "axis %d of its result does not grow by one row a token", i);
    dims[i] = l.step ? x->rows : l.at0;
  }
  return rank >= 0 ? NPUC_OK : refuse(x, n, "the shape of its result depends on data");
}

/* -- Reshape: rows of the cache stay an axis of their own -- */

/* Products of the numbers in front of, between and behind the growing axes. */
typedef struct outline {
  int32_t n; /* growing axes */
  int64_t product[MAX_RANK + 1];
  line axis[MAX_RANK];
} outline;

static bool outline_of(const decoder *x, const value *v, outline *o) {
  *o = (outline){.product = {1}};
  for (int32_t i = 0; i < npuc_decoder_rank(x, v); i++) {
    line l;
    if (!npuc_decoder_axis(x, v, i, &l)) return false;
    if (l.step) {
      o->axis[o->n++] = l;
      o->product[o->n] = 1;
    } else if (__builtin_mul_overflow(o->product[o->n], l.at0, &o->product[o->n])) {
      return false;
    }
  }
  return npuc_decoder_rank(x, v) >= 0;
}

static bool same_outline(const outline *a, const outline *b) {
  bool same = a->n == b->n && a->product[a->n] == b->product[b->n];
  for (int32_t i = 0; same && i < a->n; i++)
    same = a->product[i] == b->product[i] && a->axis[i].at0 == b->axis[i].at0 && a->axis[i].step == b->axis[i].step;
  return same;
}

npuc_status npuc_decoder_reshape(decoder *x, node *n) {
  outline before, after;
  int64_t dims[MAX_RANK];
  if (!outline_of(x, n->inputs[0], &before) || !outline_of(x, n->outputs[0], &after))
    return refuse(x, n, "the shape of its result depends on data");
  if (!same_outline(&before, &after)) return refuse(x, n, "it merges the axis of the cache's rows with another one");
  NPUC_TRY(fixed_dims(x, n, n->outputs[0], dims));
  npuc_decoder_keep(x, n);
  npuc_node_set_input(n, 1, npuc_decoder_ints(x, n->inputs[1]->name, dims, npuc_decoder_rank(x, n->outputs[0])));
  NPUC_ATTRS(reshape_attributes, n)->allowzero = 0;
  return NPUC_OK;
}

npuc_status npuc_decoder_expand(decoder *x, node *n) {
  int64_t dims[MAX_RANK];
  NPUC_TRY(fixed_dims(x, n, n->outputs[0], dims));
  npuc_decoder_keep(x, n);
  npuc_node_set_input(n, 1, npuc_decoder_ints(x, n->inputs[1]->name, dims, npuc_decoder_rank(x, n->outputs[0])));
  return NPUC_OK;
}

npuc_status npuc_decoder_constant_of_shape(decoder *x, node *n) {
  int64_t dims[MAX_RANK];
  NPUC_TRY(fixed_dims(x, n, n->outputs[0], dims));
  npuc_node_set_input(n, 0, npuc_decoder_ints(x, n->inputs[0]->name, dims, npuc_decoder_rank(x, n->outputs[0])));
  return NPUC_OK;
}

/* -- Range -- */

npuc_status npuc_decoder_range_rule(decoder *x, node *n) {
  line_content start, delta;
  line length;
  dtype type = n->outputs[0]->type;
  if (!npuc_decoder_content(x, n->inputs[0], &start) || !npuc_decoder_content(x, n->inputs[2], &delta) ||
      !npuc_decoder_axis(x, n->outputs[0], 0, &length))
    return refuse(x, n, "its start or length depends on data");
  line s = start.at[0];
  if (delta.at[0].step || delta.at[0].at0 != 1) return refuse(x, n, "it counts along the cache in steps other than 1");
  if (length.step == 1 && s.step == 0) {
    value *keys = npuc_decoder_range(x, n->name, s.at0, x->rows);
    x->now[n->outputs[0]->id] = npuc_decoder_cast(x, x->anchor, keys, DTYPE_I64, type);
    return NPUC_OK;
  }
  if (length.step || s.step != 1) return refuse(x, n, "it counts neither the cache's rows nor the new tokens");
  value *at = length.at0 == x->chunk ? x->places : x->position;
  value *count = length.at0 == x->chunk ? npuc_decoder_ints(x, n->name, &s.at0, 1) : npuc_decoder_range(x, n->name, s.at0, length.at0);
  at = npuc_decoder_emit(x, x->anchor, n->name, OP_ADD, (value *[]){at, count}, 2);
  x->now[n->outputs[0]->id] = npuc_decoder_cast(x, x->anchor, at, DTYPE_I64, type);
  return NPUC_OK;
}

/* -- Slice -- */

typedef struct cut {
  int32_t axis;
  line in, out, start; /* start: counted from the front */
  int64_t step;
} cut;

static int64_t clamped(int64_t at, int64_t size) {
  if (at < 0) at += size;
  return at < 0 ? 0 : at > size ? size : at;
}

/* Cut number k; false where it is not known as lines. */
static bool cut_of(const decoder *x, const node *n, int32_t k, cut *out) {
  int64_t starts[DECODER_SAMPLES] = {0};
  line_content axes, steps = {.count = 1, .at = {{1, 0}}};
  int32_t rank = npuc_decoder_rank(x, n->inputs[0]);
  *out = (cut){.axis = k, .step = 1};
  if (n->n_inputs > 3 && n->inputs[3]) {
    if (!npuc_decoder_content(x, n->inputs[3], &axes) || k >= axes.count) return false;
    if (!npuc_axis_normalize(axes.at[k].at0, rank, &out->axis)) return false;
  }
  if (n->n_inputs > 4 && n->inputs[4]) {
    if (!npuc_decoder_content(x, n->inputs[4], &steps) || k >= steps.count || steps.at[k].step) return false;
    out->step = steps.at[k].at0;
  }
  if (!npuc_decoder_axis(x, n->inputs[0], out->axis, &out->in) || !npuc_decoder_axis(x, n->outputs[0], out->axis, &out->out)) return false;
  for (size_t i = 0; i < x->n_samples; i++) {
    const tensor *t = x->facts[i][n->inputs[1]->id].constant;
    if (!t || k >= npuc_tensor_elements(t)) return false;
    starts[i] = clamped(npuc_tensor_get_int(t, k), x->facts[i][n->inputs[0]->id].shape.dims[out->axis]);
  }
  return npuc_decoder_fit(x, starts, &out->start);
}

static value *numeric_slice(decoder *x, node *n, value *data, int32_t axis, int64_t start, int64_t end, int64_t step) {
  int64_t numbers[4] = {start, end, axis, step};
  value *in[5] = {data};
  for (int i = 0; i < 4; i++) in[i + 1] = npuc_decoder_ints(x, "decoder_cut", &numbers[i], 1);
  return npuc_decoder_emit(x, n, n->name, OP_SLICE, in, 5);
}

/* The first S of a table of `length` rows. The last ones of S stand behind every token: what they hold does not matter. */
static value *table_head(decoder *x, node *n, value *data, int32_t axis, int64_t length) {
  if (length >= x->rows) return numeric_slice(x, n, data, axis, 0, x->rows, 1);
  int64_t *at = NPUC_NEW_ARRAY(x->c->scratch, (size_t)x->rows, int64_t);
  for (int64_t i = 0; i < x->rows; i++) at[i] = i < length ? i : length - 1;
  value *y = npuc_decoder_emit(x, n, n->name, OP_GATHER, (value *[]){data, npuc_decoder_ints(x, "decoder_rows", at, x->rows)}, 2);
  NPUC_ATTRS(axis_attributes, y->producer)->axis = axis;
  return y;
}

static npuc_status apply_cut(decoder *x, node *n, const cut *c, value **data) {
  int64_t length = c->in.step ? x->rows : c->in.at0;
  if (c->out.step) {
    if (c->step != 1 || c->start.at0 || c->start.step)
      return refuse(x, n, "it cuts the cache's first rows off: a window that slides is not a fixed buffer");
    if (!c->in.step) *data = table_head(x, n, *data, c->axis, length);
    return NPUC_OK;
  }
  if (c->step == 1 && c->start.step == 1) {
    *data = npuc_decoder_window(x, n, *data, c->axis, c->start.at0, c->out.at0, length);
    return NPUC_OK;
  }
  if (c->start.step || (c->step < 0 && c->in.step)) return refuse(x, n, "its start does not move by one row a token");
  if (c->step == 1 && !c->in.step && c->out.at0 == c->in.at0) return NPUC_OK;
  int64_t end = c->step > 0 ? c->start.at0 + (c->out.at0 - 1) * c->step + 1 : c->start.at0 + (c->out.at0 - 1) * c->step - 1;
  *data = numeric_slice(x, n, *data, c->axis, c->start.at0, c->out.at0 ? (end < 0 ? INT64_MIN : end) : c->start.at0, c->step);
  return NPUC_OK;
}

npuc_status npuc_decoder_slice(decoder *x, node *n) {
  value *data = npuc_decoder_now(x, n->inputs[0]);
  if (npuc_decoder_rank(x, n->inputs[1]) != 1 || x->facts[0][n->inputs[1]->id].constant == NULL)
    return refuse(x, n, "its starts depend on data");
  int64_t count = npuc_tensor_elements(x->facts[0][n->inputs[1]->id].constant);
  for (int32_t k = 0; k < count; k++) {
    cut c;
    if (!cut_of(x, n, k, &c))
      return refuse(x, n, "where it cuts is not a number plus the rows in the cache: a window that slides is not a fixed buffer");
    NPUC_TRY(apply_cut(x, n, &c, &data));
  }
  x->now[n->outputs[0]->id] = data;
  return NPUC_OK;
}

/* -- Gather -- */

/* Rows of a table at the places of all keys: behind the last token they may be beyond it. */
static void gather_by_keys(decoder *x, node *n, int64_t length) {
  int64_t last = length - 1, none = 0;
  npuc_decoder_keep(x, n);
  value *limits[2] = {npuc_graph_constant_ints(x->g, "decoder_last", n->inputs[1]->type, &last, 1),
                      npuc_graph_constant_ints(x->g, "decoder_first", n->inputs[1]->type, &none, 1)};
  value *at = npuc_decoder_emit(x, n, n->name, OP_MIN, (value *[]){n->inputs[1], limits[0]}, 2);
  npuc_node_set_input(n, 1, npuc_decoder_emit(x, n, n->name, OP_MAX, (value *[]){at, limits[1]}, 2));
}

/* Indices that are computed, each into axes of `lengths`: a negative one counts from P + a, as it did; what points nowhere belongs to no token. */
static value *bounded(decoder *x, node *n, value *at, const line_content *lengths) {
  int64_t none = 0, last[DECODER_CONTENT];
  dtype type = n->inputs[1]->type;
  for (int32_t i = 0; i < lengths->count; i++) last[i] = (lengths->at[i].step ? x->rows : lengths->at[i].at0) - 1;
  value *zero = npuc_graph_constant_ints(x->g, "decoder_first", type, &none, 1);
  value *most = npuc_graph_constant_ints(x->g, "decoder_last", type, last, lengths->count);
  value *from_end = npuc_decoder_emit(x, n, n->name, OP_ADD, (value *[]){at, npuc_decoder_numbers(x, lengths, type)}, 2);
  value *negative = npuc_decoder_emit(x, n, n->name, OP_LESS, (value *[]){at, zero}, 2);
  at = npuc_decoder_emit(x, n, n->name, OP_WHERE, (value *[]){negative, from_end, at}, 3);
  at = npuc_decoder_emit(x, n, n->name, OP_MAX, (value *[]){at, zero}, 2);
  return npuc_decoder_emit(x, n, n->name, OP_MIN, (value *[]){at, most}, 2);
}

static npuc_status gather_by_data(decoder *x, node *n, const line *length) {
  line_content lengths = {.rank = 1, .count = 1, .at = {*length}};
  if (npuc_decoder_rank(x, n->inputs[1]) == 0) return refuse(x, n, "it picks one row of the cache by data");
  npuc_decoder_keep(x, n);
  npuc_node_set_input(n, 1, bounded(x, n, n->inputs[1], &lengths));
  return NPUC_OK;
}

npuc_status npuc_decoder_gather_nd(decoder *x, node *n) {
  line_content lengths = {.rank = 1};
  line width;
  int64_t dims[MAX_RANK];
  int32_t rank = npuc_decoder_rank(x, n->inputs[1]);
  NPUC_TRY(fixed_dims(x, n, n->outputs[0], dims));
  if (NPUC_ATTRS(gathernd_attributes, n)->batch_dims) return refuse(x, n, "it picks from a batch");
  if (rank < 1 || !npuc_decoder_axis(x, n->inputs[1], rank - 1, &width) || width.step || width.at0 > MAX_RANK)
    return refuse(x, n, "its indices' shape depends on data");
  for (lengths.count = 0; lengths.count < width.at0; lengths.count++)
    if (!npuc_decoder_axis(x, n->inputs[0], lengths.count, &lengths.at[lengths.count]))
      return refuse(x, n, "its operand's shape depends on data");
  npuc_decoder_keep(x, n);
  npuc_node_set_input(n, 1, bounded(x, n, n->inputs[1], &lengths));
  return NPUC_OK;
}

/* Indices into the cache's rows; negative ones count from P + a. */
static npuc_status gather_rows(decoder *x, node *n, const line *length) {
  line_content at;
  if (!npuc_decoder_content(x, n->inputs[1], &at)) return gather_by_data(x, n, length);
  int64_t numbers[DECODER_CONTENT];
  bool moves = false;
  for (int32_t i = 0; i < at.count; i++) {
    line l = at.at[i];
    if (l.step == 0 && l.at0 < 0) l = (line){length->at0 + l.at0, length->step};
    if (l.step != 0 && (l.step != 1 || at.count != 1)) return refuse(x, n, "it picks rows that do not move by one a token");
    moves = moves || l.step;
    numbers[i] = l.at0;
  }
  npuc_decoder_keep(x, n);
  value *index = npuc_graph_constant_ints(x->g, "decoder_row", DTYPE_I64, numbers, at.rank ? at.count : -1);
  if (moves) {
    value *first = x->position;
    int64_t zero = 0;
    if (!at.rank)
      first = npuc_decoder_emit(x, n, n->name, OP_SQUEEZE, (value *[]){first, npuc_decoder_ints(x, "decoder_axis", &zero, 1)}, 2);
    index = npuc_decoder_emit(x, n, n->name, OP_ADD, (value *[]){first, index}, 2);
  }
  npuc_node_set_input(n, 1, index);
  return NPUC_OK;
}

npuc_status npuc_decoder_gather(decoder *x, node *n) {
  int32_t axis;
  line length;
  uint32_t index_axes;
  int64_t dims[MAX_RANK];
  NPUC_TRY(fixed_dims(x, n, n->outputs[0], dims));
  if (!npuc_axis_normalize(NPUC_ATTRS(axis_attributes, n)->axis, npuc_decoder_rank(x, n->inputs[0]), &axis) ||
      !npuc_decoder_axis(x, n->inputs[0], axis, &length) || !npuc_decoder_growing(x, n->inputs[1], &index_axes))
    return refuse(x, n, "its operands' shapes depend on data");
  if (length.step) return gather_rows(x, n, &length);
  if (index_axes)
    gather_by_keys(x, n, length.at0);
  else
    npuc_decoder_keep(x, n);
  return NPUC_OK;
}

/* -- Concat: where the cache is written -- */

npuc_status npuc_decoder_concat(decoder *x, node *n) {
  const value *y = n->outputs[0];
  line out, past, fresh, first;
  int32_t axis;
  if (!npuc_axis_normalize(NPUC_ATTRS(axis_attributes, n)->axis, npuc_decoder_rank(x, y), &axis) || !npuc_decoder_axis(x, y, axis, &out))
    return refuse(x, n, "the shape of its result depends on data");
  if (!out.step) {
    npuc_decoder_keep(x, n);
    return NPUC_OK;
  }
  if (n->n_inputs != 2 || !npuc_decoder_axis(x, n->inputs[0], axis, &past) || !npuc_decoder_axis(x, n->inputs[1], axis, &fresh) ||
      past.step != 1 || fresh.step)
    return refuse(x, n, "what grows along this axis is not the past with new rows behind it");
  if (past.at0 + fresh.at0 > x->chunk) return refuse(x, n, "it writes more rows than there are tokens");
  if (axis == 0 || !npuc_decoder_axis(x, y, 0, &first) || first.step)
    return refuse(x, n, "the first axis grows: a cache is written along a later one");
  value *parts[2] = {npuc_decoder_now(x, n->inputs[0]), npuc_decoder_now(x, n->inputs[1])};
  x->now[y->id] = npuc_decoder_write(x, n, parts[0], parts[1], axis, past.at0, first.at0);
  x->origin[y->id] = x->origin[n->inputs[0]->id];
  x->extended[y->id] = true;
  return NPUC_OK;
}

/* -- Trilu with a diagonal that moves: compare the places -- */

static value *axis_places(decoder *x, node *n, int64_t length, bool column) {
  value *v = npuc_decoder_range(x, n->name, 0, length);
  int64_t axis = 1;
  return column ? npuc_decoder_emit(x, n, n->name, OP_UNSQUEEZE, (value *[]){v, npuc_decoder_ints(x, "decoder_axis", &axis, 1)}, 2) : v;
}

npuc_status npuc_decoder_trilu(decoder *x, node *n) {
  line_content k = {.at = {{0, 0}}};
  int64_t dims[MAX_RANK];
  int32_t rank = npuc_decoder_rank(x, n->outputs[0]);
  NPUC_TRY(fixed_dims(x, n, n->outputs[0], dims));
  if (n->n_inputs > 1 && n->inputs[1] && !npuc_decoder_content(x, n->inputs[1], &k)) return refuse(x, n, "its diagonal depends on data");
  npuc_decoder_keep(x, n);
  if (!k.at[0].step) return NPUC_OK;
  value *difference = npuc_decoder_emit(x, n, n->name, OP_SUB,
                                        (value *[]){axis_places(x, n, dims[rank - 1], false), axis_places(x, n, dims[rank - 2], true)}, 2);
  bool upper = NPUC_ATTRS(trilu_attributes, n)->upper != 0;
  value *kept = npuc_decoder_emit(x, n, n->name, upper ? OP_GREATEROREQUAL : OP_LESSOREQUAL, (value *[]){difference, n->inputs[1]}, 2);
  tensor zero;
  NPUC_TRY(npuc_tensor_create(x->c->d, n->outputs[0]->type, &SHAPE_SCALAR, &zero));
  value *nothing = npuc_graph_add_constant(x->g, "decoder_zero", &zero);
  npuc_tensor_release(&zero);
  x->now[n->outputs[0]->id] = npuc_decoder_emit(x, n, n->name, OP_WHERE, (value *[]){kept, n->inputs[0], nothing}, 3);
  return NPUC_OK;
}
