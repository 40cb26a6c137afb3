/* SPDX-License-Identifier: Apache-2.0 */
/* Pattern rewriting: declarative trees, no mutation before a full match, a bounded worklist, a named culprit when it does not settle
 * (MLIR's and tinygrad's rules; shared/reference style 2.6).
 *
 *   enum { Y, CONV, X, W, B, C };
 *   static const pattern mul_into_conv = {
 *     .name = "mul-into-conv",
 *     .doc = "Mul(Conv(x, w, b), c) -> Conv(x, w*c, b*c)",
 *     .parity = PARITY_REASSOCIATING,
 *     .root = NODE(OP_MUL, Y, ONE_USE(OP_CONV, CONV, ANY(X), CONST(W), OPTIONAL_CONST(B)), CONST(C)),
 *     .where = is_per_output_channel,
 *     .rewrite = scale_conv_weights,
 *   };
 */
#ifndef NPUC_IR_REWRITE_H
#define NPUC_IR_REWRITE_H

#include "ir/op.h"

typedef enum parity { PARITY_EXACT, PARITY_REASSOCIATING, PARITY_APPROXIMATE } parity;

enum { MAX_CAPTURES = 24, MAX_PATTERN_INPUTS = 8, ANY_OP = -1 };

typedef enum pattern_kind {
  PATTERN_END,
  PATTERN_ANY,
  PATTERN_CONST,
  PATTERN_OPTIONAL_CONST,
  PATTERN_OPTIONAL,
  PATTERN_NODE,
  PATTERN_REST
} pattern_kind;

/* A tree of what to match; capture is an index into match.values (for nodes also match.nodes). The same capture twice means the same value. */
typedef struct pattern_node {
  pattern_kind kind;
  int op; /* op_id for PATTERN_NODE, or ANY_OP: the condition looks at the node */
  int capture;
  bool one_use;                      /* the node's output 0 has one use and is no graph output */
  const struct pattern_node *inputs; /* ended by PATTERN_END; fewer than the node's inputs: the rest must be absent */
} pattern_node;

#define ANY(c) \
  { .kind = PATTERN_ANY, .capture = (c) }
#define CONST(c) \
  { .kind = PATTERN_CONST, .capture = (c) }
#define OPTIONAL_CONST(c) \
  { .kind = PATTERN_OPTIONAL_CONST, .capture = (c) }
#define OPTIONAL_INPUT(c) \
  { .kind = PATTERN_OPTIONAL, .capture = (c) }
/* Behind the others: any number of further inputs, which the condition looks at. */
#define REST \
  { .kind = PATTERN_REST }
#define NODE(o, c, ...)                                                                 \
  {                                                                                     \
    .kind = PATTERN_NODE, .op = (o), .capture = (c), .inputs = (const pattern_node[]) { \
      __VA_ARGS__, { .kind = PATTERN_END }                                              \
    }                                                                                   \
  }
#define ONE_USE(o, c, ...)                                                                               \
  {                                                                                                      \
    .kind = PATTERN_NODE, .op = (o), .capture = (c), .one_use = true, .inputs = (const pattern_node[]) { \
      __VA_ARGS__, { .kind = PATTERN_END }                                                               \
    }                                                                                                    \
  }

typedef struct match {
  value *values[MAX_CAPTURES]; /* a node capture's value is its output 0; an absent optional is NULL */
  node *nodes[MAX_CAPTURES];
  node *root;
  const void *parameters; /* of the edit that runs (passes/edits/edits.h); NULL for rewrites without */
} match;

/* The only way a rewrite mutates. Everything it makes is inserted before the root and inherits a merged location. */
typedef struct rewriter {
  diag *d;
  graph *graph;
  arena *scratch;
  const struct pattern *pattern;
  const match *match;
  size_t fired;       /* total */
  npuc_status status; /* a rewrite that fails (out of memory) sets it and stops the driver */
} rewriter;

typedef struct pattern {
  const char *name; /* kebab-case; recorded in the manifest with its parity */
  const char *doc;  /* algebra */
  parity parity;
  pattern_node root;             /* PATTERN_NODE */
  bool (*where)(const match *m); /* NULL: always */
  /* Builds the replacement and calls npuc_rewrite_replace once per root output in use; must change the graph. */
  void (*rewrite)(rewriter *r, const match *m);
} pattern;

/* New node before the root, one or more outputs; returns it. Name is derived from the root's. Types are inferred by the driver after the rewrite. */
node *npuc_rewrite_node(rewriter *r, op_id op, value *const *inputs, int32_t n_inputs, int32_t n_outputs);
/* A new value must have the replaced one's type (E0482). The root, and what fed only matched nodes, is removed when nothing reads it any more.
 * The value that stands for a root (or inner) output from now on; `with` takes a graph output's name. */
void npuc_rewrite_replace(rewriter *r, value *old, value *with);

typedef struct rewrite_log {
  void (*fired)(void *user, const pattern *p, const node *root); /* before mutation */
  void *user;
  const void *parameters; /* what conditions and rewrites find in their match */
  uint64_t *visits;       /* NULL, or counts the nodes that patterns looked at: the work, whatever the machine */
} rewrite_log;

/* Applies to a fixpoint: nodes in order, matched roots bottom-up, new and touched nodes again. Bound: 16 x nodes + 1000 firings, then E0481 names the
 * pattern that kept firing. limit < 0: none, else at most *limit rewrites (decremented): bisection by --pass-limit. log may be NULL. */
npuc_status npuc_rewrite(diag *d, graph *g, const pattern *const *patterns, size_t n_patterns, const rewrite_log *log, int64_t *limit,
                         bool *out_changed) NPUC_MUST_USE;

/* Predicates for `where` (match.c). */
bool npuc_is_scalar(const value *v); /* constant of one element */
bool npuc_has_rank(const value *v, int32_t rank);
bool npuc_has_one_use(const value *v); /* and is no graph output */
/* Constant that broadcasts along the channel axis (axis 1 of an NCHW value with `channels`): shape [C,1,1], [1,C,1,1] or one element. */
bool npuc_is_per_channel(const value *constant, int64_t channels, int32_t rank);

#endif
