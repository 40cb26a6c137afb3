/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one real number: what a table of 256 entries can hold. */
#ifndef NPUC_QUANT_UNARY_H
#define NPUC_QUANT_UNARY_H

#include "ir/graph.h"

/* The node as a function of its one activation, at v, by basic operations alone: the result does not depend on a C library. False where the
 * node is no such function. NaN and infinities come out where ONNX has them. */
bool npuc_unary_real(const node *n, double v, double *out_y);

/* The same question without a number. */
bool npuc_unary_known(const node *n);

#endif
