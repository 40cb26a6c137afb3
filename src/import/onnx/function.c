/* SPDX-License-Identifier: Apache-2.0 */
/* Model-local functions: a call is replaced by the function's nodes as it is read, so that nothing behind the reader knows of functions. The body's names live in a scope of
 * their own (scope.c), its attributes may refer to the call's, its opset may be another than the model's. Small files can ask for much here (each function
 * calls the one before twice), so depth and the number of nodes are bounded, and recursion is found by looking at the calls under way. */
#include <string.h>

#include "import/onnx/source.h"

enum { MAX_CALL_DEPTH = 64, MAX_INLINED_NODES = 1 << 18 };

static const char *key_of(onnx_source *s, const char *domain, const char *name, const char *overload) {
  return npuc_arena_printf(s->scratch, "%s\n%s\n%s", domain, name, overload);
}

/* The bodies that our own files bring are those of operators that the op table has. */
static bool is_native(const onnx_function *f) { return strcmp(f->domain, "npuc") == 0 && npuc_op_find(f->domain, f->name); }

npuc_status npuc_onnx_add_function(onnx_source *s, pb_reader message) {
  onnx_function *f = NPUC_NEW(s->scratch, onnx_function);
  *f = (onnx_function){.name = "", .domain = "", .overload = "", .message = message};
  pb_reader r = message;
  pb_field field;
  while (npuc_pb_next(&r, &field)) {
    if (field.number == FUNCTION_NAME) f->name = npuc_onnx_text(s, &r, &field);
    if (field.number == FUNCTION_DOMAIN) f->domain = npuc_onnx_text(s, &r, &field);
    if (field.number == FUNCTION_OVERLOAD) f->overload = npuc_onnx_text(s, &r, &field);
  }
  NPUC_TRY(npuc_pb_finish(&r, s->d, "FunctionProto"));
  if (strcmp(f->domain, "ai.onnx") == 0) f->domain = "";
  if (is_native(f)) return NPUC_OK;
  if (!npuc_map_put(s->functions, key_of(s, f->domain, f->name, f->overload), f)) return NPUC_OK;
  diag_place place = {.op = f->name};
  return npuc_fail(s->d, NPUC_DIAG_E0310, &place, "two functions %s of domain '%s' have the overload '%s'", f->name, f->domain,
                   f->overload);
}

onnx_function *npuc_onnx_called(onnx_source *s, const onnx_node *n) {
  return npuc_map_count(s->functions) ? npuc_map_get(s->functions, key_of(s, n->domain, n->type, n->overload)) : NULL;
}

/* -- the record -- */
static npuc_status count_fields(onnx_source *s, onnx_function *f) {
  size_t defaults = 0;
  pb_reader r = f->message;
  pb_field field;
  while (npuc_pb_next(&r, &field)) {
    f->n_inputs += field.number == FUNCTION_INPUT;
    f->n_outputs += field.number == FUNCTION_OUTPUT;
    f->n_parameters += field.number == FUNCTION_ATTRIBUTE;
    f->n_nodes += field.number == FUNCTION_NODE;
    defaults += field.number == FUNCTION_DEFAULTS;
  }
  f->inputs = NPUC_NEW_ARRAY(s->scratch, f->n_inputs, const char *);
  f->outputs = NPUC_NEW_ARRAY(s->scratch, f->n_outputs, const char *);
  f->parameters = NPUC_NEW_ARRAY(s->scratch, f->n_parameters, const char *);
  f->nodes = NPUC_NEW_ARRAY(s->scratch, f->n_nodes, pb_reader);
  f->defaults = NPUC_NEW_ARRAY(s->scratch, defaults, onnx_attribute);
  f->n_inputs = f->n_outputs = f->n_parameters = f->n_nodes = 0;
  return npuc_pb_finish(&r, s->d, "FunctionProto");
}

