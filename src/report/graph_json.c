/* SPDX-License-Identifier: Apache-2.0 */
#include "report/graph_json.h"

#include <string.h>

#include "ir/op.h"
#include "report/markup.h"

enum { SHOWN_ELEMENTS = 8, SHOWN_LIST = 64 };

/* Infinities and NaN are no JSON numbers; they go as text. */
static json_t *number(double v) {
  json_t *o = json_real(v);
  return o ? o : json_string(v != v ? "nan" : v > 0 ? "inf" : "-inf");
}

static void set_text(json_t *o, const char *key, const char *text) {
  if (text && *text) json_object_set_new(o, key, npuc_json_text(text));
}

/* -- values -- */

static json_t *dims_json(const module *m, const shape *s) {
  if (s->rank < 0) return json_null();
  json_t *dims = json_array();
  for (int32_t i = 0; i < s->rank; i++) {
    const char *symbol = dim_is_symbol(s->dims[i]) ? npuc_module_symbol_name(m, s->dims[i]) : NULL;
    json_array_append_new(dims, dim_is_number(s->dims[i]) ? json_integer(s->dims[i]) : npuc_json_text(symbol ? symbol : "?"));
  }
  return dims;
}

static json_t *content_json(const tensor *t) {
  int64_t n = npuc_tensor_elements(t);
  json_t *list = json_array();
  for (int64_t i = 0; i < n; i++)
    json_array_append_new(list, npuc_dtype_is_integer(t->type) ? json_integer(npuc_tensor_get_int(t, i)) : number(npuc_tensor_get(t, i)));
  return list;
}

static bool is_small(const tensor *t) { return t->data && !npuc_dtype_is_reference(t->type) && npuc_tensor_elements(t) <= SHOWN_ELEMENTS; }

static void set_quant(json_t *o, const quant *q) {
  int64_t n = npuc_tensor_elements(&q->scale);
  if (n < 1) return;
  json_object_set_new(o, "scale", number(npuc_tensor_get(&q->scale, 0)));
  json_object_set_new(o, "zero_point", json_integer(npuc_tensor_get_int(&q->zero_point, 0)));
  if (n > 1) json_object_set_new(o, "channels", json_integer(n));
}

static void add_value(json_t *values, const value *v) {
  if (!v || json_object_get(values, v->name)) return;
  json_t *o = json_object();
  json_object_set_new(o, "dtype", json_string(npuc_dtype_name(v->type)));
  json_object_set_new(o, "shape", dims_json(v->owner->module, &v->shape));
  if (v->constant) json_object_set_new(o, "constant", json_true());
  if (v->constant && is_small(v->constant)) json_object_set_new(o, "content", content_json(v->constant));
  if (v->quant) set_quant(o, v->quant);
  json_t *name = npuc_json_text(v->name);
  json_object_set_new(values, json_string_value(name), o);
  json_decref(name);
}

/* -- attributes -- */

static json_t *ints_json(const int_list *list) {
  json_t *o = json_array();
  for (int32_t i = 0; i < list->count && i < SHOWN_LIST; i++) json_array_append_new(o, json_integer(list->values[i]));
  return o;
}

static json_t *floats_json(const float_list *list) {
  json_t *o = json_array();
  for (int32_t i = 0; i < list->count && i < SHOWN_LIST; i++) json_array_append_new(o, number((double)list->values[i]));
  return o;
}

static json_t *strings_json(const string_list *list) {
  json_t *o = json_array();
  for (int32_t i = 0; i < list->count && i < SHOWN_LIST; i++) json_array_append_new(o, npuc_json_text(list->values[i]));
  return o;
}

static json_t *tensor_json(const module *m, const tensor *t) {
  if (is_small(t)) return content_json(t);
  json_t *o = json_object();
  json_object_set_new(o, "dtype", json_string(npuc_dtype_name(t->type)));
  json_object_set_new(o, "shape", dims_json(m, &t->shape));
  return o;
}

static json_t *attribute_json(const module *m, const attr_field *f, const char *at) {
  switch (f->kind) {
    case ATTR_INT:
      return json_integer(*(const int64_t *)(const void *)at);
    case ATTR_FLOAT:
      return number((double)*(const float *)(const void *)at);
    case ATTR_STRING: {
      const char *text = *(const char *const *)(const void *)at;
      return text ? npuc_json_text(text) : NULL;
    }
    case ATTR_INTS:
      return ints_json((const int_list *)(const void *)at);
    case ATTR_FLOATS:
      return floats_json((const float_list *)(const void *)at);
    case ATTR_TENSOR: {
      const tensor *t = *(const tensor *const *)(const void *)at;
      return t ? tensor_json(m, t) : NULL;
    }
    case ATTR_GRAPH: {
      const graph *body = *(graph *const *)(const void *)at;
      return body ? npuc_json_text(body->name) : NULL;
    }
    case ATTR_TYPE: {
      dtype type = *(const dtype *)(const void *)at;
      return type == DTYPE_NONE ? NULL : npuc_json_text(npuc_dtype_name(type));
    }
    case ATTR_STRINGS:
      return strings_json((const string_list *)(const void *)at);
  }
  return NULL;
}

