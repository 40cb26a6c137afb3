/* SPDX-License-Identifier: Apache-2.0 */
/* What passes share: the function type, the context, the record of what fired, arithmetic on constant weights. */
#ifndef NPUC_PASSES_INTERNAL_H
#define NPUC_PASSES_INTERNAL_H

#include "ir/attributes.h"
#include "passes/pass.h"

/* What a pass needs (requires) and what it leaves undone (breaks). */
typedef enum graph_property {
  GRAPH_NONE = 0,
  GRAPH_SHAPES = 1 << 0, /* every value has the type and shape that its node gives it */
  GRAPH_STATIC = 1 << 1  /* bind-dims has run: no dim is waiting for a number */
} graph_property;

typedef struct pass_context {
  diag *d;
  arena *scratch; /* of this run of this pass */
  const pass_options *options;
  const char *pass;      /* name of the running pass */
  const void *arguments; /* of an edit (passes/edits/edits.h), else NULL */
  int64_t *limit;        /* NULL: none */
  struct recorder *recorder;
} pass_context;

typedef npuc_status pass_function(pass_context *c, graph *g, bool *out_changed);

#define PASS(symbol, name, summary, requires, breaks, parity) pass_function npuc_pass_##symbol;
#include "passes/passes.def"
#undef PASS

/* A change that no pattern makes (folding, merging): false when --pass-limit is used up, else it is recorded and counted. */
bool npuc_pass_allow(pass_context *c, const char *what, parity p, const node *n);

/* The patterns of one concern, in the order in which they are tried. */
typedef struct pattern_set {
  const pattern *const *patterns;
  size_t count;
} pattern_set;
/* Applies them to a fixpoint with recording and limit, then drops what died. */
npuc_status npuc_pass_rewrite(pass_context *c, graph *g, pattern_set set, bool *out_changed);

/* The same with patterns of other passes, by their names; npuc_pattern_find NULL: no such pattern. */
npuc_status npuc_pass_rewrite_named(pass_context *c, graph *g, const char *const *names, size_t n, bool *out_changed);
const pattern *npuc_pattern_find(const char *name);

#define PATTERN_SET(symbol, array) const pattern_set symbol = {(array), sizeof(array) / sizeof((array)[0])}
extern const pattern_set npuc_cleanup_patterns, npuc_batchnorm_patterns, npuc_gemm_patterns, npuc_scale_patterns, npuc_padding_patterns,
    npuc_activation_patterns, npuc_matrix_patterns, npuc_window_patterns, npuc_move_patterns, npuc_resample_patterns, npuc_reduce_patterns,
    npuc_depthwise_pair_patterns, npuc_depthwise_single_patterns;

/* -- parts of cleanup -- */
npuc_status npuc_fold_constants(pass_context *c, graph *g, bool *out_changed);
bool npuc_sink_constants(pass_context *c, graph *g);        /* into the bodies that read them */
bool npuc_inline_known_branches(pass_context *c, graph *g); /* an If whose condition is constant */
npuc_status npuc_merge_equal(pass_context *c, graph *g, bool *out_changed);

/* -- weights.c: constants made from constants -- */
/* Element of a constant as a double; a fast path for float32. */
double npuc_weight_at(const tensor *t, int64_t index);
/* Adds the constant to the rewritten graph and releases `t`. */
value *npuc_weight_constant(rewriter *r, const char *name, tensor *t);
/* out[i] = w[i] * factor[axis index of i], in double, rounded once. Sets r->status and returns NULL when memory ends. */
value *npuc_weight_scaled(rewriter *r, const value *w, int32_t axis, const double *factor);
/* A float vector of w's type; NULL as above. */
value *npuc_weight_vector(rewriter *r, const char *name, dtype type, const double *values, int64_t n);
/* Matrix transposed; NULL as above. */
value *npuc_weight_transposed(rewriter *r, const value *w);
/* The `channels` values of a constant that is per channel or one element. out has room for them. */
void npuc_weight_channels(const value *constant, int64_t channels, double *out);

/* Reshape of x to a static shape, before the root. */
value *npuc_weight_reshape(rewriter *r, value *x, const shape *to);

/* -- legal_move.c: nodes that move elements, before the root; shapes are the caller's business -- */
/* Element i along `axis` is element places[i] of x's. */
value *npuc_move_gather(rewriter *r, value *x, int32_t axis, const int64_t *places, int64_t n);
value *npuc_move_transpose(rewriter *r, value *x, const int64_t *permutation, int32_t rank);

/* An image [batch, channels, rows * high, columns * wide] as blocks of high x wide cells. */
typedef struct cell_block {
  int64_t batch, channels, high, wide, rows, columns;
} cell_block;
/* From x [batch, high * wide * channels, rows, columns]: the block's cell is the slowest of the channels, or with channels_first the fastest. */
value *npuc_move_depth_to_space(rewriter *r, value *x, const cell_block *b, bool channels_first);

/* -- small questions -- */
bool npuc_is_float(const value *v);
/* float32 or double. What is folded into narrower weights is rounded to them, by far more than PARITY_REASSOCIATING allows. */
bool npuc_is_wide_float(const value *v);
/* Small constant whose every element equals `number`; for floats the bits must be its (so -0 is not 0). */
bool npuc_is_exactly(const value *v, double number);
bool npuc_same_shape(const value *a, const value *b);
/* A constant int64 or int32 vector as numbers; false when it is not one or has more than `most`. */
bool npuc_constant_ints(const value *v, int64_t *out, int32_t most, int32_t *out_count);
/* Constant that gives one value per column of a [rows, columns] value: [columns], [1, columns] or one element. */
bool npuc_is_per_column(const value *constant, int64_t columns);

#endif