static npuc_status read_opset(onnx_source *s, pb_reader r, onnx_function *f) {
  const char *domain = "";
  int64_t version = 0;
  pb_field field;
  while (npuc_pb_next(&r, &field)) {
    if (field.number == OPSET_DOMAIN) domain = npuc_onnx_text(s, &r, &field);
    if (field.number == OPSET_VERSION) version = npuc_pb_int(&r, &field);
  }
  NPUC_TRY(npuc_pb_finish(&r, s->d, "OperatorSetIdProto"));
  if (domain[0] && strcmp(domain, "ai.onnx") != 0) return NPUC_OK;
  f->opset = version;
  if (version >= ONNX_OLDEST_OPSET && version <= ONNX_NEWEST_OPSET) return NPUC_OK;
  diag_place place = {.op = f->name};
  return npuc_fail(s->d, NPUC_DIAG_E0303, &place, "the function %s of domain '%s' imports opset %lld; npuc reads %d to %d", f->name,
                   f->domain, (long long)version, ONNX_OLDEST_OPSET, ONNX_NEWEST_OPSET);
}

static npuc_status read_field(onnx_source *s, onnx_function *f, pb_reader *r, const pb_field *field) {
  bool absent;
  const onnx_node self = {.name = f->name, .type = f->name, .domain = f->domain};
  switch (field->number) {
    case FUNCTION_INPUT:
      f->inputs[f->n_inputs++] = npuc_onnx_text(s, r, field);
      break;
    case FUNCTION_OUTPUT:
      f->outputs[f->n_outputs++] = npuc_onnx_text(s, r, field);
      break;
    case FUNCTION_ATTRIBUTE:
      f->parameters[f->n_parameters++] = npuc_onnx_text(s, r, field);
      break;
    case FUNCTION_NODE:
      f->nodes[f->n_nodes++] = npuc_pb_message(r, field);
      break;
    case FUNCTION_OPSET_IMPORT:
      return read_opset(s, npuc_pb_message(r, field), f);
    case FUNCTION_DEFAULTS:
      return npuc_onnx_parse_attribute(s, &self, npuc_pb_message(r, field), &f->defaults[f->n_defaults++], &absent);
    default:
      break;
  }
  return NPUC_OK;
}

static npuc_status parse(onnx_source *s, onnx_function *f) {
  if (f->is_parsed) return NPUC_OK;
  f->is_parsed = true;
  if (f->text) {
    npuc_onnx_foreign_ports(s, f);
    return NPUC_OK;
  }
  NPUC_TRY(count_fields(s, f));
  onnx_scope *outer = s->scope;
  s->scope = NULL; /* defaults refer to nothing */
  pb_reader r = f->message;
  pb_field field;
  npuc_status status = NPUC_OK;
  while (status == NPUC_OK && npuc_pb_next(&r, &field)) status = read_field(s, f, &r, &field);
  s->scope = outer;
  return status != NPUC_OK ? status : npuc_pb_finish(&r, s->d, "FunctionProto");
}

/* -- attributes -- */
static const onnx_attribute *find_attribute(const onnx_attribute *list, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++) {
    if (strcmp(list[i].name, name) == 0) return &list[i];
  }
  return NULL;
}

static bool has_parameter(const onnx_function *f, const char *name) {
  for (size_t i = 0; i < f->n_parameters; i++) {
    if (strcmp(f->parameters[i], name) == 0) return true;
  }
  return find_attribute(f->defaults, f->n_defaults, name) != NULL;
}

const onnx_attribute *npuc_onnx_parameter(const onnx_source *s, const char *name, bool *out_known) {
  const onnx_frame *frame = s->scope->frame;
  *out_known = has_parameter(frame->function, name);
  if (!*out_known) return NULL;
  const onnx_attribute *given = npuc_onnx_attribute(frame->call, name);
  return given ? given : find_attribute(frame->function->defaults, frame->function->n_defaults, name);
}

