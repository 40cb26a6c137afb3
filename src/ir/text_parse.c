/* SPDX-License-Identifier: Apache-2.0 */
/* From text to a module: what the grammar reads (text_syntax.c) is looked up in the op table and becomes values and nodes.
 *
 * Names may be used before they are defined: a name makes a bare value, and whatever defines it later fills it. What stays bare at the end
 * and is used is an undefined value; what is only declared is dropped. */
#include <stdlib.h>
#include <string.h>

#include "ir/internal.h"
#include "ir/text_read.h"

enum { NEWEST_OPSET = 28, OLDEST_OPSET = 7 };

enum { MAX_DEPTH = 32 };

typedef struct reader {
  text_cursor t;
  module *m;
  graph *g;
  int64_t opset;        /* of the default domain */
  struct reader *outer; /* of a body: the graph around it */
  text_list captures;   /* of a body */
  int depth;
} reader;

/* What a body reads of the graph around it. */
typedef struct text_capture {
  graph *body;
  value *inner, *outer;
} text_capture;

static void fail_node(reader *r, const text_node *n, const char *attribute, diag_code code, const char *format, ...) NPUC_PRINTF(5, 6);
static void fail_node(reader *r, const text_node *n, const char *attribute, diag_code code, const char *format, ...) {
  if (!npuc_text_ok(&r->t)) return;
  va_list args;
  va_start(args, format);
  const char *reason = npuc_arena_vprintf(r->t.a, format, args);
  va_end(args);
  const char *node_name = n->label ? n->label : n->n_outputs ? n->outputs[0] : NULL;
  diag_place place = {.file = r->t.file, .part = r->g->name, .node = node_name, .op = n->type, .attribute = attribute};
  r->t.status = npuc_fail(r->t.d, code, &place, "line %u, column %u: %s", (unsigned)n->line, (unsigned)n->column, reason);
}

/* -- header -- */

static void read_metadata(reader *r) {
  text_cursor *t = &r->t;
  npuc_text_expect(t, '[');
  if (npuc_text_take(t, ']')) return;
  do {
    const char *key = npuc_text_string(t);
    npuc_text_expect(t, ':');
    const char *text = npuc_text_string(t);
    if (npuc_text_ok(t)) npuc_map_put(r->m->metadata, key, (char *)(uintptr_t)text);
  } while (npuc_text_ok(t) && npuc_text_take(t, ','));
  npuc_text_expect(t, ']');
}

static void read_opsets(reader *r) {
  text_list list = {0};
  npuc_text_opsets(&r->t, &list);
  const text_opset *o = list.items;
  for (size_t i = 0; npuc_text_ok(&r->t) && i < list.count; i++) {
    if (*o[i].domain && strcmp(o[i].domain, "ai.onnx") != 0) continue;
    r->opset = o[i].version;
    if (r->opset < OLDEST_OPSET || r->opset > NEWEST_OPSET) {
      npuc_text_fail(&r->t, NPUC_DIAG_E0420, "opset %lld; %d to %d are read", (long long)r->opset, (int)OLDEST_OPSET, (int)NEWEST_OPSET);
    }
  }
}

static void read_header(reader *r) {
  text_cursor *t = &r->t;
  npuc_text_expect(t, '<');
  do {
    const char *key = npuc_text_identifier(t);
    if (!key) npuc_text_fail(t, NPUC_DIAG_E0420, "expected a key of the header, such as ir_version");
    npuc_text_expect(t, ':');
    if (!npuc_text_ok(t) || !key) return;
    if (strcmp(key, "opset_import") == 0)
      read_opsets(r);
    else if (strcmp(key, "metadata_props") == 0)
      read_metadata(r);
    else if (strcmp(key, "producer_name") == 0)
      r->m->producer = npuc_text_string(t);
    else
      (void)npuc_text_literal(t);
  } while (npuc_text_ok(t) && npuc_text_take(t, ','));
  npuc_text_expect(t, '>');
}

/* -- values -- */

static value *value_named(reader *r, const char *name) {
  value *v = npuc_graph_value(r->g, name);
  return v ? v : npuc_graph_add_value(r->g, name, DTYPE_NONE, NULL);
}

static bool is_defined(const value *v) { return v->producer || v->constant || v->is_input; }

typedef struct declaration {
  const char *name;
  bool typed;
  dtype type;
  shape shape;
} declaration;

