/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that move elements: each says, for every element of the output, which element of the input it is. */
#include "graph.h"

#include <string.h>

typedef int64_t position[8]; /* one index for each axis */

static void unravel(const tensor_record *t, uint64_t index, position out) {
  for (unsigned k = t->rank; k-- > 0;) {
    out[k] = (int64_t)(index % (uint64_t)t->dims[k]);
    index /= (uint64_t)t->dims[k];
  }
}

static uint64_t ravel(const node_view *n, const tensor_record *t, const position at) {
  uint64_t index = 0;
  for (unsigned k = 0; k < t->rank; k++) {
    decoder_node_require(n, at[k] >= 0 && at[k] < t->dims[k], "an index outside the tensor");
    index = index * (uint64_t)t->dims[k] + (uint64_t)at[k];
  }
  return index;
}

static void copy_element(const node_view *n, const host_tensor *from, uint64_t i, host_tensor *to, uint64_t o) {
  const unsigned bytes = decoder_element_bytes(from->record.dtype);
  decoder_node_require(n, from->record.dtype == to->record.dtype && i < from->elements && o < to->elements, "elements do not fit");
  memcpy(to->data + o * bytes, from->data + i * bytes, bytes);
}

static void copy_all(const node_view *n) {
  const host_tensor *x = decoder_node_input(n, 0);
  host_tensor *y = decoder_node_output(n, 0);
  decoder_node_require(n, x->record.bytes == y->record.bytes && x->record.dtype == y->record.dtype, "x and y do not fit");
  memcpy(y->data, x->data, x->record.bytes);
}

/* Copies x into y (or, with `splits`, a part of x out to y) at `start` along the axis. Returns where it ended. */
static int64_t copy_part(const node_view *n, const host_tensor *whole, const host_tensor *part, int64_t axis, int64_t start, bool splits) {
  position at;
  for (uint64_t i = 0; i < part->elements; i++) {
    unravel(&part->record, i, at);
    at[axis] += start;
    const uint64_t w = ravel(n, &whole->record, at);
    if (splits)
      copy_element(n, whole, w, &n->tensors[part - n->tensors], i);
    else
      copy_element(n, part, i, &n->tensors[whole - n->tensors], w);
  }
  return start + part->record.dims[axis];
}

static void concatenate(const node_view *n) {
  const host_tensor *y = decoder_node_output(n, 0);
  const int64_t axis = decoder_axis(n, decoder_attribute(n, KEY_AXIS, 0), y->record.rank);
  int64_t at = 0;
  for (uint32_t i = 0; i < n->inputs; i++) {
    decoder_node_require(n, decoder_node_input(n, i)->record.rank == y->record.rank, "ranks");
    at = copy_part(n, y, decoder_node_input(n, i), axis, at, false);
  }
  decoder_node_require(n, at == y->record.dims[axis], "the output's size");
}

static void split(const node_view *n) {
  const host_tensor *x = decoder_node_input(n, 0);
  const int64_t axis = decoder_axis(n, decoder_attribute(n, KEY_AXIS, 0), x->record.rank);
  int64_t at = 0;
  for (uint32_t i = 0; i < n->outputs; i++) {
    const host_tensor *y = decoder_node_output(n, i);
    decoder_node_require(n, y->record.rank == x->record.rank && y->record.dims[axis] == decoder_attribute(n, KEY_SPLIT, i), "sizes");
    at = copy_part(n, x, y, axis, at, true);
  }
}

static void pad(const node_view *n) {
  const host_tensor *x = decoder_node_input(n, 0);
  host_tensor *y = decoder_node_output(n, 0);
  decoder_node_require(n, x->record.rank == y->record.rank, "ranks");
  for (uint64_t i = 0; i < y->elements; i++) decoder_store(y, i, decoder_attribute(n, KEY_VALUE, 0));
  position at;
  for (uint64_t i = 0; i < x->elements; i++) {
    unravel(&x->record, i, at);
    for (unsigned k = 0; k < x->record.rank; k++) at[k] += decoder_attribute(n, KEY_PADS, k);
    copy_element(n, x, i, y, ravel(n, &y->record, at));
  }
}

static void transpose(const node_view *n) {
  const host_tensor *x = decoder_node_input(n, 0);
  host_tensor *y = decoder_node_output(n, 0);
  decoder_node_require(n, x->record.rank == y->record.rank, "ranks");
  position to;
  position from = {0};
  unsigned seen = 0;
  for (unsigned k = 0; k < y->record.rank; k++) {
    const int64_t axis = decoder_attribute(n, KEY_PERM, k);
    decoder_node_require(n, axis >= 0 && axis < y->record.rank && !(seen >> axis & 1U), "perm is no permutation");
    seen |= 1U << axis;
  }
  for (uint64_t i = 0; i < y->elements; i++) {
    unravel(&y->record, i, to);
    for (unsigned k = 0; k < y->record.rank; k++) from[decoder_attribute(n, KEY_PERM, k)] = to[k];
    copy_element(n, x, ravel(n, &x->record, from), y, i);
  }
}