/* -- a call -- */
static npuc_status check_call(onnx_source *s, const onnx_node *call, const onnx_function *f) {
  const onnx_frame *caller = s->scope->frame;
  for (const onnx_frame *at = caller; at; at = at->caller) {
    if (at->function == f)
      return npuc_onnx_fail(s, call, NPUC_DIAG_E0310, NULL, "the function %s calls itself, by way of '%s'", f->name, at->label);
  }
  if (caller && caller->depth >= MAX_CALL_DEPTH)
    return npuc_onnx_fail(s, call, NPUC_DIAG_E0310, NULL, "functions call each other more than %d deep", MAX_CALL_DEPTH);
  s->n_inlined += f->n_nodes;
  if (s->n_inlined > MAX_INLINED_NODES)
    return npuc_onnx_fail(s, call, NPUC_DIAG_E0310, NULL, "the model's functions stand for more than %d nodes", MAX_INLINED_NODES);
  if ((size_t)call->n_inputs > f->n_inputs || (size_t)call->n_outputs > f->n_outputs) {
    return npuc_onnx_fail(s, call, NPUC_DIAG_E0411, NULL, "called with %d inputs and %d outputs; the function has %zu and %zu",
                          (int)call->n_inputs, (int)call->n_outputs, f->n_inputs, f->n_outputs);
  }
  for (size_t i = 0; i < call->n_attributes; i++) {
    const char *name = call->attributes[i].name;
    if (!has_parameter(f, name))
      return npuc_onnx_fail(s, call, NPUC_DIAG_E0412, name, "the function %s has no attribute '%s'", f->name, name);
  }
  return NPUC_OK;
}

static void bind_ports(onnx_source *s, const onnx_node *call, const onnx_function *f) {
  for (size_t i = 0; i < f->n_inputs; i++) npuc_onnx_bind(s, f->inputs[i], i < (size_t)call->n_inputs ? call->inputs[i] : NULL);
  s->scope->promised = npuc_map_create(s->scratch);
  for (size_t i = 0; i < (size_t)call->n_outputs; i++) {
    if (call->outputs[i]) npuc_map_put(s->scope->promised, f->outputs[i], call->outputs[i]);
  }
}

/* An output that no node of the body makes is one of the inputs, handed through. */
static npuc_status finish_outputs(onnx_source *s, const onnx_node *call, const onnx_function *f) {
  for (size_t i = 0; i < (size_t)call->n_outputs; i++) {
    value *wanted = call->outputs[i], *source = NULL;
    if (!wanted || wanted->producer) continue;
    if (!npuc_onnx_find(s, f->outputs[i], &source) || !source)
      return npuc_onnx_fail(s, call, NPUC_DIAG_E0417, NULL, "nothing in the function %s makes its output '%s'", f->name, f->outputs[i]);
    if (source == wanted) continue; /* dropped, see upgrade.c, or a list */
    npuc_onnx_settle(s, source);
    location *where = NPUC_NEW(s->m->arena, location);
    where->name = npuc_onnx_label(call);
    (void)npuc_graph_insert_node_with_outputs(s->g, NULL, npuc_op(OP_IDENTITY), npuc_onnx_label(call), &source, 1, &wanted, 1, where);
  }
  return NPUC_OK;
}

npuc_status npuc_onnx_inline(onnx_source *s, const onnx_node *call, onnx_function *f) {
  NPUC_TRY(parse(s, f));
  NPUC_TRY(check_call(s, call, f));
  onnx_scope *outer = s->scope;
  int64_t opset = s->opset;
  bool names_no_opset = s->names_no_opset;
  onnx_frame *frame = NPUC_NEW(s->scratch, onnx_frame); /* its attributes may be looked at later, see scope.c */
  *frame = (onnx_frame){outer->frame, f, call, npuc_onnx_label(call), outer->frame ? outer->frame->depth + 1 : 1};
  s->scope = npuc_onnx_scope(s, s->g, frame);
  if (f->opset) {
    s->opset = s->scope->opset = f->opset;
    s->names_no_opset = false;
  }
  bind_ports(s, call, f);
  npuc_status status = f->text ? npuc_onnx_text_nodes(s, f->text->nodes, f->text->n_nodes) : npuc_onnx_nodes(s, f->nodes, f->n_nodes);
  if (status == NPUC_OK) status = finish_outputs(s, call, f);
  s->scope = outer;
  s->opset = opset;
  s->names_no_opset = names_no_opset;
  return status;
}
