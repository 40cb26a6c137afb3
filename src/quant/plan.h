/* SPDX-License-Identifier: Apache-2.0 */
/* The plan: for every node of the float graph the integer operator that it becomes, and for every value whose scale it has. */
#ifndef NPUC_QUANT_PLAN_H
#define NPUC_QUANT_PLAN_H

#include "ir/attributes.h"
#include "quant/quant.h"

typedef enum role {
  ROLE_NONE,
  ROLE_FUSED,   /* a clamp or a bias that lives in its producer */
  ROLE_CONV,    /* QConv */
  ROLE_CHANNEL, /* BatchNormalization, Mul or Add with a constant per channel: QConv 1 x 1, group = channels */
  ROLE_GEMM,    /* QGemm */
  ROLE_MATMUL,  /* QGemm, rows flattened */
  ROLE_ADD,     /* QAdd (Sub too) */
  ROLE_MUL,     /* QMul */
  ROLE_SCALE,   /* Mul or Div by one constant: Requantize */
  ROLE_CLAMP,   /* Relu, Clip, Max, Min that found no producer: Requantize */
  ROLE_AVERAGE, /* QAveragePool */
  ROLE_GLOBAL,  /* QGlobalAveragePool */
  ROLE_MOVE,    /* same operator on integers, same scale */
  ROLE_MAXPOOL, /* same, also GlobalMaxPool */
  ROLE_PAD,
  ROLE_CONCAT,
  ROLE_LOOKUP,
  ROLE_SOFTMAX,
  ROLE_LOGSOFTMAX,
  ROLE_NORMALIZE, /* QNormalize */
  ROLE_ARGMAX,
  ROLE_INTEGER /* was integer already: copied */
} role;

/* Integers of a layer with weights: what both forms are written from. */
typedef struct quant_weights {
  int64_t outputs, depth, group; /* w is [outputs, depth]; depth counts one group's channels times taps */
  int8_t *w;
  float *w_scale; /* [outputs] */
  int32_t *bias;  /* [outputs], units of x_scale * w_scale */
  int32_t *m, *s; /* [outputs] */
  double sqnr_db;
  double correction; /* largest bias correction in output steps */
  int64_t raised, vanished;
} quant_weights;

typedef struct plan_node {
  role role;
  const node *node;
  const node *bias_add;   /* MatMul: the Add of its bias, or NULL */
  const node *last;       /* last node merged into this one (itself when none) */
  const value *out;       /* what it computes: last's output 0 */
  double lo, hi;          /* clamp of the output, real numbers; infinite when none */
  quant_weights *weights; /* CONV, CHANNEL, GEMM, MATMUL, after npuc_plan_quantize_weights */
} plan_node;

/* Per value of the float graph, by id. */
typedef struct plan_value {
  const value *value;
  bool quantized;   /* a float activation that exists in the integer graph */
  uint32_t same_as; /* id of the value whose scale this one has; own id: it has its own */
  bool fixed;       /* params are not from observation (softmax) */
  observer *seen;   /* of values that have their own scale */
  double *mean;     /* sum over samples, one for each element, of inputs of layers with weights */
  int64_t mean_elements;
  quant_range range;
  qparams params;
  bool has_params;
} plan_value;

typedef struct plan {
  const graph *g;
  diag *d;
  arena *arena;
  const quant_options *options;
  plan_node *nodes; /* in graph order */
  size_t n_nodes;
  plan_value *values;   /* g->next_value_id entries */
  const qparams *given; /* by value id, scale 0: none; NULL: the graph brings none (given.h) */
  kernel_set kernels;
  uint64_t samples;
} plan;

/* Names everything that has no integer form (E0704, E0713), then fails. Lives in the arena. */
npuc_status npuc_plan_create(diag *d, arena *a, const graph *g, const quant_options *options, plan **out_plan) NPUC_MUST_USE;
/* Runs the samples through the float graph, fills seen and mean. Buffers are freed by npuc_plan_release. */
npuc_status npuc_plan_calibrate(plan *p, const quant_samples *samples) NPUC_MUST_USE;
/* Ranges, scales, zero points. */
npuc_status npuc_plan_choose_params(plan *p) NPUC_MUST_USE;
/* Weights, biases with their correction, multipliers. */
npuc_status npuc_plan_quantize_weights(plan *p) NPUC_MUST_USE;
void npuc_plan_release(plan *p);
/* The activation input of a node with one constant operand or none: input 0, or 1 when 0 is the constant. */
static inline const value *plan_x(const node *n) { return n->inputs[0]->constant ? n->inputs[1] : n->inputs[0]; }

/* The two written forms. */
npuc_status npuc_plan_lower(plan *p, const module *source, quant_report *report, module **out_module) NPUC_MUST_USE;
npuc_status npuc_plan_qdq(plan *p, const module *source, module **out_module) NPUC_MUST_USE;

/* Params of a float value (through same_as). */
static inline const qparams *plan_params(const plan *p, const value *v) { return &p->values[p->values[v->id].same_as].params; }
static inline bool plan_is_activation(const plan *p, const value *v) { return v && p->values[v->id].quantized; }

static inline const tensor *plan_constant(const node *n, int32_t input) {
  return input < n->n_inputs && n->inputs[input] ? n->inputs[input]->constant : NULL;
}
/* What a normalization node normalizes together, and which elements share parameters (docs/numerics.md, QNormalize). */
typedef struct normal_shape {
  int64_t count, repeat, parameters;
  bool centre;
  double epsilon;
} normal_shape;
bool npuc_plan_normal_shape(const node *n, normal_shape *out, const char **out_reason);
/* One number: a constant of one element. */
bool npuc_plan_scalar(const node *n, int32_t input, double *out_value);
/* The constant as one value for each of `channels` along axis 1 of a value of `rank`; false when it is not. */
bool npuc_plan_per_channel(const tensor *constant, int64_t channels, int32_t rank);
/* A short place for diagnostics about a node or a value. */
diag_place npuc_plan_place(const node *n, const char *attribute);

#endif
