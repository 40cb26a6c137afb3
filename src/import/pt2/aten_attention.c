/* SPDX-License-Identifier: Apache-2.0 */
/* Scaled dot-product attention stays one operator: ONNX's Attention with q, k, v as [batch, heads, length, head_dim]. Without a given scale torch
 * divides by sqrt(head_dim), as ONNX does. enable_gqa repeats the keys' heads, which Attention does by itself. */
#include <math.h>

#include "import/pt2/aten.h"

npuc_status npuc_aten_sdpa(pt2_node *n) {
  value *q, *k, *v, *mask;
  bool causal;
  double scale, dropout;
  NPUC_TRY(npuc_pt2_tensor(n, "query", &q));
  NPUC_TRY(npuc_pt2_tensor(n, "key", &k));
  NPUC_TRY(npuc_pt2_tensor(n, "value", &v));
  NPUC_TRY(npuc_pt2_optional_tensor(n, "attn_mask", &mask));
  NPUC_TRY(npuc_pt2_bool_arg(n, "is_causal", false, &causal));
  NPUC_TRY(npuc_pt2_float_arg(n, "dropout_p", 0.0, &dropout));
  NPUC_TRY(npuc_pt2_float_arg(n, "scale", 0.0, &scale));
  npuc_pt2_ignore(n, "enable_gqa");
  npuc_pt2_ignore(n, "return_debug_mask");
  if (dropout != 0.0) return npuc_pt2_fail(n, NPUC_DIAG_E0336, "dropout_p", "an attention that drops, as in training");
  int32_t rank = q->shape.rank;
  int64_t zero = 0;
  if (rank == 3) {
    NPUC_TRY(npuc_pt2_unsqueeze(n, q, &zero, 1, &q));
    NPUC_TRY(npuc_pt2_unsqueeze(n, k, &zero, 1, &k));
    NPUC_TRY(npuc_pt2_unsqueeze(n, v, &zero, 1, &v));
    if (mask && mask->shape.rank == 3) NPUC_TRY(npuc_pt2_unsqueeze(n, mask, &zero, 1, &mask));
  } else if (rank != 4) {
    return npuc_pt2_fail(n, NPUC_DIAG_E0335, "query", "%d axes; 3 or 4 wanted", rank);
  }
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "Attention", (value *[]){q, k, v, mask}, 4, 1, &made));
  npuc_pt2_set_int(made, "is_causal", causal);
  if (scale != 0.0) npuc_pt2_set_float(made, "scale", scale);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  value *y = made->outputs[0];
  if (rank == 3) NPUC_TRY(npuc_pt2_squeeze(n, y, &zero, 1, &y));
  return npuc_pt2_results(n, &y, 1);
}
