/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/edits/build.h"
#include "ir/eval/eval.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

value *npuc_edit_make(rewriter *r, op_id op, value *const *inputs, int32_t n_inputs) {
  for (int32_t i = 0; i < n_inputs; i++) {
    if (!inputs[i]) return NULL; /* what made it has set r->status */
  }
  return npuc_rewrite_node(r, op, inputs, n_inputs, 1)->outputs[0];
}

static const char *name_of(rewriter *r, const char *suffix) { return npuc_arena_printf(r->scratch, "%s_%s", r->match->root->name, suffix); }

value *npuc_edit_ints_constant(rewriter *r, const char *suffix, const int64_t *values, int64_t n) {
  return npuc_graph_constant_ints(r->graph, name_of(r, suffix), DTYPE_I64, values, n);
}

value *npuc_edit_tensor(rewriter *r, const char *suffix, tensor *t) {
  value *v = npuc_graph_add_constant(r->graph, name_of(r, suffix), t);
  npuc_tensor_release(t);
  return v;
}

value *npuc_edit_scalar(rewriter *r, const char *suffix, dtype type, double number) {
  tensor t;
  shape s = {.rank = 0};
  r->status = npuc_tensor_create(r->d, type, &s, &t);
  if (r->status != NPUC_OK) return NULL;
  npuc_tensor_set(&t, 0, number);
  return npuc_edit_tensor(r, suffix, &t);
}

value *npuc_edit_reshape(rewriter *r, value *x, const int64_t *dims, int32_t rank) {
  return MAKE(r, OP_RESHAPE, x, npuc_edit_ints_constant(r, "shape", dims, rank));
}

value *npuc_edit_expand(rewriter *r, value *x, const shape *to) {
  return MAKE(r, OP_EXPAND, x, npuc_edit_ints_constant(r, "full", to->dims, to->rank));
}

value *npuc_edit_transpose(rewriter *r, value *x, const int64_t *perm, int32_t rank) {
  value *y = MAKE(r, OP_TRANSPOSE, x);
  if (!y) return NULL;
  int_list *own = &NPUC_ATTRS(transpose_attributes, y->producer)->perm;
  *own = (int_list){npuc_arena_copy(r->graph->module->arena, perm, (size_t)rank * sizeof *perm), rank};
  return y;
}

value *npuc_edit_slice(rewriter *r, value *x, int64_t axis, int64_t begin, int64_t end, int64_t step) {
  return MAKE(r, OP_SLICE, x, npuc_edit_ints_constant(r, "begin", &begin, 1), npuc_edit_ints_constant(r, "end", &end, 1),
              npuc_edit_ints_constant(r, "axis", &axis, 1), npuc_edit_ints_constant(r, "step", &step, 1));
}

value *npuc_edit_concat(rewriter *r, value *const *parts, int32_t n, int64_t axis) {
  value *y = npuc_edit_make(r, OP_CONCAT, parts, n);
  if (y) NPUC_ATTRS(axis_attributes, y->producer)->axis = axis;
  return y;
}

value *npuc_edit_unsqueeze(rewriter *r, value *x, int64_t axis) {
  return MAKE(r, OP_UNSQUEEZE, x, npuc_edit_ints_constant(r, "axis", &axis, 1));
}

value *npuc_edit_cast(rewriter *r, value *x, dtype to) {
  value *y = MAKE(r, OP_CAST, x);
  if (y) NPUC_ATTRS(cast_attributes, y->producer)->to = to;
  return y;
}

value *npuc_edit_reduce_mean(rewriter *r, value *x, const int64_t *axes, int32_t n) {
  return MAKE(r, OP_REDUCEMEAN, x, npuc_edit_ints_constant(r, "axes", axes, n));
}

node *npuc_edit_copy(rewriter *r, const node *n, value *const *inputs, int32_t n_inputs) {
  node *copy = npuc_rewrite_node(r, n->op->id, inputs, n_inputs, n->n_outputs);
  if (n->op->attributes_bytes) copy->attributes = npuc_attributes_clone(r->graph->module, n->op, n->attributes);
  return copy;
}

void npuc_edit_refuse(rewriter *r, const char *format, ...) {
  char reason[512];
  va_list list;
  va_start(list, format);
  (void)vsnprintf(reason, sizeof reason, format, list);
  va_end(list);
  const node *n = r->match->root;
  const char *source = n->location && n->location->name ? n->location->name : n->name;
  diag_place place = {.part = r->graph->name, .node = source, .op = n->op->type};
  r->status = npuc_fail(r->d, NPUC_DIAG_E0510, &place, "%s", reason);
}

