/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of other domains become operators of the default domain as they are read: the table (foreign_forms.c) has for each form of an operator a function in ONNX text,
 * which is inlined like a function of the file itself (function.c), so that nothing behind the reader knows of them. A form that the table does not have is
 * refused by name; it is never read as another. */
#include "import/onnx/foreign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/onnx/source.h"
#include "ir/internal.h"

/* -- which form -- */

static bool attribute_is(const onnx_attribute *a, const char *text) {
  char number[32];
  if (a->type == ONNX_STRING) return strcmp(a->s, text) == 0;
  (void)snprintf(number, sizeof number, "%lld", (long long)a->i);
  return a->type == ONNX_INT && strcmp(number, text) == 0;
}

static bool has_input(const onnx_node *n, long i) { return i < n->n_inputs && n->inputs[i]; }

/* Types of what nodes make are inferred as far as nodes have been read: files list them in order. */
static bool input_is(onnx_source *s, const onnx_node *n, long i, const char *name) {
  dtype wanted = DTYPE_NONE;
  if (!has_input(n, i) || !npuc_dtype_parse(name, &wanted)) return false;
  value *v = n->inputs[i];
  if (v->type == DTYPE_NONE && !s->scope->parent && npuc_graph_infer(NULL, s->g) != NPUC_OK) return false;
  return v->type == wanted;
}

/* One condition, which may be written into. */
static bool holds(onnx_source *s, const onnx_node *n, char *condition) {
  bool absent = *condition == '!';
  char *end, *equals = strchr(condition, '='), *colon = strchr(condition, ':'), *last = condition + strlen(condition) - 1;
  if (colon) return input_is(s, n, strtol(condition, NULL, 10), colon + 1);
  long index = strtol(condition + absent, &end, 10);
  if (end != condition + absent && !*end) return has_input(n, index) != absent;
  if (!equals) {
    bool given = *last == '*';
    *last = '\0'; /* name! or name* */
    return (npuc_onnx_attribute(n, condition) != NULL) == given;
  }
  *equals = '\0';
  bool optional = *last == '?';
  if (optional) *last = '\0';
  const onnx_attribute *a = npuc_onnx_attribute(n, condition);
  return a ? attribute_is(a, equals + 1) : optional;
}

static bool suits(onnx_source *s, const onnx_node *n, const foreign_form *form) {
  char *rest = NULL, *text = npuc_arena_str(s->scratch, form->when);
  for (char *c = strtok_r(text, " ", &rest); c; c = strtok_r(NULL, " ", &rest)) {
    if (!holds(s, n, c)) return false;
  }
  return true;
}

/* QONNX's operators have had three homes. */
static const char *home_of(const onnx_node *n) {
  static const char *const qonnx[] = {"onnx.brevitas", "finn.custom_op.general", "qonnx.custom_op.general"};
  for (size_t i = 0; i < sizeof qonnx / sizeof *qonnx; i++) {
    if (strcmp(n->domain, qonnx[i]) == 0) return "qonnx";
  }
  return n->domain;
}

npuc_status npuc_onnx_foreign(onnx_source *s, const onnx_node *n, onnx_function **out_function) {
  const char *domain = home_of(n);
  bool known = false;
  *out_function = NULL;
  for (size_t i = 0; i < npuc_foreign_count; i++) {
    const foreign_form *form = &npuc_foreign_forms[i];
    if (strcmp(form->type, n->type) != 0 || strcmp(form->domain, domain) != 0) continue;
    known = true;
    if (!suits(s, n, form)) continue;
    const char *key = npuc_arena_printf(s->scratch, "\n%zu", i); /* no function of a file begins so */
    *out_function = npuc_map_get(s->functions, key);
    if (*out_function) return NPUC_OK;
    function_text *text = NPUC_NEW(s->scratch, function_text);
    NPUC_TRY(npuc_function_parse(s->d, s->scratch, form->type, form->body, text));
    onnx_function *f = NPUC_NEW(s->scratch, onnx_function);
    *f = (onnx_function){.name = form->type, .domain = n->domain, .overload = "", .text = text, .opset = ONNX_NEWEST_OPSET};
    npuc_map_put(s->functions, key, f);
    *out_function = f;
    return NPUC_OK;
  }
  if (!known) return NPUC_OK;
  return npuc_onnx_fail(s, n, NPUC_DIAG_E0443, NULL,
                        "%s of domain %s with these inputs and attributes has no meaning in npuc (docs/foreign-operators.md)", n->type,
                        n->domain[0] ? n->domain : "ai.onnx");
}

