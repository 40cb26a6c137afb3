/* SPDX-License-Identifier: Apache-2.0 */
/* From each Conv forward along values with one reader: [Add] [Relu | Clip]. The fused step runs where its last node stood, because the
 * Add's other operand may be computed between the two.
 *
 * From each MatMul back to the Transpose of a weight, as PyTorch's linear layers come: the product packs the weight as it stands in its file
 * (kernels/matmul.c), so that no run turns a matrix around, and none is held twice. */
#include "exec/fuse.h"

#include <math.h>

#include "exec/image_step.h"
#include "ir/attributes.h"

static const node *only_reader(const value *v) { return v->n_uses == 1 && !v->is_output ? v->uses[0].user : NULL; }

static bool same_shape(const fact *facts, const value *a, const value *b) {
  return facts[a->id].type == facts[b->id].type && npuc_shape_equal(&facts[a->id].shape, &facts[b->id].shape);
}

/* The Add behind v whose other operand has v's shape and is not v. */
static const node *absorb_add(const fact *facts, const value *v, const fusion *fusions, fusion *f) {
  const node *n = only_reader(v);
  if (!node_is(n, OP_ADD) || fusions[n->id].absorbed) return NULL;
  const value *other = n->inputs[0] == v ? n->inputs[1] : n->inputs[0];
  if (other == v || !same_shape(facts, v, other)) return NULL;
  f->add = other;
  return n;
}

static bool constant_number(const fact *facts, const node *n, int32_t i, float otherwise, float *out_number) {
  *out_number = otherwise;
  if (i >= n->n_inputs || !n->inputs[i]) return true;
  const tensor *t = n->inputs[i]->constant ? n->inputs[i]->constant : facts[n->inputs[i]->id].constant;
  if (!t || npuc_tensor_elements(t) != 1) return false;
  *out_number = (float)npuc_tensor_get(t, 0);
  return true;
}

static const node *absorb_clip(const fact *facts, const value *v, fusion *f) {
  const node *n = only_reader(v);
  if (node_is(n, OP_RELU)) {
    f->clip_lo = 0.0f;
    return n;
  }
  float lo, hi;
  if (!node_is(n, OP_CLIP) || n->inputs[0] != v) return NULL;
  if (!constant_number(facts, n, 1, -INFINITY, &lo) || !constant_number(facts, n, 2, INFINITY, &hi)) return NULL;
  f->clip_lo = lo > hi ? hi : lo;
  f->clip_hi = hi;
  return n;
}

static void fuse_conv(const fact *facts, const kernel_set *kernels, const node *conv, fusion *fusions) {
  fusion f = {.clip_lo = -INFINITY, .clip_hi = INFINITY};
  image_step step;
  if (!npuc_image_step_of(kernels, conv, &f, facts, &step)) return; /* the plain form does not fuse */
  const node *add = absorb_add(facts, conv->outputs[0], fusions, &f);
  const node *clip = absorb_clip(facts, add ? add->outputs[0] : conv->outputs[0], &f);
  f.last = clip ? clip : add;
  if (!f.last) return;
  f.absorbed = true;
  if (add) fusions[add->id].absorbed = true;
  fusions[f.last->id] = (fusion){.absorbed = true, .root = conv};
  fusions[conv->id] = f;
}

/* Swaps the last two axes and leaves the others. */
static bool swaps_last(const node *n) {
  const int_list *perm = &NPUC_ATTRS(transpose_attributes, n)->perm;
  int32_t rank = n->inputs[0]->constant->shape.rank;
  if (perm->count == 0) return rank == 2; /* the reverse */
  for (int32_t i = 0; i < rank; i++) {
    int32_t wanted = i == rank - 1 ? rank - 2 : i == rank - 2 ? rank - 1 : i;
    if (perm->values[i] != wanted) return false;
  }
  return rank >= 2;
}

static bool is_product(const node *n, int32_t operand) { return node_is(n, OP_MATMUL) && operand == 1 && n->inputs[0] != n->inputs[1]; }

/* All readers of the Transpose are products that can do without it. */
static void fuse_weight(const fact *facts, const node *transpose, fusion *fusions) {
  const value *w = transpose->inputs[0], *turned = transpose->outputs[0];
  if (!w->constant || w->is_input || w->constant->type != DTYPE_F32 || turned->is_output || facts[turned->id].constant ||
      !swaps_last(transpose))
    return;
  for (size_t i = 0; i < turned->n_uses; i++)
    if (!is_product(turned->uses[i].user, turned->uses[i].index)) return;
  for (size_t i = 0; i < turned->n_uses; i++) fusions[turned->uses[i].user->id].weight = w;
  fusions[transpose->id].absorbed = true;
}

const fusion *npuc_exec_fusions(arena *scratch, const graph *g, const fact *facts, const kernel_set *kernels, bool enabled) {
  fusion *fusions = NPUC_NEW_ARRAY(scratch, g->next_node_id + 1, fusion);
  if (!enabled) return fusions;
  NPUC_EACH_NODE(g, n) {
    if (n->op->id == OP_CONV) fuse_conv(facts, kernels, n, fusions);
    if (n->op->id == OP_TRANSPOSE) fuse_weight(facts, n, fusions);
  }
  return fusions;
}
