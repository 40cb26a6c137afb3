/* SPDX-License-Identifier: Apache-2.0 */
/* From a decoder whose cache grows to the one with a fixed buffer (docs/static-decoder.md): what the files decoder_*.c share.
 *
 * The growing model is a family of graphs, one for each number P of rows in its cache; C tokens come in a call. In the fixed model P is the input `position`, and every axis of length
 * P + a becomes S = max_length + C - 1 long. One relation ties the two, value by value:
 *
 *   fixed[.., 0 : P + a, ..] == growing        (rows of the chunk from `valid` on may hold anything finite)
 *
 * What lies behind P + a is anything finite ("the tail"), and 0 where a softmax made it so. Each operator either keeps the relation as it is, is changed so that it
 * does, or is refused by name: nothing is recognised by its looks or its name but the model's ports. */
#ifndef NPUC_PASSES_DECODER_H
#define NPUC_PASSES_DECODER_H

#include "passes/decoder_source.h"
#include "passes/internal.h"

enum { DECODER_SAMPLES = 5, DECODER_CONTENT = 64 };

/* A number that depends on P: at0 + step * P. */
typedef struct line {
  int64_t at0, step;
} line;

/* A small integer tensor of rank 0 or 1 whose elements are such numbers. */
typedef struct line_content {
  int32_t rank, count;
  line at[DECODER_CONTENT];
} line_content;

typedef struct decoder {
  pass_context *c;
  graph *g;
  int64_t max_length, chunk, rows; /* rows: S */
  /* ports */
  value *ids;      /* [1, C] or [1, C, H] */
  dim past_symbol; /* P */
  dim chunk_symbol, total_symbol, batch_symbol;
  value **past;
  size_t n_past;
  /* the growing graph at several P: facts[i] by value id */
  size_t n_samples;
  int64_t past_at[DECODER_SAMPLES];
  fact *facts[DECODER_SAMPLES];
  fact *longer; /* P = 1 and one token more; NULL where C is a number in the source */
  uint32_t n_values;
  /* by id of the growing graph's values */
  value **now;     /* what stands for it in the fixed graph */
  bool *zero_tail; /* 0 behind P + a */
  int32_t *origin; /* the past input whose rows it holds and extends; -1 */
  bool *extended;  /* ... and rows were written */
  /* values of the fixed graph that are shared, in front of `anchor` */
  node *anchor;
  value *position, *valid; /* [1] each, int64 */
  value *row_places;       /* [C]: position, position + 1, ... */
  value *places;           /* the same, at most max_length - 1: what lies beyond is padding */
  value *seen;             /* bool [C, S]: key <= row's place */
  value *filled;           /* [1]: position + C */
} decoder;

/* -- ports -- */
npuc_status npuc_decoder_ports(decoder *x);
/* The input's shape at P cached rows and `tokens` tokens. */
npuc_status npuc_decoder_input_shape(const decoder *x, const value *input, int64_t past, int64_t tokens, shape *out_shape);

/* -- lengths -- */
npuc_status npuc_decoder_sample(decoder *x);
/* Dim of an axis as a line; false where it is not known, or no line. */
bool npuc_decoder_axis(const decoder *x, const value *v, int32_t axis, line *out_line);
int32_t npuc_decoder_rank(const decoder *x, const value *v); /* -1: unknown */
/* Bit i: axis i grows with P. False where the shape is not known, or an axis grows otherwise than by one row a token. */
bool npuc_decoder_growing(const decoder *x, const value *v, uint32_t *out_axes);
/* Elements of a small integer or bool value; false where they depend on data. */
bool npuc_decoder_content(const decoder *x, const value *v, line_content *out_content);
/* Element i as a line through its numbers at the samples; false when they are not on one. */
bool npuc_decoder_fit(const decoder *x, const int64_t *numbers, line *out_line);
/* Whether the axis has one row a token. */
bool npuc_decoder_is_row_axis(const decoder *x, const value *v, int32_t axis);

/* -- making nodes -- */
void npuc_decoder_share(decoder *x);
value *npuc_decoder_emit(decoder *x, node *before, const char *name, op_id op, value *const *inputs, int32_t n);
value *npuc_decoder_ints(decoder *x, const char *name, const int64_t *numbers, int64_t n); /* n < 0: a scalar */
value *npuc_decoder_cast(decoder *x, node *before, value *v, dtype from, dtype to);
/* 0, 1, ... n - 1, added to `first`. */
value *npuc_decoder_range(decoder *x, const char *name, int64_t first, int64_t n);
/* The lowest finite number of a float type, as a scalar. NULL and a diagnostic for other types. */
value *npuc_decoder_lowest(decoder *x, const node *n, dtype type);
/* What stands for an operand in the fixed graph: numbers that depend on P are computed from `position`. NULL stays NULL. */
value *npuc_decoder_now(decoder *x, value *v);
/* Numbers that depend on P as a tensor of an integer type. */
value *npuc_decoder_numbers(decoder *x, const line_content *c, dtype type);
/* Rows [first + P, first + P + n) of an axis of `data` that has `length` elements: Gather at places. */
value *npuc_decoder_window(decoder *x, node *before, value *data, int32_t axis, int64_t first, int64_t n, int64_t length);
/* `past` with `fresh` at position + offset, along an axis that is not the first; `batch`: length of the first. */
value *npuc_decoder_write(decoder *x, node *before, value *past, value *fresh, int32_t axis, int64_t offset, int64_t batch);

/* -- rules -- */
/* Every operand becomes what stands for it now. */
void npuc_decoder_keep(decoder *x, node *n);
/* Rewrites one node of the growing graph. */
npuc_status npuc_decoder_rule(decoder *x, node *n);
typedef npuc_status decoder_rule(decoder *x, node *n);
decoder_rule npuc_decoder_reshape, npuc_decoder_expand, npuc_decoder_constant_of_shape, npuc_decoder_range_rule, npuc_decoder_slice,
    npuc_decoder_gather, npuc_decoder_gather_nd, npuc_decoder_concat, npuc_decoder_trilu, npuc_decoder_attention, npuc_decoder_softmax;

#endif
