/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar that models and functions share: types, tensors, attributes, nodes, functions, read into plain structs that know nothing of
 * the op table.
 *
 *   type      float | float[] (rank unknown) | float[N,3,?,"odd name"] | seq(type) | optional(type)
 *   tensor    type name? =? { element, ... }      16-bit and 8-bit floats: integers are bit patterns, 1.5 is a value
 *   attribute name (: kind)? = literal | [literal, ...] | tensor | graph | @parameter
 *   node      [label]? outputs = domain.Type <attributes>? (inputs) <attributes>?
 *   function  Name <parameter | attribute, ...>? (inputs) => (outputs) <value types>? { nodes } */
#include <assert.h>
#include <string.h>

#include "ir/text_read.h"
#include "tensor/minifloat.h"
#include "tensor/reference.h"

void *npuc_text_append(text_cursor *t, text_list *list, size_t element_bytes) {
  list->items = npuc_arena_grow(t->a, list->items, list->count, list->count + 1, element_bytes, &list->capacity);
  return (char *)list->items + element_bytes * list->count++;
}

/* -- types -- */

/* ONNX's text has "float" and "double"; the rest are our names. */
const char *npuc_text_dtype_name(dtype type) { return type == DTYPE_F32 ? "float" : type == DTYPE_F64 ? "double" : npuc_dtype_name(type); }

bool npuc_text_dtype(const char *name, dtype *out_type) {
  for (int i = 1; i < (int)DTYPE_END; i++) {
    if (strcmp(npuc_text_dtype_name((dtype)i), name) != 0) continue;
    *out_type = (dtype)i;
    return true;
  }
  return false;
}

static dim read_dim(text_cursor *t, module *m) {
  if (npuc_text_take(t, '?')) return DIM_UNKNOWN;
  const char *name = npuc_text_name(t);
  if (name) {
    if (m && *name) return npuc_module_symbol(m, name);
    npuc_text_fail(t, NPUC_DIAG_E0420, m ? "a dim has an empty name" : "a dim of a constant must be a number");
    return DIM_UNKNOWN;
  }
  int64_t d = npuc_text_int(t);
  if (d < 0) npuc_text_fail(t, NPUC_DIAG_E0420, "a dim is negative");
  return d;
}

bool npuc_text_is_type(text_cursor *t, const char *word) {
  dtype type;
  if (npuc_text_dtype(word, &type)) return true;
  return npuc_text_peek(t) == '(' && (strcmp(word, "seq") == 0 || strcmp(word, "optional") == 0);
}

/* seq(type) or optional(type), behind the word: no shape is kept of what lies inside. */
static void read_list_type(text_cursor *t, module *m, const char *word, dtype *out_type, shape *out_shape) {
  bool optional = strcmp(word, "optional") == 0;
  npuc_text_expect(t, '(');
  const char *inner = npuc_text_identifier(t);
  if (inner && npuc_text_peek(t) == '(' && (!optional || strcmp(inner, "seq") != 0))
    npuc_text_fail(t, NPUC_DIAG_E0420, "values of type %s(%s(...)) are not read", word, inner);
  if (npuc_text_ok(t)) npuc_text_type(t, m, inner, out_type, out_shape);
  npuc_text_expect(t, ')');
  *out_type = optional ? npuc_dtype_optional(*out_type) : npuc_dtype_sequence(*out_type);
  *out_shape = (shape){.rank = 1, .dims = {DIM_UNKNOWN}};
}

void npuc_text_type(text_cursor *t, module *m, const char *type_name, dtype *out_type, shape *out_shape) {
  *out_type = DTYPE_NONE;
  *out_shape = SHAPE_SCALAR;
  if (type_name && !npuc_text_dtype(type_name, out_type) && npuc_text_is_type(t, type_name)) {
    read_list_type(t, m, type_name, out_type, out_shape);
    return;
  }
  if (!type_name || !npuc_text_dtype(type_name, out_type)) {
    npuc_text_fail(t, NPUC_DIAG_E0420, "expected an element type, found %s", type_name ? type_name : "none");
    return;
  }
  if (!npuc_text_take(t, '[')) return;
  if (npuc_text_take(t, ']')) {
    out_shape->rank = -1;
    return;
  }
  do {
    if (out_shape->rank == MAX_RANK) {
      npuc_text_fail(t, NPUC_DIAG_E0420, "more than %d dims", (int)MAX_RANK);
      return;
    }
    out_shape->dims[out_shape->rank++] = read_dim(t, m);
  } while (npuc_text_ok(t) && npuc_text_take(t, ','));
  npuc_text_expect(t, ']');
}

