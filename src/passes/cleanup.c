/* SPDX-License-Identifier: Apache-2.0 */
/* cleanup: folding, patterns, merging and dead code, round after round until nothing changes. One pass, so that no pipeline has to
 * repeat its parts by hand. A round is linear in the graph; each round but the last makes the graph smaller or simpler. */
#include "passes/internal.h"

enum { MAX_ROUNDS = 64 };

static void remove_dead(pass_context *c, graph *g, bool *out_changed) {
  (void)c;
  if (npuc_graph_remove_dead(g)) *out_changed = true;
}

npuc_status npuc_pass_cleanup(pass_context *c, graph *g, bool *out_changed) {
  arena *pass_scratch = c->scratch;
  npuc_status status = NPUC_OK;
  bool changed = true;
  remove_dead(c, g, out_changed);
  for (int round = 0; changed && status == NPUC_OK; round++) {
    if (round == MAX_ROUNDS) {
      diag_place place = {.part = g->name};
      return npuc_fail(c->d, NPUC_DIAG_E0501, &place, "cleanup still changes the graph after %d rounds", MAX_ROUNDS);
    }
    c->scratch = npuc_arena_create();
    changed = npuc_sink_constants(c, g);
    changed = npuc_inline_known_branches(c, g) || changed;
    status = npuc_fold_constants(c, g, &changed);
    if (status == NPUC_OK) status = npuc_pass_rewrite(c, g, npuc_cleanup_patterns, &changed);
    if (status == NPUC_OK) status = npuc_merge_equal(c, g, &changed);
    npuc_arena_destroy(c->scratch);
    c->scratch = pass_scratch;
    remove_dead(c, g, &changed);
    *out_changed = *out_changed || changed;
  }
  return status;
}
