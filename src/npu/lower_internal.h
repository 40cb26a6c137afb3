/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the lowering files only. A stream is lowered in three steps: order its nodes; give every tensor, parameter image and temporary a life and an address; emit. */
#ifndef NPUC_NPU_LOWER_INTERNAL_H
#define NPUC_NPU_LOWER_INTERNAL_H

#include "npu/alloc.h"
#include "npu/emit.h"
#include "npu/lower.h"
#include "npu/tile.h"

enum { NO_BUFFER = UINT32_MAX, MAX_TEMPORARIES = 2 };

/* One node in emission order. */
typedef struct lower_entry {
  uint32_t node;
  int32_t fused_add;   /* node index of a QAdd emitted behind this convolution, or -1 */
  uint32_t parameters; /* buffer of the image that DMA brings: lane parameters, depthwise weights, a table; NO_BUFFER: none */
  uint64_t image_bytes;
  uint64_t image_offset; /* in the constants, once made */
  uint32_t temporaries[MAX_TEMPORARIES];
} lower_entry;

typedef struct lowering {
  diag *d;
  arena *arena;   /* program's */
  arena *scratch; /* this stream's */
  const qgraph *g;
  const int32_t *producers; /* node by tensor, -1: none */
  npu_program *program;
  npu_stream *stream;
  uint32_t first_node, n_nodes; /* the stream's nodes in the graph */
  lower_entry *entries;
  uint32_t n_entries;
  sp_buffer *buffers;
  size_t n_buffers, buffers_capacity;
  uint32_t *buffer_of_tensor;       /* by tensor; NO_BUFFER */
  uint64_t *arena_offset_of_tensor; /* bound tensors */
  emitter e;
  uint32_t weight_cursor; /* ring in the weight buffer */
  uint32_t half;          /* accumulator half of the next chunk: 0 or 1 */
} lowering;

/* A feature tensor with its place. */
typedef struct placed {
  layout l;
  uint64_t address;
  bool is_signed;
} placed;

placed npuc_lower_tensor(const lowering *s, int32_t tensor);
static inline uint64_t lower_image_address(const lowering *s, const lower_entry *entry) { return s->buffers[entry->parameters].address; }
static inline mem_access lower_read(uint64_t begin, uint64_t bytes) { return (mem_access){MEMORY_SCRATCHPAD, begin, begin + bytes, false}; }
static inline mem_access lower_write(uint64_t begin, uint64_t bytes) { return (mem_access){MEMORY_SCRATCHPAD, begin, begin + bytes, true}; }
static inline mem_access lower_acc(uint64_t row, uint64_t rows, bool is_write) {
  return (mem_access){MEMORY_ACCUMULATORS, row, row + rows, is_write};
}
/* The accumulator rows of the next chunk; halves alternate. */
uint32_t npuc_lower_next_half(lowering *s);

/* -- sizes and contents of parameter images (lower_image.c) -- */
uint64_t npuc_lower_image_bytes(const qgraph *g, const npu_arch *arch, const qnode *n);
void npuc_lower_image_fill(const qgraph *g, const npu_arch *arch, const qnode *n, uint8_t *out_bytes);

/* -- configuration shorthands -- */
/* Slot geometry: steps of a loop over pixels. */
void npuc_lower_slot(lowering *s, int slot, bool is_signed, int64_t zp, uint64_t pixel_pitch, uint64_t row_pitch);
/* Slot A as a window's source. */
void npuc_lower_window_source(lowering *s, const placed *x, int64_t zp, int64_t stride_x, int64_t stride_y);
typedef struct clamp_attributes {
  int64_t zp, lo, hi;
} clamp_attributes;
clamp_attributes npuc_lower_clamp(const qnode *n);
void npuc_lower_scalar_parameters(lowering *s, clamp_attributes c, int64_t m, int64_t mb, int64_t shift);
void npuc_lower_lane_parameters(lowering *s, clamp_attributes c, uint64_t address);
/* The same for VNRM, which multiplies by `count`. */
void npuc_lower_row_parameters(lowering *s, clamp_attributes c, uint64_t address, int64_t count);
/* Drains a chunk of accumulators into block `b` of y. */
void npuc_lower_drain(lowering *s, const placed *y, uint32_t b, const pixel_chunk *chunk, uint32_t acc);
/* Walks `bytes` of dense memory as pixels of N bytes: calls back with offset, nx, ny, lanes, row pitch. */
typedef struct linear_piece {
  uint64_t offset;
  uint32_t nx, ny, lanes;
} linear_piece;
/* index-th piece, false after the last. */
bool npuc_lower_linear_piece(uint32_t n, uint64_t bytes, uint32_t index, linear_piece *out_piece);

/* -- operators -- */
void npuc_lower_conv(lowering *s, const lower_entry *entry);
void npuc_lower_depthwise(lowering *s, const lower_entry *entry);
void npuc_lower_average_pool(lowering *s, const lower_entry *entry);
void npuc_lower_max_pool(lowering *s, const lower_entry *entry);
void npuc_lower_binary(lowering *s, const lower_entry *entry);
void npuc_lower_unary(lowering *s, const lower_entry *entry);
void npuc_lower_softmax(lowering *s, const lower_entry *entry);
void npuc_lower_normalize_rows(lowering *s, const lower_entry *entry);
void npuc_lower_concat(lowering *s, const lower_entry *entry);
void npuc_lower_split(lowering *s, const lower_entry *entry);
void npuc_lower_slice(lowering *s, const lower_entry *entry);
void npuc_lower_pad(lowering *s, const lower_entry *entry);
/* The part of QAdd `node` over dense bytes [begin, begin + bytes) of its operands, which all have one geometry. */
void npuc_lower_add_range(lowering *s, const qnode *n, uint64_t begin, uint64_t bytes);

#endif
