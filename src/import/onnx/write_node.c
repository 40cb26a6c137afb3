/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes: attributes by the op table. In the default domain an attribute that has its default is left out, so that one that is younger than the file's opset does not
 * appear for nothing; our own operators' are all written, because a function's attributes have no defaults. */
#include <stdio.h>
#include <string.h>

#include "import/onnx/target.h"

static const void *field_at(const attr_field *field, const void *attributes) { return (const char *)attributes + field->offset; }

/* Lists whose default is one for each axis. Written out they would be the same, but ONNX Runtime's QLinearAveragePool refuses to see dilations at all. */
static bool is_all_ones(const attr_field *field, const int_list *list) {
  if (strcmp(field->name, "dilations") != 0 && strcmp(field->name, "strides") != 0) return false;
  for (int32_t i = 0; i < list->count; i++) {
    if (list->values[i] != 1) return false;
  }
  return true;
}

bool npuc_onnx_is_default(const attr_field *field, const void *attributes) {
  const void *at = field_at(field, attributes);
  switch (field->kind) {
    case ATTR_INT:
      return *(const int64_t *)at == field->default_int;
    case ATTR_FLOAT:
      return memcmp(at, &field->default_float, sizeof(float)) == 0;
    case ATTR_STRING: {
      const char *text = *(const char *const *)at;
      return !text || (field->default_string && strcmp(text, field->default_string) == 0);
    }
    case ATTR_INTS:
      return ((const int_list *)at)->count == 0 || is_all_ones(field, at);
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
  return false;
}

static void put_attribute(const onnx_target *t, const graph_target *body, pb_writer *w, const attr_field *field, const void *attributes) {
  const void *at = field_at(field, attributes);
  if (field->kind == ATTR_TENSOR && !*(const tensor *const *)at) return;
  onnx_attribute_type type = ONNX_UNDEFINED;
  npuc_pb_begin(w, NODE_ATTRIBUTE);
  npuc_pb_put_text(w, ATTRIBUTE_NAME, field->name);
  switch (field->kind) {
    case ATTR_INT:
      npuc_pb_put_int(w, ATTRIBUTE_I, *(const int64_t *)at);
      type = ONNX_INT;
      break;
    case ATTR_FLOAT:
      npuc_pb_put_float(w, ATTRIBUTE_F, *(const float *)at);
      type = ONNX_FLOAT;
      break;
    case ATTR_STRING: {
      const char *text = *(const char *const *)at;
      npuc_pb_put_text(w, ATTRIBUTE_S, text ? text : "");
      type = ONNX_STRING;
      break;
    }
    case ATTR_GRAPH:
      npuc_onnx_put_graph(t, body, w, ATTRIBUTE_G);
      type = ONNX_GRAPH;
      break;
    case ATTR_TENSOR:
      npuc_onnx_put_tensor(w, ATTRIBUTE_T, NULL, *(const tensor *const *)at, NULL, NULL);
      type = ONNX_TENSOR;
      break;
    case ATTR_FLOATS:
      npuc_pb_put_floats(w, ATTRIBUTE_FLOATS, ((const float_list *)at)->values, (size_t)((const float_list *)at)->count);
      type = ONNX_FLOATS;
      break;
    case ATTR_INTS:
      npuc_pb_put_ints(w, ATTRIBUTE_INTS, ((const int_list *)at)->values, (size_t)((const int_list *)at)->count);
      type = ONNX_INTS;
      break;
    case ATTR_TYPE:
      npuc_onnx_put_type(t, w, ATTRIBUTE_VALUE_TYPE, *(const dtype *)at);
      type = ONNX_TYPE_PROTO;
      break;
    case ATTR_STRINGS: {
      const string_list *l = at;
      for (int32_t i = 0; i < l->count; i++) npuc_pb_put_text(w, ATTRIBUTE_STRINGS, l->values[i]);
      type = ONNX_STRINGS;
      break;
    }
  }
  npuc_pb_put_int(w, ATTRIBUTE_TYPE, (int64_t)type);
  npuc_pb_end(w);
}

static void put_metadata(pb_writer *w, const node *n) {
  if (n->place) npuc_onnx_put_entry(w, NODE_METADATA, META_PLACE, n->place);
  if (n->place_reason) npuc_onnx_put_entry(w, NODE_METADATA, META_PLACE_REASON, n->place_reason);
  const location *where = n->location;
  if (!where) return;
  if (where->name && strcmp(where->name, n->name) != 0) npuc_onnx_put_entry(w, NODE_METADATA, META_LOCATION, where->name);
  for (size_t i = 0; i < where->n_derived; i++) {
    char key[48];
    (void)snprintf(key, sizeof key, "%s%zu", META_DERIVED, i);
    npuc_onnx_put_entry(w, NODE_METADATA, key, where->derived[i]);
  }
}

static void put_name(const graph_target *g, pb_writer *w, uint32_t number, const value *v) {
  npuc_pb_put_text(w, number, v ? npuc_name_in(&g->names, v) : "");
}

void npuc_onnx_put_node(const onnx_target *t, const graph_target *g, pb_writer *w, const node *n) {
  const graph_target *body = g->bodies ? g->bodies[n->id] : NULL;
  npuc_pb_begin(w, GRAPH_NODE);
  for (int32_t i = 0; i < n->n_inputs - npuc_node_captures(n); i++) put_name(g, w, NODE_INPUT, n->inputs[i]);
  for (int32_t i = 0; i < n->n_outputs; i++) put_name(g, w, NODE_OUTPUT, n->outputs[i]);
  npuc_pb_put_text(w, NODE_NAME, n->name);
  npuc_pb_put_text(w, NODE_OP_TYPE, n->op->type);
  bool own = n->op->domain[0] != '\0';
  for (int32_t i = 0; i < n->op->n_attributes; i++) {
    const attr_field *field = &n->op->attributes[i];
    if (own || field->required || !npuc_onnx_is_default(field, n->attributes)) put_attribute(t, body, w, field, n->attributes);
    if (field->kind == ATTR_GRAPH && body) body = body->next;
  }
  if (own) npuc_pb_put_text(w, NODE_DOMAIN, n->op->domain);
  put_metadata(w, n);
  npuc_pb_end(w);
}
