/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the ONNX writer: what was decided before the first byte, and the emitters that its files share. */
#ifndef NPUC_IMPORT_ONNX_TARGET_H
#define NPUC_IMPORT_ONNX_TARGET_H

#include "formats/protobuf.h"
#include "import/onnx/onnx.h"
#include "import/onnx/schema.h"
#include "ir/name_scope.h"
#include "ir/op.h"
#include "ir/text.h"

typedef struct value_plan {
  bool written;         /* as an initializer */
  const char *location; /* external data, or NULL */
  uint64_t offset;
  const char *scale_name, *zero_point_name; /* of a value with quant */
} value_plan;

/* One graph, the part or a body, in the order in which the file has it. */
typedef struct graph_target {
  const graph *g;
  name_scope names;
  const value **values;
  size_t n_values;
  value_plan *plans;            /* by value id */
  struct graph_target **bodies; /* [node id]: of the node's first body; the next one's follow it. NULL: no node has one */
  struct graph_target *next;    /* body of the same node */
} graph_target;

typedef struct onnx_target {
  diag *d;
  const module *m;
  const onnx_weights *weights;
  arena *scratch;
  int64_t opset;
  bool has_npuc;
  bool uses_op[OP_COUNT];                   /* operators of domain npuc */
  const function_text *functions[OP_COUNT]; /* their bodies, parsed; NULL: not used */
  graph_target *part;
} onnx_target;

void npuc_onnx_put_entry(pb_writer *w, uint32_t number, const char *key, const char *text);
void npuc_onnx_put_opset(pb_writer *w, uint32_t number, const char *domain, int64_t version);
/* plan and owner may be NULL. */
void npuc_onnx_put_tensor(pb_writer *w, uint32_t number, const char *name, const tensor *t, const value_plan *plan, const value *owner);
void npuc_onnx_put_node(const onnx_target *t, const graph_target *g, pb_writer *w, const node *n);
void npuc_onnx_put_graph(const onnx_target *t, const graph_target *g, pb_writer *w, uint32_t number);
void npuc_onnx_put_type(const onnx_target *t, pb_writer *w, uint32_t number, dtype type);
bool npuc_onnx_is_default(const attr_field *field, const void *attributes);

/* Parses the bodies of the operators used. */
npuc_status npuc_onnx_plan_functions(onnx_target *t) NPUC_MUST_USE;
void npuc_onnx_put_functions(const onnx_target *t, pb_writer *w);

#endif
