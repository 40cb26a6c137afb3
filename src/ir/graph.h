/* SPDX-License-Identifier: Apache-2.0 */
/* The IR: modules of graphs of nodes and values, with ONNX semantics and names at opset 28.
 *
 *   module ── arena, symbol names, blobs, metadata
 *     └─ graph ("part") ── inputs, outputs, nodes in topological order (a list)
 *          ├─ value: name, dtype, shape, constant | producer, uses
 *          └─ node: op, attributes (the op's struct), inputs, outputs, location, placement
 *
 * Everything lives in the module's arena; removing unlinks. Every use is recorded in the value (uses), so that replacing a value
 * is linear in its uses. Mutate only through the functions below: they keep uses and names right. Nodes stay in an order in
 * which producers come first; functions that insert say where. */
#ifndef NPUC_IR_GRAPH_H
#define NPUC_IR_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/map.h"
#include "tensor/tensor.h"

typedef struct module module;
typedef struct graph graph;
typedef struct node node;
typedef struct value value;
typedef struct op_def op_def;

/* Quantized type of a value: real = scale * (q - zero_point). Tensors of 1 element (axis -1) or of the axis' length. */
typedef struct quant {
  int32_t axis;      /* -1: per tensor */
  tensor scale;      /* float32 */
  tensor zero_point; /* the value's own dtype (int32 for biases) */
} quant;

typedef struct use {
  node *user;
  int32_t index; /* input index in user */
} use;

struct value {
  const char *name; /* unique in the graph; interned */
  uint32_t id;      /* unique in the graph, dense enough to index side tables of graph->next_value_id */
  dtype type;
  shape shape;
  const tensor *constant; /* initializer's data, or NULL */
  const quant *quant;     /* or NULL */
  node *producer;         /* NULL for inputs and constants */
  int32_t output_index;   /* in producer */
  use *uses;
  size_t n_uses, uses_capacity;
  bool is_input, is_output;
  graph *owner;
};

/* Where a node came from; survives rewrites (a node made from several keeps the first as `name`, all in `derived`). */
typedef struct location {
  const char *name;           /* source's node name, e.g. "/layer1/layer1.0/conv1/Conv" or nn.Module path */
  const char *const *derived; /* further source names */
  size_t n_derived;
} location;

struct node {
  const op_def *op;
  const char *name; /* unique in the graph; never NULL after import */
  uint32_t id;
  value **inputs;      /* NULL entry: omitted optional input */
  uint32_t *use_slots; /* where inputs[i]->uses has this use: makes removing one O(1) */
  int32_t n_inputs, inputs_capacity;
  value **outputs; /* NULL entry: omitted optional output */
  int32_t n_outputs;
  void *attributes; /* op->attributes_bytes bytes, or NULL when the op has none */
  const location *location;
  const char *place;        /* "npu", "host", or NULL before adapt; metadata npuc.place */
  const char *place_reason; /* metadata npuc.place_reason */
  node *prev, *next;
  graph *owner;
};

struct graph {
  module *module;
  const char *name;
  value **inputs;
  size_t n_inputs, inputs_capacity;
  value **outputs;
  size_t n_outputs, outputs_capacity;
  node *first, *last;
  size_t n_nodes;
  map *values; /* name -> value, all live values */
  map *node_names;
  map *suffixes; /* base name -> lower bound of its smallest free suffix */
  uint32_t next_value_id, next_node_id;
  int32_t n_captures; /* of a body: so many of its last inputs are values of the graph outside (bodies below) */
};

struct module {
  arena *arena;
  interner *names;
  graph **graphs; /* parts; parts[0] is the main one */
  size_t n_graphs;
  const char **symbols; /* dim symbol names by id */
  size_t n_symbols, symbols_capacity;
  map *symbol_dims; /* name -> dim * */
  size_t next_fresh_symbol;
  map *metadata;           /* string -> char *: model metadata_props */
  const char *source_path; /* file it was read from, or NULL */
  const char *producer;
  blob **blobs; /* retained until the module ends */
  size_t n_blobs, blobs_capacity;
};

/* -- modules -- */
module *npuc_module_create(void);
void npuc_module_destroy(module *m); /* NULL is fine */
/* Deep copy that shares weights' bytes (blobs retained). */
module *npuc_module_clone(const module *m);
/* Keeps a reference until the module ends. */
void npuc_module_keep_blob(module *m, blob *b);
/* Dim of a named symbol (created at first use); name of a symbol dim. */
dim npuc_module_symbol(module *m, const char *name);
const char *npuc_module_symbol_name(const module *m, dim d);
/* A fresh symbol "unk__N". */
dim npuc_module_fresh_symbol(module *m);

/* -- graphs -- */
graph *npuc_graph_create(module *m, const char *name);     /* appended to m->graphs */
value *npuc_graph_value(const graph *g, const char *name); /* NULL if none */
node *npuc_graph_node(const graph *g, const char *name);
/* Whether a dim of an input is the symbol called so. */
/* Fails where no input has a dim of that name, and says which names there are. */
npuc_status npuc_graph_check_symbol(diag *d, const graph *g, const char *symbol) NPUC_MUST_USE;
/* `name` when free among values and nodes, else the first free of name_1, name_2 ... (interned). Depends on the present names only, not on history. */
const char *npuc_graph_unique_name(graph *g, const char *name);

