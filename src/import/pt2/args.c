/* SPDX-License-Identifier: Apache-2.0 */
/* A node's arguments by their names in the operator's schema. Each is a union written as {"as_KIND": content}; a reader takes the kinds that
 * mean what it wants, and anything else is an error that names the argument. What nobody read is an error too: an argument that changed the
 * result and was dropped would be silent. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "import/pt2/source.h"

#undef npuc_pt2_fail /* the analyzer's view of it */
npuc_status npuc_pt2_fail(pt2_node *n, diag_code code, const char *argument, const char *format, ...) {
  char reason[512];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  const char *where = n->location && n->location->name ? n->location->name : n->name;
  diag_place place = {.part = n->s->g->name, .node = where, .op = n->target, .attribute = argument};
  return npuc_fail(n->s->d, code, &place, "%s%s%s%s", reason, n->python ? " (" : "", n->python ? n->python : "", n->python ? ")" : "");
}

/* -- finding -- */
static json_t *find(pt2_node *n, const char *name, const char **out_kind) {
  size_t i;
  json_t *entry;
  json_array_foreach(n->arguments, i, entry) {
    const char *given = json_string_value(json_object_get(entry, "name"));
    if (!given || strcmp(given, name) != 0) continue;
    if (i < 64) n->used |= (uint64_t)1 << i;
    json_t *arg = json_object_get(entry, "arg"), *content = NULL;
    void *member = json_object_iter(arg);
    *out_kind = "";
    if (member) {
      *out_kind = json_object_iter_key(member);
      content = json_object_iter_value(member);
    }
    return strcmp(*out_kind, "as_none") == 0 ? NULL : content;
  }
  *out_kind = "";
  return NULL;
}

static bool is(const char *kind, const char *wanted) { return strcmp(kind, wanted) == 0; }

static npuc_status wrong_kind(pt2_node *n, const char *name, const char *kind, const char *wanted) {
  const char *given = json_string_value(json_object_get(npuc_pt2_raw(n, name), "name"));
  const pt2_binding *b = given ? npuc_map_get(n->s->bindings, given) : NULL;
  if (b && b->kind == PT2_COMPLEX)
    return npuc_pt2_fail(n, NPUC_DIAG_E0334, name,
                         "the tensor is complex, which npuc computes for Fourier transforms and the parts of their results only");
  return npuc_pt2_fail(n, NPUC_DIAG_E0335, name, "the argument is %s; %s wanted", kind[0] ? kind : "missing", wanted);
}

bool npuc_pt2_has(pt2_node *n, const char *name) {
  const char *kind;
  return find(n, name, &kind) != NULL;
}

json_t *npuc_pt2_raw(pt2_node *n, const char *name) {
  const char *kind;
  return find(n, name, &kind);
}

void npuc_pt2_ignore(pt2_node *n, const char *name) {
  const char *kind;
  (void)find(n, name, &kind);
}

npuc_status npuc_pt2_check_used(pt2_node *n) {
  size_t i;
  json_t *entry;
  json_array_foreach(n->arguments, i, entry) {
    if (i < 64 && n->used >> i & 1) continue;
    const char *name = json_string_value(json_object_get(entry, "name"));
    if (json_object_get(json_object_get(entry, "arg"), "as_none")) continue; /* None is every optional argument's default */
    return npuc_pt2_fail(n, NPUC_DIAG_E0335, name, "the argument is given and npuc's translation does not know it");
  }
  return NPUC_OK;
}

/* -- tensors -- */
static pt2_tensor *tensor_named(pt2_node *n, json_t *content) {
  const char *name = json_string_value(json_object_get(content, "name"));
  const pt2_binding *b = name ? npuc_map_get(n->s->bindings, name) : NULL;
  return b && b->kind == PT2_TENSOR ? b->tensor : NULL;
}

bool npuc_pt2_is_tensor(pt2_node *n, const char *name) {
  const char *kind;
  json_t *content = find(n, name, &kind);
  if (is(kind, "as_optional_tensor")) return json_object_get(content, "as_tensor") != NULL;
  return content && is(kind, "as_tensor");
}

npuc_status npuc_pt2_window(pt2_node *n, const char *name, pt2_tensor **out_tensor) {
  const char *kind;
  json_t *content = find(n, name, &kind);
  if (is(kind, "as_optional_tensor")) {
    content = json_object_get(content, "as_tensor");
    kind = "as_tensor";
  }
  *out_tensor = content && is(kind, "as_tensor") ? tensor_named(n, content) : NULL;
  return *out_tensor ? NPUC_OK : wrong_kind(n, name, kind, "a tensor that was defined before");
}

npuc_status npuc_pt2_tensor(pt2_node *n, const char *name, value **out_value) {
  pt2_tensor *t;
  *out_value = NULL;
  NPUC_TRY(npuc_pt2_window(n, name, &t));
  return npuc_pt2_read_tensor(n, t, out_value);
}

