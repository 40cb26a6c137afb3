/* SPDX-License-Identifier: Apache-2.0 */
/* NodeProto: its record, and from the record the IR's node with attributes typed by the op table. */
#include <stdarg.h>
#include <string.h>

#include "import/onnx/source.h"

const char *npuc_onnx_label(const onnx_node *n) {
  if (n->name) return n->name;
  for (size_t i = 0; i < n->n_output_names; i++) {
    if (n->output_names[i][0]) return n->output_names[i];
  }
  return "(unnamed)";
}

npuc_status npuc_onnx_fail(onnx_source *s, const onnx_node *n, diag_code code, const char *attribute, const char *format, ...) {
  diag_place place = {.part = s->g ? s->g->name : NULL, .node = npuc_onnx_label(n), .op = n->type, .attribute = attribute};
  va_list args;
  va_start(args, format);
  const char *reason = npuc_arena_vprintf(s->scratch, format, args);
  va_end(args);
  return npuc_fail(s->d, code, &place, "%s", reason);
}

/* -- the record -- */
typedef struct attribute_counts {
  size_t ints, floats, strings;
} attribute_counts;

static onnx_attribute_type type_of_field(uint32_t number) {
  switch (number) {
    case ATTRIBUTE_F:
      return ONNX_FLOAT;
    case ATTRIBUTE_I:
      return ONNX_INT;
    case ATTRIBUTE_S:
      return ONNX_STRING;
    case ATTRIBUTE_T:
      return ONNX_TENSOR;
    case ATTRIBUTE_G:
      return ONNX_GRAPH;
    case ATTRIBUTE_FLOATS:
      return ONNX_FLOATS;
    case ATTRIBUTE_INTS:
      return ONNX_INTS;
    case ATTRIBUTE_STRINGS:
      return ONNX_STRINGS;
    case ATTRIBUTE_TENSORS:
      return ONNX_TENSORS;
    case ATTRIBUTE_GRAPHS:
      return ONNX_GRAPHS;
    case ATTRIBUTE_SPARSE:
      return ONNX_SPARSE;
    case ATTRIBUTE_VALUE_TYPE:
      return ONNX_TYPE_PROTO;
    default:
      return ONNX_UNDEFINED;
  }
}

/* Lists are counted, then filled: they may come in several occurrences of their field. The type is deduced where an old file does not state it. */
static npuc_status count_lists(onnx_source *s, pb_reader r, onnx_attribute *a, attribute_counts *out) {
  pb_field f;
  onnx_attribute_type deduced = ONNX_UNDEFINED;
  while (npuc_pb_next(&r, &f)) {
    if (f.number == ATTRIBUTE_INTS) out->ints += npuc_pb_count_varints(&r, &f);
    if (f.number == ATTRIBUTE_FLOATS) out->floats += npuc_pb_count_fixed(&r, &f, 4);
    out->strings += f.number == ATTRIBUTE_STRINGS;
    if (f.number == ATTRIBUTE_TYPE) a->type = (onnx_attribute_type)(npuc_pb_int(&r, &f) & 0xff);
    if (type_of_field(f.number) != ONNX_UNDEFINED) deduced = type_of_field(f.number);
  }
  if (a->type == ONNX_UNDEFINED) a->type = deduced;
  if (out->ints > INT32_MAX || out->floats > INT32_MAX || out->strings > INT32_MAX) {
    return npuc_fail(s->d, NPUC_DIAG_E0412, NULL, "an attribute's list has more than 2^31 elements");
  }
  return npuc_pb_finish(&r, s->d, "AttributeProto");
}

static const char *type_name(onnx_attribute_type t) {
  static const char *const names[] = {"nothing",  "a float", "an integer", "a string", "a tensor",        "a graph",        "floats",
                                      "integers", "strings", "tensors",    "graphs",   "a sparse tensor", "sparse tensors", "a type"};
  return (size_t)t < sizeof names / sizeof *names ? names[t] : "an unknown kind";
}

