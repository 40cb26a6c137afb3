/* SPDX-License-Identifier: Apache-2.0 */
/* A module as ONNX text. Every number is written so that reading gives the same bits: floats by the fewest of 6 to 9 digits (double 15 to
 * 17) that read back equal, smaller floats by their bit patterns (as onnx.printer does). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/name_scope.h"
#include "ir/op.h"
#include "ir/text_read.h"
#include "tensor/reference.h"

typedef struct writer {
  char *bytes;
  size_t n, capacity;
  text_options options;
  arena *scratch;          /* names in bodies */
  const name_scope *names; /* of the graph being written */
  int depth;
} writer;

static void put_bytes(writer *w, const char *text, size_t n) {
  if (w->n + n + 1 > w->capacity) {
    w->capacity = 2 * (w->n + n + 1) + 256;
    w->bytes = npuc_xrealloc(w->bytes, w->capacity);
  }
  memcpy(w->bytes + w->n, text, n);
  w->n += n;
  w->bytes[w->n] = 0;
}

static void put(writer *w, const char *text) { put_bytes(w, text, strlen(text)); }

static void put_int(writer *w, int64_t v) {
  char text[24];
  int n = snprintf(text, sizeof text, "%lld", (long long)v);
  put_bytes(w, text, (size_t)n);
}

static void put_unsigned(writer *w, uint64_t v) {
  char text[24];
  int n = snprintf(text, sizeof text, "%llu", (unsigned long long)v);
  put_bytes(w, text, (size_t)n);
}

static void put_quoted_span(writer *w, const char *text, size_t n) {
  put(w, "\"");
  for (size_t i = 0; i < n; i++) {
    if (text[i] == '"' || text[i] == '\\') put(w, "\\");
    put_bytes(w, &text[i], 1);
  }
  put(w, "\"");
}

static void put_quoted(writer *w, const char *text) { put_quoted_span(w, text, strlen(text)); }

static bool is_identifier(const char *s) {
  bool letters = false;
  for (const char *p = s; *p; p++) {
    bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_';
    if (!letter && (p == s || *p < '0' || *p > '9')) return false;
    letters = true;
  }
  return letters;
}

/* A name that is also a type's would be read as the type. */
static void put_name(writer *w, const char *name) {
  dtype type;
  if (is_identifier(name) && !npuc_text_dtype(name, &type))
    put(w, name);
  else
    put_quoted(w, name);
}

/* -- numbers -- */

/* The locale's decimal point, whatever it is, becomes a point; a whole number gets one, so that it is read as a float. */
static void put_decimal(writer *w, const char *digits) {
  bool whole = true, foreign = false;
  for (const char *p = digits; *p; p++) {
    bool known = (*p >= '0' && *p <= '9') || *p == '-' || *p == '+' || *p == 'e';
    if (known) {
      if (*p == 'e') whole = false;
      put_bytes(w, p, 1);
      foreign = false;
    } else {
      if (!foreign) put(w, ".");
      foreign = true;
      whole = false;
    }
  }
  if (whole) put(w, ".0");
}

static bool put_special(writer *w, double x) {
  if (isnan(x))
    put(w, signbit(x) ? "-nan" : "nan");
  else if (isinf(x))
    put(w, x < 0 ? "-inf" : "inf");
  else
    return false;
  return true;
}

static void put_float(writer *w, float x) {
  char text[64];
  if (put_special(w, (double)x)) return;
  for (int digits = 6; digits <= 9; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, (double)x);
    if (strtof(text, NULL) == x) break;
  }
  put_decimal(w, text);
}

static void put_double(writer *w, double x) {
  char text[64];
  if (put_special(w, x)) return;
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, x);
    if (strtod(text, NULL) == x) break;
  }
  put_decimal(w, text);
}

static void put_element(writer *w, const tensor *t, int64_t i) {
  const char *bytes = t->data;
  if (t->type == DTYPE_STRING) {
    text_span text = npuc_tensor_text(t, i);
    put_quoted_span(w, text.bytes, text.n);
  } else if (t->type == DTYPE_F32) {
    put_float(w, (float)npuc_tensor_get(t, i));
  } else if (t->type == DTYPE_F64) {
    put_double(w, npuc_tensor_get(t, i));
  } else if (t->type == DTYPE_U64) {
    uint64_t v;
    memcpy(&v, bytes + 8 * i, sizeof v);
    put_unsigned(w, v);
  } else if (npuc_dtype_kind(t->type) == KIND_FLOAT) {
    uint64_t pattern = 0;
    unsigned bits = npuc_dtype_bits(t->type);
    if (bits == 4)
      pattern = (unsigned char)bytes[i / 2] >> (i % 2 * 4) & 15;
    else
      memcpy(&pattern, bytes + i * (bits / 8), bits / 8);
    put_unsigned(w, pattern);
  } else {
    put_int(w, npuc_tensor_get_int(t, i));
  }
}

