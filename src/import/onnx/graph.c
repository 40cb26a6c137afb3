/* SPDX-License-Identifier: Apache-2.0 */
/* GraphProto: initializers and inputs become values, then every node's outputs do (each name once: SSA), then nodes are upgraded and added with their inputs
 * looked up, so that the order of nodes in the file does not matter until the sort that finds cycles. */
#include <assert.h>
#include <string.h>

#include "import/onnx/source.h"

typedef struct value_info {
  const char *name;
  bool has_type;
  dtype type; /* NONE with has_type: a type that values cannot have */
  shape shape;
} value_info;

typedef struct graph_record {
  const char *name;
  pb_reader *nodes, *initializers, *inputs, *outputs, *infos, *annotations;
  size_t n_nodes, n_initializers, n_inputs, n_outputs, n_infos, n_annotations;
} graph_record;

/* -- types -- */
static npuc_status read_dim(onnx_source *s, pb_reader r, dim *out) {
  pb_field f;
  *out = DIM_UNKNOWN;
  while (npuc_pb_next(&r, &f)) {
    if (f.number == DIM_VALUE) {
      int64_t v = npuc_pb_int(&r, &f);
      *out = v >= 0 ? v : DIM_UNKNOWN; /* -1 is how some exporters write "not known" */
    } else if (f.number == DIM_PARAM) {
      const char *symbol = npuc_onnx_text(s, &r, &f);
      /* PaddlePaddle writes "?" for every dim that it does not know: no name that two could share. */
      if (symbol[0] && strcmp(symbol, "?") != 0) *out = npuc_module_symbol(s->m, symbol);
    }
  }
  return npuc_pb_finish(&r, s->d, "Dimension");
}

static npuc_status read_shape(onnx_source *s, const char *name, pb_reader r, shape *out) {
  pb_field f;
  out->rank = 0;
  while (npuc_pb_next(&r, &f)) {
    if (f.number != SHAPE_DIM) continue;
    if (out->rank == MAX_RANK) {
      diag_place place = {.node = name};
      return npuc_fail(s->d, NPUC_DIAG_E0305, &place, "the value has more than %d axes", MAX_RANK);
    }
    NPUC_TRY(read_dim(s, npuc_pb_message(&r, &f), &out->dims[out->rank]));
    out->rank++;
  }
  return npuc_pb_finish(&r, s->d, "TensorShapeProto");
}

static npuc_status read_tensor_type(onnx_source *s, const char *name, pb_reader r, dtype *out_type, shape *out_shape) {
  pb_field f;
  while (npuc_pb_next(&r, &f)) {
    if (f.number == TENSOR_TYPE_ELEMENT) {
      int64_t type = npuc_pb_int(&r, &f);
      *out_type = type > 0 && type < DTYPE_END ? (dtype)type : DTYPE_NONE;
    } else if (f.number == TENSOR_TYPE_SHAPE) {
      NPUC_TRY(read_shape(s, name, npuc_pb_message(&r, &f), out_shape));
    }
  }
  return npuc_pb_finish(&r, s->d, "TypeProto.Tensor");
}

/* TypeProto.Sequence and TypeProto.Optional: one field, the type of what is in it. `depth`: how many are around it. */
static npuc_status read_any_type(onnx_source *s, const char *name, pb_reader r, int depth, dtype *out_type, shape *out_shape);

static npuc_status read_list_type(onnx_source *s, const char *name, pb_reader r, int depth, bool optional, dtype *out_type) {
  pb_field f;
  dtype inner = DTYPE_NONE;
  shape ignored = SHAPE_UNKNOWN;
  while (npuc_pb_next(&r, &f)) {
    if (f.number == LIST_TYPE_ELEMENT) NPUC_TRY(read_any_type(s, name, npuc_pb_message(&r, &f), depth + 1, &inner, &ignored));
  }
  NPUC_TRY(npuc_pb_finish(&r, s->d, "TypeProto"));
  bool fits = !npuc_dtype_is_optional(inner) && (optional || !npuc_dtype_is_list(inner));
  *out_type = !fits ? DTYPE_NONE : optional ? npuc_dtype_optional(inner) : npuc_dtype_sequence(inner);
  return NPUC_OK;
}

