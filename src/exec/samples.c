/* SPDX-License-Identifier: Apache-2.0 */
/* A graph is sample-wise when every value that is not constant has the batch as its first axis and every node keeps to it. Only operators
 * known to do so count. */
#include "exec/samples.h"

#include "ir/attributes.h"

enum { CACHE_BYTES = 256 * 1024 };

typedef struct batch_view {
  const fact *facts;
  int64_t batch;
} batch_view;

static bool is_constant(const batch_view *b, const value *v) { return (v->constant && !v->is_input) || b->facts[v->id].constant; }

static bool has_batch(const batch_view *b, const value *v) {
  const shape *s = &b->facts[v->id].shape;
  return s->rank > 0 && s->dims[0] == b->batch;
}

static const tensor *constant_input(const batch_view *b, const node *n, int32_t i) {
  if (i >= n->n_inputs || !n->inputs[i]) return NULL;
  return n->inputs[i]->constant && !n->inputs[i]->is_input ? n->inputs[i]->constant : b->facts[n->inputs[i]->id].constant;
}

/* An operand of a broadcast that is the same for all samples. */
static bool is_shared(const batch_view *b, const value *v, const value *y) {
  const shape *s = &b->facts[v->id].shape;
  return is_constant(b, v) && (s->rank < b->facts[y->id].shape.rank || s->dims[0] == 1);
}

static bool broadcasts(const batch_view *b, const node *n) {
  for (int32_t i = 0; i < 2; i++) {
    const value *v = n->inputs[i], *y = n->outputs[0];
    bool whole = has_batch(b, v) && b->facts[v->id].shape.rank == b->facts[y->id].shape.rank && !is_constant(b, v);
    if (!whole && !is_shared(b, v, y)) return false;
  }
  return true;
}

static bool other_axis(const batch_view *b, const node *n, int64_t axis) {
  int32_t at;
  return npuc_axis_normalize(axis, b->facts[n->inputs[0]->id].shape.rank, &at) && at != 0;
}

static bool slices_samples(const batch_view *b, const node *n) {
  const tensor *axes = constant_input(b, n, 3);
  if (!axes) return false;
  for (int64_t i = 0; i < npuc_tensor_elements(axes); i++) {
    if (!other_axis(b, n, npuc_tensor_get_int(axes, i))) return false;
  }
  return true;
}

static bool pads_samples(const batch_view *b, const node *n) {
  const tensor *pads = constant_input(b, n, 1);
  int64_t rank = b->facts[n->inputs[0]->id].shape.rank;
  if (!pads || npuc_tensor_elements(pads) != 2 * rank || (n->n_inputs > 3 && n->inputs[3])) return false;
  return npuc_tensor_get_int(pads, 0) == 0 && npuc_tensor_get_int(pads, rank) == 0;
}

/* The node's first `data` inputs come by samples; its other ones are constants. */
static int32_t data_inputs(const batch_view *b, const node *n) {
  switch (n->op->id) {
    case OP_QCONV:
    case OP_QGEMM:
    case OP_REQUANTIZE:
    case OP_LOOKUP:
    case OP_QAVERAGEPOOL:
    case OP_QGLOBALAVERAGEPOOL:
    case OP_IDENTITY:
    case OP_RESHAPE: /* with has_batch on both sides, a sample's elements stay together */
    case OP_FLATTEN:
      return 1;
    case OP_MAXPOOL:
      return n->n_outputs == 1 || !n->outputs[1] ? 1 : -1;
    case OP_QADD:
    case OP_QMUL:
      return broadcasts(b, n) ? 2 : -1;
    case OP_CONCAT:
      return other_axis(b, n, NPUC_ATTRS(axis_attributes, n)->axis) ? n->n_inputs : -1;
    case OP_SLICE:
      return slices_samples(b, n) ? 1 : -1;
    case OP_PAD:
      return pads_samples(b, n) ? 1 : -1;
    case OP_TRANSPOSE: {
      const int_list *perm = &NPUC_ATTRS(transpose_attributes, n)->perm;
      return perm->count > 0 && perm->values[0] == 0 ? 1 : -1;
    }
    case OP_QSOFTMAX:
    case OP_QLOGSOFTMAX:
      return other_axis(b, n, NPUC_ATTRS(qsoftmax_attributes, n)->axis) ? 1 : -1;
    default:
      return -1;
  }
}

static bool keeps_samples(const batch_view *b, const node *n) {
  int32_t data = data_inputs(b, n);
  if (data < 0 || n->n_outputs < 1 || !n->outputs[0] || !has_batch(b, n->outputs[0]) || is_constant(b, n->outputs[0])) return false;
  for (int32_t i = 0; i < n->n_inputs; i++) {
    const value *v = n->inputs[i];
    if (!v) continue;
    bool shared = is_constant(b, v);
    if (i >= data ? !shared : shared ? data != 2 : !has_batch(b, v)) return false;
  }
  return true;
}

/* Bytes that the node reads and writes, of all samples. */
static int64_t node_bytes(const batch_view *b, const node *n) {
  int64_t total = 0, elements;
  for (int32_t i = 0; i < n->n_inputs + 1; i++) {
    const value *v = i < n->n_inputs ? n->inputs[i] : n->outputs[0];
    if (!v || is_constant(b, v)) continue;
    size_t bytes;
    if (!npuc_shape_elements(&b->facts[v->id].shape, &elements) || !npuc_dtype_memory(b->facts[v->id].type, elements, &bytes))
      return INT64_MAX / 2;
    total += (int64_t)bytes;
  }
  return total;
}

int64_t npuc_exec_samples(const graph *g, const fact *facts, size_t threads) {
  if (g->n_inputs == 0 || facts[g->inputs[0]->id].shape.rank < 1) return 0;
  batch_view b = {.facts = facts, .batch = facts[g->inputs[0]->id].shape.dims[0]};
  if (b.batch < 2) return 0;
  for (size_t i = 0; i < g->n_inputs; i++) {
    if (!has_batch(&b, g->inputs[i])) return 0;
  }
  bool integers = false;
  int64_t most = 1;
  NPUC_EACH_NODE(g, n) {
    if (!keeps_samples(&b, n)) return 0;
    integers = integers || (n->op->traits & TRAIT_INTEGER);
    int64_t bytes = node_bytes(&b, n);
    if (bytes > most) most = bytes;
  }
  for (size_t i = 0; i < g->n_outputs; i++) {
    if (is_constant(&b, g->outputs[i]) || g->outputs[i]->is_input) return 0;
  }
  if (!integers) return 0;
  int64_t fit = (int64_t)((double)CACHE_BYTES * (double)b.batch / (double)most), samples = 1;
  while (samples * 2 <= fit) samples *= 2;
  if (b.batch < (int64_t)threads) return 0;
  if (samples > b.batch / (int64_t)threads) samples = b.batch / (int64_t)threads;
  return samples < b.batch ? samples : 0;
}
