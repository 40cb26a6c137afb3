/* SPDX-License-Identifier: Apache-2.0 */
/* The same elements in the same order under other dims: Reshape, Flatten, Squeeze, Unsqueeze. */
#include <stddef.h>

#include "ir/ops/support.h"

/* -- Reshape -- */
static const op_port reshape_inputs[] = {
    {.name = "data", .doc = "any shape"},
    {.name = "shape", .doc = "int64 vector; -1: what is left (once); 0: the input's dim at that place, or empty with allowzero"},
};
static const op_port reshape_outputs[] = {{.name = "reshaped", .doc = "as shape says"}};
static const attr_field reshape_fields[] = {FIELD_INT(reshape_attributes, allowzero, 0, "1: a 0 in shape is a dim without elements")};

/* A product of dims, as number x symbols. */
typedef struct product {
  int64_t number;
  dim symbols[MAX_RANK];
  int32_t n_symbols;
  bool known; /* no unknown dim, no overflow */
} product;

static void multiply(product *p, dim d) {
  if (dim_is_number(d)) {
    if (__builtin_mul_overflow(p->number, d, &p->number)) p->known = false;
  } else if (d == DIM_UNKNOWN) {
    p->known = false;
  } else {
    p->symbols[p->n_symbols++] = d;
  }
}

static product product_of(const shape *s, int32_t except) {
  product p = {.number = 1, .known = s->rank >= 0};
  for (int32_t i = 0; i < s->rank; i++) {
    if (i != except) multiply(&p, s->dims[i]);
  }
  return p;
}

/* Removes each symbol of b from a; false when b has one that a has not. */
static bool cancel(product *a, const product *b) {
  for (int32_t i = 0; i < b->n_symbols; i++) {
    int32_t at = 0;
    while (at < a->n_symbols && a->symbols[at] != b->symbols[i]) at++;
    if (at == a->n_symbols) return false;
    a->symbols[at] = a->symbols[--a->n_symbols];
  }
  return true;
}

static npuc_status no_fit(infer_context *c, const shape *x, const shape *y) {
  char a[SHAPE_TEXT], b[SHAPE_TEXT];
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "shape", "the elements of %s do not fit into %s", npuc_shape_text(c->module, x, a),
                      npuc_shape_text(c->module, y, b));
}

/* The dim at `hole` is what the input's elements leave after the other dims. */
static npuc_status fill_hole(infer_context *c, const shape *x, shape *y, int32_t hole) {
  product whole = product_of(x, -1), rest = product_of(y, hole);
  y->dims[hole] = DIM_UNKNOWN;
  if (whole.known && rest.known && cancel(&whole, &rest)) {
    if (rest.number == 0) {
      return whole.number == 0 ? npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "shape", "-1 beside a dim of 0 has no single value")
                               : no_fit(c, x, y);
    }
    if (whole.n_symbols == 0 && whole.number % rest.number) return no_fit(c, x, y);
    if (whole.n_symbols == 0) y->dims[hole] = whole.number / rest.number;
    if (whole.n_symbols == 1 && whole.number == rest.number) y->dims[hole] = whole.symbols[0];
  }
  if (y->dims[hole] == DIM_UNKNOWN) y->dims[hole] = npuc_infer_free_dim(c, 0, hole);
  return NPUC_OK;
}

static npuc_status check_count(infer_context *c, const shape *x, const shape *y) {
  product a = product_of(x, -1), b = product_of(y, -1);
  if (a.known && b.known && cancel(&a, &b) && a.n_symbols == 0 && a.number != b.number) return no_fit(c, x, y);
  return NPUC_OK;
}

/* Dims of the target from its elements; *out_hole is the place of -1 (or of the one dim that is not known), -1 when there is none,
 * -2 when there are several unknown ones. */
static npuc_status target_dims(infer_context *c, const elements *e, const shape *x, shape *y, int32_t *out_hole) {
  bool allowzero = NPUC_ATTRS(reshape_attributes, c->node)->allowzero != 0;
  int32_t minus_ones = 0;
  *out_hole = -1;
  for (int32_t i = 0; i < e->count; i++) {
    const element *target = &e->at[i];
    y->dims[i] = npuc_element_dim(target);
    if (target->is_number && target->number < -1) {
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "shape", "dim %d is %lld; -1, 0 or more wanted", i, (long long)target->number);
    }
    if (target->is_number && target->number == -1 && ++minus_ones > 1) {
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "shape", "-1 is given more than once");
    }
    if (target->is_number && target->number == 0 && !allowzero) {
      if (x->rank >= 0 && i >= x->rank) {
        return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "shape", "dim %d is 0 (keep the input's), and the input has rank %d", i,
                            x->rank);
      }
      y->dims[i] = x->rank < 0 ? DIM_UNKNOWN : x->dims[i];
    }
    if (y->dims[i] == DIM_UNKNOWN) *out_hole = *out_hole == -1 ? i : -2;
  }
  return NPUC_OK;
}