static npuc_status read_any_type(onnx_source *s, const char *name, pb_reader r, int depth, dtype *out_type, shape *out_shape) {
  pb_field f;
  while (depth < 3 && npuc_pb_next(&r, &f)) {
    bool optional = f.number == TYPE_OPTIONAL;
    if (f.number == TYPE_TENSOR) {
      NPUC_TRY(read_tensor_type(s, name, npuc_pb_message(&r, &f), out_type, out_shape));
    } else if (optional || f.number == TYPE_SEQUENCE) {
      NPUC_TRY(read_list_type(s, name, npuc_pb_message(&r, &f), depth, optional, out_type));
      *out_shape = (shape){.rank = 1, .dims = {DIM_UNKNOWN}};
    }
  }
  return depth < 3 ? npuc_pb_finish(&r, s->d, "TypeProto") : NPUC_OK;
}

npuc_status npuc_onnx_type(onnx_source *s, const char *name, pb_reader r, dtype *out_type, shape *out_shape) {
  return read_any_type(s, name, r, 0, out_type, out_shape);
}

static npuc_status read_info(onnx_source *s, pb_reader message, value_info *v) {
  *v = (value_info){.name = "", .shape = SHAPE_UNKNOWN};
  pb_reader r = message;
  pb_field f;
  while (npuc_pb_next(&r, &f)) {
    if (f.number == INFO_NAME) v->name = npuc_onnx_text(s, &r, &f);
  }
  NPUC_TRY(npuc_pb_finish(&r, s->d, "ValueInfoProto"));
  r = message;
  while (npuc_pb_next(&r, &f)) {
    if (f.number == INFO_TYPE) {
      v->has_type = f.span.n > 0;
      NPUC_TRY(npuc_onnx_type(s, v->name, npuc_pb_message(&r, &f), &v->type, &v->shape));
    }
    if (f.number == INFO_METADATA) {
      const char *key, *text;
      npuc_onnx_entry(s, &r, &f, &key, &text);
      if (strcmp(key, META_QUANT_AXIS) == 0 && text[0] >= '0' && text[0] < '0' + MAX_RANK && !text[1]) {
        quant_axis *kept = NPUC_NEW(s->scratch, quant_axis);
        kept->axis = text[0] - '0';
        npuc_map_put(s->quant_axes, v->name, kept);
      }
    }
  }
  return npuc_pb_finish(&r, s->d, "ValueInfoProto");
}

/* -- the parts of the graph -- */
static npuc_status fail_duplicate(onnx_source *s, const char *name, const char *what) {
  diag_place place = {.part = s->g->name, .node = name};
  return npuc_fail(s->d, NPUC_DIAG_E0416, &place, "the name '%s' of %s is already taken: each value is assigned once", name, what);
}

static npuc_status add_initializers(onnx_source *s, const graph_record *record) {
  for (size_t i = 0; i < record->n_initializers; i++) {
    tensor t;
    const char *name;
    NPUC_TRY(npuc_onnx_tensor(s, record->initializers[i], NULL, &t, &name));
    if (!name[0]) return npuc_fail(s->d, NPUC_DIAG_E0417, NULL, "initializer %zu has no name", i);
    value *known;
    if (npuc_onnx_find_own(s->scope, name, &known)) return fail_duplicate(s, name, "an initializer");
    npuc_onnx_check_finite(s, name, &t);
    npuc_onnx_bind(s, name, npuc_graph_add_constant(s->g, name, &t));
  }
  return NPUC_OK;
}

