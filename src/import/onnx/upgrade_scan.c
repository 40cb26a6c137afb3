/* SPDX-License-Identifier: Apache-2.0 */
/* Scan of opset 8 runs over a batch: axis 0 of everything is the batch, axis 1 of what is cut the sequence. That is a Scan of today over the batch, without states,
 * around a Scan of today over the sequence. */
#include "import/onnx/source.h"
#include "ir/attributes.h"

/* The node over the sequence, in the graph of one member of the batch. */
static node *add_inner(onnx_source *s, const onnx_node *n, graph *member, graph *body, int64_t n_scanned,
                       const onnx_attribute *directions) {
  value **inputs = NPUC_NEW_ARRAY(s->scratch, (size_t)n->n_inputs, value *);
  for (int32_t i = 0; i < n->n_inputs; i++) {
    inputs[i] = npuc_graph_add_value(member, n->inputs[i]->name, DTYPE_NONE, NULL);
    npuc_graph_mark_input(member, inputs[i]);
  }
  location *where = NPUC_NEW(s->m->arena, location);
  where->name = npuc_onnx_label(n);
  node *inner = npuc_graph_insert_node(member, NULL, npuc_op(OP_SCAN), npuc_onnx_label(n), inputs, n->n_inputs, n->n_outputs, where);
  scan_attributes *a = NPUC_ATTRS(scan_attributes, inner);
  a->body = body;
  a->num_scan_inputs = n_scanned;
  if (directions && directions->ints.count) {
    a->scan_input_directions = directions->ints;
    a->scan_input_directions.values =
        npuc_arena_copy(s->m->arena, directions->ints.values, (size_t)directions->ints.count * sizeof(int64_t));
  }
  for (int32_t i = 0; i < n->n_outputs; i++) npuc_graph_add_output(member, inner->outputs[i]);
  return inner;
}

npuc_status npuc_onnx_upgrade_scan(onnx_source *s, onnx_node *n, onnx_scope *inside) {
  onnx_attribute *body = npuc_onnx_attribute(n, "body"), *count = npuc_onnx_attribute(n, "num_scan_inputs");
  const onnx_attribute *directions = npuc_onnx_attribute(n, "directions");
  if (!body || !count || count->type != ONNX_INT || (directions && directions->type != ONNX_INTS))
    return npuc_onnx_fail(s, n, NPUC_DIAG_E0412, NULL,
                          "a Scan of opset 8 has the attributes body and num_scan_inputs, and may have directions");
  if (n->n_inputs && n->inputs[0])
    return npuc_onnx_fail(s, n, NPUC_DIAG_E0311, NULL, "sequences of several lengths (sequence_lens) in one batch");
  for (int32_t i = 1; i < n->n_inputs; i++) {
    if (!n->inputs[i]) return npuc_onnx_fail(s, n, NPUC_DIAG_E0411, NULL, "input %d may not be omitted", (int)i);
  }
  if (n->n_inputs) { /* sequence_lens goes */
    n->inputs++;
    n->n_inputs--;
  }
  graph *member = npuc_body_create(s->m, "member");
  node *inner = add_inner(s, n, member, body->body, count->i, directions);
  for (size_t i = 0; i < inside->n_captures; i++) {
    onnx_capture *c = &inside->captures[i];
    value *between = npuc_graph_add_value(member, c->outer->name, c->outer->type, &c->outer->shape);
    npuc_body_capture(inner, body->body, c->inner, between);
    c->inner = between;
  }
  inside->g = body->body = member;
  count->i = n->n_inputs;
  npuc_onnx_remove_attribute(n, "directions");
  return NPUC_OK;
}
