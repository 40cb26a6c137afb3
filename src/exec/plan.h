/* SPDX-License-Identifier: Apache-2.0 */
/* A plan: everything about running a graph on inputs of certain dims that can be decided before the run. */
#ifndef NPUC_EXEC_PLAN_H
#define NPUC_EXEC_PLAN_H

#include "exec/executor.h"
#include "exec/segment.h"
#include "ir/eval/prepare.h"

/* Where a value's bytes are. */
typedef enum storage_kind {
  STORAGE_NONE,     /* omitted, or no bytes */
  STORAGE_INPUT,    /* the caller's, of graph input `index` */
  STORAGE_CONSTANT, /* fixed at plan time */
  STORAGE_MEMORY    /* activation memory at `offset` */
} storage_kind;

typedef struct exec_value {
  const value *value;
  tensor tensor; /* type, shape, bytes; data set per run for inputs and memory */
  storage_kind storage;
  size_t index; /* graph input, or storage number for MEMORY (its offset after planning) */
} exec_value;

typedef struct exec_step {
  const node *node;      /* NULL for a segment */
  const tensor **inputs; /* [node->n_inputs], into exec_value.tensor; NULL where omitted */
  tensor **outputs;      /* [node->n_outputs] */
  const void *prepared;
  const segment *segment; /* of many nodes, or NULL */
  size_t memory;          /* a segment's: its storage number (its offset after planning) */
  bool weight_transposed; /* a MatMul reads its second input [..., n, k] (fuse.h) */
  bool skip;              /* outputs are constants or views: nothing to compute */
} exec_step;

typedef struct exec_plan exec_plan;
struct exec_plan {
  arena *arena;
  shape *input_shapes; /* [graph->n_inputs] */
  exec_value *values;  /* by value id */
  exec_step *steps;
  size_t n_steps;
  size_t *live_bytes; /* [n_steps]: of the memory's values that live while the step runs */
  size_t memory_bytes;
  bool dynamic;      /* a shape depends on data: no steps, see dynamic.h */
  exec_value **lent; /* what lies in the caller's inputs: graph inputs and views of them */
  size_t n_lent;
  const void *bound; /* activation memory that the values' addresses are in; NULL: none yet */
  int64_t samples;   /* the plan is for so many of the batch, run after run (samples.h); 0: for all */
  exec_plan *rest;   /* for those that are left over, or NULL */
  exec_plan **lanes; /* [threads]: with samples, this plan and copies of it, which threads run side by side; NULL: all threads in one */
  size_t n_lanes;
  size_t *copy_offsets; /* [graph->n_outputs]: memory of an output that would be the caller's input, or SIZE_MAX */
  exec_plan *next;
};

/* What plans share: made once per executor. */
typedef struct plan_source {
  const graph *graph;
  bool keep_all; /* no memory is used twice */
  bool fuse;     /* nodes may be merged: nobody looks at values between them */
  bool single;   /* somebody takes the time of each step: no batch runs by samples, and no nodes run as one but for what is fused */
  size_t threads;
  const tensor *constants; /* by value id; aligned */
  const kernel_set *kernels;
  void *const *prepared; /* by node id; entries may be NULL */
} plan_source;

/* input_shapes: one static shape per graph input. */
npuc_status npuc_exec_plan_create(diag *d, const plan_source *source, const shape *input_shapes, exec_plan **out_plan) NPUC_MUST_USE;
void npuc_exec_plan_destroy(exec_plan *p);

#endif
