/* SPDX-License-Identifier: Apache-2.0 */
/* The op table. ops.def has one line per operator; src/ir/ops/FAMILY.c has its definition: inputs, outputs, attributes with
 * defaults, shape inference, verifier, cost, documentation, function body; src/ir/eval/FAMILY.c its reference evaluation (glue
 * to src/kernels). A missing definition is a link error: there is no second list. docs/operators.md is generated from it. */
#ifndef NPUC_IR_OP_H
#define NPUC_IR_OP_H

#include "base/threads.h"
#include "ir/graph.h"

typedef enum op_id {
#define OP(id, domain, type, symbol) OP_##id,
#include "ir/ops.def"
#undef OP
  OP_COUNT
} op_id;

/* -- attributes: a real struct per op, described by a field table -- */
typedef struct int_list {
  int64_t *values; /* arena */
  int32_t count;
} int_list;
typedef struct float_list {
  float *values;
  int32_t count;
} float_list;
typedef struct string_list {
  const char **values; /* interned */
  int32_t count;
} string_list;

typedef enum attr_kind {
  ATTR_INT,     /* int64_t */
  ATTR_FLOAT,   /* float */
  ATTR_STRING,  /* const char * (interned or arena), NULL when absent */
  ATTR_INTS,    /* int_list */
  ATTR_FLOATS,  /* float_list */
  ATTR_TENSOR,  /* const tensor *, NULL when absent */
  ATTR_STRINGS, /* string_list */
  ATTR_GRAPH,   /* graph *, a body (ir/graph.h), NULL when absent */
  ATTR_TYPE     /* dtype, NONE when absent */
} attr_kind;

typedef struct attr_field {
  const char *name;
  attr_kind kind;
  size_t offset; /* in the attributes struct */
  bool required;
  /* Default when the attribute is absent and not required; for lists absent is count 0 and the op's `complete` fills it from shapes. */
  int64_t default_int;
  float default_float;
  const char *default_string;
  const char *doc;
  int32_t
      since_version; /* opset that has this attribute, when later than the operator's oldest_version: write it (and raise the file's opset) only when it is not the default */
} attr_field;

/* -- shape inference -- */
/* What is known of a value. content: for small integer tensors (rank 0 or 1, at most 64 elements) their elements as dims (numbers or symbols): data propagation
 * for Shape -> Gather -> Concat -> Reshape. constant implies content where it fits. */
typedef struct fact {
  dtype type;
  shape shape;
  const tensor *constant;
  const dim *content;
  int32_t n_content; /* 0 with content NULL: unknown */
} fact;

typedef struct infer_context {
  diag *d;
  module *module; /* symbols; may be NULL where no new symbols are wanted (then unknown) */
  arena *scratch; /* content arrays live here */
  const node *node;
  const fact *const *inputs; /* NULL for omitted */
  fact *outputs;             /* n_outputs, type NONE and rank -1 on entry */
} infer_context;

/* -- evaluation -- */
typedef struct eval_context {
  diag *d;
  thread_pool *pool;
  const node *node;
  /* Scratch memory of at least `bytes`, 64-byte aligned, valid during the call; NULL when out of memory. The executor keeps it between runs. */
  void *(*scratch)(void *user, size_t bytes);
  void *user;
  const struct kernel_set *kernels; /* kernels/kernels.h; NULL: the scalar ones (the same bits) */
  const void *prepared;             /* what npuc_eval_prepare made of this node's constants (ir/eval/prepare.h), or NULL */
  bool weight_transposed;           /* MatMul of float32: its second input comes as [..., n, k] */
  /* Gives an output its dims and memory, where dims follow from data; NULL: outputs come with dims and memory. */
  npuc_status (*allocate)(void *user, int32_t output, const shape *s, tensor *t);
  void *allocate_user;
  /* Runs the node's body on body->n_inputs tensors; results borrow memory until its next run. NULL: nothing runs bodies. */
  npuc_status (*run_body)(const struct eval_context *c, int32_t body, const tensor *inputs, tensor *results);
  const void *body_user;
  /* Memory that lives until the executor's next run, for what references name (tensor/reference.h), 64-byte aligned; NULL when out of memory. NULL itself: nothing is kept. */
  void *(*keep)(void *user, size_t bytes);
  void *keep_user;
} eval_context;

/* Inputs NULL where omitted; outputs have type, shape and data set; outputs with data NULL and bytes 0 are omitted or empty. Deterministic;
 * the same bits at every CPU level and thread count. */
typedef npuc_status eval_function(const eval_context *c, const tensor *const *inputs, tensor *const *outputs);

typedef struct op_cost {
  double macs;       /* multiply-accumulates */
  double operations; /* other element operations */
} op_cost;

