/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions. torch: input [N, C, spatial] or [C, spatial], weight [M, C/groups, kernel], transposed [C, M/groups, kernel]; padding a number for
 * each axis or "valid" or "same" (what is odd goes to the end, as ONNX's SAME_UPPER). */
#include <string.h>

#include "import/pt2/aten.h"

typedef struct windows {
  int64_t strides[MAX_RANK], pads[2 * MAX_RANK], dilations[MAX_RANK], output_padding[MAX_RANK];
  size_t n;
} windows;

static npuc_status read_padding(pt2_node *n, const value *weight, windows *w) {
  json_t *raw = npuc_pt2_raw(n, "padding");
  if (!json_is_string(raw)) {
    NPUC_TRY(npuc_pt2_window_ints(n, "padding", 0, w->pads, w->n));
    for (size_t i = 0; i < w->n; i++) w->pads[w->n + i] = w->pads[i];
    return NPUC_OK;
  }
  const char *mode = json_string_value(raw);
  if (strcmp(mode, "valid") == 0) return NPUC_OK;
  if (strcmp(mode, "same") != 0) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "padding", "'%s'; 'valid', 'same' or numbers wanted", mode);
  for (size_t i = 0; i < w->n; i++) {
    int64_t total = w->dilations[i] * (weight->shape.dims[2 + i] - 1);
    w->pads[i] = total / 2;
    w->pads[w->n + i] = total - total / 2;
  }
  return NPUC_OK;
}

npuc_status npuc_aten_conv(pt2_node *n) {
  value *x, *weight, *bias, *y;
  windows w = {0};
  int64_t groups;
  bool transposed = n->onnx != NULL;
  NPUC_TRY(npuc_pt2_tensor(n, "input", &x));
  NPUC_TRY(npuc_pt2_tensor(n, "weight", &weight));
  NPUC_TRY(npuc_pt2_optional_tensor(n, "bias", &bias));
  w.n = (size_t)weight->shape.rank - 2;
  if (weight->shape.rank < 3 || x->shape.rank < weight->shape.rank - 1)
    return npuc_pt2_fail(n, NPUC_DIAG_E0335, "weight", "a weight with %d axes for an input with %d", weight->shape.rank, x->shape.rank);
  NPUC_TRY(npuc_pt2_window_ints(n, "stride", 1, w.strides, w.n));
  NPUC_TRY(npuc_pt2_window_ints(n, "dilation", 1, w.dilations, w.n));
  NPUC_TRY(npuc_pt2_window_ints(n, "output_padding", 0, w.output_padding, w.n));
  NPUC_TRY(read_padding(n, weight, &w));
  NPUC_TRY(npuc_pt2_int_arg(n, "groups", 1, &groups));
  if (npuc_pt2_has(n, "transposed")) NPUC_TRY(npuc_pt2_bool_arg(n, "transposed", false, &transposed));
  static const char *const backend[] = {"benchmark", "deterministic", "cudnn_enabled", "allow_tf32"};
  for (size_t i = 0; i < 4; i++) npuc_pt2_ignore(n, backend[i]);
  bool unbatched = x->shape.rank == weight->shape.rank - 1;
  if (unbatched) NPUC_TRY(npuc_pt2_unsqueeze(n, x, (int64_t[]){0}, 1, &x));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, transposed ? "ConvTranspose" : "Conv", (value *[]){x, weight, bias}, 3, 1, &made));
  npuc_pt2_set_ints(made, "kernel_shape", weight->shape.dims + 2, w.n);
  npuc_pt2_set_ints(made, "strides", w.strides, w.n);
  npuc_pt2_set_ints(made, "dilations", w.dilations, w.n);
  npuc_pt2_set_ints(made, "pads", w.pads, 2 * w.n);
  npuc_pt2_set_int(made, "group", groups);
  if (transposed) npuc_pt2_set_ints(made, "output_padding", w.output_padding, w.n);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  y = made->outputs[0];
  if (unbatched) NPUC_TRY(npuc_pt2_squeeze(n, y, (int64_t[]){0}, 1, &y));
  return npuc_pt2_result(n, y);
}