/* -- types and tensors -- */

/* float[2,N]; float[] where the rank is not known. Of what a sequence holds, no shape is known. */
static void put_type(writer *w, const module *m, dtype type, const shape *s) {
  if (npuc_dtype_is_list(type)) {
    put(w, npuc_dtype_is_optional(type) ? "optional(" : "seq(");
    put_type(w, m, npuc_dtype_item(type), &SHAPE_UNKNOWN);
    put(w, ")");
    return;
  }
  put(w, npuc_text_dtype_name(type));
  if (s->rank == 0) return;
  put(w, "[");
  for (int32_t i = 0; i < s->rank; i++) {
    if (i) put(w, ",");
    if (dim_is_number(s->dims[i]))
      put_int(w, s->dims[i]);
    else if (dim_is_symbol(s->dims[i]) && m)
      put_name(w, npuc_module_symbol_name(m, s->dims[i]));
    else
      put(w, "?");
  }
  put(w, "]");
}

static int64_t most_elements(const writer *w) {
  return w->options.max_elements == 0 ? 16 : w->options.max_elements < 0 ? INT64_MAX : w->options.max_elements;
}

/* The syntax has no way to write a byte of value 0. */
static bool is_printable(const tensor *t) {
  for (int64_t i = 0; t->type == DTYPE_STRING && i < npuc_tensor_elements(t); i++) {
    text_span text = npuc_tensor_text(t, i);
    if (memchr(text.bytes, 0, text.n)) return false;
  }
  return true;
}

static void put_tensor_data(writer *w, const tensor *t) {
  int64_t n = npuc_tensor_elements(t);
  if (n > most_elements(w) || !is_printable(t)) {
    put(w, "{...}");
    return;
  }
  put(w, "{");
  for (int64_t i = 0; i < n; i++) {
    if (i) put(w, ", ");
    put_element(w, t, i);
  }
  put(w, "}");
}

static void put_value(writer *w, const value *v) { put_name(w, npuc_name_in(w->names, v)); }

static void put_declaration(writer *w, const module *m, const value *v) {
  if (v->type != DTYPE_NONE) {
    put_type(w, m, v->type, &v->shape);
    put(w, " ");
  }
  put_value(w, v);
}

/* -- attributes -- */

static bool is_default(const attr_field *f, const void *at) {
  if (f->required) return false;
  switch (f->kind) {
    case ATTR_INT:
      return *(const int64_t *)at == f->default_int;
    case ATTR_FLOAT:
      return memcmp(at, &f->default_float, sizeof(float)) == 0;
    case ATTR_STRING: {
      const char *s = *(const char *const *)at;
      return s == f->default_string || (s && f->default_string && strcmp(s, f->default_string) == 0) || !s;
    }
    case ATTR_INTS:
      return ((const int_list *)at)->count == 0;
    case ATTR_FLOATS:
      return ((const float_list *)at)->count == 0;
    case ATTR_TENSOR:
      return *(const tensor *const *)at == NULL;
    case ATTR_GRAPH:
      return *(graph *const *)at == NULL;
    case ATTR_TYPE:
      return *(const dtype *)at == DTYPE_NONE;
    case ATTR_STRINGS:
      return ((const string_list *)at)->count == 0;
  }
  return true;
}

static void put_graph(writer *w, const graph *g);

static void put_body(writer *w, const node *n, const graph *body) {
  const name_scope *outer = w->names;
  name_scope inner = npuc_name_scope_body(w->scratch, outer, n, body);
  put(w, " = ");
  w->names = &inner;
  w->depth++;
  put_graph(w, body);
  w->depth--;
  w->names = outer;
}

