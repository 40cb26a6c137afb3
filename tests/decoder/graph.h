/* SPDX-License-Identifier: Apache-2.0 */
/* The graph's nodes on the host (docs/refnpu.md section 7), one loop per formula. */
#ifndef DECODER_GRAPH_H
#define DECODER_GRAPH_H

#include "file.h"

/* Keys of ATTR. */
enum {
  KEY_STRIDES = 1,
  KEY_PADS,
  KEY_DILATIONS,
  KEY_GROUP,
  KEY_X_ZERO_POINT,
  KEY_Y_ZERO_POINT,
  KEY_LO,
  KEY_HI,
  KEY_A_ZERO_POINT,
  KEY_B_ZERO_POINT,
  KEY_KERNEL_SHAPE,
  KEY_CEIL_MODE,
  KEY_COUNT_INCLUDE_PAD,
  KEY_AXIS,
  KEY_AXES,
  KEY_STARTS,
  KEY_ENDS,
  KEY_STEPS,
  KEY_VALUE,
  KEY_PERM,
  KEY_SHAPE,
  KEY_SPLIT,
  KEY_KEEPDIMS,
  KEY_SELECT_LAST_INDEX,
  KEY_COUNT,
  KEY_INNER,
  KEY_REPEAT,
  KEY_CENTRE,
  KEY_EPSILON,
};

enum {
  Q_CONV = 1,
  Q_GEMM,
  Q_ADD,
  Q_MUL,
  Q_REQUANTIZE,
  Q_AVERAGE_POOL,
  Q_GLOBAL_AVERAGE_POOL,
  Q_LOOKUP,
  Q_SOFTMAX,
  Q_LOG_SOFTMAX,
  Q_NORMALIZE,
  Q_MAX_POOL = 16,
  Q_CONCAT,
  Q_PAD,
  Q_RESHAPE,
  Q_FLATTEN,
  Q_SQUEEZE,
  Q_UNSQUEEZE,
  Q_TRANSPOSE,
  Q_SLICE,
  Q_SPLIT,
  Q_GATHER,
  Q_ARG_MAX,
  Q_IDENTITY,
};

typedef struct host_tensor {
  tensor_record record;
  const char *name;
  uint64_t elements;
  uint8_t *data;
  bool owned; /* constants lie in the file */
} host_tensor;

enum { MAX_OUTPUTS = 64 };

typedef struct node_view { /* a node with everything looked up */
  const npu_file *file;
  node_record record;
  const char *name;
  host_tensor *tensors; /* of the whole graph */
  uint32_t inputs, outputs;
} node_view;

host_tensor *decoder_tensors_create(const npu_file *file);
void decoder_tensors_destroy(const npu_file *file, host_tensor *tensors);

void decoder_node_run(const npu_file *file, uint32_t index, host_tensor *tensors);

_Noreturn void decoder_node_fail(const node_view *n, const char *why);
void decoder_node_require(const node_view *n, bool holds, const char *why);
const host_tensor *decoder_node_input(const node_view *n, uint32_t i);
host_tensor *decoder_node_output(const node_view *n, uint32_t i);

/* Value i of an attribute, which must be there; decoder_attribute_count values in all. */
int64_t decoder_attribute(const node_view *n, uint32_t key, uint32_t i);
uint32_t decoder_attribute_count(const node_view *n, uint32_t key);
int64_t decoder_axis(const node_view *n, int64_t axis, unsigned rank);

/* Integer elements of any dtype. */
int64_t decoder_load(const host_tensor *t, uint64_t i);
void decoder_store(host_tensor *t, uint64_t i, int64_t value);

/* clamp(zp + ((t * M + rnd(s)) >> s), lo, hi) with the node's zp, lo, hi. */
typedef struct node_rule {
  int64_t zp, lo, hi;
} node_rule;

node_rule decoder_node_rule(const node_view *n);
int64_t decoder_node_apply(const node_view *n, node_rule rule, int64_t t, int64_t m, int64_t s);

/* Sliding windows over [1, C, H, W]. */
typedef struct window {
  int64_t images, channels, height, width, out_height, out_width;
  int64_t kernel[2], stride[2], dilation[2], pad[4]; /* (height, width); top, left, bottom, right */
} window;

window decoder_window(const node_view *n, const host_tensor *x, int64_t kernel_height, int64_t kernel_width);

void decoder_node_softmax(const node_view *n);
void decoder_node_normalize(const node_view *n);
void decoder_node_pool(const node_view *n);
void decoder_node_move(const node_view *n); /* operators 17 to 28 */

#endif
