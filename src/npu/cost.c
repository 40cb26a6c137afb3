/* SPDX-License-Identifier: Apache-2.0 */
/* The model: an operator's passes and vector walks are counted as lowering makes them. Array and vector work of neighbouring convolutions overlap, so the array's time
 * stands for both; vector-only operators (depthwise, pools, softmax) stand in line with it. */
#include "npu/cost.h"

#include <string.h>

#include "npu/tile.h"

typedef struct sizes {
  layout x, y;
} sizes;

static uint64_t max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

static uint64_t pixels(const layout *l) { return (uint64_t)l->h * l->w; }

static conv_shape conv_of(const qgraph *g, const qnode *n, const sizes *s) {
  conv_shape c = {.x = s->x, .y = s->y, .kh = 1, .kw = 1, .stride_y = 1, .stride_x = 1, .dilation_y = 1, .dilation_x = 1};
  if (n->op == QOP_QGemm) {
    if (s->y.w == 1) c.kh = s->x.h, c.kw = s->x.w;
    return c;
  }
  const qtensor *w = &g->tensors[n->inputs[1]];
  uint32_t count;
  const int64_t *dilations = npuc_qnode_list(n, QATTR_dilations, &count);
  c.kh = (uint32_t)w->dims[2], c.kw = (uint32_t)w->dims[3];
  if (count == 2) c.dilation_x = (uint32_t)dilations[1];
  return c;
}

/* Every pass: LDW, MM. Every chunk: VPAR, VRQ, and WAITs for the accumulators on both sides. */
static npu_node_cost array_cost(const qgraph *g, const qnode *n, const npu_arch *arch, const sizes *s) {
  conv_shape c = conv_of(g, n, s);
  uint32_t blocks = npuc_layout_blocks(&c.y), least = blocks == 1 ? 2 : 1, tiles = npuc_npu_tile_count(&c),
           chunks = npuc_npu_chunk_count(&c.y, least);
  npu_node_cost cost = {.image_bytes = (uint64_t)blocks * 8 * arch->n, .instructions = 4};
  for (uint32_t i = 0; i < tiles; i++) cost.image_bytes += (uint64_t)npuc_npu_tile_at(&c, i).rows * arch->n * blocks;
  for (uint32_t i = 0; i < chunks; i++) {
    pixel_chunk chunk = npuc_npu_chunk_at(&c.y, least, i);
    cost.array_cycles += (uint64_t)blocks * tiles * max_u64((uint64_t)chunk.nx * chunk.ny, arch->n + 1);
  }
  cost.vector_cycles = blocks * (pixels(&c.y) + chunks * 12);
  cost.instructions += (uint64_t)blocks * chunks * (2 * tiles + 6);
  return cost;
}

static npu_node_cost window_cost(const qgraph *g, const qnode *n, const npu_arch *arch, const sizes *s) {
  uint64_t taps = pixels(&s->x), blocks = npuc_layout_blocks(&s->y), out = pixels(&s->y), chunks = npuc_npu_chunk_count(&s->y, 1);
  npu_node_cost cost = {0};
  if (n->op == QOP_QConv) {
    const qtensor *w = &g->tensors[n->inputs[1]];
    taps = (uint64_t)(w->dims[2] * w->dims[3]);
    cost.image_bytes = blocks * arch->n * (8 + taps);
  } else if (n->op != QOP_QGlobalAveragePool) {
    uint32_t count;
    const int64_t *kernel = npuc_qnode_list(n, QATTR_kernel_shape, &count);
    taps = (uint64_t)(kernel[0] * kernel[1]);
  }
  bool held = out * max_u64(taps, 8) < taps * max_u64(out, 8);
  uint64_t windows = held ? out : taps * chunks;
  cost.vector_cycles = blocks * ((held ? out * max_u64(taps, 8) : taps * max_u64(out, 8 * chunks)) + out + 24 * chunks);
  cost.instructions = blocks * (windows + 4 * chunks) + 4;
  return cost;
}

