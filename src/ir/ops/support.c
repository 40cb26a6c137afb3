/* SPDX-License-Identifier: Apache-2.0 */
/* Error places, facts, axes, broadcasting: what operator definitions share (contents of small tensors: elements.c). */
#include "ir/ops/support.h"

#include <stdio.h>
#include <string.h>

diag_place npuc_node_place(const node *n, const char *attribute) {
  return (diag_place){
      .part = n->owner ? n->owner->name : NULL,
      .node = n->location && n->location->name ? n->location->name : n->name,
      .op = n->op->type,
      .attribute = attribute,
  };
}

npuc_status npuc_op_fail(diag *d, const node *n, diag_code code, const char *attribute, const char *format, ...) {
  char text[768];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  diag_place place = npuc_node_place(n, attribute);
  return npuc_fail(d, code, &place, "%s", text);
}

npuc_status npuc_verify_flag(diag *d, const node *n, const char *attribute, int64_t flag) {
  if (flag == 0 || flag == 1) return NPUC_OK;
  return npuc_op_fail(d, n, NPUC_DIAG_E0440, attribute, "%lld given; 0 or 1 wanted", (long long)flag);
}

const char *npuc_shape_text(const module *m, const shape *s, char *out) {
  if (s->rank < 0) {
    (void)snprintf(out, SHAPE_TEXT, "[unknown rank]");
    return out;
  }
  size_t used = 0;
  out[used++] = '[';
  for (int32_t i = 0; i < s->rank && used + 24 < SHAPE_TEXT; i++) {
    dim d = s->dims[i];
    const char *separator = i ? "," : "";
    int wrote;
    if (dim_is_number(d)) {
      wrote = snprintf(out + used, SHAPE_TEXT - used, "%s%lld", separator, (long long)d);
    } else {
      const char *name = dim_is_symbol(d) && m ? npuc_module_symbol_name(m, d) : NULL;
      wrote = snprintf(out + used, SHAPE_TEXT - used, "%s%.20s", separator, name ? name : "?");
    }
    used += wrote > 0 ? (size_t)wrote : 0;
  }
  if (used > SHAPE_TEXT - 2) used = SHAPE_TEXT - 2;
  out[used] = ']';
  out[used + 1] = '\0';
  return out;
}

const fact *npuc_fact_input(const infer_context *c, int32_t index) { return index < c->node->n_inputs ? c->inputs[index] : NULL; }

int32_t npuc_fact_rank(const fact *f) { return f ? f->shape.rank : -1; }

dtype npuc_fact_type(const infer_context *c, int32_t index) {
  const fact *f = npuc_fact_input(c, index);
  return f ? f->type : DTYPE_NONE;
}

static const char *port_name(const op_def *op, int32_t index) {
  if (op->n_inputs == 0) return NULL;
  return op->inputs[index < op->n_inputs ? index : op->n_inputs - 1].name;
}

npuc_status npuc_infer_same_type(infer_context *c, int32_t first, int32_t last) {
  dtype wanted = DTYPE_NONE;
  for (int32_t i = first; i <= last; i++) {
    dtype given = npuc_fact_type(c, i);
    if (given == DTYPE_NONE) continue;
    if (wanted == DTYPE_NONE) wanted = given;
    if (given != wanted) {
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0442, port_name(c->node->op, i),
                          "input %d is %s; the inputs must have one type, here %s", i, npuc_dtype_name(given), npuc_dtype_name(wanted));
    }
  }
  return NPUC_OK;
}

dim npuc_infer_free_dim(const infer_context *c, int32_t output, int32_t axis) {
  const value *v = output < c->node->n_outputs ? c->node->outputs[output] : NULL;
  if (v && axis < v->shape.rank && dim_is_symbol(v->shape.dims[axis])) return v->shape.dims[axis];
  return c->module ? npuc_module_fresh_symbol(c->module) : DIM_UNKNOWN;
}

void npuc_infer_free_shape(infer_context *c, int32_t rank) {
  shape *y = &c->outputs[0].shape;
  y->rank = rank;
  for (int32_t i = 0; i < rank; i++) y->dims[i] = npuc_infer_free_dim(c, 0, i);
}

void npuc_infer_free_target(infer_context *c, const fact *vector) {
  if (!vector || vector->shape.rank != 1) return;
  dim length = vector->shape.dims[0];
  if (dim_is_number(length) && length <= MAX_RANK) npuc_infer_free_shape(c, (int32_t)length);
}

bool npuc_dim_merge(dim a, dim b, dim *out) {
  if (dim_is_number(a) && dim_is_number(b) && a != b) return false;
  if (dim_is_number(a) || b == DIM_UNKNOWN) {
    *out = a;
  } else if (dim_is_number(b) || a == DIM_UNKNOWN) {
    *out = b;
  } else {
    *out = a;
  }
  return true;
}

