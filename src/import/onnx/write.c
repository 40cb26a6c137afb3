/* SPDX-License-Identifier: Apache-2.0 */
/* Writing: what is decided (opset, where each constant goes, names of the scales) is decided first, by plan_*; the emitters then only read, because each runs twice
 * (formats/protobuf.h). Fields stand in the order of their numbers, so that the bytes are those that protobuf itself would write. */
#include <stdio.h>
#include <string.h>

#include "import/onnx/onnx.h"
#include "import/onnx/reference.h"
#include "import/onnx/target.h"
#include "tensor/reference.h"

/* -- planning -- */
static void need_opset(onnx_target *t, int64_t version) {
  if (version > t->opset) t->opset = version;
}

/* Attributes that came later than the operator that has them count only where they are written, that is, not the default. */
static void need_for_node(onnx_target *t, const node *n) {
  need_opset(t, n->op->oldest_version);
  for (int32_t i = 0; i < n->op->n_attributes; i++) {
    const attr_field *field = &n->op->attributes[i];
    if (field->since_version && !npuc_onnx_is_default(field, n->attributes)) need_opset(t, field->since_version);
  }
  if (node_is(n, OP_TOPK) && n->inputs[0]->type == DTYPE_BF16) need_opset(t, 24);
}

static void need_for_type(onnx_target *t, dtype type) {
  if (type == DTYPE_BF16) need_opset(t, 22); /* convolutions, pools, recurrent and trigonometric operators took it then */
  if (type == DTYPE_F4E2M1) need_opset(t, 23);
  if (type == DTYPE_F8E8M0) need_opset(t, 24);
  if (type == DTYPE_U2 || type == DTYPE_I2) need_opset(t, 25);
}

static int64_t ir_version_of(int64_t opset) {
  static const int64_t versions[] = {10, 10, 11, 12, 13, 13, 13, 14}; /* opset 21, 22, ... 28 (onnx.helper.VERSION_TABLE) */
  return versions[opset - ONNX_OLDEST_WRITTEN];
}

static void plan_operators(onnx_target *t, const graph *g) {
  for (const node *n = g->first; n; n = n->next) {
    if (n->op->domain[0] == '\0') {
      need_for_node(t, n);
    } else {
      t->has_npuc = true;
      t->uses_op[n->op->id] = true;
    }
    for (int32_t i = 0; npuc_node_body(n, i); i++) plan_operators(t, npuc_node_body(n, i));
  }
  size_t cursor = 0;
  const char *name;
  void *v;
  while (npuc_map_next(g->values, &cursor, &name, &v)) need_for_type(t, ((const value *)v)->type);
}

static const char *free_name(onnx_target *t, const graph *g, map *taken, const char *base, const char *suffix) {
  const char *name = npuc_arena_printf(t->scratch, "%s%s", base, suffix);
  for (unsigned i = 1; npuc_graph_value(g, name) || npuc_map_get(taken, name); i++)
    name = npuc_arena_printf(t->scratch, "%s%s_%u", base, suffix, i);
  npuc_map_put(taken, name, t);
  return name;
}

/* Constants, then inputs, then the nodes' outputs in order: the order that reading the file gives them again, so that a file read and written is the same bytes. */
static void order_values(onnx_target *t, graph_target *target) {
  const graph *g = target->g;
  target->values = NPUC_NEW_ARRAY(t->scratch, npuc_map_count(g->values), const value *);
  size_t cursor = 0;
  const char *name;
  void *item;
  while (npuc_map_next(g->values, &cursor, &name, &item)) {
    if (((const value *)item)->constant) target->values[target->n_values++] = item;
  }
  for (size_t i = 0; i < g->n_inputs; i++) target->values[target->n_values++] = g->inputs[i];
  for (const node *n = g->first; n; n = n->next) {
    for (int32_t i = 0; i < n->n_outputs; i++) {
      if (n->outputs[i]) target->values[target->n_values++] = n->outputs[i];
    }
  }
}