/* -- tensors -- */

static void set_bits(tensor *data, int64_t index, uint64_t pattern) {
  unsigned bits = npuc_dtype_bits(data->type);
  if (bits == 16) {
    uint16_t half = (uint16_t)pattern;
    memcpy((char *)data->data + 2 * index, &half, sizeof half);
  } else {
    npuc_tensor_set(data, index, npuc_minifloat_decode(data->type, (uint32_t)pattern));
    if (bits == 8) ((uint8_t *)data->data)[index] = (uint8_t)pattern; /* NaN payloads too */
  }
}

static bool set_integer(tensor *data, int64_t index, const literal *l) {
  int64_t v, lo, hi;
  uint64_t u;
  if (data->type == DTYPE_U64) {
    if (!npuc_literal_unsigned(l, &u)) return false;
    memcpy((char *)data->data + 8 * index, &u, sizeof u);
    return true;
  }
  if (!npuc_literal_int(l, &v)) return false;
  if (npuc_dtype_range(data->type, &lo, &hi) && (v < lo || v > hi)) return false;
  if (data->type == DTYPE_BOOL && (v < 0 || v > 1)) return false;
  npuc_tensor_set_int(data, index, v);
  return true;
}

static bool set_element(text_cursor *t, tensor *data, int64_t index, const literal *l) {
  assert(data->data); /* it has elements */
  if (data->type == DTYPE_STRING) {
    text_span text = {l->text, strlen(l->text)};
    if (l->kind == LITERAL_STRING && text.n)
      npuc_reference_set(data, index, npuc_text_place(npuc_arena_alloc(t->a, npuc_text_bytes(text.n)), text));
    return l->kind == LITERAL_STRING;
  }
  if (l->kind == LITERAL_STRING || l->kind == LITERAL_NONE) return false;
  if (npuc_dtype_kind(data->type) != KIND_FLOAT) return set_integer(data, index, l);
  if (data->type == DTYPE_F32) {
    float f = npuc_literal_float(l);
    memcpy((char *)data->data + 4 * index, &f, sizeof f);
  } else if (data->type == DTYPE_F64) {
    npuc_tensor_set(data, index, npuc_literal_double(l));
  } else if (l->kind == LITERAL_INT) {
    uint64_t pattern;
    if (!npuc_literal_unsigned(l, &pattern) || pattern >> npuc_dtype_bits(data->type)) return false;
    set_bits(data, index, pattern);
  } else {
    npuc_tensor_set(data, index, npuc_literal_double(l));
  }
  return true;
}

/* An element takes at least one character, so no text can claim more memory than a multiple of its own length. */
static tensor *make_tensor(text_cursor *t, dtype type, const shape *s, int64_t *out_elements) {
  tensor *data = NPUC_NEW(t->a, tensor);
  *data = (tensor){.type = type, .shape = *s};
  if (npuc_dtype_kind(type) == KIND_COMPLEX || npuc_dtype_is_list(type)) {
    npuc_text_fail(t, NPUC_DIAG_E0402, "constants of type %s are not read", npuc_dtype_name(type));
  } else if (!npuc_shape_elements(s, out_elements) || !npuc_dtype_memory(type, *out_elements, &data->bytes)) {
    npuc_text_fail(t, NPUC_DIAG_E0420, "a constant needs a shape of numbers that can be addressed");
  } else if (*out_elements > t->end - t->next) {
    npuc_text_fail(t, NPUC_DIAG_E0420, "the constant wants %lld elements, and the text is shorter than that", (long long)*out_elements);
  } else if (data->bytes) {
    data->data = npuc_arena_alloc(t->a, data->bytes);
  }
  return data;
}