dim npuc_dim_product(const dim *dims, int32_t count, dim free_dim) {
  int64_t product = 1;
  dim symbol = 0;
  int32_t symbols = 0;
  for (int32_t i = 0; i < count; i++) {
    if (dims[i] == 0) return 0;
  }
  for (int32_t i = 0; i < count; i++) {
    if (!dim_is_number(dims[i])) {
      symbol = dims[i];
      symbols++;
    } else if (__builtin_mul_overflow(product, dims[i], &product)) {
      return free_dim;
    }
  }
  if (symbols == 0) return product;
  return symbols == 1 && product == 1 && symbol != DIM_UNKNOWN ? symbol : free_dim;
}

/* One axis of the list; `seen` has a bit per axis. */
static npuc_status add_axis(infer_context *c, const char *port, int64_t given, int32_t rank, unsigned *seen, axes_list *out) {
  int32_t axis;
  if (!npuc_axis_normalize(given, rank, &axis)) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, port, "axis %lld is out of range for rank %d (allowed: %d to %d)", (long long)given,
                        rank, -rank, rank - 1);
  }
  if (*seen & (1u << axis)) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, port, "axis %d is named twice", axis);
  *seen |= 1u << axis;
  out->axes[out->count++] = axis;
  return NPUC_OK;
}

npuc_status npuc_infer_axes(infer_context *c, int32_t input, int32_t rank, bool *out_known, axes_list *out_axes) {
  const fact *f = npuc_fact_input(c, input);
  *out_known = true;
  out_axes->count = -1;
  if (!f) return NPUC_OK;
  elements given;
  if (!npuc_elements_numbers(f, &given)) {
    *out_known = false;
    return NPUC_OK;
  }
  unsigned seen = 0;
  out_axes->count = 0;
  for (int32_t i = 0; i < given.count; i++) NPUC_TRY(add_axis(c, port_name(c->node->op, input), given.at[i].number, rank, &seen, out_axes));
  return NPUC_OK;
}

npuc_status npuc_infer_unary(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0);
  if (!x) return NPUC_OK;
  c->outputs[0].type = x->type;
  c->outputs[0].shape = x->shape;
  return NPUC_OK;
}

npuc_status npuc_infer_broadcast(infer_context *c) {
  NPUC_TRY(npuc_infer_same_type(c, 0, c->node->n_inputs - 1));
  fact *y = &c->outputs[0];
  for (int32_t i = 0; i < c->node->n_inputs && y->type == DTYPE_NONE; i++) y->type = npuc_fact_type(c, i);
  shape result = SHAPE_SCALAR;
  for (int32_t i = 0; i < c->node->n_inputs; i++) {
    const fact *f = npuc_fact_input(c, i);
    if (!f || f->shape.rank < 0) return NPUC_OK;
    shape before = result;
    if (!npuc_shape_broadcast(&before, &f->shape, &result)) {
      char a[SHAPE_TEXT], b[SHAPE_TEXT];
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, port_name(c->node->op, i), "shapes %s and %s do not broadcast",
                          npuc_shape_text(c->module, &before, a), npuc_shape_text(c->module, &f->shape, b));
    }
  }
  for (int32_t i = 0; i < result.rank; i++) {
    if (result.dims[i] == DIM_UNKNOWN) result.dims[i] = npuc_infer_free_dim(c, 0, i);
  }
  y->shape = result;
  return NPUC_OK;
}

double npuc_value_elements(const value *v) {
  if (!v || v->shape.rank < 0) return 0;
  double count = 1;
  for (int32_t i = 0; i < v->shape.rank; i++) count *= dim_is_number(v->shape.dims[i]) ? (double)v->shape.dims[i] : 1.0;
  return count;
}

npuc_status npuc_require_axis(infer_context *c, int64_t given, int32_t rank, int32_t *out_axis) {
  if (npuc_axis_normalize(given, rank, out_axis)) return NPUC_OK;
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "axis", "%lld is out of range for rank %d", (long long)given, rank);
}

npuc_status npuc_infer_target(infer_context *c, int32_t input, int32_t output, bool *out_known) {
  elements e;
  const char *port = port_name(c->node->op, input);
  *out_known = npuc_elements_read(npuc_fact_input(c, input), &e);
  if (!*out_known) return NPUC_OK;
  if (e.count > MAX_RANK)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0443, port, "%d dims given; at most %d are supported", e.count, MAX_RANK);
  shape y = {.rank = e.count};
  for (int32_t i = 0; i < e.count; i++) {
    if (e.at[i].is_number && e.at[i].number < 0) {
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, port, "dim %d is %lld; 0 or more wanted", i, (long long)e.at[i].number);
    }
    dim d = npuc_element_dim(&e.at[i]);
    y.dims[i] = d == DIM_UNKNOWN ? npuc_infer_free_dim(c, output, i) : d;
  }
  c->outputs[output].shape = y;
  return NPUC_OK;
}