/* type? name */
static declaration read_declaration(reader *r) {
  text_cursor *t = &r->t;
  declaration d = {.shape = SHAPE_UNKNOWN};
  bool quoted = npuc_text_peek(t) == '"';
  const char *word = npuc_text_name(t);
  if (!quoted && word && npuc_text_is_type(t, word)) {
    d.typed = true;
    npuc_text_type(t, r->m, word, &d.type, &d.shape);
    word = npuc_text_name(t);
  } else if (word && !quoted && npuc_text_peek(t) == '(') {
    npuc_text_fail(t, NPUC_DIAG_E0420, "values of type %s(...) are not read", word);
  }
  if (!word || !*word) npuc_text_fail(t, NPUC_DIAG_E0420, "expected a value's name");
  d.name = word ? word : "";
  return d;
}

static void declare(value *v, const declaration *d) {
  if (!d->typed) return;
  v->type = d->type;
  v->shape = d->shape;
}

static void define_constant(reader *r, const declaration *d) {
  const tensor *data = npuc_text_tensor_data(&r->t, d->type, &d->shape);
  if (!npuc_text_ok(&r->t)) return;
  value *v = value_named(r, d->name);
  if (is_defined(v)) {
    npuc_text_fail(&r->t, NPUC_DIAG_E0416, "the value \"%s\" is defined already", d->name);
    return;
  }
  v->constant = npuc_module_tensor(r->m, data, false);
  v->type = data->type;
  v->shape = data->shape;
}

/* An input with a default is a constant, as in files older than IR version 4. */
static void read_inputs(reader *r) {
  text_cursor *t = &r->t;
  npuc_text_expect(t, '(');
  if (npuc_text_take(t, ')')) return;
  do {
    declaration d = read_declaration(r);
    if (!npuc_text_ok(t)) return;
    if (npuc_text_take(t, '=')) {
      define_constant(r, &d);
    } else if (npuc_graph_value(r->g, d.name)) {
      npuc_text_fail(t, NPUC_DIAG_E0416, "two inputs are called \"%s\"", d.name);
    } else {
      npuc_graph_add_input(r->g, d.name, d.type, &d.shape);
    }
  } while (npuc_text_ok(t) && npuc_text_take(t, ','));
  npuc_text_expect(t, ')');
}

static void read_outputs(reader *r, text_list *outputs) {
  text_cursor *t = &r->t;
  npuc_text_expect(t, '(');
  if (npuc_text_take(t, ')')) return;
  do {
    declaration d = read_declaration(r);
    if (!npuc_text_ok(t)) return;
    value *v = value_named(r, d.name);
    if (!is_defined(v)) declare(v, &d);
    *(value **)npuc_text_append(t, outputs, sizeof v) = v;
  } while (npuc_text_ok(t) && npuc_text_take(t, ','));
  npuc_text_expect(t, ')');
}

static void read_value_list(reader *r) {
  text_cursor *t = &r->t;
  if (!npuc_text_take(t, '<') || npuc_text_take(t, '>')) return;
  do {
    declaration d = read_declaration(r);
    if (!npuc_text_ok(t)) return;
    if (npuc_text_take(t, '=')) {
      define_constant(r, &d);
    } else {
      value *v = value_named(r, d.name);
      if (!is_defined(v)) declare(v, &d);
    }
  } while (npuc_text_ok(t) && npuc_text_take(t, ','));
  npuc_text_expect(t, '>');
}

/* -- attributes -- */

