/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operators of other domains that npuc reads: ONNX Runtime's (com.microsoft) and QONNX's. */
#ifndef NPUC_IMPORT_ONNX_FOREIGN_H
#define NPUC_IMPORT_ONNX_FOREIGN_H

#include <stddef.h>

/* One form of an operator. `when` has conditions, separated by blanks, that all must hold of a call:
 *
 *   3          input 3 is given             !3             it is not
 *   mode=max   the attribute has the value   mode=max?     it has, or is absent
 *   mode!      the attribute is absent       mode*         it is given
 *   0:double   input 0 has the type
 *
 * body: ONNX text of a function, opset 28, with the operator's name, inputs, outputs and attributes. npuc.Inline <graph: graph = @a> (inputs) stands for the nodes
 * of the graph that the call has as attribute a. */
typedef struct foreign_form {
  const char *domain, *type, *when, *body;
} foreign_form;

extern const foreign_form npuc_foreign_forms[];
extern const size_t npuc_foreign_count;

#endif
