/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences and optionals whose length is known while the file is read: exporters write them for torch.split, torch.stack and lists of tensors. They become lists of values here, and operators
 * on them become the tensors that they stand for, so that targets see tensors alone. Where the sequence itself is wanted (a graph's output, what a loop carries, a position that data gives), a
 * node makes it of its list, and the operators stay what they are: npuc_onnx_settle. */
#include <string.h>

#include "import/onnx/source.h"
#include "ir/attributes.h"

enum { MAX_ITEMS = 1 << 16 };

const onnx_list *npuc_onnx_list(const onnx_source *s, const value *v) {
  for (size_t i = s->n_lists; v && i > 0; i--) {
    if (s->lists[i - 1].placeholder == v) return &s->lists[i - 1];
  }
  return NULL;
}

/* `items` is copied. element: what an empty one would hold. */
static npuc_status make_list(onnx_source *s, const onnx_node *n, value *const *items, int32_t count, bool is_optional, dtype element) {
  if (n->n_outputs != 1 || !n->outputs[0]) return npuc_onnx_fail(s, n, NPUC_DIAG_E0411, NULL, "%d outputs; one wanted", (int)n->n_outputs);
  s->lists = npuc_arena_grow(s->scratch, s->lists, s->n_lists, s->n_lists + 1, sizeof *s->lists, &s->lists_capacity);
  onnx_list *l = &s->lists[s->n_lists++];
  *l = (onnx_list){n->outputs[0],     NPUC_NEW_ARRAY(s->scratch, (size_t)count + 1, value *), count, is_optional, element, false,
                   npuc_onnx_label(n)};
  if (count) memcpy(l->items, items, (size_t)count * sizeof *items);
  return NPUC_OK;
}

static node *add(onnx_source *s, const onnx_node *n, op_id op, value *const *inputs, int32_t n_inputs, value *const *outputs,
                 int32_t n_outputs) {
  location *where = NPUC_NEW(s->m->arena, location);
  where->name = npuc_onnx_label(n);
  if (outputs)
    return npuc_graph_insert_node_with_outputs(s->g, NULL, npuc_op(op), where->name, inputs, n_inputs, outputs, n_outputs, where);
  return npuc_graph_insert_node(s->g, NULL, npuc_op(op), where->name, inputs, n_inputs, n_outputs, where);
}

/* The node's only output becomes `v`, or the list that v stands for. */
static npuc_status give(onnx_source *s, const onnx_node *n, value *v) {
  const onnx_list *l = npuc_onnx_list(s, v);
  if (l) return make_list(s, n, l->items, l->n, l->is_optional, l->element);
  if (n->n_outputs != 1 || !n->outputs[0]) return npuc_onnx_fail(s, n, NPUC_DIAG_E0411, NULL, "%d outputs; one wanted", (int)n->n_outputs);
  (void)add(s, n, OP_IDENTITY, &v, 1, n->outputs, 1);
  return NPUC_OK;
}

static npuc_status give_number(onnx_source *s, const onnx_node *n, dtype type, int64_t number) {
  return give(s, n, npuc_graph_constant_ints(s->g, npuc_graph_unique_name(s->g, npuc_onnx_label(n)), type, &number, -1));
}

/* -- reading operands -- */

/* The sequence that the node reads first; NULL: it is none of known length. */
static const onnx_list *sequence_of(const onnx_source *s, const onnx_node *n) {
  const onnx_list *l = npuc_onnx_list(s, n->n_inputs ? n->inputs[0] : NULL);
  return l && !l->is_optional ? l : NULL;
}

static const tensor *constant_of(const value *v) {
  if (v->constant && !v->is_input) return v->constant;
  return node_is(v->producer, OP_CONSTANT) ? NPUC_ATTRS(constant_attributes, v->producer)->value : NULL;
}

/* The integers of input i; NULL when the input is left out, or data gives it. */
static const tensor *known_ints(const onnx_node *n, int32_t i) {
  const tensor *t = i < n->n_inputs && n->inputs[i] ? constant_of(n->inputs[i]) : NULL;
  return t && npuc_dtype_is_integer(t->type) ? t : NULL;
}

static bool gives(const onnx_node *n, int32_t i) { return i < n->n_inputs && n->inputs[i]; }

/* Whether input i is left out or a constant. */
static bool knows(const onnx_node *n, int32_t i) { return !gives(n, i) || known_ints(n, i); }

/* Input i as a place in a list of `places`, `otherwise` when left out. */
static npuc_status place_of(onnx_source *s, const onnx_node *n, int32_t i, int64_t places, int64_t length, int64_t otherwise,
                            int32_t *out_place) {
  const tensor *t = known_ints(n, i);
  int64_t at = otherwise;
  if (t) {
    if (npuc_tensor_elements(t) != 1)
      return npuc_onnx_fail(s, n, NPUC_DIAG_E0441, NULL, "input %d has %lld elements; one wanted", (int)i,
                            (long long)npuc_tensor_elements(t));
    at = npuc_tensor_get_int(t, 0);
    if (at < 0) at += length;
  }
  if (at < 0 || at >= places)
    return npuc_onnx_fail(s, n, NPUC_DIAG_E0603, NULL, "the position lies outside the sequence, which has %lld elements",
                          (long long)length);
  *out_place = (int32_t)at;
  return NPUC_OK;
}

static int64_t int_attribute(const onnx_node *n, const char *name, int64_t otherwise) {
  const onnx_attribute *a = npuc_onnx_attribute(n, name);
  return a && a->type == ONNX_INT ? a->i : otherwise;
}

/* -- sequences -- */

static npuc_status construct(onnx_source *s, const onnx_node *n) {
  for (int32_t i = 0; i < n->n_inputs; i++) {
    if (!n->inputs[i] || npuc_onnx_list(s, n->inputs[i]))
      return npuc_onnx_fail(s, n, NPUC_DIAG_E0413, NULL, "input %d is no tensor", (int)i);
  }
  return make_list(s, n, n->inputs, n->n_inputs, false, DTYPE_NONE);
}

static npuc_status insert(onnx_source *s, const onnx_node *n) {
  const onnx_list *l = sequence_of(s, n);
  int32_t at = 0;
  if (!gives(n, 1) || npuc_onnx_list(s, n->inputs[1])) return npuc_onnx_fail(s, n, NPUC_DIAG_E0413, NULL, "what is inserted is no tensor");
  NPUC_TRY(place_of(s, n, 2, (int64_t)l->n + 1, l->n, l->n, &at));
  value **items = NPUC_NEW_ARRAY(s->scratch, (size_t)l->n + 1, value *);
  for (int32_t i = 0; i <= l->n; i++) items[i] = i == at ? n->inputs[1] : l->items[i < at ? i : i - 1];
  return make_list(s, n, items, l->n + 1, false, l->element);
}

static npuc_status erase(onnx_source *s, const onnx_node *n) {
  const onnx_list *l = sequence_of(s, n);
  int32_t at = 0;
  NPUC_TRY(place_of(s, n, 1, l->n, l->n, (int64_t)l->n - 1, &at));
  value **items = NPUC_NEW_ARRAY(s->scratch, (size_t)l->n, value *);
  for (int32_t i = 0; i + 1 < l->n; i++) items[i] = l->items[i < at ? i : i + 1];
  return make_list(s, n, items, l->n - 1, false, l->n ? l->items[0]->type : l->element);
}

static npuc_status at_position(onnx_source *s, const onnx_node *n) {
  const onnx_list *l = sequence_of(s, n);
  int32_t at = 0;
  NPUC_TRY(place_of(s, n, 1, l->n, l->n, -1, &at));
  return give(s, n, l->items[at]);
}

static npuc_status length(onnx_source *s, const onnx_node *n) {
  const onnx_list *l = sequence_of(s, n);
  return give_number(s, n, DTYPE_I64, l->n);
}

static value *with_axis(onnx_source *s, const onnx_node *n, op_id op, value *v, int64_t axis) {
  value *inputs[] = {v, npuc_graph_constant_ints(s->g, npuc_graph_unique_name(s->g, "axis"), DTYPE_I64, &axis, 1)};
  return add(s, n, op, inputs, 2, NULL, 1)->outputs[0];
}

static npuc_status concat(onnx_source *s, const onnx_node *n) {
  const onnx_list *l = sequence_of(s, n);
  const onnx_attribute *axis = npuc_onnx_attribute(n, "axis");
  if (!axis || axis->type != ONNX_INT) return npuc_onnx_fail(s, n, NPUC_DIAG_E0412, "axis", "the attribute 'axis' is missing");
  if (l->n == 0) return npuc_onnx_fail(s, n, NPUC_DIAG_E0441, NULL, "the sequence is empty: nothing says what to join");
  value **items = NPUC_NEW_ARRAY(s->scratch, (size_t)l->n, value *);
  for (int32_t i = 0; i < l->n; i++)
    items[i] = int_attribute(n, "new_axis", 0) ? with_axis(s, n, OP_UNSQUEEZE, l->items[i], axis->i) : l->items[i];
  NPUC_ATTRS(axis_attributes, add(s, n, OP_CONCAT, items, l->n, n->outputs, n->n_outputs))->axis = axis->i;
  return NPUC_OK;
}

/* Sizes of the parts: the elements of a vector, or of one number repeated (the last may be smaller), or 1 each. */
static npuc_status part_sizes(onnx_source *s, const onnx_node *n, int64_t whole, int64_t **out_sizes, int32_t *out_count) {
  const tensor *split = known_ints(n, 1);
  bool even = !split || split->shape.rank == 0;
  int64_t size = !split ? 1 : even ? npuc_tensor_get_int(split, 0) : 0, count;
  if (even && size < 1) return npuc_onnx_fail(s, n, NPUC_DIAG_E0440, "split", "parts of %lld", (long long)size);
  count = even ? whole / size + (whole % size != 0) : npuc_tensor_elements(split);
  if (count > MAX_ITEMS) return npuc_onnx_fail(s, n, NPUC_DIAG_E0305, NULL, "the sequence has more than %d elements", MAX_ITEMS);
  *out_sizes = NPUC_NEW_ARRAY(s->scratch, (size_t)count + 1, int64_t);
  for (int64_t i = 0; i < count; i++)
    (*out_sizes)[i] = !even ? npuc_tensor_get_int(split, i) : i + 1 < count ? size : whole - size * (count - 1);
  *out_count = (int32_t)count;
  return NPUC_OK;
}

/* A vector of sizes that come at run time says how many parts there are by its length. */
static bool counts_parts(const onnx_node *n, int32_t *out_count) {
  const value *v = gives(n, 1) ? n->inputs[1] : NULL;
  if (!v || constant_of(v) || v->shape.rank != 1 || !dim_is_number(v->shape.dims[0]) || v->shape.dims[0] > MAX_ITEMS) return false;
  *out_count = (int32_t)v->shape.dims[0];
  return true;
}

/* Shapes are inferred as far as nodes have been read: files list them in order. */
static npuc_status split_axis(onnx_source *s, const onnx_node *n, int32_t *out_axis) {
  if (!gives(n, 0) || npuc_onnx_list(s, n->inputs[0])) return npuc_onnx_fail(s, n, NPUC_DIAG_E0413, NULL, "what is split is no tensor");
  const shape *x = &n->inputs[0]->shape;
  int64_t given = int_attribute(n, "axis", 0);
  *out_axis = -1;
  if (x->rank < 0 && !s->scope->parent) NPUC_TRY(npuc_graph_infer(s->d, s->g));
  if (x->rank < 0 || npuc_axis_normalize(given, x->rank, out_axis)) return NPUC_OK;
  return npuc_onnx_fail(s, n, NPUC_DIAG_E0440, "axis", "%lld is outside rank %d", (long long)given, (int)x->rank);
}

/* *out_list false: how many parts there are, data will say. */
static npuc_status split_sequence(onnx_source *s, const onnx_node *n, bool *out_list) {
  int32_t axis = 0, count = 0;
  int64_t *sizes = NULL;
  NPUC_TRY(split_axis(s, n, &axis));
  bool drops_axis = n->n_inputs < 2 && int_attribute(n, "keepdims", 1) == 0, at_run_time = counts_parts(n, &count);
  dim whole = axis < 0 ? DIM_UNKNOWN : n->inputs[0]->shape.dims[axis];
  const tensor *split = known_ints(n, 1);
  *out_list = axis >= 0 && (at_run_time || (split && split->shape.rank == 1) || (knows(n, 1) && dim_is_number(whole)));
  if (!*out_list) return NPUC_OK;
  if (!at_run_time) NPUC_TRY(part_sizes(s, n, whole, &sizes, &count));
  if (count == 0) return make_list(s, n, NULL, 0, false, n->inputs[0]->type);
  value *inputs[] = {n->inputs[0], at_run_time
                                       ? n->inputs[1]
                                       : npuc_graph_constant_ints(s->g, npuc_graph_unique_name(s->g, "split"), DTYPE_I64, sizes, count)};
  node *parts = add(s, n, OP_SPLIT, inputs, 2, NULL, count);
  NPUC_ATTRS(split_attributes, parts)->axis = axis;
  value **items = NPUC_NEW_ARRAY(s->scratch, (size_t)count, value *);
  for (int32_t i = 0; i < count; i++) items[i] = drops_axis ? with_axis(s, n, OP_SQUEEZE, parts->outputs[i], axis) : parts->outputs[i];
  return make_list(s, n, items, count, false, DTYPE_NONE);
}

static npuc_status empty(onnx_source *s, const onnx_node *n) {
  int64_t type = int_attribute(n, "dtype", DTYPE_F32);
  if (type <= DTYPE_NONE || type >= DTYPE_END)
    return npuc_onnx_fail(s, n, NPUC_DIAG_E0440, "dtype", "%lld is not an element type", (long long)type);
  return make_list(s, n, NULL, 0, false, (dtype)type);
}

/* -- optionals -- */

static npuc_status optional(onnx_source *s, const onnx_node *n) {
  const onnx_attribute *type = npuc_onnx_attribute(n, "type");
  bool full = gives(n, 0);
  if (!full && (!type || type->type != ONNX_TYPE_PROTO || type->value_type == DTYPE_NONE || npuc_dtype_is_optional(type->value_type)))
    return npuc_onnx_fail(s, n, NPUC_DIAG_E0412, "type", "an optional without an element says what it would hold: a tensor or a sequence");
  return make_list(s, n, n->inputs, full, true, full ? DTYPE_NONE : type->value_type);
}

/* Whether it is known if there is an element. From opset 18 on, what is there may be given without an optional around it. */
static bool knows_element(const onnx_source *s, const onnx_node *n) {
  const value *v = gives(n, 0) ? n->inputs[0] : NULL;
  return !v || npuc_onnx_list(s, v) || (v->type != DTYPE_NONE && !npuc_dtype_is_optional(v->type));
}

static npuc_status get_element(onnx_source *s, const onnx_node *n) {
  value *v = n->n_inputs ? n->inputs[0] : NULL;
  const onnx_list *l = npuc_onnx_list(s, v);
  if (!v || (l && l->is_optional && l->n == 0)) return npuc_onnx_fail(s, n, NPUC_DIAG_E0441, NULL, "the optional has no element");
  return give(s, n, l && l->is_optional ? l->items[0] : v);
}

static npuc_status has_element(onnx_source *s, const onnx_node *n) {
  const value *v = n->n_inputs ? n->inputs[0] : NULL;
  const onnx_list *l = npuc_onnx_list(s, v);
  return give_number(s, n, DTYPE_BOOL, v && !(l && l->is_optional && l->n == 0));
}

static npuc_status identity(onnx_source *s, const onnx_node *n) { return give(s, n, n->inputs[0]); }

/* -- which -- */

static bool always(const onnx_source *s, const onnx_node *n) {
  (void)s;
  (void)n;
  return true;
}

static bool has_sequence(const onnx_source *s, const onnx_node *n) { return sequence_of(s, n) != NULL; }
static bool knows_place_1(const onnx_source *s, const onnx_node *n) { return sequence_of(s, n) && knows(n, 1); }
static bool knows_insertion(const onnx_source *s, const onnx_node *n) {
  const onnx_list *l = sequence_of(s, n);
  return l && l->n < MAX_ITEMS && knows(n, 2);
}
static bool has_list(const onnx_source *s, const onnx_node *n) { return n->n_inputs && npuc_onnx_list(s, n->inputs[0]); }

typedef struct list_row {
  const char *type;
  bool (*is_known)(const onnx_source *s, const onnx_node *n);
  npuc_status (*run)(onnx_source *s, const onnx_node *n);
} list_row;

static const list_row *find_row(const onnx_source *s, const onnx_node *n) {
  static const list_row rows[] = {{"SequenceConstruct", always, construct},
                                  {"SequenceEmpty", always, empty},
                                  {"SequenceInsert", knows_insertion, insert},
                                  {"SequenceErase", knows_place_1, erase},
                                  {"SequenceAt", knows_place_1, at_position},
                                  {"SequenceLength", has_sequence, length},
                                  {"ConcatFromSequence", has_sequence, concat},
                                  {"Optional", always, optional},
                                  {"OptionalGetElement", knows_element, get_element},
                                  {"OptionalHasElement", knows_element, has_element},
                                  {"Identity", has_list, identity}};
  for (size_t i = 0; !n->domain[0] && i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].type, n->type) == 0) return rows[i].is_known(s, n) ? &rows[i] : NULL;
  }
  return NULL;
}