const tensor *npuc_text_tensor_data(text_cursor *t, dtype type, const shape *s) {
  int64_t n = 0, i = 0;
  if (npuc_text_peek(t) == '[') npuc_text_fail(t, NPUC_DIAG_E0420, "external data is not read from text");
  npuc_text_expect(t, '{');
  if (npuc_text_peek(t) == '.') npuc_text_fail(t, NPUC_DIAG_E0420, "the constant's elements were left out when the text was printed");
  tensor *data = make_tensor(t, type, s, &n);
  if (npuc_text_take(t, '}')) {
    if (n) npuc_text_fail(t, NPUC_DIAG_E0420, "the constant wants %lld elements, and has none", (long long)n);
    return data;
  }
  do {
    literal l = npuc_text_literal(t);
    if (npuc_text_ok(t) && i >= n) npuc_text_fail(t, NPUC_DIAG_E0420, "the constant has more than its %lld elements", (long long)n);
    if (npuc_text_ok(t) && !set_element(t, data, i++, &l)) npuc_text_fail(t, NPUC_DIAG_E0420, "%s is no %s", l.text, npuc_dtype_name(type));
  } while (npuc_text_ok(t) && npuc_text_take(t, ','));
  npuc_text_expect(t, '}');
  if (i < n) npuc_text_fail(t, NPUC_DIAG_E0420, "the constant has %lld of its %lld elements", (long long)i, (long long)n);
  return data;
}

/* -- attributes -- */

static text_kind kind_of_name(const char *name) {
  static const char *const names[] = {NULL, "int", "float", "string", "ints", "floats", "strings", "tensor", "graph", "type_proto"};
  for (int k = TEXT_INT; k <= (int)TEXT_TYPE; k++) {
    if (strcmp(names[k], name) == 0) return (text_kind)k;
  }
  return TEXT_UNTYPED;
}

static const tensor *read_tensor(text_cursor *t, const char *type_name) {
  dtype type;
  shape s;
  npuc_text_type(t, NULL, type_name, &type, &s);
  char c = npuc_text_peek(t);
  if (c != '{' && c != '=') (void)npuc_text_name(t); /* a tensor's name says nothing here */
  (void)npuc_text_take(t, '=');
  return npuc_text_ok(t) ? npuc_text_tensor_data(t, type, &s) : NULL;
}

static void read_list(text_cursor *t, text_attribute *at) {
  text_list literals = {0};
  if (!npuc_text_take(t, ']')) {
    do {
      *(literal *)npuc_text_append(t, &literals, sizeof(literal)) = npuc_text_literal(t);
    } while (npuc_text_ok(t) && npuc_text_take(t, ','));
    npuc_text_expect(t, ']');
  }
  if (!npuc_text_ok(t)) return;
  const literal *l = literals.items;
  at->count = literals.count;
  if (at->kind == TEXT_UNTYPED && at->count) {
    at->kind = l[0].kind == LITERAL_STRING ? TEXT_STRINGS : TEXT_INTS;
    for (size_t i = 0; i < at->count; i++) {
      if (l[i].kind == LITERAL_FLOAT) at->kind = TEXT_FLOATS;
    }
  }
  int64_t *ints = NPUC_NEW_ARRAY(t->a, at->count, int64_t);
  float *floats = NPUC_NEW_ARRAY(t->a, at->count, float);
  const char **strings = NPUC_NEW_ARRAY(t->a, at->count, const char *);
  for (size_t i = 0; i < at->count; i++) {
    bool is_string = l[i].kind == LITERAL_STRING;
    bool right = at->kind == TEXT_STRINGS ? is_string : at->kind == TEXT_FLOATS ? !is_string : npuc_literal_int(&l[i], &ints[i]);
    if (!right) npuc_text_fail(t, NPUC_DIAG_E0420, "element %zu of the attribute \"%s\" is of another kind", i, at->name);
    if (at->kind == TEXT_FLOATS && right) floats[i] = npuc_literal_float(&l[i]);
    strings[i] = l[i].text;
  }
  at->ints = ints;
  at->floats = floats;
  at->strings = strings;
}

