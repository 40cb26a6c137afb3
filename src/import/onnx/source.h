/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the ONNX reader: what its files share. A node goes through three forms: bytes (a span of the file), an onnx_node (names resolved to values, attributes as
 * the file has them, rewritten by upgrade.c to opset 28's form), and the IR's node. */
#ifndef NPUC_IMPORT_ONNX_SOURCE_H
#define NPUC_IMPORT_ONNX_SOURCE_H

#include "formats/protobuf.h"
#include "import/onnx/schema.h"
#include "ir/op.h"
#include "ir/text.h"
#include "tensor/reference.h"

typedef struct onnx_scope onnx_scope;

typedef struct onnx_attribute {
  const char *name;
  onnx_attribute_type type;
  int64_t i;
  float f;
  const char *s;
  int_list ints;
  float_list floats;
  string_list strings;
  const tensor *t;
  dtype value_type;  /* ONNX_TYPE_PROTO */
  pb_reader graph;   /* ONNX_GRAPH */
  onnx_scope *scope; /* what its names mean, where it is written */
  graph *body;       /* once read */
} onnx_attribute;

typedef struct onnx_node {
  const char *name; /* NULL when the file has none */
  const char *type, *domain, *overload;
  const char **input_names, **output_names; /* "" for omitted */
  size_t n_input_names, n_output_names;
  value **inputs, **outputs; /* NULL for omitted */
  int32_t n_inputs, n_outputs;
  onnx_attribute *attributes;
  size_t n_attributes;
  const char *location; /* META_LOCATION, or NULL */
  const char **derived;
  size_t n_derived;
  const char *place, *place_reason;
} onnx_node;

/* A model-local function, read when it is first called. */
typedef struct onnx_function {
  const char *name, *domain, *overload;
  pb_reader message;
  const function_text *text; /* instead of the message: npuc's own meaning of a foreign operator, see foreign.c */
  bool is_parsed;
  const char **inputs, **outputs, **parameters; /* parameters: attributes without a default */
  size_t n_inputs, n_outputs, n_parameters;
  onnx_attribute *defaults;
  size_t n_defaults;
  pb_reader *nodes;
  size_t n_nodes;
  int64_t opset; /* of the default domain; 0: the model's */
} onnx_function;

/* One call under way. */
typedef struct onnx_frame {
  const struct onnx_frame *caller; /* NULL: the main graph */
  const onnx_function *function;
  const onnx_node *call;
  const char *label; /* in front of what the body's nodes and values are called */
  int depth;
} onnx_frame;

typedef struct onnx_capture {
  value *inner, *outer;
} onnx_capture;

/* What names mean: in a graph, which sees those around it, or in the body of a function, whose names are its own. */
struct onnx_scope {
  graph *g;
  onnx_scope *parent;     /* of a body: the scope around it */
  onnx_capture *captures; /* of a body: what it reads of the graphs around it */
  size_t n_captures, captures_capacity;
  map *names;              /* -> scope_entry (scope.c) */
  map *promised;           /* of a call: formal output -> the caller's value, defined by the node that makes it */
  const onnx_frame *frame; /* NULL: not in a function */
  int64_t opset;           /* of the default domain, of what is written here: a graph that is handed to a function keeps the caller's */
};

/* A Softmax or LogSoftmax from before opset 13: normalizes over all axes from `axis` on. */
typedef struct legacy_softmax {
  node *node;
  int64_t axis;
} legacy_softmax;

/* An output that has a meaning in training only. */
typedef struct dropped_output {
  value *value;
  const char *label; /* of the node whose output it was */
} dropped_output;

/* A sequence or an optional: what it holds. */
typedef struct onnx_list {
  value *placeholder; /* no node makes it, until it is settled */
  value **items;
  int32_t n;
  bool is_optional;
  dtype element; /* of what an empty one would hold */
  bool is_settled;
  const char *label; /* of the node that made it */
} onnx_list;

/* The axis of a value's scales (META_QUANT_AXIS), by the value's name until the annotations are read. */
typedef struct quant_axis {
  int32_t axis;
} quant_axis;

typedef struct onnx_source {
  diag *d;
  module *m;
  graph *g;
  onnx_scope *scope;
  map *functions;          /* "domain\nname\noverload" -> onnx_function */
  size_t n_inlined;        /* nodes that calls brought */
  arena *scratch;          /* records, gone after reading */
  blob *file;              /* the .onnx file; owned by the module */
  const char *folder;      /* of the file, as written */
  char *real_folder;       /* resolved, malloc'd by realpath; NULL until external data is met */
  map *external;           /* location -> blob, owned by the module */
  map *quant_axes;         /* value name -> quant_axis */
  map *annotation_tensors; /* name -> value: initializers that annotations name */
  dropped_output *dropped;
  size_t n_dropped, dropped_capacity;
  onnx_list *lists;
  size_t n_lists, lists_capacity;
  int64_t ir_version;
  int64_t opset; /* of the default domain; 0 until read, the newest where the file names none. Of the function whose nodes are being read */
  bool names_no_opset; /* of the default domain: it may have no node of it */
  legacy_softmax *softmaxes;
  size_t n_softmaxes, softmaxes_capacity;
} onnx_source;

/* Interned copy of a text field. Control bytes of value 0 end C strings, so a name that holds one is refused (a problem of `r`). */
const char *npuc_onnx_text(onnx_source *s, pb_reader *r, const pb_field *f);
/* One key and value of metadata_props and the like; missing ones are "". */
void npuc_onnx_entry(onnx_source *s, pb_reader *r, const pb_field *f, const char **out_key, const char **out_value);

/* TensorProto -> tensor whose bytes are views (raw_data, external data) or converted copies, kept by the module. */
npuc_status npuc_onnx_tensor(onnx_source *s, pb_reader message, const char *owner_name, tensor *out_tensor,
                             const char **out_name) NPUC_MUST_USE;
/* A text that lives as long as the module; NULL for the empty one. */
const void *npuc_onnx_text_element(onnx_source *s, text_span text);
typedef struct external_range {
  const char *location;
  uint64_t offset, length;
  bool has_length;
} external_range;
/* `bytes` of the file at the range's location; every check of docs on external data happens here. */
npuc_status npuc_onnx_external(onnx_source *s, const char *tensor_name, const external_range *range, size_t bytes,
                               tensor *io_tensor) NPUC_MUST_USE;
/* E0308 as a warning when a float tensor holds NaN or infinity. */
void npuc_onnx_check_finite(onnx_source *s, const char *name, const tensor *t);

/* TypeProto: DTYPE_NONE for a type that values cannot have (a map, a sparse tensor). shape: of a tensor; the shapes of what a sequence holds are not kept. */
npuc_status npuc_onnx_type(onnx_source *s, const char *name, pb_reader r, dtype *out_type, shape *out_shape) NPUC_MUST_USE;
npuc_status npuc_onnx_graph(onnx_source *s, pb_reader message) NPUC_MUST_USE;
/* A graph inside a node. */
npuc_status npuc_onnx_body(onnx_source *s, onnx_attribute *a, onnx_scope **out_scope) NPUC_MUST_USE;
/* Nodes with meanings of the present scope, into the present graph. */
npuc_status npuc_onnx_nodes(onnx_source *s, const pb_reader *messages, size_t n) NPUC_MUST_USE;
/* The same from text. */
npuc_status npuc_onnx_text_nodes(onnx_source *s, const text_node *texts, size_t n) NPUC_MUST_USE;
npuc_status npuc_onnx_parse_node(onnx_source *s, pb_reader message, onnx_node **out_node) NPUC_MUST_USE;
npuc_status npuc_onnx_parse_attribute(onnx_source *s, const onnx_node *n, pb_reader message, onnx_attribute *a,
                                      bool *out_absent) NPUC_MUST_USE;
/* Into the IR, at the end of the graph. */
npuc_status npuc_onnx_add_node(onnx_source *s, onnx_node *n) NPUC_MUST_USE;

/* -- operators of other domains, as functions of operators of the default one (foreign.c) -- */
/* NULL in *out_function: the operator is none of these. E0443 when it is, in a form that has no function. */
npuc_status npuc_onnx_foreign(onnx_source *s, const onnx_node *n, onnx_function **out_function) NPUC_MUST_USE;
/* A node of such a function, and its list of ports, in the form that files' nodes have. */
npuc_status npuc_onnx_foreign_node(onnx_source *s, const text_node *t, onnx_node **out_node) NPUC_MUST_USE;
void npuc_onnx_foreign_ports(onnx_source *s, onnx_function *f);

/* -- scopes (scope.c) -- */
onnx_scope *npuc_onnx_scope(onnx_source *s, graph *g, const onnx_frame *frame);
/* v NULL: the name stands for an input that the caller left out. */
void npuc_onnx_bind(onnx_source *s, const char *name, value *v);
/* Whether the scope itself defines the name. */
bool npuc_onnx_find_own(const onnx_scope *scope, const char *name, value **out_value);
/* Whether the present scope has the name or can reach it: a value of a graph around the present one becomes a capture. */
bool npuc_onnx_find(onnx_source *s, const char *name, value **out_value);
/* A defined name that looks like it, or NULL. */
const char *npuc_onnx_nearest(onnx_source *s, const char *name);
/* What an inner name is called in the graph: with the call's label in front. */
const char *npuc_onnx_inner_name(onnx_source *s, const char *name);

/* -- sequences and optionals (sequence.c) -- */
/* What `v` stands for, or NULL: it is a value. */
const onnx_list *npuc_onnx_list(const onnx_source *s, const value *v);
/* Takes nodes that make or read lists, as far as the file says what is in them; what others read becomes a value. */
npuc_status npuc_onnx_add_list_node(onnx_source *s, const onnx_node *n, bool *out_taken) NPUC_MUST_USE;
/* A list becomes a value, made by a node; others are left alone, and so is NULL. */
void npuc_onnx_settle(onnx_source *s, value *v);
/* When all is read: lists that nobody wants as a whole go. */
void npuc_onnx_finish_lists(onnx_source *s);

/* -- functions (function.c) -- */
npuc_status npuc_onnx_add_function(onnx_source *s, pb_reader message) NPUC_MUST_USE;
/* The function that the node calls, or NULL. */
onnx_function *npuc_onnx_called(onnx_source *s, const onnx_node *n);
/* The function's nodes in place of the call. */
npuc_status npuc_onnx_inline(onnx_source *s, const onnx_node *call, onnx_function *f) NPUC_MUST_USE;
/* What `name` is in the present call: the caller's attribute, the default, or NULL with *out_known telling whether there is such a parameter. */
const onnx_attribute *npuc_onnx_parameter(const onnx_source *s, const char *name, bool *out_known);

/* Brings the node to opset 28's form. */
npuc_status npuc_onnx_upgrade(onnx_source *s, onnx_node *n) NPUC_MUST_USE;
/* The same for opsets 1 to 6, as far as 7's form. */
npuc_status npuc_onnx_upgrade_early(onnx_source *s, onnx_node *n) NPUC_MUST_USE;
/* Scan of opset 8, its body read; `inside` is the body's scope. */
npuc_status npuc_onnx_upgrade_scan(onnx_source *s, onnx_node *n, onnx_scope *inside) NPUC_MUST_USE;
/* What can only be upgraded when ranks are known. Infers the graph when there is such a node. */
npuc_status npuc_onnx_upgrade_inferred(onnx_source *s) NPUC_MUST_USE;

/* -- the record's attributes and inputs -- */
onnx_attribute *npuc_onnx_attribute(const onnx_node *n, const char *name); /* NULL if none */
void npuc_onnx_remove_attribute(onnx_node *n, const char *name);
onnx_attribute *npuc_onnx_add_attribute(onnx_source *s, onnx_node *n, const char *name, onnx_attribute_type type);
/* inputs[index] = v, NULLs in between. */
void npuc_onnx_set_input(onnx_source *s, onnx_node *n, int32_t index, value *v);
/* What messages call the node: its name, else its first output's. */
const char *npuc_onnx_label(const onnx_node *n);
npuc_status npuc_onnx_fail(onnx_source *s, const onnx_node *n, diag_code code, const char *attribute, const char *format, ...)
    NPUC_PRINTF(5, 6);

#endif