static void slice(const node_view *n) {
  const host_tensor *x = decoder_node_input(n, 0);
  host_tensor *y = decoder_node_output(n, 0);
  decoder_node_require(n, x->record.rank == y->record.rank, "ranks");
  unsigned seen = 0;
  for (uint32_t k = 0; k < decoder_attribute_count(n, KEY_AXES); k++) {
    const int64_t axis = decoder_attribute(n, KEY_AXES, k);
    decoder_node_require(n, axis >= 0 && axis < x->record.rank && !(seen >> axis & 1U), "an axis out of range, or there twice");
    seen |= 1U << axis;
  }
  position at;
  for (uint64_t i = 0; i < y->elements; i++) {
    unravel(&y->record, i, at);
    for (uint32_t k = 0; k < decoder_attribute_count(n, KEY_AXES); k++) {
      const int64_t axis = decoder_attribute(n, KEY_AXES, k);
      const int64_t step = decoder_attribute(n, KEY_STEPS, k);
      const int64_t end = decoder_attribute(n, KEY_ENDS, k);
      at[axis] = decoder_attribute(n, KEY_STARTS, k) + at[axis] * step;
      decoder_node_require(n, step > 0 ? at[axis] < end : at[axis] > end, "the output is larger than the slice");
    }
    copy_element(n, x, ravel(n, &x->record, at), y, i);
  }
}

/* y[outer..., indices..., inner...] = x[outer..., index, inner...] */
static void gather(const node_view *n) {
  const host_tensor *x = decoder_node_input(n, 0);
  const host_tensor *indices = decoder_node_input(n, 1);
  host_tensor *y = decoder_node_output(n, 0);
  const int64_t axis = decoder_axis(n, decoder_attribute(n, KEY_AXIS, 0), x->record.rank);
  const uint64_t dim = (uint64_t)x->record.dims[axis];
  uint64_t inner = 1;
  for (unsigned k = (unsigned)axis + 1; k < x->record.rank; k++) inner *= (uint64_t)x->record.dims[k];
  decoder_node_require(n, y->elements == x->elements / dim * indices->elements, "the output's size");
  for (uint64_t i = 0; i < y->elements; i++) {
    const uint64_t outer = i / inner / indices->elements;
    int64_t index = decoder_load(indices, i / inner % indices->elements);
    index = index < 0 ? index + (int64_t)dim : index;
    decoder_node_require(n, index >= 0 && index < (int64_t)dim, "an index outside the axis");
    copy_element(n, x, (outer * dim + (uint64_t)index) * inner + i % inner, y, i);
  }
}

static void arg_max(const node_view *n) {
  const host_tensor *x = decoder_node_input(n, 0);
  host_tensor *y = decoder_node_output(n, 0);
  const int64_t axis = decoder_axis(n, decoder_attribute(n, KEY_AXIS, 0), x->record.rank);
  const bool last = decoder_attribute(n, KEY_SELECT_LAST_INDEX, 0) != 0;
  const uint64_t dim = (uint64_t)x->record.dims[axis];
  uint64_t inner = 1;
  for (unsigned k = (unsigned)axis + 1; k < x->record.rank; k++) inner *= (uint64_t)x->record.dims[k];
  decoder_node_require(n, y->elements == x->elements / dim, "the output's size");
  for (uint64_t i = 0; i < y->elements; i++) {
    const uint64_t start = i / inner * dim * inner + i % inner;
    uint64_t best = 0;
    for (uint64_t k = 1; k < dim; k++) {
      const int64_t v = decoder_load(x, start + k * inner);
      const int64_t old = decoder_load(x, start + best * inner);
      best = v > old || (last && v == old) ? k : best;
    }
    decoder_store(y, i, (int64_t)best);
  }
}

void decoder_node_move(const node_view *n) {
  switch (n->record.op) {
    case Q_CONCAT:
      concatenate(n);
      break;
    case Q_PAD:
      pad(n);
      break;
    case Q_RESHAPE:
    case Q_FLATTEN:
    case Q_SQUEEZE:
    case Q_UNSQUEEZE:
    case Q_IDENTITY:
      copy_all(n);
      break;
    case Q_TRANSPOSE:
      transpose(n);
      break;
    case Q_SLICE:
      slice(n);
      break;
    case Q_SPLIT:
      split(n);
      break;
    case Q_GATHER:
      gather(n);
      break;
    case Q_ARG_MAX:
      arg_max(n);
      break;
    default:
      decoder_node_fail(n, "no such operator");
  }
}