static npuc_status reshape_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0), *target = npuc_fact_input(c, 1);
  if (!x || !target) return NPUC_OK;
  c->outputs[0].type = x->type;
  elements e;
  shape y = SHAPE_UNKNOWN;
  if (!npuc_elements_read(target, &e)) {
    npuc_infer_free_target(c, target);
    return NPUC_OK;
  }
  if (e.count > MAX_RANK)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0443, "shape", "%d dims given; at most %d are supported", e.count, MAX_RANK);
  y.rank = e.count;
  int32_t hole;
  NPUC_TRY(target_dims(c, &e, &x->shape, &y, &hole));
  if (hole >= 0) {
    NPUC_TRY(fill_hole(c, &x->shape, &y, hole));
  } else if (hole == -1) {
    NPUC_TRY(check_count(c, &x->shape, &y));
  }
  for (int32_t i = 0; i < y.rank; i++) {
    if (y.dims[i] == DIM_UNKNOWN) y.dims[i] = npuc_infer_free_dim(c, 0, i);
  }
  c->outputs[0].shape = y;
  npuc_elements_forward(c);
  return NPUC_OK;
}

static npuc_status reshape_verify(diag *d, const node *n) {
  return npuc_verify_flag(d, n, "allowzero", NPUC_ATTRS(reshape_attributes, n)->allowzero);
}

/* -- Flatten -- */
static const op_port flatten_inputs[] = {{.name = "input", .doc = "any shape"}};
static const op_port flatten_outputs[] = {{.name = "output", .doc = "[product of the dims before axis, product of the rest]"}};
static const attr_field flatten_fields[] = {
    FIELD_INT(axis_attributes, axis, 1, "the first axis of the second dim; may be the rank itself")};

static npuc_status flatten_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0);
  if (!x) return NPUC_OK;
  c->outputs[0].type = x->type;
  int32_t rank = x->shape.rank;
  int64_t axis = NPUC_ATTRS(axis_attributes, c->node)->axis;
  shape y = {.rank = 2};
  if (rank < 0) {
    npuc_infer_free_shape(c, 2);
    return NPUC_OK;
  }
  if (axis < -rank || axis > rank) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "axis", "%lld is out of range for rank %d (allowed: %d to %d)", (long long)axis,
                        rank, -rank, rank);
  }
  int32_t cut = (int32_t)(axis < 0 ? axis + rank : axis);
  y.dims[0] = npuc_dim_product(x->shape.dims, cut, DIM_UNKNOWN);
  y.dims[1] = npuc_dim_product(x->shape.dims + cut, rank - cut, DIM_UNKNOWN);
  for (int32_t i = 0; i < 2; i++) {
    if (y.dims[i] == DIM_UNKNOWN) y.dims[i] = npuc_infer_free_dim(c, 0, i);
  }
  c->outputs[0].shape = y;
  return NPUC_OK;
}

/* -- Squeeze -- */
static const op_port squeeze_inputs[] = {
    {.name = "data", .doc = "any shape"},
    {.name = "axes", .optional = true, .doc = "int64 vector: axes of size 1; every such axis when absent"},
};
static const op_port squeeze_outputs[] = {{.name = "squeezed", .doc = "data without those axes"}};

/* Bits of the axes that go; false when that depends on dims that are not known. */
static bool ones_of(const shape *x, unsigned *out_gone) {
  *out_gone = 0;
  for (int32_t i = 0; i < x->rank; i++) {
    if (!dim_is_number(x->dims[i])) return false;
    if (x->dims[i] == 1) *out_gone |= 1u << i;
  }
  return true;
}