static npuc_status plan_values(onnx_target *t, graph_target *target) {
  map *taken = npuc_map_create(t->scratch);
  order_values(t, target);
  target->plans = NPUC_NEW_ARRAY(t->scratch, target->g->next_value_id, value_plan);
  for (size_t i = 0; i < target->n_values; i++) {
    const value *v = target->values[i];
    value_plan *plan = &target->plans[v->id];
    if (v->quant) {
      plan->scale_name = free_name(t, target->g, taken, v->name, "_scale");
      plan->zero_point_name = free_name(t, target->g, taken, v->name, "_zero_point");
    }
    if (!v->constant || (!v->n_uses && !v->is_output && !v->quant)) continue;
    plan->written = true;
    const onnx_weights *w = t->weights;
    if (w && w->place && !npuc_dtype_is_reference(v->type) && v->constant->bytes && v->constant->bytes >= w->min_bytes) {
      NPUC_TRY(w->place(w->user, t->d, v->constant, &plan->location, &plan->offset));
      plan->location = npuc_arena_str(t->scratch, plan->location);
    }
  }
  return NPUC_OK;
}

static npuc_status plan_graph(onnx_target *t, const graph *g, name_scope names, graph_target **out_target);

static npuc_status plan_bodies(onnx_target *t, graph_target *target) {
  NPUC_EACH_NODE(target->g, n) {
    const graph *body;
    graph_target **at = NULL;
    for (int32_t i = 0; (body = npuc_node_body(n, i)); i++) {
      if (!target->bodies) target->bodies = NPUC_NEW_ARRAY(t->scratch, target->g->next_node_id, graph_target *);
      if (!at) at = &target->bodies[n->id];
      NPUC_TRY(plan_graph(t, body, npuc_name_scope_body(t->scratch, &target->names, n, body), at));
      at = &(*at)->next;
    }
  }
  return NPUC_OK;
}

static npuc_status plan_graph(onnx_target *t, const graph *g, name_scope names, graph_target **out_target) {
  graph_target *target = *out_target = NPUC_NEW(t->scratch, graph_target);
  target->g = g;
  target->names = names;
  NPUC_TRY(plan_values(t, target));
  return plan_bodies(t, target);
}

/* -- tensors -- */
void npuc_onnx_put_entry(pb_writer *w, uint32_t number, const char *key, const char *text) {
  npuc_pb_begin(w, number);
  npuc_pb_put_text(w, ENTRY_KEY, key);
  npuc_pb_put_text(w, ENTRY_VALUE, text);
  npuc_pb_end(w);
}

static void put_axis(pb_writer *w, uint32_t number, const value *v) {
  if (!v || !v->quant || v->quant->axis < 0) return;
  char text[16];
  (void)snprintf(text, sizeof text, "%d", (int)v->quant->axis);
  npuc_onnx_put_entry(w, number, META_QUANT_AXIS, text);
}

static void put_number_entry(pb_writer *w, const char *key, uint64_t v) {
  char text[32];
  (void)snprintf(text, sizeof text, "%llu", (unsigned long long)v);
  npuc_onnx_put_entry(w, TENSOR_EXTERNAL_DATA, key, text);
}

void npuc_onnx_put_tensor(pb_writer *w, uint32_t number, const char *name, const tensor *t, const value_plan *plan, const value *owner) {
  bool external = plan && plan->location;
  npuc_pb_begin(w, number);
  npuc_pb_put_ints(w, TENSOR_DIMS, t->shape.dims, (size_t)t->shape.rank);
  npuc_pb_put_int(w, TENSOR_DATA_TYPE, (int64_t)t->type);
  bool texts = t->type == DTYPE_STRING;
  for (int64_t i = 0; texts && i < npuc_tensor_elements(t); i++) {
    text_span text = npuc_tensor_text(t, i);
    npuc_pb_put_bytes(w, TENSOR_STRING_DATA, text.bytes, text.n);
  }
  if (name) npuc_pb_put_text(w, TENSOR_NAME, name);
  if (!external && !texts) npuc_pb_put_bytes(w, TENSOR_RAW_DATA, t->data, t->bytes);
  if (external) {
    npuc_onnx_put_entry(w, TENSOR_EXTERNAL_DATA, "location", plan->location);
    put_number_entry(w, "offset", plan->offset);
    put_number_entry(w, "length", t->bytes);
    npuc_pb_put_int(w, TENSOR_DATA_LOCATION, 1);
  }
  put_axis(w, TENSOR_METADATA, owner);
  npuc_pb_end(w);
}

