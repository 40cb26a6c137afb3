/* SPDX-License-Identifier: Apache-2.0 */
/* Constants made from constants. Products are taken in double and rounded once, so that folding adds one rounding and no more. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "passes/internal.h"

double npuc_weight_at(const tensor *t, int64_t index) {
  if (t->type != DTYPE_F32) return npuc_tensor_get(t, index);
  float element;
  memcpy(&element, (const char *)t->data + (size_t)index * sizeof element, sizeof element);
  return (double)element;
}

static void set_weight(tensor *t, int64_t index, double number) {
  if (t->type == DTYPE_F32) {
    ((float *)t->data)[index] = (float)number;
  } else {
    npuc_tensor_set(t, index, number);
  }
}

value *npuc_weight_constant(rewriter *r, const char *name, tensor *t) {
  /* A weight that only the rewritten node reads is about to go: what is made of it takes its name. */
  value *old = npuc_graph_value(r->graph, name);
  if (old && old->constant && old->n_uses <= 1 && !old->is_input && !old->is_output)
    npuc_value_rename(old, npuc_graph_unique_name(r->graph, name));
  value *v = npuc_graph_add_constant(r->graph, npuc_graph_unique_name(r->graph, name), t);
  npuc_tensor_release(t);
  return v;
}

static bool create(rewriter *r, dtype type, const shape *s, tensor *out) {
  npuc_status status = npuc_tensor_create(r->d, type, s, out);
  if (status != NPUC_OK) r->status = status;
  return status == NPUC_OK;
}

value *npuc_weight_scaled(rewriter *r, const value *w, int32_t axis, const double *factor) {
  const tensor *from = w->constant;
  tensor to;
  if (!create(r, from->type, &from->shape, &to)) return NULL;
  int64_t channels = from->shape.dims[axis], inner = 1, elements = npuc_tensor_elements(from);
  for (int32_t i = axis + 1; i < from->shape.rank; i++) inner *= from->shape.dims[i];
  for (int64_t i = 0; i < elements; i += inner) {
    double by = factor[i / inner % channels];
    for (int64_t k = i; k < i + inner; k++) set_weight(&to, k, npuc_weight_at(from, k) * by);
  }
  return npuc_weight_constant(r, w->name, &to);
}

value *npuc_weight_vector(rewriter *r, const char *name, dtype type, const double *values, int64_t n) {
  shape s = {.rank = 1, .dims = {n}};
  tensor t;
  if (!create(r, type, &s, &t)) return NULL;
  for (int64_t i = 0; i < n; i++) set_weight(&t, i, values[i]);
  return npuc_weight_constant(r, name, &t);
}

value *npuc_weight_transposed(rewriter *r, const value *w) {
  const tensor *from = w->constant;
  int64_t rows = from->shape.dims[0], columns = from->shape.dims[1];
  shape s = {.rank = 2, .dims = {columns, rows}};
  tensor to;
  if (!create(r, from->type, &s, &to)) return NULL;
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t k = 0; k < columns; k++) set_weight(&to, k * rows + i, npuc_weight_at(from, i * columns + k));
  }
  return npuc_weight_constant(r, w->name, &to);
}

value *npuc_weight_reshape(rewriter *r, value *x, const shape *to) {
  value *target = npuc_graph_constant_ints(r->graph, npuc_arena_printf(r->scratch, "%s_shape", x->name), DTYPE_I64, to->dims, to->rank);
  return npuc_rewrite_node(r, OP_RESHAPE, (value *[]){x, target}, 2, 1)->outputs[0];
}

void npuc_weight_channels(const value *constant, int64_t channels, double *out) {
  bool one = npuc_tensor_elements(constant->constant) == 1;
  for (int64_t i = 0; i < channels; i++) out[i] = npuc_weight_at(constant->constant, one ? 0 : i);
}

bool npuc_is_float(const value *v) { return npuc_dtype_kind(v->type) == KIND_FLOAT; }

bool npuc_is_wide_float(const value *v) { return v->type == DTYPE_F32 || v->type == DTYPE_F64; }

bool npuc_is_exactly(const value *v, double number) {
  if (!v || !v->constant || npuc_tensor_elements(v->constant) < 1) return false;
  int64_t n = npuc_tensor_elements(v->constant);
  if (n > 4096) return false;
  for (int64_t i = 0; i < n; i++) {
    double given = npuc_weight_at(v->constant, i);
    if (!(given == number) || (npuc_is_float(v) && signbit(given) != signbit(number))) return false;
  }
  return true;
}

bool npuc_same_shape(const value *a, const value *b) { return npuc_shape_equal(&a->shape, &b->shape); }

bool npuc_constant_ints(const value *v, int64_t *out, int32_t most, int32_t *out_count) {
  if (!v || !v->constant || (v->type != DTYPE_I64 && v->type != DTYPE_I32) || v->constant->shape.rank > 1) return false;
  int64_t n = npuc_tensor_elements(v->constant);
  if (n > most) return false;
  for (int64_t i = 0; i < n; i++) out[i] = npuc_tensor_get_int(v->constant, i);
  *out_count = (int32_t)n;
  return true;
}

bool npuc_is_per_column(const value *constant, int64_t columns) {
  const shape *s = &constant->constant->shape;
  int64_t n = npuc_tensor_elements(constant->constant);
  if (n == 1) return s->rank <= 2;
  return n == columns && (s->rank == 1 || (s->rank == 2 && s->dims[0] == 1));
}