/* An attribute of a function's node that stands for the call's. One that the call does not give is absent here too. */
static npuc_status follow_reference(onnx_source *s, const onnx_node *n, const char *reference, onnx_attribute *a, bool *out_absent) {
  if (!s->scope || !s->scope->frame)
    return npuc_onnx_fail(s, n, NPUC_DIAG_E0412, a->name, "the attribute refers to a function's attribute, outside any function");
  bool known;
  const onnx_attribute *from = npuc_onnx_parameter(s, reference, &known);
  if (!known)
    return npuc_onnx_fail(s, n, NPUC_DIAG_E0412, a->name, "the attribute refers to '%s', which the function does not have", reference);
  *out_absent = !from;
  if (!from) return NPUC_OK;
  if (a->type != ONNX_UNDEFINED && a->type != from->type) {
    return npuc_onnx_fail(s, n, NPUC_DIAG_E0412, a->name, "the attribute should hold %s, and '%s' of the call holds %s", type_name(a->type),
                          reference, type_name(from->type));
  }
  const char *name = a->name;
  *a = *from;
  a->name = name;
  return NPUC_OK;
}

npuc_status npuc_onnx_parse_attribute(onnx_source *s, const onnx_node *n, pb_reader message, onnx_attribute *a, bool *out_absent) {
  attribute_counts counts = {0};
  NPUC_TRY(count_lists(s, message, a, &counts));
  a->ints.values = NPUC_NEW_ARRAY(s->scratch, counts.ints, int64_t);
  a->floats.values = NPUC_NEW_ARRAY(s->scratch, counts.floats, float);
  a->strings.values = NPUC_NEW_ARRAY(s->scratch, counts.strings, const char *);
  a->name = "";
  a->s = "";
  pb_reader r = message, inner;
  pb_field f;
  size_t n_ints = 0, n_floats = 0;
  bool has_tensor = false;
  const char *reference = NULL;
  *out_absent = false;
  while (npuc_pb_next(&r, &f)) {
    switch (f.number) {
      case ATTRIBUTE_NAME:
        a->name = npuc_onnx_text(s, &r, &f);
        break;
      case ATTRIBUTE_F:
        a->f = npuc_pb_float(&r, &f);
        break;
      case ATTRIBUTE_I:
        a->i = npuc_pb_int(&r, &f);
        break;
      case ATTRIBUTE_S:
        if (a->type == ONNX_STRING) a->s = npuc_onnx_text(s, &r, &f);
        break;
      case ATTRIBUTE_T:
        inner = npuc_pb_message(&r, &f);
        has_tensor = true;
        break;
      case ATTRIBUTE_INTS:
        npuc_pb_read_varints(&r, &f, a->ints.values, &n_ints);
        break;
      case ATTRIBUTE_FLOATS:
        npuc_pb_read_fixed(&r, &f, 4, a->floats.values, &n_floats);
        break;
      case ATTRIBUTE_STRINGS:
        if (a->type == ONNX_STRINGS) a->strings.values[a->strings.count++] = npuc_onnx_text(s, &r, &f);
        break;
      case ATTRIBUTE_G:
        a->graph = npuc_pb_message(&r, &f);
        a->scope = s->scope;
        break;
      case ATTRIBUTE_VALUE_TYPE: {
        shape ignored = SHAPE_UNKNOWN;
        NPUC_TRY(npuc_onnx_type(s, npuc_onnx_label(n), npuc_pb_message(&r, &f), &a->value_type, &ignored));
        break;
      }
      case ATTRIBUTE_REF_NAME:
        reference = npuc_onnx_text(s, &r, &f);
        break;
      default:
        break;
    }
  }
  a->ints.count = (int32_t)n_ints;
  a->floats.count = (int32_t)n_floats;
  NPUC_TRY(npuc_pb_finish(&r, s->d, "AttributeProto"));
  if (reference && reference[0]) return follow_reference(s, n, reference, a, out_absent);
  if (a->type != ONNX_TENSOR) return NPUC_OK;
  if (!has_tensor) return npuc_onnx_fail(s, n, NPUC_DIAG_E0412, a->name, "the attribute should hold a tensor and holds none");
  tensor *t = NPUC_NEW(s->m->arena, tensor);
  a->t = t;
  NPUC_TRY(npuc_onnx_tensor(s, inner, npuc_onnx_label(n), t, NULL));
  npuc_onnx_check_finite(s, npuc_onnx_label(n), t);
  return NPUC_OK;
}

