/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's own textual syntax (onnx/docs/Syntax.md): what dumps print and what pass tests are written in.
 *
 *   <ir_version: 10, opset_import: ["" : 28, "npuc" : 1]>
 *   main (float[N,3,32,32] image) => (float[N,10] logits)
 *   <float[16,3,3,3] w = {...}>
 *   {
 *      y = Conv <strides = [1,1]> (image, w)
 *   } */
#ifndef NPUC_IR_TEXT_H
#define NPUC_IR_TEXT_H

#include "ir/graph.h"

/* -- models -- */

typedef struct text_options {
  int32_t max_elements; /* constants with more are printed as `{...}` with a comment; 0 means 16; negative prints all */
  bool types;           /* annotate each node's outputs with their types, in a comment */
  bool locations;       /* append location and placement as comments */
} text_options;

/* Text in the arena, NUL-terminated. A module of several parts prints one model after the other. What is printed without `{...}` parses back to
 * the same graph, and onnx.parser takes it. Attributes that have their default value are left out; a node's label [name] too when the name is
 * its first output's. */
char *npuc_module_print(arena *a, const module *m, const text_options *options);
char *npuc_graph_print(arena *a, const graph *g, const text_options *options);
/* "float[N,3,32]", as in the text form. */
char *npuc_type_print(arena *a, const module *m, dtype type, const shape *s);
/* Parses a model (with or without header: default opset 28). Errors name line and column; `name` stands for the file in messages. Inner values have
 * the types that the text declares for them: call npuc_graph_infer for the rest. Nodes may stand in any order; they are sorted. */
npuc_status npuc_module_parse(diag *d, const char *name, const char *text, size_t n, module **out_module) NPUC_MUST_USE;

/* -- functions, independent of the op table: the bodies of npuc operators on their way into a file -- */

typedef enum text_kind {
  TEXT_UNTYPED,
  TEXT_INT,
  TEXT_FLOAT,
  TEXT_STRING,
  TEXT_INTS,
  TEXT_FLOATS,
  TEXT_STRINGS,
  TEXT_TENSOR,
  TEXT_GRAPH,
  TEXT_TYPE
} text_kind;

/* name = literal, or name : kind = @reference. Which members are set follows from the kind; count is the length of a list. An empty list without a
 * type is TEXT_UNTYPED with count 0. */
typedef struct text_attribute {
  const char *name;
  text_kind kind;
  const char *reference; /* the function's attribute parameter, or NULL for a literal */
  int64_t i;
  float f;
  const char *s;
  const int64_t *ints;
  const float *floats;
  const char *const *strings;
  size_t count;
  const tensor *t;
  dtype type;
  const struct text_cursor *graph; /* where the graph begins: read once the values around it are known */
  uint32_t line, column;
} text_attribute;

/* [label] outputs = domain.type <attributes> (inputs); names are "" where omitted. */
typedef struct text_node {
  const char *label;  /* or NULL */
  const char *domain; /* "" default */
  const char *type;
  const char *const *inputs;
  const char *const *outputs;
  size_t n_inputs, n_outputs;
  const text_attribute *attributes;
  size_t n_attributes;
  uint32_t line, column;
} text_node;

typedef struct text_opset {
  const char *domain;
  int64_t version;
} text_opset;

/* <domain: "npuc", opset_import: ["" : 21]> Name <parameter, parameter = default> (inputs) => (outputs) { nodes }; the header may be absent. */
typedef struct function_text {
  const char *domain; /* "" when no header says */
  const char *name;
  const text_opset *opsets;
  size_t n_opsets;
  const char *const *parameters; /* without a default: the caller must give them */
  size_t n_parameters;
  const text_attribute *defaults;
  size_t n_defaults;
  const char *const *inputs;
  const char *const *outputs;
  size_t n_inputs, n_outputs;
  const text_node *nodes;
  size_t n_nodes;
} function_text;

/* Everything, the tensors of attributes too, lives in the arena. `name` stands for the file in messages. */
npuc_status npuc_function_parse(diag *d, arena *a, const char *name, const char *text, function_text *out_function) NPUC_MUST_USE;

#endif