static void put_initializers(const graph_target *g, pb_writer *w) {
  for (size_t i = 0; i < g->n_values; i++) {
    const value *v = g->values[i];
    const value_plan *plan = &g->plans[v->id];
    if (plan->written) npuc_onnx_put_tensor(w, GRAPH_INITIALIZER, npuc_name_in(&g->names, v), v->constant, plan, v);
    if (v->quant) {
      npuc_onnx_put_tensor(w, GRAPH_INITIALIZER, plan->scale_name, &v->quant->scale, NULL, NULL);
      npuc_onnx_put_tensor(w, GRAPH_INITIALIZER, plan->zero_point_name, &v->quant->zero_point, NULL, NULL);
    }
  }
}

/* -- values -- */
static void put_shape(const onnx_target *t, pb_writer *w, const shape *s) {
  npuc_pb_begin(w, TENSOR_TYPE_SHAPE);
  for (int32_t i = 0; i < s->rank; i++) {
    npuc_pb_begin(w, SHAPE_DIM);
    if (dim_is_number(s->dims[i])) npuc_pb_put_int(w, DIM_VALUE, s->dims[i]);
    if (dim_is_symbol(s->dims[i])) npuc_pb_put_text(w, DIM_PARAM, npuc_module_symbol_name(t->m, s->dims[i]));
    npuc_pb_end(w);
  }
  npuc_pb_end(w);
}

/* A TypeProto's fields. What sequences hold is written with its type alone. */
static void put_type(const onnx_target *t, pb_writer *w, dtype type, const shape *s) {
  if (npuc_dtype_is_list(type)) {
    npuc_pb_begin(w, npuc_dtype_is_optional(type) ? TYPE_OPTIONAL : TYPE_SEQUENCE);
    npuc_pb_begin(w, LIST_TYPE_ELEMENT);
    put_type(t, w, npuc_dtype_item(type), &SHAPE_UNKNOWN);
    npuc_pb_end(w);
    npuc_pb_end(w);
    return;
  }
  npuc_pb_begin(w, TYPE_TENSOR);
  npuc_pb_put_int(w, TENSOR_TYPE_ELEMENT, (int64_t)type);
  if (s->rank >= 0) put_shape(t, w, s);
  npuc_pb_end(w);
}

void npuc_onnx_put_type(const onnx_target *t, pb_writer *w, uint32_t number, dtype type) {
  npuc_pb_begin(w, number);
  put_type(t, w, type, &SHAPE_UNKNOWN);
  npuc_pb_end(w);
}

static void put_value_info(const onnx_target *t, const graph_target *g, pb_writer *w, uint32_t number, const value *v) {
  npuc_pb_begin(w, number);
  npuc_pb_put_text(w, INFO_NAME, npuc_name_in(&g->names, v));
  npuc_pb_begin(w, INFO_TYPE);
  put_type(t, w, v->type, &v->shape);
  npuc_pb_end(w);
  if (!v->constant) put_axis(w, INFO_METADATA, v);
  npuc_pb_end(w);
}

static void put_value_infos(const onnx_target *t, const graph_target *g, pb_writer *w) {
  for (size_t i = 0; i < g->n_values; i++) {
    const value *v = g->values[i];
    if (v->producer && !v->is_output && v->type != DTYPE_NONE) put_value_info(t, g, w, GRAPH_VALUE_INFO, v);
  }
}

static void put_annotations(const graph_target *g, pb_writer *w) {
  for (size_t i = 0; i < g->n_values; i++) {
    const value *v = g->values[i];
    if (!v->quant) continue;
    npuc_pb_begin(w, GRAPH_ANNOTATION);
    npuc_pb_put_text(w, ANNOTATION_TENSOR, npuc_name_in(&g->names, v));
    npuc_onnx_put_entry(w, ANNOTATION_PARAMETERS, "SCALE_TENSOR", g->plans[v->id].scale_name);
    npuc_onnx_put_entry(w, ANNOTATION_PARAMETERS, "ZERO_POINT_TENSOR", g->plans[v->id].zero_point_name);
    npuc_pb_end(w);
  }
}

