/* SPDX-License-Identifier: Apache-2.0 */
/* Edits that take something out of the model and put it beside it: the table of token embeddings, the language model's head, the words that are not needed. */
#include <string.h>

#include "passes/edits/build.h"

static npuc_status refuse(pass_context *c, const node *n, const char *why) {
  return npuc_fail(c->d, NPUC_DIAG_E0510, &(diag_place){.node = n ? n->name : NULL, .op = n ? n->op->type : NULL}, "%s: %s", c->pass, why);
}

static const side_files *side_of(pass_context *c) { return c->options->side_files; }

/* -- extract-constant-lut -- */

static bool is_table(pass_context *c, const node *n) {
  const value *t = node_is(n, OP_GATHER) ? n->inputs[0] : NULL;
  int64_t dims[MAX_RANK];
  int32_t rank = npuc_edit_ints(c->arguments, "lut_shape", dims, MAX_RANK);
  if (!t || !t->constant || NPUC_ATTRS(axis_attributes, n)->axis != 0 || n->inputs[1]->constant) return false;
  if (rank == 0) return t->shape.rank == 2 && n->inputs[1]->is_input;
  return t->shape.rank == rank && memcmp(t->shape.dims, dims, (size_t)rank * sizeof *dims) == 0;
}

static npuc_status the_table(pass_context *c, const graph *g, node **out) {
  *out = NULL;
  NPUC_EACH_NODE(g, n) {
    if (!is_table(c, n)) continue;
    if (*out) return refuse(c, n, "two lookups have this form; lut_shape says which is meant");
    *out = n;
  }
  return NPUC_OK;
}

npuc_status npuc_pass_extract_constant_lut(pass_context *c, graph *g, bool *out_changed) {
  node *n;
  const char *name = npuc_edit_text(c->arguments, "inp_name");
  NPUC_TRY(the_table(c, g, &n));
  if (!n) return NPUC_OK;
  if (!side_of(c)) return refuse(c, n, "there is no place for the table here");
  if (npuc_graph_value(g, name) || n->outputs[0]->is_output) return refuse(c, n, "the input's name is taken, or the lookup is an output");
  if (!npuc_pass_allow(c, "table-out", PARITY_EXACT, n)) return NPUC_OK;
  NPUC_TRY(side_of(c)->tensor(side_of(c)->user, c->d, npuc_edit_text(c->arguments, "save_to"), n->inputs[0]->constant));
  value *ids = n->inputs[1], *rows = npuc_graph_add_input(g, name, n->outputs[0]->type, &n->outputs[0]->shape);
  npuc_value_replace(n->outputs[0], rows);
  npuc_edit_move_input(g, rows, 0);
  (void)npuc_graph_remove_dead(g);
  if (ids->is_input && ids->n_uses == 0) npuc_edit_drop_input(g, ids);
  *out_changed = true;
  return NPUC_OK;
}

/* -- the head: the last product by constants before the output that is called logits -- */

typedef struct head {
  size_t output; /* place among the graph's outputs */
  node *product;
  int32_t data; /* which of its inputs is the hidden state */
} head;

/* From the output back, through nodes whose other operands are constant. */
static bool find_head(pass_context *c, const graph *g, head *out) {
  const char *wanted = npuc_edit_text(c->arguments, "output");
  for (size_t i = 0; i < g->n_outputs; i++) {
    const value *v = g->outputs[i];
    if (!strstr(v->name, wanted)) continue;
    for (node *n = v->producer; n && n->n_outputs == 1; n = n->inputs[out->data]->producer) {
      int32_t moving = 0;
      for (int32_t k = 0; k < n->n_inputs; k++) {
        if (n->inputs[k] && !n->inputs[k]->constant) out->data = k, moving++;
      }
      if (moving != 1) break;
      *out = (head){i, n, out->data};
      if (node_is(n, OP_MATMUL) || node_is(n, OP_GEMM)) return true;
      if (v->producer != n && n->outputs[0]->n_uses != 1) break;
    }
  }
  return false;
}