static void read_metadata(onnx_source *s, pb_reader *r, const pb_field *f, onnx_node *n) {
  const char *key, *text;
  npuc_onnx_entry(s, r, f, &key, &text);
  if (strcmp(key, META_PLACE) == 0) n->place = text;
  if (strcmp(key, META_PLACE_REASON) == 0) n->place_reason = text;
  if (strcmp(key, META_LOCATION) == 0) n->location = text;
  if (strncmp(key, META_DERIVED, strlen(META_DERIVED)) == 0) n->derived[n->n_derived++] = text;
}

static npuc_status count_node(onnx_source *s, pb_reader r, onnx_node *n) {
  size_t inputs = 0, outputs = 0, attributes = 0, metadata = 0;
  pb_field f;
  while (npuc_pb_next(&r, &f)) {
    inputs += f.number == NODE_INPUT;
    outputs += f.number == NODE_OUTPUT;
    attributes += f.number == NODE_ATTRIBUTE;
    metadata += f.number == NODE_METADATA;
  }
  n->input_names = NPUC_NEW_ARRAY(s->scratch, inputs, const char *);
  n->output_names = NPUC_NEW_ARRAY(s->scratch, outputs, const char *);
  n->attributes = NPUC_NEW_ARRAY(s->scratch, attributes, onnx_attribute);
  n->derived = NPUC_NEW_ARRAY(s->m->arena, metadata, const char *);
  return npuc_pb_finish(&r, s->d, "NodeProto");
}

npuc_status npuc_onnx_parse_node(onnx_source *s, pb_reader message, onnx_node **out_node) {
  onnx_node *n = NPUC_NEW(s->scratch, onnx_node);
  *out_node = n;
  n->type = n->domain = n->overload = "";
  NPUC_TRY(count_node(s, message, n));
  pb_reader r = message;
  pb_field f;
  while (npuc_pb_next(&r, &f)) {
    switch (f.number) {
      case NODE_INPUT:
        n->input_names[n->n_input_names++] = npuc_onnx_text(s, &r, &f);
        break;
      case NODE_OUTPUT:
        n->output_names[n->n_output_names++] = npuc_onnx_text(s, &r, &f);
        break;
      case NODE_NAME:
        n->name = f.span.n ? npuc_onnx_text(s, &r, &f) : NULL;
        break;
      case NODE_OP_TYPE:
        n->type = npuc_onnx_text(s, &r, &f);
        break;
      case NODE_DOMAIN:
        n->domain = npuc_onnx_text(s, &r, &f);
        break;
      case NODE_OVERLOAD:
        n->overload = npuc_onnx_text(s, &r, &f);
        break;
      case NODE_METADATA:
        read_metadata(s, &r, &f, n);
        break;
      default:
        break;
    }
  }
  NPUC_TRY(npuc_pb_finish(&r, s->d, "NodeProto"));
  if (strcmp(n->domain, "ai.onnx") == 0) n->domain = "";
  if (s->scope && s->scope->frame) n->name = npuc_onnx_inner_name(s, npuc_onnx_label(n));
  r = message; /* attributes last: their messages name the node */
  while (npuc_pb_next(&r, &f)) {
    if (f.number != NODE_ATTRIBUTE) continue;
    bool absent;
    onnx_attribute *a = &n->attributes[n->n_attributes];
    NPUC_TRY(npuc_onnx_parse_attribute(s, n, npuc_pb_message(&r, &f), a, &absent));
    if (absent) continue;
    if (npuc_onnx_attribute(n, a->name)) return npuc_onnx_fail(s, n, NPUC_DIAG_E0412, a->name, "the attribute is given twice");
    n->n_attributes++;
  }
  return npuc_pb_finish(&r, s->d, "NodeProto");
}