static json_t *attributes_json(const node *n) {
  json_t *o = json_object();
  for (int32_t i = 0; n->attributes && i < n->op->n_attributes; i++) {
    const attr_field *f = &n->op->attributes[i];
    json_t *v = attribute_json(n->owner->module, f, (const char *)n->attributes + f->offset);
    if (v) json_object_set_new(o, f->name, v);
  }
  return o;
}

/* -- nodes -- */

static json_t *names_json(json_t *values, value *const *list, size_t n) {
  json_t *names = json_array();
  for (size_t i = 0; i < n; i++) {
    add_value(values, list[i]);
    json_array_append_new(names, npuc_json_text(list[i] ? list[i]->name : ""));
  }
  return names;
}

static json_t *node_json(json_t *values, const node *n) {
  json_t *o = json_object();
  json_object_set_new(o, "name", npuc_json_text(n->name));
  json_object_set_new(o, "op", npuc_json_text(n->op->type));
  set_text(o, "domain", n->op->domain);
  set_text(o, "source", n->location ? n->location->name : NULL);
  set_text(o, "place", n->place);
  set_text(o, "reason", n->place_reason);
  double macs = npuc_node_cost(n).macs;
  if (macs > 0) json_object_set_new(o, "macs", number(macs));
  json_object_set_new(o, "attributes", attributes_json(n));
  json_object_set_new(o, "inputs", names_json(values, n->inputs, (size_t)n->n_inputs));
  json_object_set_new(o, "outputs", names_json(values, n->outputs, (size_t)n->n_outputs));
  return o;
}

json_t *npuc_graph_json(const graph *g) {
  json_t *o = json_object(), *values = json_object(), *nodes = json_array();
  json_object_set_new(o, "name", npuc_json_text(g->name ? g->name : "main"));
  json_object_set_new(o, "inputs", names_json(values, g->inputs, g->n_inputs));
  NPUC_EACH_NODE(g, n) json_array_append_new(nodes, node_json(values, n));
  json_object_set_new(o, "outputs", names_json(values, g->outputs, g->n_outputs));
  json_object_set_new(o, "nodes", nodes);
  json_object_set_new(o, "values", values);
  return o;
}

/* -- programs -- */

static const char *const qattr_names[] = {
#define QOP(name, code)
#define QATTR(name, code) [code] = #name,
#include "npu/qops.def"
#undef QOP
#undef QATTR
};

static json_t *qtensor_json(const qtensor *t) {
  json_t *o = json_object(), *dims = json_array();
  for (int32_t i = 0; i < t->rank; i++) json_array_append_new(dims, json_integer(t->dims[i]));
  json_object_set_new(o, "dtype", json_string(npuc_dtype_name(t->type)));
  json_object_set_new(o, "shape", dims);
  if (t->role == QROLE_CONSTANT) json_object_set_new(o, "constant", json_true());
  if (!t->has_quant) return o;
  json_object_set_new(o, "scale", number(t->scale));
  json_object_set_new(o, "zero_point", json_integer(t->zero_point));
  return o;
}

static json_t *qnames_json(const qgraph *g, const int32_t *list, size_t n) {
  json_t *names = json_array();
  for (size_t i = 0; i < n; i++) json_array_append_new(names, npuc_json_text(list[i] < 0 ? "" : g->tensors[list[i]].name));
  return names;
}

static json_t *qnode_json(const qgraph *g, const qnode *n) {
  json_t *o = json_object(), *attributes = json_object();
  json_object_set_new(o, "name", npuc_json_text(n->name));
  json_object_set_new(o, "op", json_string(npuc_qop_name(n->op)));
  set_text(o, "source", n->source);
  json_object_set_new(o, "place", json_string(n->on_npu ? "npu" : "host"));
  set_text(o, "reason", n->place_reason);
  uint64_t macs = npuc_qnode_macs(g, n);
  if (macs) json_object_set_new(o, "macs", json_integer((json_int_t)macs));
  for (int32_t i = 0; i < n->n_attributes; i++) {
    const qattr *a = &n->attributes[i];
    json_t *list = json_array();
    for (uint32_t k = 0; k < a->count && k < SHOWN_LIST; k++) json_array_append_new(list, json_integer(a->values[k]));
    json_object_set_new(attributes, qattr_names[a->key], list);
  }
  json_object_set_new(o, "attributes", attributes);
  json_object_set_new(o, "inputs", qnames_json(g, n->inputs, (size_t)n->n_inputs));
  json_object_set_new(o, "outputs", qnames_json(g, n->outputs, (size_t)n->n_outputs));
  return o;
}

json_t *npuc_qgraph_json(const qgraph *g) {
  json_t *o = json_object(), *values = json_object(), *nodes = json_array();
  for (size_t i = 0; i < g->n_tensors; i++) {
    json_t *name = npuc_json_text(g->tensors[i].name);
    json_object_set_new(values, json_string_value(name), qtensor_json(&g->tensors[i]));
    json_decref(name);
  }
  for (size_t i = 0; i < g->n_nodes; i++) json_array_append_new(nodes, qnode_json(g, &g->nodes[i]));
  json_object_set_new(o, "name", json_string("main"));
  json_object_set_new(o, "inputs", qnames_json(g, g->inputs, g->n_inputs));
  json_object_set_new(o, "outputs", qnames_json(g, g->outputs, g->n_outputs));
  json_object_set_new(o, "nodes", nodes);
  json_object_set_new(o, "values", values);
  return o;
}
