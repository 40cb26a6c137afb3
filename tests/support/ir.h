/* SPDX-License-Identifier: Apache-2.0 */
/* IR tests are written in text: a graph in, text or facts out. Everything here fails the test when it fails. */
#ifndef NPUC_TESTS_SUPPORT_IR_H
#define NPUC_TESTS_SUPPORT_IR_H

#include "ir/op.h"
#include "ir/text.h"

/* Parsed, inferred and verified. Destroy with npuc_module_destroy. */
module *npuc_test_module(const char *text);
/* Parsed only: for graphs that are wrong behind the syntax. */
module *npuc_test_parse(const char *text);
/* Both graphs printed, with constants in full, must be equal; blanks at line starts and `expected`'s header may be left out. */
void npuc_test_graph_is(const graph *g, const char *expected);
/* "float[N,3]" of the value called `name`. */
void npuc_test_type_is(const graph *g, const char *name, const char *expected);
/* The first error has this code, and its reason or place contains `part`. */
void npuc_test_error_is(const diag *d, diag_code code, const char *part);
/* Every use, link, name and port recounted from scratch, independent of the verifier. */
void npuc_test_recount(const graph *g);

#endif