/* -- editing a record -- */
onnx_attribute *npuc_onnx_attribute(const onnx_node *n, const char *name) {
  for (size_t i = 0; i < n->n_attributes; i++) {
    if (strcmp(n->attributes[i].name, name) == 0) return &n->attributes[i];
  }
  return NULL;
}

void npuc_onnx_remove_attribute(onnx_node *n, const char *name) {
  onnx_attribute *a = npuc_onnx_attribute(n, name);
  if (!a) return;
  size_t after = n->n_attributes - (size_t)(a - n->attributes) - 1;
  memmove(a, a + 1, after * sizeof *a);
  n->n_attributes--;
}

onnx_attribute *npuc_onnx_add_attribute(onnx_source *s, onnx_node *n, const char *name, onnx_attribute_type type) {
  onnx_attribute *more = NPUC_NEW_ARRAY(s->scratch, n->n_attributes + 1, onnx_attribute);
  if (n->n_attributes) memcpy(more, n->attributes, n->n_attributes * sizeof *more);
  n->attributes = more;
  onnx_attribute *a = &more[n->n_attributes++];
  *a = (onnx_attribute){.name = name, .type = type, .s = ""};
  return a;
}

void npuc_onnx_set_input(onnx_source *s, onnx_node *n, int32_t index, value *v) {
  if (index >= n->n_inputs) {
    value **more = NPUC_NEW_ARRAY(s->scratch, (size_t)index + 1, value *);
    if (n->n_inputs) memcpy(more, n->inputs, (size_t)n->n_inputs * sizeof *more);
    n->inputs = more;
    n->n_inputs = index + 1;
  }
  n->inputs[index] = v;
}

/* -- into the IR -- */
static onnx_attribute_type type_of_kind(attr_kind kind) {
  switch (kind) {
    case ATTR_INT:
      return ONNX_INT;
    case ATTR_FLOAT:
      return ONNX_FLOAT;
    case ATTR_STRING:
      return ONNX_STRING;
    case ATTR_INTS:
      return ONNX_INTS;
    case ATTR_FLOATS:
      return ONNX_FLOATS;
    case ATTR_TENSOR:
      return ONNX_TENSOR;
    case ATTR_STRINGS:
      return ONNX_STRINGS;
    case ATTR_GRAPH:
      return ONNX_GRAPH;
    case ATTR_TYPE:
      return ONNX_TYPE_PROTO;
  }
  return ONNX_UNDEFINED;
}

static npuc_status fail_unknown_attribute(onnx_source *s, const onnx_node *n, const op_def *op, const char *name) {
  size_t count = (size_t)op->n_attributes;
  const char **known = NPUC_NEW_ARRAY(s->scratch, count, const char *);
  for (size_t i = 0; i < count; i++) known[i] = op->attributes[i].name;
  const char *near = npuc_nearest(name, known, count);
  npuc_status status = npuc_onnx_fail(s, n, NPUC_DIAG_E0412, name, "%s has no attribute '%s'%s%s%s", n->type, name,
                                      near ? " (nearest: '" : "", near ? near : "", near ? "')" : "");
  npuc_fix(s->d, "npuc ops %s", n->type);
  return status;
}

