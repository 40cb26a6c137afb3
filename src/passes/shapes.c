/* SPDX-License-Identifier: Apache-2.0 */
/* infer-shapes: what every value is, and the attributes that follow from it (auto_pad becomes pads). The manager infers before a pass that
 * requires shapes where they are not known; this pass only says where that shall happen, and gives the moment a name for
 * --print-after and --stop-after. */
#include "passes/internal.h"

npuc_status npuc_pass_infer_shapes(pass_context *c, graph *g, bool *out_changed) {
  (void)c, (void)g, (void)out_changed;
  return NPUC_OK;
}