static npuc_status add_inputs(onnx_source *s, const graph_record *record) {
  size_t n_overridable = 0;
  for (size_t i = 0; i < record->n_inputs; i++) {
    value_info v;
    NPUC_TRY(read_info(s, record->inputs[i], &v));
    diag_place place = {.part = s->g->name, .node = v.name};
    if (!v.name[0]) return npuc_fail(s->d, NPUC_DIAG_E0417, NULL, "input %zu has no name", i);
    value *known = NULL;
    (void)npuc_onnx_find_own(s->scope, v.name, &known);
    if (known && known->constant) { /* before IR version 4 every initializer was an input too */
      n_overridable += s->ir_version >= 4;
      continue;
    }
    if (known) return fail_duplicate(s, v.name, "an input");
    bool is_body = s->scope->parent != NULL;
    if (v.type == DTYPE_NONE && (!is_body || v.has_type))
      return npuc_fail(s->d, NPUC_DIAG_E0305, &place, "the input's type is not given, or no tensor, sequence or optional");
    for (int32_t k = 0; k < v.shape.rank && !is_body; k++) {
      if (v.shape.dims[k] == DIM_UNKNOWN) v.shape.dims[k] = npuc_module_fresh_symbol(s->m);
    }
    npuc_onnx_bind(s, v.name, npuc_graph_add_input(s->g, v.name, v.type, &v.shape));
  }
  if (n_overridable) {
    npuc_note(s->d, NPUC_DIAG_E0315, NULL, "%zu initializers are listed as inputs too; they become constants", n_overridable);
  }
  return NPUC_OK;
}

static npuc_status define_output(onnx_source *s, const onnx_node *n, const char *name, value **out_value) {
  if (npuc_onnx_find_own(s->scope, name, out_value))
    return npuc_onnx_fail(s, n, NPUC_DIAG_E0416, NULL, "the output '%s' is already defined elsewhere: each value is assigned once", name);
  for (const onnx_scope *outer = s->scope->parent; outer; outer = outer->parent) {
    if (npuc_onnx_find_own(outer, name, out_value))
      return npuc_onnx_fail(s, n, NPUC_DIAG_E0416, NULL,
                            "the output '%s' is already defined in a graph around this one: names may not be hidden", name);
  }
  value *promised = s->scope->promised ? npuc_map_get(s->scope->promised, name) : NULL;
  *out_value = promised ? promised : npuc_graph_add_value(s->g, npuc_onnx_inner_name(s, name), DTYPE_NONE, NULL);
  npuc_onnx_bind(s, name, *out_value);
  return NPUC_OK;
}

static npuc_status define_outputs(onnx_source *s, onnx_node *n) {
  while (n->n_output_names && !n->output_names[n->n_output_names - 1][0]) n->n_output_names--;
  n->outputs = NPUC_NEW_ARRAY(s->scratch, n->n_output_names, value *);
  n->n_outputs = (int32_t)n->n_output_names;
  for (size_t i = 0; i < n->n_output_names; i++) {
    if (n->output_names[i][0]) NPUC_TRY(define_output(s, n, n->output_names[i], &n->outputs[i]));
  }
  return NPUC_OK;
}

static npuc_status resolve_inputs(onnx_source *s, onnx_node *n) {
  n->inputs = NPUC_NEW_ARRAY(s->scratch, n->n_input_names, value *);
  n->n_inputs = 0;
  for (size_t i = 0; i < n->n_input_names; i++) {
    const char *name = n->input_names[i];
    if (name[0] && !npuc_onnx_find(s, name, &n->inputs[i])) {
      const char *near = npuc_onnx_nearest(s, name);
      return npuc_onnx_fail(s, n, NPUC_DIAG_E0417, NULL, "input %zu, '%s', is defined nowhere%s%s%s", i, name, near ? " (nearest: '" : "",
                            near ? near : "", near ? "')" : "");
    }
    if (n->inputs[i]) n->n_inputs = (int32_t)i + 1; /* what is left out at the end is not there */
  }
  return NPUC_OK;
}

static npuc_status apply_infos(onnx_source *s, const graph_record *record) {
  for (size_t i = 0; i < record->n_infos + record->n_outputs; i++) {
    value_info info;
    NPUC_TRY(read_info(s, i < record->n_infos ? record->infos[i] : record->outputs[i - record->n_infos], &info));
    value *v = NULL;
    if (!npuc_onnx_find_own(s->scope, info.name, &v) || !v || v->constant || v->is_input || info.type == DTYPE_NONE) continue;
    v->type = info.type;
    v->shape = info.shape;
  }
  return NPUC_OK;
}

static npuc_status parse_nodes(onnx_source *s, const pb_reader *messages, size_t n, onnx_node ***out_nodes) {
  onnx_node **nodes = *out_nodes = NPUC_NEW_ARRAY(s->scratch, n, onnx_node *);
  for (size_t i = 0; i < n; i++) {
    NPUC_TRY(npuc_onnx_parse_node(s, messages[i], &nodes[i]));
    NPUC_TRY(define_outputs(s, nodes[i]));
  }
  return NPUC_OK;
}