/* -- the model -- */
void npuc_onnx_put_graph(const onnx_target *t, const graph_target *target, pb_writer *w, uint32_t number) {
  const graph *g = target->g;
  npuc_pb_begin(w, number);
  for (const node *n = g->first; n; n = n->next) npuc_onnx_put_node(t, target, w, n);
  npuc_pb_put_text(w, GRAPH_NAME, g->name);
  put_initializers(target, w);
  for (size_t i = 0; i < g->n_inputs - (size_t)g->n_captures; i++) put_value_info(t, target, w, GRAPH_INPUT, g->inputs[i]);
  for (size_t i = 0; i < g->n_outputs; i++) put_value_info(t, target, w, GRAPH_OUTPUT, g->outputs[i]);
  put_value_infos(t, target, w);
  put_annotations(target, w);
  npuc_pb_end(w);
}

void npuc_onnx_put_opset(pb_writer *w, uint32_t number, const char *domain, int64_t version) {
  npuc_pb_begin(w, number);
  npuc_pb_put_text(w, OPSET_DOMAIN, domain);
  npuc_pb_put_int(w, OPSET_VERSION, version);
  npuc_pb_end(w);
}

static npuc_status emit_model(void *user, pb_writer *w) {
  const onnx_target *t = user;
  npuc_pb_put_int(w, MODEL_IR_VERSION, ir_version_of(t->opset));
  npuc_pb_put_text(w, MODEL_PRODUCER_NAME, "npuc");
  npuc_onnx_put_graph(t, t->part, w, MODEL_GRAPH);
  npuc_onnx_put_opset(w, MODEL_OPSET_IMPORT, "", t->opset);
  if (t->has_npuc) npuc_onnx_put_opset(w, MODEL_OPSET_IMPORT, "npuc", 1);
  size_t cursor = 0;
  const char *key;
  void *text;
  while (npuc_map_next(t->m->metadata, &cursor, &key, &text)) npuc_onnx_put_entry(w, MODEL_METADATA, key, text);
  if (t->m->producer && strcmp(t->m->producer, "npuc") != 0) npuc_onnx_put_entry(w, MODEL_METADATA, META_PRODUCER, t->m->producer);
  size_t n = 0;
  const char *const *references = t->weights && t->weights->references ? t->weights->references(t->weights->user, &n) : NULL;
  for (size_t i = 0; i < n; i++) {
    char name[sizeof ONNX_REFERENCE + 24];
    (void)snprintf(name, sizeof name, ONNX_REFERENCE "%zu", i);
    npuc_onnx_put_entry(w, MODEL_METADATA, name, references[i]);
  }
  npuc_onnx_put_functions(t, w);
  return NPUC_OK;
}

static npuc_status write_target(onnx_target *t, const char *path) {
  enum { MAX_BYTES = 0x7fffffff };
  const graph *g = t->m->graphs[0];
  if (g->n_outputs == 0) return npuc_fail(t->d, NPUC_DIAG_E0314, NULL, "the graph '%s' has no outputs", g->name);
  t->opset = ONNX_OLDEST_WRITTEN;
  plan_operators(t, g);
  if (t->opset > ONNX_NEWEST_OPSET) return npuc_fail(t->d, NPUC_DIAG_E0314, NULL, "it needs opset %lld", (long long)t->opset);
  NPUC_TRY(plan_graph(t, g, npuc_name_scope(g), &t->part));
  NPUC_TRY(npuc_onnx_plan_functions(t));
  file_writer *file;
  NPUC_TRY(npuc_writer_create(t->d, path, &file));
  npuc_status status = npuc_pb_write(t->d, file, emit_model, t, MAX_BYTES, NULL);
  if (status == NPUC_OK) return npuc_writer_commit(file);
  npuc_writer_abandon(file);
  return status;
}

npuc_status npuc_onnx_write(diag *d, const module *m, const char *path, const onnx_weights *weights) {
  if (m->n_graphs != 1) {
    diag_place place = {.file = path};
    return npuc_fail(d, NPUC_DIAG_E0314, &place, "the module has %zu parts; each part is a file of its own", m->n_graphs);
  }
  const char *outer_file = npuc_diag_set_file(d, path);
  onnx_target t = {.d = d, .m = m, .weights = weights, .scratch = npuc_arena_create()};
  npuc_status status = write_target(&t, path);
  npuc_arena_destroy(t.scratch);
  npuc_diag_set_file(d, outer_file);
  return status;
}