/* Makes an existing value without producer the next input. */
void npuc_graph_mark_input(graph *g, value *v);
/* `name` must be free. */
value *npuc_graph_add_input(graph *g, const char *name, dtype type, const shape *s);
/* Marks an existing value as the next output. */
void npuc_graph_add_output(graph *g, value *v);
/* Replaces outputs[index] (uses elsewhere are untouched). */
void npuc_graph_set_output(graph *g, size_t index, value *v);
/* Constant sharing `t`'s bytes: retains the owner in the module when there is one; a tensor with owner NULL must outlive the module (arena memory of it does). */
value *npuc_graph_add_constant(graph *g, const char *name, const tensor *t);
/* New values for constants whose content is made now: small int64 vector / scalar (n < 0) or float32. Copied into the arena. */
value *npuc_graph_constant_ints(graph *g, const char *name, dtype type, const int64_t *values, int64_t n);
value *npuc_graph_constant_floats(graph *g, const char *name, const float *values, int64_t n);
/* For this and the three above, a name that is taken gets a suffix. A free-standing value without producer, to be given to npuc_graph_insert_node as an output or set later. */
value *npuc_graph_add_value(graph *g, const char *name, dtype type, const shape *s);

/* Inserts before `before` (NULL: at the end). Attributes zero/default-initialised per op table. `inputs` may hold NULL. Creates
 * n_outputs fresh values named after the node ("name" or "name_outK"), dtype and shape unknown. location may be NULL. */
node *npuc_graph_insert_node(graph *g, node *before, const op_def *op, const char *name, value *const *inputs, int32_t n_inputs,
                             int32_t n_outputs, const location *loc);
/* As above with given output values, NULL where omitted (each without a producer). For importers. */
node *npuc_graph_insert_node_with_outputs(graph *g, node *before, const op_def *op, const char *name, value *const *inputs,
                                          int32_t n_inputs, value *const *outputs, int32_t n_outputs, const location *loc);
void npuc_node_set_input(node *n, int32_t index, value *v); /* index may be n_inputs (append) */
void npuc_node_truncate_inputs(node *n, int32_t count);
/* Every use of `from` (and graph outputs) becomes `to`, but a use by `to`'s own producer stays (so a value can be
 * wrapped). When `from` is a graph output, `to` takes its name (ports keep their names); an
 * input that is an output too stays that output. Where
 * `to` has a port's name already (it is an input or another output), the output becomes a new Identity of it, placed at the end, unless
 * `from` is that Identity already. */
void npuc_value_replace(value *from, value *to);
/* The quantized type, copied into the arena; NULL clears it. */
void npuc_value_set_quant(value *v, const quant *q);
/* No output may have uses or be a graph output. Unlinks the outputs' values and drops uses of inputs. */
void npuc_graph_remove_node(graph *g, node *n);
/* A value without producer and uses that is not an input or output. */
void npuc_graph_remove_value(graph *g, value *v);
void npuc_value_rename(value *v, const char *name); /* must be free */
void npuc_node_rename(node *n, const char *name);
/* Moves `n` before `before` (NULL: end). */
void npuc_graph_move_node(graph *g, node *n, node *before);
/* Orders nodes so that producers come first, stable; E04xx naming a node of the cycle when there is one. */
npuc_status npuc_graph_sort(diag *d, graph *g) NPUC_MUST_USE;
/* Removes nodes and constants that reach no output. Returns how many nodes went. */
size_t npuc_graph_remove_dead(graph *g);

/* -- bodies (body.c) --
 * If, Loop and Scan hold graphs. In a file a body may name values of the graphs around it; here it has an input for each such value (a capture, behind the
 * inputs that the operator gives), and the node has the outer value as an input, behind its own. So a body is a graph like any other, and what orders, renames,
 * replaces or removes values outside sees every use. All bodies of a node have the same captures. */
graph *npuc_body_create(module *m, const char *name); /* belongs to no part */
/* The node's i-th body, NULL behind the last. */
graph *npuc_node_body(const node *n, int32_t i);
/* How many of the node's last inputs are captures. */
int32_t npuc_node_captures(const node *n);
/* `inner`, a value without producer in `body`, stands for `outer` from now on; the node and its other bodies get what they lack. */
void npuc_body_capture(node *n, graph *body, value *inner, value *outer);
/* Drops captures that no body reads. */
void npuc_node_prune_captures(node *n);
/* Copies the body's nodes in front of `before` in `g`. arguments: one value of g for each of the body's inputs. out_results: one for each output. `prefix` and a point stand in
 * front of names, of values and nodes. */
void npuc_body_inline(graph *g, node *before, const graph *body, const char *prefix, value *const *arguments, value **out_results);

/* Location that derives from both (either may be NULL). */
const location *npuc_location_merge(module *m, const location *a, const location *b);

#define NPUC_EACH_NODE(g, n) for (node *n = (g)->first; n; n = n->next)
/* Safe when the current node is removed. */
#define NPUC_EACH_NODE_SAFE(g, n, after) for (node *n = (g)->first, *after = n ? n->next : NULL; n; n = after, after = n ? n->next : NULL)

#endif
