/* SPDX-License-Identifier: Apache-2.0 */
/* What operator definitions share: error places, reading of inputs' facts, small integer contents, common inferences.
 *
 * Contents. Exporters compute the arguments of Reshape, Expand and Pad with integer operators on shapes. `elements` carries such a
 * tensor through inference: each element is a number (of any sign), a symbol of the module, or unknown. A fact's `content` holds
 * dims, which have no room for negative numbers; such an element is DIM_UNKNOWN there. Reshape loses nothing by that: one
 * unknown target dim is computed from the others, just as -1 is. */
#ifndef NPUC_IR_OPS_SUPPORT_H
#define NPUC_IR_OPS_SUPPORT_H

#include "ir/attributes.h"
#include "ir/ops/definitions.h"

#define COUNT_OF(array) ((int32_t)(sizeof(array) / sizeof((array)[0])))

/* Entries of an attribute table; the field's name is the attribute's name. */
#define FIELD_INT(type, field, value, text) \
  { .name = #field, .kind = ATTR_INT, .offset = offsetof(type, field), .default_int = (value), .doc = (text) }
#define FIELD_FLOAT(type, field, value, text) \
  { .name = #field, .kind = ATTR_FLOAT, .offset = offsetof(type, field), .default_float = (value), .doc = (text) }
#define FIELD_STRING(type, field, value, text) \
  { .name = #field, .kind = ATTR_STRING, .offset = offsetof(type, field), .default_string = (value), .doc = (text) }
#define FIELD_INTS(type, field, text) \
  { .name = #field, .kind = ATTR_INTS, .offset = offsetof(type, field), .doc = (text) }
#define FIELD_FLOATS(type, field, text) \
  { .name = #field, .kind = ATTR_FLOATS, .offset = offsetof(type, field), .doc = (text) }
#define FIELD_STRINGS(type, field, text) \
  { .name = #field, .kind = ATTR_STRINGS, .offset = offsetof(type, field), .doc = (text) }
#define FIELD_TENSOR(type, field, text) \
  { .name = #field, .kind = ATTR_TENSOR, .offset = offsetof(type, field), .doc = (text) }

#define FIELD_GRAPH(type, field, text) \
  { .name = #field, .kind = ATTR_GRAPH, .offset = offsetof(type, field), .required = true, .doc = (text) }

/* Members of an op_def that come from a named array. */
#define PORTS_IN(array, least) .inputs = (array), .n_inputs = COUNT_OF(array), .min_inputs = (least)
#define PORTS_OUT(array, least) .outputs = (array), .n_outputs = COUNT_OF(array), .min_outputs = (least)
#define ATTRIBUTES(array, type) .attributes = (array), .n_attributes = COUNT_OF(array), .attributes_bytes = sizeof(type)

/* The members by which an operator of the default domain is found, specified and evaluated. */
#define ONNX_OP(symbol, op_enum, name, since, oldest)                                                                                   \
  .id = (op_enum), .domain = "", .type = name, .since_version = (since), .oldest_version = (oldest), .source = "ONNX " name "-" #since, \
  .eval = npuc_eval_##symbol

/* -- errors -- */
/* Place of a node: part, source's name, operator, and the attribute or input that is at fault (may be NULL). */
diag_place npuc_node_place(const node *n, const char *attribute);
/* One call for the usual ending of a check. */
npuc_status npuc_op_fail(diag *d, const node *n, diag_code code, const char *attribute, const char *format, ...) NPUC_PRINTF(5, 6);

/* An attribute that is 0 or 1. */
npuc_status npuc_verify_flag(diag *d, const node *n, const char *attribute, int64_t flag);

enum { SHAPE_TEXT = 160 };
/* "[N,3,32,32]" into `out`, which has SHAPE_TEXT bytes; returns `out`. m may be NULL. */
const char *npuc_shape_text(const module *m, const shape *s, char *out);

/* -- facts -- */
/* NULL when omitted or absent. */
const fact *npuc_fact_input(const infer_context *c, int32_t index);
/* Known rank, or -1. */
int32_t npuc_fact_rank(const fact *f);
/* Type of the first input that has one. */
dtype npuc_fact_type(const infer_context *c, int32_t index);
/* Inputs first..last have one type wherever it is known; names the port that differs. */
npuc_status npuc_infer_same_type(infer_context *c, int32_t first, int32_t last);
/* A dim of an output that cannot be computed: the symbol that the value already has, else a fresh one, else unknown. */
dim npuc_infer_free_dim(const infer_context *c, int32_t output, int32_t axis);
/* Output 0 of known rank and free dims. */
void npuc_infer_free_shape(infer_context *c, int32_t rank);
/* The same where only the length of the vector that holds its dims is known; unknown rank when not even that. */
void npuc_infer_free_target(infer_context *c, const fact *vector);
/* Two dims that must be equal: the one that says more into *out; false when they are different numbers. */
bool npuc_dim_merge(dim a, dim b, dim *out);
/* Product of count dims, `free_dim` where it cannot be said. */
dim npuc_dim_product(const dim *dims, int32_t count, dim free_dim);

/* Axis attribute against a rank: E0440 when out of range. */
npuc_status npuc_require_axis(infer_context *c, int64_t given, int32_t rank, int32_t *out_axis) NPUC_MUST_USE;
/* Dims of output `index` from an integer vector: E0440 for a negative one. False when nothing is known of it (then the rank may be). */
npuc_status npuc_infer_target(infer_context *c, int32_t input, int32_t output, bool *out_known) NPUC_MUST_USE;

/* -- contents -- */
enum { MAX_CONTENT = 64 };
typedef struct element {
  bool is_number;
  int64_t number;
  dim symbol; /* when no number: a symbol or DIM_UNKNOWN */
} element;
typedef struct elements {
  int32_t rank; /* 0 or 1 */
  int32_t count;
  element at[MAX_CONTENT];
} elements;

static inline element element_of_number(int64_t number) { return (element){.is_number = true, .number = number, .symbol = DIM_UNKNOWN}; }
element npuc_element_of_dim(dim d);
/* DIM_UNKNOWN for a negative number. */
dim npuc_element_dim(const element *e);
/* From the constant or the content of an integer or boolean fact of rank 0 or 1; false when nothing is known or there are too many. */
bool npuc_elements_read(const fact *f, elements *out);
/* As above, and every element is a number. */
bool npuc_elements_numbers(const fact *f, elements *out);
/* Sets content of output (its type must be set), and its constant when all are numbers. */
void npuc_elements_write(infer_context *c, int32_t output, const elements *e);
/* Output 0 takes input 0's elements with the output's own rank (0 or 1): Reshape, Squeeze, Unsqueeze, Identity. */
void npuc_elements_forward(infer_context *c);

/* Axes given as an input or absent. count -1 when absent. Negative ones counted from `rank`; reports out of range and repeated ones. */
typedef struct axes_list {
  int32_t count;
  int32_t axes[MAX_RANK];
} axes_list;
npuc_status npuc_infer_axes(infer_context *c, int32_t input, int32_t rank, bool *out_known, axes_list *out_axes);

/* -- common inferences -- */
npuc_status npuc_infer_unary(infer_context *c);     /* output 0 is as input 0 */
npuc_status npuc_infer_broadcast(infer_context *c); /* output 0 is the broadcast of all inputs */

/* -- costs -- */
/* Product of the dims, symbols as 1; 0 for an unknown rank. */
double npuc_value_elements(const value *v);

#endif
