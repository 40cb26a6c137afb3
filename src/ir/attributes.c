/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes structs, driven by the op's field table: one place knows how to fill, copy and compare them. */
#include "ir/attributes.h"

#include <string.h>

#include "ir/internal.h"

const attr_field *npuc_op_attribute(const op_def *op, const char *name) {
  for (int32_t i = 0; i < op->n_attributes; i++) {
    if (strcmp(op->attributes[i].name, name) == 0) return &op->attributes[i];
  }
  return NULL;
}

static const void *field_of(const void *attributes, const attr_field *f) { return (const char *)attributes + f->offset; }

static void *field_in(void *attributes, const attr_field *f) { return (char *)attributes + f->offset; }

void npuc_attributes_default(const op_def *op, void *attributes) {
  if (!op->attributes_bytes) return;
  memset(attributes, 0, op->attributes_bytes);
  for (int32_t i = 0; i < op->n_attributes; i++) {
    const attr_field *f = &op->attributes[i];
    void *at = field_in(attributes, f);
    switch (f->kind) {
      case ATTR_INT:
        *(int64_t *)at = f->default_int;
        break;
      case ATTR_FLOAT:
        *(float *)at = f->default_float;
        break;
      case ATTR_STRING:
        *(const char **)at = f->default_string;
        break;
      case ATTR_INTS:
        *(int_list *)at = (int_list){0};
        break;
      case ATTR_FLOATS:
        *(float_list *)at = (float_list){0};
        break;
      case ATTR_TENSOR:
        *(const tensor **)at = NULL;
        break;
      case ATTR_GRAPH:
        *(graph **)at = NULL;
        break;
      case ATTR_TYPE:
        *(dtype *)at = DTYPE_NONE;
        break;
      case ATTR_STRINGS:
        *(string_list *)at = (string_list){0};
        break;
    }
  }
}

static void clone_field(module *to, const attr_field *f, const void *from, void *at) {
  arena *a = to->arena;
  switch (f->kind) {
    case ATTR_INT:
      *(int64_t *)at = *(const int64_t *)from;
      break;
    case ATTR_FLOAT:
      *(float *)at = *(const float *)from;
      break;
    case ATTR_STRING: {
      const char *text = *(const char *const *)from;
      *(const char **)at = text ? npuc_intern(to->names, text) : NULL;
      break;
    }
    case ATTR_INTS: {
      int_list l = *(const int_list *)from;
      if (l.count > 0) l.values = npuc_arena_copy(a, l.values, (size_t)l.count * sizeof *l.values);
      *(int_list *)at = l;
      break;
    }
    case ATTR_FLOATS: {
      float_list l = *(const float_list *)from;
      if (l.count > 0) l.values = npuc_arena_copy(a, l.values, (size_t)l.count * sizeof *l.values);
      *(float_list *)at = l;
      break;
    }
    case ATTR_TENSOR: {
      const tensor *t = *(const tensor *const *)from;
      *(const tensor **)at = t ? npuc_module_tensor(to, t, true) : NULL;
      break;
    }
    case ATTR_GRAPH: {
      const graph *g = *(graph *const *)from;
      *(graph **)at = g ? npuc_graph_clone_body(to, g) : NULL;
      break;
    }
    case ATTR_TYPE:
      *(dtype *)at = *(const dtype *)from;
      break;
    case ATTR_STRINGS: {
      const string_list *l = from;
      string_list copy = {NPUC_NEW_ARRAY(a, (size_t)l->count, const char *), l->count};
      for (int32_t i = 0; i < l->count; i++) copy.values[i] = npuc_intern(to->names, l->values[i]);
      *(string_list *)at = copy;
      break;
    }
  }
}

void *npuc_attributes_clone(module *to, const op_def *op, const void *attributes) {
  if (!op->attributes_bytes || !attributes) return NULL;
  void *copy = npuc_arena_copy(to->arena, attributes, op->attributes_bytes);
  for (int32_t i = 0; i < op->n_attributes; i++) {
    const attr_field *f = &op->attributes[i];
    clone_field(to, f, field_of(attributes, f), field_in(copy, f));
  }
  return copy;
}

static bool equal_strings(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

static bool equal_lists(const void *a, int32_t n_a, const void *b, int32_t n_b, size_t element) {
  return n_a == n_b && (n_a <= 0 || memcmp(a, b, (size_t)n_a * element) == 0);
}

static bool equal_string_lists(const string_list *x, const string_list *y) {
  bool equal = x->count == y->count;
  for (int32_t i = 0; equal && i < x->count; i++) equal = equal_strings(x->values[i], y->values[i]);
  return equal;
}

/* Floats are equal when their bits are: an attribute is data that will be written, so 0.0 and -0.0 differ and a NaN equals itself. */
static bool equal_field(const attr_field *f, const void *a, const void *b) {
  switch (f->kind) {
    case ATTR_INT:
      return *(const int64_t *)a == *(const int64_t *)b;
    case ATTR_FLOAT:
      return memcmp(a, b, sizeof(float)) == 0;
    case ATTR_STRING:
      return equal_strings(*(const char *const *)a, *(const char *const *)b);
    case ATTR_INTS: {
      const int_list *x = a, *y = b;
      return equal_lists(x->values, x->count, y->values, y->count, sizeof *x->values);
    }
    case ATTR_FLOATS: {
      const float_list *x = a, *y = b;
      return equal_lists(x->values, x->count, y->values, y->count, sizeof *x->values);
    }
    case ATTR_TENSOR: {
      const tensor *x = *(const tensor *const *)a, *y = *(const tensor *const *)b;
      return x == y || (x && y && npuc_tensor_equal(x, y));
    }
    case ATTR_GRAPH: /* bodies are not compared: nodes that have some are told apart */
      return *(graph *const *)a == *(graph *const *)b;
    case ATTR_TYPE:
      return *(const dtype *)a == *(const dtype *)b;
    case ATTR_STRINGS:
      return equal_string_lists(a, b);
  }
  return false;
}

bool npuc_attributes_equal(const op_def *op, const void *a, const void *b) {
  if (!op->attributes_bytes || a == b) return true;
  if (!a || !b) return false;
  for (int32_t i = 0; i < op->n_attributes; i++) {
    const attr_field *f = &op->attributes[i];
    if (!equal_field(f, field_of(a, f), field_of(b, f))) return false;
  }
  return true;
}
