/* SPDX-License-Identifier: Apache-2.0 */
/* Parameter images: what a node needs in the scratchpad beside its tensors. Layouts by operator, one block of lanes after another:
 *
 *   QConv, QGemm   [blocks] lane parameters of 8N bytes;  depthwise: then [taps][blocks] rows of N weights
 *   QNormalize     the same, with N lanes more: a group may begin in the middle of a block
 *   Lookup         256 bytes;   QSoftmax: 512 bytes */
#include <string.h>

#include "npu/lower_internal.h"

static bool is_depthwise(const qnode *n) { return n->op == QOP_QConv && npuc_qnode_int(n, QATTR_group, 1) > 1; }

static uint64_t blocks_of(const qgraph *g, const npu_arch *arch, const qnode *n) {
  /* Output channels are the weights' first axis. */
  return ((uint64_t)g->tensors[n->inputs[1]].dims[0] + arch->n - 1) / arch->n;
}

uint64_t npuc_lower_image_bytes(const qgraph *g, const npu_arch *arch, const qnode *n) {
  switch (n->op) {
    case QOP_QConv:
    case QOP_QGemm: {
      uint64_t blocks = blocks_of(g, arch, n), bytes = blocks * 8 * arch->n;
      const qtensor *w = &g->tensors[n->inputs[1]];
      return is_depthwise(n) ? bytes + blocks * arch->n * (uint64_t)(w->dims[2] * w->dims[3]) : bytes;
    }
    case QOP_QNormalize:
      return 8 * (uint64_t)(npuc_qtensor_elements(&g->tensors[n->inputs[1]]) + 2 * (int64_t)arch->n);
    case QOP_Lookup:
      return 256;
    case QOP_QSoftmax:
      return 512;
    default:
      return 0;
  }
}

static void put_u32(uint8_t *out_bytes, uint32_t v) {
  for (int i = 0; i < 4; i++) out_bytes[i] = (uint8_t)(v >> 8 * i & 255);
}

/* `first` is the index of the bias, before M and s. */
static void fill_lanes(const qgraph *g, const qnode *n, int32_t first, uint8_t *out_bytes) {
  const qtensor *bias = &g->tensors[n->inputs[first]], *m = &g->tensors[n->inputs[first + 1]], *s = &g->tensors[n->inputs[first + 2]];
  int64_t channels = npuc_qtensor_elements(bias);
  /* Lanes without a channel keep zeros: M = 0 makes them the zero point. */
  for (int64_t c = 0; c < channels; c++) {
    uint8_t *lane = out_bytes + 8 * c;
    uint32_t multiplier = (uint32_t)npuc_qtensor_value(m, c);
    put_u32(lane, (uint32_t)npuc_qtensor_value(bias, c));
    lane[4] = (uint8_t)(multiplier & 255);
    lane[5] = (uint8_t)(multiplier >> 8 & 255);
    lane[6] = (uint8_t)npuc_qtensor_value(s, c);
  }
}

static void fill_depthwise(const qgraph *g, const npu_arch *arch, const qnode *n, uint8_t *out_bytes) {
  const qtensor *w = &g->tensors[n->inputs[1]]; /* [C, 1, kh, kw] */
  uint64_t row = blocks_of(g, arch, n) * arch->n, taps = (uint64_t)(w->dims[2] * w->dims[3]);
  const uint8_t *weights = w->data;
  for (uint64_t c = 0; c < (uint64_t)w->dims[0]; c++) {
    for (uint64_t tap = 0; tap < taps; tap++) out_bytes[tap * row + c] = weights[c * taps + tap];
  }
}

void npuc_lower_image_fill(const qgraph *g, const npu_arch *arch, const qnode *n, uint8_t *out_bytes) {
  switch (n->op) {
    case QOP_QConv:
    case QOP_QGemm:
      fill_lanes(g, n, 2, out_bytes);
      if (is_depthwise(n)) fill_depthwise(g, arch, n, out_bytes + blocks_of(g, arch, n) * 8 * arch->n);
      break;
    case QOP_QNormalize:
      fill_lanes(g, n, 1, out_bytes);
      break;
    case QOP_Lookup:
      memcpy(out_bytes, g->tensors[n->inputs[1]].data, 256);
      break;
    case QOP_QSoftmax:
      for (int64_t i = 0; i < 256; i++) {
        int64_t v = npuc_qtensor_value(&g->tensors[n->inputs[1]], i);
        out_bytes[2 * i] = (uint8_t)(v & 255);
        out_bytes[2 * i + 1] = (uint8_t)(v >> 8 & 255);
      }
      break;
    default:
      break;
  }
}