static void give_results(onnx_source *s, const onnx_node *n, value *const *results) {
  location *where = NPUC_NEW(s->m->arena, location);
  where->name = npuc_onnx_label(n);
  for (int32_t i = 0; i < n->n_outputs; i++) {
    if (!n->outputs[i]) continue;
    npuc_graph_insert_node_with_outputs(s->g, NULL, npuc_op(OP_IDENTITY), npuc_onnx_label(n), &results[i], 1, &n->outputs[i], 1, where);
  }
}

/* npuc.Inline in a function of foreign_forms.c: the nodes of the graph that the caller gave as the attribute `graph`, which is given the node's inputs; without one,
 * outputs are the inputs. */
static npuc_status inline_graph(onnx_source *s, const onnx_node *n) {
  onnx_attribute *a = npuc_onnx_attribute(n, "graph");
  if (!a) return give_results(s, n, n->inputs), NPUC_OK;
  onnx_scope *inside;
  if (a->type != ONNX_GRAPH || !a->scope || a->scope->opset < 13)
    return npuc_onnx_fail(s, n, NPUC_DIAG_E0443, a->name, "the attribute '%s' is no graph of opset 13 or later", a->name);
  NPUC_TRY(npuc_onnx_body(s, a, &inside));
  const graph *body = a->body;
  size_t own = body->n_inputs;
  if (own != (size_t)n->n_inputs || body->n_outputs != (size_t)n->n_outputs)
    return npuc_onnx_fail(s, n, NPUC_DIAG_E0444, a->name, "the graph has %zu inputs and %zu outputs; %d and %d wanted", own,
                          body->n_outputs, (int)n->n_inputs, (int)n->n_outputs);
  value **arguments = NPUC_NEW_ARRAY(s->scratch, own + inside->n_captures + 1, value *);
  value **results = NPUC_NEW_ARRAY(s->scratch, body->n_outputs + 1, value *);
  for (size_t i = 0; i < own; i++) arguments[i] = n->inputs[i];
  for (size_t i = 0; i < inside->n_captures; i++) {
    npuc_graph_mark_input(a->body, inside->captures[i].inner);
    arguments[own + i] = inside->captures[i].outer;
  }
  npuc_body_inline(s->g, NULL, body, npuc_onnx_label(n), arguments, results);
  give_results(s, n, results);
  return NPUC_OK;
}

static npuc_status add_parsed(onnx_source *s, onnx_node *n) {
  NPUC_TRY(resolve_inputs(s, n));
  if (s->scope->frame && s->scope->frame->function->text && strcmp(n->type, "Inline") == 0 && strcmp(n->domain, "npuc") == 0)
    return inline_graph(s, n);
  onnx_function *f = npuc_onnx_called(s, n);
  if (!f) NPUC_TRY(npuc_onnx_foreign(s, n, &f));
  if (f) return npuc_onnx_inline(s, n, f);
  bool taken;
  NPUC_TRY(npuc_onnx_add_list_node(s, n, &taken));
  if (taken) return NPUC_OK;
  NPUC_TRY(npuc_onnx_upgrade(s, n));
  return npuc_onnx_add_node(s, n);
}

/* Unknown operators are gathered: a user wants to see all of them at once. */
static npuc_status add_all_parsed(onnx_source *s, onnx_node **nodes, size_t n) {
  npuc_status unknown = NPUC_OK;
  for (size_t i = 0; i < n; i++) {
    npuc_status status = add_parsed(s, nodes[i]);
    if (status != NPUC_OK && status != NPUC_UNSUPPORTED) return status;
    if (status != NPUC_OK) unknown = status;
  }
  return unknown;
}

npuc_status npuc_onnx_nodes(onnx_source *s, const pb_reader *messages, size_t n) {
  onnx_node **nodes;
  NPUC_TRY(parse_nodes(s, messages, n, &nodes));
  return add_all_parsed(s, nodes, n);
}

