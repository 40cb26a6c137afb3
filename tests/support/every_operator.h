/* SPDX-License-Identifier: Apache-2.0 */
/* A small integer network in ONNX text that has every operator of docs/refnpu.md section 7 at least once, with weights and tables by chance (seeded); and the same as a
 * `.npu` file. */
#ifndef NPUC_TESTS_SUPPORT_EVERY_OPERATOR_H
#define NPUC_TESTS_SUPPORT_EVERY_OPERATOR_H

#include "ir/graph.h"

/* Activations are s8 or u8. The text lives in the arena. */
const char *npuc_every_operator_text(arena *a, bool is_signed);
/* Compiles `g` for refnpu-nN and writes `path`. Fails the test when it cannot. */
void npuc_test_build_npu(const graph *g, int n, const char *path);

#endif