/* Over everything from `open` to the `close` that belongs to it. */
static void skip_balanced(text_cursor *t, char open, char close) {
  npuc_text_expect(t, open);
  for (size_t depth = 1; depth && npuc_text_ok(t);) {
    char c = npuc_text_peek(t);
    if (c == 0) {
      npuc_text_fail(t, NPUC_DIAG_E0420, "the text ends before '%c'", close);
    } else if (c == '"') {
      (void)npuc_text_string(t);
    } else {
      depth += (size_t)(c == open) - (size_t)(c == close);
      t->next++;
    }
  }
}

/* name (inputs) => (outputs) <values>? { nodes }, behind the name. */
static void read_graph_attribute(text_cursor *t, const text_cursor *begin, text_attribute *at) {
  if (at->kind != TEXT_UNTYPED && at->kind != TEXT_GRAPH)
    npuc_text_fail(t, NPUC_DIAG_E0420, "the attribute \"%s\" is a graph and declared otherwise", at->name);
  at->kind = TEXT_GRAPH;
  at->graph = npuc_arena_copy(t->a, begin, sizeof *begin);
  skip_balanced(t, '(', ')');
  npuc_text_expect(t, '=');
  npuc_text_expect(t, '>');
  skip_balanced(t, '(', ')');
  if (npuc_text_peek(t) == '<') skip_balanced(t, '<', '>');
  skip_balanced(t, '{', '}');
}

static void read_type_attribute(text_cursor *t, text_attribute *at) {
  shape ignored;
  npuc_text_type(t, NULL, npuc_text_identifier(t), &at->type, &ignored);
}

static void read_single(text_cursor *t, text_attribute *at) {
  dtype type;
  char c = npuc_text_peek(t);
  const text_cursor begin = *t;
  const char *here = t->next;
  const char *word = c == '"' || c == '-' ? NULL : npuc_text_identifier(t);
  if (word && npuc_text_dtype(word, &type)) {
    at->kind = at->kind == TEXT_UNTYPED ? TEXT_TENSOR : at->kind;
    at->t = read_tensor(t, word);
    if (at->kind != TEXT_TENSOR) npuc_text_fail(t, NPUC_DIAG_E0420, "the attribute \"%s\" is a tensor and declared otherwise", at->name);
    return;
  }
  if (word && npuc_text_peek(t) == '(') {
    read_graph_attribute(t, &begin, at);
    return;
  }
  if (word) t->next = here; /* inf, nan, or nothing that is a value */
  literal l = npuc_text_literal(t);
  if (!npuc_text_ok(t)) return;
  if (l.kind == LITERAL_STRING && npuc_text_peek(t) == '(') {
    read_graph_attribute(t, &begin, at);
    return;
  }
  if (at->kind == TEXT_UNTYPED) at->kind = l.kind == LITERAL_STRING ? TEXT_STRING : l.kind == LITERAL_INT ? TEXT_INT : TEXT_FLOAT;
  bool right = false;
  switch (at->kind) {
    case TEXT_INT:
      right = npuc_literal_int(&l, &at->i);
      break;
    case TEXT_FLOAT:
      right = l.kind != LITERAL_STRING;
      if (right) at->f = npuc_literal_float(&l);
      break;
    case TEXT_STRING:
      right = l.kind == LITERAL_STRING;
      at->s = l.text;
      break;
    default:
      break;
  }
  if (!right) npuc_text_fail(t, NPUC_DIAG_E0420, "the attribute \"%s\" has a value of another kind than declared", at->name);
}

text_attribute npuc_text_attribute(text_cursor *t, const char *name) {
  text_attribute at = {.name = name, .line = t->line, .column = npuc_text_column(t)};
  if (npuc_text_take(t, ':')) {
    const char *kind = npuc_text_identifier(t);
    at.kind = kind ? kind_of_name(kind) : TEXT_UNTYPED;
    if (at.kind == TEXT_UNTYPED) npuc_text_fail(t, NPUC_DIAG_E0420, "attributes of kind \"%s\" are not read", kind ? kind : "");
  }
  npuc_text_expect(t, '=');
  if (npuc_text_take(t, '@')) {
    at.reference = npuc_text_identifier(t);
    if (!at.reference) npuc_text_fail(t, NPUC_DIAG_E0420, "expected the name of an attribute parameter after '@'");
  } else if (at.kind == TEXT_TYPE) {
    read_type_attribute(t, &at);
  } else if (npuc_text_take(t, '[')) {
    read_list(t, &at);
  } else {
    read_single(t, &at);
  }
  return at;
}

