/* SPDX-License-Identifier: Apache-2.0 */
/* legalize: operators into the forms that NPU compilers know, in three groups that feed each other: activations (legal_activation.c),
 * matrices (legal_matrix.c), windows (legal_window.c). What is left in a form that the target does not know runs on the host. */
#include "passes/internal.h"

npuc_status npuc_pass_legalize(pass_context *c, graph *g, bool *out_changed) {
  const pattern_set sets[] = {npuc_activation_patterns, npuc_matrix_patterns, npuc_window_patterns};
  size_t n = 0;
  const pattern **all = NPUC_NEW_ARRAY(c->scratch, sets[0].count + sets[1].count + sets[2].count, const pattern *);
  for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
    for (size_t k = 0; k < sets[i].count; k++) all[n++] = sets[i].patterns[k];
  }
  return npuc_pass_rewrite(c, g, (pattern_set){all, n}, out_changed);
}
