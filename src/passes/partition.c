/* SPDX-License-Identifier: Apache-2.0 */
/* partition: asks the target about each node, in order, and writes place and reason into it. Without a target, everything is the host's. */
#include "passes/internal.h"

npuc_status npuc_pass_partition(pass_context *c, graph *g, bool *out_changed) {
  const pass_target *target = c->options->target;
  NPUC_EACH_NODE(g, n) {
    const char *reason = NULL;
    bool npu = target && target->place && target->place(target->user, n, &reason);
    if (!reason) reason = npu ? "supported" : target ? "not in the target's table" : "no target is asked";
    n->place = npu ? "npu" : "host";
    n->place_reason = npuc_intern(g->module->names, reason);
    *out_changed = true;
  }
  return NPUC_OK;
}