static npu_node_cost move_cost(const qnode *n, const npu_arch *arch, const sizes *s) {
  uint64_t units = (npuc_layout_bytes(&s->y) + arch->n - 1) / arch->n;
  npu_node_cost cost = {.vector_cycles = units + 20, .instructions = 6};
  switch (n->op) {
    case QOP_QSoftmax:
      cost.vector_cycles = npuc_layout_blocks(&s->y) * (5 * pixels(&s->y) + 512 / arch->n + 40) + 48;
      cost.instructions = 12 * npuc_layout_blocks(&s->y);
      cost.image_bytes = 512;
      break;
    case QOP_QNormalize:
      cost.vector_cycles = npuc_layout_blocks(&s->y) * (3 * pixels(&s->y) + 60) + 60;
      cost.instructions = (8 + 9 * npuc_layout_blocks(&s->y)) * (1 + pixels(&s->y) / 160);
      cost.image_bytes = 8 * (s->y.c + 2 * arch->n);
      break;
    case QOP_Lookup:
      cost.vector_cycles += 256 / arch->n;
      cost.image_bytes = 256;
      break;
    case QOP_Pad:
      cost.vector_cycles += npuc_layout_blocks(&s->x) * pixels(&s->x) + 16;
      break;
    case QOP_Concat:
    case QOP_Slice:
    case QOP_Split:
      cost.vector_cycles = npuc_layout_blocks(&s->y) * pixels(&s->y) + 16;
      cost.instructions = 4 * npuc_layout_blocks(&s->y);
      break;
    case QOP_Reshape:
    case QOP_Flatten:
    case QOP_Squeeze:
    case QOP_Unsqueeze:
    case QOP_Identity:
    case QOP_Transpose:
      return (npu_node_cost){0};
    default:
      break;
  }
  return cost;
}

npu_node_cost npuc_npu_node_cost(const qgraph *g, size_t node, const npu_arch *arch) {
  const qnode *n = &g->nodes[node];
  sizes s;
  if (!npuc_npu_layout_of(g, arch, n->inputs[0], &s.x) || !npuc_npu_layout_of(g, arch, n->outputs[0], &s.y)) return (npu_node_cost){0};
  switch (n->op) {
    case QOP_QGemm:
      return array_cost(g, n, arch, &s);
    case QOP_QConv:
      return npuc_qnode_int(n, QATTR_group, 1) == 1 ? array_cost(g, n, arch, &s) : window_cost(g, n, arch, &s);
    case QOP_QAveragePool:
    case QOP_QGlobalAveragePool:
    case QOP_MaxPool:
      return window_cost(g, n, arch, &s);
    default:
      return move_cost(n, arch, &s);
  }
}

/* Whether vector work of the node hides behind the array: not where the next array work needs it at once. */
static bool stands_in_line(const qnode *n) {
  return n->op == QOP_QAveragePool || n->op == QOP_QGlobalAveragePool || n->op == QOP_MaxPool || n->op == QOP_QSoftmax ||
         n->op == QOP_QNormalize || n->op == QOP_Lookup || (n->op == QOP_QConv && npuc_qnode_int(n, QATTR_group, 1) > 1);
}

static uint64_t table_bytes(const qgraph *g) {
  uint64_t bytes = 64 + 15 * (48 + 32) + 64; /* header, section table and the gaps of alignment, one configuration */
  for (size_t i = 0; i < g->n_tensors; i++)
    bytes += 128 + strlen(g->tensors[i].name) + 1 + (g->tensors[i].data ? (g->tensors[i].bytes + 63) / 64 * 64 : 0);
  for (size_t i = 0; i < g->n_nodes; i++) {
    const qnode *n = &g->nodes[i];
    uint64_t ints = (uint64_t)n->n_inputs + (uint64_t)n->n_outputs;
    for (int32_t k = 0; k < n->n_attributes; k++) ints += n->attributes[k].count;
    bytes += 64 + 8 * ints + 16 * (uint64_t)n->n_attributes + strlen(n->name) + strlen(n->source) + 2;
  }
  return bytes;
}

npu_cost npuc_npu_predict(const qgraph *g, const npu_arch *arch) {
  npu_cost total = {.file_bytes = table_bytes(g) + NPU_QUEUES * 16 + 2048};
  bool in_stream = false;
  for (size_t i = 0; i < g->n_nodes; i++) {
    const qnode *n = &g->nodes[i];
    if (!n->on_npu) {
      in_stream = false;
      continue;
    }
    npu_node_cost cost = npuc_npu_node_cost(g, i, arch);
    if (!in_stream) total.cycles += 2 * (uint64_t)arch->dma_descriptor_cycles; /* the first input and tile */
    in_stream = true;
    total.cycles += cost.array_cycles + (stands_in_line(n) ? cost.vector_cycles : 0);
    if (cost.array_cycles > 0) total.cycles += 2 * (uint64_t)arch->n; /* a drain now and then is seen */
    total.file_bytes += (cost.image_bytes + 63) / 64 * 64 + 16 * cost.instructions + 32 * 5;
  }
  return total;
}
