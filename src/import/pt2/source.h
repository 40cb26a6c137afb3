/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the `.pt2` reader. A node of the exported program goes through one translator (aten.def names it), which reads the node's
 * arguments by their names in the operator's schema and emits IR nodes.
 *
 *   JSON node ── arguments by name ──> translator ── emit ──> IR nodes ── result ──> name in the program -> binding
 *
 * A binding is what a name in the program stands for: a tensor (a window on a buffer, alias.c), a number that may be known only at run
 * time, or a list of tensors. */
#ifndef NPUC_IMPORT_PT2_SOURCE_H
#define NPUC_IMPORT_PT2_SOURCE_H

#include <jansson.h>

#include "base/map.h"
#include "formats/zip.h"
#include "ir/op.h"

typedef struct pt2_node pt2_node;
typedef struct pt2_tensor pt2_tensor;

/* An integer or a truth value of the program: a number, or an int64 or bool value of one element, shape [1]. */
typedef struct pt2_int {
  int64_t number;
  value *value; /* NULL: `number` */
} pt2_int;

typedef struct pt2_scalar {
  bool is_float, is_bool;
  double real;
  int64_t integer; /* also of bools */
  value *value;    /* a symbolic integer, shape [1]; NULL: a number */
} pt2_scalar;

/* What TensorMeta says of a tensor of the program. */
typedef struct pt2_meta {
  dtype type;
  shape shape; /* numbers and symbols */
} pt2_meta;

/* PT2_COMPLEX: the tensor has one more axis, (real part, imaginary part): aten_fourier.c */
typedef enum pt2_kind { PT2_NOTHING, PT2_TENSOR, PT2_INT, PT2_LIST, PT2_COMPLEX } pt2_kind;
typedef struct pt2_binding {
  pt2_kind kind;
  pt2_tensor *tensor;
  pt2_int integer;
  pt2_tensor **list;
  size_t n_list;
} pt2_binding;

typedef struct pt2_source {
  diag *d;
  module *m;
  graph *g;
  arena *scratch;
  blob *file;
  zip_archive *zip;
  const char *folder; /* of the members: "resnet20/" */
  json_t *program, *weights, *constants;
  map *pickled;                            /* the older layout: name -> tensor, from torch.save's files in the archive */
  map *bindings;                           /* name in the program -> pt2_binding; of the graph being read */
  json_t *metas;                           /* tensor_values of the graph being read */
  json_t *body;                            /* that graph */
  struct pt2_storage *states, *last_state; /* buffers and inputs that were written, in the order of their first write */
  value *begun;                            /* the state that says whether the others hold anything yet; NULL: all begin as zeros */
  size_t n_states;                         /* pairs of ports so far */
  size_t n_unknown;                        /* operators without a translator, so far */
  int depth;                               /* of nested graphs */
} pt2_source;

/* One node being translated. */
struct pt2_node {
  pt2_source *s;
  json_t *json;
  const char *name, *target;
  json_t *arguments; /* of `inputs` */
  uint64_t used;     /* bit i: argument i was read */
  const location *location;
  const char *python; /* "file.py", line 12, in forward: the user's own line, or NULL */
  const char *onnx;   /* what aten.def says beside the translator: an ONNX operator for families that differ in that only */
  bool in_place;      /* `relu_`: the result is written into the argument `self` */
};

/* -- archive.c -- */
npuc_status npuc_pt2_open(pt2_source *s, const char *path) NPUC_MUST_USE;
void npuc_pt2_close(pt2_source *s);
/* The parameter, buffer or constant called `name` in the nn.Module: a view into the archive, kept by the module. */
npuc_status npuc_pt2_payload(pt2_source *s, const char *name, tensor *out_tensor) NPUC_MUST_USE;

/* -- meta.c -- */
bool npuc_pt2_dtype(int64_t number, dtype *out_type);
/* TensorMeta of a name of the graph being read. */
npuc_status npuc_pt2_meta(pt2_source *s, const char *name, pt2_meta *out_meta) NPUC_MUST_USE;
const char *npuc_pt2_shape_text(pt2_source *s, const shape *dims, char *out, size_t n);
/* SymInt: a number, a symbol of the module, or a name for a whole expression. */
npuc_status npuc_pt2_dim(pt2_source *s, json_t *size, dim *out_dim) NPUC_MUST_USE;