/* -- constant subgraphs -- */

static bool run_node(const node *n, const tensor *const *in, int32_t wanted, arena *scratch, tensor *out) {
  tensor **results = NPUC_NEW_ARRAY(scratch, (size_t)n->n_outputs, tensor *), *all = NPUC_NEW_ARRAY(scratch, (size_t)n->n_outputs, tensor);
  bool good = n->op->eval && !(n->op->traits & TRAIT_DATA_SHAPE);
  for (int32_t i = 0; i < n->n_outputs; i++) {
    results[i] = &all[i];
    if (good && n->outputs[i] && npuc_tensor_create(NULL, n->outputs[i]->type, &n->outputs[i]->shape, &all[i]) != NPUC_OK) good = false;
  }
  eval_context e = {.node = n};
  good = good && npuc_eval_node(&e, in, results) == NPUC_OK;
  for (int32_t i = 0; i < n->n_outputs; i++) {
    if (good && i == wanted) {
      *out = all[i];
    } else {
      npuc_tensor_release(&all[i]);
    }
  }
  return good;
}

enum { MAX_CHAIN = 48 };

static bool evaluate(const value *v, int depth, arena *scratch, tensor *out) {
  if (v->constant) return npuc_tensor_align(NULL, v->constant, out) == NPUC_OK;
  const node *n = v->producer;
  if (!n || depth == MAX_CHAIN || !npuc_shape_is_static(&v->shape)) return false;
  tensor *in = NPUC_NEW_ARRAY(scratch, (size_t)n->n_inputs, tensor);
  const tensor **pointers = NPUC_NEW_ARRAY(scratch, (size_t)n->n_inputs, const tensor *);
  bool good = true;
  for (int32_t i = 0; i < n->n_inputs && good; i++) {
    if (!n->inputs[i]) continue;
    good = evaluate(n->inputs[i], depth + 1, scratch, &in[i]);
    pointers[i] = &in[i];
  }
  good = good && run_node(n, pointers, v->output_index, scratch, out);
  for (int32_t i = 0; i < n->n_inputs; i++) npuc_tensor_release(&in[i]);
  return good;
}

bool npuc_edit_evaluate(const value *v, arena *scratch, tensor *out) {
  *out = (tensor){.type = DTYPE_NONE};
  return evaluate(v, 0, scratch, out);
}

bool npuc_edit_is_static(const value *v) { return v && npuc_shape_is_static(&v->shape); }

bool npuc_edit_only_first(const node *n) {
  for (int32_t i = 1; i < n->n_outputs; i++) {
    if (n->outputs[i] && (n->outputs[i]->n_uses || n->outputs[i]->is_output)) return false;
  }
  return true;
}

int64_t npuc_edit_elements(const value *v) {
  int64_t n;
  return npuc_shape_elements(&v->shape, &n) ? n : -1;
}

/* -- ports -- */

static size_t place_of(value *const *list, size_t n, const value *v) {
  size_t i = 0;
  while (i < n && list[i] != v) i++;
  return i;
}

void npuc_edit_drop_input(graph *g, value *v) {
  size_t at = place_of(g->inputs, g->n_inputs, v);
  if (at == g->n_inputs || v->n_uses || v->is_output) return;
  memmove(&g->inputs[at], &g->inputs[at + 1], (g->n_inputs - at - 1) * sizeof *g->inputs);
  g->n_inputs--;
  v->is_input = false;
  npuc_graph_remove_value(g, v);
}

void npuc_edit_move_input(graph *g, value *v, size_t place) {
  size_t at = place_of(g->inputs, g->n_inputs, v);
  if (at == g->n_inputs || place >= g->n_inputs) return;
  memmove(&g->inputs[at], &g->inputs[at + 1], (g->n_inputs - at - 1) * sizeof *g->inputs);
  memmove(&g->inputs[place + 1], &g->inputs[place], (g->n_inputs - 1 - place) * sizeof *g->inputs);
  g->inputs[place] = v;
}

void npuc_edit_drop_output(graph *g, size_t index) {
  value *v = g->outputs[index];
  memmove(&g->outputs[index], &g->outputs[index + 1], (g->n_outputs - index - 1) * sizeof *g->outputs);
  g->n_outputs--;
  v->is_output = place_of(g->outputs, g->n_outputs, v) < g->n_outputs;
}