static void put_attribute(writer *w, const node *n, const attr_field *f, const void *at) {
  put(w, f->name);
  switch (f->kind) {
    case ATTR_INT:
      put(w, " = ");
      put_int(w, *(const int64_t *)at);
      break;
    case ATTR_FLOAT:
      put(w, " = ");
      put_float(w, *(const float *)at);
      break;
    case ATTR_STRING:
      put(w, " = ");
      put_quoted(w, *(const char *const *)at ? *(const char *const *)at : "");
      break;
    case ATTR_INTS: {
      const int_list *l = at;
      put(w, l->count ? " = [" : ": ints = [");
      for (int32_t i = 0; i < l->count; i++) {
        if (i) put(w, ", ");
        put_int(w, l->values[i]);
      }
      put(w, "]");
      break;
    }
    case ATTR_FLOATS: {
      const float_list *l = at;
      put(w, l->count ? " = [" : ": floats = [");
      for (int32_t i = 0; i < l->count; i++) {
        if (i) put(w, ", ");
        put_float(w, l->values[i]);
      }
      put(w, "]");
      break;
    }
    case ATTR_STRINGS: {
      const string_list *l = at;
      put(w, l->count ? " = [" : ": strings = [");
      for (int32_t i = 0; i < l->count; i++) {
        if (i) put(w, ", ");
        put_quoted(w, l->values[i]);
      }
      put(w, "]");
      break;
    }
    case ATTR_TYPE:
      put(w, ": type_proto = ");
      put_type(w, NULL, *(const dtype *)at, &SHAPE_UNKNOWN);
      break;
    case ATTR_GRAPH:
      put_body(w, n, *(graph *const *)at);
      break;
    case ATTR_TENSOR: {
      const tensor *t = *(const tensor *const *)at;
      put(w, " = ");
      if (!t) break;
      put_type(w, NULL, t->type, &t->shape);
      put(w, " ");
      put_tensor_data(w, t);
      break;
    }
  }
}

static void put_attributes(writer *w, const node *n) {
  const char *separator = " <";
  for (int32_t i = 0; n->attributes && i < n->op->n_attributes; i++) {
    const attr_field *f = &n->op->attributes[i];
    const void *at = (const char *)n->attributes + f->offset;
    if (is_default(f, at)) continue;
    put(w, separator);
    put_attribute(w, n, f, at);
    separator = ", ";
  }
  if (separator[0] == ',') put(w, ">");
}

/* -- nodes -- */

static void put_values(writer *w, value *const *values, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    if (i) put(w, ", ");
    if (values[i])
      put_value(w, values[i]);
    else
      put(w, "\"\"");
  }
}

/* Comments end with the line, so a name's own line ends become blanks. */
static void put_comment_text(writer *w, const char *text) {
  for (; *text; text++) put_bytes(w, *text == '\n' || *text == '\r' ? " " : text, 1);
}

static void put_quant(writer *w, const quant *q) {
  put(w, " scale ");
  if (q->axis >= 0) {
    put(w, "[");
    put_int(w, npuc_tensor_elements(&q->scale));
    put(w, "] axis ");
    put_int(w, q->axis);
    return;
  }
  put_float(w, (float)npuc_tensor_get(&q->scale, 0));
  put(w, " zero ");
  put_int(w, npuc_tensor_get_int(&q->zero_point, 0));
}

static void put_type_comment(writer *w, const node *n) {
  for (int32_t i = 0; i < n->n_outputs; i++) {
    const value *v = n->outputs[i];
    put(w, i ? ", " : "  # ");
    if (!v) continue;
    put_type(w, n->owner->module, v->type, &v->shape);
    if (v->quant) put_quant(w, v->quant);
  }
}

static void put_location_comment(writer *w, const node *n) {
  const location *l = n->location;
  if (l && l->name) {
    put(w, "  # from ");
    put_comment_text(w, l->name);
    for (size_t i = 0; i < l->n_derived; i++) {
      put(w, " + ");
      put_comment_text(w, l->derived[i]);
    }
  }
  if (!n->place) return;
  put(w, "  # on ");
  put_comment_text(w, n->place);
  if (!n->place_reason) return;
  put(w, ": ");
  put_comment_text(w, n->place_reason);
}

static void put_indent(writer *w) {
  for (int i = 0; i < w->depth; i++) put(w, "   ");
}