static void store_attribute(module *m, const attr_field *field, const onnx_attribute *a, void *attributes) {
  void *to = (char *)attributes + field->offset;
  switch (field->kind) {
    case ATTR_INT:
      *(int64_t *)to = a->i;
      break;
    case ATTR_FLOAT:
      *(float *)to = a->f;
      break;
    case ATTR_STRING:
      *(const char **)to = a->s;
      break;
    case ATTR_INTS:
      *(int_list *)to = (int_list){npuc_arena_copy(m->arena, a->ints.values, (size_t)a->ints.count * sizeof(int64_t)), a->ints.count};
      break;
    case ATTR_FLOATS:
      *(float_list *)to =
          (float_list){npuc_arena_copy(m->arena, a->floats.values, (size_t)a->floats.count * sizeof(float)), a->floats.count};
      break;
    case ATTR_TENSOR:
      *(const tensor **)to = a->t;
      break;
    case ATTR_GRAPH:
      *(graph **)to = a->body;
      break;
    case ATTR_TYPE:
      *(dtype *)to = a->value_type;
      break;
    case ATTR_STRINGS:
      *(string_list *)to =
          (string_list){npuc_arena_copy(m->arena, a->strings.values, (size_t)a->strings.count * sizeof(char *)), a->strings.count};
      break;
  }
}

static npuc_status set_attributes(onnx_source *s, const onnx_node *n, const op_def *op, void *attributes) {
  for (size_t i = 0; i < n->n_attributes; i++) {
    const onnx_attribute *a = &n->attributes[i];
    const attr_field *field = npuc_op_attribute(op, a->name);
    if (!field) return fail_unknown_attribute(s, n, op, a->name);
    if (type_of_kind(field->kind) != a->type) {
      return npuc_onnx_fail(s, n, NPUC_DIAG_E0412, a->name, "the attribute '%s' holds %s and should hold %s", a->name, type_name(a->type),
                            type_name(type_of_kind(field->kind)));
    }
    store_attribute(s->m, field, a, attributes);
  }
  for (int32_t i = 0; i < op->n_attributes; i++) {
    const attr_field *field = &op->attributes[i];
    if (field->required && !npuc_onnx_attribute(n, field->name)) {
      return npuc_onnx_fail(s, n, NPUC_DIAG_E0412, field->name, "the attribute '%s' is missing", field->name);
    }
  }
  return NPUC_OK;
}

/* What npuc leaves out on purpose, and the reason. */
static const char *left_out(const onnx_node *n) {
  static const struct {
    const char *domain, *type, *reason; /* type NULL: the whole domain */
  } rows[] = {
      {"ai.onnx.preview.training", NULL, "a training operator; npuc compiles inference: export the network without its optimizer"},
      {"ai.onnx.training", NULL, "a training operator; npuc compiles inference: export the network without its optimizer"},
      {"ai.onnx.ml", NULL, "an operator of classical machine learning, which npuc does not compile; ONNX Runtime runs it"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].domain, n->domain) == 0 && (!rows[i].type || strcmp(rows[i].type, n->type) == 0)) return rows[i].reason;
  }
  return NULL;
}

static npuc_status fail_unknown_operator(onnx_source *s, const onnx_node *n) {
  const char *reason = left_out(n);
  if (reason)
    return npuc_onnx_fail(s, n, NPUC_DIAG_E0421, NULL, "%s (domain %s) is %s", n->type, n->domain[0] ? n->domain : "ai.onnx", reason);
  const char *near = npuc_op_nearest(n->domain, n->type);
  const char *domain = n->domain[0] ? n->domain : "ai.onnx";
  bool is_default = !n->domain[0];
  npuc_status status;
  if (is_default) {
    status = npuc_onnx_fail(s, n, NPUC_DIAG_E0421, NULL, "unknown operator %s (domain %s, opset %lld)%s%s", n->type, domain,
                            (long long)s->opset, near ? "; nearest known: " : "", near ? near : "");
  } else {
    status = npuc_onnx_fail(s, n, NPUC_DIAG_E0421, NULL, "unknown operator %s (domain %s)%s%s", n->type, domain,
                            near ? "; nearest known: " : "", near ? near : "");
  }
  npuc_fix(s->d, "npuc ops");
  return status;
}