/* Copies the nodes from the product to the output into a graph of their own. */
static value *copy_value(graph *to, map *copies, const value *v) {
  value *known = npuc_map_get(copies, v->name);
  if (known || !v->constant) return known;
  known = npuc_graph_add_constant(to, v->name, v->constant);
  (void)npuc_map_put(copies, v->name, known);
  return known;
}

static npuc_status head_module(pass_context *c, const graph *g, const head *h, module **out) {
  const value *hidden = h->product->inputs[h->data], *logits = g->outputs[h->output];
  module *m = npuc_module_create();
  graph *to = npuc_graph_create(m, "lm_head");
  map *copies = npuc_map_create(c->scratch);
  (void)npuc_map_put(copies, hidden->name, npuc_graph_add_input(to, "last_hidden_states", hidden->type, &hidden->shape));
  for (const node *n = h->product;; n = n->outputs[0]->uses[0].user) {
    value **inputs = NPUC_NEW_ARRAY(c->scratch, (size_t)n->n_inputs + 1, value *);
    for (int32_t k = 0; k < n->n_inputs; k++) inputs[k] = n->inputs[k] ? copy_value(to, copies, n->inputs[k]) : NULL;
    node *copy = npuc_graph_insert_node(to, NULL, n->op, n->name, inputs, n->n_inputs, 1, NULL);
    if (n->op->attributes_bytes) copy->attributes = npuc_attributes_clone(m, n->op, n->attributes);
    (void)npuc_map_put(copies, n->outputs[0]->name, copy->outputs[0]);
    if (n->outputs[0] == logits) break;
  }
  value *y = npuc_map_get(copies, logits->name);
  if (strcmp(y->name, logits->name) != 0) npuc_value_rename(y, npuc_graph_unique_name(to, logits->name));
  npuc_graph_add_output(to, y);
  *out = m;
  return npuc_graph_infer(c->d, to);
}

npuc_status npuc_pass_split_lm_head(pass_context *c, graph *g, bool *out_changed) {
  head h = {0};
  if (!find_head(c, g, &h)) return NPUC_OK;
  value *hidden = h.product->inputs[h.data], *logits = g->outputs[h.output];
  if (!side_of(c)) return refuse(c, h.product, "there is no place for the head here");
  if (hidden->is_input || hidden->is_output || logits->n_uses || npuc_graph_value(g, "last_hidden_states"))
    return refuse(c, h.product, "the hidden state is a port already, or the logits are read inside");
  if (!npuc_pass_allow(c, "head-apart", PARITY_EXACT, h.product)) return NPUC_OK;
  module *m = NULL;
  npuc_status status = head_module(c, g, &h, &m);
  if (status == NPUC_OK) status = side_of(c)->model(side_of(c)->user, c->d, "lm_head.onnx", m);
  npuc_module_destroy(m);
  NPUC_TRY(status);
  npuc_graph_set_output(g, h.output, hidden);
  npuc_value_rename(hidden, "last_hidden_states");
  (void)npuc_graph_remove_dead(g);
  *out_changed = true;
  return NPUC_OK;
}

/* -- trim-lm-head-vocab -- */

/* The chosen columns (axis 1) or rows of a matrix, or elements of a vector. */
static npuc_status chosen(pass_context *c, const tensor *from, int32_t axis, const json_t *ids, tensor *out) {
  shape s = from->shape;
  int64_t all = s.dims[axis], n = (int64_t)json_array_size(ids), inner = axis + 1 < s.rank ? s.dims[axis + 1] : 1,
          outer = axis ? s.dims[0] : 1;
  s.dims[axis] = n;
  NPUC_TRY(npuc_tensor_create(c->d, from->type, &s, out));
  for (int64_t o = 0; o < outer; o++) {
    for (int64_t k = 0; k < n; k++) {
      int64_t id = json_integer_value(json_array_get(ids, (size_t)k));
      for (int64_t i = 0; i < inner; i++) npuc_tensor_set(out, (o * n + k) * inner + i, npuc_tensor_get(from, (o * all + id) * inner + i));
    }
  }
  return NPUC_OK;
}