/* -- its text as a record -- */

static const char **names_of(onnx_source *s, const char *const *texts, size_t n) {
  const char **names = NPUC_NEW_ARRAY(s->scratch, n, const char *);
  for (size_t i = 0; i < n; i++) names[i] = npuc_intern(s->m->names, texts[i]);
  return names;
}

static onnx_attribute literal_of(onnx_source *s, const text_attribute *t) {
  onnx_attribute a = {.name = npuc_intern(s->m->names, t->name), .s = ""};
  switch (t->kind) {
    case TEXT_INT:
      a.type = ONNX_INT;
      a.i = t->i;
      break;
    case TEXT_FLOAT:
      a.type = ONNX_FLOAT;
      a.f = t->f;
      break;
    case TEXT_STRING:
      a.type = ONNX_STRING;
      a.s = npuc_intern(s->m->names, t->s);
      break;
    case TEXT_TENSOR:
      a.type = ONNX_TENSOR;
      a.t = npuc_module_tensor(s->m, t->t, true);
      break;
    case TEXT_FLOATS:
      a.type = ONNX_FLOATS;
      a.floats = (float_list){npuc_arena_copy(s->scratch, t->floats, t->count * sizeof(float)), (int32_t)t->count};
      break;
    case TEXT_STRINGS:
      a.type = ONNX_STRINGS;
      a.strings = (string_list){names_of(s, t->strings, t->count), (int32_t)t->count};
      break;
    case TEXT_GRAPH: /* no form has one; refused as a graph without a scope */
      a.type = ONNX_GRAPH;
      break;
    case TEXT_TYPE:
      a.type = ONNX_TYPE_PROTO;
      a.value_type = t->type;
      break;
    case TEXT_INTS:
    case TEXT_UNTYPED:
      a.type = ONNX_INTS;
      a.ints = (int_list){npuc_arena_copy(s->scratch, t->ints, t->count * sizeof(int64_t)), (int32_t)t->count};
      break;
  }
  return a;
}

void npuc_onnx_foreign_ports(onnx_source *s, onnx_function *f) {
  const function_text *t = f->text;
  f->inputs = names_of(s, t->inputs, f->n_inputs = t->n_inputs);
  f->outputs = names_of(s, t->outputs, f->n_outputs = t->n_outputs);
  f->parameters = names_of(s, t->parameters, f->n_parameters = t->n_parameters);
  f->defaults = NPUC_NEW_ARRAY(s->scratch, t->n_defaults, onnx_attribute);
  f->n_nodes = t->n_nodes;
  for (; f->n_defaults < t->n_defaults; f->n_defaults++) f->defaults[f->n_defaults] = literal_of(s, &t->defaults[f->n_defaults]);
}

npuc_status npuc_onnx_foreign_node(onnx_source *s, const text_node *t, onnx_node **out_node) {
  onnx_node *n = NPUC_NEW(s->scratch, onnx_node);
  *n = (onnx_node){.type = npuc_intern(s->m->names, t->type), .domain = npuc_intern(s->m->names, t->domain), .overload = ""};
  n->input_names = names_of(s, t->inputs, n->n_input_names = t->n_inputs);
  n->output_names = names_of(s, t->outputs, n->n_output_names = t->n_outputs);
  n->name = npuc_onnx_inner_name(s, npuc_onnx_label(n));
  n->attributes = NPUC_NEW_ARRAY(s->scratch, t->n_attributes, onnx_attribute);
  for (size_t i = 0; i < t->n_attributes; i++) {
    const text_attribute *from = &t->attributes[i];
    onnx_attribute *a = &n->attributes[n->n_attributes];
    if (!from->reference) {
      *a = literal_of(s, from);
      n->n_attributes++;
      continue;
    }
    bool known;
    const onnx_attribute *given = npuc_onnx_parameter(s, from->reference, &known);
    if (!given) continue; /* absent: the inner operator's default */
    *a = *given;
    a->name = npuc_intern(s->m->names, from->name);
    n->n_attributes++;
  }
  *out_node = n;
  return NPUC_OK;
}
