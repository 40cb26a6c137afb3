/* SPDX-License-Identifier: Apache-2.0 */
/* legalize: operators into the forms that NPU compilers know, in three groups that feed each other: activations (legal_activation.c),
 * matrices (legal_matrix.c), windows (legal_window.c). What is left in a form that the target does not know runs on the host. */
#include "passes/internal.h"

npuc_status npuc_pass_legalize(pass_context *c, graph *g, bool *out_changed) {
  size_t n = npuc_n_activation_patterns + npuc_n_matrix_patterns + npuc_n_window_patterns, at = 0;
  const pattern **all = NPUC_NEW_ARRAY(c->scratch, n, const pattern *);
  for (size_t i = 0; i < npuc_n_activation_patterns; i++) all[at++] = npuc_activation_patterns[i];
  for (size_t i = 0; i < npuc_n_matrix_patterns; i++) all[at++] = npuc_matrix_patterns[i];
  for (size_t i = 0; i < npuc_n_window_patterns; i++) all[at++] = npuc_window_patterns[i];
  return npuc_pass_rewrite(c, g, all, n, out_changed);
}