static npuc_status trim_operand(pass_context *c, graph *g, node *n, int32_t index, int32_t axis, const json_t *ids) {
  tensor t;
  const value *old = n->inputs[index];
  NPUC_TRY(chosen(c, old->constant, axis, ids, &t));
  value *v = npuc_graph_add_constant(g, npuc_arena_printf(c->scratch, "%s_trimmed", old->name), &t);
  npuc_tensor_release(&t);
  npuc_node_set_input(n, index, v);
  return NPUC_OK;
}

static npuc_status check_ids(pass_context *c, const node *n, const json_t *ids, int64_t vocab) {
  size_t i;
  json_t *id;
  json_array_foreach(ids, i, id) {
    if (json_integer_value(id) >= 0 && json_integer_value(id) < vocab) continue;
    return npuc_fail(c->d, NPUC_DIAG_E0510, &(diag_place){.node = n->name}, "token %lld is none of the %lld that the head has",
                     (long long)json_integer_value(id), (long long)vocab);
  }
  return i ? NPUC_OK : refuse(c, n, "no token is kept");
}

static npuc_status write_ids(pass_context *c, const json_t *ids) {
  tensor t;
  int64_t n = (int64_t)json_array_size(ids);
  NPUC_TRY(npuc_tensor_create(c->d, DTYPE_I64, &(shape){.rank = 1, .dims = {n}}, &t));
  for (int64_t i = 0; i < n; i++) npuc_tensor_set_int(&t, i, json_integer_value(json_array_get(ids, (size_t)i)));
  npuc_status status = side_of(c)->tensor(side_of(c)->user, c->d, "token_id_lut.npy", &t);
  npuc_tensor_release(&t);
  return status;
}

static void add_argmax(graph *g, value *logits) {
  node *n = npuc_graph_insert_node(g, NULL, npuc_op(OP_ARGMAX), "token_index", &logits, 1, 1, NULL);
  argmax_attributes *a = NPUC_ATTRS(argmax_attributes, n);
  a->axis = -1;
  a->keepdims = 0;
  npuc_graph_add_output(g, n->outputs[0]);
}

npuc_status npuc_pass_trim_lm_head_vocab(pass_context *c, graph *g, bool *out_changed) {
  head h = {0};
  const json_t *ids = json_object_get(c->arguments, "kept_token_ids");
  if (!find_head(c, g, &h)) return NPUC_OK;
  node *n = h.product;
  value *logits = g->outputs[h.output];
  bool gemm = node_is(n, OP_GEMM), turned = gemm && NPUC_ATTRS(gemm_attributes, n)->transB;
  if (n->outputs[0] != logits || logits->n_uses || h.data != 0 || n->inputs[1]->shape.rank != 2)
    return refuse(c, n, "the logits are not made by a product with a matrix, or are read inside");
  const value *bias = gemm && n->n_inputs > 2 ? n->inputs[2] : NULL;
  int64_t vocab = n->inputs[1]->shape.dims[turned ? 0 : 1];
  if (bias && (bias->shape.rank != 1 || bias->shape.dims[0] != vocab)) return refuse(c, n, "its bias is no vector of one number a token");
  NPUC_TRY(check_ids(c, n, ids, vocab));
  if (!side_of(c)) return refuse(c, n, "there is no place for the list of tokens here");
  if (!npuc_pass_allow(c, "head-trimmed", PARITY_EXACT, n)) return NPUC_OK;
  NPUC_TRY(write_ids(c, ids));
  NPUC_TRY(trim_operand(c, g, n, 1, turned ? 0 : 1, ids));
  if (bias) NPUC_TRY(trim_operand(c, g, n, 2, 0, ids));
  logits->shape.dims[logits->shape.rank - 1] = (int64_t)json_array_size(ids);
  if (npuc_edit_int(c->arguments, "include_argmax")) add_argmax(g, logits);
  (void)npuc_graph_remove_dead(g);
  *out_changed = true;
  return NPUC_OK;
}