/* Integers are taken where floats are wanted; an empty list has any kind. */
static bool set_attribute(reader *r, const attr_field *f, const text_attribute *at, void *field) {
  arena *a = r->m->arena;
  switch (f->kind) {
    case ATTR_INT:
      if (at->kind != TEXT_INT) return false;
      *(int64_t *)field = at->i;
      return true;
    case ATTR_FLOAT:
      if (at->kind != TEXT_FLOAT && at->kind != TEXT_INT) return false;
      *(float *)field = at->kind == TEXT_INT ? (float)at->i : at->f;
      return true;
    case ATTR_STRING:
      if (at->kind != TEXT_STRING) return false;
      *(const char **)field = npuc_intern(r->m->names, at->s);
      return true;
    case ATTR_INTS:
      if (at->count && at->kind != TEXT_INTS) return false;
      if (at->kind != TEXT_INTS && at->kind != TEXT_UNTYPED) return false;
      *(int_list *)field = (int_list){npuc_arena_copy(a, at->ints, at->count * sizeof(int64_t)), (int32_t)at->count};
      return true;
    case ATTR_FLOATS: {
      if (at->kind != TEXT_FLOATS && at->kind != TEXT_INTS && at->kind != TEXT_UNTYPED) return false;
      float *values = NPUC_NEW_ARRAY(a, at->count, float);
      for (size_t i = 0; i < at->count; i++) values[i] = at->kind == TEXT_INTS ? (float)at->ints[i] : at->floats[i];
      *(float_list *)field = (float_list){values, (int32_t)at->count};
      return true;
    }
    case ATTR_GRAPH: /* read_bodies */
      return at->kind == TEXT_GRAPH;
    case ATTR_TYPE:
      if (at->kind != TEXT_TYPE) return false;
      *(dtype *)field = at->type;
      return true;
    case ATTR_TENSOR:
      if (at->kind != TEXT_TENSOR) return false;
      *(const tensor **)field = at->t;
      return true;
    case ATTR_STRINGS: {
      if (at->kind != TEXT_STRINGS && at->kind != TEXT_UNTYPED) return false;
      const char **values = NPUC_NEW_ARRAY(a, at->count, const char *);
      for (size_t i = 0; i < at->count; i++) values[i] = npuc_intern(r->m->names, at->strings[i]);
      *(string_list *)field = (string_list){values, (int32_t)at->count};
      return true;
    }
  }
  return false;
}

/* Constant's other spellings: value_int, value_ints, value_float, value_floats. */
static const tensor *constant_of(reader *r, const text_attribute *at) {
  arena *a = r->m->arena;
  bool list = at->kind == TEXT_INTS || at->kind == TEXT_FLOATS, floats = at->kind == TEXT_FLOAT || at->kind == TEXT_FLOATS;
  const char *wanted = floats ? (list ? "value_floats" : "value_float") : list ? "value_ints" : "value_int";
  if (strcmp(at->name, wanted) != 0 || (!list && !floats && at->kind != TEXT_INT)) return NULL;
  size_t n = list ? at->count : 1;
  tensor *t = NPUC_NEW(a, tensor);
  *t = (tensor){.type = floats ? DTYPE_F32 : DTYPE_I64, .shape = list ? (shape){.rank = 1, .dims = {(int64_t)n}} : SHAPE_SCALAR};
  t->bytes = n * (floats ? sizeof(float) : sizeof(int64_t));
  const void *from = list ? (floats ? (const void *)at->floats : at->ints) : floats ? (const void *)&at->f : &at->i;
  t->data = npuc_arena_copy(a, from, t->bytes);
  return t;
}

static void fail_unknown_attribute(reader *r, const text_node *n, const op_def *op, const char *name) {
  const char **names = NPUC_NEW_ARRAY(r->t.a, (size_t)op->n_attributes, const char *);
  for (int32_t i = 0; i < op->n_attributes; i++) names[i] = op->attributes[i].name;
  const char *near = npuc_nearest(name, names, (size_t)op->n_attributes);
  fail_node(r, n, name, NPUC_DIAG_E0412, "%s has no such attribute%s%s", op->type, near ? "; the nearest is " : "", near ? near : "");
}

static void set_attributes(reader *r, const text_node *text, node *n) {
  const op_def *op = n->op;
  bool *seen = NPUC_NEW_ARRAY(r->t.a, (size_t)op->n_attributes, bool);
  for (size_t i = 0; i < text->n_attributes && npuc_text_ok(&r->t); i++) {
    text_attribute at = text->attributes[i];
    const tensor *constant = node_is(n, OP_CONSTANT) && strcmp(at.name, "value") != 0 ? constant_of(r, &at) : NULL;
    if (constant) at = (text_attribute){.name = "value", .kind = TEXT_TENSOR, .t = constant};
    const attr_field *f = npuc_op_attribute(op, at.name);
    if (!f) {
      fail_unknown_attribute(r, text, op, at.name);
    } else if (at.reference) {
      fail_node(r, text, at.name, NPUC_DIAG_E0412, "@%s has a meaning only inside a function", at.reference);
    } else if (seen[f - op->attributes]) {
      fail_node(r, text, at.name, NPUC_DIAG_E0412, "the attribute is given twice");
    } else if (!set_attribute(r, f, &at, (char *)n->attributes + f->offset)) {
      fail_node(r, text, at.name, NPUC_DIAG_E0412, "the attribute has a value of the wrong kind");
    } else {
      seen[f - op->attributes] = true;
    }
  }
  for (int32_t i = 0; i < op->n_attributes; i++) {
    if (op->attributes[i].required && !seen[i]) fail_node(r, text, op->attributes[i].name, NPUC_DIAG_E0412, "the attribute is required");
  }
}