static void put_node(writer *w, const node *n) {
  put_indent(w);
  put(w, "   ");
  bool named_by_output = n->n_outputs && n->outputs[0] && strcmp(n->name, n->outputs[0]->name) == 0;
  if (!named_by_output) {
    put(w, "[");
    put_name(w, n->name);
    put(w, "] ");
  }
  put_values(w, n->outputs, n->n_outputs);
  put(w, " = ");
  if (*n->op->domain) {
    put(w, n->op->domain);
    put(w, ".");
  }
  put(w, n->op->type);
  put_attributes(w, n);
  put(w, " (");
  put_values(w, n->inputs, n->n_inputs - npuc_node_captures(n));
  put(w, ")");
  if (w->options.types) put_type_comment(w, n);
  if (w->options.locations) put_location_comment(w, n);
  put(w, "\n");
}

/* -- graphs and modules -- */

static void put_ports(writer *w, const module *m, value *const *values, size_t n) {
  put(w, "(");
  for (size_t i = 0; i < n; i++) {
    if (i) put(w, ", ");
    put_declaration(w, m, values[i]);
  }
  put(w, ")");
}

static void put_constants(writer *w, const graph *g) {
  const char *separator = "<";
  const char *comment = "";
  char text[64];
  size_t cursor = 0;
  void *item;
  while (npuc_map_next(g->values, &cursor, NULL, &item)) {
    const value *v = item;
    if (!v->constant) continue;
    put(w, separator); /* the comma before the comment on what stands before it */
    put(w, comment);
    put(w, *separator == ',' ? "\n " : "");
    put_declaration(w, g->module, v);
    put(w, " = ");
    put_tensor_data(w, v->constant);
    comment = "";
    if (npuc_tensor_elements(v->constant) > most_elements(w)) {
      snprintf(text, sizeof text, "  # %zu bytes", v->constant->bytes);
      comment = text;
    }
    separator = ",";
  }
  if (*separator == '<') return;
  put(w, comment);
  put(w, *comment ? "\n>\n" : ">\n");
}

static void put_graph(writer *w, const graph *g) {
  put_name(w, g->name);
  put(w, " ");
  put_ports(w, g->module, g->inputs, g->n_inputs - (size_t)g->n_captures);
  put(w, " => ");
  put_ports(w, g->module, g->outputs, g->n_outputs);
  put(w, "\n");
  put_constants(w, g);
  put_indent(w);
  put(w, "{\n");
  NPUC_EACH_NODE(g, n) put_node(w, n);
  put_indent(w);
  put(w, w->depth ? "}" : "}\n");
}

static void put_metadata(writer *w, const module *m) {
  const char *separator = ", metadata_props: [", *key;
  size_t cursor = 0;
  void *text;
  while (npuc_map_next(m->metadata, &cursor, &key, &text)) {
    put(w, separator);
    put_quoted(w, key);
    put(w, ": ");
    put_quoted(w, text);
    separator = ", ";
  }
  if (npuc_map_count(m->metadata)) put(w, "]");
}

/* A part: its values keep their names. */
static void put_part(writer *w, const graph *g) {
  name_scope names = npuc_name_scope(g);
  w->names = &names;
  put_graph(w, g);
  w->names = NULL;
}

static void put_header(writer *w, const module *m, const graph *g, bool first) {
  bool ours = false;
  NPUC_EACH_NODE(g, n) ours = ours || strcmp(n->op->domain, "npuc") == 0;
  put(w, "<ir_version: 10, opset_import: [\"\" : 28");
  if (ours) put(w, ", \"npuc\" : 1");
  put(w, "]");
  if (first && m->producer) {
    put(w, ", producer_name: ");
    put_quoted(w, m->producer);
  }
  if (first) put_metadata(w, m);
  put(w, ">\n");
}

static char *finish(writer *w, arena *a) {
  char *text = npuc_arena_strn(a, w->bytes ? w->bytes : "", w->n);
  free(w->bytes);
  return text;
}

static writer open_writer(const text_options *options) {
  writer w = {0};
  if (options) w.options = *options;
  return w;
}

char *npuc_module_print(arena *a, const module *m, const text_options *options) {
  writer w = open_writer(options);
  w.scratch = a;
  for (size_t i = 0; i < m->n_graphs; i++) {
    put_header(&w, m, m->graphs[i], i == 0);
    put_part(&w, m->graphs[i]);
  }
  return finish(&w, a);
}

char *npuc_graph_print(arena *a, const graph *g, const text_options *options) {
  writer w = open_writer(options);
  w.scratch = a;
  put_part(&w, g);
  return finish(&w, a);
}

char *npuc_type_print(arena *a, const module *m, dtype type, const shape *s) {
  writer w = {0};
  put_type(&w, m, type, s);
  return finish(&w, a);
}