static void read_attributes(text_cursor *t, text_list *list) {
  npuc_text_expect(t, '<');
  if (npuc_text_take(t, '>')) return;
  do {
    const char *name = npuc_text_name(t);
    if (!name) npuc_text_fail(t, NPUC_DIAG_E0420, "expected an attribute's name");
    if (!npuc_text_ok(t)) return;
    text_attribute at = npuc_text_attribute(t, name);
    *(text_attribute *)npuc_text_append(t, list, sizeof at) = at;
  } while (npuc_text_ok(t) && npuc_text_take(t, ','));
  npuc_text_expect(t, '>');
}

/* -- nodes -- */

/* a, "", , "b/c": an omitted name is "" or nothing before a comma; a trailing comma says nothing. */
static void read_names(text_cursor *t, text_list *list) {
  for (;;) {
    const char *name = npuc_text_name(t);
    if (!name && npuc_text_peek(t) != ',') return;
    *(const char **)npuc_text_append(t, list, sizeof name) = name ? name : "";
    if (!npuc_text_take(t, ',')) return;
  }
}

/* domain.with.dots.Type */
static void read_operator(text_cursor *t, text_node *n) {
  const char *word = npuc_text_identifier(t);
  if (!word) npuc_text_fail(t, NPUC_DIAG_E0420, "expected an operator");
  n->domain = "";
  while (word && npuc_text_take(t, '.')) {
    n->domain = *n->domain ? npuc_arena_printf(t->a, "%s.%s", n->domain, word) : word;
    word = npuc_text_identifier(t);
    if (!word) npuc_text_fail(t, NPUC_DIAG_E0420, "expected an operator after '.'");
  }
  n->type = word ? word : "";
  if (npuc_text_peek(t) == ':') npuc_text_fail(t, NPUC_DIAG_E0420, "overloads of operators are not read");
}

text_node npuc_text_node(text_cursor *t) {
  (void)npuc_text_peek(t);
  text_node n = {.line = t->line, .column = npuc_text_column(t)};
  text_list inputs = {0}, outputs = {0}, attributes = {0};
  if (npuc_text_take(t, '[')) {
    n.label = npuc_text_name(t);
    npuc_text_expect(t, ']');
  }
  read_names(t, &outputs);
  npuc_text_expect(t, '=');
  read_operator(t, &n);
  if (npuc_text_peek(t) == '<') read_attributes(t, &attributes);
  npuc_text_expect(t, '(');
  read_names(t, &inputs);
  npuc_text_expect(t, ')');
  if (npuc_text_peek(t) == '<') read_attributes(t, &attributes);
  n.inputs = inputs.items;
  n.n_inputs = inputs.count;
  n.outputs = outputs.items;
  n.n_outputs = outputs.count;
  n.attributes = attributes.items;
  n.n_attributes = attributes.count;
  return n;
}

/* -- functions -- */

void npuc_text_opsets(text_cursor *t, text_list *out_opsets) {
  npuc_text_expect(t, '[');
  if (npuc_text_take(t, ']')) return;
  do {
    text_opset o = {.domain = npuc_text_string(t)};
    npuc_text_expect(t, ':');
    o.version = npuc_text_int(t);
    *(text_opset *)npuc_text_append(t, out_opsets, sizeof o) = o;
  } while (npuc_text_ok(t) && npuc_text_take(t, ','));
  npuc_text_expect(t, ']');
}

static void read_parameters(text_cursor *t, text_list *names, text_list *defaults) {
  if (!npuc_text_take(t, '<') || npuc_text_take(t, '>')) return;
  do {
    const char *name = npuc_text_name(t);
    if (!name) npuc_text_fail(t, NPUC_DIAG_E0420, "expected an attribute parameter");
    if (!npuc_text_ok(t)) return;
    char c = npuc_text_peek(t);
    if (c == ':' || c == '=') {
      text_attribute at = npuc_text_attribute(t, name);
      *(text_attribute *)npuc_text_append(t, defaults, sizeof at) = at;
    } else {
      *(const char **)npuc_text_append(t, names, sizeof name) = name;
    }
  } while (npuc_text_ok(t) && npuc_text_take(t, ','));
  npuc_text_expect(t, '>');
}