/* -- program.c -- */
/* Translates the nodes of a graph whose inputs are bound. */
npuc_status npuc_pt2_nodes(pt2_source *s, json_t *graph) NPUC_MUST_USE;
/* `v` as the next output of the graph being built, called `name` where that is free: an input, a constant and what is an output already are wrapped. */
void npuc_pt2_add_output(pt2_source *s, value *v, const char *name);

/* -- args.c: a missing argument gives the default; one of another kind is an error (E0335) that the node keeps -- */
bool npuc_pt2_has(pt2_node *n, const char *name);    /* given, and not None */
void npuc_pt2_ignore(pt2_node *n, const char *name); /* arguments that change no value: device, layout, pin_memory */
npuc_status npuc_pt2_tensor(pt2_node *n, const char *name, value **out_value) NPUC_MUST_USE;          /* E0335 when absent */
npuc_status npuc_pt2_optional_tensor(pt2_node *n, const char *name, value **out_value) NPUC_MUST_USE; /* NULL when absent or None */
npuc_status npuc_pt2_window(pt2_node *n, const char *name, pt2_tensor **out_tensor) NPUC_MUST_USE;
/* Entries are NULL where None. */
npuc_status npuc_pt2_tensors(pt2_node *n, const char *name, value ***out_values, size_t *out_n) NPUC_MUST_USE;
npuc_status npuc_pt2_int_arg(pt2_node *n, const char *name, int64_t fallback, int64_t *out) NPUC_MUST_USE;
npuc_status npuc_pt2_symint(pt2_node *n, const char *name, int64_t fallback, pt2_int *out) NPUC_MUST_USE;
/* A list; a single int is a list of one. *out_n is 0 when absent. */
npuc_status npuc_pt2_symints(pt2_node *n, const char *name, pt2_int **out, size_t *out_n) NPUC_MUST_USE;
npuc_status npuc_pt2_ints(pt2_node *n, const char *name, int64_t **out, size_t *out_n) NPUC_MUST_USE;
/* Exactly `n_wanted` numbers: one is repeated; absent gives `fallback`. */
npuc_status npuc_pt2_window_ints(pt2_node *n, const char *name, int64_t fallback, int64_t *out, size_t n_wanted) NPUC_MUST_USE;
npuc_status npuc_pt2_float_arg(pt2_node *n, const char *name, double fallback, double *out) NPUC_MUST_USE;
npuc_status npuc_pt2_floats(pt2_node *n, const char *name, double **out, size_t *out_n) NPUC_MUST_USE;
npuc_status npuc_pt2_bool_arg(pt2_node *n, const char *name, bool fallback, bool *out) NPUC_MUST_USE;
npuc_status npuc_pt2_string(pt2_node *n, const char *name, const char *fallback, const char **out) NPUC_MUST_USE;
/* DTYPE_NONE when absent. */
npuc_status npuc_pt2_dtype_arg(pt2_node *n, const char *name, dtype *out) NPUC_MUST_USE;
npuc_status npuc_pt2_scalar_arg(pt2_node *n, const char *name, pt2_scalar fallback, pt2_scalar *out) NPUC_MUST_USE;
/* Whether the argument is a tensor (and not a number). */
bool npuc_pt2_is_tensor(pt2_node *n, const char *name);
json_t *npuc_pt2_raw(pt2_node *n, const char *name); /* the argument's JSON, marked as read; NULL if absent */
/* Arguments that nobody read: E0335, so that none is silently dropped. */
npuc_status npuc_pt2_check_used(pt2_node *n) NPUC_MUST_USE;
npuc_status npuc_pt2_fail(pt2_node *n, diag_code code, const char *argument, const char *format, ...) NPUC_PRINTF(4, 5);
#ifdef __clang_analyzer__
#define npuc_pt2_fail(...) npuc_diag_never_ok(npuc_pt2_fail(__VA_ARGS__))
#endif

