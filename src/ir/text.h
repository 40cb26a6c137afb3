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

typedef struct text_options {
  int32_t max_elements; /* constants with more are printed as `...` with a comment; 0 means 16; negative prints all */
  bool types;           /* annotate each node's outputs with their types */
  bool locations;       /* append metadata as comments */
} text_options;

/* Text in the arena, NUL-terminated. */
char *npuc_module_print(arena *a, const module *m, const text_options *options);
char *npuc_graph_print(arena *a, const graph *g, const text_options *options);
/* Parses a model (with or without header: default opset 28). Errors name line and column; `name` stands for the file in messages. */
npuc_status npuc_module_parse(diag *d, const char *name, const char *text, size_t n, module **out_module) NPUC_MUST_USE;

#endif