/* A port is a name, or a type and a name; types of a function's values are read over. */
static const char *read_port(text_cursor *t) {
  dtype type;
  shape s;
  if (npuc_text_peek(t) == '"') return npuc_text_string(t);
  const char *word = npuc_text_identifier(t);
  if (!word) npuc_text_fail(t, NPUC_DIAG_E0420, "expected a name");
  if (!word || !npuc_text_dtype(word, &type)) return word ? word : "";
  char c = npuc_text_peek(t);
  if (c == ',' || c == ')') return word; /* a value that is called like a type */
  npuc_text_type(t, NULL, word, &type, &s);
  const char *name = npuc_text_name(t);
  if (!name) npuc_text_fail(t, NPUC_DIAG_E0420, "expected a name after the type");
  return name ? name : "";
}

static void read_ports(text_cursor *t, char open, char close, text_list *list) {
  npuc_text_expect(t, open);
  if (npuc_text_take(t, close)) return;
  do {
    const char *name = read_port(t);
    *(const char **)npuc_text_append(t, list, sizeof name) = name;
  } while (npuc_text_ok(t) && npuc_text_take(t, ','));
  npuc_text_expect(t, close);
}

void npuc_text_function(text_cursor *t, function_text *out_function) {
  text_list parameters = {0}, defaults = {0}, inputs = {0}, outputs = {0}, nodes = {0}, ignored = {0};
  const char *name = npuc_text_name(t);
  if (!name) npuc_text_fail(t, NPUC_DIAG_E0420, "expected the function's name");
  read_parameters(t, &parameters, &defaults);
  read_ports(t, '(', ')', &inputs);
  npuc_text_expect(t, '=');
  npuc_text_expect(t, '>');
  read_ports(t, '(', ')', &outputs);
  if (npuc_text_peek(t) == '<') read_ports(t, '<', '>', &ignored);
  npuc_text_expect(t, '{');
  while (npuc_text_ok(t) && !npuc_text_take(t, '}')) {
    text_node n = npuc_text_node(t);
    *(text_node *)npuc_text_append(t, &nodes, sizeof n) = n;
  }
  out_function->name = name;
  out_function->parameters = parameters.items;
  out_function->n_parameters = parameters.count;
  out_function->defaults = defaults.items;
  out_function->n_defaults = defaults.count;
  out_function->inputs = inputs.items;
  out_function->n_inputs = inputs.count;
  out_function->outputs = outputs.items;
  out_function->n_outputs = outputs.count;
  out_function->nodes = nodes.items;
  out_function->n_nodes = nodes.count;
}

static void read_function_header(text_cursor *t, function_text *f) {
  text_list opsets = {0};
  npuc_text_expect(t, '<');
  do {
    const char *key = npuc_text_identifier(t);
    npuc_text_expect(t, ':');
    if (key && strcmp(key, "domain") == 0)
      f->domain = npuc_text_string(t);
    else if (key && strcmp(key, "opset_import") == 0)
      npuc_text_opsets(t, &opsets);
    else
      (void)npuc_text_literal(t);
  } while (npuc_text_ok(t) && npuc_text_take(t, ','));
  npuc_text_expect(t, '>');
  f->opsets = opsets.items;
  f->n_opsets = opsets.count;
}

npuc_status npuc_function_parse(diag *d, arena *a, const char *name, const char *text, function_text *out_function) {
  text_cursor t = npuc_text_open(d, a, name, text, strlen(text));
  function_text f = {.domain = ""};
  if (npuc_text_peek(&t) == '<') read_function_header(&t, &f);
  npuc_text_function(&t, &f);
  if (npuc_text_ok(&t) && npuc_text_peek(&t)) npuc_text_fail(&t, NPUC_DIAG_E0420, "text after the function's end");
  if (npuc_text_ok(&t)) *out_function = f;
  return t.status;
}