/* Graphs of operators that the table does not know are named before the operator is: they are what the user must get rid of. */
static npuc_status check_graphs(onnx_source *s, const onnx_node *n, const op_def *op) {
  for (size_t i = 0; i < n->n_attributes; i++) {
    const onnx_attribute *a = &n->attributes[i];
    const attr_field *field = op ? npuc_op_attribute(op, a->name) : NULL;
    bool known = a->type == ONNX_GRAPH && field && field->kind == ATTR_GRAPH && a->scope;
    if ((a->type == ONNX_GRAPH || a->type == ONNX_GRAPHS) && !known)
      return npuc_onnx_fail(s, n, NPUC_DIAG_E0309, a->name, "the attribute '%s' is a subgraph", a->name);
  }
  return NPUC_OK;
}

/* Each in a scope of its own; `out_scopes` has room for one for each attribute. */
static npuc_status read_bodies(onnx_source *s, onnx_node *n, onnx_scope **out_scopes) {
  for (size_t i = 0; i < n->n_attributes; i++) {
    if (n->attributes[i].type == ONNX_GRAPH) NPUC_TRY(npuc_onnx_body(s, &n->attributes[i], &out_scopes[i]));
  }
  return NPUC_OK;
}

/* Loop's first two inputs may be left out; what it carries stands behind them all the same. */
static void pad_inputs(onnx_source *s, onnx_node *n, const op_def *op) {
  if (op->id == OP_LOOP && n->n_inputs < 2) npuc_onnx_set_input(s, n, 1, NULL);
}

static const location *location_of(onnx_source *s, const onnx_node *n) {
  location *l = NPUC_NEW(s->m->arena, location);
  l->name = n->location ? n->location : npuc_onnx_label(n);
  l->derived = n->derived;
  l->n_derived = n->n_derived;
  return l;
}

npuc_status npuc_onnx_add_node(onnx_source *s, onnx_node *n) {
  if (s->names_no_opset && !n->domain[0])
    return npuc_onnx_fail(s, n, NPUC_DIAG_E0303, NULL, "the file does not say which opset of the default domain its nodes follow");
  const op_def *op = npuc_op_find(n->domain, n->type);
  NPUC_TRY(check_graphs(s, n, op));
  if (!op) return fail_unknown_operator(s, n);
  size_t n_scopes = n->n_attributes;
  onnx_scope **scopes = NPUC_NEW_ARRAY(s->scratch, n_scopes, onnx_scope *);
  NPUC_TRY(read_bodies(s, n, scopes));
  pad_inputs(s, n, op);
  for (size_t i = 0; op->id == OP_SCAN && s->opset < 9 && i < n_scopes; i++) {
    if (!scopes[i]) continue;
    NPUC_TRY(npuc_onnx_upgrade_scan(s, n, scopes[i]));
    break;
  }
  node *added = npuc_graph_insert_node_with_outputs(s->g, NULL, op, npuc_onnx_label(n), n->inputs, n->n_inputs, n->outputs, n->n_outputs,
                                                    location_of(s, n));
  added->place = n->place;
  added->place_reason = n->place_reason;
  NPUC_TRY(set_attributes(s, n, op, added->attributes));
  for (size_t i = 0; i < n_scopes; i++) {
    const onnx_scope *inside = scopes[i];
    for (size_t k = 0; inside && k < inside->n_captures; k++)
      npuc_body_capture(added, inside->g, inside->captures[k].inner, inside->captures[k].outer);
  }
  const onnx_attribute *axis = npuc_onnx_attribute(n, "axis");
  if (s->opset < 13 && (node_is(added, OP_SOFTMAX) || node_is(added, OP_LOGSOFTMAX) || node_is(added, OP_HARDMAX))) {
    s->softmaxes =
        npuc_arena_grow(s->scratch, s->softmaxes, s->n_softmaxes, s->n_softmaxes + 1, sizeof *s->softmaxes, &s->softmaxes_capacity);
    s->softmaxes[s->n_softmaxes++] = (legacy_softmax){added, axis ? axis->i : 1};
  }
  return NPUC_OK;
}