npuc_status npuc_pt2_optional_tensor(pt2_node *n, const char *name, value **out_value) {
  *out_value = NULL;
  const char *kind;
  json_t *content = find(n, name, &kind);
  if (!content || (is(kind, "as_optional_tensor") && !json_object_get(content, "as_tensor"))) return NPUC_OK;
  return npuc_pt2_tensor(n, name, out_value);
}

npuc_status npuc_pt2_tensors(pt2_node *n, const char *name, value ***out_values, size_t *out_n) {
  const char *kind;
  json_t *content = find(n, name, &kind);
  *out_n = 0;
  *out_values = NULL;
  bool optional = is(kind, "as_optional_tensors");
  if (!content || (!optional && !is(kind, "as_tensors"))) {
    if (content && is(kind, "as_ints") && json_array_size(content) == 0) return NPUC_OK; /* an empty list has no kind of its own */
    return wrong_kind(n, name, kind, "a list of tensors");
  }
  size_t count = json_array_size(content);
  *out_values = NPUC_NEW_ARRAY(n->s->scratch, count, value *);
  for (size_t i = 0; i < count; i++) {
    json_t *item = json_array_get(content, i);
    if (optional) item = json_object_get(item, "as_tensor");
    if (!item) continue;
    pt2_tensor *t = tensor_named(n, item);
    if (!t) return wrong_kind(n, name, kind, "a list of tensors that were defined before");
    NPUC_TRY(npuc_pt2_read_tensor(n, t, &(*out_values)[i]));
  }
  *out_n = count;
  return NPUC_OK;
}

/* -- integers -- */
/* {"as_name": symbol} or {"as_int": number}, or a plain number of the JSON. */
static bool int_of(pt2_node *n, json_t *content, pt2_int *out) {
  *out = (pt2_int){0};
  if (json_is_object(content)) {
    const char *name = json_string_value(json_object_get(content, "as_name"));
    if (name) {
      const pt2_binding *b = npuc_map_get(n->s->bindings, name);
      if (b && b->kind == PT2_INT) *out = b->integer;
      return b && b->kind == PT2_INT;
    }
    json_t *number = json_object_get(content, "as_int");
    content = number ? number : json_object_get(content, "as_bool");
  }
  if (json_is_boolean(content)) {
    out->number = json_is_true(content);
    return true;
  }
  if (!json_is_integer(content)) return false;
  out->number = (int64_t)json_integer_value(content);
  return true;
}

npuc_status npuc_pt2_symint(pt2_node *n, const char *name, int64_t fallback, pt2_int *out) {
  const char *kind;
  json_t *content = find(n, name, &kind);
  *out = pt2_number(fallback);
  if (!content) return NPUC_OK;
  bool integer = is(kind, "as_int") || is(kind, "as_sym_int") || is(kind, "as_bool") || is(kind, "as_sym_bool");
  bool known = integer && int_of(n, content, out);
  return known ? NPUC_OK : wrong_kind(n, name, kind, "an integer");
}

npuc_status npuc_pt2_int_arg(pt2_node *n, const char *name, int64_t fallback, int64_t *out) {
  pt2_int v;
  NPUC_TRY(npuc_pt2_symint(n, name, fallback, &v));
  *out = v.number;
  return v.value ? npuc_pt2_fail(n, NPUC_DIAG_E0335, name, "the argument is known at run time only; a number wanted") : NPUC_OK;
}

npuc_status npuc_pt2_symints(pt2_node *n, const char *name, pt2_int **out, size_t *out_n) {
  const char *kind;
  json_t *content = find(n, name, &kind);
  *out_n = 0;
  *out = NULL;
  if (!content) return NPUC_OK;
  bool list = is(kind, "as_ints") || is(kind, "as_sym_ints"), one = is(kind, "as_int") || is(kind, "as_sym_int");
  if (!list && !one) {
    if (is(kind, "as_tensors") && json_array_size(content) == 0) return NPUC_OK;
    return wrong_kind(n, name, kind, "a list of integers");
  }
  size_t count = list ? json_array_size(content) : 1;
  *out = NPUC_NEW_ARRAY(n->s->scratch, count, pt2_int);
  for (size_t i = 0; i < count; i++) {
    if (!int_of(n, list ? json_array_get(content, i) : content, &(*out)[i])) return wrong_kind(n, name, kind, "a list of integers");
  }
  *out_n = count;
  return NPUC_OK;
}

npuc_status npuc_pt2_ints(pt2_node *n, const char *name, int64_t **out, size_t *out_n) {
  pt2_int *list;
  NPUC_TRY(npuc_pt2_symints(n, name, &list, out_n));
  *out = NPUC_NEW_ARRAY(n->s->scratch, *out_n, int64_t);
  for (size_t i = 0; i < *out_n; i++) {
    if (list[i].value) return npuc_pt2_fail(n, NPUC_DIAG_E0335, name, "the argument is known at run time only; numbers wanted");
    (*out)[i] = list[i].number;
  }
  return NPUC_OK;
}