static npuc_status squeeze_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0);
  if (!x) return NPUC_OK;
  c->outputs[0].type = x->type;
  if (x->shape.rank < 0) return NPUC_OK;
  bool known;
  axes_list axes;
  unsigned gone = 0;
  NPUC_TRY(npuc_infer_axes(c, 1, x->shape.rank, &known, &axes));
  if (!known || (axes.count < 0 && !ones_of(&x->shape, &gone))) return NPUC_OK;
  for (int32_t i = 0; i < axes.count; i++) {
    dim size = x->shape.dims[axes.axes[i]];
    if (dim_is_number(size) && size != 1) {
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "axes", "axis %d has size %lld; 1 wanted", axes.axes[i], (long long)size);
    }
    gone |= 1u << axes.axes[i];
  }
  shape y = {.rank = 0};
  for (int32_t i = 0; i < x->shape.rank; i++) {
    if (!(gone >> i & 1u)) y.dims[y.rank++] = x->shape.dims[i];
  }
  c->outputs[0].shape = y;
  npuc_elements_forward(c);
  return NPUC_OK;
}

/* -- Unsqueeze -- */
static const op_port unsqueeze_inputs[] = {
    {.name = "data", .doc = "any shape"},
    {.name = "axes", .doc = "int64 vector: the places of the new axes in the output"},
};
static const op_port unsqueeze_outputs[] = {{.name = "expanded", .doc = "data with axes of size 1"}};

static npuc_status unsqueeze_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0), *given = npuc_fact_input(c, 1);
  if (!x || !given) return NPUC_OK;
  c->outputs[0].type = x->type;
  elements e;
  if (x->shape.rank < 0 || !npuc_elements_numbers(given, &e)) return NPUC_OK;
  int32_t rank = x->shape.rank + e.count;
  if (rank > MAX_RANK)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0443, "axes", "the result would have rank %d; at most %d is supported", rank, MAX_RANK);
  bool known;
  axes_list axes;
  NPUC_TRY(npuc_infer_axes(c, 1, rank, &known, &axes));
  unsigned fresh = 0;
  for (int32_t i = 0; i < axes.count; i++) fresh |= 1u << axes.axes[i];
  shape y = {.rank = rank};
  int32_t from = 0;
  for (int32_t i = 0; i < rank; i++) y.dims[i] = fresh >> i & 1u ? 1 : x->shape.dims[from++];
  c->outputs[0].shape = y;
  npuc_elements_forward(c);
  return NPUC_OK;
}

const op_def npuc_op_reshape = {
    .id = OP_RESHAPE,
    .domain = "",
    .type = "Reshape",
    .since_version = 25,
    .oldest_version = 14,
    .traits = TRAIT_MOVES_DATA,
    .summary = "The same elements under other dims.",
    .formula = "reshaped, read in row-major order, is data read in row-major order",
    .source = "ONNX Reshape-25",
    PORTS_IN(reshape_inputs, 2),
    PORTS_OUT(reshape_outputs, 1),
    ATTRIBUTES(reshape_fields, reshape_attributes),
    .infer = reshape_infer,
    .verify = reshape_verify,
    .eval = npuc_eval_reshape,
};

const op_def npuc_op_flatten = {
    .id = OP_FLATTEN,
    .domain = "",
    .type = "Flatten",
    .since_version = 25,
    .oldest_version = 11,
    .traits = TRAIT_MOVES_DATA,
    .summary = "A matrix of the same elements.",
    .formula = "output.shape = [d0 * ... * d(axis-1), d(axis) * ... * d(r-1)]",
    .source = "ONNX Flatten-25",
    PORTS_IN(flatten_inputs, 1),
    PORTS_OUT(flatten_outputs, 1),
    ATTRIBUTES(flatten_fields, axis_attributes),
    .infer = flatten_infer,
    .eval = npuc_eval_flatten,
};

const op_def npuc_op_squeeze = {
    .id = OP_SQUEEZE,
    .domain = "",
    .type = "Squeeze",
    .since_version = 25,
    .oldest_version = 13,
    .traits = TRAIT_MOVES_DATA,
    .summary = "Takes away axes of size 1.",
    .formula = "squeezed = data without axes",
    .source = "ONNX Squeeze-25",
    PORTS_IN(squeeze_inputs, 1),
    PORTS_OUT(squeeze_outputs, 1),
    .infer = squeeze_infer,
    .eval = npuc_eval_squeeze,
};

const op_def npuc_op_unsqueeze = {
    .id = OP_UNSQUEEZE,
    .domain = "",
    .type = "Unsqueeze",
    .since_version = 25,
    .oldest_version = 13,
    .traits = TRAIT_MOVES_DATA,
    .summary = "Puts in axes of size 1.",
    .formula = "expanded = data with an axis of size 1 at each of axes",
    .source = "ONNX Unsqueeze-25",
    PORTS_IN(unsqueeze_inputs, 2),
    PORTS_OUT(unsqueeze_outputs, 1),
    .infer = unsqueeze_infer,
    .eval = npuc_eval_unsqueeze,
};