typedef enum op_trait {
  TRAIT_COMMUTATIVE = 1 << 0, /* inputs 0 and 1 may be exchanged */
  TRAIT_ELEMENTWISE = 1 << 1, /* output element depends on the inputs' elements at the same (broadcast) place */
  TRAIT_MOVES_DATA = 1 << 2,  /* output elements are input elements (Reshape, Transpose, Slice, Concat ...) */
  TRAIT_MONOTONE = 1 << 3,    /* non-decreasing per element */
  TRAIT_INTEGER = 1 << 4,     /* of the integer module */
  TRAIT_DATA_SHAPE = 1 << 5,  /* the outputs' dims follow from the inputs' elements: eval asks for its memory (npuc_eval_allocate) */
  TRAIT_TAKES_TEXT = 1 << 6,  /* inputs may be strings; so they may where data is moved */
  TRAIT_TAKES_LISTS = 1 << 7  /* inputs may be sequences and optionals */
} op_trait;

typedef struct op_port {
  const char *name;
  bool optional;
  bool variadic; /* last only */
  const char *doc;
} op_port;

struct op_def {
  op_id id;
  const char *domain;    /* "" default domain, "npuc" ours */
  const char *type;      /* "Conv" */
  int32_t since_version; /* newest opset version (<= 28) whose meaning this definition has */
  int32_t
      oldest_version; /* oldest opset version that writes the same node: an exporter may lower the file's opset to it (never under 21) */
  unsigned traits;
  const char *summary; /* one sentence */
  const char *formula; /* text, shapes with letters */
  const char *source;  /* where it is specified */
  const op_port *inputs;
  int32_t n_inputs, min_inputs;
  const op_port *outputs;
  int32_t n_outputs, min_outputs;
  const attr_field *attributes;
  int32_t n_attributes;
  size_t attributes_bytes;
  npuc_status (*infer)(infer_context *c);
  /* Checks beyond counts and attributes' kinds (may be NULL); reports through d with node, op, attribute. */
  npuc_status (*verify)(diag *d, const node *n);
  /* Fills attributes that the file left to shapes (kernel_shape from W, pads from auto_pad, ...) after inference; may be NULL. Idempotent. */
  npuc_status (*complete)(diag *d, node *n);
  void (*cost)(const node *n, op_cost *out_cost); /* NULL: elements of the outputs */
  eval_function *eval;
  /* For domain npuc: the body in default-domain operators, ONNX text syntax `Name <attrs> (inputs) => (outputs) { ... }`, opset 21. NULL for default domain. */
  const char *body;
};

/* -- the table -- */
const op_def *npuc_op(op_id id);
/* NULL when unknown. domain NULL or "ai.onnx" is "". */
const op_def *npuc_op_find(const char *domain, const char *type);
/* Nearest known type name in the domain (any domain when none near), or NULL. */
const char *npuc_op_nearest(const char *domain, const char *type);
const attr_field *npuc_op_attribute(const op_def *op, const char *name);
/* Fills a fresh attributes struct with defaults. */
void npuc_attributes_default(const op_def *op, void *attributes);
/* Copies attributes deeply into the arena of module `to`. */
void *npuc_attributes_clone(module *to, const op_def *op, const void *attributes);
bool npuc_attributes_equal(const op_def *op, const void *a, const void *b);

#define NPUC_ATTRS(type, n) ((type *)(n)->attributes)
static inline bool node_is(const node *n, op_id id) { return n && n->op == npuc_op(id); }

/* -- whole graphs (infer.c, verify.c) -- */
/* Infers types and shapes of all values from the inputs; evaluates nodes whose inputs are known when they are small (<= 64 KiB) to carry shapes.
 * Contradiction with a declared shape is an error that names the node; declared outputs' symbols are kept where they say more. */
npuc_status npuc_graph_infer(diag *d, graph *g) NPUC_MUST_USE;
/* For operators with bodies: what one gives for these inputs (a fact for each of its inputs; the results are in scratch, one for each output). Where c->module is set, its values get
 * the types and shapes that were found. */
npuc_status npuc_infer_body(infer_context *c, graph *body, const fact *inputs, fact *out_results) NPUC_MUST_USE;
/* The same without touching the graph: inputs given by `inputs` (static), result facts indexed by value id (graph->next_value_id entries, in scratch). */
npuc_status npuc_graph_infer_facts(diag *d, const graph *g, const fact *inputs, arena *scratch, fact **out_facts) NPUC_MUST_USE;
/* One node's outputs from the tensors that it reads (each fact's constant); nothing is evaluated, and dims that depend on more than operands of up to
 * 64 elements stay open. Contradiction with what the graph declares is an error. */
npuc_status npuc_infer_from_data(diag *d, arena *scratch, const node *n, const fact *const *inputs, fact *outputs) NPUC_MUST_USE;
/* One node, from what its inputs' values say (contents of constants are known, other contents are not): writes its outputs' types and
 * shapes, then completes its attributes. For passes and rewrites that add nodes. */
npuc_status npuc_node_infer(diag *d, node *n) NPUC_MUST_USE;
/* Forgets the shapes of all values that a node makes; before npuc_graph_infer when input shapes were changed. */
void npuc_graph_forget_shapes(graph *g);
/* Structure, names, SSA, order, arity, attributes, types. Every violation is a diagnostic. `after` names the pass for the message (may be NULL). */
npuc_status npuc_graph_verify(diag *d, const graph *g, const char *after) NPUC_MUST_USE;
npuc_status npuc_module_verify(diag *d, const module *m, const char *after) NPUC_MUST_USE;
op_cost npuc_node_cost(const node *n);

#endif
