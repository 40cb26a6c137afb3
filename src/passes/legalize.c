/* SPDX-License-Identifier: Apache-2.0 */
/* legalize: operators into the forms that NPU compilers know, in groups that feed each other: activations (legal_activation.c),
 * matrices (legal_matrix.c), windows (legal_window.c), reductions (legal_reduce.c), movement (legal_move.c), other resolutions (legal_resample.c). What is left in a form that the target does not know runs on the host. */
#include "passes/internal.h"

npuc_status npuc_pass_legalize(pass_context *c, graph *g, bool *out_changed) {
  const pattern_set sets[] = {npuc_activation_patterns, npuc_matrix_patterns, npuc_window_patterns,
                              npuc_reduce_patterns,     npuc_move_patterns,   npuc_resample_patterns};
  const size_t n_sets = sizeof sets / sizeof sets[0];
  size_t n = 0;
  for (size_t i = 0; i < n_sets; i++) n += sets[i].count;
  const pattern **all = NPUC_NEW_ARRAY(c->scratch, n, const pattern *);
  n = 0;
  for (size_t i = 0; i < n_sets; i++) {
    for (size_t k = 0; k < sets[i].count; k++) all[n++] = sets[i].patterns[k];
  }
  return npuc_pass_rewrite(c, g, (pattern_set){all, n}, out_changed);
}