/* -- emit.c -- */
/* A node of the default domain by its ONNX name; its outputs' names come from the program's node. NULL inputs are omitted ones. */
npuc_status npuc_pt2_emit(pt2_node *n, const char *op, value *const *inputs, size_t n_inputs, int32_t n_outputs,
                          node **out_node) NPUC_MUST_USE;
/* The one output of a node with up to three inputs (trailing NULLs are omitted). */
npuc_status npuc_pt2_unary(pt2_node *n, const char *op, value *x, value **out) NPUC_MUST_USE;
npuc_status npuc_pt2_binary(pt2_node *n, const char *op, value *a, value *b, value **out) NPUC_MUST_USE;
npuc_status npuc_pt2_ternary(pt2_node *n, const char *op, value *a, value *b, value *c, value **out) NPUC_MUST_USE;
/* Attributes by name, through the op table. */
void npuc_pt2_set_int(node *n, const char *attribute, int64_t v);
void npuc_pt2_set_float(node *n, const char *attribute, double v);
void npuc_pt2_set_string(node *n, const char *attribute, const char *v);
void npuc_pt2_set_ints(node *n, const char *attribute, const int64_t *v, size_t count);
void npuc_pt2_set_strings(node *n, const char *attribute, const char *const *v, size_t count);
/* Constants: a scalar of a type; a vector of int64. */
value *npuc_pt2_constant(pt2_node *n, dtype type, double v);
value *npuc_pt2_constant_int(pt2_node *n, dtype type, int64_t v);
value *npuc_pt2_constant_ints(pt2_node *n, const int64_t *v, size_t count);
npuc_status npuc_pt2_scalar_value(pt2_node *n, const pt2_scalar *v, dtype type, value **out) NPUC_MUST_USE; /* rank 0 */
/* x as `type`: x itself when it is that already. */
npuc_status npuc_pt2_cast(pt2_node *n, value *x, dtype type, value **out) NPUC_MUST_USE;
/* A shape operand [count] of known and run-time numbers. */
npuc_status npuc_pt2_shape_value(pt2_node *n, const pt2_int *dims, size_t count, value **out) NPUC_MUST_USE;
/* Reshape to numbers known now; 0 means 0. */
npuc_status npuc_pt2_reshape(pt2_node *n, value *x, const pt2_int *dims, size_t count, value **out) NPUC_MUST_USE;
npuc_status npuc_pt2_transpose(pt2_node *n, value *x, const int64_t *perm, size_t rank, value **out) NPUC_MUST_USE;
npuc_status npuc_pt2_slice(pt2_node *n, value *x, int64_t axis, pt2_int start, pt2_int end, int64_t step, value **out) NPUC_MUST_USE;
npuc_status npuc_pt2_squeeze(pt2_node *n, value *x, const int64_t *axes, size_t count, value **out) NPUC_MUST_USE;
npuc_status npuc_pt2_unsqueeze(pt2_node *n, value *x, const int64_t *axes, size_t count, value **out) NPUC_MUST_USE;
/* Length of an axis: a number where it is one, else read at run time. */
npuc_status npuc_pt2_size(pt2_node *n, value *x, int32_t axis, pt2_int *out) NPUC_MUST_USE;
/* Expand to the lengths of `dims`; -1 keeps the axis. */
npuc_status npuc_pt2_expand(pt2_node *n, value *x, const pt2_int *dims, size_t count, value **out) NPUC_MUST_USE;
/* Expand to the shape of `like`, when it differs. */
npuc_status npuc_pt2_expand_like(pt2_node *n, value *x, value *like, value **out) NPUC_MUST_USE;
/* Type and shape of output `index` of the program's node. */
npuc_status npuc_pt2_output_meta(pt2_node *n, size_t index, pt2_meta *out_meta) NPUC_MUST_USE;
/* Whether anything in the program reads output `index`. */
bool npuc_pt2_output_is_read(pt2_node *n, size_t index);
/* Axis in [0, rank) from torch's; rank 0 takes -1 and 0. E0335 when out of range. */
npuc_status npuc_pt2_axis(pt2_node *n, const char *argument, int64_t axis, int32_t rank, int64_t *out) NPUC_MUST_USE;
/* torch.result_type of the values and the scalar (NULL: none). */
dtype npuc_pt2_promote(value *const *values, size_t count, const pt2_scalar *scalar);
static inline pt2_int pt2_number(int64_t v) { return (pt2_int){.number = v}; }
static inline bool pt2_is_float(dtype t) { return npuc_dtype_kind(t) == KIND_FLOAT; }

