/* SPDX-License-Identifier: Apache-2.0 */
/* What the evaluation files of the integer operators share: tensors and attributes become the kernels' arguments. */
#ifndef NPUC_IR_EVAL_INTEGER_H
#define NPUC_IR_EVAL_INTEGER_H

#include <string.h>

#include "ir/eval/eval.h"
#include "kernels/ref/integer.h"

static inline q8_input input_of(const tensor *t, int64_t zero_point) {
  return (q8_input){.data = t->data, .is_signed = t->type == DTYPE_I8, .zero_point = (int32_t)zero_point};
}
#define OUTPUT_OF(t, a)                                  \
  ((q8_output){.data = (t)->data,                        \
               .is_signed = (t)->type == DTYPE_I8,       \
               .zero_point = (int32_t)(a)->y_zero_point, \
               .lo = (int32_t)(a)->lo,                   \
               .hi = (int32_t)(a)->hi})

static inline int64_t count_of(const tensor *t) { return npuc_tensor_elements(t); }
static inline int32_t int_at(const tensor *t, int64_t i) { return (int32_t)npuc_tensor_get_int(t, i); }

/* Pieces of one scratch block. Parameters are copied into it: a constant's bytes may lie at any address. */
typedef struct pieces {
  unsigned char *at;
} pieces;
static inline size_t piece_bytes(size_t bytes) { return (bytes + 63) / 64 * 64; }
static inline void *take(pieces *p, size_t bytes) {
  void *piece = p->at;
  p->at += piece_bytes(bytes);
  return piece;
}
static inline const void *take_copy(pieces *p, const tensor *t) {
  void *piece = take(p, t->bytes);
  if (t->bytes) memcpy(piece, t->data, t->bytes);
  return piece;
}
static inline npuc_status start_pieces(const eval_context *c, size_t bytes, pieces *out) {
  void *memory;
  NPUC_TRY(npuc_eval_scratch(c, bytes + 64, &memory));
  out->at = memory;
  return NPUC_OK;
}

/* The window of a node with lists of attributes; the last axes of the three are the spatial ones, the others are of size 1. group is 1. */
q8_window npuc_q8_window_of(const shape *x, const shape *y, const int_list *kernel, const int_list *strides, const int_list *pads,
                            const int_list *dilations);

#endif
