/* SPDX-License-Identifier: Apache-2.0 */
/* qgraph: the op-level integer graph in memory, as the `.npu` file holds it (docs/refnpu.md sections 6.3 and 7). It is what the NPU compiler reads and what the runtime
 * executes as engine `graph`: tensors with static shapes, nodes in topological order, attributes as lists of integers, constants by pointer. Standard operators have
 * their ONNX constant inputs (axes, starts, pads ...) as attributes, so that nothing is left to evaluate. */
#ifndef NPUC_NPU_QGRAPH_H
#define NPUC_NPU_QGRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "tensor/dtype.h"

typedef enum qop {
#define QOP(name, code) QOP_##name = (code),
#include "npu/qops.def"
#undef QOP
} qop;

typedef enum qattr_key {
#define QATTR(name, code) QATTR_##name = (code),
#include "npu/qops.def"
#undef QATTR
} qattr_key;

typedef enum qrole { QROLE_ACTIVATION, QROLE_CONSTANT, QROLE_INPUT, QROLE_OUTPUT } qrole;

typedef struct qtensor {
  const char *name;   /* unique, not empty */
  const char *source; /* name in the source model, or "" */
  dtype type;
  qrole role;
  int32_t rank;
  int64_t dims[8];
  bool has_quant; /* real = scale * (q - zero_point), metadata only: nothing is computed from it */
  double scale;
  int64_t zero_point;
  const void *data; /* constants: row-major bytes that outlive the graph; else NULL */
  size_t bytes;
} qtensor;

typedef struct qattr {
  qattr_key key;
  const int64_t *values;
  uint32_t count;
} qattr;

typedef struct qnode {
  qop op;
  const char *name;
  const char *source;
  const int32_t *inputs; /* tensor indices; -1 for an omitted input */
  int32_t n_inputs;
  const int32_t *outputs;
  int32_t n_outputs;
  const qattr *attributes;
  int32_t n_attributes;
  bool on_npu;              /* set by npuc_npu_place_all */
  const char *place_reason; /* never NULL after it */
} qnode;

typedef struct qgraph {
  arena *arena; /* borrowed: owns everything but constants' bytes */
  qtensor *tensors;
  size_t n_tensors, tensors_capacity;
  qnode *nodes;
  size_t n_nodes, nodes_capacity;
  int32_t *inputs;
  size_t n_inputs, inputs_capacity;
  int32_t *outputs;
  size_t n_outputs, outputs_capacity;
} qgraph;

qgraph *npuc_qgraph_create(arena *a);
/* The tensor is copied; its index is returned. Bytes are computed from type and dims when 0. */
int32_t npuc_qgraph_add_tensor(qgraph *g, const qtensor *t);
/* Everything is copied; attributes in any order. Returns the node, valid until the next is added. */
qnode *npuc_qgraph_add_node(qgraph *g, const qnode *n);
void npuc_qgraph_add_input(qgraph *g, int32_t tensor);
void npuc_qgraph_add_output(qgraph *g, int32_t tensor);

const char *npuc_qop_name(qop op); /* "QConv"; NULL when there is no such operator */
/* First value of an attribute; `missing` when absent. */
int64_t npuc_qnode_int(const qnode *n, qattr_key key, int64_t missing);
/* The list (NULL and 0 when absent). */
const int64_t *npuc_qnode_list(const qnode *n, qattr_key key, uint32_t *out_count);
int64_t npuc_qtensor_elements(const qtensor *t);
/* Element of a constant as an integer (u8, s8, u16, s16, i32, i64). */
int64_t npuc_qtensor_value(const qtensor *t, int64_t index);
/* Multiply-accumulates of a node. */
uint64_t npuc_qnode_macs(const qgraph *g, const qnode *n);
/* Order, indices, dtypes, shapes and attribute presence of every node: E0802 names the node. */
npuc_status npuc_qgraph_verify(diag *d, const qgraph *g) NPUC_MUST_USE;

#endif