/* -- alias.c: tensors as windows on storages, so that a write in place is seen through every view -- */
/* How a view is made from its parent, and how the parent is made from the view's new content. */
typedef struct pt2_view {
  npuc_status (*apply)(pt2_node *n, const struct pt2_view *v, value *parent, value **out);
  npuc_status (*write)(pt2_node *n, const struct pt2_view *v, value *parent, value *content,
                       value **out_parent); /* NULL: cannot be written */
  int64_t axis, step;
  pt2_int start, end;
  int64_t perm[MAX_RANK];
  pt2_int dims[MAX_RANK]; /* of the view */
  size_t n_dims;
  value *index; /* of a selection at run time */
} pt2_view;

/* The bytes behind a tensor and its views. `port` names a buffer or input of the program that a caller sees; a written one becomes a state. */
typedef struct pt2_storage {
  value *content;
  uint64_t version; /* counts writes */
  const char *port;
  value *initial; /* of a port: its constant or input */
  struct pt2_storage *next_state;
} pt2_storage;

/* A tensor of its own. */
pt2_tensor *npuc_pt2_own(pt2_source *s, value *v);
/* A tensor that the program was given. */
pt2_tensor *npuc_pt2_port(pt2_source *s, const char *name, value *v);
pt2_storage *npuc_pt2_storage(const pt2_tensor *t);
bool npuc_pt2_is_whole(const pt2_tensor *t); /* no view */
/* A window on `parent`, already made as `v`. */
pt2_tensor *npuc_pt2_view_of(pt2_source *s, pt2_tensor *parent, const pt2_view *view, value *v);
/* Applies the view and makes its window. */
npuc_status npuc_pt2_view_make(pt2_node *n, pt2_tensor *parent, const pt2_view *view, pt2_tensor **out_tensor) NPUC_MUST_USE;
/* The content now. */
npuc_status npuc_pt2_read_tensor(pt2_node *n, pt2_tensor *t, value **out_value) NPUC_MUST_USE;
/* The content becomes `content` (cast and broadcast to the tensor's own type and shape by the caller). */
npuc_status npuc_pt2_write_tensor(pt2_node *n, pt2_tensor *t, value *content) NPUC_MUST_USE;

/* -- results -- */
void npuc_pt2_bind(pt2_source *s, const char *name, pt2_binding b);
npuc_status npuc_pt2_result(pt2_node *n, value *v) NPUC_MUST_USE; /* output 0 is a new tensor */
npuc_status npuc_pt2_result_tensor(pt2_node *n,
                                   pt2_tensor *t) NPUC_MUST_USE; /* output 0 is this tensor: a view, or an operand written in place */
npuc_status npuc_pt2_results(pt2_node *n, value *const *v, size_t count) NPUC_MUST_USE;       /* several outputs, NULL where unused */
npuc_status npuc_pt2_result_list(pt2_node *n, pt2_tensor **list, size_t count) NPUC_MUST_USE; /* one output that is a list of tensors */
npuc_status npuc_pt2_result_int(pt2_node *n, pt2_int v) NPUC_MUST_USE;

/* -- aten_table.c -- */
typedef npuc_status pt2_translator(pt2_node *n);
/* Fills what aten.def says of the target "torch.ops.aten.conv2d.default"; NULL when it says nothing. */
pt2_translator *npuc_pt2_translator(pt2_node *n);
/* Why a core operator has none; NULL for others. */
const char *npuc_pt2_refusal(const char *target);

#endif