npuc_status npuc_onnx_text_nodes(onnx_source *s, const text_node *texts, size_t n) {
  onnx_node **nodes = NPUC_NEW_ARRAY(s->scratch, n, onnx_node *);
  for (size_t i = 0; i < n; i++) {
    NPUC_TRY(npuc_onnx_foreign_node(s, &texts[i], &nodes[i]));
    NPUC_TRY(define_outputs(s, nodes[i]));
  }
  return add_all_parsed(s, nodes, n);
}

/* Types that the file declares stand before the nodes are brought to today's form, which may ask for them. */
static npuc_status add_nodes(onnx_source *s, const graph_record *record) {
  onnx_node **nodes;
  NPUC_TRY(parse_nodes(s, record->nodes, record->n_nodes, &nodes));
  NPUC_TRY(apply_infos(s, record));
  return add_all_parsed(s, nodes, record->n_nodes);
}

static npuc_status add_outputs(onnx_source *s, const graph_record *record) {
  if (record->n_outputs == 0 && !s->scope->parent)
    return npuc_fail(s->d, NPUC_DIAG_E0301, NULL, "the graph '%s' has no outputs", s->g->name);
  for (size_t i = 0; i < record->n_outputs; i++) {
    value_info info;
    NPUC_TRY(read_info(s, record->outputs[i], &info));
    diag_place place = {.part = s->g->name, .node = info.name};
    value *v;
    if (!npuc_onnx_find(s, info.name, &v) || !v) {
      const char *near = npuc_onnx_nearest(s, info.name);
      return npuc_fail(s->d, NPUC_DIAG_E0417, &place, "the graph's output '%s' is defined nowhere%s%s%s", info.name,
                       near ? " (nearest: '" : "", near ? near : "", near ? "')" : "");
    }
    npuc_onnx_settle(s, v);
    if (v->is_output && !s->scope->parent) return fail_duplicate(s, info.name, "an output");
    if (v->is_output) v = npuc_graph_insert_node(s->g, NULL, npuc_op(OP_IDENTITY), v->name, &v, 1, 1, NULL)->outputs[0];
    npuc_graph_add_output(s->g, v);
  }
  return NPUC_OK;
}

/* -- quantization annotations -- */
static npuc_status quant_of(onnx_source *s, value *v, const value *scale, const value *zero_point) {
  diag_place place = {.part = s->g->name, .node = v->name};
  if (!scale || !scale->constant || !zero_point || !zero_point->constant) {
    return npuc_fail(s->d, NPUC_DIAG_E0313, &place, "SCALE_TENSOR and ZERO_POINT_TENSOR must both name initializers");
  }
  const tensor *a = scale->constant, *b = zero_point->constant;
  int64_t n = npuc_tensor_elements(a);
  if (a->type != DTYPE_F32 || n < 1 || npuc_tensor_elements(b) != n) {
    return npuc_fail(s->d, NPUC_DIAG_E0313, &place,
                     "the scale must be float32, and scale and zero point of equal length (they have %lld and %lld elements)", (long long)n,
                     (long long)npuc_tensor_elements(b));
  }
  const quant_axis *axis = npuc_map_get(s->quant_axes, v->name);
  const quant q = {.axis = axis ? axis->axis : n > 1 ? 0 : -1, .scale = *a, .zero_point = *b};
  npuc_value_set_quant(v, &q);
  return NPUC_OK;
}

static npuc_status read_annotation(onnx_source *s, pb_reader r) {
  pb_field f;
  const char *name = "", *key, *text;
  value *scale = NULL, *zero_point = NULL;
  while (npuc_pb_next(&r, &f)) {
    if (f.number == ANNOTATION_TENSOR) name = npuc_onnx_text(s, &r, &f);
    if (f.number != ANNOTATION_PARAMETERS) continue;
    npuc_onnx_entry(s, &r, &f, &key, &text);
    if (strcmp(key, "SCALE_TENSOR") == 0) scale = npuc_graph_value(s->g, text);
    if (strcmp(key, "ZERO_POINT_TENSOR") == 0) zero_point = npuc_graph_value(s->g, text);
  }
  NPUC_TRY(npuc_pb_finish(&r, s->d, "TensorAnnotation"));
  value *v = npuc_graph_value(s->g, name);
  if (!v) return NPUC_OK;
  NPUC_TRY(quant_of(s, v, scale, zero_point));
  assert(scale && zero_point); /* quant_of refuses anything else */
  npuc_map_put(s->annotation_tensors, scale->name, scale);
  npuc_map_put(s->annotation_tensors, zero_point->name, zero_point);
  return NPUC_OK;
}

