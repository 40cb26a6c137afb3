/* SPDX-License-Identifier: Apache-2.0 */
/* Functions: the bodies of our own operators (op_def.body, ONNX text) as model-local FunctionProtos, so that any ONNX tool runs a file of ours. The default domain is
 * imported at the model's opset: a checker compares the two. */
#include "import/onnx/target.h"

static onnx_attribute_type type_of(text_kind kind) {
  switch (kind) {
    case TEXT_INT:
      return ONNX_INT;
    case TEXT_FLOAT:
      return ONNX_FLOAT;
    case TEXT_STRING:
      return ONNX_STRING;
    case TEXT_INTS:
      return ONNX_INTS;
    case TEXT_FLOATS:
      return ONNX_FLOATS;
    case TEXT_STRINGS:
      return ONNX_STRINGS;
    case TEXT_TENSOR:
      return ONNX_TENSOR;
    case TEXT_GRAPH:
      return ONNX_GRAPH;
    case TEXT_TYPE: /* bodies of our operators have none */
    case TEXT_UNTYPED:
      break;
  }
  return ONNX_INTS; /* the empty list: every list of our operators' bodies is of integers */
}

static void put_attribute(pb_writer *w, uint32_t number, const text_attribute *a) {
  npuc_pb_begin(w, number);
  npuc_pb_put_text(w, ATTRIBUTE_NAME, a->name);
  if (!a->reference) {
    switch (a->kind) {
      case TEXT_INT:
        npuc_pb_put_int(w, ATTRIBUTE_I, a->i);
        break;
      case TEXT_FLOAT:
        npuc_pb_put_float(w, ATTRIBUTE_F, a->f);
        break;
      case TEXT_STRING:
        npuc_pb_put_text(w, ATTRIBUTE_S, a->s);
        break;
      case TEXT_TENSOR:
        npuc_onnx_put_tensor(w, ATTRIBUTE_T, NULL, a->t, NULL, NULL);
        break;
      case TEXT_FLOATS:
        npuc_pb_put_floats(w, ATTRIBUTE_FLOATS, a->floats, a->count);
        break;
      case TEXT_INTS:
        npuc_pb_put_ints(w, ATTRIBUTE_INTS, a->ints, a->count);
        break;
      case TEXT_STRINGS:
        for (size_t i = 0; i < a->count; i++) npuc_pb_put_text(w, ATTRIBUTE_STRINGS, a->strings[i]);
        break;
      case TEXT_GRAPH: /* bodies of our operators have none */
      case TEXT_TYPE:
      case TEXT_UNTYPED:
        break;
    }
  }
  npuc_pb_put_int(w, ATTRIBUTE_TYPE, (int64_t)type_of(a->kind));
  if (a->reference) npuc_pb_put_text(w, ATTRIBUTE_REF_NAME, a->reference);
  npuc_pb_end(w);
}

static void put_body_node(pb_writer *w, const text_node *n) {
  npuc_pb_begin(w, FUNCTION_NODE);
  for (size_t i = 0; i < n->n_inputs; i++) npuc_pb_put_text(w, NODE_INPUT, n->inputs[i]);
  for (size_t i = 0; i < n->n_outputs; i++) npuc_pb_put_text(w, NODE_OUTPUT, n->outputs[i]);
  npuc_pb_put_text(w, NODE_OP_TYPE, n->type);
  for (size_t i = 0; i < n->n_attributes; i++) put_attribute(w, NODE_ATTRIBUTE, &n->attributes[i]);
  if (n->domain[0]) npuc_pb_put_text(w, NODE_DOMAIN, n->domain);
  npuc_pb_end(w);
}

static void put_function(const onnx_target *t, pb_writer *w, const function_text *f) {
  npuc_pb_begin(w, MODEL_FUNCTIONS);
  npuc_pb_put_text(w, FUNCTION_NAME, f->name);
  for (size_t i = 0; i < f->n_inputs; i++) npuc_pb_put_text(w, FUNCTION_INPUT, f->inputs[i]);
  for (size_t i = 0; i < f->n_outputs; i++) npuc_pb_put_text(w, FUNCTION_OUTPUT, f->outputs[i]);
  for (size_t i = 0; i < f->n_parameters; i++) npuc_pb_put_text(w, FUNCTION_ATTRIBUTE, f->parameters[i]);
  for (size_t i = 0; i < f->n_nodes; i++) put_body_node(w, &f->nodes[i]);
  npuc_onnx_put_opset(w, FUNCTION_OPSET_IMPORT, "", t->opset);
  npuc_pb_put_text(w, FUNCTION_DOMAIN, "npuc");
  for (size_t i = 0; i < f->n_defaults; i++) put_attribute(w, FUNCTION_DEFAULTS, &f->defaults[i]);
  npuc_pb_end(w);
}

npuc_status npuc_onnx_plan_functions(onnx_target *t) {
  for (int i = 0; i < OP_COUNT; i++) {
    const op_def *op = t->uses_op[i] ? npuc_op((op_id)i) : NULL;
    if (!op || !op->body) continue;
    function_text *f = NPUC_NEW(t->scratch, function_text);
    NPUC_TRY(npuc_function_parse(t->d, t->scratch, op->type, op->body, f));
    t->functions[i] = f;
  }
  return NPUC_OK;
}

void npuc_onnx_put_functions(const onnx_target *t, pb_writer *w) {
  for (int i = 0; i < OP_COUNT; i++) {
    if (t->functions[i]) put_function(t, w, t->functions[i]);
  }
}