npuc_status npuc_pt2_window_ints(pt2_node *n, const char *name, int64_t fallback, int64_t *out, size_t n_wanted) {
  int64_t *list;
  size_t count;
  NPUC_TRY(npuc_pt2_ints(n, name, &list, &count));
  if (count != 0 && count != 1 && count != n_wanted)
    return npuc_pt2_fail(n, NPUC_DIAG_E0335, name, "the argument has %zu numbers; one or %zu wanted", count, n_wanted);
  for (size_t i = 0; i < n_wanted; i++) out[i] = count == 0 ? fallback : list[count == 1 ? 0 : i];
  return NPUC_OK;
}

/* -- floats, bools, strings, types -- */
static bool number_of(json_t *content, double *out) {
  if (json_is_object(content)) content = json_object_get(content, "as_float");
  if (json_is_string(content)) { /* "Infinity", "-Infinity", "NaN": what JSON has no numbers for */
    const char *text = json_string_value(content);
    *out = is(text, "Infinity") || is(text, "inf")     ? (double)INFINITY
           : is(text, "-Infinity") || is(text, "-inf") ? -(double)INFINITY
                                                       : (double)NAN;
    return is(text, "NaN") || is(text, "nan") || *out == *out;
  }
  if (!json_is_number(content)) return false;
  *out = json_number_value(content);
  return true;
}

npuc_status npuc_pt2_float_arg(pt2_node *n, const char *name, double fallback, double *out) {
  const char *kind;
  json_t *content = find(n, name, &kind);
  *out = fallback;
  if (!content) return NPUC_OK;
  bool known = (is(kind, "as_float") || is(kind, "as_int") || is(kind, "as_sym_float")) && number_of(content, out);
  return known ? NPUC_OK : wrong_kind(n, name, kind, "a number");
}

npuc_status npuc_pt2_floats(pt2_node *n, const char *name, double **out, size_t *out_n) {
  const char *kind;
  json_t *content = find(n, name, &kind);
  *out_n = 0;
  *out = NULL;
  if (!content) return NPUC_OK;
  if (!is(kind, "as_floats") && !is(kind, "as_ints")) return wrong_kind(n, name, kind, "a list of numbers");
  *out_n = json_array_size(content);
  *out = NPUC_NEW_ARRAY(n->s->scratch, *out_n, double);
  for (size_t i = 0; i < *out_n; i++) {
    if (!number_of(json_array_get(content, i), &(*out)[i])) return wrong_kind(n, name, kind, "a list of numbers");
  }
  return NPUC_OK;
}

npuc_status npuc_pt2_bool_arg(pt2_node *n, const char *name, bool fallback, bool *out) {
  const char *kind;
  json_t *content = find(n, name, &kind);
  *out = fallback;
  if (!content) return NPUC_OK;
  if (!is(kind, "as_bool") || !json_is_boolean(content)) return wrong_kind(n, name, kind, "true or false");
  *out = json_is_true(content);
  return NPUC_OK;
}

npuc_status npuc_pt2_string(pt2_node *n, const char *name, const char *fallback, const char **out) {
  const char *kind;
  json_t *content = find(n, name, &kind);
  *out = fallback;
  if (!content) return NPUC_OK;
  if (!is(kind, "as_string") || !json_is_string(content)) return wrong_kind(n, name, kind, "a text");
  *out = json_string_value(content);
  return NPUC_OK;
}

npuc_status npuc_pt2_dtype_arg(pt2_node *n, const char *name, dtype *out) {
  const char *kind;
  json_t *content = find(n, name, &kind);
  *out = DTYPE_NONE;
  if (!content) return NPUC_OK;
  if (!is(kind, "as_scalar_type") || !npuc_pt2_dtype((int64_t)json_integer_value(content), out))
    return wrong_kind(n, name, kind, "an element type");
  return NPUC_OK;
}

npuc_status npuc_pt2_scalar_arg(pt2_node *n, const char *name, pt2_scalar fallback, pt2_scalar *out) {
  const char *kind;
  json_t *content = find(n, name, &kind);
  *out = fallback;
  if (!content) return NPUC_OK;
  *out = (pt2_scalar){0};
  pt2_int i;
  if (is(kind, "as_bool")) {
    out->is_bool = true;
    out->integer = json_is_true(content);
    out->real = (double)out->integer;
    return NPUC_OK;
  }
  if ((is(kind, "as_int") || is(kind, "as_sym_int")) && int_of(n, content, &i)) {
    out->integer = i.number;
    out->real = (double)i.number;
    out->value = i.value;
    return NPUC_OK;
  }
  out->is_float = true;
  if (is(kind, "as_float") && number_of(content, &out->real)) return NPUC_OK;
  return wrong_kind(n, name, kind, "a number");
}