/* The tensors of scales are the annotation's, not the graph's, unless a node reads them too. */
static void remove_annotation_tensors(onnx_source *s) {
  size_t cursor = 0;
  const char *name;
  void *item;
  while (npuc_map_next(s->annotation_tensors, &cursor, &name, &item)) {
    value *v = item;
    if (v->constant && !v->n_uses && !v->is_output && !v->quant) npuc_graph_remove_value(s->g, v);
  }
}

/* -- all of it -- */
static npuc_status gather(onnx_source *s, pb_reader message, graph_record *record) {
  struct {
    uint32_t number;
    pb_reader **list;
    size_t *n;
  } lists[] = {{GRAPH_NODE, &record->nodes, &record->n_nodes},       {GRAPH_INITIALIZER, &record->initializers, &record->n_initializers},
               {GRAPH_INPUT, &record->inputs, &record->n_inputs},    {GRAPH_OUTPUT, &record->outputs, &record->n_outputs},
               {GRAPH_VALUE_INFO, &record->infos, &record->n_infos}, {GRAPH_ANNOTATION, &record->annotations, &record->n_annotations}};
  size_t n_lists = sizeof lists / sizeof *lists;
  pb_reader r = message;
  pb_field f;
  record->name = "";
  while (npuc_pb_next(&r, &f)) {
    if (f.number == GRAPH_NAME) record->name = npuc_onnx_text(s, &r, &f);
    if (f.number == GRAPH_SPARSE_INITIALIZER) return npuc_fail(s->d, NPUC_DIAG_E0305, NULL, "the graph has sparse initializers");
    for (size_t i = 0; i < n_lists; i++) *lists[i].n += f.number == lists[i].number;
  }
  NPUC_TRY(npuc_pb_finish(&r, s->d, "GraphProto"));
  for (size_t i = 0; i < n_lists; i++) {
    *lists[i].list = NPUC_NEW_ARRAY(s->scratch, *lists[i].n, pb_reader);
    *lists[i].n = 0;
  }
  r = message;
  while (npuc_pb_next(&r, &f)) {
    for (size_t i = 0; i < n_lists; i++) {
      if (f.number == lists[i].number) (*lists[i].list)[(*lists[i].n)++] = npuc_pb_message(&r, &f);
    }
  }
  return npuc_pb_finish(&r, s->d, "GraphProto");
}

static npuc_status read_graph(onnx_source *s, pb_reader message) {
  graph_record record = {0};
  NPUC_TRY(gather(s, message, &record));
  if (record.name[0]) s->g->name = record.name;
  NPUC_TRY(add_initializers(s, &record));
  NPUC_TRY(add_inputs(s, &record));
  NPUC_TRY(add_nodes(s, &record));
  NPUC_TRY(add_outputs(s, &record));
  for (size_t i = 0; i < record.n_annotations; i++) NPUC_TRY(read_annotation(s, record.annotations[i]));
  remove_annotation_tensors(s);
  return npuc_graph_sort(s->d, s->g);
}

npuc_status npuc_onnx_graph(onnx_source *s, pb_reader message) {
  s->g = npuc_graph_create(s->m, "main");
  s->scope = npuc_onnx_scope(s, s->g, NULL);
  return read_graph(s, message);
}

npuc_status npuc_onnx_body(onnx_source *s, onnx_attribute *a, onnx_scope **out_scope) {
  graph *g = s->g;
  onnx_scope *scope = s->scope;
  map *tensors = s->annotation_tensors;
  int64_t opset = s->opset;
  s->opset = a->scope->opset;
  s->g = a->body = npuc_body_create(s->m, a->name);
  s->scope = *out_scope = npuc_onnx_scope(s, s->g, a->scope->frame);
  s->scope->parent = a->scope;
  s->annotation_tensors = npuc_map_create(s->scratch);
  npuc_status status = read_graph(s, a->graph);
  s->g = g;
  s->scope = scope;
  s->opset = opset;
  s->annotation_tensors = tensors;
  return status;
}
