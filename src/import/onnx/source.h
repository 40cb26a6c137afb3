/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the ONNX reader: what its files share. A node goes through three forms: bytes (a span of the file), an onnx_node (names resolved to values, attributes as
 * the file has them, rewritten by upgrade.c to opset 28's form), and the IR's node. */
#ifndef NPUC_IMPORT_ONNX_SOURCE_H
#define NPUC_IMPORT_ONNX_SOURCE_H

#include "formats/protobuf.h"
#include "import/onnx/schema.h"
#include "ir/op.h"

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
} onnx_attribute;

typedef struct onnx_node {
  const char *name; /* NULL when the file has none */
  const char *type, *domain;
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

/* A Softmax or LogSoftmax from before opset 13: normalizes over all axes from `axis` on. */
typedef struct legacy_softmax {
  node *node;
  int64_t axis;
} legacy_softmax;

/* The axis of a value's scales (META_QUANT_AXIS), by the value's name until the annotations are read. */
typedef struct quant_axis {
  int32_t axis;
} quant_axis;

typedef struct onnx_source {
  diag *d;
  module *m;
  graph *g;
  arena *scratch;          /* records, gone after reading */
  blob *file;              /* the .onnx file; owned by the module */
  const char *folder;      /* of the file, as written */
  char *real_folder;       /* resolved, malloc'd by realpath; NULL until external data is met */
  map *external;           /* location -> blob, owned by the module */
  map *quant_axes;         /* value name -> quant_axis */
  map *annotation_tensors; /* name -> value: initializers that annotations name */
  map *dropped;            /* value name -> label of the node whose output it was */
  int64_t ir_version;
  int64_t opset; /* of the default domain; 0 until read */
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

npuc_status npuc_onnx_graph(onnx_source *s, pb_reader message) NPUC_MUST_USE;
npuc_status npuc_onnx_parse_node(onnx_source *s, pb_reader message, onnx_node **out_node) NPUC_MUST_USE;
/* Into the IR, at the end of the graph. */
npuc_status npuc_onnx_add_node(onnx_source *s, onnx_node *n) NPUC_MUST_USE;

/* Brings the node to opset 28's form. */
npuc_status npuc_onnx_upgrade(onnx_source *s, onnx_node *n) NPUC_MUST_USE;
/* The same for opsets 1 to 6, as far as 7's form. */
npuc_status npuc_onnx_upgrade_early(onnx_source *s, onnx_node *n) NPUC_MUST_USE;
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
