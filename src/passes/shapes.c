/* SPDX-License-Identifier: Apache-2.0 */
/* infer-shapes: what every value is, and the attributes that follow from it (auto_pad becomes pads). */
#include "passes/internal.h"

npuc_status npuc_pass_infer_shapes(pass_context *c, graph *g, bool *out_changed) {
  (void)out_changed;
  return npuc_graph_infer(c->d, g);
}