/* -- bodies -- */

static void read_graph(reader *r, graph *g);

static void read_bodies(reader *r, const text_node *text, node *n) {
  text_list captures = {0};
  for (size_t i = 0; i < text->n_attributes && npuc_text_ok(&r->t); i++) {
    const text_attribute *at = &text->attributes[i];
    if (at->kind != TEXT_GRAPH || at->reference) continue;
    if (r->depth == MAX_DEPTH) fail_node(r, text, at->name, NPUC_DIAG_E0420, "graphs are nested more than %d deep", (int)MAX_DEPTH);
    if (!npuc_text_ok(&r->t)) return;
    reader inner = {.t = *at->graph, .m = r->m, .opset = r->opset, .outer = r, .captures = captures, .depth = r->depth + 1};
    graph *body = npuc_body_create(r->m, at->name);
    *(graph **)((char *)n->attributes + npuc_op_attribute(n->op, at->name)->offset) = body;
    read_graph(&inner, body);
    captures = inner.captures;
    r->t.status = inner.t.status;
  }
  const text_capture *c = captures.items;
  for (size_t i = 0; npuc_text_ok(&r->t) && i < captures.count; i++) npuc_body_capture(n, c[i].body, c[i].inner, c[i].outer);
}

/* -- nodes -- */

static const op_def *find_op(reader *r, const text_node *n) {
  const op_def *op = npuc_op_find(n->domain, n->type);
  if (!op) {
    const char *near = npuc_op_nearest(n->domain, n->type);
    fail_node(r, n, NULL, NPUC_DIAG_E0421, "unknown operator %s in domain \"%s\"%s%s", n->type, n->domain,
              near ? "; the nearest known is " : "", near ? near : "");
    return NULL;
  }
  if (!*op->domain && op->oldest_version > r->opset) {
    fail_node(r, n, NULL, NPUC_DIAG_E0421,
              "text is read with today's meaning: %s of opset %lld is another operator (it has this one's from %d on)", op->type,
              (long long)r->opset, (int)op->oldest_version);
    return NULL;
  }
  return op;
}

static void make_node(reader *r, const text_node *text) {
  const op_def *op = find_op(r, text);
  if (!op) return;
  value **inputs = NPUC_NEW_ARRAY(r->t.a, text->n_inputs, value *);
  value **outputs = NPUC_NEW_ARRAY(r->t.a, text->n_outputs, value *);
  for (size_t i = 0; i < text->n_inputs; i++) inputs[i] = *text->inputs[i] ? value_named(r, text->inputs[i]) : NULL;
  for (size_t i = 0; i < text->n_outputs; i++) {
    if (!*text->outputs[i]) continue;
    outputs[i] = value_named(r, text->outputs[i]);
    bool twice = is_defined(outputs[i]);
    for (size_t k = 0; k < i; k++) twice = twice || outputs[k] == outputs[i];
    if (twice) {
      fail_node(r, text, NULL, NPUC_DIAG_E0416, "the value \"%s\" is defined already", text->outputs[i]);
      return;
    }
  }
  if (text->label && npuc_graph_node(r->g, text->label)) {
    fail_node(r, text, NULL, NPUC_DIAG_E0416, "two nodes are labelled [%s]", text->label);
    return;
  }
  const char *name = text->label ? text->label : text->n_outputs ? text->outputs[0] : NULL;
  location *where = NPUC_NEW(r->m->arena, location);
  node *n =
      npuc_graph_insert_node_with_outputs(r->g, NULL, op, name, inputs, (int32_t)text->n_inputs, outputs, (int32_t)text->n_outputs, where);
  where->name = n->name;
  set_attributes(r, text, n);
  read_bodies(r, text, n);
}