npuc_status npuc_onnx_add_list_node(onnx_source *s, const onnx_node *n, bool *out_taken) {
  const list_row *row = find_row(s, n);
  *out_taken = row != NULL;
  if (row) return row->run(s, n);
  if (!n->domain[0] && strcmp(n->type, "SplitToSequence") == 0) NPUC_TRY(split_sequence(s, n, out_taken));
  for (int32_t i = 0; !*out_taken && i < n->n_inputs; i++) npuc_onnx_settle(s, n->inputs[i]);
  return NPUC_OK;
}

/* -- lists that become values -- */

static dtype item_type(const onnx_source *s, const onnx_list *l) {
  if (l->n == 0) return l->element;
  const onnx_list *inner = npuc_onnx_list(s, l->items[0]);
  return inner ? npuc_dtype_sequence(item_type(s, inner)) : l->items[0]->type;
}

void npuc_onnx_settle(onnx_source *s, value *v) {
  onnx_list *l = (onnx_list *)(uintptr_t)npuc_onnx_list(s, v);
  if (!l || l->is_settled) return;
  l->is_settled = true;
  for (int32_t i = 0; i < l->n; i++) npuc_onnx_settle(s, l->items[i]);
  op_id op = l->is_optional ? OP_OPTIONAL : l->n ? OP_SEQUENCECONSTRUCT : OP_SEQUENCEEMPTY;
  location *where = NPUC_NEW(s->m->arena, location);
  where->name = l->label;
  dtype item = item_type(s, l);
  v->type = l->is_optional ? npuc_dtype_optional(item) : npuc_dtype_sequence(item);
  v->shape = (shape){.rank = 1, .dims = {l->n}};
  node *n = npuc_graph_insert_node_with_outputs(v->owner, NULL, npuc_op(op), l->label, l->items, l->n, &v, 1, where);
  if (op == OP_OPTIONAL && l->n == 0) NPUC_ATTRS(optional_attributes, n)->type = item;
  if (op == OP_SEQUENCEEMPTY) NPUC_ATTRS(sequenceempty_attributes, n)->dtype = item;
}

void npuc_onnx_finish_lists(onnx_source *s) {
  for (size_t i = 0; i < s->n_lists; i++) {
    value *v = s->lists[i].placeholder;
    if (s->lists[i].is_settled) continue;
    if (v->n_uses || v->is_output)
      npuc_onnx_settle(s, v);
    else
      npuc_graph_remove_value(v->owner, v);
  }
}