static void fail_undefined(reader *r, const value *v) {
  const graph *g = r->g;
  const char **names = NPUC_NEW_ARRAY(r->t.a, npuc_map_count(g->values), const char *);
  size_t n = 0, cursor = 0;
  void *item;
  while (npuc_map_next(g->values, &cursor, NULL, &item)) {
    if (is_defined(item)) names[n++] = ((const value *)item)->name;
  }
  const char *near = npuc_nearest(v->name, names, n);
  diag_place place = {.file = r->t.file,
                      .part = g->name,
                      .node = v->n_uses ? v->uses[0].user->name : NULL,
                      .op = v->n_uses ? v->uses[0].user->op->type : NULL};
  r->t.status = npuc_fail(r->t.d, NPUC_DIAG_E0417, &place, "nothing defines the value \"%s\"%s%s", v->name,
                          near ? "; the nearest name is " : "", near ? near : "");
}

static void settle_values(reader *r) {
  size_t cursor = 0;
  void *item;
  while (npuc_text_ok(&r->t) && npuc_map_next(r->g->values, &cursor, NULL, &item)) {
    value *v = item;
    if (is_defined(v)) continue;
    if ((v->n_uses || v->is_output) && r->outer) {
      text_capture *c = npuc_text_append(&r->t, &r->captures, sizeof *c);
      *c = (text_capture){r->g, v, value_named(r->outer, v->name)};
    } else if (v->n_uses || v->is_output)
      fail_undefined(r, v);
    else
      npuc_graph_remove_value(r->g, v);
  }
}

/* g NULL: a part, made here. */
static void read_graph(reader *r, graph *g) {
  text_cursor *t = &r->t;
  const char *name = npuc_text_name(t);
  if (!name) npuc_text_fail(t, NPUC_DIAG_E0420, "expected the graph's name");
  if (!npuc_text_ok(t)) return;
  r->g = g ? g : npuc_graph_create(r->m, name);
  r->g->name = npuc_intern(r->m->names, name);
  text_list outputs = {0};
  read_inputs(r);
  npuc_text_expect(t, '=');
  npuc_text_expect(t, '>');
  read_outputs(r, &outputs);
  read_value_list(r);
  npuc_text_expect(t, '{');
  while (npuc_text_ok(t) && !npuc_text_take(t, '}')) {
    text_node n = npuc_text_node(t);
    if (npuc_text_ok(t)) make_node(r, &n);
  }
  if (!npuc_text_ok(t)) return;
  for (size_t i = 0; i < outputs.count; i++) npuc_graph_add_output(r->g, ((value **)outputs.items)[i]);
  settle_values(r);
  if (!npuc_text_ok(t)) return;
  const char *before = npuc_diag_set_file(t->d, t->file);
  t->status = npuc_graph_sort(t->d, r->g);
  (void)npuc_diag_set_file(t->d, before);
}

/* Functions bring the bodies of operators that the op table has anyway. */
static bool skip_function(reader *r) {
  text_cursor ahead = r->t;
  if (!npuc_text_take(&ahead, '<')) return false;
  const char *key = npuc_text_identifier(&ahead);
  if (!key || strcmp(key, "domain") != 0) return false;
  function_text ignored;
  while (npuc_text_ok(&r->t) && !npuc_text_take(&r->t, '>')) {
    (void)npuc_text_take(&r->t, '<');
    (void)npuc_text_take(&r->t, ',');
    (void)npuc_text_identifier(&r->t);
    npuc_text_expect(&r->t, ':');
    text_list opsets = {0};
    if (npuc_text_peek(&r->t) == '[')
      npuc_text_opsets(&r->t, &opsets);
    else
      (void)npuc_text_literal(&r->t);
  }
  npuc_text_function(&r->t, &ignored);
  return true;
}

npuc_status npuc_module_parse(diag *d, const char *name, const char *text, size_t n, module **out_module) {
  module *m = npuc_module_create();
  reader r = {.t = npuc_text_open(d, m->arena, name, text, n), .m = m};
  do {
    if (m->n_graphs && skip_function(&r)) continue;
    r.opset = NEWEST_OPSET;
    if (npuc_text_peek(&r.t) == '<') read_header(&r);
    if (npuc_text_ok(&r.t)) read_graph(&r, NULL);
  } while (npuc_text_ok(&r.t) && npuc_text_peek(&r.t));
  if (!npuc_text_ok(&r.t)) {
    npuc_module_destroy(m);
    return r.t.status;
  }
  m->source_path = npuc_arena_str(m->arena, name);
  *out_module = m;
  return NPUC_OK;
}
